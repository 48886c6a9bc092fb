// SPDX-License-Identifier: Apache-2.0
// The parts of the API that the page uses and that have no table yet (api.ts); /openapi.json describes all of it.
import type { Activity, Finding, HealthVerdict, Limit, WhyNow, WhyPart } from "./api";

export type {
  Activity,
  Brief,
  Cause,
  Finding,
  Limit,
  RemedyDoing,
  RemedyValues,
  Undo as Held,
  WhyGpu,
  WhyPart,
} from "./api";

/** How a GPU is, now or in the past: what a change of it tells. */
export type GpuCondition = Pick<HealthVerdict, "gpu_index" | "gpu_name" | "state" | "reason" | "action" | "since">;

export type Num = number | null | undefined;

export interface Process {
  pid: number;
  name: string | null;
  command: string | null;
  user: string | null;
  type?: string;
  memory_mb: Num;
  utilization_percent: Num;
  power_watts?: Num;
  container: string | null;
  display_name?: string | null;
  short_name?: string | null; // what people call it
  container_name?: string | null;
  job?: string | null;
  rank?: number | null;
  world_size?: number | null;
  model?: string | null;
  started_at?: string | null;
  tokens_per_second?: Num; // from here on: a model server's own figures
  prompt_tokens_per_second?: Num;
  time_to_first_token_seconds?: Num;
  time_per_token_seconds?: Num;
  requests_running?: Num;
  requests_waiting?: Num;
  kv_cache_percent?: Num;
  prefix_cache_hit_percent?: Num;
  preemptions_per_second?: Num;
  image_jobs?: Num;
  limit?: Limit | null;
  absent?: Record<string, string>;
}

export interface GpuLease {
  id: string;
  user: string;
  reserved: boolean;
  changes: string | null;
  until: string | null;
}

export interface Gpu {
  activity?: Activity;
  finding?: Finding | null; // the first; undefined: not judged
  index: number;
  uuid: string | null;
  name: string | null;
  vendor: string;
  simulated: boolean;
  state: string;
  error_message: string | null;
  utilization_percent: Num;
  memory_used_mb: Num;
  memory_total_mb: Num;
  temperature_celsius: Num;
  temperature_limit_celsius: Num;
  temperature_shutdown_celsius: Num;
  fan_percent: Num;
  fan_rpm: Num;
  fan_state: string;
  power_watts: Num;
  power_limit_watts: Num;
  clock_graphics_mhz: Num;
  clock_graphics_max_mhz?: Num;
  throttle_reasons: string[] | null;
  sm_active_percent?: Num;
  leases?: GpuLease[];
  processes: Process[];
  processes_left_out: number;
  processes_hidden: number;
  absent: Record<string, string>;
}

export interface SourceStatus {
  name: string;
  state: string;
  message: string | null;
}

export interface Metrics {
  timestamp: string;
  host: string;
  gpus: Gpu[];
  findings?: Finding[];
  source_status: SourceStatus[];
}

export interface GpuSummary {
  finding?: Finding | null;
  activity?: Activity;
  index: number;
  state: string;
  error_message: string | null;
  utilization_percent: Num;
  memory_used_mb: Num;
  memory_total_mb: Num;
  temperature_celsius: Num;
  fan_percent: Num;
  power_watts: Num;
  power_limit_watts: Num;
}

export interface Summary {
  timestamp: string;
  host: string;
  gpus: GpuSummary[];
  answer: string | null;
  severity?: Severity | null;
}

export type Severity = "critical" | "warning" | "notice" | "info";
export interface Gap {
  since: string | null;
  until: string | null;
  text: string;
}

/** With what is said of the past only. */
export interface Why extends WhyNow {
  at?: string;
  detail?: string;
  note?: string | null;
  gap?: Gap | null;
  processes?: (Process & { gpu_index: number })[];
}

export interface Episode extends WhyPart {
  gpu_index: number;
  gpu_name: string;
  since: string;
  until: string;
  duration_seconds: number;
  times: number;
  process: string | null;
  user: string | null;
}

export interface WhySpan {
  since: string;
  until: string;
  answer: string;
  note: string | null;
  episodes: Episode[];
  gaps: Gap[];
}

export interface Series {
  gpu_index: number;
  gpu_name: string;
  gpu_uuid?: string | null;
  times: number[];
  metrics: { name: string; unit: string; mean: Num[]; min: Num[]; max: Num[] }[];
}

export interface History {
  since: string;
  until: string;
  step_seconds: number;
  level: string;
  series: Series[];
}

export interface PastEvent {
  id: number;
  at: string;
  gpu_index: number | null;
  kind: string;
  severity: string;
  text: string | null;
  data?: Record<string, unknown> | null;
}

export interface ReportRow {
  kind?: string;
  name: string | null; // null: idle, or not attributed
  hours: Num;
  busy_hours: Num;
  energy_joules: number;
  energy_kwh: number;
  cost: Num;
  share_percent: Num;
}

export interface Life {
  life: number; // identifies a run
  pid: number;
  gpu_index: number;
  name: string | null;
  short_name?: string | null;
  user: string | null;
  type: string | null;
  first_seen: string;
  last_seen: string;
  ended: boolean;
  utilization_mean_percent: Num;
  memory_peak_mb: Num;
  energy_joules: Num;
  held_idle: boolean; // as the daemon judges it
}

/** Consecutive minutes in which the same thing limited a process. */
export interface LimitStretch {
  life: number;
  gpu_index: number;
  since: string;
  until: string;
  code: Limit["code"];
  words: string; // follows "limited by"
  doing: string;
  side: string;
}

export interface Report {
  answer: string;
  currency: string | null;
  price_per_kwh: Num;
  totals: { energy_joules: number; energy_kwh: number; cost: Num; busy_hours: number; hours: number };
  users: ReportRow[];
  containers: ReportRow[];
  models: ReportRow[];
  commands: ReportRow[];
}

export interface Session {
  may_act: boolean;
  signed_in: boolean; // by a cookie
  roles: string; // "guard,silence"
}

export interface Setting {
  key: string;
  value: unknown;
  origin: string;
  where: string | null;
  line: number | null;
  needs_restart: boolean;
}
export interface Settings {
  files: string[];
  settings: Setting[];
}
