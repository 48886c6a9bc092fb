# SPDX-License-Identifier: Apache-2.0
"""The moving picture that opens the README: it can be made again, and the one that is there is fit to be shown."""
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

from isolation import ROOT, WHIRR, environment
from terminals import needs_tmux

MOST_BYTES = 200_000


def texts(path):
    return " ".join(e.text or "" for e in ET.parse(path).iter("{http://www.w3.org/2000/svg}text"))


def test_the_picture_opens_the_readme():
    head = (ROOT / "README.md").read_text().split("##")[0]
    assert "docs/whirr.svg" in head
    picture = ROOT / "docs" / "whirr.svg"
    assert picture.stat().st_size < MOST_BYTES
    shown = texts(picture)
    for part in ("whirr why", "whirr top", "Cause", "PROCESS", "Overview", "quit"):
        assert part in shown, part
    assert "script" not in {e.tag.rsplit("}")[-1] for e in ET.parse(picture).iter()}  # GitHub shows none with one


@needs_tmux
def test_the_picture_can_be_made_again(tmp_path):
    out, recorded = tmp_path / "picture.svg", tmp_path / "whirr.cast"
    done = subprocess.run([sys.executable, ROOT / "tools" / "moving-picture", "--quick", "--whirr", WHIRR, "-o", out, "--cast", recorded], env=environment(), capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size < MOST_BYTES and "train.py" in texts(out)
    head, *events = map(json.loads, recorded.read_text().splitlines())
    assert head["version"] == 2 and len(events) > 5 and all(kind == "o" for _, kind, _ in events)
    assert [at for at, _, _ in events] == sorted(at for at, _, _ in events) and "train.py" in "".join(text for _, _, text in events)
