// SPDX-License-Identifier: Apache-2.0
// A day in one strip: power and findings; a click goes to a moment, dragging to a range. Above the answer, and in the timeline.
import { useMemo, useRef, useState } from "preact/hooks";
import { useAsked } from "./asked";
import { clock, tickText } from "./format";
import { levelOf } from "./level";
import { get } from "./live";
import { Mark } from "./parts";
import { timeTicks } from "./scale";
import { areaPath, holes, sums } from "./slots";
import { reasonOf } from "./resource";
import { go, goNow, type State } from "./store";
import { DAY, dayOf, iso } from "./stretch";
import type { History, PastEvent } from "./types";

export const SLOTS = 300;

function useDay(s: State) {
  const { from, to, now } = dayOf(s);
  const tick = now ? Math.floor((s.sampleAt ?? 0) / 60e3) : 0,
    on = s.link !== "connecting" && s.history;
  const query = now ? `since=-${DAY}s` : `since=${iso(from)}&until=${iso(to)}`;
  const asked = useAsked(query, on, tick, async (query, signal) => {
    const [history, { events }] = await Promise.all([
      get<History>(`/api/history?metric=power_watts,fan_percent,temperature_celsius&${query}&points=${SLOTS}`, signal),
      get<{ events: PastEvent[] }>(`/api/history/events?${query}&kind=finding&limit=300`, signal),
    ]);
    return { history, events };
  });
  return { day: asked.value, problem: reasonOf(asked), from, to };
}

export function Marks({
  events,
  from,
  to,
  labels,
}: {
  events: PastEvent[];
  from: number;
  to: number;
  labels: boolean;
}) {
  const share = (ms: number) => Math.max(0, Math.min(100, (100 * (ms - from)) / (to - from)));
  const shown = events.filter((e) => e.severity !== "info").slice(-60);
  return (
    <div class="marks">
      {shown.map((e) => {
        const a = Date.parse(e.at),
          b = a + 1000 * Number((e.data as { duration_seconds?: number } | null)?.duration_seconds ?? 0),
          level = levelOf(e.severity),
          text = `${clock(a)}${b > a + 60e3 ? ` to ${clock(b)}` : ""}: ${e.text ?? e.kind}`;
        return (
          <span
            key={`${e.kind}${e.id}`}
            class={`m ${level}`}
            style={{ left: `${share(a)}%`, width: `${Math.max(0, share(b) - share(a))}%` }}
            title={text}
          >
            <Mark level={level} label={text} />
            {labels && share(b) - share(a) > 12 && <span class="t">{e.text}</span>}
          </span>
        );
      })}
    </div>
  );
}

export function Ticks({ from, to, most }: { from: number; to: number; most: number }) {
  return (
    <div class="ticks" aria-hidden="true">
      {timeTicks(from / 1000, to / 1000, most)
        .map((t) => [t, (100 * (t * 1000 - from)) / (to - from)] as const)
        .filter(([, left]) => left > 2 && left < 98) // entirely visible
        .map(([t, left]) => (
          <span key={t} style={{ left: `${left}%` }}>
            {tickText(t * 1000, (to - from) / 1000)}
          </span>
        ))}
    </div>
  );
}

/** A click goes to a moment, dragging to a range; the slider's arrow keys continue from there. */
export function Strip({
  s,
  from,
  to,
  children,
  label,
}: {
  s: State;
  from: number;
  to: number;
  children: preact.ComponentChildren;
  label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [over, setOver] = useState<number | null>(null);
  const at = (e: PointerEvent) => {
    const r = box.current!.getBoundingClientRect();
    return from + Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)) * (to - from);
  };
  const share = (ms: number) => Math.max(0, Math.min(100, (100 * (ms - from)) / (to - from)));
  const range = drag
    ? [Math.min(...drag), Math.max(...drag)]
    : s.place.from != null
      ? [s.place.from, s.place.to!]
      : null;
  const width = () => box.current!.clientWidth;
  const moment = s.place.at ?? to;
  return (
    <div
      class="strip"
      ref={box}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={1000}
      aria-valuenow={Math.max(0, Math.min(1000, Math.round(share(moment) * 10)))}
      aria-valuetext={s.place.at == null ? "now" : clock(s.place.at, undefined, true)}
      onPointerDown={(e) => {
        if (e.button === 0) setDrag([at(e), at(e)]);
      }}
      onPointerMove={(e) => {
        setOver(at(e));
        if (drag) setDrag([drag[0], at(e)]);
      }}
      onPointerLeave={() => {
        setOver(null);
        setDrag(null);
      }}
      onPointerUp={(e) => {
        if (!drag) return;
        const [a, b] = [Math.min(drag[0], at(e)), Math.max(drag[0], at(e))];
        setDrag(null);
        if (((b - a) / (to - from)) * width() < 8) {
          if (b < to - 0.002 * (to - from)) go({ at: b, from: null, to: null });
          else goNow();
        } else go({ at: null, from: a, to: b });
      }}
      onKeyDown={(e) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -12, PageUp: 12 }[e.key];
        if (!by) return;
        e.preventDefault();
        const next = moment + (by * (to - from)) / 1440;
        if (next >= to) goNow();
        else go({ at: next, from: null, to: null }, s.place.at == null ? "push" : "replace", 150);
      }}
    >
      {children}
      {range && (
        <div
          class="window"
          style={{ left: `${share(range[0]!)}%`, width: `${share(range[1]!) - share(range[0]!)}%` }}
        />
      )}
      {s.place.at != null && s.place.at >= from && s.place.at <= to && (
        <div class="cursor" style={{ left: `${share(s.place.at)}%` }} />
      )}
      {over != null && (
        <div class="cursor over" style={{ left: `${share(over)}%` }}>
          <span>{clock(over)}</span>
        </div>
      )}
    </div>
  );
}

export function Rail({ s }: { s: State }) {
  const { day, problem, from, to } = useDay(s);
  const shape = useMemo(() => {
    if (!day) return null;
    const values = sums(day.history, from / 1000, to / 1000, SLOTS, "sum", "power_watts"),
      top = values.reduce((n: number, v) => Math.max(n, v ?? 0), 1);
    return { ...areaPath(values, 1.15 * top), holes: holes(values) };
  }, [day]);
  return (
    <>
      <h2 id="rail-title">
        {dayOf(s).now ? "Last 24 h" : clock(from).slice(0, 10)} <span class="dim">power, findings</span>
      </h2>
      <Strip s={s} from={from} to={to} label="Moment to show">
        <Marks events={day?.events ?? []} from={from} to={to} labels={false} />
        <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          {shape && (
            <>
              <path class="area" d={shape.area} />
              <path class="load" d={shape.line} />
            </>
          )}
        </svg>
        {!shape && <div class="hole whole">{problem ?? "Loading…"}</div>}
        {shape?.holes.map(([a, b]) => (
          <div key={a} class="hole" style={{ left: `${100 * a}%`, width: `${100 * (b - a)}%` }}>
            {b - a > 0.12 && <span>Not recorded</span>}
          </div>
        ))}
        <Ticks from={from} to={to} most={9} />
      </Strip>
      <a class="button" href="#timeline">
        Timeline
      </a>
    </>
  );
}
