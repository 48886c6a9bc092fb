// SPDX-License-Identifier: Apache-2.0
// The answer: why, in a sentence, with its evidence and what to do; about the host, or the selected GPU.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ActOn, Remedies } from "./act";
import { Missing } from "./asked";
import { now as hostNow } from "./clock";
import { clock, DASH, duration, energy, firstSentence, percent, plainly, steady, tied } from "./format";
import { answerLevel, gpuLevel, type Level, levelOf, RANK } from "./level";
import { userName } from "./model";
import { NOW } from "./place";
import { Bar, Command, Icon, Mark, Scroll } from "./parts";
import { mattering, readings } from "./readings";
import { go, isBusy, look, type State } from "./store";
import { parted, repeats, verdictOf } from "./verdict";
import type { Cause, Episode, Finding, Gpu, Why, WhyGpu } from "./types";

function spoken(why: Why, level: Level): string {
  const index = why.gpu_index,
    process = why.gpus.find((g) => g.gpu_index === index)?.causes[0]?.process;
  return `${level === "bad" ? "Act now: " : level === "warn" ? "Look soon: " : ""}${index == null ? "no GPU" : `GPU ${index}`}${process ? `, ${process}` : ""}`;
}

/** One line with as much evidence as fits; the rest expands. `said`: evidence that is shown above already; "Evidence": so is the sentence. */
export function Because({ cause, name, said = [] }: { cause: Cause; name: string; said?: string[] }) {
  const [open, setOpen] = useState(false);
  const evidence = cause.evidence.filter((e) => !said.includes(e));
  return (
    <div class={`cause ${open ? "open" : ""}`}>
      <dt>{name}</dt>
      <dd>
        <span>
          {name !== "Evidence" && tied(plainly(cause.text))} <span class="likely">{cause.likelihood}</span>
        </span>
        {evidence.length > 0 && (
          <>
            <ul class="evidence" aria-label="Evidence">
              {evidence.map((e) => (
                <li key={e}>{tied(e)}</li>
              ))}
            </ul>
            <button
              type="button"
              class="quiet more"
              aria-expanded={open}
              aria-label={`All evidence: ${cause.text}`}
              title={open ? "Less" : evidence.join("\n")}
              onClick={() => setOpen(!open)}
            >
              <Icon name="open" />
            </button>
          </>
        )}
      </dd>
    </div>
  );
}

