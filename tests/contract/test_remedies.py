# SPDX-License-Identifier: Apache-2.0
"""From why to done, on a simulated GPU: numbered remedies, `do`, `try` and `undo`."""
import json
import random
import re
from types import SimpleNamespace

import pytest
from daemons import Starter
from isolation import run_whirr
from waiting import eventually

pytestmark = pytest.mark.slow
HOT = "sim:scenario=overheat,gpus=1,start=400,speed=30"


def why(source=HOT):
    return json.loads(run_whirr("--source", source, "why", "--json").stdout)["gpus"][0]


def number_of_quiet():
    return next(r["number"] for r in why()["remedies"] if r["code"] == "quiet")


def limit():
    return json.loads(run_whirr("--source", HOT, "status", "--json").stdout)["gpus"][0]["power_limit_watts"]


def test_remedies_are_the_suggestions_with_what_is_known_about_them():
    gpu = why()
    assert [r["text"] for r in gpu["remedies"]] == gpu["suggestions"] and gpu["remedies"]
    assert [r["number"] for r in gpu["remedies"]] == list(range(1, len(gpu["remedies"]) + 1))
    quiet = next(r for r in gpu["remedies"] if r["code"] == "quiet")
    assert quiet["command"] == "whirr quiet --gpu 0 --for 2h" and quiet["kind"] == "setting" and quiet["undo"] == "whirr undo"
    assert quiet["expected"] is None, "nothing was measured yet"
    assert quiet["affects"] == ["train.py (alice, train-llama)"]
    roots = {f["code"] for f in gpu["findings"] if not f["effect_of"]} | {c["code"] for c in gpu["causes"]}
    assert all(r["root"] in roots for r in gpu["remedies"])


def test_what_can_be_done_is_offered_beside_its_advice_alone():
    """GPUs that are all the same share one sentence, without advice that a number could mean."""
    one, two = (run_whirr("--source", f"sim:scenario=power-cap,gpus={gpus},start=500", "why").stdout for gpus in (1, 2))
    assert "Do 1" in one and "do it: whirr do 1" in one and "Do 1" not in two and "whirr do" not in two, one + two


def test_two_commands_from_a_hot_gpu_to_a_measured_cooler_one_and_back():
    assert "do it: whirr do" in run_whirr("--source", HOT, "why").stdout
    done = run_whirr("do", number_of_quiet(), "--yes", "--measure", "1s")
    assert done.returncode == 0 and "Measured: " in done.stdout and "To take it back now: whirr undo 1" in done.stdout, done.stdout + done.stderr
    assert limit() < 300
    changes = json.loads(run_whirr("undo", "--json").stdout)["changes"]
    assert [c["before"] for c in changes] == ["450 W"] and changes[0]["until"]
    assert run_whirr("undo", "all").returncode == 0
    assert limit() == 450 and "Nothing to undo" in run_whirr("undo").stdout
    quiet = next(r for r in why()["remedies"] if r["code"] == "quiet")
    assert quiet["expected"]["source"] == "own_history" and -70 < quiet["expected"]["power_watts"] < -30
    said = []

    def as_expected():  # a second is short: on a busy machine its samples can miss the work
        said.append(run_whirr("do", number_of_quiet(), "--yes", "--measure", "1s").stdout)
        run_whirr("undo", "all")
        return "as expected" in said[-1] and "not as expected" not in said[-1]

    eventually(as_expected, explain=lambda: said)


def test_keep_if_decides_and_try_takes_it_back():
    run_whirr("--source", HOT, "why")
    done = run_whirr("do", number_of_quiet(), "--yes", "--measure", "1s", "--keep-if", "power < 100")
    assert done.returncode == 1 and "old values are back" in done.stdout
    tried = run_whirr("try", number_of_quiet(), "--yes", "--measure", "1s")
    assert "and back" in tried.stdout and "old values are back" in tried.stdout
    assert limit() == 450


