// SPDX-License-Identifier: Apache-2.0
// Answers of the API, made from their tables (src/answer/answer.h): WHIRR_WRITE_TYPES=1 meson test -C build answers

export interface AlertRule {
  name: string;
  builtin: boolean;
  /** Built in, and changed in the configuration */
  changed: boolean;
  enabled: boolean;
  /** Of a finding: in the ordinary case */
  severity: "info" | "notice" | "warning" | "critical";
  scope: "host" | "gpu" | "process";
  /** Of the finding that it is about; null: a condition of its own */
  code: string | null;
  /** The condition; of a finding: how a condition asks for it */
  when: string;
  for_seconds: number;
  /** null: when `when` no longer holds */
  clear: string | null;
  clear_for_seconds: number;
  summary: string | null;
  description: string | null;
  labels: Record<string, string>;
  notify: string[];
  /** null: without a daemon, it is not known */
  state: "inactive" | "pending" | "firing" | null;
}

export interface AlertRules {
  rules: AlertRule[];
}

export interface Alert {
  /** Name of the rule */
  alert: string;
  /** Of the finding that it is about (docs/findings.md); null: a rule of the configuration */
  code: string | null;
  state: "pending" | "firing" | "resolved";
  severity: "info" | "notice" | "warning" | "critical";
  /** What it is about */
  scope: "host" | "gpu" | "process";
  host: string | null;
  /** null: about the host or the daemon */
  gpu_index: number | null;
  gpu_name: string | null;
  gpu_uuid: string | null;
  /** The GPU exists only in the simulator */
  simulated: boolean;
  pid: number | null;
  process: string | null;
  user: string | null;
  /** The number that decided, in the unit of its metric */
  value: number | null;
  summary: string;
  labels: Record<string, string>;
  /** Since when the condition holds */
  pending_since: string | null;
  /** When it began to fire */
  started_at: string | null;
  ended_at: string | null;
  silenced: boolean;
  silence_id: string | null;
  /** It came and went: it ends only when it was over for five minutes */
  flapping: boolean;
  /** The same for this alert of this GPU or process, also after a restart */
  fingerprint: string;
}

export interface Silence {
  id: string;
  /** All must match; * and ? stand for anything */
  matchers: Record<string, string>;
  created_at: string;
  until: string;
  comment: string | null;
  created_by: string | null;
}

export interface Alerts {
  /** Of the last sample that was judged */
  timestamp: string | null;
  alerts: Alert[];
  counts: {
    pending: number;
    firing: number;
    resolved: number;
    /** Of those that fire */
    silenced: number;
    /** Over the 2048 that are followed at once */
    left_out: number;
  };
  silences: Silence[];
}

export interface CapacityGpu {
  gpu_index: number;
  /** Number of a MIG instance; null: the whole GPU */
  instance: number | null;
  uuid: string | null;
  name: string | null;
  simulated: boolean;
  pci_address: string | null;
  vendor: string | null;
  /** Work can be started on it */
  usable: boolean;
  /** Why not, or why its memory is not known */
  problem: string | null;
  /** shared: its memory is the host's; free is then what the host has available, less a reserve */
  memory_kind: "dedicated" | "shared";
  /** It shares the host's memory beside GPUs with memory of their own: fit and wait use it only where it is named */
  only_if_named: boolean;
  memory_total_mb: number | null;
  memory_free_mb: number | null;
  reserve_mb: number;
  /** Free less reserve */
  available_mb: number | null;
  /** Held by workers that the guard could evict */
  reclaimable_mb: number | null;
  utilization_percent: number | null;
  free_least_1h_mb: number | null;
  free_least_24h_mb: number | null;
  /** So much of the last day is known */
  watched_seconds: number;
  workers: {
    worker: string;
    memory_mb: number;
    evictable: boolean;
  }[];
  /** The last day in quarters of an hour, oldest first */
  course: {
    from: string;
    free_least_mb: number;
  }[];
  absent: Record<string, string>;
}

export interface Capacity {
  timestamp: string;
  host: string | null;
  tracking: boolean;
  /** false: what could be reclaimed is not known */
  guard: boolean;
  gpus: CapacityGpu[];
}

/** Where a process spends its CPU time */
export interface CpuSamples {
  pid: number;
  /** ok, or why there is no result */
  state: string;
  /** The answer in words, or what would permit it */
  words: string;
  over_seconds: number;
  samples: number;
  threads: number;
  /** Of one core, over all threads that were sampled */
  cpu_percent: number;
  /** Of the CPU time */
  share_percent: {
    python: number;
    driver: number;
    compiler: number;
    program: number;
    libraries: number;
    kernel_or_unknown: number;
  };
  /** Files with the most CPU time, busiest first */
  objects: {
    name: string;
    percent: number;
  }[];
  /** Only where they were asked for */
  functions?: {
    name: string;
    object: string;
    percent: number;
  }[];
}

export interface Device {
  index: number;
  name: string;
  /** MiB */
  total_memory_mb: number | null;
  /** MiB */
  free_memory_mb: number | null;
  /** MiB */
  used_memory_mb: number | null;
  utilization_percent: number | null;
  temperature_c: number | null;
  /** False: it is listed, but cannot be read now */
  is_available: boolean;
  /** The driver's words */
  error_message: string | null;
  state: "ok" | "asleep" | "error" | "lost";
  uuid: string | null;
  pci_address: string | null;
  vendor: string | null;
  simulated: boolean;
  absent: Record<string, string>;
}

export interface Devices {
  devices: Device[];
  count: number;
}

export interface RemedyValues {
  fan_percent: number | null;
  power_watts: number | null;
  temperature_celsius: number | null;
  clock_graphics_mhz: number | null;
  tokens_per_second: number | null;
}

export interface RemedyDoing {
  id: string;
  gpu_index: number;
  /** Of the remedy */
  code: string;
  /** Its sentence */
  text: string;
  /** What it changes */
  plan: string | null;
  /** Who asked for it */
  who: string | null;
  /** Is taken back in any case */
  trying: boolean;
  /** Nothing is changed */
  dry_run: boolean;
  simulated: boolean;
  since: string;
  /** The old values are back then */
  until: string | null;
  phase: "measuring_before" | "changing" | "measuring_after" | "undoing" | "measuring_again" | "over";
  outcome: "running" | "measured" | "as_expected" | "not_as_expected" | "no_effect" | "cant_tell" | "failed";
  /** It still holds */
  kept: boolean;
  /** What came of it, as a sentence */
  result: string | null;
  /** Measured */
  before: RemedyValues | null;
  after: RemedyValues | null;
  /** After it was taken back */
  again: RemedyValues | null;
  /** Changes; null: not known */
  expected: RemedyValues | null;
  /** own_history or siblings */
  expected_source: string | null;
  /** For POST /api/undo */
  undo_id: string | null;
}

export interface Driver {
  driver_version: string | null;
  /** The highest CUDA version that the driver supports */
  cuda_driver_version: string | null;
  nvml_version: string | null;
  cuda_available: boolean;
  /** Why there is no driver, in the words of the library */
  error_message: string | null;
  /** The drivers of all GPUs, each once: a host with GPUs of two vendors has two */
  drivers: {
    /** The source that reads its GPUs */
    source: string;
    name: string;
    version: string | null;
  }[];
}

export interface Effect {
  /** When it was measured */
  at: string;
  /** Its index at that time */
  gpu_index: number;
  /** UUID, or PCI address */
  gpu_uuid: string;
  gpu_name: string;
  /** remedy: whirr do; else what came or went on its own */
  cause: "remedy" | "context" | "limit" | "display" | "model";
  /** The remedy that does this */
  code: string;
  /** What changed */
  what: string | null;
  /** Of a changed power limit */
  limit_before_watts: number | null;
  limit_after_watts: number | null;
  before: RemedyValues;
  after: RemedyValues;
  /** Changes that were expected; null: not known */
  expected: RemedyValues;
}

export interface RemedyHits {
  /** Of the remedy */
  code: string;
  /** Steps that were measured */
  measured: number;
  /** Those where something was expected */
  expected: number;
  /** Those that came as expected, within a fifth */
  hit: number;
  /** Of the newest */
  expected_watts: number | null;
  measured_watts: number | null;
}

export interface FindingCodes {
  codes: {
    code: string;
    area: string;
    severity: "info" | "notice" | "warning" | "critical";
    /** How long it must last before it notifies */
    holds_seconds: number;
    muted: boolean;
    /** Whether new work may be placed on a GPU with it */
    work_may_go_there: boolean;
    meaning: string;
  }[];
}

export interface FleetGpu {
  host: string;
  /** null: it is gone */
  gpu_index: number | null;
  uuid: string;
  name: string;
  up: boolean;
  /** fine, not_judged (a whirr without findings), held, unusual, degraded, silent (a host that was there and does not answer), failing or lost */
  trouble: string;
  /** Of its first finding; null: it said nothing */
  severity: "info" | "notice" | "warning" | "critical" | null;
  code: string | null;
  process: string | null;
  headline: string | null;
  work_may_go_there: boolean;
  working: boolean;
  utilization_percent: number | null;
  memory_used_mb: number | null;
  memory_total_mb: number | null;
  memory_free_mb: number | null;
  /** Free in one piece: in an instance of a divided GPU */
  memory_room_mb: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  absent: Record<string, string>;
}

export interface FleetHost {
  host: string;
  /** fine, not_judged (a whirr without findings), held, unusual, degraded, silent (a host that was there and does not answer), failing or lost */
  trouble: string;
  /** Of its first finding; null: it said nothing */
  severity: "info" | "notice" | "warning" | "critical" | null;
  code: string | null;
  process: string | null;
  /** The worst problem; null: none */
  note: string | null;
  /** Of a silent one */
  last_seen_at: string | null;
  /** By `fleet.expect`; null: not set */
  gpus_expected: number | null;
  /** Against the database; null: correct, or unknown */
  clock_ahead_seconds: number | null;
  utilization_percent: number | null;
  memory_used_mb: number | null;
  memory_total_mb: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  /** The last numbers of a host that does not answer; null: it does */
  last_known: {
    gpu_count: number;
    utilization_percent: number | null;
    memory_used_mb: number | null;
    memory_total_mb: number | null;
    temperature_celsius: number | null;
    power_watts: number | null;
    absent: Record<string, string>;
  } | null;
  gpus: FleetGpu[];
  absent: Record<string, string>;
}

export interface FleetStatus {
  answer: string;
  gpu_count: number;
  hosts_not_answering: number;
  gpus_missing: number;
  clocks_off: number;
  /** Worst first, with their GPUs */
  hosts: FleetHost[];
}

export interface FleetProcess {
  host: string;
  gpu: string;
  name: string;
  container: string | null;
  user: string | null;
  pod: string | null;
  job: string | null;
  memory_mb: number | null;
  utilization_percent: number | null;
  power_watts: number | null;
  absent: Record<string, string>;
}

export interface FleetUser {
  user?: string | null;
  container?: string | null;
  pod?: string | null;
  job?: string | null;
  host?: string | null;
  memory_mb: number | null;
  utilization_percent: number | null;
  power_watts: number | null;
  absent: Record<string, string>;
}

export interface FleetUse {
  simulated?: boolean;
  processes?: FleetProcess[];
  users?: FleetUser[];
  containers?: FleetUser[];
  pods?: FleetUser[];
  jobs?: FleetUser[];
  hosts?: FleetUser[];
}

export interface FleetBilled {
  user?: string | null;
  container?: string | null;
  pod?: string | null;
  job?: string | null;
  host?: string | null;
  energy_joules: number;
  /** null: no price is set */
  cost: number | null;
}

export interface FleetBill {
  span_seconds: number;
  price_per_kwh: number;
  currency: string;
  energy_joules: number;
  users?: FleetBilled[];
  containers?: FleetBilled[];
  pods?: FleetBilled[];
  jobs?: FleetBilled[];
  hosts?: FleetBilled[];
}

export interface FleetNow {
  /** As `whirr status --fleet URL --json` */
  status: FleetStatus;
  /** As `whirr ps --fleet URL --by user --json` */
  by_user: FleetUse;
  /** As `whirr ps --fleet URL --by container --json` */
  by_container: FleetUse;
  /** As `whirr report --fleet URL --json`, of the last 24 hours; null: the database could not say */
  energy_by_host: FleetBill | null;
  /** The same by user */
  energy_by_user: FleetBill | null;
}

