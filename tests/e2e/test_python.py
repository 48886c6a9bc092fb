# SPDX-License-Identifier: Apache-2.0
"""The Python package over libwhirr, in a process of its own."""
import json
import os
import subprocess
import textwrap

import pytest
from conftest import BUILD, PATIENCE, ROOT, Starter, environment, eventually
from guard_machine import attach, machine, needs_fakes  # noqa: F401
from isolation import preload
from recorded import expand

PYTHON = "/usr/bin/python3"


def run(code, *args, **env):
    """Runs the code and gives what it printed; a sanitized library needs its runtime first."""
    library = BUILD / "libwhirr.so.1"
    done = subprocess.run([PYTHON, *(["-c", textwrap.dedent(code)] if code else []), *args], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(**{**env, "PYTHONPATH": f"{ROOT / 'python'}:{env.get('PYTHONPATH', '')}", "WHIRR_LIBRARY": str(library),
                                             "PYTHONDONTWRITEBYTECODE": "1", **preload(library)}))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def start(tmp_path):
    starter = Starter(tmp_path)
    yield starter
    starter.stop()


def test_status_why_and_fit():
    out = json.loads(run("""
        import json, whirr
        with whirr.open(source="sim:scenario=training,gpus=2") as w:
            print(json.dumps([w.status(), w.why(), w.explain(), w.fit("1GiB"), w.fit("9TiB"), w.asks_daemon()]))"""))
    status, why, explained, small, large, daemon = out
    assert len(status["gpus"]) == 2 and status["gpus"][0]["power_watts"] > 0 and status["gpus"][0]["processes"]
    assert "training" in why and explained["gpus"][0]["causes"]
    assert small["fits"] and not large["fits"] and not daemon


# Whether a value is what its type says; a key that no type has is not.
FITS = """
    import typing
    def fits(value, kind, where):
        of, inside = typing.get_origin(kind), typing.get_args(kind)
        if typing.is_typeddict(kind) if hasattr(typing, "is_typeddict") else hasattr(kind, "__required_keys__"):
            hints = typing.get_type_hints(kind)
            required = {key for base in (kind, *getattr(kind, "__orig_bases__", ())) for key in getattr(base, "__required_keys__", ())}
            assert required <= set(value) <= set(hints), (where, kind, required ^ set(value))
            for key, one in value.items():
                fits(one, hints[key], f"{where}.{key}")
        elif of is list:
            for i, one in enumerate(value):
                fits(one, inside[0], f"{where}[{i}]")
        elif of is dict:
            assert all(isinstance(k, str) and isinstance(v, inside[1]) for k, v in value.items()), (where, value)
        elif of is typing.Union:
            if value is not None:
                fits(value, inside[0], where)
        elif of is typing.Literal:
            assert value in inside, (where, value, kind)
        else:
            assert type(value) is kind or (kind is float and type(value) is int), (where, value, kind)
"""


def test_answers_are_what_their_types_say(start):
    """Of all functions, sampled here and asked from a daemon."""
    d = start("--source", "sim:scenario=training,gpus=2")
    d.wait_sampled()
    for at in ('source="sim:scenario=mixed"', 'source="sim:gpus=2,scenario=training,fault=lost@1"', 'source="sim:gpus=1,scenario=mig"', f'socket={str(d.sock)!r}'):
        run(FITS + f"""
    import whirr
    from whirr import answers
    with whirr.open({at}) as w:
        whirr._shared = w
        status = whirr.status()
        fits(status, answers.Metrics, "status")
        fits(whirr.processes(), typing.List[answers.ProcessOnGpu], "processes")
        fits(whirr.explain(), answers.WhyNow, "explain")
        fits(whirr.resources(), answers.Resources, "resources")
        for what in ("1GiB", "9TiB"):
            fits(whirr.fit(what), answers.Placement, "fit")
        try:
            fits(dict(status, odd=1), answers.Metrics, "status")
        except AssertionError:
            pass
        else:
            raise SystemExit("nothing was compared")
""")


