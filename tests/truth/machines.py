# SPDX-License-Identifier: Apache-2.0
"""Machines with a known cause, drawn from a seed: the same seed is the same machine for ever.

A machine is a host with GPUs, their programs, one or two causes or none, and a driver that reads some things and not others. Its label is
what was put in (`causes`, with the codes of findings.def that name it, the GPU, and how bad it is), and whether the readings that are left
allow it to be known.
"""
import random
from dataclasses import dataclass, field

from physics import PARTS, Card

EPOCH_MS = 1_790_000_000_000
INFO, NOTICE, WARNING, CRITICAL = range(4)
SEVERITIES = ["info", "notice", "warning", "critical"]
CALM = {"nothing_unusual", "compute_load", "graphics_load", "shared_load", "video_load", "loading", "memory_traffic", "recent_load", "display",
        "context_held", "vram_held", "clocks_held", "power_limit", "asleep", "copies", "no_tensor_cores", "small_kernels", "nvlink_traffic"}


HEAT = {"fan_fixed", "dust", "hot_room", "slow_rank_dust", "neighbour_heat"}  # they show once it is hot


@dataclass
class Cause:
    kind: str
    gpu: int                    # -1: the host
    codes: set                  # findings that name it
    least: int = WARNING        # how bad it is at least, and at most
    most: int = CRITICAL
    needs: list = field(default_factory=list)  # any of these sets of readings is enough to know it
    known: bool = True          # its effect is large enough to be seen at all


@dataclass
class Program:
    pid: int
    name: str
    title: str
    command: str
    user: str
    kind: str
    vram_mib: float
    started_s: float            # before the end of the recording
    ended_s: float = -1.0       # likewise
    share: float = 1.0
    grows_mib_per_s: float = 0.0
    rank: int = None
    world: int = None
    job: str = ""
    evidence: dict = None
    cpu: float = 0.2
    words: dict = field(default_factory=dict)