/** All hosts */
export interface Fleet {
  /** When `fleet` came from the database; null: not yet */
  fetched_at: string | null;
  /** The database is being asked */
  loading: boolean;
  /** Why the last question failed; `fleet` is older then */
  error: string | null;
  fleet: FleetNow | null;
}

export interface ForecastMemory {
  /** unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; expected: as things go; reached: it is there */
  verdict: "unknown" | "no_trend" | "never" | "expected" | "reached";
  /** Why, in words */
  reason: string;
  at: string | null;
  /** From now; 0 when it is reached */
  seconds: number | null;
  earliest_seconds: number | null;
  /** null with verdict expected: it may also settle before */
  latest_seconds: number | null;
  /** Length of the stretch that it was seen on */
  basis_seconds: number | null;
  used_mb: number | null;
  /** What processes can have in all */
  room_mb: number | null;
  growth_mb_per_minute: number | null;
  /** The one that grows; null: none, several, or not known */
  process: {
    pid: number;
    name: string | null;
    /** What people call it */
    short_name: string | null;
    user: string | null;
  } | null;
  absent: Record<string, string>;
}

export interface ForecastTemperature {
  /** unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; expected: as things go; reached: it is there */
  verdict: "unknown" | "no_trend" | "never" | "expected" | "reached";
  /** Why, in words */
  reason: string;
  at: string | null;
  /** From now; 0 when it is reached */
  seconds: number | null;
  earliest_seconds: number | null;
  /** null with verdict expected: it may also settle before */
  latest_seconds: number | null;
  /** Length of the stretch that it was seen on */
  basis_seconds: number | null;
  temperature_celsius: number | null;
  /** Temperature at which the GPU starts throttling */
  limit_celsius: number | null;
  /** Temperature at which it settles under its present load, if that is known well */
  final_celsius: number | null;
  time_constant_seconds: number | null;
  absent: Record<string, string>;
}

export interface ForecastStore {
  /** unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; expected: as things go; reached: it is there */
  verdict: "unknown" | "no_trend" | "never" | "expected" | "reached";
  /** Why, in words */
  reason: string;
  at: string | null;
  /** From now; 0 when it is reached */
  seconds: number | null;
  earliest_seconds: number | null;
  /** null with verdict expected: it may also settle before */
  latest_seconds: number | null;
  /** Length of the stretch that it was seen on */
  basis_seconds: number | null;
  /** What it is about: the size limit of the history database, or the disk under it if that is full first */
  of: "cap" | "disk";
  used_bytes: number | null;
  /** 0: none is set */
  cap_bytes: number | null;
  disk_free_bytes: number | null;
  growth_bytes_per_day: number | null;
  absent: Record<string, string>;
}

export interface Forecast {
  timestamp: string | null;
  host: string | null;
  /** The soonest of all in a sentence, or that nothing points anywhere */
  answer: string;
  simulated: boolean;
  /** false: from a short look, without a daemon */
  remembered: boolean;
  watched_seconds: number;
  gpus: {
    gpu_index: number;
    gpu_name: string | null;
    gpu_uuid: string | null;
    memory: ForecastMemory;
    temperature: ForecastTemperature;
  }[];
  store: ForecastStore | null;
}

export interface GuardedWorker {
  name: string;
  state: "running" | "draining" | "evicting" | "verifying" | "paused" | "reserving" | "resuming" | "absent";
  since: string | null;
  /** When it comes back to the GPU if nothing changes; null: it is not paused, or something keeps it off */
  resumes_at: string | null;
  claim: "unknown" | "none" | "seen" | "sure";
  /** Of the claim, of there being none, or of the pause where no program is why */
  reason: string | null;
  problem: string | null;
  /** Through which it is off the GPU */
  method: string | null;
  /** The old name of `method`, until 0.4 */
  way: string | null;
  pid: number | null;
  process_count: number;
  gpus: number[];
  /** Held now, or to come back; null: that can't be read */
  memory_mb: number | null;
  other_processes: number;
  held: boolean;
  throttled: boolean;
  hot: boolean;
  fault: boolean;
  gave_up: boolean;
  memory_still_held: boolean;
  dry_run: boolean;
  /** GPUs of a simulator are what it goes by */
  simulated: boolean;
  /** Off the GPU because no request came for so long; the next request brings it back */
  idle: boolean;
  /** `idle_after`; null: never */
  idle_after_seconds: number | null;
  /** null: requests are not watched */
  last_asked_at: string | null;
  evictions_total: number;
  resumes_total: number;
  failures_total: number;
  last_evict_seconds: number | null;
  last_resume_seconds: number | null;
  gate: {
    in_flight: number;
    waiting: number;
  } | null;
}

export interface Guard {
  workers: GuardedWorker[];
}

export interface GuardEvent {
  kind: "state" | "problem" | "ended";
  worker: string;
  state: "running" | "draining" | "evicting" | "verifying" | "paused" | "reserving" | "resuming" | "absent";
  before: "running" | "draining" | "evicting" | "verifying" | "paused" | "reserving" | "resuming" | "absent";
  /** A sentence without a full stop */
  text: string;
  timestamp: string;
}

/** One GPU, host, or process on a GPU */
export interface HistorySeries {
  of: "gpu" | "host" | "process";
  host: string;
  gpu_index: number | null;
  gpu_name: string | null;
  gpu_uuid: string | null;
  process: string | null;
  pid: number | null;
  /** Beginnings of the steps, in seconds since 1970 */
  times: number[];
  /** Of a process: what limited it in most of each step; null where that was not judged. null for GPUs and hosts */
  limits: (string | null)[] | null;
  metrics: {
    name: string;
    unit: string | null;
    /** As many as times; of energy the sum, of throttle reasons the share of samples in which the GPU was throttled */
    mean: (number | null)[];
    min: (number | null)[];
    max: (number | null)[];
  }[];
}

/** Metrics over time */
export interface History {
  /** null: from the beginning */
  since: string | null;
  until: string;
  /** Length of a step; null when nothing is stored */
  step_seconds: number | null;
  /** What was read */
  level: "samples" | "minutes" | "hours" | null;
  series: HistorySeries[];
  /** Whether a GPU of that time was a simulated one */
  simulated: boolean;
}

export interface GuardHealth {
  state: "off" | "trouble" | "paused" | "watching";
  workers: number;
  paused: number;
  /** Workers that could not be taken off the GPU, have a fault, or whose profile needs to know who else is on the GPU while that cannot be seen */
  troubled: number;
  /** Why nothing is guarded although `[worker]` asks for evictions */
  message: string | null;
}

/** One finding of the verdict; docs/findings.md has the codes */
export interface Finding {
  code: string;
  severity: "info" | "notice" | "warning" | "critical";
  area: string;
  confidence: number;
  /** null: the host */
  gpu_index: number | null;
  pid: number | null;
  /** It has held, or has come and gone, since then */
  since: string | null;
  /** now: it holds; comes_and_goes: it was back at least three times in ten minutes, and may be away at this moment; was: it is over; soon: a forecast */
  tense: "now" | "comes_and_goes" | "was" | "soon";
  /** When what is over ended */
  until: string | null;
  /** The part of the last minute and of the last ten minutes in which it held, as far as they were watched; from the driver's own counters where it has them */
  share: {
    minute: number | null;
    ten_minutes: number | null;
  } | null;
  /** With what it was compared: other GPUs of its kind, its own past, what the part can do, a limit that the driver reports; null: with nothing */
  reference: string | null;
  /** The code of the finding that brings it about (docs/causes.md); null: it is a root */
  effect_of: string | null;
  /** By [finding.CODE]: listed only */
  muted: boolean;
  headline: string;
  /** Whether its evidence could be seen; not_looked of the GPU has what is missing */
  seen: string;
}

/** What a GPU is doing, judged over the last minute, and what a person would notice about it */
export interface Activity {
  code:
    "unknown" | "lost" | "failing" | "asleep" | "idle" | "kept_from_idling" | "lightly_loaded" | "busy" | "saturated";
  words: string;
  /** Utilization as it was judged, over the last seconds; with bursts their mean over the last minute */
  load_percent: number | null;
  /** Works in bursts, with pauses */
  bursts: boolean;
  symptoms: ("loud" | "hot" | "throttling" | "memory_full" | "unusual")[];
  throttled_by: string[];
}

/** What is usual for this GPU, learned from its own history; null while there is none. Below `days_needed` days nothing is called usual: confidence is 0 and the values are null */
export interface Usual {
  confidence: number;
  /** Days of evidence at the power of this moment, else when idle, else in all */
  days: number;
  days_needed: number;
  since: string | null;
  /** Why the baseline begins there: the first sample, another power limit, another fan curve */
  began_with: "first" | "power_limit" | "fan_curve";
  /** The middle of the days, at the power of this moment */
  temperature_celsius: number | null;
  temperature_low_celsius: number | null;
  temperature_high_celsius: number | null;
  /** It never worked at this power for long: the temperatures are those of the next higher power that is known */
  at_more_power: boolean;
  /** The temperatures are those that are usual in air of this temperature; null where no sensor reports it, or too few days have it */
  ambient_celsius: number | null;
  fan_percent: number | null;
  idle_power_watts: number | null;
  idle_power_high_watts: number | null;
  /** At this hour of the day */
  utilization_percent: number | null;
  too_hot: boolean;
  fan_too_fast: boolean;
  fan_too_slow: boolean;
  idle_power_too_high: boolean;
  /** Idle power at the present memory clock and at the lowest; null where the history doesn't have both */
  idle_power_by_memory_clock: {
    clock_mhz: number;
    watts: number;
    low_clock_mhz: number;
    low_watts: number;
  } | null;
  /** Idle power before a process that is on the GPU came, and since: only where both were idle minutes in which no other process came or went */
  idle_power_by_process: {
    pid: number;
    since: string | null;
    watts: number;
    watts_before: number;
  }[];
  /** A slow rise at the same power: dust. null: none that stands out from noise */
  drift: {
    text: string;
    celsius_per_month: number;
    fan_percent_per_month: number;
    power_watts: number;
    since: string | null;
    until: string | null;
    days: number;
    /** Enough to call the GPU degraded */
    strong: boolean;
  } | null;
}

export interface HealthVerdict {
  gpu_index: number;
  gpu_name: string | null;
  gpu_uuid: string | null;
  pci_address: string | null;
  simulated: boolean;
  activity: Activity;
  state: "unknown" | "asleep" | "healthy" | "degraded" | "failing" | "lost";
  reason: string;
  /** What to do */
  action: string;
  since: string | null;
  usual: Usual | null;
  /** Those of the verdict that count for health, in its order: a cause before what it brings about */
  findings: {
    check: string;
    /** Of the finding (docs/findings.md) */
    code: string;
    state: "unknown" | "asleep" | "healthy" | "degraded" | "failing" | "lost";
    xid: number | null;
    reason: string;
    action: string;
    since: string | null;
  }[];
  /** The areas that the judgement rests on */
  looked: (
    "errors" | "fan" | "heat" | "power" | "clocks" | "link" | "memory" | "work" | "idle" | "trust" | "host" | "limit"
  )[];
  /** What could not be looked at, the kernel log included */
  not_looked: string | null;
}

export interface GpuHealth {
  timestamp: string | null;
  state: "unknown" | "asleep" | "healthy" | "degraded" | "failing" | "lost";
  /** false: from one look, without the past */
  remembered: boolean;
  watched_since: string | null;
  kernel_log: {
    /** skipped: all GPUs are simulated or replayed */
    state: "read" | "denied" | "absent" | "skipped";
    /** What to do so that it can be read */
    message: string | null;
  };
  /** Of the first finding; null: not judged */
  severity: "info" | "notice" | "warning" | "critical" | null;
  /** The most important first */
  findings: Finding[];
  gpus: HealthVerdict[];
}

export interface HealthChange {
  timestamp: string | null;
  gpu_index: number;
  gpu_name: string | null;
  gpu_uuid: string | null;
  pci_address: string | null;
  simulated: boolean;
  activity: Activity;
  state: "unknown" | "asleep" | "healthy" | "degraded" | "failing" | "lost";
  reason: string;
  /** What to do */
  action: string;
  since: string | null;
  before: "unknown" | "asleep" | "healthy" | "degraded" | "failing" | "lost";
}

