// SPDX-License-Identifier: Apache-2.0
// What the page itself has seen: the last quarter of an hour of every GPU and process, in the shape of a history answer. Works
// without a history, which otherwise fills in the time before the page was opened.
import { limitOf } from "./limit";
import { type Column, type Layer, pace } from "./plots";
import type { Gpu, History, Num, Series } from "./types";

export const KEPT = 900; // seconds
export const LIVE = [
  "utilization_percent",
  "memory_used_mb",
  "power_watts",
  "temperature_celsius",
  "fan_percent",
  "clock_graphics_mhz",
] as const;
const OF_PROCESS = ["utilization_percent", "memory_mb", "power_watts"] as const;

interface Track {
  gpu: number;
  name: string;
  columns: Record<string, Column>;
  limits?: (string | null)[];
}

/** Columns over a common list of times. A new column is empty before its first value. */
class Book {
  times: number[] = [];
  tracks = new Map<string, Track>();

  add(
    at: number,
    rows: { key: string; gpu: number; name: string; values: Record<string, Num>; limit?: string | null }[],
  ) {
    if (this.times.length && at <= this.times.at(-1)!) return;
    const count = this.times.push(at);
    for (const r of rows) {
      let track = this.tracks.get(r.key);
      if (!track) this.tracks.set(r.key, (track = { gpu: r.gpu, name: r.name, columns: {}, limits: [] }));
      for (const [metric, v] of Object.entries(r.values)) {
        const column = (track.columns[metric] ??= []);
        while (column.length < count - 1) column.push(null);
        column.push(v ?? null);
      }
      while (track.limits!.length < count - 1) track.limits!.push(null);
      track.limits!.push(r.limit ?? null);
    }
    for (const track of this.tracks.values()) {
      for (const column of Object.values(track.columns)) if (column.length < count) column.push(null);
      if (track.limits!.length < count) track.limits!.push(null);
    }
    if (this.times[0]! < at - 1.2 * KEPT) this.trim(at - KEPT);
  }

  /** Not with every sample: moving everything is expensive. */
  private trim(from: number) {
    const gone = this.times.findIndex((t) => t >= from);
    this.times.splice(0, gone);
    for (const [key, track] of this.tracks) {
      for (const column of Object.values(track.columns)) column.splice(0, gone);
      track.limits!.splice(0, gone);
      if (Object.values(track.columns).every((c) => c.every((v) => v == null))) this.tracks.delete(key);
    }
  }

  clear() {
    this.times = [];
    this.tracks.clear();
  }
}

const gpus = new Book(),
  processes = new Book();
let step = 1, // seconds between samples
  coarse = 0, // the same for the filled-in part
  filledTo = 0; // end of the filled-in part
export let opened = 0; // seconds: when the page saw its first sample

const gpuRows = (list: Gpu[]) =>
  list.map((g) => ({
    key: String(g.index),
    gpu: g.index,
    name: g.name ?? "",
    values: Object.fromEntries(LIVE.map((m) => [m, g.state === "ok" ? g[m] : null])),
    limit: limitOf(g),
  }));

export function push(ms: number, list: Gpu[], interval: number): void {
  step = interval;
  opened ||= ms / 1000;
  gpus.add(ms / 1000, gpuRows(list));
}

export function pushProcesses(ms: number, list: Gpu[]): void {
  processes.add(
    ms / 1000,
    list.flatMap((g) =>
      g.processes.map((p) => ({
        key: `${g.index}/${p.pid}`,
        gpu: g.index,
        name: p.short_name ?? p.display_name ?? p.name ?? String(p.pid),
        values: Object.fromEntries(OF_PROCESS.map((m) => [m, p[m]])),
      })),
    ),
  );
}

