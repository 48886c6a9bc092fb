# SPDX-License-Identifier: Apache-2.0
"""A right lasts as long as what it allows: streams end with their token, on every transport, and say why."""
import json
import re
import signal
import struct

import pytest
from conftest import eventually

from .test_live import GOOD, handshake, read_frame
from .test_mcp import call
from .test_security import login, new_token

CLOSED = 4401


@pytest.fixture
def guarded(start, tmp_path):
    """A daemon that asks everybody for a token. The file of its settings is `config`."""
    config = tmp_path / "whirr.toml"
    config.write_text("[server]\nrequire_token = true\nmcp = true\n")
    d = start("--config", str(config), "--interval", "0.2")
    d.config, d.tokens = config, d.folder / "whirr" / "tokens"
    return d


def listening(d, *fields):
    s, head = handshake(d, *GOOD, *fields)
    assert " 101 " in head, head
    while b"gpu_stats" not in read_frame(s)[1]:
        pass
    return s


def end_of(s):
    """Its close code and reason, and the message before them."""
    last = b""
    while True:
        first, payload = read_frame(s)
        if first & 15 == 8:
            return struct.unpack(">H", payload[:2])[0], payload[2:].decode(), json.loads(last)
        last = payload


def bearer(token):
    return f"Authorization: Bearer {token}"


def removed(d):
    assert d.whirr("token", "remove", "test").returncode == 0
    return "the token was removed"


def edit(d, change):
    lines = d.tokens.read_text().splitlines()
    d.tokens.write_text("".join(f"{change(line) if line.startswith('test ') else line}\n" for line in lines))


def lost_its_role(d):
    edit(d, lambda line: line.replace(" admin", " read"))
    return "the role of the token was changed"


def ended(d):
    edit(d, lambda line: line + " until 2020-01-01T00:00:00.000Z")
    return "the token has expired"


@pytest.mark.parametrize("how", [removed, lost_its_role, ended])
def test_a_websocket_ends_with_its_token_and_says_why(guarded, how):
    other = listening(guarded, bearer(new_token(guarded, "other")))
    s = listening(guarded, bearer(new_token(guarded)))
    why = how(guarded)
    code, reason, last = end_of(s)
    assert (code, reason) == (CLOSED, why) and last == {"type": "error", "data": {"code": "unauthorized", "message": why}}
    while b"gpu_stats" not in read_frame(other)[1]:  # others go on
        pass


def test_a_pages_socket_ends_with_its_logout(guarded):
    guarded.token = new_token(guarded)
    session = login(guarded).headers["set-cookie"].split(";")[0]
    s = listening(guarded, f"Cookie: {session}")
    assert guarded.ask("POST", "/logout", Cookie=session).status == 303
    assert end_of(s)[:2] == (CLOSED, "the session has ended")


def test_a_reload_that_takes_the_right_away_ends_the_stream(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("")
    d = start("--config", str(config), "--interval", "0.2")
    local, known = listening(d), listening(d, bearer(new_token(d)))
    config.write_text("[server]\nrequire_token = true\n")
    d.process.send_signal(signal.SIGHUP)
    assert end_of(local)[:2] == (CLOSED, "the settings of this server have changed")
    while b"gpu_stats" not in read_frame(known)[1]:
        pass
    d.wait_log("reloaded")


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["polling", "websocket"])
def test_socket_io_ends_with_its_token(guarded, node, transport):
    options = {"transports": [transport], "extraHeaders": {"Authorization": f"Bearer {new_token(guarded)}"}}
    with node("socketio.mjs", guarded.url, json.dumps(options)) as client:
        client.wait("gpu_stats", 3)
        removed(guarded)
        reason = client.wait("disconnect")[0]
        if transport == "websocket":  # over polling its next request is refused
            assert reason == "io server disconnect" and client.wait("error")[0] == {"code": "unauthorized", "message": "the token was removed"}
        got = len(client.named("gpu_stats"))
        eventually(lambda: re.search(r"^whirr_live_clients\{.*\} 0$", guarded.ask("GET", "/metrics", unix=True).body.decode(), re.M), explain=guarded.log)
        assert len(client.named("gpu_stats")) == got


def test_a_poll_that_waits_is_refused_with_its_token(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text("[server]\nrequire_token = true\n")
    d = start("--config", str(config), "--interval", "600")
    token = {"Authorization": f"Bearer {new_token(d)}"}
    path = "/socket.io/?EIO=4&transport=polling"
    sid = json.loads(d.get(path, **token).body[1:])["sid"]
    assert d.ask("POST", f"{path}&sid={sid}", body="40", **token).status == 200
    assert b"gpu_status" in d.get(f"{path}&sid={sid}", **token).body
    connection = d.connection()
    connection.request("GET", f"{path}&sid={sid}", headers=token)
    eventually(lambda: d.ask("GET", "/api/health", unix=True).json()["server"]["connections"] >= 2)
    removed(d)
    assert connection.getresponse().status == 401
    connection.close()


def test_assistants_are_asked_for_their_token_with_every_call(guarded):
    token = new_token(guarded)
    connection = guarded.connection()

    def ask():
        connection.request("POST", "/mcp", body=json.dumps(call("gpu_status")), headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        reply = connection.getresponse()
        reply.read()
        return reply.status

    assert ask() == 200
    removed(guarded)
    assert ask() == 401
    connection.close()


def test_tokens_that_come_and_go_are_in_the_log_and_in_the_history(start, tmp_path):
    d = start("--store", f"sqlite:{tmp_path}/history.db", "--interval", "0.2")
    assert d.whirr("token", "new", "phone", "--role", "silence").returncode == 0
    d.wait_log("token=phone.*added.*silence|added.*phone")
    assert d.whirr("token", "remove", "phone").returncode == 0

    def audits():
        return [e["text"] for e in d.json("/api/history/events?kind=audit")["events"]]

    eventually(lambda: {"token phone (silence) was added", "token phone (silence) was removed"} <= set(audits()), explain=lambda: (audits(), d.log()))


def test_a_new_token_reads_unless_it_is_given_a_role(start):
    d = start()
    made = d.whirr("token", "new", "x")
    assert "--role" in made.stderr
    token = {"Authorization": f"Bearer {made.stdout.strip()}"}
    assert d.get("/api/session", **token).json()["roles"] == "read"
    refused = d.ask("POST", "/api/source/release", body="{}", **token)
    assert refused.status == 403 and "admin" in refused.json()["error"]["message"]
    assert "whirr token new NAME --role admin" in d.ask("POST", "/api/source/release", body="{}").json()["error"]["message"]
