// SPDX-License-Identifier: Apache-2.0
// Acting: what can be done, with its expected effect, done at one press, measured beside what was expected, and undone.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { now as hostNow } from "./clock";
import { celsius, clock, duration, parseUntil, percent, plainly, tied, until, watts } from "./format";
import { advice } from "./model";
import { Bar, Command, Dialog, Icon } from "./parts";
import { post } from "./live";
import { words } from "./refused";
import { current, refreshActs, set, signedIn, type State } from "./store";
import { mayAct, TokenForm } from "./token";
import type { Alert, Remedy, WhyPart } from "./api";
import type { Gpu, Num, RemedyDoing, RemedyValues } from "./types";

const COUNTDOWN = 5, // seconds
  SHOWN = 3,
  RECENT = 900e3; // ms: so long a result is shown

const ENDS = ["1h", "2h", "4h", "08:00", "24h", "7d"];

/** Until when, in the words of a person. */
export function Until({ value, choose, label }: { value: string; choose: (text: string) => void; label: string }) {
  const [typing, setTyping] = useState(false);
  return typing ? (
    <input
      class="until"
      aria-label={label}
      placeholder="2h, 08:00, fri 18:00"
      size={12}
      ref={(e) => e?.focus()}
      onChange={(e) => choose(e.currentTarget.value)}
    />
  ) : (
    <select
      aria-label={label}
      value={value}
      onChange={(e) => (e.currentTarget.value === "type" ? setTyping(true) : choose(e.currentTarget.value))}
    >
      {(ENDS.includes(value) ? ENDS : [...ENDS, value]).map((x) => (
        <option key={x} value={x}>
          {/:/.test(x) ? `until ${x}` : `for ${x}`}
        </option>
      ))}
      <option value="type">Until…</option>
    </select>
  );
}

/** Seconds from now to such an end; null: it is not a time, or none to come. */
export function secondsUntil(text: string): number | null {
  const end = parseUntil(text);
  return end == null ? null : Math.ceil((end - hostNow()) / 1000);
}

const endOption = (end: string) => (/:/.test(end) ? `--until "${end}"` : `--for ${end}`);

const as = (n: number, more: string, less: string, unit: (n: number) => string) =>
  `${unit(Math.abs(n))} ${n > 0 ? more : less}`;
const DAY = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });

/** "about 64% fan, 55 W less, as on Nov 12" */
export function expectedText(r: Remedy, g: Gpu | undefined): string {
  const e = r.expected;
  if (!e) return "effect not measured yet";
  const parts = [
    e.fan_percent != null &&
      (g?.fan_percent != null
        ? `about ${percent(Math.max(0, g.fan_percent + e.fan_percent))} fan`
        : as(e.fan_percent, "more fan", "less fan", percent)),
    e.power_watts != null && as(e.power_watts, "more", "less", watts),
    e.temperature_celsius != null && as(e.temperature_celsius, "warmer", "cooler", celsius),
    e.tokens_per_second != null && as(e.tokens_per_second, "more", "less", (n) => `${Math.round(n)} tokens/s`),
  ].filter(Boolean);
  const seen = e.seen_at ? `, as on ${DAY.format(Date.parse(e.seen_at))}` : "";
  return `${parts.join(", ")}${e.source === "siblings" ? ", as on another GPU of its model" : ""}${seen}`;
}

