// SPDX-License-Identifier: Apache-2.0
// Below the charts: who used the GPUs, when they were loud, and what slowed programs down.
import { Missing, useAsked } from "./asked";
import { changeText, isChange } from "./changes";
import { celsius, clock, duration, memory, percent } from "./format";
import { type Lane, lanes, type Limited, limitLanes, type Stay } from "./lanes";
import { get } from "./live";
import { Choice, Section } from "./parts";
import { throttled } from "./plots";
import { areaPath, sums } from "./slots";
import type { Resource } from "./resource";
import { go, look, type State } from "./store";
import { stretchOf } from "./stretch";
import { Marks, SLOTS, Strip, Ticks } from "./strip";
import type { Gpu, History, Life, LimitStretch, PastEvent } from "./types";

const MOST = 10,
  CHANGES = 4,
  LEAST = 0.4; // %: keeps short ones visible

interface Window {
  from: number;
  to: number;
}

const share = (ms: number, w: Window) => Math.max(0, Math.min(100, (100 * (ms - w.from)) / (w.to - w.from)));
export const placed = (s: Window, w: Window) => ({
  left: `${Math.min(share(s.from, w), 100 - LEAST)}%`,
  width: `${Math.max(LEAST, share(s.to, w) - share(s.from, w))}%`,
});
const middle = (s: Window, w: Window) =>
  go({ at: (Math.max(s.from, w.from) + Math.min(s.to, w.to)) / 2, from: null, to: null });

function Who({ lane }: { lane: Lane<Stay> | Lane<Limited> }) {
  return (
    <span class="who" title={`${lane.user ? `${lane.user}: ` : ""}${lane.name}, GPU ${lane.gpu}`}>
      <b>{lane.first ? (lane.user ?? "") : ""}</b> <span>{lane.name}</span> <span class="dim">GPU {lane.gpu}</span>
    </span>
  );
}

const titleOf = (lane: Lane<Stay> | Lane<Limited>) =>
  `${lane.user ? `${lane.user}: ` : ""}${lane.name}, GPU ${lane.gpu}`;

function LaneRow({ lane, w }: { lane: Lane; w: Window }) {
  return (
    <li>
      <Who lane={lane} />
      <span class="lane">
        {lane.spans.map((s) => (
          <button
            type="button"
            key={s.from}
            class={`life ${s.idle ? "idle" : ""}`}
            style={placed(s, w)}
            onClick={() => middle(s, w)}
            aria-label={`${titleOf(lane)}, ${clock(s.from)} to ${clock(s.to)}`}
            title={`${clock(s.from)} to ${clock(s.to)} (${duration((s.to - s.from) / 1000)}), ${percent(s.util)} on average, up to ${memory(s.memory)}${s.idle ? "; did nothing" : ""}`}
          />
        ))}
      </span>
    </li>
  );
}

/** What limited a program, and when. */
function LimitRow({ lane, w }: { lane: Lane<Limited>; w: Window }) {
  return (
    <li>
      <Who lane={lane} />
      <span class="lane">
        {lane.spans.map((s) => (
          <button
            type="button"
            key={s.from}
            class={`life ${s.kind}`}
            style={placed(s, w)}
            onClick={() => middle(s, w)}
            aria-label={`${titleOf(lane)}, ${clock(s.from)} to ${clock(s.to)}: ${s.text}`}
            title={`${clock(s.from)} to ${clock(s.to)} (${duration((s.to - s.from) / 1000)}): ${s.text}`}
          >
            {share(s.to, w) - share(s.from, w) > 8 ? <span>{s.text}</span> : null}
          </button>
        ))}
      </span>
    </li>
  );
}

const most = (list: (number | null)[]) =>
  list.reduce<number | null>((n, v) => (v == null ? n : Math.max(n ?? 0, v)), null);

