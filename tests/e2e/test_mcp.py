# SPDX-License-Identifier: Apache-2.0
"""`whirr mcp` over its own stdin and stdout: what the protocol demands of each version, and what a hostile client tries."""
import contextlib
import json
import pathlib
import subprocess
import threading
import time

import pytest
from isolation import WHIRR, environment
from waiting import PATIENCE, eventually

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
TOOLS = ["status", "why", "ps", "health", "history", "report", "fit", "forecast", "findings", "hosts"]
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


class Session:
    """A process that is spoken to line by line."""

    def __init__(self, folder, *args):
        self.process = subprocess.Popen([WHIRR, "mcp", *args], env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.heard, self.next = [], 100
        self.reader = threading.Thread(target=lambda: self.heard.extend(map(json.loads, self.process.stdout)), daemon=True)
        self.reader.start()

    def say(self, message):
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def answer(self, id):
        return eventually(lambda: next((m for m in list(self.heard) if isinstance(m, dict) and m.get("id") == id), None), PATIENCE,
                          lambda: f"no answer to {id}: {self.heard}")

    def ask(self, method, params=None, **more):
        self.next += 1
        self.say({"jsonrpc": "2.0", "id": self.next, "method": method, **({"params": params} if params is not None else {}), **more})
        return self.answer(self.next)

    def begin(self, version="2025-11-25"):
        return self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})["result"]

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        problems = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, problems


@pytest.fixture
def talk(tmp_path):
    sessions = []

    def start(*args, source="sim:gpus=2,scenario=training"):
        sessions.append(Session(tmp_path, *(["--source", source] if source else []), *args))
        return sessions[-1]

    yield start
    for session in sessions:
        if session.process.poll() is None:
            assert session.close() == (0, "")


@pytest.mark.parametrize("version", LEGACY)
def test_each_version_of_sessions_is_negotiated(talk, version):
    session = talk()
    begun = session.begin(version)
    assert begun["protocolVersion"] == version and begun["capabilities"] == {"tools": {}} and begun["serverInfo"]["name"] == "whirr"
    session.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert session.ask("ping")["result"] == {}
    tools = session.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    assert all(("annotations" in tool) == (version >= "2025-03-26") and ("outputSchema" in tool) == (version >= "2025-06-18") for tool in tools)
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools if "annotations" in tool)
    result = session.call("status")
    assert ("structuredContent" in result) == (version >= "2025-06-18")
    data = result.get("structuredContent") or json.loads(result["content"][1]["text"])
    assert [gpu["index"] for gpu in data["gpus"]] == [0, 1] and data["gpus"][0]["simulated"]


@pytest.mark.parametrize("version", ["2023-01-01", MODERN, "x", ""])
def test_a_version_of_sessions_that_is_not_known_gets_the_newest(talk, version):
    assert talk().begin(version)["protocolVersion"] == LEGACY[-1]


def test_the_version_without_sessions_says_everything_with_each_request(talk):
    session = talk()
    found = session.ask("server/discover", {"_meta": META})["result"]
    assert found["supportedVersions"] == [MODERN, *reversed(LEGACY)] and found["resultType"] == "complete"
    assert found["ttlMs"] > 0 and found["cacheScope"] == "public" and found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "whirr"
    listed = session.ask("tools/list", {"_meta": META})["result"]
    assert [tool["name"] for tool in listed["tools"]] == TOOLS and listed["resultType"] == "complete" and listed["ttlMs"] > 0
    called = session.ask("tools/call", {"_meta": META, "name": "status", "arguments": {}})["result"]
    assert called["resultType"] == "complete" and called["structuredContent"]["gpus"]
    for gone in ("initialize", "ping"):
        assert session.ask(gone, {"_meta": META})["error"]["code"] == -32601
    other = session.ask("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}})["error"]
    assert other["code"] == -32022 and other["data"] == {"supported": [MODERN, *reversed(LEGACY)], "requested": "2099-01-01"}
    for meta in ({"io.modelcontextprotocol/protocolVersion": MODERN}, {**META, "io.modelcontextprotocol/protocolVersion": 7},
                 {**META, "io.modelcontextprotocol/clientCapabilities": []}):
        assert session.ask("tools/list", {"_meta": meta})["error"]["code"] == -32602
    assert session.ask("server/discover")["error"]["code"] == -32602


@pytest.mark.parametrize("text, code", [
    ("{", -32700), ("nonsense", -32700), ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700), ("[" * 5000, -32700), ('"ping"', -32600), ("[]", -32600), ("1", -32600),
    ('{"id":1,"method":"ping"}', -32600), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1,"method":7}', -32600), ('{"jsonrpc":"2.0","id":1}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601), ('{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32602), ('{"jsonrpc":"2.0","id":1,"method":"initialize"}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602), ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evict"}}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ps","arguments":[]}}', -32602),
    ('x' * (2 << 20), -32700),
])
def test_what_is_wrong_is_refused_and_the_next_message_is_answered(talk, text, code):
    session = talk()
    session.say(text)
    refused = eventually(lambda: session.heard and session.heard[0], PATIENCE)
    assert refused["error"]["code"] == code and refused["error"]["message"] and refused["jsonrpc"] == "2.0"
    assert session.begin()["protocolVersion"] == LEGACY[-1]


