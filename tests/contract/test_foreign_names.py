# SPDX-License-Identifier: Apache-2.0
"""Names that other users choose: no formula in a spreadsheet, nothing that cannot be seen."""
import csv
import io
import subprocess

import pytest
from waiting import eventually

FORMULA = "=HYPERLINK(A1)\U000e0041\u202e\u200b"


@pytest.fixture
def stranger():
    """A process with a name of its own choice."""
    process = subprocess.Popen([FORMULA, "600"], executable="/bin/sleep")
    yield process
    process.kill()
    process.wait()


def test_names_are_neither_formulas_nor_unseen(nvml, stranger, tmp_path):
    daemon = nvml(f"gpu A\n process {stranger.pid} compute 1000 50 10\n", "--store", f"sqlite:{tmp_path / 'whirr.db'}", "--interval", "0.2")
    command = lambda: next((p["command"] for p in daemon.json("/api/processes")["processes"] if p["pid"] == stranger.pid), None)  # noqa: E731
    assert eventually(command, explain=daemon.log) == "=HYPERLINK(A1)??? 600"
    stored = ("history", "--processes", "--csv", "--fields", "pid,name,command")
    eventually(lambda: str(stranger.pid) in daemon.whirr(*stored).stdout, explain=daemon.log)
    texts = {"ps": daemon.whirr("ps", "--csv", "--fields", "pid,name,command").stdout, "history": daemon.whirr(*stored).stdout,
             "download": daemon.get("/api/history/processes?format=csv").body.decode(), "export": daemon.whirr("db", "export", "processes").stdout}
    for where, text in texts.items():
        rows = [row for row in csv.DictReader(io.StringIO(text)) if row["pid"] == str(stranger.pid)]
        assert rows, (where, text)
        assert all(row["command"] == "'=HYPERLINK(A1)??? 600" for row in rows), (where, rows)
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values()), (where, rows)
        assert not set("\U000e0041\u202e\u200b") & set(text)