class Machine:
    def __init__(self, seed):
        self.seed = seed
        self.draw = random.Random(seed)
        self.causes, self.lost, self.counters, self.hidden = [], {}, {}, set()
        self.courses = []           # what changes over time: functions of the seconds since the beginning
        self.events = []            # (at, gpu, code, text): what the driver reports
        self.left_behind = {}       # MiB on a GPU that no program holds
        self.interval = self.draw.choice([1, 1, 2, 5])
        self.duration = self.draw.choice([180, 300, 420, 600]) + self.draw.randrange(6)
        self.host = {"cpu_permille": 120, "cpu_count": 32, "mem_total_bytes": 128 << 30, "mem_available_bytes": 90 << 30,
                     "mem_used_permille": 300, "cpu_pressure_permille": 5, "mem_pressure_permille": 0, "io_pressure_permille": 4,
                     "swap_in_pages_per_s": 0, "swap_out_pages_per_s": 0, "cpu_temp_mdegc": 52000}
        self.room = self.draw.uniform(19, 28)
        self.part = self.draw.choice(PARTS)
        count = self.draw.choice([1, 1, 1, 2, 4, 8]) if self.part.fans == 0 else self.draw.choice([1, 1, 1, 2, 2, 4])
        self.cards = [Card(self.part, room=self.room + self.draw.uniform(0, 2)) for _ in range(count)]
        self.programs = [[] for _ in range(count)]
        self.static = [{} for _ in range(count)]  # readings that a cause pins
        self.next_pid = self.draw.randrange(2000, 90000)
        causes = draw_causes(self.draw)
        self.load = self.draw.choice(STEADY if causes else STEADY + CHANGING)  # a cause needs its work to go on
        self.load(self)
        for cause in causes:
            cause(self)
        self.hide()
        self.sensors()

    # Programs
    def pid(self):
        self.next_pid += self.draw.randrange(1, 40)
        return self.next_pid

    def program(self, gpu, what, **more):
        user = self.draw.choice(["alice", "bob", "carol", "dave"])
        name, title, command, kind = {
            "train": ("python3", "train.py", "python3 train.py --epochs 30", "compute"),
            "serve": ("llama-server", "llama-server", "llama-server -m qwen2.5-14b-q4.gguf --port 8080", "compute"),
            "game": ("Cyberpunk2077.e", "Cyberpunk2077.exe", "Cyberpunk2077.exe", "graphics"),
            "video": ("ffmpeg", "ffmpeg", "ffmpeg -hwaccel cuda -i film.mkv out.mp4", "compute"),
            "render": ("blender", "blender", "blender -b scene.blend -a", "compute"),
            "desktop": ("Xorg", "Xorg", "/usr/lib/xorg/Xorg :0", "graphics"),
            "notebook": ("python3", "ipykernel", "python3 -m ipykernel_launcher -f k.json", "compute"),
        }[what]
        values = dict(vram_mib=self.part.vram_mib * self.draw.uniform(0.2, 0.75), started_s=self.draw.uniform(1500, 90000))
        values.update(more)
        made = Program(self.pid(), name, title, command, user, kind, **values)
        self.programs[gpu].append(made)
        return made

    def busy(self, gpu, least=0.82):
        """Makes sure that there is heavy work on the GPU, as a cause of heat or low clocks needs it to show."""
        card = self.cards[gpu]
        if card.work < least:
            card.work = self.draw.uniform(least, 0.99)
            card.intensity = self.draw.uniform(0.85, 1.02)
            if not any(p.title in ("train.py", "blender") for p in self.programs[gpu]):
                self.program(gpu, "train")
        card.intensity = max(card.intensity, 0.85)

    def any_gpu(self):
        return self.draw.randrange(len(self.cards))

    def blame(self, *args, **more):
        self.causes.append(Cause(*args, **more))

    # What can't be read
    def hide(self):
        if self.draw.random() > 0.4:
            return
        can_hide = ["util_permille", "power_mw", "temp_limit_mdegc", "fan_permille", "fan_rpm", "clock_graphics_max_khz", "clock_memory_max_khz",
                    "throttle_bits", "pstate", "pcie_width_max", "nvlink_links", "processes", "mem_util_permille", "energy_mj", "evidence"]
        self.hidden = set(self.draw.sample(can_hide, self.draw.choice([1, 1, 2, 3])))

    def can_be_known(self, cause):
        lacks = self.hidden | self.part.lacks
        return cause.known and (not cause.needs or any(not (need & lacks) for need in cause.needs))

    def sensors(self):
        """Drivers round, average and are late."""
        self.watts = self.draw.choice([0.001, 0.001, 0.01, 1, 1, 3]) if self.part.idle_w > 12 else 0.1
        self.late = self.draw.choice([0, 0, 0, 1])
        averages = self.draw.choice([0, 0, 1, 3])
        for card in self.cards:
            card.averages_s = averages
        self.shown = [[] for _ in self.cards]

    def settled(self):
        """Nothing begins or ends near the end of the recording."""
        ends = all(begin < self.duration - 40 and (end > self.duration or end < self.duration - 60) for begin, end in self.lost.values())
        flaps = {"fan_wobbles", "power_brake_flaps"}
        steady = not self.courses or any(cause.kind in flaps for cause in self.causes)
        return ends and steady and not self.events and not any(cause.kind in ("leak", "memory_errors") for cause in self.causes)

    # The course of things
    def samples(self):
        for course in self.courses:
            course(0)
        for card in self.cards:
            card.settle()
        out, steps = [], int(self.duration / self.interval)
        for k in range(steps + 1):
            at, left = k * self.interval, self.duration - k * self.interval
            for course in self.courses:
                course(at)
            for i, card in enumerate(self.cards):
                braked = card.brake >= 1 or (card.brake > 0 and (at % 3) < 3 * card.brake)
                card.step(self.interval, braked)
            out.append({"at": at, "interval": float(self.interval), "driver": "580.105.08" if self.part.vendor == "nvidia" else "6.16.3",
                        "host": dict(self.host), "gpus": [self.read(i, at, left) for i in range(len(self.cards))],
                        "events": [{"gpu": gpu, "code": code, "text": words} for when, gpu, code, words in self.events if at - self.interval < when <= at]})
        for cause in self.causes:
            card = self.cards[cause.gpu]
            if cause.kind in HEAT:
                cause.known = card.temperature >= self.part.slows_at - 3
            if cause.kind == "fan_stopped":
                cause.known = card.temperature >= 75
        return out

    def read(self, i, at, left):
        card, part, nvidia = self.cards[i], self.part, self.part.vendor == "nvidia"
        kernel = {"nvidia": "nvidia", "amd": "amdgpu", "intel": "xe"}[part.vendor]
        identity = {"uuid": f"GPU-{self.seed:08x}-0000-4000-8000-{i:012x}" if nvidia else "", "name": part.name, "vendor": part.vendor,
                    "pci_address": f"0000:{0x11 + i * 0x10:02x}:00.0"}
        properties = {"driver": kernel, "memory_kind": "dedicated"}
        source = "nvml" if nvidia else kernel
        if i in self.lost and self.lost[i][0] <= at < self.lost[i][1]:
            return {"id": identity, "index": i, "state": "lost", "error": "GPU is lost", "source": source, "metrics": {},
                    "properties": properties, "processes_state": "failed", "hidden": 0, "processes": []}
        noise = lambda amount: self.draw.uniform(-amount, amount)
        programs, used = [], 0.0
        for p in self.programs[i]:
            age = p.started_s - left
            if age < 0 or left <= p.ended_s:
                continue
            held = p.vram_mib + p.grows_mib_per_s * (at if p.started_s > self.duration else age)
            held = min(held, part.vram_mib * 0.995 - used)
            used += held
            share = round(1000 * max(0.0, min(1.0, card.busy * p.share + noise(0.01)))) if card.busy * p.share > 0.005 else 0
            metrics = {"mem_bytes": round(held) << 20, "cpu_permille": round(1000 * p.cpu), "host_mem_bytes": 3 << 30}
            metrics["util_permille"] = share
            one = {"pid": p.pid, "start_key": p.pid * 100, "started_at_ms": EPOCH_MS + round(1000 * (self.duration - p.started_s)), "visible": 1,
                   "type": p.kind, "name": p.name, "user": p.user, "command": p.command, "title": p.title, "job": p.job, "rank": p.rank,
                   "world": p.world, "metrics": metrics}
            if p.evidence is not None and "evidence" not in self.hidden:
                one["evidence"] = {"looks": 40, "over_ms": 10000, "metrics": p.evidence, **p.words}
            programs.append(one)
        used += self.left_behind.get(i, 0)
        self.shown[i].append((card.busy, card.shown_power))
        busy, power = self.shown[i][-1 - self.late if len(self.shown[i]) > self.late else 0]
        metrics = {
            "util_permille": 10 * round(100 * max(0.0, min(1.0, busy + (noise(0.015) if busy > 0.02 else 0)))),
            "mem_util_permille": 10 * round(100 * max(0.0, min(1.0, busy * 0.55 + noise(0.02)))),
            "mem_total_bytes": part.vram_mib << 20, "mem_used_bytes": (round(used) + 380) << 20, "mem_free_bytes": (part.vram_mib - round(used) - 380) << 20,
            "temp_mdegc": 1000 * round(card.temperature), "temp_limit_mdegc": round(part.slows_at * 1000), "temp_shutdown_mdegc": round(part.shuts_down_at * 1000),
            "power_mw": round(round(power * (1 + noise(0.01)) / self.watts) * self.watts * 1000), "power_limit_mw": round(card.limit_w * 1000),
            "power_limit_default_mw": round(part.limit_w * 1000), "power_limit_min_mw": round(part.min_limit_w * 1000), "power_limit_max_mw": round(part.limit_w * 1050),
            "energy_mj": round(card.energy_j * 1000), "pstate": 0 if card.clock_now > part.clock_idle else 8,
            "clock_graphics_khz": 15000 * round(card.clock_now / 15), "clock_graphics_max_khz": round(part.clock_max * 1000),
            "clock_memory_khz": round(1000 * (min(part.memory_clock, card.memory_cap or part.memory_clock) if card.clock_now > part.clock_idle else part.memory_clock_idle)),
            "clock_memory_max_khz": round(part.memory_clock * 1000), "throttle_bits": card.bits,
            "pcie_generation": part.generation if card.clock_now > part.clock_idle else 1, "pcie_generation_max": part.generation, "pcie_width": 16, "pcie_width_max": 16,
            "pcie_replays": 0, "fan_count": part.fans, "persistence_mode": 1, "encoder_permille": 0, "decoder_permille": 0,
        }
        if nvidia and part.limit_w >= 72:
            metrics["throttle_thermal_us"], metrics["throttle_power_us"] = round(card.thermal_s * 1e6), round(card.power_s * 1e6)
        if part.fans:
            metrics["fan_permille"] = 10 * round(100 * (card.fan if not nvidia or card.fan_dead else card.fan_asked * card.fan_factor))
            metrics["fan_rpm"] = 10 * round(330 * card.fan)
            metrics["fan_target_permille"] = 10 * round(100 * card.fan_asked)
            properties["fan_control"] = "manual" if card.fan_fixed is not None else "automatic"
            if part.zero_rpm:
                metrics["fan_zero_rpm"], metrics["fan_zero_rpm_stop_mdegc"] = 1, 52000
        if part.links:
            metrics["nvlink_links"] = metrics["nvlink_links_active"] = part.links
        if part.ecc:
            metrics.update(ecc_enabled=1, ecc_corrected=0, ecc_uncorrected=0, remapped_rows_pending=0, remapped_rows_failed=0, remapped_rows_uncorrected=0,
                           remapped_rows_corrected=0)
        if part.vendor == "amd":
            stacked = "temp_mdegc" in part.lacks  # HBM beside the chip, under one cooler
            metrics["temp_hotspot_mdegc"] = 1000 * round(card.temperature + (0 if stacked else 6 + 14 * card.power / part.limit_w))
            metrics["temp_memory_mdegc"] = 1000 * round(card.temperature + (-8 if stacked else 4 + 9 * card.busy))
        metrics.update(self.static[i])
        for name in part.lacks & metrics.keys():
            metrics[name] = "unsupported"
        if "fan_control" in part.lacks:
            properties.pop("fan_control", None)
        for name, per_second in self.counters.get(i, {}).items():
            metrics[name] = round(per_second * at)
        for name in self.hidden & metrics.keys():
            metrics[name] = "unsupported"
        seen = "processes" not in self.hidden
        return {"id": identity, "index": i, "state": "ok", "source": source, "metrics": metrics, "properties": properties,
                "processes_state": "ok" if seen else "denied", "hidden": 0, "processes": programs if seen else []}


