# SPDX-License-Identifier: Apache-2.0
"""--fleet postgresql://...: all hosts from the database that they keep their history in.

One host is real; a hundred more are rows as their daemons would have written them a moment ago.
"""
import glob
import json
import os
import subprocess

import pytest
from conftest import PATIENCE, eventually
from isolation import ROOT, WHIRR, environment

URL, CONTROL = os.environ.get("WHIRR_TEST_POSTGRES"), os.environ.get("WHIRR_TEST_PGCTL")
CLOCK = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib*/faketime/libfaketimeMT.so.1")), None)
HOSTS, GPUS, GIB = 100, 4, 2**30

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not URL, reason="no PostgreSQL server (tools/with-postgres starts one)")]

# gpu17 has lost a GPU, one of gpu23 is failing, gpu42 throttles, gpu99 has been held but idle for two hours, gpu7 is of an older whirr and has no findings, gpu100 has room for 60 GiB, but for its last GPU, which is divided; gpu0 was last heard an hour ago.
ROWS = """
CREATE TEMP TABLE t AS SELECT CAST(EXTRACT(EPOCH FROM now()) * 1000 AS BIGINT) AS ms;
INSERT INTO hosts (id, name, first_seen_ms, last_seen_ms) SELECT 1000 + n, 'gpu' || n, t.ms, t.ms - CASE WHEN n = 0 THEN 3600000 ELSE 0 END
  FROM t, generate_series(0, {hosts}) n;
INSERT INTO gpus (id, host_id, identity, uuid, name, vendor, simulated, gpu_index, first_seen_ms, last_seen_ms)
  SELECT h.id * 10 + i, h.id, 'GPU-' || h.id || i, 'GPU-' || h.id || i, 'NVIDIA H100', 'nvidia', 1, i, h.last_seen_ms, h.last_seen_ms
  FROM hosts h, generate_series(0, {gpus} - 1) i WHERE h.id >= 1000;
INSERT INTO facts (gpu_id, key, since_ms, value) SELECT id, 'state', first_seen_ms, CASE WHEN id = 10173 THEN 'lost' ELSE 'ok' END FROM gpus WHERE id >= 10000;
INSERT INTO facts (gpu_id, key, since_ms, value) SELECT id, 'largest_instance', first_seen_ms, CASE id WHEN 11002 THEN 'none' ELSE CAST(10 * {gib} AS TEXT) END
  FROM gpus WHERE id IN (11002, 11003);
INSERT INTO samples (recorded_at, gpu_id, gpu_index, util_permille, mem_used_bytes, mem_total_bytes, mem_free_bytes, temp_mdegc, power_mw, throttle_bits)
  SELECT to_timestamp((t.ms - back) / 1000.0), g.id, g.gpu_index, CASE g.host_id WHEN 1099 THEN 0 ELSE 600 + back END, u.used * {gib}, 80 * {gib},
  (80 - u.used) * {gib}, 60000 + g.gpu_index * 1000, 400000, CASE g.id WHEN 10421 THEN 32 ELSE 4 END
  FROM t, gpus g, generate_series(0, 4) back, LATERAL (SELECT CASE g.host_id WHEN 1100 THEN 10 ELSE 70 END::bigint AS used) u
  WHERE g.id >= 10000 AND g.id <> 10173;
INSERT INTO finding_episodes (host_id, gpu_id, process_id, pid, code, severity, severity_now, confidence_permille, since_ms, first_seen_ms, last_seen_ms, ended, worst_ms, headline,
  samples, util_sum_permille, util_count, power_sum_mw, power_count)
  SELECT g.host_id, g.id, NULL, 0, f.code, f.severity, f.severity, f.confidence, t.ms - 7200000, t.ms - 7200000, t.ms, f.ended, t.ms, f.headline, 1, 0, 0, 0, 0
  FROM t, gpus g, LATERAL (VALUES
    (g.id = 10173, 'lost', 3, 970, 0, 'GPU 3 was lost'), (g.id = 10232, 'row_remap', 3, 970, 0, 'GPU 2: 3 rows could not be remapped'),
    (g.id = 10232, 'loud', 2, 970, 0, 'GPU 2 is loud'), (g.id = 10231, 'ecc', 3, 970, 1, 'It was over an hour ago'),
    (g.id = 10421, 'heat_limit', 3, 970, 0, 'GPU 1 is throttling (93 °C)'), (g.host_id = 1099, 'vram_held', 0, 100, 0, 'python3 is holding 69 GiB'),
    (g.host_id <> 1007, 'nothing_unusual', 0, 50, 0, 'GPU ' || g.gpu_index || ': nothing unusual')) f (said, code, severity, confidence, ended, headline)
  WHERE g.id >= 10000 AND f.said;
INSERT INTO processes (id, gpu_id, pid, start_key, name, user_name, container, job, first_seen_ms, last_seen_ms, ended, samples, memory_sum_bytes, memory_count,
  sm_sum_permille, sm_count, energy_mj)
  SELECT g.id, g.id, g.id, g.id, 'python3', CASE WHEN g.host_id % 3 = 0 THEN 'bob' ELSE 'alice' END, 'train-' || g.host_id, '77', t.ms - 3600000, t.ms, 0, 0, 0, 0, 0, 0, 0
  FROM t, gpus g WHERE g.id >= 10000 AND g.host_id > 1000;
INSERT INTO process_minutes (minute, process_id, samples, memory_max_bytes, memory_sum_bytes, memory_count, sm_sum_permille, sm_count, energy_mj, limit_code, limit_samples)
  SELECT t.ms / 60000 - back, p.id, 12, 69 * {gib}, 12 * 69 * {gib}, 12, 6000, 12, 300 * 60 * 1000, CASE p.id WHEN 10302 THEN 'disk' ELSE 'straggler_wait' END, 12 FROM t, processes p, generate_series(1, 10) back WHERE p.id >= 10000;
INSERT INTO energy (minute, gpu_id, energy_mj, attributed_mj, counted)
  SELECT t.ms / 60000 - back, g.id, 400 * 60 * 1000, 300 * 60 * 1000, 1 FROM t, gpus g, generate_series(1, 10) back WHERE g.id >= 10000 AND g.host_id > 1000;
INSERT INTO energy_hours (hour, gpu_id, energy_mj, attributed_mj, counter_mj) SELECT t.ms / 3600000 - back, 10000, 3600000, 0, 0 FROM t, generate_series(3, 90) back;
INSERT INTO energy_days (day, gpu_id, energy_mj) SELECT hour / 24, gpu_id, SUM(energy_mj) + CASE WHEN COUNT(*) = 24 THEN 1000 ELSE 0 END FROM energy_hours WHERE gpu_id = 10000 GROUP BY 1, 2;
"""


