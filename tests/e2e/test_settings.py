# SPDX-License-Identifier: Apache-2.0
"""Settings of GPUs that are changed with a way back: `whirr limit`, `clocks`, `fan`, `quiet`, and the helper whirr-control, on a fake driver that
keeps what was set when programs end."""
import glob
import grp
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from isolation import WHIRR, environment
from ports import free_port
from settings_host import CONTROL, FAKE, SCRIPT, SettingsHost
from waiting import eventually

FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib*/faketime/libfaketimeMT.so.1")), None)


@pytest.fixture
def host():
    made = SettingsHost(pathlib.Path(environment()["HOME"]))  # short: it has a socket
    yield made
    made.close()


def test_a_dry_run_shows_everything_and_changes_nothing(host):
    done = host("limit", "330W", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "450 W -> 330 W  (range 150 W to 600 W)" in done.stdout
    assert "nvidia-smi -i 0000:01:00.0 -pl 330" in done.stdout
    assert "drawing 280 W now" in done.stdout
    answer = json.loads(host("quiet", "--dry-run", "--json").stdout)
    assert [(c["what"], c["now"], c["new"]) for c in answer["changes"]] == [("power_limit", "450 W", "238 W"), ("acoustic_target", "83 °C", "73 °C")]
    assert not host.values.exists() and not host.files()


def test_what_the_gpu_does_not_take_is_refused_with_its_range(host):
    done = host("limit", "100W")
    assert done.returncode == 1 and "150 W to 600 W" in done.stderr
    assert host("limit", "many").returncode == 2
    assert host("limit", "330W", "--for", "soon").returncode == 2
    assert host("limit", "330W", "--for", "1h", "--", "true").returncode == 2
    assert not host.values.exists() and not host.files()


def test_a_limit_stays_until_its_lease_is_ended(host):
    assert host("limit", "330W").returncode == 0
    assert host.value() == 330000
    listed = host("lease")
    assert "power limit 330 W (was 450 W)" in listed.stdout
    assert "\n  GPU 0: power limit 330 W\n" in host("status").stdout
    (lease,) = json.loads(host("status", "--json").stdout)["gpus"][0]["leases"]
    assert lease["changes"] == "power limit 330 W" and lease["until"] is None
    recording = host.folder / "recording"
    assert host("record", "--quiet", "--interval", "0.1", "--duration", "0.3", recording).returncode == 0
    again = host("limit", "300W")
    assert again.returncode == 1 and "already" in again.stderr and host.value() == 330000
    name = host.files()[0].removesuffix(".json")
    assert host("lease", "end", name).returncode == 0
    assert host.value() == 450000 and not host.files()
    assert "\n  GPU 0: power limit 330 W\n" in host("status", "--source", f"replay:{recording}").stdout


def test_stock_ends_the_lease_and_leaves_none(host):
    host.set("power_limit", 400000)
    assert host("limit", "330W").returncode == 0
    assert host("limit", "stock").returncode == 0
    assert host.value() == 450000 and not host.files()


def test_a_limit_of_a_command_ends_with_it(host):
    done = host("limit", "75%", "--", "sh", "-c", f"cat {host.values}; exit 3")
    assert done.returncode == 3 and "0 power_limit 337000" in done.stdout
    assert host.value() == 450000 and not host.files()
    assert host("limit", "330W", "--", "/no/such/program").returncode == 127
    assert host.value() == 450000 and not host.files()



def test_a_program_can_be_ended_as_if_it_was_started_by_hand(host):
    """SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGCHLD are neither blocked nor, but for what nohup leaves, ignored."""
    waited = sum(1 << number - 1 for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD))
    for through, ignored in (([], 0), (["nohup"], 1 << signal.SIGHUP - 1)):
        done = subprocess.run([*through, WHIRR, "--source", "nvml", "limit", "330W", "--", "cat", "/proc/self/status"], env=host.env(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        masks = dict(re.findall(r"^Sig(Blk|Ign):\s*(\w+)", done.stdout, re.M))
        assert int(masks["Blk"], 16) & waited == 0, done.stdout
        assert int(masks["Ign"], 16) & waited == ignored, done.stdout


def test_what_another_program_sets_meanwhile_is_left(host):
    host.set("power_limit", 420000)
    done = host("limit", "330W", "--", "sh", "-c", f"echo 0 power_limit 250000 > {host.values}")
    assert done.returncode == 0
    assert host.value() == 250000 and not host.files()


def test_the_old_value_is_what_was_requested_not_what_is_stock(host):
    host.set("power_limit", 420000)
    assert host("limit", "330W", "--", "true").returncode == 0
    assert host.value() == 420000


def test_a_fan_is_given_back_when_it_becomes_hot(host):
    process = host.start("--source", "nvml", "fan", "45%")
    eventually(lambda: host.value("fan_manual0", 0) == 1)
    host.script(SCRIPT.replace("temperature 55", "temperature 86"))
    eventually(lambda: host.value("fan_manual0", 0) == 0)
    assert process.wait(30) == 0
    assert "86 °C" in process.stderr.read()
    assert host.value("fan_manual1", 0) == 0 and not host.files()


def test_a_signal_puts_the_old_value_back(host):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process = host.start("--source", "nvml", "limit", "330W", "--for", "1h")
        eventually(lambda: host.value() == 330000)
        process.send_signal(number)
        process.wait(30)
        assert host.value() == 450000 and not host.files()


def test_kill_9_is_put_back_without_a_helper(host):
    process = host.start("--source", "nvml", "limit", "330W", "--for", "1h")
    eventually(lambda: host.value() == 330000 and host.files())
    process.kill()
    process.wait()
    eventually(lambda: host.value() == 450000 and not host.files())


def test_without_confirmation_it_is_undone(host):
    done = host("limit", "330W", "--confirm", "200ms")
    assert done.returncode == 1 and "not confirmed" in done.stderr
    assert host.value() == 450000 and not host.files()


@pytest.mark.parametrize("script, words", [("  power_limit na\n", "laptops"), ("  virtualization 2\n", "virtual GPU"), ("  mig 1\n", "MIG"), ("  settable 0\n", "Insufficient Permissions")])
def test_gpus_that_refuse_say_why(host, script, words):
    host.script(SCRIPT + script)
    done = host("limit", "330W")
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert host.value() == 450000 and not host.files()


def finished(host, before):
    """However it ended: after one more command the GPU is as it was, and the journal empty."""
    host.restore()
    assert host.value() == before, host.values.read_text()
    assert [host.value(key, 0) for key in ("fan_manual0", "fan_manual1", "clock_low", "clock_high")] == [0, 0, 0, 0]
    assert host.value("target", 83) == 83
    assert host.files() == []


@pytest.mark.parametrize("words", [("limit", "330W"), ("fan", "45%"), ("clocks", "1400-1800"), ("quiet",)])
def test_killed_before_each_call_into_the_driver(host, words):
    """Also the process that watches over it is killed at that call: the journal alone has to do."""
    host.set("power_limit", 420000)
    for call in range(1, 400):
        done = host(*words, "--", "true", WHIRR_FAKE_NVML_KILL=call)
        finished(host, 420000)
        if done.returncode == 0:
            break
    assert done.returncode == 0 and call > 20


def test_each_call_into_the_driver_fails_in_turn(host):
    host.set("power_limit", 420000)
    outcomes = []
    for call in range(1, 180):
        host.script(f"fail {call} 999\n" + SCRIPT)
        outcomes.append(host("limit", "330W", "--", "true").returncode)
        host.script(SCRIPT)
        finished(host, 420000)
    assert 1 in outcomes and outcomes[-1] == 0  # some were felt, and behind the last call there is none to fail


def test_killed_at_random(host):
    """Two hundred times: the final value is always right, the journal never wrong."""
    host.set("power_limit", 420000)
    dice = random.Random(32)
    seen = set()
    for _ in range(int(os.environ.get("WHIRR_KILLS", "200"))):
        process = subprocess.Popen([WHIRR, "--source", "nvml", "limit", "330W", "--", "true"], env=host.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + dice.uniform(0, 0.12)
        while time.monotonic() < deadline and process.poll() is None:
            seen.add(host.value())
        process.kill()
        process.wait()
        finished(host, 420000)
    assert seen <= {420000, 330000}


# ---- the helper ----

def test_the_helper_keeps_a_lease_and_ends_it_in_time(host):
    host.helper()
    done = host("limit", "330W", "--for", "3s")
    assert done.returncode == 0, done.stderr
    assert host.value() == 330000 and len(host.files()) == 1
    eventually(lambda: host.value() == 450000 and not host.files())


def test_the_helper_puts_back_when_it_is_stopped(host):
    helper = host.helper()
    assert host("limit", "330W", "--for", "1h").returncode == 0
    helper.terminate()
    assert helper.wait(30) == 0
    assert host.value() == 450000 and not host.files()


def test_after_kill_9_of_the_helper_its_unit_or_its_next_start_puts_back(host):
    for again in ("--restore", "--listen"):
        helper = host.helper()
        assert host("limit", "330W", "--for", "1h").returncode == 0
        for watchdog in host.watchdogs(helper):  # else it would have put it back already
            os.kill(watchdog, signal.SIGKILL)
        helper.kill()
        helper.wait()
        assert host.value() == 330000
        if again == "--restore":
            host.restore()
        else:
            (host.folder / "sock").unlink()
            host.helper()
        eventually(lambda: host.value() == 450000 and not host.files())
        (host.folder / "sock").unlink(missing_ok=True)


def test_a_helper_that_ends_well_leaves_what_a_running_program_of_root_holds(host):
    program = host.start("--source", "nvml", "limit", "330W", "--", "sleep", "60")
    eventually(lambda: host.value() == 330000)
    host.restore(SERVICE_RESULT="success", EXIT_STATUS="0")
    assert host.value() == 330000 and len(host.files()) == 1 and program.poll() is None
    host.restore(SERVICE_RESULT="core-dump")
    assert host.value() == 450000 and not host.files()


def test_after_kill_9_of_the_helper_its_watchdog_puts_back(host):
    helper = host.helper()
    assert host("limit", "330W", "--for", "1h").returncode == 0
    helper.kill()
    eventually(lambda: host.value() == 450000 and not host.files())


def test_the_helper_sets_again_what_a_lost_gpu_forgot(host):
    host.helper()
    assert host("limit", "330W", "--for", "1h").returncode == 0
    host.script("fail nvmlDeviceGetPowerManagementLimit 15\n" + SCRIPT)
    host.set("power_limit", 450000)
    time_of_two_looks = time.monotonic() + 5
    eventually(lambda: time.monotonic() > time_of_two_looks)
    host.script(SCRIPT)
    eventually(lambda: host.value() == 330000)
    assert len(host.files()) == 1


def test_what_another_program_sets_while_the_gpu_was_away_is_left(host):
    host.helper()
    assert host("limit", "330W", "--for", "1h").returncode == 0
    host.script("fail nvmlDeviceGetPowerManagementLimit 15\n" + SCRIPT)
    time_of_two_looks = time.monotonic() + 5
    eventually(lambda: time.monotonic() > time_of_two_looks)
    host.set("power_limit", 380000)
    host.script(SCRIPT)
    eventually(lambda: not host.files())
    assert host.value() == 380000


@pytest.mark.parametrize("step", ["written", "active", "restoring"])
def test_what_another_program_sets_after_a_crash_is_left(host, step):
    """The process died at this step: only what can be told from another program's value is put back."""
    made = host("limit", "330W", "--json")
    file = host.journal / host.files()[0]
    for value, restored in ((380000, 380000), (330000, 450000), (335000, 335000 if step == "active" else 450000)):
        host.set("power_limit", value)
        file.write_text(json.dumps({**json.loads(made.stdout)["lease"], "settings": [{**json.loads(made.stdout)["lease"]["settings"][0], "step": step}]}))
        assert host("lease", "end", file.stem).returncode == 0
        assert host.value() == restored and not host.files(), value


@pytest.mark.skipif(not FAKETIME, reason="no libfaketime (Debian: faketime)")
def test_a_clock_that_is_set_back_prolongs_nothing(host):
    clock = host.folder / "clock"
    clock.write_text("+0")
    host.start("--listen", program=CONTROL, LD_PRELOAD=FAKETIME, FAKETIME_TIMESTAMP_FILE=clock, FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1",
               ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
    eventually((host.folder / "sock").exists)
    assert host("limit", "330W", "--for", "2s").returncode == 0
    clock.write_text("-365d")
    eventually(lambda: host.value() == 450000 and not host.files())


def test_the_helper_yields_to_another_program(host):
    host.helper()
    assert host("limit", "330W", "--for", "1h").returncode == 0
    host.set("power_limit", 300000)
    eventually(lambda: not host.files())
    assert host.value() == 300000


def test_the_helper_refuses_nonsense_and_goes_on(host):
    import socket
    helper = host.helper()
    for line in (b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"op": "set"}\n', b'{"op": "end", "id": "../../etc"}\n',
                 b'{"op": "set", "settings": [{"gpu": "x", "gpu_index": 0, "what": "power_limit", "low": 0, "high": 0}]}\n',
                 b'{"op": "set", "settings": [{"gpu": "GPU-00000000-1111-2222-3333-444444444444", "gpu_index": 0, "what": "power_limit", "low": 1, "high": 1}]}\n'):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(host.folder / "sock"))
            s.settimeout(30)
            s.sendall(line)
            assert json.loads(s.makefile().readline())["ok"] is False
    with socket.socket(socket.AF_UNIX) as s:  # more than a request can have
        s.connect(str(host.folder / "sock"))
        s.settimeout(30)
        try:
            s.sendall(b"x" * 100000)
            assert s.recv(1) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert helper.poll() is None and host.value() == 450000
    assert host("limit", "330W", "--for", "1h").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_the_journal_is_where_only_its_owner_writes(host):
    assert host("limit", "330W").returncode == 0
    (name,) = host.files()
    assert not list(host.leases.glob("*.json")) and os.stat(host.journal).st_mode & 0o022 == 0
    # One in the directory of leases of GPUs does not count, even if root owns it.
    host.leases.mkdir(mode=0o700)
    (host.leases / name).write_text((host.journal / name).read_text())
    (host.journal / name).unlink()
    listed = json.loads(host("lease", "--json").stdout)
    assert listed["leases"] == [] and any("not written down here" in problem for problem in listed["problems"])
    # Nor does one in a directory that others may write.
    (host.journal / name).write_text((host.leases / name).read_text())
    assert len(json.loads(host("lease", "--json").stdout)["leases"]) == 1
    host.journal.chmod(0o777)
    assert json.loads(host("lease", "--json").stdout)["leases"] == []


def ask_helper(host, **user):
    """What the helper says to another user who ends a lease that is not there."""
    host.folder.chmod(0o711)
    for folder in (host.folder, *host.folder.parents):
        if os.stat(folder).st_mode & 0o001 == 0:
            pytest.skip("another user cannot reach the folder of the test")
    ask = ("import socket; s = socket.socket(socket.AF_UNIX); s.connect('%s'); s.settimeout(30); f = s.makefile('rw'); f.write('{\"op\": \"end\", \"id\": \"abcdefgh\"}\\n'); f.flush(); print(f.readline())" % (host.folder / "sock"))
    done = subprocess.run(["/usr/bin/python3", "-c", ask], user=pwd.getpwnam("nobody").pw_uid, capture_output=True, text=True, timeout=60, **user)
    assert '"ok": false' in done.stdout or '"ok":false' in done.stdout, done.stderr
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_other_users_are_refused_until_they_are_allowed(host):
    host.helper()
    assert "[control] allow" in ask_helper(host)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_members_of_the_group_may_change_settings_and_nobody_else(host):
    members, others = grp.getgrnam("games").gr_gid, grp.getgrnam("nogroup").gr_gid
    host.start("--listen", program=CONTROL, WHIRR_CONTROL_ALLOW="true", WHIRR_CONTROL_GROUP="games")
    eventually(lambda: (host.folder / "sock").exists())
    refused = "only root and members of the group"
    assert refused in ask_helper(host, group=others, extra_groups=[])
    assert refused not in ask_helper(host, group=members, extra_groups=[])
    assert refused not in ask_helper(host, group=others, extra_groups=[members])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_a_group_that_is_not_there_has_no_members(host):
    host.start("--listen", program=CONTROL, WHIRR_CONTROL_ALLOW="true", WHIRR_CONTROL_GROUP="no-such-group-here")
    eventually(lambda: (host.folder / "sock").exists())
    assert "only root and members of the group" in ask_helper(host, group=grp.getgrnam("nogroup").gr_gid, extra_groups=[])


LOUD = "gpu NVIDIA GeForce RTX 4090\n  gpu_util 97\n  temperature 74\n  power 430000\n  fan 85\n  rpm 2500\n  used 8000\n  pstate 2\n  graphics 2520\n  sm 2520\n  memory 10501\n  throttle 4\n  process 1 compute 4000 96 40 0 0\n"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_advice_is_what_this_user_may_do(host):
    host.script(LOUD)
    words = "To make it quieter for 2 hours: whirr quiet --gpu 0 --for 2h"
    assert words in host("why").stdout
    host.folder.chmod(0o755)
    library = shutil.copy(FAKE, host.folder)  # a checkout may be closed to other users
    other = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--regid", "65534", "--", WHIRR, "--source", "nvml", "why"], env=host.env(WHIRR_NVML_LIBRARY=library), capture_output=True, text=True, timeout=60)
    if other.returncode == 126 or other.returncode == 127:
        pytest.skip("another user cannot reach the program")
    assert words not in other.stdout and "nvidia-smi -i 0 -pl" in other.stdout, other.stderr


def test_what_is_for_a_person_is_not_done(host):
    host.script(SCRIPT.replace("temperature 55", "temperature 93"))
    advised = json.loads(host("why", "--json").stdout)["gpus"][0]["remedies"]
    number = next(r["number"] for r in advised if r["kind"] in ("physical", "hint"))
    host("why")
    done = host("do", number, "--yes")
    assert done.returncode == 1 and "that is for a person; whirr can't do it" in done.stderr, (advised, done.stdout, done.stderr)


# ---- tune ----

LOAD = """
while :; do
    limit=450000
    while read -r gpu what value; do [ "$what" = power_limit ] && limit=$value; done < $VALUES
    power=$limit; [ $power -gt 430000 ] && power=430000
    rate=100; [ $limit -lt 400000 ] && rate=98; [ $limit -lt 300000 ] && rate=70; [ $limit -lt 200000 ] && rate=20
    printf 'gpu NVIDIA GeForce RTX 4090\\n  temperature 55\\n  power %s\\n' $power > $FOLDER/load.new
    mv $FOLDER/load.new $FOLDER/script
    echo "step 7 $rate.0 it/s"
    sleep 0.03
done 2> /dev/null
"""
QUICK = ["--warmup", "0.3s", "--settle", "0.2s", "--measure", "0.5s", "--steps", "4"]


def tune(host, *args, load=LOAD, rate="it/s"):
    return ["--source", "nvml", "tune", *QUICK, *args, "--rate", rate, "--", "sh", "-c", load]


def variables(host):
    return {"VALUES": host.values, "FOLDER": host.folder}


def test_tune_finds_the_limit_that_costs_little_speed(host):
    done = host(*tune(host, "--json"), **variables(host))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [p["limit_watts"] for p in answer["points"]] == [450, 350, 250, 150]
    assert [round(p["work"]) for p in answer["points"]] == [100, 98, 70, 20]
    assert answer["work"] == "rate" and answer["complete"] is True and answer["load_changed"] is False
    assert answer["knee"]["limit_watts"] == 350 and answer["knee"]["speed_share"] == pytest.approx(0.98, abs=0.005)
    assert answer["knee"]["energy_share"] == pytest.approx(350 / 98 / (430 / 100), abs=0.01)
    assert answer["answer"] == "at 350 of 450 W it keeps 98% of its speed and saves 17% of its energy"
    assert host.value() == 450000 and not host.files()
    assert "step 7 100.0 it/s" in done.stderr, "what the program prints goes to stderr"


def test_tune_for_people_keeps_what_it_is_told(host):
    host.set("power_limit", 400000)
    done = host(*tune(host, "--keep", "60", rate="tokens/s", load=LOAD.replace("$rate.0 it/s", "tokens/s: $rate, loss 3.2")), **variables(host))
    assert done.returncode == 0, done.stderr
    assert "At 230 of 400 W it keeps 70% of its speed and saves" in done.stdout and "To keep that: whirr set power 230W --gpu 0\n" in done.stdout
    assert host.value() == 400000 and not host.files()


def test_a_dry_run_of_tune_starts_and_changes_nothing(host):
    done = host(*tune(host, "--dry-run", load=f"touch {host.folder}/ran"))
    assert done.returncode == 0 and "power limits of 450, 350, 250, 150 W; takes" in done.stdout
    assert not (host.folder / "ran").exists() and not host.values.exists() and not host.files()
    assert host("tune").returncode == 2 and host("tune", "--server", "x", "--", "true").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_tune_that_is_stopped_puts_the_old_limit_back(host, number):
    process = host.start(*tune(host, "--measure", "60s"), **variables(host))
    eventually(lambda: host.value() == 450000 and host.files())
    eventually(lambda: '"step":"active"' in (host.journal / host.files()[0]).read_text())
    process.send_signal(number)
    assert process.wait(60) != 0
    eventually(lambda: host.value() == 450000 and not host.files())


def test_tune_yields_to_another_program(host):
    process = host.start(*tune(host, "--measure", "60s"), **variables(host))
    eventually(lambda: host.files() and '"step":"active"' in (host.journal / host.files()[0]).read_text())
    host.set("power_limit", 222000)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "another program has changed the power limit" in err
    assert host.value() == 222000 and not host.files()


def test_tune_of_a_load_that_ends_or_says_nothing(host):
    done = host(*tune(host, load="echo 5 it/s; sleep 0.5"), **variables(host))
    assert done.returncode == 1 and "the program has ended" in done.stderr
    done = host(*tune(host, load="while :; do sleep 1; done"), **variables(host))
    assert done.returncode == 1 and "printed no number beside 'it/s'" in done.stderr
    done = host("tune", "--server", "nobody")
    assert done.returncode == 1 and "no process 'nobody'" in done.stderr
    assert host.value() == 450000 and not host.files()


@pytest.mark.skipif(not shutil.which("setpriv") or os.geteuid() != 0, reason="needs root and setpriv")
def test_tune_through_the_helper(host):
    """A process without the right to change settings."""
    (host.folder / "libnvidia-ml.so.1").symlink_to(FAKE)  # of the driver's library alone it is known who may
    weak = ["setpriv", "--bounding-set", "-sys_admin", "--", WHIRR, *tune(host, "--json")]
    env = host.env(WHIRR_NVML_LIBRARY="libnvidia-ml.so.1", LD_LIBRARY_PATH=host.folder, **variables(host))

    def run():
        return subprocess.run(weak, env=env, capture_output=True, text=True, timeout=90)

    done = run()
    assert done.returncode == 1 and "needs root" in done.stderr and not host.files()
    host.helper()
    done = run()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["knee"]["limit_watts"] == 350
    assert host.value() == 450000 and not host.files()


def test_over_http_a_token_with_the_role_may_and_it_is_put_back(host):
    """The daemon itself may change nothing: the helper does it, and checks again."""
    helper = host.helper()
    port = free_port()
    daemon = host.start("--source", "nvml", "serve", "--listen", f"127.0.0.1:{port}", "--socket", "none", "--store", "none", "--interval", "0.2", WHIRR_CONTROL_ALLOW="true")
    tokens = {role: host("token", "new", role, "--role", role).stdout.strip() for role in ("control", "read")}

    def ask(body, role="control"):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/leases/settings", json.dumps(body).encode(), {"Authorization": f"Bearer {tokens[role]}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)
        except OSError:
            return 0, None

    eventually(lambda: ask({"gpu": 0}, "read")[0] == 403 and ask({})[0] == 400, explain=lambda: daemon.poll())  # 503 until it has looked
    limit = {"gpu": 0, "what": "power_limit", "value": "330W", "for_seconds": 3600}
    assert ask(limit, "read")[1]["error"]["code"] == "role_needed" and host.value() != 330000
    for wrong in ({}, {**limit, "gpu": 9}, {**limit, "for_seconds": 0}, {**limit, "what": "voltage"}, {**limit, "value": ""}, {**limit, "gpu": "0"}):
        assert ask(wrong)[0] == 400, wrong
    status, said = ask({**limit, "value": "100W"})
    assert status == 400 and "150 W to 600 W" in said["error"]["message"], said
    status, said = ask(limit)
    assert status == 201 and said["lease"]["kind"] == "setting" and said["lease"]["command"] == "control" and host.value() == 330000, said
    assert host("lease", "end", said["lease"]["id"]).returncode == 0 and host.value() == 450000
    assert ask({"gpu": 0, "what": "quiet", "for_seconds": 60})[0] == 201 and host.value() == 238000
    helper.kill()
    helper.wait()
    host.restore()
    assert host.value() == 450000
    status, said = ask(limit)
    assert status == 503 and "whirr-control.socket" in said["error"]["message"] and host.value() == 450000, said
