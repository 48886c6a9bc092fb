# SPDX-License-Identifier: Apache-2.0
"""HTTP itself: methods, errors in the contract's form, tags, compression, limits, slow and broken clients."""
import contextlib
import gzip
import json
import re
import socket
import subprocess
import time

import pytest
from conftest import PATIENCE, eventually
from world import World, needs_world


def check_error(reply, status, code=None):
    assert reply.status == status, (reply.status, reply.body)
    error = reply.json()["error"]
    assert set(error) == {"code", "message"} and all(isinstance(v, str) and v for v in error.values())
    assert code is None or error["code"] == code, error
    return reply


def answers(raw):
    """Status codes of the answers in a stream of bytes, with their bodies."""
    found = []
    while raw:
        head, _, rest = raw.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = re.search(rb"content-length: (\d+)", head, re.I)
        size = int(length.group(1)) if length else 0
        found.append((status, head.decode(), rest[:size]))
        raw = rest[size:]
    return found


def test_unknown_paths_and_methods(daemon):
    for path in ("/nope", "/api", "/api/gpu/devices/", "/api/gpu/devices/0", "//", "/..%2f", "/API/gpu/devices", "/" + "a" * 300):
        check_error(daemon.get(path), 404, "not_found")
    for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"):
        reply = check_error(daemon.ask(method, "/api/gpu/devices"), 405, "method_not_allowed")
        assert reply.headers["allow"] == "GET, HEAD, OPTIONS"


