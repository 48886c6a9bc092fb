// SPDX-License-Identifier: Apache-2.0
// Turns the history into columns for a plot. Does not touch the document.
import { celsius, percent, watts } from "./format";
import { nearest } from "./model";
import type { History, Num, Series } from "./types";

export interface Metric {
  name: string;
  title: string;
  unit: string;
  top: number | null;
  scale: number;
  process?: string;
  always?: boolean; // shown even if unknown
  text: (v: number) => string; // at the end of a line
}
export type Column = (number | null)[];
export interface Layer {
  name: string;
  history: History;
}

const rounded = (v: number) => String(Math.round(v));

/** The first two are large. The numbers at the lines are those of the cards. */
export const METRICS: Metric[] = [
  {
    name: "utilization_percent",
    title: "Utilization",
    unit: "%",
    top: 100,
    scale: 1,
    process: "utilization_percent",
    always: true,
    text: percent,
  },
  { name: "temperature_celsius", title: "Temperature", unit: "°C", top: null, scale: 1, always: true, text: celsius },
  {
    name: "power_watts",
    title: "Power",
    unit: "W",
    top: null,
    scale: 1,
    process: "power_watts",
    always: true,
    text: watts,
  },
  {
    name: "memory_used_mb",
    title: "VRAM",
    unit: "GiB",
    top: null,
    scale: 1 / 1024,
    process: "memory_mb",
    always: true,
    text: (v) => v.toFixed(1),
  },
  { name: "fan_percent", title: "Fan", unit: "%", top: 100, scale: 1, always: true, text: percent },
  { name: "clock_graphics_mhz", title: "Clock", unit: "MHz", top: null, scale: 1, always: true, text: rounded },
  {
    name: "pcie_rx_bytes_per_second",
    title: "PCIe received",
    unit: "MiB/s",
    top: null,
    scale: 1 / 1048576,
    text: rounded,
  },
  { name: "pcie_tx_bytes_per_second", title: "PCIe sent", unit: "MiB/s", top: null, scale: 1 / 1048576, text: rounded },
];

const scaled = (v: Num, scale: number) => (v == null ? null : v * scale);
const values = (s: Series, metric: string) => s.metrics.find((m) => m.name === metric);

/** All times of some series, in order. Most series have the same ones, so nothing needs merging. */
export function axis(series: Series[]): number[] {
  const [first, ...rest] = series;
  if (!first) return [];
  if (
    rest.every(
      (s) =>
        s.times.length === first.times.length && s.times[0] === first.times[0] && s.times.at(-1) === first.times.at(-1),
    )
  )
    return first.times;
  return [...new Set(series.flatMap((s) => s.times))].sort((a, b) => a - b);
}

/** A series on an axis that contains its times. */
export function onto(times: number[], s: Series, metric: string, kind: "mean" | "min" | "max", scale: number): Column {
  const m = values(s, metric)?.[kind];
  if (!m) return times.map(() => null);
  if (s.times === times) return m.map((v) => scaled(v, scale));
  const column: Column = new Array<number | null>(times.length).fill(null);
  for (let i = 0, j = 0; i < s.times.length; i++) {
    while (j < times.length && times[j]! < s.times[i]!) j++;
    if (j < times.length && times[j] === s.times[i]) column[j] = scaled(m[i], scale);
  }
  return column;
}

/** The ends of whole steps between two times. */
export function grid(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, i) => (first + i) * step);
}

/** How long a value of a series is valid: until the next usually follows, and at least a step. */
export function pace(s: Series, step: number): number {
  const apart = s.times
    .slice(1)
    .map((t, i) => t - s.times[i]!)
    .sort((a, b) => a - b);
  return Math.max(step, 1.5 * (apart[apart.length >> 1] ?? 0));
}

