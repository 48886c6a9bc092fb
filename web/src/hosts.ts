// SPDX-License-Identifier: Apache-2.0
// Derives the page of all hosts from the answer of /api/fleet. Does not touch the document.
import type { Level } from "./level";
import type { FleetGpu, FleetHost, ScrapeTarget as Target } from "./api";

export type {
  FleetBill as Bill,
  Fleet as FleetAnswer,
  FleetNow as Fleet,
  FleetGpu,
  FleetHost,
  ScrapeTarget as Target,
} from "./api";

export type TroubleFilter = "" | "trouble" | "room";
export type HostOrder = "" | "host" | "utilization_percent" | "memory_used_mb" | "temperature_celsius" | "power_watts";

/** Like `whirr status --fleet`: by the reported severity. Nothing else is known about silent hosts and lost GPUs. */
export function troubleLevel({ trouble, severity }: { trouble: string; severity: string | null }): Level {
  if (trouble === "fine") return "good";
  if (trouble === "silent") return "silent";
  if (severity === "critical" || trouble === "lost") return "bad";
  return severity === "warning" ? "warn" : severity === "notice" ? "note" : "idle";
}

const ROOM = 8192; // MiB: worth showing

/** Whether one of its GPUs has room for work. */
export const hasRoom = (h: FleetHost) => h.gpus.some((g) => g.work_may_go_there && (g.memory_room_mb ?? 0) >= ROOM);

/** In the daemon's order, worst first, or by a column. */
export function hostsShown(hosts: FleetHost[], only: TroubleFilter, query: string, order: HostOrder = ""): FleetHost[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const list = hosts.filter(
    (h) =>
      (only === "" || (only === "trouble" ? h.trouble !== "fine" : hasRoom(h))) &&
      words.every(
        (w) =>
          h.host.toLowerCase().includes(w) ||
          (h.note ?? "").toLowerCase().includes(w) ||
          h.gpus.some((g) => g.name?.toLowerCase().includes(w)),
      ),
  );
  if (order === "host") return list.sort((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }));
  return order ? list.sort((a, b) => (b[order] ?? -1) - (a[order] ?? -1)) : list;
}

/** The hosts' own pages, as far as configured: a guess would lead nowhere. */
export const pagesOf = (targets: Target[]) =>
  new Map(targets.map((t) => [t.labels.host, `${t.labels.__scheme__}://${t.targets[0]}/`]));

/** The number of hosts per level that needs attention. */
export function hostCounts(hosts: FleetHost[]): [Level, number][] {
  const levels = hosts.map(troubleLevel);
  return (["silent", "bad", "warn", "note"] as Level[])
    .map((level): [Level, number] => [level, levels.filter((l) => l === level).length])
    .filter(([, n]) => n > 0);
}

/** Working GPUs whose free memory is known. */
function withRoom(hosts: FleetHost[]): FleetGpu[] {
  return hosts.flatMap((h) => h.gpus).filter((g) => g.work_may_go_there && g.memory_room_mb != null);
}

/** GPUs with that much free memory, idle ones first, then the tightest fit: like `whirr fit --fleet`. */
export function fitting(hosts: FleetHost[], mb: number): FleetGpu[] {
  const busy = (g: FleetGpu) => Number(g.working);
  return withRoom(hosts)
    .filter((g) => g.memory_room_mb! >= mb)
    .sort((a, b) => busy(a) - busy(b) || a.memory_room_mb! - b.memory_room_mb!);
}

export function freest(hosts: FleetHost[]): FleetGpu | null {
  return withRoom(hosts).reduce<FleetGpu | null>(
    (most, g) => (most && most.memory_room_mb! >= g.memory_room_mb! ? most : g),
    null,
  );
}

/** The host's finding about it, if there is a problem. */
export function troubleText(g: FleetGpu): string | null {
  if (g.trouble === "fine") return null;
  return g.trouble === "held" ? "held but idle" : (g.headline ?? g.trouble.replace("_", " "));
}
