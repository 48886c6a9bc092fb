// SPDX-License-Identifier: Apache-2.0
// The charts: the last minutes from live samples, and anything longer from the history.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { now as hostNow } from "./clock";
import { drawAll, onFillPage } from "./cursor";
import { clock, duration } from "./format";
import { limitBands } from "./lanes";
import { get } from "./live";
import { gpuLevel, RANK } from "./level";
import { LIVE_SPAN, windowOf } from "./place";
import { heatLanes, MANY, pictureOf, stretches } from "./pictures";
import { Dialog, useNarrow } from "./parts";
import type { Lane } from "./scale";
import { joined, type Layer, METRICS, type Metric, shifted } from "./plots";
import { words } from "./refused";
import { reasonOf } from "./resource";
import * as ring from "./ring";
import type { State } from "./store";
import type { Gpu, History, Life, LimitStretch, PastEvent } from "./types";

const LAYERS = 7,
  POINTS = 600,
  LANES = 4,
  LIMITED = 7 * 86400; // seconds: beyond that, stretches are too short to see
const NAMES = [...METRICS.map((m) => m.name), "throttle_reasons", "throttle_thermal_seconds"].join();
const iso = (ms: number) => new Date(ms).toISOString();

/** The programs with the most energy on a GPU, and their courses. */
async function processes(gpu: number, query: string, signal: AbortSignal): Promise<Layer[]> {
  const lives = await get<{ processes: Life[] }>(
    `/api/history/processes?${query}&gpu=${gpu}&sort=energy&limit=300`,
    signal,
  );
  const names = new Map<string, string>(); // from the history's name to the one for people
  for (const l of lives.processes) if (l.name && !names.has(l.name)) names.set(l.name, l.short_name ?? l.name);
  const list = [...names].slice(0, LAYERS);
  const found = await Promise.all(
    list.map(([name]) =>
      get<History>(
        `/api/history?process=${encodeURIComponent(name)}&metric=memory_mb,utilization_percent,power_watts&gpu=${gpu}&${query}&points=${POINTS}`,
        signal,
      ),
    ),
  );
  return list.map(([, name], i) => ({ name, history: found[i]! }));
}

interface Stored {
  key: string;
  history: History;
  layers: Layer[] | null;
  other: { label: string; history: History } | null;
  events: PastEvent[];
  limits: LimitStretch[];
}

