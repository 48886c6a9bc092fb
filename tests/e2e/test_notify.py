# SPDX-License-Identifier: Apache-2.0
"""whirr notify: one message to each kind of target, and what is said of it."""
import json
import stat

import pytest
import targets
from waiting import eventually


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
    assert set(body) == {"status", "alert", "severity", "gpu_index", "gpu_name", "gpu_uuid", "simulated", "host", "value", "summary", "why", "link", "started_at", "ended_at",
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


def test_a_target_that_is_away_or_does_not_answer(whirr, target, config):
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
    slow = config(f'[notify.run]\ntype = "command"\ntimeout = "300ms"\ncommand = ["{script}"]\n')

    def hangs():
        """The number of the child; on a busy machine the script may be killed before it has one."""
        done = whirr("--config", slow, "notify", "test", "run")
        assert done.code == 1 and "killed" in done.err
        return (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip()

    child = int(eventually(hangs))

    def ended():  # it dies when it is scheduled, and its parent has to reap it
        try:
            return open(f"/proc/{child}/stat").read().split()[2] == "Z"
        except OSError:
            return True

    eventually(ended)
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


ACCOUNTS = {"telegram": {"token": targets.TELEGRAM_TOKEN, "to": "-1001234567890"}, "gotify": {"token": targets.GOTIFY_TOKEN},
            "pushover": {"token": targets.PUSHOVER_TOKEN, "to": targets.PUSHOVER_USER}, "matrix": {"token": targets.MATRIX_TOKEN, "to": "!ops:example.org"}}
SECRETS = [targets.TELEGRAM_TOKEN, targets.GOTIFY_TOKEN, targets.PUSHOVER_TOKEN, targets.PUSHOVER_USER, targets.MATRIX_TOKEN]
DASHBOARD = '[server]\ndashboard_url = "https://gpu.example.org/"\n'


def account(kind, url, **changes):
    return table(kind, url, **{key: json.dumps(value) for key, value in {**ACCOUNTS[kind], **changes}.items()})


@pytest.mark.parametrize("kind", ACCOUNTS)
@pytest.mark.parametrize("options", [(), ("--resolved",), ("--severity", "critical"), ("--severity", "info")])
def test_push_services_take_what_they_are_sent_with_why_and_a_link(whirr, target, config, kind, options):
    stand_in = target(getattr(targets, kind))
    path = config(DASHBOARD + account(kind, stand_in.url("/")))
    done = whirr("--config", path, "notify", "test", "ops", *options)
    assert done.code == 0, done.err
    request, = stand_in.requests
    text = request.body.decode()
    assert "`whirr notify test` was run." in text and "https://gpu.example.org/?at=" in text and "This is a test" in text
    shown = done.out + whirr("--config", path, "notify", "list").out + whirr("--config", path, "config", "show").out + whirr("--config", path, "notify", "list", "--json").out
    assert not any(secret in shown for secret in SECRETS)


@pytest.mark.parametrize("kind", ACCOUNTS)
def test_a_wrong_token_is_named_and_not_repeated(whirr, target, config, kind):
    stand_in = target(getattr(targets, kind))
    done = whirr("--config", config(account(kind, stand_in.url(), token="wr0ngwr0ngwr0ng")), "notify", "test", "ops")
    assert done.code == 1 and "token" in done.err and "wr0ng" not in done.out + done.err


def test_telegram_is_cut_between_characters_and_matrix_names_its_transaction(whirr, target, config):
    telegram, matrix = target(targets.telegram), target(targets.matrix)
    long = account("telegram", telegram.url(), template="äö" * 3000 + " {{why}}")
    assert whirr("--config", config(long), "notify", "test", "ops").code == 0
    assert telegram.requests[0].json()["text"].endswith("...") and telegram.requests[0].json()["chat_id"] == "-1001234567890"
    assert whirr("--config", config(table("telegram", telegram.url(), token=json.dumps(targets.TELEGRAM_TOKEN), to="-1001234567890")), "notify", "test", "ops").code == 0
    path = config(account("matrix", matrix.url()))
    assert whirr("--config", path, "notify", "test", "ops").code == 0
    assert "<b>FIRING: whirr_test" in matrix.requests[0].json()["formatted_body"] and "`whirr notify test`" in matrix.requests[0].json()["body"]


@pytest.mark.parametrize("text, words", [
    (table("telegram", "http://h", to='["1"]'), ["token is missing", "@BotFather"]),
    (table("telegram", "http://h", token='"a"'), ["to is missing", "chat"]),
    (table("telegram", "http://h", token='"a"', to='["1", "2"]'), ["2 recipients", "takes 1"]),
    (table("pushover", "http://h", token='"a"'), ["to is missing", "Pushover user"]),
    (table("matrix", "http://h", token='"a"', to='"#room:example.org"'), ["not the ID of a Matrix room", "begins with !"]),
    (table("gotify", "http://h"), ["token is missing"]),
    (table("email", "smtp://h", to='["a@example.org", "hunter2"]'), ["recipient 2 in `to` is not an email address"]),
    (table("email", "https://h", to='"a@b"'), ["smtp:// or smtps://"]),
    (table("gotify", "smtp://h", token='"a"'), ["http:// or https://"]),
    (table("webhook", "http://h", quiet='"22-7"'), ["'22-7' is not a time for quiet hours", "22:00-07:00"]),
    (table("webhook", "http://h", digest='"often"'), ["'often' is not a time for digests", "08:00"]),
    (table("gotify", "ftp://h", token='"a"'), ["begins with http://, https://, smtp://"]),
])
def test_what_an_account_lacks_is_said(whirr, config, text, words):
    checked = whirr("--config", config(text), "config", "check")
    assert checked.code == 1 and all(word in checked.out for word in words), checked.out


@pytest.fixture
def mail(tmp_path):
    pytest.importorskip("aiosmtpd")
    made = []

    def make(how="starttls"):
        made.append(targets.Mail(tmp_path, how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def letter(server, **changes):
    settings = {"to": ["me@example.org", "you@example.org"], "user": "whirr", "password": "p4ssw0rd", "tls_ca": str(server.ca), **changes}
    return table("email", server.url, **{key: json.dumps(value) for key, value in settings.items()})


@pytest.mark.parametrize("how", ["starttls", "tls"])
def test_mail_goes_over_tls_with_why_and_a_link(whirr, mail, config, how):
    server = mail(how)
    text = DASHBOARD + letter(server, **{"from": "GPU host <gpu@example.org>"})
    done = whirr("--config", config(text), "notify", "test", "ops", "--severity", "critical")
    assert done.code == 0 and "SMTP 250" in done.out and "example.org" not in done.out, done.err
    (sender, to, message, tls), = server.letters
    assert sender == "gpu@example.org" and to == ["me@example.org", "you@example.org"] and tls
    assert message["from"] == "GPU host <gpu@example.org>" and message["subject"].startswith("FIRING: whirr_test") and message["importance"] == "high"
    assert message["date"] and message["message-id"] and message["auto-submitted"] == "auto-generated"
    assert "This is a test" in message.get_content() and "Why: `whirr notify test` was run." in message.get_content()
    assert "https://gpu.example.org/?at=" in message.get_content()


def test_mail_needs_tls_a_login_and_a_certificate_that_holds(whirr, mail, config):
    server, clear = mail(), mail("clear")
    wrong = whirr("--config", config(letter(server, password="wr0ngwr0ng")), "notify", "test", "ops")
    assert wrong.code == 1 and "check user and password" in wrong.err and "wr0ng" not in wrong.err
    unknown = whirr("--config", config(letter(server, tls_ca="")), "notify", "test", "ops")
    assert unknown.code == 1 and "certificate" in unknown.err
    bare = whirr("--config", config(letter(clear, user="", password="")), "notify", "test", "ops")
    assert bare.code == 1 and 'tls = "none"' in bare.err and not clear.letters
    assert whirr("--config", config(letter(clear, user="", password="", tls="none")), "notify", "test", "ops").code == 0
    server.refuse = ["550 mailbox unavailable"]
    refused = whirr("--config", config(letter(server)), "notify", "test", "ops")
    assert refused.code == 1 and "550" in refused.err
    server.close()
    gone = whirr("--config", config(letter(server)), "notify", "test", "ops")
    assert gone.code == 1 and "connect" in gone.err.lower()
