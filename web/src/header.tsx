// SPDX-License-Identifier: Apache-2.0
// What never leaves the screen: host, verdict, time, and the way to each section.
import { useEffect, useRef, useState } from "preact/hooks";
import { Brand, ThemeButton, Verdict as VerdictMark } from "./bar";
import { capital, clock, duration, longClock, parseMoment, plainly, utcZone, watts, zone } from "./format";
import { step } from "./keys";
import { onSection } from "./section";
import { answerLevel, counts, levelOf } from "./level";
import { sum } from "./model";
import { LIVE_SPAN, NOW, SPANS } from "./place";
import { Icon } from "./parts";
import { go, goNow, look, type State } from "./store";
import { LogOut } from "./token";
import type { Severity } from "./types";

/** How old the figures are. The only thing here that changes without new data. */
function Age({ s }: { s: State }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(Date.now());
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  if (s.receivedAt == null) return <span class="state">{s.error ?? "connecting"}</span>;
  const age = Math.max(0, (now - s.receivedAt) / 1000);
  const stale = age > 3 * s.interval + 2;
  const text = stale
    ? `stale, ${duration(age)} old`
    : s.link === "live"
      ? `live, every ${s.interval < 1 ? `${s.interval}s` : duration(s.interval)}`
      : "updated just now";
  const retry =
    s.link === "lost" && s.retryAt ? `, connecting again in ${duration(Math.max(0, (s.retryAt - now) / 1000))}` : "";
  return (
    <span
      class={`state ${stale || s.link === "lost" ? "warn" : "good"}`}
      id="state"
      title={s.sampleAt == null ? undefined : `Last sample: ${clock(s.sampleAt, undefined, true)}`}
    >
      <i class="dot" />
      <span>
        {s.link === "lost" ? `connection lost${retry}` : s.link === "paused" ? "paused" : text}
        {s.link === "lost" && <> · data is {duration(age)} old</>}
      </span>
    </span>
  );
}

/** Findings by severity, and the first of them in a few words. */
function Verdict({ s }: { s: State }) {
  const range = s.place.from != null && s.place.at == null,
    then = s.place.at != null || range,
    why = range ? null : then ? (s.past?.why ?? null) : s.why;
  // Of a range, what was worth explaining in it.
  const list: { severity: Severity; headline: string; muted?: boolean }[] = range
    ? (s.span?.why.episodes.map((e) => ({ severity: e.severity, headline: e.answer })) ?? [])
    : then
      ? (why?.gpus.flatMap((g) => g.findings ?? []) ?? [])
      : s.findings;
  const numbers = counts(list),
    level = answerLevel(why),
    first = list.find((f) => !f.muted && f.severity !== "info");
  const text = range
    ? "in this time"
    : then
      ? why?.gap
        ? "not recorded"
        : `at ${clock(s.place.at!)}`
      : first
        ? plainly(first.headline)
        : capital(why?.calm ?? "");
  return <VerdictMark numbers={numbers} level={level} text={text} host={s.host} quiet={then} />;
}

