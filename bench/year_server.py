# SPDX-License-Identifier: Apache-2.0
"""A history file copied into a PostgreSQL server, as if a daemon had written it there: rows in the order of time, each in its part."""
import pathlib
import sqlite3
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEYED = {"samples": "gpu_id", "host_samples": "host_id"}  # time and subject are in the key of a file, in columns of a server
BUCKETS = ("minutes", "hours", "host_minutes", "host_hours")
TABLES = ("hosts", "writers", "gpus", "facts", "pending", "processes", "events", "retention", "process_minutes", "energy", "process_hours", "energy_hours", *BUCKETS, *KEYED)
DAYS = """
INSERT INTO energy_days (day, gpu_id, energy_mj) SELECT hour / 24, gpu_id, SUM(energy_mj) FROM energy_hours GROUP BY 1, 2;
INSERT INTO process_days (day, process_id, energy_mj) SELECT hour / 24, process_id, SUM(energy_mj) FROM process_hours GROUP BY 1, 2;
"""


def psql(url, text):
    subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", url], input=text, stdout=subprocess.DEVNULL, text=True, check=True)


def copy(file, url, table):
    with sqlite3.connect(file) as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    there, here, order = columns, columns, "1"
    if table in KEYED:
        rest = [name for name in columns if name != "id"]
        there, here = ["recorded_at", KEYED[table], *rest], ["strftime('%Y-%m-%dT%H:%M:%fZ', (id >> 14) / 1000.0, 'unixepoch')", "id & 16383", *rest]
        order = "id"
    elif table in BUCKETS:
        order = "id & 4294967295, id"
    rows = subprocess.Popen(["sqlite3", "-readonly", "-csv", file, f"SELECT {', '.join(here)} FROM {table} ORDER BY {order}"], stdout=subprocess.PIPE)
    subprocess.run(["psql", "-qX", url, "-c", f"COPY {table} ({', '.join(there)}) FROM STDIN CSV"], stdin=rows.stdout, check=True)
    if rows.wait():
        raise RuntimeError(f"sqlite3 failed to read {table}")


def load(maker, file, url, days, machine):
    """maker: make_history, which makes the tables and, with one sample of the machine, their columns."""
    subprocess.run([maker, url, "1", machine, "60"], check=True)
    parts = (ROOT / "tests/support/parts.sql").read_text()
    psql(url, f"TRUNCATE {', '.join(TABLES)}, energy_days, process_days; {parts} SELECT pg_temp.make_parts({days + 1});")
    for table in TABLES:
        copy(file, url, table)
    numbered = "".join(f"SELECT setval(pg_get_serial_sequence('{t}', 'id'), (SELECT MAX(id) FROM {t}));" for t in ("hosts", "gpus", "processes", "events"))
    psql(url, f"{DAYS} {numbered} VACUUM ANALYZE;")
