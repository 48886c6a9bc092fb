// SPDX-License-Identifier: Apache-2.0
// What a chart draws, and where: steps of axes, gaps, positions of labels. Does not touch the document.
import type { Level } from "./level";
import type { Column } from "./plots";

export interface Line {
  label: string;
  values: Column;
  color: string; // of the style sheet
  dash: number[];
  heavy: boolean;
}
export interface Part {
  label: string;
  values: Column; // its own height
  color: string;
  faint?: boolean;
}
export interface Lane {
  label: string;
  parts: { from: number; to: number; text: string; level: Level }[];
}
export interface Picture {
  times: number[]; // seconds
  from: number;
  to: number;
  live: boolean;
  end: string; // the label at the end of a live chart
  at: number | null; // the marked moment
  lines: Line[];
  parts: Part[] | null; // a stack, from below
  rest: { label: string; values: Column } | null; // the rest of the whole, left blank
  bands: [Column, Column][]; // widest first
  refs: { value: number; label: string; level: Level }[];
  marks: { from: number; to: number; level: Level; text: string; change?: boolean }[]; // change: at the foot
  lanes: Lane[];
  gap: number; // seconds: a longer distance means that nothing was recorded
  top: number | null;
  bottom: number;
  digits: number;
  text: (v: number) => string;
  older: string; // text for the time before the first value
}

/** There is nothing to draw: the metric is not reported. */
export function isEmpty(p: Picture): boolean {
  return !p.parts?.length && p.lines.every((l) => l.values.every((v) => v == null));
}

/** Round steps, at most `most` of them. */
export function ticks(low: number, high: number, most: number): number[] {
  const raw = (high - low) / Math.max(1, most);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw)!;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

const STEPS = [
  1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600,
  2592000, 5184000,
];

/** Whole minutes, hours and days in the reader's time zone. */
export function timeTicks(from: number, to: number, most: number): number[] {
  const least = (to - from) / Math.max(1, most),
    step = STEPS.find((n) => least <= n) ?? 7776000 * Math.ceil(least / 7776000),
    zone = new Date(from * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((from - zone) / step);
  return Array.from(
    { length: Math.max(0, Math.floor((to - zone) / step) - first + 1) },
    (_, i) => (first + i) * step + zone,
  );
}

/** The range of everything drawn, including limits. */
export function range(p: Picture): [number, number] {
  let low = Infinity,
    high = -Infinity;
  const take = (c: Column) => {
    for (let i = 0; i < c.length; i++) {
      const v = c[i],
        t = p.times[i]!;
      if (v == null || t < p.from || t > p.to) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  };
  for (const l of p.lines) take(l.values);
  for (const [a, b] of p.bands) {
    take(a);
    take(b);
  }
  if (p.parts)
    take(
      p.times.map((_, i) =>
        p.parts!.reduce((n: number | null, x) => (x.values[i] == null ? n : (n ?? 0) + x.values[i]!), null),
      ),
    );
  if (p.top != null) return [p.bottom, Math.max(p.top, high)];
  for (const r of p.refs) high = Math.max(high, r.value);
  if (!Number.isFinite(high)) return [0, 100];
  const steps = ticks(Math.min(p.bottom, low), Math.max(high * 1.03, p.bottom + 1), 4),
    step = steps.length > 1 ? steps[1]! - steps[0]! : 1;
  const floor = p.bottom > 0 ? Math.min(p.bottom, Math.floor(low / step) * step) : 0;
  return [floor, Math.ceil((high * 1.01) / step) * step];
}

/** Moves labels apart as little as needed: from the top, each at least `apart` below the previous one, none below `end`. */
export function spreadLabels(places: number[], apart: number, begin: number, end: number): number[] {
  const order = places.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  order.forEach((o, k) => (o.y = Math.max(o.y, k ? order[k - 1]!.y + apart : begin)));
  for (let k = order.length - 1, low = end; k >= 0; k--, low -= apart) {
    const o = order[k]!;
    o.y = Math.min(o.y, low);
    low = o.y;
  }
  const out: number[] = [];
  for (const o of order) out[o.i] = o.y;
  return out;
}

/** Periods without data between two times. */
export function gaps(p: Pick<Picture, "times" | "from" | "to" | "gap" | "live">): [number, number][] {
  const inside = p.times.filter((t) => t >= p.from && t <= p.to),
    found: [number, number][] = [];
  let last = p.from;
  for (const t of inside) {
    if (t - last > p.gap) found.push([last, t]);
    last = t;
  }
  if (p.to - last > p.gap && (!p.live || !inside.length)) found.push([last, p.to]);
  return found;
}
