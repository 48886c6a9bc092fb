# SPDX-License-Identifier: Apache-2.0
"""Each bench can start; `make bench` and `bench/gpu` end in one table."""
import importlib
import json
import re
import subprocess
import sys

import pytest
from isolation import BUILD, ROOT, WHIRR, environment
from scripts import module

SCRIPTS = sorted(path.name for path in (ROOT / "bench").iterdir() if path.is_file() and re.match(rb"#!.*python3\n", path.read_bytes()))


def start(name, *arguments):
    return subprocess.run([ROOT / "bench" / name, *arguments], env=environment(PYTHONDONTWRITEBYTECODE="1"), capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_bench_finds_what_it_needs_and_says_how_it_is_used(name):
    done = start(name, "--help")
    assert done.returncode == 0 and done.stderr == "" and re.search(rf"^usage: (bench/)?{name} ", done.stdout, re.M), done.stdout + done.stderr


def test_no_script_runs_under_whichever_python_comes_first():
    """That one may lack what Debian's has: pytest, for example. Checks on a real GPU want the one that has torch."""
    listed = subprocess.run(["git", "grep", "-lIE", "^#!.*env python3", "--", ".", ":!tests/gpu"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode > 1:
        pytest.skip("git doesn't list the sources")
    assert listed.stdout.split() == []


def test_without_what_it_is_to_measure_it_says_so_too():
    assert len(SCRIPTS) >= 13
    done = start("many")
    assert done.returncode == 2 and done.stdout == "" and "\nusage: bench/many PATH_OF_WHIRR" in done.stderr


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
    bench.write_text("#!/bin/sh\nexit 3\n")
    done = subprocess.run([ROOT / "tools/bench", tmp_path, "bench_made_up"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "0 of 0 figures pass; failed: bench_made_up (exit status 3)"


def test_the_kept_table_names_what_failed_and_what_was_not_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    keep = importlib.import_module("figures").keep
    row = ("within", "1.5 ms", "at most 2", "nginx", "pass")
    keep(tmp_path / "kept.md", "make bench", [row], ["guard (no NVIDIA GPU)"], ["many (exit status 1)", "serve (exit status 2)"])
    assert (tmp_path / "kept.md").read_text().endswith(
        "| within | 1.5 ms | at most 2 | nginx | pass |\n\nNot run: guard (no NVIDIA GPU).\n\nFailed: many (exit status 1); serve (exit status 2).\n")
    keep(tmp_path / "kept.md", "make bench", [row], [], [])
    assert (tmp_path / "kept.md").read_text().endswith("pass |\n")
    capsys.readouterr()


def test_a_watcher_is_judged_by_the_noise_of_unwatched_slices(capsys):
    disturbance = module(ROOT / "bench/disturbance")
    calm, rough = [1.0, 1.001] * 8, [1.0, 1.3] * 8
    assert disturbance.noise(calm) < 1.002 and 1.2 < disturbance.noise(rough) <= 1.3
    assert disturbance.judge("whirr serve", "p99", [1.04] * 8, calm, 1.05)[1]
    assert not disturbance.judge("whirr serve", "p99", [1.06] * 8, calm, 1.05)[1], "six percent among slices that differ by a thousandth"
    assert disturbance.judge("whirr serve", "p99", [1.2] * 8, rough, 1.05)[1], "less than the slices differ by themselves"
    assert disturbance.judge("nvtop", "p99", [9.0] * 8, calm, 1.05)[1], "others promised nothing"
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(line.startswith("figure\tkernel p99, watched by whirr serve\t") for line in lines)


def test_unwatched_slices_and_each_watcher_take_turns():
    turns = module(ROOT / "bench/disturbance").turns
    rounds = [turns(["a", "b", "c", "d"], i) for i in range(4)]
    assert rounds[0] == ["nobody", "a", "b", "nobody", "c", "d"] and rounds[1] == ["nobody", "b", "c", "nobody", "d", "a"]
    assert {order[1] for order in rounds} == {"a", "b", "c", "d"}, "each is first once"


@pytest.fixture
def gpu_host(tmp_path):
    """An environment in which a GPU, its driver and nvidia-smi are made up; nvtop is not installed, and there is no CUDA."""
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    if not library.exists():
        pytest.skip("the fake NVML library was not built")
    for name in ("lib", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "lib/libnvidia-ml.so.1").symlink_to(library)
    smi = tmp_path / "bin/nvidia-smi"
    smi.write_text(f"#!/bin/sh\n[ \"$1\" != dmon ] || exec sleep 600\nexec {ROOT}/tests/fakes/nvidia-smi \"$@\"\n")
    smi.chmod(0o755)
    return environment(PATH=f"{tmp_path}/bin:/usr/bin:/bin", LD_LIBRARY_PATH=str(tmp_path / "lib"), WHIRR_NVML_LIBRARY=None, NVTOP=f"{tmp_path}/nvtop",
                       WHIRR_NVIDIA_SMI=None)


@pytest.mark.slow
def test_the_figures_of_a_gpu_survive_a_peer_and_a_part_that_cannot_run(gpu_host, tmp_path):
    done = subprocess.run([ROOT / "bench/gpu", WHIRR, "--only", "one-shot,watching,eviction,disturbance", "--runs", "1", "--watch", "1", "--disturb", "900", "--limit", "500",
                           "--keep", tmp_path / "kept.md"], env=gpu_host, capture_output=True, text=True, timeout=600)
    rows = [[c.strip() for c in line.split("  ") if c.strip()] for line in done.stdout.splitlines()]
    judged = {row[0]: row for row in rows if row and row[-1] in ("pass", "FAIL")}
    assert done.returncode == 1, done.stdout + done.stderr
    for what in ("whirr status --json without a daemon", "whirr why, one look", "whirr status --json with a daemon", "CPU of whirr serve 1 s", "memory of whirr serve 1 s, SQLite",
                 "CPU of whirr serve 5 s", "CPU of whirr top --direct", "memory of whirr top with a daemon"):
        assert what in judged, done.stdout + done.stderr
    assert re.match(r"dmon \d+\.\d+%, \d", judged["CPU of whirr serve 1 s"][3]) and "nvtop is not installed" in judged["CPU of whirr top --direct"][3]
    assert f"not run: nvtop ({tmp_path}/nvtop is not installed)" in done.stdout
    assert "not run: disturbance (it needs 910 s, " in done.stdout and "failed: eviction (" in done.stdout.splitlines()[-1]
    kept = (tmp_path / "kept.md").read_text()
    assert all(f"| {what} |" in kept for what in judged) and "Not run: " in kept and "Failed: eviction (" in kept


def test_the_guards_own_part_of_an_eviction_is_read_off_its_log():
    added_ms = module(ROOT / "bench/guard").added_ms
    log = """2026-11-15T18:26:58.800Z warning gives its GPU up: sleep (pid 7) holds 29.3 GiB on GPU 0 worker=w0 state=draining
2026-11-15T18:26:58.832Z info    taking it off the GPU through checkpoint worker=w0 state=evicting
2026-11-15T18:26:58.998Z info    the method was carried out worker=w0 method=checkpoint ms=162 mib=16000
2026-11-15T18:26:59.016Z info    asking the driver whether the memory is free worker=w0 state=verifying
2026-11-15T18:26:59.033Z info    paused; 15.6 GiB of GPU memory were given back 207ms after the decision worker=w0 state=paused
"""
    assert round(added_ms(log)) == 71 and added_ms("") is None and added_ms(log.split("2026-11-15T18:26:59.016Z")[0]) is None


# ---- tools/cost ----

PROFILE = """events: Ir
fn=write_text
10 100
11 7
cfn=malloc
calls=3 0
12 900
fn=malloc
1 800
cfn=calloc
calls=5 0
2 100
fn=write_text'2
20 50
fn=sort.part.0
30 40
31
"""


def test_a_profile_gives_instructions_of_functions_and_allocations():
    functions, allocations = module(ROOT / "tools" / "cost").read_profile(PROFILE)
    assert functions == {"write_text": 157, "malloc": 800, "sort": 40} and allocations == 3


def test_a_path_above_its_budget_fails_and_the_function_that_grew_is_named(capsys):
    cost = module(ROOT / "tools" / "cost")
    budget = {"instructions": 1000, "allocations": 100, "commit": "abc", "reason": "as measured", "functions": {"write_text": 600, "sort": 300, "small": 100}}
    assert cost.compare("json", {"instructions": 1049, "allocations": 105, "functions": {"write_text": 649, "sort": 300, "small": 100}}, budget)
    assert "OVER" not in capsys.readouterr().out
    assert not cost.compare("json", {"instructions": 1060, "allocations": 100, "functions": {"write_text": 600, "sort": 360}}, budget)
    said = capsys.readouterr().out
    assert "OVER ITS BUDGET" in said and re.search(r"\+60 +sort\n", said) and "write_text" not in said and "--accept json" in said
    assert not cost.compare("json", {"instructions": 1000, "allocations": 120, "functions": budget["functions"]}, budget)


def test_every_path_has_a_budget_with_its_commit_and_its_reason():
    cost = module(ROOT / "tools" / "cost")
    budgets = json.loads(cost.BUDGETS.read_text())
    assert list(budgets["paths"]) == cost.ALL and len(cost.ALL) >= 15
    assert all(b["commit"] and b["reason"] and b["functions"] for b in budgets["paths"].values())


def test_what_is_accepted_replaces_the_budget_and_says_why(tmp_path, monkeypatch, capsys):
    cost = module(ROOT / "tools" / "cost")
    monkeypatch.setattr(cost, "BUDGETS", tmp_path / "budgets.json")
    now = {"instructions": 7, "allocations": 1, "functions": {"f": 7}}
    cost.accept({"json": now}, None, "first")
    cost.accept({"scrape": now, "json": dict(now, instructions=9)}, json.loads(cost.BUDGETS.read_text()), "more is said")
    paths = json.loads(cost.BUDGETS.read_text())["paths"]
    assert list(paths) == ["scrape", "json"] and paths["json"]["instructions"] == 9 and paths["json"]["reason"] == "more is said"
    assert "(were 7 and 1)" in capsys.readouterr().out
