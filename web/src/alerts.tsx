// SPDX-License-Identifier: Apache-2.0
// Findings and alerts: those that need attention first, information folded, silences, and notifiers.
import { useState } from "preact/hooks";
import { secondsUntil, Until } from "./act";
import { Missing, useAsked } from "./asked";
import { now } from "./clock";
import { capital, clock, duration, plainly, tied } from "./format";
import { type Item, items } from "./findings";
import { levelOf, RANK } from "./level";
import { NOW } from "./place";
import { Mark, Section } from "./parts";
import type { Resource } from "./resource";
import { go, look, type State } from "./store";
import { stretchOf } from "./stretch";
import { ActNote, mayTry, useAction } from "./token";
import type { Alert, Notifier } from "./api";
import type { PastEvent } from "./types";

const EARLIER = 8;

function Line({ i, silence, end }: { i: Item; silence: ((a: Alert) => void) | null; end: string }) {
  const a = i.alert;
  return (
    <li class={i.over || a?.silenced ? "dim" : ""}>
      <Mark level={i.over ? "idle" : levelOf(i.severity)} label={`${i.severity}${i.over ? ", over" : ""}`} />
      <div>
        {i.gpu == null ? (
          <b>{tied(i.text)}</b>
        ) : (
          <button type="button" class="link strong" onClick={() => look({ gpu: i.gpu })}>
            {tied(i.text)}
          </button>
        )}
        <div class="dim">
          {i.when}
          {a?.silenced ? ", silenced" : ""}
        </div>
      </div>
      {a && !a.silenced && silence && (
        <button
          type="button"
          class="small"
          onClick={() => silence(a)}
          title={`No notification of this ${end}; it stays on this page`}
          aria-label={`Silence ${end}: ${i.text}`}
        >
          Silence {end}
        </button>
      )}
    </li>
  );
}

/** Notifiers, and their quiet hours. */
function Told({ of }: { of: Resource<Notifier[]> }) {
  const list = of.value;
  if (!list) return <Missing of={of} />;
  if (!list.length)
    return (
      <p class="dim">
        No notifier is configured: <code>whirr notify add</code>
      </p>
    );
  return (
    <ul class="plain" aria-label="Notifiers">
      {list.map((n) => (
        <li key={n.name} class="dim">
          {n.name} ({n.type}) is notified{n.quiet.length ? `, but not in quiet hours: ${n.quiet.join("; ")}` : ""}.
          {n.held > 0 &&
            ` ${n.held} notification${n.held === 1 ? " waits" : "s wait"}${n.held_until ? ` until ${clock(Date.parse(n.held_until))}` : ""}.`}
          {n.last_error && <span class="lv warn"> {n.last_error}</span>}
        </li>
      ))}
    </ul>
  );
}

/** What is over: from the history, the newest first; a line goes there. */
function Earlier({ s, past }: { s: State; past: boolean }) {
  const time = stretchOf(s),
    tick = time.moving ? Math.floor((s.sampleAt ?? 0) / 60e3) : 0;
  const asked = useAsked<{ events: PastEvent[] }>(
    `/api/history/events?kind=finding&limit=500&${time.query}`,
    s.link !== "connecting" && s.history,
    tick,
  );
  const data = (e: PastEvent) => e.data as { duration_seconds?: number; ended?: boolean } | null;
  const list = (asked.value?.events ?? [])
    .filter((e) => e.severity !== "info" && (past || data(e)?.ended !== false))
    .sort((a, b) => RANK[levelOf(b.severity)] - RANK[levelOf(a.severity)] || Date.parse(b.at) - Date.parse(a.at));
  if (!s.history) return null;
  const rows = list.slice(0, EARLIER).map((e) => {
    const from = Date.parse(e.at),
      seconds = data(e)?.duration_seconds ?? 0;
    return (
      <li key={e.id}>
        <Mark level={levelOf(e.severity)} />
        <div>
          <button type="button" class="link strong" onClick={() => go({ ...NOW, at: from + 500 * seconds })}>
            {tied(plainly(e.text ?? e.kind))}
          </button>
          <div class="dim">
            {clock(from)}, for {duration(seconds)}
          </div>
        </div>
      </li>
    );
  });
  const left = list.length - rows.length;
  return (
    <>
      <Missing of={asked} />
      {asked.value && !list.length && (
        <p class="dim">
          {past
            ? `Nothing needed attention ${time.words}.`
            : `Nothing that is over needed attention in the ${time.words}.`}
        </p>
      )}
      {list.length > 0 &&
        (past ? (
          <ul class="plain found">{rows}</ul>
        ) : (
          <details>
            <summary>
              {list.length} in the {time.words}, over
            </summary>
            <ul class="plain found">{rows}</ul>
          </details>
        ))}
      {left > 0 && <p class="dim">{left} more.</p>}
    </>
  );
}