# Ordinary loads: nothing is wrong with any of them.
def idle(m):
    if m.part.fans and m.draw.random() < 0.5:
        m.program(0, "desktop", vram_mib=m.draw.uniform(100, 900), share=0.0)


def training(m):
    work, intensity = m.draw.uniform(0.88, 1.0), m.draw.uniform(0.8, 1.02)
    for i, card in enumerate(m.cards):
        card.work, card.intensity = work, intensity + m.draw.uniform(-0.01, 0.01)
        m.program(i, "train", cpu=1.05)


def serving(m):
    for i, card in enumerate(m.cards):
        if i and m.draw.random() < 0.4:
            continue
        card.work, card.intensity = m.draw.uniform(0.15, 0.7), m.draw.uniform(0.55, 0.9)
        m.program(i, "serve", cpu=0.6, evidence={"main_poll_permille": 950, "cpu_permille": 500, "listens": 1})


def gaming(m):
    if not m.part.fans:
        return training(m)
    m.cards[0].work, m.cards[0].intensity = m.draw.uniform(0.6, 0.98), m.draw.uniform(0.7, 0.98)
    m.program(0, "desktop", vram_mib=m.draw.uniform(200, 900), share=0.02)
    m.program(0, "game", share=0.97)


def rendering(m):
    m.cards[0].work, m.cards[0].intensity = 0.99, m.draw.uniform(0.75, 0.95)
    m.program(0, "render")


