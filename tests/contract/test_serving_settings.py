# SPDX-License-Identifier: Apache-2.0
"""[serving.NAME]: model servers that are added, named, given a key or left alone."""
import signal

import pytest
from ports import free_port
from tripwires import PROPS, SLOTS, process_of, script
from waiting import eventually

KEY = "sk-7f3a9c"
PAGE = {"/metrics": "vllm:num_requests_running{engine=\"0\"} 4.0\nvllm:generation_tokens_total{engine=\"0\"} {tokens}\n"}
SETTINGS = """
[serving.chat]
url = "http://localhost:{own}"
kind = "vllm"
[serving.boxed]
url = "http://[::ffff:127.0.0.1]:{away}/"
kind = "vllm"
process = "boxed-app"
[serving.keyed]
url = "http://127.0.0.1:{keyed}"
key_file = "{key_file}"
[serving.loud]
url = "http://127.0.0.1:{loud}"
ignore = true
[serving.pictures]
kind = "comfyui"
ignore = true
[serving.unknown]
url = "http://127.0.0.1:{unknown}"
"""


@pytest.mark.slow
def test_servers_are_added_named_given_a_key_and_left_alone(nvml, server, tmp_path):
    port = {which: free_port() for which in ("own", "away", "keyed", "loud", "unknown")}
    llama = {"/props": PROPS, "/slots": SLOTS}
    chat, chat_asked = server("my-server", "--whatever", pages=PAGE, port=port["own"])
    boxed, nobody = server("boxed-app", pages=PAGE)
    _, away_asked = server("proxy", pages=PAGE, port=port["away"])  # as that of a container: not the process on the GPU, and no loopback address
    keyed, _ = server("llama-server", "--port", str(port["keyed"]), pages=llama, port=port["keyed"], key=KEY)
    locked, _ = server("llama-server", "--port", "PORT", pages=llama, key=KEY)
    loud, loud_asked = server("vllm", "serve", "m", "--port", str(port["loud"]), pages=PAGE, port=port["loud"])
    pictures, pictures_asked = server("ComfyUI/main.py", "--port", "PORT", pages={"/prompt": '{"exec_info": {"queue_remaining": 3}}'})
    unknown, unknown_asked = server("some-server", pages=PAGE, port=port["unknown"])
    trainer, trainer_asked = server("trainer", "--port", "PORT", pages=PAGE)
    key_file, config = tmp_path / "key", tmp_path / "whirr.toml"
    key_file.write_text(KEY + "\n")
    config.write_text(SETTINGS.format(key_file=key_file, **port))
    d = nvml(script(chat, boxed, keyed, locked, loud, pictures, unknown, trainer), "--interval", "0.5", "--config", str(config))

    def says(pid, **what):
        eventually(lambda: all(process_of(d, pid).get(k) == v for k, v in what.items()), explain=lambda: (what, process_of(d, pid), d.log()))
    says(chat, requests_running=4, display_name="chat")
    says(boxed, requests_running=4, display_name="boxed")
    says(keyed, requests_running=1, display_name="keyed")
    eventually(lambda: process_of(d, locked)["absent"].get("requests_running") == "denied", explain=lambda: (process_of(d, locked), d.log()))
    d.wait_log("set kind.*serving=unknown")
    eventually(lambda: len(chat_asked()) > 1 and len(away_asked()) > 1)  # twice around
    assert [loud_asked(), pictures_asked(), unknown_asked(), trainer_asked(), nobody()] == [[]] * 5
    assert " chat " in d.whirr("ps").stdout and KEY not in d.log()
    # A reload turns it around, and the key does not fit any more.
    key_file.write_text("another\n")
    config.write_text(SETTINGS.format(key_file=key_file, **port).replace("ignore = true", "").replace("serving.chat]", "serving.talk]\nignore = true"))
    d.process.send_signal(signal.SIGHUP)
    d.wait_log("reloaded")
    says(loud, requests_running=4, display_name="loud")
    says(pictures, image_jobs=3, display_name="pictures")
    says(chat, requests_running=None, display_name="talk")
    says(keyed, requests_running=None)
    before = len(chat_asked())
    eventually(lambda: len(loud_asked()) > 2)
    assert len(chat_asked()) == before and not trainer_asked()


def test_the_key_is_shown_nowhere(daemon, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text(f'[serving.chat]\nurl = "http://127.0.0.1:8000"\nkey = "{KEY}"\n')
    for args in (["config", "show"], ["config", "show", "--json"], ["config", "check"], ["doctor"]):
        done = daemon.whirr(*args, "--config", str(config))
        assert KEY not in done.stdout + done.stderr, args
    assert "chat" in daemon.whirr("config", "show", "--config", str(config)).stdout
