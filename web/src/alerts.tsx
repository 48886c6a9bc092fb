// SPDX-License-Identifier: Apache-2.0
// What fires, what is silenced, and when no notifier is configured.
import { useState } from "preact/hooks";
import { clock, duration } from "./format";
import type { Level } from "./model";
import { Mark, Section } from "./parts";
import type { State } from "./store";
import { useAction } from "./token";
import type { Alert, Notifier } from "./types";

const alertLevel = (severity: string): Level =>
  severity === "critical" ? "bad" : severity === "warning" ? "warn" : "good";

const SPANS = [3600, 4 * 3600, 8 * 3600, 86400, 7 * 86400];

function Line({ a, silence }: { a: Alert; silence: () => void }) {
  const over = a.state === "resolved";
  const time = over ? a.ended_at : a.started_at;
  return (
    <li class={over || a.silenced ? "dim" : ""}>
      <Mark level={over ? "idle" : alertLevel(a.severity)} label={`${a.severity}, ${a.state}`} /> {a.summary}{" "}
      <span class="dim">
        {over ? "resolved" : "since"} {time ? clock(Date.parse(time)) : "–"}
        {a.silenced ? ", silenced" : ""}
      </span>{" "}
      {a.state === "firing" && !a.silenced && (
        <button type="button" class="small" onClick={silence} aria-label={`Silence: ${a.summary}`}>
          Silence
        </button>
      )}
    </li>
  );
}

/** Who is told, and when not. */
function Told({ list }: { list: Notifier[] }) {
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
  const [span, setSpan] = useState(SPANS[0]!);
  const list = s.alerts.alerts.filter((a) => a.state !== "pending");
  const silence = (a: Alert) =>
    act.run("/api/alerts/silence", {
      matchers: { alert: a.alert, ...(a.gpu_index == null ? {} : { gpu: String(a.gpu_index) }) },
      for_seconds: span,
      comment: "from the dashboard",
    });
  return (
    <Section
      id="alerts"
      title="Alerts"
      side={
        list.some((a) => a.state === "firing" && !a.silenced) && (
          <label class="control">
            Silence for{" "}
            <select value={span} onChange={(e) => setSpan(Number(e.currentTarget.value))}>
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
      {list.length ? (
        <ul class="plain">
          {list.map((a) => (
            <Line key={a.fingerprint + a.state} a={a} silence={() => silence(a)} />
          ))}
        </ul>
      ) : (
        <p class="dim">No alerts.</p>
      )}
      {s.alerts.silences.length > 0 && (
        <ul class="plain silences" aria-label="Silences">
          {s.alerts.silences.map((x) => (
            <li key={x.id}>
              <span class="dim">
                Silenced until {clock(Date.parse(x.until))}:{" "}
                {Object.entries(x.matchers)
                  .map(([k, v]) => `${k}=${v}`)
                  .join(", ")}
                {x.comment ? ` (${x.comment})` : ""}
              </span>{" "}
              <button
                type="button"
                class="small"
                onClick={() => act.run("/api/alerts/silence", { remove: x.id })}
                aria-label={`End silence ${x.id}`}
              >
                End
              </button>
            </li>
          ))}
        </ul>
      )}
      <Told list={s.notifiers} />
      {act.form}
      {act.note && (
        <p role="alert" class="lv bad">
          {act.note}
        </p>
      )}
    </Section>
  );
}
