# SPDX-License-Identifier: Apache-2.0
"""Commands and the daemon that they speak to: the right one, by name, or none."""


def test_no_silences_is_an_answer(daemon):
    done = daemon.whirr("alert", "silence", "list")
    assert done.returncode == 0 and done.stdout == "No silences.\n", done
