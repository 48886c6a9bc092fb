# SPDX-License-Identifier: Apache-2.0
"""whirr notify: one message to each kind of target, and what is said of it."""
import json
import os
import stat

import pytest
import targets


@pytest.fixture
def target():
    """Makes stand-ins; all of them end with the test."""
    made = []

    def make(kind=targets.Target):
        made.append(kind())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "whirr.toml"
        path.write_text(text)
        return str(path)

    return write


def table(kind, url, **more):
    lines = [f'type = "{kind}"', f'url = "{url}"'] + [f"{key} = {value}" for key, value in more.items()]
    return "[notify.ops]\n" + "\n".join(lines) + "\n"


def test_a_webhook_gets_the_object_of_the_documentation(whirr, target, config):
    hook = target()
    done = whirr("--config", config(table("webhook", hook.url("/hook/s3cret"))), "notify", "test", "ops")
    assert done.code == 0 and done.out.startswith("delivered") and "HTTP 200" in done.out and "s3cret" not in done.out + done.err
    request, = hook.requests
    assert request.path == "/hook/s3cret" and request.headers["Content-Type"] == "application/json"
    body = request.json()
    assert set(body) == {"status", "alert", "severity", "gpu_index", "gpu_name", "gpu_uuid", "simulated", "host", "value", "summary", "started_at", "ended_at",
                         "labels", "fingerprint", "title", "count", "alerts"}
    assert body["status"] == "firing" and body["severity"] == "warning" and body["alerts"][0]["alert"] == body["alert"]


@pytest.mark.parametrize("kind, path", [("slack", "/services/T0/B0/XXXXXXXX"), ("discord", "/api/webhooks/1/tokentoken"), ("ntfy", "/my-topic")])
@pytest.mark.parametrize("options", [(), ("--resolved",), ("--severity", "critical"), ("--severity", "info")])
def test_services_take_what_they_are_sent(whirr, target, config, kind, path, options):
    stand_in = target(getattr(targets, kind))
    done = whirr("--config", config(table(kind, stand_in.url(path))), "notify", "test", "ops", *options)
    assert done.code == 0, done.err
    assert len(stand_in.requests) == 1


def test_a_template_and_headers(whirr, target, config):
    hook = target()
    text = table("webhook", hook.url("/x"), headers='{ Authorization = "Bearer abcdefgh", "Content-Type" = "application/vnd.x+json" }',
                 template="""'{"t": "{{title}}", "v": {{value}}, "all": {{alerts}}}'""")
    assert whirr("--config", config(text), "notify", "test", "ops").code == 0
    request, = hook.requests
    assert request.headers["Authorization"] == "Bearer abcdefgh" and request.headers["Content-Type"] == "application/vnd.x+json"
    assert request.json()["t"].startswith("FIRING: ") and request.json()["v"] == 42 and len(request.json()["all"]) == 1


@pytest.mark.parametrize("answer, words", [
    ((404, {}, b"Cannot POST /services/s3cretpath"), ["404", "check the URL"]),
    ((403, {}, b"invalid_token"), ["403", "token"]),
    ((301, {"Location": "http://elsewhere/"}, b""), ["301", "new URL"]),
    ((500, {}, b"oops"), ["500", "oops"]),
    ((429, {"Retry-After": "30"}, b""), ["429", "too many"]),
])
def test_a_refusal_says_what_came_back_and_no_secret(whirr, target, config, answer, words):
    hook = target()
    hook.answers = [answer] * 2
    path = config(table("webhook", hook.url("/services/s3cretpath")))
    done = whirr("--config", path, "notify", "test", "ops")
    assert done.code == 1 and all(word in done.err for word in words) and "s3cretpath" not in done.out + done.err
    result = json.loads(whirr("--config", path, "notify", "test", "ops", "--json").out)
    assert result["ok"] is False and result["status"] == answer[0] and result["took_seconds"] >= 0 and "s3cretpath" not in json.dumps(result)


def test_nobody_there_and_nobody_answering(whirr, target, config):
    closed = target()
    closed.close()
    done = whirr("--config", config(table("webhook", closed.url("/s3cretpath"))), "notify", "test", "ops")
    assert done.code == 1 and "connect" in done.err and "s3cretpath" not in done.err
    slow = target()
    slow.delay = 5
    done = whirr("--config", config(table("webhook", slow.url(), timeout='"200ms"')), "notify", "test", "ops")
    assert done.code == 1 and "timed out" in done.err.lower()


def test_a_command_reads_the_object_and_is_killed_with_its_children(whirr, config, tmp_path):
    script = tmp_path / "on-alert"
    script.write_text(f'#!/bin/sh\ncat > {tmp_path}/got\necho "told $1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    done = whirr("--config", config(f'[notify.run]\ntype = "command"\ncommand = ["{script}", "me"]\n'), "notify", "test", "run")
    assert done.code == 0 and "told me" in done.out and json.loads((tmp_path / "got").read_text())["status"] == "firing"
    script.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tmp_path}/child\nwait\n")
    done = whirr("--config", config(f'[notify.run]\ntype = "command"\ntimeout = "300ms"\ncommand = ["{script}"]\n'), "notify", "test", "run")
    assert done.code == 1 and "killed" in done.err
    child = int((tmp_path / "child").read_text())
    state = f"/proc/{child}/stat"
    assert not os.path.exists(state) or open(state).read().split()[2] == "Z"
    script.write_text("#!/bin/sh\necho no luck >&2\nexit 3\n")
    done = whirr("--config", config(f'[notify.run]\ntype = "command"\ncommand = ["{script}"]\n'), "notify", "test", "run")
    assert done.code == 1 and "ended with 3: no luck" in done.err
    done = whirr("--config", config('[notify.run]\ntype = "command"\ncommand = ["/no/such"]\n'), "notify", "test", "run")
    assert done.code == 1 and "/no/such" in done.err


@pytest.mark.parametrize("text, word", [
    (table("ntfy", "https://ntfy.sh"), "topic"),
    (table("webhook", "http://h/", template="'{{sumary}}'"), "{{summary}}"),
    (table("webhook", "http://h/", template="""'{"a": {{alert}}}'"""), "JSON"),
    (table("webhook", "http://h/", headers='{ "a b" = "c" }'), "header"),
])
def test_mistakes_are_found_before_an_alert_has_to_be_told(whirr, config, text, word):
    path = config(text)
    checked = whirr("--config", path, "config", "check")
    assert checked.code == 1 and word in checked.out and "whirr.toml:1" in checked.out
    assert whirr("--config", path, "notify", "test", "ops").code == 2


def test_list_and_wrong_usage(whirr, config):
    path = config(table("slack", "https://user:pass@hooks.slack.com/services/T0/B0/XXXXXXXX"))
    done = whirr("--config", path, "notify", "list")
    assert done.code == 0 and "https://hooks.slack.com/..." in done.out and "XXXX" not in done.out and "pass" not in done.out
    assert whirr("--config", path, "notify", "--json").json()["notifiers"][0]["target"] == "https://hooks.slack.com/..."
    unknown = whirr("--config", path, "notify", "test", "opps")
    assert unknown.code == 1 and "did you mean 'ops'" in unknown.err
    assert whirr("--config", path, "notify", "test").code == 2
    assert whirr("--config", path, "notify", "tset", "ops").code == 2
    assert "No notifiers" in whirr("--config", config(""), "notify").out
