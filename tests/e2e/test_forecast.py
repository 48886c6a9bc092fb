# SPDX-License-Identifier: Apache-2.0
"""whirr forecast without a daemon: it looks for itself, and says what it lacks. (With a daemon: tests/contract/test_forecast.py)"""
import pytest


def test_says_what_it_lacks(sim):
    done = sim("training", "forecast", "--watch-for", "1", gpus=1)
    assert done.code == 0 and "watched for too short a time" in done.out and "can't tell" in done.out and "whirr serve" in done.out
    assert done.err == ""


def test_keys_are_there_when_nothing_is_known(sim):
    body = sim("asleep", "forecast", "--json", "--watch-for", "0.3").json()
    assert body["remembered"] is False and body["simulated"] is True and body["store"] is None
    gpu = body["gpus"][0]
    assert gpu["memory"]["verdict"] == "unknown" and gpu["memory"]["reason"] == "the GPU is asleep"
    for key in ("at", "seconds", "earliest_seconds", "latest_seconds", "used_mb", "process"):
        assert gpu["memory"][key] is None
    assert gpu["temperature"]["final_celsius"] is None


def test_a_machine_without_gpus_is_no_failure(whirr):
    done = whirr("forecast", "--direct")
    assert done.code == 0 and "No GPU" in done.out


@pytest.mark.parametrize("arguments, words", [
    (["--watch-for", "x"], "watch-for"), (["--watch-for", "0"], "watch-for"), (["--watch-for", "9999"], "at most an hour"), (["surplus"], "surplus")])
def test_wrong_usage(whirr, arguments, words):
    done = whirr("forecast", *arguments)
    assert done.code == 2 and words in done.err and done.out == ""


def test_an_unknown_gpu_is_named(sim):
    done = sim("idle", "forecast", "--gpu", "7", "--watch-for", "0.2")
    assert done.code == 1 and "'7'" in done.err
