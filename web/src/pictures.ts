// SPDX-License-Identifier: Apache-2.0
// Turns the history, or what the page has seen, into pictures for charts. Does not touch the document.
import { DASH } from "./format";
import { type Level, levelOf } from "./level";
import type { Lane, Line, Part, Picture } from "./scale";
import { axis, type Column, type Layer, type Metric, onto, pace, portions, spread, throttled } from "./plots";
import { changeText, isChange } from "./changes";
import type { Gpu, History, PastEvent, RemedyDoing, RemedyValues, Series } from "./types";

export const MANY = 8; // GPUs: more are shown as bands
const COLORS = 8;
const DASHES = [[6, 3], [], [2, 2], [1, 3], [8, 3, 2, 3], [4, 2], [10, 4], [1, 2]];

export interface Wanted {
  history: History;
  metric: Metric;
  gpus: Gpu[]; // as they are now: limits
  picked: number | null;
  worst: number[]; // by index, the worst first
  compare: number | null; // another GPU
  layers: Layer[] | null;
  other: { label: string; history: History } | null;
  events: PastEvent[];
  lanes: Lane[];
  from: number; // seconds
  to: number;
  live: boolean;
  end: string;
  at: number | null;
  older: string;
  doings?: RemedyDoing[];
}

const middle = (sorted: number[], share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? null;

/** Median, the middle four fifths, and all. */
export function bands(columns: Column[], count: number): { mid: Column; bands: [Column, Column][] } {
  const mid: Column = [],
    low: Column = [],
    high: Column = [],
    least: Column = [],
    most: Column = [];
  for (let i = 0; i < count; i++) {
    const values: number[] = [];
    for (const c of columns) if (c[i] != null) values.push(c[i]!);
    values.sort((a, b) => a - b);
    mid.push(middle(values, 0.5));
    low.push(middle(values, 0.1));
    high.push(middle(values, 0.9));
    least.push(values[0] ?? null);
    most.push(values.at(-1) ?? null);
  }
  return {
    mid,
    bands: [
      [least, most],
      [low, high],
    ],
  };
}

const seconds = (text: string) => Date.parse(text) / 1000;

/** Findings of the history, and who changed what, as marks on the time axis. */
export function findingMarks(events: PastEvent[], picked: number | null): Picture["marks"] {
  const changes = events
    .filter((e) => isChange(e) && (picked == null || e.gpu_index == null || e.gpu_index === picked))
    .map((e) => ({
      from: seconds(e.at),
      to: seconds(e.at),
      level: "note" as Level,
      text: changeText(e),
      change: true,
    }));
  const found = events
    .filter(
      (e) =>
        (e.kind === "finding" || e.kind === "xid") && (picked == null || e.gpu_index == null || e.gpu_index === picked),
    )
    .map((e) => ({
      from: seconds(e.at),
      to: seconds(e.at) + Number((e.data as { duration_seconds?: number } | null)?.duration_seconds ?? 0),
      level: (e.severity === "error" ? "bad" : levelOf(e.severity)) as Level,
      text: e.text ?? e.kind,
    }));
  return [...found, ...changes];
}

/** What is expected of the remedies that run, as dashed lines. */
function predictions(w: Wanted): Picture["refs"] {
  const key = w.metric.name as keyof RemedyValues;
  return (w.doings ?? [])
    .filter((d) => d.gpu_index === w.picked && (d.phase !== "over" || d.kept))
    .flatMap((d) => {
      const before = d.before?.[key],
        change = d.expected?.[key];
      if (before == null || change == null) return [];
      const value = (before + change) * w.metric.scale;
      return [{ value, label: `expected ${w.metric.text(value)}`, level: "note" as Level }];
    });
}

/** Turns a list of words over time into stretches of the same word. */
export function stretches(times: number[], words: (string | null)[], gap: number): Lane["parts"] {
  const parts: Lane["parts"] = [];
  times.forEach((t, i) => {
    const text = words[i];
    if (!text) return;
    const last = parts.at(-1);
    if (last && last.text === text && t - last.to <= gap) last.to = t;
    else {
      if (last && t - last.to <= gap) last.to = t; // it lasted until then
      parts.push({ from: t, to: t, text, level: /thermal|hot|brake/.test(text) ? "bad" : "good" });
    }
  });
  return parts;
}

/** Thermal throttling in a stored period. */
export function heatLanes(history: History, gpus: Gpu[]): Lane[] {
  return history.series.map((s) => ({
    label: String(s.gpu_index),
    parts: throttled(
      s,
      pace(s, history.step_seconds),
      gpus.find((g) => g.index === s.gpu_index)?.temperature_limit_celsius,
    ).map(([from, to]) => ({ from, to, text: "thermal throttling", level: "bad" as Level })),
  }));
}

function references(w: Wanted, shown: Series[]): Picture["refs"] {
  const { metric, gpus } = w;
  const of = gpus.filter((g) => shown.some((s) => s.gpu_index === g.index));
  if (metric.name === "temperature_celsius") {
    const limits = of.map((g) => g.temperature_limit_celsius).filter((v) => v != null),
      least = Math.min(...limits);
    return Number.isFinite(least)
      ? [{ value: least, label: `throttles at ${Math.round(least)} °C`, level: "bad" }]
      : [];
  }
  if (metric.name === "power_watts" && of.length === 1 && of[0]!.power_limit_watts != null)
    return [
      { value: of[0]!.power_limit_watts!, label: `limit ${Math.round(of[0]!.power_limit_watts!)} W`, level: "idle" },
    ];
  return [];
}

const UNFINISHED = 180; // seconds

/** The current minute isn't stored yet: repeat the last one if it is recent. */
export function continued(column: Column, times: number[], s: Series, to: number): Column {
  if ((s.times.at(-1) ?? -Infinity) < to - UNFINISHED) return column;
  let last = column.length - 1;
  while (last >= 0 && column[last] == null) last--;
  return column.map((v, i) => (i > last && last >= 0 && times[i]! <= to ? column[last]! : v));
}

function stack(w: Wanted, one: Series, times: number[], whole: Column): Pick<Picture, "parts" | "rest"> {
  const { metric, gpus } = w,
    raw = w.layers!.map((l) => {
      const own = l.history.series.find((x) => x.gpu_index === one.gpu_index),
        column = spread(times, own, l.history.step_seconds, metric.process!, metric.scale);
      return w.live && own ? continued(column, times, own, w.to) : column;
    });
  const { layers, others } = portions(raw, whole);
  const parts: Part[] = layers
    .map((values, i): Part => ({ label: w.layers![i]!.name, values, color: `c${i % COLORS}` }))
    .filter((p) => p.values.some((v) => v));
  if (others.some((v) => v && v > 0.05)) parts.push({ label: "others", values: others, color: "dim", faint: true });
  const total = metric.name === "memory_used_mb" ? gpus.find((g) => g.index === one.gpu_index)?.memory_total_mb : null,
    full = metric.name === "utilization_percent" ? 100 : total == null ? null : total * metric.scale;
  const name = metric.name === "utilization_percent" ? "idle" : "free";
  return {
    parts,
    rest: full == null ? null : { label: name, values: whole.map((v) => (v == null ? null : Math.max(0, full - v))) },
  };
}

/** The time since a remedy was begun. */
const remedyMarks = (w: Wanted): Picture["marks"] =>
  (w.doings ?? [])
    .filter((d) => (w.picked == null || d.gpu_index === w.picked) && (d.phase !== "over" || d.kept))
    .map((d) => ({ from: seconds(d.since), to: w.to, level: "good", text: d.plan ?? d.text, change: true }));

const AROUND = 0.015; // of the width

/** The least, most or mean within a little time: a band and its middle, not a second tangle. */
function widened(values: Column, pick: (...list: number[]) => number): Column {
  const reach = Math.ceil(AROUND * values.length);
  return values.map((v, i) => {
    const near = values.slice(Math.max(0, i - reach), i + reach + 1).filter((x) => x != null);
    return v == null || !near.length ? null : pick(...near);
  });
}

export function pictureOf(w: Wanted): Picture {
  const { history, metric, picked } = w;
  const have = history.series.filter((s) => s.metrics.find((m) => m.name === metric.name)?.mean.some((v) => v != null));
  const only = picked == null ? null : w.compare == null ? [picked] : [picked, w.compare];
  const step = history.step_seconds;
  const times = axis(have.length ? have : history.series),
    column = (s: Series) => onto(times, s, metric.name, "mean", metric.scale);
  const total =
    metric.name === "memory_used_mb"
      ? Math.max(...w.gpus.filter((g) => (only ?? [g.index]).includes(g.index)).map((g) => g.memory_total_mb ?? 0)) *
        metric.scale
      : null;
  const picture: Picture = {
    times,
    from: w.from,
    to: w.to,
    live: w.live,
    end: w.end,
    at: w.at,
    lines: [],
    parts: null,
    rest: null,
    bands: [],
    refs: [...references(w, only ? have.filter((s) => only.includes(s.gpu_index)) : have), ...predictions(w)],
    marks: [...findingMarks(w.events, picked), ...remedyMarks(w)],
    lanes: metric.name === "utilization_percent" ? w.lanes : [],
    gap: history.level === "live" ? step : Math.max(2.5 * step, have[0] ? pace(have[0], step) * 1.7 : 0),
    top: metric.top ?? (w.layers && total ? total : null),
    bottom: metric.name === "temperature_celsius" ? 20 : 0,
    digits: metric.unit === "GiB" ? 1 : 0,
    text: (v) => (v == null ? DASH : metric.text(v)),
    older: w.older,
  };
  const single =
    only?.length === 1 ? have.find((s) => s.gpu_index === only[0]) : have.length === 1 ? have[0] : undefined;
  if (w.layers && metric.process && single) return { ...picture, ...stack(w, single, times, column(single)) };
  const line = (s: Series, heavy: boolean): Line => ({
    label: String(s.gpu_index),
    values: column(s),
    color: `c${s.gpu_index % COLORS}`,
    dash: DASHES[s.gpu_index % COLORS]!,
    heavy,
  });
  if (have.length > MANY) {
    const all = have.map(column),
      { mid, bands: around } = bands(all, times.length);
    picture.bands = around;
    picture.lines.push({ label: "mid", values: mid, color: "dim", dash: [], heavy: false });
    for (const gpu of [...new Set([...(only ?? []), ...w.worst])].slice(0, 3)) {
      const s = have.find((x) => x.gpu_index === gpu);
      if (s) picture.lines.push(line(s, gpu === (picked ?? w.worst[0])));
    }
    return picture;
  }
  // The selected GPU gets a heavy line, the others stay for comparison; of an earlier period, show only those compared.
  const heavy = picked ?? (have.length > 1 ? w.worst[0] : have[0]?.gpu_index);
  const shown = only && (w.other || w.compare != null) ? have.filter((s) => only.includes(s.gpu_index)) : have;
  picture.lines = shown.map((s) => line(s, s.gpu_index === heavy));
  // Of one GPU an earlier time is a band behind its line; of several, dashed lines.
  if (w.other)
    for (const s of w.other.history.series.filter((x) => !only || only.includes(x.gpu_index))) {
      const of = (kind: "mean" | "min" | "max") => spread(times, s, pace(s, step), metric.name, metric.scale, kind);
      if (shown.length === 1) {
        picture.bands.push([widened(of("min"), Math.min), widened(of("max"), Math.max)]);
        const values = widened(of("mean"), (...near) => near.reduce((sum, v) => sum + v, 0) / near.length);
        picture.lines.push({ label: w.other.label, values, color: "dim", dash: [3, 3], heavy: false });
      } else
        picture.lines.push({ label: `${s.gpu_index}′`, values: of("mean"), color: "dim", dash: [3, 3], heavy: false });
    }
  return picture;
}
