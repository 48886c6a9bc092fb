// SPDX-License-Identifier: Apache-2.0
// The page as a whole.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Answer } from "./answer";
import type * as BelowParts from "./below";
import { Gpus } from "./gpus";
import { Header } from "./header";
import { keys } from "./keys";
import { backoff } from "./model";
import { toSection } from "./section";
import { isBusy, painted, start, useStore } from "./store";
import "./style.css";
import "./theme";
import type { GpuCondition } from "./types";

const NONE: GpuCondition[] = [];

/** Loads what comes after the first paint; a failed connection delays it, but must not lose half of the page. */
async function loadBelow(attempt = 0): Promise<typeof BelowParts> {
  try {
    return await import("./below");
  } catch {
    await new Promise((done) => setTimeout(done, 1000 * backoff(attempt)));
    return loadBelow(attempt + 1);
  }
}

function Sources({ list, none }: { list: { name: string; state: string; message: string | null }[]; none: boolean }) {
  if (!list.length) return null;
  const text = (x: { name: string; state: string; message: string | null }) =>
    `${x.name}: ${x.state}${x.message ? `, ${x.message}` : ""}`;
  return none ? (
    <section class="panel pad empty">
      <h2>Where whirr looked</h2>
      <ul class="plain dim">
        {list.map((x) => (
          <li key={x.name}>{text(x)}</li>
        ))}
      </ul>
    </section>
  ) : (
    <>
      {list.map((x) => (
        <p key={x.name} class={x.state === "off" ? "dim" : "lv bad"}>
          {text(x)}
        </p>
      ))}
    </>
  );
}

function App() {
  const s = useStore();
  const then = s.place.at != null;
  const gpus = then ? (s.past.value?.gpus ?? []) : (s.gpus ?? []);
  const [parts, setParts] = useState<typeof BelowParts | null>(null);
  useEffect(() => {
    void painted()
      .then(() => loadBelow())
      .then((loaded) => {
        setParts(loaded);
        toSection();
      });
    return keys();
  }, []);
  const past = then || s.place.from != null;
  useEffect(() => {
    document.body.classList.toggle("past", past);
    document.body.classList.toggle("dead", s.dead && !past); // the past does not expire
    document.body.classList.toggle("busy", isBusy(s));
  }, [past, s.dead, isBusy(s)]);
  const failed = s.sources.filter(
    (x) => x.state !== "ok" && x.state !== "asleep" && (x.state !== "off" || !s.gpus?.length),
  );
  const found = (s.gpus?.length ?? 0) > 0;
  return (
    <>
      <Header s={s} />
      <div class="page">
        <main class={`main ${then ? "then" : ""}`}>
          {found && s.history && (
            <section id="rail" class="panel" aria-labelledby="rail-title">
              {parts ? <parts.Rail s={s} /> : <h2 class="sr" id="rail-title" children="The last day" />}
            </section>
          )}
          <Answer s={s} />
          {s.gpus && <Sources list={failed} none={!found} />}
          {(then || s.place.from == null) && (
            <Gpus
              gpus={gpus}
              why={then ? (s.past.value?.why ?? null) : s.why.value}
              health={then ? (s.past.value?.health ?? NONE) : (s.health.value ?? NONE)}
              forecast={then ? null : s.forecast.value}
              picked={s.view.gpu}
              then={then}
            />
          )}
          {parts && <parts.Below s={s} gpus={gpus} />}
        </main>
        {parts && found && <parts.Side s={s} />}
      </div>
      {parts && (
        <footer>
          <a href="/docs">API</a> · <a href="/metrics">Prometheus</a> · <a href="/plain">Plain page</a> ·{" "}
          <a href="/api/gpu/metrics">JSON</a>
        </footer>
      )}
    </>
  );
}

await start(); // uses embedded data: the first paint is complete
render(<App />, document.getElementById("app")!);