def test_what_settings_bring_on_an_idle_gpu_is_measured_and_taken_back():
    idle = ("--source", "sim:scenario=held-context,speed=30", "why", "--idle", "--try")
    assert "clocks stock -> 210 MHz, and back" in run_whirr(*idle, "--dry-run").stdout
    assert "nobody can be asked" in run_whirr(*idle).stderr
    said = []

    def measured():  # a second is short on a busy machine
        said.append(run_whirr(*idle, "--yes", "--measure", "1s").stdout)
        return re.search(r"makes (2|3)\d W less.*\nTo keep it: whirr set clocks 210 --gpu 0", said[-1])

    eventually(measured, explain=lambda: said)
    assert all("the old values are back" in one for one in said) and "Nothing to undo" in run_whirr("undo").stdout
    busy = run_whirr("--source", HOT, "why", "--idle", "--try", "--yes")
    assert "GPU 0 is not idle: nothing is tried" in busy.stdout and busy.returncode == 0
    assert run_whirr("why", "--try").returncode == 2


def test_nothing_happens_unasked_or_without_rights_or_when_it_is_no_longer_so():
    run_whirr("--source", HOT, "why")
    assert run_whirr("do", number_of_quiet()).returncode == 2, "nobody can be asked"
    assert "dry run" in run_whirr("do", number_of_quiet(), "--dry-run").stdout
    person = run_whirr("do", next(r["number"] for r in why()["remedies"] if r["kind"] != "setting"), "--dry-run")
    assert person.stdout.startswith("SIMULATED\nGPU 0: Check airflow: dust on fans and filters, a blocked intake, room temperature.\n"
                                    "That is for a person: on a real host, whirr would do nothing. Here the simulation does it until "), person.stdout
    assert run_whirr("do", "9", "--yes").returncode == 1
    assert run_whirr("do", "one").returncode == 2
    denied = HOT + ",fault=denied"
    run_whirr("--source", denied, "why")
    number = next(r["number"] for r in why(denied)["remedies"] if r["code"] == "quiet")
    refused = run_whirr("do", number, "--yes")
    assert refused.returncode == 1 and "For someone who may: sudo whirr quiet" in refused.stderr, refused.stderr
    assert limit() == 450


def test_a_change_is_taken_back_whatever_machine_is_simulated_by_then():
    """GPU 0 has one UUID on all simulated machines: its change belongs to the model that it was made on."""
    machines = [f"sim:scenario=training,gpus=1,model={model}" for model in ("rtx4090", "h100")]
    for source in [*machines, *machines]:
        made = run_whirr("--source", source, "set", "power", "300W", "--for", "1h")
        assert made.returncode == 0 and made.stdout.startswith("SIMULATED\n"), made.stdout + made.stderr
        ended = run_whirr("--source", "sim:scenario=idle,gpus=1,model=rx7900xtx", "undo", "1")
        assert ended.returncode == 0 and ended.stdout.endswith("the old values are back.\n"), ended.stdout + ended.stderr
        assert run_whirr("--source", source, "set").stdout.count("300 W") == 0
    assert run_whirr("undo", "all").stdout == "Nothing to undo: whirr holds no change.\n"


ADVISED = {"quiet": "overheat", "stock_limit": "power-cap", "fan_auto": "fan-by-hand", "reset_clocks": "low-clocks", "air": "overheat", "fan": "fan-failing",
           "stop_work": "fan-stopped", "power_supply": "power-brake", "space": "neighbor-heat", "loaders": "slow-loaders", "numa": "remote-node",
           "program": "one-thread", "close_context": "multi-user"}


def follow(source, code):
    """What was expected of it, and what came of it; None where it isn't advised at this moment, or the load changed meanwhile."""
    gpus = json.loads(run_whirr("--source", source, "why", "--json").stdout)["gpus"]
    for gpu, remedy in ((g["gpu_index"], r) for g in gpus for r in g["remedies"] if r["code"] == code):
        run_whirr("--source", source, "why", "--gpu", gpu)
        done = run_whirr("do", remedy["number"], "--yes", "--measure", "0.6s")
        if "Measured: " in done.stdout:
            return remedy["expected"], done
        run_whirr("undo", "all")
    return None


@pytest.mark.parametrize("code", ADVISED)
def test_what_was_measured_once_is_what_comes_the_next_time(code):
    """Remedies on simulated machines, those for a person, too, at moments that differ: nothing is expected of the first; later ones are within a fifth, but for
    a moment at which the load changes."""
    chance, hits, others = random.Random(code), [], []
    for turn in range(3):
        source = f"sim:scenario={ADVISED[code]},speed=60,start={chance.randrange(630, 950)}"
        expected, done = eventually(lambda: follow(source, code), explain=f"{source}: {code}")
        assert run_whirr("undo", "all").returncode == 0
        if turn:
            (hits if ", as expected." in done.stdout else others).append(done.stdout)
        else:
            assert expected is None and "not known yet" in done.stdout, expected
    assert len(hits) >= len(others), others


