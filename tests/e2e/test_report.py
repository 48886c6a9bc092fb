# SPDX-License-Identifier: Apache-2.0
"""whirr report: sums that can be checked against the rows they are made of."""
import datetime
import re
import sqlite3
import subprocess
import time

import pytest
from conftest import BUILD, environment
from waiting import Fresh

MAKER = BUILD / "tests" / "fakes" / "history" / "make_history"


def make(folder, name, *args, **env):
    if not MAKER.exists():
        pytest.skip("make_history was not built")
    url = f"sqlite:{folder}/{name}.db"
    subprocess.run([MAKER, url, *args], check=True, env={**environment(), **env}, timeout=600)
    return url


@pytest.fixture(scope="session")
def histories(tmp_path_factory):
    made = {}

    def get(name, *args):
        return made.setdefault(name, Fresh(lambda: make(tmp_path_factory.mktemp("reports"), name, *args)))()
    return get


@pytest.fixture
def night(histories):
    return histories("night", "595", "scenario=night", "10")


def rows(url, sql):
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        return db.execute(sql).fetchall()


def counters(url):
    """What the cards' own counters say, from the stored samples."""
    return {index: last - first for index, first, last in rows(url, "SELECT gpu_index, MIN(energy_joules), MAX(energy_joules) FROM gpu_stats GROUP BY 1")}


def integral(url):
    """Power over time, from the stored samples, by a second way of counting."""
    joules = {}
    for index, before, after, ms in rows(url, """
            SELECT gpu_index, LAG(power_watts) OVER w, power_watts, (id >> 14) - LAG(id >> 14) OVER w FROM gpu_stats WINDOW w AS (PARTITION BY gpu_uuid ORDER BY id)"""):
        if before is not None:
            joules[index] = joules.get(index, 0) + (before + after) / 2 * ms / 1000
    return joules


def test_the_cards_total_is_what_their_counters_say(whirr, night):
    body = whirr("report", "--store", night, "--json").json()
    wanted = counters(night)
    assert len(body["gpus"]) == 4
    for gpu in body["gpus"]:
        assert gpu["energy_joules"] == pytest.approx(wanted[gpu["gpu_index"]], rel=0.01)
        assert gpu["energy_from"] == "counter" and gpu["counter_joules"] == pytest.approx(gpu["energy_joules"], rel=0.01)
        assert gpu["attributed_joules"] + gpu["unattributed_joules"] == pytest.approx(gpu["energy_joules"], rel=0.01)
    assert body["totals"]["energy_joules"] == pytest.approx(sum(wanted.values()), rel=0.01)


def test_without_a_counter_power_is_integrated_and_the_report_says_so(whirr, histories):
    url = histories("amd", "120", "gpus=1,scenario=inference,model=rx6600", "5")
    body = whirr("report", "--store", url, "--json").json()
    gpu = body["gpus"][0]
    assert rows(url, "SELECT COUNT(*) FROM pragma_table_info('samples') WHERE name = 'energy_mj'")[0][0] == 0, "this card has a counter"
    assert gpu["energy_from"] == "power" and gpu["counter_joules"] == 0
    assert gpu["energy_joules"] == pytest.approx(integral(url)[0], rel=0.01)
    assert "100% integrated" in whirr("report", "--store", url).out.replace("\n", " ")


@pytest.mark.parametrize("which", ["night", "users", "desktop"])
def test_the_rows_add_up_to_the_cards(whirr, histories, which):
    url = {"night": ("night", "595", "scenario=night", "10"), "users": ("users", "90", "scenario=multi-user", "5"),
           "desktop": ("desktop", "90", "scenario=shared-desktop", "5")}[which]
    url = histories(*url)
    body = whirr("report", "--store", url, "--json", "--price", "0.25").json()
    total = body["totals"]["energy_joules"]
    for kind in ("users", "containers", "commands", "models"):
        assert sum(row["energy_joules"] for row in body[kind]) == pytest.approx(total, rel=0.01)
        assert sum(row["cost"] for row in body[kind]) == pytest.approx(body["totals"]["cost"], rel=0.01)
        assert body[kind][-1]["kind"] == "unattributed"
    assert body["totals"]["cost"] == pytest.approx(total / 3.6e6 * 0.25, rel=0.01)
    # And card by card.
    for gpu in body["gpus"]:
        one = whirr("report", "--store", url, "--json", "--gpu", str(gpu["gpu_index"])).json()
        assert sum(row["energy_joules"] for row in one["users"]) == pytest.approx(gpu["energy_joules"], rel=0.01)


