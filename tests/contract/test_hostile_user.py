# SPDX-License-Identifier: Apache-2.0
"""A user of the same host who may do nothing, and tries: holds every lock that it can open, plants links, makes directories first, fills what it
can write, floods sockets. What root was promised or has to put back does not wait for it."""
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

import pytest
from isolation import ON_WINDOWS, WHIRR, environment
from settings_host import CONTROL, SCRIPT, SettingsHost
from waiting import PATIENCE, ended, eventually, throughout

pytestmark = [pytest.mark.skipif(ON_WINDOWS or os.geteuid() != 0, reason="needs root, who can be another user")]
NOBODY = 65534
SIM = ["--source", "sim:scenario=idle,gpus=4"]
HOT = SCRIPT.replace("temperature 55", "temperature 95")

LOCK_ALL = """
import fcntl, os, sys
held = []
for folder, _, files in os.walk(sys.argv[1]):
    for name in files:
        for mode in (os.O_RDWR, os.O_RDONLY):
            try:
                fd = os.open(os.path.join(folder, name), mode)
                held.append(fd)
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                pass
print(len(held), flush=True)
sys.stdin.read()
"""


class Hostile:
    def __init__(self):
        self.started = []

    def start(self, code, *args):
        """Runs it as nobody; what it prints first is the answer. It goes on until the end of the test."""
        process = subprocess.Popen(["/usr/bin/python3", "-c", code, *map(str, args)], user=NOBODY, group=NOBODY, extra_groups=[], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, cwd="/")
        self.started.append(process)
        answer = process.stdout.readline().strip()
        assert answer, "the hostile user failed"
        return answer

    def do(self, code, *args):
        assert self.start(code + "\nprint('done', flush=True)", *args) == "done"

    def lock_all(self, folder):
        return int(self.start(LOCK_ALL, folder))

    def close(self):
        for process in self.started:
            process.stdin.close()
            process.stdout.close()
            process.kill()
            process.wait()


@pytest.fixture
def hostile():
    made = Hostile()
    yield made
    made.close()


@pytest.fixture
def home():
    """A directory that the other user can reach, and can write nothing in."""
    folder = pathlib.Path(environment()["HOME"])
    folder.chmod(0o755)
    if any(os.stat(above).st_mode & 0o001 == 0 for above in folder.parents):
        pytest.skip("another user cannot reach the folder of the test")
    return folder


# ---- settings of GPUs ----

@pytest.fixture
def gpu(home):
    made = SettingsHost(home)
    yield made
    made.close()


def fan_is_fixed(gpu):
    return gpu.value("fan_manual0", 0) == 1 and gpu.value("fan_manual1", 0) == 1


def fan_is_automatic(gpu):
    return gpu.value("fan_manual0", 0) == 0 and gpu.value("fan_manual1", 0) == 0