/** The history of the window, queried again as it moves. */
function useStored(s: State, wanted: boolean, one: number | null): { stored: Stored | null; problem: string | null } {
  const [stored, setStored] = useState<Stored | null>(null),
    [failed, setFailed] = useState<{ key: string; why: string } | null>(null);
  const { place, view } = s;
  const w = windowOf(place, view.span, s.sampleAt ?? hostNow());
  const query = w.live ? `since=-${view.span}s` : `since=${iso(w.from)}&until=${iso(w.to)}`;
  const tick = w.live ? Math.floor((s.sampleAt ?? 0) / Math.max(10e3, view.span * 3)) : 0,
    slow = w.live ? Math.floor((s.sampleAt ?? 0) / Math.max(60e3, view.span * 3)) : 0;
  const ago = view.compare.startsWith("ago:") ? Number(view.compare.slice(4)) : 0,
    start = view.compare.startsWith("at:") ? Date.parse(view.compare.slice(3)) || 0 : 0;
  const by = view.by === "process" && one != null && !view.compare,
    many = (s.gpus?.length ?? 0) > MANY,
    on = wanted && s.link !== "connecting" && s.history;
  const key = `${query}/${view.compare}/${by ? one : ""}`;
  const layers = useRef<{ key: string; layers: Layer[] | null }>({ key: "", layers: null });
  // One query at a time: wait for a slow answer, unless something else is needed by then.
  const running = useRef<AbortController | null>(null);
  useEffect(
    () => () => {
      running.current?.abort();
      running.current = null;
    },
    [on, key, many],
  );
  useEffect(() => {
    if (!on || running.current) return;
    const stop = (running.current = new AbortController());
    const load = async () => {
      const metrics = many ? NAMES.split(",").slice(0, 6).join() : NAMES;
      const [history, events, limits] = await Promise.all([
        get<History>(`/api/history?metric=${metrics}&${query}&points=${many ? 200 : POINTS}`, stop.signal),
        get<{ events: PastEvent[] }>(`/api/history/events?${query}&limit=500`, stop.signal).catch(() => ({
          events: [],
        })),
        many || view.span > LIMITED
          ? { stretches: [] }
          : get<{ stretches: LimitStretch[] }>(`/api/history/limits?${query}&limit=2000`, stop.signal).catch(() => ({
              stretches: [],
            })),
      ]);
      const back = start ? (Date.parse(history.since) - start) / 1000 : ago,
        then = (text: string) => iso(Date.parse(text) - back * 1000);
      const fresh = `${key}/${slow}`;
      const [parts, other] = await Promise.all([
        by && layers.current.key !== fresh
          ? processes(one, query, stop.signal).catch(() => null)
          : layers.current.layers,
        back
          ? get<History>(
              `/api/history?metric=${metrics}&since=${then(history.since)}&until=${then(history.until)}&points=${POINTS}`,
              stop.signal,
            ).catch(() => null)
          : null,
      ]);
      if (stop.signal.aborted) return;
      setFailed(null);
      layers.current = { key: by ? fresh : "", layers: by ? parts : null };
      performance.mark("charts");
      setStored({
        key,
        history,
        layers: by ? parts : null,
        events: events.events,
        limits: limits.stretches,
        other: other && {
          label: start ? `from ${clock(start)}` : `${duration(ago)} earlier`,
          history: shifted(other, back),
        },
      });
    };
    void load()
      .catch((e: unknown) => {
        if (!stop.signal.aborted) setFailed({ key, why: words(e) });
      })
      .finally(() => {
        if (running.current === stop) running.current = null;
      });
  }, [on, key, tick, by && slow, many]);
  // For the same period in another form, the last answer remains valid until the next one arrives.
  return {
    stored: stored?.key.startsWith(`${query}/`) ? stored : null,
    problem: failed?.key === key ? failed.why : null,
  };
}

/** Heat and noise show in temperature and fan; a stack needs metrics that can be divided. */
function ordered(s: State, by: boolean): Metric[] {
  const area =
    s.place.at == null
      ? ""
      : (s.past.value?.why.gpus.find((g) => g.gpu_index === s.past.value!.why.gpu_index)?.findings?.[0]?.area ?? "");
  const loud =
    s.place.at != null &&
    (["heat", "fan"].includes(area) || /loud|fan|hot|throttl/.test(s.past.value?.why.answer ?? ""));
  const first = by
    ? ["utilization_percent", "memory_used_mb"]
    : loud
      ? ["temperature_celsius", "fan_percent"]
      : ["utilization_percent", "temperature_celsius"];
  return [...METRICS].sort((a, b) => Number(first.includes(b.name)) - Number(first.includes(a.name)));
}

/** What limited each GPU: from the page's own samples, before that from the history; thermal throttling goes above the rest. */
function lanesOf(
  live: boolean,
  history: History,
  gpus: Gpu[],
  picked: number | null,
  from: number,
  stored: LimitStretch[],
): Lane[] {
  const shown = gpus.filter((g) => picked == null || g.index === picked).slice(0, LANES);
  if (gpus.length > MANY && picked == null) return [];
  const before = limitBands(stored, live ? ring.opened || undefined : undefined);
  if (!live) {
    const hot = heatLanes(history, gpus),
      lanes = shown.map((g) => ({
        label: String(g.index),
        parts: [...(before.get(g.index) ?? []), ...(hot.find((l) => l.label === String(g.index))?.parts ?? [])],
      }));
    return lanes.some((l) => l.parts.length) ? lanes : [];
  }
  const times = history.series[0]?.times ?? [],
    first = times.findIndex((t) => t >= from);
  const lanes = shown.map((g) => ({
    label: String(g.index),
    parts: [
      ...(before.get(g.index) ?? []),
      ...stretches(times.slice(Math.max(0, first)), ring.limits(g.index).slice(Math.max(0, first)), ring.apart()),
    ],
  }));
  return lanes.some((l) => l.parts.some((p) => p.text !== "idle")) ? lanes : [];
}