def test_joules_follow_the_shares_of_those_who_share_a_card(whirr, histories):
    url = histories("users", "90", "scenario=multi-user", "5")
    body = whirr("report", "--store", url, "--json", "--gpu", "1").json()
    users = {row["name"]: row for row in body["users"]}
    share = dict(rows(url, "SELECT user_name, SUM(1.0 * sm_sum_permille) FROM processes p JOIN gpus g ON g.id = p.gpu_id WHERE g.gpu_index = 1 GROUP BY 1"))
    assert users["bob"]["energy_joules"] / users["carol"]["energy_joules"] == pytest.approx(share["bob"] / share["carol"], rel=0.1)


@pytest.mark.slow
def test_hours_of_those_who_worked(whirr, night):
    body = whirr("report", "--store", night, "--json").json()
    users = {row["name"]: row for row in body["users"]}
    # The scenario's own times: alice trains from minute 20 to 400, carol computes from 120 to 540, erin renders from 45 to 130.
    for user, minutes in (("alice", 380), ("carol", 420), ("erin", 85), ("www-data", 90)):
        assert users[user]["hours"] == pytest.approx(minutes / 60, abs=0.05) and users[user]["busy_hours"] == pytest.approx(minutes / 60, abs=0.1)
    assert [g["hours"] for g in body["gpus"]] == pytest.approx([595 / 60] * 4, abs=0.05)
    commands = {row["name"] for row in body["commands"]}
    assert {"train.py · Llama-3.1-8B", "vllm · Mistral-7B-Instruct-v0.3", "gmx", "blender"} <= commands
    assert {row["name"] for row in body["containers"]} >= {"train-llama", "vllm-prod"}


@pytest.mark.slow
def test_memory_held_without_computing_names_its_holder(whirr, night):
    body = whirr("report", "--store", night, "--json").json()
    first = body["idle_memory"][0]
    assert (first["user"], first["gpu_index"]) == ("dave", 1) and first["hours"] == pytest.approx(8.5, abs=0.1)
    assert first["gib_hours"] == pytest.approx(8.5 * 0.08 * 80, rel=0.05)
    # What the GPU drew in the minutes in which it held only memory, by the rows themselves.
    kwh = rows(night, "SELECT SUM(power_watts) / 60e3 FROM gpu_stats_minute WHERE gpu_index = 1 AND utilization_percent < 2 "
                      f"AND starts_at BETWEEN '{first['since']}' AND '{first['until']}'")[0][0]
    assert first["energy_kwh"] == pytest.approx(kwh, rel=0.1) and first["cost"] is None
    priced = whirr("report", "--store", night, "--json", "--price", "0.5", "--currency", "CHF").json()
    assert priced["currency"] == "CHF"
    priced = priced["idle_memory"][0]
    assert priced["cost"] == pytest.approx(priced["energy_kwh"] * 0.5, abs=1e-4)
    text = whirr("report", "--store", night).out
    assert "Held without computing" in text and "dave" in text and re.search(r"GiB·h on GPU 1 by .*; idle meanwhile, the GPU drew [\d.]+ k(Wh|J)", " ".join(text.split()))


def test_hot_spells_name_who_worked(whirr, night):
    body = whirr("report", "--store", night, "--json", "--hot", "70").json()
    spells = body["hot_spells"]
    assert spells and spells[0]["user"] == "alice" and spells[0]["temperature_max_celsius"] >= 70
    assert [s["duration_seconds"] for s in spells] == sorted((s["duration_seconds"] for s in spells), reverse=True)
    assert whirr("report", "--store", night, "--json", "--hot", "200").json()["hot_spells"] == []


def test_part_of_the_time(whirr, night):
    whole = whirr("report", "--store", night, "--json").json()
    first = whirr("report", "--store", night, "--json", "--until", "-300m").json()
    second = whirr("report", "--store", night, "--json", "--since", "-300m").json()
    both = first["totals"]["energy_joules"] + second["totals"]["energy_joules"]
    assert both == pytest.approx(whole["totals"]["energy_joules"], rel=0.01)
    assert first["gaps"] and "history begins" in first["gaps"][0]["text"]


