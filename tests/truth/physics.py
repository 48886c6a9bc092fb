# SPDX-License-Identifier: Apache-2.0
"""A GPU as a physical thing: power from work and clocks, heat from power and cooling, clocks from heat, power and settings, speed from
clocks, links and host. It knows no rule and no threshold of whirr; its numbers are those of data sheets and of what owners measure.
"""
import math
from dataclasses import dataclass, field

# Bits of `throttle_reasons`, in the order of src/model/metric.h.
IDLE, APP_CLOCKS, POWER_CAP, HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 1, 2, 4, 8, 32, 64, 128


@dataclass(frozen=True)
class Part:
    name: str
    vendor: str
    idle_w: float
    limit_w: float
    min_limit_w: float
    clock: float          # MHz that it reaches under load
    clock_max: float
    clock_idle: float
    memory_clock: float
    memory_clock_idle: float
    vram_mib: int
    slows_at: float       # degrees at which it begins to throttle
    shuts_down_at: float
    full_load_at: float   # degrees at full power in a cool room
    fans: int             # 0: the chassis moves the air
    zero_rpm: bool
    generation: int
    links: int            # NVLinks
    ecc: bool
    keep_warm_s: float = 90.0
    lacks: frozenset = frozenset()  # readings that its driver has none of


AMDGPU = frozenset({"throttle_bits", "pstate", "pcie_replays"})
INSTINCT = AMDGPU | {"temp_mdegc", "fan_permille", "fan_rpm", "power_limit_min_mw"}  # the junction is the only sensor of the chip
XE = frozenset({"pstate", "pcie_replays", "fan_permille", "fan_target_permille", "temp_limit_mdegc", "temp_shutdown_mdegc", "mem_util_permille",
                "power_limit_default_mw", "power_limit_min_mw", "fan_control"})

PARTS = [
    Part("NVIDIA GeForce RTX 4090", "nvidia", 24, 450, 150, 2625, 3105, 210, 10501, 405, 24564, 90, 95, 70, 2, True, 4, 0, False),
    Part("NVIDIA GeForce RTX 3060", "nvidia", 14, 170, 100, 1890, 2130, 210, 7501, 405, 12288, 93, 98, 68, 2, True, 4, 0, False),
    Part("NVIDIA GeForce RTX 2080 Ti", "nvidia", 18, 250, 100, 1780, 2100, 300, 7000, 405, 11264, 91, 96, 74, 2, False, 3, 0, False),
    Part("NVIDIA RTX A6000", "nvidia", 22, 300, 100, 1740, 2100, 210, 8001, 405, 49140, 93, 98, 76, 1, False, 4, 4, True),
    Part("NVIDIA A100-SXM4-80GB", "nvidia", 58, 400, 100, 1410, 1410, 210, 1593, 1593, 81920, 89, 92, 58, 0, False, 4, 12, True, 60),
    Part("NVIDIA H100 80GB HBM3", "nvidia", 72, 700, 200, 1755, 1980, 345, 2619, 2619, 81559, 87, 92, 62, 0, False, 5, 18, True, 60),
    Part("NVIDIA L4", "nvidia", 16, 72, 40, 1700, 2040, 210, 6251, 405, 23034, 88, 93, 66, 0, False, 4, 0, True, 60),
    Part("AMD Radeon RX 7900 XTX", "amd", 16, 327, 294, 2480, 2500, 27, 1249, 96, 24560, 100, 105, 66, 1, True, 4, 0, False, lacks=AMDGPU),
    Part("AMD Radeon RX 6700 XT", "amd", 9, 186, 160, 2550, 2629, 25, 1000, 96, 12272, 100, 105, 64, 1, True, 4, 0, False, lacks=AMDGPU),
    Part("NVIDIA GeForce RTX 5090", "nvidia", 26, 575, 400, 2750, 3090, 180, 14001, 405, 32607, 90, 95, 72, 2, True, 5, 0, False),
    Part("Tesla T4", "nvidia", 10, 70, 60, 1350, 1590, 300, 5001, 405, 15360, 93, 96, 72, 0, False, 3, 0, True, 60),
    Part("Tesla V100-SXM2-32GB", "nvidia", 42, 300, 150, 1530, 1530, 135, 877, 877, 32768, 87, 90, 60, 0, False, 3, 6, True, 60),
    Part("AMD Instinct MI300X", "amd", 138, 750, 400, 1900, 2100, 133, 1300, 900, 196592, 100, 110, 78, 0, False, 5, 0, True, 60, INSTINCT),
    Part("Intel Arc B580", "intel", 13, 190, 95, 2700, 2850, 400, 2375, 2375, 12216, 100, 110, 68, 2, True, 4, 0, False, lacks=XE),
]


