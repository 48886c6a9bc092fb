# SPDX-License-Identifier: Apache-2.0
"""The guard's HTTP methods against stand-ins that speak each protocol as the server's own source does (tests/fakes/servers/servers.py names
the file and the commit of each), and against their lies."""

import pytest
from guard_machine import Server, fleet, machine, needs_fakes, throughout, wait_for  # noqa: F401

pytestmark = needs_fakes

KINDS = ["ollama", "llamacpp", "llama-swap", "vllm", "sglang", "comfyui", "lmstudio", "webui", "textgen", "triton"]
COMES_BACK = set(KINDS) - {"llama-swap", "comfyui"}  # these two load with their next request


def guard(m, server, *methods):
    m.guard("attach", *(word for method in methods for word in ("--method", method)), server.url)
    m.until("running")


def calls(server, path):
    return [line for line in server.log() if path in line.split()[1]]


def gives_up(m):
    return wait_for(lambda: (lambda s: s if s.get("gave_up") else None)(m.status()), m.log)


# ---- as their sources have it ----

@pytest.mark.slow
def test_every_server_unloads_and_loads_again(machine):
    m = machine
    servers = fleet(m, {kind: {} for kind in KINDS})
    before = {kind: sorted(s.get()["loaded"]) for kind, s in servers.items()}
    other = m.process(3000)
    wait_for(lambda: all(s.unloaded() for s in servers.values()), lambda: m.log())
    assert not any(w["memory_still_held"] for w in m.until_all("paused").values())
    m.end(other)
    m.until_all("running")
    for kind, server in servers.items():
        if kind in COMES_BACK:
            assert sorted(server.get()["loaded"]) == before[kind], (kind, server.log())
        assert not server.get().get("paused") and not server.get().get("broken"), kind


def test_work_in_flight_is_waited_for(machine):
    m = machine
    servers = fleet(m, {kind: {"busy": True} for kind in ("llamacpp", "llama-swap", "vllm", "sglang", "comfyui", "webui")}, 'drain_timeout = "10m"\n')
    m.process(3000)
    m.until_all("draining")
    throughout(0.6, lambda: all(s.get()["loaded"] for s in servers.values()), m.log)
    m.until_all("draining")
    for server in servers.values():
        server.put(busy=False)
    m.until_all("paused")
    assert all(s.unloaded() and not s.get().get("broken") for s in servers.values())


def test_vllm_that_does_not_tell_its_load_is_asked_to_wait_itself(machine):
    m = machine
    server = Server(m, "vllm", busy=True, load_tracking=False)
    guard(m, server, "vllm")
    m.process(3000)
    wait_for(lambda: calls(server, "/sleep"), m.log)
    throughout(0.3, lambda: server.get()["loaded"] and m.status()["state"] == "evicting", m.log)
    server.put(busy=False)
    m.until("paused")
    assert not server.get().get("broken")


def test_memory_that_is_still_held_is_said_loudly_and_told_when_it_is_free_after_all(machine):
    m = machine
    m.config.write_text('[guard.method.mine]\nlist = "GET /api/ps"\nitems = "models[]"\nid = "name"\nunload = "POST /api/generate"\n'
                        'unload_body = \'{"model": "{id}", "keep_alive": 0}\'\nsettle = "300ms"\n')
    server = Server(m, "ollama", busy=True)
    guard(m, server, "mine")
    m.process(3000)
    status = m.until("paused")
    assert status["memory_still_held"] is True and "still holds" in status["problem"]
    server.put(busy=False)
    wait_for(lambda: m.status()["memory_still_held"] is False, m.log)
    status = m.status()
    assert status["state"] == "paused" and status["problem"] is None and status["evictions_total"] == 1
    assert "its memory is free now" in m.log()


def test_sglang_is_never_asked_while_busy_however_long_it_takes(machine):
    m = machine
    m.config.write_text('[worker]\ndrain_timeout = "500ms"\n')
    server = Server(m, "sglang", busy=True)
    guard(m, server, "sglang")
    m.process(3000)
    gives_up(m)
    assert not server.get().get("broken") and server.get()["loaded"] and not calls(server, "/release")


def test_a_request_that_slips_in_before_sglangs_pause_does_not_kill_it(machine):
    m = machine
    server = Server(m, "sglang", late_request=True)
    guard(m, server, "sglang")
    m.process(3000)
    gives_up(m)
    state = server.get()
    assert not state.get("broken") and state["paused"] is False and not calls(server, "/release")


def test_an_ollama_model_that_cannot_generate_does_not_keep_the_others_away(machine):
    m = machine
    server = Server(m, "ollama", loaded=["embed", "m:1"], embedding=["embed"])
    guard(m, server, "ollama")
    other = m.process(3000)
    m.until("paused")
    m.end(other)
    m.until("running")
    assert server.get()["loaded"] == ["m:1"] and "does not support generate" in m.log()


