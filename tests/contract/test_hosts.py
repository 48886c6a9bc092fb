# SPDX-License-Identifier: Apache-2.0
"""whirr --host: other hosts over TLS with a token, through ssh, and several at once."""
import getpass
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from daemons import Daemon
from isolation import WHIRR, environment
from ports import free_port
from waiting import PATIENCE, eventually

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin") or ""


# ---- hosts ----

def certificate_of(folder, name):
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
                   check=True, capture_output=True)
    return certificate, key


class Host:
    """A daemon that must be asked with a token, over TLS: it listens on all addresses."""

    def __init__(self, start, folder, name, source, *args):
        folder.mkdir()
        self.certificate, key = certificate_of(folder, name)
        made = subprocess.run([WHIRR, "token", "new", "tests", "--role", "admin"], env=environment(folder), capture_output=True, text=True, timeout=PATIENCE)
        self.token = made.stdout.strip()
        self.daemon = start(*args, source=source, listen="0.0.0.0:0", XDG_STATE_HOME=str(folder), WHIRR_STORE_HOST=name,
                            WHIRR_SERVER_TLS_CERTIFICATE=str(self.certificate), WHIRR_SERVER_TLS_KEY=str(key))

    @property
    def port(self):
        return self.daemon.port

    def table(self, name, token=None, ca=None):
        token, ca = self.token if token is None else token, self.certificate if ca is None else ca
        return f'[hosts.{name}]\naddress = "https://localhost:{self.port}"\ntoken = "{token}"\nca = "{ca}"\ntimeout = "{PATIENCE}s"\n'


