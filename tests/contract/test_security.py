# SPDX-License-Identifier: Apache-2.0
"""Who may ask: addresses, tokens, cookies, Host and Origin, TLS."""
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.parse

import pytest
from conftest import PATIENCE, WHIRR, environment, eventually
from .test_live import GOOD, handshake


def new_token(d, name="test"):
    done = d.whirr("token", "new", name, "--role", "admin")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def with_role(d, role, *more):
    done = d.whirr("token", "new", role.replace(",", "-"), "--role", role, *more)
    assert done.returncode == 0, done.stderr
    return {"Authorization": f"Bearer {done.stdout.strip()}"}


# What each role may do, of all that changes something. A body that says nothing is refused after the role was looked at.
ACTS = {"silence": ["/api/alerts/silence", "/api/undo"], "control": ["/api/leases/end", "/api/leases/settings", "/api/remedies/{id}", "/api/undo"],
        "admin": ["/api/source/release", "/api/gpu/forget"],
        "guard": ["/api/undo", *(f"/api/guard/{verb}" for verb in ("hold", "release", "evict", "resume", "announce", "unannounce"))]}


def test_a_role_may_do_what_it_says_and_no_more(start):
    d = start(WHIRR_SERVER_REQUIRE_TOKEN="true", WHIRR_GUARD_ENABLED="true", WHIRR_CONTROL_ALLOW="true")
    tokens = {role: with_role(d, role) for role in ("read", "commands", "silence", "guard", "control", "admin", "silence,guard")}
    routes = d.get("/openapi.json", **tokens["read"]).json()["paths"]
    acting = {path for path, methods in routes.items() if set(methods) - {"get", "head", "options", "parameters"}} - {"/login", "/logout", "/socket.io/", "/mcp"}
    assert acting == {path for paths in ACTS.values() for path in paths}, acting
    for path in sorted(acting):
        for role, token in tokens.items():
            may = role == "admin" or any(path in ACTS.get(part, ()) for part in role.split(","))
            reply = d.ask("POST", path, body=b"{", **token)
            assert (reply.status == 403) != may, (path, role, reply.status)
            if not may:
                assert reply.json()["error"]["code"] == "role_needed" and role.replace(",", "-") in reply.json()["error"]["message"], reply.body
    # Reading is for all, command lines are for some.
    for role, token in tokens.items():
        assert d.get("/api/gpu/metrics", **token).status == 200
        assert d.get("/api/processes?show_secrets=true", **token).status == (200 if role in ("commands", "admin") else 403), role
    assert d.get("/api/session", **tokens["silence,guard"]).json() == {"may_act": True, "signed_in": False, "roles": "guard,silence"}
    assert d.get("/api/session", **tokens["read"]).json()["may_act"] is False
    listed = d.whirr("token", "list", "--json")
    assert {t["name"]: t["roles"] for t in json.loads(listed.stdout)["tokens"]}["silence-guard"] == "guard,silence"


def test_a_token_expires_and_wrong_roles_are_said(start):
    d = start(WHIRR_SERVER_REQUIRE_TOKEN="true")
    token = with_role(d, "read", "--for", "2s")
    reply = eventually(lambda: (r := d.get("/api/gpu/devices", **token)).status == 401 and r)
    assert reply.json()["error"]["code"] == "token_expired" and "whirr token new" in reply.json()["error"]["message"]
    assert ", expired " in d.whirr("token", "list").stdout
    for arguments, words in ((("--role", "root"), "'root' is not a role; expected read, commands, silence, guard, control or admin"), (("--role", ""), "a token needs a role"),
                             (("--for", "soon"), "expected a span of time, like 90d"), (("--for", "0"), "expected a span of time")):
        done = d.whirr("token", "new", "x", *arguments)
        assert done.returncode == 2 and words in done.stderr, done


