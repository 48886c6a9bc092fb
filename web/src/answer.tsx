// SPDX-License-Identifier: Apache-2.0
// The first thing on the page: why, in a sentence, with what it rests on and what to do.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { clock, duration, energy, tied, utcZone } from "./format";
import { advice, answerLevel, type Level, likelihood, userName } from "./model";
import { Command, Mark, Scroll } from "./parts";
import { go, goNow, type State } from "./store";
import type { Why } from "./types";

function spoken(why: Why, level: Level): string {
  const index = why.gpu_index,
    process = why.gpus.find((g) => g.gpu_index === index)?.causes[0]?.process;
  return `${level === "bad" ? "Act now: " : level === "warn" ? "Look soon: " : ""}${index == null ? "no GPU" : `GPU ${index}`}${process ? `, ${process}` : ""}`;
}

const sure = (confidence: number) => {
  const words = likelihood(confidence);
  return words[0]!.toUpperCase() + words.slice(1);
};

function Evidence({ list }: { list: string[] }) {
  return (
    <ul class="evidence" aria-label="Evidence">
      {list.map((e) => (
        <li key={e}>{tied(e)}</li>
      ))}
    </ul>
  );
}

/** What the sentence rests on and what to do about it; the other causes behind a click. */
function Because({ why, now }: { why: Why; now: boolean }) {
  const index = why.gpu_index;
  const part = why.gpus.find((g) => g.gpu_index === index) ?? why.machine;
  const [first, ...rest] = part.causes;
  const tips = now ? part.suggestions.map(advice) : [];
  const command = index == null ? "whirr why -v" : `whirr why -v --gpu ${index}`;
  return (
    <div class="because">
      {first && (
        <div class="cause">
          {/* What the sentence says word for word is not said again. */}
          <p>
            {!why.answer.startsWith(first.text) ? (
              <>
                {tied(first.text)} <span class="likely">{likelihood(first.confidence)}</span>
              </>
            ) : (
              <span class="likely">{sure(first.confidence)}, because:</span>
            )}
          </p>
          <Evidence list={first.evidence} />
          {rest.length > 0 && (
            <details>
              <summary>
                {rest.length} more cause{rest.length === 1 ? "" : "s"}
              </summary>
              {rest.map((c) => (
                <div class="cause" key={c.code}>
                  <p>
                    {tied(c.text)} <span class="likely">{likelihood(c.confidence)}</span>
                  </p>
                  <Evidence list={c.evidence} />
                </div>
              ))}
            </details>
          )}
        </div>
      )}
      {now && (
        <div class="do">
          <h3>What you can do</h3>
          <ul>
            {tips.map((t) => (
              <li key={t.text}>
                {tied(t.text)} {t.command && <Command text={t.command} />}
              </li>
            ))}
            {!tips.some((t) => t.command) && (
              <li>
                See all the evidence: <Command text={command} />
              </li>
            )}
          </ul>
        </div>
      )}
    </div>
  );
}

/** The daemon writes its own local time into sentences; said where it is not the reader's. */
function Zone({ s, at, text }: { s: State; at: number; text: string }) {
  if (s.utcOffset == null || s.utcOffset === -new Date(at).getTimezoneOffset() || !/\d\d:\d\d/.test(text)) return null;
  return <p class="dim">Times in this sentence are those of the host ({utcZone(s.utcOffset)}).</p>;
}