def just_loading(m):
    """A server that reads its weights: memory grows fast, and it is no leak."""
    age = m.draw.uniform(25, 100)
    rate = m.part.vram_mib * 0.7 / m.draw.uniform(110, 200)
    m.cards[0].work, m.cards[0].context = 0.01, True
    m.program(0, "serve", vram_mib=600, started_s=age, grows_mib_per_s=rate, share=0.0, cpu=0.95)


def held(m):
    """A notebook that was left open."""
    m.cards[0].context = True
    m.program(0, "notebook", share=0.0, cpu=0.0, evidence={"main_poll_permille": 1000, "cpu_permille": 0})


def just_ended(m):
    """A training that has ended: the card is warm, its fan still turns."""
    ago = m.draw.uniform(8, 120)
    work = m.draw.uniform(0.9, 1.0)
    m.program(0, "train", ended_s=ago, cpu=1.0)

    def course(at):
        m.cards[0].work = work if at < m.duration - ago else 0.0
    m.courses.append(course)


def bursts(m):
    """A server that answers now and then."""
    every, share, work = m.draw.uniform(20, 60), m.draw.uniform(0.15, 0.6), m.draw.uniform(0.7, 0.99)
    m.cards[0].context, m.cards[0].intensity = True, m.draw.uniform(0.6, 0.9)
    m.program(0, "serve", cpu=0.3, evidence={"main_poll_permille": 980, "cpu_permille": 250, "listens": 1})

    def course(at):
        m.cards[0].work = work if at % every < every * share else 0.0
    m.courses.append(course)


def just_started(m):
    """A program that began a few seconds ago."""
    ago, work = m.draw.uniform(3, 40), m.draw.uniform(0.85, 1.0)
    m.program(0, "train", started_s=ago, cpu=1.0)

    def course(at):
        m.cards[0].work = work if at >= m.duration - ago + 2 else 0.0
    m.courses.append(course)