def test_notifications_and_answers_are_not_answered(talk):
    session = talk()
    for silent in ({"method": "notifications/initialized"}, {"method": "nothing"}, {"method": "tools/call", "params": []}, {"id": 5, "result": {}},
                   {"id": 6, "error": {"code": 1, "message": ""}}, {"method": "notifications/cancelled", "params": {"requestId": 99}}):
        session.say({"jsonrpc": "2.0", **silent})
    session.say("")
    session.say("   ")
    assert session.ask("ping")["result"] == {} and len(session.heard) == 1


def test_arrays_of_messages_are_for_the_version_that_has_them(talk):
    session = talk()
    session.begin("2025-03-26")
    session.say([{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7,
                 {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "status"}},
                 {"jsonrpc": "2.0", "id": "c", "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}])
    batch = eventually(lambda: next((m for m in list(session.heard) if isinstance(m, list)), None), PATIENCE)
    assert [m.get("id") for m in batch] == ["a", None, "b", "c"] and batch[0]["result"] == {} and batch[1]["error"]["code"] == -32600
    assert batch[2]["result"]["content"] and batch[3]["error"]["code"] == -32600
    before = len(session.heard)
    session.say([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(17)])
    assert eventually(lambda: session.heard[before:], PATIENCE)[0]["error"]["code"] == -32600
    newer = talk()
    newer.begin("2025-06-18")
    newer.say([{"jsonrpc": "2.0", "id": "a", "method": "ping"}])
    assert eventually(lambda: newer.heard[1:], PATIENCE)[0]["error"]["code"] == -32600


def commands_with(*words):
    """Of processes that run now; whose children they are differs between systems."""
    lines = []
    for path in pathlib.Path("/proc").glob("[1-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_text(errors="replace").split("\0"))
    return [line for line in lines if set(words) <= set(line)]


def test_a_cancelled_call_is_ended_and_never_answered(talk, tmp_path):
    own = f"--socket={tmp_path}/none"
    session = talk(own)
    session.begin()
    session.say({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {"name": "forecast"}})  # watches for 20 s without a daemon
    eventually(lambda: commands_with(own, "forecast"), PATIENCE, lambda: "no child was started")
    begin = time.monotonic()
    session.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow", "reason": "never mind"}})
    eventually(lambda: not commands_with(own, "forecast"), PATIENCE, lambda: "the child goes on")
    assert time.monotonic() - begin < 10
    assert session.call("status")["structuredContent"]["gpus"] and not [m for m in session.heard if m.get("id") == "slow"]


def test_many_calls_at_once_are_all_answered(talk):
    session = talk()
    session.begin()
    for n in range(40):
        session.say({"jsonrpc": "2.0", "id": f"n{n}", "method": "tools/call", "params": {"name": "status", "arguments": {"gpu": n % 2}}})
    for n in range(40):
        assert [gpu["index"] for gpu in session.answer(f"n{n}")["result"]["structuredContent"]["gpus"]] == [n % 2]


def test_it_ends_with_its_input_after_the_last_answer(talk):
    session = talk()
    session.begin()
    session.say({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {"name": "status"}})
    assert session.close() == (0, "") and session.answer("last")["result"]["structuredContent"]


@pytest.mark.parametrize("name, arguments, words", [
    ("status", {"gpu": 9}, "9"), ("status", {"gpus": 1}, "did you mean 'gpu'"), ("status", {"gpu": True}, "gpu must be a text"), ("ps", {"type": "all"}, "compute, graphics"),
    ("fit", {"gpus": 0, "size": "1GiB"}, "1 to 64"), ("fit", {"size": "24"}, "24GiB"), ("why", {"at": "03:10", "since": "-1h"}, "can't be combined"),
    ("why", {"until": "-1h"}, "until needs since"), ("why", {"process": "--help"}, "--help"), ("why", {"job": "none"}, "none"), ("findings", {"code": "nothing"}, "no such code"),
    ("history", {"since": "-1h"}, "not from a source"), ("hosts", {}, "fleet.url"), ("status", {"max_bytes": 5}, "1024"), ("ps", {"name": "x" * 600}, "512 characters"),
    ("ps", {"show_secrets": True}, "no argument 'show_secrets'"),
])
def test_a_call_that_cannot_be_answered_says_why(talk, name, arguments, words):
    session = talk()
    session.begin()
    result = session.call(name, **arguments)
    assert result.get("isError") and words in result["content"][0]["text"], result


def test_every_tool_answers_shortly_and_marks_what_programs_say(talk):
    session = talk(source="sim:gpus=64,scenario=mixed")
    session.begin()
    for name, arguments in (("status", {}), ("why", {}), ("ps", {}), ("health", {}), ("fit", {"size": "1GiB"}), ("fit", {}), ("findings", {}), ("findings", {"code": "*"})):
        result = session.call(name, **arguments)
        assert not result.get("isError"), result
        assert len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode()) <= 4096, name
        assert "structuredContent" in result and isinstance(result["structuredContent"]["untrusted"], list)
    rows, cursor = [], None
    while True:
        page = session.call("ps", **({"cursor": cursor} if cursor else {}))
        rows += page["structuredContent"]["processes"]
        assert "never instructions" in page["content"][0]["text"] and "short_name" in page["structuredContent"]["untrusted"]
        cursor = page["structuredContent"].get("next_cursor")
        if not cursor:
            break
    whole = session.call("ps", max_bytes=262144)["structuredContent"]["processes"]
    assert len(rows) == len(whole) and len(whole) > 64
    assert "pci_address" in session.call("status", gpu=0, detail=True, max_bytes=65536)["structuredContent"]["gpus"][0]
