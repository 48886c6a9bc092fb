# SPDX-License-Identifier: Apache-2.0
"""What `make test` says at its end."""
import shutil

import pytest
from isolation import BUILD, ROOT
from scripts import module


def test_a_skipped_unit_test_is_listed_with_its_reason(tmp_path, monkeypatch, capsys):
    program = BUILD / "tests" / "unit" / "skips"
    if not program.exists() or not shutil.which("meson"):
        pytest.skip("no unit tests were built, or no meson")
    (tmp_path / "meson.build").write_text(f"project('made_up')\ntest('skips', find_program('{program}'), env: ['CMOCKA_MESSAGE_OUTPUT=TAP'], protocol: 'tap')\n")
    runner = module(ROOT / "tools/test")
    monkeypatch.setattr(runner, "POSTGRES", False)
    assert runner.run(["meson", "setup", str(tmp_path / "build"), str(tmp_path)]).returncode == 0
    runner.meson_tests(tmp_path / "build", "unit", [])
    capsys.readouterr()
    assert not runner.report()
    lines = capsys.readouterr().out.splitlines()
    assert "skipped unit: made_up.skips 2 - cannot_be_made: there is no such thing here" in lines, lines
    assert "failed unit: made_up.skips 3 - fails" in lines and lines[-1] == "1 passed, 1 failed, 1 skipped", lines
