# SPDX-License-Identifier: Apache-2.0
"""Metric databases from Debian's packages, on the test's own ports and directories."""
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
    """A database that answers PromQL. `write` is the URL for pushing samples."""

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

    def __init__(self, folder, targets=(), port=None, rules=(), interval=None, alertmanager=None):
        super().__init__(folder, port)
        interval = interval or f"{math.ceil(patience(1))}s"  # the scrape timeout has to fit into it
        lines = [f"global: {{scrape_interval: {interval}, scrape_timeout: {interval}, evaluation_interval: 1s}}"]
        if rules:
            lines += ["rule_files:"] + [f"  - {path}" for path in rules]
        if alertmanager:
            lines += ["alerting:", "  alertmanagers:", "    - static_configs:", f"      - targets: {json.dumps([alertmanager])}"]
        lines += ["scrape_configs:", "  - job_name: whirr", "    static_configs:", f"      - targets: {json.dumps(list(targets))}"]
        (self.folder / "prometheus.yml").write_text("\n".join(lines) + "\n")

    @staticmethod
    def installed():
        return shutil.which("prometheus")

    def filled(self, openmetrics):
        """Writes these samples, with their timestamps, into its blocks: nothing has to be scraped."""
        file = self.folder / "samples"
        file.write_text(openmetrics)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", file, self.folder / "data"], check=True, capture_output=True, timeout=PATIENCE)
        self.lookback = "1h"  # so that they stay the newest while the tests run
        return self

    def command(self):
        return ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                f"--web.listen-address=127.0.0.1:{self.port}", "--web.enable-remote-write-receiver", "--log.level=warn", f"--query.lookback-delta={self.lookback}"]


class VictoriaMetrics(Database):
    """`patient`: hides the last 30 seconds, its default."""
    ready, write = "/health", "/api/v1/write"

    def __init__(self, folder, port=None, patient=False):
        super().__init__(folder, port)
        self.patient = patient

    @staticmethod
    def installed():
        return shutil.which("victoria-metrics")

    def get(self, path, **query):
        """Samples become visible seconds after they were pushed, unless it is flushed."""
        with urllib.request.urlopen(self.url + "/internal/force_flush", timeout=PATIENCE):
            return super().get(path, **query)

    def command(self):
        return ["victoria-metrics", f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{self.port}",
                *([] if self.patient else ["-search.latencyOffset=0s"]), "-retentionPeriod=1", "-memory.allowedPercent=10"]
