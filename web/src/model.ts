// SPDX-License-Identifier: Apache-2.0
// What the page shows, worked out of what the API answers. Nothing here touches the document.
import { duration } from "./format";
import type {
  Finding,
  Gpu,
  HealthVerdict,
  History,
  Life,
  Limit,
  Num,
  PastEvent,
  Process,
  Series,
  Severity,
  Summary,
  Why,
  Worker,
} from "./types";

export type Level = "bad" | "warn" | "note" | "good" | "idle" | "silent";
export const RANK: Record<Level, number> = { silent: 5, bad: 4, warn: 3, note: 2, good: 1, idle: 0 };

/** Of those that are known; null where none is. */
export const sum = (list: Num[]): Num => list.reduce((all: Num, v) => (v == null ? all : (all ?? 0) + v), null);

export const worse = (a: Level, b: Level): Level => (RANK[a] >= RANK[b] ? a : b);

/** Throttling in words; how bad it is, the finding says. */
export function throttling(reasons: string[] | null | undefined): string | null {
  const words: Record<string, string | null> = {
    idle: null,
    "application clocks setting": null,
    "display clock setting": null,
    "sync boost": null,
    "software thermal slowdown": "thermal throttling",
    "hardware thermal slowdown": "thermal throttling",
    "memory hot": "memory is too hot",
    "voltage regulator hot": "voltage regulator is too hot",
    "power cap": "at its power limit",
    "power brake": "power brake: the supply asks for less",
    "current limit": "at its current limit",
    "reliability limit": "at its voltage limit",
  };
  const said = (reasons ?? [])
    .map((reason) => (reason in words ? words[reason] : reason))
    .filter((text) => text !== null);
  return said.length ? [...new Set(said)].join(", ") : null;
}

/** What the daemon judges to slow it down. A power limit that was reached is none of that, but worth a dim word. */
export function slowedBy(gpu: Gpu): string[] | null {
  const judged = gpu.activity?.throttled_by;
  if (!judged) return gpu.throttle_reasons;
  return gpu.throttle_reasons?.includes("power cap") && !judged.includes("power cap")
    ? [...judged, "power cap"]
    : judged;
}

/** What keeps a GPU from doing more, in two or three words; null where nothing is known to. */
export function limitOf(gpu: Gpu): string | null {
  if (gpu.state !== "ok") return gpu.state;
  const slow = throttling(slowedBy(gpu));
  if (slow) return slow;
  if (gpu.activity?.code === "idle") return "idle";
  const first = [...gpu.processes].sort((a, b) => (b.utilization_percent ?? 0) - (a.utilization_percent ?? 0))[0];
  return first ? limitWords(first.limit) : null;
}

/** In words, where something is known to limit it. */
export function limitWords(limit: Limit | null | undefined): string | null {
  if (!limit || limit.code === "none" || limit.code === "cannot_tell") return null;
  return limit.side === "host" || limit.code === "no_requests" ? `waits: ${limit.words}` : limit.words;
}

const SEVERITIES: Record<Severity, Level> = { critical: "bad", warning: "warn", notice: "note", info: "good" };

export const levelOf = (severity: string | null | undefined): Level => SEVERITIES[severity as Severity] ?? "good";

/** How many findings there are of each level that asks for attention; what is muted asks for none. */
export function counts(findings: { severity: Severity; muted?: boolean }[]): [Level, number][] {
  const all: [Level, number][] = (["bad", "warn", "note"] as Level[]).map((level) => [
    level,
    findings.filter((f) => !f.muted && levelOf(f.severity) === level).length,
  ]);
  return all.filter(([, n]) => n > 0);
}

/** As the daemon judges it. Of the past, where findings are not kept with a moment, the health that was stored counts. */
export function gpuLevel(gpu: Gpu, health?: HealthVerdict): Level {
  const found = levelOf(gpu.finding?.severity);
  if (found !== "good") return found;
  if (gpu.state === "lost" || gpu.state === "error") return "bad";
  if (gpu.finding === undefined && health?.state && health.state in HEALTH) return HEALTH[health.state]!;
  return gpu.state === "asleep" || (gpu.activity ? gpu.activity.code === "idle" : !gpu.utilization_percent)
    ? "idle"
    : "good";
}

