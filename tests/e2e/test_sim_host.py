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
    body = whirr("--source", f"sim:fault={fault}", "why", "--json").json(code=int(fault == "hang"))  # a GPU that can't be read is there
    assert [f["code"] for f in body["findings"]] == [code] and body["severity"] == severity


def test_the_list_has_the_faults_with_the_code_that_each_must_show(whirr):
    listed = whirr("sim", "list", "--json").json()
    faults = {f["name"]: f["finding"] for f in listed["faults"]}
    assert {name: faults[name] for name in ("hang", "error", "mismatch", "nodriver", "nopermission")} == {
        "hang": "source_hung", "error": "source_failing", "mismatch": "driver_mismatch", "nodriver": "no_driver", "nopermission": "no_permission"}
    text = whirr("sim", "list").out.split("Faults of ")[1]
    for name, code in faults.items():
        assert f"\n  {name} " in text and (code or "") in text, name
        if code and name != "hang":  # which takes its time, above
            body = whirr("--source", f"sim:scenario=training,start=300,fault={name}", "why", "--json").json()
            assert body["findings"][0]["code"] == code, (name, body["findings"])
