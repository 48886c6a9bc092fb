# SPDX-License-Identifier: Apache-2.0
"""Push, against the databases of Debian's packages and a stand-in that fails on demand: in order, nothing lost, nothing doubled."""
import json
import math
import pathlib
import signal
import ssl
import struct
import subprocess
import time

import pytest
import targets
from isolation import WHIRR, environment
from tsdb import Prometheus, VictoriaMetrics
from waiting import PATIENCE, eventually

STALE = 0x7FF0000000000002


def settings(tmp_path, url, more="", name="db"):
    config = tmp_path / "push.toml"
    config.write_text(f'[metrics]\nlabels = {{ host = "box" }}\n[push.{name}]\nurl = "{url}"\ninterval = "200ms"\n{more}\n')
    config.chmod(0o600)
    return str(config)


def pushed(daemon):
    return daemon.json("/api/health")["push"]["targets"][0]


def decode(body):
    """A WriteRequest, read by Google's protobuf and Google's snappy: [(labels, bits of the value, time)]."""
    snappy = pytest.importorskip("snappy")
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory
    if not hasattr(decode, "request"):
        file = descriptor_pb2.FileDescriptorProto(name="write.proto", package="w", syntax="proto3")
        for message, fields in {"Label": [("name", 1, 9, ""), ("value", 2, 9, "")], "Sample": [("value", 1, 1, ""), ("timestamp", 2, 3, "")],
                                "TimeSeries": [("labels", 1, 11, ".w.Label"), ("samples", 2, 11, ".w.Sample")],
                                "WriteRequest": [("timeseries", 1, 11, ".w.TimeSeries")]}.items():
            m = file.message_type.add(name=message)
            for field, number, kind, of in fields:
                m.field.add(name=field, number=number, type=kind, label=3 if of else 1, **({"type_name": of} if of else {}))
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        decode.request = message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("w.WriteRequest"))
    request = decode.request.FromString(snappy.decompress(body))
    found = []
    for series in request.timeseries:
        labels = [(l.name, l.value) for l in series.labels]
        assert labels == sorted(labels) and len({n for n, _ in labels}) == len(labels) and all(v for _, v in labels), labels
        found += [(dict(labels), struct.unpack("<Q", struct.pack("<d", s.value))[0], s.timestamp) for s in series.samples]
    return found


def decode_2(body):
    """A request of remote write 2.0, by hand: [(labels, bits of the value, time, start, type, help, unit)]."""
    snappy = pytest.importorskip("snappy")

    def fields(data):
        def varint(at):
            value = shift = 0
            while True:
                value |= (data[at] & 0x7f) << shift
                at, shift = at + 1, shift + 7
                if data[at - 1] < 0x80:
                    return value, at
        at, found = 0, []
        while at < len(data):
            key, at = varint(at)
            if key & 7 == 0:
                value, at = varint(at)
            elif key & 7 == 1:
                value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
            else:
                assert key & 7 == 2, key
                size, at = varint(at)
                value, at = data[at:at + size], at + size
            found.append((key >> 3, value))
        return found

    def refs(data):
        numbers, value, shift = [], 0, 0
        for byte in data:
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                numbers.append(value)
                value = shift = 0
        return numbers
    request = fields(snappy.decompress(body))
    symbols = [value.decode() for number, value in request if number == 4]
    assert symbols[0] == "" and len(set(symbols)) == len(symbols) and {number for number, _ in request} == {4, 5}
    found = []
    for series in (fields(value) for number, value in request if number == 5):
        series = dict(series)
        names = [symbols[r] for r in refs(series[1])]
        labels = list(zip(names[::2], names[1::2]))
        assert labels == sorted(labels) and all(v for _, v in labels), labels
        sample, metadata = dict(fields(series[2])), dict(fields(series[5]))
        found.append((dict(labels), sample[1], sample[2], sample.get(3, 0), metadata[1], symbols[metadata[3]], symbols[metadata[4]]))
    return found