export interface InventoryGpu {
  /** The last one it had */
  gpu_index: number;
  gpu_name: string | null;
  gpu_uuid: string | null;
  pci_address: string | null;
  serial: string | null;
  /** Which driver it was read with */
  source: string;
  simulated: boolean;
  /** The most NVLinks that were ever up */
  nvlinks: number;
  first_seen_at: string | null;
  last_seen_at: string | null;
  /** replaced: another GPU is in its slot */
  state: "present" | "missing" | "replaced" | "forgotten";
  /** The UUID of that GPU */
  replaced_by: string | null;
  /** It need not be there; until it is seen again */
  forgotten: {
    at: string;
    by: string | null;
  } | null;
}

export interface InventoryPart {
  /** What `whirr forget` takes: a port, else a UUID or PCI address */
  name: string;
  kind: "npu" | "accelerator" | "infiniband_port";
  model: string | null;
  first_seen_at: string | null;
  last_seen_at: string | null;
  state: "present" | "missing" | "replaced" | "forgotten";
  /** It need not be there; until it is seen again */
  forgotten: {
    at: string;
    by: string | null;
  } | null;
}

/** What this host should have */
export interface Inventory {
  /** All that were ever seen here, or were forgotten within 30 days */
  gpus: InventoryGpu[];
  /** Likewise NPUs, accelerators, and InfiniBand ports that had a link */
  parts: InventoryPart[];
}

export interface Lease {
  id: string;
  kind: "run" | "wait" | "reserve" | "setting";
  state: "waiting" | "active" | "ended";
  uid: number;
  user: string;
  /** The process that it lives with */
  pid: number | null;
  /** Start of that process in clock ticks since boot */
  start_key: number;
  /** The boot of the host in which that process runs */
  boot: string;
  command: string | null;
  note: string | null;
  made: string;
  from: string;
  /** null: its end is open */
  until: string | null;
  /** Its place in the queue: the smaller first */
  ticket: number;
  gpus_wanted: number;
  /** On each GPU; 0: whole GPUs */
  memory_bytes: number;
  exclusive: boolean;
  /** What it has; while it waits, what it may get (none: any) */
  gpus: {
    uuid: string;
    gpu_index: number;
    /** What programs without a lease left when it was given */
    free_bytes: number | null;
    /** What its programs hold now */
    used_bytes: number | null;
    absent: Record<string, string>;
  }[];
  settings: {
    /** The setting, which implies its unit */
    what: string;
    /** UUID of the GPU */
    gpu: string;
    /** How far it is: written, done, active, restored */
    step: string;
    /** null: the driver's default, or a text */
    asked: number | null;
    /** What it was, and will be again */
    before: number | null;
    /** Range of the GPU */
    least: number | null;
    most: number | null;
    /** Of a setting that is not a number */
    asked_text: string | null;
    before_text: string | null;
  }[];
  ended_why: string | null;
  /** Of a reservation on which nothing has run for `lease.idle_minutes` */
  idle_since: string | null;
  simulated: boolean;
}

export interface Leases {
  leases: Lease[];
  /** Files in the directory that do not count, and why */
  problems: string[];
}

/** What limits a process on a GPU, over the last ten seconds */
export interface Limit {
  code:
    | "compute"
    | "compute_no_tensor"
    | "memory_bandwidth"
    | "power"
    | "heat"
    | "clocks"
    | "video"
    | "pcie_in"
    | "pcie_out"
    | "nvlink"
    | "spill"
    | "launch"
    | "compile"
    | "host_cpu"
    | "cpu_work"
    | "partly_on_cpu"
    | "allocation"
    | "loaders"
    | "cpu_quota"
    | "disk"
    | "network_fs"
    | "memory_pressure"
    | "numa"
    | "kernel_wait"
    | "straggler_wait"
    | "peer"
    | "other_programs"
    | "no_requests"
    | "none"
    | "cannot_tell";
  /** Behind "limited by" */
  words: string;
  /** gpu: the GPU works as hard as it can; link: PCIe or NVLink; host: the program's own side keeps the GPU waiting; others: other programs or ranks; none: nothing is asked of the GPU, or nothing shows */
  side: string;
  /** Share of the time that was looked at */
  share_percent: number;
  /** How long that was; 0: one look */
  over_seconds: number;
  confidence: number;
  /** What limits it for most of the rest */
  second:
    | "compute"
    | "compute_no_tensor"
    | "memory_bandwidth"
    | "power"
    | "heat"
    | "clocks"
    | "video"
    | "pcie_in"
    | "pcie_out"
    | "nvlink"
    | "spill"
    | "launch"
    | "compile"
    | "host_cpu"
    | "cpu_work"
    | "partly_on_cpu"
    | "allocation"
    | "loaders"
    | "cpu_quota"
    | "disk"
    | "network_fs"
    | "memory_pressure"
    | "numa"
    | "kernel_wait"
    | "straggler_wait"
    | "peer"
    | "other_programs"
    | "no_requests"
    | "none"
    | "cannot_tell"
    | null;
  second_percent: number;
}

/** A process on a GPU */
export interface Process {
  pid: number;
  name: string | null;
  /** With secrets masked */
  command: string | null;
  user: string | null;
  type: "compute" | "graphics" | "both" | null;
  /** Memory of the GPU held by the process */
  memory_mb: number | null;
  /** Share of the GPU's compute units */
  utilization_percent: number | null;
  /** Share of the GPU's memory bandwidth */
  memory_utilization_percent: number | null;
  /** Share of the video encoder */
  encoder_percent: number | null;
  /** Share of the video decoder */
  decoder_percent: number | null;
  /** Its part of the GPU's power above idle, by its share of the engines and of what open contexts cost */
  power_watts: number | null;
  /** The part of power_watts that it costs to keep its context open while the GPU rests, as measured when a context came or went; only with a daemon */
  parked_watts: number | null;
  /** CPU time of the process; 100% is one core */
  cpu_percent: number | null;
  /** Host memory of the process (resident) */
  host_memory_mb: number | null;
  /** Tokens per second that the model server generates, by its own counters; only with a daemon, as all that follow */
  tokens_per_second: number | null;
  /** Tokens of prompts per second that the model server reads */
  prompt_tokens_per_second: number | null;
  /** Tokens that the model server has generated since it was started, by its own counter */
  generated_tokens: number | null;
  /** Tokens of prompts that the model server has read since it was started, by its own counter */
  prompt_tokens: number | null;
  /** Time from a request to its first token, the mean since the last look in which there was one */
  time_to_first_token_seconds: number | null;
  /** Time from one token of an answer to the next, the mean as before */
  time_per_token_seconds: number | null;
  /** Requests that the model server is working on */
  requests_running: number | null;
  /** Requests that wait at the model server */
  requests_waiting: number | null;
  /** How full the model server's KV cache is; of several, the fullest */
  kv_cache_percent: number | null;
  /** Tokens of prompts that were in the prefix cache, of those looked for */
  prefix_cache_hit_percent: number | null;
  /** Requests that the model server interrupts because its KV cache is full */
  preemptions_per_second: number | null;
  /** Jobs of an image server: the one at work and those that wait */
  image_jobs: number | null;
  /** How power_watts was attributed */
  power_basis: "utilization" | "memory" | "only process" | null;
  /** loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing */
  activity: "working" | "loading" | "holding" | null;
  /** What limits it; null where that was not judged */
  limit: Limit | null;
  /** Name or ID of the container it runs in */
  container: string | null;
  /** The model it was started with, where its command line or Ollama's manifests say so */
  model: string | null;
  /** What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; otherwise its name */
  display_name: string | null;
  /** Its name in every sentence and table: display_name with the model, "process 4242" where nothing is known */
  short_name: string;
  /** The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read */
  container_name: string | null;
  /** The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID (torchrun:4242) */
  job: string | null;
  /** Its number among the processes of its job, as torchrun, MPI or Slurm gave it */
  rank: number | null;
  /** How many processes its job has, on all hosts */
  world_size: number | null;
  /** The process that started it */
  parent_pid: number | null;
  parent_name: string | null;
  /** The lease it runs under (`/api/leases`) */
  lease: string | null;
  started_at: string | null;
  /** The MIG instance it runs on */
  instance: number | null;
  /** false: the PID belongs to a process that can't be seen from here */
  visible: boolean;
  absent: Record<string, string>;
}

/** A process with the GPU that it is on */
export interface ProcessOnGpu {
  gpu_index: number;
  gpu_name: string | null;
  simulated: boolean;
  pid: number;
  name: string | null;
  /** With secrets masked */
  command: string | null;
  user: string | null;
  type: "compute" | "graphics" | "both" | null;
  /** Memory of the GPU held by the process */
  memory_mb: number | null;
  /** Share of the GPU's compute units */
  utilization_percent: number | null;
  /** Share of the GPU's memory bandwidth */
  memory_utilization_percent: number | null;
  /** Share of the video encoder */
  encoder_percent: number | null;
  /** Share of the video decoder */
  decoder_percent: number | null;
  /** Its part of the GPU's power above idle, by its share of the engines and of what open contexts cost */
  power_watts: number | null;
  /** The part of power_watts that it costs to keep its context open while the GPU rests, as measured when a context came or went; only with a daemon */
  parked_watts: number | null;
  /** CPU time of the process; 100% is one core */
  cpu_percent: number | null;
  /** Host memory of the process (resident) */
  host_memory_mb: number | null;
  /** Tokens per second that the model server generates, by its own counters; only with a daemon, as all that follow */
  tokens_per_second: number | null;
  /** Tokens of prompts per second that the model server reads */
  prompt_tokens_per_second: number | null;
  /** Tokens that the model server has generated since it was started, by its own counter */
  generated_tokens: number | null;
  /** Tokens of prompts that the model server has read since it was started, by its own counter */
  prompt_tokens: number | null;
  /** Time from a request to its first token, the mean since the last look in which there was one */
  time_to_first_token_seconds: number | null;
  /** Time from one token of an answer to the next, the mean as before */
  time_per_token_seconds: number | null;
  /** Requests that the model server is working on */
  requests_running: number | null;
  /** Requests that wait at the model server */
  requests_waiting: number | null;
  /** How full the model server's KV cache is; of several, the fullest */
  kv_cache_percent: number | null;
  /** Tokens of prompts that were in the prefix cache, of those looked for */
  prefix_cache_hit_percent: number | null;
  /** Requests that the model server interrupts because its KV cache is full */
  preemptions_per_second: number | null;
  /** Jobs of an image server: the one at work and those that wait */
  image_jobs: number | null;
  /** How power_watts was attributed */
  power_basis: "utilization" | "memory" | "only process" | null;
  /** loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing */
  activity: "working" | "loading" | "holding" | null;
  /** What limits it; null where that was not judged */
  limit: Limit | null;
  /** Name or ID of the container it runs in */
  container: string | null;
  /** The model it was started with, where its command line or Ollama's manifests say so */
  model: string | null;
  /** What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; otherwise its name */
  display_name: string | null;
  /** Its name in every sentence and table: display_name with the model, "process 4242" where nothing is known */
  short_name: string;
  /** The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read */
  container_name: string | null;
  /** The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID (torchrun:4242) */
  job: string | null;
  /** Its number among the processes of its job, as torchrun, MPI or Slurm gave it */
  rank: number | null;
  /** How many processes its job has, on all hosts */
  world_size: number | null;
  /** The process that started it */
  parent_pid: number | null;
  parent_name: string | null;
  /** The lease it runs under (`/api/leases`) */
  lease: string | null;
  started_at: string | null;
  /** The MIG instance it runs on */
  instance: number | null;
  /** false: the PID belongs to a process that can't be seen from here */
  visible: boolean;
  absent: Record<string, string>;
}

export interface Place {
  file: string | null;
  /** The commonest */
  line: number | null;
  /** Where no line has nearly all of it, the range */
  first_line: number | null;
  last_line: number | null;
  function: string | null;
  /** Of the time of the threads that are to blame */
  share_percent: number;
  thread: string | null;
  state:
    | "computes"
    | "gil"
    | "lock"
    | "pipe"
    | "socket"
    | "events"
    | "file"
    | "sleep"
    | "child"
    | "gpu"
    | "stopped"
    | "other";
  /** Where most of it is below, in a library */
  mostly_in: string | null;
  called_from_file: string | null;
  called_from_line: number | null;
  /** Of children: in how many of them */
  processes: number | null;
  of_processes: number | null;
  text: string;
}