def test_who_did_what_is_in_the_log_and_in_the_history(start, tmp_path):
    d = start("--store", f"sqlite:{tmp_path}/h.db", WHIRR_SERVER_REQUIRE_TOKEN="true")
    admin, reader = with_role(d, "silence"), with_role(d, "read")
    body = json.dumps({"matchers": {"alert": "heat_limit"}, "for_seconds": 60}).encode()
    assert d.ask("POST", "/api/alerts/silence", body=body, **admin).status == 201
    assert d.ask("POST", "/api/alerts/silence", body=body, **reader).status == 403
    assert d.ask("POST", "/api/alerts/silence", body=body).status == 401  # of a stranger nothing is kept
    d.wait_log("acted over the API who=silence what=/api/alerts/silence from=127.0.0.1 status=201")
    d.wait_log("was refused over the API who=read what=/api/alerts/silence from=127.0.0.1 status=403")
    events = eventually(lambda: len(e := [e for e in d.get("/api/history/events?kind=audit", **admin).json()["events"] if "who" in e["data"]]) == 2 and e, explain=d.log)
    assert sorted((e["data"]["who"], e["data"]["status"], e["data"]["from"]) for e in events) == [("read", 403, "127.0.0.1"), ("silence", 201, "127.0.0.1")], events


def test_other_addresses_need_a_token_or_a_clear_word(start, tmp_path):
    refused = subprocess.run([WHIRR, "serve", "--listen", "0.0.0.0:0", "--socket", "none", "--source", "sim", "--store", "none"],
                             env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode == 1 and "whirr token new" in refused.stderr and "--insecure" in refused.stderr
    d = start("--insecure", listen="0.0.0.0:0")
    assert d.get("/api/gpu/devices").status == 200
    d.wait_log("--insecure")


@pytest.fixture
def guarded(start, tmp_path):
    """A daemon that other hosts could reach, and a token for it."""
    state = tmp_path / "state"
    state.mkdir()
    done = subprocess.run([WHIRR, "token", "new", "laptop", "--role", "admin"], env=environment(tmp_path, XDG_STATE_HOME=str(state)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    d = start(listen="0.0.0.0:0", XDG_STATE_HOME=str(state))
    d.token = done.stdout.strip()
    return d


def test_a_token_opens_everything(guarded):
    d = guarded
    assert re.fullmatch(r"whirr_[0-9a-f]{64}", d.token)
    for path in ("/", "/api/gpu/devices", "/metrics", "/ws", "/nope", "/socket.io/?EIO=4&transport=polling"):
        reply = d.get(path, Accept="*/*")
        assert reply.status == 401 and reply.headers["www-authenticate"].startswith("Bearer"), path
        assert reply.json()["error"]["code"] == "token_needed"
    for path, status in (("/", 200), ("/api/gpu/devices", 200), ("/metrics", 200), ("/ws", 426), ("/nope", 404)):
        assert d.get(path, Authorization=f"Bearer {d.token}").status == status
    s, head = handshake(d, *GOOD, f"Authorization: Bearer {d.token}")
    assert " 101 " in head
    s.close()
    s, head = handshake(d, *GOOD)
    assert " 401 " in head
    s.close()


def test_tokens_are_stored_hashed_and_can_be_taken_back(guarded):
    d = guarded
    folder = d.env["XDG_STATE_HOME"] + "/whirr"
    stored = open(folder + "/tokens").read()
    assert d.token not in stored and d.token[6:] not in stored and os.stat(folder + "/tokens").st_mode & 0o777 == 0o600
    second = new_token(d, "second")
    assert d.get("/api/gpu/devices", Authorization=f"Bearer {second}").status == 200  # at once
    assert [t["name"] for t in json.loads(d.whirr("token", "list", "--json").stdout)["tokens"]] == ["laptop", "second"]
    assert d.whirr("token", "remove", "laptop").returncode == 0
    assert d.get("/api/gpu/devices", Authorization=f"Bearer {d.token}").status == 401
    assert d.get("/api/gpu/devices", Authorization=f"Bearer {second}").status == 200
    assert d.whirr("token", "new", "second").returncode == 1
    assert d.whirr("token", "remove", "nobody").returncode == 1
    assert d.whirr("token", "new", "two words").returncode == 2


def test_wrong_tokens_are_limited(guarded):
    d = guarded
    for _ in range(10):
        assert d.get("/api/gpu/devices", Authorization="Bearer whirr_" + "0" * 64).status == 401
    limited = d.get("/api/gpu/devices", Authorization="Bearer whirr_" + "1" * 64)
    assert limited.status == 429 and 0 < int(limited.headers["retry-after"]) <= 60
    # A right one always passes: no client locks others out, not even from behind the same address.
    assert d.get("/api/gpu/devices", Authorization=f"Bearer {d.token}").status == 200
    assert login(d).status == 303
    assert d.ask("POST", "/login", body="token=guess").status == 429


def test_a_page_whose_token_was_removed_locks_no_client_out(guarded):
    d = guarded
    second = new_token(d, "second")
    session = login(d).headers["set-cookie"].split(";")[0]
    assert d.get("/api/gpu/devices", Cookie=session).status == 200
    assert d.whirr("token", "remove", "laptop").returncode == 0
    for _ in range(30):  # an open page goes on asking
        assert d.get("/api/gpu/devices", Cookie=session).status == 401
    assert d.get("/api/gpu/devices", Authorization=f"Bearer {second}").status == 200
    assert d.get("/api/gpu/devices", Authorization="Bearer whirr_" + "0" * 64).status == 401


def login(d, token=None):
    return d.ask("POST", "/login", body=f"token={token or d.token}", Content_Type="application/x-www-form-urlencoded")


def test_a_cookie_is_a_session_and_not_the_token(guarded):
    d = guarded
    cookies = [login(d).headers["set-cookie"] for _ in range(2)]
    first, second = (cookie.split(";")[0] for cookie in cookies)
    assert first != second and d.token not in cookies[0] and d.token[6:] not in cookies[0]
    assert 0 < int(re.search(r"Max-Age=(\d+)", cookies[0]).group(1)) <= 7 * 86400
    assert d.get("/api/gpu/devices", Cookie=f"whirr_session={d.token}").status == 401
    assert d.get("/api/gpu/devices", Cookie=f"whirr_token={d.token}").status == 401
    # It is no token either, and ends on the server with the logout; others stay.
    assert d.get("/api/gpu/devices", Authorization="Bearer " + first.split("=")[1]).status == 401
    assert d.get("/api/session", Cookie=first).json() == {"may_act": True, "signed_in": True, "roles": "admin"}
    assert d.get("/api/session", Authorization=f"Bearer {d.token}").json() == {"may_act": True, "signed_in": False, "roles": "admin"}
    assert d.ask("POST", "/logout", Cookie=first).status == 303
    assert d.get("/api/gpu/devices", Cookie=first).status == 401
    assert d.get("/api/gpu/devices", Cookie=second).status == 200


def test_a_browser_gets_a_form_and_a_cookie(guarded):
    d = guarded
    sent = d.get("/?gpu=1&q=a%20b", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert sent.status == 303 and sent.headers["location"] == "/login?next=%2F%3Fgpu%3D1%26q%3Da%2520b"
    form = d.get(sent.headers["location"], Accept="text/html")
    assert form.status == 200 and b"<form" in form.body and b"<script" not in form.body
    assert d.get("/style.css").status == 200
    wrong = d.ask("POST", "/login", body="token=guess", Content_Type="application/x-www-form-urlencoded")
    assert wrong.status == 401 and "set-cookie" not in wrong.headers
    right = d.ask("POST", "/login", body=f"token={d.token}", Content_Type="application/x-www-form-urlencoded")
    assert right.status == 303 and right.headers["location"] == "/"
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    value = cookie.split(";")[0]
    assert d.get("/", Cookie=value, Accept="text/html").status == 200
    assert d.get("/", Cookie="whirr_session=old", Accept="text/html").status == 303
    assert d.get("/login?next=%2F%3Fgpu%3D1", Cookie=value).headers["location"] == "/?gpu=1"  # it came from another site, without its cookie
    assert "Max-Age=0" in d.ask("POST", "/logout", Cookie=value).headers["set-cookie"]


@pytest.mark.parametrize("place, leads_to", [
    ("/?gpu=1", "/?gpu=1"), ("/fleet?q=a%20b", "/fleet?q=a%20b"), ("/" + 1900 * "a", "/" + 1900 * "a"), ("", "/"), ("fleet", "/"),
    ("//evil.example", "/"), ("https://evil.example/", "/"), ("/\\evil.example", "/"), ("\\\\evil.example", "/"), ("/\t/evil.example", None),
    ("/a\r\nSet-Cookie: x=1", None), ("javascript:alert(1)", "/"), ("/é", "/"), (" /a", "/")])
def test_the_login_leads_to_what_was_asked_for_and_to_no_other_site(guarded, place, leads_to):
    path = "/login?next=" + urllib.parse.quote(place, safe="")
    done = guarded.ask("POST", path, body=f"token={guarded.token}", Content_Type="application/x-www-form-urlencoded")
    assert done.headers.get("location") == leads_to
    assert done.status == (303 if leads_to else 400) and done.headers.get("set-cookie", "").startswith("whirr_session=") == bool(leads_to)


def test_acting_needs_the_token_also_on_loopback(start):
    d = start()
    d.wait_sampled()
    assert d.ask("POST", "/api/source/release").status == 401
    token = new_token(d)
    assert d.ask("POST", "/api/source/release", body='{"for_seconds": 0}', Authorization=f"Bearer {token}").status == 200
    assert d.ask("POST", "/api/source/release", body='{"for_seconds": 0}', unix=True).status == 200  # we are its user


@pytest.mark.parametrize("host, fine", [
    ("localhost", True), ("127.0.0.1", True), ("LOCALHOST:9447", True), ("[::1]:9447", True), ("192.168.1.5", True), ("x.localhost", True),
    ("evil.example", False), ("localhost.evil.example", False), ("127.0.0.1.nip.io", False),
])
def test_dns_rebinding(daemon, host, fine):
    assert daemon.get("/api/gpu/devices", Host=host).status == (200 if fine else 421)
    assert daemon.ask("GET", "/api/gpu/devices", unix=True, Host=host).status == 200


@pytest.mark.parametrize("host", ["", "localhost:80evil.com", "localhost:", "localhost:99999", "user@localhost", "localhost, evil.example", "[::1]evil.example", "[localhost]",
                                  "localhost/evil", "::1", "localhost%00", "[::1"])
def test_a_host_that_can_be_read_in_two_ways_is_refused(daemon, host):
    end = "Connection: close\r\n\r\n"
    for request in (f"GET /api/gpu/devices HTTP/1.1\r\nHost: {host}\r\n{end}", f"GET /api/gpu/devices HTTP/1.0\r\nHost: {host}\r\n{end}",
                    f"GET http://{host}/api/gpu/devices HTTP/1.1\r\nHost: localhost\r\n{end}"):
        status = int(daemon.raw(request.encode()).split()[1])
        if host == "localhost:":  # an empty port is none
            assert status == 200
        elif "://localhost/evil" in request:  # that is another path
            assert status == 404
        else:
            assert status == 400, request


def test_allowed_hosts_and_cors_are_settings(start):
    d = start(WHIRR_SERVER_ALLOWED_HOSTS="gpu.example.org", WHIRR_SERVER_CORS_ORIGINS="https://grafana.example")
    assert d.get("/api/gpu/devices", Host="gpu.example.org").status == 200
    reply = d.get("/api/gpu/devices", Origin="https://grafana.example")
    assert reply.headers["access-control-allow-origin"] == "https://grafana.example" and "Origin" in reply.headers["vary"]
    assert "access-control-allow-origin" not in d.get("/api/gpu/devices", Origin="https://other.example").headers
    preflight = d.ask("OPTIONS", "/api/gpu/devices", Origin="https://grafana.example", Access_Control_Request_Method="GET")
    assert preflight.status == 204 and "GET" in preflight.headers["access-control-allow-methods"]
    s, head = handshake(d, *GOOD, "Origin: https://grafana.example")
    assert " 101 " in head
    s.close()


def test_other_sites_cannot_use_a_browser_against_us(daemon):
    """No CORS; no WebSocket and no action for pages of other origins."""
    reply = daemon.get("/api/gpu/devices", Origin="https://evil.example")
    assert not any(name.startswith("access-control") for name in reply.headers)
    for origin in ("https://evil.example", "null", "http://localhost.evil.example", f"http://127.0.0.1:{daemon.port + 1}"):
        s, head = handshake(daemon, *GOOD, f"Origin: {origin}")
        assert " 403 " in head, origin
        s.close()
        assert daemon.ask("POST", "/socket.io/?EIO=4&transport=polling&sid=x", body="40", Origin=origin).status == 403
        assert daemon.get("/socket.io/?EIO=4&transport=polling", Origin=origin).status == 403
    assert daemon.get("/socket.io/?EIO=4&transport=polling", Origin=f"http://127.0.0.1:{daemon.port}").status == 200
    # A GET of an image or a script has no Origin; where it comes from, the browser says otherwise.
    for path in ("/socket.io/?EIO=4&transport=polling", "/socket.io/?EIO=4&transport=polling&sid=x", "/ws", "/api/gpu/devices", "/metrics"):
        for site in ("cross-site", "same-site"):
            assert daemon.get(path, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403, (path, site)
    assert daemon.get("/socket.io/?EIO=4&transport=polling", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200
    s, head = handshake(daemon, *GOOD, "Origin: http://localhost")
    assert " 101 " in head
    s.close()


def test_secrets_in_command_lines_are_masked(nvml):
    """For everyone without the token; who has it may ask for the whole."""
    with subprocess.Popen(["/usr/bin/python3", "-c", "input()", "--api-key", "sk-verysecretverysecret123456"], stdin=subprocess.PIPE) as worker:
        d = nvml(f"gpu NVIDIA GeForce RTX 4090\n  process {worker.pid} compute 1000 50 10\n", "--interval", "0.2", WHIRR_SERVER_MCP="true")
        d.wait_sampled()
        process = eventually(lambda: next((p for p in d.json("/api/processes")["processes"] if p["pid"] == worker.pid), None))
        assert "verysecret" not in json.dumps(d.json("/api/gpu/metrics")) and "***" in process["command"]
        assert "verysecret" not in d.get("/", Accept="text/html").body.decode()
        assert d.get("/api/processes?show_secrets=true").status == 401
        token = new_token(d)
        whole = d.json("/api/processes?show_secrets=true", Authorization=f"Bearer {token}")["processes"]
        assert "sk-verysecretverysecret123456" in whole[0]["command"]
        assert "***" in d.json("/api/processes", Authorization=f"Bearer {token}")["processes"][0]["command"]
        for tool in ("ps", "status", "why"):  # for assistants in any case
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"detail": True, "max_bytes": 262144}}}
            answer = d.ask("POST", "/mcp", body=json.dumps(call), Authorization=f"Bearer {token}").body.decode()
            assert str(worker.pid) in answer and "verysecret" not in answer, tool
        worker.communicate(b"\n")


# ---- TLS ----

def make_certificate(folder, name):
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
                   check=True, capture_output=True)
    return certificate, key


def common_name(port):
    pem = ssl.get_server_certificate(("127.0.0.1", port))
    return subprocess.run(["openssl", "x509", "-noout", "-subject"], input=pem, capture_output=True, text=True).stdout


def test_tls_serves_clients_of_every_kind(start, tmp_path, node):
    certificate, key = make_certificate(tmp_path, "first")
    d = start("--interval", "0.5", WHIRR_SERVER_TLS_CERTIFICATE=str(certificate), WHIRR_SERVER_TLS_KEY=str(key))
    context = ssl.create_default_context(cafile=str(certificate))
    connection = http.client.HTTPSConnection("localhost", d.port, context=context, timeout=PATIENCE)
    for _ in range(3):
        connection.request("GET", "/api/gpu/metrics")
        assert json.loads(connection.getresponse().read())["gpus"]
    assert connection.sock.version() == "TLSv1.3"
    done = subprocess.run(["curl", "-sS", "--fail", "--cacert", str(certificate), f"https://localhost:{d.port}/api/health"], capture_output=True)
    assert done.returncode == 0, done.stderr
    with node("ws.mjs", f"wss://127.0.0.1:{d.port}/ws", json.dumps({"rejectUnauthorized": False})) as client:
        client.wait("gpu_stats", 6)
    # Plain HTTP on that port is an end, not a hang.
    begin = time.monotonic()
    assert b"200" not in d.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") and time.monotonic() - begin < PATIENCE
    connection.request("GET", "/api/health")
    assert connection.getresponse().status == 200
    connection.close()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError, OSError)):
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            old.wrap_socket(s)


