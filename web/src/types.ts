// SPDX-License-Identifier: Apache-2.0
// The parts of the API that the page uses and that have no table yet (api.ts); /openapi.json describes all of it.
import type {
  Activity,
  Finding,
  HealthVerdict,
  Limit,
  Metrics as AllMetrics,
  Gpu as AnyGpu,
  Process,
  WhyNow,
  WhyPart,
} from "./api";

export type {
  Activity,
  Brief,
  Cause,
  Finding,
  GpuLease,
  GpuSummary,
  Limit,
  Process,
  RemedyDoing,
  RemedyValues,
  Summary,
  Undo as Held,
  WhyGpu,
  WhyPart,
} from "./api";

/** How a GPU is, now or in the past: what a change of it tells. */
export type GpuCondition = Pick<HealthVerdict, "gpu_index" | "gpu_name" | "state" | "reason" | "action" | "since">;

export type Num = number | null | undefined;

/** As the page keeps it: with its first finding; a list that could not be looked at is empty, and `absent` says so. */
export interface Gpu extends Omit<AnyGpu, "activity" | "processes"> {
  activity?: Activity; // undefined: of a moment that was not judged
  finding?: Finding | null; // undefined: not judged
  processes: Process[];
}

export interface Metrics extends Omit<AllMetrics, "gpus"> {
  gpus: Gpu[];
}

export interface SourceStatus {
  name: string;
  state: string;
  message: string | null;
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
