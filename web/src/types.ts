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
  ProcessThen,
  WhyNow,
  WhyThen,
} from "./api";

export type {
  Activity,
  Brief,
  Cause,
  Episode,
  Finding,
  GpuLease,
  GpuSummary,
  HistoryGap as Gap,
  Limit,
  Process,
  RemedyDoing,
  RemedyValues,
  Report,
  ReportRow,
  Summary,
  Undo as Held,
  WhyGpu,
  WhyPart,
  WhySpan,
} from "./api";

/** How a GPU is, now or in the past: what a change of it tells. */
export type GpuCondition = Pick<HealthVerdict, "gpu_index" | "gpu_name" | "state" | "reason" | "action" | "since">;

export type Num = number | null | undefined;

/** As the page keeps it: with its first finding; a list that could not be looked at is empty, and `absent` says so. */
export interface Gpu extends Omit<AnyGpu, "activity" | "processes"> {
  activity?: Activity; // undefined: of a moment that was not judged
  finding?: Finding | null; // undefined: not judged
  processes: Seen[];
}

/** A process, now or in the past, of which less is known. */
export type Seen = Pick<Process, keyof ProcessThen & keyof Process> & Partial<Process>;

export interface Metrics extends Omit<AllMetrics, "gpus"> {
  gpus: Gpu[];
}

export interface SourceStatus {
  name: string;
  state: string;
  message: string | null;
}

export type Severity = "critical" | "warning" | "notice" | "info";
/** Of now; of a moment of the past with more, and without the findings of its processes. */
export type Why = WhyNow & Partial<WhyThen>;

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
