// SPDX-License-Identifier: Apache-2.0
// Processes on the GPUs: the twelve most important, all on demand, grouped, filtered; a row expands to its explanation.
import { useMemo, useState } from "preact/hooks";
import { Remedies } from "./act";
import { Because } from "./answer";
import { courseOf, type Courses, useCourses } from "./courses";
import { absence, DASH, duration, memory, percent, plainly, tied, watts } from "./format";
import { get } from "./live";
import { EndedProcesses } from "./lives";
import { memo } from "./memo";
import { levelOf } from "./level";
import { limitWords } from "./limit";
import { sparkline } from "./model";
import { spanName } from "./place";
import { byWeight, filtered, grouped, type GroupKey, type Row, rows, serving, sorted, type SortKey } from "./rows";
import { words } from "./refused";
import { Bar, Choice, Mark, Scroll, Search, Section, SortHead, useNarrow, value } from "./parts";
import { useSlice } from "./slice";
import { look, type State } from "./store";
import { mayAct, mayTry } from "./token";
import type { WhyProcesses } from "./api";
import type { Finding, Gpu, Life, Why } from "./types";

const COLUMNS: { key: SortKey; name: string; number?: boolean; wide?: boolean }[] = [
  { key: "gpu", name: "GPU" },
  { key: "name", name: "Process" },
  { key: "user", name: "User, container" },
  { key: "memory_mb", name: "VRAM", number: true, wide: true },
  { key: "utilization_percent", name: "GPU share", number: true, wide: true },
  { key: "power_watts", name: "Power", number: true },
];
const FEW = 12,
  FEW_NARROW = 4,
  VIRTUAL = 80;

/** For how many seconds it has held VRAM idle, as the daemon judges it. */
function idleFor(life: Life | undefined): number | null {
  return life?.held_idle ? (Date.parse(life.last_seen) - Date.parse(life.first_seen)) / 1000 : null;
}

const WORDS: Record<string, string> = {
  vram_full_soon: "VRAM growing",
  context_held: "holds VRAM, idle",
  vram_held: "holds VRAM, idle",
  kv_cache_full: "KV cache full",
  preemptions: "requests interrupted",
  requests_queue: "requests wait",
  server_silent: "not answering",
  model_slow: "slower than usual",
  model_unused: "no requests",
};

const limitTitle = (r: Row) =>
  `Limited by ${r.limit!.words}, ${percent(r.limit!.share_percent)} of the time${r.limit!.second && r.limit!.second_percent ? `; then by ${r.limit!.second.replaceAll("_", " ")}, ${percent(r.limit!.second_percent)}` : ""}`;

/** What limits it, or the finding about it. */
function Limiting({ r, life, finding }: { r: Row; life?: Life; finding?: Finding }) {
  const idle = idleFor(life);
  if (finding && finding.severity !== "info") {
    const level = levelOf(finding.severity);
    return (
      <span class={`chip ${level}`} title={finding.headline}>
        {WORDS[finding.code] ?? finding.code.replaceAll("_", " ")}
      </span>
    );
  }
  const words = limitWords(r.limit);
  if (words)
    return (
      <span class="chip" title={limitTitle(r)}>
        {words}
      </span>
    );
  return idle == null ? null : (
    <span class="chip warn" title="It did nothing in the last hour">
      held {duration(idle)}, did nothing
    </span>
  );
}

/** The course of its share of the GPU, or of its memory if that is what is wrong with it. */
function Spark({
  r,
  now,
  span,
  courses,
  leaks,
  total,
}: Pick<LineProps, "r" | "now" | "span" | "courses" | "leaks" | "total">) {
  const c = courseOf(courses, r, leaks ? "memory_mb" : "utilization_percent");
  if (!c) return null;
  const path = sparkline(c.times, c.values, now / 1000 - span, now / 1000, leaks ? (total ?? 1) : 100, 60, 18);
  return (
    <svg
      class={`spark ${leaks ? "leaks" : ""}`}
      viewBox="0 -1 60 20"
      preserveAspectRatio="none"
      role="img"
      aria-label={leaks ? "Its VRAM" : "Its share of the GPU"}
    >
      <path d={path} />
    </svg>
  );
}

/** A row below a model server: the model, and its own figures. */
function Serving({ r, told, columns }: { r: Row; told: [string, string][]; columns: number }) {
  return (
    <tr class="serving">
      <td />
      <td colSpan={columns - 1} data-name="">
        {r.model && <b>{r.model}</b>}
        {told.map(([name, words]) => (
          <span key={name}>
            <span class="dim">{name}</span> {words}
          </span>
        ))}
      </td>
    </tr>
  );
}

