// SPDX-License-Identifier: Apache-2.0
// What limits a GPU or a process, in words. Does not touch the document.
import type { Level } from "./level";
import type { Gpu, Limit, Seen } from "./types";

/** Throttling in words; the finding has the severity. */
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

/** What slows it down, according to the daemon. A power limit that was reached doesn't count, but gets a dim word. */
export function slowedBy(gpu: Gpu): string[] | null {
  const judged = gpu.activity?.throttled_by;
  if (!judged) return gpu.throttle_reasons;
  return gpu.throttle_reasons?.includes("power cap") && !judged.includes("power cap")
    ? [...judged, "power cap"]
    : judged;
}

/** What limits a GPU, in two or three words; null if unknown. */
export function limitOf(gpu: Gpu): string | null {
  if (gpu.state !== "ok") return gpu.state;
  const slow = throttling(slowedBy(gpu));
  if (slow) return slow;
  if (gpu.activity?.code === "idle") return "idle";
  const first = busiest(gpu);
  return first ? limitWords(first.limit) : null;
}

const busiest = (gpu: Gpu) =>
  gpu.processes.reduce<Seen | undefined>(
    (most, p) => ((p.utilization_percent ?? 0) > (most?.utilization_percent ?? -1) ? p : most),
    undefined,
  );

/** The limit in words, if one is known. */
export function limitWords(limit: Pick<Limit, "code" | "side" | "words"> | null | undefined): string | null {
  if (!limit || limit.code === "none" || limit.code === "cannot_tell") return null;
  return limit.side === "host" || limit.code === "no_requests" ? `waits: ${limit.words}` : limit.words;
}

/** The activity of a GPU, as shown on a tile among many. */
export type GpuState = "works" | "waits" | "held" | "idle" | "unreadable";
export const STATES: Record<GpuState, string> = {
  works: "at work",
  waits: "waits, and does next to nothing",
  held: "held, and idle",
  idle: "idle",
  unreadable: "not readable",
};

const HELD = ["context_held", "vram_held"];

/** As the daemon judges it: a busiest process that waits is not working, however busy the GPU claims to be. */
export function shownState(gpu: Gpu, level: Level): GpuState {
  if (gpu.state !== "ok" && gpu.state !== "asleep") return "unreadable";
  if (gpu.finding && HELD.includes(gpu.finding.code)) return "held";
  const first = busiest(gpu),
    side = first?.limit?.side;
  if (side === "others" && first!.limit!.code !== "other_programs") return "waits";
  if (side === "host") return "waits";
  return level === "idle" ? "idle" : "works";
}
