// SPDX-License-Identifier: Apache-2.0
// The permanent header: host, verdict, time, and links to the sections.
import { useEffect, useRef, useState } from "preact/hooks";
import { Changed } from "./act";
import { Brand, ThemeButton, Verdict as VerdictMark } from "./bar";
import { clockAhead, now as hostNow } from "./clock";
import { clock, duration, longClock, parseMoment, utcZone, watts, zone } from "./format";
import { step } from "./keys";
import { onSection } from "./section";
import { counts, levelOf } from "./level";
import { connectNow } from "./live";
import { sum } from "./model";
import { LIVE_SPAN, NOW, SPANS } from "./place";
import { Icon, Mark } from "./parts";
import { reasonOf } from "./resource";
import { go, goNow, look, nowIsNext, set, type State } from "./store";
import { LogOut } from "./token";
import { verdictOf } from "./verdict";

/** The current time, updated every second. */
function useSeconds(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(Date.now());
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The age of the figures. */
function Age({ s }: { s: State }) {
  const now = useSeconds();
  if (s.receivedAt == null) return <span class="state">{reasonOf(s.metrics) ?? "connecting"}</span>;
  const age = Math.max(0, (now - s.receivedAt) / 1000);
  const text = s.dead
    ? `stale, ${duration(age)} old`
    : s.link === "live"
      ? `live, every ${s.interval < 1 ? `${s.interval}s` : duration(s.interval)}`
      : "updated just now";
  const retry =
    s.link === "lost" && s.retryAt ? `, connecting again in ${duration(Math.max(0, (s.retryAt - now) / 1000))}` : "";
  return (
    <span
      class={`state ${s.dead || s.link === "lost" ? "warn" : "good"}`}
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

/** Marks outdated data across the page: until when it was valid, and what happens next. */
function DeadBar({ s }: { s: State }) {
  const now = useSeconds();
  return (
    <div class="deadbar">
      <Mark level="silent" label="Not live" />
      <p>
        <b role="alert">{s.link === "lost" ? `No connection to ${s.host || "the host"}.` : "No new sample."}</b>{" "}
        {s.place.at == null && s.place.from == null && s.sampleAt != null && (
          <>
            Everything below is from <b>{clock(s.sampleAt, undefined, true)}</b>,{" "}
            {duration(Math.abs(now - s.receivedAt!) / 1000)} ago.
          </>
        )}
      </p>
      {s.link === "lost" && (
        <button type="button" onClick={connectNow}>
          Connect now
        </button>
      )}
    </div>
  );
}

/** Findings by severity, and what is first. */
function Verdict({ s }: { s: State }) {
  const range = s.place.from != null && s.place.at == null,
    then = s.place.at != null,
    why = range ? null : then ? s.past.value?.why : s.why.value,
    verdict = why ? verdictOf(why, !then) : null;
  const text = range ? "in this time" : why?.gap ? "not recorded" : (verdict?.headline ?? "");
  const lost = s.link === "paused" ? "paused" : s.dead ? (s.link === "lost" ? "no connection" : "stale") : null;
  return (
    <VerdictMark
      numbers={range ? counts(s.span.value?.why.episodes ?? []) : (verdict?.numbers ?? [])}
      level={verdict?.level ?? "idle"}
      text={text}
      host={s.host}
      quiet={then || range}
      lost={lost}
    />
  );
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

/** A field for a time in natural language; passes null to `take` if left empty. */
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
  const refuse = (notice: string | null) => {
    setWrong(notice != null);
    set({ notice }, true);
  };
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
        if (none) refuse(null);
        else if (ms == null)
          return refuse(`“${text}” is not a time. Write one like 03:10, yesterday 22:00, or 2h ago.`);
        else if (ms >= hostNow()) return refuse(`${clock(ms)} is still to come.`);
        else refuse(null);
        field.current!.blur();
        take(none ? null : ms);
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
  const gpus = then ? (s.past.value?.gpus ?? []) : (s.gpus ?? []);
  const number: Record<string, number> = {
    processes: gpus.reduce((n, g) => n + g.processes.length, 0),
    findings: then ? 0 : s.findings.filter((f) => levelOf(f.severity) !== "good").length,
    guard: s.workers.value?.length ?? 0,
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

const FEW = 8; // GPUs

function Choices({ s }: { s: State }) {
  const gpus = s.gpus ?? [],
    { view } = s;
  const [typing, setTyping] = useState(false);
  if (!gpus.length) return null;
  const worst = (): number => (s.why.value ? verdictOf(s.why.value, true).index : null) ?? gpus[0]!.index;
  // Without a picked one: any two of a few, or the one that the answer is about with any other.
  const first = view.gpu ?? (gpus.length > FEW ? worst() : null),
    all = gpus.map((g) => g.index),
    pairs =
      first == null
        ? all.flatMap((a, i) => all.slice(i + 1).map((b) => [a, b] as const))
        : all.filter((b) => b !== first).map((b) => [first, b] as const);
  const compareWith = (value: string) => {
    const pair = /^pair:(\d+),(\d+)$/.exec(value);
    if (value === "type") setTyping(true);
    else if (pair) look({ gpu: Number(pair[1]), compare: `gpu:${pair[2]}`, by: "gpu" });
    // With itself: one GPU, or it would be a tangle.
    else look({ compare: value, by: "gpu", gpu: /^a/.test(value) ? (view.gpu ?? worst()) : view.gpu });
  };
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
            if (ms != null) compareWith(`at:${new Date(ms).toISOString().slice(0, 19)}Z`);
          }}
        />
      )}
      {s.history && !typing && (
        <select aria-label="Compare with" value={view.compare} onChange={(e) => compareWith(e.currentTarget.value)}>
          <option value="">Compare</option>
          {gpus.length > 1 && (
            <optgroup label={view.gpu == null ? "Two GPUs" : `GPU ${view.gpu} and`}>
              {pairs.map(([a, b]) => (
                <option key={`${a},${b}`} value={view.gpu == null ? `pair:${a},${b}` : `gpu:${b}`}>
                  {view.gpu == null ? `GPU ${a} and GPU ${b}` : `GPU ${b}`}
                </option>
              ))}
            </optgroup>
          )}
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

const SAVES = "One file with the answer, charts and processes, which opens without this host";
const savePage = async () => (await import("./below")).savePage();

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
            You are looking at <b>{longClock(at)}</b>, {duration((hostNow() - at) / 1000)} ago.{" "}
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
      <button type="button" class="more" onClick={() => void savePage()} title={SAVES}>
        Save as page
      </button>
      <button type="button" class="primary" onClick={goNow}>
        Back to live {nowIsNext() && <span class="more">(Esc)</span>}
      </button>
    </div>
  );
}

const APART = 2e3; // ms

/** Times are in the reader's zone; says so if the host's differs. */
function Zones({ s }: { s: State }) {
  const at = s.place.at ?? s.place.from,
    apart = clockAhead();
  if (s.link === "live" && Math.abs(apart) > APART)
    return (
      <span class="zones dim">
        This device's clock is {duration(Math.abs(apart) / 1000)} {apart > 0 ? "ahead" : "behind"}. Times here are the
        host's.
      </span>
    );
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
    gpus = then ? s.past.value?.gpus : s.place.from == null ? s.gpus : null;
  const power = sum(gpus?.map((g) => g.power_watts) ?? []);
  // Anchors must not end up below the header, however many lines it has.
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const size = new ResizeObserver(() =>
      document.documentElement.style.setProperty("--head", `${bar.current!.offsetHeight}px`),
    );
    size.observe(bar.current!);
    return () => size.disconnect();
  }, []);
  return (
    <header class="topbar" ref={bar}>
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
        <Changed s={s} />
        <span class="grow" />
        <Spans s={s} />
        <Moment
          id="moment"
          label="Go to a moment"
          at={s.place.at}
          take={(ms) => (ms == null ? goNow() : go({ ...NOW, at: ms }))}
          disabled={!s.history}
        />
        {((!then && s.place.from == null) || s.dead) && <Age s={s} />}
        {s.place.at == null && s.place.from == null && (
          <button
            type="button"
            class="icon share"
            aria-label="Save as page"
            title={SAVES}
            onClick={() => void savePage()}
          >
            <Icon name="save" />
          </button>
        )}
        {s.session?.signed_in && <LogOut />}
        <ThemeButton />
      </div>
      <div class="row second">
        <Tabs s={s} />
        <span class="grow" />
        <Zones s={s} />
        <Choices s={s} />
      </div>
      <PastBar s={s} />
      {s.dead && <DeadBar s={s} />}
      {s.outdated && (
        <div class="notice">
          <p role="alert">This host runs another version of whirr now; this page is from before.</p>
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </div>
      )}
      {s.notice && (
        <div class="notice">
          <p role="alert">{s.notice}</p>
          <button
            type="button"
            class="icon quiet"
            aria-label="Close"
            title="Close (Esc)"
            onClick={() => set({ notice: null }, true)}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </header>
  );
}