def test_the_price_comes_from_the_configuration(whirr, night, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[energy]\nprice_per_kwh = 0.5\ncurrency = "CHF"\n')
    body = whirr("report", "--store", night, "--json", "--config", str(config)).json()
    assert body["price_per_kwh"] == 0.5 and body["currency"] == "CHF"
    assert body["totals"]["cost"] == pytest.approx(body["totals"]["energy_kwh"] * 0.5, rel=0.01)
    assert "CHF" in whirr("report", "--store", night, "--config", str(config)).out
    assert whirr("report", "--store", night, "--json").json()["totals"]["cost"] is None


def test_text_by_one_kind(whirr, night):
    done = whirr("report", "--store", night, "--by", "container")
    assert done.code == 0 and "CONTAINER" in done.out and "USER" not in done.out and "(not attributed)" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_chosen_fields(whirr, night):
    span = ("--store", night)
    report = whirr("report", *span, "--json").json()
    rows = [line.split("\t") for line in whirr("report", *span, "--by", "user", "--fields", "name,processes").out.splitlines()]
    assert rows == [[r["name"] or "", "" if r["processes"] is None else str(r["processes"])] for r in report["users"]]
    title, *cards = whirr("report", *span, "--csv").out.splitlines()
    assert title.startswith("since,until,gpu_index,gpu_name,hours,") and len(cards) == len(report["gpus"])
    assert whirr("report", *span, "--template", "{{gpu_index}} {{gpu_name}}").out.splitlines() == [f"{g['gpu_index']} {g['gpu_name']}" for g in report["gpus"]]
    assert whirr("report", *span, "--fields", "nope").code == 2 and whirr("report", *span, "--csv", "--json").code == 2


def test_by_model(whirr, night):
    """The models that command lines name; who names none is a row of its own."""
    body = whirr("report", "--store", night, "--json").json()
    models = {row["name"]: row for row in body["models"] if row["kind"] == "used"}
    named = {model for (model,) in rows(night, "SELECT DISTINCT model FROM processes WHERE model <> ''")}
    assert named and set(models) == named | {None}
    users = {row["name"]: row for row in body["users"]}
    assert models["meta-llama/Llama-3.1-8B"]["energy_joules"] == pytest.approx(users["alice"]["energy_joules"], rel=0.01)
    done = whirr("report", "--store", night, "--by", "model")
    assert done.code == 0 and "MODEL" in done.out and "meta-llama/Llama-3.1-8B" in done.out and "USER" not in done.out
    assert "MODEL" in whirr("report", "--store", night).out


def limits_of(body):
    return {row["name"]: row for row in body["limits"] if row["kind"] == "used"}


@pytest.mark.parametrize("scenario, code, words, side", [("slow-loaders", "loaders", "its loader processes", "host"), ("slow-disk", "disk", "disk", "host"),
                                                         ("nvlink-bound", "nvlink", "NVLink", "link"), ("waiting-kernel", "kernel_wait", "waiting inside a kernel", "other programs")])
def test_by_limit(whirr, tmp_path, scenario, code, words, side):
    """A machine whose limit is known, minute by minute as a daemon stores it."""
    url = make(tmp_path, scenario, "12", f"scenario={scenario}", "5", MAKE_HISTORY_JUDGED="1")
    ask = ("report", "--since", "-1d", "--store", url, "--price", "0.3")
    body = whirr(*ask, "--json").json()
    row = limits_of(body)[code]
    assert row["words"] == words and row["hours"] >= 11 / 60 and row["processes"] >= 1
    # Energy and cost are what the processes were given in their minutes with this limit, and what their GPU used beside that, shared by those who were there.
    joules, waited = rows(url, f"""
        SELECT SUM(m.energy_mj) / 1000.0, SUM((e.energy_mj - e.attributed_mj) * 1.0 / there.count) / 1000 FROM process_minutes m JOIN processes p ON p.id = m.process_id
        JOIN energy e ON e.minute = m.minute AND e.gpu_id = p.gpu_id JOIN (SELECT m.minute, p.gpu_id, COUNT(*) AS count FROM process_minutes m JOIN processes p
        ON p.id = m.process_id WHERE m.samples > 0 GROUP BY 1, 2) there ON there.minute = m.minute AND there.gpu_id = p.gpu_id WHERE m.limit_code = '{code}'""")[0]
    assert row["energy_joules"] == pytest.approx(joules + waited, rel=0.02) and row["cost"] == pytest.approx((joules + waited) / 3.6e6 * 0.3, rel=0.02, abs=1e-3)
    assert waited > 0.9 * row["energy_joules"] or scenario != "slow-loaders", "a process that computes nothing is given nothing, but its GPU draws power"
    assert sum(row["energy_joules"] for row in body["limits"]) == pytest.approx(body["totals"]["energy_joules"], rel=0.01)
    # Several transactions wrote most of the minutes: the share is of all their samples.
    assert rows(url, f"SELECT COUNT(*) FROM process_stats_minute WHERE limited_by = '{code}' AND limited_percent = 100")[0][0] >= 10
    text = whirr(*ask, "--by", "limit").out
    assert re.search(f"^{words} .* {side}$", text, re.M) and "USER" not in text, text
    title, *lines = whirr(*ask, "--by", "limit", "--csv").out.splitlines()
    assert title.startswith("since,until,kind,name,words,side,hours,") and any(f",{code},{words}," in line for line in lines)


def test_runs_and_plots_say_what_limited_a_process(whirr, tmp_path):
    url = make(tmp_path, "runs", "40", "gpus=1,scenario=slow-loaders", "5", MAKE_HISTORY_JUDGED="1")
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        minutes = [minute for (minute,) in db.execute("SELECT DISTINCT minute FROM process_minutes ORDER BY 1")]
        db.execute("UPDATE process_minutes SET limit_code = 'disk' WHERE minute >= ?", (minutes[-10],))
    (run,) = whirr("history", "--processes", "--since", "-1h", "--store", url, "--json").json()["processes"]
    share = 100 * (len(minutes) - 10) / len(minutes)
    assert [(one["code"], one["words"]) for one in run["limits"]] == [("loaders", "its loader processes"), ("disk", "disk")]
    assert [one["share_percent"] for one in run["limits"]] == pytest.approx([share, 100 - share], abs=0.2)
    assert f"its loader processes {share:.0f}%" in whirr("history", "--processes", "--since", "-1h", "--store", url, COLUMNS="240").out
    assert whirr("history", "--processes", "--since", "-1h", "--store", url, "--csv").out.splitlines()[1].endswith(f"disk:{run['limits'][1]['share_percent']:g}")
    (series,) = whirr("history", "--process", str(run["pid"]), "--since", "-1h", "--store", url, "--json").json()["series"]
    assert len(series["limits"]) == len(series["times"]) and {*series["limits"]} == {"loaders", "disk"} and series["limits"].count("disk") == 10
    assert whirr("history", "power_watts", "--since", "-1h", "--store", url, "--json").json()["series"][0]["limits"] is None
    plots = whirr("history", "--process", str(run["pid"]), "--since", "-1h", "--store", url, "--width", "90").out
    assert "limited by: A its loader processes, B disk\n" in plots and re.search(r"^ +A{30,}B{8,16}$", plots, re.M), plots
    # Of whole lives, which the hours are of, nothing is said.
    hours_only(url)
    assert whirr("history", "--processes", "--since", "-1h", "--store", url, "--json").json()["processes"][0]["limits"] is None


def test_limits_outlive_the_minutes(whirr, tmp_path):
    end = int(time.time()) // 3600 * 3600 + 180  # the hour is summed up, and some of the next one is there
    url = make(tmp_path, "limits", "63", "gpus=1,scenario=no-tensor-cores", "10", MAKE_HISTORY_END=str(end), MAKE_HISTORY_JUDGED="1")
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        hour = end // 3600 - 1
        db.execute(f"UPDATE process_minutes SET limit_code = 'disk' WHERE minute % 60 >= 45 AND minute / 60 = {hour}")
        db.execute(f"UPDATE process_minutes SET limit_code = NULL, limit_samples = NULL WHERE minute % 60 < 10 AND minute / 60 = {hour}")
        db.execute("DELETE FROM process_hours")
        db.execute(f"INSERT OR IGNORE INTO pending VALUES (2, 2, 1, {hour})")
    # A writer that comes later sums the hour up.
    make(tmp_path, "limits", "1", "gpus=1,scenario=no-tensor-cores", "10", MAKE_HISTORY_END=str(end + 300), MAKE_HISTORY_JUDGED="1")
    since, until = (datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for t in (hour * 3600, (hour + 1) * 3600))
    ask = ("report", "--since", since, "--until", until, "--store", url, "--json")
    minutes = limits_of(whirr(*ask).json())
    hours_only(url)
    coarse = limits_of(whirr(*ask).json())
    assert {name: row["hours"] for name, row in coarse.items()} == pytest.approx({"compute_no_tensor": 35 / 60, "disk": 15 / 60, None: 10 / 60}, abs=0.01)
    for name, row in minutes.items():
        for key in ("hours", "busy_hours", "energy_joules", "processes"):
            assert coarse[name][key] == pytest.approx(row[key], rel=0.01, abs=0.01), (name, key)


def test_a_history_from_before_limits_were_kept_still_answers(whirr, tmp_path):
    url = make(tmp_path, "before", "5", "gpus=1,scenario=training", "5")
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        for (view,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            db.execute(f"DROP VIEW {view}")
        for table, column in (("process_minutes", "limit_code"), ("process_minutes", "limit_samples"), ("process_hours", "limits"), ("process_minutes", "running_sum"), ("process_minutes", "running_samples"), ("retention", "ahead_ms"),
                              *((table, "parked_mj") for table in ("processes", "process_minutes", "process_hours")),
                              ("process_minutes", "requests"), ("process_hours", "requests"),
                              *((table, f"{kind}_tokens") for table in ("process_minutes", "process_hours") for kind in ("generated", "prompt"))):
            db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("UPDATE meta SET value = '13' WHERE key = 'schema_version'")
    assert whirr("db", "migrate", "--store", url).code == 0
    body = whirr("report", "--since", "-1d", "--store", url, "--json").json()
    assert list(limits_of(body)) == [None] and limits_of(body)[None]["hours"] == pytest.approx(5 / 60, abs=0.02)
    assert limits_of(body)[None]["words"] is None and limits_of(body)[None]["side"] is None
    assert "(not judged)" in whirr("report", "--since", "-1d", "--store", url, "--by", "limit").out


def test_co2_is_that_of_the_hours_in_which_the_energy_was_used(whirr, night, tmp_path):
    def report(**energy):
        return whirr("report", "--store", night, "--json", **{f"WHIRR_ENERGY_{key.upper()}": str(value) for key, value in energy.items()})
    body = report(co2_g_per_kwh=400).json()
    assert body["totals"]["co2_grams"] == pytest.approx(body["totals"]["energy_kwh"] * 400, abs=0.02) and "g of CO2" in body["answer"]
    for rows_of in ("gpus", "users", "limits"):
        assert sum(row["co2_grams"] for row in body[rows_of]) == pytest.approx(body["totals"]["co2_grams"], abs=0.1)
    hours = rows(night, "SELECT minute / 60, SUM(energy_mj) FROM energy GROUP BY 1")
    grid = tmp_path / "grid.csv"
    lines = [f"{datetime.datetime.fromtimestamp(hour * 3600, datetime.timezone.utc):%Y-%m-%dT%H:%MZ},{100 + 50 * i}" for i, (hour, _) in enumerate(hours)]
    grid.write_text("\n".join(["time,g per kWh", *lines]))
    body = report(co2_file=grid).json()
    assert len(hours) > 3 and body["totals"]["co2_grams"] == pytest.approx(sum(mj / 3.6e9 * (100 + 50 * i) for i, (_, mj) in enumerate(hours)), rel=1e-4)
    for rows_of in ("gpus", "users", "commands"):
        assert sum(row["co2_grams"] for row in body[rows_of]) == pytest.approx(body["totals"]["co2_grams"], rel=0.002)
    assert {row["co2_grams"] for row in body["limits"]} == {None}, "they are not summed up by hour"
    grid.write_text("\n".join(lines[:-1]))
    assert report(co2_file=grid).json()["totals"]["co2_grams"] is None, "one hour is not known"
    assert report(co2_file=grid, co2_g_per_kwh=400).json()["totals"]["co2_grams"] > 0
    grid.write_text("\n".join([*lines, "yesterday,300"]))
    refused = report(co2_file=grid)
    assert refused.code == 2 and f"line {len(lines) + 1} of energy.co2_file" in refused.err


def test_tokens_of_models_over_the_energy_of_their_processes(whirr, tmp_path):
    """One of two workers has the tokens of both; a third process of the model, in minutes without a count, is no part of it, nor is what an open context costs
    while nobody asks."""
    end = int(time.time()) // 3600 * 3600 + 180
    url = make(tmp_path, "tokens", "63", "gpus=2,scenario=training", "10", MAKE_HISTORY_END=str(end))
    hour = end // 3600 - 1
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        db.execute("UPDATE processes SET model = 'qwen'")
        first, *others = [one for (one,) in db.execute("SELECT id FROM processes ORDER BY energy_mj DESC")]
        assert others
        db.execute("UPDATE process_minutes SET generated_tokens = 600, prompt_tokens = 6000, requests = 6 WHERE process_id = ? AND minute / 60 = ?", (first, hour))
        db.execute("UPDATE process_minutes SET generated_tokens = NULL, requests = NULL WHERE minute % 60 < 30 AND minute / 60 = ?", (hour,))
        db.execute("UPDATE process_minutes SET parked_mj = energy_mj / 4 WHERE minute % 60 >= 45 AND minute / 60 = ?", (hour,))
        minutes, millijoules = db.execute("SELECT COUNT(DISTINCT minute), SUM(energy_mj - COALESCE(parked_mj, 0)) FROM process_minutes WHERE minute / 60 = ? AND minute % 60 >= 30", (hour,)).fetchone()
        count = db.execute("SELECT COUNT(*) FROM process_minutes WHERE generated_tokens IS NOT NULL").fetchone()[0]
        db.execute("DELETE FROM process_hours")
        db.execute(f"INSERT OR IGNORE INTO pending VALUES (2, 2, 1, {hour})")
    assert minutes == count == 30
    since, until = (datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for t in (hour * 3600, (hour + 1) * 3600))
    ask = ("report", "--since", since, "--until", until, "--store", url, "--price", "0.30")
    body = whirr(*ask, "--json").json()
    model, rest = body["models"]
    assert (model["name"], model["generated_tokens"], rest["kind"], rest["tokens_per_joule"]) == ("qwen", 30 * 600, "unattributed", None)
    assert model["tokens_per_joule"] == pytest.approx(30 * 600 / (millijoules / 1000), rel=0.001)
    assert model["joules_per_thousand_tokens"] == pytest.approx(1000 / model["tokens_per_joule"], rel=0.001)
    assert model["requests"] == 30 * 6 and model["joules_per_request"] == pytest.approx(millijoules / 1000 / (30 * 6), rel=0.001)
    assert model["cost_per_million_tokens"] == pytest.approx(millijoules / 3.6e9 * 0.30 / (30 * 600) * 1e6, rel=0.01, abs=1e-4)
    assert model["energy_joules"] + rest["energy_joules"] == pytest.approx(body["totals"]["energy_joules"], abs=2), "energy still adds up"
    assert "tokens_per_joule" not in body["users"][0]
    text = whirr(*ask, "--by", "model", COLUMNS="200").out
    assert re.search(r"TOKENS +TOKENS/J +J/KTOK +J/REQUEST +COST/MTOK +PARKED KWH$", text, re.M) and re.search(r"^qwen .* 18000 +0\.\d+ +[\d.]+ +[\d.]+ +[\d.]+ +0\.\d+$", text, re.M), text
    assert whirr(*ask, "--by", "model", "--csv").out.splitlines()[0].endswith("joules_per_request")
    # Summed up to hours, the tokens are the same; of the energy it is the hour's.
    make(tmp_path, "tokens", "1", "gpus=2,scenario=training", "10", MAKE_HISTORY_END=str(end + 300))
    hours_only(url)
    model = whirr(*ask, "--json").json()["models"][0]
    assert model["generated_tokens"] == 30 * 600 and model["prompt_tokens"] == 60 * 6000 and model["requests"] == 30 * 6
    at_work = model["energy_joules"] - 3.6e6 * model["parked_kwh"]
    assert 0.8 * model["energy_joules"] < at_work < 0.95 * model["energy_joules"]
    assert model["tokens_per_joule"] == pytest.approx(30 * 600 / at_work, rel=0.001)
    assert model["prompt_tokens_per_joule"] == pytest.approx(60 * 6000 / at_work, rel=0.001)


@pytest.mark.parametrize("args, message", [(["--by", "moon"], "invalid value 'moon' for --by"), (["--price", "x"], "--price must be a price"),
                                           (["--since", "never"], "\"last month\""), (["--since", "-1h", "--until", "-2h"], "before until")])
def test_wrong_usage(whirr, night, args, message):
    done = whirr("report", "--store", night, *args)
    assert done.code == 2 and message in done.err, done.err


def test_nothing_stored_is_said(whirr, tmp_path, night):
    assert whirr("report", "--store", f"sqlite:{tmp_path}/none.db").code == 1
    body = whirr("report", "--store", night, "--json", "--since", "-9d", "--until", "-8d").json()
    assert body["gpus"] == [] and "Nothing is known" in body["answer"]


def hours_only(url):
    """As if samples and minutes had been cleaned up."""
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        for table in ("samples", "minutes", "host_samples", "host_minutes", "process_minutes", "pending"):
            db.execute(f"DELETE FROM {table}")
        for series in ("gpu", "host"):
            for level in (0, 1):
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"horizon.{series}.{level}", str(4 * 10**12)))