/** What a program on a GPU was doing on its host */
export interface HostEvidence {
  /** Looks at its threads: 100% of the shares */
  looks: number;
  /** From the first to the last look; 0: a single one */
  over_seconds: number;
  /** The main thread was running, or could have run */
  main_running_percent: number | null;
  /** The main thread was waiting for a disk */
  main_disk_percent: number | null;
  /** The main thread was waiting for a network file system: NFS, SMB, Ceph, Lustre */
  main_network_fs_percent: number | null;
  /** The main thread was waiting for a FUSE file system */
  main_fuse_percent: number | null;
  /** The main thread was waiting for a pipe or a socket */
  main_pipe_percent: number | null;
  /** The main thread was waiting for a lock or another thread (futex) */
  main_lock_percent: number | null;
  /** The main thread was sleeping on purpose */
  main_sleep_percent: number | null;
  /** The main thread was waiting in poll, select or epoll */
  main_poll_percent: number | null;
  /** The main thread was waiting for a child to end */
  main_child_percent: number | null;
  /** The main thread was waiting for something else */
  main_other_percent: number | null;
  /** 1: the process is stopped (SIGSTOP, a debugger) */
  stopped: number | null;
  /** CPU time of the main thread */
  main_cpu_percent: number | null;
  /** CPU time of the busiest thread */
  busiest_thread_percent: number | null;
  /** CPU time of all threads */
  cpu_percent: number | null;
  /** The part of it that was spent in the kernel */
  system_percent: number | null;
  /** Threads that use half of a core or more each */
  busy_threads: number | null;
  /** Time that the main thread was ready and no CPU was free */
  waiting_for_cpu_percent: number | null;
  /** Share of their CPU time in the Python interpreter */
  cpu_time_python_percent: number | null;
  /** In the GPU driver's library */
  cpu_time_driver_percent: number | null;
  /** In a compiler for GPUs that is part of the process */
  cpu_time_compiler_percent: number | null;
  /** In the program itself and other libraries */
  cpu_time_native_percent: number | null;
  /** In the kernel, or in code that no file holds */
  cpu_time_kernel_percent: number | null;
  /** Child processes */
  children: number | null;
  /** CPU time of all children */
  children_cpu_percent: number | null;
  /** CPU time of the busiest child */
  child_busiest_percent: number | null;
  /** Children that were waiting for a disk */
  children_waiting_for_disk: number | null;
  /** Children that were waiting for a socket or a network file system */
  children_waiting_for_network: number | null;
  /** Children that were sleeping on purpose */
  children_sleeping: number | null;
  /** The process at the other end, where it is on this host */
  peer_pid: number | null;
  /** CPU time of that process */
  peer_cpu_percent: number | null;
  /** Bytes read from disks */
  read_bytes_per_second: number | null;
  /** Bytes written to disks */
  write_bytes_per_second: number | null;
  /** Page faults that needed a disk */
  major_faults_per_second: number | null;
  /** Page faults that needed no disk */
  minor_faults_per_second: number | null;
  /** Pages of files that it has mapped and that are in memory */
  mapped_file_bytes: number | null;
  /** Size of the model files that it has mapped (GGUF, safetensors) */
  model_file_bytes: number | null;
  /** Memory of the process that is in swap */
  swap_bytes: number | null;
  /** CPU quota of the container */
  quota_cores: number | null;
  /** Share of the time in which the container was stopped by its CPU quota */
  throttled_percent: number | null;
  /** Share of the time in which a task was waiting for a CPU */
  cpu_pressure_percent: number | null;
  /** Share of the time in which a task was waiting for a disk */
  io_pressure_percent: number | null;
  /** Share of the time in which a task was waiting for memory */
  memory_pressure_percent: number | null;
  /** NUMA node of the CPUs that it runs on */
  cpu_numa_node: number | null;
  /** NUMA node that has most of its memory */
  memory_numa_node: number | null;
  /** NUMA node that the GPU is connected to */
  gpu_numa_node: number | null;
  /** 1: it listens on a TCP port, as a server does; 2: its parent does */
  listens: number | null;
  /** The rank that a collective was waiting for, as the job's own traces say */
  collective_late_rank: number | null;
  /** Bus bandwidth of the newest collective, of the rank that came last */
  collective_bytes_per_second: number | null;
  /** The most that one of as many bytes had before */
  collective_best_bytes_per_second: number | null;
  busiest_thread: string | null;
  busiest_child: string | null;
  /** A child that compiles GPU code */
  compiler: string | null;
  /** The network file system that it waits for */
  mount: string | null;
  /** The file, other than Python's, with the most CPU time */
  code: string | null;
  /** Whom it waits for */
  peer: string | null;
  /** What the traces of its job say about the newest collective */
  collective: string | null;
  absent: Record<string, string>;
}

export interface WhyProcess {
  gpu_index: number;
  gpu_name: string | null;
  simulated: boolean;
  pid: number;
  name: string | null;
  /** With secrets masked */
  command: string | null;
  user: string | null;
  type: "compute" | "graphics" | "both" | null;
  /** Memory of the GPU held by the process */
  memory_mb: number | null;
  /** Share of the GPU's compute units */
  utilization_percent: number | null;
  /** Share of the GPU's memory bandwidth */
  memory_utilization_percent: number | null;
  /** Share of the video encoder */
  encoder_percent: number | null;
  /** Share of the video decoder */
  decoder_percent: number | null;
  /** Its part of the GPU's power above idle, by its share of the engines and of what open contexts cost */
  power_watts: number | null;
  /** The part of power_watts that it costs to keep its context open while the GPU rests, as measured when a context came or went; only with a daemon */
  parked_watts: number | null;
  /** CPU time of the process; 100% is one core */
  cpu_percent: number | null;
  /** Host memory of the process (resident) */
  host_memory_mb: number | null;
  /** Tokens per second that the model server generates, by its own counters; only with a daemon, as all that follow */
  tokens_per_second: number | null;
  /** Tokens of prompts per second that the model server reads */
  prompt_tokens_per_second: number | null;
  /** Tokens that the model server has generated since it was started, by its own counter */
  generated_tokens: number | null;
  /** Tokens of prompts that the model server has read since it was started, by its own counter */
  prompt_tokens: number | null;
  /** Time from a request to its first token, the mean since the last look in which there was one */
  time_to_first_token_seconds: number | null;
  /** Time from one token of an answer to the next, the mean as before */
  time_per_token_seconds: number | null;
  /** Requests that the model server is working on */
  requests_running: number | null;
  /** Requests that wait at the model server */
  requests_waiting: number | null;
  /** How full the model server's KV cache is; of several, the fullest */
  kv_cache_percent: number | null;
  /** Tokens of prompts that were in the prefix cache, of those looked for */
  prefix_cache_hit_percent: number | null;
  /** Requests that the model server interrupts because its KV cache is full */
  preemptions_per_second: number | null;
  /** Jobs of an image server: the one at work and those that wait */
  image_jobs: number | null;
  /** How power_watts was attributed */
  power_basis: "utilization" | "memory" | "only process" | null;
  /** loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing */
  activity: "working" | "loading" | "holding" | null;
  /** What limits it; null where that was not judged */
  limit: Limit | null;
  /** Name or ID of the container it runs in */
  container: string | null;
  /** The model it was started with, where its command line or Ollama's manifests say so */
  model: string | null;
  /** What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; otherwise its name */
  display_name: string | null;
  /** Its name in every sentence and table: display_name with the model, "process 4242" where nothing is known */
  short_name: string;
  /** The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read */
  container_name: string | null;
  /** The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID (torchrun:4242) */
  job: string | null;
  /** Its number among the processes of its job, as torchrun, MPI or Slurm gave it */
  rank: number | null;
  /** How many processes its job has, on all hosts */
  world_size: number | null;
  /** The process that started it */
  parent_pid: number | null;
  parent_name: string | null;
  /** The lease it runs under (`/api/leases`) */
  lease: string | null;
  started_at: string | null;
  /** The MIG instance it runs on */
  instance: number | null;
  /** false: the PID belongs to a process that can't be seen from here */
  visible: boolean;
  /** What limits it, in a sentence */
  answer: string | null;
  likelihood: string | null;
  evidence: string[];
  /** What could not be looked at, where nothing can be said */
  missing: string | null;
  suggestions: string[];
  /** Where it spends its CPU time, in words */
  cpu_time: string | null;
  /** In which lines of its code it spends its time, the answer first. Empty in `/api/why`; `/api/why/lines` and `whirr why NAME` look */
  lines: Place[];
  /** Whose lines these are */
  lines_of: "main_thread" | "children" | "threads" | "wait" | "gpu" | null;
  too_few_cores: boolean;
  looks: number | null;
  /** Why no line is known */
  lines_missing: string | null;
  host: HostEvidence | null;
  absent: Record<string, string>;
}

/** What limits the processes that were asked about */
export interface WhyProcesses {
  timestamp: string | null;
  processes: WhyProcess[];
}

export interface LiveStatsRow {
  gpu_index: number;
  gpu_name: string;
  temperature_celsius: number | null;
  power_watts: number | null;
  memory_used_mb: number | null;
  memory_total_mb: number | null;
  gpu_utilization_percent: number | null;
  memory_utilization_percent: number | null;
  gpu_uuid: string | null;
  simulated: boolean;
  timestamp: string;
  absent: Record<string, string>;
}

export interface GpuLease {
  id: string;
  user: string;
  /** By `whirr reserve`, not by a command that runs */
  reserved: boolean;
  /** Of settings, for people: `power limit 330 W`; null where it is a lease of the GPU */
  changes: string | null;
  /** null: its end is open */
  until: string | null;
}