const HEALTH: Record<string, Level> = { degraded: "warn", failing: "bad", lost: "bad" };

/** How a figure of an area is colored: as its GPU's finding says, where it is about that. */
export const areaLevel = (gpu: Gpu, area: string): Level =>
  gpu.finding?.area === area ? levelOf(gpu.finding.severity) : "good";

/** The first finding of each GPU, from all that were found. */
export function withFindings(gpus: Gpu[], findings: Finding[]): Gpu[] {
  const first = new Map<number | null, Finding>();
  for (const f of findings) if (!first.has(f.gpu_index)) first.set(f.gpu_index, f);
  return gpus.map((g) => ({ ...g, finding: first.get(g.index) ?? null }));
}

/** Of the whole answer, as the daemon judges it; an answer that asks for nothing is idle where all the GPUs are. */
export function answerLevel(why: Why | null): Level {
  const level = why ? levelOf(why.severity) : "idle";
  return level === "good" && why!.gpus.every((g) => g.activity?.code === "idle" || g.activity?.code === "asleep")
    ? "idle"
    : level;
}

export function likelihood(confidence: number): string {
  return confidence >= 0.85
    ? "very likely"
    : confidence >= 0.6
      ? "likely"
      : confidence >= 0.3
        ? "possible"
        : "can't tell";
}

const PROGRAM = /^(?:sudo |whirr |kill |ps |systemctl |docker |podman |[a-z]+-smi )/;

/** A suggestion, apart from the command that can be pasted. */
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