def sharing(m):
    m.cards[0].work, m.cards[0].intensity = m.draw.uniform(0.85, 1.0), m.draw.uniform(0.7, 0.95)
    share = m.draw.uniform(0.3, 0.7)
    m.program(0, "train", share=share, vram_mib=m.part.vram_mib * m.draw.uniform(0.2, 0.4))
    m.program(0, "render", share=1 - share, vram_mib=m.part.vram_mib * m.draw.uniform(0.1, 0.3))


def displays(m):
    """Fast displays keep the clocks up."""
    if not m.part.fans:
        return idle(m)
    m.cards[0].context = True
    m.static[0]["display_active"] = 1
    m.program(0, "desktop", vram_mib=m.draw.uniform(300, 1200), share=0.0)


def transcoding(m):
    m.cards[0].work, m.cards[0].intensity = m.draw.uniform(0.05, 0.25), 0.4
    busy = m.draw.randrange(400, 950)
    m.static[0].update(encoder_permille=busy, decoder_permille=busy // 2)
    m.program(0, "video", vram_mib=m.draw.uniform(300, 900))


def parked_server(m):
    """A server that took its memory in one go and has no request."""
    m.cards[0].context = True
    m.program(0, "serve", vram_mib=m.part.vram_mib * 0.9 - 400, share=0.0, cpu=0.0, evidence={"main_poll_permille": 1000, "cpu_permille": 0, "listens": 1})


def brake_once(m):
    """The brake for one second of many minutes is nothing."""
    training(m)
    if m.part.vendor != "nvidia":
        return
    when = m.draw.randrange(20, m.duration - 60)

    def course(at):
        m.cards[0].brake = 1.0 if when <= at < when + m.interval else 0.0
    m.courses.append(course)


STEADY = [idle, training, training, serving, gaming, rendering]
CHANGING = [just_loading, held, just_ended, bursts, just_started, sharing, displays, transcoding, parked_server, brake_once]


# Causes: each sets what is broken and says who is to blame.
def fan_stopped(m):
    if not m.part.fans:
        return power_brake(m)
    i = m.any_gpu()
    m.busy(i)
    since = m.draw.choice([0, 0, m.duration - m.draw.uniform(90, 170)])

    def course(at):
        m.cards[i].fan_dead = at >= since
    m.courses.append(course)
    m.blame("fan_stopped", i, {"fan_stopped"}, CRITICAL, needs=[{"fan_permille"}, {"fan_rpm"}])


def fan_worn(m):
    if not m.part.fans:
        return dust(m)
    i = m.any_gpu()
    m.busy(i)
    m.cards[i].fan_factor = m.draw.uniform(0.25, 0.45)
    m.blame("fan_worn", i, {"fan_failing"}, needs=[{"fan_permille"}])


def fan_fixed(m):
    if not m.part.fans:
        return dust(m)
    i = m.any_gpu()
    m.busy(i)
    m.cards[i].fan_fixed = m.draw.uniform(0.2, 0.3)
    m.cards[i].cooling = m.draw.uniform(0.6, 0.7)
    m.blame("fan_fixed", i, {"fan_by_hand"}, needs=[{"fan_permille"}, {"fan_rpm"}])


def dust(m):
    i = m.any_gpu()
    m.busy(i, 0.93)
    m.cards[i].cooling = m.draw.uniform(0.4, 0.52)
    m.blame("dust", i, {"airflow", "heat_limit", "memory_hot"}, needs=[{"throttle_bits"}, {"temp_limit_mdegc", "temp_mdegc"}])


def hot_room(m):
    warmer = m.draw.uniform(36, 44)
    for i, card in enumerate(m.cards):
        m.busy(i, 0.93)
        card.room += warmer
        m.blame("hot_room", i, {"airflow", "heat_limit", "memory_hot"}, needs=[{"throttle_bits"}, {"temp_limit_mdegc", "temp_mdegc"}])


def power_brake(m):
    if m.part.vendor != "nvidia":
        return narrow_link(m)
    i = m.any_gpu()
    m.busy(i)
    m.cards[i].brake = 1.0
    m.blame("power_brake", i, {"slowdown"}, needs=[{"throttle_bits"}])


def power_brake_flaps(m):
    if m.part.vendor != "nvidia":
        return narrow_link(m)
    i = m.any_gpu()
    m.busy(i)
    m.interval, m.duration, m.cards[i].brake = 1, 300 + m.draw.randrange(3), m.draw.choice([0.34, 0.67])
    m.blame("power_brake_flaps", i, {"slowdown"}, needs=[{"throttle_bits"}])


def locked_clocks(m):
    i = m.any_gpu()
    m.busy(i)
    m.cards[i].clock_cap = m.part.clock * m.draw.uniform(0.25, 0.42)
    m.blame("locked_clocks", i, {"clocks_low"}, NOTICE, WARNING, needs=[{"clock_graphics_max_khz", "util_permille"}, {"clock_graphics_max_khz", "processes"}])


def low_memory_clock(m):
    if m.part.memory_clock_idle > m.part.memory_clock / 2:
        return locked_clocks(m)
    i = m.any_gpu()
    m.busy(i)
    m.cards[i].memory_cap = m.part.memory_clock_idle
    m.blame("low_memory_clock", i, {"clocks_low"}, NOTICE, WARNING, needs=[{"clock_memory_max_khz", "util_permille"}, {"clock_memory_max_khz", "processes"}])


def narrow_link(m):
    i = m.any_gpu()
    m.busy(i, 0.9)
    width = m.draw.choice([1, 2, 4])
    m.static[i]["pcie_width"] = width
    m.cards[i].held_up = {1: 0.25, 2: 0.45, 4: 0.75}[width]
    m.blame("narrow_link", i, {"pcie_link"}, needs=[{"pcie_width_max"}])


def replays(m):
    if m.part.vendor != "nvidia":
        return narrow_link(m)
    i = m.any_gpu()
    m.busy(i)
    m.counters.setdefault(i, {})["pcie_replays"] = m.draw.uniform(20, 200)
    m.blame("replays", i, {"pcie_replays"})


def links_down(m):
    if not m.part.links or len(m.cards) < 2:
        return replays(m)
    i = m.any_gpu()
    m.static[i]["nvlink_links_active"] = m.draw.choice([0, m.part.links // 2])
    m.blame("links_down", i, {"nvlink"}, needs=[{"nvlink_links"}])


def memory_errors(m):
    if not m.part.ecc:
        return replays(m)
    i = m.any_gpu()
    m.counters.setdefault(i, {})["ecc_uncorrected"] = m.draw.uniform(0.02, 0.5)
    m.blame("memory_errors", i, {"ecc"}, CRITICAL)


def row_pending(m):
    if not m.part.ecc:
        return leak(m)
    i = m.any_gpu()
    m.static[i][m.draw.choice(["remapped_rows_pending", "remapped_rows_failed"])] = 1
    m.blame("row_pending", i, {"row_remap", "repair"})


def lost(m):
    i = m.any_gpu()
    m.lost[i] = (m.duration - m.draw.uniform(15, m.duration * 0.6), m.duration + 1)
    m.blame("lost", i, {"lost"}, CRITICAL)


def lost_and_back(m):
    """Lost for some seconds, and at work again: worth a look, and no longer an alarm."""
    i = m.any_gpu()
    begins = m.draw.uniform(20, m.duration - 90)
    m.lost[i] = (begins, begins + m.draw.uniform(12, 30))
    m.blame("lost_and_back", i, {"lost"}, NOTICE, WARNING)


def reported(m):
    """An error that the driver reports by its number."""
    if m.part.vendor != "nvidia":
        return lost_and_back(m)
    i = m.any_gpu()
    code, least = m.draw.choice([(31, NOTICE), (13, NOTICE), (119, WARNING), (62, WARNING)])
    m.events.append((m.duration - m.draw.uniform(10, 150), i, code, f"Xid {code}"))
    m.blame("reported", i, {"xid"}, least, CRITICAL)


def fan_wobbles(m):
    """A bearing that sticks: the fan stands still for some seconds again and again."""
    if not m.part.fans or "fan_target_permille" in m.part.lacks:
        return replays(m)
    i = m.any_gpu()
    m.busy(i, 0.93)
    m.interval, m.cards[i].cooling = m.draw.choice([1, 2]), m.draw.uniform(0.75, 0.85)
    every = m.draw.choice([5, 8, 12])

    def course(at):
        m.cards[i].fan_dead = at % every < every / 2
    m.courses.append(course)
    m.blame("fan_wobbles", i, {"fan_failing", "fan_stopped"}, needs=[{"fan_permille"}])


def neighbour_heat(m):
    """The upper card of two breathes what the lower one blows out."""
    if len(m.cards) < 2 or not m.part.fans:
        return dust(m)
    for card, i in ((m.cards[0], 0), (m.cards[1], 1)):
        m.busy(i, 0.93)
    m.cards[0].neighbor, m.cards[0].cooling = m.cards[1], m.draw.uniform(0.5, 0.58)
    m.blame("neighbour_heat", 0, {"neighbour_heat", "airflow", "heat_limit", "memory_hot"}, needs=[{"throttle_bits"}, {"temp_limit_mdegc", "temp_mdegc"}])


def low_generation(m):
    """Under load, and still at generation 1."""
    i = m.any_gpu()
    m.busy(i, 0.9)
    m.static[i]["pcie_generation"] = 1
    m.cards[i].held_up = 0.6
    m.blame("low_generation", i, {"pcie_link"}, needs=[{"util_permille"}])


def slow_sibling(m):
    """One of several GPUs with equal work of their own is far slower."""
    if len(m.cards) < 3:
        return locked_clocks(m)
    work, odd = m.draw.uniform(0.92, 1.0), m.any_gpu()
    for i, card in enumerate(m.cards):
        m.programs[i].clear()
        card.work, card.intensity = work, 0.9
        m.program(i, "train", cpu=1.0, started_s=7200.0 + i)
    m.cards[odd].clock_cap = m.part.clock * m.draw.uniform(0.55, 0.65)
    m.blame("slow_sibling", odd, {"clocks_low", "straggler"}, NOTICE, WARNING)


def lowered_limit(m):
    """A power limit far below what the card was made for, and work that wants more."""
    i = m.any_gpu()
    m.busy(i, 0.93)
    m.cards[i].limit_w = max(m.part.min_limit_w, m.part.limit_w * m.draw.uniform(0.4, 0.6))
    m.blame("lowered_limit", i, {"power_limit", "clocks_low"}, INFO, WARNING, needs=[{"power_limit_default_mw"}])
    m.causes[-1].known = m.cards[i].limit_w < 0.75 * m.part.limit_w


def hot_memory(m):
    if "temp_mdegc" in m.part.lacks or m.part.vendor != "amd":
        return leak(m)
    i = m.any_gpu()
    m.busy(i)
    m.static[i].update(temp_memory_mdegc=m.draw.randrange(106, 112) * 1000, temp_memory_limit_mdegc=105000)
    m.blame("hot_memory", i, {"memory_hot", "heat_limit"})


def bad_contact(m):
    if "temp_mdegc" in m.part.lacks or m.part.vendor != "amd":
        return leak(m)
    i = m.any_gpu()
    m.busy(i, 0.93)
    m.static[i].update(temp_mdegc=62000, temp_hotspot_mdegc=m.draw.randrange(104, 112) * 1000)
    m.blame("bad_contact", i, {"hotspot", "heat_limit"}, NOTICE)


def orphaned_memory(m):
    """What a killed program left behind."""
    i = m.any_gpu()
    m.programs[i].clear()
    m.cards[i].work, m.cards[i].context = 0.0, False
    m.left_behind[i] = m.part.vram_mib * m.draw.uniform(0.3, 0.8)
    m.blame("orphaned_memory", i, {"memory_unowned"}, NOTICE, WARNING, needs=[{"processes"}])


def heat_is_over(m):
    """It was at its limit, the work has ended since, and it is cool again."""
    m.duration = 600 + m.draw.randrange(6)
    m.programs[0].clear()
    m.cards[0].cooling = m.draw.uniform(0.4, 0.5)
    m.program(0, "train", ended_s=450.0, cpu=1.0)

    def course(at):
        m.cards[0].work = 0.99 if at < m.duration - 450 else 0.0
    m.courses.append(course)
    m.blame("heat_is_over", 0, {"heat_limit", "airflow", "recent_load", "nothing_unusual", "hidden_load"}, INFO, NOTICE)


def leak(m):
    i = m.any_gpu()
    m.duration = max(m.duration, 420)
    m.programs[i].clear()
    m.cards[i].work, m.cards[i].context = m.draw.uniform(0.3, 0.9), False
    size = m.part.vram_mib * m.draw.uniform(0.3, 0.5)
    rate = (m.part.vram_mib * 0.95 - size) / m.draw.uniform(1.4, 4) / m.duration
    m.program(i, "train", vram_mib=size, started_s=m.draw.uniform(4000, 20000), grows_mib_per_s=rate)
    m.blame("leak", i, {"vram_full_soon"}, NOTICE, needs=[set()])


def memory_full(m):
    i = m.any_gpu()
    m.programs[i].clear()
    m.program(i, "train", vram_mib=m.part.vram_mib - 420)
    m.cards[i].work = max(m.cards[i].work, 0.6)
    m.blame("memory_full", i, {"vram_full"}, NOTICE, WARNING)


def hidden_work(m):
    i = m.any_gpu()
    m.programs[i].clear()
    m.cards[i].work = m.draw.uniform(0.7, 1.0)
    m.blame("hidden_work", i, {"hidden_load", "mining"}, NOTICE, WARNING, needs=[{"processes", "util_permille"}])


def one_thread(m):
    host_limit(m, "one_thread", {"waits_for_host"}, {"main_running_permille": 980, "main_cpu_permille": 985, "busiest_thread_permille": 985, "cpu_permille": 1010,
                                                    "child_count": 0, "runqueue_permille": 5}, cpu=1.0)


def slow_disk(m):
    m.host.update(io_pressure_permille=700, cpu_iowait_permille=80, disk_busy_permille=990)
    host_limit(m, "slow_disk", {"waits_for_disk"}, {"main_running_permille": 60, "main_disk_permille": 900, "cpu_permille": 90, "read_bytes_per_s": 90_000_000,
                                                   "io_pressure_permille": 700, "child_count": 0}, cpu=0.09)


def cpu_quota(m):
    host_limit(m, "cpu_quota", {"cpu_quota"}, {"main_running_permille": 900, "main_cpu_permille": 480, "cpu_permille": 500, "quota_millicores": 500,
                                              "throttled_permille": 620, "child_count": 0}, cpu=0.5)


def swapping(m):
    m.host.update(mem_pressure_permille=720, mem_stall_permille=500, swap_in_pages_per_s=24000, swap_out_pages_per_s=18000, mem_available_bytes=1 << 30,
                  mem_used_permille=992, swap_total_bytes=64 << 30, swap_used_bytes=40 << 30)
    host_limit(m, "swapping", {"waits_for_memory"}, None, cpu=0.1)


def host_limit(m, kind, codes, evidence, cpu):
    i = m.any_gpu()
    m.programs[i].clear()
    m.cards[i].work, m.cards[i].held_up = 0.95, m.draw.uniform(0.12, 0.35)
    m.program(i, "train", evidence=evidence, cpu=cpu)
    m.blame(kind, i, codes, INFO, WARNING, needs=[{"processes", "evidence", "util_permille"}] if evidence else [{"processes", "util_permille"}])


def slow_rank(m):
    """One rank is slow for a reason of its own, and the others wait for it in their collectives."""
    if len(m.cards) < 2:
        return dust(m)
    late = m.any_gpu()
    world = len(m.cards)
    for i, card in enumerate(m.cards):
        m.programs[i].clear()
        card.work, card.intensity = 0.99, 0.95
        m.program(i, "train", rank=i, world=world, job="4711", cpu=1.02)
        if i != late:
            card.held_up, card.spins = 0.45, True
    how = m.draw.choice([locked_rank, braked_rank, dusty_rank])
    how(m, late)


def locked_rank(m, i):
    m.cards[i].clock_cap = m.part.clock * 0.4
    m.blame("slow_rank_clocks", i, {"clocks_low", "straggler"}, NOTICE, WARNING, needs=[{"clock_graphics_max_khz"}])


def braked_rank(m, i):
    if m.part.vendor != "nvidia":
        return locked_rank(m, i)
    m.cards[i].brake = 1.0
    m.blame("slow_rank_brake", i, {"slowdown"}, needs=[{"throttle_bits"}])


def dusty_rank(m, i):
    m.cards[i].cooling = 0.42
    m.blame("slow_rank_dust", i, {"airflow", "heat_limit", "memory_hot"}, needs=[{"throttle_bits"}, {"temp_limit_mdegc", "temp_mdegc"}])


FAULTS = [fan_stopped, fan_worn, fan_fixed, dust, hot_room, power_brake, power_brake_flaps, locked_clocks, low_memory_clock, narrow_link, replays,
          links_down, memory_errors, row_pending, lost, leak, memory_full, hidden_work, one_thread, slow_disk, cpu_quota, swapping, slow_rank,
          lost_and_back, reported, fan_wobbles, neighbour_heat, low_generation, slow_sibling, lowered_limit, hot_memory, bad_contact,
          orphaned_memory, heat_is_over]
# These can go along with any other: they touch neither work nor heat.
BESIDE = [replays, links_down, memory_errors, row_pending]


def draw_causes(draw):
    kind = draw.random()
    if kind < 0.42:
        return []
    first = draw.choice(FAULTS)
    if kind < 0.92 or first in (lost, heat_is_over):
        return [first]
    return [first, draw.choice([cause for cause in BESIDE if cause is not first])]