@dataclass
class Card:
    """What is set, broken and asked of one GPU, and the state that follows from it."""
    part: Part
    work: float = 0.0            # share of time that a program would keep it busy if nothing held it up
    intensity: float = 0.9       # of the power limit, at full clocks
    room: float = 24.0
    cooling: float = 1.0         # what dust, a blocked intake or a bad contact leave of it
    fan_factor: float = 1.0      # what a worn fan turns of what it is asked to
    fan_fixed: float = None      # by hand, 0 to 1
    fan_dead: bool = False
    limit_w: float = None
    clock_cap: float = None      # application or locked clocks
    memory_cap: float = None
    brake: float = 0.0           # share of time in which the board pulls the brake
    held_up: float = 1.0         # what host, link or another rank leave of the work
    spins: bool = False          # busy while it waits, as in a collective
    context: bool = False        # a program keeps the clocks up
    temperature: float = None
    fan: float = 0.0
    fan_asked: float = 0.0
    clock_now: float = 0.0
    power: float = 0.0
    shown_power: float = 0.0     # as a driver that averages shows it
    averages_s: float = 0.0
    busy: float = 0.0
    bits: int = 0
    energy_j: float = 0.0
    thermal_s: float = 0.0
    power_s: float = 0.0
    neighbor: "Card" = field(default=None, repr=False)

    def __post_init__(self):
        self.limit_w = self.limit_w or self.part.limit_w
        if self.temperature is None:
            self.temperature = self.room + 10

    def asked_fan(self):
        p = self.part
        if self.fan_fixed is not None:
            return self.fan_fixed
        if p.zero_rpm and self.temperature < 52:
            return 0.0
        return min(1.0, max(0.3, 0.3 + 0.7 * (self.temperature - 50) / (p.slows_at - 4 - 50)))

    def conductance(self, fan):
        """Watts per degree. At full power a healthy one settles at the part's own temperature."""
        p = self.part
        if not p.fans:
            return self.cooling * p.limit_w / (p.full_load_at - 24)
        usual = min(1.0, max(0.3, 0.3 + 0.7 * (p.full_load_at - 50) / (p.slows_at - 4 - 50)))
        share = lambda f: 0.16 + 0.84 * f**0.75
        return self.cooling * p.limit_w / (p.full_load_at - 24) * share(fan) / share(usual)

    def step(self, seconds, braked):
        p = self.part
        work = self.work * self.held_up
        self.busy = min(1.0, self.work if self.spins else work)
        awake = self.busy > 0.02 or self.context
        clock, bits = (p.clock, 0) if awake else (p.clock_idle, IDLE)
        if awake and self.clock_cap and clock > self.clock_cap:
            clock, bits = self.clock_cap, bits | APP_CLOCKS
        if awake and braked:
            clock, bits = min(clock, p.clock * 0.45), bits | HW_SLOWDOWN | POWER_BRAKE
        over = self.temperature - (p.slows_at - 1)
        if awake and over > 0:
            clock, bits = min(clock, p.clock * max(0.3, 1 - 0.07 * over)), bits | SW_THERMAL | (HW_THERMAL if over > 5 else 0)
            self.thermal_s += seconds
        # What spins in a collective computes next to nothing.
        load = work if not self.spins else work + 0.12 * (self.work - work)
        dynamic = lambda f: (self.intensity * p.limit_w - p.idle_w) * load * (f / p.clock)**2.2
        base = p.idle_w if not awake else p.idle_w * (1.6 if p.limit_w > 300 else 1.3)
        if base + dynamic(clock) > self.limit_w:
            room = max(0.0, self.limit_w - base) / max(1.0, dynamic(clock))
            clock, bits = max(p.clock * 0.2, clock * room**(1 / 2.2)), bits | POWER_CAP
            self.power_s += seconds
        self.power = base + dynamic(clock)
        self.clock_now, self.bits = clock, bits
        self.fan_asked = self.asked_fan()
        self.fan = 0.0 if self.fan_dead else self.fan_asked * self.fan_factor
        intake = self.room
        if self.neighbor:
            intake += 0.6 * (self.neighbor.power - self.neighbor.part.idle_w) / 10
        settles = intake + self.power / self.conductance(self.fan)
        settles = min(settles, p.shuts_down_at - 1)  # before that it slows down further, or is off
        self.temperature += (settles - self.temperature) * (1 - math.exp(-seconds / p.keep_warm_s))
        self.energy_j += self.power * seconds
        keeps = math.exp(-seconds / self.averages_s) if self.averages_s else 0.0
        self.shown_power = keeps * self.shown_power + (1 - keeps) * self.power

    def settle(self, minutes=25):
        for _ in range(minutes * 2):
            self.step(30, False)
            self.step(2, self.brake > 0.5)
        self.thermal_s = self.power_s = 0.0
