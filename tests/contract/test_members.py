# SPDX-License-Identifier: Apache-2.0
"""Clients without a token: known by a TLS certificate, or as users whom a proxy has signed in."""
import http.client
import json
import ssl
import subprocess

import pytest
from isolation import WHIRR, environment
from waiting import PATIENCE, eventually

SILENCE = json.dumps({"matchers": {"alert": "heat_limit"}, "for_seconds": 60})


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    """A certificate authority with what it has signed."""

    def __init__(self, folder, name):
        self.folder, self.key, self.certificate = folder, folder / f"{name}.key", folder / f"{name}.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate)

    def sign(self, name):
        key, asked, certificate = (self.folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/O=ours/CN={name}", "-keyout", key, "-out", asked)
        openssl("x509", "-req", "-in", asked, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", "2", "-out", certificate)
        return certificate, key


def ask(d, authority, shown=None, method="GET", path="/api/session", body=None, **headers):
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if shown:
        context.load_cert_chain(*map(str, shown))
    connection = http.client.HTTPSConnection("localhost", d.port, context=context, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def test_a_certificate_is_an_identity(start, tmp_path):
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    known = {name: ours.sign(name) for name in ("prometheus", "oncall", "somebody")}
    config = tmp_path / "whirr.toml"
    config.write_text(f'[server]\nrequire_token = true\ntls_certificate = "{ours.certificate}"\ntls_key = "{ours.key}"\ntls_client_ca = "{ours.certificate}"\n'
                      '[access.scrapers]\ncertificates = ["prometheus"]\n[access.people]\nrole = "silence"\ncertificates = ["oncall"]\n')
    d = start("--config", str(config), "--interval", "0.5")
    given = {name: json.loads(ask(d, ours, shown)[1]).get("roles") for name, shown in known.items()}
    assert given == {"prometheus": "read", "oncall": "silence", "somebody": None}
    assert ask(d, ours, path="/metrics")[0] == 401 and ask(d, ours, known["somebody"], path="/metrics")[0] == 401
    assert ask(d, ours, known["prometheus"], path="/metrics")[0] == 200
    # It reads, and changes nothing; both are in the log with the name.
    assert ask(d, ours, known["prometheus"], "POST", "/api/alerts/silence", SILENCE)[0] == 403
    status, made = ask(d, ours, known["oncall"], "POST", "/api/alerts/silence", SILENCE)
    assert status == 201 and json.loads(made)["silence"]["created_by"] == "certificate oncall", made
    eventually(lambda: "certificate prometheus" in d.log() and "certificate oncall" in d.log(), explain=d.log)
    # Of another authority: not even a connection.
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        ask(d, ours, theirs.sign("oncall"))


def test_a_reload_takes_the_rule_of_a_certificate_away(start, tmp_path):
    ours, config = Authority(tmp_path, "ours"), tmp_path / "whirr.toml"
    shown = ours.sign("prometheus")
    config.write_text(f'[server]\nrequire_token = true\ntls_certificate = "{ours.certificate}"\ntls_key = "{ours.key}"\ntls_client_ca = "{ours.certificate}"\n'
                      '[access.scrapers]\ncertificates = ["prometheus"]\n')
    d = start("--config", str(config), "--interval", "0.5")
    assert ask(d, ours, shown, path="/metrics")[0] == 200
    config.write_text(config.read_text().replace('["prometheus"]', '["another"]'))
    d.process.send_signal(1)
    eventually(lambda: ask(d, ours, shown, path="/metrics")[0] == 401, explain=d.log)


def roles(d, **headers):
    """What the client may do; None: it is told to show a token."""
    return d.ask("GET", "/api/session", **headers).json().get("roles")


SECRET = "4d61c0ffee4d61c0ffee"
PROXY = (f'[server]\nrequire_token = true\nproxy_secret = "{SECRET}"\nproxy_groups = "X-Forwarded-Groups"\n'
         '[access.readers]\nusers = ["*"]\n[access.operators]\nrole = "silence"\ngroups = ["gpu operators"]\n')
PROOF = {"X-Whirr-Proxy-Secret": SECRET}


def test_a_proxy_names_users_only_with_its_proof(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text(PROXY)
    d = start("--config", str(config), "--interval", "0.5")
    alice, operator = {"X-Forwarded-User": "alice@example.org"}, {"X-Forwarded-User": "bob", "X-Forwarded-Groups": "staff, gpu operators"}
    assert roles(d) is None and roles(d, **PROOF) is None
    assert roles(d, **alice, **PROOF) == "read"
    assert roles(d, **operator, **PROOF) == "silence"
    assert d.ask("POST", "/api/alerts/silence", SILENCE, **alice, **PROOF).status == 403
    assert d.ask("POST", "/api/alerts/silence", SILENCE, **operator, **PROOF).status == 201
    eventually(lambda: "user bob" in d.log(), explain=d.log)
    # A user of this host who knows no secret has no rights, over loopback and as the daemon's own user over its socket.
    for unix in (False, True):
        assert d.ask("GET", "/api/session", unix=unix, **operator).json().get("roles") is None
        wrong = d.ask("GET", "/api/session", unix=unix, **operator, **{"X-Whirr-Proxy-Secret": "4d61c0ffee4d61c0ffed"})
        assert wrong.status == 401 and wrong.json()["error"]["code"] == "invalid_proxy_secret", wrong.body
    # Of all that names a user, one that comes twice may be the client's own: then nothing of it counts.
    for field in (b"X-Forwarded-User: root", b"X-Forwarded-Groups: staff", b"X-Whirr-Proxy-Secret: x"):
        fields = b"".join(f"{k}: {v}\r\n".encode() for k, v in (operator | PROOF).items())
        twice = d.raw(b"GET /api/session HTTP/1.1\r\nHost: localhost\r\n" + fields + field + b"\r\nConnection: close\r\n\r\n")
        assert twice.startswith(b"HTTP/1.1 401 "), twice
    # Another secret takes the proxy's word away.
    config.write_text(PROXY.replace(SECRET, SECRET[::-1]))
    d.process.send_signal(1)
    eventually(lambda: roles(d, **operator, **PROOF) is None, explain=d.log)


def test_wrong_secrets_are_limited_like_wrong_tokens(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text(PROXY)
    d = start("--config", str(config), "--interval", "0.5")
    for i in range(10):
        assert d.get("/api/session", **{"X-Whirr-Proxy-Secret": f"guess number {i}"}).status == 401
    assert d.get("/api/session", **{"X-Whirr-Proxy-Secret": "another"}).status == 429
    assert roles(d, **{"X-Forwarded-User": "alice"}, **PROOF) == "read"


def test_groups_are_taken_only_from_a_field_that_the_proxy_is_said_to_set(start, tmp_path):
    """A proxy that sets the user alone passes the client's own groups on."""
    config = tmp_path / "whirr.toml"
    config.write_text(f'[server]\nrequire_token = true\nproxy_secret = "{SECRET}"\n[access.readers]\nusers = ["*"]\n')
    d = start("--config", str(config), "--interval", "0.5")
    assert roles(d, **{"X-Forwarded-User": "bob", "X-Forwarded-Groups": "gpu operators"}, **PROOF) == "read"
    config.write_text(config.read_text() + '[access.operators]\nrole = "admin"\ngroups = ["gpu operators"]\n')
    checked = d.whirr("--config", str(config), "config", "check")
    assert checked.returncode == 1 and "needs server.proxy_groups" in checked.stdout + checked.stderr


def test_a_proxys_certificate_gives_its_user_rights_and_not_its_own(start, tmp_path):
    ours, config = Authority(tmp_path, "ours"), tmp_path / "whirr.toml"
    proxy, other = ours.sign("gateway"), ours.sign("prometheus")
    config.write_text(f'[server]\nrequire_token = true\ntls_certificate = "{ours.certificate}"\ntls_key = "{ours.key}"\ntls_client_ca = "{ours.certificate}"\n'
                      'proxies = ["certificate:gateway"]\n[access.any]\nrole = "guard"\ncertificates = ["*"]\n[access.alice]\nrole = "silence"\nusers = ["alice"]\n')
    d = start("--config", str(config), "--interval", "0.5")
    alice = {"X-Forwarded-User": "alice"}
    assert json.loads(ask(d, ours, proxy, **alice)[1])["roles"] == "silence"
    assert ask(d, ours, proxy)[0] == 401
    assert json.loads(ask(d, ours, other, **alice)[1])["roles"] == "guard"


def test_without_require_token_a_named_user_is_no_local_one(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[server]\nproxy_user = "Remote-User"\n')
    d = start("--config", str(config), "--interval", "0.5")
    assert roles(d) == "read"
    assert roles(d, **{"Remote-User": "mallory"}) is None


@pytest.mark.parametrize("text, words", [
    ('[access.x]\n', "access.x names no client: set certificates, users or groups"),
    ('[access.x]\ncertificates = ["a"]\n', "access.x.certificates needs server.tls_client_ca"),
    ('[server]\nproxies = ["127.0.0.1"]\n', "'127.0.0.1' proves nothing: every program at an address can claim to be anyone there. Let the proxy use the Unix socket"),
    ('[server]\nproxies = ["::1"]\n', "'::1' proves nothing"),
    ('[server]\nproxies = ["proxy.example"]\n', "'proxy.example' proves nothing"),
    ('[server]\nproxies = ["unix:root"]\n', "root's own commands would be taken for a proxy's"),
    ('[server]\nproxies = ["unix:no-such-user"]\n', "there is no user 'no-such-user' on this host"),
    ('[server]\nproxies = ["certificate:gateway"]\n', "needs server.tls_client_ca"),
    ('[server]\nproxy_secret = "short"\n', "openssl rand -hex 32"),
    ('[server]\ntls_client_ca = "ca.pem"\n', "needs server.tls_certificate and server.tls_key"),
    ('[access.x]\nrole = "root"\nusers = ["a"]\n', "bad value of access.x.role"),
])
def test_what_would_only_look_like_a_permission_is_refused(tmp_path, text, words):
    config = tmp_path / "whirr.toml"
    config.write_text(text)
    for command, status in (["config", "check"], 1), (["serve", "--store", "none", "--source", "sim"], 2):
        done = subprocess.run([WHIRR, "--config", str(config), *command], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == status and words in done.stdout + done.stderr and "short" not in done.stderr, done.stdout + done.stderr


def test_a_reload_that_believes_an_address_keeps_the_old_settings(start, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text(PROXY)
    d = start("--config", str(config), "--interval", "0.5")
    config.write_text(PROXY.replace("[access.readers]", 'proxies = ["127.0.0.1"]\n[access.readers]'))
    d.process.send_signal(1)
    d.wait_log("'127.0.0.1' proves nothing")
    d.wait_log("keeping the old settings")
    assert roles(d, **{"X-Forwarded-User": "alice"}) is None and roles(d, **{"X-Forwarded-User": "alice"}, **PROOF) == "read"


@pytest.mark.parametrize("key", ["users", "groups"])
def test_users_without_a_proxy_are_a_warning(start, tmp_path, key):
    """No error: the example of the default file has them, and proxies elsewhere."""
    config = tmp_path / "whirr.toml"
    config.write_text(f'[access.x]\n{key} = ["a"]\n')
    words = f"warning: access.x.{key} needs server.proxies or server.proxy_secret, which say whose word is believed"
    done = subprocess.run([WHIRR, "--config", str(config), "config", "check"], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and words in done.stdout + done.stderr, done
    d = start("--config", str(config), "--interval", "0.5")
    eventually(lambda: f"access.x.{key} needs server.proxies" in d.log(), explain=d.log)
