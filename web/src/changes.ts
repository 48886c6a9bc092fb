// SPDX-License-Identifier: Apache-2.0
// Who changed what, and when: events of the history in words, and what still holds. Does not touch the document.
import { capital } from "./format";
import type { PastEvent } from "./types";

const KINDS = ["audit", "lease", "change", "guard"];

const DONE: Record<string, string> = {
  "/api/alerts/silence": "silenced alerts, or ended a silence",
  "/api/guard/evict": "evicted a worker",
  "/api/guard/hold": "held a worker off the GPU",
  "/api/guard/release": "released a worker",
  "/api/guard/resume": "resumed a worker",
  "/api/leases/end": "ended a lease",
  "/api/leases/settings": "changed a setting",
  "/api/source/release": "released a driver",
  "/api/undo": "took a change back",
};

interface Audit {
  who?: string;
  what?: string;
  status?: number;
}

export const isChange = (e: PastEvent): boolean => KINDS.includes(e.kind);

/** "alice held a worker off the GPU"; the event's own text where there is no better one. */
export function changeText(e: PastEvent): string {
  const { who, what, status = 200 } = (e.kind === "audit" ? (e.data as Audit | null) : null) ?? {},
    remedy = /^\/api\/remedies\/(\w+)/.exec(what ?? "")?.[1],
    done = remedy ? `did “${remedy.replaceAll("_", " ")}”` : DONE[what ?? ""];
  if (!who || !done) return capital(e.text ?? e.kind.replaceAll("_", " "));
  return status < 400 ? `${who} ${done}` : `${who} was refused (${what})`;
}
