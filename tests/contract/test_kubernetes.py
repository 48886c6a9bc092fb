# SPDX-License-Identifier: Apache-2.0
"""The Helm chart and the manifest: rendered, checked against Kubernetes' own types, and run with the program."""
import functools
import json
import re
import subprocess

import pytest
from isolation import ROOT, run_whirr
from waiting import PATIENCE

CLIENTS = ROOT / "tests" / "contract" / "clients"
FOLDER = ROOT / "packaging" / "kubernetes"
TSC = ROOT / "web" / "node_modules" / "typescript" / "bin" / "tsc"
MODULES = {"v1": "core/v1", "apps/v1": "apps/v1", "rbac.authorization.k8s.io/v1": "rbac/v1"}
ALL = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "prometheusRole": {"create": True}, "tokenSecret": "whirr-token", "runtimeClassName": "nvidia",
       "priorityClassName": "system-node-critical", "imagePullSecrets": [{"name": "hub"}], "nodeSelector": {"gpu": "true"}, "history": {"hostPath": "/var/lib/whirr"}}
VALUES = {"defaults": {}, "all": ALL, "bare": {"history": {"enabled": False}, "tolerations": [], "image": {"repository": "registry/whirr", "tag": "1"}}}


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


def one(objects, kind):
    found = [o for o in objects if o["kind"] == kind]
    assert len(found) == 1, kind
    return found[0]


@pytest.mark.slow
def test_every_object_has_the_fields_that_kubernetes_knows(render, tmp_path):
    """TypeScript refuses fields that the types of Kubernetes' own OpenAPI document do not have, and wrong or missing ones."""
    if not TSC.exists():
        pytest.skip("no TypeScript (make builds the dashboard with it)")
    lines = []
    for values in VALUES.values():
        for o in rendered(render, values):
            if o["kind"] != "ServiceMonitor":  # of the Prometheus operator
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
        monitor, binding = one(objects, "ServiceMonitor"), one(objects, "RoleBinding")
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items() and monitor["metadata"]["labels"]["release"] == "prometheus"
        assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"] and monitor["spec"]["endpoints"][0]["honorLabels"] is True
        assert binding["roleRef"]["name"] == one(objects, "Role")["metadata"]["name"]


def test_values_that_are_not_meant_are_refused(render):
    done = render({"port": "9447", "imagge": {}, "image": {"pullPolicy": "Sometimes"}, "history": {"hostPath": "var"}})
    assert done.returncode == 1 and all(word in done.stderr for word in ("port", "additional properties", "pullPolicy", "hostPath")), done


def test_the_manifest_is_the_chart(render):
    text = render({"serviceMonitor": {"enabled": True}}, "--yaml").stdout
    assert (FOLDER / "whirr.yaml").read_text() == text, """run: node tests/contract/clients/chart.mjs packaging/kubernetes/whirr '{"serviceMonitor":{"enabled":true}}' --yaml > packaging/kubernetes/whirr.yaml"""


@pytest.mark.slow
def test_the_program_takes_what_the_pod_gives_it(start, render, tmp_path):
    """Its configuration and its arguments; only the port and the place of the history are the test's own."""
    objects = rendered(render, {})
    config = tmp_path / "whirr.toml"
    config.write_text(one(objects, "ConfigMap")["data"]["whirr.toml"])
    assert run_whirr("config", "check", "--config", config).returncode == 0
    args = one(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["args"]
    given = [re.sub(r"/etc/whirr/whirr.toml", str(config), re.sub(r"/var/lib/whirr", str(tmp_path), re.sub(r"0\.0\.0\.0:\d+", "0.0.0.0:0", a))) for a in args]
    daemon = start(*given, NODE_NAME="node-7")
    assert b'node="node-7"' in daemon.get("/metrics").body
