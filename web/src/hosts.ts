// SPDX-License-Identifier: Apache-2.0
// What the page of all hosts shows, worked out of what /api/fleet answers. Nothing here touches the document.
import type { Level } from "./level";
import type { Num } from "./types";

export interface FleetGpu {
  host: string;
  gpu_index: number | null;
  uuid: string | null;
  name: string | null;
  up: boolean;
  trouble: string;
  severity: string | null;
  headline: string | null;
  work_may_go_there: boolean;
  working: boolean;
  utilization_percent: Num;
  memory_used_mb: Num;
  memory_total_mb: Num;
  memory_room_mb: Num;
  temperature_celsius: Num;
  power_watts: Num;
}

export interface FleetHost {
  host: string;
  trouble: string;
  severity: string | null;
  note: string | null;
  utilization_percent: Num;
  memory_used_mb: Num;
  memory_total_mb: Num;
  temperature_celsius: Num;
  power_watts: Num;
  gpus: FleetGpu[];
}

export type TroubleFilter = "" | "trouble" | "room";
export type HostOrder = "" | "host" | "utilization_percent" | "memory_used_mb" | "temperature_celsius" | "power_watts";

/** As `whirr status --fleet` colors it: by the severity that the host gave it. Of a silent host, and of a GPU that an older whirr calls lost, nothing else is known. */
export function troubleLevel({ trouble, severity }: { trouble: string; severity: string | null }): Level {
  if (trouble === "fine") return "good";
  if (trouble === "silent") return "silent";
  if (severity === "critical" || trouble === "lost") return "bad";
  return severity === "warning" ? "warn" : severity === "notice" ? "note" : "idle";
}

const ROOM = 8192; // MiB: worth a look

/** Has one of its GPUs room for work? */
export const hasRoom = (h: FleetHost) => h.gpus.some((g) => g.work_may_go_there && (g.memory_room_mb ?? 0) >= ROOM);

/** In the order of the daemon, which is worst first, or by a column. */
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

/** Where a host has its own page: where this one is, by its name. The one that answers is here. */
export const pageOf = (host: string, here: { protocol: string; port: string }) =>
  `${here.protocol}//${encodeURIComponent(host)}${here.port ? `:${here.port}` : ""}/`;

/** Those that work and whose room is known. */
function withRoom(hosts: FleetHost[]): FleetGpu[] {
  return hosts.flatMap((h) => h.gpus).filter((g) => g.work_may_go_there && g.memory_room_mb != null);
}

/** GPUs with so much free, idle ones first, then the tightest fit: as `whirr fit --fleet`. */
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

/** What the host said about it, where that is more than that all is well. */
export function troubleText(g: FleetGpu): string | null {
  if (g.trouble === "fine") return null;
  return g.trouble === "held" ? "held but idle" : (g.headline ?? g.trouble.replace("_", " "));
}
