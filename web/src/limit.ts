// SPDX-License-Identifier: Apache-2.0
// What keeps a GPU or a process from being faster, in words. Nothing here touches the document.
import type { Level } from "./level";
import type { Gpu, Limit, Process } from "./types";

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
  const first = busiest(gpu);
  return first ? limitWords(first.limit) : null;
}

const busiest = (gpu: Gpu) =>
  gpu.processes.reduce<Process | undefined>(
    (most, p) => ((p.utilization_percent ?? 0) > (most?.utilization_percent ?? -1) ? p : most),
    undefined,
  );

/** In words, where something is known to limit it. */
export function limitWords(limit: Pick<Limit, "code" | "side" | "words"> | null | undefined): string | null {
  if (!limit || limit.code === "none" || limit.code === "cannot_tell") return null;
  return limit.side === "host" || limit.code === "no_requests" ? `waits: ${limit.words}` : limit.words;
}

/** What a GPU does, as a tile among many shows it. */
export type GpuState = "works" | "waits" | "held" | "idle" | "unreadable";
export const STATES: Record<GpuState, string> = {
  works: "at work",
  waits: "waits, and does next to nothing",
  held: "held, and idle",
  idle: "idle",
  unreadable: "not readable",
};

const HELD = ["context_held", "vram_held"];

/** As the daemon judges it: what the busiest process waits for is no work, however busy the GPU calls itself. */
export function shownState(gpu: Gpu, level: Level): GpuState {
  if (gpu.state !== "ok" && gpu.state !== "asleep") return "unreadable";
  if (gpu.finding && HELD.includes(gpu.finding.code)) return "held";
  const first = busiest(gpu),
    side = first?.limit?.side;
  if (side === "others" && first!.limit!.code !== "other_programs") return "waits";
  if (side === "host") return "waits";
  return level === "idle" ? "idle" : "works";
}
