// SPDX-License-Identifier: Apache-2.0
// The time that panels about the past show: the range, the day around a moment, or the chosen span up to now. Minutes say nothing about
// energy or who was there: a span below an hour is a day there.
import { now as hostNow } from "./clock";
import { spanName } from "./place";
import type { State } from "./store";

export const DAY = 86400; // seconds
const HOUR = 3600;

export const iso = (ms: number) => new Date(ms).toISOString();

/** The day of the strip: the last one, or the one around an earlier moment. */
export function dayOf(s: State): { from: number; to: number; now: boolean } {
  const now = s.sampleAt ?? hostNow(),
    at = s.place.at ?? s.place.to;
  if (at == null || at > now - 0.95 * DAY * 1000) return { from: now - DAY * 1000, to: now, now: true };
  const to = Math.min(now, at + (DAY / 2) * 1000);
  return { from: to - DAY * 1000, to, now: false };
}

export interface Stretch {
  from: number; // milliseconds
  to: number;
  query: string;
  moving: boolean; // with time
  words: string; // "last 7d"; "" where the address or the bar above says it
}

export function stretchOf(s: State): Stretch {
  const { from, to, at } = s.place;
  if (from != null)
    return { from, to: to!, query: `since=${iso(from)}&until=${iso(to!)}`, moving: false, words: "in this time" };
  const day = dayOf(s);
  if (at != null && !day.now)
    return { ...day, query: `since=${iso(day.from)}&until=${iso(day.to)}`, moving: false, words: "that day" };
  const span = at == null && s.view.span >= HOUR ? s.view.span : DAY;
  return {
    from: day.to - span * 1000,
    to: day.to,
    query: `since=-${span}s`,
    moving: true,
    words: `last ${spanName(span)}`,
  };
}
