// SPDX-License-Identifier: Apache-2.0
// The scrub bar: how busy the GPUs were, what happened, and the moment or range that the page shows. Click or arrow keys go to a moment,
// dragging marks a range.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { clock, duration, localTime, tickText, zone } from "./format";
import { get } from "./live";
import { Section } from "./parts";
import { go, goNow, type State } from "./store";
import type { History, PastEvent } from "./types";

export const SPANS: Record<string, number> = {
  "1 hour": 3600,
  "6 hours": 21600,
  "24 hours": 86400,
  "7 days": 604800,
  "30 days": 2592000,
  "1 year": 31536000,
};

/** Per slot the busiest GPU's utilization, as bars. */
function shape(history: History, from: number, to: number, slots: number): string {
  const most = new Array<number>(slots).fill(-1);
  for (const s of history.series) {
    const values = s.metrics[0]?.mean ?? [];
    for (let i = 0; i < s.times.length; i++) {
      const v = values[i],
        slot = Math.floor(((s.times[i]! - from) / (to - from)) * slots);
      if (v != null && slot >= 0 && slot < slots) most[slot] = Math.max(most[slot]!, v);
    }
  }
  // Samples may be further apart than slots: one stands for the slots up to the next.
  const reach = Math.ceil((Math.max(history.step_seconds, 30) / (to - from)) * slots);
  for (let i = slots - 1; i > 0; i--)
    for (let k = 1; most[i]! < 0 && k <= reach && k <= i; k++) if (most[i - k]! >= 0) most[i] = most[i - k]!;
  let path = "";
  most.forEach((v, i) => {
    if (v >= 0) path += `M${((i + 0.5) * 1000) / slots} 60V${(60 - 2 - (v / 100) * 56).toFixed(1)}`;
  });
  return path;
}

export function Timeline({ s, span, setSpan }: { s: State; span: number; setSpan: (n: number) => void }) {
  const [history, setHistory] = useState<History | null>(null);
  const [events, setEvents] = useState<PastEvent[]>([]);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const box = useRef<SVGSVGElement>(null);
  const live = s.link === "live" && s.history;
  const tick = Math.floor((s.sampleAt ?? 0) / Math.max(15e3, span * 2)); // one slot of 500 at most behind
  useEffect(() => {
    if (!live) return;
    const stop = new AbortController();
    get<History>(`/api/history?metric=utilization_percent&since=-${span}s&points=400`, stop.signal)
      .then(setHistory)
      .catch(() => undefined);
    get<{ events: PastEvent[] }>(`/api/history/events?since=-${span}s&limit=500`, stop.signal)
      .then((e) => setEvents(e.events))
      .catch(() => undefined);
    return () => stop.abort();
  }, [span, tick, live]);
  const to = history ? Date.parse(history.until) : Date.now(),
    from = to - span * 1000;
  const path = useMemo(() => (history ? shape(history, from / 1000, to / 1000, 250) : ""), [history]);
  if (!s.history)
    return (
      <Section id="time" title="History">
        <p class="dim">
          No history is stored: start the daemon with a history database (<code>whirr serve --store sqlite:PATH</code>)
          to look back.
        </p>
      </Section>
    );
  const x = (ms: number) => ((ms - from) / (to - from)) * 1000;
  const at = (event: PointerEvent) => {
    const r = box.current!.getBoundingClientRect();
    return from + Math.max(0, Math.min(1, (event.clientX - r.left) / r.width)) * (to - from);
  };
  const range = drag
    ? [Math.min(...drag), Math.max(...drag)]
    : s.place.from != null
      ? [s.place.from, s.place.to!]
      : null;
  const ticks = Array.from({ length: 5 }, (_, i) => from + ((to - from) * (i + 0.5)) / 5);
  return (
    <Section
      id="time"
      title={
        s.place.at != null
          ? `Showing ${clock(s.place.at, undefined, true)}`
          : s.place.from != null
            ? `Showing ${duration((s.place.to! - s.place.from) / 1000)}`
            : "Look back"
      }
      side={
        <div class="controls">
          <label class="control">
            Last{" "}
            <select value={span} onChange={(e) => setSpan(Number(e.currentTarget.value))}>
              {Object.entries(SPANS).map(([name, n]) => (
                <option key={n} value={n}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
      }
    >
      <svg
        ref={box}
        class="strip"
        viewBox="0 0 1000 60"
        preserveAspectRatio="none"
        aria-hidden="true"
        onPointerDown={(e) => {
          if (e.button === 0) {
            e.currentTarget.setPointerCapture(e.pointerId);
            const t = at(e);
            setDrag([t, t]);
          }
        }}
        onPointerMove={(e) => {
          if (drag) setDrag([drag[0], at(e)]);
        }}
        onPointerCancel={() => setDrag(null)}
        onPointerUp={() => {
          if (!drag) return;
          const [a, b] = [Math.min(...drag), Math.max(...drag)];
          setDrag(null);
          if (x(b) - x(a) < 8) go({ at: b, from: null, to: null });
          else go({ at: null, from: a, to: b });
        }}
      >
        <path class="load" d={path} />
        {events
          .filter((e) => Date.parse(e.at) >= from)
          .map((e) => (
            <path key={e.id} class={`event ${e.severity}`} d={`M${x(Date.parse(e.at)).toFixed(1)} 0V10`} />
          ))}
        {range && (
          <rect class="range" x={x(range[0]!)} width={Math.max(1, x(range[1]!) - x(range[0]!))} y="0" height="60" />
        )}
        {s.place.at != null && <path class="cursor" d={`M${x(s.place.at)} 0V60`} />}
      </svg>
      <input
        type="range"
        class="scrub"
        aria-label="Moment to show"
        aria-valuetext={s.place.at == null ? "now" : clock(s.place.at, undefined, true)}
        min={0}
        max={1000}
        step={1}
        value={s.place.at == null ? 1000 : Math.round(x(s.place.at))}
        onInput={(e) => {
          const v = Number(e.currentTarget.value);
          if (v >= 1000) goNow();
          else
            go(
              { at: from + (v / 1000) * (to - from), from: null, to: null },
              s.place.at == null ? "push" : "replace",
              150,
            );
        }}
      />
      <div class="ticks" aria-hidden="true">
        {ticks.map((t) => (
          <span key={t}>{tickText(t, span)}</span>
        ))}
      </div>
      <details>
        <summary>Choose times</summary>
        <form
          class="controls"
          onSubmit={(e) => {
            e.preventDefault();
            const data = new FormData(e.currentTarget),
              a = Date.parse(String(data.get("from"))),
              b = Date.parse(String(data.get("to")));
            if (!Number.isNaN(a) && !Number.isNaN(b)) go({ at: null, from: Math.min(a, b), to: Math.max(a, b) });
          }}
        >
          <label class="control">
            From <input type="datetime-local" name="from" value={localTime(s.place.from ?? from)} required />
          </label>
          <label class="control">
            to <input type="datetime-local" name="to" value={localTime(s.place.to ?? to)} required />
          </label>
          <button type="submit">What happened here</button>
        </form>
      </details>
      <p class="dim hint">Click for a moment, drag for a range. Times are local ({zone()}).</p>
    </Section>
  );
}
