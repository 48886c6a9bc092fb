// SPDX-License-Identifier: Apache-2.0
// How bad it is, as the daemon judges it: six levels, and what has which. Nothing here touches the document.
import type { Finding, Gpu, HealthVerdict, Severity, Why } from "./types";

export type Level = "bad" | "warn" | "note" | "good" | "idle" | "silent";
export const RANK: Record<Level, number> = { silent: 5, bad: 4, warn: 3, note: 2, good: 1, idle: 0 };

export const worse = (a: Level, b: Level): Level => (RANK[a] >= RANK[b] ? a : b);

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

/** What is worst: header and answer are about the same. Of several that are as bad, what the answer is about comes first. */
export function worst(findings: Finding[], why: Why | null): Finding | null {
  const loud = findings.filter((f) => !f.muted && levelOf(f.severity) !== "good"),
    rank = (f: Finding) => RANK[levelOf(f.severity)] + (f.gpu_index === why?.gpu_index ? 0.5 : 0);
  return loud.reduce<Finding | null>((most, f) => (most && rank(most) >= rank(f) ? most : f), null);
}

/** Of the whole answer, as the daemon judges it; an answer that asks for nothing is idle where all the GPUs are. */
export function answerLevel(why: Why | null): Level {
  const level = why ? levelOf(why.severity) : "idle";
  return level === "good" && why!.gpus.every((g) => g.activity?.code === "idle" || g.activity?.code === "asleep")
    ? "idle"
    : level;
}
