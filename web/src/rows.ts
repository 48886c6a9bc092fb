// SPDX-License-Identifier: Apache-2.0
// Processes as rows of a table: sorted, filtered, grouped. Does not touch the document.
import { brief, percent } from "./format";
import { levelOf, RANK } from "./level";
import { sum } from "./model";
import type { Finding, Gpu, Num, Process } from "./types";

type Known = "pid" | "name" | "command" | "user" | "memory_mb" | "utilization_percent" | "container";

/** A process now, or one of the past, of which less is known. */
export interface Row extends Partial<Omit<Process, Known>>, Pick<Process, Known> {
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
    if (x === null || y === null) return x === y ? a.pid - b.pid : x === null ? 1 : -1; // unknown ones stay last either way
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return (down ? -order : order) || a.gpu - b.gpu || a.pid - b.pid;
  });
}

/** Most important first: with a finding, then by work, then by memory. */
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

/** Every word must occur; "user:alice" and the like match only one field. */
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

/** Tokens per joule over all processes of the model; null if a power or every rate is unknown. */
export function tokensPerJoule(r: Row, list: Row[]): Num {
  if (r.tokens_per_second == null) return null;
  const same = r.model ? list.filter((other) => other.model === r.model) : [r];
  if (same.some((other) => other.power_watts == null)) return null;
  const watts = sum(same.map((other) => other.power_watts)) ?? 0,
    tokens = sum(same.map((other) => other.tokens_per_second)) ?? 0;
  return watts > 0 ? tokens / watts : null;
}

/** A model server's own figures, as names and words; empty for other processes. Omits unknown ones. */
export function serving(r: Row, list: Row[]): [string, string][] {
  const perJoule = tokensPerJoule(r, list),
    requests = [
      r.requests_running == null ? "" : `${r.requests_running} running`,
      r.requests_waiting == null ? "" : `${r.requests_waiting} waiting`,
    ].filter(Boolean);
  const told: [string, string | null][] = [
    ["Requests", requests.join(", ") || null],
    ["KV cache", r.kv_cache_percent == null ? null : percent(r.kv_cache_percent)],
    ["First token", r.time_to_first_token_seconds == null ? null : brief(r.time_to_first_token_seconds)],
    ["Per token", r.time_per_token_seconds == null ? null : brief(r.time_per_token_seconds)],
    ["Tokens per joule", perJoule ? perJoule.toPrecision(2) : null],
    ["Prompt tokens/s", r.prompt_tokens_per_second == null ? null : `${Math.round(r.prompt_tokens_per_second)}`],
    ["Prefix cache", r.prefix_cache_hit_percent == null ? null : percent(r.prefix_cache_hit_percent)],
    [
      "Preempted",
      r.preemptions_per_second ? `${Math.max(1, Math.round(r.preemptions_per_second * 60))} a minute` : null,
    ],
    ["Images queued", r.image_jobs == null ? null : `${r.image_jobs}`],
  ];
  return told.filter((f): f is [string, string] => f[1] != null);
}
