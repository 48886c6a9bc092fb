// SPDX-License-Identifier: Apache-2.0
// The past as plots: of all GPUs, or of one with its processes, beside another GPU or another time.
import { useEffect, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { clock, duration, localTime } from "./format";
import { get } from "./live";
import { Section } from "./parts";
import { type Layer, METRICS, shifted } from "./plots";
import type { State } from "./store";
import type { Gpu, History, Life, PastEvent } from "./types";

const SHOWN_MAX = 8,
  LAYERS = 7;
const NAMES = [...METRICS.map((m) => m.name), "throttle_reasons", "throttle_thermal_seconds"].join();

/** What the page shows, in the words of the API. */
function rangeOf(s: State, span: number): { query: string; seconds: number } {
  const { from, to, at } = s.place;
  const iso = (ms: number) => new Date(ms).toISOString();
  if (from != null) return { query: `since=${iso(from)}&until=${iso(to!)}`, seconds: (to! - from) / 1000 };
  if (at == null) return { query: `since=-${span}s`, seconds: span };
  const half = (span * 1000) / 2;
  return { query: `since=${iso(at - half)}${at + half < Date.now() ? `&until=${iso(at + half)}` : ""}`, seconds: span };
}

/** The programs that used most energy on a GPU, each with its course. */
async function processes(gpu: number, query: string, signal: AbortSignal): Promise<Layer[]> {
  const lives = await get<{ processes: Life[] }>(
    `/api/history/processes?${query}&gpu=${gpu}&sort=energy&limit=300`,
    signal,
  );
  const names = [...new Set(lives.processes.map((l) => l.name).filter((n): n is string => !!n))].slice(0, LAYERS);
  const found = await Promise.all(
    names.map((name) =>
      get<History>(
        `/api/history?process=${encodeURIComponent(name)}&metric=memory_mb,utilization_percent,power_watts&gpu=${gpu}&${query}&points=600`,
        signal,
      ),
    ),
  );
  return names.map((name, i) => ({ name, history: found[i]! }));
}

export function Charts({
  s,
  gpus,
  span,
  picked,
  pick,
}: {
  s: State;
  gpus: Gpu[];
  span: number;
  picked: number | null;
  pick: (i: number | null) => void;
}) {
  const [history, setHistory] = useState<History | null>(null);
  const [layers, setLayers] = useState<Layer[] | null>(null);
  const [before, setBefore] = useState<{ label: string; history: History } | null>(null);
  const [events, setEvents] = useState<PastEvent[]>([]);
  const [near, setNear] = useState(false);
  const [theme, setTheme] = useState(0);
  const [stack, setStack] = useState(true);
  const [compare, setCompare] = useState(""); // "", "gpu:1", "ago:86400" or "at:2026-11-15T03:10"
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watch = new IntersectionObserver(
      (seen) => {
        if (seen.some((e) => e.isIntersecting)) {
          setNear(true);
          watch.disconnect();
        }
      },
      { rootMargin: "300px" },
    );
    if (box.current) watch.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)"),
      turn = () => setTheme((n) => n + 1);
    dark.addEventListener("change", turn);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", turn);
    };
  }, [gpus.length > 0 && s.history]); // without, there is no box yet
  const { query, seconds } = rangeOf(s, span);
  const one = picked ?? (gpus.length === 1 ? gpus[0]!.index : null);
  const [kind, value] = compare.split(/:(.*)/s) as [string, string?],
    beside = kind === "gpu" && one != null && Number(value) !== one ? Number(value) : null;
  const chosen = one == null ? gpus.slice(0, SHOWN_MAX).map((g) => g.index) : beside == null ? [one] : [one, beside];
  const ago = kind === "ago" ? Number(value) : 0,
    start = kind === "at" ? Date.parse(value!) || 0 : 0,
    past = ago > 0 || start > 0;
  const tick =
    s.place.from != null || s.place.at != null ? 0 : Math.floor((s.sampleAt ?? 0) / Math.max(10e3, span * 3));
  const live = s.link === "live" && s.history,
    which = chosen.join(),
    by = stack && one != null && beside == null && !past;
  useEffect(() => {
    if (!near || !live || !which) return;
    const stop = new AbortController();
    const wait = setTimeout(
      () => {
        get<History>(`/api/history?metric=${NAMES}&gpu=${which}&${query}&points=600`, stop.signal)
          .then(async (h) => {
            const back = start ? (Date.parse(h.since) - start) / 1000 : ago,
              then = (text: string) => new Date(Date.parse(text) - back * 1000).toISOString();
            const [parts, other] = await Promise.all([
              by ? processes(one!, query, stop.signal).catch(() => null) : null,
              past
                ? get<History>(
                    `/api/history?metric=${NAMES}&gpu=${which}&since=${then(h.since)}&until=${then(h.until)}&points=600`,
                    stop.signal,
                  ).catch(() => null)
                : null,
            ]);
            if (stop.signal.aborted) return; // of something else, by now
            setLayers(parts?.length ? parts : null);
            setBefore(
              other && {
                label: start ? `from ${clock(start)}` : `${duration(ago)} earlier`,
                history: shifted(other, back),
              },
            );
            performance.mark("charts");
            setHistory(h);
          })
          .catch(() => undefined);
        get<{ events: PastEvent[] }>(`/api/history/events?${query}&limit=500`, stop.signal)
          .then((e) => setEvents(e.events))
          .catch(() => undefined);
      },
      s.place.at == null ? 0 : 400,
    );
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [near, live, which, query, tick, by, ago, start]);
  useEffect(() => {
    // how long drawing took, for those who look (the bench does); plots draw in a microtask
    if (history)
      queueMicrotask(() => {
        performance.clearMeasures("charts");
        performance.measure("charts", "charts");
        performance.clearMarks("charts");
      });
  }, [history]);
  if (!s.history || !gpus.length) return null;
  const stored = METRICS.filter((m) =>
    history?.series.some((x) => x.metrics.find((y) => y.name === m.name)?.mean.some((v) => v != null)),
  );
  const shownGpus = gpus.filter((g) => chosen.includes(g.index));
  const total = Math.max(0, ...shownGpus.map((g) => g.memory_total_mb ?? 0)),
    hot = one != null && beside == null ? (shownGpus[0]?.temperature_limit_celsius ?? null) : null;
  return (
    <Section
      id="charts"
      title="Charts"
      side={
        <div class="controls">
          {gpus.length > 1 && (
            <label class="control">
              Show{" "}
              <select
                value={picked ?? ""}
                onChange={(e) => pick(e.currentTarget.value === "" ? null : Number(e.currentTarget.value))}
              >
                <option value="">{gpus.length > SHOWN_MAX ? `GPUs 0 to ${SHOWN_MAX - 1}` : "all GPUs"}</option>
                {gpus.map((g) => (
                  <option key={g.index} value={g.index}>
                    GPU {g.index}
                  </option>
                ))}
              </select>
            </label>
          )}
          {one != null && (
            <label class="control">
              <input
                type="checkbox"
                checked={stack}
                disabled={beside != null || past}
                onChange={(e) => setStack(e.currentTarget.checked)}
              />{" "}
              By process
            </label>
          )}
          <label class="control">
            Compare with{" "}
            <select value={compare} onChange={(e) => setCompare(e.currentTarget.value)}>
              <option value="">nothing</option>
              {one != null &&
                gpus
                  .filter((g) => g.index !== one)
                  .map((g) => (
                    <option key={g.index} value={`gpu:${g.index}`}>
                      GPU {g.index}
                    </option>
                  ))}
              {[...new Set([Math.round(seconds), 86400, 604800])].map((n) => (
                <option key={n} value={`ago:${n}`}>
                  {duration(n)} earlier
                </option>
              ))}
              <option value={kind === "at" ? compare : `at:${localTime(Date.now() - 2 * seconds * 1000)}`}>
                another time
              </option>
            </select>
          </label>
          {kind === "at" && (
            <label class="control">
              from{" "}
              <input
                type="datetime-local"
                value={value}
                onChange={(e) => {
                  if (e.currentTarget.value) setCompare(`at:${e.currentTarget.value}`);
                }}
              />
            </label>
          )}
        </div>
      }
    >
      <div class="charts" ref={box} key={theme}>
        {(history ? stored : METRICS).map((m) =>
          history ? (
            <Chart
              key={m.name}
              history={history}
              which={which}
              metric={m}
              events={events}
              layers={by ? layers : null}
              other={past ? before : null}
              limit={m.name === "memory_used_mb" ? total : null}
              mark={m.name === "temperature_celsius" ? hot : null}
            />
          ) : (
            <figure key={m.name} class="chart">
              <figcaption>
                <b>{m.title}</b>
              </figcaption>
              <p class="dim none">Loading…</p>
            </figure>
          ),
        )}
      </div>
      {history && stored.length < METRICS.length && (
        <p class="dim">
          Nothing was stored of{" "}
          {METRICS.filter((m) => !stored.includes(m))
            .map((m) => m.title)
            .join(", ")}{" "}
          in this time.
        </p>
      )}
    </Section>
  );
}