def test_two_at_once_are_one():
    number = number_of_quiet()
    run_whirr("--source", HOT, "why")
    assert run_whirr("--source", HOT, "limit", "200W", "--gpu", "0").returncode == 0
    second = run_whirr("do", number, "--yes", "--measure", "1s")
    assert second.returncode == 1
    assert limit() == 200


@pytest.fixture
def hot(start):
    d = start("--interval", "0.5", "--store", "auto", source=HOT)
    d.wait_sampled()
    return d


def post(d, path, body):
    reply = d.ask("POST", path, json.dumps(body), unix=True, content_type="application/json")
    return reply.status, reply.json()


def advised(d):
    return d.json("/api/why")["gpus"][0]["remedies"]


def over(d):
    """The newest of what was asked for, once it is over."""
    def look():
        newest = d.json("/api/remedies")["doings"][0]
        return newest if newest["phase"] == "over" else None
    return eventually(look)


def test_the_api_does_measures_and_undoes_the_same(hot):
    eventually(lambda: [r for r in advised(hot) if r["code"] == "quiet"])
    status, answer = post(hot, "/api/remedies/quiet", {"gpu": 0, "dry_run": True})
    assert status == 202 and answer["doings"][0]["dry_run"]
    planned = over(hot)
    assert planned["plan"].startswith("GPU 0: power limit 450 W -> ") and planned["undo_id"] is None
    assert hot.json("/api/undo")["changes"] == []

    status, answer = post(hot, "/api/remedies/quiet", {"gpu": 0, "measure_seconds": 1})
    assert status == 202, answer
    assert post(hot, "/api/remedies/quiet", {"gpu": 0})[0] == 409, "one at a time on a GPU"
    done = over(hot)
    assert done["kept"] and done["outcome"] == "measured" and done["before"]["power_watts"] > done["after"]["power_watts"] + 20, done
    [change] = hot.json("/api/undo")["changes"]
    assert change["id"] == done["undo_id"] and change["door"] == "setting" and change["before"] == "450 W"
    remedies = hot.json("/api/remedies")
    assert remedies["hits"][0]["code"] == "quiet" and remedies["effects"][0]["cause"] == "remedy"
    eventually(lambda: [e for e in hot.json("/api/history/events?kind=effect")["events"] if e["data"]["code"] == "quiet"])
    audit = eventually(lambda: [e for e in hot.json("/api/history/events?kind=audit")["events"] if "Measured" in e["text"]])
    assert audit[0]["data"]["code"] == "quiet" and audit[0]["data"]["who"]

    status, undone = post(hot, "/api/undo", {"id": change["id"]})
    assert status == 200 and undone["changes"][0]["state"] == "under_way"
    eventually(lambda: hot.json("/api/undo")["changes"] == [])
    eventually(lambda: hot.json("/api/gpu/metrics")["gpus"][0]["power_limit_watts"] == 450)


def test_the_api_refuses_what_is_not_so_or_not_for_it(hot):
    eventually(lambda: [r for r in advised(hot) if r["code"] == "quiet"])
    assert post(hot, "/api/remedies/reseat", {})[0] == 409, "not advised"
    person = next(r["code"] for r in advised(hot) if r["kind"] != "setting")
    assert post(hot, f"/api/remedies/{person}", {"dry_run": True})[0] == 202, "who is simulated, too"
    assert post(hot, "/api/remedies/quiet", {"gpu": 7})[0] == 404
    assert post(hot, "/api/remedies/quiet", {"keep_if": "fan"})[0] == 400
    assert post(hot, "/api/remedies/quiet", {"measure_seconds": -1})[0] == 400
    assert post(hot, "/api/remedies/", {})[0] == 404
    assert hot.ask("GET", "/api/remedies/quiet").status == 405
    assert hot.ask("POST", "/api/remedies/quiet", "{}").status == 401, "not without the role"
    assert post(hot, "/api/undo", {"id": "nothing"})[0] == 404 and post(hot, "/api/undo", {})[0] == 400
    assert post(hot, "/api/undo", {"id": "all"})[0] == 200