def test_from_hours_alone_nothing_is_stretched(whirr, tmp_path):
    url = make(tmp_path, "hot", "200", "scenario=overheat", "10")
    exact = whirr("report", "--store", url, "--json").json()
    assert exact["hot_spells"] and all(spell["resolution_seconds"] == 60 for spell in exact["hot_spells"])
    begin = rows(url, "SELECT MIN(recorded_at) FROM gpu_stats")[0][0]
    hours_only(url)
    coarse = whirr("report", "--store", url, "--json").json()
    assert coarse["hot_spells"]
    for spell in coarse["hot_spells"]:
        assert spell["resolution_seconds"] == 3600 and spell["since"] >= begin
    text = whirr("report", "--store", url).out
    assert "at some time within" in text and "only hours are kept of that time" in " ".join(text.split())


def test_costs_by_user_do_not_end_with_the_minutes(whirr, tmp_path):
    """Hours of processes are kept as long as their lives."""
    url = make(tmp_path, "costs", "200", "scenario=multi-user", "10")
    ask = ("report", "--store", url, "--json", "--price", "0.25")
    before = {row["name"]: row for row in whirr(*ask).json()["users"] if row["kind"] == "used"}
    hours_only(url)
    body = whirr(*ask).json()
    after = {row["name"]: row for row in body["users"] if row["kind"] == "used"}
    assert body["processes_from"] is None and set(after) == set(before) and sum(row["cost"] > 0 for row in before.values()) >= 2
    for name, row in before.items():
        assert after[name]["cost"] == pytest.approx(row["cost"], rel=0.33), name  # up to the last whole hour of three