def keep_fan(gpu):
    process = gpu.start("--source", "nvml", "fan", "45%")
    eventually(lambda: fan_is_fixed(gpu) and gpu.files() and '"step":"active"' in (gpu.journal / gpu.files()[0]).read_text() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def test_a_user_who_holds_every_lock_keeps_no_fan(gpu, hostile):
    lock = gpu.journal / "lock"
    lock.touch()
    lock.chmod(0o666)  # as earlier versions made it
    assert hostile.lock_all(gpu.folder) > 0
    process = keep_fan(gpu)
    hostile.lock_all(gpu.folder)
    assert [os.stat(path).st_mode & 0o777 for path in (gpu.journal, lock, gpu.journal / gpu.files()[0])] == [0o700, 0o600, 0o600]
    gpu.script(HOT)
    eventually(lambda: fan_is_automatic(gpu))
    assert ended(process) == 0 and "95 °C" in process.stderr.read() and not gpu.files()
    gpu.script(SCRIPT)
    keep_fan(gpu)
    hostile.lock_all(gpu.folder)
    assert gpu("fan", "auto").returncode == 0 and fan_is_automatic(gpu)
    gpu.restore()
    assert not gpu.files()


def test_all_users_see_what_was_changed(gpu, hostile):
    """The journal is root's alone; what it shows is for everyone to read, and for no one to write."""
    assert gpu("limit", "330W").returncode == 0
    shown = gpu.folder / "leases-settings-shown"
    (name,) = gpu.files()
    hostile.do("import json, sys; assert json.load(open(sys.argv[1]))['settings'][0]['what'] == 'power_limit'", shown / name)
    hostile.do("import os, sys\nfor path in sys.argv[1:]:\n    try:\n        os.open(path, os.O_RDWR)\n        sys.exit(1)\n    except PermissionError:\n        pass", shown / name, gpu.journal / name)
    assert gpu("lease", "end", name.removesuffix(".json")).returncode == 0
    assert gpu.value() == 450000 and not list(shown.glob("*.json"))


def test_a_journal_of_the_earlier_version_is_taken_over(gpu):
    assert gpu("limit", "330W").returncode == 0
    (name,) = gpu.files()
    gpu.journal.chmod(0o755)
    (gpu.journal / name).chmod(0o644)
    (gpu.journal / "lock").chmod(0o666)
    (gpu.journal / "lock").write_text("12345\n")
    (gpu.folder / "leases-settings-shown" / name).unlink()
    assert "power limit 330 W (was 450 W)" in gpu("lease").stdout
    gpu.restore()
    assert gpu.value() == 450000 and not gpu.files() and os.stat(gpu.journal).st_mode & 0o777 == 0o700


class Held:
    """The journal's lock, held as by a process of root that hangs."""

    def __init__(self, gpu):
        self.fd = os.open(gpu.journal / "lock", os.O_RDWR)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def release(self):
        os.close(self.fd)


@pytest.mark.slow
def test_a_lock_that_hangs_keeps_no_fan(gpu):
    """Hot, then ended by hand, then its process is killed: the fan is back each time although no lease can be ended."""
    process = keep_fan(gpu)
    held = Held(gpu)
    gpu.script(HOT)
    eventually(lambda: fan_is_automatic(gpu))
    assert process.poll() is None and gpu.files()
    held.release()
    assert ended(process) == 0 and not gpu.files()
    gpu.script(SCRIPT)

    process = keep_fan(gpu)
    held = Held(gpu)
    done = gpu("fan", "auto")
    assert done.returncode == 0 and fan_is_automatic(gpu) and "has locked the leases" in done.stderr
    held.release()
    assert ended(process) == 0 and not gpu.files()

    process = keep_fan(gpu)
    held = Held(gpu)
    process.kill()
    eventually(lambda: fan_is_automatic(gpu))
    assert gpu.files()
    held.release()
    eventually(lambda: not gpu.files())


@pytest.mark.slow
def test_a_keeper_that_hangs_keeps_no_fan(gpu):
    """With a cool GPU: nothing is wrong but that nobody could do anything if it were."""
    process = keep_fan(gpu)
    other = gpu.start("--source", "nvml", "limit", "330W", "--for", "1h")
    eventually(lambda: gpu.value() == 330000)
    held = Held(gpu)
    (name,) = [n for n in gpu.files() if "fan" in (gpu.journal / n).read_text()]
    (gpu.journal / name).unlink()  # the keeper now wants to end it, and waits for the lock
    eventually(lambda: fan_is_automatic(gpu))
    throughout(1, lambda: fan_is_automatic(gpu))
    held.release()
    assert ended(process) == 0
    other.terminate()
    assert ended(other) == 0 and gpu.value() == 450000


def test_without_its_watchdog_no_fan_is_kept(gpu):
    process = keep_fan(gpu)
    for pid in gpu.watchdogs(process):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: fan_is_automatic(gpu))
    assert ended(process) == 0 and "the process that watches it has ended" in process.stderr.read() and not gpu.files()


def test_a_fan_of_a_killed_helper_is_given_back(gpu):
    helper = gpu.helper()
    assert gpu("fan", "45%", "--for", "1h").returncode == 0 and fan_is_fixed(gpu)
    helper.kill()
    eventually(lambda: fan_is_automatic(gpu) and not gpu.files())


def ask(gpu, *requests):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(gpu.folder / "sock"))
        lines = s.makefile("rw")
        answers = []
        for request in requests:
            lines.write(json.dumps(request) + "\n")
            lines.flush()
            answers.append(json.loads(lines.readline()))
        return answers


def a_limit(gpu, watts, **more):
    uuid = json.loads(gpu("limit", "330W", "--dry-run", "--json").stdout)["changes"][0]["gpu"]
    return {"op": "set", "settings": [{"gpu": uuid, "gpu_index": 0, "what": "power_limit", "low": watts * 1000, "high": watts * 1000}], **more}


