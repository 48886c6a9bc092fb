# SPDX-License-Identifier: Apache-2.0
"""The form of every answer, made from its table (src/answer/answer.h): WHIRR_WRITE_TYPES=1 meson test -C build answers"""
from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict


class AlertRule(TypedDict):
    name: str
    builtin: bool
    #: Built in, and changed in the configuration
    changed: bool
    enabled: bool
    #: Of a finding: in the ordinary case
    severity: Literal["info", "notice", "warning", "critical"]
    scope: Literal["host", "gpu", "process"]
    #: Of the finding that it is about; null: a condition of its own
    code: Optional[str]
    #: The condition; of a finding: how a condition asks for it
    when: str
    for_seconds: float
    #: null: when `when` no longer holds
    clear: Optional[str]
    clear_for_seconds: float
    summary: Optional[str]
    description: Optional[str]
    labels: dict[str, str]
    notify: list[str]
    #: null: without a daemon, it is not known
    state: Optional[Literal["inactive", "pending", "firing"]]


class AlertRules(TypedDict):
    rules: list[AlertRule]


class Alert(TypedDict):
    #: Name of the rule
    alert: str
    #: Of the finding that it is about (docs/findings.md); null: a rule of the configuration
    code: Optional[str]
    state: Literal["pending", "firing", "resolved"]
    severity: Literal["info", "notice", "warning", "critical"]
    #: What it is about
    scope: Literal["host", "gpu", "process"]
    host: Optional[str]
    #: null: about the host or the daemon
    gpu_index: Optional[int]
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    #: The GPU exists only in the simulator
    simulated: bool
    pid: Optional[int]
    process: Optional[str]
    user: Optional[str]
    #: The number that decided, in the unit of its metric
    value: Optional[float]
    summary: str
    labels: dict[str, str]
    #: Since when the condition holds
    pending_since: Optional[str]
    #: When it began to fire
    started_at: Optional[str]
    ended_at: Optional[str]
    silenced: bool
    silence_id: Optional[str]
    #: It came and went: it ends only when it was over for five minutes
    flapping: bool
    #: The same for this alert of this GPU or process, also after a restart
    fingerprint: str


class Silence(TypedDict):
    id: str
    #: All must match; * and ? stand for anything
    matchers: dict[str, str]
    created_at: str
    until: str
    comment: Optional[str]
    created_by: Optional[str]


class AlertsCounts(TypedDict):
    pending: int
    firing: int
    resolved: int
    #: Of those that fire
    silenced: int
    #: Over the 2048 that are followed at once
    left_out: int


class Alerts(TypedDict):
    #: Of the last sample that was judged
    timestamp: Optional[str]
    alerts: list[Alert]
    counts: AlertsCounts
    silences: list[Silence]


class CapacityGpuWorkers(TypedDict):
    worker: str
    memory_mb: float
    evictable: bool


_CapacityGpuCourseKeywords = TypedDict("_CapacityGpuCourseKeywords", {"from": str, })


class CapacityGpuCourse(_CapacityGpuCourseKeywords):
    free_least_mb: float


class CapacityGpu(TypedDict):
    gpu_index: int
    #: Number of a MIG instance; null: the whole GPU
    instance: Optional[int]
    uuid: Optional[str]
    name: Optional[str]
    simulated: bool
    pci_address: Optional[str]
    vendor: Optional[str]
    #: Work can be started on it
    usable: bool
    #: Why not, or why its memory is not known
    problem: Optional[str]
    #: shared: its memory is the host's; free is then what the host has available, less a reserve
    memory_kind: Literal["dedicated", "shared"]
    #: It shares the host's memory beside GPUs with memory of their own: fit and wait use it only where it is named
    only_if_named: bool
    memory_total_mb: Optional[float]
    memory_free_mb: Optional[float]
    reserve_mb: float
    #: Free less reserve
    available_mb: Optional[float]
    #: Held by workers that the guard could evict
    reclaimable_mb: Optional[float]
    utilization_percent: Optional[float]
    free_least_1h_mb: Optional[float]
    free_least_24h_mb: Optional[float]
    #: So much of the last day is known
    watched_seconds: int
    workers: list[CapacityGpuWorkers]
    #: The last day in quarters of an hour, oldest first
    course: list[CapacityGpuCourse]
    #: Why a value is None
    absent: dict[str, str]


class Capacity(TypedDict):
    timestamp: str
    host: Optional[str]
    tracking: bool
    #: false: what could be reclaimed is not known
    guard: bool
    gpus: list[CapacityGpu]


class CpuSamplesSharePercent(TypedDict):
    python: float
    driver: float
    compiler: float
    program: float
    libraries: float
    kernel_or_unknown: float


class CpuSamplesObjects(TypedDict):
    name: str
    percent: float


class CpuSamplesFunctions(TypedDict):
    name: str
    object: str
    percent: float


class _CpuSamples(TypedDict, total=False):
    #: Only where they were asked for
    functions: list[CpuSamplesFunctions]


class CpuSamples(_CpuSamples):
    """Where a process spends its CPU time."""
    pid: int
    #: ok, or why there is no result
    state: str
    #: The answer in words, or what would permit it
    words: str
    over_seconds: float
    samples: int
    threads: int
    #: Of one core, over all threads that were sampled
    cpu_percent: float
    #: Of the CPU time
    share_percent: CpuSamplesSharePercent
    #: Files with the most CPU time, busiest first
    objects: list[CpuSamplesObjects]


class Device(TypedDict):
    index: int
    name: str
    #: MiB
    total_memory_mb: Optional[int]
    #: MiB
    free_memory_mb: Optional[int]
    #: MiB
    used_memory_mb: Optional[int]
    utilization_percent: Optional[int]
    temperature_c: Optional[int]
    #: False: it is listed, but cannot be read now
    is_available: bool
    #: The driver's words
    error_message: Optional[str]
    state: Literal["ok", "asleep", "error", "lost"]
    uuid: Optional[str]
    pci_address: Optional[str]
    vendor: Optional[str]
    simulated: bool
    #: Why a value is None
    absent: dict[str, str]


class Devices(TypedDict):
    devices: list[Device]
    count: int


class RemedyValues(TypedDict):
    fan_percent: Optional[float]
    power_watts: Optional[float]
    temperature_celsius: Optional[float]
    clock_graphics_mhz: Optional[float]
    tokens_per_second: Optional[float]


class RemedyDoing(TypedDict):
    id: str
    gpu_index: int
    #: Of the remedy
    code: str
    #: Its sentence
    text: str
    #: What it changes
    plan: Optional[str]
    #: Who asked for it
    who: Optional[str]
    #: Is taken back in any case
    trying: bool
    #: Nothing is changed
    dry_run: bool
    simulated: bool
    since: str
    #: The old values are back then
    until: Optional[str]
    phase: Literal["measuring_before", "changing", "measuring_after", "undoing", "measuring_again", "over"]
    outcome: Literal["running", "measured", "as_expected", "not_as_expected", "no_effect", "cant_tell", "failed"]
    #: It still holds
    kept: bool
    #: What came of it, as a sentence
    result: Optional[str]
    #: Measured
    before: Optional[RemedyValues]
    after: Optional[RemedyValues]
    #: After it was taken back
    again: Optional[RemedyValues]
    #: Changes; null: not known
    expected: Optional[RemedyValues]
    #: own_history or siblings
    expected_source: Optional[str]
    #: For POST /api/undo
    undo_id: Optional[str]


class DriverDrivers(TypedDict):
    #: The source that reads its GPUs
    source: str
    name: str
    version: Optional[str]


class Driver(TypedDict):
    driver_version: Optional[str]
    #: The highest CUDA version that the driver supports
    cuda_driver_version: Optional[str]
    nvml_version: Optional[str]
    cuda_available: bool
    #: Why there is no driver, in the words of the library
    error_message: Optional[str]
    #: The drivers of all GPUs, each once: a host with GPUs of two vendors has two
    drivers: list[DriverDrivers]


class Effect(TypedDict):
    #: When it was measured
    at: str
    #: Its index at that time
    gpu_index: int
    #: UUID, or PCI address
    gpu_uuid: str
    gpu_name: str
    #: remedy: whirr do; else what came or went on its own
    cause: Literal["remedy", "context", "limit", "display", "model"]
    #: The remedy that does this
    code: str
    #: What changed
    what: Optional[str]
    #: Of a changed power limit
    limit_before_watts: Optional[float]
    limit_after_watts: Optional[float]
    before: RemedyValues
    after: RemedyValues
    #: Changes that were expected; null: not known
    expected: RemedyValues


class RemedyHits(TypedDict):
    #: Of the remedy
    code: str
    #: Steps that were measured
    measured: int
    #: Those where something was expected
    expected: int
    #: Those that came as expected, within a fifth
    hit: int
    #: Of the newest
    expected_watts: Optional[float]
    measured_watts: Optional[float]


class FindingCodesCodes(TypedDict):
    code: str
    area: str
    severity: Literal["info", "notice", "warning", "critical"]
    #: How long it must last before it notifies
    holds_seconds: int
    muted: bool
    #: Whether new work may be placed on a GPU with it
    work_may_go_there: bool
    meaning: str


class FindingCodes(TypedDict):
    codes: list[FindingCodesCodes]


class FleetGpu(TypedDict):
    host: str
    #: null: it is gone
    gpu_index: Optional[int]
    uuid: str
    name: str
    up: bool
    #: fine, not_judged (a whirr without findings), held, unusual, degraded, silent (a host that was there and does not answer), failing or lost
    trouble: str
    #: Of its first finding; null: it said nothing
    severity: Optional[Literal["info", "notice", "warning", "critical"]]
    code: Optional[str]
    process: Optional[str]
    headline: Optional[str]
    work_may_go_there: bool
    working: bool
    utilization_percent: Optional[float]
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    memory_free_mb: Optional[float]
    #: Free in one piece: in an instance of a divided GPU
    memory_room_mb: Optional[float]
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class FleetHostLastKnown(TypedDict):
    gpu_count: int
    utilization_percent: Optional[float]
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class FleetHost(TypedDict):
    host: str
    #: fine, not_judged (a whirr without findings), held, unusual, degraded, silent (a host that was there and does not answer), failing or lost
    trouble: str
    #: Of its first finding; null: it said nothing
    severity: Optional[Literal["info", "notice", "warning", "critical"]]
    code: Optional[str]
    process: Optional[str]
    #: The worst problem; null: none
    note: Optional[str]
    #: Of a silent one
    last_seen_at: Optional[str]
    #: By `fleet.expect`; null: not set
    gpus_expected: Optional[int]
    #: Against the database; null: correct, or unknown
    clock_ahead_seconds: Optional[float]
    utilization_percent: Optional[float]
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    #: The last numbers of a host that does not answer; null: it does
    last_known: Optional[FleetHostLastKnown]
    gpus: list[FleetGpu]
    #: Why a value is None
    absent: dict[str, str]


class FleetStatus(TypedDict):
    answer: str
    gpu_count: int
    hosts_not_answering: int
    gpus_missing: int
    clocks_off: int
    #: Worst first, with their GPUs
    hosts: list[FleetHost]


class FleetProcess(TypedDict):
    host: str
    gpu: str
    name: str
    container: Optional[str]
    user: Optional[str]
    pod: Optional[str]
    job: Optional[str]
    memory_mb: Optional[float]
    utilization_percent: Optional[float]
    power_watts: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class _FleetUser(TypedDict, total=False):
    user: Optional[str]
    container: Optional[str]
    pod: Optional[str]
    job: Optional[str]
    host: Optional[str]


class FleetUser(_FleetUser):
    memory_mb: Optional[float]
    utilization_percent: Optional[float]
    power_watts: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class _FleetUse(TypedDict, total=False):
    simulated: bool
    processes: list[FleetProcess]
    users: list[FleetUser]
    containers: list[FleetUser]
    pods: list[FleetUser]
    jobs: list[FleetUser]
    hosts: list[FleetUser]


class FleetUse(_FleetUse):
    pass


class _FleetBilled(TypedDict, total=False):
    user: Optional[str]
    container: Optional[str]
    pod: Optional[str]
    job: Optional[str]
    host: Optional[str]


class FleetBilled(_FleetBilled):
    energy_joules: float
    #: null: no price is set
    cost: Optional[float]


class _FleetBill(TypedDict, total=False):
    users: list[FleetBilled]
    containers: list[FleetBilled]
    pods: list[FleetBilled]
    jobs: list[FleetBilled]
    hosts: list[FleetBilled]


class FleetBill(_FleetBill):
    span_seconds: int
    price_per_kwh: float
    currency: str
    energy_joules: float


