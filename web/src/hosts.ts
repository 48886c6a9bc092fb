// SPDX-License-Identifier: Apache-2.0
// What the page of all hosts shows, worked out of what /api/fleet answers. Nothing here touches the document.
import type { Level } from "./model";
import type { Num } from "./types";

export interface FleetGpu {
  host: string;
  gpu_index: number | null;
  uuid: string | null;
  name: string | null;
  up: boolean;
  trouble: string;
  utilization_percent: Num;
  memory_used_mb: Num;
  memory_total_mb: Num;
  memory_free_mb: Num;
  temperature_celsius: Num;
  power_watts: Num;
  throttle_reason: string | null;
  health_reason: string | null;
}

export interface FleetHost {
  host: string;
  trouble: string;
  note: string | null;
  utilization_percent: Num;
  memory_used_mb: Num;
  memory_total_mb: Num;
  temperature_celsius: Num;
  power_watts: Num;
  gpus: FleetGpu[];
}

export type TroubleFilter = "" | "trouble" | "held";

const isHeld = (trouble: string) => trouble.startsWith("held");

/** As `whirr status --fleet` colors it. */
export function troubleLevel(trouble: string): Level {
  if (trouble === "fine") return "good";
  return trouble === "lost" || trouble === "failing" ? "bad" : isHeld(trouble) ? "idle" : "warn";
}

/** In the order of the daemon, which is worst first. */
export function hostsShown(hosts: FleetHost[], only: TroubleFilter, query: string): FleetHost[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return hosts.filter((h) => (only === "" || (only === "trouble" ? h.trouble !== "fine" : h.gpus.some((g) => isHeld(g.trouble)))) &&
    words.every((w) => h.host.toLowerCase().includes(w) || (h.note ?? "").toLowerCase().includes(w) || h.gpus.some((g) => g.name?.toLowerCase().includes(w))));
}

/** Those that work and whose room is known. */
function withRoom(hosts: FleetHost[]): FleetGpu[] {
  return hosts.flatMap((h) => h.gpus).filter((g) => g.up && troubleLevel(g.trouble) !== "bad" && g.memory_free_mb != null);
}

/** GPUs with so much free, idle ones first, then the tightest fit: as `whirr fit --fleet`. */
export function fitting(hosts: FleetHost[], mb: number): FleetGpu[] {
  const busy = (g: FleetGpu) => Number((g.utilization_percent ?? 0) > 10);
  return withRoom(hosts).filter((g) => g.memory_free_mb! >= mb).sort((a, b) => busy(a) - busy(b) || a.memory_free_mb! - b.memory_free_mb!);
}

export function freest(hosts: FleetHost[]): FleetGpu | null {
  return withRoom(hosts).reduce<FleetGpu | null>((most, g) => (most && most.memory_free_mb! >= g.memory_free_mb! ? most : g), null);
}

/** What is wrong, and why as far as that is known. */
export function troubleText(g: FleetGpu): string | null {
  if (g.trouble === "fine") return null;
  const why = g.trouble === "throttling" ? g.throttle_reason : g.health_reason;
  return `${isHeld(g.trouble) ? "held but idle" : g.trouble}${why ? ` (${why})` : ""}`;
}
