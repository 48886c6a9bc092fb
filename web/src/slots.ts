// SPDX-License-Identifier: Apache-2.0
// A long period in a narrow strip: values in slots, drawn as an area that breaks where nothing was recorded.
import type { History, Num } from "./types";

/** The sum of all GPUs per slot; null if nothing was stored. */
export function sums(
  h: History,
  from: number,
  to: number,
  slots: number,
  of: "sum" | "max",
  metric: string,
): (number | null)[] {
  const all = new Array<number | null>(slots).fill(null);
  for (const s of h.series) {
    const own = new Array<number | null>(slots).fill(null),
      values: Num[] = s.metrics.find((m) => m.name === metric)?.mean ?? [];
    s.times.forEach((t, i) => {
      const slot = Math.floor(((t - from) / (to - from)) * slots),
        v = values[i];
      if (v != null && slot >= 0 && slot < slots) own[slot] = Math.max(own[slot] ?? 0, v);
    });
    // Values may be further apart than slots: one fills the slots up to the next.
    const reach = Math.ceil((Math.max(h.step_seconds, 60) / (to - from)) * slots) + 1;
    for (let i = slots - 1; i > 0; i--)
      for (let k = 1; own[i] == null && k <= reach && k <= i; k++) if (own[i - k] != null) own[i] = own[i - k]!;
    own.forEach((v, i) => {
      if (v != null) all[i] = of === "sum" ? (all[i] ?? 0) + v : Math.max(all[i] ?? 0, v);
    });
  }
  return all;
}

/** An area over slots in a box of 1000 x 100, in pieces that end at gaps. */
export function areaPath(values: (number | null)[], top: number): { area: string; line: string } {
  let area = "",
    line = "";
  const x = (i: number) => ((i * 1000) / values.length).toFixed(1),
    y = (v: number) => (100 - (100 * Math.min(v, top)) / (top || 1)).toFixed(1);
  for (let i = 0; i < values.length;) {
    if (values[i] == null) {
      i++;
      continue;
    }
    let end = i;
    while (end + 1 < values.length && values[end + 1] != null) end++;
    let path = "";
    for (let k = i; k <= end; k++) path += `${k === i ? "M" : "L"}${x(k)} ${y(values[k]!)}`;
    path += `L${x(end + 1)} ${y(values[end]!)}`;
    line += path;
    area += `${path}L${x(end + 1)} 100L${x(i)} 100Z`;
    i = end + 1;
  }
  return { area, line };
}

/** Stretches without a value, as fractions of the whole. */
export function holes(values: (number | null)[]): [number, number][] {
  const found: [number, number][] = [];
  values.forEach((v, i) => {
    if (v != null) return;
    const last = found.at(-1);
    if (last && last[1] === i) last[1] = i + 1;
    else found.push([i, i + 1]);
  });
  return found.filter(([a, b]) => b - a > 2).map(([a, b]) => [a / values.length, b / values.length]);
}