function Gauges({ g, why, s }: { g: Gpu; why: WhyGpu | undefined; s: State }) {
  const found = why?.findings?.[0] ?? g.finding,
    at = s.place.at;
  const since = found?.since ? Date.parse(found.since) : null,
    now = at ?? s.sampleAt ?? hostNow();
  return (
    <aside class="gauges" aria-label={`Readings of GPU ${g.index}`}>
      <p class="dim">
        GPU {g.index} {at == null && !s.dead ? "now" : `at ${clock(now)}`}
        {since != null && found!.severity !== "info" && (
          <span class="since">
            since {clock(since)}, {duration((now - since) / 1000)}
          </span>
        )}
        {at == null && !s.dead && <ActOn g={g} s={s} />}
      </p>
      <dl>
        {mattering(readings(g, why?.usual), found && found.severity !== "info" ? found.area : "").map((x) => (
          <div key={x.name}>
            <dt>{x.name}</dt>
            <dd class={x.level === "good" ? "" : `lv ${x.level}`}>{x.text}</dd>
            <dd class="gauge">
              <Bar
                value={x.value}
                limit={x.limit}
                mark={x.mark}
                usual={x.usual}
                level={x.level}
                label={`${x.name}, ${x.note || "no limit known"}`}
              />
            </dd>
            <dd class="dim of">{x.note}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}

const TABS = 5;

/** One tab per GPU with a few words; with many GPUs, one per finding, merging identical ones. */
function Tabs({ s, why, gpus }: { s: State; why: Why; gpus: Gpu[] }) {
  const then = s.place.at != null,
    verdict = verdictOf(why, !then),
    picked = s.view.gpu ?? verdict.index;
  if (gpus.length <= 1) return null;
  if (gpus.length <= TABS)
    return (
      <div class="gputabs" role="group" aria-label="GPUs">
        {gpus.map((g) => {
          const w = why.gpus.find((x) => x.gpu_index === g.index),
            text = w?.brief
              ? [w.brief.state, w.brief.numbers].filter(Boolean).join(", ")
              : (w?.findings?.[0]?.headline ?? g.state);
          return (
            <button
              key={g.index}
              type="button"
              aria-pressed={picked === g.index}
              onClick={() => look({ gpu: s.view.gpu === g.index ? null : g.index })}
            >
              <Mark level={w && then ? levelOf(w.severity) : gpuLevel(g)} /> <b>GPU {g.index}</b>{" "}
              <span>{tied(text)}</span>
            </button>
          );
        })}
      </div>
    );
  const groups = new Map<string, Finding[]>();
  for (const f of s.findings)
    if (f.severity !== "info" && f.gpu_index != null) groups.set(f.code, [...(groups.get(f.code) ?? []), f]);
  if (groups.size < 2 || then) return null;
  const text = (list: Finding[]) =>
    list.length === 1 ? plainly(list[0]!.headline) : `${list.length} GPUs: ${list[0]!.code.replaceAll("_", " ")}`;
  return (
    <div class="gputabs" role="group" aria-label="Findings">
      {[...groups.values()]
        .sort((a, b) => RANK[levelOf(b[0]!.severity)] - RANK[levelOf(a[0]!.severity)])
        .slice(0, TABS)
        .map((list) => (
          <button
            key={list[0]!.code}
            type="button"
            aria-pressed={list.some((f) => f.gpu_index === picked)}
            onClick={() => look({ gpu: list[0]!.gpu_index })}
            title={`GPU ${list.map((f) => f.gpu_index).join(", ")}`}
          >
            <Mark level={levelOf(list[0]!.severity)} /> <span>{tied(text(list))}</span>
          </button>
        ))}
    </div>
  );
}

const EPISODES = 8;

/** One line for all that needed no attention: each sentence once, with its GPUs. */
function calmly(list: Episode[]): string {
  const of = new Map<string, Set<number>>();
  for (const e of list) {
    const text = plainly(e.answer)
      .replace(/^GPU \d+ /, "")
      .split(/[:.] /)[0]!;
    of.set(text, (of.get(text) ?? new Set()).add(e.gpu_index));
  }
  const parts = [...of].slice(0, 3).map(([text, gpus]) => `GPU ${[...gpus].sort((a, b) => a - b).join(", ")} ${text}`);
  return `Calm: ${parts.join("; ")}${of.size > 3 ? `; and ${of.size - 3} more` : ""}.`;
}

function Span({ s }: { s: State }) {
  const { why, report, events } = s.span.value!;
  const moment = (text: string) => Date.parse(text);
  const loud = why.episodes
      .filter((e) => e.severity !== "info")
      .sort((a, b) => RANK[levelOf(b.severity)] - RANK[levelOf(a.severity)] || b.duration_seconds - a.duration_seconds),
    calm = why.episodes.filter((e) => e.severity === "info");
  const [first, rest] = firstSentence(plainly(why.answer)),
    many = `${loud.length} thing${loud.length === 1 ? "" : "s"} needed attention`,
    headline =
      loud.length || !calm.length
        ? first.replace(/^\d+ things are worth explaining/, many)
        : "Nothing needed attention.";
  return (
    <>
      <p class="sentence">
        {loud[0] && <Mark level={levelOf(loud[0].severity)} />} {tied(headline)}
      </p>
      {rest && loud.length > 0 && <p class="rest">{tied(rest)}</p>}
      {why.note && <p class="dim">{why.note}</p>}
      {report && (
        <p class="dim">
          {report.answer}
          {report.totals.cost != null && ` It cost ${report.totals.cost.toFixed(2)} ${report.currency ?? ""}.`}
        </p>
      )}
      <div class="columns">
        {loud.length > 0 && (
          <ol class="episodes">
            {loud.slice(0, EPISODES).map((e) => (
              <li key={`${e.gpu_index} ${e.since}`}>
                <Mark level={levelOf(e.severity)} />{" "}
                <button
                  type="button"
                  class="link"
                  onClick={() => go({ ...s.place, at: (moment(e.since) + moment(e.until)) / 2 })}
                >
                  {clock(moment(e.since))} to {clock(moment(e.until))}
                </button>{" "}
                <span class="dim">
                  GPU {e.gpu_index}, {duration(e.duration_seconds)}
                  {e.user ? `, ${e.user}` : ""}
                </span>
                <br />
                {tied(plainly(e.answer))}
              </li>
            ))}
          </ol>
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
                  <tr key={userName(u)}>
                    <th scope="row">{userName(u)}</th>
                    <td class="n">{u.busy_hours == null ? DASH : duration(u.busy_hours * 3600)}</td>
                    <td class="n">{energy(u.energy_joules)}</td>
                    <td class="n">{percent(u.share_percent)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </div>
      {loud.length > EPISODES && <p class="dim">{loud.length - EPISODES} more, less urgent.</p>}
      {calm.length > 0 && <p class="dim calm">{calmly(calm)}</p>}
      {events.length > 0 && (
        <details>
          <summary>
            {events.length} event{events.length === 1 ? "" : "s"}
          </summary>
          <ul class="plain">
            {events.slice(0, 50).map((e) => (
              <li key={`${e.kind}${e.id}`}>
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

/** Keeps its height until the window is resized: a shorter answer must not move what is below. */
function Kept({ children, of }: { children: ComponentChildren; of: string }) {
  const room = useRef<HTMLDivElement>(null),
    filled = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = room.current!;
    let width = 0,
      height = 0;
    place.style.minHeight = "";
    const watch = new ResizeObserver(([entry]) => {
      const { width: w, height: h } = entry!.contentRect;
      height = w === width ? Math.max(height, h) : h;
      width = w;
      place.style.minHeight = `${height}px`;
    });
    watch.observe(filled.current!);
    return () => watch.disconnect();
  }, [of]);
  return (
    <div ref={room} class="kept">
      <div ref={filled} class="filled">
        {children}
      </div>
    </div>
  );
}

/** A moment without samples: claims nothing, and offers the nearest ones. */
function Unrecorded({ s, why }: { s: State; why: Why }) {
  const gap = why.gap!,
    at = s.place.at!;
  const near = [
    ["Last sample before", gap.since ? Date.parse(gap.since) - 1000 : null],
    ["First sample after", gap.until ? Date.parse(gap.until) + 1000 : null],
  ] as const;
  return (
    <div class="unrecorded">
      <p class="sentence">Nothing was recorded at {clock(at)}.</p>
      <p class="dim">{gap.text}</p>
      <p>
        {near.map(([name, ms]) =>
          ms == null ? null : (
            <button key={name} type="button" onClick={() => go({ ...NOW, at: ms })}>
              {name}, {clock(ms, undefined, true)}
            </button>
          ),
        )}
      </p>
    </div>
  );
}

function Told({ s, why, gpus }: { s: State; why: Why; gpus: Gpu[] }) {
  const then = s.place.at != null,
    verdict = verdictOf(why, !then),
    picked = s.view.gpu != null && why.gpus.some((g) => g.gpu_index === s.view.gpu) ? s.view.gpu : null,
    index = picked ?? verdict.index;
  const own = why.gpus.find((g) => g.gpu_index === index),
    gpu = gpus.find((g) => g.index === index);
  const part = own ?? why.machine,
    about = useRef("");
  const [headline, rest] = own && index !== verdict.index ? parted(own.answer, own) : [verdict.headline, verdict.rest];
  about.current = steady(about.current, headline);
  const shown: Level = picked != null && own ? (gpu && !then ? gpuLevel(gpu) : levelOf(own.severity)) : verdict.level;
  const more = index == null ? "whirr why -v" : `whirr why -v --gpu ${index}`;
  return (
    <>
      <div class="told">
        <p class="sentence">
          <Mark level={shown} /> {tied(about.current)}
        </p>
        {rest && <p class="rest dim">{tied(rest)}</p>}
        {/* Figures change every second; announce only changes of the subject to screen readers. */}
        {!then && (
          <p class="sr" role="status">
            {spoken(why, verdict.level)}
          </p>
        )}
        {why.note && <p class="dim">{why.note}</p>}
        <dl class="because">
          {part.causes.slice(0, 3).map((c, i, list) => (
            <Because
              key={c.code}
              cause={c}
              name={repeats(c.text, headline) ? "Evidence" : i ? "Also" : "Cause"}
              said={list.slice(0, i).flatMap((x) => x.evidence)}
            />
          ))}
          {!then && <Remedies part={part} gpu={index} s={s} />}
          <div class="do">
            <dt>More</dt>
            <dd>
              <Command text={then ? `whirr why --at ${new Date(s.place.at!).toISOString().slice(0, 19)}Z -v` : more} />
            </dd>
          </div>
        </dl>
      </div>
      {gpu && gpu.state === "ok" && <Gauges g={gpu} why={own} s={s} />}
      <Tabs s={s} why={why} gpus={gpus} />
    </>
  );
}

export function Answer({ s }: { s: State }) {
  const { place } = s;
  const then = place.at != null;
  if (place.from != null && !then)
    return (
      <section id="answer" class="panel answer range" aria-labelledby="answer-title" aria-busy={isBusy(s)}>
        <h2 id="answer-title" class="sr">
          What happened from {clock(place.from)} to {clock(place.to!)}
        </h2>
        {s.span.value ? <Span s={s} /> : <Missing of={s.span} />}
      </section>
    );
  const why = then ? (s.past.value?.why ?? null) : s.why.value;
  const gpus = then ? (s.past.value?.gpus ?? []) : (s.gpus ?? []);
  const level = answerLevel(why);
  return (
    <section
      id="answer"
      class={`panel answer ${why?.gap ? "idle" : level}${why && !why.gpus.length ? " host" : ""}`}
      aria-labelledby="answer-title"
      aria-busy={isBusy(s)}
    >
      <h2 id="answer-title" class="sr">
        {then ? `At ${clock(place.at!, undefined, true)}` : "Why"}
      </h2>
      <Kept of={then ? "then" : `now ${s.view.gpu}`}>
        {!why ? (
          <div class="sentence dim">
            <Missing of={then ? s.past : s.why} />
          </div>
        ) : then && why.gap ? (
          <Unrecorded s={s} why={why} />
        ) : (
          <Told s={s} why={why} gpus={gpus} />
        )}
      </Kept>
    </section>
  );
}