def test_why_says_where_the_history_begins(whirr, tmp_path):
    url = make(tmp_path, "begin", "200", "scenario=overheat", "10")
    begin = rows(url, "SELECT MIN(recorded_at) FROM gpu_stats")[0][0]
    hours_only(url)
    body = whirr("why", "--since", "-60d", "--store", url, "--json").json()
    assert body["episodes"] and all(episode["since"] >= begin for episode in body["episodes"])
    assert f"begins at {begin[11:16]}" in body["answer"] or begin[11:16] in body["gaps"][0]["text"], body["answer"]


def test_a_short_span_is_said_in_seconds(whirr, tmp_path):
    end = int(time.time())
    url = make(tmp_path, "short", "2", "gpus=1,scenario=training", "2", MAKE_HISTORY_END=str(end))
    since, until = (datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for t in (end - 80, end))
    done = whirr("report", "--since", since, "--until", until, "--store", url)
    words = " ".join(done.out.split())
    assert "1 GPU worked for 1m " in words and "hours" not in words, words
    body = whirr("report", "--since", since, "--until", until, "--store", url, "--json").json()
    assert body["gpus"][0]["hours"] == pytest.approx(80 / 3600, abs=0.002)
    assert body["users"][0]["hours"] == pytest.approx(80 / 3600, abs=0.002)