@pytest.fixture
def here(tmp_path):
    """Runs whirr on a host of its own, with this configuration and no daemon."""
    folder = tmp_path / "here"
    (folder / "config/whirr").mkdir(parents=True)
    file = folder / "config/whirr/whirr.toml"

    def run(*args, config=None, mode=0o600, **env):
        if config is not None:
            file.write_text(config)
            file.chmod(mode)
        return subprocess.run([WHIRR, *args], env=environment(folder, **env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)

    run.file, run.folder = file, folder
    return run


@pytest.fixture
def two(start, tmp_path, here):
    """Two hosts with tables of their own in the configuration."""
    first = Host(start, tmp_path / "a", "alpha", "sim:gpus=2,scenario=training")
    second = Host(start, tmp_path / "b", "beta", "sim:gpus=3,scenario=idle")
    here.file.write_text(first.table("alpha") + second.table("beta"))
    here.file.chmod(0o600)
    return first, second


# ---- over TLS ----

def test_every_reading_command_asks_another_host(two, here):
    def ask(*args, code=(0,)):
        done = here("--host", "alpha", *args)
        assert done.returncode in code, (args, done)
        return done.stdout

    assert len(json.loads(ask("status", "--json"))["gpus"]) == 2
    assert "GPU" in ask("status")
    assert json.loads(ask("ps", "--json"))["processes"]
    assert len(json.loads(ask("why", "--json"))["gpus"]) == 2
    assert len(json.loads(ask("health", "--json", code=(0, 1, 2)))["gpus"]) == 2
    assert len(json.loads(ask("devices", "--json"))["devices"]) == 2
    assert "alerts" in json.loads(ask("alert", "--json"))
    assert "workers" in json.loads(ask("guard", "--json"))
    assert ask("resources") and ask("forecast") and ask("driver")
    assert here("--host", "alpha", "wait", "--until", "utilization > 1%").returncode == 0
    # Behind a command without a --host of its own it means the same.
    assert len(json.loads(here("devices", "--json", "--host", "beta").stdout)["devices"]) == 3


def test_the_history_of_another_host(start, tmp_path, here):
    host = Host(start, tmp_path / "a", "alpha", "sim:gpus=1,scenario=training", "--store", f"sqlite:{tmp_path}/a.db", "--interval", "0.2")
    config = host.table("alpha")

    def series():
        done = here("--host", "alpha", "history", "power", "--json", config=config)
        return done.returncode == 0 and json.loads(done.stdout)["series"]

    eventually(series)
    csv = here("--host", "alpha", "history", "power", "--csv", "--since", "-1m")
    assert csv.returncode == 0 and csv.stdout.count("\n") > 1, csv
    report = here("--host", "alpha", "report", "--since", "-1m", "--json")
    assert report.returncode == 0 and json.loads(report.stdout), report
    past = here("--host", "alpha", "why", "--since", "-1m")
    assert past.returncode == 0 and past.stdout, past
    # Behind the command an address is the same; a mere name is a host of the history, as it was before --of.
    for command in (("history", "power"), ("report",), ("why", "--since", "-1m"), ("why",)):
        behind = here(*command, "--json", "--host", f"https://localhost:{host.port}")
        assert behind.returncode == 0 and json.loads(behind.stdout), behind
        named = here(*command, "--json", "--host", "alpha")
        assert named.returncode == (0 if command == ("why",) else 1) and "no history yet" in named.stderr + "no history yet" * (command == ("why",)), named
    # Nothing of this host is shown in its stead.
    host.daemon.stop()
    for command in (("history", "power"), ("report",), ("why", "--since", "-1m"), ("guard",), ("alert",), ("alert", "rules")):
        gone = here("--host", "alpha", *command)
        assert gone.returncode == 1 and gone.stdout == "" and "alpha" in gone.stderr, gone


def test_a_token_is_needed_and_must_be_right(two, here):
    for token, said in (("whirr_wrong", "does not know this token"), ("", "needs a token")):
        done = here("--host", "alpha", "status", config=two[0].table("alpha", token=token))
        assert done.returncode == 1 and done.stdout == "" and f"alpha {said}" in done.stderr and "whirr token new" in done.stderr, done


def test_a_token_that_others_can_read_is_not_used(two, here):
    done = here("--host", "alpha", "status", config=two[0].table("alpha"), mode=0o644)
    assert done.returncode == 1 and f"chmod 600 {here.file}" in done.stderr and two[0].token not in done.stderr, done
    assert "(hidden)" in here("config", "show").stdout and two[0].token not in here("config", "show").stdout


def test_another_certificate_is_not_trusted(two, here, tmp_path):
    for ca in (two[1].certificate, ""):
        done = here("--host", "alpha", "status", config=two[0].table("alpha", ca=ca))
        assert done.returncode == 1 and "certificate" in done.stderr and "[hosts.alpha]" in done.stderr, done
    assert "127.0.0.2" in here("--host", f"https://127.0.0.2:{two[0].port}", "status").stderr
    other_name = here("--host", "alpha", "status", config=two[0].table("alpha").replace("localhost", "127.0.0.2"))
    assert other_name.returncode == 1 and "is for other names: use one of them as the address in [hosts.alpha]" in other_name.stderr, other_name


def test_acting_needs_a_token_that_allows_it(two, start, here):
    plain = start()
    refused = here("--host", f"127.0.0.1:{plain.port}", "release")
    assert refused.returncode == 1 and "needs a token" in refused.stderr and f'address = "http://127.0.0.1:{plain.port}"' in refused.stderr, refused
    done = here("--host", "alpha", "release", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["daemon"] == "alpha", done
    assert here("--host", "alpha", "release", "--end").returncode == 0


def test_plain_http_needs_no_table_on_loopback_and_a_hint_elsewhere(start, here):
    d = start()
    assert len(json.loads(here("--host", f"127.0.0.1:{d.port}", "devices", "--json").stdout)["devices"]) == 2
    wrong = here("--host", f"https://127.0.0.1:{d.port}", "devices")
    assert wrong.returncode == 1 and f"--host http://127.0.0.1:{d.port}" in wrong.stderr, wrong


# ---- hosts that do not answer ----

def test_a_dead_host_is_named(here):
    port = free_port()  # which no other process is given as long as this one lives
    done = here("--host", f"127.0.0.1:{port}", "status")
    assert done.returncode == 1 and done.stdout == "" and f"whirr: 127.0.0.1:{port}: " in done.stderr, done


def test_a_host_that_does_not_answer_is_given_up(here):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]

        def given_up():
            begin = time.monotonic()
            done = here("--host", "slow", "status", config=f'[hosts.slow]\naddress = "http://127.0.0.1:{port}"\ntimeout = "1.6s"\n')
            took = time.monotonic() - begin
            assert done.returncode == 1 and "slow: " in done.stderr and "timed out" in done.stderr.lower() and took > 1.5, (took, done)
            return took < 5

        eventually(given_up)  # by the time that is set for it; a busy machine may need another try


class Stranger(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {"snapshot": b'{"whirr_recording": 99, "from": "the future"}\n'}.get(self.path.split("?")[0].split("/")[-1])
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(body or b"{}")

    def log_message(self, *_):
        pass


def test_a_different_version_is_named(here):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = here("--host", f"127.0.0.1:{server.server_port}", "status")
        assert done.returncode == 1 and "different version" in done.stderr, done
    finally:
        server.shutdown()
        server.server_close()


def test_wrong_usage(here):
    for args in (("--host", "a b", "status"), ("--host", "-oProxyCommand=id", "status"), ("--host", "ssh://-oProxyCommand=id", "status"),
                 ("--host", "name:99999", "status"), ("--host", "ssh://a;b", "status"), ("--host", "", "status"),
                 ("--host", "a", "serve"), ("--host", "a", "--source", "sim", "status"), ("--host", "a", "--direct", "ps"),
                 ("--host", "a", "--socket", "/x", "ps"), ("--host", "a", "guard", "attach", "1"), ("--host", "a", "--host", "b", "wait", "--until", "utilization > 1%")):
        done = here(*args)
        assert done.returncode == 2 and "--host" in done.stderr and done.stdout == "", (args, done)


# ---- several ----

def test_several_hosts_side_by_side(two, here):
    port = free_port()
    done = here("--host", "alpha", "--host", f"127.0.0.1:{port}", "--host", "beta", "devices")
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done
    at = [lines.index(name) for name in ("alpha", f"127.0.0.1:{port}", "beta")]
    assert at == sorted(at) and lines[at[1] + 1].startswith(f"127.0.0.1:{port}: "), lines
    assert at[0] == 0 and [lines[i - 1] for i in at[1:]] == ["", ""], "a line between them, and none before"
    both = here("--host", "alpha", "--host", "beta", "why")
    assert both.returncode == 0 and "alpha" in both.stdout and "beta" in both.stdout, both
    told = json.loads(here("--host", "alpha", "--host", f"127.0.0.1:{port}", "--host", "beta", "status", "--json").stdout)["hosts"]
    assert [h["host"] for h in told] == ["alpha", f"127.0.0.1:{port}", "beta"]
    assert [len(h["answer"]["gpus"]) if h["answer"] else h["error"][:9] for h in told] == [2, "127.0.0.1", 3]
    assert [h["exit_status"] for h in told] == [0, 1, 0]
    silent = ("--host", f"127.0.0.1:{port}")
    judged = here("--host", "alpha", "health").returncode
    assert here(*silent, "health").returncode == 3 and here("--host", "alpha", *silent, "health").returncode == (judged or 3), "nothing could be judged there"


def test_several_hosts_as_one_table_for_programs(two, here):
    done = here("--host", "alpha", "--host", "beta", "status", "--csv", "--fields", "index,name")
    assert done.returncode == 0 and done.stdout.splitlines()[0] == "host,time,index,name", done
    rows = [line.split(",")[:3:2] for line in done.stdout.splitlines()[1:]]
    assert rows == [["alpha", "0"], ["alpha", "1"], ["beta", "0"], ["beta", "1"], ["beta", "2"]], done


# ---- through ssh ----

@pytest.fixture
def ssh(tmp_path, here):
    """An sshd of Debian's on a port of its own, and an ssh that knows it; both with keys of the test's own."""
    if not SSHD:
        pytest.skip("openssh-server is not installed (tools/deps test)")
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = free_port()
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nAuthorizedKeysFile {folder}/authorized_keys\n"
        "UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} " + (folder / "host.pub").read_text())
    (folder / "config").write_text(f"IdentityFile {folder}/user\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known_hosts\n"
                                   "GlobalKnownHostsFile none\nStrictHostKeyChecking yes\n")
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "ssh").write_text(f'#!/bin/sh\necho $$ >> {folder}/pids\nexec /usr/bin/ssh -F {folder}/config "$@"\n')
    (bin_folder / "ssh").chmod(0o755)
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # where it closes itself in before a login
    log = open(folder / "log", "w")
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def listens():
        assert server.poll() is None, (folder / "log").read_text()
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    eventually(listens)
    server.place, server.folder = f"{getpass.getuser()}@127.0.0.1:{port}", folder
    server.path = f"{bin_folder}:/usr/bin:/bin"
    yield server
    server.terminate()
    server.wait(PATIENCE)
    log.close()