/** Runs what was pressed after a countdown in which it can be taken back. */
function useCountdown(run: () => void): { left: number | null; press: () => void; cancel: () => void } {
  const [left, setLeft] = useState<number | null>(null);
  useEffect(() => {
    if (left == null) return;
    const timer = setTimeout(() => {
      setLeft(left > 1 ? left - 1 : null);
      if (left <= 1) run();
    }, 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return { left, press: () => setLeft(COUNTDOWN), cancel: () => setLeft(null) };
}

const METRICS: {
  key: keyof RemedyValues;
  name: string;
  text: (n: Num) => string;
  top: (g: Gpu | undefined) => number;
}[] = [
  { key: "fan_percent", name: "Fan", text: percent, top: () => 100 },
  { key: "power_watts", name: "Power", text: watts, top: (g) => g?.power_limit_watts ?? 0 },
  { key: "temperature_celsius", name: "Temp", text: celsius, top: (g) => g?.temperature_limit_celsius ?? 100 },
  { key: "tokens_per_second", name: "Tokens/s", text: (n) => String(Math.round(n ?? 0)), top: () => 0 },
];

const PHASES: Record<RemedyDoing["phase"], string> = {
  measuring_before: "Measuring how it is",
  changing: "Changing it",
  measuring_after: "Measuring what comes of it",
  undoing: "Taking it back",
  measuring_again: "Measuring how it is without it",
  over: "Done",
};

/** A remedy that runs, or ran: expected (dashed) beside measured (solid). */
function Doing({ d, g, undo }: { d: RemedyDoing; g: Gpu | undefined; undo: ((id: string) => void) | null }) {
  const live: Partial<RemedyValues> =
    d.phase === "measuring_after" && g
      ? { fan_percent: g.fan_percent, power_watts: g.power_watts, temperature_celsius: g.temperature_celsius }
      : {};
  const unexpected = d.outcome === "not_as_expected" || d.outcome === "no_effect";
  return (
    <li class="doing-now">
      <p role="status">
        <b>{d.phase === "over" ? (d.result ?? PHASES.over) : `${PHASES[d.phase]}…`}</b>{" "}
        <span class="dim">
          {d.plan?.replace("->", "→")}
          {d.who ? `, by ${d.who}` : ""}
          {d.phase === "over" && d.kept ? until(d.until) : ""}
        </span>
      </p>
      {d.before && (
        <dl class="measured">
          {METRICS.filter((m) => d.before![m.key] != null).map((m) => {
            const before = d.before![m.key]!,
              change = d.expected?.[m.key],
              expected = change == null ? null : before + change,
              after = d.after?.[m.key] ?? live[m.key],
              top = m.top(g) || Math.max(before, expected ?? 0, after ?? 0);
            return (
              <div key={m.key}>
                <dt>{m.name}</dt>
                <dd class="gauge">
                  <Bar
                    value={after ?? before}
                    limit={top}
                    usual={expected}
                    label={`${m.name}: ${m.text(after ?? before)}${expected == null ? "" : `, expected ${m.text(expected)}`}`}
                  />
                </dd>
                <dd>
                  {m.text(before)}
                  {after != null && ` → ${m.text(after)}`}
                  {expected != null && <span class="dim"> expected {m.text(expected)}</span>}
                </dd>
              </div>
            );
          })}
        </dl>
      )}
      {d.phase === "over" && d.kept && d.undo_id && undo && (
        <button type="button" class="small" onClick={() => undo(d.undo_id!)}>
          {unexpected ? "Not as expected: undo" : "Undo"}
        </button>
      )}
    </li>
  );
}

function Row({ r, g, s }: { r: Remedy; g: Gpu | undefined; s: State }) {
  const [end, setEnd] = useState("2h"),
    [asks, setAsks] = useState(false);
  const said = advice(plainly(r.text)),
    // Until when is chosen beside it.
    sentence = said.text.replace(/ for 2 hours\b/, "").replace(/:\s*(?=\(|$)/, " "),
    does = r.kind === "setting" && s.doings.state !== "none",
    may = mayAct(s.session, "control"),
    seconds = secondsUntil(end),
    at = seconds == null ? "" : clock(parseUntil(end)!);
  const run = async () => {
    try {
      await post(`/api/remedies/${r.code}`, { gpu: g?.index, for_seconds: secondsUntil(end) });
    } catch (e) {
      set({ notice: words(e) }, true); // this row may be gone by now
    }
    await refreshActs();
  };
  const { left, press, cancel } = useCountdown(() => void run());
  return (
    <li class="remedy">
      <span class="what">
        {tied(sentence)} {r.affects.length > 0 && <span class="dim">Affects {r.affects.join(", ")}.</span>}
      </span>
      {does && <span class="dim expected">{expectedText(r, g)}</span>}
      {left != null ? (
        <span class="controls">
          <span role="timer">in {left}s</span>
          <button type="button" class="small" onClick={cancel}>
            Cancel
          </button>
        </span>
      ) : does && may ? (
        <span class="controls">
          <Until value={end} choose={setEnd} label="Until when" />
          <button
            type="button"
            class="small primary"
            disabled={seconds == null}
            onClick={press}
            title={`${said.text} It goes back on its own; Undo takes it back before.`}
          >
            {seconds == null ? "Until when?" : `Do it until ${at}`}
          </button>
        </span>
      ) : (
        (r.command ?? said.command) && (
          <span class="controls">
            <Command text={(r.command ?? said.command)!} />
            {does && s.session && !s.session.signed_in && (
              <button
                type="button"
                class="small quiet"
                onClick={() => setAsks(!asks)}
                title="With a token of the role control"
              >
                Sign in to do it here
              </button>
            )}
          </span>
        )
      )}
      {asks && !may && <TokenForm done={() => void signedIn().then(() => setAsks(false))} />}
    </li>
  );
}

/** At most three rows; none where there is nothing to do. */
export function Remedies({ part, gpu, s }: { part: WhyPart; gpu: number | null; s: State }) {
  const g = s.gpus?.find((x) => x.index === gpu),
    undoing = useUndo();
  const now = s.sampleAt ?? hostNow(),
    doings = (s.doings.value ?? []).filter(
      (d) => d.gpu_index === gpu && (d.phase !== "over" || d.kept) && now - Date.parse(d.since) < RECENT,
    );
  const list = part.remedies.filter((r) => !doings.some((d) => d.code === r.code)).slice(0, SHOWN);
  if (!list.length && !doings.length) return null;
  return (
    <div class="do">
      <dt>Do</dt>
      <dd>
        <ol class="plain" aria-label="What you can do">
          {doings.map((d) => (
            <Doing key={d.id} d={d} g={g} undo={mayAct(s.session, "control") ? undoing.run : null} />
          ))}
          {list.map((r) => (
            <Row key={r.code} r={r} g={g} s={s} />
          ))}
        </ol>
        {undoing.note}
      </dd>
    </div>
  );
}

/** Takes a change back; what came of it is shown. */
export function useUndo(): { run: (id: string) => void; note: ComponentChildren } {
  const [problem, setProblem] = useState("");
  const run = async (id: string) => {
    try {
      const { changes } = await post<{ changes: { state: string; why_not: string | null }[] }>("/api/undo", { id });
      setProblem(
        changes
          .map((c) => c.why_not)
          .filter(Boolean)
          .join(" "),
      );
    } catch (e) {
      setProblem(words(e));
    }
    await refreshActs();
  };
  return {
    run: (id) => void run(id),
    note: problem && (
      <p role="alert" class="lv bad">
        {problem}
      </p>
    ),
  };
}

const ROLES: Record<string, "silence" | "guard" | "control"> = { silence: "silence", guard: "guard" };

/** "2 changed" beside the verdict; opened, everything that whirr holds changed, and who asked for it. */
export function Changed({ s }: { s: State }) {
  const [open, setOpen] = useState(false),
    undoing = useUndo(),
    list = s.changes.value ?? [];
  if (!list.length && !open) return null;
  const may = (door: string) => mayAct(s.session, ROLES[door] ?? "control");
  return (
    <>
      <button type="button" class="changed" onClick={() => setOpen(true)} title="What was changed, by whom; undo">
        {list.length} changed
      </button>
      {open && (
        <Dialog label="What is changed" kind="menu changes" close={() => setOpen(false)}>
          <h3>What is changed</h3>
          {!list.length && <p class="dim">Nothing is changed.</p>}
          <ul class="plain">
            {list.map((c) => (
              <li key={c.id}>
                <div>
                  <b>
                    {plainly(c.what)}
                    {c.now ? `: ${c.now}` : ""}
                  </b>{" "}
                  {c.before && <span class="dim">was {c.before}</span>}
                  <div class="dim">
                    {c.by ? `${c.by}, ` : ""}
                    {c.since ? `${duration((hostNow() - Date.parse(c.since)) / 1000)} ago` : ""}
                    {until(c.until)}
                  </div>
                </div>
                {may(c.door) ? (
                  <button type="button" class="small" onClick={() => undoing.run(c.id)} aria-label={`Undo ${c.what}`}>
                    Undo
                  </button>
                ) : (
                  c.how && <Command text={c.how} />
                )}
              </li>
            ))}
          </ul>
          {undoing.note}
          {list.length > 1 && list.every((c) => may(c.door)) && (
            <button type="button" onClick={() => undoing.run("all")}>
              Undo all
            </button>
          )}
          <a href="#timeline" onClick={() => setOpen(false)}>
            Who changed what before
          </a>
        </Dialog>
      )}
    </>
  );
}

/** What can be done with one GPU until a time, whatever the answer is. */
export function ActOn({ g, s }: { g: Gpu; s: State }) {
  const [open, setOpen] = useState(false),
    [end, setEnd] = useState("08:00"),
    [note, setNote] = useState<[text: string, bad: boolean] | null>(null);
  const seconds = secondsUntil(end),
    at = seconds == null ? "" : clock(hostNow() + seconds * 1000),
    control = mayAct(s.session, "control"),
    silence = mayAct(s.session, "silence"),
    leases = g.leases ?? [],
    firing = (s.alerts.value?.alerts ?? []).filter(
      (a: Alert) => a.gpu_index === g.index && a.state === "firing" && !a.silenced,
    );
  const act = (path: string, body: unknown, done: string) => async () => {
    try {
      await post(path, body);
      setNote([done, false]);
    } catch (e) {
      setNote([words(e), true]);
    }
    await refreshActs();
  };
  const quiet = part(g.index)?.remedies.find((r) => r.code === "quiet");
  const quieter = quiet
    ? act("/api/remedies/quiet", { gpu: g.index, for_seconds: seconds }, `Quieter until ${at}: it is being measured.`)
    : act("/api/leases/settings", { gpu: g.index, what: "quiet", for_seconds: seconds }, `Quieter until ${at}.`);
  return (
    <>
      <button
        type="button"
        class="icon quiet acts"
        aria-label={`Act on GPU ${g.index}`}
        title="Quieter, reserve, silence, until a time"
        onClick={() => setOpen(true)}
      >
        <Icon name="more" />
      </button>
      {open && (
        <Dialog label={`Act on GPU ${g.index}`} kind="menu" close={() => setOpen(false)}>
          <h3>GPU {g.index}</h3>
          <label class="control">
            Until <Until value={end} choose={setEnd} label="Until when" />
            {seconds == null && <span class="lv bad"> Write 2h, 08:00, or fri 18:00.</span>}
          </label>
          {control ? (
            <button type="button" disabled={seconds == null} onClick={() => void quieter()}>
              Quieter until {at}
            </button>
          ) : (
            <Command text={`whirr quiet --gpu ${g.index} ${endOption(end)}`} />
          )}
          {silence && firing.length > 0 ? (
            <button
              type="button"
              disabled={seconds == null}
              onClick={() =>
                void act(
                  "/api/alerts/silence",
                  { matchers: { gpu: String(g.index) }, for_seconds: seconds, comment: "from the dashboard" },
                  `Its alerts are silent until ${at}.`,
                )()
              }
            >
              Silence its {firing.length} alert{firing.length === 1 ? "" : "s"} until {at}
            </button>
          ) : null}
          <p class="dim">To reserve it:</p>
          <Command text={`whirr reserve --gpu ${g.index} ${endOption(end)}`} />
          {leases.map((l) =>
            control && l.reserved ? (
              <button
                key={l.id}
                type="button"
                onClick={() => void act("/api/leases/end", { id: l.id }, "The reservation is over.")()}
              >
                End {l.user}’s reservation
              </button>
            ) : (
              <Command key={l.id} text={`whirr lease end ${l.id}`} />
            ),
          )}
          {note && (
            <p role={note[1] ? "alert" : "status"} class={note[1] ? "lv bad" : ""}>
              {note[0]}
            </p>
          )}
        </Dialog>
      )}
    </>
  );
}

const part = (gpu: number) => current().why.value?.gpus.find((w) => w.gpu_index === gpu);
