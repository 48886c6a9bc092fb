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
}

export interface Devices {
  devices: Device[];
  count: number;
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
  /** The old name of `method`, until 0.3 */
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

/** The GPUs that this host should have */
export interface Inventory {
  /** All that were ever seen here, or were forgotten within 30 days */
  gpus: InventoryGpu[];
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

export interface Brief {
  /** Something a person notices: lost, throttling for heat, loud, hot, a fan */
  trouble: boolean;
  /** With trouble, what is wrong */
  headline: string | null;
  state: string | null;
  numbers: string | null;
  doing: string | null;
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
