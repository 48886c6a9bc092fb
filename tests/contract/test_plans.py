# SPDX-License-Identifier: Apache-2.0
"""How SQLite and PostgreSQL answer the statements of src/store: nothing grows with what is stored, except what reads everything by its nature.

The unit tests of the history note each statement that they prepare (tests/support/statements.c), and all of them together prepare every one.
A plan is bad that scans a table which grows, or walks an index of one without a range.
"""
import collections
import os
import pathlib
import re
import subprocess

import pytest
from conftest import BUILD, PATIENCE
from isolation import ROOT

URL = os.environ.get("WHIRR_TEST_POSTGRES")
FILES = ("store", "store_query", "store_findings", "store_readers", "store_series", "store_migrate", "store_statements", "queue",
         "past_history", "past_moment", "past_presence", "past_sums", "past_usual")
SERVERS = ("store_postgres", "store_statements")
GROWING = {"samples", "minutes", "hours", "host_samples", "host_minutes", "host_hours", "process_minutes", "process_hours", "process_days", "energy",
           "energy_hours", "energy_days", "processes", "events", "finding_episodes", "facts", "queue"}
# Statements that look at more than a range, by how they begin and something in them, and why they may.
ALLOWED = (
    (r"SELECT COUNT\(\*\) FROM \(SELECT N FROM \w+ (WHERE at_ms < N )?LIMIT N\)", "the first row, whichever it is"),
    (r"SELECT COUNT\(\*\)(, | FROM (samples|hosts|gpus|energy|process_minutes|queue|\(SELECT m\.minute, p\.gpu_id))", "whirr db counts all rows, and so do tests"),
    (r"SELECT (q\.run, .*|place FROM queue .*) ORDER BY (q\.)?place LIMIT", "what came first into the queue, a batch at a time"),
    (r"SELECT p\.id, p\.gpu_id, p\.pid, p\.start_key FROM processes p .* p\.ended = N", "once after a start: the runs that had not ended"),
    (r"SELECT p\.id, .* ORDER BY p\.id LIMIT N$", "a download, in the order of numbers, page by page"),
    (r"WITH m AS (NOT )?MATERIALIZED .* MIN\(p\.id\) OVER", "a program is known by its first run, however long ago that was"),
)
# What no test prepares.
UNSEEN = ("SELECT pg_database_size(",  # the size of a server, which has no limit of its own: not asked for
          "DELETE FROM queue WHERE place IN (SELECT place FROM queue ORDER BY place LIMIT",  # a disk that is full
          # A copy asks once for hosts and GPUs, which are few (test_db_copy).
          "SELECT id, name, first_seen_ms, last_seen_ms FROM hosts", "SELECT id, host_id, identity, uuid, pci_address, name,",
          "SELECT nextval(pg_get_serial_sequence(", "SELECT COALESCE(MAX(id), ")
STRING = r'"(?:[^"\\\n]|\\.)*"'


def plain(text):
    """The same for all numbers and texts in it."""
    text = re.sub(r"\b\d+\b", "N", re.sub(r"'[^']*'", "'T'", text))
    return re.sub(r"N(, N)+", "N", re.sub(r"_\d{4}_\d\d_\d\d\b", "_DAY", re.sub(r"\s+", " ", text))).strip(" ;")


