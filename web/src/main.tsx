// SPDX-License-Identifier: Apache-2.0
// The page as a whole.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Answer } from "./answer";
import type { Below as BelowParts } from "./below";
import { clock, duration, watts } from "./format";
import { backoff, sum } from "./model";
import { painted, start, type State, useStore } from "./store";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Gpus } from "./tiles";
import type { HealthVerdict } from "./types";

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
  const text = stale ? `stale, ${duration(age)} old` : s.link === "live" ? "live" : "updated just now";
  const retry =
    s.link === "lost" && s.retryAt ? `, connecting again in ${duration(Math.max(0, (s.retryAt - now) / 1000))}` : "";
  return (
    <span
      class={`state ${stale || s.link === "lost" ? "warn" : "good"}`}
      id="state"
      title={s.sampleAt == null ? undefined : `Last sample: ${clock(s.sampleAt, undefined, true)}`}
    >
      <span aria-hidden="true">{s.link === "live" && !stale ? "●" : "◆"}</span>{" "}
      {s.link === "lost" ? `connection lost${retry}` : s.link === "paused" ? "paused" : text}
      {s.link === "lost" && <> · data is {duration(age)} old</>}
    </span>
  );
}

function Top({ s }: { s: State }) {
  const simulated = s.gpus?.some((g) => g.simulated);
  const power = sum(s.gpus?.map((g) => g.power_watts) ?? []);
  return (
    <header class="top">
      <a class="skip" href="#answer">
        Skip to the answer
      </a>
      <h1>
        <img src="/icon.svg" alt="" width="24" height="24" /> whirr
      </h1>
      <span class="host">{s.host}</span>
      {s.gpus && s.gpus.length > 0 && (
        <span class="dim">
          {s.gpus.length} GPU{s.gpus.length === 1 ? "" : "s"}
          {power != null && `, ${watts(power)}`}
        </span>
      )}
      {simulated && <span class="badge">simulated</span>}
      {s.fleet && (
        <nav>
          <a href="/fleet">All hosts</a>
        </nav>
      )}
      <Age s={s} />
    </header>
  );
}

const NONE: HealthVerdict[] = [];

/** What comes after the first paint; a connection that fails just then costs a moment, not half of the page. */
async function loadBelow(attempt = 0): Promise<typeof BelowParts> {
  try {
    return (await import("./below")).Below;
  } catch {
    await new Promise((done) => setTimeout(done, 1000 * backoff(attempt)));
    return loadBelow(attempt + 1);
  }
}

function App() {
  const s = useStore();
  const [picked, pick] = useState<number | null>(null);
  const [span, setSpan] = useState(86400);
  const then = s.place.at != null;
  const gpus = then ? (s.past?.gpus ?? []) : (s.gpus ?? []);
  const [Below, setBelow] = useState<typeof BelowParts | null>(null);
  useEffect(
    () =>
      void painted()
        .then(() => loadBelow())
        .then((parts) => setBelow(() => parts)),
    [],
  );
  useEffect(() => {
    document.title = `whirr${s.host ? `: ${s.host}` : ""}`;
  }, [s.host]);
  const failed = s.sources.filter(
    (x) => x.state !== "ok" && x.state !== "asleep" && (x.state !== "off" || !s.gpus?.length),
  );
  return (
    <>
      <Top s={s} />
      <main class={then ? "then" : ""}>
        <Answer s={s} />
        {s.gpus && !s.gpus.length && failed.length > 0 && (
          <section class="empty">
            <h2>Where whirr looked</h2>
            <ul class="plain dim">
              {failed.map((x) => (
                <li key={x.name}>
                  {x.name}: {x.state}
                  {x.message ? `, ${x.message}` : ""}
                </li>
              ))}
            </ul>
          </section>
        )}
        {s.gpus &&
          s.gpus.length > 0 &&
          failed.map((x) => (
            <p key={x.name} class={x.state === "off" ? "dim" : "lv bad"}>
              {x.name}: {x.state}
              {x.message ? `, ${x.message}` : ""}
            </p>
          ))}
        {s.place.from == null && (
          <Gpus
            gpus={gpus}
            why={then ? (s.past?.why ?? null) : s.why}
            health={then ? (s.past?.health ?? NONE) : s.health}
            hour={then ? (s.past?.hour ?? null) : s.hour}
            stored={s.history}
            forecast={s.forecast}
            picked={picked}
            pick={pick}
            then={then}
          />
        )}
        {Below && <Below s={s} gpus={gpus} span={span} setSpan={setSpan} picked={picked} pick={pick} />}
      </main>
      {Below && (
        <footer>
          <a href="/docs">API</a> · <a href="/metrics">Prometheus</a> · <a href="/plain">Plain page</a> ·{" "}
          <a href="/api/gpu/metrics">JSON</a>
        </footer>
      )}
    </>
  );
}

await start(); // with what the page brought along: the first paint has data
render(<App />, document.getElementById("app")!);
