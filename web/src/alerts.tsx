// SPDX-License-Identifier: Apache-2.0
// Findings and alerts: those that need attention first, information folded, silences, and notifiers.
import { useState } from "preact/hooks";
import { Missing } from "./asked";
import { now } from "./clock";
import { capital, clock, duration, tied } from "./format";
import { type Item, items } from "./findings";
import { levelOf } from "./level";
import { Mark, Section } from "./parts";
import { type Asked, look, type State } from "./store";
import { ActNote, mayTry, useAction } from "./token";
import type { Alert, Notifier } from "./api";

const SPANS = [3600, 2 * 3600, 4 * 3600, 8 * 3600, 86400, 7 * 86400];

function Line({ i, silence, seconds }: { i: Item; silence: ((a: Alert) => void) | null; seconds: number }) {
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
          title={`No notification of this for ${duration(seconds)}; it stays on this page`}
          aria-label={`Silence ${duration(seconds)}: ${i.text}`}
        >
          Silence {duration(seconds)}
        </button>
      )}
    </li>
  );
}

/** Notifiers, and their quiet hours. */
function Told({ of }: { of: Asked<Notifier[]> }) {
  const list = of.answer;
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

export function AlertsPanel({ s }: { s: State }) {
  const act = useAction();
  const [seconds, setSeconds] = useState(SPANS[0]!);
  const { alerts = [], silences = [] } = s.alerts.answer ?? {},
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
  const line = (i: Item) => <Line key={i.key} i={i} silence={may ? silence : null} seconds={seconds} />;
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
            Silence for{" "}
            <select value={seconds} onChange={(e) => setSeconds(Number(e.currentTarget.value))}>
              {SPANS.map((n) => (
                <option key={n} value={n}>
                  {duration(n)}
                </option>
              ))}
            </select>
          </label>
        )
      }
    >
      {loud.length ? (
        <ul class="plain found">{loud.map(line)}</ul>
      ) : (
        <p class="dim">{s.why ? `${capital(s.why.calm ?? "no warnings")}.` : "Loading…"}</p>
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
        s.alerts.answer && <p class="dim">No silences.</p>
      )}
      <Told of={s.notifiers} />
    </Section>
  );
}
