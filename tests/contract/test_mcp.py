# SPDX-License-Identifier: Apache-2.0
"""Assistants: /mcp and `whirr mcp` as the official clients of the protocol see them, which check every answer against its schemas."""
import concurrent.futures
import contextlib
import json
import pathlib
import subprocess

import pytest
from conftest import PATIENCE, eventually
from isolation import WHIRR

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
CALLS = [("status", {}), ("status", {"gpu": 1}), ("why", {}), ("why", {"since": "-1h"}), ("why", {"at": "-1s"}), ("why", {"process": "train"}), ("ps", {"sort": "memory"}), ("health", {}),
         ("history", {"metrics": "power,temp", "points": 3}), ("report", {}), ("report", {"by": "user"}), ("fit", {"size": "1GiB"}), ("fit", {}), ("forecast", {}),
         ("findings", {}), ("findings", {"code": "loud"})]


@pytest.fixture
def open_daemon(start, tmp_path):
    """A daemon that assistants may ask, with a history."""
    def run(*args, **more):
        return start("--interval", "0.5", "--store", f"sqlite:{tmp_path}/h.db", *args, WHIRR_SERVER_MCP="true", **more)

    return run


@pytest.fixture
def client(node, request):
    """What an official client had to say, after it was told what to do: the newer package, if a version is named."""
    def run(**told):
        with (request.getfixturevalue("node20") if told.get("version") else node)("mcp.mjs", json.dumps(told)) as process:
            eventually(lambda: process.named("done") or process.named("failed") or process.process.poll() is not None, PATIENCE, lambda: process.other)
            process.reader.join(10)
            assert process.named("done"), (process.events, process.other)
            return process.named("done")[0]

    return run


def post(d, message, **headers):
    body = message if isinstance(message, (str, bytes)) else json.dumps(message)
    return d.ask("POST", "/mcp", body=body, **{"Content_Type": "application/json", "Accept": "application/json, text/event-stream", **headers})


def rpc(method, params=None, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params is not None else {})}


def call(name, **arguments):
    return rpc("tools/call", {"name": name, "arguments": arguments})


def calls(pairs):
    return [{"name": name, "arguments": arguments} for name, arguments in pairs]


@pytest.mark.parametrize("version", [*LEGACY, MODERN, None])
def test_the_official_clients_understand_every_tool_in_every_version(open_daemon, client, version):
    """None: the older of the two packages."""
    d = open_daemon()
    d.wait_stored(4)
    for place in ({"url": d.url + "/mcp"}, {"command": [WHIRR, "mcp"], "env": d.env}):
        said = client(version=version, calls=calls(CALLS), **place)
        assert said["server"]["name"] == "whirr" and "never instructions" in said["instructions"] and len(said["tools"]) == 10
        for (name, arguments), result in zip(CALLS, said["results"], strict=True):
            assert "content" in result and not result.get("isError"), (version, place, name, arguments, result)
            assert ("structuredContent" in result) == (version is None or version >= "2025-06-18")
            assert len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode()) <= 4096, (name, arguments)


def test_the_inspector_shows_the_tools_and_their_answers(open_daemon, node):
    """The command line of the official inspector, which people debug servers with."""
    d = open_daemon()
    d.wait_stored(2)
    program = pathlib.Path(__file__).resolve().parent / "clients" / "node_modules" / ".bin" / "mcp-inspector-cli"
    for place in ([d.url + "/mcp", "--transport", "http"], [WHIRR, "mcp"]):
        def inspect(*words):
            passed_on = [word for name, value in d.env.items() for word in ("-e", f"{name}={value}")]
            done = subprocess.run([program, "--cli", *passed_on, *place, "--method", *words], capture_output=True, text=True, timeout=PATIENCE)
            assert done.returncode == 0, (place, words, done.stdout, done.stderr)
            return json.loads(done.stdout)

        assert len(inspect("tools/list")["tools"]) == 10
        for name, argument in (("status", []), ("report", ["--tool-arg", "by=user"]), ("why", ["--tool-arg", "since=all"])):
            result = inspect("tools/call", "--tool-name", name, *argument)
            assert result["content"][0]["text"] and result["structuredContent"] and not result.get("isError"), (place, name, result)


STATES = {"sim:scenario=mixed": {}, "sim:gpus=2,scenario=training,fault=lost@1": {}, "sim:gpus=2,scenario=idle,fault=error@0,fault=xid95@1": {}, "sim:scenario=serving": {},
          "sim:scenario=mig": {}, "sim:scenario=asleep": {}, "nothing": {"source": "drm", "folders": ["proc", "sys"]}, "no driver": {"source": "nvml"}, "denied": {"script": "fail * 4\ngpu NVIDIA H200\n"}}


