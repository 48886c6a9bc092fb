// SPDX-License-Identifier: Apache-2.0
// Which time is on screen, and how: the address contains all of it. Does not touch the document.
import { clock } from "./format";
import type { GroupKey } from "./rows";

export interface Place {
  at: number | null;
  from: number | null;
  to: number | null;
  refused?: string; // why it shows the present instead
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86400, y: 31536000 };

/** Parses a permalink; milliseconds, null for now. A moment may have its own window around it. */
export function readPlace(search: string, now = Date.now()): Place {
  const query = new URLSearchParams(search);
  const time = (name: string) => {
    const text = query.get(name);
    if (!text) return null;
    const ago = /^-(\d+)([smhd])$/.exec(text);
    const ms = new Date(ago ? now - Number(ago[1]) * 1000 * UNITS[ago[2] as "s"] : text).getTime();
    return Number.isNaN(ms) ? null : ms;
  };
  const at = time("at"),
    from = time("from"),
    to = time("to");
  for (const [name, ms] of [
    ["at", at],
    ["from", from],
    ["to", to],
  ] as const)
    if (ms == null && query.get(name)) return { ...NOW, refused: `“${query.get(name)}” is not a time. This is now.` };
  return checked(
    from == null
      ? { at, from: null, to: null }
      : { at, from: Math.min(from, to ?? now), to: Math.max(from, to ?? now) },
    now,
  );
}

export const NOW: Place = { at: null, from: null, to: null };

/** Nothing is known about the future: refuses a moment there, and ends a range now. */
export function checked(place: Place, now: number): Place {
  const first =
    place.at != null && place.at > now ? place.at : place.from != null && place.from >= now ? place.from : null;
  if (first != null) return { ...NOW, refused: `${clock(first, now)} is still to come. This is now.` };
  return place.to != null && place.to > now ? { ...place, to: now } : place;
}

/** How data is shown. The address contains all of it: a reload or a link shows the same. */
export interface View {
  span: number; // seconds
  gpu: number | null;
  pid: number | null; // whose explanation is open
  by: "gpu" | "process";
  compare: string; // "", "gpu:1", "ago:86400" or "at:2026-11-15T03:10"
  q: string; // filter of processes
  group: GroupKey;
  lanes: "who" | "loud" | "slow";
}

export const SPANS: [string, number][] = [
  ["1m", 60],
  ["5m", 300],
  ["15m", 900],
  ["1h", 3600],
  ["24h", 86400],
  ["7d", 604800],
  ["30d", 2592000],
  ["1y", 31536000],
];

export const spanName = (seconds: number): string => SPANS.find(([, n]) => n === seconds)?.[0] ?? `${seconds}s`;

export const LIVE_SPAN = 900; // seconds that the page itself remembers

const USUAL: View = { span: 300, gpu: null, pid: null, by: "gpu", compare: "", q: "", group: "", lanes: "who" };

export function readView(search: string): View {
  const query = new URLSearchParams(search),
    view = { ...USUAL };
  const whole = (name: string) => (/^\d+$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null);
  const one = <T extends string>(name: string, of: readonly T[], usual: T) =>
    of.find((x) => x === query.get(name)) ?? usual;
  const span = /^(\d+)([smhdy])$/.exec(query.get("span") ?? "");
  if (span) view.span = Math.min(31536000, Math.max(60, Number(span[1]) * UNITS[span[2] as "s"]));
  view.gpu = whole("gpu");
  view.pid = whole("pid");
  view.by = one("by", ["gpu", "process"], "gpu");
  view.compare = /^(gpu|ago|at):[\w:-]+$/.test(query.get("compare") ?? "") ? query.get("compare")! : "";
  view.q = query.get("q") ?? "";
  view.group = one("group", ["", "user", "container", "model", "job"] as GroupKey[], "");
  view.lanes = one("lanes", ["who", "loud", "slow"], "who");
  return view;
}

/** The address of the present view, without defaults. */
export function writePlace(place: Place, view: View = USUAL): string {
  const iso = (ms: number) => new Date(Math.round(ms / 1000) * 1000).toISOString().replace(".000", "");
  const parts: [string, string][] = [];
  if (place.at != null) parts.push(["at", iso(place.at)]);
  if (place.from != null && place.to != null) parts.push(["from", iso(place.from)], ["to", iso(place.to)]);
  if (view.span !== USUAL.span) parts.push(["span", spanName(view.span)]);
  for (const key of ["gpu", "pid", "by", "compare", "q", "group", "lanes"] as const)
    if (view[key] !== USUAL[key]) parts.push([key, String(view[key])]);
  const clean = (text: string) => encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%20", "+");
  return parts.length ? `?${parts.map(([k, v]) => `${k}=${clean(v)}`).join("&")}` : "";
}

export interface Window {
  from: number; // milliseconds
  to: number;
  live: boolean; // moves with time
}

/** The period that charts show. Around a moment, at least an hour, to show its surroundings. */
export function windowOf(place: Place, span: number, now: number): Window {
  if (place.from != null && place.to != null) return { from: place.from, to: place.to, live: false };
  if (place.at == null) return { from: now - span * 1000, to: now, live: true };
  const wide = Math.max(3600, span) * 1000,
    to = Math.min(now, place.at + wide / 2);
  return { from: to - wide, to, live: false };
}
