# SPDX-License-Identifier: Apache-2.0
"""No surface repeats a secret of the settings: every text of config.def carries one, in each place where people put them."""
import json
import re
import stat

import pytest
from isolation import ROOT, run_whirr
from waiting import eventually

SECRET = "hunter2horse"
DEF = (ROOT / "src/config/config.def").read_text()
ROWS = re.findall(r'^SETTING\((\w+),\s*\w+,\s*"(\w+)",\s*(\w+),\s*"((?:[^"\\]|\\.)*)",\s*([A-Z_]+)', DEF, re.MULTILINE)
PATHS = dict(re.findall(r'^(?:SECTION|GROUP)\((\w+), "([\w.]+)"', DEF, re.MULTILINE))
REPEATED = set(re.findall(r'^GROUP\((\w+), "[\w.]+", REPEATED', DEF, re.MULTILINE))
NAMED = set(re.findall(r'^GROUP\((\w+), "[\w.]+", NAMED', DEF, re.MULTILINE))
CARRIERS = [
    f"ftp://bob:{SECRET}@h/", f"http://bob:{SECRET}@127.0.0.1:1/", f"http://127.0.0.1:1/?token={SECRET}", f"--password={SECRET}",
    f'{{"password": "{SECRET}"}}', f"Authorization: Bearer {SECRET}", f"bob:{SECRET}@127.0.0.1:70000",
]


def toml(kind, carrier):
    quoted = "'" + carrier + "'"
    return {"TEXT": quoted, "LIST": f"[{quoted}]", "IDS": f"[{quoted}]", "MAP": f"{{ password = {quoted} }}", "CHOICE": quoted, "DURATION": quoted}.get(kind)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_mistakes_are_named_without_the_secrets_in_them(tmp_path, carrier):
    lines = []
    for section in dict.fromkeys(row[0] for row in ROWS):
        header = f"[[{PATHS[section]}]]" if section in REPEATED else f"[{PATHS[section]}{'.x' if section in NAMED else ''}]"
        lines.append(header)
        lines += [f"{key} = {toml(kind, carrier)}" for own, key, kind, _, _ in ROWS if own == section and toml(kind, carrier)]
        lines.append(f"tokn = '{carrier}'")
    path = tmp_path / "whirr.toml"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    for words in (("config", "check"), ("config", "show"), ("status", "--source", "sim"), ("notify", "list"), ("guard", "status")):
        done = run_whirr("--config", path, *words)
        assert SECRET not in done.stdout + done.stderr, words
    assert "tokn" in run_whirr("--config", path, "config", "check").stdout
    path.write_text(f"[hosts.a]\ntoken = '{carrier}\n")  # a text without its end
    assert SECRET not in (done := run_whirr("--config", path, "config", "check")).stdout + done.stderr and done.returncode
    variable = run_whirr("config", "check", WHIRR_SERVER_LISTEN=carrier, WHIRR_LOG_LEVEL=carrier, WHIRR_ALERTS_QUIET=carrier)
    assert SECRET not in variable.stdout + variable.stderr and variable.returncode


CONFIG = f"""
[server]
dashboard_url = "http://bob:{SECRET}@example.org/"
cors_origins = ["https://bob:{SECRET}@example.org"]
[fleet]
url = "http://bob:{SECRET}@127.0.0.1:1"
token = "{SECRET}"
headers = {{ "X-Other" = "{SECRET}" }}
[guard.worker.http]
methods = ["mine"]
url = "http://bob:{SECRET}@127.0.0.1:1/?token={SECRET}"
token = "{SECRET}"
match = {{ name = "no-such-program" }}
[guard.worker.program]
methods = ["command"]
match = {{ name = "no-such-program" }}
evict_command = ["curl", "-u", "bob:{SECRET}", "-H", "Authorization: Bearer {SECRET}", "http://127.0.0.1:1/"]
resume_command = ["sh", "-c", "curl --user bob:{SECRET} http://127.0.0.1:1/"]
status_command = ["env", "API_TOKEN={SECRET}", "true"]
[guard.method.mine]
unload = "POST /unload?token={SECRET}"
unload_body = '{{"password":"{SECRET}"}}'
[notify.hook]
type = "webhook"
url = "http://bob:{SECRET}@127.0.0.1:1/{SECRET}?a={SECRET}"
headers = {{ Authorization = "Bearer {SECRET}" }}
template = '{{"routing_key":"{SECRET}"}}'
[notify.mail]
type = "email"
url = "smtp://127.0.0.1:1"
to = ["{SECRET}@example.org", "{SECRET}2@example.org"]
user = "bob"
password = "{SECRET}"
tls = "none"
[notify.odd]
type = "webhook"
url = "http://bob:{SECRET}/@{SECRET}@127.0.0.1:1/"
[notify.program]
type = "command"
command = ["sh", "-c", "echo sent to http://bob:{SECRET}@h/ >&2; exit 3"]
[push.db]
url = "http://bob:{SECRET}@127.0.0.1:1/api/v1/write?key={SECRET}"
headers = {{ "X-Scope" = "{SECRET}" }}
token = "{SECRET}"
interval = "100ms"
[serving.chat]
url = "http://127.0.0.1:1"
kind = "vllm"
key = "{SECRET}"
[[alert]]
name = "always"
when = "temperature_celsius > 0"
notify = ["hook", "mail", "odd", "program"]
[hosts.other]
address = "http://bob:{SECRET}@127.0.0.1:1"
token = "{SECRET}"
"""
PAGES = ["/", "/api/settings", "/api/notifiers", "/api/health", "/api/guard", "/api/alerts", "/api/alerts/rules", "/api/devices", "/metrics",
         "/api/processes", "/api/fleet", "/api/doctor", "/api/version"]