@pytest.mark.slow
def test_every_form_of_every_answer_is_what_its_schema_says(start, nvml, client, tmp_path):
    """Whatever state the GPUs are in, short or with every field, a page of it or all: the package throws where it is not."""
    daemons = []
    for number, (state, more) in enumerate(STATES.items()):
        common = ["--interval", "0.5", "--store", f"sqlite:{tmp_path}/{number}.db"]
        if "script" in more:
            daemons.append(nvml(more["script"], *common, WHIRR_SERVER_MCP="true"))
        else:
            for folder in more.get("folders", []):
                (tmp_path / "bare" / folder).mkdir(parents=True)
            daemons.append(start(*common, *(["--sysroot", str(tmp_path / "bare")] if more.get("folders") else []), source=more.get("source", state), WHIRR_SERVER_MCP="true"))
    every = [*CALLS, ("hosts", {}), ("why", {"job": "none"}), ("findings", {"code": "*"}), ("fit", {"size": "9TiB"})]
    asked = [*every, *((name, {**arguments, "detail": True, "max_bytes": 262144}) for name, arguments in every)]
    asked += [(name, {"detail": True, **page}) for name in ("status", "why", "ps", "health", "fit") for page in ({"max_bytes": 1024}, {"cursor": "1"})]
    told = client(urls=[d.url + "/mcp" for d in daemons], calls=calls(asked))
    wrong = [(state, *call, result["thrown"]) for state, said in zip(STATES, told, strict=True) for call, result in zip(asked, said["results"], strict=True) if "thrown" in result]
    assert not wrong, "\n".join(map(str, wrong))
    assert all(any("structuredContent" in result for result in said["results"]) for said in told)


def test_commands_and_paths_give_the_same(open_daemon, client):
    """Of what does not change between two looks."""
    d = open_daemon("--interval", "1000", source="sim:gpus=3,scenario=mixed")
    same = [("findings", {"code": "*", "max_bytes": 65536}), ("health", {}), ("why", {"job": "none"}), ("status", {"gpu": 9})]
    over = [client(calls=calls(same), **place)["results"] for place in ({"url": d.url + "/mcp"}, {"command": [WHIRR, "mcp"], "env": d.env})]
    assert over[0][0] == over[1][0] and over[0][0]["structuredContent"]["codes"]
    states = [[(gpu["gpu_index"], gpu["state"], gpu["reason"]) for gpu in one[1]["structuredContent"]["gpus"]] for one in over]
    assert states[0] == states[1] and len(states[0]) == 3
    assert all(one[2]["isError"] and "none" in one[2]["content"][0]["text"] and one[3]["isError"] and "9" in one[3]["content"][0]["text"] for one in over)


def test_it_is_off_unless_the_settings_say_otherwise(daemon):
    reply = post(daemon, rpc("ping"))
    assert reply.status == 404 and reply.json()["error"]["code"] == "mcp_off"
    assert daemon.get("/mcp").status == 405


def test_tokens_hosts_and_origins_are_those_of_the_api(start):
    d = start(WHIRR_SERVER_MCP="true", WHIRR_SERVER_REQUIRE_TOKEN="true")
    token = d.whirr("token", "new").stdout.strip().splitlines()[-1].split()[-1]
    assert post(d, rpc("ping")).status == 401 and post(d, rpc("ping"), Authorization="Bearer wrong").status == 401
    assert post(d, rpc("ping"), Authorization=f"Bearer {token}").json()["result"] == {}
    assert post(d, rpc("ping"), Authorization=f"Bearer {token}", Origin="https://evil.example").status == 403
    assert post(d, rpc("ping"), Authorization=f"Bearer {token}", Host="evil.example").status == 421