/** Everything known about a GPU */
export interface Gpu {
  index: number;
  /** Only of what is no GPU */
  kind?: "npu" | "accelerator";
  uuid: string | null;
  /** Of an instance: "1g.18gb" */
  profile?: string;
  pci_address: string | null;
  /** Its maker, in lower case */
  vendor: string | null;
  name: string | null;
  /** Who reads it */
  source: string | null;
  simulated: boolean;
  state: "ok" | "asleep" | "error" | "lost";
  /** The driver's words */
  error_message: string | null;
  fan_state: string;
  activity: Activity;
  /** Who has it whole, by `whirr run` or `whirr reserve`, and the first lease that has changed settings of it; empty where there is neither */
  leases: GpuLease[];
  /** Share of time a kernel was running */
  utilization_percent: number | null;
  /** Share of time memory was being read or written (bandwidth, not how full it is) */
  memory_utilization_percent: number | null;
  /** Utilization times power draw as a share of the power limit, for GPUs without unit counters (sm_active_percent) */
  effective_load_percent: number | null;
  /** Video encoder utilization */
  encoder_percent: number | null;
  /** Video decoder utilization */
  decoder_percent: number | null;
  /** JPEG decoder utilization */
  jpeg_percent: number | null;
  /** Optical flow accelerator utilization */
  ofa_percent: number | null;
  /** Share of time the graphics or compute engine was active */
  graphics_active_percent: number | null;
  /** Share of time a multiprocessor had work, averaged over all of them */
  sm_active_percent: number | null;
  /** Resident warps as a share of the maximum */
  sm_occupancy_percent: number | null;
  /** Share of time in which a tensor core was active */
  tensor_active_percent: number | null;
  /** Memory bandwidth used as a share of the peak */
  dram_active_percent: number | null;
  /** Share of time in which an integer pipe was active */
  integer_active_percent: number | null;
  /** Share of time in which an FP64 pipe was active */
  fp64_active_percent: number | null;
  /** Share of time in which an FP32 pipe was active */
  fp32_active_percent: number | null;
  /** Share of time in which an FP16 pipe was active */
  fp16_active_percent: number | null;
  /** Memory of the GPU */
  memory_total_mb: number | null;
  /** Memory in use by processes */
  memory_used_mb: number | null;
  /** Memory that can still be allocated */
  memory_free_mb: number | null;
  /** Memory reserved by the driver */
  memory_reserved_mb: number | null;
  /** Size of the window through which the host sees GPU memory (BAR1) */
  bar1_total_mb: number | null;
  /** Used part of that window */
  bar1_used_mb: number | null;
  /** Memory protected for confidential computing */
  protected_memory_total_mb: number | null;
  /** Protected memory in use */
  protected_memory_used_mb: number | null;
  /** Host memory that the GPU may use */
  gtt_total_mb: number | null;
  /** Host memory that the GPU uses */
  gtt_used_mb: number | null;
  /** Temperature of the chip */
  temperature_celsius: number | null;
  /** Temperature of the hottest spot on the chip */
  temperature_hotspot_celsius: number | null;
  /** Temperature of the memory */
  temperature_memory_celsius: number | null;
  /** Temperature at which the GPU starts throttling */
  temperature_limit_celsius: number | null;
  /** Temperature at which the GPU shuts down */
  temperature_shutdown_celsius: number | null;
  /** Maximum operating temperature */
  temperature_max_operating_celsius: number | null;
  /** Maximum operating temperature of the memory */
  temperature_memory_limit_celsius: number | null;
  /** Target temperature of the fan control */
  temperature_target_celsius: number | null;
  /** Degrees left before the GPU throttles */
  temperature_margin_celsius: number | null;
  /** Fan speed as a share of its maximum (the fastest fan) */
  fan_percent: number | null;
  /** Fan speed (the fastest fan) */
  fan_rpm: number | null;
  /** Fan speed requested by the GPU */
  fan_target_percent: number | null;
  /** Fan speed requested by the GPU, in rpm */
  fan_target_rpm: number | null;
  /** The fan stops while the GPU is cool (zero-rpm mode) */
  fan_zero_rpm: boolean | null;
  /** Temperature above which a fan in zero-rpm mode turns */
  fan_zero_rpm_stop_celsius: number | null;
  /** Fans that the GPU controls; 0 on passive GPUs */
  fan_count: number | null;
  /** Board power draw: of this instant where the driver knows it, else its average */
  power_watts: number | null;
  /** Power draw that no visible process explains: idle power, hidden processes, unknown shares */
  not_attributed_watts: number | null;
  /** Board power draw at this instant */
  power_instant_watts: number | null;
  /** Board power draw as the driver averages it, over a second on most GPUs */
  power_average_watts: number | null;
  /** Power draw of the memory */
  power_memory_watts: number | null;
  /** Power draw of the module (GPU and CPU on one board) */
  power_module_watts: number | null;
  /** Power limit of the module */
  power_module_limit_watts: number | null;
  /** Power limit in force */
  power_limit_watts: number | null;
  /** Requested power limit */
  power_limit_requested_watts: number | null;
  /** Default power limit */
  power_limit_default_watts: number | null;
  /** Lowest power limit that can be set */
  power_limit_min_watts: number | null;
  /** Highest power limit that can be set */
  power_limit_max_watts: number | null;
  /** Energy used since the driver was loaded */
  energy_joules: number | null;
  /** Core voltage */
  voltage_volts: number | null;
  /** Performance state, 0 is the fastest */
  performance_state: string | null;
  /** Graphics (shader) clock */
  clock_graphics_mhz: number | null;
  /** Multiprocessor clock */
  clock_sm_mhz: number | null;
  /** Memory clock */
  clock_memory_mhz: number | null;
  /** Video engine clock */
  clock_video_mhz: number | null;
  /** Maximum graphics clock */
  clock_graphics_max_mhz: number | null;
  /** Maximum multiprocessor clock */
  clock_sm_max_mhz: number | null;
  /** Maximum memory clock */
  clock_memory_max_mhz: number | null;
  /** Maximum video engine clock */
  clock_video_max_mhz: number | null;
  /** Highest graphics clock that can be set */
  clock_boost_max_mhz: number | null;
  /** Requested application graphics clock */
  clock_application_graphics_mhz: number | null;
  /** Requested application memory clock */
  clock_application_memory_mhz: number | null;
  /** Default application graphics clock */
  clock_application_graphics_default_mhz: number | null;
  /** Default application memory clock */
  clock_application_memory_default_mhz: number | null;
  /** Why the clocks are below what was requested */
  throttle_reasons: string[] | null;
  /** Time throttled by the power limit */
  throttle_power_seconds: number | null;
  /** Time throttled by heat */
  throttle_thermal_seconds: number | null;
  /** Time throttled to stay in sync with other GPUs */
  throttle_sync_boost_seconds: number | null;
  /** Current PCIe generation of the link */
  pcie_generation: number | null;
  /** Current PCIe lanes of the link */
  pcie_width: number | null;
  /** Maximum PCIe generation of GPU and slot */
  pcie_generation_max: number | null;
  /** Maximum PCIe lanes of GPU and slot */
  pcie_width_max: number | null;
  /** Maximum PCIe generation of the GPU alone */
  pcie_generation_card_max: number | null;
  /** PCIe traffic to the GPU */
  pcie_rx_bytes_per_second: number | null;
  /** PCIe traffic from the GPU */
  pcie_tx_bytes_per_second: number | null;
  /** PCIe packets that were resent (replays) */
  pcie_replays: number | null;
  /** PCIe replay counter rollovers */
  pcie_replay_rollovers: number | null;
  /** PCIe errors of the GPU that were corrected, as counted by the kernel (AER) */
  pcie_corrected_errors: number | null;
  /** PCIe errors of the GPU that could not be corrected, as counted by the kernel (AER), without requests that a device did not support */
  pcie_uncorrected_errors: number | null;
  /** NVLink traffic to the GPU, all links */
  nvlink_rx_bytes_per_second: number | null;
  /** NVLink traffic from the GPU, all links */
  nvlink_tx_bytes_per_second: number | null;
  /** NVLinks of the GPU */
  nvlink_links: number | null;
  /** NVLinks that are up */
  nvlink_links_active: number | null;
  /** Packets sent again, recoveries and CRC errors of all NVLinks */
  nvlink_errors: number | null;
  /** The NVLink with most of them */
  nvlink_worst_link: number | null;
  /** Packets that NVLinks sent again */
  nvlink_replays: number | null;
  /** Recoveries of NVLinks */
  nvlink_recoveries: number | null;
  /** CRC errors of flow control on NVLinks */
  nvlink_crc_flit_errors: number | null;
  /** CRC errors of data on NVLinks */
  nvlink_crc_data_errors: number | null;
  /** This vGPU has its license */
  vgpu_licensed: boolean | null;
  /** The chip-to-chip link to the CPU is on */
  c2c_enabled: boolean | null;
  /** The GPU has joined the NVLink fabric */
  fabric_ready: boolean | null;
  /** Clique of the NVLink fabric that the GPU belongs to */
  fabric_clique: number | null;
  /** Error correction is on */
  ecc_enabled: boolean | null;
  /** Error correction will be on after the next reset */
  ecc_enabled_pending: boolean | null;
  /** Corrected memory errors since the driver was loaded */
  ecc_corrected: number | null;
  /** Uncorrected memory errors since the driver was loaded */
  ecc_uncorrected: number | null;
  /** Corrected memory errors over the GPU's lifetime */
  ecc_corrected_lifetime: number | null;
  /** Uncorrected memory errors over the GPU's lifetime */
  ecc_uncorrected_lifetime: number | null;
  /** Corrected errors in the main memory since the driver was loaded */
  ecc_dram_corrected: number | null;
  /** Uncorrected errors in the main memory since the driver was loaded */
  ecc_dram_uncorrected: number | null;
  /** Corrected errors in caches and registers since the driver was loaded */
  ecc_sram_corrected: number | null;
  /** Parity errors in caches and registers since the driver was loaded */
  ecc_sram_uncorrected_parity: number | null;
  /** Double-bit errors in caches and registers since the driver was loaded */
  ecc_sram_uncorrected_secded: number | null;
  /** Corrected errors in the main memory over the GPU's lifetime */
  ecc_dram_corrected_lifetime: number | null;
  /** Uncorrected errors in the main memory over the GPU's lifetime */
  ecc_dram_uncorrected_lifetime: number | null;
  /** Corrected errors in caches and registers over the GPU's lifetime */
  ecc_sram_corrected_lifetime: number | null;
  /** Parity errors in caches and registers over the GPU's lifetime */
  ecc_sram_uncorrected_parity_lifetime: number | null;
  /** Double-bit errors in caches and registers over the GPU's lifetime */
  ecc_sram_uncorrected_secded_lifetime: number | null;
  /** The GPU should be replaced because of errors in its caches and registers */
  ecc_sram_threshold_exceeded: boolean | null;
  /** Uncorrected errors in the L2 cache over the GPU's lifetime */
  ecc_sram_uncorrected_l2_lifetime: number | null;
  /** Uncorrected errors in the multiprocessors over the GPU's lifetime */
  ecc_sram_uncorrected_sm_lifetime: number | null;
  /** Uncorrected errors in the microcontrollers over the GPU's lifetime */
  ecc_sram_uncorrected_mcu_lifetime: number | null;
  /** Uncorrected errors in the PCIe interface over the GPU's lifetime */
  ecc_sram_uncorrected_pcie_lifetime: number | null;
  /** Uncorrected errors in other places over the GPU's lifetime */
  ecc_sram_uncorrected_other_lifetime: number | null;
  /** A memory channel repair is pending until a reset */
  channel_repair_pending: boolean | null;
  /** A processing cluster repair is pending until a reset */
  tpc_repair_pending: boolean | null;
  /** Memory is broken beyond repair: the GPU should be replaced */
  unrepairable_memory: boolean | null;
  /** Memory pages retired for single-bit errors */
  retired_pages_single_bit: number | null;
  /** Memory pages retired for double-bit errors */
  retired_pages_double_bit: number | null;
  /** A page retirement is pending until a reboot */
  retired_pages_pending: boolean | null;
  /** Memory rows remapped for corrected errors */
  remapped_rows_corrected: number | null;
  /** Memory rows remapped for uncorrected errors */
  remapped_rows_uncorrected: number | null;
  /** A row remapping is pending until a reset */
  remapped_rows_pending: boolean | null;
  /** A row remapping failed: the GPU should be replaced */
  remapped_rows_failed: boolean | null;
  /** Memory banks with all spare rows left */
  remap_banks_max: number | null;
  /** Memory banks with most spare rows left */
  remap_banks_high: number | null;
  /** Memory banks with some spare rows left */
  remap_banks_partial: number | null;
  /** Memory banks with few spare rows left */
  remap_banks_low: number | null;
  /** Memory banks without spare rows */
  remap_banks_none: number | null;
  /** Whole memory banks that are remapped */
  bank_remap_active: number | null;
  /** Remapped memory banks that are not in use */
  bank_remap_inactive: number | null;
  /** A remapping of a memory bank is pending until a reset */
  bank_remap_pending: boolean | null;
  /** Groups of memory with all spare banks left */
  bank_remap_groups_max: number | null;
  /** Groups of memory without a spare bank */
  bank_remap_groups_none: number | null;
  /** Recovery action that the driver asks for: none, reset, reboot, drain, drain-and-reset, recover-imex-domain, bus-reset, system-reboot */
  recovery_action: string | null;
  /** Number of the last critical driver error (XID); absent if there was none */
  xid_last: number | null;
  /** The driver stays loaded without clients */
  persistence_mode: boolean | null;
  /** Who may compute: default, exclusive, prohibited */
  compute_mode: string | null;
  /** What the driver optimizes clocks for: adaptive, maximum-performance, auto, consistent-performance */
  power_mizer: string | null;
  /** The GPU is divided into instances */
  mig_enabled: boolean | null;
  /** The GPU will be divided into instances after the next reset */
  mig_enabled_pending: boolean | null;
  /** The GPU is driving a display */
  display_active: boolean | null;
  /** Active video encoding sessions */
  encoder_sessions: number | null;
  /** Frames encoded per second, mean of the sessions */
  encoder_frames_per_second: number | null;
  /** Time to encode a frame, mean of the sessions */
  encoder_latency_seconds: number | null;
  /** Active screen capture sessions */
  capture_sessions: number | null;
  /** Frames captured per second, mean of the sessions */
  capture_frames_per_second: number | null;
  /** Time to capture a frame, mean of the sessions */
  capture_latency_seconds: number | null;
  /** Multiprocessors, compute units or execution units */
  compute_units: number | null;
  /** The driver keeps statistics of ended processes */
  accounting_mode: boolean | null;
  /** The memory of the GPU is encrypted */
  dram_encryption: boolean | null;
  /** Several GPUs share the board */
  multi_gpu_board: boolean | null;
  /** Number of the device file (/dev/nvidia0) */
  device_minor: number | null;
  /** Position on the baseboard */
  module_id: number | null;
  /** MIG: the GPU instance it belongs to; instances with the same one share memory */
  gpu_instance_id: number | null;
  /** Slot of the tray in its rack */
  platform_slot: number | null;
  /** Number of the compute tray */
  platform_tray: number | null;
  /** Number of the host in its tray */
  platform_host: number | null;
  /** Kernel driver of the GPU */
  driver: string | null;
  /** Version of that driver */
  driver_version: string | null;
  /** Chip family */
  architecture: string | null;
  /** Product line */
  brand: string | null;
  /** Serial number */
  serial: string | null;
  /** Firmware version */
  vbios_version: string | null;
  /** Board part number */
  part_number: string | null;
  /** CUDA compute capability, or the gfx target */
  compute_capability: string | null;
  /** Version of the firmware on the GPU's own processor */
  gsp_firmware: string | null;
  /** Board that the GPU sits on: equal for GPUs that share one */
  board_id: string | null;
  /** Version of the GPU's own information image */
  inforom_version: string | null;
  /** How the GPU reaches host memory: none, hmm or ats */
  addressing_mode: string | null;
  /** Vendor and device number, "10de:2335" */
  pci_device_id: string | null;
  /** Subsystem vendor and device number */
  pci_subsystem_id: string | null;
  /** none, pass-through, vgpu, ... */
  virtualization: string | null;
  /** "dedicated", or "shared" where the GPU uses host memory */
  memory_kind: string | null;
  /** How utilization was measured where there are several ways */
  utilization_basis: string | null;
  /** Whose fan it is where the GPU has none of its own */
  fan_basis: string | null;
  /** Who controls the fan: "automatic" (the GPU's own curve), "manual" (a fixed setting), "firmware" (not the driver) */
  fan_control: string | null;
  /** Whose sensor it is where the GPU has none of its own */
  temperature_basis: string | null;
  /** null: they can't be seen */
  processes: Process[] | null;
  /** Beyond the limit of 1024 */
  processes_left_out: number;
  /** Exist, but may not be seen */
  processes_hidden: number;
  /** MIG instances and partitions: the same keys, and `profile` */
  instances: Gpu[];
  absent: Record<string, string>;
}

