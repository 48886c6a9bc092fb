# SPDX-License-Identifier: Apache-2.0
"""A user of the same host who may do nothing, and tries: holds every lock that it can open, plants links, makes directories first, fills what it
can write, floods sockets. What root was promised or has to put back does not wait for it."""
import fcntl
import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import time

import pytest
from isolation import ON_WINDOWS, WHIRR, environment
from settings_host import SCRIPT, SettingsHost
from waiting import ended, eventually, throughout

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
    """Root's commands with a directory of leases that the other user may reach."""

    def __init__(self, folder, **env):
        self.folder, self.leases, self.env = folder, folder / "leases", {"WHIRR_LEASE_DIR": str(folder / "leases"), **env}

    def __call__(self, *args, **env):
        changes = {name: value for name, value in {**self.env, **env}.items() if value}
        return subprocess.run([WHIRR, *SIM, *map(str, args)], env=environment(**changes), capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def list(self):
        return json.loads(self("lease", "--json").stdout)

    def reserve(self, gpu=0):
        return json.loads(self("reserve", "--gpu", gpu, "--for", "2h", "--json").stdout)

    def put(self, lease, owner=NOBODY, **changes):
        """A file that this user could have written."""
        path = self.leases / f"{changes.get('id', lease['id'])}.json"
        path.write_text(json.dumps({**lease, "uid": owner, **changes}))
        os.chown(path, owner, owner)
        return path


@pytest.fixture
def leases(home):
    return Leases(home)


def names():
    """Of leases, one after the other."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    for n in range(len(letters) ** 4):
        yield "aaaa" + "".join(letters[n // len(letters) ** k % len(letters)] for k in range(4))


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
        assert done.returncode == 1 and "belongs to another user, nobody" in done.stderr and f"install -d -m 1777 {leases.leases}" in done.stderr, done.stderr
    leases.leases.rmdir()
    assert leases("run", "--gpus", "1", "--", "true").returncode == 0, "root makes its own"
    # The same for the journal of settings, and for the host's own directory.
    common = leases.folder / "system/run/lock"
    common.mkdir(parents=True)
    common.chmod(0o1777)
    hostile.do("import os, sys; os.mkdir(sys.argv[1])", common / "whirr-leases")
    done = leases("run", "--gpus", "1", "--", "true", WHIRR_LEASE_DIR=None)
    assert done.returncode == 1 and "belongs to another user, nobody" in done.stderr


def test_what_a_file_claims_is_not_believed(leases, hostile):
    lease = leases.reserve()
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    start = int(pathlib.Path("/proc/1/stat").read_text().rpartition(") ")[2].split()[19])
    ours = int(pathlib.Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19])
    assert leases("lease", "end", lease["id"]).returncode == 0
    alive = {"kind": "run", "until": None, "boot": boot}
    leases.put(lease, id="aaaaaaab", pid=1, start_key=start, **alive)
    leases.put(lease, id="aaaaaaac", pid=os.getpid(), start_key=ours, **alive)
    leases.put(lease, id="aaaaaaad", user="root", note="mine")
    leases.put(lease, id="aaaaaaae", ticket=2 ** 63 - 1)
    leases.put(lease, id="aaaaaaaf", until="1970-01-01T00:00:00Z")
    leases.put(lease, id="aaaaaaag", gpus=lease["gpus"] * 65)
    listed = leases.list()
    assert [(one["id"], one["user"]) for one in listed["leases"] if one["state"] == "active"] == [("aaaaaaad", "nobody")]
    assert sorted(problem.split(":")[0] for problem in listed["problems"]) == ["aaaaaaae.json", "aaaaaaaf.json", "aaaaaaag.json"]
    assert "reserved for nobody" in leases("run", "--gpu", "0", "--timeout", "0", "--", "true").stderr
    stopped = leases("lease", "end", "aaaaaaac", "--stop")
    assert stopped.returncode == 1 or not (leases.leases / "aaaaaaac.json").exists(), "this process was not stopped"


def test_the_lease_of_a_program_that_has_ended_is_over_whoever_locks_its_file(leases, hostile):
    process = subprocess.Popen([WHIRR, *SIM, "run", "--gpus", "4", "--", "sleep", "600"], env=environment(**leases.env), stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: [one["state"] for one in leases.list()["leases"]] == ["active"])
        (path,) = leases.leases.glob("*.json")
        hostile.start(LOCK_ALL, leases.leases)
    finally:
        pid = leases.list()["leases"][0]["pid"]
        process.kill()
        process.wait()
    assert [one["state"] for one in leases.list()["leases"]] == ["active"], "the program goes on"
    # Only now the other user can have the old lock of the file: the program has the one that counts.
    hostile.start("import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDONLY)\ntry:\n    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept OSError:\n    pass\nprint('tried', flush=True)\nfcntl.flock(fd, fcntl.LOCK_EX)\nsys.stdin.read()", path)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: leases.list()["leases"] == [])


def test_a_timeout_holds_while_another_user_has_the_lock(leases, hostile):
    assert leases("run", "--gpus", "1", "--", "true").returncode == 0
    pid = hostile.start("""
import fcntl, os, sys, threading
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
pause = threading.Event()
def lie():  # each time another process seems to decide
    n = 1
    while True:
        os.pwrite(fd, b"%d\\n" % n, 0)
        n += 1
        pause.wait(0.1)
threading.Thread(target=lie, daemon=True).start()
print(os.getpid(), flush=True)
sys.stdin.read()
""", leases.leases / "lock")
    began = time.monotonic()
    done = leases("run", "--gpus", "1", "--timeout", "2s", "--", "true")
    took = time.monotonic() - began
    assert done.returncode == 1 and done.stderr.endswith("whirr: no room within 2s\n") and took >= 2, (done.stderr, took)
    assert f"whirr: waiting: process {pid} has locked the leases" in done.stderr


def test_a_full_directory_refuses_newcomers_and_keeps_every_promise(leases, hostile):
    lease = leases.reserve()
    fill = {name: json.dumps({**lease, "id": name, "uid": NOBODY, "gpus": [{"uuid": "GPU-none", "gpu_index": 3}]}) for name, _ in zip(names(), range(5000))}
    (leases.folder / "fill.json").write_text(json.dumps(fill))
    hostile.do("import json, os, sys\nfor name, text in json.load(open(sys.argv[1])).items():\n    open(os.path.join(sys.argv[2], name + '.json'), 'w').write(text)", leases.folder / "fill.json", leases.leases)
    promised = leases.put(leases.reserve(1), owner=pwd.getpwnam("daemon").pw_uid)
    refused = leases("run", "--gpu", "1", "--timeout", "0", "--", "true")
    assert refused.returncode == 1 and "GPU 1 is reserved for daemon" in refused.stderr, "what was promised holds"
    assert leases("run", "--gpu", "2", "--timeout", "0", "--", "true").returncode == 0, "one user keeps no other out"
    promised.unlink()
    # Five users together are more than can be counted: nothing is promised any more.
    for (name, text), owner in zip(fill.items(), [uid for uid in range(1000, 1005) for _ in range(1000)]):
        path = leases.leases / f"{name}.json"
        path.write_text(text.replace(f'"uid": {NOBODY}', f'"uid": {owner}'))
        os.chown(path, owner, owner)
    refused = leases("run", "--gpu", "2", "--timeout", "0", "--", "true")
    assert refused.returncode == 1 and "more than 4096 leases" in refused.stderr
    refused = leases("reserve", "--gpu", "2")
    assert refused.returncode == 1 and "more than 4096 leases" in refused.stderr


def test_a_lock_that_is_none_is_replaced_by_root(leases, hostile):
    assert leases("run", "--gpus", "1", "--", "true").returncode == 0
    (leases.leases / "lock").unlink()
    target = leases.folder / "target"
    target.write_text("secret")
    target.chmod(0o600)
    for plant in ("os.mkdir(sys.argv[1])", "os.mkfifo(sys.argv[1])", "os.symlink(sys.argv[2], sys.argv[1])", "os.close(os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600))"):
        hostile.do(f"import os, sys; {plant}", leases.leases / "lock", target)
        assert leases("run", "--gpus", "1", "--timeout", "20s", "--", "true").returncode == 0, plant
        assert (leases.leases / "lock").is_file() and os.stat(leases.leases / "lock").st_uid == 0
        (leases.leases / "lock").unlink()
    assert target.read_text() == "secret" and os.stat(target).st_mode & 0o777 == 0o600
