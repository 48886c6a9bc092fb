# SPDX-License-Identifier: Apache-2.0
"""Why, about the past: from a history that was made with a simulated night, asked as people ask."""
import json
import re
import subprocess

import pytest
from conftest import BUILD, environment
from waiting import Fresh

MAKER = BUILD / "tests" / "fakes" / "history" / "make_history"


@pytest.fixture(scope="session")
def nights(tmp_path_factory):
    def make():
        if not MAKER.exists():
            pytest.skip("make_history was not built")
        url = f"sqlite:{tmp_path_factory.mktemp('history')}/night.db"
        subprocess.run([MAKER, url, "595", "scenario=night", "20", "200", "230"], check=True, env=environment(), timeout=600)
        return url
    return Fresh(make)


@pytest.fixture
def night(nights):
    """595 minutes of four GPUs that end now; from minute 200 to 230 nothing was stored."""
    return nights()


@pytest.fixture
def why(whirr, night):
    return lambda *args, **env: whirr("why", "--store", night, *args, **env)


def test_a_moment_names_process_and_user_as_they_were(why):
    body = why("--at", "-4h", "--json").json()  # minute 355 of the night
    assert body["detail"] == "samples" and body["note"] is None and body["gap"] is None
    causes = {gpu["gpu_index"]: gpu["causes"][0] for gpu in body["gpus"]}
    assert causes[0]["process"] == "kworkerds" and causes[0]["code"] in ("mining", "shared_load")
    assert causes[1]["code"] in ("compute_load", "power_limit") and causes[2]["process"] == "python3"
    who = {(p["gpu_index"], p["name"]): p for p in body["processes"]}
    assert who[0, "kworkerds"]["user"] == "www-data" and who[1, "python3"]["user"] in ("alice", "dave")
    assert who[3, "gmx"]["user"] == "carol" and who[3, "gmx"]["memory_mb"] > 1000
    assert all(gpu["suggestions"] == [] for gpu in body["gpus"])


def test_a_moment_as_text(why):
    done = why("--at", "-4h", "--gpu", "3")
    assert done.code == 0 and "gmx" in done.out and "carol" in done.out and "from samples" in done.out
    assert "GPU 1" not in done.out and "What you can do" not in done.out


def test_where_whirr_did_not_run_it_says_so(why):
    body = why("--at", "-380m", "--json").json()
    assert body["gpus"] == [] and body["gap"]["not_running"] and "not running" in body["answer"]
    assert "not running between" in why("--at", "-380m").out.replace("\n", " ")
    assert "history begins" in why("--at", "-3d").out.replace("\n", " ")


@pytest.mark.slow
def test_a_night_is_told_by_its_episodes(why):
    body = why("--since", "-595m", "--json").json()
    told = {(e["gpu_index"], e["process"], e["user"]) for e in body["episodes"]}
    assert {(1, "python3", "alice"), (2, "blender", "erin"), (2, "python3", "bob"), (0, "kworkerds", "www-data"), (3, "gmx", "carol")} <= told
    assert body["episodes"][0]["process"] == "kworkerds", "a miner comes first"
    assert len(body["episodes"]) <= 20 and body["episodes_left_out"] == 0
    assert [e["weight"] for e in body["episodes"]] == sorted((e["weight"] for e in body["episodes"]), reverse=True)
    assert len(body["gaps"]) == 1 and body["gaps"][0]["not_running"] and 1500 < body["missing_seconds"] < 2100
    text = why("--since", "-595m").out
    assert "kworkerds" in text and "Not known" in text and len(text.splitlines()) < 120


@pytest.mark.slow
def test_an_episode_quotes_one_set_of_numbers_and_says_what_ended_it(why):
    body = why("--since", "-595m", "--json").json()
    for e in body["episodes"]:
        assert f"{int(e['utilization_percent'] + 0.5)}%" in e["answer"] or "W by" in e["answer"], e["answer"]
        if " on average" in e["answer"]:
            assert f"up to {int(e['temperature_max_celsius'] + 0.5)} °C" in e["answer"]
            assert len(re.findall(r"(?<!coder )\b\d+%", e["answer"].split("It ended")[0])) == 1, e["answer"]
    miner = body["episodes"][0]
    assert miner["ended_by"] == "It ended when kworkerds exited." and miner["ended_by"] in miner["answer"]
    assert any(e["ended_by"] and "still going on" in e["ended_by"] for e in body["episodes"])
    text = " ".join(why("--since", "-595m").out.split())  # after midnight, the date makes lines break elsewhere
    assert "things are worth explaining, the most important first." in text
    assert text.count("is mining") == 0 and text.count("was mining") == 1, "what is said first is not said twice"
    assert "utilization " not in text.replace("utilization fell", "") and "utilization " in why("--since", "-595m", "-v").out, "evidence is for -v"