def test_what_is_not_known_is_none(tmp_path):
    """Memory that a GPU doesn't report is not a no, and a GPU that can't be read has no list of processes."""
    fits, processes, asleep = json.loads(run(f"""
        import json, whirr, whirr.nvml
        with whirr.open(sysroot={str(expand("arc-a380-xe", tmp_path / "arc"))!r}) as w:
            fits = w.fit("4GiB")["fits"]
        whirr._shared = whirr.open(source="sim:gpus=2,scenario=training,fault=lost@1")
        whirr.nvml._handle = whirr.open(source="sim:gpus=1,scenario=asleep")
        try:
            asleep = len(whirr.nvml.nvmlDeviceGetComputeRunningProcesses(whirr.nvml.nvmlDeviceGetHandleByIndex(0)))
        except whirr.nvml.NVMLError as error:
            asleep = str(error)
        print(json.dumps([fits, [p["gpu_index"] for p in whirr.processes()], asleep]))"""))
    assert fits is None and set(processes) == {0} and asleep == "Not Supported"


SYSTEMS = {"linux": "libwhirr.so.1", "win32": "whirr.dll", "darwin": "libwhirr.1.dylib"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_library_of_the_package_comes_first_then_that_of_the_program(system, tmp_path):
    """For each system by its name: there is no Python for the others here."""
    name, inside, installed = SYSTEMS[system], tmp_path / "package" / "lib", tmp_path / "installed"
    program = installed / ("whirr.exe" if system == "win32" else "bin/whirr")
    linked, beside = tmp_path / "links" / program.name, installed / name if system == "win32" else installed / "lib" / name
    for folder in (inside, program.parent, linked.parent, beside.parent):
        folder.mkdir(parents=True, exist_ok=True)
    program.touch()
    linked.symlink_to(program)

    def chosen(program):
        return run(f"""
            import pathlib
            from whirr._library import choose
            print(choose({system!r}, pathlib.Path({str(inside)!r}), {program!r}))""").strip()

    assert chosen(str(program)) == chosen(None) == name  # the system's own way
    beside.touch()
    assert chosen(None) == name
    assert chosen(str(program)) == chosen(str(linked)) == (name if system == "linux" else str(beside))
    (inside / name).touch()
    assert chosen(str(program)) == str(inside / name)


def test_errors_are_exceptions_with_a_sentence():
    out = run("""
        import whirr
        try:
            whirr.open(source="nonsense")
        except whirr.WhirrError as error:
            print(error.errno, error)""")
    assert "nonsense" in out
    out = run("""
        import os
        os.environ["WHIRR_LIBRARY"] = "libnot-there.so"
        import whirr
        try:
            whirr.why()
        except ImportError as error:
            print(error)""")
    assert "libnot-there.so" in out and "install libwhirr1" in out


def test_a_closed_handle_says_so():
    """Every method, found by itself: also one that will be added. Closing twice, and leaving a `with` that was closed inside, is fine."""
    out = json.loads(run("""
        import inspect, json, whirr
        with whirr.open(source="sim:gpus=1") as w:
            before = w.closed
            w.close()
        w.close()
        said = {}
        for name, method in inspect.getmembers(w, inspect.ismethod):
            if not name.startswith("_") and name != "close":
                wanted = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]
                try:
                    method(*({"what": "1GiB", "wait": 0.1}[p.name] for p in wanted))
                except ValueError as problem:
                    said[name] = str(problem)
        print(json.dumps([before, w.closed, said]))"""))
    assert out[:2] == [False, True]
    assert out[2] == dict.fromkeys(["asks_daemon", "status", "resources", "why", "explain", "fit", "ask_room", "release_room"], "the handle is closed")


def test_a_handle_may_be_closed_while_other_threads_use_it():
    out = run("""
        import threading, whirr
        ends = []
        for round in range(20):
            w, used = whirr.open(source="sim:gpus=1"), threading.Barrier(4)
            def use():
                used.wait()
                try:
                    while True:
                        w.status(), w.asks_daemon(), w.resources()
                except ValueError as problem:
                    ends.append(str(problem))
            threads = [threading.Thread(target=use) for _ in range(3)]
            for t in threads:
                t.start()
            used.wait()
            w.status()
            w.close()
            for t in threads:
                t.join()
        print(len(ends), set(ends))""")
    assert out == "60 {'the handle is closed'}\n"


def test_handles_that_are_dropped_leave_nothing_behind():
    """No descriptor and no thread; a child that was forked does not wait for threads that it does not have."""
    before, after, child = json.loads(run("""
        import gc, json, os, whirr
        def held():
            return [len(os.listdir(f"/proc/self/{what}")) for what in ("fd", "task")]
        def use():
            whirr.open(source="sim:gpus=1").status()
        use()
        before = held()
        for _ in range(300):
            use()
        gc.collect()
        after = held()
        w = whirr.open(source="sim:gpus=1")
        w.status()
        child = os.fork()
        if child == 0:
            del w
            os._exit(0)
        print(json.dumps([before, after, os.waitpid(child, 0)[1]]))"""))
    assert before == after and child == 0


def test_a_socket_is_asked_unless_sampling_is_direct(start):
    daemon = start("--source", "sim:scenario=training,gpus=2")
    daemon.wait_sampled()
    answers = eventually(lambda: (told := json.loads(run(f"""
        import json, whirr
        handles = [whirr.open(socket={str(daemon.sock)!r}), whirr.open(socket={str(daemon.sock)!r}, direct=True)]
        said = []
        for wrong in ("/nowhere", "/" * 5000):
            try:
                whirr.open(socket=wrong)
            except whirr.WhirrError as error:
                said.append(str(error))
        print(json.dumps([[w.asks_daemon() for w in handles], said]))""")))[0][0] and told)
    assert answers[0] == [True, False]
    assert "no daemon answers at /nowhere" in answers[1][0] and "the socket is too long" in answers[1][1]


def test_resources_have_the_fields_that_monitors_expect(start):
    daemon = start("--source", "sim:scenario=training,gpus=2")
    daemon.wait_sampled()

    def ask():
        """A daemon that is slow to answer is not waited for; without it there is no GPU here."""
        answer = json.loads(run("""
            import json, whirr
            print(json.dumps([whirr.get_current_resources(), whirr.gpu_stats_to_dict(), whirr.gpu_stats_to_dict({"gpu_free_vram_gb": 3.5})]))""",
                                WHIRR_SERVER_SOCKET=daemon.sock))
        return all(part["gpu_available"] for part in answer[:2]) and answer

    resources, stats, given = eventually(ask)
    nine = ["gpu_available", "gpu_name", "gpu_total_vram_gb", "gpu_used_vram_gb", "gpu_free_vram_gb", "gpu_utilization_percent", "gpu_temperature_c",
            "gpu_count", "gpu_source"]
    assert list(resources) == ["cpu_percent", "memory_percent", "available_memory_gb", "memory_total_gb", "gpu_vram_gb", *nine]
    assert resources["gpu_available"] is True and resources["gpu_count"] == 2 and resources["gpu_vram_gb"] == resources["gpu_free_vram_gb"] > 0
    assert list(stats) == [*nine, "gpu_vram_gb"] and stats["gpu_name"] == resources["gpu_name"]
    assert given["gpu_vram_gb"] == 3.5 and given["gpu_available"] is None


def test_the_load_of_the_cpu_is_known_from_the_second_call_on():
    """The first has nothing to compare with, and none waits for it. A machine that is busy may call too late for this to be seen: then once more."""
    def look():
        first, later = json.loads(run("""
            import json, time, whirr
            first, began, later = whirr.get_current_resources()["cpu_percent"], time.monotonic(), []
            while time.monotonic() - began < 0.16:
                later.append(whirr.get_current_resources()["cpu_percent"])
            print(json.dumps([first, later]))"""))
        assert first is None
        return any(value is not None for value in later)
    eventually(look)


def test_without_a_gpu_there_is_an_honest_answer():
    resources = json.loads(run("import json, whirr; print(json.dumps(whirr.get_current_resources()))"))
    assert resources["gpu_available"] is False and resources["gpu_vram_gb"] == 0.0 and resources["gpu_name"] is None


@needs_fakes
def test_room_is_asked_for_and_given_back(machine):
    """Workers under guard leave the GPU for as long as the context lasts; without any there is room at once."""
    assert run("import whirr\nwith whirr.room(5) as there: print(there)") == "True\n"
    m = machine
    worker = m.process(16000)
    attach(m, worker)
    m.until("running")
    out = run("""
        import pathlib, sys, whirr
        with whirr.room(90, required=True) as there:
            print(there, pathlib.Path(sys.argv[1]).read_text())""", f"{m.cuda}/{worker.pid}.state", **m.env)
    assert out.split() == ["True", "2"]
    m.until("running")


GPUSTAT = ROOT / ".cache" / "gpustat"  # the real one, by tools/fetch-gpustat
# What gpustat 1.1 calls, in its order: Debian 12 has 1.0, which ends when a GPU is lost.
MONITOR = """
import pynvml as N
assert hasattr(N, "NVML_BRAND_NVIDIA_RTX") and hasattr(N, "_nvmlGetFunctionPointer")
N.nvmlInit()
def safe(function, *args):
    try:
        return function(*args)
    except N.NVMLError as error:
        return error
print(safe(N.nvmlSystemGetDriverVersion))
for index in range(N.nvmlDeviceGetCount()):
    try:
        h = N.nvmlDeviceGetHandleByIndex(index)
    except N.NVMLError_GpuIsLost as error:
        print(index, error)
        continue
    m = N.nvmlDeviceGetMemoryInfo(h, version=N.nvmlMemory_v2)
    u = N.nvmlDeviceGetUtilizationRates(h)
    print(N.nvmlDeviceGetIndex(h), N.nvmlDeviceGetName(h), N.nvmlDeviceGetUUID(h), N.nvmlDeviceGetTemperature(h, N.NVML_TEMPERATURE_GPU), m.used // 2**20,
          m.total // 2**20, u.gpu, safe(N.nvmlDeviceGetFanSpeed, h), safe(N.nvmlDeviceGetPowerUsage, h), safe(N.nvmlDeviceGetEnforcedPowerLimit, h),
          [(p.pid, p.usedGpuMemory) for p in N.nvmlDeviceGetComputeRunningProcesses(h) + N.nvmlDeviceGetGraphicsRunningProcesses(h)])
N.nvmlShutdown()
"""


def imitation(tmp_path, **env):
    (tmp_path / "monitor.py").write_text(MONITOR)
    return run(None, "-m", "whirr.nvml", "monitor", PYTHONPATH=str(tmp_path), **env)


def gpustat(_tmp_path, **env):
    if not GPUSTAT.exists():
        pytest.skip("no gpustat (tools/deps test)")
    return run(None, "-m", "whirr.nvml", "gpustat", "-up", "--no-color", PYTHONPATH=str(GPUSTAT), **env)


@pytest.mark.parametrize("monitor", [gpustat, imitation])
def test_a_monitor_for_nvidia_sees_all_vendors(tmp_path, monitor):
    out = monitor(tmp_path, WHIRR_SOURCE="sim:scenario=mixed")
    assert "RTX 4090" in out and "AMD Radeon RX 7900 XTX" in out and "Intel Arc A770" in out and "24560" in out


# How nvitop 1.7 asks: every constant and function that it names, errors by their number, and functions of C with structures of its own.
NVITOP = """
import ctypes, json, pynvml as N
names = '''c_nvmlDevice_t c_nvmlFieldValue_t c_nvmlGpuInstance_t nvmlInitWithFlags nvmlShutdown nvmlExceptionClass nvmlStructToFriendlyObject
NVMLError_LibraryNotFound NVMLError_DriverNotLoaded NVMLError_LibRmVersionMismatch NVMLError_NoPermission NVML_DRIVER_WDDM NVML_DRIVER_WDM
NVML_COMPUTEMODE_PROHIBITED NVML_COMPUTEMODE_EXCLUSIVE_THREAD NVML_COMPUTEMODE_EXCLUSIVE_PROCESS NVML_COMPUTEMODE_DEFAULT NVML_NVLINK_MAX_LINKS
NVML_FI_DEV_NVLINK_LINK_COUNT NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX
NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX nvmlDeviceGetHandleByUUID nvmlDeviceGetHandleByPciBusId nvmlDeviceGetFieldValues nvmlDeviceGetGpuInstanceId
nvmlDeviceGetComputeInstanceId nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceGetCurrentDriverModel'''
missing = [name for name in names.split() if not hasattr(N, name)]
N.NVMLError.__new__.__doc__ = N.nvmlExceptionClass.__doc__ = "told by nvitop"
codes = {v: k for k, v in vars(N).items() if k.startswith("NVML_ERROR_")}
classes = [N.nvmlExceptionClass(code).__name__ for code in N.NVMLError._errcode_to_string if codes[code]]
class Process(N._PrintableStructure):
    _fields_ = [("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong), ("gpuInstanceId", ctypes.c_uint), ("computeInstanceId", ctypes.c_uint)]
class Memory(N._PrintableStructure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]
N.nvmlInitWithFlags(0)
def ask(name, *args):
    try:
        return getattr(N, name)(*args)
    except N.NVMLError as error:
        return str(error)
def seen(index):
    try:
        h = N.nvmlDeviceGetHandleByIndex(index)
    except N.NVMLError as error:
        return {"error": [type(error).__name__, type(N.NVMLError(error.value)).__name__]}
    count, memory, celsius = ctypes.c_uint(0), Memory(version=N.nvmlMemory_v2), ctypes.c_uint()
    fn = N._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses_v3")
    first = fn(h, ctypes.byref(count), None)
    count.value = count.value * 2 + 5
    array = (Process * count.value)()
    second = fn(h, ctypes.byref(count), array)
    return {"name": N.nvmlDeviceGetName(h), "returned": [first, second],
            "processes": [vars(N.nvmlStructToFriendlyObject(array[i])) for i in range(count.value)],
            "memory": [N._nvmlGetFunctionPointer("nvmlDeviceGetMemoryInfo_v2")(h, ctypes.byref(memory)), memory.version == N.nvmlMemory_v2, memory.total, memory.used],
            "celsius": [N._nvmlGetFunctionPointer("nvmlDeviceGetTemperature")(h, ctypes.c_uint(0), ctypes.byref(celsius)), celsius.value],
            "model": N._nvmlGetFunctionPointer("nvmlDeviceGetDriverModel")(h, ctypes.byref(count), ctypes.byref(count)),
            "shares": [[s.pid, s.smUtil] for s in N.nvmlDeviceGetProcessUtilization(h, 0)], "bus": N.nvmlDeviceGetPciInfo(h).bus,
            **{name: ask("nvmlDeviceGet" + name, h, *args) for name, *args in (
                ("MaxClockInfo", N.NVML_CLOCK_MEM), ("ClockInfo", N.NVML_CLOCK_VIDEO), ("PcieThroughput", N.NVML_PCIE_UTIL_RX_BYTES), ("PersistenceMode",), ("DisplayActive",),
                ("TotalEccErrors", N.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, N.NVML_VOLATILE_ECC), ("ComputeMode",), ("CudaComputeCapability",), ("MigMode",),
                ("Serial",), ("DisplayMode",), ("MPSComputeRunningProcesses",))},
            "mig": [N.nvmlDeviceIsMigDeviceHandle(h), N.nvmlDeviceGetMaxMigDeviceCount(h)]}
try:
    unknown = N._nvmlGetFunctionPointer("nvmlDeviceGetTemperatureV") and "found"
except N.NVMLError_FunctionNotFound:
    unknown = "not found"
print(json.dumps([missing, classes, unknown, N.nvmlSystemGetCudaDriverVersion(), [seen(i) for i in range(N.nvmlDeviceGetCount())]]))
"""


def test_nvitop_finds_what_it_asks_for(tmp_path):
    (tmp_path / "monitor.py").write_text(NVITOP)

    def ask(source):
        return json.loads(run(None, "-m", "whirr.nvml", "monitor", PYTHONPATH=str(tmp_path), WHIRR_SOURCE=source))
    missing, classes, unknown, cuda, gpus = ask("sim:scenario=mixed")
    assert missing == [] and len(classes) == len(set(classes)) == 21 and "NVMLError" not in classes and unknown == "not found" and cuda == 13000
    nvidia, h100, amd, _intel = gpus
    assert h100["returned"] == [7, 0] and h100["processes"][0]["gpuInstanceId"] == 0xFFFFFFFF  # too small at first
    assert h100["shares"][0][0] == h100["processes"][0]["pid"] and 50 < h100["shares"][0][1] <= 100
    assert h100["memory"][:2] == [0, True] and h100["memory"][2] > h100["memory"][3] > 10 << 30 and 30 < h100["celsius"][1] < 100
    assert h100["model"] == 3 and h100["mig"] == [0, 0] and h100["MigMode"] == [0, 0] and h100["TotalEccErrors"] == 0 and h100["bus"] == 2
    assert nvidia["CudaComputeCapability"] == [8, 9] and nvidia["ComputeMode"] == 0 and nvidia["DisplayActive"] == 1 and h100["PcieThroughput"] > 0 and nvidia["PcieThroughput"] == "Not Supported"
    assert "7900" in amd["name"] and amd["CudaComputeCapability"] == amd["PersistenceMode"] == "Not Supported"  # nothing is made up
    assert ask("sim:gpus=2,fault=lost@1")[4][1]["error"] == ["NVMLError_GpuIsLost"] * 2


# What the tests of pynvml and nvidia-ml-py call, and what whirr knows nothing of.
OF_PYNVML = "SystemGetNVMLVersion SystemGetCudaDriverVersion SystemGetDriverVersion DeviceGetCount"
OF_PYNVML_ABOUT_A_GPU = "UUID PciInfo PowerUsage TotalEnergyConsumption MemoryInfo UtilizationRates MaxMigDeviceCount"
UNKNOWN_TO_US = """DeviceGetAttributes DeviceGetMemoryAffinity DeviceGetCpuAffinityWithinScope DeviceGetP2PStatus DeviceGetNvLinkVersion DeviceGetNvLinkState
DeviceGetNvLinkRemotePciInfo DeviceGetNvLinkCapability DeviceGetNvLinkErrorCounter DeviceResetNvLinkErrorCounters DeviceFreezeNvLinkUtilizationCounter
DeviceGetNvLinkUtilizationControl DeviceSetNvLinkUtilizationControl DeviceGetNvLinkUtilizationCounter DeviceResetNvLinkUtilizationCounter"""


def test_what_the_tests_of_pynvml_call_is_there(tmp_path):
    asked = json.loads(run(f"""
        import json, whirr.nvml as N
        N.nvmlInit()
        h = N.nvmlDeviceGetHandleByIndex(0)
        def ask(name, *args):
            try:
                return str(getattr(N, "nvml" + name)(*args))
            except N.NVMLError as error:
                return type(error).__name__
        pid = N.nvmlDeviceGetComputeRunningProcesses(h)[0].pid
        print(json.dumps([
            [ask(name) for name in {OF_PYNVML!r}.split()],
            [ask("DeviceGet" + name, h) for name in {OF_PYNVML_ABOUT_A_GPU!r}.split()],
            [ask(name, h, 0, 0) for name in {UNKNOWN_TO_US!r}.split()],
            [ask("SystemGetProcessName", pid), ask("SystemGetProcessName", 1), ask("DeviceGetHandleBySerial", "none")],
            [ask("DeviceGetPcieThroughput", h, kind) for kind in (N.NVML_PCIE_UTIL_TX_BYTES, N.NVML_PCIE_UTIL_RX_BYTES)],
            N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByPciBusId(N.nvmlDeviceGetPciInfo(h).busId))]))""", WHIRR_SOURCE="sim:gpus=2,model=h100,scenario=training"))
    system, about, unknown, found, throughput, index = asked
    assert not [a for a in system + about + throughput if a.startswith("NVMLError")], asked
    assert set(unknown) == {"NVMLError_NotSupported"} and "NVMLError" not in found[0] and found[1:] == ["NVMLError_NotFound"] * 2 and index == 0


def test_what_fails_is_an_error_of_nvml(tmp_path):
    """Programs catch NVMLError and look at its value; nothing else of whirr reaches them."""
    out = json.loads(run("""
        import json, os, whirr.nvml as N
        said = []
        def ask(function, *args):
            try:
                said.append(repr(function(*args)))
            except N.NVMLError as error:
                said.append([type(error).__name__, error.value, type(error.__cause__).__name__])
        os.environ["WHIRR_SOURCE"] = "nonsense"
        ask(N.nvmlInit)
        ask(N.nvmlDeviceGetCount)
        ask(N.nvmlShutdown)
        os.environ["WHIRR_SOURCE"] = "sim:gpus=1"
        N.nvmlInit()
        ask(N.nvmlDeviceGetHandleByIndex, 1)
        ask(N.nvmlDeviceGetHandleByUUID, "GPU-none")
        ask(N.nvmlDeviceGetName, None)
        N._seen = None
        N._handle.close()  # as another thread may do in the middle of a call
        ask(N.nvmlDeviceGetCount)
        print(json.dumps(said))"""))
    assert out == [["NVMLError_InvalidArgument", 2, "WhirrError"], ["NVMLError_Uninitialized", 1, "NoneType"], ["NVMLError_Uninitialized", 1, "NoneType"],
                   ["NVMLError_InvalidArgument", 2, "NoneType"], ["NVMLError_NotFound", 6, "NoneType"], ["NVMLError_InvalidArgument", 2, "NoneType"],
                   ["NVMLError_Uninitialized", 1, "ValueError"]]
    missing = run("""
        import os
        os.environ["WHIRR_LIBRARY"] = "libnot-there.so"
        import whirr.nvml as N
        try:
            N.nvmlInit()
        except N.NVMLError as error:
            print(type(error).__name__, error.value, error)""")
    assert missing == "NVMLError_LibraryNotFound 12 NVML Shared Library Not Found\n"


def test_a_lost_gpu_is_lost_to_the_monitor_too(tmp_path):
    out = imitation(tmp_path, WHIRR_SOURCE="sim:scenario=gpu-lost")
    assert "GPU is lost" in out and "H100" in out


@pytest.mark.parametrize("monitor", [gpustat, imitation])
def test_a_recorded_amd_card_is_seen(tmp_path, whirr, monitor):
    assert whirr("doctor", "--unpack", ROOT / "tests/machines/laptop-rx6700m-0rpm.machine", tmp_path / "machine").code == 0
    out = monitor(tmp_path, WHIRR_SYSROOT=str(tmp_path / "machine"))
    assert "6700" in out and "10224" in out, out
