// SPDX-License-Identifier: Apache-2.0
// kWh and cost by user, of the time on screen; a user opens what it was spent on.
import { useState } from "preact/hooks";
import { Missing, useAsked } from "./asked";
import { duration, energy, percent } from "./format";
import { userName } from "./model";
import { Bar, Choice, Section } from "./parts";
import { look, type State } from "./store";
import { stretchOf } from "./stretch";
import type { Life, Report } from "./types";

const BY = { users: "User", containers: "Container", models: "Model", commands: "Program" } as const;
const MOST = 8;

/** What a user's programs took. */
function Spent({ user, query, columns }: { user: string; query: string; columns: number }) {
  const asked = useAsked<{ processes: Life[] }>(`/api/history/processes?${query}&sort=energy&limit=1000`, true);
  const of = new Map<string, { energy: number; seconds: number; gpus: Set<number> }>();
  for (const l of asked.value?.processes ?? []) {
    if (l.user !== user) continue;
    const name = l.short_name ?? l.name ?? String(l.pid),
      all = of.get(name) ?? { energy: 0, seconds: 0, gpus: new Set() };
    all.energy += l.energy_joules ?? 0;
    all.seconds += (Date.parse(l.last_seen) - Date.parse(l.first_seen)) / 1000;
    all.gpus.add(l.gpu_index);
    of.set(name, all);
  }
  return (
    <tr class="spent">
      <td colSpan={columns}>
        <Missing of={asked} />
        <ul class="plain" aria-label={`Programs of ${user}`}>
          {[...of]
            .sort((a, b) => b[1].energy - a[1].energy)
            .slice(0, MOST)
            .map(([name, x]) => (
              <li key={name}>
                {name}{" "}
                <span class="dim">
                  {energy(x.energy)}, {duration(x.seconds)} on GPU {[...x.gpus].sort((a, b) => a - b).join(", ")}
                </span>
              </li>
            ))}
        </ul>
      </td>
    </tr>
  );
}

export function EnergyPanel({ s }: { s: State }) {
  const [by, setBy] = useState<keyof typeof BY>("users");
  const time = stretchOf(s),
    tick = time.moving ? Math.floor((s.sampleAt ?? 0) / 60e3) : 0;
  const asked = useAsked<Report>(`/api/report?${time.query}`, s.link !== "connecting" && s.history, tick),
    report = asked.value;
  const open = /^user:(\S+)$/.exec(s.view.q)?.[1] ?? null;
  if (!s.history) return null;
  const priced = report?.price_per_kwh != null,
    list = report?.[by] ?? [],
    parked = list.some((u) => u.parked_kwh),
    most = list.reduce((n, u) => Math.max(n, u.energy_joules), 0);
  return (
    <Section
      id="energy"
      fold
      title="Energy"
      note={time.words}
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
                {parked && <th scope="col">Parked</th>}
                {priced && <th scope="col">Cost</th>}
                <th scope="col">Share</th>
              </tr>
            </thead>
            <tbody>
              {list.slice(0, MOST).flatMap((u) => [
                <tr
                  key={`${u.name ?? ""} ${u.kind}`}
                  title={u.busy_hours == null ? undefined : `busy for ${duration(u.busy_hours * 3600)}`}
                >
                  <th scope="row">
                    {by === "users" && u.name ? (
                      <button
                        type="button"
                        class="link strong"
                        aria-expanded={open === u.name}
                        title="What it was spent on, and only these processes"
                        onClick={() => look({ q: open === u.name ? "" : `user:${u.name}` })}
                      >
                        {userName(u)}
                      </button>
                    ) : (
                      userName(u)
                    )}
                  </th>
                  <td class="wide">
                    <Bar value={u.energy_joules} limit={most} label={`Energy of ${userName(u)}`} />
                  </td>
                  <td class="n">{energy(u.energy_joules)}</td>
                  {parked && (
                    <td class="n dim" title="What open contexts cost while their GPU rested">
                      {u.parked_kwh ? `${energy(u.parked_kwh * 3.6e6)} parked` : ""}
                    </td>
                  )}
                  {priced && (
                    <td class="n dim">{u.cost == null ? "–" : `${u.cost.toFixed(2)} ${report.currency ?? ""}`}</td>
                  )}
                  <td class="n dim">{percent(u.share_percent)}</td>
                </tr>,
                by === "users" && u.name && open === u.name && (
                  <Spent
                    key={`of ${u.name}`}
                    user={u.name}
                    query={time.query}
                    columns={4 + Number(priced) + Number(parked)}
                  />
                ),
              ])}
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
