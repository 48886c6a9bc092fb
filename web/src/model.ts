// SPDX-License-Identifier: Apache-2.0
// Values that several parts of the page derive from the API. Does not touch the document.
import { duration } from "./format";
import type { GuardedWorker as Worker } from "./api";
import type { Gpu, Num, Summary } from "./types";

/** The sum of known values; null if none is known. */
export const sum = (list: Num[]): Num => list.reduce((all: Num, v) => (v == null ? all : (all ?? 0) + v), null);

const PROGRAM = /^(?:sudo |whirr |kill |ps |systemctl |docker |podman |[a-z]+-smi )/;

/** Splits a suggestion into text and a command to paste. */
export function advice(text: string): { text: string; command: string | null } {
  const quoted = /`([^`]+)`/.exec(text);
  if (quoted) return { text: text.replaceAll("`", ""), command: PROGRAM.test(quoted[1]!) ? quoted[1]! : null };
  for (let colon = text.indexOf(": "); colon >= 0; colon = text.indexOf(": ", colon + 1)) {
    const rest = text.slice(colon + 2);
    if (PROGRAM.test(rest)) {
      const end = rest.search(/\s{2,}\(|\s+\(now |\s{2,}/);
      const command = (end < 0 ? rest : rest.slice(0, end)).trim();
      return { text: text.slice(0, colon + 1) + (end < 0 ? "" : rest.slice(end).replace(/\s+/g, " ")), command };
    }
  }
  return { text, command: null };
}

/** Merges the newest sample, which the socket brings every second, into the last full answer. */
export function merge(gpus: Gpu[], summary: Summary): Gpu[] {
  const by = new Map(summary.gpus.map((g) => [g.index, g]));
  return gpus.map((g) => {
    const s = by.get(g.index);
    return s
      ? {
          ...g,
          activity: s.activity ?? g.activity,
          state: s.state,
          error_message: s.error_message,
          utilization_percent: s.utilization_percent,
          memory_used_mb: s.memory_used_mb,
          memory_total_mb: s.memory_total_mb,
          temperature_celsius: s.temperature_celsius,
          fan_percent: s.fan_percent,
          power_watts: s.power_watts,
          power_limit_watts: s.power_limit_watts,
        }
      : g;
  });
}

/** How long a worker stays in its state; "" if unknown. */
export function timeLeft(w: Worker, now: number): string {
  const inTime = (ms: number) => (ms > 0 ? `in ${duration(ms / 1000)}` : "soon");
  if (w.held) return "until you resume it";
  if (w.resumes_at) return `back ${inTime(Date.parse(w.resumes_at) - now)}`;
  if (w.state === "paused" && w.idle) return "until the next request";
  if (w.state === "paused") return w.claim === "sure" || w.claim === "seen" ? "until the GPU is free" : "";
  if (w.state === "running" && w.idle_after_seconds && w.last_asked_at)
    return `paused ${inTime(Date.parse(w.last_asked_at) + 1000 * w.idle_after_seconds - now)} without a request`;
  const usual = w.state === "evicting" ? w.last_evict_seconds : w.state === "resuming" ? w.last_resume_seconds : null;
  return usual && w.since
    ? `done ${inTime(Date.parse(w.since) + 1000 * usual - now)} if it takes as long as last time`
    : "";
}

/** Energy without a process has no user. */
export const userName = (u: { name: string | null; kind?: string }) =>
  u.name || (u.kind && u.kind !== "used" && u.kind !== "unattributed" ? u.kind.replaceAll("_", " ") : "not attributed");

/** The index of the last time that is not after `at`; 0 if all are. */
export function nearest(times: number[], at: number): number | null {
  if (!times.length) return null;
  let low = 0,
    high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Seconds until the next attempt: doubled each time, at most half a minute, with jitter between pages. */
export function backoff(attempt: number, random = Math.random()): number {
  return Math.min(30, 2 ** Math.min(attempt, 5)) * (0.75 + random / 2);
}

/** A line through the values, as an SVG path of width x height; with gaps where nothing was stored. */
export function sparkline(
  times: number[],
  values: Num[],
  from: number,
  to: number,
  top: number,
  width: number,
  height: number,
): string {
  let path = "",
    pen = false;
  for (let i = 0; i < times.length; i++) {
    const v = values[i];
    if (v == null) {
      pen = false;
      continue;
    }
    const x = ((times[i]! - from) / (to - from)) * width;
    if (x < 0 || x > width) continue;
    const y = height - (Math.min(v, top) / top) * height;
    path += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  }
  return path;
}
