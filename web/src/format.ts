// SPDX-License-Identifier: Apache-2.0
// Numbers and times as whirr writes them everywhere.
import { now as hostNow } from "./clock";
import type { Num } from "./types";

export const DASH = "–";

export function percent(value: Num): string {
  return value == null ? DASH : `${Math.round(value)}%`;
}

export function celsius(value: Num): string {
  return value == null ? DASH : `${Math.round(value)} °C`;
}

export function watts(value: Num): string {
  if (value == null) return DASH;
  return value < 10000 ? `${Math.round(value)} W` : `${(value / 1000).toFixed(1)} kW`;
}

export function memory(mb: Num): string {
  if (mb == null) return DASH;
  if (Math.abs(mb) < 1024) return `${Math.round(mb)} MiB`;
  return Math.abs(mb) < 2 ** 20 ? `${(mb / 1024).toFixed(1)} GiB` : `${(mb / 2 ** 20).toFixed(1)} TiB`;
}

/** Prevents line breaks between a number and its unit. */
export function tied(text: string): string {
  return text.replace(/(\d) (?=(?:k?W|kWh|k?J|[KMGT]iB|MHz|rpm)\b|°C)/g, "$1\u00a0");
}

/** "6.1/24.0 GiB": the unit of the total, written once. */
export function memoryOf(used: Num, total: Num): string {
  if (total == null) return memory(used);
  const [scale, unit, digits] = total < 1024 ? [1, "MiB", 0] : [1024, "GiB", 1];
  return `${used == null ? DASH : (used / scale).toFixed(digits)}/${(total / scale).toFixed(digits)} ${unit}`;
}

export function wattsOf(used: Num, limit: Num): string {
  if (limit == null) return watts(used);
  return `${used == null ? DASH : Math.round(used)}/${Math.round(limit)} W`;
}