def test_gpu_time_of_several_gpus_is_named_and_most_is_at_least_half(whirr, tmp_path):
    end = int(time.time())
    url = make(tmp_path, "several", "2", "gpus=4,scenario=training", "2", MAKE_HISTORY_END=str(end))
    since, until = (datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for t in (end - 45, end))
    asked = ["report", "--since", since, "--until", until, "--store", url, "--json"]
    answer = whirr(*asked).json()["answer"]
    assert re.search(r"4 GPUs worked for .* of 3m of GPU time \(4[56]s each\)", answer), answer
    path = url.removeprefix("sqlite:")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE processes SET user_name = 'user' || gpu_id")
    body = whirr(*asked).json()
    share = body["users"][0]["share_percent"]
    assert share < 50 and f"the largest part by {body['users'][0]['name']} ({share:.0f}%)" in body["answer"], body["answer"]


def from_minutes(url):
    """As a database whose hours of processes and energy are all still to be summed up."""
    with sqlite3.connect(url.removeprefix("sqlite:")) as db:
        summed = db.execute("SELECT COUNT(*) FROM process_hours").fetchone()[0], db.execute("SELECT COUNT(*) FROM energy_hours").fetchone()[0]
        db.execute("INSERT OR IGNORE INTO pending SELECT DISTINCT 2, 2, 1, minute / 60 FROM energy")
        db.execute("DELETE FROM process_hours")
        db.execute("DELETE FROM energy_hours")
        return summed


