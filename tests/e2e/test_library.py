# SPDX-License-Identifier: Apache-2.0
"""A program that is built with the installed library, as its user would."""
import errno
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, PATIENCE, ROOT, Starter, environment, eventually
from isolation import preload


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("meson") or not shutil.which("pkg-config"):
        pytest.skip("meson or pkg-config is not installed")
    place = tmp_path_factory.mktemp("lib")
    subprocess.run(["meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet"], env=dict(os.environ, DESTDIR=str(place)), check=True,
                   capture_output=True, timeout=PATIENCE)
    library = next(place.rglob("libwhirr.so")).parent
    env = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"), PKG_CONFIG_SYSROOT_DIR=str(place))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "whirr"], env=env, check=True, capture_output=True, text=True).stdout.split()
    sanitized = "libasan" in subprocess.run(["objdump", "-p", str(library / "libwhirr.so")], capture_output=True, text=True).stdout
    built = place / "gpus"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "-pedantic", *(["-fsanitize=address,undefined"] if sanitized else []),
                    str(ROOT / "docs/examples/gpus.c"), *flags, "-o", str(built)], check=True, capture_output=True, text=True)
    return built, library


@pytest.fixture
def start(tmp_path):
    starter = Starter(tmp_path)
    yield starter
    starter.stop()


def run(program, *args, **env):
    built, library = program
    return subprocess.run([str(built), *args], env=environment(LD_LIBRARY_PATH=str(library), **env), capture_output=True, text=True, timeout=PATIENCE)


def test_the_manual_declares_what_the_header_declares():
    """Every function and type of a function, with the same parameters."""
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/whirr.h").read_text(), flags=re.S)
    manual = (ROOT / "docs/man/whirr.3.scd").read_text().replace("\\*", "*")
    declared = {" ".join(text.split()) for text in re.findall(r"(?:\w+[ *]+)+?\**whirr_\w+\([^;{]*\);", header)}
    described = {" ".join(text.split()) for text in re.findall(r"^\*(.*whirr_\w+\(.*\);)\*", manual, re.M)}
    assert len(declared) > 30 and declared == described


def test_the_example_explains_and_samples(program):
    done = run(program, "sim:scenario=training,gpus=2")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    assert "training" in lines[0] and sum(line.startswith("GPU 1 ") for line in lines) == 3, done.stdout
    assert " MiB" in done.stdout and "  pid " in done.stdout


def test_the_library_asks_a_running_daemon(program, start):
    daemon = start("--source", "sim:scenario=training,gpus=3")
    daemon.wait_sampled()
    # A daemon that is slow to answer is not waited for; without it there is no GPU here.
    done = eventually(lambda: "GPU 2 " in (d := run(program, WHIRR_SERVER_SOCKET=daemon.sock)).stdout and d)
    assert done.returncode == 0 and done.stdout.count("GPU 2 ") == 3, (done.stdout, done.stderr)


def test_an_error_is_a_sentence(program):
    done = run(program, "nonsense")
    assert done.returncode == 1 and "nonsense" in done.stderr and done.stdout == ""


def functions():
    """What is exported, each with the types of its parameters as the header has them."""
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/whirr.h").read_text(), flags=re.S)
    exported = re.findall(r"^    (whirr_\w+);", (ROOT / "src/lib/whirr.map").read_text(), re.M)
    declared = {name: [" ".join(p.split()) for p in parameters.split(",")] for name, parameters in re.findall(r"\b(whirr_\w+)\(([^;{]*)\);", header)}
    assert len(exported) > 30 and set(exported) | {"whirr_watch_fn"} == set(declared)
    return {name: [] if declared[name] == ["void"] else declared[name] for name in exported}


def test_no_function_fails_to_return_for_null_or_a_closed_handle():
    """Every exported one: with nothing given at all, with a handle that was closed, and with an open one and nothing else."""
    program = f"""
import ctypes, json
lib, functions, said = ctypes.CDLL({str(BUILD / "libwhirr.so.1")!r}), json.loads({json.dumps(json.dumps(functions()))}), {{}}
lib.whirr_error.restype = ctypes.c_char_p
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("source", ctypes.c_char_p), ("sysroot", ctypes.c_char_p), ("socket", ctypes.c_char_p), ("direct", ctypes.c_int)]
def opened():
    w = ctypes.c_void_p()
    assert lib.whirr_open(ctypes.byref(Options(ctypes.sizeof(Options), b"sim:gpus=1")), ctypes.byref(w)) == 0
    return w
closed, w = opened(), opened()
lib.whirr_close(closed)
def call(name, first):
    parameters = functions[name]
    values = [ctypes.c_void_p() if "*" in p else ctypes.c_size_t(0) if "size_t" in p else ctypes.c_int64(1) for p in parameters]
    if first and parameters and parameters[0].replace("const ", "") == "struct whirr *w":
        values[0] = first
    code = getattr(lib, name)(*values)
    code = 0 if isinstance(code, bytes) else code
    text = lib.whirr_error(first or None)
    return code, text.decode()
said = {{name: [call(name, first) for first in (None, closed) + ((w,) if name != "whirr_close" else ())] for name in functions}}
print(json.dumps(said))
"""
    done = subprocess.run(["/usr/bin/python3", "-c", program], env=environment(**preload(BUILD / "libwhirr.so.1")), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    silent = {"whirr_close", "whirr_error", "whirr_asks_daemon", "whirr_room_ask", "whirr_room_done", "whirr_watch_fd"}  # they need nothing but the handle
    for name, parameters in functions().items():
        if parameters and parameters[0].replace("const ", "") == "struct whirr *w" and name not in ("whirr_close", "whirr_error"):
            assert said[name][0] == [-errno.EBADF, "the handle is NULL"] and said[name][1] == [-errno.EBADF, "the handle is closed"], (name, said[name])
            assert name in silent or said[name][2] == [-errno.EINVAL, "an argument is NULL"], (name, said[name])
    codes = {name: answers[0][0] for name, answers in said.items()}
    assert {codes[name] for name in ("whirr_gpu_value", "whirr_process_value", "whirr_sample_json", "whirr_open")} == {-errno.EINVAL}
    assert codes["whirr_guard_step"] == codes["whirr_guard_is_out"] == -errno.EBADF and codes["whirr_gpu_count"] == codes["whirr_gpu_text"] == 0


def test_the_header_is_fine_for_cplusplus(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    source = tmp_path / "x.cpp"
    source.write_text('#include <whirr.h>\nint main() { struct whirr_options o = {}; o.size = sizeof o; struct whirr *w; return whirr_open(&o, &w); }\n')
    subprocess.run(["g++", "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", str(source)], check=True, capture_output=True)
