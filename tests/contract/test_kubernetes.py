# SPDX-License-Identifier: Apache-2.0
"""The Helm chart and the manifest: rendered, checked against Kubernetes' own types, and run with the program."""
import functools
import json
import os
import re
import subprocess

import pytest
from isolation import ROOT, run_whirr
from waiting import PATIENCE, eventually

CLIENTS = ROOT / "tests" / "contract" / "clients"
FOLDER = ROOT / "packaging" / "kubernetes"
TSC = ROOT / "web" / "node_modules" / "typescript" / "bin" / "tsc"
MODULES = {"v1": "core/v1", "apps/v1": "apps/v1", "rbac.authorization.k8s.io/v1": "rbac/v1", "networking.k8s.io/v1": "networking/v1"}
OPERATOR = {"ServiceMonitor", "PrometheusRule"}  # kinds of the Prometheus operator
ALL = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "prometheusRole": {"create": True}, "tokenSecret": "whirr-token", "runtimeClassName": "nvidia",
       "priorityClassName": "system-node-critical", "imagePullSecrets": [{"name": "hub"}], "nodeSelector": {"gpu": "true"}, "history": {"hostPath": "/var/lib/whirr"},
       "tlsSecret": "whirr-tls", "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}}, "dashboard": {"enabled": True}, "nodeHealth": {"enabled": True, "args": ["--gpus=8"]},
       "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]}}
VALUES = {"defaults": {}, "all": ALL, "emptydir": {"history": {"hostPath": ""}}, "database": {"history": {"urlSecret": "whirr-store"}},
          "bare": {"history": {"enabled": False}, "networkPolicy": {"enabled": False}, "tolerations": [], "image": {"repository": "registry/whirr", "tag": "1"}}}


@pytest.fixture(scope="module")
def render(node):
    """Needs the packages of clients/, which the fixture node installs."""
    @functools.cache
    def cached(values, *form):
        return subprocess.run(["node", CLIENTS / "chart.mjs", FOLDER / "whirr", values, *form], capture_output=True, text=True, timeout=PATIENCE)
    return lambda values, *form: cached(json.dumps(values), *form)


def rendered(render, values):
    done = render(values)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def one(objects, kind, name="whirr"):
    found = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
    assert len(found) == 1, (kind, name)
    return found[0]


def size(text):
    """Bytes, as Kubernetes (Gi) and whirr (GiB) write them."""
    number, unit = re.fullmatch(r"(\d+)([KMGT]i)B?", text).groups()
    return int(number) << {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}[unit]