/** Fan and temperature of a GPU. */
function LoudRow({ h, gpu, w }: { h: History; gpu: History["series"][number]; w: Window }) {
  const one = { ...h, series: [gpu] },
    of = (metric: string) => sums(one, w.from / 1000, w.to / 1000, SLOTS, "max", metric);
  const fan = of("fan_percent"),
    heat = of("temperature_celsius"),
    blows = most(fan);
  return (
    <li>
      <span class="who">
        <b>GPU {gpu.gpu_index}</b>{" "}
        <span>
          {blows == null ? "no fan reported" : `fan up to ${percent(blows)}`}, {celsius(most(heat))}
        </span>
      </span>
      <span class="lane tall">
        <svg
          viewBox="0 0 1000 100"
          preserveAspectRatio="none"
          role="img"
          aria-label={`Fan and temperature of GPU ${gpu.gpu_index}`}
        >
          <path class="area" d={areaPath(fan, 105).area} />
          <path class="heatline" d={areaPath(heat, 105).line} />
        </svg>
      </span>
    </li>
  );
}

/** When heat throttled a GPU; nothing if it did not. */
function HotRow({ h, gpu, gpus, w }: { h: History; gpu: History["series"][number]; gpus: Gpu[]; w: Window }) {
  const limit = gpus.find((g) => g.index === gpu.gpu_index)?.temperature_limit_celsius,
    hot = throttled(gpu, h.step_seconds, limit);
  if (!hot.length) return null;
  return (
    <li>
      <span class="who">
        <b>GPU {gpu.gpu_index}</b> <span>thermal throttling</span>
      </span>
      <span class="lane">
        {hot.map(([a, b]) => (
          <span
            key={a}
            class="life heat"
            style={placed({ from: a * 1000, to: b * 1000 }, w)}
            title={`${clock(a * 1000)} to ${clock(b * 1000)}: thermal throttling`}
          />
        ))}
      </span>
    </li>
  );
}

interface Stored {
  lanes: string; // the lanes that it is for
  lives: Life[];
  limits: LimitStretch[];
  complete: boolean;
  history: History | null;
  events: PastEvent[];
}

const METRICS = {
  who: "",
  loud: "fan_percent,temperature_celsius",
  slow: "temperature_celsius,throttle_reasons,throttle_thermal_seconds",
};

/** The history for the selected lanes. */
function useStored(s: State, span: string, tick: number): Resource<Stored> {
  const { lanes, gpu } = s.view,
    query = `${span}${gpu == null ? "" : `&gpu=${gpu}`}`;
  return useAsked(`${query} ${lanes}`, s.link !== "connecting" && s.history, tick, async (_, signal) => {
    const ask = <T,>(wanted: boolean, path: string, none: T) =>
      wanted ? get<T>(`${path}${query}`, signal) : Promise.resolve(none);
    const [p, l, history, e] = await Promise.all([
      ask(lanes !== "loud", "/api/history/processes?sort=energy&limit=300&", { processes: [] as Life[] }),
      ask(lanes === "slow", "/api/history/limits?limit=4000&", { stretches: [] as LimitStretch[], complete: true }),
      ask<History | null>(lanes !== "who", `/api/history?metric=${METRICS[lanes]}&points=${SLOTS}&`, null),
      ask(true, "/api/history/events?limit=1000&", { events: [] as PastEvent[] }),
    ]);
    return { lanes, lives: p.processes, limits: l.stretches, complete: l.complete, history, events: e.events };
  });
}

function Rows({ stored, w, s }: { stored: Stored; w: Window; s: State }) {
  const { history } = stored;
  if (stored.lanes === "loud")
    return !history?.series.length ? (
      <li class="dim">No readings were stored in this time.</li>
    ) : (
      <>
        {history.series.slice(0, MOST).map((x) => (
          <LoudRow key={x.gpu_index} h={history} gpu={x} w={w} />
        ))}
      </>
    );
  if (stored.lanes === "who") {
    const list = lanes(stored.lives, w.from, w.to, MOST);
    if (!list.length) return <li class="dim">No processes were stored in this time.</li>;
    return (
      <>
        {list.map((lane) => (
          <LaneRow key={lane.key} lane={lane} w={w} />
        ))}
      </>
    );
  }
  const list = limitLanes(stored.limits, stored.lives, MOST);
  return (
    <>
      {history?.series.map((x) => (
        <HotRow key={x.gpu_index} h={history} gpu={x} gpus={s.gpus ?? []} w={w} />
      ))}
      {list.map((lane) => (
        <LimitRow key={lane.key} lane={lane} w={w} />
      ))}
      {!list.length && <li class="dim">What limited programs was not judged in this time.</li>}
      {!stored.complete && <li class="dim">There is more: look at a shorter time.</li>}
    </>
  );
}

