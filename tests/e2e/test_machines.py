# SPDX-License-Identifier: Apache-2.0
"""What whirr says about each recorded host, as a person has read and approved it: tests/golden/machines.txt."""
import concurrent.futures
import json
import os

import pytest
import recorded
from isolation import ROOT, linux_only, run_whirr

GOLDEN = ROOT / "tests" / "golden" / "machines.txt"


def said(name, folder):
    """The answer of `why`, its advice, and the state of each GPU by `health`."""
    root = recorded.expand(name, folder / name)
    def ask(*words):
        return json.loads(run_whirr("--sysroot", root, *words, "--json", **recorded.answers(root)).stdout)
    why = ask("why")
    advice = dict.fromkeys(words for gpu in why["gpus"] for words in gpu["suggestions"])
    lines = [why["answer"], *(f"do: {words}" for words in advice)]
    lines += [f"GPU {gpu['gpu_index']} {gpu['gpu_name']}: {gpu['state']}" for gpu in ask("health")["gpus"]]
    return "\n".join([name, *(f"    {line}" for line in lines)])


@pytest.mark.slow
@linux_only("machines are recorded on Linux")
def test_every_recorded_host_is_answered_as_approved(tmp_path):
    names = sorted(path.stem for path in recorded.FOLDER.glob("*.machine"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        now = "\n".join(pool.map(lambda name: said(name, tmp_path), names)) + "\n"
    if os.environ.get("WHIRR_WRITE_GOLDEN"):
        GOLDEN.write_text(now)
    assert now == GOLDEN.read_text()