@pytest.mark.slow
def test_what_is_read_from_hours_is_what_the_minutes_say(whirr, tmp_path):
    url = make(tmp_path, "long", str(16 * 1440), "gpus=2,scenario=multi-user", "60")
    ask = {"report": ("report", "--since", "-15d", "--store", url, "--json"),
           "processes": ("history", "--processes", "--since", "-15d", "--store", url, "--json"),
           "why": ("why", "--since", "-15d", "--store", url, "--json")}
    fast = {name: whirr(*args).json() for name, args in ask.items()}
    processes, energy = from_minutes(url)
    assert processes > 15 * 24 and energy > 15 * 24 * 2 - 8, "the hours were never summed up"
    slow = {name: whirr(*args).json() for name, args in ask.items()}
    for kind in ("users", "containers", "commands", "models", "gpus", "idle_memory"):
        assert len(fast["report"][kind]) == len(slow["report"][kind]) > 0 or kind == "idle_memory"
        for one, other in zip(fast["report"][kind], slow["report"][kind]):
            assert one.get("name") == other.get("name")
            for key in ("hours", "busy_hours", "memory_gib_hours", "idle_gib_hours", "energy_joules", "attributed_joules", "gib_hours"):
                if key in one and other[key] is not None:
                    assert one[key] == pytest.approx(other[key], rel=2e-3, abs=0.1), (kind, key)
    key = lambda p: (p["gpu_index"], p["pid"])
    for one, other in zip(sorted(fast["processes"]["processes"], key=key), sorted(slow["processes"]["processes"], key=key)):
        assert one["pid"] == other["pid"] and one["energy_joules"] == pytest.approx(other["energy_joules"], rel=1e-3)
    assert [e["process"] for e in fast["why"]["episodes"]] == [e["process"] for e in slow["why"]["episodes"]]


