# SPDX-License-Identifier: Apache-2.0
"""The list of faults that the summary of `make test` counts names tests that exist."""
import re

import faults
from isolation import ROOT


def test_every_fault_has_its_tests():
    for kind, tests in faults.FAULTS.items():
        assert tests, kind
        for test in tests:
            where, _, name = test.partition("::")
            if where.startswith("unit: "):
                found = list((ROOT / "tests" / "unit").rglob(f"test_{where.removeprefix('unit: ')}.c"))
                assert found and re.search(rf"TEST\({name}\)", found[0].read_text()), (kind, test)
            else:
                assert re.search(rf"^def {name}\(", (ROOT / "tests" / where).read_text(), re.M), (kind, test)


def test_a_kind_is_tried_when_a_test_ran_and_survived_when_none_failed():
    clock = "python: contract.test_clock test_a_clock_that_leaps_and_is_set_right_deletes_and_loses_nothing[sqlite-+30s]"
    lost = "unit: whirr.whirr:unit / nvml_cards 4 - a_lost_card_is_tried_every_five_seconds_and_comes_back"
    kinds, bad = faults.tried([(clock, "passed"), (lost, "failed"), ("python: contract.test_http test_limits", "passed")])
    assert kinds == ["a GPU is lost and comes back", "the clock leaps, also backwards"] and bad == ["a GPU is lost and comes back"]
    assert faults.tried([(clock, "skipped")]) == ([], [])