def test_a_connection_holds_one_lease_and_an_end_in_the_past_is_none(gpu):
    gpu.helper()
    first, second = ask(gpu, a_limit(gpu, 330, hold=True), a_limit(gpu, 300, hold=True))
    assert first["ok"] and not second["ok"] and f"holds lease {first['lease']['id']}" in second["error"]
    eventually(lambda: gpu.value() == 450000 and not gpu.files())
    for until in ("1970-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "soon", 0):
        (answer,) = ask(gpu, a_limit(gpu, 330, until=until))
        assert not answer["ok"] and "end" in answer["error"], until
    made, again = ask(gpu, a_limit(gpu, 330, until="2100-01-01T00:00:00Z"), {"op": "confirm", "id": "abcdefgh", "until": "1970-01-01T00:00:00Z"})
    assert made["ok"] and not again["ok"] and "not a time to come" in again["error"]
    assert gpu.value() == 330000


def test_a_lease_of_a_process_that_was_killed_does_not_block_the_next(gpu):
    """Of a command and its watchdog, while a helper runs that has no reason to look at the journal."""
    process = gpu.start("--source", "nvml", "limit", "330W", "--", "sleep", "600")
    eventually(lambda: gpu.value() == 330000 and '"step":"active"' in (gpu.journal / gpu.files()[0]).read_text())
    gpu.helper()
    (sleep,) = eventually(lambda: [pid for pid in gpu.watchdogs(process) if "sleep" in pathlib.Path(f"/proc/{pid}/comm").read_text()])
    for pid in gpu.watchdogs(process):
        if pid != sleep:
            os.kill(pid, signal.SIGKILL)
    process.kill()  # it is not waited for: its number is still taken
    os.kill(sleep, signal.SIGKILL)
    done = gpu("limit", "300W", "--for", "1h")
    assert done.returncode == 0 and gpu.value() == 300000 and len(gpu.files()) == 1, done.stderr
    assert gpu("lease", "end", pathlib.Path(gpu.files()[0]).stem).returncode == 0
    assert gpu.value() == 450000, "what the dead one had set is nothing to go back to"


def test_a_driver_that_hangs_holds_up_no_lease_of_gpus(gpu):
    """It hangs as it is opened: settings wait for it and are refused then, what needs no driver goes on, and both work once it answers."""
    gpu.script("hang nvmlInit_v2\n" + SCRIPT)
    service = gpu.helper()
    eventually(lambda: (gpu.folder / "script.hanging").exists())
    asked = {"op": "set", "hold": True, "settings": [{"gpu": "GPU-00000000-1111-2222-3333-444444444444", "gpu_index": 0, "what": "power_limit", "low": 300000, "high": 300000}]}

    def ask(request, connection=None):
        with connection or socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE if connection else 1)
            try:
                if not connection:
                    s.connect(str(gpu.folder / "sock"))
                    s.sendall(json.dumps(request).encode() + b"\n")
                return json.loads(s.recv(65536))
            except TimeoutError:
                return {"ok": False}

    waits = socket.socket(socket.AF_UNIX)
    waits.connect(str(gpu.folder / "sock"))
    waits.sendall(json.dumps(asked).encode() + b"\n")
    sim = {"WHIRR_LEASE_DIR": gpu.leases, "WHIRR_CONTROL_SOCKET": gpu.folder / "sock"}
    done = gpu("--source", "sim:scenario=idle,gpus=1", "run", "--gpu", "0", "--timeout", "60s", "--", "true", **sim)
    assert done.returncode == 0, done.stderr
    eventually(lambda: "a driver does not answer" in ask(asked).get("error", ""))
    gpu.script(SCRIPT)
    assert ask(None, waits)["ok"], "what waited is done"
    eventually(lambda: ask(asked)["ok"])
    service.terminate()
    assert ended(service) == 0 and gpu.value() == 450000


def test_a_flood_at_the_socket_keeps_no_one_out(gpu, hostile):
    gpu.helper()
    hostile.start("""
import socket, sys
held = []
for _ in range(200):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
""", gpu.folder / "sock")
    assert gpu("limit", "330W", "--for", "1h").returncode == 0 and gpu.value() == 330000
    held = []
    for _ in range(40):
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].connect(str(gpu.folder / "sock"))
    held[-1].settimeout(60)
    assert "too many connections" in json.loads(held[-1].makefile().readline())["error"]
    for s in held:
        s.close()
    eventually(lambda: gpu("limit", "stock").returncode == 0)
    assert gpu.value() == 450000


