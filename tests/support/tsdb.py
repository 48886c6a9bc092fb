# SPDX-License-Identifier: Apache-2.0
"""Databases for metrics, the real ones of Debian's packages: on ports and in directories of the test's own."""
import json
import math
import shutil
import signal
import subprocess
import urllib.parse
import urllib.request

from ports import free_port
from waiting import PATIENCE, eventually, patience


class Database:
    """Answers PromQL. `write` is where samples are pushed to."""

    def __init__(self, folder, port=None):
        self.folder, self.port = folder, port or free_port()
        self.folder.mkdir(exist_ok=True)
        self.process = None

    def start(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        eventually(self.is_up, explain=self.log)
        return self

    def log(self):
        return (self.folder / "log").read_text()[-3000:]

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def is_up(self):
        try:
            with urllib.request.urlopen(self.url + self.ready, timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def query(self, expression, **more):
        return self.get("/api/v1/query", query=expression, **more)["result"]

    def values(self, expression, **more):
        return [float(r["value"][1]) for r in self.query(expression, **more)]


class Prometheus(Database):
    ready, write, lookback = "/-/ready", "/api/v1/write", "5m"

    def __init__(self, folder, targets=(), port=None, rules=(), interval=None):
        super().__init__(folder, port)
        interval = interval or f"{math.ceil(patience(1))}s"  # and no target takes longer than that to answer
        lines = [f"global: {{scrape_interval: {interval}, scrape_timeout: {interval}, evaluation_interval: 1s}}"]
        if rules:
            lines += ["rule_files:"] + [f"  - {path}" for path in rules]
        lines += ["scrape_configs:", "  - job_name: whirr", "    static_configs:", f"      - targets: {json.dumps(list(targets))}"]
        (self.folder / "prometheus.yml").write_text("\n".join(lines) + "\n")

    @staticmethod
    def installed():
        return shutil.which("prometheus")

    def filled(self, openmetrics):
        """With these samples in its blocks, as old as they say, and nothing that would have to be scraped."""
        file = self.folder / "samples"
        file.write_text(openmetrics)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", file, self.folder / "data"], check=True, capture_output=True, timeout=PATIENCE)
        self.lookback = "1h"  # they are the newest for as long as the tests take
        return self

    def command(self):
        return ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                f"--web.listen-address=127.0.0.1:{self.port}", "--web.enable-remote-write-receiver", "--log.level=warn", f"--query.lookback-delta={self.lookback}"]


class VictoriaMetrics(Database):
    """`patient`: it hides the last 30 seconds, as it does unless it is told otherwise."""
    ready, write = "/health", "/api/v1/write"

    def __init__(self, folder, port=None, patient=False):
        super().__init__(folder, port)
        self.patient = patient

    @staticmethod
    def installed():
        return shutil.which("victoria-metrics")

    def get(self, path, **query):
        """It shows samples some seconds after it has taken them, unless it is told to make haste."""
        with urllib.request.urlopen(self.url + "/internal/force_flush", timeout=PATIENCE):
            return super().get(path, **query)

    def command(self):
        return ["victoria-metrics", f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{self.port}",
                *([] if self.patient else ["-search.latencyOffset=0s"]), "-retentionPeriod=1", "-memory.allowedPercent=10"]