def test_a_daemon_full_of_secrets_shows_none(start, tmp_path):
    path = tmp_path / "whirr.toml"
    path.write_text(CONFIG)
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    daemon = start("--config", str(path), "--interval", "0.2", WHIRR_LOG_LEVEL="debug")
    tried = lambda: all(n["last_error"] for n in daemon.json("/api/notifiers")["notifiers"])  # noqa: E731
    eventually(tried, explain=lambda: daemon.get("/api/notifiers").body)
    shown = {page: daemon.get(page).body.decode(errors="replace") for page in PAGES}
    assert len(daemon.json("/api/settings")["settings"]) > 150 and "evict_command" in shown["/api/settings"]
    shown["log"] = daemon.log()
    for words in (("config", "show"), ("config", "show", "--json"), ("notify", "list"), ("notify", "list", "--json"), ("guard", "status"), ("guard", "status", "--json"),
                  ("guard", "evict", "program", "--yes"), ("notify", "test", "odd"), ("notify", "test", "mail"), ("notify", "test", "hook"), ("doctor",), ("doctor", "--json"),
                  ("--host", "other"), ("--host", f"http://bob:{SECRET}@127.0.0.1:1"), ("--fleet", "status")):
        done = daemon.whirr("--config", str(path), *words)
        shown[" ".join(words[:2]).replace(SECRET, "...")] = done.stdout + done.stderr
    bundle = tmp_path / "bundle.machine"
    assert daemon.whirr("--config", str(path), "doctor", "--bundle", str(bundle)).returncode == 0
    shown[str(bundle)] = bundle.read_text(errors="replace")
    daemon.stop()
    shown["log"] += daemon.log()
    assert {where: re.findall(r".{0,80}" + SECRET, text)[:2] for where, text in shown.items() if SECRET in text} == {}


@pytest.mark.parametrize("line", ["[fleet]\ntoken = {}", "[fleet]\ntoken = 12{}", "[fleet]\ntoken = 2026-{}", "[server]\nproxy_secret = {}", "[fleet]\ntoken = [{}]", "[fleet]\nheaders = {{ x = {} }}",
                                  "[fleet]\ntoken = [\"{}\"]", "[hosts.a]\ntoken = {}", "[store]\nurl = {}", "[store]\nurl = \"mysql://u:{}@h/\"", "[server]\nproxy_secret = \"{}\""], ids=range(11))
def test_a_mistake_in_a_secret_does_not_show_it(start, tmp_path, line):
    """Whatever is forgotten around it: in check, at the start, in the log and the health of a daemon that reloads."""
    config, secret = tmp_path / "whirr.toml", "hunter2"
    config.write_text("")
    d = start("--config", str(config), "--interval", "600")
    config.write_text(line.format(secret) + "\n")
    d.process.send_signal(1)
    d.wait_log("keeping the old settings")
    health = d.json("/api/health")
    assert health["status"] == "degraded" and health["settings"]["state"] == "old" and health["settings"]["message"], health
    shown = [d.log(), json.dumps(health)]
    for command in (["config", "check"], ["config", "check", "--json"], ["config", "show"], ["serve", "--store", "none", "--source", "sim"], ["status", "--source", "sim"]):
        done = run_whirr("--config", config, *command)
        assert done.returncode != 0
        shown.append(done.stdout + done.stderr)
    assert not [text for text in shown if secret in text]
    config.write_text("")
    d.process.send_signal(1)
    eventually(lambda: d.json("/api/health")["settings"] == {"state": "ok", "message": None})


