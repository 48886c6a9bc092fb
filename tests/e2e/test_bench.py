# SPDX-License-Identifier: Apache-2.0
"""`make bench` ends in one table."""
import subprocess

from isolation import ROOT


def test_the_table_has_each_figure_with_its_goal_and_judges_it(tmp_path):
    bench = tmp_path / "bench" / "bench_made_up"
    bench.parent.mkdir()
    bench.write_text("#!/bin/sh\nprintf 'figure\\twithin\\t1.5\\tms\\tat most\\t2\\tnginx\\nsaid\\nfigure\\ttoo few\\t3\\tx\\tat least\\t4\\t\\n'\n")
    bench.chmod(0o755)
    done = subprocess.run([ROOT / "tools/bench", tmp_path, "bench_made_up"], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert "said" in lines and not any(line.startswith("figure\t") for line in lines)
    assert ["within", "1.5 ms", "at most 2", "nginx", "pass"] in [[c.strip() for c in line.split("  ") if c.strip()] for line in lines]
    assert ["too few", "3 x", "at least 4", "FAIL"] in [[c.strip() for c in line.split("  ") if c.strip()] for line in lines]
    assert done.returncode == 1 and lines[-1] == "1 of 2 figures pass"