interface LineProps {
  r: Row;
  told: [string, string][];
  now: number;
  life?: Life;
  finding?: Finding;
  total: number | null;
  open: boolean;
  tokens: boolean;
  why: Why | null;
  then: boolean;
  span: number; // seconds of its course
  courses: Courses;
  leaks: boolean;
  s: State;
}

/** In which lines it spends its time. The daemon looks at it for two seconds, and only when asked. */
function Where({ r, s }: { r: Row; s: State }) {
  const [told, setTold] = useState<string[]>([]),
    [looking, setLooking] = useState(false);
  if (!mayTry(s.session, "control")) return null;
  const ask = async () => {
    setLooking(true);
    try {
      const { processes } = await get<WhyProcesses>(`/api/why/lines?process=${r.pid}&gpu=${r.gpu}`),
        p = processes[0];
      setTold(p?.lines.length ? p.lines.map((l) => l.text) : [`Not known: ${p?.lines_missing ?? "no line was seen"}.`]);
    } catch (e) {
      setTold([words(e)]);
    }
    setLooking(false);
  };
  return (
    <div class="cause">
      <dt>Where</dt>
      <dd aria-live="polite">
        {told.map((line) => (
          <div key={line}>{line}</div>
        ))}
        {mayAct(s.session, "control") ? (
          <button type="button" disabled={looking} onClick={() => void ask()}>
            {looking ? "Looking for two seconds…" : told.length ? "Look again" : "Which line is it in?"}
          </button>
        ) : (
          <>
            On the host: <code>whirr why {r.pid}</code>
          </>
        )}
      </dd>
    </div>
  );
}

function Why1({
  r,
  why,
  finding,
  then,
  columns,
  s,
}: {
  r: Row;
  s: State;
  why: Why | null;
  finding?: Finding;
  then: boolean;
  columns: number;
}) {
  const part = why?.gpus.find((g) => g.gpu_index === r.gpu),
    causes = part?.causes.filter((c) => c.pid === r.pid) ?? [];
  return (
    <tr class="why" id={`why-${r.gpu}-${r.pid}`}>
      <td colSpan={columns}>
        <div class="box">
          {finding && (
            <p>
              <Mark level={levelOf(finding.severity)} /> <b>{tied(plainly(finding.headline))}.</b>
            </p>
          )}
          <dl class="because">
            {causes.map((c) => (
              <Because key={c.code} cause={c} name="Cause" />
            ))}
            {!finding && !causes.length && (
              <div class="cause">
                <dt>Findings</dt>
                <dd>None about this process.</dd>
              </div>
            )}
            {limitWords(r.limit) && (
              <div class="cause">
                <dt>Limit</dt>
                <dd>{limitTitle(r)}.</dd>
              </div>
            )}
            {r.command && (
              <div class="cause">
                <dt>Command</dt>
                <dd>
                  <code>{r.command}</code>
                </dd>
              </div>
            )}
            <div class="cause">
              <dt>PID</dt>
              <dd>
                {r.pid}
                {r.type ? `, ${r.type}` : ""}
                {r.job ? `, job ${r.job}` : ""}
                {r.rank != null ? `, rank ${r.rank}${r.world_size ? ` of ${r.world_size}` : ""}` : ""}
              </dd>
            </div>
            {!then && <Where r={r} s={s} />}
            {!then && part && (causes.length > 0 || finding) && <Remedies part={part} gpu={r.gpu} s={s} />}
          </dl>
        </div>
      </td>
    </tr>
  );
}

