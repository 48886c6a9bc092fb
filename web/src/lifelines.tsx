// SPDX-License-Identifier: Apache-2.0
// Who held which GPU when: a line for each program of a user on a GPU, over the time that the page shows.
import { useEffect, useState } from "preact/hooks";
import { clock, duration, memory, percent, tickText } from "./format";
import { get } from "./live";
import { lanes, type Lane } from "./model";
import { Section } from "./parts";
import { go, type State } from "./store";
import type { Life } from "./types";

const SHOWN_MAX = 30;

function Row({ lane, from, to }: { lane: Lane; from: number; to: number }) {
  const LEAST = 0.4; // %: what has just begun is seen, too
  const share = (ms: number) => Math.max(0, Math.min(100, (100 * (ms - from)) / (to - from)));
  const text = `GPU ${lane.gpu}: ${lane.name}${lane.user ? ` (${lane.user})` : ""}`;
  return (
    <li>
      <span class="who" title={text}>
        {text}
      </span>
      <span class="lane">
        {lane.spans.map((s) => (
          <button
            type="button"
            key={s.from}
            class={`life ${s.idle ? "idle" : ""}`}
            style={{
              left: `${Math.min(share(s.from), 100 - LEAST)}%`,
              width: `${Math.max(LEAST, share(s.to) - share(s.from))}%`,
            }}
            onClick={() => go({ at: (Math.max(s.from, from) + Math.min(s.to, to)) / 2, from: null, to: null })}
            aria-label={`${text}, ${clock(s.from)} to ${clock(s.to)}`}
            title={`${clock(s.from)} to ${clock(s.to)} (${duration((s.to - s.from) / 1000)}), ${percent(s.util)} on average, up to ${memory(s.memory)}${s.idle ? "; did nothing" : ""}`}
          />
        ))}
      </span>
    </li>
  );
}

export function Lifelines({ s, span, picked }: { s: State; span: number; picked: number | null }) {
  const [lives, setLives] = useState<Life[] | null>(null);
  const { from, to } = s.place;
  const range =
    from != null ? `since=${new Date(from).toISOString()}&until=${new Date(to!).toISOString()}` : `since=-${span}s`;
  const tick = from != null ? 0 : Math.floor((s.sampleAt ?? 0) / Math.max(30e3, span * 3));
  const live = s.link === "live" && s.history;
  useEffect(() => {
    if (!live) return;
    const stop = new AbortController();
    get<{ processes: Life[] }>(
      `/api/history/processes?${range}&sort=energy&limit=300${picked == null ? "" : `&gpu=${picked}`}`,
      stop.signal,
    )
      .then((h) => setLives(h.processes))
      .catch(() => undefined);
    return () => stop.abort();
  }, [live, range, tick, picked]);
  if (!s.history || !lives?.length) return null;
  const end = to ?? s.sampleAt ?? Date.now(),
    begin = from ?? end - span * 1000;
  const list = lanes(lives, begin, end);
  return (
    <Section
      id="lifelines"
      title="Who held which GPU"
      side={<span class="dim">hatched: held VRAM and did nothing</span>}
    >
      <ul class="plain lanes">
        {list.slice(0, SHOWN_MAX).map((lane) => (
          <Row key={lane.key} lane={lane} from={begin} to={end} />
        ))}
      </ul>
      <div class="ticks lane-ticks" aria-hidden="true">
        {[0.1, 0.5, 0.9].map((x) => (
          <span key={x}>{tickText(begin + x * (end - begin), (end - begin) / 1000)}</span>
        ))}
      </div>
      {list.length > SHOWN_MAX && <p class="dim">{list.length - SHOWN_MAX} more used less energy.</p>}
    </Section>
  );
}