def number(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


@pytest.fixture
def hook():
    target = targets.Target(lambda request: (204, {}, b""))
    yield target
    target.close()


def test_requests_are_what_the_specification_wants(start, tmp_path, hook):
    begin = time.time()
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/api/v1/write"), 'headers = { X-Scope-OrgID = "team" }'))
    eventually(lambda: len(hook.requests) >= 3, explain=d.log)
    first = hook.requests[0]
    headers = {k.lower(): v for k, v in first.headers.items()}
    assert first.path == "/api/v1/write" and headers["content-type"] == "application/x-protobuf" and headers["content-encoding"] == "snappy"
    assert headers["x-prometheus-remote-write-version"] == "0.1.0" and headers["user-agent"].startswith("whirr/")
    assert headers["x-scope-orgid"] == "team"
    samples = decode(first.body)
    assert len({t for _, _, t in samples}) == 1 and begin - 1 < samples[0][2] / 1000 < time.time() + 1
    assert all(l["job"] == "whirr" and l["instance"] == "box" and l["host"] == "box" for l, _, _ in samples)

    def missing():
        scraped = {line.rsplit(" ", 1)[0].split("{")[0] for line in d.get("/metrics").body.decode().splitlines() if line and line[0] != "#"}
        return {n for n in scraped if n.startswith("gpu_")} - {l["__name__"] for l, _, _ in decode(hook.requests[-1].body)}
    eventually(lambda: not missing(), explain=missing)  # some come with the second sample
    assert [number(b) for l, b, _ in samples if l["__name__"] == "gpu_devices"] == [2]


WRITTEN = {"X-Prometheus-Remote-Write-Samples-Written": "1", "X-Prometheus-Remote-Write-Histograms-Written": "0", "X-Prometheus-Remote-Write-Exemplars-Written": "0"}
VERSION_2 = 'protocol = "remote_write_2"'


def test_remote_write_2_has_symbols_metadata_and_starts(start, tmp_path, hook):
    hook.judge, begun = lambda request: (204, WRITTEN, b""), time.time()
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/api/v1/write"), VERSION_2))
    eventually(lambda: len(hook.requests) >= 3, explain=d.log)
    for request in hook.requests[:3]:
        headers = {k.lower(): v for k, v in request.headers.items()}
        assert headers["content-type"] == "application/x-protobuf;proto=io.prometheus.write.v2.Request" and headers["content-encoding"] == "snappy"
        assert headers["x-prometheus-remote-write-version"] == "2.0.0"
    series = {s[0]["__name__"]: s for s in decode_2(hook.requests[1].body)}
    labels, bits, at, begin, kind, words, unit = series["gpu_memory_total_bytes"]
    assert labels["instance"] == "box" and number(bits) > 2**30 and (begin, kind, unit) == (0, 2, "bytes") and words and begun - 1 < at / 1000 < time.time() + 1
    ours = series["whirr_push_samples_sent_total"]
    assert ours[4] == 1 and 0 < ours[3] <= ours[2] and series["gpu_energy_joules_total"][3:5] == (0, 1)
    assert eventually(lambda: pushed(d)["samples_sent"]) and "sending 1.0" not in d.log()


@pytest.mark.parametrize("answer", [(415, {}, b"what is this"), (400, {}, b"snappy: corrupt input"), (204, {}, b"")], ids=["415", "400", "no-count"])
def test_who_only_knows_1_gets_1(start, tmp_path, hook, answer):
    """Nothing of the first request is lost: the same samples come again, as 1.0, and so does everything after them."""
    hook.judge = lambda request: answer if "v2" in request.headers.get("Content-Type", "") else (204, {}, b"")
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w"), VERSION_2))
    eventually(lambda: len(hook.requests) >= 4, explain=d.log)
    first, again = decode_2(hook.requests[0].body), decode(hook.requests[1].body)
    assert [(s[0], s[1], s[2]) for s in first] == again
    assert all(r.headers["X-Prometheus-Remote-Write-Version"] == "0.1.0" for r in hook.requests[1:])
    d.wait_log("does not know remote write 2.0, sending 1.0")
    assert d.log().count("does not know remote write 2.0, sending 1.0") == 1 and pushed(d)["samples_refused"] == 0


def test_a_real_prometheus_of_before_2_gets_everything(start, tmp_path):
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    prometheus = Prometheus(tmp_path / "prometheus").start()
    try:
        d = start("--interval", "0.2", "--config", settings(tmp_path, prometheus.url + prometheus.write, VERSION_2))
        eventually(lambda: prometheus.values('gpu_devices{instance="box"}') == [2], explain=lambda: d.log() + prometheus.log())
    finally:
        prometheus.stop()


def test_series_that_end_are_marked_stale(start, tmp_path, hook):
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w")), source="sim:gpus=1,scenario=gpu-lost,speed=30")
    def stale():
        return [l for r in list(hook.requests) for l, bits, _ in decode(r.body) if bits == STALE and l["__name__"] == "gpu_temperature_celsius"]
    eventually(stale, explain=d.log)
    before = len(hook.requests)
    assert d.stop()[0] == 0
    last = decode(hook.requests[-1].body)
    assert len(hook.requests) > before and last and all(bits == STALE for _, bits, _ in last)


def test_a_large_host_is_sent_in_batches(start, tmp_path, hook):
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w"), "batch = 50"))
    eventually(lambda: len(hook.requests) > 12, explain=d.log)
    sizes = [len(decode(r.body)) for r in list(hook.requests)]
    assert max(sizes) == 50 and sizes.count(50) >= 4


def check_order(samples):
    """Each series has each time once, in order."""
    last = {}
    for labels, _, at in samples:
        key = tuple(sorted(labels.items()))
        assert at > last.get(key, 0), (labels, at, last.get(key))
        last[key] = at


@pytest.mark.slow
def test_failures_are_retried_in_order(start, tmp_path, hook):
    hook.answers = [(500, {}, b"no"), (503, {}, b""), (429, {"Retry-After": "2"}, b"slow down")]
    hook.judge = lambda request: (429, {"Retry-After": "1"}, b"")
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w")))
    size = len(decode(eventually(lambda: hook.requests, explain=d.log)[0].body))
    eventually(lambda: pushed(d)["samples_waiting"] > 5 * size, explain=d.log)
    hook.judge, until = lambda request: (204, {}, b""), time.time()
    eventually(lambda: pushed(d)["samples_waiting"] == 0, explain=d.log)
    requests = list(eventually(lambda: len(hook.requests) > 3 and hook.requests, explain=d.log))
    failed, accepted = [r for r in requests if r.status != 204], [r for r in requests if r.status == 204]
    assert {r.body for r in failed} == {accepted[0].body} and requests[:len(failed)] == failed  # the same one, until it was taken
    assert requests[3].at - requests[2].at >= 1.9
    check_order([s for r in accepted for s in decode(r.body)])
    # What was taken while it failed came later.
    times = {t for r in accepted for _, _, t in decode(r.body)}
    assert len([t for t in times if t < until * 1000]) > 4 and pushed(d)["samples_lost"] == 0, times
    d.wait_log("can be reached again")
    said = [line for line in d.log().splitlines() if "push db: cannot send" in line or "can be reached again" in line]
    assert len(said) == 2 and "cannot send" in said[0], "each once, in this order"


def test_a_refusal_is_no_reason_to_stop(start, tmp_path, hook):
    hook.answers = [(400, {}, b"out of order sample")]
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w")))
    eventually(lambda: len(hook.requests) > 3, explain=d.log)
    assert hook.requests[0].body != hook.requests[1].body
    eventually(lambda: (s := pushed(d))["samples_refused"] > 50 and s["state"] == "ok", explain=d.log)
    d.wait_log("out of order sample")


def test_what_is_always_refused_is_unhealthy_and_one_line_in_the_log(start, tmp_path, hook):
    hook.judge = lambda request: (401, {}, b"no such tenant")
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w")))
    eventually(lambda: len(hook.requests) > 6 and pushed(d)["state"] == "refused", explain=d.log)
    assert d.json("/api/health")["status"] == "degraded" and "no such tenant" in pushed(d)["message"]
    assert len([line for line in d.log().splitlines() if "refused and dropped" in line]) == 1, d.log()
    hook.judge = lambda request: (204, {}, b"")
    eventually(lambda: pushed(d)["state"] == "ok", explain=d.log)
    d.wait_log("samples are accepted again")
    assert d.json("/api/health")["status"] == "ok"


def test_a_clock_that_is_off_is_reported(start, tmp_path, hook):
    hook.ahead = 600
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/w")))
    eventually(lambda: (seconds := pushed(d)["clock_ahead_seconds"]) and -605 < seconds < -595, explain=d.log)
    d.wait_log("behind the receiver's: its samples are stored at the wrong time")
    assert eventually(lambda: [line for line in d.get("/metrics").body.decode().splitlines() if line.startswith('whirr_push_clock_ahead_seconds{') and ' -60' in line or ' -59' in line])
    hook.ahead = 0
    d.wait_log("clock and the receiver's agree again")
    assert d.log().count("behind the receiver's") == 1


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A server and a client, each its own authority: {name: (certificate, key)}."""
    folder, made = tmp_path_factory.mktemp("tls"), {}
    for name in ("server", "client", "stranger"):
        made[name] = folder / f"{name}.pem", folder / f"{name}.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", made[name][1], "-out", made[name][0], "-days", "2",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return made


@pytest.fixture
def secure(certificates):
    """HTTPS that only answers to the client with the certificate and the token, of one tenant."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates["server"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates["client"][0])

    def judge(request):
        known = request.headers.get("Authorization") == "Bearer s3cret" and request.headers.get("X-Scope-OrgID") == "ml"
        empty = b'{"status": "success", "data": []}' if "/series" in request.path else b'{"status": "success", "data": {"resultType": "vector", "result": []}}'
        return (200, {}, empty) if known else (401, {}, b"who is there?")

    target = targets.Target(judge, tls=context)
    yield target
    target.close()


def access(certificates, who="client"):
    certificate, key = certificates[who]
    return f'token = "s3cret"\ntenant = "ml"\nca = "{certificates["server"][0]}"\ncertificate = "{certificate}"\nkey = "{key}"'


def test_a_database_behind_tls_that_wants_to_know_who_pushes(start, tmp_path, certificates, secure):
    d = start("--interval", "0.2", "--config", settings(tmp_path, secure.url("/w"), access(certificates)))
    eventually(lambda: pushed(d)["samples_sent"] > 50, explain=lambda: (d.log(), pushed(d)))
    assert pushed(d)["state"] == "ok" and "s3cret" not in d.log() + d.get("/api/settings").body.decode()
    stranger = start("--interval", "0.2", "--config", settings(tmp_path, secure.url("/w"), access(certificates, "stranger")))
    eventually(lambda: pushed(stranger)["state"] == "retrying", explain=stranger.log)
    blind = start("--interval", "0.2", "--config", settings(tmp_path, secure.url("/w"), 'ca = "/nonexistent/ca.pem"'))
    blind.wait_log("push.db.ca: cannot read '/nonexistent/ca.pem': No such file or directory")


def test_a_fleet_behind_tls_that_wants_to_know_who_asks(start, tmp_path, certificates, secure):
    def fleet(more):
        file = tmp_path / "fleet.toml"
        file.write_text(f'[fleet]\nurl = "{secure.url()}"\n{more}\n')
        file.chmod(0o600)
        d = start("--config", str(file))
        return eventually(lambda: (a := d.json("/api/fleet"))["fetched_at"] and a or a["error"] and a, explain=d.log)

    answer = fleet(access(certificates))
    assert answer["error"] is None and answer["fleet"]["status"]["gpu_count"] == 0, answer
    assert "answered 401: who is there?" in fleet(access(certificates).replace("s3cret", "wrong"))["error"]
    assert fleet(access(certificates, "stranger"))["error"]
    assert "fleet.key: cannot read '/nonexistent/key': No such file" in fleet(access(certificates).replace(str(certificates["client"][1]), "/nonexistent/key"))["error"]
    # A person who names another address does not give the token away.
    other = targets.Target()
    subprocess.run([WHIRR, "--config", str(tmp_path / "fleet.toml"), "status", "--fleet", other.url()], env=environment(tmp_path), capture_output=True, timeout=PATIENCE)
    other.close()
    assert other.requests and not any("Authorization" in r.headers or "X-Scope-OrgID" in r.headers for r in other.requests)


def test_otlp_is_compressed_unless_that_is_off(start, tmp_path, hook):
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/v1/metrics"), 'protocol = "otlp"'))
    first = eventually(lambda: hook.requests and hook.requests[0], explain=d.log)
    assert first.headers["Content-Encoding"] == "gzip" and "resourceMetrics" in first.json()
    d.stop()
    hook.requests.clear()
    start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/v1/metrics"), 'protocol = "otlp"\ngzip = false', name="plain"))
    first = eventually(lambda: hook.requests and hook.requests[0])
    assert "Content-Encoding" not in first.headers and "resourceMetrics" in first.json()


def test_a_kill_loses_nothing(start, tmp_path, hook):
    """Killed while the other side is away: the next start sends what waited, first, and once."""
    hook.judge = lambda request: (503, {}, b"")
    config = settings(tmp_path, hook.url("/w"))
    d = start("--interval", "0.2", "--config", config)
    eventually(lambda: pushed(d)["samples_waiting"] > 300, explain=d.log)
    d.process.send_signal(signal.SIGKILL)
    d.process.wait()
    hook.judge = lambda request: (204, {}, b"")
    again = start.again(d)
    eventually(lambda: pushed(again)["samples_waiting"] == 0 and pushed(again)["samples_sent"] > 600, explain=again.log)
    again.stop()
    check_order([s for r in hook.requests if r.status == 204 for s in decode(r.body)])


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
@pytest.mark.slow
def test_a_real_database_away_and_back(start, tmp_path, kind):
    if not kind.installed():
        pytest.skip(f"no {kind.__name__} (tools/deps test)")
    database = kind(tmp_path / "database").start()
    state = tmp_path / "state"
    state.mkdir()
    d = start("--interval", "0.2", "--config", settings(tmp_path, database.url + database.write), XDG_STATE_HOME=str(state))
    outages = []

    def stored(begin, end):
        found = database.query("gpu_temperature_celsius{gpu='0'}[5m]")
        return [float(t) for t, _ in (found[0]["values"] if found else []) if begin <= float(t) <= end]

    try:
        eventually(lambda: database.query('gpu_temperature_celsius{host="box"}'), explain=d.log)
        for how in (signal.SIGKILL, signal.SIGTERM):  # killed, then stopped: what a database has taken and loses in a crash is not ours
            database.stop(how)
            outages.append(time.time())
            waiting = eventually(lambda: (s := pushed(d))["samples_waiting"] > 300 and time.time() > outages[-1] + 1 and s, explain=d.log)
            assert waiting["state"] == "retrying" and waiting["samples_lost"] == 0
            assert d.json("/api/health")["status"] == "degraded"
            outages.append(time.time())
            database.start()
            eventually(lambda: pushed(d)["samples_waiting"] < 100, explain=d.log)
        begin = d.json("/api/health")
        eventually(lambda: d.json("/api/health")["status"] == "ok", explain=d.log)
        assert pushed(d)["samples_lost"] == pushed(d)["samples_refused"] == 0, (begin, d.log())
        # No sample is missing: those of both outages are there, each once. A database may show them some time after it has taken them.
        eventually(lambda: all(len(stored(*outage)) >= 2 for outage in (outages[:2], outages[2:])), explain=lambda: f"{outages} {stored(0, math.inf)}")
        raw = database.query("gpu_temperature_celsius{gpu='0'}[5m]")
        times = [float(t) for t, _ in raw[0]["values"]]
        assert len(raw) == 1 and times == sorted(set(times))
        assert d.stop()[0] == 0
        # The end is marked; a slow machine has no time for it in the last second, and it waits for the next start.
        queue = state / "whirr" / "push" / "db"
        eventually(lambda: not database.query("gpu_temperature_celsius") or any(f.stat().st_size for f in queue.iterdir()))
    finally:
        database.stop()


def test_a_full_disk_costs_nothing_while_the_other_side_is_there(start, tmp_path, hook):
    """The directory of the queue cannot be written: what is new waits in memory, the last 32 requests of it."""
    state = tmp_path / "state"
    d = start("--interval", "0.5", "--config", settings(tmp_path, hook.url("/w")), XDG_STATE_HOME=str(state))
    eventually(lambda: len(hook.requests) >= 2, explain=d.log)
    folder = state / "whirr" / "push" / "db"
    assert folder.is_dir()
    folder.rename(folder.with_name("gone"))
    folder.write_text("in the way")
    d.wait_log("push db: the last .* wait in memory")
    before = len(hook.requests)
    eventually(lambda: len(hook.requests) >= before + 3, explain=d.log)
    assert pushed(d)["samples_lost"] == 0
    folder.unlink()
    folder.with_name("gone").rename(folder)
    d.wait_log("push db: its queue can be written again")
    check_order([s for r in hook.requests for s in decode(r.body)])


def test_the_queue_on_disk_is_bounded(start, tmp_path, hook):
    hook.judge = lambda request: (503, {}, b"")
    d = start("--interval", "0.1", "--config", settings(tmp_path, hook.url("/w"), 'queue_size = "64KiB"'))
    state = eventually(lambda: (s := pushed(d))["samples_lost"] > 0 and s, explain=d.log)
    assert state["queue_bytes"] <= 65536
    assert b"whirr_push_samples_lost_total" in d.get("/metrics").body


def test_a_reload_sends_what_waits_to_the_new_place(start, tmp_path, hook):
    """The old one is away: nothing of what waits for it is lost, and it comes in order. Other tables come and go."""
    old = targets.Target(lambda request: (503, {}, b""))
    other = targets.Target(lambda request: (204, {}, b""))
    try:
        config = pathlib.Path(settings(tmp_path, old.url("/w")))
        d = start("--interval", "0.2", "--config", str(config))
        waiting = eventually(lambda: (s := pushed(d))["samples_waiting"] > 0 and old.requests and s, explain=d.log)
        first = decode(old.requests[0].body)
        config.write_text(config.read_text().replace(old.url("/w"), hook.url("/w")) + f'[push.more]\nurl = "{other.url("/w")}"\ninterval = "200ms"\njob = "second"\n')
        d.process.send_signal(signal.SIGHUP)
        eventually(lambda: len(hook.requests) >= 3 and len(other.requests) >= 2, explain=d.log)
        assert decode(hook.requests[0].body) == first and waiting["samples_lost"] == 0
        check_order([s for r in list(hook.requests) for s in decode(r.body)])
        assert {l["job"] for l, _, _ in decode(other.requests[0].body)} == {"second"}
        d.wait_log("needing_restart=0")
        # Another job: the old series end. A table that is gone: so do its series.
        config.write_text(config.read_text().split("[push.more]")[0] + 'job = "renamed"\n')
        d.process.send_signal(signal.SIGHUP)
        eventually(lambda: [t["name"] for t in d.json("/api/health")["push"]["targets"]] == ["db"], explain=d.log)
        eventually(lambda: all(bits == STALE for _, bits, _ in decode(other.requests[-1].body)), explain=d.log)
        jobs = eventually(lambda: (r := [decode(x.body) for x in list(hook.requests)]) and any(l["job"] == "renamed" for s in r for l, _, _ in s) and r, explain=d.log)
        ended = next(s for s in jobs if s[0][1] == STALE)
        assert all(l["job"] == "whirr" and bits == STALE for l, bits, _ in ended)
    finally:
        old.close()
        other.close()


def otlp_from_protobuf(body):
    """An ExportMetricsServiceRequest, read by Google's protobuf: the same as OTLP's JSON says."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, json_format, message_factory
    many, fixed64, double, boolean, text, message, number32, enum = 3, 6, 1, 8, 9, 11, 13, 5
    file = descriptor_pb2.FileDescriptorProto(name="otlp.proto", package="o", syntax="proto3")
    for name, fields in {
            "Request": [("resource_metrics", 1, message, "ResourceMetrics", many)],
            "ResourceMetrics": [("resource", 1, message, "Resource", 1), ("scope_metrics", 2, message, "ScopeMetrics", many)],
            "Resource": [("attributes", 1, message, "KeyValue", many)],
            "ScopeMetrics": [("scope", 1, message, "Scope", 1), ("metrics", 2, message, "Metric", many)],
            "Scope": [("name", 1, text, "", 1), ("version", 2, text, "", 1)],
            "Metric": [("name", 1, text, "", 1), ("unit", 3, text, "", 1), ("gauge", 5, message, "Sum", 1), ("sum", 7, message, "Sum", 1),
                       ("histogram", 9, message, "Histogram", 1)],
            "Histogram": [("data_points", 1, message, "HistogramPoint", many), ("aggregation_temporality", 2, enum, "", 1)],
            "HistogramPoint": [("start_time_unix_nano", 2, fixed64, "", 1), ("time_unix_nano", 3, fixed64, "", 1), ("count", 4, fixed64, "", 1), ("sum", 5, double, "", 1),
                               ("attributes", 9, message, "KeyValue", many), ("flags", 10, number32, "", 1)],
            "Sum": [("data_points", 1, message, "Point", many), ("aggregation_temporality", 2, enum, "", 1), ("is_monotonic", 3, boolean, "", 1)],
            "Point": [("start_time_unix_nano", 2, fixed64, "", 1), ("time_unix_nano", 3, fixed64, "", 1), ("as_double", 4, double, "", 1), ("attributes", 7, message, "KeyValue", many), ("flags", 8, number32, "", 1)],
            "KeyValue": [("key", 1, text, "", 1), ("value", 2, message, "AnyValue", 1)],
            "AnyValue": [("string_value", 1, text, "", 1)]}.items():
        m = file.message_type.add(name=name)
        for field, number_of, kind, of, label in fields:
            m.field.add(name=field, number=number_of, type=kind, label=label, **({"type_name": ".o." + of} if of else {}))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    request = message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("o.Request")).FromString(body)
    assert not request.UnknownFields() and request.SerializeToString(deterministic=True)
    return json_format.MessageToDict(request)


@pytest.mark.parametrize("protocol, kind, read", [("otlp", "application/json", json.loads), ("otlp_protobuf", "application/x-protobuf", otlp_from_protobuf)], ids=["json", "protobuf"])
def test_otlp_by_the_conventions_for_hardware(start, tmp_path, hook, protocol, kind, read):
    hook.judge, begin = lambda request: (200, {"Content-Type": "application/json"}, b"{}"), time.time()
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/v1/metrics"), f'protocol = "{protocol}"'), source="sim:gpus=1,scenario=training,model=rtx4090")
    eventually(lambda: len(hook.requests) >= 3, explain=d.log)
    assert hook.requests[1].headers["Content-Type"] == kind and hook.requests[1].headers["Content-Encoding"] == "gzip"
    body = read(hook.requests[1].body)
    resource = body["resourceMetrics"][0]
    assert {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]} == {
        "service.name": "whirr", "service.instance.id": "box", "host.name": "box"}
    metrics = {m["name"]: m for m in resource["scopeMetrics"][0]["metrics"]}
    live = d.json("/api/gpu/metrics")["gpus"][0]

    def point(name):
        kind = metrics[name].get("gauge") or metrics[name]["sum"]
        return kind["dataPoints"][0], {a["key"]: a["value"]["stringValue"] for a in kind["dataPoints"][0]["attributes"]}

    limit, attributes = point("hw.gpu.memory.limit")
    assert limit["asDouble"] == live["memory_total_mb"] * 2**20 and metrics["hw.gpu.memory.limit"]["unit"] == "By"
    assert attributes["hw.id"] == live["uuid"] and attributes["hw.name"] == live["name"]
    assert metrics["hw.gpu.memory.usage"]["sum"].get("isMonotonic", False) is False and metrics["hw.gpu.memory.usage"]["sum"]["aggregationTemporality"] == 2 and metrics["hw.energy"]["sum"]["isMonotonic"] is True
    share, usage = point("hw.gpu.memory.utilization")[0]["asDouble"], point("hw.gpu.memory.usage")[0]["asDouble"]
    assert share == pytest.approx(usage / limit["asDouble"]) and 0 < share < 1 and "gauge" in metrics["hw.gpu.memory.utilization"]
    power, attributes = point("hw.power")
    assert attributes["hw.type"] == "gpu" and metrics["hw.power"]["unit"] == "W" and power["asDouble"] > 10
    temperature, attributes = point("hw.temperature")
    assert attributes["hw.parent"] == live["uuid"] and attributes["hw.id"] != live["uuid"] and 10 < temperature["asDouble"] < 120
    used, attributes = point("hw.gpu.utilization")
    assert attributes["hw.gpu.task"] == "general" and 0 <= used["asDouble"] <= 1
    assert "gpu_temperature_celsius" not in metrics and "gpu_clock_sm_hertz" in metrics
    assert begin - 1 < int(temperature["timeUnixNano"]) / 1e9 < time.time() + 1
    # A sum says since when it is counted: ours with the program, the driver's since it was first seen, so that nothing before it is taken for new.
    energy = [point("hw.energy")[0], next(m for m in read(hook.requests[0].body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] if m["name"] == "hw.energy")["sum"]["dataPoints"][0]]
    assert {int(p["startTimeUnixNano"]) for p in energy} == {int(energy[1]["timeUnixNano"])} and "startTimeUnixNano" not in temperature
    ours = next(m for name, m in metrics.items() if name.startswith("whirr_") and m.get("sum", {}).get("isMonotonic"))["sum"]["dataPoints"][0]
    assert begin - 1 < int(ours["startTimeUnixNano"]) / 1e9 <= int(energy[1]["timeUnixNano"]) / 1e9
    names = [m["name"] for m in resource["scopeMetrics"][0]["metrics"]]
    assert len(names) > 60 and not math.isnan(power["asDouble"])
    assert len(names) == len(set(names)), "a name is one metric"
    assert "hw.gpu.io" not in metrics  # nothing in this GPU counts bytes: rates of a moment do not become a counter


@pytest.mark.parametrize("protocol, read", [("otlp", json.loads), ("otlp_protobuf", otlp_from_protobuf)], ids=["json", "protobuf"])
def test_otlp_has_the_histograms_of_model_servers(start, tmp_path, hook, protocol, read):
    """opentelemetry.io/docs/specs/semconv/gen-ai: server metrics. Their sum and count are known, no buckets."""
    hook.judge = lambda request: (200, {"Content-Type": "application/json"}, b"{}")
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/v1/metrics"), f'protocol = "{protocol}"'), source="sim:gpus=1,scenario=serving")
    eventually(lambda: len(hook.requests) >= 2, explain=d.log)
    metrics = {m["name"]: m for m in read(hook.requests[1].body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
    assert {name for name in metrics if name.startswith("gen_ai")} == {
        "gen_ai.server.time_to_first_token", "gen_ai.server.time_per_output_token", "gen_ai.server.request.duration"}
    for name, seconds in (("time_to_first_token", 0.12), ("time_per_output_token", 12 / 900), ("request.duration", 0.12 + 199 * 12 / 900)):
        metric = metrics[f"gen_ai.server.{name}"]
        assert metric["unit"] == "s" and metric["histogram"]["aggregationTemporality"] == 2
        (point,) = metric["histogram"]["dataPoints"]
        attributes = {a["key"]: a["value"]["stringValue"] for a in point["attributes"]}
        assert attributes["gen_ai.request.model"] == "mistralai/Mistral-7B-Instruct-v0.3" and attributes["gen_ai.provider.name"] == "vllm"
        assert attributes["gen_ai.operation.name"] and "le" not in attributes
        assert int(point["count"]) > 100 and point["sum"] / int(point["count"]) == pytest.approx(seconds)


def test_otlp_has_all_of_the_conventions_for_gpus(start, tmp_path, hook):
    """opentelemetry.io/docs/specs/semconv/hardware: gpu, common, temperature."""
    hook.judge = lambda request: (200, {"Content-Type": "application/json"}, b"{}")
    d = start("--interval", "0.2", "--config", settings(tmp_path, hook.url("/v1/metrics"), 'protocol = "otlp"'),
              source="sim:gpus=1,scenario=training,model=h100")

    def points():
        """By name: attributes and value of each point of the newest request."""
        metrics = json.loads(hook.requests[-1].body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] if hook.requests else []
        return {m["name"]: [({a["key"]: a["value"]["stringValue"] for a in p["attributes"]}, p.get("asDouble"))
                            for p in (m.get("gauge") or m["sum"])["dataPoints"]] for m in metrics if m["name"].startswith("hw.")}

    def traffic():
        return {a["network.io.direction"]: value for a, value in points().get("hw.gpu.io", [])}

    eventually(lambda: set(traffic()) == {"receive", "transmit"} and "hw.status" in points(), explain=d.log)
    before, sent, now = traffic(), len(hook.requests), points()
    eventually(lambda: len(hook.requests) > sent and traffic()["receive"] > before["receive"] and traffic()["transmit"] > before["transmit"], explain=d.log)
    uuid = d.json("/api/gpu/metrics")["gpus"][0]["uuid"]
    assert all(a["hw.type"] == "gpu" and a["hw.id"] == uuid for name in now if name.startswith("hw.gpu.") for a, _ in now[name])
    assert {a["hw.state"]: value for a, value in now["hw.status"]} == {"ok": 1, "degraded": 0, "predicted_failure": 0, "failed": 0}
    assert {a["error.type"] for a, _ in now["hw.errors"]} == {"corrected", "uncorrected"}
    assert {a["hw.sensor_location"] for a, _ in now["hw.temperature"]} == {"gpu", "memory"}
    assert {a["hw.limit_type"] for a, _ in now["hw.temperature.limit"]} == {"high.degraded", "high.critical"}
    assert all(a["hw.type"] == "temperature" and a["hw.parent"] == uuid for a, _ in now["hw.temperature"])
    assert [m["sum"]["isMonotonic"] for m in json.loads(hook.requests[-1].body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] if m["name"] == "hw.gpu.io"] == [True]


def test_hosts_to_scrape(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[hosts.gpu2]\naddress = "http://10.0.0.2:9447"\n')
    config.chmod(0o600)
    d = start("--interval", "60", "--config", str(config))
    assert d.json("/api/targets") == [{"targets": ["10.0.0.2:9447"], "labels": {"host": "gpu2", "__scheme__": "http"}}]


@pytest.mark.slow
def test_prometheus_discovers_the_hosts(start, tmp_path):
    if not Prometheus.installed():
        pytest.skip("no prometheus (tools/deps test)")
    other = start("--interval", "0.5")
    config = tmp_path / "whirr.toml"
    config.write_text(f'[hosts.gpu2]\naddress = "http://127.0.0.1:{other.port}"\n')
    config.chmod(0o600)
    d = start("--interval", "60", "--config", str(config))
    prometheus = Prometheus(tmp_path / "prometheus", [])
    (tmp_path / "prometheus" / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: whirr\n    http_sd_configs: [{{url: '{d.url}/api/targets', refresh_interval: 5s}}]\n")
    prometheus.start()
    try:
        eventually(lambda: prometheus.values('up{job="whirr", host="gpu2"}') == [1.0], explain=prometheus.log)
    finally:
        prometheus.stop()
    assert subprocess.run(["promtool", "check", "config", str(tmp_path / "prometheus" / "prometheus.yml")], capture_output=True).returncode == 0
