// SPDX-License-Identifier: Apache-2.0
// Findings and their alerts as one list.
import { clock, duration, plainly } from "./format";
import { levelOf, RANK } from "./level";
import type { Alert } from "./api";
import type { Finding } from "./types";

export interface Item {
  key: string;
  severity: string;
  text: string;
  when: string;
  over: boolean;
  gpu: number | null;
  alert: Alert | null;
}

const span = (since: string | null | undefined, now: number) =>
  since ? `since ${clock(Date.parse(since))}, ${duration(Math.max(0, (now - Date.parse(since)) / 1000))}` : "";

/** Findings with their alerts, followed by resolved alerts and those of custom rules. */
export function items(findings: Finding[], alerts: Alert[], now: number): Item[] {
  const same = (f: Finding, a: Alert) =>
    (a.code ?? a.alert) === f.code && a.gpu_index === f.gpu_index && a.state !== "resolved";
  const own = findings.map((f): Item => {
    const alert = alerts.find((a) => same(f, a)) ?? null;
    return {
      key: `${f.code}/${f.gpu_index}/${f.pid}`,
      severity: f.severity,
      text: plainly(f.headline),
      when: span(f.since, now),
      over: false,
      gpu: f.gpu_index,
      alert: alert?.state === "firing" ? alert : null,
    };
  });
  const rest = alerts
    .filter((a) => a.state !== "pending" && !findings.some((f) => same(f, a)))
    .map((a): Item => {
      const over = a.state === "resolved";
      return {
        key: `${a.fingerprint}${a.state}`,
        severity: a.severity,
        text: plainly(a.summary),
        when: over ? `over${a.ended_at ? ` since ${clock(Date.parse(a.ended_at))}` : ""}` : span(a.started_at, now),
        over,
        gpu: a.gpu_index,
        alert: over ? null : a,
      };
    });
  const rank = (i: Item) => (i.over ? 0 : RANK[levelOf(i.severity)]);
  return [...own, ...rest].sort((a, b) => rank(b) - rank(a));
}
