# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the API server of Kubernetes, over TLS, with one Node. It refuses what the real one refuses, as its API conventions have it: a merge
patch whose resourceVersion is not the newest (409 Conflict), two taints with one key and effect, a condition without a type, a taint whose value is no
label, a method or an account without the right (403 Forbidden), no or a wrong token (401 Unauthorized); each with a Status object. Conditions are merged by type, taints are one list.
Lists of nodes come in pages; leases are replaced by the one who knows their newest version."""
import contextlib
import http.server
import json
import re
import ssl
import subprocess
import threading
import urllib.parse

TOKEN = "the-account's-token.abc"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


def merge(old, new):
    """RFC 7396."""
    if not isinstance(new, dict):
        return new
    out = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


class ApiServer:
    """`answers`: given one by one before the node answers, (status, bytes) each, or None for one that never comes. `before_patch`: called once before the next patch is judged."""

    def __init__(self, folder, node="node-7"):
        self.ca, self.token_file, self.requests, self.answers, self.before_patch = folder / "ca.crt", folder / "token", [], [], None
        self.rights, self.version = {"get nodes", "list nodes", "patch nodes", "patch nodes/status", "get leases", "create leases", "update leases"}, 100
        self.others, self.lease, self.leases_written = [], None, []  # more nodes; the lease that says who decides, and all who held it
        self.token_file.write_text(TOKEN + "\n")
        self.node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": node, "annotations": {"other": "kept"}},
                     "spec": {"taints": [{"key": "others", "value": "x", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
                     "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}
        key = folder / "api.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=kubernetes",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.ca], check=True, capture_output=True)
        self.over = threading.Event()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                api.requests.append((self.command, self.path, body))
                given = api.answers.pop(0) if api.answers else ()
                if given is None:
                    api.over.wait()
                    return
                status, answer = given or api.judge(self.command, self.path, self.headers, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_PATCH = do_PUT = do_POST = do_DELETE = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # clients that hang up

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def options(self):
        return ("--kubernetes", "--api", f"https://127.0.0.1:{self.port}", "--ca-file", self.ca, "--token-file", self.token_file, "--node", self.node["metadata"]["name"])

    def patches(self):
        return [r for r in self.requests if r[0] == "PATCH"]

    def condition(self):
        return next((c for c in self.node["status"]["conditions"] if c["type"] == "GpuUnhealthy"), None)

    def taint(self):
        return next((t for t in self.node["spec"]["taints"] if t["key"] == "whirr/gpu-unhealthy"), None)

    def add_nodes(self, count, drained=0):
        """Other nodes with GPUs, the first of them drained by whirr."""
        for i in range(count):
            own = {"key": "whirr/gpu-unhealthy", "value": "lost", "effect": "NoSchedule"}
            self.others.append({"metadata": {"name": f"other-{i}", "annotations": {"whirr/taint": "lost:NoSchedule"} if i < drained else {}}, "spec": {"taints": [own] if i < drained else []},
                                "status": {"conditions": [{"type": "GpuUnhealthy", "status": "True" if i < drained else "False"}]}})

    def listed(self, query):
        """A page of all nodes, with what the next one is asked for."""
        asked = urllib.parse.parse_qs(query)
        begin, limit = int(asked.get("continue", ["0"])[0].removeprefix("from ")), int(asked["limit"][0])
        nodes = [self.node, *self.others]
        more = {"continue": f"from {begin + limit}"} if begin + limit < len(nodes) else {}
        return 200, json.dumps({"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1", **more}, "items": nodes[begin:begin + limit]}).encode()

    def leased(self, method, name, body):
        if method != "GET":
            new = json.loads(body)
            version = new["metadata"].pop("resourceVersion", None)
            if (self.lease is None) != (method == "POST") or (self.lease and version != self.lease["metadata"]["resourceVersion"]):
                raise Refused(409, "the object has been modified")
            if new["kind"] != "Lease" or new["spec"].get("leaseDurationSeconds", 1) < 1 or not re.fullmatch(r"[-0-9]+T[:0-9]+\.\d{6}Z", new["spec"]["renewTime"]):
                raise Refused(422, "Lease: invalid")
            self.lease = {**new, "metadata": {**new["metadata"], "resourceVersion": f"lease-{len(self.leases_written)}"}}
            self.leases_written.append(new["spec"].get("holderIdentity"))
        elif self.lease is None:
            raise Refused(404, f'leases.coordination.k8s.io "{name}" not found')
        return (201 if method == "POST" else 200), json.dumps(self.lease).encode()

    def judge(self, method, path, headers, body):
        try:
            path, _, query = path.partition("?")
            lease = re.fullmatch(r"/apis/coordination.k8s.io/v1/namespaces/([a-z0-9-]+)/leases(?:/(.+))?", path)
            right = ({"GET": "get", "PUT": "update", "POST": "create"}.get(method, method) + " leases") if lease else "list nodes" if path == "/api/v1/nodes" else None
            if right and headers.get("Authorization") == f"Bearer {TOKEN}":
                if right not in self.rights:
                    raise Refused(403, f'User "system:serviceaccount:monitoring:whirr" cannot {right}')
                return self.leased(method, lease[2], body) if lease else self.listed(query)
            found = re.fullmatch(r"/api/v1/nodes/([^/]+)(/status)?", path)
            right = f"{method.lower()} nodes{found[2] or ''}" if found else method
            if headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Refused(401, "Unauthorized")
            if right not in self.rights:
                raise Refused(403, f'nodes "{found and found[1]}" is forbidden: User "system:serviceaccount:monitoring:whirr" cannot {right}')
            if not found or found[1] != self.node["metadata"]["name"]:
                raise Refused(404, f'nodes "{found and found[1]}" not found')
            if method == "PATCH":
                if self.before_patch:
                    hook, self.before_patch = self.before_patch, None
                    hook()
                self.apply(found[2] or "", headers.get("Content-Type"), json.loads(body))
        except Refused as r:
            return r.code, json.dumps({"kind": "Status", "status": "Failure", "code": r.code, "message": r.message}).encode()
        self.node["metadata"]["resourceVersion"] = str(self.version)
        return 200, json.dumps(self.node).encode()

    def apply(self, part, kind, patch):
        if (part, kind) not in (("", MERGE), ("/status", STRATEGIC)):
            raise Refused(415, f"{kind} of {part or 'the node'}")
        version = patch.get("metadata", {}).get("resourceVersion")
        if version and version != str(self.version):
            raise Refused(409, "the object has been modified; please apply your changes to the latest version and try again")
        if part:
            for new in patch["status"]["conditions"]:
                old = next((c for c in self.node["status"]["conditions"] if c["type"] == new["type"]), None)
                if old:
                    old.update(new)
                else:
                    self.node["status"]["conditions"].append(new)
        else:
            taints = patch["spec"]["taints"]
            if len({(t["key"], t["effect"]) for t in taints}) != len(taints) or not all(re.fullmatch(r"([A-Za-z0-9][\w.-]{0,61})?[A-Za-z0-9]", t.get("value", "x")) for t in taints):
                raise Refused(422, "spec.taints: invalid")
            self.node = merge(self.node, patch)
        self.version += 1

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@contextlib.contextmanager
def api_server(folder):
    server = ApiServer(folder)
    try:
        yield server
    finally:
        server.close()