def box(place):
    """A table for this place, with more patience than usual: a busy machine takes its time for a login."""
    return f'[hosts.box]\naddress = "{place}"\ntimeout = "{PATIENCE}s"\n'


def tunnels_are_gone(ssh, here):
    pids = [int(p) for p in (ssh.folder / "pids").read_text().split()]
    assert pids

    def runs(pid):  # in a container, there may be no init that reaps children
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    eventually(lambda: not any(map(runs, pids)))
    left = [p for folder in (here.folder, pathlib.Path("/tmp")) for p in folder.glob("whirr-ssh-*") if p.stat().st_uid == os.getuid()]
    return left


def test_a_tunnel_is_opened_and_taken_down(start, ssh, here):
    d = start()
    place = f"ssh://{ssh.place}{d.sock}"
    done = here("--host", "box", "devices", "--json", PATH=ssh.path, config=box(place))
    assert done.returncode == 0 and len(json.loads(done.stdout)["devices"]) == 2, (done, (ssh.folder / "log").read_text())
    assert here("--host", "box", "ps", "--json", PATH=ssh.path).returncode == 0
    # The socket's owner may act.
    assert here("--host", "box", "release", PATH=ssh.path).returncode == 0
    # Without a table, a busy machine may need another try.
    eventually(lambda: (named := here("--host", place, "status", PATH=ssh.path)).returncode == 0 and named.stdout, explain=(ssh.folder / "log").read_text)
    tunnels_are_gone(ssh, here)
    assert not list(here.folder.rglob("whirr-ssh-*"))


