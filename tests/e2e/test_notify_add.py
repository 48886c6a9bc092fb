# SPDX-License-Identifier: Apache-2.0
"""whirr notify add and remove: a table of the configuration from answers, with a test message; secrets stay secret."""
import json
import os
import stat
import tomllib

import targets
from isolation import WHIRR, environment
from terminal import Terminal


def add(whirr, path, *args, **more):
    return whirr("--config", str(path), "notify", "add", *args, **more)


def read(path):
    return tomllib.loads(path.read_text())


def test_a_notifier_is_tested_written_and_removed(whirr, target, tmp_path):
    path = tmp_path / "new" / "whirr.toml"
    ntfy = target(targets.ntfy)
    done = add(whirr, path, "phone", "ntfy", "--url", ntfy.url("/s3cret-topic"), "--quiet", "22:00-07:00", "--quiet", "sat,sun 00:00-24:00 info", "--digest", "08:00")
    assert done.code == 0 and "delivered" in done.out and "s3cret" not in done.out + done.err and str(path) in done.err, done.err
    assert len(ntfy.requests) == 1 and "GPU" not in json.dumps(ntfy.requests[0].json()), "a test is about no GPU"
    assert "No daemon is running; one that starts uses it: whirr serve" in done.err, done.err
    assert read(path) == {"notify": {"phone": {"type": "ntfy", "url": ntfy.url("/s3cret-topic"), "quiet": ["22:00-07:00", "sat,sun 00:00-24:00 info"], "digest": ["08:00"]}},
                          "alerts": {"notify": ["phone"]}}
    assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o640) and not path.stat().st_mode & 0o007
    assert whirr("--config", str(path), "config", "check").code == 0
    assert "phone" in whirr("--config", str(path), "notify", "list").out
    again = add(whirr, path, "phone", "ntfy", "--url", ntfy.url("/other"))
    assert again.code == 1 and "already" in again.err and "notify remove phone" in again.err
    gone = whirr("--config", str(path), "notify", "remove", "phone")
    assert gone.code == 0 and path.read_text() == "", "nothing stays behind"
    assert whirr("--config", str(path), "notify", "remove", "phone").code == 1
    assert sorted(os.listdir(path.parent)) == ["whirr.toml"]


def test_what_a_person_wrote_stays_as_it_was(whirr, target, tmp_path):
    path = tmp_path / "whirr.toml"
    before = '''# my GPUs
[server]
listen = "127.0.0.1:9447" # only here

[alerts] # all of them
high_usage_percent = 80
notify = [
  "ops", # [not a table]
]

[notify.ops]
type = "webhook"
url = "http://127.0.0.1:9/x"
template = """
[notify.phone]
{{title}}"""

[notify.ops.headers]
A = "b"

# the end
[[alert]]
name = "hot"
when = "temperature_celsius > 75"
notify = ["ops"]
'''
    path.write_text(before)
    hook = target()
    done = add(whirr, path, "phone", "webhook", "--url", hook.url("/x"))
    assert done.code == 0, done.err
    after = path.read_text()
    assert after.startswith("# my GPUs\n[server]\nlisten = \"127.0.0.1:9447\" # only here\n\n[alerts] # all of them\nhigh_usage_percent = 80\nnotify = [\"ops\", \"phone\"]\n")
    assert "# the end" in after and read(path)["notify"]["ops"] == tomllib.loads(before)["notify"]["ops"] and read(path)["alert"] == tomllib.loads(before)["alert"]
    assert whirr("--config", str(path), "notify", "remove", "phone").code == 0
    assert read(path) == tomllib.loads(before)
    used = whirr("--config", str(path), "notify", "remove", "ops")
    assert used.code == 1 and "the alert 'hot' notifies it" in used.err and read(path) == tomllib.loads(before)


def test_a_message_that_does_not_arrive_adds_nothing(whirr, target, tmp_path):
    path = tmp_path / "new" / "folder" / "whirr.toml"
    gotify = target(targets.gotify)
    (tmp_path / "token").write_text("wr0ngwr0ng\n")
    done = add(whirr, path, "g", "gotify", "--url", gotify.url(), "--secret-file", str(tmp_path / "token"))
    assert done.code == 1 and "401" in done.err and "Nothing was added" in done.err and "wr0ng" not in done.out + done.err and not (tmp_path / "new").exists()
    path.parent.mkdir(parents=True)
    assert add(whirr, path, "g", "gotify", "--url", gotify.url(), "--secret-file", str(tmp_path / "token")).code == 1 and path.parent.exists(), "what was there stays"
    assert add(whirr, path, "g", "gotify", "--url", gotify.url(), "--secret-file", str(tmp_path / "token"), "--no-test").code == 0
    assert read(path)["notify"]["g"]["token"] == "wr0ngwr0ng"
    assert "wr0ng" not in whirr("--config", str(path), "config", "show").out


def test_wrong_usage_and_missing_values_are_named(whirr, tmp_path):
    path = tmp_path / "whirr.toml"
    for args, word in [(["x"], "TYPE (desktop, ntfy, "), ([], "or alertmanager), like: whirr notify add phone ntfy"), (["x", "nfty"], "did you mean 'ntfy'"), (["a b", "desktop"], "invalid name"), (["x", "telegram"], "--to, --secret-file"),
                       (["x", "gotify", "--url", "http://h"], "--secret-file")]:
        done = add(whirr, path, *args)
        assert done.code == 2 and word in done.err, done.err
    wrong = add(whirr, path, "x", "ntfy", "--url", "https://ntfy.sh", "--no-test")
    assert wrong.code == 2 and "topic" in wrong.err and not path.exists()
    hours = add(whirr, path, "x", "ntfy", "--url", "https://ntfy.sh/t", "--no-test", "--quiet", "late")
    assert hours.code == 2 and "quiet hours" in hours.err and not path.exists()


def test_on_a_terminal_it_asks_and_does_not_show_secrets(target, tmp_path):
    path, telegram = tmp_path / "whirr.toml", target(targets.telegram)
    t = Terminal([WHIRR, "--config", path, "notify", "add", "me", "telegram", "--url", telegram.url()], environment(tmp_path))
    t.answer("ID of the chat: ", "-1001234567890")
    t.answer("(not shown): ", targets.TELEGRAM_TOKEN)
    assert t.end() == 0, t.text
    assert "delivered" in t.text and targets.TELEGRAM_TOKEN not in t.text
    assert read(path)["notify"]["me"] == {"type": "telegram", "url": telegram.url(), "token": targets.TELEGRAM_TOKEN, "to": ["-1001234567890"]}
    assert len(telegram.requests) == 1


def test_a_person_may_add_what_cannot_be_reached_now(target, tmp_path):
    path, dead = tmp_path / "whirr.toml", target()
    dead.close()
    dead.close = lambda: None
    t = Terminal([WHIRR, "--config", path, "notify", "add", "ops", "webhook", "--url", dead.url("/x")], environment(tmp_path))
    t.answer("Add it anyway? [y/N]: ", "y")
    assert t.end() == 0 and read(path)["notify"]["ops"]["type"] == "webhook", t.text


def test_without_config_it_goes_to_the_file_of_this_user(whirr, target, tmp_path):
    hook = target()
    done = whirr("notify", "add", "ops", "webhook", "--url", hook.url("/x"), folder=tmp_path)
    system, own = tmp_path / "system/etc/whirr/whirr.toml", tmp_path / "config/whirr/whirr.toml"
    assert done.code == 0, done.err
    assert read(system if os.geteuid() == 0 else own)["alerts"]["notify"] == ["ops"]
    assert "ops" in whirr("notify", folder=tmp_path).out
