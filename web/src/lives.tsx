// SPDX-License-Identifier: Apache-2.0
// Processes of a time: who ran, on what, for how long, with how much energy; from the history.
import { Missing, useAsked } from "./asked";
import { clock, DASH, duration, energy, memory, percent } from "./format";
import { Scroll, Section } from "./parts";
import { filtered, type Row } from "./rows";
import { go, look, type State } from "./store";
import { type Stretch, stretchOf } from "./stretch";
import type { Life } from "./types";

const MOST = 12;

const row = (l: Life): Row & { life: Life } => ({
  pid: l.pid,
  gpu: l.gpu_index,
  name: l.short_name ?? l.name,
  command: null,
  user: l.user,
  type: l.type as Row["type"],
  memory_mb: l.memory_peak_mb ?? null,
  utilization_percent: l.utilization_mean_percent ?? null,
  container: null,
  life: l,
});

function Lives({ list, time, label }: { list: (Row & { life: Life })[]; time: Stretch; label: string }) {
  return (
    <Scroll label={label}>
      <table class="lives">
        <thead>
          <tr>
            <th scope="col">GPU</th>
            <th scope="col">Process</th>
            <th scope="col">User</th>
            <th scope="col" class="n">
              VRAM, most
            </th>
            <th scope="col" class="n">
              GPU share
            </th>
            <th scope="col" class="n">
              Energy
            </th>
            <th scope="col">When</th>
          </tr>
        </thead>
        <tbody>
          {list.slice(0, MOST).map(({ life: l, ...r }) => {
            const from = Math.max(time.from, Date.parse(l.first_seen)),
              to = Math.min(time.to, Date.parse(l.last_seen));
            return (
              <tr key={l.life}>
                <td>
                  <span class="k">{r.gpu}</span>
                </td>
                <th scope="row">{r.name ?? r.pid}</th>
                <td>{r.user ?? DASH}</td>
                <td class="n">{memory(r.memory_mb)}</td>
                <td class="n">{percent(r.utilization_percent)}</td>
                <td class="n">{energy(l.energy_joules)}</td>
                <td>
                  <button
                    type="button"
                    class="link"
                    title="The middle of it"
                    onClick={() =>
                      go({
                        at: (from + to) / 2,
                        from: time.moving ? null : time.from,
                        to: time.moving ? null : time.to,
                      })
                    }
                  >
                    {clock(from)} to {l.ended ? clock(to) : "now"}
                  </button>{" "}
                  <span class="dim">
                    {duration((to - from) / 1000)}
                    {l.held_idle ? ", did nothing" : ""}
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {list.length > MOST && <p class="dim">{list.length - MOST} more used less energy.</p>}
    </Scroll>
  );
}

function useLives(s: State, on: boolean): { asked: ReturnType<typeof useAsked<{ processes: Life[] }>>; time: Stretch } {
  const time = stretchOf(s),
    gpu = s.view.gpu == null ? "" : `&gpu=${s.view.gpu}`;
  const asked = useAsked<{ processes: Life[] }>(
    `/api/history/processes?${time.query}&sort=energy&limit=300${gpu}`,
    on && s.link !== "connecting" && s.history,
    time.moving ? Math.floor((s.sampleAt ?? 0) / 60e3) : 0,
  );
  return { asked, time };
}

/** All processes of a range. */
export function RangeProcesses({ s }: { s: State }) {
  const { asked, time } = useLives(s, true),
    list = filtered((asked.value?.processes ?? []).map(row), s.view.q) as (Row & { life: Life })[];
  return (
    <Section
      id="processes"
      title="Processes"
      note={list.length ? String(list.length) : undefined}
      side={
        s.view.q && (
          <button type="button" onClick={() => look({ q: "" })}>
            {s.view.q} ✕<span class="sr">: show all</span>
          </button>
        )
      }
    >
      <Missing of={asked} />
      {asked.value && !list.length && <p class="dim">No processes were stored in this time.</p>}
      {list.length > 0 && <Lives list={list} time={time} label="Processes in this time" />}
    </Section>
  );
}

/** Below the present ones: those of the chosen span that have ended. */
export function EndedProcesses({ s }: { s: State }) {
  const { asked, time } = useLives(s, s.view.span >= 3600);
  if (s.view.span < 3600) return null;
  const list = filtered((asked.value?.processes ?? []).filter((l) => l.ended).map(row), s.view.q) as (Row & {
    life: Life;
  })[];
  return (
    <>
      <Missing of={asked} />
      {list.length > 0 && (
        <details class="ended" open>
          <summary>
            {list.length} ended in the {time.words}
          </summary>
          <Lives list={list} time={time} label="Processes that ended" />
        </details>
      )}
    </>
  );
}