@pytest.mark.parametrize("scenario, gpus, words", [
    pytest.param("training", 4, r"GPUs 0-3 were busy: train.py \(alice, train-llama\) was training Llama-3.1-8B\. 9\d% and \d+ W on average, up to \d+ °C\.", id="on-several-gpus"),
    pytest.param("game-start", 1, r"\(4 times, \d+m( \d+s)? in all\) GPU 0 was busy: Starfall \(alice\) was rendering\. \d+% and \d+ W on average", id="several-times"),
])
def test_equal_work_is_one_entry_and_the_short_form_stays_short(whirr, tmp_path, scenario, gpus, words):
    """On several GPUs at once, or several times on one; -v has each of them."""
    if not MAKER.exists():
        pytest.skip("make_history was not built")
    url = f"sqlite:{tmp_path}/past.db"
    subprocess.run([MAKER, url, "60", f"scenario={scenario},gpus={gpus}", "20"], check=True, timeout=120,
                   env={**environment(), "MAKE_HISTORY_END": "1772326800"})  # always the same hour
    span = ["--since", "2026-03-01T00:00:30Z", "--until", "2026-03-01T00:59:30Z", "--store", url]
    text = whirr("why", *span, COLUMNS="80").out
    assert re.search(words, " ".join(text.split())), text
    assert len(text.split("Not known")[0].splitlines()) <= 16, text
    every = whirr("why", *span, "-v").out
    assert every.count(" was busy: ") == max(gpus, 4), every


def test_a_large_file_is_read_by_two_and_says_the_same(whirr, tmp_path):
    """Nothing is behind the end of what SQLite uses of it: that makes it large, and no different."""
    if not MAKER.exists():
        pytest.skip("make_history was not built")
    path = tmp_path / "past.db"
    subprocess.run([MAKER, f"sqlite:{path}", "595", "scenario=night", "20"], check=True, timeout=600,
                   env={**environment(), "MAKE_HISTORY_END": "1772357700"})
    span = ["--since", "2026-03-01T00:00:30Z", "--until", "2026-03-01T09:30:00Z", "--json", "--store", f"sqlite:{path}"]
    questions = [["why"], ["report"], ["report", "--by", "user"], ["history", "--processes"]]
    small = [whirr(*question, *span).json() for question in questions]
    assert small[0]["episodes"] and small[1]["gpus"]
    with open(path, "r+b") as file:
        file.truncate(300 << 20)
    assert [whirr(*question, *span).json() for question in questions] == small


def test_a_time_that_begins_before_the_history_says_so(why):
    out = why("--since", "-30d").out.replace("\n", " ")
    assert "The history begins" in out and "Nothing is known about" in out


def test_one_hour_of_one_card(why):
    body = why("--since", "-5h", "--until", "-4h", "--gpu", "2", "--json").json()
    assert [e["user"] for e in body["episodes"]] == ["bob"]


@pytest.mark.parametrize("args, message", [
    (["--at", "25:00"], "--at must be a time"), (["--at", "2099-01-01"], "--at is in the future"),
    (["--since", "-1h", "--until", "-2h"], "before until"), (["--at", "-1h", "--since", "-2h"], "cannot be given together"),
    (["--at", "-1h", "--watch"], "can't be combined"), (["--until", "-1h"], "--since (or at) is needed"),
])
def test_wrong_questions_are_named(why, args, message):
    done = why(*args)
    assert done.code == 2 and message in done.err, done.err


def test_what_is_not_there_is_a_failure(why, whirr, tmp_path):
    assert why("--at", "-1h", "--gpu", "9").code == 1
    for option in ("--of", "--host"):  # its old name
        assert "the history knows no host 'other'; there is: box" in why("--at", "-1h", option, "other").err
    done = whirr("why", "--at", "-1h", "--store", f"sqlite:{tmp_path}/none.db")
    assert done.code == 1 and "cannot open" in done.err


def test_a_time_of_day_is_that_of_the_zone(why):
    utc = why("--at", "00:00", "--json", TZ="UTC").json()["at"]
    tokyo = why("--at", "00:00", "--json", TZ="JST-9").json()["at"]
    assert utc.endswith("T00:00:00.000Z") and tokyo.endswith("T15:00:00.000Z")


@pytest.mark.slow
def test_the_file_is_not_changed(why, night):
    path = night.removeprefix("sqlite:")
    before = open(path, "rb").read()
    why("--since", "-595m")
    assert open(path, "rb").read() == before
    assert json.loads(why("--at", "-1h", "--json").out)["answer"]