def test_head_is_get_without_the_body(daemon):
    for path in ("/api/gpu/devices", "/metrics", "/", "/nope", "/api/health"):
        head = daemon.ask("HEAD", path)
        assert head.body == b"" and int(head.headers["content-length"]) > 0
        assert head.status == daemon.get(path).status
    # And nothing of it is left in the connection.
    raw = daemon.raw(b"HEAD /api/gpu/devices HTTP/1.1\r\nHost: localhost\r\n\r\n"
                     b"GET /nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert raw.count(b"HTTP/1.1 ") == 2 and b"404" in raw.split(b"\r\n\r\n", 1)[1].split(b"\r\n")[0]


def test_options(daemon):
    reply = daemon.ask("OPTIONS", "/api/gpu/devices")
    assert reply.status == 204 and reply.headers["allow"] == "GET, HEAD, OPTIONS" and reply.body == b""
    assert daemon.ask("OPTIONS", "/api/source/release").headers["allow"] == "POST, OPTIONS"
    assert daemon.ask("OPTIONS", "*").status == 204
    check_error(daemon.ask("OPTIONS", "/nope"), 404)
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_accept(daemon):
    check_error(daemon.get("/api/gpu/devices", Accept="text/html"), 406, "not_acceptable")
    check_error(daemon.get("/", Accept="application/json"), 406)
    for accept in ("*/*", "application/json", "application/*;q=0.5", "text/html, */*;q=0.1", ""):
        assert daemon.get("/api/gpu/devices", Accept=accept).status == 200


def test_tags(start):
    d = start("--interval", "60")
    d.wait_sampled()
    first = d.get("/api/gpu/metrics")
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[^"]+"', tag)
    again = d.get("/api/gpu/metrics", If_None_Match=f'"x", W/{tag}')
    assert again.status == 304 and again.body == b"" and again.headers["etag"] == tag and "content-length" not in again.headers
    assert d.get("/api/gpu/metrics", If_None_Match='"other"').status == 200
    packed = d.get("/api/gpu/metrics", Accept_Encoding="gzip")
    assert packed.headers["etag"] != tag and "Accept-Encoding" in packed.headers["vary"]
    assert d.get("/api/gpu/metrics", Accept_Encoding="gzip", If_None_Match=packed.headers["etag"]).status == 304
    # A new sample is a new tag.
    fresh = d.get("/api/gpu/metrics?max_age_ms=0", If_None_Match=tag)
    assert fresh.status == 200 and fresh.headers["etag"] != tag


def test_gzip_where_it_pays(daemon):
    packed = daemon.get("/api/gpu/metrics", Accept_Encoding="br, gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body))["gpus"]
    assert len(packed.body) < len(daemon.get("/api/gpu/metrics").body) / 2
    assert "content-encoding" not in daemon.get("/api/gpu/driver", Accept_Encoding="gzip").headers  # short
    assert "content-encoding" not in daemon.get("/api/gpu/metrics", Accept_Encoding="gzip;q=0").headers


def test_limits(daemon):
    raw = daemon.raw(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answers(raw)[0][0] == 414
    raw = daemon.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Filler: " + b"a" * 20000 + b"\r\n\r\n")
    status, head, body = answers(raw)[0]
    assert status == 431 and json.loads(body)["error"]["code"] == "head_too_large" and "close" in head
    raw = daemon.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * 200 + b"\r\n")
    assert answers(raw)[0][0] == 431
    check_error(daemon.ask("POST", "/socket.io/?EIO=4", body=b"x" * 70000), 413, "body_too_large")
    raw = daemon.raw(b"POST /socket.io/?EIO=4 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
                     b"8000\r\n" + b"x" * 0x8000 + b"\r\n" + b"8000\r\n" + b"x" * 0x8000 + b"\r\n1\r\nx\r\n0\r\n\r\n")
    assert answers(raw)[0][0] == 413
    # A body far too large is refused before it is sent.
    raw = daemon.raw(b"POST /socket.io/?EIO=4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n")
    assert answers(raw)[0][0] == 413


@pytest.mark.parametrize("request_head, status", [
    (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400), (b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 505), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400), (b"GET /\n\n", 400),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: the-unexpected\r\n\r\n", 417),
])
def test_malformed_requests(daemon, request_head, status):
    got, head, body = answers(daemon.raw(request_head))[0]
    assert got == status and "Connection: close" in head and json.loads(body)["error"]["message"]


@pytest.mark.parametrize("target", [
    "/api/gpu/metrics?gpu=%zz", "/api/gpu/metrics?gpu=1%00", "/api/gpu/metrics?gpu=1%0a", "/api/gpu/metrics?gpu=%4", "/api/gpu/metrics?x=%&gpu=0",
    "/api/system/gpu-stats/history?cursor=ffffffffffffffff", "/api/system/gpu-stats/history?cursor=0x10", "/api/system/gpu-stats/history?cursor=+1",
    "/api/system/gpu-stats/history?cursor=", "/api/system/gpu-stats/history?cursor=10000000000000000", "/api/history/events?cursor=ffffffffffffffff",
    "/api/system/gpu-stats/history?since=2026-02-30", "/api/history?since=2026-02-30", "/api/history?until=2026-04-31T00:00:00Z",
    "/api/why?at=2025-02-29", "/api/system/gpu-stats/history?limit=" + "1" * 100,
])
def test_parameters_that_mean_nothing_are_refused(daemon, target):
    check_error(daemon.get(target), 400)


def test_a_parameter_that_is_too_long_is_not_one_that_is_absent(daemon):
    check_error(daemon.get("/api/gpu/metrics?gpu=" + "0" * 500), 404, "no_such_gpu")
    assert daemon.json("/api/processes?user=" + "a" * 500)["processes"] == []


CHUNKED = b"POST /socket.io/?EIO=4&transport=polling&sid=none HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("body, code", [
    (b"2\r\n40\r\n0\r\n\r\n", "unknown_session"), (b"2;a\r\n40\r\n0\r\n\r\n", "unknown_session"), (b"2 ; a = \"b\\\"c\";d=e\r\n40\r\n0\r\nX: y\r\n\r\n", "unknown_session"),
    (b"2 junk\r\n40\r\n0\r\n\r\n", "bad_request"), (b"2 \r\n40\r\n0\r\n\r\n", "bad_request"), (b"2;a\x00b\r\n40\r\n0\r\n\r\n", "bad_request"), (b"2;\r\n40\r\n0\r\n\r\n", "bad_request"),
    (b"2;a=\"b\r\n40\r\n0\r\n\r\n", "bad_request"), (b"2\r\n40\r\n0 x\r\n\r\n", "bad_request"),
    (b"2\r\n40\r\n0\r\ngarbage\r\n\r\n", "bad_request"), (b"2\r\n40\r\n0\r\n X: folded\r\n\r\n", "bad_request"), (b"2\r\n40\r\n0\r\nX: \x01\r\n\r\n", "bad_request"),
])
def test_chunks_are_read_strictly(daemon, body, code):
    status, _, answer = answers(daemon.raw(CHUNKED + body))[0]
    assert status == 400 and json.loads(answer)["error"]["code"] == code


