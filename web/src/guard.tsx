// SPDX-License-Identifier: Apache-2.0
// Guarded workers: their state, the time left, and actions.
import { useEffect, useState } from "preact/hooks";
import { Missing } from "./asked";
import { now as hostNow } from "./clock";
import { duration, memory } from "./format";
import { timeLeft } from "./model";
import { Mark, Section } from "./parts";
import type { State } from "./store";
import { ActNote, mayTry, useAction } from "./token";
import type { GuardedWorker as Worker } from "./api";

const STEPS = ["draining", "evicting", "verifying", "reserving", "resuming"];

/** Counts down, but only while there is something to count. */
function Left({ w }: { w: Worker }) {
  const [now, setNow] = useState(hostNow());
  const text = timeLeft(w, now),
    counts = / in \d/.test(text);
  useEffect(() => {
    if (!counts) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(hostNow());
    }, 1000);
    return () => clearInterval(timer);
  }, [counts]);
  return text ? <span>, {text}</span> : null;
}

function GuardRow({ w, may, run }: { w: Worker; may: boolean; run: (path: string, body: unknown) => void }) {
  const off = w.state === "paused" || w.held;
  const step = STEPS.includes(w.state);
  const act = (word: string, does: string) => (
    <button
      type="button"
      class="small"
      disabled={step}
      title={does}
      aria-label={`${word} ${w.name}: ${does}`}
      onClick={() => run(`/api/guard/${word.toLowerCase()}`, { worker: w.name })}
    >
      {word}
    </button>
  );
  return (
    <li>
      <Mark level={w.problem ? "warn" : w.state === "running" ? "good" : "idle"} label={w.state} /> <b>{w.name}</b> is{" "}
      {w.state}
      {w.held ? " and held" : ""}
      {w.since && <span class="dim"> for {duration(Math.max(0, (hostNow() - Date.parse(w.since)) / 1000))}</span>}
      <Left w={w} />
      <div class="dim">
        {[
          w.gpus.length && `GPU ${w.gpus.join(", ")}`,
          (w.memory_mb ?? 0) > 0 && memory(w.memory_mb),
          w.method && `by ${w.method}`,
          w.dry_run && "dry run",
        ]
          .filter(Boolean)
          .join(" · ")}
      </div>
      {w.reason && <div class="dim">{w.reason}</div>}
      {w.problem && <div class="lv warn">{w.problem}</div>}
      {may && w.state !== "absent" && (
        <div class="controls">
          {!off && act("Evict", "takes it off the GPU until you resume it")}
          {!w.held && act("Hold", "keeps it off the GPU")}
          {off && act("Resume", "brings it back now")}
        </div>
      )}
    </li>
  );
}

export function GuardPanel({ s }: { s: State }) {
  const act = useAction(),
    workers = s.workers.value ?? [],
    may = mayTry(s.session, "guard");
  return (
    <Section id="guard" title="Guard" fold>
      <Missing of={s.workers} />
      {workers.length > 0 && (
        <ul class="plain workers">
          {workers.map((w) => (
            <GuardRow key={w.name} w={w} may={may} run={act.run} />
          ))}
        </ul>
      )}
      {s.workers.value?.length === 0 && <p class="dim">No workers under guard.</p>}
      {may && workers.length > 0 && (
        <p class="dim">
          Evict takes a worker off the GPU until you resume it. Hold keeps it off. Resume brings it back now.
        </p>
      )}
      {workers.length > 0 && <ActNote session={s.session} role="guard" />}
      {act.form}
      {act.note && (
        <p role="alert" class="lv bad">
          {act.note}
        </p>
      )}
    </Section>
  );
}