/** The processes of a GPU before the page saw them. */
function useEarlier(s: State, gpu: number | null): Layer[] {
  const [earlier, setEarlier] = useState<{ gpu: number; layers: Layer[] } | null>(null);
  const on = gpu != null && s.history && s.link === "live";
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    processes(gpu, `since=-${ring.KEPT}s`, stop.signal)
      .then((layers) => setEarlier({ gpu, layers }))
      .catch(() => undefined);
    return () => stop.abort();
  }, [on, gpu]);
  return earlier && earlier.gpu === gpu ? earlier.layers : NONE;
}
const NONE: Layer[] = [];

const worstOf = (gpus: Gpu[], first: number | null | undefined): number[] => {
  const bad = gpus
    .filter((g) => RANK[gpuLevel(g)] >= RANK.warn)
    .sort((a, b) => RANK[gpuLevel(b)] - RANK[gpuLevel(a)])
    .map((g) => g.index);
  return [...new Set([...(first == null ? [] : [first]), ...bad])];
};

const NOTES: Record<string, string> = { utilization_percent: ", and what limits it" };

export function Charts({ s }: { s: State }) {
  const gpus = s.gpus ?? [],
    { place, view } = s;
  const [full, setFull] = useState<string | null>(null);
  useEffect(() => onFillPage(setFull), []);
  useEffect(() => {
    addEventListener("beforeprint", drawAll);
    return () => removeEventListener("beforeprint", drawAll);
  }, []);
  const [all, setAll] = useState(false),
    few = useNarrow() && !all; // the two large ones first
  const now = s.sampleAt ?? hostNow(),
    window = windowOf(place, view.span, now);
  const fromRing = window.live && (view.span <= LIVE_SPAN || !s.history) && !view.compare.match(/^a/);
  const picked = view.gpu != null && (gpus.some((g) => g.index === view.gpu) || !window.live) ? view.gpu : null;
  const one = picked ?? (gpus.length === 1 ? gpus[0]!.index : null);
  const compare = view.compare.startsWith("gpu:") && picked != null ? Number(view.compare.slice(4)) : null;
  const by = view.by === "process" && one != null && !view.compare;
  const { stored, problem } = useStored(s, !fromRing, one),
    earlier = useEarlier(s, by && fromRing ? one : null);
  const then = place.at != null ? (s.past.value?.why.gpu_index ?? null) : (s.why.value?.gpu_index ?? null);
  const live = fromRing ? s.sampleAt : 0; // redraw with every sample
  const pictures = useMemo(() => {
    const history = fromRing ? ring.recent(window.from / 1000) : stored?.history;
    if (!history) return null;
    let { from, to } = { from: window.from / 1000, to: window.to / 1000 };
    if (!fromRing && window.live) {
      // Shrink a span that is longer than the stored history.
      const first = Math.min(...history.series.map((x) => x.times[0] ?? Infinity));
      to = Date.parse(history.until) / 1000;
      from = to - view.span;
      if (Number.isFinite(first) && first > from + 0.2 * (to - from)) from = first - 0.01 * (to - first);
    }
    const since = ring.opened ? now / 1000 - ring.opened : 0;
    const wanted = {
      history,
      gpus,
      picked: one,
      compare,
      worst: worstOf(gpus, then),
      layers: by
        ? fromRing
          ? joined(ring.layers(one!, LAYERS), earlier, ring.opened)
          : (stored?.layers ?? null)
        : null,
      other: fromRing ? null : (stored?.other ?? null),
      events: fromRing ? (s.recent.value?.changes ?? []) : (stored?.events ?? []),
      doings: window.live ? (s.doings.value ?? []) : [],
      lanes: lanesOf(
        fromRing,
        history,
        gpus,
        one,
        from,
        fromRing ? (s.recent.value?.limits ?? []) : (stored?.limits ?? []),
      ),
      from,
      to,
      live: window.live,
      end: s.dead ? `last seen ${clock(now, now, true)}` : "now",
      at: place.at == null ? null : place.at / 1000,
      older: fromRing
        ? s.history
          ? s.recent.value
            ? ""
            : (reasonOf(s.recent) ?? "Loading…")
          : `Nothing older: this page has been open for ${duration(since)}`
        : window.live
          ? "Not stored"
          : "",
    };
    return new Map(METRICS.map((metric) => [metric.name, pictureOf({ ...wanted, metric })]));
  }, [
    live,
    fromRing,
    s.recent,
    s.doings,
    s.dead,
    stored,
    earlier,
    one,
    compare,
    by,
    window.live,
    fromRing || window.live ? 0 : window.from,
    window.live ? 0 : window.to,
    view.span,
    place.at,
    then,
    gpus.length,
  ]);
  useEffect(() => {
    // Measures the drawing time (for the benchmark): the charts requested this frame before.
    requestAnimationFrame(() => {
      if (!performance.getEntriesByName("charts", "mark").length) return;
      performance.measure("charts", "charts");
      performance.clearMarks("charts");
    });
  }, [stored]);
  if (!gpus.length && (window.live || !s.history)) return null; // nothing to draw, and nothing to claim
  const metrics = ordered(s, by).filter(
    (m) => m.always || pictures?.get(m.name)?.lines.some((l) => l.values.some((v) => v != null)),
  );
  const query = fromRing
    ? null
    : `/api/history?${one == null ? "" : `gpu=${one}&`}since=${iso(window.from)}&until=${iso(window.to)}`;
  const span = window.live ? "" : `, ${clock(window.from)} to ${clock(window.to)}`;
  const chart = (m: Metric, i: number, fills = false) => (
    <Chart
      key={m.name}
      metric={m}
      big={i < 2}
      picture={pictures?.get(m.name) ?? null}
      note={`${m.unit}${by && m.process ? `, by process on GPU ${one}` : gpus.length > MANY && i < 2 ? ": median, middle 80%, and all; worst by number" : pictures?.get(m.name)?.lanes.length ? (NOTES[m.name] ?? "") : ""}${window.live && stored?.other && one != null && !fromRing ? `; band: ${stored.other.label}` : ""}${i < 2 ? span : ""}`}
      query={query}
      missing={problem ?? "Loading…"}
      full={fills}
    />
  );
  const filling = metrics.findIndex((m) => m.name === full);
  return (
    <section id="charts" aria-labelledby="charts-title">
      <h2 class="sr" id="charts-title">
        Charts
      </h2>
      {!s.history && (
        <p class="panel pad nohistory">
          <b>No history is kept on this host.</b> The charts show what this page has seen
          {ring.opened ? ` since ${clock(ring.opened * 1000, undefined, true)}` : ""}. To look back further:{" "}
          <code>whirr serve --store sqlite:PATH</code>
        </p>
      )}
      <div class="charts">{(few ? metrics.slice(0, 2) : metrics).map((m, i) => chart(m, i))}</div>
      {filling >= 0 && (
        <Dialog label={metrics[filling]!.title} kind="full" close={() => setFull(null)}>
          {chart(metrics[filling]!, filling, true)}
        </Dialog>
      )}
      {few && metrics.length > 2 && (
        <button type="button" class="morecharts" onClick={() => setAll(true)}>
          {metrics
            .slice(2)
            .map((m) => m.title)
            .join(", ")}
        </button>
      )}
    </section>
  );
}