def test_what_clients_do_wrong_is_not_counted_as_our_failure(daemon):
    def failures():
        return int(re.search(r"^whirr_http_errors_total\{.*\} (\d+)$", daemon.get("/metrics?max_age_ms=0").body.decode(), re.M).group(1))

    before = failures()
    assert answers(daemon.raw(b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n"))[0][0] == 505
    assert answers(daemon.raw(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n"))[0][0] == 501
    assert failures() == before


def test_keep_alive_and_pipelining(daemon):
    connection = daemon.connection()
    for _ in range(50):
        connection.request("GET", "/api/gpu/driver")
        assert connection.getresponse().read()
    connection.close()
    one = b"GET /api/gpu/driver HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    got = answers(daemon.raw(one * 300 + last))
    assert len(got) == 301 and {status for status, _, _ in got} == {200} and b"uptime" in got[-1][2]
    # In order also when one has to wait for a sample and the next has not.
    daemon.wait_age(0.1)
    fresh = b"GET /api/gpu/devices?max_age_ms=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    got = answers(daemon.raw(fresh + one + fresh + last))
    assert [next(iter(json.loads(body))) for _, _, body in got] == ["devices", "driver_version", "devices", "status"]


def test_http_1_0_and_half_closed_clients(daemon):
    raw = daemon.raw(b"GET /api/gpu/driver HTTP/1.0\r\n\r\n")
    assert answers(raw)[0][0] == 200
    for _ in range(8):  # in some of them it is closed while the sample is made
        raw = daemon.raw(b"GET /api/gpu/devices?max_age_ms=0 HTTP/1.1\r\nHost: localhost\r\n\r\n", finish=True)
        assert answers(raw)[0][0] == 200
    raw = daemon.raw(b"GET http://localhost/api/gpu/driver HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n")
    assert answers(raw)[0][0] == 200


def test_a_client_that_still_sends_gets_the_answer(daemon):
    """Closed at once, what it sends would be answered with a reset, which takes away what it has not read yet."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE) as s:
        s.sendall(b"POST /api/silences HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")
        assert s.recv(1, socket.MSG_PEEK), "it has answered"
        for _ in range(10):  # and is done with it once another client is answered
            daemon.raw(b"GET /api/gpu/driver HTTP/1.0\r\n\r\n")
            s.sendall(b"x" * 1000)
        answer = b""
        while piece := s.recv(4096):
            answer += piece
    assert answers(answer)[0][0] == 413


def test_bodies_in_chunks_and_100_continue(daemon):
    head = b"POST /socket.io/?EIO=4&transport=polling&sid=none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    raw = daemon.raw(head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n40\r\n0\r\n\r\n")
    assert answers(raw)[0][0] == 400 and b"unknown_session" in raw
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE) as s:
        s.sendall(head + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert s.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(b"40")
        answer = b""
        while piece := s.recv(4096):  # until it is closed
            answer += piece
        assert b"unknown_session" in answer


def test_a_request_that_arrives_byte_by_byte(daemon):
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /api/gpu/driver HTTP/1.1\r\nHost: localhost\r\n\r\n":
            s.sendall(bytes([byte]))
        assert s.recv(15, socket.MSG_WAITALL) == b"HTTP/1.1 200 OK"


@needs_world
def test_slow_clients_are_dropped(start, tmp_path):
    """A head that never ends is answered with 408 after 10 s, however busily it trickles; others are not delayed."""
    world, skipped = World(tmp_path / "world"), 0
    d = start(**world.environment)
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", d.port), timeout=0.2) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        answer = b""
        while not answer and time.monotonic() - begin < PATIENCE:
            try:
                answer = s.recv(4096)
            except socket.timeout:
                assert d.get("/api/gpu/driver").status == 200
                with contextlib.suppress(ConnectionError):  # closed just now: its answer is read next
                    s.sendall(b"X: 1\r\n")
                world.skip(1)
                skipped += 1
    assert answers(answer)[0][0] == 408 and skipped + time.monotonic() - begin > 9


def test_security_headers(daemon):
    for path in ("/", "/api/gpu/devices", "/nope", "/metrics"):
        headers = daemon.get(path).headers
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"] and "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin" and headers["cross-origin-resource-policy"] == "same-origin"


def test_two_daemons_do_not_share_a_port_or_a_socket(start, tmp_path):
    d = start()
    d.env = {**d.env, "XDG_STATE_HOME": str(tmp_path)}  # of the second one: a state directory is not shared either
    again = d.whirr("serve", "--listen", f"127.0.0.1:{d.port}", "--socket", "none", "--source", "sim", "--store", "none")
    assert again.returncode == 1 and "cannot listen" in again.stderr and "another whirr" in again.stderr
    again = d.whirr("serve", "--listen", "127.0.0.1:0", "--socket", d.sock, "--source", "sim", "--store", "none")
    assert again.returncode == 1 and "another daemon answers" in again.stderr
    assert d.get("/api/health").status == 200 and d.ask("GET", "/api/health", unix=True).status == 200


@pytest.mark.slow
def test_slowhttptest(daemon):
    """Slow heads, slow bodies and slow readers from the tool that is made for it: the service stays available to others."""
    import shutil
    if not shutil.which("slowhttptest"):
        pytest.skip("slowhttptest is not installed (tools/deps test)")
    def survived(attack):
        done = subprocess.run(["slowhttptest", "-c", "400", *attack, "-i", "2", "-r", "200", "-l", "4", "-p", "3", "-u", daemon.url + "/api/gpu/metrics"],
                              capture_output=True, text=True, timeout=PATIENCE)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        assert "available" in plain, plain[-2000:]
        assert daemon.get("/api/health").status == 200
        return not re.search(r"service available:\s+NO", plain)

    for attack in (["-H"], ["-B"], ["-X", "-w", "10", "-y", "20", "-z", "5", "-k", "3"]):
        eventually(lambda: survived(attack), explain=attack)  # to the tool, 3 s without an answer are none: a busy machine may need another try


# ---- places ----

def fill(daemon, count, address="127.0.0.1"):
    """Connections that hold a place each; those that were turned away are None, with what they were told."""
    held, refused = [], []
    for _ in range(count):
        s = socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE, source_address=(address, 0))
        s.sendall(b"GET /api/gpu/driver HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = s.recv(65536)
        if b" 200 " in answer.split(b"\r\n")[0]:
            held.append(s)
        else:
            refused.append((s, answer))
    return held, refused


def test_the_owner_gets_in_when_all_places_are_taken(start):
    d = start(WHIRR_SERVER_MAX_CLIENTS="32")
    held, refused = [], []
    for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
        more = fill(d, 32, address)
        held += more[0]
        refused += more[1]
    assert len(held) == 28  # an eighth is kept
    for s, answer in refused:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ") and int(re.search(rb"Content-Length: (\d+)", head).group(1)) == len(body)
        assert json.loads(body)["error"]["code"] == "too_many_connections"
        assert s.recv(1) == b""  # and that was all
        s.close()
    assert d.ask("GET", "/api/health", unix=True).status == 200
    assert d.whirr("devices", "--json").returncode == 0
    refused_total = re.search(rb"^whirr_connections_refused_total\{.*\} (\d+)$", d.ask("GET", "/metrics?max_age_ms=0", unix=True).body, re.M)
    assert int(refused_total.group(1)) == len(refused)
    for s in held:
        s.close()


def test_one_address_cannot_take_all_places(start):
    d = start(WHIRR_SERVER_MAX_CLIENTS="32")
    held, refused = fill(d, 40, "127.0.0.1")
    assert len(held) == 24 and refused  # loopback may have three quarters
    others, none = fill(d, 4, "127.0.0.2")
    assert len(others) == 4 and not none
    for s in held + others:
        s.close()
    # And they come back, once the server has seen that they are gone.
    eventually(lambda: d.ask("GET", "/api/health", unix=True).json()["server"]["connections"] <= 1, explain=d.log)
    held, refused = fill(d, 24, "127.0.0.1")
    assert len(held) == 24
    for s in held:
        s.close()
