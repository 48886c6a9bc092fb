// SPDX-License-Identifier: Apache-2.0
// The courses of processes over the span on screen: what was stored before the page saw them, then its own samples.
import { useEffect, useState } from "preact/hooks";
import { get } from "./live";
import type { Column } from "./plots";
import * as ring from "./ring";
import type { Row } from "./rows";
import type { History } from "./types";

export type Metric = "utilization_percent" | "memory_mb";
export interface Course {
  times: number[];
  values: Column;
}
export type Courses = Map<string, History["series"][number]>;

const POINTS = 60,
  AGAIN = 60e3; // ms: of spans that the page's own samples do not cover
const keyOf = (r: { gpu: number; pid: number }) => `${r.gpu}-${r.pid}`;

/** One question after the other: a busy history refuses many at once. */
async function load(list: { gpu: number; pid: number }[], span: number, signal: AbortSignal): Promise<Courses> {
  const found: Courses = new Map();
  for (const r of list) {
    const query = `pid=${r.pid}&gpu=${r.gpu}&since=-${span}s&points=${POINTS}&metric=utilization_percent,memory_mb`;
    const answer = await get<History>(`/api/history?${query}`, signal).catch(() => null);
    if (signal.aborted) break;
    if (answer?.series[0]) found.set(keyOf(r), answer.series[0]);
  }
  return found;
}

export function useCourses(list: Row[], span: number, on: boolean, now: number): Courses {
  const [courses, setCourses] = useState<Courses>(new Map());
  const keys = list.map(keyOf).sort().join(),
    tick = span > ring.KEPT ? Math.floor(now / Math.max(AGAIN, (1000 * span) / POINTS)) : 0;
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    void load(list, span, stop.signal).then((found) => !stop.signal.aborted && setCourses(found));
    return () => stop.abort();
  }, [keys, span, on, tick]);
  return courses;
}

/** What is known of the last `span` seconds. */
export function courseOf(courses: Courses, r: { gpu: number; pid: number }, metric: Metric): Course | null {
  const stored = courses.get(keyOf(r)),
    seen = ring.course(r.gpu, r.pid, metric),
    first = seen ? (seen.times[seen.values.findIndex((v) => v != null)] ?? Infinity) : Infinity;
  const values = stored?.metrics.find((m) => m.name === metric)?.mean ?? [],
    before = stored ? stored.times.map((t, i) => [t, values[i] ?? null] as const).filter(([t]) => t < first) : [];
  if (!before.length && !seen) return null;
  return {
    times: [...before.map(([t]) => t), ...(seen?.times.filter((t) => t >= first) ?? [])],
    values: [...before.map(([, v]) => v), ...(seen ? seen.values.filter((_, i) => seen.times[i]! >= first) : [])],
  };
}