/** Who changed what: marks, and the newest in words. */
function Changes({ events, w }: { events: PastEvent[]; w: Window }) {
  if (!events.length) return null;
  const newest = [...events].reverse().slice(0, CHANGES);
  return (
    <>
      <div class="laneaxis">
        <span class="who">
          <b>Changes</b>
        </span>
        <span class="lane changes">
          {events.slice(-60).map((e) => (
            <i
              key={e.id}
              style={{ left: `${share(Date.parse(e.at), w)}%` }}
              title={`${clock(Date.parse(e.at))}: ${changeText(e)}`}
            />
          ))}
        </span>
      </div>
      <ul class="plain changed-list" aria-label="Who changed what">
        {newest.map((e) => (
          <li key={e.id}>
            <button type="button" class="link" onClick={() => go({ at: Date.parse(e.at), from: null, to: null })}>
              {clock(Date.parse(e.at))}
            </button>{" "}
            {e.gpu_index == null ? "" : `GPU ${e.gpu_index}: `}
            {changeText(e)}
          </li>
        ))}
        {events.length > CHANGES && <li class="dim">{events.length - CHANGES} more before.</li>}
      </ul>
    </>
  );
}

const KEYS: Record<State["view"]["lanes"], [string, string][]> = {
  who: [
    ["life", "at work"],
    ["life idle", "held VRAM, did nothing"],
  ],
  loud: [
    ["life", "fan"],
    ["heatkey", "temperature"],
  ],
  slow: [
    ["life work", "the GPU"],
    ["life link", "what connects it"],
    ["life wait", "waits for host or others"],
    ["life heat", "heat"],
  ],
};

export function Timeline({ s }: { s: State }) {
  const { place, view } = s,
    w = stretchOf(s);
  const asked = useStored(s, w.query, w.moving ? Math.floor((s.sampleAt ?? 0) / 60e3) : 0),
    stored = asked.value;
  if (!s.history) return null;
  const left = stored?.lanes === "who" ? lanes(stored.lives, w.from, w.to).length - MOST : 0;
  return (
    <Section
      id="timeline"
      title={place.at != null || place.from != null ? "What happened" : "Timeline"}
      fold
      note={w.words}
      side={
        <div class="controls">
          <Choice
            label="Show"
            of={[
              ["who", "Who"],
              ["loud", "Loud"],
              ["slow", "Slow"],
            ]}
            value={view.lanes}
            choose={(l) => look({ lanes: l })}
          />
          <span class="dim key">
            {view.lanes === "slow" && "limited by: "}
            {KEYS[view.lanes].map(([kind, text]) => (
              <span key={kind}>
                <i class={kind} /> {text}{" "}
              </span>
            ))}
          </span>
        </div>
      }
    >
      <div class="lanebox">
        <div class="laneaxis">
          <span class="who">
            <b>Findings</b>
          </span>
          <Strip s={s} from={w.from} to={w.to} label="Moment of the timeline">
            <Marks events={(stored?.events ?? []).filter((e) => e.kind === "finding")} from={w.from} to={w.to} labels />
          </Strip>
        </div>
        <Changes events={(stored?.events ?? []).filter(isChange)} w={w} />
        <Missing of={asked} />
        <ul class="plain lanes" id="lifelines">
          {stored && <Rows stored={stored} w={w} s={s} />}
        </ul>
        <div class="laneaxis">
          <span class="who" />
          <Ticks from={w.from} to={w.to} most={10} />
        </div>
      </div>
      {left > 0 && <p class="dim">{left} more used less energy.</p>}
    </Section>
  );
}
