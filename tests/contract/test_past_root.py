# SPDX-License-Identifier: Apache-2.0
"""The past is told from its roots: the same first finding as when it happened, its effects with it, and no calm beside it."""
import json

from waiting import eventually


def test_a_stopped_fan_is_the_root_of_the_past_as_well(start, tmp_path):
    d = start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/h.db", source="sim:scenario=fan-stopped,start=400")

    def stored():
        then = d.json("/api/why?at=now")
        return then if then.get("findings") and then["findings"][0]["code"] == "fan_stopped" else None
    then = eventually(stored, explain=d.log)
    assert then["severity"] == "critical" and then["calm"] is None, json.dumps(then)[:400]
    told = eventually(lambda: [e for e in d.json("/api/why?since=-1m").get("episodes", []) if "fan had stopped" in e["answer"]] or None, explain=d.log)
    assert told[0]["severity"] == "critical"
    assert not any("was throttling" in e["answer"] for e in d.json("/api/why?since=-1m")["episodes"])
