# SPDX-License-Identifier: Apache-2.0
"""Programs that whirr.exe starts, under Wine: ssh for --host, itself for several hosts, nvidia-smi, and those of notifiers and `whirr run`.

WHIRR_BIN=tests/windows/whirr pytest tests/windows
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess

import pytest
from daemons import Starter
from isolation import ON_WINDOWS, ROOT, WHIRR, environment, run_whirr
from ports import free_port
from waiting import eventually

pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")
LINUX = pathlib.Path(os.environ.get("WHIRR_LINUX", ROOT / "build" / "whirr"))
FAKE_SMI = ROOT / "tests" / "fakes" / "nvidia-smi"
MOMENTS = re.compile(r'"\d{4}-\d\d-\d\dT[0-9:.]+Z"')


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with the stand-ins, which PATH names."""
    folder = tmp_path_factory.mktemp("programs")
    for source, name, *libraries in (("ssh.c", "ssh.exe", "-lws2_32"), ("tape.c", "nvidia-smi.exe")):
        subprocess.run(["x86_64-w64-mingw32-gcc", "-o", folder / name, ROOT / "tests/windows/fakes" / source, *libraries], check=True)
    return folder


def path_of(folder):
    return "Z:" + str(folder).replace("/", "\\")


@pytest.fixture
def daemon(tmp_path):
    starter = Starter(tmp_path)
    yield starter("--store", "none", source="sim:gpus=2,scenario=training")
    starter.stop()


@pytest.fixture
def ssh(programs, daemon, tmp_path):
    """Runs whirr where ssh leads to the daemon."""
    def run(*args, **more):
        return run_whirr(*args, folder=tmp_path / "here", **{"WINEPATH": path_of(programs), "FAKE_SSH_PORT": str(daemon.port), "FAKE_SSH_LOG": str(tmp_path / "ssh.log"), **more})

    (tmp_path / "here").mkdir()
    return run


