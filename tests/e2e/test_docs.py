# SPDX-License-Identifier: Apache-2.0
"""What the documentation says can be done: every command in it is understood, and the site that `make docs` builds has no broken links.

Commands are the lines of ```sh blocks that begin with whirr. Blocks that cannot be run here say why in their first line: ```sh needs-network, needs-root,
needs-gpu or changes-host.
"""
import concurrent.futures
import glob
import os
import re
import subprocess

import pytest
from isolation import ROOT, WHIRR, environment
from waiting import patience

from .test_usage import COMMANDS

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
# How a command ends on a simulated machine without a daemon, a history, a recording or a terminal; every other one ends with 0. The answer "no" is one, too.
RUNS = None  # until it is ended
ENDS = [
    (r"whirr (serve|record)\b", RUNS, ""),
    (r"whirr why --forecast\b", RUNS, ""),  # it looks for a while where there is no history
    (r"whirr alert silence\b", 1, r"^whirr: no daemon is running"),
    (r"whirr alert test .*--since", 1, r"^whirr: there is no history yet at '\S+'\nTo record one: whirr serve; from each"),
    (r"whirr .*--store day\.db", 1, r"^whirr: cannot open 'day\.db': No such file"),
    (r"whirr history\b", 1, r"^whirr: there is no history yet at '\S+'\nTo record one: whirr serve; from each"),
    (r"whirr db (backup|restore|copy)\b", 1, r"^whirr: cannot open '\S+/whirr.db': No such file"),
    (r"whirr report\b", 1, r"^whirr: there is no history yet at '\S+'\nTo record one: whirr serve; from each"),
    (r"whirr wait\b", 1, r"^whirr: no GPU (was found on this host|matches '0')"),
    (r"whirr .*replay:", 1, r"^whirr: cannot open the recording '\S+': No such file"),
    (r"whirr .*--watch\b", RUNS, ""),
    (r"whirr undo 1\b", 1, r"^whirr: there is no change '1'; `whirr undo` lists them$"),
    (r"whirr token remove\b", 1, r"^whirr: there is no token 'laptop'\nTo list them: whirr token list$"),
    (r"whirr( --source sim)? top\b(?!.*--once)", 1, r"^whirr: cannot draw on this terminal; `whirr top.*--once` prints one frame$"),
    (r"whirr fit 24GiB --split even --source sim", 0, ""),
    (r"whirr fit (24GiB|100GiB)\b", 1, r"^$"),
    (r"whirr health --source sim:scenario=fan-stopped$", 2, r"^$"),
]
MARKS = {"", "needs-network", "needs-root", "needs-gpu", "changes-host"}


def commands():
    for page in PAGES:
        for mark, block in re.findall(r"^```sh *(\S*)\n(.*?)^```", page.read_text(), re.M | re.S):
            assert mark in MARKS, (page.name, mark)
            for line in block.replace("\\\n", " ").splitlines():
                if not mark and re.match(r"whirr( |$)", line):
                    yield page.name, line


def expectation(line):
    return next(((code, words) for pattern, code, words in ENDS if re.match(pattern, line)), (0, ""))


