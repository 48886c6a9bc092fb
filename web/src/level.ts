// SPDX-License-Identifier: Apache-2.0
// Severity as the daemon judges it: six levels, and what they apply to. Does not touch the document.
import type { Finding, Gpu, GpuCondition, Severity, Why } from "./types";

export type Level = "bad" | "warn" | "note" | "good" | "idle" | "silent";
export const RANK: Record<Level, number> = { silent: 5, bad: 4, warn: 3, note: 2, good: 1, idle: 0 };

export const worse = (a: Level, b: Level): Level => (RANK[a] >= RANK[b] ? a : b);

const SEVERITIES: Record<Severity, Level> = { critical: "bad", warning: "warn", notice: "note", info: "good" };

export const levelOf = (severity: string | null | undefined): Level => SEVERITIES[severity as Severity] ?? "good";

/** The number of findings per level that needs attention, without muted ones. */
export function counts(findings: { severity: Severity; muted?: boolean }[]): [Level, number][] {
  const all: [Level, number][] = (["bad", "warn", "note"] as Level[]).map((level) => [
    level,
    findings.filter((f) => !f.muted && levelOf(f.severity) === level).length,
  ]);
  return all.filter(([, n]) => n > 0);
}

/** The daemon's verdict. For a past moment without findings, the stored health counts. */
export function gpuLevel(gpu: Gpu, health?: GpuCondition): Level {
  const found = levelOf(gpu.finding?.severity);
  if (found !== "good") return found;
  if (gpu.state === "lost" || gpu.state === "error") return "bad";
  if (gpu.finding === undefined && health?.state && health.state in HEALTH) return HEALTH[health.state]!;
  return gpu.state === "asleep" || (gpu.activity ? gpu.activity.code === "idle" : !gpu.utilization_percent)
    ? "idle"
    : "good";
}

const HEALTH: Record<string, Level> = { degraded: "warn", failing: "bad", lost: "bad" };

/** The color of a figure: that of its GPU's finding, if it is about the same area. */
export const areaLevel = (gpu: Gpu, area: string): Level =>
  gpu.finding?.area === area ? levelOf(gpu.finding.severity) : "good";

/** Adds the first finding of each GPU. */
export function withFindings(gpus: Gpu[], findings: Finding[]): Gpu[] {
  const first = new Map<number | null, Finding>();
  for (const f of findings) if (!first.has(f.gpu_index)) first.set(f.gpu_index, f);
  return gpus.map((g) => ({ ...g, finding: first.get(g.index) ?? null }));
}

/** The worst finding, so that header and answer agree. Ties go to the GPU that the answer is about. */
export function worst(findings: Finding[], why: Why | null): Finding | null {
  const loud = findings.filter((f) => !f.muted && levelOf(f.severity) !== "good"),
    rank = (f: Finding) => RANK[levelOf(f.severity)] + (f.gpu_index === why?.gpu_index ? 0.5 : 0);
  return loud.reduce<Finding | null>((most, f) => (most && rank(most) >= rank(f) ? most : f), null);
}

/** The level of the whole answer; "idle" if nothing needs attention and all GPUs are idle. */
export function answerLevel(why: Why | null): Level {
  const level = why ? levelOf(why.severity) : "idle";
  return level === "good" && why!.gpus.every((g) => g.activity?.code === "idle" || g.activity?.code === "asleep")
    ? "idle"
    : level;
}
