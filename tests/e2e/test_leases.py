# SPDX-License-Identifier: Apache-2.0
"""Leases: `whirr run`, `reserve`, `lease`, and what `wait --gpu-free` gives away."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

import pytest
from isolation import WHIRR, environment
from waiting import ended, eventually, throughout

SIM = ["--source", "sim:scenario=idle,gpus=4"]
NOBODY = 65534


class Host:
    """A simulated host of four GPUs with a directory of leases."""

    def __init__(self, folder):
        self.leases, self.folder, self.started = folder / "leases", folder, []

    def env(self, **more):
        return environment(WHIRR_LEASE_DIR=str(self.leases), DIR=str(self.folder), **more)

    def __call__(self, *args, source=SIM, stdin=subprocess.DEVNULL, **more):
        return subprocess.run([WHIRR, *source, *map(str, args)], env=self.env(**more), capture_output=True, text=True, stdin=stdin)

    def start(self, *args, source=SIM, **more):
        self.started.append(subprocess.Popen([WHIRR, *source, *map(str, args)], env=self.env(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return self.started[-1]

    def hold(self, *args, name="held", **more):
        """A program that has a lease until the file `name` is gone, and says its PID in it."""
        path = self.folder / name
        process = self.start("run", *args, "--", "sh", "-c", f"echo $$ > {path}; while [ -e {path} ]; do sleep 0.02; done", **more)
        eventually(lambda: process.poll() is not None or (path.exists() and path.read_text().strip()))
        assert process.poll() is None, process.communicate()
        return process, int(path.read_text())

    def list(self):
        done = self("lease", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["leases"]

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for held in self.folder.glob("held*"):
            held.unlink(missing_ok=True)
        for process in self.started:
            process.communicate()


@pytest.fixture
def host(tmp_path):
    made = Host(tmp_path)
    yield made
    made.close()


def test_the_program_is_told_its_gpus_and_its_status_is_ours(host):
    done = host("run", "--gpus", "2", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $WHIRR_LEASE; exit 7")
    gpus, order, lease = done.stdout.split()
    assert done.returncode == 7 and re.fullmatch(r"SIMULATED\nwhirr: running on GPUs \d and \d\n", done.stderr)
    assert order == "PCI_BUS_ID" and len(gpus.split(",")) == 2 and all(gpu.startswith("GPU-") for gpu in gpus.split(","))
    assert host.list() == [] and not (host.leases / f"{lease}.json").exists()
    assert host("run", "--gpus", "1", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert host("run", "--gpus", "1", "--", "/nonexistent/program").returncode == 127
    assert host("run", "--gpus", "1", "--", "cat", stdin=subprocess.PIPE).returncode == 0


def test_other_makers_have_other_variables(host):
    show = ["run", "--gpus", "2", "--", "sh", "-c", "echo $ROCR_VISIBLE_DEVICES $HIP_VISIBLE_DEVICES $ZE_AFFINITY_MASK"]
    host.hold("--gpu", "0", source=["--source", "sim:scenario=idle,gpus=3,model=mi300x"])
    assert host(*show, source=["--source", "sim:scenario=idle,gpus=3,model=mi300x"]).stdout == "1,2 0,1\n"
    assert host(*show, source=["--source", "sim:scenario=idle,gpus=2,model=a770"]).stdout == "0,1\n"


def test_gpus_of_other_vendors_are_hidden_where_that_can_be_said(host):
    """HIP reads an empty HIP_VISIBLE_DEVICES as none at all, and Level Zero an empty mask as all GPUs."""
    show = ["sh", "-c", "echo \"${CUDA_VISIBLE_DEVICES-unset} ${ROCR_VISIBLE_DEVICES-unset} ${ZE_AFFINITY_MASK-unset}\""]
    mixed = {"source": ["--source", "sim:scenario=mixed"]}
    at = {name: host("run", "--gpu", str(gpu), "--vram", "1GiB", "--", *show, **mixed).stdout for gpu, name in enumerate(("rtx4090", "h100", "rx7900", "a770"))}
    assert re.fullmatch(r"GPU-\S+  unset\n", at["rtx4090"]) and re.fullmatch(r"GPU-\S+  unset\n", at["h100"])
    assert (at["rx7900"], at["a770"]) == (" 0 unset\n", "  0\n")


def test_what_was_reserved_is_in_the_list_of_undo(host):
    assert host("reserve", "--gpu", "0", "--for", "1h").returncode == 0
    assert "GPU 0  reserved" in host("undo", source=[]).stdout and len(host.list()) == 1
    assert "has ended" in host("undo", "1", source=[]).stdout and host.list() == []


def test_what_is_hidden_already_is_not_taken(host):
    def seen(value):
        return host("run", "--gpus", "1", "--timeout", "0", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", CUDA_VISIBLE_DEVICES=value)

    uuids = host("run", "--gpus", "4", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES").stdout.strip().split(",")
    assert seen("2").stdout.strip() == uuids[2]
    assert seen(uuids[3][:12]).stdout.strip() == uuids[3]
    assert seen("-1,2").returncode == 1 and "hides every GPU" in seen("").stderr
    more = host("run", "--gpus", "2", "--", "true", CUDA_VISIBLE_DEVICES="1")
    assert (more.returncode, more.stderr) == (1, "whirr: 2 GPUs are wanted, and there is only 1 that it may use\n")


def test_a_lease_is_seen_where_gpus_are(host):
    """Of a scenario of the simulator, and of a reservation."""
    reserved = ["--source", "sim:scenario=reserved"]
    assert re.search(r"^  GPUs 0, 1: reserved for alice until \S", host("status", source=reserved).stdout, re.M)
    assert re.search(r"^  GPU 1: reserved for alice until \S", host("status", "--gpu", "1", source=reserved).stdout, re.M)
    gpu, _ = json.loads(host("status", "--json", source=reserved).stdout)["gpus"]
    (lease,) = gpu["leases"]
    assert lease["user"] == "alice" and lease["reserved"] is True and lease["changes"] is None and lease["until"]
    assert [p["lease"] for p in gpu["processes"]] == [lease["id"], None]
    (listed,) = json.loads(host("lease", "--json", source=reserved).stdout)["leases"]
    assert listed["id"] == lease["id"] and len(listed["gpus"]) == 2 and listed["simulated"] is True
    refused = host("run", "--gpus", "1", "--timeout", "0", "--", "true", source=reserved)
    assert refused.returncode == 1 and "reserved for alice" in refused.stderr
    assert "reserved" not in host("status").stdout and host("reserve", "--gpu", "2", "--for", "1h").returncode == 0
    assert re.search(r"^  GPU 2: reserved for \w+ until \S", host("status").stdout, re.M)


def test_who_came_first_is_served_first(host):
    first, _ = host.hold("--gpus", "3")
    large = host.start("run", "--gpus", "4", "--", "sh", "-c", "echo large >> $DIR/order")
    eventually(lambda: len(host.list()) == 2)
    small = host.start("run", "--gpus", "1", "--", "sh", "-c", "echo small >> $DIR/order")
    eventually(lambda: len(host.list()) == 3)
    assert [lease["state"] for lease in host.list()] == ["active", "waiting", "waiting"]
    throughout(1, lambda: not (host.folder / "order").exists(), "one GPU is free, and it is kept for the one that waits for four")
    (host.folder / "held").unlink()
    assert ended(large) == 0 and ended(small) == 0 and ended(first) == 0
    assert (host.folder / "order").read_text() == "large\nsmall\n"


def test_it_gives_up_when_told_so(host):
    host.hold("--gpus", "4")
    done = host("run", "--gpus", "1", "--timeout", "0", "--", "true")
    assert done.returncode == 1 and done.stderr == "whirr: none of 4 GPUs is free; GPU 0 is leased to root (sh)\n".replace("root", host.list()[0]["user"])
    done = host("run", "--gpus", "1", "--timeout", "300ms", "--", "true")
    assert done.returncode == 1 and done.stderr.endswith("whirr: no room within 300ms\n")
    waits = host.start("run", "--gpus", "1", "--", "true")
    eventually(lambda: len(host.list()) == 2)
    waits.send_signal(signal.SIGINT)
    assert ended(waits) == -signal.SIGINT
    assert len(list(host.leases.glob("*.json"))) == 1, "its place in the queue went with it"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on(host, number):
    name = number.name[3:]
    process = host.start("run", "--gpus", "1", "--", "sh", "-c", f"trap 'exit 9' {name}; touch $DIR/ready; while :; do sleep 0.02; done")
    eventually((host.folder / "ready").exists)
    process.send_signal(number)
    assert ended(process) == 9


def test_a_program_that_ignores_hangups_keeps_its_lease(host):
    process = host.start("run", "--gpus", "1", "--", "sh", "-c", "trap '' HUP; touch $DIR/held; while [ -e $DIR/held ]; do sleep 0.02; done")
    eventually((host.folder / "held").exists)
    process.send_signal(signal.SIGHUP)
    throughout(0.5, lambda: process.poll() is None and len(host.list()) == 1)
    (host.folder / "held").unlink()
    assert ended(process) == 0


def test_the_room_is_held_while_the_program_runs_without_its_supervisor(host):
    supervisor, child = host.hold("--gpus", "4")
    supervisor.kill()
    ended(supervisor)
    throughout(0.5, lambda: [lease["pid"] for lease in host.list()] == [child])
    assert host("run", "--gpus", "1", "--timeout", "0", "--", "true").returncode == 1
    os.kill(child, signal.SIGKILL)
    eventually(lambda: host.list() == [])
    assert host("run", "--gpus", "4", "--", "true").returncode == 0
    assert list(host.leases.glob("*.json")) == [], "files of leases that have ended are swept"


def test_a_program_inside_of_a_lease_takes_no_other(host):
    inner = f"{WHIRR} {' '.join(SIM)} run --gpus 4 -- sh -c 'echo inner $WHIRR_LEASE'"
    done = host("run", "--gpus", "4", "--", "sh", "-c", f"echo outer $WHIRR_LEASE; {inner}")
    outer, inner = done.stdout.splitlines()
    assert done.returncode == 0 and outer.split()[1] == inner.split()[1]


def test_a_reservation_is_for_its_user_until_its_end(host):
    done = host("reserve", "--gpus", "4", "--for", "4h", "--note", "paper deadline")
    assert done.returncode == 0 and "reserved for" in done.stdout
    (lease,) = host.list()
    assert lease["note"] == "paper deadline" and lease["kind"] == "reserve" and len(lease["gpus"]) == 4
    refused = host("reserve", "--gpus", "1")
    assert refused.returncode == 1 and '"paper deadline"' in refused.stderr
    assert host("run", "--gpus", "1", "--timeout", "0", "--", "true").returncode == 0, "its own user may use it"
    # Another user's: as if the file were theirs.
    if os.geteuid() == 0:
        path = host.leases / f"{lease['id']}.json"
        path.write_text(json.dumps({**lease, "uid": NOBODY, "user": "alice"}))
        os.chown(path, NOBODY, NOBODY)
        refused = host("run", "--gpus", "1", "--timeout", "0", "--", "true")
        assert refused.returncode == 1 and refused.stderr.startswith('whirr: none of 4 GPUs is free; GPU 0 is reserved for nobody ("paper deadline") until '), "whom the file belongs to, not whom it names"
    assert host("lease", "end", lease["id"]).returncode == 0 and host.list() == []
    assert host("lease", "end", lease["id"]).returncode == 1


def test_a_reservation_ends_by_itself(host):
    assert host("reserve", "--gpus", "4", "--for", "1s").returncode == 0
    eventually(lambda: host.list() == [])


def test_a_reservation_to_come_leaves_room_for_what_ends_before(host):
    assert host("reserve", "--gpus", "4", "--from", "2h", "--for", "1h").returncode == 0
    other = host.list()[0]
    if os.geteuid() != 0:
        pytest.skip("needs files of another user")
    path = host.leases / f"{other['id']}.json"
    path.write_text(json.dumps({**other, "uid": NOBODY, "user": "alice"}))
    os.chown(path, NOBODY, NOBODY)
    assert host("run", "--gpus", "1", "--timeout", "0", "--", "true").returncode == 1
    assert host("run", "--gpus", "1", "--timeout", "0", "--for", "1h", "--", "true").returncode == 0
    assert host("run", "--gpus", "1", "--timeout", "0", "--for", "3h", "--", "true").returncode == 1


def test_the_lease_of_a_program_ends_with_it_alone(host):
    process, pid = host.hold("--gpus", "1")
    (lease,) = host.list()
    refused = host("lease", "end", lease["id"])
    assert refused.returncode == 1 and f"pid {pid}" in refused.stderr and process.poll() is None
    shown = host("lease", "show", lease["id"])
    assert shown.returncode == 0 and str(pid) in shown.stdout
    assert host("lease", "end", lease["id"], "--stop").returncode == 0
    assert ended(process) == 128 + signal.SIGTERM


def test_foreign_files_are_named_and_change_nothing(host):
    host.leases.mkdir(mode=0o1777)
    (host.leases / "notes.txt").write_text("milk")
    (host.leases / "abcdefgh.json").write_text('{"id": "abcdefgh", "kin')
    (host.leases / ".bcdefghj.new").write_text("{")
    listed = host("lease")
    assert "Not counted: notes.txt" in listed.stdout and "abcdefgh.json: it is broken" in listed.stdout
    assert host("run", "--gpus", "4", "--timeout", "0", "--", "true").returncode == 0
    assert (host.leases / "notes.txt").exists() and not (host.leases / ".bcdefghj.new").exists()


def test_a_directory_that_cannot_be_used_is_said(host, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run([WHIRR, *SIM, "run", "--gpus", "1", "--", "true"], env=environment(WHIRR_LEASE_DIR=str(tmp_path / "file" / "leases")), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "directory of leases" in done.stderr


def test_a_lock_that_is_never_given_back_names_who_has_it(host):
    host("run", "--gpus", "1", "--", "true")
    keeper = subprocess.Popen(["flock", str(host.leases / "lock"), "sh", "-c", f"echo $PPID > {host.leases}/lock; touch {host.folder}/locked; exec sleep 60"])
    try:
        eventually((host.folder / "locked").exists)
        done = host("run", "--gpus", "1", "--", "true")
        assert done.returncode == 1 and f"process {(host.leases / 'lock').read_text().strip()} has locked the leases" in done.stderr
    finally:
        keeper.terminate()
        ended(keeper)


PAIR = "gpu NVIDIA RTX 4090\n  total 24564\n  used 100\n" * 2


def test_room_given_by_wait_is_not_given_to_run(nvml, tmp_path):
    leases = {"WHIRR_LEASE_DIR": str(tmp_path / "leases")}
    assert nvml(PAIR, "wait", "--gpu-free", "20GiB", **leases).out == "0\n"
    run = ["run", "--vram", "20GiB", "--timeout", "0", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
    got = nvml(PAIR, *run, **leases)
    listed = nvml(PAIR, "lease", "--json", **leases).json()["leases"]
    assert got.code == 0 and [lease["kind"] for lease in listed] == ["wait"] and listed[0]["gpus"][0]["uuid"] != got.out.strip()
    assert nvml(PAIR, "wait", "--gpu-free", "20GiB", **leases).out == "1\n"
    assert nvml(PAIR, *run, **leases).code == 1


CLAIM = r"""
twice() { echo "$*" >> $DIR/twice; }
echo $$ > $DIR/pid.$N
for gpu in ${CUDA_VISIBLE_DEVICES//,/ }; do
    exec {fd}>> $DIR/$gpu
    if [ "$MODE" = alone ]; then
        flock -n -x $fd || twice $N has $gpu, and so has another
    else
        flock -n -s $fd || twice $N shares $gpu with one that has it alone
        exec {one}>> $DIR/$gpu.1 {two}>> $DIR/$gpu.2
        flock -n $one || flock -n $two || twice $N is the third on $gpu
    fi
done
sleep 0.0$((RANDOM % 90 + 10))
echo $N >> $DIR/done
"""


@pytest.mark.skipif(not shutil.which("flock") or not pathlib.Path("/bin/bash").exists(), reason="needs bash and flock")
def test_a_hundred_at_once_never_get_the_same_room(host):
    """Each of them locks what it was given, as a witness that is not whirr. A third of them is killed: supervisors, programs, those that wait."""
    chance = random.Random(32)
    runs = []
    for n in range(100):
        alone = n % 2
        wish = ["--gpus", 1 + chance.randrange(4)] if alone else ["--vram", "11GiB"]
        runs.append(host.start("run", *wish, "--", "bash", "-c", CLAIM, N=str(n), MODE="alone" if alone else "share"))
    killed = set()
    for n in chance.sample(range(100), 33):
        number = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        program = host.folder / f"pid.{n}"
        if chance.random() < 0.3 and program.exists() and program.read_text().strip():
            try:
                os.kill(int(program.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass
        else:
            runs[n].send_signal(number)
        killed.add(n)
    for n, run in enumerate(runs):
        out, err = run.communicate()
        assert n in killed or run.returncode == 0, (n, run.returncode, err)
    eventually(lambda: host.list() == [], explain=host.list)
    assert not (host.folder / "twice").exists(), (host.folder / "twice").read_text()
    done = {int(line) for line in (host.folder / "done").read_text().split()}
    assert done >= set(range(100)) - killed, "none was lost"
    assert host("run", "--gpus", "4", "--timeout", "0", "--", "true").returncode == 0, "all room is there again"


# ---- memory that the kernel holds a program to ----

def cgroups(folder, capacity="drm/0000:01:00.0/vram 25753026560\ndrm/0000:01:00.0/stolen 100\n"):
    """A host whose kernel limits memory of GPUs, in files."""
    for path, text in (("sys/fs/cgroup/cgroup.controllers", "cpu dmem memory\n"), ("sys/fs/cgroup/user.slice/cgroup.controllers", "dmem\n"),
                       ("sys/fs/cgroup/dmem.capacity", capacity), ("proc/self/cgroup", "0::/user.slice/shell.scope\n")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder / "sys/fs/cgroup/user.slice", ["--sysroot", str(folder), "--source", "sim:scenario=idle,gpus=1"]


def test_enforced_memory_is_a_group_of_its_own_before_the_program_begins(host, tmp_path):
    groups, source = cgroups(tmp_path / "root")
    done = host("run", "--vram", "2GiB", "--enforce", "--", "sh", "-c", f"cat {groups}/whirr-$$/dmem.max {groups}/whirr-$$/cgroup.procs; echo $$", source=source)
    limit, member, pid = done.stdout.splitlines()
    assert limit == f"drm/0000:01:00.0/vram {2 << 30}" and member == pid and done.returncode == 0
    assert (groups / "cgroup.subtree_control").read_text() == "+dmem"


@pytest.mark.parametrize("capacity, why", [("drm/0000:09:00.0/vram 100\n", "is not in /sys/fs/cgroup/dmem.capacity"),
                                           ("drm/0000:01:00.0/vram0 1\ndrm/0000:01:00.0/vram1 1\n", "has several memories")])
def test_memory_that_cannot_be_enforced_starts_nothing(host, tmp_path, capacity, why):
    groups, source = cgroups(tmp_path / "root", capacity)
    done = host("run", "--vram", "2GiB", "--enforce", "--", "touch", tmp_path / "ran", source=source)
    assert done.returncode == 1 and why in done.stderr and "without --enforce" in done.stderr
    assert not (tmp_path / "ran").exists() and not list(groups.glob("whirr-*")) and host.list() == []


def test_a_kernel_without_such_limits_is_named(host, tmp_path):
    (tmp_path / "root").mkdir()
    done = host("run", "--vram", "2GiB", "--enforce", "--", "true", source=["--sysroot", str(tmp_path / "root"), *SIM])
    assert done.returncode == 1 and "Linux 6.14" in done.stderr
    assert host("run", "--enforce", "--", "true").returncode == 2