def run(folder, line):
    """The status of the command, or None for one that still runs: that has understood what it was told."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "whirr").symlink_to(WHIRR)
    env = environment(folder, **({"WHIRR_SAMPLING_SOURCES": "sim"} if "serve" in line else {}))
    env["PATH"] = f"{folder}/bin:{env['PATH']}"
    line = line.replace("/var/lib/whirr", f"{folder}/state")  # a daemon of this machine may keep its history there
    process = subprocess.Popen(["/bin/bash", "-c", f"exec {line}"], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, errors="replace")
    try:
        said = process.communicate(timeout=2 if expectation(line)[0] is RUNS else patience(100))[1]
        return process.returncode, said
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[1]


def as_expected(line, status, said):
    code, words = expectation(line)
    return status == code and re.search(words, said.strip())


@pytest.mark.slow
def test_every_command_is_understood(tmp_path):
    found = list(commands())
    assert len(found) > 60
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda item: run(tmp_path / str(item[0]), item[1][1]), enumerate(found)))
    wrong = [f"{page}: {line}\n  ended with {status}: {said.strip()[:300]}" for (page, line), (status, said) in zip(found, results) if not as_expected(line, status, said)]
    assert not wrong, "\n".join(wrong)


CLOCK = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1") + glob.glob("/usr/lib*/faketime/libfaketime.so.1")), None)
TIMES = r"--(at|since|until|from|for|when)[ =]"


def printed_commands(whirr):
    """Those with a time in them: examples of --help, code blocks of README and docs, and commands within their sentences."""
    found = set()
    for command in COMMANDS:
        for line in whirr(command, "--help").out.splitlines():
            found |= {re.split(r"  +", line.strip())[0]} if re.match(r"  whirr ", line) else set()
    for page in PAGES:
        text = page.read_text()
        found |= {line.removeprefix("$ ").split("  #")[0].strip() for block in re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()}
        found |= set(re.findall(r"`(whirr [^`]*)`", text))
    runs = (part.strip() for line in found for part in re.split(r"&&|;|\|", line.replace("...", "")))
    return sorted({part for part in runs if re.match(r"whirr ", part) and re.search(TIMES, part) and not re.search(r"[A-Z]{3,}|serve|http:", part.split(" -- ")[0])})


@pytest.mark.slow
@pytest.mark.skipif(not CLOCK, reason="no libfaketime (Debian: faketime)")
@pytest.mark.parametrize("hour", ["00:20", "06:40", "13:05", "23:50"])
def test_examples_with_times_are_understood_at_any_hour(whirr, tmp_path, hour):
    """\"From 20:00 until 08:00\" was an error after midnight. Here only that counts: 2 is what a command answers that it does not understand."""
    lines = printed_commands(whirr)
    assert len(lines) > 20, lines

    def asked(line):
        words = "--dry-run" if re.match(r"whirr (set|quiet) ", line) else ""
        line = re.sub(r"^whirr (set|quiet) (.*?)( -- .*)?$", rf"whirr --source sim:gpus=1 \1 \2 {words}\3", line)
        env = environment(tmp_path, LD_PRELOAD=CLOCK, FAKETIME=f"@2026-11-19 {hour}:00", TZ="UTC")
        env["PATH"] = f"{os.path.dirname(WHIRR)}:{env['PATH']}"
        done = subprocess.run(["/bin/bash", "-c", f"exec timeout 3 {line}"], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode != 2, line, done.stderr.strip()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [(line, said) for fine, line, said in pool.map(asked, lines) if not fine]
    assert not wrong, wrong


def test_tests_that_the_documentation_names_are_there():
    """Of every promise in SECURITY.md the table names the test that tries to break it."""
    section = (ROOT / "docs" / "SECURITY.md").read_text().split("\n## What an attacker could try\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|") and "| attempt |" not in line and "|---" not in line]
    assert len(rows) > 10 and not [row for row in rows if "`tests/" not in row]
    named = {(page.name, name) for page in PAGES for name in re.findall(r"`(tests/[\w./-]+)`", page.read_text())}
    assert len(named) > 8 and not [(page, name) for page, name in named if not (ROOT / name).exists()]


def test_the_pages_stay_short():
    """As `cat docs/*.md docs/*/*.md | wc -w` counts."""
    words = {page.name: len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md")}
    assert sum(words.values()) < 40000, sorted(words.items(), key=lambda item: -item[1])[:12]


@pytest.mark.slow
def test_the_site_has_every_page_and_no_broken_link(tmp_path):
    if subprocess.run(["/usr/bin/python3", "-c", "import markdown"], capture_output=True).returncode:
        pytest.skip("no python3-markdown (tools/deps docs)")
    done = subprocess.run(["/usr/bin/python3", ROOT / "tools" / "docs", tmp_path / "site"], capture_output=True, text=True, timeout=patience(120))
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((tmp_path / "site" / f"{page.stem}.html").exists() for page in PAGES if page.stem != "README")
    index = (tmp_path / "site" / "index.html").read_text()
    assert 'href="tutorial.html"' in index and 'href="configuration.html"' in index