def test_silences_are_undone_by_the_same_door(hot):
    assert post(hot, "/api/alerts/silence", {"matchers": {"alert": "hot"}, "for_seconds": 600, "created_by": "alice"})[0] == 201
    [change] = hot.json("/api/undo")["changes"]
    assert change["door"] == "silence" and change["by"] == "alice" and change["now"] == "silenced: alert=hot"
    assert hot.whirr("undo", "all").returncode == 0
    assert hot.json("/api/undo")["changes"] == []


def test_what_holds_of_one_gpu(start):
    """A setting of GPU 1, and silences of one GPU and of none."""
    d = start("--interval", "0.5", "--store", "auto", source="sim:scenario=overheat,gpus=2,start=400,speed=30")
    hot = eventually(lambda: [g["gpu_index"] for g in d.json("/api/why")["gpus"] for r in g["remedies"] if r["code"] == "quiet"])
    assert post(d, "/api/remedies/quiet", {"gpu": hot[0], "measure_seconds": 1})[0] == 202
    other = 1 - hot[0]
    for matchers in ({"gpu": str(other)}, {"alert": "hot"}):
        assert post(d, "/api/alerts/silence", {"matchers": matchers, "for_seconds": 600})[0] == 201
    eventually(lambda: len(d.json("/api/undo")["changes"]) == 3)
    assert [[c["door"] for c in d.json(f"/api/undo?gpu={g}")["changes"]] for g in (other, hot[0])] == [["silence"], ["setting"]]
    assert [len(d.json(f"/api/leases?gpu={g}")["leases"]) for g in (other, hot[0])] == [0, 1]
    assert [len(d.json(f"/api/remedies?gpu={g}")["doings"]) for g in (other, hot[0])] == [0, 1]
    assert post(d, "/api/undo", {"id": "all"})[0] == 200


def test_what_was_learned_is_known_after_a_restart_and_reported(hot):
    eventually(lambda: [r for r in advised(hot) if r["code"] == "quiet"])
    assert "No remedy was measured yet" in hot.whirr("report", "--remedies").stdout
    post(hot, "/api/remedies/quiet", {"gpu": 0, "measure_seconds": 1})
    assert over(hot)["kept"]
    eventually(lambda: hot.json("/api/history/events?kind=effect")["count"] == 1)
    text = hot.whirr("report", "--remedies").stdout
    assert "quiet" in text and "1 measured" in text, text
    post(hot, "/api/undo", {"id": "all"})
    hot.stop()
    again = Starter.again(SimpleNamespace(running=[]), hot)
    try:
        again.wait_sampled()
        eventually(lambda: again.json("/api/remedies")["hits"])
        quiet = eventually(lambda: [r for r in advised(again) if r["code"] == "quiet" and r["expected"]])[0]
        assert quiet["expected"]["source"] == "own_history" and quiet["expected"]["power_watts"] < -20
    finally:
        again.stop()


def test_undo_knows_tokens_and_notifiers_and_removes_them_only_when_told(tmp_path):
    def whirr(*args):
        return run_whirr(*args, folder=tmp_path)
    assert whirr("token", "new", "phone", "--role", "silence").returncode == 0
    added = whirr("notify", "add", "mine", "ntfy", "--url", "http://127.0.0.1:9/gpus", "--no-test")
    assert added.returncode == 0, added.stderr
    changes = {c["id"]: c for c in json.loads(whirr("undo", "--json").stdout)["changes"]}
    assert changes["token:phone"]["now"] == "phone may silence" and changes["token:phone"]["how"] == "whirr token remove phone"
    assert changes["notifier:mine"]["door"] == "notifier"
    left = whirr("undo", "all")
    assert left.returncode == 0 and left.stdout.count("Left: ") == 2, left.stdout
    assert "whirr token remove phone" in whirr("undo", "all", "--dry-run").stdout
    assert whirr("undo", "token:phone").returncode == 0
    assert whirr("undo", "all", "--yes").returncode == 0
    assert json.loads(whirr("undo", "--json").stdout)["changes"] == []
    assert whirr("undo", "token:phone").returncode == 1
