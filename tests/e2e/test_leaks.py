# SPDX-License-Identifier: Apache-2.0
"""In a build with the address sanitizer, no command leaves memory behind."""
import subprocess

import pytest
from conftest import WHIRR

SANITIZED = "libasan" in subprocess.run(["ldd", WHIRR], capture_output=True, text=True).stdout


@pytest.mark.skipif(not SANITIZED, reason="not a build with the address sanitizer")
@pytest.mark.parametrize("args", [["status", "--full", "--json"], ["ps"], ["why"], ["resources"], ["health"], ["fit"], ["fit", "1MiB"], ["notify"], ["alert"], ["alert", "rules"], ["alert", "test"], ["doctor"], ["sim", "list"]])
def test_nothing_is_left_behind(whirr, args):
    result = whirr("--source", "sim:scenario=mixed", *args, ASAN_OPTIONS="detect_leaks=1", timeout=120)
    assert result.code == 0, result.err