const Line = memo(
  function Line({ r, told, now, life, finding, total, open, tokens, why, then, span, courses, leaks, s }: LineProps) {
    const age = r.started_at ? (now - Date.parse(r.started_at)) / 1000 : null;
    const who = [r.user, r.container].filter(Boolean).join(", "),
      columns = tokens ? 10 : 9;
    return (
      <>
        <tr class={open ? "open" : ""}>
          <td data-name="GPU">
            <span class="k">{r.gpu}</span>
          </td>
          <td class="process" data-name="Process">
            <button
              type="button"
              class="link"
              aria-expanded={open}
              title={r.command ?? undefined}
              onClick={() => look({ pid: open ? null : r.pid })}
            >
              {r.name ?? DASH}
            </button>
          </td>
          <td data-name="User" class="who" title={who}>
            {who || DASH}
          </td>
          <td class="n" data-name="VRAM">
            <Bar
              value={r.memory_mb}
              limit={total}
              label="Share of the VRAM"
              level={finding?.code === "vram_full_soon" ? "warn" : undefined}
            />
            {value(r.memory_mb, memory(r.memory_mb), r.absent?.memory_mb)}
          </td>
          <td class="n" data-name="Util">
            <Bar value={r.utilization_percent} limit={100} label="Share of the GPU" />
            {value(r.utilization_percent, percent(r.utilization_percent), r.absent?.utilization_percent)}
          </td>
          <td class="n" data-name="Power">
            {value(r.power_watts, watts(r.power_watts), r.absent?.power_watts ?? (r.absent ? undefined : "not stored"))}
          </td>
          <td data-name="">
            <Limiting r={r} life={life} finding={finding} />
          </td>
          {tokens && (
            <td class="n" data-name="Tokens/s">
              {r.tokens_per_second == null ? "" : Math.round(r.tokens_per_second)}
            </td>
          )}
          <td class="course">{!then && <Spark {...{ r, now, span, courses, leaks, total }} />}</td>
          <td class="n" data-name="Age">
            {age == null ? DASH : duration(age)}
          </td>
        </tr>
        {told.length > 0 && <Serving r={r} told={told} columns={columns} />}
        {open && <Why1 r={r} why={why} finding={finding} then={then} columns={columns} s={s} />}
      </>
    );
  },
  (a, b) =>
    a.open === b.open &&
    !a.open &&
    a.life === b.life &&
    a.finding?.code === b.finding?.code &&
    a.tokens === b.tokens &&
    a.total === b.total &&
    a.span === b.span &&
    a.courses === b.courses &&
    JSON.stringify(a.r) === JSON.stringify(b.r) &&
    JSON.stringify(a.told) === JSON.stringify(b.told) &&
    Math.floor(a.now / 5e3) === Math.floor(b.now / 5e3),
);

