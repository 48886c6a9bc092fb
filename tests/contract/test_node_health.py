# SPDX-License-Identifier: Apache-2.0
"""whirr node-health: what schedulers are told of a node, and what is left as others set it."""
import json
import os
import re
import subprocess
import time

import pytest
from isolation import WHIRR, environment, run_whirr
from kubernetes import api_server
from waiting import PATIENCE, eventually, patience

LOST, WELL = "sim:scenario=idle,gpus=2,fault=lost@1", "sim:scenario=idle,gpus=2"
AT_ONCE = ("--recover-after", "0")


@pytest.fixture
def api(tmp_path):
    with api_server(tmp_path) as server:
        yield server


SETTLED = ("--settle", "0")  # the program has just been built: whirr drains nothing in a version's first hour


def node_health(source, *args, settled=SETTLED, **env):
    return run_whirr("node-health", "--source", source, *settled, *args, **env)


def test_the_exit_status_is_enough_for_a_script():
    well, lost = node_health(WELL, "--node", "n"), node_health(LOST, "--node", "n")
    assert well.returncode == 0 and "n is fit for work: 2 GPUs" in well.stdout, well
    assert lost.returncode == 1 and "n is unfit for work: GPU 1 is lost" in lost.stdout, lost
    body = json.loads(node_health(LOST, "--json").stdout)
    assert body["fit"] is False and body["code"] == "lost" and body["changes"] == [] and body["simulated"] is True
    missing = node_health(WELL, "--gpus", "3", "--json")
    assert missing.returncode == 1 and json.loads(missing.stdout)["code"] == "gpus_missing"
    assert node_health(WELL, "--gpus", "2").returncode == 0


def test_what_cannot_be_judged_is_neither_fit_nor_unfit(api, tmp_path):
    (tmp_path / "bare/proc").mkdir(parents=True)
    api.node["metadata"]["annotations"]["whirr/taint"] = "lost:NoSchedule"
    api.node["spec"]["taints"].append({"key": "whirr/gpu-unhealthy", "value": "lost", "effect": "NoSchedule"})
    done = run_whirr("node-health", "--sysroot", tmp_path / "bare", *SETTLED, *api.options, *AT_ONCE)
    assert done.returncode == 3 and "can't be judged: no GPU was found" in done.stdout, done
    assert api.condition()["status"] == "Unknown" and api.condition()["reason"] == "NotJudged" and api.taint()


@pytest.mark.parametrize("fault, code", [("lost@1", "lost"), ("ecc@1", "driver_verdict"), ("xid95@1", "xid"), ("link4@1", None)])
def test_only_what_forbids_work_makes_it_unfit(fault, code):
    body = json.loads(node_health(f"sim:scenario=training,gpus=2,fault={fault}", "--json").stdout)
    assert (body["fit"], body["code"]) == ((True, None) if code is None else (False, code)), body


def test_a_condition_and_a_taint_come_and_go(api):
    first = node_health(LOST, *api.options)
    assert first.returncode == 1 and "condition GpuUnhealthy=True (Lost)" in first.stdout and "taint whirr/gpu-unhealthy=lost:NoSchedule" in first.stdout, first
    assert api.taint() == {"key": "whirr/gpu-unhealthy", "value": "lost", "effect": "NoSchedule"}
    condition = api.condition()
    assert condition["status"] == "True" and condition["reason"] == "Lost" and "GPU 1 is lost" in condition["message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", condition["lastTransitionTime"])
    count = len(api.patches())
    again = node_health(LOST, *api.options)
    assert again.returncode == 1 and len(api.patches()) == count and "taint" not in again.stdout  # nothing is said twice
    stays = node_health(WELL, *api.options)
    assert stays.returncode == 0 and api.taint() and api.condition()["status"] == "False" and "stays until the GPUs have been well for 5m" in stays.stdout, stays
    back = node_health(WELL, *api.options, *AT_ONCE)
    assert back.returncode == 0 and not api.taint() and "taint whirr/gpu-unhealthy removed" in back.stdout
    assert api.node["metadata"]["annotations"] == {"other": "kept"} and [t["key"] for t in api.node["spec"]["taints"]] == ["others"]
    assert api.node["spec"]["taints"][0]["timeAdded"] and api.node["status"]["conditions"][0] == {"type": "Ready", "status": "True", "reason": "KubeletReady"}