def test_a_bare_word_of_a_command_is_not_shown(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[guard.worker.a]\nmatch = {name = "no-such-program"}\nmethods = ["command"]\nevict_command = ["/usr/bin/evict", "hunter2", "--now", "-n", "3", "/opt/model"]\n')
    d = start("--config", str(config), "--interval", "600")
    for text in (d.get("/api/settings").body.decode(), run_whirr("--config", config, "config", "show").stdout):
        assert "hunter2" not in text and "/usr/bin/evict" in text and "--now" in text and "/opt/model" in text, text


def check(config, **more):
    return run_whirr("--config", config, "config", "check", **more)


def test_every_secret_can_stand_in_a_file_of_its_own(tmp_path):
    secret, config = tmp_path / "secret", tmp_path / "whirr.toml"
    for section, key, kind in ((s, k, kind) for s, k, kind, _, _ in ROWS if re.search(rf'^SETTING\({s},\s*\w+,\s*"{k}".*SECRET', DEF, re.MULTILINE)):
        if kind == "MAP" or section == "serving":  # its key_file is older, and read for each request
            continue
        secret.write_text(f"http://127.0.0.1:1/{SECRET}\n" if "url" in key and section != "store" else f"postgresql://a:{SECRET}@127.0.0.1/b\n")
        secret.chmod(0o600)
        config.write_text(f"[{PATHS[section]}{'.x' if section in NAMED else ''}]\n{key}_file = '{secret}'\n")
        shown = run_whirr("--config", config, "config", "show")
        assert SECRET not in shown.stdout + shown.stderr
        assert not re.search(rf"{key}_file|bad value|cannot read", checked := check(config).stdout), checked
        secret.unlink()
        assert f"cannot read {PATHS[section]}.{key} from '{secret}': No such file" in check(config).stdout


def test_a_secret_comes_from_a_credential_of_systemd(start, tmp_path):
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    file = tmp_path / "h.db"
    for name, text in (("store.url", f"sqlite:{file}"), ("push.a.token", SECRET), ("mine", SECRET)):
        (credentials / name).write_text(text + "\n")
        (credentials / name).chmod(0o400)
    config = tmp_path / "whirr.toml"
    config.write_text("[push.a]\nurl = 'http://127.0.0.1:1/api/v1/write'\n[fleet]\ntoken_file = 'mine'\n")
    shown = run_whirr("--config", config, "config", "show", CREDENTIALS_DIRECTORY=str(credentials)).stdout
    assert re.search(rf'token = "\(hidden\)" +# {credentials}/push.a.token', shown) and re.search(rf'token = "\(hidden\)" +# {credentials}/mine', shown), shown
    assert "there are none here" in check(config).stdout
    (credentials / "push.a.token").chmod(0o644)
    told = check(config, CREDENTIALS_DIRECTORY=str(credentials)).stdout
    assert f"{credentials}/push.a.token: warning: every user of this host can read this file, which holds push.token; run: chmod 600" in told
    assert SECRET not in told
    env_file = run_whirr("config", "show", WHIRR_STORE_URL_FILE=str(credentials / "store.url")).stdout
    assert f"# {credentials}/store.url" in env_file


@pytest.mark.parametrize("text, said", [("", "alone, in one line"), ("a\nb\n", "alone, in one line")])
def test_a_file_without_one_secret_is_refused(tmp_path, text, said):
    (tmp_path / "secret").write_text(text)
    config = tmp_path / "whirr.toml"
    config.write_text(f"[fleet]\ntoken_file = '{tmp_path / 'secret'}'\n")
    done = check(config)
    assert done.returncode and said in done.stdout
    config.write_text(f"[fleet]\ntoken_file = '{tmp_path / 'secret'}'\ntoken = 'a'\n")
    assert "contradict each other" in check(config).stdout


def test_a_key_that_all_can_read_is_named(tmp_path):
    key, config = tmp_path / "key.pem", tmp_path / "whirr.toml"
    key.write_text("x")
    config.write_text(f"[server]\ntls_key = '{key}'\n")
    key.chmod(0o644)
    assert f"every user of this host can read the key {key}; run: chmod 600" in check(config).stdout
    key.chmod(0o600)
    assert "every user" not in check(config).stdout