function List({
  s,
  gpus,
  lives,
  now,
  why,
  then,
}: {
  s: State;
  gpus: Gpu[];
  lives: Life[];
  now: number;
  why: Why | null;
  then: boolean;
}) {
  const { view } = s;
  const [key, setKey] = useState<SortKey | null>(null);
  const [down, setDown] = useState(true);
  const [all, setAll] = useState(false);
  const picked = gpus.some((g) => g.index === view.gpu) ? view.gpu : null;
  const shown = picked == null ? gpus : gpus.filter((g) => g.index === picked),
    every = rows(shown);
  const findings = then ? (why?.gpus.flatMap((g) => g.findings ?? []) ?? []) : s.findings;
  const match = filtered(every, view.q),
    list = key ? sorted(match, key, down) : byWeight(match, findings);
  const sort = (k: SortKey, number?: boolean) => {
    setDown(k === key ? !down : !!number);
    setKey(k);
  };
  const hidden = shown.reduce((n, g) => n + g.processes_hidden, 0),
    left = shown.reduce((n, g) => n + g.processes_left_out, 0);
  const unseen = shown.find((g) => g.absent.processes)?.absent.processes;
  const unowned = shown.find((g) => g.finding?.code === "memory_unowned")?.finding;
  const groups = view.group ? grouped(list, view.group) : null;
  const lived = useMemo(() => new Map(lives.map((l) => [`${l.gpu_index}-${l.pid}`, l])), [lives]);
  const found = new Map<number, Finding>();
  for (const f of findings) if (f.pid && !found.has(f.pid)) found.set(f.pid, f);
  const first = useNarrow() ? FEW_NARROW : FEW,
    few = !all && !view.q && list.length > first + 1;
  const some = few ? [...list.slice(0, first), ...list.slice(first).filter((r) => r.pid === view.pid)] : list;
  const slice = useSlice(!groups && some.length > VIRTUAL, some.length, 37);
  const courses = useCourses(
    some.slice(0, FEW),
    view.span,
    !then && !groups && s.history && s.link === "live",
    s.sampleAt ?? 0,
  );
  const tokens = list.some((r) => r.tokens_per_second != null);
  const rest = few ? list.slice(first) : [];
  const total = new Map(gpus.map((g) => [g.index, g.memory_total_mb ?? null]));
  return (
    <Section
      id="processes"
      title="Processes"
      note={
        unseen && !list.length
          ? "not seen"
          : `${few ? `${first} of ` : ""}${list.length}${picked == null ? "" : ` on GPU ${picked}`}${few && !key ? ", what matters first" : ""}`
      }
      side={
        <div class="controls">
          {picked != null && (
            <button type="button" onClick={() => look({ gpu: null })}>
              All GPUs
            </button>
          )}
          <Choice<GroupKey>
            label="Group by"
            of={[
              ["", "Each"],
              ["user", "By user"],
              ["container", "By container"],
              ["job", "By job"],
              ["model", "By model"],
            ]}
            value={view.group}
            choose={(group) => look({ group })}
          />
          <Search
            id="filter"
            value={view.q}
            say={(q) => look({ q })}
            label="Filter processes"
            placeholder="user:alice gpu:1 llama"
          />
        </div>
      }
    >
      {!list.length ? (
        <p class="dim">
          {view.q
            ? `No process matches “${view.q}”.`
            : then
              ? "No processes were stored."
              : unseen
                ? `Processes can't be seen. ${absence(unseen)}`
                : unowned
                  ? `${unowned.headline}.`
                  : "No process is using a GPU."}
        </p>
      ) : groups ? (
        <Scroll label="Table of processes">
          <table class="groups">
            <thead>
              <tr>
                <th scope="col">{view.group[0]!.toUpperCase() + view.group.slice(1)}</th>
                <th scope="col" class="n">
                  Processes
                </th>
                <th scope="col" class="n">
                  VRAM
                </th>
                <th scope="col" class="n" title="100% is one GPU fully used">
                  GPU share
                </th>
                <th scope="col" class="n">
                  Power
                </th>
              </tr>
            </thead>
            <tbody>
              {groups.map((g) => (
                <tr key={g.name}>
                  <th scope="row">{g.name}</th>
                  <td class="n">{g.rows.length}</td>
                  <td class="n">{memory(g.memory_mb)}</td>
                  <td class="n">{percent(g.utilization_percent)}</td>
                  <td class="n">{watts(g.power_watts)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <Scroll label="Table of processes">
          <table class="cards" aria-rowcount={list.length + 1}>
            <thead>
              <tr>
                {COLUMNS.map((c) => (
                  <SortHead
                    key={c.key}
                    name={c.name}
                    number={c.number}
                    sorted={key === c.key ? (down ? "descending" : "ascending") : "none"}
                    sort={() => sort(c.key, c.number)}
                  />
                ))}
                <th scope="col">Limit</th>
                {tokens && (
                  <th scope="col" class="n">
                    Tokens/s
                  </th>
                )}
                <th scope="col">{then ? <span class="sr">Course</span> : `Last ${spanName(view.span)}`}</th>
                <th scope="col" class="n">
                  Age
                </th>
              </tr>
            </thead>
            <tbody ref={slice.box}>
              {slice.above > 0 && <tr style={{ height: `${slice.above}px` }} aria-hidden="true" />}
              {some.slice(slice.start, slice.end).map((r) => (
                <Line
                  key={`${r.gpu}-${r.pid}`}
                  r={r}
                  told={serving(r, every)}
                  now={now}
                  life={lived.get(`${r.gpu}-${r.pid}`)}
                  finding={found.get(r.pid)}
                  total={total.get(r.gpu) ?? null}
                  open={view.pid === r.pid}
                  tokens={tokens}
                  why={why}
                  then={then}
                  span={view.span}
                  courses={courses}
                  s={s}
                  leaks={found.get(r.pid)?.code === "vram_full_soon"}
                />
              ))}
              {slice.below > 0 && <tr style={{ height: `${slice.below}px` }} aria-hidden="true" />}
            </tbody>
          </table>
        </Scroll>
      )}
      {!groups && (rest.length > 0 || all) && (
        <p class="footnote">
          <button type="button" onClick={() => setAll(!all)}>
            {all ? `Show the ${first} that matter` : `Show all ${list.length}`}
          </button>{" "}
          {rest.length > 0 && (
            <span class="dim">
              The other {rest.length} hold {memory(rest.reduce((n, r) => n + (r.memory_mb ?? 0), 0))} together and use{" "}
              {percent(rest.reduce((n, r) => n + (r.utilization_percent ?? 0), 0))}.
            </span>
          )}
        </p>
      )}
      {!then && !groups && <EndedProcesses s={s} />}
      {left > 0 && <p class="dim">{left} more than whirr lists for one GPU.</p>}
      {hidden > 0 && (
        <p class="dim">
          {hidden}
          {list.length ? " more" : ""} can't be seen from here: they belong to other users or containers.
        </p>
      )}
    </Section>
  );
}

/** Samples contain no processes: redraws the table when the list changes, and every five seconds for the courses. */
export const Processes = memo(
  List,
  (a, b) =>
    a.s.view === b.s.view &&
    a.lives === b.lives &&
    a.then === b.then &&
    (b.s.view.pid == null || a.why === b.why) &&
    Math.floor(a.now / 5e3) === Math.floor(b.now / 5e3) &&
    a.gpus.length === b.gpus.length &&
    a.gpus.every((g, i) => g.processes === b.gpus[i]!.processes),
);