def test_it_comes_back_when_the_node_has_said_for_long_enough_that_it_is_well(api):
    """Also where no daemon remembers: the condition does."""
    node_health(LOST, *api.options)
    node_health(WELL, *api.options)
    api.condition()["lastTransitionTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 400))
    node_health(WELL, *api.options)
    assert not api.taint()


def test_a_dry_run_changes_nothing(api):
    done = node_health(LOST, *api.options, "--dry-run")
    assert done.returncode == 1 and "dry run: taint whirr/gpu-unhealthy=lost:NoSchedule" in done.stdout and not api.patches(), done


def test_what_others_set_stays(api):
    api.node["spec"]["taints"].append({"key": "whirr/gpu-unhealthy", "value": "maintenance", "effect": "NoSchedule"})
    for source in (LOST, WELL):
        done = node_health(source, *api.options, *AT_ONCE)
        assert "was not set by whirr" in done.stdout and api.taint()["value"] == "maintenance", done


def test_a_change_by_others_in_between_is_kept(api):
    def meanwhile():
        api.version += 1
        api.node["spec"]["taints"].append({"key": "meanwhile", "effect": "NoSchedule"})
    api.before_patch = meanwhile
    done = node_health(LOST, *api.options)
    assert done.returncode == 1 and {t["key"] for t in api.node["spec"]["taints"]} == {"others", "meanwhile", "whirr/gpu-unhealthy"}, done


def test_no_taint_is_set_where_none_is_wanted(api):
    node_health(LOST, *api.options, "--effect", "none")
    assert not api.taint() and api.condition()["status"] == "True" and "whirr/taint" not in api.node["metadata"]["annotations"]
    node_health(LOST, *api.options, "--effect", "NoExecute")
    assert api.taint()["effect"] == "NoExecute"
    node_health(LOST, *api.options, "--effect", "PreferNoSchedule")
    assert [t["effect"] for t in api.node["spec"]["taints"] if t["key"] == "whirr/gpu-unhealthy"] == ["PreferNoSchedule"]


@pytest.mark.parametrize("answers, said", [
    ([(500, b"{}"), (503, b"oops"), (429, b"")], None),
    ([(401, b'{"kind": "Status", "message": "Unauthorized"}')], "does not accept the token"),
    ([(403, b'{"kind": "Status", "message": "nodes is forbidden"}')], "may not get nodes (403): nodes is forbidden; give it the ClusterRole whirr-node-health"),
    ([(404, b"{}")], "has no node 'node-7'"),
    ([(200, b"<html>hello</html>")], "is not a Kubernetes API server"),
    ([(200, b'{"kind": "Pod"}')], "is not a Kubernetes API server"),
    ([(301, b"")], "answered 301"),
])
def test_what_the_api_answers_is_explained_or_tried_again(api, answers, said):
    api.answers = list(answers)
    done = node_health(WELL, *api.options)
    if said is None:
        assert done.returncode == 0 and api.condition()["status"] == "False", done
    else:
        assert done.returncode == 3 and said in done.stderr and "fit for work" in done.stdout and not api.patches(), done


@pytest.mark.parametrize("answers", [[None], [(500, b"{}")] * 99, [(409, b"{}")] * 99])
def test_an_api_that_hangs_or_always_fails_takes_no_longer_than_it_may(api, answers):
    api.answers = answers
    begin = time.monotonic()
    done = node_health(LOST, *api.options, "--timeout", "1s")
    assert done.returncode == 1 and re.search(r"can't be reached|answered 500|changed by others", done.stderr), done
    assert time.monotonic() - begin < patience(20)


def test_without_the_right_for_taints_the_condition_is_still_set(api):
    api.rights.discard("patch nodes")
    done = node_health(LOST, *api.options)
    assert done.returncode == 1 and "may not patch nodes (403)" in done.stderr and "condition GpuUnhealthy=True" in done.stdout and "taint" not in done.stdout, done
    assert api.condition()["status"] == "True"


def test_the_token_goes_to_no_one_else(api, tmp_path):
    """Not to a server with another certificate, and not without TLS."""
    with api_server_beside(tmp_path) as other:
        done = node_health(LOST, *api.options, "--api", f"https://127.0.0.1:{other.port}", "--timeout", f"{patience(5):.0f}s")  # enough for a certificate to be seen
        assert done.returncode == 1 and "certificate" in done.stderr and not other.requests, done
    plain = node_health(LOST, *api.options, "--api", "http://10.0.0.1:80")
    assert plain.returncode == 2 and "only https" in plain.stderr


def api_server_beside(tmp_path):
    (tmp_path / "other").mkdir()
    return api_server(tmp_path / "other")


@pytest.mark.parametrize("args, said", [
    (("--kubernetes", "--node", "n"), "this is not a pod"), (("--kubernetes", "--api", "https://127.0.0.1:1"), "NODE_NAME"), (("--kubernetes", "--slurm"), "can't be combined"),
    (("--gpus", "none"), "--gpus"), (("--recover-after", "soon"), "--recover-after"), (("--kubernetes", "--node", "n", "--api", "ftp://x"), "https://HOST:PORT")])
def test_wrong_usage_is_explained(args, said):
    done = node_health(WELL, *args)
    assert done.returncode == 2 and said in done.stderr, done


def test_a_token_that_is_not_there_is_named(api, tmp_path):
    done = node_health(WELL, *api.options, "--token-file", tmp_path / "nothing")
    assert done.returncode == 3 and "cannot read the service account's token" in done.stderr and "automountServiceAccountToken" in done.stderr and not api.requests, done
    (tmp_path / "bad").write_text("two words\r\nX-Evil: 1")
    done = node_health(WELL, *api.options, "--token-file", tmp_path / "bad")
    assert done.returncode == 3 and "contains no token" in done.stderr and not api.requests, done


def test_a_daemon_judges_and_the_pod_finds_its_api_by_itself(start, api):
    """As the chart runs it: asking again and again, and ending when it is told to."""
    daemon = start("--interval", "0.2", source="sim:scenario=idle,gpus=2,fault=lost@1:3-6")
    name = api.options[-1]
    with open(daemon.folder / "said", "w+") as said:
        process = subprocess.Popen([WHIRR, "node-health", "--kubernetes", *SETTLED, "--interval", "0.2", "--token-file", api.token_file, "--ca-file", api.ca, *AT_ONCE], stdout=said, stderr=said,
                                   env={**daemon.env, "NODE_NAME": name, "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)})
        try:
            eventually(lambda: api.taint(), explain=lambda: (daemon.folder / "said").read_text())
            # One that came back was lost: it is worth knowing, and work may go there again.
            judged = eventually(lambda: (j := json.loads(daemon.whirr("node-health", "--json").stdout)) and j["fit"] and j)
            eventually(lambda: not api.taint(), explain=lambda: (daemon.folder / "said").read_text())
            was = next(f for f in daemon.json("/api/why")["findings"] if f["code"] == "lost")
            assert was["tense"] == "was" and was["until"] and was["gpu_index"] == 1, (judged, was)
            assert next(g for g in daemon.json("/api/capacity")["gpus"] if g["gpu_index"] == 1)["problem"] is None
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0
    assert (daemon.folder / "said").read_text().count("unfit for work") <= 3  # said when it is new


def test_a_finding_has_to_last_as_long_as_the_settings_say(start, tmp_path):
    daemon = start("--interval", "0.2", source="sim:scenario=idle,gpus=2,fault=error@1")
    eventually(lambda: daemon.json("/api/gpu/health")["state"] == "failing")

    def judged(hold):
        (tmp_path / "whirr.toml").write_text(f'[finding.error]\nhold = "{hold}"\n')
        return json.loads(daemon.whirr("node-health", "--json", "--config", str(tmp_path / "whirr.toml")).stdout)
    assert judged("1h")["fit"] is True
    assert judged("0s")["fit"] is False and judged("0s")["code"] == "error"


# ---- Slurm ----

SCONTROL = """#!/bin/sh
echo "$@" >> "{folder}/calls"
[ -e "{folder}/hang" ] && exec sleep 60
[ -e "{folder}/fails" ] && {{ echo "slurm_load_node error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }}
case "$1 $3" in
"show -o") echo "NodeName=gpu17 Arch=x86_64 Gres=gpu:h100:8(S:0-1) State=$(cat {folder}/state) ThreadsPerCore=1 $(cat {folder}/reason)"; cat {folder}/others; exit ;;
esac
case $1 in
show) echo "NodeName=$3 Arch=x86_64 CoresPerSocket=1 State=$(cat {folder}/state) ThreadsPerCore=1 $(cat {folder}/reason)" ;;
update) case $3 in State=DRAIN) echo IDLE+DRAIN > {folder}/state; echo "$4 [root@2026-11-17T10:00:00]" > {folder}/reason ;;
    State=RESUME) echo IDLE > {folder}/state; : > {folder}/reason ;; esac ;;
esac
"""


class Slurm:
    def __init__(self, folder):
        self.folder, self.program = folder, folder / "scontrol"
        self.program.write_text(SCONTROL.format(folder=folder))
        self.program.chmod(0o755)
        self.set("IDLE")
        self.others(0)

    def others(self, count, drained=0, at="2026-11-17T09:00:00"):
        """Of the other nodes with GPUs the first are drained by whirr; the login node has none, and an admin drained another."""
        lines = ["NodeName=login Arch=x86_64 Gres=(null) State=IDLE+DRAIN ThreadsPerCore=1 Reason=whirr: is not what this says [root@2026-11-17T08:00:00]".replace("whirr: is", "kernel, is"),
                 *(f"NodeName=other{i} Arch=x86_64 Gres=gpu:8 State=IDLE{'+DRAIN' if i < drained else ''} ThreadsPerCore=1 {f'Reason=whirr: lost: GPU 0 is lost [root@{at}]' if i < drained else ''}" for i in range(count))]
        (self.folder / "others").write_text("\n".join(lines) + "\n")

    def set(self, state, reason=""):
        (self.folder / "state").write_text(state)
        (self.folder / "reason").write_text(reason and f"Reason={reason} [root@2026-11-17T10:00:00]")

    @property
    def state(self):
        return (self.folder / "state").read_text().strip()

    def updates(self):
        return [line for line in (self.folder / "calls").read_text().splitlines() if line.startswith("update")]

    def __call__(self, source, *args, **env):
        return node_health(source, "--slurm", "--scontrol", self.program, *args, **dict({"SLURMD_NODENAME": "gpu17"}, **env))


@pytest.fixture
def slurm(tmp_path):
    (tmp_path / "calls").write_text("")
    return Slurm(tmp_path)


def test_a_node_is_drained_once_and_resumed_when_well(slurm):
    done = slurm(LOST)
    assert done.returncode == 1 and slurm.state == "IDLE+DRAIN" and slurm.updates() == ["update NodeName=gpu17 State=DRAIN Reason=whirr: lost: GPU 1 is lost: The driver can't reach it anymore (GPU is lost)"], done
    assert slurm(LOST).returncode == 1 and len(slurm.updates()) == 1
    stays = slurm(WELL)
    assert stays.returncode == 0 and "stays drained until" in stays.stdout and slurm.state == "IDLE+DRAIN", stays
    assert slurm(WELL, *AT_ONCE, "--drain-only").returncode == 0 and slurm.state == "IDLE+DRAIN"
    back = slurm(WELL, *AT_ONCE)
    assert back.returncode == 0 and slurm.state == "IDLE" and "resume" in back.stdout, back


def test_a_drain_of_others_stays(slurm):
    slurm.set("MIXED+DRAIN", "bad fan, admin")
    assert slurm(WELL, *AT_ONCE).returncode == 0
    assert "for a reason that whirr did not set" in slurm(LOST).stdout
    slurm.set("DOWN*+DRAIN", "whirr: lost: GPU 1")
    assert "stays drained: Slurm has it as down" in slurm(WELL, *AT_ONCE).stdout
    assert slurm.updates() == []


def test_a_dry_run_needs_no_slurm():
    assert "dry run: drain (whirr: lost: " in (done := node_health(LOST, "--slurm", "--dry-run")).stdout and done.returncode == 1 and not done.stderr, done
    assert "dry run: resume, if whirr had drained it: 'scontrol' was not found" in (done := node_health(WELL, "--slurm", "--dry-run")).stdout and done.returncode == 0, done


def test_slurm_too_has_a_dry_run(slurm):
    done = slurm(LOST, "--dry-run")
    assert done.returncode == 1 and "dry run: drain (whirr: lost: " in done.stdout and slurm.updates() == [] and slurm.state == "IDLE"


def test_a_controller_that_is_silent_or_gone_is_said(slurm):
    (slurm.folder / "fails").touch()
    done = slurm(WELL)
    assert done.returncode == 3 and "Unable to contact slurm controller" in done.stderr, done
    (slurm.folder / "hang").touch()
    done = slurm(LOST, "--timeout", "500ms")
    assert done.returncode == 1 and "did not finish within" in done.stderr, done
    done = node_health(WELL, "--slurm")
    assert done.returncode == 3 and "name it with --scontrol" in done.stderr, done


@pytest.mark.parametrize("script, source, code, drained", [("health-check", LOST, 1, True), ("prolog", LOST, 1, True), ("prolog", WELL, 0, False), ("epilog", LOST, 0, True), ("epilog", WELL, 0, False)])
def test_the_scripts_of_slurm(slurm, tmp_path, script, source, code, drained):
    """As slurm.conf names them, without arguments."""
    done = subprocess.run([os.path.join(os.path.dirname(__file__), "../../packaging/slurm", script)], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(PATH=f"{os.path.dirname(WHIRR)}:{tmp_path}:/usr/bin:/bin", SLURMD_NODENAME="gpu17", WHIRR_NODE_HEALTH=f"--settle 0 --source {source}"))
    assert done.returncode == code and (slurm.state == "IDLE+DRAIN") == drained, done


def test_a_prolog_lets_jobs_run_where_nothing_can_be_judged(slurm, tmp_path):
    done = subprocess.run([os.path.join(os.path.dirname(__file__), "../../packaging/slurm/prolog")], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(PATH=f"{os.path.dirname(WHIRR)}:{tmp_path}:/usr/bin:/bin", SLURMD_NODENAME="gpu17"))
    assert done.returncode == 0 and slurm.updates() == [], done


# ---- the brake ----

NO_MORE = "whirr has drained 2 of 20 nodes already, and --max-drained 10% allows 2"


def test_a_cluster_keeps_most_of_its_nodes(api):
    api.add_nodes(18, drained=1)
    api.others.append({"metadata": {"name": "cpu-only"}, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})  # never judged by whirr
    first = node_health(LOST, *api.options)
    assert first.returncode == 1 and not api.taint() and "no taint: whirr has drained 1 of 18 nodes already, and --max-drained 10% allows 1" in first.stdout, first
    assert api.condition()["status"] == "True" and api.condition()["message"].endswith("; not drained: whirr has drained 1 of 18 nodes already, and --max-drained 10% allows 1")
    assert json.loads(node_health(LOST, "--json", *api.options).stdout)["held_back"] == "whirr has drained 1 of 19 nodes already, and --max-drained 10% allows 1"
    more = node_health(LOST, *api.options, "--max-drained", "20%")
    assert more.returncode == 1 and api.taint() and "taint whirr/gpu-unhealthy=lost:NoSchedule" in more.stdout, more
    # One that is drained stays so, whatever became of the others, and may change its reason.
    api.add_nodes(5, drained=5)
    assert node_health(LOST, *api.options).returncode == 1 and api.taint()
    assert api.leases_written.count(None) == api.leases_written.count("node-7") and api.lease["spec"].get("holderIdentity") is None  # left for the next


def test_nodes_of_many_pages_are_counted(api):
    api.add_nodes(120, drained=12)
    assert "whirr has drained 12 of 120 nodes" in node_health(LOST, *api.options).stdout and not api.taint()
    api.others[0]["spec"]["taints"] = []  # a person who takes the taint away brings that node back
    node_health(LOST, *api.options)
    assert api.taint() and len([r for r in api.requests if r[1].startswith("/api/v1/nodes?limit=")]) == 6


def test_only_one_node_decides_at_a_time(api):
    api.add_nodes(9)
    now = lambda age: time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() - age))  # noqa: E731
    lease = {"kind": "Lease", "metadata": {"name": "whirr-node-health", "resourceVersion": "7"}, "spec": {"holderIdentity": "other-1", "leaseDurationSeconds": 60, "renewTime": now(0)}}
    api.lease = lease
    waits = node_health(LOST, *api.options, "--timeout", "1s")
    assert waits.returncode == 1 and not api.taint() and "no taint: the limit of --max-drained is being checked for another node" in waits.stdout and api.condition()["status"] == "True", waits
    api.lease = {**lease, "spec": {**lease["spec"], "renewTime": now(61)}}  # its holder was killed
    assert node_health(LOST, *api.options).returncode == 1 and api.taint()


@pytest.mark.parametrize("right", ["list nodes", "get leases", "create leases"])
def test_without_the_rights_of_the_brake_nothing_is_drained(api, right):
    api.rights.discard(right)
    done = node_health(LOST, *api.options)
    assert done.returncode == 1 and not api.taint() and f"may not {right} (403)" in done.stderr and "give it the ClusterRole whirr-node-health" in done.stderr, done
    assert api.condition()["status"] == "True" and "the nodes that are already drained can't be counted" in api.condition()["message"]
    assert node_health(LOST, *api.options, "--max-drained", "100%").returncode == 1 and api.taint()  # who wants no brake needs no rights


@pytest.fixture
def new_version(tmp_path):
    """A program file that has just been installed."""
    (tmp_path / "installed").write_text("")
    return {"WHIRR_SELF": str(tmp_path / "installed")}


def test_a_new_version_drains_nothing_in_its_first_hour(api, slurm, new_version):
    done = node_health(LOST, *api.options, settled=(), **new_version)
    assert done.returncode == 1 and not api.taint() and re.search("no taint: this version is new here, and drains nothing for another (1h|59m|60m)", done.stdout), done
    assert api.condition()["status"] == "True" and not [r for r in api.requests if "leases" in r[1]]
    held = slurm(LOST, settled=(), **new_version)
    assert held.returncode == 1 and "no drain: this version is new here" in held.stdout and slurm.updates() == [], held
    # One that was drained before the upgrade is brought back as ever.
    slurm.set("IDLE+DRAIN", "whirr: lost: GPU 1 is lost")
    assert slurm(WELL, *AT_ONCE, settled=(), **new_version).returncode == 0 and slurm.state == "IDLE"


def test_slurm_keeps_most_of_its_nodes(slurm):
    slurm.others(19, drained=2)
    held = slurm(LOST)
    assert held.returncode == 1 and f"no drain: {NO_MORE}" in held.stdout and slurm.updates() == [] and slurm.state == "IDLE", held
    # A prolog that fails would have Slurm drain the node.
    assert slurm(LOST, "--drain-only").returncode == 0 and slurm.updates() == []
    slurm.others(19, drained=1)
    assert slurm(LOST).returncode == 1 and slurm.state == "IDLE+DRAIN"
    slurm.others(19, drained=19)
    assert slurm(LOST).returncode == 1 and slurm.state == "IDLE+DRAIN"  # it was before them


def test_of_nodes_that_slurm_drains_at_the_same_time_the_later_ones_step_back(slurm):
    """Others are drained between the count and the drain."""
    slurm.others(19, drained=5, at="2026-11-17T09:59:59")
    (slurm.folder / "later").write_text((slurm.folder / "others").read_text())
    slurm.others(19)
    slurm.program.write_text(slurm.program.read_text().replace("update) case", f"update) cp {slurm.folder}/later {slurm.folder}/others; case"))
    done = slurm(LOST)
    assert done.returncode == 1 and slurm.state == "IDLE" and [line.split()[2] for line in slurm.updates()] == ["State=DRAIN", "State=RESUME"], done
    assert "resume: whirr has drained 5 of 20 nodes already" in done.stdout
    slurm.set("IDLE")
    slurm.others(19)
    (slurm.folder / "later").write_text((slurm.folder / "later").read_text().replace("09:59:59", "10:00:01"))  # and those after it do
    assert slurm(LOST).returncode == 1 and slurm.state == "IDLE+DRAIN"


@pytest.mark.parametrize("args", [("--max-drained", "0%"), ("--max-drained", "most"), ("--max-drained", "101"), ("--settle", "soon")])
def test_a_brake_that_is_none_is_refused(args):
    done = node_health(WELL, *args, settled=())
    assert done.returncode == 2 and args[0] in done.stderr, done
