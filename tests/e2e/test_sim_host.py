# SPDX-License-Identifier: Apache-2.0
"""Faults of the simulator with which no GPU can be read: what the host's finding is, through the whole program."""
import pytest


@pytest.mark.parametrize("fault, code, severity", [
    ("error", "source_failing", "warning"),
    ("mismatch", "driver_mismatch", "warning"),
    ("nodriver", "no_driver", "warning"),
    ("nopermission", "no_permission", "warning"),
    pytest.param("hang", "source_hung", "critical", marks=pytest.mark.slow),
])
def test_a_host_whose_driver_does_not_answer_says_why(whirr, fault, code, severity):
    body = whirr("--source", f"sim:fault={fault}", "why", "--json").json()
    assert [f["code"] for f in body["findings"]] == [code] and body["severity"] == severity