SLOW_SSH = """#!/usr/bin/python3
# Makes the file of its end, and listens there only when it was refused a while: a busy machine does that to the real one.
import os, socket, sys, threading
end, target = next(b for a, b in zip(sys.argv, sys.argv[1:]) if a == "-L").split(":")
door = socket.socket(socket.AF_UNIX)
door.bind(end)
threading.Event().wait(0.5)
door.listen()
def carry(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
while True:
    client, _ = door.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(target)
    threading.Thread(target=carry, args=(client, server), daemon=True).start()
    threading.Thread(target=carry, args=(server, client), daemon=True).start()
"""


def test_an_end_of_a_tunnel_that_does_not_listen_yet_is_waited_for(start, here, tmp_path):
    d = start()
    (tmp_path / "ssh").write_text(SLOW_SSH)
    (tmp_path / "ssh").chmod(0o755)
    done = here("--host", "box", "devices", "--json", PATH=f"{tmp_path}:/usr/bin:/bin", config=box(f"ssh://box{d.sock}"))
    assert done.returncode == 0 and len(json.loads(done.stdout)["devices"]) == 2, done


def test_ssh_is_asked_to_end_and_not_killed(start, here, tmp_path):
    d, ended = start(), tmp_path / "ended"
    (tmp_path / "ssh").write_text(SLOW_SSH.replace("while True:", f"import signal\nsignal.signal(signal.SIGTERM, lambda *_: (open({str(ended)!r}, 'w'), os._exit(0)))\nwhile True:", 1))
    (tmp_path / "ssh").chmod(0o755)
    assert here("--host", "box", "devices", PATH=f"{tmp_path}:/usr/bin:/bin", config=box(f"ssh://box{d.sock}")).returncode == 0
    assert ended.exists()


def test_a_tunnel_ends_with_a_watch_that_is_stopped(start, ssh, here):
    d = start()
    here.file.write_text(box(f"ssh://{ssh.place}{d.sock}"))
    process = subprocess.Popen([WHIRR, "--host", "box", "status", "--watch=1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               env=environment(here.folder, PATH=ssh.path))
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    process.stdout.close()
    tunnels_are_gone(ssh, here)
    assert not list(here.folder.rglob("whirr-ssh-*"))


def test_what_ssh_says_is_shown(start, ssh, here):
    nobody = here("--host", "box", "status", PATH=ssh.path, config=box(f"ssh://{ssh.place}{here.folder}/nobody.sock"))
    assert nobody.returncode == 1 and "no daemon answers at" in nobody.stderr and "nobody.sock" in nobody.stderr, nobody
    refused = here("--host", f"ssh://127.0.0.1:{free_port()}", "status", PATH=ssh.path)
    assert refused.returncode == 1 and "Connection refused" in refused.stderr, refused
    (ssh.folder / "authorized_keys").write_text("")
    denied = here("--host", "box", "status", PATH=ssh.path, config=box(f"ssh://{ssh.place}"))
    assert denied.returncode == 1 and "Permission denied" in denied.stderr, denied
    (ssh.folder / "known_hosts").write_text("")
    unknown = here("--host", "box", "status", PATH=ssh.path)
    assert unknown.returncode == 1 and "Host key verification failed" in unknown.stderr, unknown
    missing = here("--host", f"ssh://{ssh.place}", "status", PATH=str(here.folder))
    assert missing.returncode == 1 and "cannot run ssh" in missing.stderr, missing
    assert not list(here.folder.rglob("whirr-ssh-*"))