def running(name):
    """Processes that were started with this name first."""
    found = []
    for path in pathlib.Path("/proc").glob("[1-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [path] if path.read_bytes().decode(errors="replace").startswith(name) else []
    return found


# ---- other hosts ----

def test_a_host_is_asked_through_ssh_which_ends_with_the_command(ssh, programs, tmp_path):
    asked = ssh("--host", "ssh://carol@box:2222", "status", "--json")
    assert asked.returncode == 0 and len(json.loads(asked.stdout)["gpus"]) == 2, asked
    said = (tmp_path / "ssh.log").read_text()
    assert re.search(r"-L 127\.0\.0\.1:\d+:/run/whirr/whirr\.sock -L 127\.0\.0\.1:\d+:127\.0\.0\.1:9447 -p 2222 -l carol -- box\n", said), said
    assert "BatchMode=yes" in said and "ExitOnForwardFailure=yes" in said
    eventually(lambda: not running(path_of(programs) + "\\ssh.exe"), explain="ssh goes on")


def test_what_ssh_says_is_the_reason(ssh):
    refused = ssh("--host", "ssh://box", "status", FAKE_SSH_REFUSAL="carol@box: Permission denied (publickey).")
    assert refused.returncode == 1 and "carol@box: Permission denied (publickey)." in refused.stderr, refused
    missing = ssh("--host", "ssh://box", "status", WINEPATH=None)
    assert missing.returncode == 1 and "cannot start ssh" in missing.stderr, missing


def test_several_hosts_are_asked_at_once(ssh, daemon):
    hosts = ("--host", daemon.url, "--host", "ssh://box", "--host", "http://127.0.0.1:1")
    asked = ssh(*hosts, "status", "--json")
    answers = json.loads(asked.stdout)["hosts"]
    assert asked.returncode == 1 and [bool(one["answer"]) for one in answers] == [True, True, False], asked
    assert "connect" in answers[2]["error"] and [len(one["answer"]["gpus"]) for one in answers[:2]] == [2, 2]
    rows = ssh(*hosts[:4], "ps", "--fields", "gpu_index,user", "--csv").stdout.splitlines()
    assert rows[0].startswith("host,") and {row.split(",")[0] for row in rows[1:]} == {daemon.url, "ssh://box"}, rows
    text = ssh(*hosts, "why", "--gpu", "1").stdout
    assert text.index(daemon.url) < text.index("ssh://box") < text.index("http://127.0.0.1:1"), text


@pytest.fixture
def tls_host(tmp_path):
    """A Linux host that must be asked over TLS with a token: its port, its certificate, another one, and the token."""
    folder, port = tmp_path / "alpha", free_port()
    folder.mkdir()
    for name in ("own", "other"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"], check=True, capture_output=True)
    token = subprocess.run([LINUX, "token", "new", "tests", "--role", "admin"], env=environment(folder), capture_output=True, text=True, check=True).stdout.strip()
    env = environment(folder, WHIRR_SERVER_TLS_CERTIFICATE=str(folder / "own.pem"), WHIRR_SERVER_TLS_KEY=str(folder / "own.key"))
    with open(folder / "log", "w") as log, subprocess.Popen([LINUX, "serve", "--store", "none", "--source", "sim:gpus=3", "--listen", f"0.0.0.0:{port}"], env=env, stderr=log, stdout=log) as daemon:
        eventually(lambda: "istening" in (folder / "log").read_text(), explain=(folder / "log").read_text)
        yield port, folder / "own.pem", folder / "other.pem", token
        daemon.terminate()


def test_a_host_is_asked_over_tls_with_a_token_if_its_certificate_is_trusted(tls_host, tmp_path):
    port, own, other, token = tls_host
    folder = tmp_path / "config/whirr"
    folder.mkdir(parents=True)

    def ask(ca, token, *args):
        (folder / "whirr.toml").write_text(f'[hosts.alpha]\naddress = "https://localhost:{port}"\ntoken = "{token}"\nca = "{ca}"\n')
        (folder / "whirr.toml").chmod(0o600)
        return run_whirr("--host", "alpha", "status", "--json", *args, folder=tmp_path)

    asked = ask(own, token)
    assert asked.returncode == 0 and len(json.loads(asked.stdout)["gpus"]) == 3, asked
    distrusted = ask(other, token)
    assert distrusted.returncode == 1 and distrusted.stdout == "" and "ca in [hosts.alpha]" in distrusted.stderr, distrusted
    unknown = ask(own, "whirr_wrong")
    assert unknown.returncode == 1 and "does not know this token" in unknown.stderr, unknown


def test_where_tls_is_not_used_the_way_without_is_named(daemon):
    asked = run_whirr("--host", daemon.url.replace("http:", "https:"), "status")
    assert asked.returncode == 1 and f"--host {daemon.url}" in asked.stderr, asked


# ---- nvidia-smi ----

@pytest.fixture
def tape(tmp_path):
    """What the fake nvidia-smi of Linux says, and what whirr makes of it there."""
    env = {"WHIRR_NVIDIA_SMI": str(FAKE_SMI), "FAKE_SMI_LOG": str(tmp_path / "asked"), "FAKE_SMI_PID": "0"}
    command = [str(LINUX), "--source", "nvidia-smi", "--json", "devices"]
    shown = subprocess.run(command, env=environment(**env), capture_output=True, text=True, check=True, timeout=60).stdout
    for words in ("status", "health"):
        subprocess.run([*command[:-1], words], env=environment(**env), capture_output=True, check=False, timeout=60)
    folder = tmp_path / "tape"
    folder.mkdir()
    lines = []
    for n, words in enumerate(dict.fromkeys((tmp_path / "asked").read_text().splitlines())):
        done = subprocess.run([FAKE_SMI, *words.split()], env={"PATH": "/usr/bin:/bin", "FAKE_SMI_PID": "0"}, capture_output=True, timeout=60)
        (folder / str(n)).write_bytes(done.stdout)
        lines.append(f"{n}\t{done.returncode}\t{words}\n")
    (folder / "index").write_text("".join(lines))
    return folder, shown


def test_gpus_are_read_by_nvidia_smi_exe_as_on_linux(programs, tape):
    folder, shown = tape
    by_path = run_whirr("--source", "nvidia-smi", "--json", "devices", WHIRR_NVIDIA_SMI=str(programs / "nvidia-smi.exe"), FAKE_TAPE=str(folder))
    assert MOMENTS.sub("T", by_path.stdout) == MOMENTS.sub("T", shown) and len(json.loads(shown)["devices"]) == 2, by_path
    by_name = run_whirr("--source", "nvidia-smi", "status", WHIRR_NVIDIA_SMI="nvidia-smi", WINEPATH=path_of(programs), FAKE_TAPE=str(folder))
    assert by_name.returncode == 0 and "2 GPUs" in by_name.stdout, by_name


def test_an_nvidia_smi_that_hangs_is_ended(programs, tape):
    hanging = run_whirr("--source", "nvidia-smi", "status", WHIRR_NVIDIA_SMI=str(programs / "nvidia-smi.exe"), FAKE_TAPE=str(tape[0]), FAKE_TAPE_SLEEPS="1")
    assert "did not finish" in hanging.stdout + hanging.stderr or "answer" in hanging.stdout + hanging.stderr, hanging
    eventually(lambda: not running(str(programs / "nvidia-smi.exe")), explain="nvidia-smi goes on")


# ---- whirr run ----

IDLE = ("--source", "sim:scenario=idle,gpus=4")


def test_a_program_runs_on_gpus_of_its_own_and_gives_them_back(tmp_path):
    more = {"folder": tmp_path, "WHIRR_LEASE_DIR": str(tmp_path / "leases")}
    shown = run_whirr(*IDLE, "run", "--gpus", "2", "--", "cmd", "/c", "set & exit 7", **more)
    assert shown.returncode == 7 and "WHIRR_LEASE=" in shown.stdout, shown
    assert len(re.search(r"CUDA_VISIBLE_DEVICES=(.*)", shown.stdout)[1].split(",")) == 2
    assert run_whirr(*IDLE, "lease", **more).stdout == "There are no leases.\n"
    missing = run_whirr(*IDLE, "run", "--", "no-such-program", **more)
    assert missing.returncode == 127 and "cannot start 'no-such-program'" in missing.stderr, missing


def test_a_script_of_windows_is_found_beside_one_of_a_shell_and_not_where_one_works(tmp_path):
    """As npm is installed: a script of a shell, and one of cmd.exe."""
    more, folder = {"folder": tmp_path, "WHIRR_LEASE_DIR": str(tmp_path / "leases")}, tmp_path / "two words"
    folder.mkdir()
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool.cmd").write_text("@echo the right one: %1\r\n@exit /b 5\r\n")
    (tmp_path / "tool.cmd").write_text("@echo the wrong one\r\n")
    done = run_whirr(*IDLE, "run", "--", "tool", "install", through=("env", "-C", str(tmp_path)), WINEPATH=path_of(folder), **more)
    assert done.returncode == 5 and done.stdout.splitlines() == ["the right one: install"], done


def test_inside_of_a_lease_there_is_nothing_more_to_take(tmp_path):
    more = {"folder": tmp_path, "WHIRR_LEASE_DIR": str(tmp_path / "leases")}
    inner = [path_of(os.environ["WHIRR_EXE"]), *IDLE, "run", "--gpus", "4", "--timeout", "5s", "--", "cmd", "/c", "exit 6"]
    nested = run_whirr(*IDLE, "run", "--gpus", "4", "--", *inner, **more)
    assert nested.returncode == 6, nested


def test_the_program_ends_with_whirr(programs, tmp_path):
    more, sleeper = {"folder": tmp_path, "WHIRR_LEASE_DIR": str(tmp_path / "leases")}, path_of(programs) + "\\ssh.exe"
    process = subprocess.Popen([WHIRR, *IDLE, "run", "--gpus", "1", "--", sleeper], env=environment(**more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: running(sleeper) and json.loads(run_whirr(*IDLE, "lease", "--json", **more).stdout)["leases"])
    process.kill()
    process.wait()
    eventually(lambda: not running(sleeper), explain="the program goes on")
    assert run_whirr(*IDLE, "lease", **more).stdout == "There are no leases.\n"


# ---- notifiers ----

def test_a_notifier_runs_a_program_with_the_alert_on_its_input(programs, tmp_path):
    folder = tmp_path / "config/whirr"
    folder.mkdir(parents=True)
    (folder / "whirr.toml").write_text('[notify.log]\ntype = "command"\ncommand = ["nvidia-smi", "to:", "a b"]\n')
    sent = run_whirr("notify", "test", "log", folder=tmp_path, WINEPATH=path_of(programs), FAKE_TAPE_HEARS=str(tmp_path / "heard"))
    assert sent.returncode == 0 and "delivered" in sent.stdout, sent
    heard = (tmp_path / "heard").read_bytes()
    assert heard.startswith(b"[to:][a b]{") and json.loads(heard[10:])["alert"] and b"\r" not in heard, heard
