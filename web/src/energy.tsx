// SPDX-License-Identifier: Apache-2.0
// kWh and cost by user: of today, or of the period on screen.
import { useState } from "preact/hooks";
import { Missing, useAsked } from "./asked";
import { now } from "./clock";
import { clock, duration, energy, percent } from "./format";
import { userName } from "./model";
import { Bar, Choice, Section } from "./parts";
import type { State } from "./store";
import type { Report } from "./types";

const BY = { users: "User", containers: "Container", models: "Model", commands: "Program" } as const;
const MOST = 8;

export function EnergyPanel({ s }: { s: State }) {
  const [by, setBy] = useState<keyof typeof BY>("users");
  const { from, to, at } = s.place;
  const midnight = new Date(at ?? s.sampleAt ?? now()).setHours(0, 0, 0, 0),
    end = midnight + 86400e3;
  const iso = (ms: number) => new Date(ms).toISOString();
  const range =
    from != null
      ? `since=${iso(from)}&until=${iso(to!)}`
      : `since=${iso(midnight)}${at == null || end > now() ? "" : `&until=${iso(end)}`}`;
  const tick = from != null || at != null ? 0 : Math.floor((s.sampleAt ?? 0) / 60e3);
  const asked = useAsked<Report>(`/api/report?${range}`, s.link === "live" && s.history, tick),
    report = asked.answer;
  if (!s.history) return null;
  const priced = report?.price_per_kwh != null,
    list = report?.[by] ?? [],
    most = list.reduce((n, u) => Math.max(n, u.energy_joules), 0);
  return (
    <Section
      id="energy"
      fold
      title={
        from != null
          ? `Energy, ${clock(from)} to ${clock(to!)}`
          : at != null
            ? `Energy on ${clock(midnight).slice(0, 10)}`
            : "Energy today"
      }
      side={
        <Choice label="Energy by" of={Object.entries(BY) as [keyof typeof BY, string][]} value={by} choose={setBy} />
      }
    >
      <Missing of={asked} />
      {report && (
        <>
          <p>{report.answer}</p>
          <table class="bars">
            <caption class="sr">Energy by {BY[by].toLowerCase()}</caption>
            <thead class="sr">
              <tr>
                <th scope="col">{BY[by]}</th>
                <th scope="col">Of the most</th>
                <th scope="col">Energy</th>
                {priced && <th scope="col">Cost</th>}
                <th scope="col">Share</th>
              </tr>
            </thead>
            <tbody>
              {list.slice(0, MOST).map((u) => (
                <tr
                  key={`${u.name ?? ""} ${u.kind}`}
                  title={u.busy_hours == null ? undefined : `busy for ${duration(u.busy_hours * 3600)}`}
                >
                  <th scope="row">{userName(u)}</th>
                  <td class="wide">
                    <Bar value={u.energy_joules} limit={most} label={`Energy of ${userName(u)}`} />
                  </td>
                  <td class="n">{energy(u.energy_joules)}</td>
                  {priced && (
                    <td class="n dim">{u.cost == null ? "–" : `${u.cost.toFixed(2)} ${report.currency ?? ""}`}</td>
                  )}
                  <td class="n dim">{percent(u.share_percent)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {list.length > MOST && <p class="dim">{list.length - MOST} more used less.</p>}
          {!priced && (
            <p class="dim">
              Set <code>energy.price_per_kwh</code> to see what it costs.
            </p>
          )}
        </>
      )}
    </Section>
  );
}