/** Of all GPUs, as far as they report it */
export interface Totals {
  memory_used_mb: number | null;
  memory_total_mb: number | null;
  power_watts: number | null;
  /** A process on several GPUs counts once */
  process_count: number | null;
  absent: Record<string, string>;
}

export interface Source {
  name: string;
  state: "off" | "ok" | "failing" | "set aside" | "hung" | "released" | "asleep";
  gpu_count: number;
  errors_total: number;
  consecutive_errors: number;
  init_failures_total: number;
  /** Impossible readings */
  implausible_total: number;
  /** Why it is not ok, in the driver's words */
  message: string | null;
}

export interface GpuEvent {
  kind: "xid" | "gpu_lost" | "gpu_back" | "ecc" | "source" | "other";
  gpu_index: number | null;
  /** Of a driver fault: the driver's number for it */
  code: number;
  text: string;
  timestamp: string | null;
}

/** The host and its best GPU in one flat object */
export interface Resources {
  /** null until a second sample */
  cpu_percent: number | null;
  available_memory_gb: number | null;
  memory_total_gb: number | null;
  cpu_count: number | null;
  load_average_1m: number | null;
  swap_total_gb: number | null;
  swap_used_gb: number | null;
  network_rx_bytes_per_second: number | null;
  network_tx_bytes_per_second: number | null;
  disk_read_bytes_per_second: number | null;
  disk_write_bytes_per_second: number | null;
  /** Of the busiest disk */
  disk_busy_percent: number | null;
  /** Of the busiest core */
  cpu_core_max_percent: number | null;
  cpu_temperature_c: number | null;
  cpu_pressure_percent: number | null;
  memory_pressure_percent: number | null;
  io_pressure_percent: number | null;
  memory_percent: number | null;
  /** Free VRAM of the best GPU, 0.0 without one or where its driver does not say */
  gpu_vram_gb: number;
  gpu_available: boolean;
  gpu_name: string | null;
  gpu_total_vram_gb: number | null;
  gpu_used_vram_gb: number | null;
  gpu_free_vram_gb: number | null;
  /** dedicated, or shared: then it is the host's memory */
  gpu_memory_kind: string | null;
  gpu_utilization_percent: number | null;
  gpu_temperature_c: number | null;
  gpu_source: string | null;
  gpu_count: number;
  gpu_simulated: boolean;
}

/** The host itself: every reading that it has */
export interface Machine {
  /** CPU utilization over all cores */
  cpu_percent: number | null;
  /** CPU utilization of the busiest core: at 100%, one thread can't go faster */
  cpu_core_max_percent: number | null;
  /** CPU time spent waiting for disks */
  cpu_iowait_percent: number | null;
  /** CPU time taken by the hypervisor for others */
  cpu_steal_percent: number | null;
  /** Online cores */
  cpu_count: number | null;
  /** Temperature of the hottest CPU package */
  cpu_temperature_celsius: number | null;
  /** Temperature of the air around the host, where a sensor is labeled ambient, inlet or intake */
  ambient_temperature_celsius: number | null;
  /** Load average of the last minute */
  load_average_1m: number | null;
  /** Power draw of the whole host, from a sensor of the board, the power supply or the platform */
  power_watts: number | null;
  /** Power draw of the CPU packages and their memory (RAPL) */
  cpu_power_watts: number | null;
  /** Memory of the host */
  memory_total_mb: number | null;
  /** Memory available to programs without swapping */
  memory_available_mb: number | null;
  /** Share of memory in use */
  memory_percent: number | null;
  /** Swap space */
  swap_total_mb: number | null;
  /** Swap space in use */
  swap_used_mb: number | null;
  /** Pages read back from swap */
  swap_in_pages_per_second: number | null;
  /** Pages written to swap */
  swap_out_pages_per_second: number | null;
  /** Bytes received, all network interfaces together, without loopback */
  network_rx_bytes_per_second: number | null;
  /** Bytes sent, all network interfaces together, without loopback */
  network_tx_bytes_per_second: number | null;
  /** Bytes read, all disks together */
  disk_read_bytes_per_second: number | null;
  /** Bytes written, all disks together */
  disk_write_bytes_per_second: number | null;
  /** Share of time the busiest disk was busy */
  disk_busy_percent: number | null;
  /** Share of the last 10 s in which some task was waiting for a CPU */
  cpu_pressure_percent: number | null;
  /** Share of the last 10 s in which some task was waiting for memory */
  memory_pressure_percent: number | null;
  /** Share of the last 10 s in which every task was waiting for memory */
  memory_stall_percent: number | null;
  /** Share of the last 10 s in which some task was waiting for a disk */
  io_pressure_percent: number | null;
  /** Share of the last 10 s in which every task was waiting for a disk */
  io_stall_percent: number | null;
  /** The host has mains power supplies, and none of them is connected */
  on_battery: number | null;
  /** A governor holds the CPU at its lowest clocks (powersave of acpi-cpufreq and its like) */
  cpu_clocks_held_low: number | null;
  /** InfiniBand ports with a link */
  infiniband_ports_up: number | null;
  /** InfiniBand ports that had a link and have none, until they are forgotten (whirr forget) */
  infiniband_ports_lost: number | null;
  /** InfiniBand ports with a rate below that of other ports of the same model, or below their own of before */
  infiniband_ports_slow: number | null;
  /** Links that InfiniBand ports have lost, also those that came back; 0 after an hour without */
  infiniband_link_losses: number | null;
  /** Packets that RDMA ports sent again: lost, not answered in time, or not awaited */
  rdma_retries_per_second: number | null;
  /** Congestion notices (CNPs) that RDMA ports sent or obeyed */
  rdma_congestion_notices_per_second: number | null;
  /** Packets that came to RDMA ports out of order */
  rdma_out_of_order_per_second: number | null;
  absent: Record<string, string>;
}

/** Everything known about all GPUs */
export interface Metrics {
  timestamp: string;
  host: string | null;
  /** Those in use */
  sources: string[];
  gpus: Gpu[];
  /** NPUs and accelerators, with a `kind`; in no sum of GPUs */
  accelerators: Gpu[];
  totals: Totals;
  driver: Driver;
  source_status: Source[];
  /** What happened to the GPUs since the last sample */
  events: GpuEvent[];
  /** Of the first finding; null: not judged */
  severity: "info" | "notice" | "warning" | "critical" | null;
  /** The most important first */
  findings: Finding[];
  resources: Resources;
  machine: Machine;
}

export interface Notifier {
  /** Of the table [notify.NAME] */
  name: string;
  type:
    | "webhook"
    | "slack"
    | "discord"
    | "ntfy"
    | "alertmanager"
    | "command"
    | "email"
    | "telegram"
    | "gotify"
    | "pushover"
    | "matrix"
    | "desktop"
    | "mqtt";
  target: string;
  state: "idle" | "waiting" | "sending" | "retrying";
  /** Notices that wait */
  queued: number;
  /** Notices that arrived */
  sent_total: number;
  /** Notices that were given up */
  failed_total: number;
  /** Messages, with and without success */
  attempts_total: number;
  /** Messages that did not arrive */
  errors_total: number;
  /** Notices that wait for the end of quiet hours or for a digest */
  held: number;
  /** When the first of them is sent */
  held_until: string | null;
  /** Quiet hours, as they are set: `22:00-07:00 info,warning` */
  quiet: string[];
  /** Times of digests, as they are set: `08:00` */
  digest: string[];
  last_sent_at: string | null;
  next_try_at: string | null;
  /** null: the last message arrived */
  last_error: string | null;
}

export interface Notifiers {
  notifiers: Notifier[];
}

/** Something that happened */
export interface PastEvent {
  id: number;
  at: string;
  host: string;
  gpu_index: number | null;
  kind: string;
  severity: string;
  code: number | null;
  text: string | null;
  /** More, depending on the kind; null: nothing */
  data: unknown;
}

/** What happened */
export interface PastEvents {
  /** null: from the beginning */
  since: string | null;
  until: string;
  events: PastEvent[];
  count: number;
  /** null on the last page */
  next_cursor: string | null;
  /** Whether a GPU of that time was a simulated one */
  simulated: boolean;
}

/** Consecutive minutes in which the same thing limited a process */
export interface LimitStretch {
  life: number;
  host: string;
  gpu_index: number;
  since: string;
  until: string;
  code:
    | "compute"
    | "compute_no_tensor"
    | "memory_bandwidth"
    | "power"
    | "heat"
    | "clocks"
    | "video"
    | "pcie_in"
    | "pcie_out"
    | "nvlink"
    | "spill"
    | "launch"
    | "compile"
    | "host_cpu"
    | "cpu_work"
    | "partly_on_cpu"
    | "allocation"
    | "loaders"
    | "cpu_quota"
    | "disk"
    | "network_fs"
    | "memory_pressure"
    | "numa"
    | "kernel_wait"
    | "straggler_wait"
    | "peer"
    | "other_programs"
    | "no_requests"
    | "none"
    | "cannot_tell";
  /** Behind "limited by" */
  words: string;
  /** What the process does meanwhile */
  doing: string;
  side: "none" | "gpu" | "link" | "host" | "others";
}

/** What limited processes, and when */
export interface PastLimits {
  /** null: from the beginning */
  since: string | null;
  until: string;
  stretches: LimitStretch[];
  count: number;
  /** False: there are more than `limit`; ask for a shorter time */
  complete: boolean;
}

/** One life of a process on a GPU */
export interface ProcessLife {
  /** Number of this life of a process on a GPU */
  life: number;
  host: string;
  gpu_index: number;
  gpu_uuid: string | null;
  pid: number;
  name: string | null;
  user: string | null;
  /** Masked */
  command: string | null;
  container: string | null;
  model: string | null;
  type: "compute" | "graphics" | "both" | null;
  started_at: string | null;
  first_seen: string;
  last_seen: string;
  ended: boolean;
  memory_peak_mb: number | null;
  memory_mean_mb: number | null;
  utilization_mean_percent: number | null;
  energy_joules: number;
  /** The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet */
  parked_joules: number | null;
  /** As in Process */
  short_name: string | null;
  /** It held memory for half an hour or more and did nothing */
  held_idle: boolean;
  simulated: boolean;
  /** What limited it in that time, the longest first; null where sums are of whole lives */
  limits: {
    code:
      | "compute"
      | "compute_no_tensor"
      | "memory_bandwidth"
      | "power"
      | "heat"
      | "clocks"
      | "video"
      | "pcie_in"
      | "pcie_out"
      | "nvlink"
      | "spill"
      | "launch"
      | "compile"
      | "host_cpu"
      | "cpu_work"
      | "partly_on_cpu"
      | "allocation"
      | "loaders"
      | "cpu_quota"
      | "disk"
      | "network_fs"
      | "memory_pressure"
      | "numa"
      | "kernel_wait"
      | "straggler_wait"
      | "peer"
      | "other_programs"
      | "no_requests"
      | "none"
      | "cannot_tell";
    words: string;
    /** Of its minutes that were judged */
    share_percent: number;
  }[] | null;
}