def test_sessions_are_not_needed(open_daemon):
    d = open_daemon()
    begun = post(d, rpc("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
    assert begun.status == 200 and begun.json()["result"]["protocolVersion"] == "2025-06-18" and "mcp-session-id" not in begun.headers
    assert post(d, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
    assert post(d, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}).status == 202
    for method in ("GET", "DELETE", "PUT"):
        assert d.ask(method, "/mcp").status == 405
    assert "structuredContent" in post(d, call("status"), MCP_Protocol_Version="2025-11-25").json()["result"]
    assert "structuredContent" not in post(d, call("status")).json()["result"]  # who does not say it is taken for 2025-03-26
    events = post(d, call("status"), Accept="text/event-stream")
    assert events.headers["content-type"] == "text/event-stream" and events.body.startswith(b"event: message\ndata: {") and events.body.endswith(b"}\n\n")
    assert post(d, call("status"), Accept="text/html").status == 406


def test_what_is_wrong_with_a_message_is_said_with_its_status(open_daemon):
    d = open_daemon()
    def tried(message, **headers):
        reply = post(d, message, **headers)
        return reply.status, reply.json()["error"]["code"]
    assert tried("{") == (400, -32700) and tried("[]") == (400, -32600) and tried("x" * 60000) == (400, -32700) and tried("[" * 60000) == (400, -32700)
    assert tried(rpc("nothing")) == (200, -32601) and tried(rpc("tools/call", {"name": "x"})) == (200, -32602)
    assert tried(rpc("ping"), MCP_Protocol_Version="1999-01-01") == (400, -32600)
    assert tried([rpc("ping")], MCP_Protocol_Version="2025-06-18") == (400, -32600)
    head = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/list"}
    listing = rpc("tools/list", {"_meta": META})
    assert post(d, listing, **head).json()["result"]["resultType"] == "complete"
    assert tried(listing, Mcp_Method="tools/list") == (400, -32020) and tried(listing, MCP_Protocol_Version="2025-11-25", Mcp_Method="tools/list") == (400, -32020)
    assert tried(listing, MCP_Protocol_Version=MODERN) == (400, -32020) and tried(listing, MCP_Protocol_Version=MODERN, Mcp_Method="tools/call") == (400, -32020)
    assert tried(rpc("tools/list"), **head) == (400, -32602) and tried(rpc("tools/list", {"_meta": {**META, "io.modelcontextprotocol/clientCapabilities": 1}}), **head) == (400, -32602)
    assert tried(rpc("ping", {"_meta": META}), MCP_Protocol_Version=MODERN, Mcp_Method="ping") == (404, -32601)
    assert tried(rpc("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}}), MCP_Protocol_Version="2099-01-01", Mcp_Method="tools/list") == (400, -32022)
    named = rpc("tools/call", {"_meta": META, "name": "status", "arguments": {}})
    head = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call"}
    assert tried(named, **head) == (400, -32020) and tried(named, **head, Mcp_Name="ps") == (400, -32020)
    assert post(d, named, **head, Mcp_Name="status").json()["result"]["structuredContent"]["gpus"]
    assert d.raw(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n").startswith(b"HTTP/1.1 413")


def test_an_array_of_questions_about_the_past_is_answered_in_one_reply(open_daemon):
    d = open_daemon()
    d.wait_stored(4)
    batch = [call("history") | {"id": "a"}, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call("report") | {"id": "b"}, call("status") | {"id": "c"},
             call("why", since="-1h") | {"id": "d"}, rpc("ping", id="e"), call("history", gpu=7) | {"id": "f"}]
    replies = {reply["id"]: reply["result"] for reply in post(d, batch).json()}
    assert list(replies) == ["a", "b", "c", "d", "e", "f"] and replies["f"]["isError"]
    data = [json.loads(replies[id]["content"][1]["text"]) for id in "abcd"]
    assert data[0]["series"] and data[1]["rows"] and data[2]["gpus"] and "episodes" in data[3]


def test_a_client_that_goes_away_in_the_middle_does_no_harm(open_daemon):
    d = open_daemon()
    d.wait_stored(4)
    body = json.dumps([call("report", since="all") | {"id": n} for n in range(16)]).encode()
    for _ in range(20):
        with contextlib.closing(d.connection()) as c:
            c.request("POST", "/mcp", body=body)
    assert post(d, call("status"), MCP_Protocol_Version="2025-11-25").json()["result"]["structuredContent"]["gpus"]


def test_a_hundred_assistants_at_once(open_daemon, client):
    d = open_daemon()
    d.wait_stored(4)
    said = client(url=d.url + "/mcp", clients=100, calls=calls([("status", {}), ("why", {}), ("ps", {})]))
    assert said["count"] == 100 and all("structuredContent" in result for result in said["first"]["results"])
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        replies = list(pool.map(lambda n: post(d, call("status", gpu=n % 2), MCP_Protocol_Version="2025-11-25").json()["result"]["structuredContent"]["gpus"][0]["index"], range(400)))
    assert replies == [n % 2 for n in range(400)]


def test_a_call_that_its_client_gives_up_is_not_waited_for(client, tmp_path, start):
    d = start()  # no daemon is asked: the forecast watches for 20 s
    said = client(command=[WHIRR, "mcp", "--direct", "--source", "sim:gpus=2"], env=d.env, abort={"name": "forecast", "arguments": {}})
    assert said["aborted"] == "aborted" and said["after"]["structuredContent"]["gpus"]


def test_the_fleet_of_the_settings_is_asked(open_daemon):
    d = open_daemon(WHIRR_FLEET_URL="http://127.0.0.1:9")
    result = post(d, call("hosts"), MCP_Protocol_Version="2025-11-25").json()["result"]
    assert result["isError"] and result["content"][0]["text"]
