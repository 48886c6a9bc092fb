// SPDX-License-Identifier: Apache-2.0
// The parts of the API that the page uses and that have no table yet (api.ts); /openapi.json describes all of it.
import type {
  Activity,
  Finding,
  HealthVerdict,
  History as AnyHistory,
  HistorySeries,
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
  LimitStretch,
  PastEvent,
  Process,
  ProcessLife as Life,
  RemedyDoing,
  RemedyValues,
  Report,
  ReportRow,
  Session,
  Setting,
  Settings,
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

/** Of a GPU, or of processes on it, as the page asks for them and makes them of its samples. */
export interface Series extends Pick<HistorySeries, "times">, Partial<Pick<HistorySeries, "gpu_uuid">> {
  gpu_index: number;
  gpu_name: string;
  metrics: (Omit<HistorySeries["metrics"][number], "unit"> & { unit: string })[];
}

export interface History extends Pick<AnyHistory, "until"> {
  since: string;
  step_seconds: number;
  level: string;
  series: Series[];
}
