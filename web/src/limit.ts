// SPDX-License-Identifier: Apache-2.0
// What keeps a GPU or a process from being faster, in words. Nothing here touches the document.
import type { Gpu, Limit } from "./types";

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
