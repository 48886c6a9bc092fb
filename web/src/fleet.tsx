// SPDX-License-Identifier: Apache-2.0
// The page of all hosts.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Brand, ThemeButton, Verdict } from "./bar";
import { Hosts } from "./fleet_hosts";
import { Energy, Fit, Who } from "./fleet_panels";
import { clock, tied, watts } from "./format";
import { type FleetAnswer, type FleetHost, hostCounts, pagesOf, type Target, troubleLevel } from "./hosts";
import { get } from "./live";
import { sum } from "./model";
import { Mark } from "./parts";
import { Refused, words } from "./refused";
import { onSection, toSection } from "./section";
import "./style.css";

const EVERY = 5000,
  SOON = 400; // ms

function useFleet(): { answer: FleetAnswer | null; problem: string | null } {
  const [answer, setAnswer] = useState<FleetAnswer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let timer = 0,
      over = false,
      asking = false;
    const look = async () => {
      clearTimeout(timer);
      if (document.visibilityState === "hidden" || asking) return; // refreshes when it becomes visible again
      asking = true;
      let wait = EVERY;
      try {
        const next = await get<FleetAnswer>("/api/fleet");
        // The answer is from the last visit: a new one is on its way.
        if (next.loading) wait = SOON;
        // A restarted daemon may not know the fleet yet: what the page knows stays.
        setAnswer((last) =>
          next.fleet ? next : { ...next, fleet: last?.fleet ?? null, fetched_at: last?.fetched_at ?? null },
        );
        setProblem(null);
      } catch (e) {
        if (e instanceof Refused && e.status === 401) location.reload();
        setProblem(words(e));
      }
      asking = false;
      if (!over) timer = window.setTimeout(look, wait);
    };
    const seen = () => {
      if (document.visibilityState === "visible") void look();
    };
    document.addEventListener("visibilitychange", seen);
    void look();
    return () => {
      over = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, []);
  return { answer, problem };
}

const SECTIONS = [
  ["hosts", "Hosts"],
  ["fit", "Free VRAM"],
  ["who", "Users"],
  ["spent", "Energy"],
] as const;

const said = (h: FleetHost) => h.note ?? h.trouble.replace("_", " ");

/** The pages of the hosts; without a configured table, no host is a link. */
function usePages(): Map<string, string> {
  const [pages, setPages] = useState(new Map<string, string>());
  useEffect(() => {
    get<Target[]>("/api/targets")
      .then((t) => setPages(pagesOf(t)))
      .catch(() => undefined);
  }, []);
  return pages;
}

function App() {
  const { answer, problem } = useFleet();
  const pages = usePages();
  const fleet = answer?.fleet ?? null,
    wrong = problem ?? (answer?.error ? `The fleet's database can't be asked: ${answer.error}.` : null);
  const [here, setHere] = useState<string>("hosts");
  useEffect(
    () =>
      onSection(
        SECTIONS.map(([id]) => id),
        setHere,
      ),
    [],
  );
  const known = fleet != null,
    dead = known && wrong != null; // known data stays, but looks outdated
  useEffect(() => void document.body.classList.toggle("dead", dead), [dead]);
  useEffect(() => {
    if (known) toSection();
  }, [known]);
  const power = sum(fleet?.status.hosts.map((h) => h.power_watts) ?? []);
  const silent = fleet?.status.hosts.filter((h) => h.trouble === "silent") ?? [];
  const worst = fleet?.status.hosts[0],
    level = !fleet ? "idle" : worst ? troubleLevel(worst) : "good";
  return (
    <>
      <header class="topbar">
        <a class="skip" href="#answer">
          Skip to the answer
        </a>
        <div class="row first">
          <Brand />
          <span class="hostname">
            <b class="host">All hosts</b>{" "}
            {fleet && (
              <span class="dim">
                {fleet.status.hosts.length} hosts, {fleet.status.gpu_count} GPUs, {watts(power)}
              </span>
            )}
          </span>
          <nav>
            <a href="/">This host</a>
          </nav>
          {fleet && (
            <Verdict
              numbers={hostCounts(fleet.status.hosts)}
              level={level}
              text={worst && worst.trouble !== "fine" ? `${worst.host}: ${said(worst)}` : ""}
              host="All hosts"
              quiet={false}
              lost={dead ? "stale" : null}
            />
          )}
          <span class="grow" />
          <span class={`state ${wrong ? "warn" : "good"}`} id="state">
            <i class="dot" />
            {answer?.fetched_at
              ? `${dead ? "stale, " : ""}as of ${clock(Date.parse(answer.fetched_at), undefined, true)}`
              : "asking"}
          </span>
          <ThemeButton />
        </div>
        {fleet && fleet.status.gpu_count > 0 && (
          <div class="row second">
            <nav class="tabs" aria-label="Sections">
              {SECTIONS.map(([id, name]) => (
                <a key={id} href={`#${id}`} aria-current={here === id ? "true" : undefined}>
                  {name}
                  {id === "hosts" && <span class="k">{fleet.status.hosts.length}</span>}
                </a>
              ))}
            </nav>
          </div>
        )}
      </header>
      <main class="page">
        <section
          id="answer"
          class={`panel answer range ${level}`}
          aria-labelledby="answer-title"
          aria-busy={!fleet && !wrong}
        >
          <h2 id="answer-title" class="sr">
            The fleet
          </h2>
          <p class="sentence">
            {fleet ? (
              <>
                <Mark level={level} />{" "}
                {!fleet.status.gpu_count
                  ? "No whirr metrics in this database."
                  : worst && worst.trouble !== "fine"
                    ? `${worst.host}: ${tied(said(worst))}`
                    : fleet.status.answer}
              </>
            ) : (
              <span class="dim">{wrong ? "Nothing is known about the fleet." : "Loading…"}</span>
            )}
          </p>
          {fleet && worst && worst.trouble !== "fine" && <p class="rest">{tied(fleet.status.answer)}</p>}
          {silent.length > 0 && (
            <p class="rest lv bad">
              Silent:{" "}
              {silent
                .slice(0, 12)
                .map((h) => h.host)
                .join(", ")}
              {silent.length > 12 && ` and ${silent.length - 12} more`}
            </p>
          )}
          {wrong && (
            <p class="lv bad" role="alert">
              {wrong}
            </p>
          )}
        </section>
        {fleet && fleet.status.gpu_count > 0 && (
          <>
            <Hosts hosts={fleet.status.hosts} pages={pages} />
            <div class="side">
              <Fit hosts={fleet.status.hosts} />
              <Who fleet={fleet} />
              <Energy bill={fleet.energy_by_host} />
            </div>
          </>
        )}
      </main>
      <footer>
        <a href="/docs">API</a> · <a href="/api/fleet">JSON</a>
      </footer>
    </>
  );
}

render(<App />, document.getElementById("app")!);