class FleetNow(TypedDict):
    #: As `whirr status --fleet URL --json`
    status: FleetStatus
    #: As `whirr ps --fleet URL --by user --json`
    by_user: FleetUse
    #: As `whirr ps --fleet URL --by container --json`
    by_container: FleetUse
    #: As `whirr report --fleet URL --json`, of the last 24 hours; null: the database could not say
    energy_by_host: Optional[FleetBill]
    #: The same by user
    energy_by_user: Optional[FleetBill]


class Fleet(TypedDict):
    """All hosts."""
    #: When `fleet` came from the database; null: not yet
    fetched_at: Optional[str]
    #: The database is being asked
    loading: bool
    #: Why the last question failed; `fleet` is older then
    error: Optional[str]
    fleet: Optional[FleetNow]


class ForecastMemoryProcess(TypedDict):
    pid: int
    name: Optional[str]
    #: What people call it
    short_name: Optional[str]
    user: Optional[str]


class ForecastMemory(TypedDict):
    #: unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; expected: as things go; reached: it is there
    verdict: Literal["unknown", "no_trend", "never", "expected", "reached"]
    #: Why, in words
    reason: str
    at: Optional[str]
    #: From now; 0 when it is reached
    seconds: Optional[float]
    earliest_seconds: Optional[float]
    #: null with verdict expected: it may also settle before
    latest_seconds: Optional[float]
    #: Length of the stretch that it was seen on
    basis_seconds: Optional[float]
    used_mb: Optional[int]
    #: What processes can have in all
    room_mb: Optional[int]
    growth_mb_per_minute: Optional[float]
    #: The one that grows; null: none, several, or not known
    process: Optional[ForecastMemoryProcess]
    #: Why a value is None
    absent: dict[str, str]


class ForecastTemperature(TypedDict):
    #: unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; expected: as things go; reached: it is there
    verdict: Literal["unknown", "no_trend", "never", "expected", "reached"]
    #: Why, in words
    reason: str
    at: Optional[str]
    #: From now; 0 when it is reached
    seconds: Optional[float]
    earliest_seconds: Optional[float]
    #: null with verdict expected: it may also settle before
    latest_seconds: Optional[float]
    #: Length of the stretch that it was seen on
    basis_seconds: Optional[float]
    temperature_celsius: Optional[float]
    #: Temperature at which the GPU starts throttling
    limit_celsius: Optional[float]
    #: Temperature at which it settles under its present load, if that is known well
    final_celsius: Optional[float]
    time_constant_seconds: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class ForecastStore(TypedDict):
    #: unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; expected: as things go; reached: it is there
    verdict: Literal["unknown", "no_trend", "never", "expected", "reached"]
    #: Why, in words
    reason: str
    at: Optional[str]
    #: From now; 0 when it is reached
    seconds: Optional[float]
    earliest_seconds: Optional[float]
    #: null with verdict expected: it may also settle before
    latest_seconds: Optional[float]
    #: Length of the stretch that it was seen on
    basis_seconds: Optional[float]
    #: What it is about: the size limit of the history database, or the disk under it if that is full first
    of: Literal["cap", "disk"]
    used_bytes: Optional[int]
    #: 0: none is set
    cap_bytes: Optional[int]
    disk_free_bytes: Optional[int]
    growth_bytes_per_day: Optional[int]
    #: Why a value is None
    absent: dict[str, str]


