# SPDX-License-Identifier: Apache-2.0
"""A real nginx and a real HAProxy in front of the daemon: whoever can reach them is not on this host."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import pwd
import signal
import tempfile

import pytest
from conftest import PATIENCE, eventually
from daemons import Reply
from isolation import ROOT
from proxies import Proxy

from .test_live import GOOD, handshake
from .test_security import new_token

KINDS = ["nginx", "haproxy"]
PATHS = ["/", "/api/gpu/devices", "/metrics", "/api/settings", "/socket.io/?EIO=4&transport=polling"]


@pytest.fixture
def proxy(tmp_path):
    with contextlib.ExitStack() as stack:
        def start(kind, daemon, folder=None, **how):
            started = Proxy(kind, daemon, folder or tmp_path / f"{kind}-{len(list(tmp_path.iterdir()))}", **how)
            stack.callback(started.stop)
            return started
        yield start


def ask(proxy, method, path, body=None, **headers):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE)) as connection:
        connection.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        return Reply(connection.getresponse())


def upgrade(proxy, *fields):
    s, head = handshake(proxy, *GOOD, *fields)
    s.close()
    return int(head.split()[1])


def everything(proxy, **headers):
    """The status of each kind of request: pages, API, Socket.IO, WebSocket, an action."""
    fields = [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
    return {path: ask(proxy, "GET", path, **headers).status for path in PATHS} | {
        "websocket": upgrade(proxy, *fields), "action": ask(proxy, "POST", "/api/source/release", body='{"for_seconds": 0}', **headers).status}


ALL = [*PATHS, "websocket", "action"]
REFUSED = dict.fromkeys(ALL, 401)
ANSWERED = dict.fromkeys(ALL, 200) | {"websocket": 101}
READ = ANSWERED | {"action": 401}


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
@pytest.mark.parametrize("kind", KINDS)
def test_behind_a_proxy_that_tells_everything_needs_a_token(start, proxy, kind, unix):
    """Also over the Unix socket, where the proxy is the daemon's own user."""
    d = start()
    p = proxy(kind, d, unix=unix)
    token = new_token(d)
    assert everything(p) == REFUSED
    assert everything(p, Authorization=f"Bearer {token}") == ANSWERED
    assert ask(p, "GET", "/api/gpu/devices", Authorization="Bearer whirr_" + "0" * 64).status == 401
    # Who asks here, and not through the proxy, is local as before.
    assert everything(d) == READ
    assert d.ask("POST", "/api/source/release", body='{"for_seconds": 0}', unix=True).status == 200


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
@pytest.mark.parametrize("kind", KINDS)
def test_behind_a_proxy_that_tells_nothing_require_token_is_the_answer(start, proxy, kind, unix):
    """On the Unix socket only root and the daemon's own user need no token, so that the commands go on: such a proxy must run as another user."""
    d = start(WHIRR_SERVER_REQUIRE_TOKEN="true")
    p = proxy(kind, d, tells=False, unix=unix)
    token = new_token(d)
    if not unix:
        assert everything(p) == REFUSED and everything(d) == REFUSED
    assert everything(p, Authorization=f"Bearer {token}") == ANSWERED
    assert d.get("/login").status == 200 and d.get("/style.css").status == 200
    assert d.whirr("status").returncode == 0 and d.ask("GET", "/metrics", unix=True).status == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_browser_logs_in_through_the_proxy(start, proxy, kind):
    d = start()
    p = proxy(kind, d)
    token = new_token(d)
    form = ask(p, "GET", "/", Accept="text/html")
    assert form.status == 303 and form.headers["location"] == "/login?next=%2F"
    done = ask(p, "POST", "/login", body=f"token={token}", Content_Type="application/x-www-form-urlencoded")
    cookie = done.headers["set-cookie"]
    assert done.status == 303 and ("; Secure" in cookie) == (kind == "nginx")  # which says that the browser speaks HTTPS
    assert everything(p, Cookie=cookie.split(";")[0]) == ANSWERED


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_real_clients_get_through_with_a_token_and_not_without(start, proxy, node, kind):
    d = start("--interval", "0.2")
    p = proxy(kind, d)
    headers = {"Authorization": f"Bearer {new_token(d)}"}
    with node("ws.mjs", f"ws://127.0.0.1:{p.port}/ws", json.dumps({"headers": headers})) as client:
        client.wait("gpu_stats", 3)
    for transport in ("polling", "websocket"):
        with node("socketio.mjs", f"http://127.0.0.1:{p.port}", json.dumps({"transports": [transport], "extraHeaders": headers})) as client:
            client.wait("gpu_stats", 2)
    with node("ws.mjs", f"ws://127.0.0.1:{p.port}/ws") as client:
        eventually(lambda: client.events or client.other)
        assert not client.named("gpu_stats")