/** The newest sample over the last full answer: the socket brings the first, every second. */
export function merge(gpus: Gpu[], summary: Summary): Gpu[] {
  const by = new Map(summary.gpus.map((g) => [g.index, g]));
  return gpus.map((g) => {
    const s = by.get(g.index);
    return s
      ? {
          ...g,
          activity: s.activity ?? g.activity,
          finding: s.finding === undefined ? g.finding : s.finding,
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

export interface Row extends Process {
  gpu: number;
}
export type SortKey = "gpu" | "pid" | "user" | "name" | "memory_mb" | "utilization_percent" | "power_watts";

export function rows(gpus: Gpu[]): Row[] {
  return gpus.flatMap((g) =>
    g.processes.map((p) => ({
      ...p,
      name: p.short_name ?? p.display_name ?? p.name,
      container: p.container_name ?? p.container,
      gpu: g.index,
    })),
  );
}

export function sorted(list: Row[], key: SortKey, down: boolean): Row[] {
  const value = (r: Row) => r[key] ?? null;
  return [...list].sort((a, b) => {
    const x = value(a),
      y = value(b);
    if (x === null || y === null) return x === y ? a.pid - b.pid : x === null ? 1 : -1; // unknown ones stay below either way
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return (down ? -order : order) || a.gpu - b.gpu || a.pid - b.pid;
  });
}

/** What matters first: what a finding is about, then what works, then what holds most. */
export function byWeight(list: Row[], findings: Finding[]): Row[] {
  const level = new Map<number, number>();
  for (const f of findings)
    if (f.pid && f.severity !== "info") level.set(f.pid, Math.max(level.get(f.pid) ?? 0, RANK[levelOf(f.severity)]));
  const work = (r: Row) => Math.round((r.utilization_percent ?? 0) / 5);
  return [...list].sort(
    (a, b) =>
      (level.get(b.pid) ?? 0) - (level.get(a.pid) ?? 0) ||
      work(b) - work(a) ||
      (b.memory_mb ?? -1) - (a.memory_mb ?? -1) ||
      a.gpu - b.gpu ||
      a.pid - b.pid,
  );
}

/** Every word must occur; "user:alice" and the like look at one field only. */
export function filtered(list: Row[], query: string): Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return list;
  return list.filter((r) =>
    words.every((word) => {
      const [field, rest] = word.split(/:(.*)/s, 2) as [string, string?];
      const fields: Record<string, unknown> = {
        user: r.user,
        name: r.name,
        job: r.job,
        pid: r.pid,
        container: r.container,
        model: r.model,
        gpu: r.gpu,
        type: r.type,
      };
      if (rest != null && field in fields)
        return String(fields[field] ?? "")
          .toLowerCase()
          .includes(rest);
      return [r.pid, r.name, r.user, r.command, r.container, r.model, r.type].some((v) =>
        String(v ?? "")
          .toLowerCase()
          .includes(word),
      );
    }),
  );
}

export interface Lane {
  key: string;
  gpu: number;
  name: string;
  user: string | null;
  energy: number;
  spans: { from: number; to: number; idle: boolean; util: Num; memory: Num }[];
}

/** Lives of processes as lines: one for each program of a user on a GPU, those that used most energy first. */
export function lanes(lives: Life[], from: number, to: number): Lane[] {
  const found = new Map<string, Lane>();
  for (const l of lives) {
    const span = { from: Date.parse(l.first_seen), to: Date.parse(l.last_seen) };
    if (span.to < from || span.from > to) continue;
    const key = `${l.gpu_index}/${l.name}/${l.user}`;
    const lane = found.get(key) ?? {
      key,
      gpu: l.gpu_index,
      name: l.short_name ?? l.name ?? String(l.pid),
      user: l.user,
      energy: 0,
      spans: [],
    };
    lane.spans.push({ ...span, idle: l.held_idle, util: l.utilization_mean_percent, memory: l.memory_peak_mb });
    lane.energy += l.energy_joules ?? 0;
    found.set(key, lane);
  }
  return [...found.values()].sort((a, b) => b.energy - a.energy);
}

export type GroupKey = "" | "user" | "container" | "model" | "job";
export interface Group {
  name: string;
  memory_mb: Num;
  utilization_percent: Num;
  power_watts: Num;
  rows: Row[];
}

export function grouped(list: Row[], key: Exclude<GroupKey, "">): Group[] {
  const groups = new Map<string, Row[]>();
  for (const r of list) {
    const name = r[key] || "–",
      rows = groups.get(name);
    if (rows) rows.push(r);
    else groups.set(name, [r]);
  }
  const of = (rows: Row[], figure: "memory_mb" | "utilization_percent" | "power_watts") =>
    sum(rows.map((r) => r[figure]));
  return [...groups]
    .map(([name, rows]) => ({
      name,
      rows,
      memory_mb: of(rows, "memory_mb"),
      utilization_percent: of(rows, "utilization_percent"),
      power_watts: of(rows, "power_watts"),
    }))
    .sort((a, b) => (b.memory_mb ?? -1) - (a.memory_mb ?? -1));
}

/** Values of all GPUs at a moment, over what is known of the GPUs now (names, limits). Null: nothing was stored near it. */
export function gpusAt(now: Gpu[], history: History, why: Why, atSeconds: number): Gpu[] {
  const apart = (s: Series) => {
    const index = nearest(s.times, atSeconds);
    return index == null ? Infinity : Math.abs(s.times[index]! - atSeconds);
  };
  // An index may have belonged to another GPU before: the one that was there then counts.
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

/** The health at a moment: what the last change before it says, or what the first one after it says was before; without any, as now, if
 * that has been so since then. */
export function healthAt(now: HealthVerdict[], events: PastEvent[], at: number): HealthVerdict[] {
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
      if (before) return [{ ...(before.data as unknown as HealthVerdict), since: before.at }];
      if (!after)
        return today && (today.state === "healthy" || (today.since && Date.parse(today.since) <= at)) ? [today] : [];
      const was = (after.data as { before?: string }).before;
      return was && was !== "unknown"
        ? [{ gpu_index: gpu, gpu_name: today?.gpu_name ?? "", state: was, reason: "", action: "", since: null }]
        : [];
    });
}

/** What is shown of a moment: nothing of now, where nothing was stored then. */
export function pastAt(
  now: { gpus: Gpu[] | null; health: HealthVerdict[] },
  history: History,
  why: Why,
  events: PastEvent[],
  at: number,
): { gpus: Gpu[]; health: HealthVerdict[] } {
  return why.gap
    ? { gpus: [], health: [] }
    : { gpus: gpusAt(now.gpus ?? [], history, why, at / 1000), health: healthAt(now.health, events, at) };
}

/** How long a worker stays as it is, as far as that can be known; "" where it can't. */
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

/** Energy that no process accounts for has no user. */
export const userName = (u: { name: string; kind?: string }) =>
  u.name || (u.kind && u.kind !== "used" && u.kind !== "unattributed" ? u.kind.replaceAll("_", " ") : "not attributed");

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

/** The place of the last time that is not behind `at`; the first one where all are. */
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

/** Seconds until the next attempt: doubled each time, at most half a minute, and not all pages at once. */
export function backoff(attempt: number, random = Math.random()): number {
  return Math.min(30, 2 ** Math.min(attempt, 5)) * (0.75 + random / 2);
}

export interface Place {
  at: number | null;
  from: number | null;
  to: number | null;
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86400, y: 31536000 };

/** What a permalink asks for; milliseconds, null for now. A moment may have a window of its own around it. */
export function readPlace(search: string, now = Date.now()): Place {
  const query = new URLSearchParams(search);
  const time = (name: string) => {
    const text = query.get(name);
    if (!text) return null;
    const ago = /^-(\d+)([smhd])$/.exec(text);
    if (ago) return now - Number(ago[1]) * 1000 * UNITS[ago[2] as "s"];
    const ms = Date.parse(text);
    return Number.isNaN(ms) ? null : ms;
  };
  const at = time("at"),
    from = time("from"),
    to = time("to");
  return from == null
    ? { at, from: null, to: null }
    : { at, from: Math.min(from, to ?? now), to: Math.max(from, to ?? now) };
}

export const NOW: Place = { at: null, from: null, to: null };

/** How it is looked at. All of it is in the address: a reload or a link shows the same. */
export interface View {
  span: number; // seconds
  gpu: number | null;
  pid: number | null; // whose why is open
  by: "gpu" | "process";
  compare: string; // "", "gpu:1", "ago:86400" or "at:2026-11-15T03:10"
  q: string; // which processes
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
export const LIVE_SPAN = 900; // seconds: what the page itself remembers
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

/** The address of what is shown; what is as usual is left out. */
export function writePlace(place: Place, view: View = USUAL): string {
  const iso = (ms: number) => new Date(Math.round(ms / 1000) * 1000).toISOString().replace(".000", "");
  const parts: [string, string][] = [];
  if (place.at != null) parts.push(["at", iso(place.at)]);
  if (place.from != null && place.to != null) parts.push(["from", iso(place.from)], ["to", iso(place.to)]);
  if (view.span !== USUAL.span) parts.push(["span", SPANS.find(([, n]) => n === view.span)?.[0] ?? `${view.span}s`]);
  for (const key of ["gpu", "pid", "by", "compare", "q", "group", "lanes"] as const)
    if (view[key] !== USUAL[key]) parts.push([key, String(view[key])]);
  const clean = (text: string) => encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%20", "+");
  return parts.length ? `?${parts.map(([k, v]) => `${k}=${clean(v)}`).join("&")}` : "";
}

export interface Window {
  from: number; // milliseconds
  to: number;
  live: boolean; // moves on
}

/** From when to when charts show. Around a moment, at least an hour, so that its surroundings are seen. */
export function windowOf(place: Place, span: number, now: number): Window {
  if (place.from != null && place.to != null) return { from: place.from, to: place.to, live: false };
  if (place.at == null) return { from: now - span * 1000, to: now, live: true };
  const wide = Math.max(3600, span) * 1000,
    to = Math.min(now, place.at + wide / 2);
  return { from: to - wide, to, live: false };
}

/** A line through the values, as an SVG path over width x height; gaps where nothing was stored. */
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