class ForecastGpus(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    memory: ForecastMemory
    temperature: ForecastTemperature


class Forecast(TypedDict):
    timestamp: Optional[str]
    host: Optional[str]
    #: The soonest of all in a sentence, or that nothing points anywhere
    answer: str
    simulated: bool
    #: false: from a short look, without a daemon
    remembered: bool
    watched_seconds: float
    gpus: list[ForecastGpus]
    store: Optional[ForecastStore]


class GuardedWorkerGate(TypedDict):
    in_flight: int
    waiting: int


class GuardedWorker(TypedDict):
    name: str
    state: Literal["running", "draining", "evicting", "verifying", "paused", "reserving", "resuming", "absent"]
    since: Optional[str]
    #: When it comes back to the GPU if nothing changes; null: it is not paused, or something keeps it off
    resumes_at: Optional[str]
    claim: Literal["unknown", "none", "seen", "sure"]
    #: Of the claim, of there being none, or of the pause where no program is why
    reason: Optional[str]
    problem: Optional[str]
    #: Through which it is off the GPU
    method: Optional[str]
    #: The old name of `method`, until 0.4
    way: Optional[str]
    pid: Optional[int]
    process_count: int
    gpus: list[int]
    #: Held now, or to come back; null: that can't be read
    memory_mb: Optional[float]
    other_processes: int
    held: bool
    throttled: bool
    hot: bool
    fault: bool
    gave_up: bool
    memory_still_held: bool
    dry_run: bool
    #: GPUs of a simulator are what it goes by
    simulated: bool
    #: Off the GPU because no request came for so long; the next request brings it back
    idle: bool
    #: `idle_after`; null: never
    idle_after_seconds: Optional[float]
    #: null: requests are not watched
    last_asked_at: Optional[str]
    evictions_total: int
    resumes_total: int
    failures_total: int
    last_evict_seconds: Optional[float]
    last_resume_seconds: Optional[float]
    gate: Optional[GuardedWorkerGate]


class Guard(TypedDict):
    workers: list[GuardedWorker]


class GuardEvent(TypedDict):
    kind: Literal["state", "problem", "ended"]
    worker: str
    state: Literal["running", "draining", "evicting", "verifying", "paused", "reserving", "resuming", "absent"]
    before: Literal["running", "draining", "evicting", "verifying", "paused", "reserving", "resuming", "absent"]
    #: A sentence without a full stop
    text: str
    timestamp: str


class HistorySeriesMetrics(TypedDict):
    name: str
    unit: Optional[str]
    #: As many as times; of energy the sum, of throttle reasons the share of samples in which the GPU was throttled
    mean: list[Optional[float]]
    min: list[Optional[float]]
    max: list[Optional[float]]


class HistorySeries(TypedDict):
    """One GPU, host, or process on a GPU."""
    of: Literal["gpu", "host", "process"]
    host: str
    gpu_index: Optional[int]
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    process: Optional[str]
    pid: Optional[int]
    #: Beginnings of the steps, in seconds since 1970
    times: list[float]
    #: Of a process: what limited it in most of each step; null where that was not judged. null for GPUs and hosts
    limits: Optional[list[Optional[str]]]
    metrics: list[HistorySeriesMetrics]


class History(TypedDict):
    """Metrics over time."""
    #: null: from the beginning
    since: Optional[str]
    until: str
    #: Length of a step; null when nothing is stored
    step_seconds: Optional[float]
    #: What was read
    level: Optional[Literal["samples", "minutes", "hours"]]
    series: list[HistorySeries]
    #: Whether a GPU of that time was a simulated one
    simulated: bool


class GuardHealth(TypedDict):
    state: Literal["off", "trouble", "paused", "watching"]
    workers: int
    paused: int
    #: Workers that could not be taken off the GPU, have a fault, or whose profile needs to know who else is on the GPU while that cannot be seen
    troubled: int
    #: Why nothing is guarded although `[worker]` asks for evictions
    message: Optional[str]


class FindingShare(TypedDict):
    minute: Optional[float]
    ten_minutes: Optional[float]


class Finding(TypedDict):
    """One finding of the verdict; docs/findings.md has the codes."""
    code: str
    severity: Literal["info", "notice", "warning", "critical"]
    area: str
    confidence: float
    #: null: the host
    gpu_index: Optional[int]
    pid: Optional[int]
    #: It has held, or has come and gone, since then
    since: Optional[str]
    #: now: it holds; comes_and_goes: it was back at least three times in ten minutes, and may be away at this moment; was: it is over; soon: a forecast
    tense: Literal["now", "comes_and_goes", "was", "soon"]
    #: When what is over ended
    until: Optional[str]
    #: The part of the last minute and of the last ten minutes in which it held, as far as they were watched; from the driver's own counters where it has them
    share: Optional[FindingShare]
    #: With what it was compared: other GPUs of its kind, its own past, what the part can do, a limit that the driver reports; null: with nothing
    reference: Optional[str]
    #: The code of the finding that brings it about (docs/causes.md); null: it is a root
    effect_of: Optional[str]
    #: By [finding.CODE]: listed only
    muted: bool
    headline: str
    #: Whether its evidence could be seen; not_looked of the GPU has what is missing
    seen: str


class Activity(TypedDict):
    """What a GPU is doing, judged over the last minute, and what a person would notice about it."""
    code: Literal["unknown", "lost", "failing", "asleep", "idle", "kept_from_idling", "lightly_loaded", "busy", "saturated"]
    words: str
    #: Utilization as it was judged, over the last seconds; with bursts their mean over the last minute
    load_percent: Optional[float]
    #: Works in bursts, with pauses
    bursts: bool
    symptoms: list[Literal["loud", "hot", "throttling", "memory_full", "unusual"]]
    throttled_by: list[str]


class UsualIdlePowerByMemoryClock(TypedDict):
    clock_mhz: float
    watts: float
    low_clock_mhz: float
    low_watts: float


class UsualIdlePowerByProcess(TypedDict):
    pid: int
    since: Optional[str]
    watts: float
    watts_before: float


class UsualDrift(TypedDict):
    text: str
    celsius_per_month: float
    fan_percent_per_month: float
    power_watts: float
    since: Optional[str]
    until: Optional[str]
    days: int
    #: Enough to call the GPU degraded
    strong: bool


class Usual(TypedDict):
    """What is usual for this GPU, learned from its own history; null while there is none. Below `days_needed` days nothing is called usual: confidence is 0 and the values are null."""
    confidence: float
    #: Days of evidence at the power of this moment, else when idle, else in all
    days: int
    days_needed: int
    since: Optional[str]
    #: Why the baseline begins there: the first sample, another power limit, another fan curve
    began_with: Literal["first", "power_limit", "fan_curve"]
    #: The middle of the days, at the power of this moment
    temperature_celsius: Optional[float]
    temperature_low_celsius: Optional[float]
    temperature_high_celsius: Optional[float]
    #: It never worked at this power for long: the temperatures are those of the next higher power that is known
    at_more_power: bool
    #: The temperatures are those that are usual in air of this temperature; null where no sensor reports it, or too few days have it
    ambient_celsius: Optional[float]
    fan_percent: Optional[float]
    idle_power_watts: Optional[float]
    idle_power_high_watts: Optional[float]
    #: At this hour of the day
    utilization_percent: Optional[float]
    too_hot: bool
    fan_too_fast: bool
    fan_too_slow: bool
    idle_power_too_high: bool
    #: Idle power at the present memory clock and at the lowest; null where the history doesn't have both
    idle_power_by_memory_clock: Optional[UsualIdlePowerByMemoryClock]
    #: Idle power before a process that is on the GPU came, and since: only where both were idle minutes in which no other process came or went
    idle_power_by_process: list[UsualIdlePowerByProcess]
    #: A slow rise at the same power: dust. null: none that stands out from noise
    drift: Optional[UsualDrift]


class HealthVerdictFindings(TypedDict):
    check: str
    #: Of the finding (docs/findings.md)
    code: str
    state: Literal["unknown", "asleep", "healthy", "degraded", "failing", "lost"]
    xid: Optional[int]
    reason: str
    action: str
    since: Optional[str]


class HealthVerdict(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    pci_address: Optional[str]
    simulated: bool
    activity: Activity
    state: Literal["unknown", "asleep", "healthy", "degraded", "failing", "lost"]
    reason: str
    #: What to do
    action: str
    since: Optional[str]
    usual: Optional[Usual]
    #: Those of the verdict that count for health, in its order: a cause before what it brings about
    findings: list[HealthVerdictFindings]
    #: The areas that the judgement rests on
    looked: list[Literal["errors", "fan", "heat", "power", "clocks", "link", "memory", "work", "idle", "trust", "host", "limit"]]
    #: What could not be looked at, the kernel log included
    not_looked: Optional[str]


class GpuHealthKernelLog(TypedDict):
    #: skipped: all GPUs are simulated or replayed
    state: Literal["read", "denied", "absent", "skipped"]
    #: What to do so that it can be read
    message: Optional[str]


class GpuHealth(TypedDict):
    timestamp: Optional[str]
    state: Literal["unknown", "asleep", "healthy", "degraded", "failing", "lost"]
    #: false: from one look, without the past
    remembered: bool
    watched_since: Optional[str]
    kernel_log: GpuHealthKernelLog
    #: Of the first finding; null: not judged
    severity: Optional[Literal["info", "notice", "warning", "critical"]]
    #: The most important first
    findings: list[Finding]
    gpus: list[HealthVerdict]


class HealthChange(TypedDict):
    timestamp: Optional[str]
    gpu_index: int
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    pci_address: Optional[str]
    simulated: bool
    activity: Activity
    state: Literal["unknown", "asleep", "healthy", "degraded", "failing", "lost"]
    reason: str
    #: What to do
    action: str
    since: Optional[str]
    before: Literal["unknown", "asleep", "healthy", "degraded", "failing", "lost"]


class InventoryGpuForgotten(TypedDict):
    at: str
    by: Optional[str]


class InventoryGpu(TypedDict):
    #: The last one it had
    gpu_index: int
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    pci_address: Optional[str]
    serial: Optional[str]
    #: Which driver it was read with
    source: str
    simulated: bool
    #: The most NVLinks that were ever up
    nvlinks: int
    first_seen_at: Optional[str]
    last_seen_at: Optional[str]
    #: replaced: another GPU is in its slot
    state: Literal["present", "missing", "replaced", "forgotten"]
    #: The UUID of that GPU
    replaced_by: Optional[str]
    #: It need not be there; until it is seen again
    forgotten: Optional[InventoryGpuForgotten]


class InventoryPartForgotten(TypedDict):
    at: str
    by: Optional[str]


class InventoryPart(TypedDict):
    #: What `whirr forget` takes: a port, else a UUID or PCI address
    name: str
    kind: Literal["npu", "accelerator", "infiniband_port"]
    model: Optional[str]
    first_seen_at: Optional[str]
    last_seen_at: Optional[str]
    state: Literal["present", "missing", "replaced", "forgotten"]
    #: It need not be there; until it is seen again
    forgotten: Optional[InventoryPartForgotten]


class Inventory(TypedDict):
    """What this host should have."""
    #: All that were ever seen here, or were forgotten within 30 days
    gpus: list[InventoryGpu]
    #: Likewise NPUs, accelerators, and InfiniBand ports that had a link
    parts: list[InventoryPart]


class LeaseGpus(TypedDict):
    uuid: str
    gpu_index: int
    #: What programs without a lease left when it was given
    free_bytes: Optional[int]
    #: What its programs hold now
    used_bytes: Optional[int]
    #: Why a value is None
    absent: dict[str, str]


class LeaseSettings(TypedDict):
    #: The setting, which implies its unit
    what: str
    #: UUID of the GPU
    gpu: str
    #: How far it is: written, done, active, restored
    step: str
    #: null: the driver's default, or a text
    asked: Optional[int]
    #: What it was, and will be again
    before: Optional[int]
    #: Range of the GPU
    least: Optional[int]
    most: Optional[int]
    #: Of a setting that is not a number
    asked_text: Optional[str]
    before_text: Optional[str]


_LeaseKeywords = TypedDict("_LeaseKeywords", {"from": str, })


class Lease(_LeaseKeywords):
    id: str
    kind: Literal["run", "wait", "reserve", "setting"]
    state: Literal["waiting", "active", "ended"]
    uid: int
    user: str
    #: The process that it lives with
    pid: Optional[int]
    #: Start of that process in clock ticks since boot
    start_key: int
    #: The boot of the host in which that process runs
    boot: str
    command: Optional[str]
    note: Optional[str]
    made: str
    #: null: its end is open
    until: Optional[str]
    #: Its place in the queue: the smaller first
    ticket: int
    gpus_wanted: int
    #: On each GPU; 0: whole GPUs
    memory_bytes: int
    exclusive: bool
    #: What it has; while it waits, what it may get (none: any)
    gpus: list[LeaseGpus]
    settings: list[LeaseSettings]
    ended_why: Optional[str]
    #: Of a reservation on which nothing has run for `lease.idle_minutes`
    idle_since: Optional[str]
    simulated: bool


class Leases(TypedDict):
    leases: list[Lease]
    #: Files in the directory that do not count, and why
    problems: list[str]


class Limit(TypedDict):
    """What limits a process on a GPU, over the last ten seconds."""
    code: Literal["compute", "compute_no_tensor", "memory_bandwidth", "power", "heat", "clocks", "video", "pcie_in", "pcie_out", "nvlink", "spill", "launch", "compile", "host_cpu", "cpu_work", "partly_on_cpu", "allocation", "loaders", "cpu_quota", "disk", "network_fs", "memory_pressure", "numa", "kernel_wait", "straggler_wait", "peer", "other_programs", "no_requests", "none", "cannot_tell"]
    #: Behind "limited by"
    words: str
    #: gpu: the GPU works as hard as it can; link: PCIe or NVLink; host: the program's own side keeps the GPU waiting; others: other programs or ranks; none: nothing is asked of the GPU, or nothing shows
    side: str
    #: Share of the time that was looked at
    share_percent: float
    #: How long that was; 0: one look
    over_seconds: int
    confidence: float
    #: What limits it for most of the rest
    second: Optional[Literal["compute", "compute_no_tensor", "memory_bandwidth", "power", "heat", "clocks", "video", "pcie_in", "pcie_out", "nvlink", "spill", "launch", "compile", "host_cpu", "cpu_work", "partly_on_cpu", "allocation", "loaders", "cpu_quota", "disk", "network_fs", "memory_pressure", "numa", "kernel_wait", "straggler_wait", "peer", "other_programs", "no_requests", "none", "cannot_tell"]]
    second_percent: float


class Process(TypedDict):
    """A process on a GPU."""
    pid: int
    name: Optional[str]
    #: With secrets masked
    command: Optional[str]
    user: Optional[str]
    type: Optional[Literal["compute", "graphics", "both"]]
    #: Memory of the GPU held by the process
    memory_mb: Optional[float]
    #: Share of the GPU's compute units
    utilization_percent: Optional[float]
    #: Share of the GPU's memory bandwidth
    memory_utilization_percent: Optional[float]
    #: Share of the video encoder
    encoder_percent: Optional[float]
    #: Share of the video decoder
    decoder_percent: Optional[float]
    #: Its part of the GPU's power above idle, by its share of the engines and of what open contexts cost
    power_watts: Optional[float]
    #: The part of power_watts that it costs to keep its context open while the GPU rests, as measured when a context came or went; only with a daemon
    parked_watts: Optional[float]
    #: CPU time of the process; 100% is one core
    cpu_percent: Optional[float]
    #: Host memory of the process (resident)
    host_memory_mb: Optional[float]
    #: Tokens per second that the model server generates, by its own counters; only with a daemon, as all that follow
    tokens_per_second: Optional[float]
    #: Tokens of prompts per second that the model server reads
    prompt_tokens_per_second: Optional[float]
    #: Tokens that the model server has generated since it was started, by its own counter
    generated_tokens: Optional[float]
    #: Tokens of prompts that the model server has read since it was started, by its own counter
    prompt_tokens: Optional[float]
    #: Time from a request to its first token, the mean since the last look in which there was one
    time_to_first_token_seconds: Optional[float]
    #: Time from one token of an answer to the next, the mean as before
    time_per_token_seconds: Optional[float]
    #: Requests that the model server is working on
    requests_running: Optional[float]
    #: Requests that wait at the model server
    requests_waiting: Optional[float]
    #: How full the model server's KV cache is; of several, the fullest
    kv_cache_percent: Optional[float]
    #: Tokens of prompts that were in the prefix cache, of those looked for
    prefix_cache_hit_percent: Optional[float]
    #: Requests that the model server interrupts because its KV cache is full
    preemptions_per_second: Optional[float]
    #: Jobs of an image server: the one at work and those that wait
    image_jobs: Optional[float]
    #: How power_watts was attributed
    power_basis: Optional[Literal["utilization", "memory", "only process"]]
    #: loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing
    activity: Optional[Literal["working", "loading", "holding"]]
    #: What limits it; null where that was not judged
    limit: Optional[Limit]
    #: Name or ID of the container it runs in
    container: Optional[str]
    #: The model it was started with, where its command line or Ollama's manifests say so
    model: Optional[str]
    #: What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; otherwise its name
    display_name: Optional[str]
    #: Its name in every sentence and table: display_name with the model, "process 4242" where nothing is known
    short_name: str
    #: The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read
    container_name: Optional[str]
    #: The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID (torchrun:4242)
    job: Optional[str]
    #: Its number among the processes of its job, as torchrun, MPI or Slurm gave it
    rank: Optional[int]
    #: How many processes its job has, on all hosts
    world_size: Optional[int]
    #: The process that started it
    parent_pid: Optional[int]
    parent_name: Optional[str]
    #: The lease it runs under (`/api/leases`)
    lease: Optional[str]
    started_at: Optional[str]
    #: The MIG instance it runs on
    instance: Optional[int]
    #: false: the PID belongs to a process that can't be seen from here
    visible: bool
    #: Why a value is None
    absent: dict[str, str]


class ProcessOnGpu(TypedDict):
    """A process with the GPU that it is on."""
    gpu_index: int
    gpu_name: Optional[str]
    simulated: bool
    pid: int
    name: Optional[str]
    #: With secrets masked
    command: Optional[str]
    user: Optional[str]
    type: Optional[Literal["compute", "graphics", "both"]]
    #: Memory of the GPU held by the process
    memory_mb: Optional[float]
    #: Share of the GPU's compute units
    utilization_percent: Optional[float]
    #: Share of the GPU's memory bandwidth
    memory_utilization_percent: Optional[float]
    #: Share of the video encoder
    encoder_percent: Optional[float]
    #: Share of the video decoder
    decoder_percent: Optional[float]
    #: Its part of the GPU's power above idle, by its share of the engines and of what open contexts cost
    power_watts: Optional[float]
    #: The part of power_watts that it costs to keep its context open while the GPU rests, as measured when a context came or went; only with a daemon
    parked_watts: Optional[float]
    #: CPU time of the process; 100% is one core
    cpu_percent: Optional[float]
    #: Host memory of the process (resident)
    host_memory_mb: Optional[float]
    #: Tokens per second that the model server generates, by its own counters; only with a daemon, as all that follow
    tokens_per_second: Optional[float]
    #: Tokens of prompts per second that the model server reads
    prompt_tokens_per_second: Optional[float]
    #: Tokens that the model server has generated since it was started, by its own counter
    generated_tokens: Optional[float]
    #: Tokens of prompts that the model server has read since it was started, by its own counter
    prompt_tokens: Optional[float]
    #: Time from a request to its first token, the mean since the last look in which there was one
    time_to_first_token_seconds: Optional[float]
    #: Time from one token of an answer to the next, the mean as before
    time_per_token_seconds: Optional[float]
    #: Requests that the model server is working on
    requests_running: Optional[float]
    #: Requests that wait at the model server
    requests_waiting: Optional[float]
    #: How full the model server's KV cache is; of several, the fullest
    kv_cache_percent: Optional[float]
    #: Tokens of prompts that were in the prefix cache, of those looked for
    prefix_cache_hit_percent: Optional[float]
    #: Requests that the model server interrupts because its KV cache is full
    preemptions_per_second: Optional[float]
    #: Jobs of an image server: the one at work and those that wait
    image_jobs: Optional[float]
    #: How power_watts was attributed
    power_basis: Optional[Literal["utilization", "memory", "only process"]]
    #: loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing
    activity: Optional[Literal["working", "loading", "holding"]]
    #: What limits it; null where that was not judged
    limit: Optional[Limit]
    #: Name or ID of the container it runs in
    container: Optional[str]
    #: The model it was started with, where its command line or Ollama's manifests say so
    model: Optional[str]
    #: What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; otherwise its name
    display_name: Optional[str]
    #: Its name in every sentence and table: display_name with the model, "process 4242" where nothing is known
    short_name: str
    #: The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read
    container_name: Optional[str]
    #: The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID (torchrun:4242)
    job: Optional[str]
    #: Its number among the processes of its job, as torchrun, MPI or Slurm gave it
    rank: Optional[int]
    #: How many processes its job has, on all hosts
    world_size: Optional[int]
    #: The process that started it
    parent_pid: Optional[int]
    parent_name: Optional[str]
    #: The lease it runs under (`/api/leases`)
    lease: Optional[str]
    started_at: Optional[str]
    #: The MIG instance it runs on
    instance: Optional[int]
    #: false: the PID belongs to a process that can't be seen from here
    visible: bool
    #: Why a value is None
    absent: dict[str, str]


class Place(TypedDict):
    file: Optional[str]
    #: The commonest
    line: Optional[int]
    #: Where no line has nearly all of it, the range
    first_line: Optional[int]
    last_line: Optional[int]
    function: Optional[str]
    #: Of the time of the threads that are to blame
    share_percent: int
    thread: Optional[str]
    state: Literal["computes", "gil", "lock", "pipe", "socket", "events", "file", "sleep", "child", "gpu", "stopped", "other"]
    #: Where most of it is below, in a library
    mostly_in: Optional[str]
    called_from_file: Optional[str]
    called_from_line: Optional[int]
    #: Of children: in how many of them
    processes: Optional[int]
    of_processes: Optional[int]
    text: str


class HostEvidence(TypedDict):
    """What a program on a GPU was doing on its host."""
    #: Looks at its threads: 100% of the shares
    looks: int
    #: From the first to the last look; 0: a single one
    over_seconds: float
    #: The main thread was running, or could have run
    main_running_percent: Optional[float]
    #: The main thread was waiting for a disk
    main_disk_percent: Optional[float]
    #: The main thread was waiting for a network file system: NFS, SMB, Ceph, Lustre
    main_network_fs_percent: Optional[float]
    #: The main thread was waiting for a FUSE file system
    main_fuse_percent: Optional[float]
    #: The main thread was waiting for a pipe or a socket
    main_pipe_percent: Optional[float]
    #: The main thread was waiting for a lock or another thread (futex)
    main_lock_percent: Optional[float]
    #: The main thread was sleeping on purpose
    main_sleep_percent: Optional[float]
    #: The main thread was waiting in poll, select or epoll
    main_poll_percent: Optional[float]
    #: The main thread was waiting for a child to end
    main_child_percent: Optional[float]
    #: The main thread was waiting for something else
    main_other_percent: Optional[float]
    #: 1: the process is stopped (SIGSTOP, a debugger)
    stopped: Optional[float]
    #: CPU time of the main thread
    main_cpu_percent: Optional[float]
    #: CPU time of the busiest thread
    busiest_thread_percent: Optional[float]
    #: CPU time of all threads
    cpu_percent: Optional[float]
    #: The part of it that was spent in the kernel
    system_percent: Optional[float]
    #: Threads that use half of a core or more each
    busy_threads: Optional[float]
    #: Time that the main thread was ready and no CPU was free
    waiting_for_cpu_percent: Optional[float]
    #: Share of their CPU time in the Python interpreter
    cpu_time_python_percent: Optional[float]
    #: In the GPU driver's library
    cpu_time_driver_percent: Optional[float]
    #: In a compiler for GPUs that is part of the process
    cpu_time_compiler_percent: Optional[float]
    #: In the program itself and other libraries
    cpu_time_native_percent: Optional[float]
    #: In the kernel, or in code that no file holds
    cpu_time_kernel_percent: Optional[float]
    #: Child processes
    children: Optional[float]
    #: CPU time of all children
    children_cpu_percent: Optional[float]
    #: CPU time of the busiest child
    child_busiest_percent: Optional[float]
    #: Children that were waiting for a disk
    children_waiting_for_disk: Optional[float]
    #: Children that were waiting for a socket or a network file system
    children_waiting_for_network: Optional[float]
    #: Children that were sleeping on purpose
    children_sleeping: Optional[float]
    #: The process at the other end, where it is on this host
    peer_pid: Optional[float]
    #: CPU time of that process
    peer_cpu_percent: Optional[float]
    #: Bytes read from disks
    read_bytes_per_second: Optional[float]
    #: Bytes written to disks
    write_bytes_per_second: Optional[float]
    #: Page faults that needed a disk
    major_faults_per_second: Optional[float]
    #: Page faults that needed no disk
    minor_faults_per_second: Optional[float]
    #: Pages of files that it has mapped and that are in memory
    mapped_file_bytes: Optional[float]
    #: Size of the model files that it has mapped (GGUF, safetensors)
    model_file_bytes: Optional[float]
    #: Memory of the process that is in swap
    swap_bytes: Optional[float]
    #: CPU quota of the container
    quota_cores: Optional[float]
    #: Share of the time in which the container was stopped by its CPU quota
    throttled_percent: Optional[float]
    #: Share of the time in which a task was waiting for a CPU
    cpu_pressure_percent: Optional[float]
    #: Share of the time in which a task was waiting for a disk
    io_pressure_percent: Optional[float]
    #: Share of the time in which a task was waiting for memory
    memory_pressure_percent: Optional[float]
    #: NUMA node of the CPUs that it runs on
    cpu_numa_node: Optional[float]
    #: NUMA node that has most of its memory
    memory_numa_node: Optional[float]
    #: NUMA node that the GPU is connected to
    gpu_numa_node: Optional[float]
    #: 1: it listens on a TCP port, as a server does; 2: its parent does
    listens: Optional[float]
    #: The rank that a collective was waiting for, as the job's own traces say
    collective_late_rank: Optional[float]
    #: Bus bandwidth of the newest collective, of the rank that came last
    collective_bytes_per_second: Optional[float]
    #: The most that one of as many bytes had before
    collective_best_bytes_per_second: Optional[float]
    busiest_thread: Optional[str]
    busiest_child: Optional[str]
    #: A child that compiles GPU code
    compiler: Optional[str]
    #: The network file system that it waits for
    mount: Optional[str]
    #: The file, other than Python's, with the most CPU time
    code: Optional[str]
    #: Whom it waits for
    peer: Optional[str]
    #: What the traces of its job say about the newest collective
    collective: Optional[str]
    #: Why a value is None
    absent: dict[str, str]


class WhyProcess(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    simulated: bool
    pid: int
    name: Optional[str]
    #: With secrets masked
    command: Optional[str]
    user: Optional[str]
    type: Optional[Literal["compute", "graphics", "both"]]
    #: Memory of the GPU held by the process
    memory_mb: Optional[float]
    #: Share of the GPU's compute units
    utilization_percent: Optional[float]
    #: Share of the GPU's memory bandwidth
    memory_utilization_percent: Optional[float]
    #: Share of the video encoder
    encoder_percent: Optional[float]
    #: Share of the video decoder
    decoder_percent: Optional[float]
    #: Its part of the GPU's power above idle, by its share of the engines and of what open contexts cost
    power_watts: Optional[float]
    #: The part of power_watts that it costs to keep its context open while the GPU rests, as measured when a context came or went; only with a daemon
    parked_watts: Optional[float]
    #: CPU time of the process; 100% is one core
    cpu_percent: Optional[float]
    #: Host memory of the process (resident)
    host_memory_mb: Optional[float]
    #: Tokens per second that the model server generates, by its own counters; only with a daemon, as all that follow
    tokens_per_second: Optional[float]
    #: Tokens of prompts per second that the model server reads
    prompt_tokens_per_second: Optional[float]
    #: Tokens that the model server has generated since it was started, by its own counter
    generated_tokens: Optional[float]
    #: Tokens of prompts that the model server has read since it was started, by its own counter
    prompt_tokens: Optional[float]
    #: Time from a request to its first token, the mean since the last look in which there was one
    time_to_first_token_seconds: Optional[float]
    #: Time from one token of an answer to the next, the mean as before
    time_per_token_seconds: Optional[float]
    #: Requests that the model server is working on
    requests_running: Optional[float]
    #: Requests that wait at the model server
    requests_waiting: Optional[float]
    #: How full the model server's KV cache is; of several, the fullest
    kv_cache_percent: Optional[float]
    #: Tokens of prompts that were in the prefix cache, of those looked for
    prefix_cache_hit_percent: Optional[float]
    #: Requests that the model server interrupts because its KV cache is full
    preemptions_per_second: Optional[float]
    #: Jobs of an image server: the one at work and those that wait
    image_jobs: Optional[float]
    #: How power_watts was attributed
    power_basis: Optional[Literal["utilization", "memory", "only process"]]
    #: loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing
    activity: Optional[Literal["working", "loading", "holding"]]
    #: What limits it; null where that was not judged
    limit: Optional[Limit]
    #: Name or ID of the container it runs in
    container: Optional[str]
    #: The model it was started with, where its command line or Ollama's manifests say so
    model: Optional[str]
    #: What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; otherwise its name
    display_name: Optional[str]
    #: Its name in every sentence and table: display_name with the model, "process 4242" where nothing is known
    short_name: str
    #: The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read
    container_name: Optional[str]
    #: The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID (torchrun:4242)
    job: Optional[str]
    #: Its number among the processes of its job, as torchrun, MPI or Slurm gave it
    rank: Optional[int]
    #: How many processes its job has, on all hosts
    world_size: Optional[int]
    #: The process that started it
    parent_pid: Optional[int]
    parent_name: Optional[str]
    #: The lease it runs under (`/api/leases`)
    lease: Optional[str]
    started_at: Optional[str]
    #: The MIG instance it runs on
    instance: Optional[int]
    #: false: the PID belongs to a process that can't be seen from here
    visible: bool
    #: What limits it, in a sentence
    answer: Optional[str]
    likelihood: Optional[str]
    evidence: list[str]
    #: What could not be looked at, where nothing can be said
    missing: Optional[str]
    suggestions: list[str]
    #: Where it spends its CPU time, in words
    cpu_time: Optional[str]
    #: In which lines of its code it spends its time, the answer first. Empty in `/api/why`; `/api/why/lines` and `whirr why NAME` look
    lines: list[Place]
    #: Whose lines these are
    lines_of: Optional[Literal["main_thread", "children", "threads", "wait", "gpu"]]
    too_few_cores: bool
    looks: Optional[int]
    #: Why no line is known
    lines_missing: Optional[str]
    host: Optional[HostEvidence]
    #: Why a value is None
    absent: dict[str, str]


class WhyProcesses(TypedDict):
    """What limits the processes that were asked about."""
    timestamp: Optional[str]
    processes: list[WhyProcess]


class LiveStatsRow(TypedDict):
    gpu_index: int
    gpu_name: str
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    gpu_utilization_percent: Optional[float]
    memory_utilization_percent: Optional[float]
    gpu_uuid: Optional[str]
    simulated: bool
    timestamp: str
    #: Why a value is None
    absent: dict[str, str]


class GpuLease(TypedDict):
    id: str
    user: str
    #: By `whirr reserve`, not by a command that runs
    reserved: bool
    #: Of settings, for people: `power limit 330 W`; null where it is a lease of the GPU
    changes: Optional[str]
    #: null: its end is open
    until: Optional[str]


class _Gpu(TypedDict, total=False):
    #: Only of what is no GPU
    kind: Literal["npu", "accelerator"]
    #: Of an instance: "1g.18gb"
    profile: str


class Gpu(_Gpu):
    """Everything known about a GPU."""
    index: int
    uuid: Optional[str]
    pci_address: Optional[str]
    #: Its maker, in lower case
    vendor: Optional[str]
    name: Optional[str]
    #: Who reads it
    source: Optional[str]
    simulated: bool
    state: Literal["ok", "asleep", "error", "lost"]
    #: The driver's words
    error_message: Optional[str]
    fan_state: str
    activity: Activity
    #: Who has it whole, by `whirr run` or `whirr reserve`, and the first lease that has changed settings of it; empty where there is neither
    leases: list[GpuLease]
    #: Share of time a kernel was running
    utilization_percent: Optional[float]
    #: Share of time memory was being read or written (bandwidth, not how full it is)
    memory_utilization_percent: Optional[float]
    #: Utilization times power draw as a share of the power limit, for GPUs without unit counters (sm_active_percent)
    effective_load_percent: Optional[float]
    #: Video encoder utilization
    encoder_percent: Optional[float]
    #: Video decoder utilization
    decoder_percent: Optional[float]
    #: JPEG decoder utilization
    jpeg_percent: Optional[float]
    #: Optical flow accelerator utilization
    ofa_percent: Optional[float]
    #: Share of time the graphics or compute engine was active
    graphics_active_percent: Optional[float]
    #: Share of time a multiprocessor had work, averaged over all of them
    sm_active_percent: Optional[float]
    #: Resident warps as a share of the maximum
    sm_occupancy_percent: Optional[float]
    #: Share of time in which a tensor core was active
    tensor_active_percent: Optional[float]
    #: Memory bandwidth used as a share of the peak
    dram_active_percent: Optional[float]
    #: Share of time in which an integer pipe was active
    integer_active_percent: Optional[float]
    #: Share of time in which an FP64 pipe was active
    fp64_active_percent: Optional[float]
    #: Share of time in which an FP32 pipe was active
    fp32_active_percent: Optional[float]
    #: Share of time in which an FP16 pipe was active
    fp16_active_percent: Optional[float]
    #: Memory of the GPU
    memory_total_mb: Optional[float]
    #: Memory in use by processes
    memory_used_mb: Optional[float]
    #: Memory that can still be allocated
    memory_free_mb: Optional[float]
    #: Memory reserved by the driver
    memory_reserved_mb: Optional[float]
    #: Size of the window through which the host sees GPU memory (BAR1)
    bar1_total_mb: Optional[float]
    #: Used part of that window
    bar1_used_mb: Optional[float]
    #: Memory protected for confidential computing
    protected_memory_total_mb: Optional[float]
    #: Protected memory in use
    protected_memory_used_mb: Optional[float]
    #: Host memory that the GPU may use
    gtt_total_mb: Optional[float]
    #: Host memory that the GPU uses
    gtt_used_mb: Optional[float]
    #: Temperature of the chip
    temperature_celsius: Optional[float]
    #: Temperature of the hottest spot on the chip
    temperature_hotspot_celsius: Optional[float]
    #: Temperature of the memory
    temperature_memory_celsius: Optional[float]
    #: Temperature at which the GPU starts throttling
    temperature_limit_celsius: Optional[float]
    #: Temperature at which the GPU shuts down
    temperature_shutdown_celsius: Optional[float]
    #: Maximum operating temperature
    temperature_max_operating_celsius: Optional[float]
    #: Maximum operating temperature of the memory
    temperature_memory_limit_celsius: Optional[float]
    #: Target temperature of the fan control
    temperature_target_celsius: Optional[float]
    #: Degrees left before the GPU throttles
    temperature_margin_celsius: Optional[float]
    #: Fan speed as a share of its maximum (the fastest fan)
    fan_percent: Optional[float]
    #: Fan speed (the fastest fan)
    fan_rpm: Optional[float]
    #: Fan speed requested by the GPU
    fan_target_percent: Optional[float]
    #: Fan speed requested by the GPU, in rpm
    fan_target_rpm: Optional[float]
    #: The fan stops while the GPU is cool (zero-rpm mode)
    fan_zero_rpm: Optional[bool]
    #: Temperature above which a fan in zero-rpm mode turns
    fan_zero_rpm_stop_celsius: Optional[float]
    #: Fans that the GPU controls; 0 on passive GPUs
    fan_count: Optional[float]
    #: Board power draw: of this instant where the driver knows it, else its average
    power_watts: Optional[float]
    #: Power draw that no visible process explains: idle power, hidden processes, unknown shares
    not_attributed_watts: Optional[float]
    #: Board power draw at this instant
    power_instant_watts: Optional[float]
    #: Board power draw as the driver averages it, over a second on most GPUs
    power_average_watts: Optional[float]
    #: Power draw of the memory
    power_memory_watts: Optional[float]
    #: Power draw of the module (GPU and CPU on one board)
    power_module_watts: Optional[float]
    #: Power limit of the module
    power_module_limit_watts: Optional[float]
    #: Power limit in force
    power_limit_watts: Optional[float]
    #: Requested power limit
    power_limit_requested_watts: Optional[float]
    #: Default power limit
    power_limit_default_watts: Optional[float]
    #: Lowest power limit that can be set
    power_limit_min_watts: Optional[float]
    #: Highest power limit that can be set
    power_limit_max_watts: Optional[float]
    #: Energy used since the driver was loaded
    energy_joules: Optional[float]
    #: Core voltage
    voltage_volts: Optional[float]
    #: Performance state, 0 is the fastest
    performance_state: Optional[str]
    #: Graphics (shader) clock
    clock_graphics_mhz: Optional[float]
    #: Multiprocessor clock
    clock_sm_mhz: Optional[float]
    #: Memory clock
    clock_memory_mhz: Optional[float]
    #: Video engine clock
    clock_video_mhz: Optional[float]
    #: Maximum graphics clock
    clock_graphics_max_mhz: Optional[float]
    #: Maximum multiprocessor clock
    clock_sm_max_mhz: Optional[float]
    #: Maximum memory clock
    clock_memory_max_mhz: Optional[float]
    #: Maximum video engine clock
    clock_video_max_mhz: Optional[float]
    #: Highest graphics clock that can be set
    clock_boost_max_mhz: Optional[float]
    #: Requested application graphics clock
    clock_application_graphics_mhz: Optional[float]
    #: Requested application memory clock
    clock_application_memory_mhz: Optional[float]
    #: Default application graphics clock
    clock_application_graphics_default_mhz: Optional[float]
    #: Default application memory clock
    clock_application_memory_default_mhz: Optional[float]
    #: Why the clocks are below what was requested
    throttle_reasons: Optional[list[str]]
    #: Time throttled by the power limit
    throttle_power_seconds: Optional[float]
    #: Time throttled by heat
    throttle_thermal_seconds: Optional[float]
    #: Time throttled to stay in sync with other GPUs
    throttle_sync_boost_seconds: Optional[float]
    #: Current PCIe generation of the link
    pcie_generation: Optional[float]
    #: Current PCIe lanes of the link
    pcie_width: Optional[float]
    #: Maximum PCIe generation of GPU and slot
    pcie_generation_max: Optional[float]
    #: Maximum PCIe lanes of GPU and slot
    pcie_width_max: Optional[float]
    #: Maximum PCIe generation of the GPU alone
    pcie_generation_card_max: Optional[float]
    #: PCIe traffic to the GPU
    pcie_rx_bytes_per_second: Optional[float]
    #: PCIe traffic from the GPU
    pcie_tx_bytes_per_second: Optional[float]
    #: PCIe packets that were resent (replays)
    pcie_replays: Optional[float]
    #: PCIe replay counter rollovers
    pcie_replay_rollovers: Optional[float]
    #: PCIe errors of the GPU that were corrected, as counted by the kernel (AER)
    pcie_corrected_errors: Optional[float]
    #: PCIe errors of the GPU that could not be corrected, as counted by the kernel (AER), without requests that a device did not support
    pcie_uncorrected_errors: Optional[float]
    #: NVLink traffic to the GPU, all links
    nvlink_rx_bytes_per_second: Optional[float]
    #: NVLink traffic from the GPU, all links
    nvlink_tx_bytes_per_second: Optional[float]
    #: NVLinks of the GPU
    nvlink_links: Optional[float]
    #: NVLinks that are up
    nvlink_links_active: Optional[float]
    #: Packets sent again, recoveries and CRC errors of all NVLinks
    nvlink_errors: Optional[float]
    #: The NVLink with most of them
    nvlink_worst_link: Optional[float]
    #: Packets that NVLinks sent again
    nvlink_replays: Optional[float]
    #: Recoveries of NVLinks
    nvlink_recoveries: Optional[float]
    #: CRC errors of flow control on NVLinks
    nvlink_crc_flit_errors: Optional[float]
    #: CRC errors of data on NVLinks
    nvlink_crc_data_errors: Optional[float]
    #: This vGPU has its license
    vgpu_licensed: Optional[bool]
    #: The chip-to-chip link to the CPU is on
    c2c_enabled: Optional[bool]
    #: The GPU has joined the NVLink fabric
    fabric_ready: Optional[bool]
    #: Clique of the NVLink fabric that the GPU belongs to
    fabric_clique: Optional[float]
    #: Error correction is on
    ecc_enabled: Optional[bool]
    #: Error correction will be on after the next reset
    ecc_enabled_pending: Optional[bool]
    #: Corrected memory errors since the driver was loaded
    ecc_corrected: Optional[float]
    #: Uncorrected memory errors since the driver was loaded
    ecc_uncorrected: Optional[float]
    #: Corrected memory errors over the GPU's lifetime
    ecc_corrected_lifetime: Optional[float]
    #: Uncorrected memory errors over the GPU's lifetime
    ecc_uncorrected_lifetime: Optional[float]
    #: Corrected errors in the main memory since the driver was loaded
    ecc_dram_corrected: Optional[float]
    #: Uncorrected errors in the main memory since the driver was loaded
    ecc_dram_uncorrected: Optional[float]
    #: Corrected errors in caches and registers since the driver was loaded
    ecc_sram_corrected: Optional[float]
    #: Parity errors in caches and registers since the driver was loaded
    ecc_sram_uncorrected_parity: Optional[float]
    #: Double-bit errors in caches and registers since the driver was loaded
    ecc_sram_uncorrected_secded: Optional[float]
    #: Corrected errors in the main memory over the GPU's lifetime
    ecc_dram_corrected_lifetime: Optional[float]
    #: Uncorrected errors in the main memory over the GPU's lifetime
    ecc_dram_uncorrected_lifetime: Optional[float]
    #: Corrected errors in caches and registers over the GPU's lifetime
    ecc_sram_corrected_lifetime: Optional[float]
    #: Parity errors in caches and registers over the GPU's lifetime
    ecc_sram_uncorrected_parity_lifetime: Optional[float]
    #: Double-bit errors in caches and registers over the GPU's lifetime
    ecc_sram_uncorrected_secded_lifetime: Optional[float]
    #: The GPU should be replaced because of errors in its caches and registers
    ecc_sram_threshold_exceeded: Optional[bool]
    #: Uncorrected errors in the L2 cache over the GPU's lifetime
    ecc_sram_uncorrected_l2_lifetime: Optional[float]
    #: Uncorrected errors in the multiprocessors over the GPU's lifetime
    ecc_sram_uncorrected_sm_lifetime: Optional[float]
    #: Uncorrected errors in the microcontrollers over the GPU's lifetime
    ecc_sram_uncorrected_mcu_lifetime: Optional[float]
    #: Uncorrected errors in the PCIe interface over the GPU's lifetime
    ecc_sram_uncorrected_pcie_lifetime: Optional[float]
    #: Uncorrected errors in other places over the GPU's lifetime
    ecc_sram_uncorrected_other_lifetime: Optional[float]
    #: A memory channel repair is pending until a reset
    channel_repair_pending: Optional[bool]
    #: A processing cluster repair is pending until a reset
    tpc_repair_pending: Optional[bool]
    #: Memory is broken beyond repair: the GPU should be replaced
    unrepairable_memory: Optional[bool]
    #: Memory pages retired for single-bit errors
    retired_pages_single_bit: Optional[float]
    #: Memory pages retired for double-bit errors
    retired_pages_double_bit: Optional[float]
    #: A page retirement is pending until a reboot
    retired_pages_pending: Optional[bool]
    #: Memory rows remapped for corrected errors
    remapped_rows_corrected: Optional[float]
    #: Memory rows remapped for uncorrected errors
    remapped_rows_uncorrected: Optional[float]
    #: A row remapping is pending until a reset
    remapped_rows_pending: Optional[bool]
    #: A row remapping failed: the GPU should be replaced
    remapped_rows_failed: Optional[bool]
    #: Memory banks with all spare rows left
    remap_banks_max: Optional[float]
    #: Memory banks with most spare rows left
    remap_banks_high: Optional[float]
    #: Memory banks with some spare rows left
    remap_banks_partial: Optional[float]
    #: Memory banks with few spare rows left
    remap_banks_low: Optional[float]
    #: Memory banks without spare rows
    remap_banks_none: Optional[float]
    #: Whole memory banks that are remapped
    bank_remap_active: Optional[float]
    #: Remapped memory banks that are not in use
    bank_remap_inactive: Optional[float]
    #: A remapping of a memory bank is pending until a reset
    bank_remap_pending: Optional[bool]
    #: Groups of memory with all spare banks left
    bank_remap_groups_max: Optional[float]
    #: Groups of memory without a spare bank
    bank_remap_groups_none: Optional[float]
    #: Recovery action that the driver asks for: none, reset, reboot, drain, drain-and-reset, recover-imex-domain, bus-reset, system-reboot
    recovery_action: Optional[str]
    #: Number of the last critical driver error (XID); absent if there was none
    xid_last: Optional[float]
    #: The driver stays loaded without clients
    persistence_mode: Optional[bool]
    #: Who may compute: default, exclusive, prohibited
    compute_mode: Optional[str]
    #: What the driver optimizes clocks for: adaptive, maximum-performance, auto, consistent-performance
    power_mizer: Optional[str]
    #: The GPU is divided into instances
    mig_enabled: Optional[bool]
    #: The GPU will be divided into instances after the next reset
    mig_enabled_pending: Optional[bool]
    #: The GPU is driving a display
    display_active: Optional[bool]
    #: Active video encoding sessions
    encoder_sessions: Optional[float]
    #: Frames encoded per second, mean of the sessions
    encoder_frames_per_second: Optional[float]
    #: Time to encode a frame, mean of the sessions
    encoder_latency_seconds: Optional[float]
    #: Active screen capture sessions
    capture_sessions: Optional[float]
    #: Frames captured per second, mean of the sessions
    capture_frames_per_second: Optional[float]
    #: Time to capture a frame, mean of the sessions
    capture_latency_seconds: Optional[float]
    #: Multiprocessors, compute units or execution units
    compute_units: Optional[float]
    #: The driver keeps statistics of ended processes
    accounting_mode: Optional[bool]
    #: The memory of the GPU is encrypted
    dram_encryption: Optional[bool]
    #: Several GPUs share the board
    multi_gpu_board: Optional[bool]
    #: Number of the device file (/dev/nvidia0)
    device_minor: Optional[float]
    #: Position on the baseboard
    module_id: Optional[float]
    #: MIG: the GPU instance it belongs to; instances with the same one share memory
    gpu_instance_id: Optional[float]
    #: Slot of the tray in its rack
    platform_slot: Optional[float]
    #: Number of the compute tray
    platform_tray: Optional[float]
    #: Number of the host in its tray
    platform_host: Optional[float]
    #: Kernel driver of the GPU
    driver: Optional[str]
    #: Version of that driver
    driver_version: Optional[str]
    #: Chip family
    architecture: Optional[str]
    #: Product line
    brand: Optional[str]
    #: Serial number
    serial: Optional[str]
    #: Firmware version
    vbios_version: Optional[str]
    #: Board part number
    part_number: Optional[str]
    #: CUDA compute capability, or the gfx target
    compute_capability: Optional[str]
    #: Version of the firmware on the GPU's own processor
    gsp_firmware: Optional[str]
    #: Board that the GPU sits on: equal for GPUs that share one
    board_id: Optional[str]
    #: Version of the GPU's own information image
    inforom_version: Optional[str]
    #: How the GPU reaches host memory: none, hmm or ats
    addressing_mode: Optional[str]
    #: Vendor and device number, "10de:2335"
    pci_device_id: Optional[str]
    #: Subsystem vendor and device number
    pci_subsystem_id: Optional[str]
    #: none, pass-through, vgpu, ...
    virtualization: Optional[str]
    #: "dedicated", or "shared" where the GPU uses host memory
    memory_kind: Optional[str]
    #: How utilization was measured where there are several ways
    utilization_basis: Optional[str]
    #: Whose fan it is where the GPU has none of its own
    fan_basis: Optional[str]
    #: Who controls the fan: "automatic" (the GPU's own curve), "manual" (a fixed setting), "firmware" (not the driver)
    fan_control: Optional[str]
    #: Whose sensor it is where the GPU has none of its own
    temperature_basis: Optional[str]
    #: null: they can't be seen
    processes: Optional[list[Process]]
    #: Beyond the limit of 1024
    processes_left_out: int
    #: Exist, but may not be seen
    processes_hidden: int
    #: MIG instances and partitions: the same keys, and `profile`
    instances: list[Gpu]
    #: Why a value is None
    absent: dict[str, str]


class Totals(TypedDict):
    """Of all GPUs, as far as they report it."""
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    power_watts: Optional[float]
    #: A process on several GPUs counts once
    process_count: Optional[int]
    #: Why a value is None
    absent: dict[str, str]


class Source(TypedDict):
    name: str
    state: Literal["off", "ok", "failing", "set aside", "hung", "released", "asleep"]
    gpu_count: int
    errors_total: int
    consecutive_errors: int
    init_failures_total: int
    #: Impossible readings
    implausible_total: int
    #: Why it is not ok, in the driver's words
    message: Optional[str]


class GpuEvent(TypedDict):
    kind: Literal["xid", "gpu_lost", "gpu_back", "ecc", "source", "other"]
    gpu_index: Optional[int]
    #: Of a driver fault: the driver's number for it
    code: int
    text: str
    timestamp: Optional[str]


class Resources(TypedDict):
    """The host and its best GPU in one flat object."""
    #: null until a second sample
    cpu_percent: Optional[float]
    available_memory_gb: Optional[float]
    memory_total_gb: Optional[float]
    cpu_count: Optional[float]
    load_average_1m: Optional[float]
    swap_total_gb: Optional[float]
    swap_used_gb: Optional[float]
    network_rx_bytes_per_second: Optional[float]
    network_tx_bytes_per_second: Optional[float]
    disk_read_bytes_per_second: Optional[float]
    disk_write_bytes_per_second: Optional[float]
    #: Of the busiest disk
    disk_busy_percent: Optional[float]
    #: Of the busiest core
    cpu_core_max_percent: Optional[float]
    cpu_temperature_c: Optional[float]
    cpu_pressure_percent: Optional[float]
    memory_pressure_percent: Optional[float]
    io_pressure_percent: Optional[float]
    memory_percent: Optional[float]
    #: Free VRAM of the best GPU, 0.0 without one or where its driver does not say
    gpu_vram_gb: float
    gpu_available: bool
    gpu_name: Optional[str]
    gpu_total_vram_gb: Optional[float]
    gpu_used_vram_gb: Optional[float]
    gpu_free_vram_gb: Optional[float]
    #: dedicated, or shared: then it is the host's memory
    gpu_memory_kind: Optional[str]
    gpu_utilization_percent: Optional[float]
    gpu_temperature_c: Optional[float]
    gpu_source: Optional[str]
    gpu_count: int
    gpu_simulated: bool


class Machine(TypedDict):
    """The host itself: every reading that it has."""
    #: CPU utilization over all cores
    cpu_percent: Optional[float]
    #: CPU utilization of the busiest core: at 100%, one thread can't go faster
    cpu_core_max_percent: Optional[float]
    #: CPU time spent waiting for disks
    cpu_iowait_percent: Optional[float]
    #: CPU time taken by the hypervisor for others
    cpu_steal_percent: Optional[float]
    #: Online cores
    cpu_count: Optional[float]
    #: Temperature of the hottest CPU package
    cpu_temperature_celsius: Optional[float]
    #: Temperature of the air around the host, where a sensor is labeled ambient, inlet or intake
    ambient_temperature_celsius: Optional[float]
    #: Load average of the last minute
    load_average_1m: Optional[float]
    #: Power draw of the whole host, from a sensor of the board, the power supply or the platform
    power_watts: Optional[float]
    #: Power draw of the CPU packages and their memory (RAPL)
    cpu_power_watts: Optional[float]
    #: Memory of the host
    memory_total_mb: Optional[float]
    #: Memory available to programs without swapping
    memory_available_mb: Optional[float]
    #: Share of memory in use
    memory_percent: Optional[float]
    #: Swap space
    swap_total_mb: Optional[float]
    #: Swap space in use
    swap_used_mb: Optional[float]
    #: Pages read back from swap
    swap_in_pages_per_second: Optional[float]
    #: Pages written to swap
    swap_out_pages_per_second: Optional[float]
    #: Bytes received, all network interfaces together, without loopback
    network_rx_bytes_per_second: Optional[float]
    #: Bytes sent, all network interfaces together, without loopback
    network_tx_bytes_per_second: Optional[float]
    #: Bytes read, all disks together
    disk_read_bytes_per_second: Optional[float]
    #: Bytes written, all disks together
    disk_write_bytes_per_second: Optional[float]
    #: Share of time the busiest disk was busy
    disk_busy_percent: Optional[float]
    #: Share of the last 10 s in which some task was waiting for a CPU
    cpu_pressure_percent: Optional[float]
    #: Share of the last 10 s in which some task was waiting for memory
    memory_pressure_percent: Optional[float]
    #: Share of the last 10 s in which every task was waiting for memory
    memory_stall_percent: Optional[float]
    #: Share of the last 10 s in which some task was waiting for a disk
    io_pressure_percent: Optional[float]
    #: Share of the last 10 s in which every task was waiting for a disk
    io_stall_percent: Optional[float]
    #: The host has mains power supplies, and none of them is connected
    on_battery: Optional[float]
    #: A governor holds the CPU at its lowest clocks (powersave of acpi-cpufreq and its like)
    cpu_clocks_held_low: Optional[float]
    #: InfiniBand ports with a link
    infiniband_ports_up: Optional[float]
    #: InfiniBand ports that had a link and have none, until they are forgotten (whirr forget)
    infiniband_ports_lost: Optional[float]
    #: InfiniBand ports with a rate below that of other ports of the same model, or below their own of before
    infiniband_ports_slow: Optional[float]
    #: Links that InfiniBand ports have lost, also those that came back; 0 after an hour without
    infiniband_link_losses: Optional[float]
    #: Packets that RDMA ports sent again: lost, not answered in time, or not awaited
    rdma_retries_per_second: Optional[float]
    #: Congestion notices (CNPs) that RDMA ports sent or obeyed
    rdma_congestion_notices_per_second: Optional[float]
    #: Packets that came to RDMA ports out of order
    rdma_out_of_order_per_second: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class Metrics(TypedDict):
    """Everything known about all GPUs."""
    timestamp: str
    host: Optional[str]
    #: Those in use
    sources: list[str]
    gpus: list[Gpu]
    #: NPUs and accelerators, with a `kind`; in no sum of GPUs
    accelerators: list[Gpu]
    totals: Totals
    driver: Driver
    source_status: list[Source]
    #: What happened to the GPUs since the last sample
    events: list[GpuEvent]
    #: Of the first finding; null: not judged
    severity: Optional[Literal["info", "notice", "warning", "critical"]]
    #: The most important first
    findings: list[Finding]
    resources: Resources
    machine: Machine


class Notifier(TypedDict):
    #: Of the table [notify.NAME]
    name: str
    type: Literal["webhook", "slack", "discord", "ntfy", "alertmanager", "command", "email", "telegram", "gotify", "pushover", "matrix", "desktop", "mqtt"]
    target: str
    state: Literal["idle", "waiting", "sending", "retrying"]
    #: Notices that wait
    queued: int
    #: Notices that arrived
    sent_total: int
    #: Notices that were given up
    failed_total: int
    #: Messages, with and without success
    attempts_total: int
    #: Messages that did not arrive
    errors_total: int
    #: Notices that wait for the end of quiet hours or for a digest
    held: int
    #: When the first of them is sent
    held_until: Optional[str]
    #: Quiet hours, as they are set: `22:00-07:00 info,warning`
    quiet: list[str]
    #: Times of digests, as they are set: `08:00`
    digest: list[str]
    last_sent_at: Optional[str]
    next_try_at: Optional[str]
    #: null: the last message arrived
    last_error: Optional[str]


class Notifiers(TypedDict):
    notifiers: list[Notifier]


class PastEvent(TypedDict):
    """Something that happened."""
    id: int
    at: str
    host: str
    gpu_index: Optional[int]
    kind: str
    severity: str
    code: Optional[int]
    text: Optional[str]
    #: More, depending on the kind; null: nothing
    data: Any


class PastEvents(TypedDict):
    """What happened."""
    #: null: from the beginning
    since: Optional[str]
    until: str
    events: list[PastEvent]
    count: int
    #: null on the last page
    next_cursor: Optional[str]
    #: Whether a GPU of that time was a simulated one
    simulated: bool


class LimitStretch(TypedDict):
    """Consecutive minutes in which the same thing limited a process."""
    life: int
    host: str
    gpu_index: int
    since: str
    until: str
    code: Literal["compute", "compute_no_tensor", "memory_bandwidth", "power", "heat", "clocks", "video", "pcie_in", "pcie_out", "nvlink", "spill", "launch", "compile", "host_cpu", "cpu_work", "partly_on_cpu", "allocation", "loaders", "cpu_quota", "disk", "network_fs", "memory_pressure", "numa", "kernel_wait", "straggler_wait", "peer", "other_programs", "no_requests", "none", "cannot_tell"]
    #: Behind "limited by"
    words: str
    #: What the process does meanwhile
    doing: str
    side: Literal["none", "gpu", "link", "host", "others"]


class PastLimits(TypedDict):
    """What limited processes, and when."""
    #: null: from the beginning
    since: Optional[str]
    until: str
    stretches: list[LimitStretch]
    count: int
    #: False: there are more than `limit`; ask for a shorter time
    complete: bool


class ProcessLifeLimits(TypedDict):
    code: Literal["compute", "compute_no_tensor", "memory_bandwidth", "power", "heat", "clocks", "video", "pcie_in", "pcie_out", "nvlink", "spill", "launch", "compile", "host_cpu", "cpu_work", "partly_on_cpu", "allocation", "loaders", "cpu_quota", "disk", "network_fs", "memory_pressure", "numa", "kernel_wait", "straggler_wait", "peer", "other_programs", "no_requests", "none", "cannot_tell"]
    words: str
    #: Of its minutes that were judged
    share_percent: float


class ProcessLife(TypedDict):
    """One life of a process on a GPU."""
    #: Number of this life of a process on a GPU
    life: int
    host: str
    gpu_index: int
    gpu_uuid: Optional[str]
    pid: int
    name: Optional[str]
    user: Optional[str]
    #: Masked
    command: Optional[str]
    container: Optional[str]
    model: Optional[str]
    type: Optional[Literal["compute", "graphics", "both"]]
    started_at: Optional[str]
    first_seen: str
    last_seen: str
    ended: bool
    memory_peak_mb: Optional[float]
    memory_mean_mb: Optional[float]
    utilization_mean_percent: Optional[float]
    energy_joules: float
    #: The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet
    parked_joules: Optional[float]
    #: As in Process
    short_name: Optional[str]
    #: It held memory for half an hour or more and did nothing
    held_idle: bool
    simulated: bool
    #: What limited it in that time, the longest first; null where sums are of whole lives
    limits: Optional[list[ProcessLifeLimits]]


class ProcessHistoryNotAttributed(TypedDict):
    host: str
    gpu_index: int
    gpu_uuid: Optional[str]
    energy_joules: float


class ProcessHistory(TypedDict):
    """Who used the GPUs."""
    #: null: from the beginning
    since: Optional[str]
    until: str
    sums_of: str
    processes: list[ProcessLife]
    #: Per GPU, the energy of that time that no visible process explains. Empty when only some processes were asked for, or sums are of whole lives
    not_attributed: list[ProcessHistoryNotAttributed]
    count: int
    #: null on the last page
    next_cursor: Optional[str]
    #: Whether a GPU of that time was a simulated one
    simulated: bool


class PlacementEvictions(TypedDict):
    worker: str
    gpu_index: int
    memory_mb: float


class PlacementPlacementsGpus(TypedDict):
    gpu_index: int
    #: Number of a MIG instance; null: the whole GPU
    instance: Optional[int]
    uuid: Optional[str]
    name: Optional[str]
    simulated: bool
    memory_mb: float
    available_mb: Optional[float]
    layers: Optional[int]
    #: Why a value is None
    absent: dict[str, str]


class PlacementPlacements(TypedDict):
    gpus: list[PlacementPlacementsGpus]
    #: Environment of a program that is to use these GPUs
    env: dict[str, str]


class PlacementModel(TypedDict):
    path: str
    format: str
    architecture: Optional[str]
    name: Optional[str]
    tensor_count: int
    #: The longest that it was made for
    context_length: Optional[int]
    layers: int
    #: On the GPUs
    weights_mb: float
    #: What stays in host memory
    host_memory_mb: float
    #: Tokens that were counted with
    context: int
    #: null: the files do not say enough
    cache_mb: Optional[float]
    compute_mb_per_gpu: Optional[float]
    overhead_mb_per_gpu: float
    #: false: the sizes are a lower bound
    complete: bool
    #: What was assumed or is missing
    notes: Optional[str]
    cache_type: Optional[str]


class Placement(TypedDict):
    #: null: unknown, because the driver doesn't report enough
    fits: Optional[bool]
    #: Without an eviction
    fits_now: Optional[bool]
    #: Indexes of the GPUs to use
    gpus: list[int]
    reason: str
    #: 0 when it fits
    missing_mb: Optional[float]
    #: Workers of the guard that would have to go first
    would_evict: list[str]
    evictions: list[PlacementEvictions]
    #: Of one copy, with what each GPU needs besides
    size_mb: float
    size_bytes: int
    count: int
    #: One a copy
    placements: list[PlacementPlacements]
    #: Only with `whirr fit FILE`
    model: Optional[PlacementModel]


class ProcessesNotListed(TypedDict):
    gpu_index: int
    reason: str
    message: Optional[str]


class ProcessesNotAttributed(TypedDict):
    gpu_index: int
    power_watts: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class Processes(TypedDict):
    #: Empty with a reason in `absent` where the processes of no GPU could be looked at
    processes: list[ProcessOnGpu]
    #: GPUs whose processes could not be looked at
    not_listed: list[ProcessesNotListed]
    #: Why the list is empty or not whole: nothing runs, no GPU, no driver, no permission, memory that no visible process holds; null where it is whole and has rows
    answer: Optional[str]
    #: Per GPU, the power that no visible process explains: idle power, hidden processes, unknown shares. Empty when only some processes were asked for
    not_attributed: list[ProcessesNotAttributed]
    count: int
    #: Exist, but may not be seen
    hidden: int
    timestamp: Optional[str]
    #: Why a value is None
    absent: dict[str, str]


class ProcessThen(TypedDict):
    """A process on a GPU at a moment of the past; means of its minute."""
    gpu_index: int
    pid: int
    name: Optional[str]
    #: As in Process
    short_name: Optional[str]
    user: Optional[str]
    container: Optional[str]
    #: Masked
    command: Optional[str]
    memory_mb: Optional[float]
    utilization_percent: Optional[float]


class HistoryGap(TypedDict):
    """A time in which nothing was stored."""
    #: The last sample before; null: none
    since: Optional[str]
    #: The first sample after; null: none
    until: Optional[str]
    #: The daemon was started at the end of it
    not_running: bool
    text: str


class WhyThen(TypedDict):
    """What an explanation of a moment of the past has beside that of now."""
    at: str
    #: Whose
    host: Optional[str]
    #: What is left of that time
    detail: Optional[Literal["samples", "minutes", "hours"]]
    #: What the answer lacks
    note: Optional[str]
    #: Who was on the GPUs
    processes: list[ProcessThen]
    #: Why nothing is known; null: something is
    gap: Optional[HistoryGap]


class RemedyExpected(TypedDict):
    #: By how much it changes
    fan_percent: Optional[float]
    power_watts: Optional[float]
    temperature_celsius: Optional[float]
    clock_graphics_mhz: Optional[float]
    tokens_per_second: Optional[float]
    #: own_history: a step of this GPU; siblings: of another GPU of its model
    source: Literal["own_history", "siblings"]
    #: When that step was measured
    seen_at: Optional[str]


class Remedy(TypedDict):
    #: For `whirr do`
    number: int
    code: str
    #: Code of the finding that it is about
    root: str
    #: setting, env, server_api, hint or physical; `whirr do` makes settings
    kind: str
    #: A sentence
    text: str
    #: To paste
    command: Optional[str]
    #: Who may: control (root, or through whirr-control), owner of the program, administrator, anyone
    who: str
    #: Programs on the GPU that notice it
    affects: list[str]
    #: From measured steps; null: not known
    expected: Optional[RemedyExpected]
    cost: Optional[str]
    #: How it is taken back
    undo: Optional[str]


class ReportEnergy(TypedDict):
    """Energy and where it comes from."""
    #: That are stored
    hours: float
    #: With more than idle load
    busy_hours: float
    energy_joules: int
    energy_kwh: float
    #: The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet
    parked_kwh: Optional[float]
    cost: Optional[float]
    #: By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time
    co2_grams: Optional[float]
    #: From the GPU's own counter
    counter_joules: int
    #: From power readings over time
    integrated_joules: int
    #: Given to processes
    attributed_joules: int
    #: Not explained by any visible process
    not_attributed_joules: int
    #: Old name of not_attributed_joules
    unattributed_joules: int
    energy_from: Optional[str]


class ReportGpu(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    gpu_uuid: Optional[str]
    #: Mean
    utilization_percent: Optional[float]
    temperature_max_celsius: Optional[float]
    #: That are stored
    hours: float
    #: With more than idle load
    busy_hours: float
    energy_joules: int
    energy_kwh: float
    #: The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet
    parked_kwh: Optional[float]
    cost: Optional[float]
    #: By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time
    co2_grams: Optional[float]
    #: From the GPU's own counter
    counter_joules: int
    #: From power readings over time
    integrated_joules: int
    #: Given to processes
    attributed_joules: int
    #: Not explained by any visible process
    not_attributed_joules: int
    #: Old name of not_attributed_joules
    unattributed_joules: int
    energy_from: Optional[str]


class ReportRow(TypedDict):
    """What a user, container or command used."""
    kind: str
    #: User, container or command; null: none, or not known
    name: Optional[str]
    #: On GPUs; several processes on one GPU at once count once
    hours: Optional[float]
    busy_hours: Optional[float]
    memory_gib_hours: Optional[float]
    #: Held without computing
    idle_gib_hours: Optional[float]
    #: Of one process
    memory_peak_mb: Optional[int]
    processes: Optional[int]
    energy_joules: int
    energy_kwh: float
    #: The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet
    parked_kwh: Optional[float]
    cost: Optional[float]
    #: By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time
    co2_grams: Optional[float]
    #: Of the GPUs' energy
    share_percent: float


class ReportModel(TypedDict):
    kind: str
    #: User, container or command; null: none, or not known
    name: Optional[str]
    #: On GPUs; several processes on one GPU at once count once
    hours: Optional[float]
    busy_hours: Optional[float]
    memory_gib_hours: Optional[float]
    #: Held without computing
    idle_gib_hours: Optional[float]
    #: Of one process
    memory_peak_mb: Optional[int]
    processes: Optional[int]
    energy_joules: int
    energy_kwh: float
    #: The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet
    parked_kwh: Optional[float]
    cost: Optional[float]
    #: By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time
    co2_grams: Optional[float]
    #: Of the GPUs' energy
    share_percent: float
    #: What its servers generated, by their own counters; null: they did not say
    generated_tokens: Optional[int]
    #: Tokens of prompts that its servers read
    prompt_tokens: Optional[int]
    #: Generated tokens over the energy of its processes while these were counted
    tokens_per_joule: Optional[float]
    #: Tokens of prompts over the same energy, which is that of both
    prompt_tokens_per_joule: Optional[float]
    #: The same energy for a thousand generated tokens
    joules_per_thousand_tokens: Optional[float]
    #: That its servers answered, by their own counters
    requests: Optional[int]
    #: The same energy for one of these
    joules_per_request: Optional[float]
    #: Energy for a million generated tokens at the price per kWh
    cost_per_million_tokens: Optional[float]


class ReportLimit(TypedDict):
    kind: str
    #: User, container or command; null: none, or not known
    name: Optional[str]
    #: On GPUs; several processes on one GPU at once count once
    hours: Optional[float]
    busy_hours: Optional[float]
    memory_gib_hours: Optional[float]
    #: Held without computing
    idle_gib_hours: Optional[float]
    #: Of one process
    memory_peak_mb: Optional[int]
    processes: Optional[int]
    energy_joules: int
    energy_kwh: float
    #: The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet
    parked_kwh: Optional[float]
    cost: Optional[float]
    #: By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time
    co2_grams: Optional[float]
    #: Of the GPUs' energy
    share_percent: float
    #: In plain words, behind "limited by"
    words: Optional[str]
    #: Where the limit lies
    side: Optional[str]


class ReportIdleMemory(TypedDict):
    gpu_index: int
    pid: int
    name: Optional[str]
    #: As in Process
    short_name: Optional[str]
    user: Optional[str]
    container: Optional[str]
    #: Masked
    command: Optional[str]
    hours: float
    gib_hours: float
    #: What the GPU drew meanwhile, while no process computed on it: its idle power for so long, shared by memory with others who held some; null: power is not known
    energy_kwh: Optional[float]
    cost: Optional[float]
    since: str
    until: str


class ReportHotSpells(TypedDict):
    gpu_index: int
    since: str
    until: str
    duration_seconds: float
    #: 60, or 3600 where only hours are kept: then it was hot at some time within the span, which is the most it can have lasted
    resolution_seconds: float
    temperature_max_celsius: float
    #: Part of it in which the GPU was throttling, by heat or by power
    slowed_percent: float
    #: That was given most of the energy
    process: Optional[str]
    user: Optional[str]


class ReportFindings(TypedDict):
    code: str
    #: null: about the host
    gpu_index: Optional[int]
    #: At its worst
    severity: Literal["info", "notice", "warning", "critical"]
    #: At its worst
    headline: str
    times: int
    #: Of all of them together
    duration_seconds: float
    since: str
    until: str


class ReportLeases(TypedDict):
    user: str
    leases: int
    #: Of them not ended yet
    open: int
    hours: float
    used_hours: float


class Report(TypedDict):
    """Who used the GPUs, for how long, with how much energy, and what it cost."""
    #: null: from the beginning of a history that has none
    since: Optional[str]
    until: str
    host: Optional[str]
    answer: str
    simulated: bool
    price_per_kwh: Optional[float]
    hot_celsius: float
    currency: Optional[str]
    totals: ReportEnergy
    gpus: list[ReportGpu]
    users: list[ReportRow]
    containers: list[ReportRow]
    #: By pod of Kubernetes, NAMESPACE/POD; a name of null: none
    pods: list[ReportRow]
    #: By Slurm job; a name of null: none
    jobs: list[ReportRow]
    commands: list[ReportRow]
    #: By the model that a process's command line names; a name of null: none
    models: list[ReportModel]
    #: By what limited the processes: each minute of a process counts for the limit that held the longest in it; a name of null: not judged
    limits: list[ReportLimit]
    #: Who held memory without computing, most first
    idle_memory: list[ReportIdleMemory]
    #: The longest first
    hot_spells: list[ReportHotSpells]
    #: What was found in the time, from notice on: once for each kind on each GPU, the worst first
    findings: list[ReportFindings]
    #: GPUs that users held by leases, most hours first. Hours are those of GPUs; `used_hours`: programs ran under them, of those that have ended
    leases: list[ReportLeases]
    #: What processes used before that is not kept any more
    processes_from: Optional[str]
    missing_seconds: float
    gaps: list[HistoryGap]


class Cause(TypedDict):
    code: str
    text: str
    confidence: float
    #: The same in words
    likelihood: str
    evidence: list[str]
    pid: Optional[int]
    process: Optional[str]


class WhyPart(TypedDict):
    answer: str
    severity: Literal["info", "notice", "warning", "critical"]
    #: Most likely first
    causes: list[Cause]
    #: What can be done about the roots, the most useful first
    remedies: list[Remedy]
    #: The sentences of the remedies, in their order
    suggestions: list[str]


class Episode(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    since: str
    until: str
    #: All times together
    duration_seconds: float
    #: How often it came; over days, the same work repeated is one episode
    times: int
    explained_at: str
    pid: Optional[int]
    process: Optional[str]
    user: Optional[str]
    container: Optional[str]
    #: Mean
    utilization_percent: Optional[float]
    temperature_max_celsius: Optional[float]
    #: Mean
    power_watts: Optional[float]
    #: A sentence: what ended it; null where that is not known
    ended_by: Optional[str]
    #: How much it matters; larger is more
    weight: float
    answer: str
    severity: Literal["info", "notice", "warning", "critical"]
    #: Most likely first
    causes: list[Cause]
    #: What can be done about the roots, the most useful first
    remedies: list[Remedy]
    #: The sentences of the remedies, in their order
    suggestions: list[str]


class PastChange(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    since: str
    what: Literal["driver", "firmware", "kernel", "bios", "slot", "lanes", "generation", "display", "power_limit", "persistence", "clock", "memory_clock"]
    before: str
    after: str
    #: In words
    text: str


class WhySpan(TypedDict):
    """What happened in a time, by episodes."""
    #: null: from the beginning of a history that has none
    since: Optional[str]
    until: str
    host: Optional[str]
    simulated: bool
    answer: str
    note: Optional[str]
    gpu_count: int
    #: How finely it was looked at
    step_seconds: float
    #: What is worth explaining, the most important first
    episodes: list[Episode]
    episodes_left_out: int
    missing_seconds: float
    gaps: list[HistoryGap]
    #: What was changed on GPUs in that time, oldest first
    changes: list[PastChange]


class _StatsRow(TypedDict, total=False):
    #: Of a stored row
    host: str


class StatsRow(_StatsRow):
    """The row that is served, broadcast and stored."""
    gpu_index: int
    gpu_name: str
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    gpu_utilization_percent: Optional[float]
    memory_utilization_percent: Optional[float]
    gpu_uuid: Optional[str]
    simulated: bool
    recorded_at: str
    #: Why a value is None
    absent: dict[str, str]


class Stats(TypedDict):
    """The latest row of each GPU."""
    gpus: list[StatsRow]
    count: int


class StatsHistory(TypedDict):
    """Stored rows, oldest first."""
    rows: list[StatsRow]
    #: Rows of this page
    count: int
    #: null on the last page
    next_cursor: Optional[str]


class TopProcess(TypedDict):
    pid: int
    name: Optional[str]
    #: As in Process
    short_name: str
    user: Optional[str]
    memory_mb: Optional[float]
    utilization_percent: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class GpuSummary(TypedDict):
    index: int
    name: Optional[str]
    vendor: Optional[str]
    state: Literal["ok", "asleep", "error", "lost"]
    error_message: Optional[str]
    simulated: bool
    activity: Activity
    utilization_percent: Optional[float]
    memory_used_mb: Optional[float]
    memory_total_mb: Optional[float]
    temperature_celsius: Optional[float]
    fan_percent: Optional[float]
    power_watts: Optional[float]
    power_limit_watts: Optional[float]
    #: The most important; null: nothing is known
    finding: Optional[Finding]
    process_count: Optional[int]
    #: The process that explains the load best
    top_process: Optional[TopProcess]
    #: Why a value is None
    absent: dict[str, str]


class Summary(TypedDict):
    timestamp: str
    host: Optional[str]
    #: Those in use
    sources: list[str]
    gpu_count: int
    available: bool
    #: Why the fan runs, in a sentence
    answer: Optional[str]
    #: Of the answer
    severity: Optional[Literal["info", "notice", "warning", "critical"]]
    #: The most important; null: nothing is known
    finding: Optional[Finding]
    totals: Totals
    gpus: list[GpuSummary]


class WidgetGpu(TypedDict):
    gpu_index: int
    gpu_name: Optional[str]
    #: critical: a GPU is lost or cannot be read; warning: one is thermal throttling
    state: Literal["no GPU", "ok", "warning", "critical"]
    #: Utilization, temperature and power, for people
    text: str
    utilization_percent: Optional[float]
    memory_used_percent: Optional[float]
    memory_used_gib: Optional[float]
    memory_total_gib: Optional[float]
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    fan_percent: Optional[float]
    #: Why a value is None
    absent: dict[str, str]


class Widget(TypedDict):
    host: Optional[str]
    answer: Optional[str]
    gpu_count: int
    #: critical: a GPU is lost or cannot be read; warning: one is thermal throttling
    state: Literal["no GPU", "ok", "warning", "critical"]
    #: Utilization, temperature and power, for people
    text: str
    utilization_percent: Optional[float]
    memory_used_percent: Optional[float]
    memory_used_gib: Optional[float]
    memory_total_gib: Optional[float]
    temperature_celsius: Optional[float]
    power_watts: Optional[float]
    fan_percent: Optional[float]
    gpus: list[WidgetGpu]
    #: Why a value is None
    absent: dict[str, str]


class ErrorError(TypedDict):
    #: A word for programs
    code: str
    #: A sentence for people
    message: str


class Error(TypedDict):
    """Every answer from 400 on."""
    error: ErrorError


class HighUsage(TypedDict):
    gpu_index: int
    gpu_name: str
    utilization_percent: Optional[float]
    limit_percent: float
    #: Up to 5, the busiest first
    processes: list[Process]
    timestamp: str
    #: Why a value is None
    absent: dict[str, str]


class LiveStatus(TypedDict):
    connected: bool
    #: Those in use
    sources: list[str]
    interval_seconds: float
    devices: list[Device]
    summary: Summary


class ScrapeTargetLabels(TypedDict):
    host: str
    __scheme__: str


class ScrapeTarget(TypedDict):
    targets: list[str]
    labels: ScrapeTargetLabels


class Remedies(TypedDict):
    #: The newest first
    doings: list[RemedyDoing]
    hits: list[RemedyHits]
    #: The newest first
    effects: list[Effect]


class Session(TypedDict):
    """What a client may do."""
    #: Whether requests that change something are accepted
    may_act: bool
    #: Whether the cookie of a session is why; /logout ends it
    signed_in: bool
    #: Of read, commands, silence, guard, control and admin; several with commas
    roles: str


class Released(TypedDict):
    #: False with 202: a call into the driver has not come back yet
    released: bool
    for_seconds: float
    until: Optional[str]


class Silenced(TypedDict):
    silence: Silence


class Unsilenced(TypedDict):
    removed: str


class Forgotten(TypedDict):
    gpu: Optional[InventoryGpu]
    part: Optional[InventoryPart]


class SettingLease(TypedDict):
    #: It puts the old value back
    lease: Lease


class StoreHealth(TypedDict):
    state: str
    kind: Optional[str]
    #: The file, or the server without its password
    place: Optional[str]
    #: Where the history was kept before `store.url` was changed: it is still there, and nothing was copied
    previous_place: Optional[str]
    queued_rows: int
    message: Optional[str]
    #: Damage was found in the SQLite file, which is looked through once at each start, for at most a minute; `message` says what to do
    damaged: bool
    written_total: int
    lost_total: int
    #: How the clock stands to the time that the history has seen pass; unless trusted, nothing is deleted by it
    clock: str
    clock_offset_seconds: int
    #: How much longer it has to stay this way to be trusted
    clock_wait_seconds: int
    cleanup_failures_total: int
    used_bytes: Optional[int]


class PushTarget(TypedDict):
    name: str
    #: refused: the last request was refused for good, and its samples are lost
    state: str
    samples_sent: int
    samples_refused: int
    samples_lost: int
    samples_waiting: int
    queue_bytes: int
    last_sent_at: Optional[str]
    #: This host's clock against the receiver's, from the date of its answers; null: they have none
    clock_ahead_seconds: Optional[float]
    message: Optional[str]


class PushHealth(TypedDict):
    """Databases that metrics are sent to."""
    state: str
    targets: list[PushTarget]


class SettingsHealth(TypedDict):
    #: old: the last reload found mistakes, and the settings before it are in force
    state: str
    #: The first mistake
    message: Optional[str]


class HealthGpuMonitoring(TypedDict):
    available: bool
    sources: list[Source]
    samples_total: int
    #: null: there was none yet
    last_sample_at: Optional[str]
    sample_age_seconds: Optional[float]


class HealthServer(TypedDict):
    connections: int
    requests_total: int


class Health(TypedDict):
    """The service itself; a host without a GPU is ok."""
    #: 503 with `error`
    status: Literal["ok", "degraded", "error"]
    version: str
    uptime_seconds: float
    gpu_monitoring: HealthGpuMonitoring
    server: HealthServer
    store: StoreHealth
    guard: GuardHealth
    push: PushHealth
    settings: SettingsHealth


class Setting(TypedDict):
    key: str
    #: A number, a text, a list or a table
    value: Any
    origin: Literal["default", "profile", "file", "environment", "flag"]
    #: The file, the variable or the option
    where: Optional[str]
    line: Optional[int]
    #: Whether a change takes effect at the next start only
    needs_restart: bool


class Settings(TypedDict):
    #: Configuration files that were read
    files: list[str]
    settings: list[Setting]


class Undo(TypedDict):
    #: For `whirr undo ID` and POST /api/undo
    id: str
    #: How it was changed
    door: str
    what: str
    #: What it will be again
    before: Optional[str]
    now: Optional[str]
    #: Who changed it, or why
    by: Optional[str]
    since: Optional[str]
    #: null: until it is undone
    until: Optional[str]
    #: The command for this alone
    how: str
    #: After POST /api/undo: what became of it
    state: Optional[Literal["undone", "under_way", "refused", "dry_run"]]
    #: Why it was refused
    why_not: Optional[str]


class Changes(TypedDict):
    #: Newest first
    changes: list[Undo]


class Brief(TypedDict):
    #: Something a person notices: lost, throttling for heat, loud, hot, a fan
    trouble: bool
    #: With trouble, what is wrong
    headline: Optional[str]
    state: Optional[str]
    numbers: Optional[str]
    doing: Optional[str]


class IdleFinding(TypedDict):
    code: Literal["display", "memory_clock", "context", "model", "browser", "video_decode", "monitor", "open_device", "aspm", "runtime_pm", "persistence"]
    text: str
    pid: Optional[int]
    #: What it adds to the idle power, as measured in the history; null: not measured
    watts: Optional[float]


class IdleAudit(TypedDict):
    answer: str
    keeps_from_idling: list[IdleFinding]
    #: Worth knowing
    also: list[IdleFinding]
    #: Looked at and not so
    ruled_out: list[Literal["display", "memory_clock", "context", "model", "browser", "video_decode", "monitor", "open_device", "aspm", "runtime_pm", "persistence"]]
    #: Beyond what is usual when idle
    excess_watts: Optional[float]
    #: Processes that could not be looked at
    hidden_processes: int
    suggestions: list[str]


class WhyGpuLimits(TypedDict):
    pid: int
    process: str
    limit: Limit


class WhyGpu(TypedDict):
    gpu_index: int
    activity: Activity
    #: The same in one line of a list, in parts: state, numbers: doing
    brief: Brief
    answer: str
    severity: Literal["info", "notice", "warning", "critical"]
    #: Most likely first
    causes: list[Cause]
    #: What can be done about the roots, the most useful first
    remedies: list[Remedy]
    #: The sentences of the remedies, in their order
    suggestions: list[str]
    usual: Optional[Usual]
    #: null: not asked for
    idle: Optional[IdleAudit]
    #: Settings that are others than before the host was suspended, for a day after the resume; null: none
    after_resume: Optional[str]
    gpu_name: Optional[str]
    #: What limits the processes on it
    limits: list[WhyGpuLimits]
    #: The most important first
    findings: list[Finding]
    #: The areas that the judgement rests on
    looked: list[Literal["errors", "fan", "heat", "power", "clocks", "link", "memory", "work", "idle", "trust", "host", "limit"]]
    #: What could not be looked at, the kernel log included
    not_looked: Optional[str]


class WhyNow(TypedDict):
    """Why the fan is running, why the GPU is hot or slow."""
    #: The sentence
    answer: str
    severity: Literal["info", "notice", "warning", "critical"]
    #: Which GPU the sentence is about first; null: the host
    gpu_index: Optional[int]
    #: What may be said where nothing was found: that nothing is unusual only where all was looked at; null where something was found, and without a GPU
    calm: Optional[str]
    #: Of the sample that was explained; null: nothing was stored then
    timestamp: Optional[str]
    simulated: bool
    gpus: list[WhyGpu]
    #: The most important first
    findings: list[Finding]
    machine: WhyPart