def is_question(text):
    return re.match(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\b", text) and not re.search(r"\bpg_\w+|sqlite_\w+|\bcurrent_schema\b", text)


def allowed(text):
    return any(re.match(begin, text) for begin, _ in ALLOWED)


def noted(names, path, env):
    """Of each statement its text and the lines of its plan."""
    for name in names:
        done = subprocess.run([f"{BUILD}/tests/unit/test_{name}"], env={**os.environ, "WHIRR_SOURCE_ROOT": str(ROOT), **env, "WHIRR_STATEMENTS": str(path)},
                              capture_output=True, text=True, timeout=10 * PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    files, servers, lines = collections.OrderedDict(), collections.OrderedDict(), None
    for line in path.read_text().splitlines():
        if line.startswith("S "):
            lines = files.setdefault(plain(line[2:]), set())
        elif line.startswith("| "):
            lines.add(line[2:])
        else:
            servers.setdefault(plain(line[2:]), line[2:])
    return files, servers


def names_of(text):
    """Which tables a name in a plan may stand for."""
    names = collections.defaultdict(set)
    for table, name in re.findall(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)(?:\s+(?:AS\s+)?([a-z]\w*))?", text):
        names[name or table].add(table)
        names[table].add(table)
    return names


def faults(text, plan):
    names = names_of(text)
    for line in plan:
        found = re.match(r"(SCAN|SEARCH) (\w+)(.*)", line)
        if found and names[found[2]] & GROWING and (found[1] == "SCAN" or re.search(r"processes_by_gpu \(gpu_id=\?\)", found[3])):
            yield line


@pytest.fixture(scope="module")
def in_files(tmp_path_factory):
    return noted(FILES, tmp_path_factory.mktemp("plans") / "statements", {"WHIRR_TEST_POSTGRES": ""})[0]


def literals():
    """How the statements in the sources begin, up to what is filled in."""
    for file in sorted(pathlib.Path(ROOT, "src/store").glob("**/*.c")):
        if file.parent.name == "schema":
            continue
        source = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.S).replace("\\\n", "\n")
        for found in re.findall(rf"{STRING}(?:\s*{STRING})*", source):
            text = "".join(part[1:-1] for part in re.findall(STRING, found)).replace('\\"', '"')
            if re.match(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\s", text):
                head = re.split(r"%|\{", text)[0]
                yield file.name, plain(head if head.count("'") % 2 == 0 else head[:head.rindex("'")])


PARTS = "SELECT p.relname, MIN(c.relname::text) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent WHERE c.relkind = 'r' GROUP BY 1"


# The plan of a prepared statement, line by line, or what the server has against it: one session for all of them.
PLAN = """SET enable_seqscan = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION pg_temp.plan(types text, statement text, given text) RETURNS SETOF text LANGUAGE plpgsql AS $plan$
BEGIN
    EXECUTE 'PREPARE q' || types || ' AS ' || statement;
    RETURN QUERY EXECUTE 'EXPLAIN EXECUTE q' || given;
    DEALLOCATE q;
EXCEPTION WHEN OTHERS THEN
    RETURN NEXT 'ERROR ' || SQLERRM;
    IF EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'q') THEN DEALLOCATE q; END IF;
END $plan$;
"""


def psql(url, text):
    return subprocess.run(["psql", "-X", "-A", "-t", "-q", url], input=text, capture_output=True, text=True, timeout=10 * PATIENCE, check=False).stdout


def explain(url, statements):
    """Plans as if parameters could be anything, and a scan were the last resort."""
    statements = list(statements)
    for table, columns in re.findall(r"INSERT INTO (\w+) \(([^)]*)\)", "\n".join(statements)):  # columns come with what GPUs show
        psql(url, "".join(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {name} BIGINT;" for name in columns.split(", ")))
    parts = dict(line.split("|") for line in psql(url, PARTS).splitlines())
    script = [PLAN]
    for text in statements:
        there = re.sub(r"\b(\w+?)_\d{4}_\d\d_\d\d\b", lambda found: parts.get(found[1], found[0]), text)
        count = max((int(number) for number in re.findall(r"\$(\d+)", there)), default=0)
        values = f"({', '.join(['NULL'] * count)})" if count else ""
        for types in ("", f"({', '.join(['bigint'] * count)})", f"({', '.join(['text'] * count)})"):
            script.append(f"SELECT * FROM pg_temp.plan($types${types}$types$, $statement${there}$statement$, '{values}');\n\\echo --\n")
    plans = psql(url, "".join(script)).split("--\n")
    assert len(plans) == 3 * len(statements) + 1, "the server did not answer everything"
    for i, text in enumerate(statements):
        yield text, next((plan for plan in plans[3 * i:3 * i + 3] if not plan.startswith("ERROR")), plans[3 * i])


def server_faults(plan):
    lines = plan.splitlines()
    for i, line in enumerate(lines):
        found = re.search(r"(Seq Scan|Index Scan|Index Only Scan).* on (\w+?)(_\d{4}_\d\d_\d\d)?(_pkey|_\w+_idx)? ?(\w+)?  ", line)
        if found and found[2] in GROWING and "finding_episodes_open" not in line and "Index Cond" not in (lines[i + 1] if i + 1 < len(lines) else ""):
            yield line.strip()


@pytest.mark.slow
def test_ranges_are_asked_for_and_every_statement_is_seen(in_files, tmp_path):
    bad = [f"{text[:300]}\n    {line}" for text, plan in in_files.items() if is_question(text) and not allowed(text) for line in faults(text, plan)]
    assert not bad, "\n".join(bad)
    assert sum(bool(is_question(text)) for text in in_files) > 200
    if not URL:
        pytest.skip("files alone were looked at: no PostgreSQL server (tools/with-postgres starts one)")
    _, servers = noted(SERVERS, tmp_path / "statements", {})
    url = re.sub(r"/[^/?]*\?", "/whirr_statements?", URL)
    texts = {text: part.strip() for text, whole in servers.items() for part in whole.split(";") if is_question(plain(part)) and not allowed(text)}
    bad = [f"{text[:300]}\n    {line}" for text, plan in explain(url, texts.values()) for line in (plan.splitlines() if plan.startswith("ERROR") else server_faults(plan))]
    assert not bad, "\n".join(bad)
    seen = "\n".join([*in_files, *servers])
    unseen = [f"{file}: {text}" for file, text in literals() if text not in seen and not text.startswith(UNSEEN)]
    assert not unseen, "\n".join(unseen)