def test_llamacpp_models_that_load_or_sleep_are_unloaded_too(machine):
    m = machine
    server = Server(m, "llamacpp", loaded=["a", "b", "c"], status={"b": "loading", "c": "sleeping"})
    guard(m, server, "llamacpp")
    m.process(3000)
    m.until("paused")
    assert server.unloaded() and len(calls(server, "/models/unload")) == 3 and not server.get().get("broken")


def test_llama_swap_also_stops_what_is_just_starting(machine):
    m = machine
    server = Server(m, "llama-swap", loaded=["a", "b"], starting=["b"], llama_server=False)
    guard(m, server, "llama-swap")
    m.process(3000)
    m.until("paused")
    assert server.unloaded() and not server.get().get("broken")


def test_llama_swap_that_does_not_name_its_servers_is_not_asked_through_itself(machine):
    """Before January 2026: nobody can tell whether it works, and a look at it would load or keep what it looks at."""
    m = machine
    server = Server(m, "llama-swap", loaded=["a"], names_proxy=False)
    guard(m, server, "llama-swap")
    m.process(3000)
    m.until("paused")
    assert server.unloaded() and not server.get().get("broken")


def test_instances_of_lm_studio_come_back_by_their_models_key_with_their_settings(machine):
    m = machine
    configs = {"m": {"context_length": 16384, "flash_attention": True}, "m:2": {"context_length": 2048}}
    server = Server(m, "lmstudio", loaded=["m", "m:2"], configs=configs)
    guard(m, server, "lmstudio")
    other = m.process(3000)
    m.until("paused")
    m.end(other)
    m.until("running")
    assert server.get()["loaded"] == ["m", "m:2"] and server.get()["configs"] == configs


def test_settings_that_lm_studio_does_not_take_back_are_left_out(machine):
    m = machine
    server = Server(m, "lmstudio", loaded=["m"], configs={"m": {"context_length": 1, "new": 2}})
    guard(m, server, "lmstudio")
    other = m.process(3000)
    m.until("paused")
    m.end(other)
    m.until("running")
    assert server.get()["loaded"] == ["m"] and server.get()["configs"]["m"] == {}


def test_triton_is_asked_once_for_a_model_of_two_versions(machine):
    m = machine
    server = Server(m, "triton", loaded=["m"])
    guard(m, server, "triton")
    m.process(3000)
    m.until("paused")
    assert len(calls(server, "/unload")) == 1


def test_a_token_is_sent(machine):
    m = machine
    server = Server(m, "llama-swap", api_key="secret")
    m.config.write_text(f'[guard.worker.w]\nmethods = ["llama-swap"]\nurl = "{server.url}"\ntoken = "secret"\nprocess_check_interval_secs = 0.2\n')
    m.guard("attach", "w")
    m.until("running")
    m.process(3000)
    m.until("paused")
    assert server.unloaded()


# ---- refusals and lies ----

def test_servers_that_refuse_are_quoted_and_left_alone(machine):
    m = machine
    refusals = {"vllm": ({"dev_mode": False}, "answered 404"), "triton": ({"explicit": False}, "explicit model load / unload is not allowed"),
                "llama-swap": ({"api_key": "other"}, "answered 401"), "comfyui": ({"error": True}, "answered 500"),
                "lmstudio": ({"api_key": "other"}, "answered 401"), "ollama": ({"dead": True}, "evicting through ollama failed")}
    servers = fleet(m, {kind: state for kind, (state, _) in refusals.items()})
    m.process(3000)
    wait_for(lambda: all(w["gave_up"] for w in m.workers().values()), lambda: f"{m.workers()}\n{m.log()}")
    for kind, (_, words) in refusals.items():
        assert words in m.log(), kind
        assert servers[kind].get()["loaded"] and m.workers()[kind]["state"] == "running", kind
    assert not calls(servers["vllm"], "/wake_up")  # it did nothing: there is nothing to undo


def test_vllm_without_its_sleep_mode_goes_on(machine):
    m = machine
    server = Server(m, "vllm", sleep_mode=False)
    guard(m, server, "vllm")
    m.process(3000)
    assert gives_up(m)["state"] == "running" and "answered 500" in m.log()


def test_a_model_that_was_unloaded_meanwhile_is_no_failure(machine):
    m = machine
    server = Server(m, "llamacpp", loaded=["a", "b"], stuck="/models/unload")
    guard(m, server, "llamacpp")
    m.process(3000)
    wait_for(lambda: calls(server, "/models/unload"), m.log)
    server.put(loaded=["a"], stuck=None)  # b went by itself
    status = m.until("paused")
    assert status["failures_total"] == 0 and server.unloaded()