function Spans({ s }: { s: State }) {
  const { place, view } = s;
  const choose = (span: number) => {
    look({ span });
    if (place.from != null) go({ ...NOW, at: place.at });
  };
  return (
    <div class="seg" role="group" aria-label="Span of the charts">
      {SPANS.map(([name, n], i) => (
        <button
          key={n}
          type="button"
          class={i === 3 ? "apart" : ""}
          aria-pressed={place.from == null && (place.at == null ? view.span : Math.max(3600, view.span)) === n}
          disabled={(!s.history && n > LIVE_SPAN) || (place.at != null && n < 3600)}
          title={!s.history && n > LIVE_SPAN ? "No history is kept on this host" : undefined}
          onClick={() => choose(n)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** A field for a time as people say it; `take` is given nothing where it was left empty. */
function Moment({
  id,
  label,
  at,
  take,
  disabled = false,
}: {
  id: string;
  label: string;
  at: number | null;
  take: (ms: number | null) => void;
  disabled?: boolean;
}) {
  const [wrong, setWrong] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (id === "compare") field.current!.focus();
  }, []);
  return (
    <form
      class={`field moment ${wrong ? "wrong" : ""}`}
      onSubmit={(e) => {
        e.preventDefault();
        const text = field.current!.value.trim(),
          ms = parseMoment(text),
          none = !text || text === "now";
        setWrong(!none && (ms == null || ms >= Date.now()));
        if (none) take(null);
        else if (ms != null && ms < Date.now()) {
          field.current!.blur();
          take(ms);
        }
      }}
    >
      <Icon name="clock" />
      <input
        id={id}
        ref={field}
        name="moment"
        key={at ?? "now"}
        defaultValue={at == null ? "" : clock(at)}
        placeholder="03:10, yesterday 22:00"
        autocomplete="off"
        spellcheck={false}
        aria-label={label}
        aria-invalid={wrong}
        title={`${wrong ? "Write a time like" : `${label}:`} 03:10, yesterday 22:00, or 2h ago`}
        disabled={disabled}
      />
    </form>
  );
}

const SECTIONS = [
  ["answer", "Now"],
  ["charts", "Charts"],
  ["processes", "Processes"],
  ["timeline", "Timeline"],
  ["energy", "Energy"],
  ["findings", "Findings"],
  ["guard", "Guard"],
] as const;

function Tabs({ s }: { s: State }) {
  const [here, setHere] = useState("answer");
  const then = s.place.at != null;
  useEffect(
    () =>
      onSection(
        SECTIONS.map(([id]) => id),
        setHere,
      ),
    [],
  );
  const gpus = then ? (s.past?.gpus ?? []) : (s.gpus ?? []);
  const number: Record<string, number> = {
    processes: gpus.reduce((n, g) => n + g.processes.length, 0),
    findings: then ? 0 : s.findings.filter((f) => levelOf(f.severity) !== "good").length,
    guard: s.workers.length,
  };
  return (
    <nav class="tabs" aria-label="Sections">
      {SECTIONS.filter(([id]) => s.history || (id !== "timeline" && id !== "energy")).map(([id, name]) => (
        <a key={id} href={`#${id}`} aria-current={here === id ? "true" : undefined}>
          {id === "answer" && (then || s.place.from != null) ? "Then" : name}
          {number[id] ? <span class="k">{number[id]}</span> : null}
        </a>
      ))}
    </nav>
  );
}

function Choices({ s }: { s: State }) {
  const gpus = s.gpus ?? [],
    { view } = s;
  const [typing, setTyping] = useState(false);
  if (!gpus.length) return null;
  const worst = () => s.why?.gpu_index ?? gpus[0]!.index;
  const ago = [3600, 86400, 604800].filter((n) => n >= view.span || n === 86400);
  return (
    <div class="choices">
      {gpus.length > 1 && gpus.length <= 8 && (
        <div class="seg" role="group" aria-label="Which GPU">
          <button type="button" aria-pressed={view.gpu == null} onClick={() => look({ gpu: null, by: "gpu" })}>
            All
          </button>
          {gpus.map((g) => (
            <button
              key={g.index}
              type="button"
              aria-label={`Only GPU ${g.index}`}
              aria-pressed={view.gpu === g.index}
              onClick={() => look({ gpu: g.index })}
            >
              {g.index}
            </button>
          ))}
        </div>
      )}
      <div class="seg" role="group" aria-label="Charts by">
        <button type="button" aria-pressed={view.by === "gpu"} onClick={() => look({ by: "gpu" })}>
          By GPU
        </button>
        <button
          type="button"
          aria-pressed={view.by === "process"}
          onClick={() => look({ by: "process", gpu: view.gpu ?? (gpus.length > 1 ? worst() : null) })}
        >
          By process
        </button>
      </div>
      {s.history && typing && (
        <Moment
          id="compare"
          label="Compare with the time from"
          at={null}
          take={(ms) => {
            setTyping(false);
            if (ms != null) look({ compare: `at:${new Date(ms).toISOString().slice(0, 19)}Z`, by: "gpu" });
          }}
        />
      )}
      {s.history && !typing && (
        <select
          aria-label="Compare with"
          value={view.compare}
          onChange={(e) =>
            e.currentTarget.value === "type" ? setTyping(true) : look({ compare: e.currentTarget.value, by: "gpu" })
          }
        >
          <option value="">Compare</option>
          {view.gpu != null &&
            gpus
              .filter((g) => g.index !== view.gpu)
              .slice(0, 8)
              .map((g) => (
                <option key={g.index} value={`gpu:${g.index}`}>
                  GPU {g.index}
                </option>
              ))}
          {ago.map((n) => (
            <option key={n} value={`ago:${n}`}>
              {duration(n)} earlier
            </option>
          ))}
          {view.compare.startsWith("at:") && (
            <option value={view.compare}>from {clock(Date.parse(view.compare.slice(3)))}</option>
          )}
          <option value="type">A time…</option>
        </select>
      )}
    </div>
  );
}

function PastBar({ s }: { s: State }) {
  const { at, from, to } = s.place;
  const [copied, setCopied] = useState(false);
  if (at == null && from == null) return null;
  const copy = () => {
    void navigator.clipboard?.writeText(location.href).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 2000);
    });
  };
  return (
    <div class="pastbar">
      <Icon name="clock" />
      <p>
        {at != null ? (
          <>
            You are looking at <b>{longClock(at)}</b>, {duration((Date.now() - at) / 1000)} ago.{" "}
            <span class="more">Everything below is from then.</span>
          </>
        ) : (
          <>
            You are looking at{" "}
            <b>
              {clock(from!)} to {clock(to!)}
            </b>
            , {duration((to! - from!) / 1000)}.
          </>
        )}
      </p>
      {at != null && (
        <>
          <button type="button" class="more" onClick={() => step(-1)} title="Key: ,">
            1m back
          </button>
          <button type="button" class="more" onClick={() => step(1)} title="Key: .">
            1m on
          </button>
        </>
      )}
      <button type="button" class="more" onClick={copy}>
        {copied ? "Copied" : "Copy link"}
      </button>
      <button type="button" class="primary" onClick={goNow}>
        Back to live <span class="more">(Esc)</span>
      </button>
    </div>
  );
}

/** Times are the reader's; said where the host's are others. */
function Zones({ s }: { s: State }) {
  const at = s.place.at ?? s.place.from;
  if (at == null || s.utcOffset == null || s.utcOffset === -new Date(at).getTimezoneOffset()) return null;
  const there = new Date(at + s.utcOffset * 60e3).toISOString().slice(11, 16);
  return (
    <span class="zones dim">
      Times are yours ({zone()}). The host is in {utcZone(s.utcOffset)}: {there}.
    </span>
  );
}

export function Header({ s }: { s: State }) {
  const then = s.place.at != null,
    gpus = then ? s.past?.gpus : s.place.from == null ? s.gpus : null;
  const power = sum(gpus?.map((g) => g.power_watts) ?? []);
  return (
    <header class="topbar">
      <a class="skip" href="#answer">
        Skip to the answer
      </a>
      <div class="row first">
        <Brand />
        <span class="hostname">
          <b class="host">{s.host}</b>{" "}
          {gpus && gpus.length > 0 && (
            <span class="dim">
              {gpus.length} GPU{gpus.length === 1 ? "" : "s"}
              {power != null && `, ${watts(power)}${then ? " then" : ""}`}
            </span>
          )}
        </span>
        {s.gpus?.some((g) => g.simulated) && <span class="chip">simulated</span>}
        {s.fleet && (
          <nav>
            <a href="/fleet">All hosts</a>
          </nav>
        )}
        <Verdict s={s} />
        <span class="grow" />
        <Spans s={s} />
        <Moment
          id="moment"
          label="Go to a moment"
          at={s.place.at}
          take={(ms) => (ms == null ? goNow() : go({ ...NOW, at: ms }))}
          disabled={!s.history}
        />
        {!then && s.place.from == null && <Age s={s} />}
        {s.session.signed_in && <LogOut />}
        <ThemeButton />
      </div>
      <div class="row second">
        <Tabs s={s} />
        <span class="grow" />
        <Zones s={s} />
        <Choices s={s} />
      </div>
      <PastBar s={s} />
    </header>
  );
}
