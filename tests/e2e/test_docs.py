# SPDX-License-Identifier: Apache-2.0
"""What the documentation says can be done: every command in it is understood, and the site that `make docs` builds has no broken links.

Commands are the lines of ```sh blocks that begin with whirr. Blocks that cannot be run here say why in their first line: ```sh needs-network, needs-root,
needs-gpu or changes-host.
"""
import concurrent.futures
import re
import subprocess

import pytest
from isolation import ROOT, WHIRR, environment

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
MARKS = {"", "needs-network", "needs-root", "needs-gpu", "changes-host"}


def commands():
    for page in PAGES:
        for mark, block in re.findall(r"^```sh *(\S*)\n(.*?)^```", page.read_text(), re.M | re.S):
            assert mark in MARKS, (page.name, mark)
            for line in block.replace("\\\n", " ").splitlines():
                if not mark and re.match(r"whirr( |$)", line):
                    yield page.name, line


def run(folder, line):
    """The status of the command, or None for one that still runs: that has understood what it was told."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "whirr").symlink_to(WHIRR)
    env = environment(folder, WHIRR_SAMPLING_SOURCES="sim")
    env["PATH"] = f"{folder}/bin:{env['PATH']}"
    process = subprocess.Popen(["/bin/bash", "-c", f"exec {line}"], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, errors="replace")
    try:
        said = process.communicate(timeout=3)[1]
        return process.returncode, said
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[1]


@pytest.mark.slow
def test_every_command_is_understood(tmp_path):
    found = list(commands())
    assert len(found) > 60
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda item: run(tmp_path / str(item[0]), item[1][1]), enumerate(found)))
    # 2 with a message is wrong usage (of health it is an answer); below 0 it was ended by a signal.
    wrong = [f"{page}: {line}\n  {said.strip()[:300]}" for (page, line), (status, said) in zip(found, results) if status is not None and (status == 2 and said or status < 0 or status > 125)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_the_site_has_every_page_and_no_broken_link(tmp_path):
    if subprocess.run(["/usr/bin/python3", "-c", "import markdown"], capture_output=True).returncode:
        pytest.skip("no python3-markdown (tools/deps docs)")
    done = subprocess.run(["/usr/bin/python3", ROOT / "tools" / "docs", tmp_path / "site"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((tmp_path / "site" / f"{page.stem}.html").exists() for page in PAGES if page.stem != "README")
    index = (tmp_path / "site" / "index.html").read_text()
    assert 'href="tutorial.html"' in index and 'href="configuration.html"' in index