/** Fills in what was stored before the page's first sample, and while it saw none. */
export function fill(h: History): void {
  const seen = gpus.times,
    kept = [...gpus.tracks.values()],
    have = (t: number) => {
      let low = 0,
        high = seen.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (seen[middle]! < t) low = middle + 1;
        else high = middle;
      }
      return (
        Math.min(Math.abs((seen[low] ?? Infinity) - t), Math.abs(t - (seen[low - 1] ?? -Infinity))) <= h.step_seconds
      );
    };
  const points = new Map<number, Map<number, Record<string, Num>>>(); // by time, by GPU
  for (const s of h.series)
    s.times.forEach((t, i) => {
      if (have(t)) return;
      const at = points.get(t) ?? new Map<number, Record<string, Num>>();
      at.set(s.gpu_index, Object.fromEntries(s.metrics.map((m) => [m.name, m.mean[i]])));
      points.set(t, at);
    });
  coarse = h.series[0] ? pace(h.series[0], h.step_seconds) : h.step_seconds;
  for (const t of points.keys()) filledTo = Math.max(filledTo, t);
  if (!points.size) return;
  const names = new Map<number, string>([...h.series.map((s) => [s.gpu_index, s.gpu_name] as [number, string])]);
  const old = seen.map((t, i) => ({
    t,
    rows: kept.map((k) => ({
      key: String(k.gpu),
      gpu: k.gpu,
      name: k.name,
      values: Object.fromEntries(LIVE.map((m) => [m, k.columns[m]?.[i]])),
      limit: k.limits![i],
    })),
  }));
  const all = [
    ...old,
    ...[...points].map(([t, by]) => ({
      t,
      rows: [...by].map(([gpu, values]) => ({
        key: String(gpu),
        gpu,
        name: names.get(gpu) ?? "",
        values,
        limit: null,
      })),
    })),
  ].sort((a, b) => a.t - b.t);
  gpus.clear();
  for (const { t, rows } of all) gpus.add(t, rows);
}

/** The pause that counts as a gap, from a time on. */
export const apart = (from = -Infinity) => Math.max(3.5 * step + 1, filledTo > from ? 2.5 * coarse : 0);

const history = (book: Book, of: Track[], from?: number): History => ({
  since: "",
  until: "",
  step_seconds: apart(from),
  level: "live",
  series: of.map((track): Series => ({
    gpu_index: track.gpu,
    gpu_name: track.name,
    times: book.times,
    metrics: Object.entries(track.columns).map(([name, mean]) => ({ name, unit: "", mean, min: mean, max: mean })),
  })),
});

/** Everything about the GPUs. Its columns grow, so users redraw with each sample. */
export const recent = (from?: number): History =>
  history(
    gpus,
    [...gpus.tracks.values()].sort((a, b) => a.gpu - b.gpu),
    from,
  );

/** What limited a GPU, at the times of `recent`. */
export const limits = (gpu: number): (string | null)[] => gpus.tracks.get(String(gpu))?.limits ?? [];

/** The processes of a GPU, largest first. */
export function layers(gpu: number, most: number): Layer[] {
  const weight = (t: Track) =>
    OF_PROCESS.reduce(
      (n, m) => n + (t.columns[m] ?? []).reduce((a: number, v) => a + (v ?? 0), 0) * (m === "memory_mb" ? 0.01 : 1),
      0,
    );
  const byName = new Map<string, Track[]>();
  for (const t of processes.tracks.values()) if (t.gpu === gpu) byName.set(t.name, [...(byName.get(t.name) ?? []), t]);
  return [...byName]
    .map(([name, tracks]) => ({ name, tracks, weight: tracks.reduce((n, t) => n + weight(t), 0) }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, most)
    .map(({ name, tracks }) => {
      const columns: Record<string, Column> = {};
      for (const m of OF_PROCESS)
        columns[m] = processes.times.map((_, i) =>
          tracks.reduce((n: number | null, t) => (t.columns[m]?.[i] == null ? n : (n ?? 0) + t.columns[m]![i]!), null),
        );
      return {
        name,
        history: { ...history(processes, [{ gpu, name, columns }]), step_seconds: Math.max(12, apart()) },
      };
    });
}

/** The course of one process, as the page saw it. */
export function course(
  gpu: number,
  pid: number,
  metric: "utilization_percent" | "memory_mb",
): { times: number[]; values: Column } | null {
  const values = processes.tracks.get(`${gpu}/${pid}`)?.columns[metric];
  return values ? { times: processes.times, values } : null;
}