/** Of a moment or a range: nothing of the present. */
export function PastFindings({ s }: { s: State }) {
  return (
    <Section id="findings" title="Findings" fold note={stretchOf(s).words}>
      <Earlier s={s} past />
    </Section>
  );
}

export function AlertsPanel({ s }: { s: State }) {
  const act = useAction();
  const [until, setUntil] = useState("1h"),
    seconds = secondsUntil(until),
    end = /^\d+\w$/.test(until) ? until : `until ${until}`;
  const { alerts = [], silences = [] } = s.alerts.value ?? {},
    all = items(s.findings, alerts, s.sampleAt ?? now()),
    may = mayTry(s.session, "silence");
  const loud = all.filter((i) => !i.over && i.severity !== "info"),
    quiet = all.filter((i) => i.over || i.severity === "info");
  const firing = loud.filter((i) => i.alert && !i.alert.silenced).length;
  const silence = (a: Alert) =>
    act.run("/api/alerts/silence", {
      matchers: { alert: a.alert, ...(a.gpu_index == null ? {} : { gpu: String(a.gpu_index) }) },
      for_seconds: seconds,
      comment: "from the dashboard",
    });
  const line = (i: Item) => <Line key={i.key} i={i} silence={may && seconds != null ? silence : null} end={end} />;
  return (
    <Section
      id="findings"
      title="Findings"
      fold
      note={firing ? `${firing} alert${firing === 1 ? "" : "s"}` : undefined}
      side={
        may &&
        firing > 0 && (
          <label class="control">
            Silence <Until value={until} choose={setUntil} label="Silence until when" />
            {seconds == null && <span class="lv bad"> Write 2h, 08:00, or fri 18:00.</span>}
          </label>
        )
      }
    >
      {loud.length ? (
        <ul class="plain found">{loud.map(line)}</ul>
      ) : (
        <p class="dim">{s.why.value ? `${capital(s.why.value.calm ?? "no warnings")}.` : "Loading…"}</p>
      )}
      {loud.some((i) => i.alert) && <ActNote session={s.session} role="silence" />}
      {act.form}
      {act.note && (
        <p role="alert" class="lv bad">
          {act.note}
        </p>
      )}
      {quiet.length > 0 && (
        <details>
          <summary>
            {quiet.length} of level info{quiet.some((i) => i.over) ? " or over" : ""}
          </summary>
          <ul class="plain found">{quiet.map(line)}</ul>
        </details>
      )}
      <Earlier s={s} past={false} />
      <Missing of={s.alerts} />
      {silences.length > 0 ? (
        <ul class="plain silences" aria-label="Silences">
          {silences.map((x) => (
            <li key={x.id}>
              <span class="dim">
                Silenced until {clock(Date.parse(x.until))}:{" "}
                {Object.entries(x.matchers)
                  .map(([k, v]) => `${k}=${v}`)
                  .join(", ")}
                {x.comment ? ` (${x.comment})` : ""}
              </span>{" "}
              {may && (
                <button
                  type="button"
                  class="small"
                  onClick={() => act.run("/api/alerts/silence", { remove: x.id })}
                  aria-label={`End silence ${x.id}`}
                >
                  End
                </button>
              )}
            </li>
          ))}
        </ul>
      ) : (
        s.alerts.value && <p class="dim">No silences.</p>
      )}
      <Told of={s.notifiers} />
    </Section>
  );
}