function Span({ s }: { s: State }) {
  const { why, report, events } = s.span!;
  const moment = (text: string) => Date.parse(text);
  return (
    <>
      <p class="sentence">{tied(why.answer)}</p>
      <Zone s={s} at={s.place.from!} text={why.answer} />
      {why.note && <p class="dim">{why.note}</p>}
      {report && (
        <p>
          {report.answer}
          {report.totals.cost != null && ` It cost ${report.totals.cost.toFixed(2)} ${report.currency ?? ""}.`}
        </p>
      )}
      {report && report.users.length > 0 && (
        <Scroll label="Energy by user in this range">
          <table class="small">
            <caption class="sr">Energy by user in this range</caption>
            <thead>
              <tr>
                <th scope="col">By</th>
                <th scope="col" class="n">
                  Busy
                </th>
                <th scope="col" class="n">
                  Energy
                </th>
                <th scope="col" class="n">
                  Share
                </th>
              </tr>
            </thead>
            <tbody>
              {report.users.slice(0, 8).map((u) => (
                <tr key={u.name}>
                  <th scope="row">{userName(u)}</th>
                  <td class="n">{duration(u.busy_hours * 3600)}</td>
                  <td class="n">{energy(u.energy_joules)}</td>
                  <td class="n">{u.share_percent == null ? "–" : `${Math.round(u.share_percent)}%`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {why.episodes.length > 0 && (
        <ol class="episodes">
          {why.episodes.slice(0, 12).map((e, i) => (
            <li key={i}>
              <button
                type="button"
                class="link"
                onClick={() => go({ at: (moment(e.since) + moment(e.until)) / 2, from: null, to: null })}
              >
                {clock(moment(e.since))} to {clock(moment(e.until))}
              </button>{" "}
              <span class="dim">
                GPU {e.gpu_index}, {duration(e.duration_seconds)}
                {e.user ? `, ${e.user}` : ""}
              </span>
              <br />
              {tied(e.answer)}
            </li>
          ))}
        </ol>
      )}
      {events.length > 0 && (
        <details open={events.length < 6}>
          <summary>
            {events.length} event{events.length === 1 ? "" : "s"}
          </summary>
          <ul>
            {events.slice(0, 50).map((e) => (
              <li key={e.id}>
                <span class="dim">
                  {clock(moment(e.at), undefined, true)}
                  {e.gpu_index == null ? "" : ` GPU ${e.gpu_index}`}
                </span>{" "}
                {e.text ?? e.kind}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** What is below stays where it is when the next answer is shorter: its height is kept until the window is another. */
function Kept({ children }: { children: ComponentChildren }) {
  const room = useRef<HTMLDivElement>(null),
    filled = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = room.current!;
    let width = 0,
      height = 0;
    const watch = new ResizeObserver(([entry]) => {
      const { width: w, height: h } = entry!.contentRect;
      height = w === width ? Math.max(height, h) : h;
      width = w;
      place.style.minHeight = `${height}px`;
    });
    watch.observe(filled.current!);
    return () => watch.disconnect();
  }, []);
  return (
    <div ref={room}>
      <div ref={filled}>{children}</div>
    </div>
  );
}

function Told({ why, level, now }: { why: Why; level: Level; now: boolean }) {
  return (
    <>
      <p class="sentence">
        <Mark level={level} /> {tied(why.answer || why.gap?.text || "Nothing is known about this moment.")}
      </p>
      {/* Figures change every second; screen readers are told when the matter does. */}
      {now && (
        <p class="sr" role="status">
          {spoken(why, level)}
        </p>
      )}
      {why.gap && why.answer && !why.answer.includes(why.gap.text) && <p class="dim">{why.gap.text}</p>}
      {why.note && <p class="dim">{why.note}</p>}
      <Because why={why} now={now} />
    </>
  );
}

export function Answer({ s }: { s: State }) {
  const { place } = s;
  if (place.from != null && place.to != null)
    return (
      <section id="answer" class="answer past" aria-labelledby="answer-title" aria-busy={s.busy}>
        <div class="head">
          <h2 id="answer-title">
            What happened from {clock(place.from)} to {clock(place.to)}
          </h2>
          <button type="button" onClick={goNow}>
            Back to now
          </button>
        </div>
        {s.span ? <Span s={s} /> : <p class="dim">{s.error ?? "Loading…"}</p>}
      </section>
    );
  const then = place.at != null;
  const why = then ? (s.past?.why ?? null) : s.why;
  const level = answerLevel(why);
  return (
    <section
      id="answer"
      class={`answer ${level}${then ? " past" : ""}${why && !why.gpus.length ? " host" : ""}`}
      aria-labelledby="answer-title"
      aria-busy={s.busy}
    >
      <Kept>
        {then ? (
          <div class="head">
            <h2 id="answer-title">At {clock(place.at!, undefined, true)}</h2>
            <button type="button" onClick={goNow}>
              Back to now
            </button>
          </div>
        ) : (
          <h2 id="answer-title" class="sr">
            Why
          </h2>
        )}
        {why ? (
          <>
            <Told why={why} level={level} now={!then} />
            {then && <Zone s={s} at={place.at!} text={why.answer} />}
          </>
        ) : (
          <p class="sentence dim">{s.error ?? "Loading…"}</p>
        )}
      </Kept>
    </section>
  );
}