@pytest.mark.parametrize("field", ["Forwarded: for=192.0.2.1", "forwarded:", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: localhost", "X-Forwarded-Proto: https", "X-Forwarded: x",
                                   "x-forwarded-for:", "X-Real-IP: 127.0.0.1", "Via: 1.1 squid", "X-Client-IP: ::1", "True-Client-IP: x", "CF-Connecting-IP: x"])
def test_a_field_of_a_proxy_makes_a_request_one_from_elsewhere(daemon, field):
    """Whatever it says: that it claims loopback proves nothing."""
    for host in (b"127.0.0.1", b"localhost"):
        request = b"GET /api/gpu/devices HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n" + field.encode() + b"\r\n\r\n"
        assert daemon.raw(request).startswith(b"HTTP/1.1 401 ")
    assert upgrade(daemon, field) == 401


def test_require_token_is_reloaded(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("")
    d = start("--config", str(config))
    assert d.get("/metrics").status == 200
    config.write_text("[server]\nrequire_token = true\n")
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: d.get("/metrics").status == 401)
    config.write_text("[server]\nrequire_token = false\n")
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: d.get("/metrics").status == 200)


def test_a_proxy_that_tells_nothing_is_hinted_at(start, proxy):
    d = start(WHIRR_SERVER_ALLOWED_HOSTS="gpu.example.org")
    p = proxy("haproxy", d, tells=False)
    d.wait_log(r"require_token = true")  # what the settings let expect
    assert not [line for line in d.lines if "names another host" in line]
    for _ in range(3):
        assert ask(p, "GET", "/api/gpu/devices", Host="gpu.example.org").status == 200
    d.wait_log(r"names another host.*require_token = true")
    assert len([line for line in d.lines if "names another host" in line]) == 1
    checked = d.whirr("config", "check")
    assert checked.returncode == 0 and "require_token" in checked.stdout + checked.stderr


def test_insecure_and_require_token_contradict_each_other(start):
    d = start()
    assert d.whirr("config", "check").returncode == 0
    d.env |= {"WHIRR_SERVER_INSECURE": "true", "WHIRR_SERVER_REQUIRE_TOKEN": "true"}
    done = d.whirr("config", "check")
    assert done.returncode != 0 and "contradict" in done.stdout + done.stderr


# ---- a proxy that names users ----

def recipe(users, socket):
    """The location of docs/SECURITY.md, with the test's own paths."""
    text = (ROOT / "docs" / "SECURITY.md").read_text()
    lines = text[text.index("auth_basic "):]
    lines = lines[:lines.index("\n}")]
    return lines.replace("/etc/nginx/whirr.users", str(users)).replace("/run/whirr/whirr.sock", str(socket))


@pytest.fixture
def public():
    """A directory that other users can enter."""
    with tempfile.TemporaryDirectory(prefix="whirr-test-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_the_documented_nginx_signs_people_in_over_the_unix_socket(start, proxy, public, tmp_path):
    """Known by its user alone: whoever else sends its fields is nobody, and so is its client without a name."""
    user = "www-data" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    config, users = tmp_path / "whirr.toml", public / "users"
    config.write_text(f'[server]\nrequire_token = true\nproxies = ["unix:{user}"]\nproxy_groups = "X-Forwarded-Groups"\n'
                      '[access.operators]\nrole = "admin"\ngroups = ["gpu-operators"]\n[access.everyone]\nusers = ["*"]\n')
    users.write_text("alice:{PLAIN}open sesame\n")
    d = start("--config", str(config), "--interval", "0.5", WHIRR_SERVER_SOCKET=str(public / "sock"))
    p = proxy("nginx", d, recipe=recipe(users, d.sock), folder=public / "nginx")
    alice = {"Authorization": "Basic " + base64.b64encode(b"alice:open sesame").decode()}
    assert ask(p, "GET", "/api/session").status == 401
    assert ask(p, "GET", "/api/session", **alice).json()["roles"] == "read"
    # What the client claims does not get through, and does not make it less.
    claims = {"X-Forwarded-User": "root", "X-Forwarded-Groups": "gpu-operators", "X_Forwarded_Groups": "gpu-operators"}
    assert ask(p, "GET", "/api/session", **alice, **claims).json()["roles"] == "read"
    assert ask(p, "POST", "/api/source/release", body="{}", **alice, **claims).status == 403
    assert upgrade(p, f"Authorization: {alice['Authorization']}") == 101
    # The same fields from another program of this host: over loopback, and over the socket.
    named = {"X-Forwarded-User": "alice", "X-Forwarded-Groups": "gpu-operators"}
    assert d.get("/api/session", **named).status == 401
    if os.geteuid() == 0:
        assert d.ask("GET", "/api/session", unix=True, **named).status == 401
        assert d.ask("GET", "/api/session", unix=True).json()["roles"] == "admin"  # its own commands
