// SPDX-License-Identifier: Apache-2.0
// kWh and cost by user, over the time that the page shows.
import { useEffect, useState } from "preact/hooks";
import { clock, duration, energy } from "./format";
import { get } from "./live";
import { userName } from "./model";
import { Scroll, Section } from "./parts";
import type { State } from "./store";
import type { Report } from "./types";

const BY = { users: "user", containers: "container", models: "model", commands: "program" } as const;

export function EnergyPanel({ s, span }: { s: State; span: number }) {
  const [report, setReport] = useState<Report | null>(null);
  const [by, setBy] = useState<keyof typeof BY>("users");
  const { from, to } = s.place;
  const range =
    from != null ? `since=${new Date(from).toISOString()}&until=${new Date(to!).toISOString()}` : `since=-${span}s`;
  const tick = from != null ? 0 : Math.floor((s.sampleAt ?? 0) / Math.max(60e3, span * 5));
  useEffect(() => {
    if (s.link === "live" && s.history)
      get<Report>(`/api/report?${range}`)
        .then(setReport)
        .catch(() => undefined);
  }, [tick, range, s.link, s.history]);
  if (!s.history) return null;
  const cost = (v: number | null | undefined) => (v == null ? "–" : `${v.toFixed(2)} ${report?.currency ?? ""}`);
  const priced = report?.price_per_kwh != null;
  return (
    <Section
      id="energy"
      title={from == null ? "Energy" : `Energy from ${clock(from)} to ${clock(to!)}`}
      side={
        <label class="control">
          By{" "}
          <select value={by} onChange={(e) => setBy(e.currentTarget.value as keyof typeof BY)}>
            {Object.entries(BY).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
      }
    >
      {report ? (
        <>
          <p>{report.answer}</p>
          <Scroll label={`Energy by ${BY[by]}`}>
            <table class="small">
              <thead>
                <tr>
                  <th scope="col">{BY[by][0]!.toUpperCase() + BY[by].slice(1)}</th>
                  <th scope="col" class="n">
                    Busy
                  </th>
                  <th scope="col" class="n">
                    Energy
                  </th>
                  {priced && (
                    <th scope="col" class="n">
                      Cost
                    </th>
                  )}
                  <th scope="col" class="n">
                    Share
                  </th>
                </tr>
              </thead>
              <tbody>
                {report[by].slice(0, 10).map((u) => (
                  <tr key={u.name + u.kind}>
                    <th scope="row">{userName(u)}</th>
                    <td class="n">{duration(u.busy_hours * 3600)}</td>
                    <td class="n">{energy(u.energy_joules)}</td>
                    {priced && <td class="n">{cost(u.cost)}</td>}
                    <td class="n">{u.share_percent == null ? "–" : `${Math.round(u.share_percent)}%`}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          {report[by].length > 10 && <p class="dim">{report[by].length - 10} more used less.</p>}
          {!priced && (
            <p class="dim">
              Set <code>energy.price_per_kwh</code> to see what it costs.
            </p>
          )}
        </>
      ) : (
        <p class="dim">Loading…</p>
      )}
    </Section>
  );
}
