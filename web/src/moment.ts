// SPDX-License-Identifier: Apache-2.0
// Reconstructs a moment from the history. Does not touch the document.
import { nearest } from "./model";
import type { Gpu, GpuCondition, History, Num, PastEvent, Series, Why } from "./types";

export const THEN = [
  "utilization_percent",
  "memory_used_mb",
  "temperature_celsius",
  "power_watts",
  "fan_percent",
  "fan_rpm",
  "clock_graphics_mhz",
];

const EMPTY = {
  uuid: null,
  vendor: "",
  simulated: false,
  memory_total_mb: null,
  temperature_limit_celsius: null,
  temperature_shutdown_celsius: null,
  power_limit_watts: null,
};

/** Values of all GPUs at a moment, combined with their present names and limits. Null: nothing was stored near it. */
export function gpusAt(now: Gpu[], history: History, why: Why, atSeconds: number): Gpu[] {
  const apart = (s: Series) => {
    const index = nearest(s.times, atSeconds);
    return index == null ? Infinity : Math.abs(s.times[index]! - atSeconds);
  };
  // An index may have belonged to another GPU before: the one of that time counts.
  const there = new Map<number, Series>();
  for (const s of history.series) {
    const other = there.get(s.gpu_index);
    if (!other || apart(s) < apart(other)) there.set(s.gpu_index, s);
  }
  return [...there.values()]
    .sort((a, b) => a.gpu_index - b.gpu_index)
    .map((series) => {
      const index = nearest(series.times, atSeconds);
      const near = apart(series) <= Math.max(120, 2 * history.step_seconds);
      const value = (name: string): Num => (near ? series.metrics.find((m) => m.name === name)?.mean[index!] : null);
      const known = now.find((g) =>
        series.gpu_uuid ? g.uuid === series.gpu_uuid : g.index === series.gpu_index && g.name === series.gpu_name,
      );
      const absent: Record<string, string> = {};
      const then = {} as Record<string, Num>;
      for (const name of THEN) {
        then[name] = value(name);
        if (then[name] == null) absent[name] = known?.absent[name] ?? "not stored";
      }
      const limit = value("power_limit_watts") ?? known?.power_limit_watts,
        total = value("memory_total_mb") ?? known?.memory_total_mb;
      return {
        ...EMPTY,
        simulated: why.simulated,
        ...known,
        ...then,
        power_limit_watts: limit,
        memory_total_mb: total,
        index: series.gpu_index,
        name: series.gpu_name ?? known?.name ?? null,
        state: near ? "ok" : "not stored",
        error_message: null,
        throttle_reasons: null,
        activity: undefined,
        finding: why.gpus.find((g) => g.gpu_index === series.gpu_index)?.findings?.[0],
        fan_state: "unknown",
        absent: { ...known?.absent, ...absent },
        processes: (why.processes ?? []).filter((p) => p.gpu_index === series.gpu_index),
        processes_left_out: 0,
        processes_hidden: 0,
      } as Gpu;
    });
}

/** The health at a moment: from the last change before it, or the previous state in the first change after it; otherwise as now,
 * if unchanged since. */
export function healthAt(now: GpuCondition[], events: PastEvent[], at: number): GpuCondition[] {
  const changes = events
    .filter((e) => e.kind === "health" && e.gpu_index != null && e.data)
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const gpus = new Set([...now.map((h) => h.gpu_index), ...changes.map((e) => e.gpu_index!)]);
  return [...gpus]
    .sort((a, b) => a - b)
    .flatMap((gpu) => {
      const own = changes.filter((e) => e.gpu_index === gpu),
        today = now.find((h) => h.gpu_index === gpu);
      const before = own.filter((e) => Date.parse(e.at) <= at).at(-1),
        after = own.find((e) => Date.parse(e.at) > at);
      if (before) return [{ ...(before.data as unknown as GpuCondition), since: before.at }];
      if (!after)
        return today && (today.state === "healthy" || (today.since && Date.parse(today.since) <= at)) ? [today] : [];
      const was = (after.data as { before?: GpuCondition["state"] }).before;
      return was && was !== "unknown"
        ? [{ gpu_index: gpu, gpu_name: today?.gpu_name ?? "", state: was, reason: "", action: "", since: null }]
        : [];
    });
}

/** The data of a moment; nothing from the present if nothing was stored then. */
export function pastAt(
  now: { gpus: Gpu[] | null; health: GpuCondition[] },
  history: History,
  why: Why,
  events: PastEvent[],
  at: number,
): { gpus: Gpu[]; health: GpuCondition[] } {
  return why.gap
    ? { gpus: [], health: [] }
    : { gpus: gpusAt(now.gpus ?? [], history, why, at / 1000), health: healthAt(now.health, events, at) };
}