/** A series with longer or other steps on an axis: each time gets the value of its step. */
export function spread(
  times: number[],
  s: Series | undefined,
  stepSeconds: number,
  metric: string,
  scale: number,
  kind: "mean" | "min" | "max" = "mean",
): Column {
  const m = s && values(s, metric)?.[kind];
  if (!s || !m) return times.map(() => null);
  return times.map((t) => {
    const i = nearest(s.times, t);
    return i == null || s.times[i]! > t || t - s.times[i]! >= stepSeconds ? null : scaled(m[i], scale);
  });
}

/** The parts of a whole, and the rest that none of them accounts for. Never exceeds the whole: a process's mean may cover only
 * its lifetime, so all parts are scaled down. Where the whole is unknown, nothing was stored: there is a gap. */
export function portions(layers: Column[], whole: Column): { layers: Column[]; others: Column } {
  const reported = whole.some((v) => v != null); // a GPU that lacks the metric must not hide its processes
  const known = whole.map((stored, i) => {
    const sum = layers.reduce((n, layer) => n + (layer[i] ?? 0), 0),
      all = reported || layers.every((layer) => layer[i] == null) ? stored : sum;
    return { all, sum, scale: all != null && sum > all && sum > 0 ? all / sum : 1 };
  });
  return {
    layers: layers.map((layer) => known.map((k, i) => (k.all == null ? null : (layer[i] ?? 0) * k.scale))),
    others: known.map((k) => (k.all == null ? null : Math.max(0, k.all - k.sum))),
  };
}

/** Cumulative sums: the first layer is the lowest. */
export function stacked(layers: Column[]): Column[] {
  const sum = new Array<number>(layers[0]?.length ?? 0).fill(0);
  return layers.map((layer) => layer.map((v, i) => (v == null ? null : (sum[i] = sum[i]! + v))));
}

/** Joins layers by name: from the page's samples, before that from the history. */
export function joined(live: Layer[], stored: Layer[], before: number): Layer[] {
  const names = [...new Set([...live, ...stored].map((l) => l.name))];
  return names.map((name) => {
    const [a, b] = [stored, live].map((list) => list.find((l) => l.name === name)?.history.series[0]),
      early = a ? a.times.map((t, i) => [t, i] as const).filter(([t]) => t < before) : [],
      any = (b ?? a)!;
    const metrics = any.metrics.map((m) => {
      const old = a?.metrics.find((x) => x.name === m.name)?.mean ?? [],
        mean = [...early.map(([, i]) => old[i] ?? null), ...(b?.metrics.find((x) => x.name === m.name)?.mean ?? [])];
      return { ...m, mean, min: mean, max: mean };
    });
    const times = [...early.map(([t]) => t), ...(b?.times ?? [])];
    return {
      name,
      history: { since: "", until: "", step_seconds: 60, level: "live", series: [{ ...any, times, metrics }] },
    };
  });
}

/** The same, shifted in time to overlay a later period. */
export const shifted = (h: History, seconds: number): History => ({
  ...h,
  series: h.series.map((s) => ({ ...s, times: s.times.map((t) => t + seconds) })),
});

/** When heat throttled the GPU. The driver's counter of such seconds is most precise; without one, throttling within 5 degrees
 * of the limit counts. */
export function throttled(s: Series | undefined, stepSeconds: number, limit: Num): [number, number][] {
  const slowed = s && values(s, "throttle_reasons")?.mean,
    heat = s && values(s, "temperature_celsius"),
    count = s && values(s, "throttle_thermal_seconds");
  const counted = count?.mean.some((v) => v != null);
  const bands: [number, number][] = [];
  s?.times.forEach((t, i) => {
    const seconds = count?.max[i],
      least = Math.min(count?.min[i] ?? Infinity, count?.max[i - 1] ?? Infinity);
    const hot = counted
      ? seconds != null && seconds > least
      : (slowed?.[i] ?? 0) > 0 && limit != null && (heat?.max[i] ?? 0) >= limit - 5;
    if (!hot) return;
    const last = bands.at(-1);
    if (last && t <= last[1] + stepSeconds / 2) last[1] = t + stepSeconds;
    else bands.push([t, t + stepSeconds]);
  });
  return bands;
}