@pytest.mark.slow
def test_every_object_has_the_fields_that_kubernetes_knows(render, tmp_path):
    """TypeScript refuses fields that the types of Kubernetes' own OpenAPI document do not have, and wrong or missing ones."""
    if not TSC.exists():
        pytest.skip("no TypeScript (make builds the dashboard with it)")
    lines = []
    for values in VALUES.values():
        for o in rendered(render, values):
            if o["kind"] not in OPERATOR:
                lines.append(f'export const o{len(lines)}: import("kubernetes-types/{MODULES[o["apiVersion"]]}").{o["kind"]} = {json.dumps(o)};')
    (tmp_path / "node_modules").symlink_to(CLIENTS / "node_modules")

    def check(text):
        (tmp_path / "objects.ts").write_text(text)
        return subprocess.run(["node", TSC, "--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", tmp_path / "objects.ts"],
                              capture_output=True, text=True, timeout=600, cwd=tmp_path)
    done = check("\n".join(lines))
    assert done.returncode == 0, done.stdout
    assert check("\n".join(lines).replace('"hostPID"', '"hostPid"')).returncode != 0  # it does look


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.slow
def test_what_refers_to_something_finds_it(render, name):
    objects = rendered(render, VALUES[name])
    spec = one(objects, "DaemonSet")["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    container = pod["containers"][0]
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    assert one(objects, "ServiceAccount")["metadata"]["name"] == pod["serviceAccountName"] and pod["automountServiceAccountToken"] is False
    assert next(v for v in pod["volumes"] if v["name"] == "config")["configMap"]["name"] == one(objects, "ConfigMap")["metadata"]["name"]
    service = one(objects, "Service")
    for selector in (spec["selector"]["matchLabels"], service["spec"]["selector"]):
        assert selector.items() <= labels.items()
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    security = container["securityContext"]
    assert security["capabilities"]["drop"] == ["ALL"] and "SYS_ADMIN" not in security["capabilities"]["add"] and "privileged" not in security
    assert pod["hostPID"] is True and any(m["mountPath"] == "/var/lib/kubelet/pod-resources" for m in container["volumeMounts"])
    assert ("--insecure" in container["args"]) == (not VALUES[name].get("tokenSecret"))
    assert len({(o["kind"], o["metadata"]["name"]) for o in objects}) == len(objects)
    if name == "all":
        monitor, binding = one(objects, "ServiceMonitor"), one(objects, "RoleBinding", "whirr-scrape")
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items() and monitor["metadata"]["labels"]["release"] == "prometheus"
        assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"] and monitor["spec"]["endpoints"][0]["honorLabels"] is True
        assert binding["roleRef"]["name"] == one(objects, "Role", "whirr-scrape")["metadata"]["name"]


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.slow
def test_the_history_outlives_the_pod_and_fits(render, name):
    pod = one(rendered(render, VALUES[name]), "DaemonSet")["spec"]["template"]["spec"]
    state = next(v for v in pod["volumes"] if v["name"] == "state")
    env = {e["name"]: e.get("value") for e in pod["containers"][0]["env"]}
    assert ("hostPath" in state) == (name != "emptydir"), state
    if name == "emptydir":
        assert size(state["emptyDir"]["sizeLimit"]) > size(env["WHIRR_STORE_MAX_SIZE"])
    assert ("WHIRR_STORE_MAX_SIZE" in env) == (name != "bare")


@pytest.mark.slow
def test_the_port_is_closed_to_other_namespaces_unless_somebody_opens_it(render):
    policy = one(rendered(render, {}), "NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress"] and policy["ingress"] == [{"from": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": 9447}]}]
    labels = one(rendered(render, {}), "DaemonSet")["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    objects = rendered(render, ALL)
    assert one(objects, "NetworkPolicy")["spec"]["ingress"][0]["from"] == ALL["networkPolicy"]["from"]
    endpoint = one(objects, "ServiceMonitor")["spec"]["endpoints"][0]
    assert endpoint["scheme"] == "https" and endpoint["tlsConfig"]["ca"]["secret"]["name"] == "whirr-tls"
    assert not [o for o in rendered(render, VALUES["bare"]) if o["kind"] == "NetworkPolicy"]


@pytest.mark.slow
def test_rules_and_dashboard_are_those_that_are_shipped(render):
    objects = rendered(render, ALL)
    rules = one(objects, "PrometheusRule")
    assert {g["name"] for g in rules["spec"]["groups"]} >= {"whirr-recording", "whirr-findings"} and rules["metadata"]["labels"]["release"] == "prometheus"
    assert "{{ $labels.host }}" in json.dumps(rules)  # Prometheus' own templates pass through Helm's
    dashboard = one(objects, "ConfigMap", "whirr-dashboard")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["whirr.json"]) == json.loads((ROOT / "packaging/grafana/whirr.json").read_text())


@pytest.mark.slow
def test_node_health_has_an_account_of_its_own_and_just_its_rights(render):
    objects = rendered(render, ALL)
    account = one(objects, "ServiceAccount", "whirr-node-health")
    role, binding, daemons = (one(objects, kind, "whirr-node-health") for kind in ("ClusterRole", "ClusterRoleBinding", "DaemonSet"))
    assert role["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]}, {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]}]
    lease, bound = (one(objects, kind, "whirr-node-health") for kind in ("Role", "RoleBinding"))
    assert lease["rules"] == [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}] and lease["metadata"]["namespace"] == "monitoring"
    assert bound["roleRef"]["name"] == lease["metadata"]["name"] and bound["subjects"] == binding["subjects"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"] and binding["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": "monitoring"}]
    pod = daemons["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["metadata"]["name"] and pod["automountServiceAccountToken"] is True and pod["tolerations"] == [{"operator": "Exists"}]
    container = pod["containers"][0]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]} and "hostPID" not in pod
    mine, theirs = ([v for v in spec["volumes"] if v["name"] == "run"] for spec in (pod, one(objects, "DaemonSet")["spec"]["template"]["spec"]))
    assert mine == theirs  # the daemon's socket
    done = run_whirr(*container["command"][1:], *container["args"], "--api=http://127.0.0.1:1", "--timeout=100ms", "--interval=0", NODE_NAME="n")
    assert done.returncode == 2 and "interval" in done.stderr  # the rest of its options is understood
    assert not [o for o in rendered(render, {}) if "node-health" in o["metadata"]["name"]]

def test_values_that_are_not_meant_are_refused(render):
    done = render({"port": "9447", "imagge": {}, "image": {"pullPolicy": "Sometimes"}, "history": {"hostPath": "var"}})
    assert done.returncode == 1 and all(word in done.stderr for word in ("port", "additional properties", "pullPolicy", "hostPath")), done


def test_the_manifest_is_the_chart(render):
    for name, values in {"whirr.yaml": {"serviceMonitor": {"enabled": True}}, "whirr-node-health.yaml": {"serviceMonitor": {"enabled": True}, "nodeHealth": {"enabled": True}}}.items():
        text = render(values, "--yaml").stdout
        assert (FOLDER / name).read_text() == text, f"run: node tests/contract/clients/chart.mjs packaging/kubernetes/whirr '{json.dumps(values)}' --yaml > packaging/kubernetes/{name}"


@pytest.mark.slow
def test_the_program_takes_what_the_pod_gives_it(start, render, tmp_path):
    """Its configuration and its arguments; only the port and the place of the history are the test's own."""
    objects = rendered(render, {})
    config = tmp_path / "whirr.toml"
    config.write_text(one(objects, "ConfigMap")["data"]["whirr.toml"])
    assert run_whirr("config", "check", "--config", config).returncode == 0
    args = one(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["args"]
    given = [re.sub(r"/etc/whirr/whirr.toml", str(config), re.sub(r"/(var/lib|run)/whirr(?=/[hw])", str(tmp_path), re.sub(r"0\.0\.0\.0:\d+", "0.0.0.0:0", a))) for a in args]
    daemon = start(*given, NODE_NAME="node-7", WHIRR_SERVER_SOCKET=str(tmp_path / "whirr.sock"))
    assert b'node="node-7"' in daemon.get("/metrics").body and b'host="node-7"' in daemon.get("/metrics").body
    probe = one(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["exec"]["command"]
    ready = [a.replace("/run/whirr", str(tmp_path)) for a in probe[1:]]
    assert run_whirr(*ready).returncode == 0
    daemon.stop()
    assert run_whirr(*ready).returncode != 0


# As the pod runs it: without the "--store none" of the other tests.
PLAIN = ("sh", "-c", 'program=$1; shift 4; exec "$program" serve "$@"', "sh")


@pytest.mark.slow
def test_secrets_stay_out_of_the_config_map_and_a_change_restarts_the_pods(render):
    def template(values):
        return one(rendered(render, values), "DaemonSet")["spec"]["template"]

    def checksum(values):
        return template(values)["metadata"]["annotations"]["checksum/config"]
    assert re.fullmatch("[0-9a-f]{64}", checksum({})) and checksum({"config": "# other"}) != checksum({})
    secret = {"name": "WHIRR_PUSH_CENTRAL_TOKEN", "valueFrom": {"secretKeyRef": {"name": "push", "key": "token"}}}
    pod = template({"extraEnv": [secret], "configSecret": "whirr-config"})["spec"]
    assert secret in pod["containers"][0]["env"]
    assert next(v for v in pod["volumes"] if v["name"] == "config-secret")["secret"]["secretName"] == "whirr-config"


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_what_a_secret_says_of_the_history_wins(start, render, tmp_path, enabled, named):
    """Template and program together."""
    objects = rendered(render, {"configSecret": "whirr-config", "history": {"enabled": enabled}})
    container = one(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]
    mounted = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    home = next(e["value"] for e in container["env"] if e["name"] == "XDG_CONFIG_HOME")
    assert mounted["config-secret"] == home + "/whirr" and not [a for a in container["args"] if a.startswith(("--config", "--store"))], container["args"]
    for folder, text in (("root" + mounted["config"], one(objects, "ConfigMap")["data"]["whirr.toml"].replace("/var/lib/whirr", str(tmp_path))),
                         ("home/whirr", f'[sampling]\ninterval_seconds = 0.2\n{f"[store]{chr(10)}url = {chr(34)}sqlite:{tmp_path}/other.db{chr(34)}{chr(10)}" if named else ""}')):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "whirr.toml").write_text(text)
        (tmp_path / folder / "whirr.toml").chmod(0o600)
    d = start(*[a for a in container["args"] if not a.startswith(("--listen", "--socket"))], through=PLAIN, WHIRR_SYSTEM_ROOT=str(tmp_path / "root"), XDG_CONFIG_HOME=str(tmp_path / "home"),
              WHIRR_SERVER_SOCKET=str(tmp_path / "whirr.sock"))
    d.wait_sampled()
    wanted = "other.db" if named else "history.db" if enabled else None
    if wanted:
        eventually((tmp_path / wanted).exists, explain=d.log)
    assert {f.name for f in tmp_path.glob("*.db")} == ({wanted} if wanted else set()), d.log()


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("WHIRR_TEST_POSTGRES"), reason="no PostgreSQL server (tools/with-postgres starts one)")
@pytest.mark.parametrize("how", ["config", "config, with enabled", "secret"])
def test_one_postgresql_for_all_nodes_is_written_to(start, render, tmp_path, how):
    """Template and program together: what the values say is where the rows go."""
    url = os.environ["WHIRR_TEST_POSTGRES"]
    values = {"secret": {"history": {"enabled": True, "urlSecret": "whirr-store"}}}.get(how) or {
        "history": {"enabled": "with" in how}, "config": f'[sampling]\ninterval_seconds = 0.2\n\n[store]\nraw_days = 3\nurl = "{url}"\n'}
    objects = rendered(render, values)
    config = tmp_path / "whirr.toml"
    config.write_text(one(objects, "ConfigMap")["data"]["whirr.toml"])
    container = one(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]
    given = [re.sub(r"/etc/whirr/whirr.toml", str(config), re.sub(r"/(var/lib|run)/whirr(?=/[hw])", str(tmp_path), a)) for a in container["args"] if "listen" not in a]
    named = {e["name"]: e["valueFrom"]["secretKeyRef"] for e in container["env"] if "secretKeyRef" in e.get("valueFrom", {})}
    assert named == ({"WHIRR_STORE_URL": {"name": "whirr-store", "key": "url"}} if how == "secret" else {})
    d = start(*given, through=PLAIN, NODE_NAME="node-7", WHIRR_SERVER_SOCKET=str(tmp_path / "whirr.sock"), **dict.fromkeys(named, url))
    health = eventually(lambda: (h := d.json("/api/health")["store"])["state"] == "ok" and h, explain=d.log)
    assert health["kind"] == "postgresql"
    d.wait_stored(1)