# ---- leases of GPUs ----

class Leases:
    """Commands of root and of the other user on a host where whirr-control decides, or without it."""

    def __init__(self, folder, **env):
        self.folder, self.leases, self.started = folder, folder / "leases", []
        self.journal, self.shown = folder / "leases-service", folder / "leases-service-shown"
        self.settings = {"WHIRR_LEASE_DIR": str(self.leases), "WHIRR_CONTROL_SOCKET": str(folder / "sock"), **env}
        self.other = folder / "other"
        self.other.mkdir(mode=0o700)
        os.chown(self.other, NOBODY, NOBODY)
        self.program = shutil.copy(WHIRR, folder / "program")  # a checkout may be closed to other users

    def env(self, other=False, **env):
        theirs = {"HOME": str(self.other), "XDG_RUNTIME_DIR": str(self.other), "XDG_STATE_HOME": str(self.other)} if other else {}
        return environment(**{name: value for name, value in {**self.settings, **theirs, **env}.items() if value})

    def service(self, **env):
        (self.folder / "sock").unlink(missing_ok=True)
        process = subprocess.Popen([CONTROL, "--listen"], env=self.env(**env), stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        eventually(lambda: (self.folder / "sock").exists() and list(self.folder.glob("**/leases-service*")) or process.poll() is not None)
        assert process.poll() is None, process.stderr.read()
        return process

    def __call__(self, *args, other=False, **env):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if other else {}
        return subprocess.run([self.program, *SIM, *map(str, args)], env=self.env(other, **env), capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd="/", timeout=120, **user)

    def start(self, *args, other=False, **env):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if other else {}
        self.started.append(subprocess.Popen([self.program, *SIM, *map(str, args)], env=self.env(other, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", **user))
        return self.started[-1]

    def list(self, **how):
        return json.loads(self("lease", "--json", **how).stdout)["leases"]

    def reserve(self, gpu=0, **how):
        return json.loads(self("reserve", "--gpu", gpu, "--for", "2h", "--json", **how).stdout)

    def close(self):
        listed = self("lease", "--json").stdout
        for lease in json.loads(listed)["leases"] if listed else []:
            if lease["pid"]:
                try:
                    os.kill(lease["pid"], signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def leases(home):
    made = Leases(home)
    yield made
    made.close()


@pytest.mark.parametrize("dangling", [False, True])
def test_links_of_others_are_not_followed(leases, hostile, dangling):
    leases.folder.chmod(0o1777)
    secret = leases.folder / "secret"
    if not dangling:
        secret.mkdir(mode=0o700)
    hostile.do("import os, sys; os.symlink(*sys.argv[1:])", secret, leases.leases)
    done = leases("run", "--gpus", "1", "--", "true")
    assert done.returncode == 1 and "a link or a file is in its way" in done.stderr
    assert not secret.exists() if dangling else os.stat(secret).st_mode & 0o7777 == 0o700 and not list(secret.iterdir())


def test_a_directory_that_another_user_made_first_is_not_used(leases, hostile):
    leases.folder.chmod(0o1777)
    hostile.do("import os, sys; os.mkdir(sys.argv[1], 0o777); os.chmod(sys.argv[1], 0o1777)", leases.leases)
    for command in (["run", "--gpus", "1", "--", "true"], ["reserve", "--gpus", "1"]):
        done = leases(*command)
        assert done.returncode == 1 and "belongs to another user, nobody" in done.stderr, done.stderr
    leases.leases.rmdir()
    assert leases("run", "--gpus", "1", "--", "true").returncode == 0, "root makes its own"
    assert os.stat(leases.leases).st_mode & 0o777 == 0o700, "which is closed to others"
    done = leases("run", "--gpus", "1", "--", "true", other=True)
    assert done.returncode == 1 and "cannot use the directory of leases" in done.stderr and "start the service whirr-control" in done.stderr, done.stderr


def test_one_process_decides_for_all_users(leases, hostile):
    leases.service()
    mine = leases.reserve(0)
    theirs = leases.reserve(1, other=True)
    assert {(one["id"], one["user"]) for one in leases.list(other=True)} == {(mine["id"], "root"), (theirs["id"], "nobody")}
    refused = leases("run", "--gpu", "0", "--timeout", "0", "--", "true", other=True)
    assert refused.returncode == 1 and "GPU 0 is reserved for root" in refused.stderr
    refused = leases("lease", "end", mine["id"], other=True)
    assert refused.returncode == 1 and "that of root: only they or root can end it" in refused.stderr
    hostile.do("import os, sys\nfor path in sys.argv[1:]:\n    for how in (os.listdir, lambda p: os.open(p + '/x', os.O_CREAT | os.O_WRONLY)):\n        try:\n            how(path)\n        except PermissionError:\n            continue\n"
               "        assert how is os.listdir and path.endswith('shown'), path", leases.journal, leases.shown)
    assert leases("lease", "end", theirs["id"]).returncode == 0, "root ends all"
    assert [one["id"] for one in leases.list()] == [mine["id"]]


def test_what_a_request_claims_is_not_believed(leases):
    """Each is a lease that a hostile program could send."""
    leases.service()
    held = leases.reserve(0)
    code = """
import json, socket, sys
lease, answers = json.loads(sys.argv[2]), []
def ask(*requests):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
        f = s.makefile("rw")
        for r in requests:
            f.write(json.dumps(r) + "\\n")
            f.flush()
            answers.append(json.loads(f.readline()))
def put(**changes):
    ask({"op": "commit", "lease": {**lease, "uid": 0, "user": "root", **changes}})
put()                                                       # root's, with other GPUs or the same
put(id="aaaaaaab")                                          # the same GPU
put(id="aaaaaaac", exclusive=False, memory_bytes=1)
put(id="aaaaaaad", gpus=[{**lease["gpus"][0], "uuid": "GPU-x"}], ticket=2 ** 53, made="2001-01-01T00:00:00Z")
put(id="aaaaaaae", kind="run")                              # not begun
put(id="aaaaaaaf", kind="setting")
put(id="aaaaaaag", until="2001-01-01T00:00:00Z", **{"from": "2000-01-01T00:00:00Z"})
put(id="../../x")
ask({"op": "begin", "id": lease["id"]})
ask({"op": "end", "id": lease["id"]})
print(json.dumps(answers), flush=True)
"""
    hostile = Hostile()
    try:
        answers = json.loads(hostile.start(code, leases.folder / "sock", json.dumps(held)))
    finally:
        hostile.close()
    assert [answer["ok"] for answer in answers] == [False, False, False, True, False, False, False, False, False, False], answers
    made = answers[3]["lease"]
    assert made["user"] == "nobody" and made["uid"] == NOBODY and made["ticket"] < 1000 and not made["made"].startswith("2001")
    assert {one["id"] for one in leases.list()} == {held["id"], "aaaaaaad"}


def test_a_lease_outlives_the_service_and_not_its_program(leases):
    first = leases.service()
    run = leases.start("run", "--gpus", "4", "--", "sleep", "600", other=True)
    eventually(lambda: [one["pid"] for one in leases.list() if one["state"] == "active" and one["pid"]])
    waiting = leases.start("run", "--gpus", "1", "--", "true", other=True)
    eventually(lambda: len(leases.list()) == 2)
    first.kill()
    first.wait()
    run.kill()  # its program goes on
    run.wait()
    leases.service()
    assert leases("run", "--gpu", "2", "--timeout", "0", "--", "true").returncode == 1
    assert [one["state"] for one in leases.list()] == ["active", "waiting"]
    os.kill(leases.list()[0]["pid"], signal.SIGKILL)
    assert ended(waiting) == 0
    eventually(lambda: leases.list() == [] and not list(leases.journal.glob("*.json")))


def test_a_user_has_so_many_leases_and_no_more(leases):
    leases.service(WHIRR_LEASE_HELD_MAX="2", WHIRR_LEASE_WAITING_MAX="1")
    for gpu in range(2):
        leases.reserve(gpu, other=True)
    refused = leases("reserve", "--gpu", "2", other=True)
    assert refused.returncode == 1 and "nobody has 2 leases that hold GPUs, as many as a user can have (held_max of [lease])" in refused.stderr
    leases.reserve(2)
    leases.start("run", "--gpu", "2", "--", "true", other=True)
    eventually(lambda: [one for one in leases.list() if one["state"] == "waiting"])
    refused = leases("run", "--gpu", "2", "--", "true", other=True)
    assert refused.returncode == 1 and "waiting_max of [lease]" in refused.stderr
    assert leases("run", "--gpu", "3", "--timeout", "0", "--", "true").returncode == 0, "another user has leases of their own"


def test_a_service_that_does_not_answer_gets_no_one_past_it(leases, hostile):
    """Who decided without it could give a GPU away twice."""
    process = leases.service()
    leases.reserve(0)
    os.kill(process.pid, signal.SIGSTOP)
    began = time.monotonic()
    done = leases("run", "--gpu", "0", "--timeout", "1s", "--", "true")
    assert done.returncode == 1 and "no room within 1s" in done.stderr and time.monotonic() - began < 20, done.stderr
    os.kill(process.pid, signal.SIGCONT)
    hostile.start("""
import socket, sys
held = []
for n in range(300):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
        s.send(b'{"op": "begin", "id": "aaaaa%03d"}\\n'.replace(b"0", b"z").replace(b"1", b"y") % n if n % 2 else b"{" * 1000)
    except OSError:
        pass
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
""", leases.folder / "sock")
    assert leases("run", "--gpu", "1", "--timeout", "60s", "--", "true").returncode == 0


def test_leases_of_the_earlier_version_are_taken_over(leases, hostile):
    """Of the directory that all users could write: a reservation goes on, a false one doesn't."""
    system = leases.folder / "system"
    old = system / "var/lib/whirr-leases"
    old.mkdir(parents=True)
    old.chmod(0o1777)
    one = leases.reserve(0)
    (leases.leases / f"{one['id']}.json").unlink()
    for name, owner, uid in ((one["id"], NOBODY, NOBODY), ("aaaaaaab", NOBODY, 0)):
        path = old / f"{name}.json"
        path.write_text(json.dumps({**one, "id": name, "uid": uid}))
        os.chown(path, owner, owner)
    here = {"WHIRR_SYSTEM_ROOT": str(system), "WHIRR_LEASE_DIR": None, "WHIRR_CONTROL_SOCKET": str(leases.folder / "sock")}
    process = subprocess.Popen([CONTROL, "--listen"], env=leases.env(**here))
    leases.started.append(process)
    eventually(lambda: (leases.folder / "sock").exists())
    eventually(lambda: [(x["id"], x["user"]) for x in json.loads(leases("lease", "--json", **here).stdout)["leases"]] == [(one["id"], "nobody")])
    refused = leases("run", "--gpu", "0", "--timeout", "0", "--", "true", **here)
    assert refused.returncode == 1 and "reserved for nobody" in refused.stderr
    assert not (old / f"{one['id']}.json").exists()


CLAIM = r"""
for gpu in ${CUDA_VISIBLE_DEVICES//,/ }; do
    exec {fd}>> $DIR/$gpu.lock
    flock -n -x $fd || echo $N $gpu >> $DIR/twice
done
sleep 0.0$((RANDOM % 90 + 10))
echo $N >> $DIR/done
"""


@pytest.mark.skipif(not shutil.which("flock"), reason="needs flock")
def test_kills_of_service_commands_and_programs_give_no_room_twice(leases):
    """Each program locks what it was given, as a witness that is not whirr. Whatever is killed, the others get their turn. WHIRR_KILLS
    says how often."""
    kills = int(os.environ.get("WHIRR_KILLS", "12"))
    programs, chance = max(40, kills), random.Random(50 + kills)
    shared = leases.folder / "claims"
    shared.mkdir()
    shared.chmod(0o1777)
    service, runs, killed = leases.service(), [], set()
    for n in range(programs):
        runs.append(leases.start("run", "--gpus", 1 + chance.randrange(4), "--", "bash", "-c", CLAIM, N=str(n), DIR=str(shared)))
    for turn in range(kills):
        if turn % 2:
            service.kill()
            service.wait()
            service = leases.service()
        else:
            n = chance.randrange(len(runs))
            runs[n].send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM]))
            killed.add(n)
        eventually(lambda: leases("lease", "--json").returncode == 0)
    for n, run in enumerate(runs):
        out, err = run.communicate()
        assert n in killed or run.returncode == 0, (n, run.returncode, err)
    eventually(lambda: leases.list() == [], explain=leases.list)
    assert not (shared / "twice").exists(), (shared / "twice").read_text()
    assert {int(line) for line in (shared / "done").read_text().split()} >= set(range(programs)) - killed, "none was lost"
    assert leases("run", "--gpus", "4", "--timeout", "0", "--", "true").returncode == 0, "all room is there again"