/** Who used the GPUs */
export interface ProcessHistory {
  /** null: from the beginning */
  since: string | null;
  until: string;
  sums_of: string;
  processes: ProcessLife[];
  /** Per GPU, the energy of that time that no visible process explains. Empty when only some processes were asked for, or sums are of whole lives */
  not_attributed: {
    host: string;
    gpu_index: number;
    gpu_uuid: string | null;
    energy_joules: number;
  }[];
  count: number;
  /** null on the last page */
  next_cursor: string | null;
  /** Whether a GPU of that time was a simulated one */
  simulated: boolean;
}

export interface Placement {
  /** null: unknown, because the driver doesn't report enough */
  fits: boolean | null;
  /** Without an eviction */
  fits_now: boolean | null;
  /** Indexes of the GPUs to use */
  gpus: number[];
  reason: string;
  /** 0 when it fits */
  missing_mb: number | null;
  /** Workers of the guard that would have to go first */
  would_evict: string[];
  evictions: {
    worker: string;
    gpu_index: number;
    memory_mb: number;
  }[];
  /** Of one copy, with what each GPU needs besides */
  size_mb: number;
  size_bytes: number;
  count: number;
  /** One a copy */
  placements: {
    gpus: {
      gpu_index: number;
      /** Number of a MIG instance; null: the whole GPU */
      instance: number | null;
      uuid: string | null;
      name: string | null;
      simulated: boolean;
      memory_mb: number;
      available_mb: number | null;
      layers: number | null;
      absent: Record<string, string>;
    }[];
    /** Environment of a program that is to use these GPUs */
    env: Record<string, string>;
  }[];
  /** Only with `whirr fit FILE` */
  model: {
    path: string;
    format: string;
    architecture: string | null;
    name: string | null;
    tensor_count: number;
    /** The longest that it was made for */
    context_length: number | null;
    layers: number;
    /** On the GPUs */
    weights_mb: number;
    /** What stays in host memory */
    host_memory_mb: number;
    /** Tokens that were counted with */
    context: number;
    /** null: the files do not say enough */
    cache_mb: number | null;
    compute_mb_per_gpu: number | null;
    overhead_mb_per_gpu: number;
    /** false: the sizes are a lower bound */
    complete: boolean;
    /** What was assumed or is missing */
    notes: string | null;
    cache_type: string | null;
  } | null;
}

export interface Processes {
  /** Empty with a reason in `absent` where the processes of no GPU could be looked at */
  processes: ProcessOnGpu[];
  /** GPUs whose processes could not be looked at */
  not_listed: {
    gpu_index: number;
    reason: string;
    message: string | null;
  }[];
  /** Why the list is empty or not whole: nothing runs, no GPU, no driver, no permission, memory that no visible process holds; null where it is whole and has rows */
  answer: string | null;
  /** Per GPU, the power that no visible process explains: idle power, hidden processes, unknown shares. Empty when only some processes were asked for */
  not_attributed: {
    gpu_index: number;
    power_watts: number | null;
    absent: Record<string, string>;
  }[];
  count: number;
  /** Exist, but may not be seen */
  hidden: number;
  timestamp: string | null;
  absent: Record<string, string>;
}

/** A process on a GPU at a moment of the past; means of its minute */
export interface ProcessThen {
  gpu_index: number;
  pid: number;
  name: string | null;
  /** As in Process */
  short_name: string | null;
  user: string | null;
  container: string | null;
  /** Masked */
  command: string | null;
  memory_mb: number | null;
  utilization_percent: number | null;
}

/** A time in which nothing was stored */
export interface HistoryGap {
  /** The last sample before; null: none */
  since: string | null;
  /** The first sample after; null: none */
  until: string | null;
  /** The daemon was started at the end of it */
  not_running: boolean;
  text: string;
}

/** What an explanation of a moment of the past has beside that of now */
export interface WhyThen {
  at: string;
  /** Whose */
  host: string | null;
  /** What is left of that time */
  detail: "samples" | "minutes" | "hours" | null;
  /** What the answer lacks */
  note: string | null;
  /** Who was on the GPUs */
  processes: ProcessThen[];
  /** Why nothing is known; null: something is */
  gap: HistoryGap | null;
}

export interface RemedyExpected {
  /** By how much it changes */
  fan_percent: number | null;
  power_watts: number | null;
  temperature_celsius: number | null;
  clock_graphics_mhz: number | null;
  tokens_per_second: number | null;
  /** own_history: a step of this GPU; siblings: of another GPU of its model */
  source: "own_history" | "siblings";
  /** When that step was measured */
  seen_at: string | null;
}

export interface Remedy {
  /** For `whirr do` */
  number: number;
  code: string;
  /** Code of the finding that it is about */
  root: string;
  /** setting, env, server_api, hint or physical; `whirr do` makes settings */
  kind: string;
  /** A sentence */
  text: string;
  /** To paste */
  command: string | null;
  /** Who may: control (root, or through whirr-control), owner of the program, administrator, anyone */
  who: string;
  /** Programs on the GPU that notice it */
  affects: string[];
  /** From measured steps; null: not known */
  expected: RemedyExpected | null;
  cost: string | null;
  /** How it is taken back */
  undo: string | null;
}

/** Energy and where it comes from */
export interface ReportEnergy {
  /** That are stored */
  hours: number;
  /** With more than idle load */
  busy_hours: number;
  energy_joules: number;
  energy_kwh: number;
  /** The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet */
  parked_kwh: number | null;
  cost: number | null;
  /** By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time */
  co2_grams: number | null;
  /** From the GPU's own counter */
  counter_joules: number;
  /** From power readings over time */
  integrated_joules: number;
  /** Given to processes */
  attributed_joules: number;
  /** Not explained by any visible process */
  not_attributed_joules: number;
  /** Old name of not_attributed_joules */
  unattributed_joules: number;
  energy_from: string | null;
}

export interface ReportGpu {
  gpu_index: number;
  gpu_name: string | null;
  gpu_uuid: string | null;
  /** Mean */
  utilization_percent: number | null;
  temperature_max_celsius: number | null;
  /** That are stored */
  hours: number;
  /** With more than idle load */
  busy_hours: number;
  energy_joules: number;
  energy_kwh: number;
  /** The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet */
  parked_kwh: number | null;
  cost: number | null;
  /** By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time */
  co2_grams: number | null;
  /** From the GPU's own counter */
  counter_joules: number;
  /** From power readings over time */
  integrated_joules: number;
  /** Given to processes */
  attributed_joules: number;
  /** Not explained by any visible process */
  not_attributed_joules: number;
  /** Old name of not_attributed_joules */
  unattributed_joules: number;
  energy_from: string | null;
}

/** What a user, container or command used */
export interface ReportRow {
  kind: string;
  /** User, container or command; null: none, or not known */
  name: string | null;
  /** On GPUs; several processes on one GPU at once count once */
  hours: number | null;
  busy_hours: number | null;
  memory_gib_hours: number | null;
  /** Held without computing */
  idle_gib_hours: number | null;
  /** Of one process */
  memory_peak_mb: number | null;
  processes: number | null;
  energy_joules: number;
  energy_kwh: number;
  /** The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet */
  parked_kwh: number | null;
  cost: number | null;
  /** By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time */
  co2_grams: number | null;
  /** Of the GPUs' energy */
  share_percent: number;
}

export interface ReportModel {
  kind: string;
  /** User, container or command; null: none, or not known */
  name: string | null;
  /** On GPUs; several processes on one GPU at once count once */
  hours: number | null;
  busy_hours: number | null;
  memory_gib_hours: number | null;
  /** Held without computing */
  idle_gib_hours: number | null;
  /** Of one process */
  memory_peak_mb: number | null;
  processes: number | null;
  energy_joules: number;
  energy_kwh: number;
  /** The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet */
  parked_kwh: number | null;
  cost: number | null;
  /** By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time */
  co2_grams: number | null;
  /** Of the GPUs' energy */
  share_percent: number;
  /** What its servers generated, by their own counters; null: they did not say */
  generated_tokens: number | null;
  /** Tokens of prompts that its servers read */
  prompt_tokens: number | null;
  /** Generated tokens over the energy of its processes while these were counted */
  tokens_per_joule: number | null;
  /** Tokens of prompts over the same energy, which is that of both */
  prompt_tokens_per_joule: number | null;
  /** The same energy for a thousand generated tokens */
  joules_per_thousand_tokens: number | null;
  /** That its servers answered, by their own counters */
  requests: number | null;
  /** The same energy for one of these */
  joules_per_request: number | null;
  /** Energy for a million generated tokens at the price per kWh */
  cost_per_million_tokens: number | null;
}

export interface ReportLimit {
  kind: string;
  /** User, container or command; null: none, or not known */
  name: string | null;
  /** On GPUs; several processes on one GPU at once count once */
  hours: number | null;
  busy_hours: number | null;
  memory_gib_hours: number | null;
  /** Held without computing */
  idle_gib_hours: number | null;
  /** Of one process */
  memory_peak_mb: number | null;
  processes: number | null;
  energy_joules: number;
  energy_kwh: number;
  /** The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet */
  parked_kwh: number | null;
  cost: number | null;
  /** By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time */
  co2_grams: number | null;
  /** Of the GPUs' energy */
  share_percent: number;
  /** In plain words, behind "limited by" */
  words: string | null;
  /** Where the limit lies */
  side: string | null;
}

/** Who used the GPUs, for how long, with how much energy, and what it cost */
export interface Report {
  /** null: from the beginning of a history that has none */
  since: string | null;
  until: string;
  host: string | null;
  answer: string;
  simulated: boolean;
  price_per_kwh: number | null;
  hot_celsius: number;
  currency: string | null;
  totals: ReportEnergy;
  gpus: ReportGpu[];
  users: ReportRow[];
  containers: ReportRow[];
  /** By pod of Kubernetes, NAMESPACE/POD; a name of null: none */
  pods: ReportRow[];
  /** By Slurm job; a name of null: none */
  jobs: ReportRow[];
  commands: ReportRow[];
  /** By the model that a process's command line names; a name of null: none */
  models: ReportModel[];
  /** By what limited the processes: each minute of a process counts for the limit that held the longest in it; a name of null: not judged */
  limits: ReportLimit[];
  /** Who held memory without computing, most first */
  idle_memory: {
    gpu_index: number;
    pid: number;
    name: string | null;
    /** As in Process */
    short_name: string | null;
    user: string | null;
    container: string | null;
    /** Masked */
    command: string | null;
    hours: number;
    gib_hours: number;
    /** What the GPU drew meanwhile, while no process computed on it: its idle power for so long, shared by memory with others who held some; null: power is not known */
    energy_kwh: number | null;
    cost: number | null;
    since: string;
    until: string;
  }[];
  /** The longest first */
  hot_spells: {
    gpu_index: number;
    since: string;
    until: string;
    duration_seconds: number;
    /** 60, or 3600 where only hours are kept: then it was hot at some time within the span, which is the most it can have lasted */
    resolution_seconds: number;
    temperature_max_celsius: number;
    /** Part of it in which the GPU was throttling, by heat or by power */
    slowed_percent: number;
    /** That was given most of the energy */
    process: string | null;
    user: string | null;
  }[];
  /** What was found in the time, from notice on: once for each kind on each GPU, the worst first */
  findings: {
    code: string;
    /** null: about the host */
    gpu_index: number | null;
    /** At its worst */
    severity: "info" | "notice" | "warning" | "critical";
    /** At its worst */
    headline: string;
    times: number;
    /** Of all of them together */
    duration_seconds: number;
    since: string;
    until: string;
  }[];
  /** GPUs that users held by leases, most hours first. Hours are those of GPUs; `used_hours`: programs ran under them, of those that have ended */
  leases: {
    user: string;
    leases: number;
    /** Of them not ended yet */
    open: number;
    hours: number;
    used_hours: number;
  }[];
  /** What processes used before that is not kept any more */
  processes_from: string | null;
  missing_seconds: number;
  gaps: HistoryGap[];
}

export interface Cause {
  code: string;
  text: string;
  confidence: number;
  /** The same in words */
  likelihood: string;
  evidence: string[];
  pid: number | null;
  process: string | null;
}

export interface WhyPart {
  answer: string;
  severity: "info" | "notice" | "warning" | "critical";
  /** Most likely first */
  causes: Cause[];
  /** What can be done about the roots, the most useful first */
  remedies: Remedy[];
  /** The sentences of the remedies, in their order */
  suggestions: string[];
}