export function energy(joules: Num): string {
  if (joules == null) return DASH;
  const kwh = joules / 3.6e6;
  if (joules === 0) return "0 kJ";
  if (kwh < 0.01) return `${(joules / 1000).toPrecision(joules < 10000 ? 2 : 3)} kJ`;
  return `${kwh < 10 ? kwh.toFixed(2) : kwh < 100 ? kwh.toFixed(1) : Math.round(kwh)} kWh`;
}

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return s % 60 && m < 10 ? `${m}m ${s % 60}s` : `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 ? `${h}h ${m % 60}m` : `${h}h`;
  const d = Math.floor(h / 24);
  return h % 24 ? `${d}d ${h % 24}h` : `${d}d`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** A short time: "39 ms", "4.2 s". */
export function brief(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}

/** Local time, with the date unless it is today. */
export function clock(ms: number, now = hostNow(), seconds = false): string {
  const t = new Date(ms);
  const time = `${two(t.getHours())}:${two(t.getMinutes())}${seconds ? `:${two(t.getSeconds())}` : ""}`;
  return t.toDateString() === new Date(now).toDateString()
    ? time
    : `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${time}`;
}

/** " until 18:00"; empty if the end is open. */
export const until = (time: string | null): string => (time ? ` until ${clock(Date.parse(time))}` : "");

/** "Monday, Nov 16, 03:10:00": the moment on screen. */
export function longClock(ms: number): string {
  const day = new Date(ms).toLocaleDateString("en-US", { weekday: "long", month: "short", day: "numeric" });
  return `${day}, ${new Date(ms).toTimeString().slice(0, 8)}`;
}

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** "03:10", "yesterday 22:00", "mon 9:30", "2h ago", "2026-11-15 03:10": a typed moment in local time; null if invalid. A time
 * of day is the most recent one. */
export function parseMoment(text: string, now = hostNow()): number | null {
  const said = text.trim().toLowerCase().replace(/,/g, " ").replace(/\s+/g, " ");
  const ago = /^-?\s*(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|hours?|d|days?|w|weeks?)( ago)?$/.exec(said);
  if (ago && (ago[3] || said.startsWith("-")))
    return now - Number(ago[1]) * 1000 * { s: 1, m: 60, h: 3600, d: 86400, w: 604800 }[ago[2]![0] as "s"];
  const found =
    /^(?:(today|yesterday|sun\w*|mon\w*|tue\w*|wed\w*|thu\w*|fri\w*|sat\w*|\d{4}-\d\d-\d\d)[ t]?)?(?:(\d{1,2})[:.h](\d\d)(?:[:.](\d\d))?)?\s*(am|pm)?$/.exec(
      said,
    );
  if (!found || (!found[1] && !found[2])) return null;
  const [, day, h = "12", m = "0", sec = "0", half] = found;
  const hour = (Number(h) % (half ? 12 : 24)) + (half === "pm" ? 12 : 0);
  if (Number(h) > 24 || Number(m) > 59 || Number(sec) > 59) return null;
  const t = new Date(now);
  if (day && /^\d/.test(day)) {
    const [y, mo, d] = day.split("-").map(Number) as [number, number, number];
    t.setFullYear(y, mo - 1, d);
  } else if (day === "yesterday") t.setDate(t.getDate() - 1);
  else if (day && day !== "today") {
    const wanted = DAYS.findIndex((name) => name.startsWith(day.slice(0, 3)));
    t.setDate(t.getDate() - ((t.getDay() - wanted + 7) % 7));
  }
  t.setHours(hour, Number(m), Number(sec), 0);
  if (t.getTime() > now && day !== "today" && !/^\d/.test(day ?? "")) t.setDate(t.getDate() - (day ? 7 : 1));
  return Number.isNaN(t.getTime()) ? null : t.getTime();
}

/** "2h", "08:00", "tomorrow 9:30", "fri 18:00": a typed end in local time, after now; null if invalid. */
export function parseUntil(text: string, now = hostNow()): number | null {
  const said = text
    .trim()
    .toLowerCase()
    .replace(/^(?:until|for) /, "");
  const span = /^(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|hours?|d|days?|w|weeks?)$/.exec(said);
  if (span) return now + Number(span[1]) * 1000 * { s: 1, m: 60, h: 3600, d: 86400, w: 604800 }[span[2]![0] as "s"];
  const [, day, rest] = /^(tomorrow|sun\w*|mon\w*|tue\w*|wed\w*|thu\w*|fri\w*|sat\w*)?\s*(.*)$/.exec(said)!;
  if (!day && !/\d/.test(rest!)) return null;
  const at = parseMoment(`today ${rest || "08:00"}`, now);
  return at == null ? null : later(at, day, now);
}

function later(at: number, day: string | undefined, now: number): number {
  const t = new Date(at);
  if (day === "tomorrow") t.setDate(t.getDate() + 1);
  else if (day) t.setDate(t.getDate() + ((DAYS.findIndex((n) => n.startsWith(day.slice(0, 3))) - t.getDay() + 7) % 7));
  while (t.getTime() <= now) t.setDate(t.getDate() + (day ? 7 : 1));
  return t.getTime();
}

/** The format of a datetime-local field. */
export const localTime = (ms: number) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60e3).toISOString().slice(0, 16);

const DAY = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });

/** A short label for a tick on the time axis. */
export function tickText(ms: number, spanSeconds: number): string {
  const t = new Date(ms),
    time = `${two(t.getHours())}:${two(t.getMinutes())}`;
  if (spanSeconds <= 86400 * 1.5) return time;
  return spanSeconds > 40 * 86400 ? DAY.format(t) : `${DAY.format(t)}, ${time}`;
}

/** If all GPUs are simulated, the page says so once, not in every sentence. */
export const plainly = (text: string) => text.replace(/\bsimulated (?=GPU)/gi, "");

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const FIGURE = /\d+(?:\.\d+)?/g;

/** Keeps the present sentence if the next one differs only by noise: same words, and no figure changed by more than a twentieth. */
export function steady(shown: string, next: string): string {
  if (shown.replace(FIGURE, "#") !== next.replace(FIGURE, "#")) return next;
  const before = shown.match(FIGURE) ?? [],
    after = (next.match(FIGURE) ?? []).map(Number);
  return before.every((f, i) => Math.abs(Number(f) - after[i]!) <= Math.abs(Number(f)) / 20) ? shown : next;
}

/** The first sentence, and the rest. */
export function firstSentence(text: string): [string, string] {
  const end = /[.!?] (?=[A-Z0-9"“])/.exec(text);
  return end ? [text.slice(0, end.index + 1), text.slice(end.index + 2)] : [text, ""];
}

/** Drops the vendor, and the brand before "RTX" or "RX": what owners call it. */
export function shortName(name: string | null, vendor: string): string {
  if (!name) return "unknown";
  const rest = name.toLowerCase().startsWith(`${vendor.toLowerCase()} `) ? name.slice(vendor.length + 1) : name;
  return rest.replace(/^[A-Z][a-zF]+ (?=(?:RTX|GTX|RX|GT) )/, "");
}

export function zone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
}

/** "UTC", "UTC+5:30": a zone by its offset in minutes. */
export function utcZone(minutes: number): string {
  const m = Math.abs(minutes);
  return minutes === 0
    ? "UTC"
    : `UTC${minutes < 0 ? "\u2212" : "+"}${Math.floor(m / 60)}${m % 60 ? `:${two(m % 60)}` : ""}`;
}

/** "12GiB", "12 gb", "7.5": a model's size in bytes; null if invalid. The default unit is GiB. */
export function parseSize(text: string): number | null {
  const found = /^\s*(\d+(?:[.,]\d+)?)\s*(b|bytes|[kmgt]i?b?)?\s*$/i.exec(text);
  if (!found) return null;
  const unit = (found[2] ?? "gib").toLowerCase();
  const power = unit.startsWith("b") ? 0 : "kmgt".indexOf(unit[0]!) + 1;
  const base = unit.length === 2 && unit.endsWith("b") ? 1000 : 1024;
  return Math.round(Number(found[1]!.replace(",", ".")) * base ** power);
}

/** "0, 2-5, 9" */
export function ranges(list: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < list.length;) {
    let end = i;
    while (list[end + 1] === list[end]! + 1) end++;
    parts.push(end > i ? `${list[i]}-${list[end]}` : String(list[i]));
    i = end + 1;
  }
  return parts.join(", ");
}

/** The explanation of "–": the API's reason as a sentence. */
export function absence(reason: string | undefined): string {
  switch (reason) {
    case "unsupported":
      return "This GPU or its driver doesn't report it.";
    case "pending":
    case "unread":
      return "Not read yet.";
    case "failed":
      return "Reading it failed.";
    case "implausible":
      return "The driver gave a value that can't be true.";
    case "not stored":
      return "The history doesn't hold it.";
    case "lost":
      return "The GPU is lost.";
    case "denied":
      return "whirr isn't allowed to read it.";
    case "asleep":
      return "The GPU is asleep; reading would wake it.";
    case undefined:
      return "No value.";
    default:
      return `Not available: ${reason.replaceAll("_", " ")}.`;
  }
}