@pytest.mark.slow
def test_a_server_that_says_yes_and_frees_nothing_is_caught_and_the_next_method_tried(machine):
    m = machine
    server = Server(m, "vllm", lie=True)
    guard(m, server, "vllm", "checkpoint")
    other = m.process(3000)
    assert m.until("paused")["method"] == "checkpoint"
    assert m.state(server.process.pid) == 2
    m.end(other)
    m.until("running")
    assert m.state(server.process.pid) == 0 and calls(server, "/wake_up") and server.get()["asleep"] is False


def test_a_dead_server_gives_the_next_method(machine):
    m = machine
    server = Server(m, "ollama", dead=True)
    guard(m, server, "ollama", "checkpoint")
    m.process(3000)
    assert m.until("paused")["method"] == "checkpoint"


@pytest.mark.slow
def test_a_slow_server_gives_the_next_method_when_its_time_is_over(machine):
    m = machine
    m.config.write_text('[worker]\nevict_timeout = "6s"\n')  # the driver's lock, too, has no more than that
    server = Server(m, "webui", stuck="/unload-checkpoint")
    guard(m, server, "webui", "checkpoint")
    m.process(3000)
    assert m.until("paused")["method"] == "checkpoint"


def test_a_server_that_is_away_at_the_resume_is_tried_again(machine):
    m = machine
    server = Server(m, "vllm")
    guard(m, server, "vllm")
    other = m.process(3000)
    m.until("paused")
    server.put(error=True)
    m.end(other)
    wait_for(lambda: "bringing it back through vllm failed" in m.log(), m.log)
    server.put(error=False)
    m.whirr("guard", "resume", "w")
    m.until("running")
    assert server.get()["loaded"] == ["m"]


def test_a_worker_that_no_method_could_free_runs_again_when_everything_is_undone_not_before(machine):
    m = machine
    m.config.write_text('[guard.method.mine]\nlist = "GET /api/ps"\nitems = "models[]"\nid = "name"\nunload = "POST /api/generate"\n'
                        'unload_body = \'{"model": "{id}", "keep_alive": 0}\'\nreload = "POST /api/load"\nsettle = "300ms"\n')
    m.script("fail lock 801\n")
    server = Server(m, "ollama", lie=True, stuck="/api/load")
    guard(m, server, "mine", "checkpoint")
    m.process(3000)
    wait_for(lambda: calls(server, "/api/load"), m.log)
    throughout(0.5, lambda: m.status()["state"] == "evicting", lambda: f"{m.status()}\n{m.log()}")
    server.put(stuck=None)
    assert m.until("running")["gave_up"]


def test_a_method_of_the_users_own(machine):
    m = machine
    m.config.write_text('[guard.method.mine]\nlist = "GET /api/ps"\nitems = "models[]"\nid = "name"\nunload = "POST /api/generate"\n'
                        'unload_body = \'{"model": "{id}", "keep_alive": 0}\'\n')
    server = Server(m, "ollama")
    guard(m, server, "mine")
    m.process(3000)
    wait_for(server.unloaded, m.log)


# ---- whirr killed at each step ----

PATHS = {("ollama", "unload"): "/api/generate", ("ollama", "reload"): "/api/generate", ("vllm", "unload"): "/sleep", ("vllm", "reload"): "/wake_up",
         ("sglang", "pause"): "/pause", ("sglang", "unload"): "/release", ("sglang", "reload"): "/resume", ("sglang", "continue"): "/continue",
         ("lmstudio", "unload"): "/unload", ("webui", "unload"): "/unload"}


@pytest.mark.slow
@pytest.mark.parametrize("kind, step", PATHS)
def test_killed_at_a_step_of_a_server_the_next_start_brings_everything_back(machine, kind, step):
    m = machine
    server = Server(m, kind)
    before = server.get()["loaded"]
    first = m.guard("attach", "--method", kind, server.url)
    m.until("running")
    if step in ("reload", "continue"):
        other = m.process(3000)
        m.until("paused")
        server.put(stuck=PATHS[kind, step])
        m.end(other)
    else:
        server.put(stuck=PATHS[kind, step])
        other = m.process(3000)
    wait_for(lambda: m.journal()["step"] == step and not server.done(), lambda: f"{m.journal()} {server.log()}\n{m.log()}")
    first.kill()
    first.wait()
    server.put(stuck=None)  # the request that is under way ends when no client waits for it any more
    wait_for(server.done, server.log)
    m.guard("attach", "--method", kind, server.url)
    if other.poll() is None:
        m.end(other)
    wait_for(lambda: m.status()["state"] == "running" and sorted(server.get()["loaded"]) == sorted(before) and not server.get().get("paused"),
             lambda: f"{m.status()} {server.get()} {server.log()}\n{m.log()}")
    assert not server.get().get("broken")