def sql(query):
    done = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", URL], input=query, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def ask(tmp_path):
    def run(*args, url=URL):
        return subprocess.run([WHIRR, *args, "--fleet", url], env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    return run


@pytest.fixture
def fleet(start):
    subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
    real = start("--interval", "0.5", "--store", URL, source="sim:gpus=1,scenario=training,model=h100", WHIRR_STORE_HOST="real")
    # Its process has a minute of its own, in which it was for a while.
    eventually(lambda: sql("SELECT COUNT(*) FROM processes p JOIN process_minutes m ON m.process_id = p.id WHERE p.last_seen_ms > p.first_seen_ms + 2000") != "0"
               if real.json("/api/health")["store"]["written_total"] >= 5 else False, explain=real.log)
    sql((ROOT / "tests" / "support" / "parts.sql").read_text() + "SELECT pg_temp.make_parts(5);" + ROWS.format(hosts=HOSTS, gpus=GPUS, gib=f"{GIB}::bigint"))
    eventually(lambda: sql("SELECT clock_timestamp() - pg_postmaster_start_time() > interval '15 s'") == "t")  # of one that has just come, no host is called silent
    yield real
    real.stop()


def hosts_of(found):
    return {h["host"]: h for h in found("status")["hosts"]}


def test_a_fleet_from_the_database_of_its_history(fleet, ask):
    def found(*args):
        done = ask(*args, "--json")
        assert done.stderr == "", done
        return json.loads(done.stdout)

    # Worst first, on one screen.
    done = ask("status")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == "" and len(lines) <= 43, done
    assert lines[0].startswith("101 hosts, 401 GPUs, ") and lines[0].endswith(": 1 lost, 2 degraded, 4 held but idle, 4 not judged, 1 host not answering (gpu0)"), lines[0]
    assert lines[2].split()[0] == "gpu17" and lines[2].endswith("GPU 3 was lost")
    assert lines[3].split()[0] == "gpu23" and "GPU 2: 3 rows could" in lines[3]
    assert lines[4].split()[0] == "gpu42" and "GPU 1 is throttling (93 °C)" in lines[4]
    assert lines[5].split()[0] == "gpu0" and lines[5].endswith("not answering for 1h"), lines[5]
    assert lines[6].split()[0] == "gpu99" and "4 GPUs are held but idle (280" in lines[6]
    assert lines[7].split()[0] == "gpu7" and lines[7].endswith("4 GPUs are not judged")
    hosts = {h["host"]: h for h in found("status")["hosts"]}
    assert hosts["gpu5"]["memory_used_mb"] == 4 * 70 * 1024 and hosts["gpu0"]["gpus"] == [] and hosts["real"]["power_watts"] > 0
    assert [h["host"] for h in found("why")["hosts"]] == ["gpu17", "gpu23", "gpu42", "gpu0", "gpu99", "gpu7"]
    remapped = hosts["gpu23"]["gpus"][2]
    assert (remapped["code"], remapped["severity"], remapped["headline"], remapped["work_may_go_there"]) == ("row_remap", "critical", "GPU 2: 3 rows could not be remapped", False)
    assert ("gpu23", 2) not in {(g["host"], g["gpu_index"]) for g in found("fit", "10GiB")["gpus"]}
    # Where 60 GiB fit: the real host may have room as well.
    assert {g["host"] for g in found("fit", "60GiB")["gpus"]} - {"real"} == {"gpu100"} and ask("fit", "100GiB").returncode == 1
    # Not on the one that is divided into instances of 10 GiB, but on the one that was.
    assert [g["gpu_index"] for g in found("fit", "60GiB")["gpus"] if g["host"] == "gpu100"] == [0, 1, 2]
    # Who has how much.
    users = {u["user"]: u for u in found("ps", "--by", "user")["users"]}
    bobs = 4 * sum((1000 + n) % 3 == 0 for n in range(1, HOSTS + 1))
    assert users["bob"]["memory_mb"] == bobs * 69 * 1024 and users["bob"]["power_watts"] == bobs * 300
    containers = {c["container"]: c for c in found("ps", "--by", "container")["containers"]}
    assert containers["train-1005"]["memory_mb"] == 4 * 69 * 1024 and containers["train-1005"]["utilization_percent"] == 4 * 50
    real = [p for p in found("ps", "--all")["processes"] if p["host"] == "real"]
    assert real and real[0]["memory_mb"] > 0
    # For whom a job on many hosts waits.
    job = found("why", "--job", "77")
    assert job["answer"] == "Job 77, 400 processes on 100 hosts: 399 wait for GPU 2 of gpu30, where python3 is limited by disk.", job["answer"]
    # What it used, and what that costs.
    bill = found("report", "--since", "-1h", "--price", "0.5")
    hosts = {h["host"]: h for h in bill["hosts"]}
    assert hosts["gpu5"]["energy_joules"] == pytest.approx(4 * 400 * 600) and hosts["gpu5"]["cost"] == pytest.approx(4 * 400 * 600 / 3.6e6 * 0.5, rel=1e-3)
    # Whole days are read as such: of three or two of them, by the time of day, each is 1 J more than its hours.
    hosts = {h["host"]: h for h in found("report", "--since", "-4d")["hosts"]}
    assert hosts["gpu0"]["energy_joules"] == pytest.approx(88 * 3600 + int(sql("SELECT COUNT(*) FROM (SELECT hour / 24 FROM energy_hours WHERE gpu_id = 10000 GROUP BY 1 HAVING COUNT(*) = 24) d")))
    by_user = {u["user"]: u["energy_joules"] for u in found("report", "--since", "-1h", "--by", "user")["users"]}
    assert by_user["bob"] == pytest.approx(bobs * 300 * 600)
    job = found("report", "--since", "-1h", "--by", "job")["jobs"][0]
    assert job["job"] == "77" and job["energy_joules"] == pytest.approx(4 * HOSTS * 300 * 600)
    # The real one says of itself what the fleet says of it.
    said = fleet.json("/api/why")["findings"][0]["code"]
    assert hosts_of(found)["real"]["code"] == said
    # A host that is away for a while is told, and one that was there long ago is forgotten.
    sql("UPDATE hosts SET last_seen_ms = last_seen_ms - 8 * 86400000::bigint WHERE name = 'gpu0'")
    assert "not answering" not in ask("status").stdout.splitlines()[0]


def test_a_host_that_was_killed_is_named_before_five_minutes_are_over(fleet, start, ask):
    """By how often it wrote; those of which only last_seen_ms is known keep their five minutes."""
    found = lambda: {h["host"]: h for h in json.loads(ask("status", "--json").stdout)["hosts"]}  # noqa: E731
    assert found()["real"]["trouble"] != "silent"
    fleet.process.kill()
    killed = eventually(lambda: (h := found()["real"])["trouble"] == "silent" and h)
    assert killed["note"].startswith("not answering for ") and killed["power_watts"] is None and killed["last_seen_at"], killed
    assert int(sql("SELECT EXTRACT(EPOCH FROM clock_timestamp()) * 1000 - last_seen_ms FROM hosts WHERE name = 'real'").split(".")[0]) < 300000
    assert {n for n, h in found().items() if h["trouble"] == "silent"} == {"gpu0", "real"}
    assert killed["last_known"]["gpu_count"] == 1 and killed["last_known"]["power_watts"] > 0 and found()["gpu0"]["last_known"] is None, killed
    assert "real" not in {g["host"] for g in json.loads(ask("fit", "1GiB", "--json").stdout)["gpus"]}
    # Gone on purpose: for all readers of this database, and an event of that host.
    assert ask("fleet", "forget", "gpu1").returncode == 1
    done = ask("fleet", "forget", "real")
    assert done.returncode == 0 and "real" not in found(), done
    assert [h["state"] for h in json.loads(ask("fleet", "forget", "--json").stdout)["hosts"] if h["host"] == "real"] == ["forgotten"]
    assert ask("fleet", "forget", "--undo", "real").returncode == 0 and found()["real"]["trouble"] == "silent"
    said = sql("SELECT string_agg(text, '; ' ORDER BY id) FROM events WHERE kind = 'audit' AND host_id = (SELECT id FROM hosts WHERE name = 'real')")
    assert said.split(" ", 1)[1].startswith("no longer expects this host; ") and said.endswith(" expects this host"), said
    ask("fleet", "forget", "real")
    start("--interval", "0.5", "--store", URL, source="sim:gpus=1,scenario=training,model=h100", WHIRR_STORE_HOST="real")
    eventually(lambda: found().get("real", {}).get("power_watts"))  # heard again


def test_what_is_expected_and_whose_name_is_shared(fleet, ask, tmp_path):
    sql("UPDATE gpus SET last_seen_ms = 0 WHERE id IN (10031, 10033); "
        "INSERT INTO gpus (id, host_id, identity, uuid, name, vendor, simulated, gpu_index, first_seen_ms, last_seen_ms) "
        "SELECT 99990, host_id, 'GPU-other', 'GPU-other', name, vendor, 1, 0, first_seen_ms, last_seen_ms FROM gpus WHERE id = 10050")
    file = tmp_path / "expect.toml"
    file.write_text('[fleet]\nexpect = ["gpu[1-3]=4", "gpu[0-0]=4", "never=8"]\n')
    file.chmod(0o600)
    found = json.loads(ask("--config", str(file), "status", "--json").stdout)
    hosts = {h["host"]: h for h in found["hosts"]}
    assert (hosts["gpu3"]["code"], hosts["gpu3"]["note"], hosts["gpu3"]["gpus_expected"]) == ("gpus_missing", "2 of 4 GPUs are missing: 1, 3", 4)
    assert hosts["never"]["trouble"] == "silent" and hosts["never"]["note"] == "expected, but not seen in the last week"
    assert found["gpus_missing"] == 2 and "2 GPUs missing, 2 hosts not answering (gpu0, never)" in found["answer"], found["answer"]
    assert (hosts["gpu5"]["code"], hosts["gpu5"]["note"]) == ("name_shared", "two hosts are called gpu5: GPU 0 is GPU-10050 and GPU-other")


def test_two_hosts_of_one_name_have_a_history_each(start, ask, tmp_path):
    """A host is its machine. Whoever wrote first keeps the name, and what was written under it before; one that takes the place of a dead one goes on with it."""
    subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")

    def twin(machine, model):
        root = tmp_path / machine
        (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
        (root / "etc").mkdir(exist_ok=True)
        (root / "proc/sys/kernel/hostname").write_text("twin\n")
        (root / "etc/machine-id").write_text(machine * 32 + "\n")
        d = start("--interval", "0.2", "--store", URL, "--sysroot", str(root), source=f"sim:gpus=1,scenario=training,model={model}")
        eventually(lambda: d.json("/api/health")["store"]["written_total"] >= 3, explain=d.log)
        told = json.dumps(d.json("/api/history"))
        return d, {kind for kind in ("H100", "4090") if kind in told}
    names = lambda: sql("SELECT string_agg(name, ', ' ORDER BY id) FROM hosts WHERE name LIKE 'twin%'")  # noqa: E731
    one, kept = twin("1", "h100")
    assert kept == {"H100"} and names() == "twin", one.json("/api/history")
    two, kept = twin("2", "rtx4090")
    assert kept == {"4090"}, two.log()
    both = names().split(", ")
    assert both[0] == "twin" and both[1].startswith("twin (ID ") and len(both) == 2 and "another host called 'twin'" in two.log(), both
    found = json.loads(ask("status", "--json").stdout)
    assert {h["host"]: len(h["gpus"]) for h in found["hosts"] if h["host"].startswith("twin")} == dict.fromkeys(both, 1) and not [h for h in found["hosts"] if h["code"] == "name_shared"], found
    # Each has its own over restarts, in whatever order; an ID in place of a dead one goes on under its name.
    one.stop()
    two.stop()
    sql("UPDATE hosts SET last_seen_ms = 0; UPDATE retention SET alive_ms = 1")
    again, kept = twin("2", "rtx4090")
    assert kept == {"4090"} and names().split(", ") == both, names()
    again.stop()
    three, kept = twin("3", "h100")
    assert kept == {"H100"} and names().split(", ") == both and "another host" not in three.log(), names()


@pytest.mark.skipif(not CLOCK, reason="no libfaketime (Debian: faketime)")
@pytest.mark.parametrize("off", [-600, 600])
def test_a_host_with_a_wrong_clock_is_there_and_says_so(fleet, start, ask, off):
    daemon = start("--interval", "0.5", "--store", URL, source="sim:gpus=2,scenario=training,model=h100", WHIRR_STORE_HOST="off", LD_PRELOAD=CLOCK, FAKETIME=f"{off:+d}s",
                   ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")

    def look():
        found = json.loads(ask("status", "--json").stdout)
        host = {h["host"]: h for h in found["hosts"]}.get("off")
        return host and host["clock_ahead_seconds"] and host["power_watts"] and (found, host)
    found, host = eventually(look, explain=lambda: ask("status").stdout)
    assert abs(host["clock_ahead_seconds"] - off) < 5 and (host["code"], host["trouble"]) == ("clock_off", "unusual") and len(host["gpus"]) == 2, host
    assert host["note"].startswith("its clock is ") and host["note"].endswith("behind the database's" if off < 0 else "ahead of the database's")
    assert found["clocks_off"] == 1 and {h["host"] for h in found["hosts"] if h["clock_ahead_seconds"]} == {"off"}  # those of an older whirr are not known
    # Its processes are of its last minute, and its findings are those of now.
    eventually(lambda: [p for p in json.loads(ask("ps", "--all", "--json").stdout)["processes"] if p["host"] == "off"])
    assert any(g["code"] for g in host["gpus"])
    # It ends: five minutes later it is silent, by the database's clock.
    daemon.stop()
    sql("UPDATE hosts SET last_seen_ms = last_seen_ms - 360000 WHERE name = 'off'; UPDATE gpus SET last_seen_ms = 0 WHERE host_id = (SELECT id FROM hosts WHERE name = 'off'); "
        "UPDATE retention SET alive_ms = alive_ms - 360000 WHERE ahead_ms NOT BETWEEN -60000 AND 60000")
    assert [(h["trouble"], h["clock_ahead_seconds"]) for h in json.loads(ask("status", "--json").stdout)["hosts"] if h["host"] == "off"] == [("silent", None)]


def test_an_empty_database(ask):
    subprocess.run([CONTROL, "start"], timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC")
    done = ask("status")
    assert done.returncode == 1 and "nothing was ever stored here" in done.stderr
    away = ask("report", url="postgresql://nobody@/x?host=/nonexistent")
    assert away.returncode == 1 and "PostgreSQL" in away.stderr and "/nonexistent" in away.stderr