def test_a_reload_takes_a_new_certificate_and_cuts_nobody_off(start, tmp_path, node):
    first, second = make_certificate(tmp_path, "first"), make_certificate(tmp_path, "second")
    certificate, key = tmp_path / "live.pem", tmp_path / "live.key"
    shutil.copy(first[0], certificate)
    shutil.copy(first[1], key)
    d = start("--interval", "0.5", WHIRR_SERVER_TLS_CERTIFICATE=str(certificate), WHIRR_SERVER_TLS_KEY=str(key))
    with node("ws.mjs", f"wss://127.0.0.1:{d.port}/ws", json.dumps({"rejectUnauthorized": False})) as client:
        client.wait("gpu_stats", 6)
        assert "first" in common_name(d.port)
        shutil.copy(second[0], certificate)
        shutil.copy(second[1], key)
        d.process.send_signal(1)
        d.wait_log("reloaded")
        assert "second" in common_name(d.port)
        client.wait("gpu_stats", len(client.named("gpu_stats")) + 4)
        # A broken one keeps the old.
        certificate.write_text("nonsense")
        d.process.send_signal(1)
        d.wait_log("keeping the old one")
        assert "second" in common_name(d.port)


def test_a_reload_takes_other_tls_files(start, tmp_path):
    first, second = make_certificate(tmp_path, "first"), make_certificate(tmp_path, "second")
    config = tmp_path / "whirr.toml"

    def reload(tls, said):
        config.write_text("[server]\n" + tls)
        seen = len(d.lines)
        d.process.send_signal(1)
        return eventually(lambda: next((l for l in d.lines[seen:] if said in l and any("reloaded" in m for m in d.lines[seen:])), None))

    def files(certificate, key):
        return f'tls_certificate = "{certificate}"\ntls_key = "{key}"\n'

    config.write_text("[server]\n" + files(*first))
    d = start("--config", str(config))
    assert "first" in common_name(d.port)
    assert "applied=2 needing_restart=0" in reload(files(*second), "reloaded")
    assert "second" in common_name(d.port)
    # One that is not there, or whose key is another's: it is reported, and the old certificate stays.
    missing = tmp_path / "missing.pem"
    told = reload(files(missing, second[1]), "keeping the old one")
    assert " error " in told and str(missing) in told and "No such file" in told
    assert "applied=0 needing_restart=0" in [l for l in d.lines if "reloaded" in l][-1] and "second" in common_name(d.port)
    assert "mismatch" in reload(files(second[0], first[1]), "keeping the old one")
    assert "second" in common_name(d.port)
    # Without TLS: not while it runs.
    assert "server.tls_certificate" in reload("", "needs a restart")
    assert "applied=0 needing_restart=2" in [l for l in d.lines if "reloaded" in l][-1] and "second" in common_name(d.port)


def test_tls_1_2_offers_authenticated_encryption_only(start, tmp_path):
    certificate, key = make_certificate(tmp_path, "cert")
    d = start(WHIRR_SERVER_TLS_CERTIFICATE=str(certificate), WHIRR_SERVER_TLS_KEY=str(key))

    def agreed(ciphers):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(ciphers)
        with socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE) as s, context.wrap_socket(s) as secure:
            return secure.cipher()[0]

    for one in ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"):
        assert agreed(one) == one
    for one in ("ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384"):
        with pytest.raises(ssl.SSLError):
            agreed(one)


def test_bad_tls_files_are_told_at_the_start(tmp_path):
    first, second = make_certificate(tmp_path, "first"), make_certificate(tmp_path, "second")
    for certificate, key, words in ((first[0], second[1], "key"), (tmp_path / "none.pem", first[1], "certificate")):
        done = subprocess.run([WHIRR, "serve", "--listen", "127.0.0.1:0", "--socket", "none", "--source", "sim", "--store", "none"],
                              env=environment(tmp_path, WHIRR_SERVER_TLS_CERTIFICATE=str(certificate), WHIRR_SERVER_TLS_KEY=str(key)),
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1 and words in done.stderr, done.stderr