export interface Episode {
  gpu_index: number;
  gpu_name: string | null;
  since: string;
  until: string;
  /** All times together */
  duration_seconds: number;
  /** How often it came; over days, the same work repeated is one episode */
  times: number;
  explained_at: string;
  pid: number | null;
  process: string | null;
  user: string | null;
  container: string | null;
  /** Mean */
  utilization_percent: number | null;
  temperature_max_celsius: number | null;
  /** Mean */
  power_watts: number | null;
  /** A sentence: what ended it; null where that is not known */
  ended_by: string | null;
  /** How much it matters; larger is more */
  weight: number;
  answer: string;
  severity: "info" | "notice" | "warning" | "critical";
  /** Most likely first */
  causes: Cause[];
  /** What can be done about the roots, the most useful first */
  remedies: Remedy[];
  /** The sentences of the remedies, in their order */
  suggestions: string[];
}

export interface PastChange {
  gpu_index: number;
  gpu_name: string | null;
  since: string;
  what:
    | "driver"
    | "firmware"
    | "kernel"
    | "bios"
    | "slot"
    | "lanes"
    | "generation"
    | "display"
    | "power_limit"
    | "persistence"
    | "clock"
    | "memory_clock";
  before: string;
  after: string;
  /** In words */
  text: string;
}

/** What happened in a time, by episodes */
export interface WhySpan {
  /** null: from the beginning of a history that has none */
  since: string | null;
  until: string;
  host: string | null;
  simulated: boolean;
  answer: string;
  note: string | null;
  gpu_count: number;
  /** How finely it was looked at */
  step_seconds: number;
  /** What is worth explaining, the most important first */
  episodes: Episode[];
  episodes_left_out: number;
  missing_seconds: number;
  gaps: HistoryGap[];
  /** What was changed on GPUs in that time, oldest first */
  changes: PastChange[];
}

/** The row that is served, broadcast and stored */
export interface StatsRow {
  gpu_index: number;
  gpu_name: string;
  temperature_celsius: number | null;
  power_watts: number | null;
  memory_used_mb: number | null;
  memory_total_mb: number | null;
  gpu_utilization_percent: number | null;
  memory_utilization_percent: number | null;
  gpu_uuid: string | null;
  simulated: boolean;
  recorded_at: string;
  /** Of a stored row */
  host?: string;
  absent: Record<string, string>;
}

/** The latest row of each GPU */
export interface Stats {
  gpus: StatsRow[];
  count: number;
}

/** Stored rows, oldest first */
export interface StatsHistory {
  rows: StatsRow[];
  /** Rows of this page */
  count: number;
  /** null on the last page */
  next_cursor: string | null;
}

export interface TopProcess {
  pid: number;
  name: string | null;
  /** As in Process */
  short_name: string;
  user: string | null;
  memory_mb: number | null;
  utilization_percent: number | null;
  absent: Record<string, string>;
}

export interface GpuSummary {
  index: number;
  name: string | null;
  vendor: string | null;
  state: "ok" | "asleep" | "error" | "lost";
  error_message: string | null;
  simulated: boolean;
  activity: Activity;
  utilization_percent: number | null;
  memory_used_mb: number | null;
  memory_total_mb: number | null;
  temperature_celsius: number | null;
  fan_percent: number | null;
  power_watts: number | null;
  power_limit_watts: number | null;
  /** The most important; null: nothing is known */
  finding: Finding | null;
  process_count: number | null;
  /** The process that explains the load best */
  top_process: TopProcess | null;
  absent: Record<string, string>;
}

export interface Summary {
  timestamp: string;
  host: string | null;
  /** Those in use */
  sources: string[];
  gpu_count: number;
  available: boolean;
  /** Why the fan runs, in a sentence */
  answer: string | null;
  /** Of the answer */
  severity: "info" | "notice" | "warning" | "critical" | null;
  /** The most important; null: nothing is known */
  finding: Finding | null;
  totals: Totals;
  gpus: GpuSummary[];
}

export interface WidgetGpu {
  gpu_index: number;
  gpu_name: string | null;
  /** critical: a GPU is lost or cannot be read; warning: one is thermal throttling */
  state: "no GPU" | "ok" | "warning" | "critical";
  /** Utilization, temperature and power, for people */
  text: string;
  utilization_percent: number | null;
  memory_used_percent: number | null;
  memory_used_gib: number | null;
  memory_total_gib: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  fan_percent: number | null;
  absent: Record<string, string>;
}

export interface Widget {
  host: string | null;
  answer: string | null;
  gpu_count: number;
  /** critical: a GPU is lost or cannot be read; warning: one is thermal throttling */
  state: "no GPU" | "ok" | "warning" | "critical";
  /** Utilization, temperature and power, for people */
  text: string;
  utilization_percent: number | null;
  memory_used_percent: number | null;
  memory_used_gib: number | null;
  memory_total_gib: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  fan_percent: number | null;
  gpus: WidgetGpu[];
  absent: Record<string, string>;
}

/** Every answer from 400 on */
export interface Error {
  error: {
    /** A word for programs */
    code: string;
    /** A sentence for people */
    message: string;
  };
}

export interface HighUsage {
  gpu_index: number;
  gpu_name: string;
  utilization_percent: number | null;
  limit_percent: number;
  /** Up to 5, the busiest first */
  processes: Process[];
  timestamp: string;
  absent: Record<string, string>;
}

export interface LiveStatus {
  connected: boolean;
  /** Those in use */
  sources: string[];
  interval_seconds: number;
  devices: Device[];
  summary: Summary;
}

export interface ScrapeTarget {
  targets: string[];
  labels: {
    host: string;
    __scheme__: string;
  };
}

export interface Remedies {
  /** The newest first */
  doings: RemedyDoing[];
  hits: RemedyHits[];
  /** The newest first */
  effects: Effect[];
}

/** What a client may do */
export interface Session {
  /** Whether requests that change something are accepted */
  may_act: boolean;
  /** Whether the cookie of a session is why; /logout ends it */
  signed_in: boolean;
  /** Of read, commands, silence, guard, control and admin; several with commas */
  roles: string;
}

export interface Released {
  /** False with 202: a call into the driver has not come back yet */
  released: boolean;
  for_seconds: number;
  until: string | null;
}

export interface Silenced {
  silence: Silence;
}

export interface Unsilenced {
  removed: string;
}

export interface Forgotten {
  gpu: InventoryGpu | null;
  part: InventoryPart | null;
}

export interface SettingLease {
  /** It puts the old value back */
  lease: Lease;
}

export interface StoreHealth {
  state: string;
  kind: string | null;
  /** The file, or the server without its password */
  place: string | null;
  /** Where the history was kept before `store.url` was changed: it is still there, and nothing was copied */
  previous_place: string | null;
  queued_rows: number;
  message: string | null;
  /** Damage was found in the SQLite file, which is looked through once at each start, for at most a minute; `message` says what to do */
  damaged: boolean;
  written_total: number;
  lost_total: number;
  /** How the clock stands to the time that the history has seen pass; unless trusted, nothing is deleted by it */
  clock: string;
  clock_offset_seconds: number;
  /** How much longer it has to stay this way to be trusted */
  clock_wait_seconds: number;
  cleanup_failures_total: number;
  used_bytes: number | null;
}

export interface PushTarget {
  name: string;
  /** refused: the last request was refused for good, and its samples are lost */
  state: string;
  samples_sent: number;
  samples_refused: number;
  samples_lost: number;
  samples_waiting: number;
  queue_bytes: number;
  last_sent_at: string | null;
  /** This host's clock against the receiver's, from the date of its answers; null: they have none */
  clock_ahead_seconds: number | null;
  message: string | null;
}

/** Databases that metrics are sent to */
export interface PushHealth {
  state: string;
  targets: PushTarget[];
}

export interface SettingsHealth {
  /** old: the last reload found mistakes, and the settings before it are in force */
  state: string;
  /** The first mistake */
  message: string | null;
}

/** The service itself; a host without a GPU is ok */
export interface Health {
  /** 503 with `error` */
  status: "ok" | "degraded" | "error";
  version: string;
  uptime_seconds: number;
  gpu_monitoring: {
    available: boolean;
    sources: Source[];
    samples_total: number;
    /** null: there was none yet */
    last_sample_at: string | null;
    sample_age_seconds: number | null;
  };
  server: {
    connections: number;
    requests_total: number;
  };
  store: StoreHealth;
  guard: GuardHealth;
  push: PushHealth;
  settings: SettingsHealth;
}

export interface Setting {
  key: string;
  /** A number, a text, a list or a table */
  value: unknown;
  origin: "default" | "profile" | "file" | "environment" | "flag";
  /** The file, the variable or the option */
  where: string | null;
  line: number | null;
  /** Whether a change takes effect at the next start only */
  needs_restart: boolean;
}

export interface Settings {
  /** Configuration files that were read */
  files: string[];
  settings: Setting[];
}

export interface Undo {
  /** For `whirr undo ID` and POST /api/undo */
  id: string;
  /** How it was changed */
  door: string;
  what: string;
  /** What it will be again */
  before: string | null;
  now: string | null;
  /** Who changed it, or why */
  by: string | null;
  since: string | null;
  /** null: until it is undone */
  until: string | null;
  /** The command for this alone */
  how: string;
  /** After POST /api/undo: what became of it */
  state: "undone" | "under_way" | "refused" | "dry_run" | null;
  /** Why it was refused */
  why_not: string | null;
}

export interface Changes {
  /** Newest first */
  changes: Undo[];
}

export interface Brief {
  /** Something a person notices: lost, throttling for heat, loud, hot, a fan */
  trouble: boolean;
  /** With trouble, what is wrong */
  headline: string | null;
  state: string | null;
  numbers: string | null;
  doing: string | null;
}

export interface IdleFinding {
  code:
    | "display"
    | "memory_clock"
    | "context"
    | "model"
    | "browser"
    | "video_decode"
    | "monitor"
    | "open_device"
    | "aspm"
    | "runtime_pm"
    | "persistence";
  text: string;
  pid: number | null;
  /** What it adds to the idle power, as measured in the history; null: not measured */
  watts: number | null;
}

export interface IdleAudit {
  answer: string;
  keeps_from_idling: IdleFinding[];
  /** Worth knowing */
  also: IdleFinding[];
  /** Looked at and not so */
  ruled_out: (
    | "display"
    | "memory_clock"
    | "context"
    | "model"
    | "browser"
    | "video_decode"
    | "monitor"
    | "open_device"
    | "aspm"
    | "runtime_pm"
    | "persistence"
  )[];
  /** Beyond what is usual when idle */
  excess_watts: number | null;
  /** Processes that could not be looked at */
  hidden_processes: number;
  suggestions: string[];
}

export interface WhyGpu {
  gpu_index: number;
  activity: Activity;
  /** The same in one line of a list, in parts: state, numbers: doing */
  brief: Brief;
  answer: string;
  severity: "info" | "notice" | "warning" | "critical";
  /** Most likely first */
  causes: Cause[];
  /** What can be done about the roots, the most useful first */
  remedies: Remedy[];
  /** The sentences of the remedies, in their order */
  suggestions: string[];
  usual: Usual | null;
  /** null: not asked for */
  idle: IdleAudit | null;
  /** Settings that are others than before the host was suspended, for a day after the resume; null: none */
  after_resume: string | null;
  gpu_name: string | null;
  /** What limits the processes on it */
  limits: {
    pid: number;
    process: string;
    limit: Limit;
  }[];
  /** The most important first */
  findings: Finding[];
  /** The areas that the judgement rests on */
  looked: (
    "errors" | "fan" | "heat" | "power" | "clocks" | "link" | "memory" | "work" | "idle" | "trust" | "host" | "limit"
  )[];
  /** What could not be looked at, the kernel log included */
  not_looked: string | null;
}

/** Why the fan is running, why the GPU is hot or slow */
export interface WhyNow {
  /** The sentence */
  answer: string;
  severity: "info" | "notice" | "warning" | "critical";
  /** Which GPU the sentence is about first; null: the host */
  gpu_index: number | null;
  /** What may be said where nothing was found: that nothing is unusual only where all was looked at; null where something was found, and without a GPU */
  calm: string | null;
  /** Of the sample that was explained; null: nothing was stored then */
  timestamp: string | null;
  simulated: boolean;
  gpus: WhyGpu[];
  /** The most important first */
  findings: Finding[];
  machine: WhyPart;
}
