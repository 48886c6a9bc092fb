// SPDX-License-Identifier: Apache-2.0
// A long period as lanes: who was on the GPUs, and what limited each program. Does not touch the document.
import { limitWords } from "./limit";
import type { Lane as Band } from "./scale";
import type { Life, LimitStretch, Num } from "./types";

export interface Span {
  from: number; // milliseconds
  to: number;
}
export interface Lane<T extends Span = Stay> {
  key: string;
  gpu: number;
  name: string;
  user: string | null;
  first: boolean; // of its user
  energy: number;
  spans: T[];
}
export interface Stay extends Span {
  idle: boolean;
  util: Num;
  memory: Num;
}
export interface Limited extends Span {
  text: string;
  kind: "work" | "link" | "wait" | "heat" | "none";
}

const keyOf = (l: Life) => `${l.gpu_index}/${l.name}/${l.user}`;

const laneOf = <T extends Span>(l: Life): Lane<T> => ({
  key: keyOf(l),
  gpu: l.gpu_index,
  name: l.short_name ?? l.name ?? String(l.pid),
  user: l.user,
  first: false,
  energy: 0,
  spans: [],
});

/** Users by energy, largest first, with their programs together. */
function byUser<T extends Span>(list: Lane<T>[]): Lane<T>[] {
  const of = new Map<string | null, number>();
  for (const l of list) of.set(l.user, (of.get(l.user) ?? 0) + l.energy);
  const sorted = [...list].sort(
    (a, b) => of.get(b.user)! - of.get(a.user)! || (a.user ?? "").localeCompare(b.user ?? "") || b.energy - a.energy,
  );
  return sorted.map((l, i) => ({ ...l, first: l.user !== sorted[i - 1]?.user }));
}

/** Turns runs of processes into lanes: one per program of a user on a GPU; limited to those with the most energy. */
export function lanes(lives: Life[], from: number, to: number, most = Infinity): Lane[] {
  const found = new Map<string, Lane>();
  for (const l of lives) {
    const span = { from: Date.parse(l.first_seen), to: Date.parse(l.last_seen) };
    if (span.to < from || span.from > to) continue;
    const lane = found.get(keyOf(l)) ?? laneOf<Stay>(l);
    lane.spans.push({ ...span, idle: l.held_idle, util: l.utilization_mean_percent, memory: l.memory_peak_mb });
    lane.energy += l.energy_joules ?? 0;
    found.set(lane.key, lane);
  }
  return byUser([...found.values()].sort((a, b) => b.energy - a.energy).slice(0, most));
}

const KINDS: Record<string, Limited["kind"]> = {
  gpu: "work",
  link: "link",
  host: "wait",
  others: "wait",
  none: "none",
};

/** What limited each program, according to the daemon: first those that waited longest for something other than their GPU. */
export function limitLanes(list: LimitStretch[], lives: Life[], most = Infinity): Lane<Limited>[] {
  const known = new Map(lives.map((l) => [l.life, l])),
    found = new Map<string, Lane<Limited>>(),
    slow = new Map<string, number>();
  for (const s of list) {
    const life = known.get(s.life);
    if (!life || s.code === "none" || s.code === "cannot_tell") continue;
    const lane = found.get(keyOf(life)) ?? laneOf<Limited>(life),
      kind = s.code === "heat" ? "heat" : (KINDS[s.side] ?? "none"),
      span = { from: Date.parse(s.since), to: Date.parse(s.until), text: s.doing, kind };
    if (!found.has(lane.key)) lane.energy = life.energy_joules ?? 0;
    lane.spans.push(span);
    found.set(lane.key, lane);
    if (kind !== "work" && kind !== "none") slow.set(lane.key, (slow.get(lane.key) ?? 0) + span.to - span.from);
  }
  return [...found.values()]
    .sort((a, b) => (slow.get(b.key) ?? 0) - (slow.get(a.key) ?? 0) || b.energy - a.energy)
    .slice(0, most)
    .map((l) => ({ ...l, first: true }));
}

/** The same below a chart: for each GPU, the program that was judged longest. */
export function limitBands(list: LimitStretch[], until = Infinity): Map<number, Band["parts"]> {
  const length = new Map<number, number>(),
    first = new Map<number, number>(); // by GPU: a run
  const seconds = (text: string) => Date.parse(text) / 1000;
  for (const s of list) length.set(s.life, (length.get(s.life) ?? 0) + seconds(s.until) - seconds(s.since));
  for (const s of list)
    if (length.get(s.life)! > (length.get(first.get(s.gpu_index) ?? -1) ?? 0)) first.set(s.gpu_index, s.life);
  const bands = new Map<number, Band["parts"]>();
  for (const s of list) {
    const text = limitWords(s),
      from = seconds(s.since),
      to = Math.min(until, seconds(s.until));
    if (!text || first.get(s.gpu_index) !== s.life || to <= from) continue;
    const parts = bands.get(s.gpu_index) ?? [];
    parts.push({ from, to, text, level: s.code === "heat" ? "bad" : "good" });
    bands.set(s.gpu_index, parts);
  }
  return bands;
}