@pytest.mark.parametrize("which", [("night", "595", "scenario=night", "10"), ("users", "90", "scenario=multi-user", "5")], ids=["night", "users"])
def test_the_list_of_processes_and_what_is_not_attributed_are_the_gpus_energy(whirr, histories, which):
    url = histories(*which)
    body = whirr("history", "--processes", "--store", url, "--since", "-30d", "--json").json()
    rest = {r["gpu_index"]: r["energy_joules"] for r in body["not_attributed"]}
    stored = dict(rows(url, "SELECT g.gpu_index, SUM(e.energy_mj) / 1000.0 FROM energy e JOIN gpus g ON g.id = e.gpu_id GROUP BY 1"))
    assert set(rest) == set(stored) and all(joules >= 0 for joules in rest.values())
    for gpu, joules in stored.items():
        assert rest[gpu] + sum(p["energy_joules"] for p in body["processes"] if p["gpu_index"] == gpu) == pytest.approx(joules, rel=0.01)
    assert "(not attributed)" in whirr("history", "--processes", "--store", url, "--since", "-30d").out
    # A report of one process does not show the rest.
    name = body["processes"][0]["name"]
    assert whirr("history", "--processes", "--process", name, "--store", url, "--since", "-30d", "--json").json()["not_attributed"] == []


def test_what_open_contexts_cost_has_a_column_that_adds_up(whirr, tmp_path):
    """A night on a server: notebooks of dave stay open on GPUs that rest."""
    day = f"sqlite:{tmp_path / 'day.db'}"
    assert whirr("sim", "day", str(tmp_path / "day.db"), "--source", "sim:scenario=night,gpus=2").code == 0
    body = whirr("report", "--store", day, "--since", "-26h", "--json").json()
    users = {u["name"]: u for u in body["users"] if u["kind"] == "used"}
    dave = users["dave"]
    assert dave["parked_kwh"] == pytest.approx(dave["energy_kwh"], rel=0.05) and dave["parked_kwh"] > 0.05, "all that he did was to hold it"
    assert users["alice"]["parked_kwh"] < 0.01 * users["alice"]["energy_kwh"], "a program at work parks nothing"
    for rows in ("users", "containers", "commands", "gpus"):
        total = sum(r["parked_kwh"] or 0 for r in body[rows])
        assert total == pytest.approx(body["totals"]["parked_kwh"], abs=1e-4), rows
    assert "PARKED KWH" in whirr("report", "--store", day, "--since", "-26h").out
    lives = whirr("history", "--processes", "--store", day, "--since", "-26h", "--json").json()["processes"]
    told = sum(p["parked_joules"] or 0 for p in lives if p["user"] == "dave")
    assert told / 3.6e6 == pytest.approx(dave["parked_kwh"], rel=0.01)
    with sqlite3.connect(tmp_path / "day.db") as db:
        (stored,) = db.execute("SELECT SUM(parked_joules) FROM process_stats_minute WHERE user_name = 'dave'").fetchone()
    assert stored / 3.6e6 == pytest.approx(dave["parked_kwh"], rel=0.01)
