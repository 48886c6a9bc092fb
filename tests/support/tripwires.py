# SPDX-License-Identifier: Apache-2.0
"""Model servers that report each touch: tests/fakes/servers/tripwires.py under the names and command lines of the real ones."""
import json
import os
import subprocess
import sys

from isolation import ROOT
from ports import free_port
from waiting import PATIENCE, eventually

PROGRAM = ROOT / "tests" / "fakes" / "servers" / "tripwires.py"
VLLM = '# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{engine="0",model_name="Qwen/Qwen3-8B"} {tokens}.0\n'
# The first counter moves when a request ends, the second one while it runs.
SGLANG = 'sglang:generation_tokens_total{model_name="m"} 7.0\nsglang:realtime_tokens_total{mode="decode",model_name="m",tp_rank="0"} {tokens}.0\n'
PROPS = '{"total_slots": 1, "model_path": "/m/x.gguf", "is_sleeping": false}'
SLOTS = '[{"id": 0, "id_task": 3, "n_ctx": 4096, "is_processing": true, "next_token": [{"has_next_token": true, "n_remain": -1, "n_decoded": {tokens}}]}]'


class Servers:
    def __init__(self, folder):
        self.folder, self.running = folder, []

    def __call__(self, name, *args, pages=None, wires=0, child=None, beside=None, port=True, key=None):
        """Starts a program of this name; returns the PID on the GPU, and the list of its requests. PORT among the arguments becomes its port (True: a
        free one, False: none), on which the child `beside` answers instead. Requests without the key are refused."""
        place = self.folder / f"server-{len(self.running)}"
        place.mkdir()
        path, log = place / name, place / "log"
        path.parent.mkdir(exist_ok=True)
        log.write_text("")
        path.write_text(f"#!{sys.executable}\n" + PROGRAM.read_text())
        path.chmod(0o755)
        plan = {"log": str(log), "ready": str(place / "ready"), "pages": pages or {}, "wires": wires, "key": key,
                "port": free_port() if port is True else port or None}
        given = [str(plan["port"]) if a == "PORT" else a for a in args]
        if beside:
            plan["beside"] = {"argv": [beside, str(path)], "port": plan.pop("port"), "pages": pages}
        if child:
            plan["child"] = dict(child, argv=[child["argv"][0], str(path), *child["argv"][1:]])
        self.running.append(subprocess.Popen([str(path), *given], stdin=subprocess.PIPE, env=dict(os.environ, TRIPWIRES=json.dumps(plan))))
        pid = eventually(lambda: (place / "ready").exists() and (place / "ready").read_text())
        return int(pid), lambda: log.read_text().splitlines()

    def stop(self):
        for process in self.running:
            process.stdin.close()
            process.wait(PATIENCE)


def process_of(d, pid):
    """The process as the daemon shows it; {} if it does not."""
    return next((p for p in d.json("/api/processes")["processes"] if p["pid"] == pid), {})


def worker(title, wires=4):
    """A process on the GPU that is a child of the server: its ports speak the protocols of its process group."""
    return {"argv": [title], "wires": wires}


def script(*pids):
    """A fake GPU on which these processes are."""
    return "gpu NVIDIA GeForce RTX 4090\n  gpu_util 60\n  used 9000\n" + "".join(f"  process {pid} compute 500 20 10\n" for pid in pids)
