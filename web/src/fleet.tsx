// SPDX-License-Identifier: Apache-2.0
// The page of all hosts: worst first, a square for each GPU, so that hundreds fit on a screen.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { celsius, clock, DASH, energy, memory, memoryOf, parseSize, percent, shortName, tied, watts } from "./format";
import { get, Refused } from "./live";
import { memo } from "./memo";
import {
  type FleetGpu,
  type FleetHost,
  fitting,
  freest,
  hasRoom,
  type HostOrder,
  hostsShown,
  pageOf,
  troubleLevel,
  troubleText,
  type TroubleFilter,
} from "./hosts";
import { sum } from "./model";
import { Choice, Icon, Mark, Scroll, Section } from "./parts";
import { useSlice } from "./slice";
import "./style.css";
import { isDark, toggleTheme } from "./theme";
import type { Num } from "./types";

interface Usage {
  user?: string | null;
  container?: string | null;
  memory_mb: Num;
  utilization_percent: Num;
  power_watts: Num;
}
interface Bill {
  span_seconds: number;
  energy_joules: number;
  price_per_kwh: number;
  currency: string;
  users?: Billed[];
  hosts?: Billed[];
}
interface Billed {
  user?: string | null;
  host?: string | null;
  energy_joules: number;
  cost: Num;
}
interface Fleet {
  status: { answer: string; gpu_count: number; hosts_not_answering: number; hosts: FleetHost[] };
  by_user: { users: Usage[] };
  by_container: { containers: Usage[] };
  energy_by_host: Bill | null;
  energy_by_user: Bill | null;
}
interface Answer {
  fetched_at: string | null;
  loading: boolean;
  error: string | null;
  fleet: Fleet | null;
}

const EVERY = 5000,
  SOON = 400; // ms

function gpuTitle(g: FleetGpu): string {
  const parts = [`${g.host} GPU ${g.gpu_index ?? DASH} ${g.name ?? ""}`.trim()];
  const wrong = troubleText(g);
  if (wrong) parts.push(wrong);
  if (g.up)
    parts.push(
      percent(g.utilization_percent),
      memoryOf(g.memory_used_mb, g.memory_total_mb),
      celsius(g.temperature_celsius),
      watts(g.power_watts),
    );
  return parts.join(", ");
}

function Square({ g }: { g: FleetGpu }) {
  const step =
    g.up && g.utilization_percent != null
      ? `h${Math.max(0, Math.min(5, Math.floor((g.utilization_percent * 6) / 100)))}`
      : "none";
  return <i class={`square ${step} ${troubleLevel(g)}`} title={gpuTitle(g)} />;
}

const Host = memo(function Host({ h }: { h: FleetHost }) {
  const level = troubleLevel(h),
    silent = h.trouble === "silent";
  const models = [...new Set(h.gpus.map((g) => g.name).filter(Boolean))];
  return (
    <tr>
      <th scope="row">
        <Mark level={level} label={h.trouble.replace("_", " ")} />{" "}
        <a href={pageOf(h.host, location)} title="Its own page">
          {h.host}
        </a>
      </th>
      <td class="squares">
        <span role="img" aria-label={`${h.gpus.length} GPUs, ${percent(h.utilization_percent)} on average`}>
          {h.gpus.map((g) => (
            <Square key={g.uuid ?? g.gpu_index} g={g} />
          ))}
        </span>
        <span class="dim models">
          {h.gpus.length > 0 &&
            `${h.gpus.length} × ${models.length === 1 ? shortName(models[0]!, models[0]!.split(" ")[0]!) : "mixed"}`}
        </span>
      </td>
      <td class={silent || level === "bad" || level === "warn" ? `lv ${level}` : ""}>
        {tied(h.note ?? (silent ? "Silent" : (h.gpus.find((g) => g.headline)?.headline ?? "")))}
      </td>
      <td class="n">{percent(h.utilization_percent)}</td>
      <td class="n">{memoryOf(h.memory_used_mb, h.memory_total_mb)}</td>
      <td class="n">{celsius(h.temperature_celsius)}</td>
      <td class="n">{watts(h.power_watts)}</td>
    </tr>
  );
});

/** A fine host: its name and a square for each GPU. */
const Small = memo(function Small({ h }: { h: FleetHost }) {
  const text = `${h.host}: ${percent(h.utilization_percent)}, ${memoryOf(h.memory_used_mb, h.memory_total_mb)}, ${celsius(h.temperature_celsius)}, ${watts(h.power_watts)}`;
  return (
    <li title={text}>
      <span class="sr">{text}</span>
      <a class="who" href={pageOf(h.host, location)} aria-hidden="true" tabIndex={-1}>
        {h.host}
      </a>
      <span class="squares" aria-hidden="true">
        {h.gpus.map((g) => (
          <Square key={g.uuid ?? g.gpu_index} g={g} />
        ))}
      </span>
    </li>
  );
});

/** A column has room for the longest name and the most GPUs. */
function roomFor(hosts: FleetHost[]): Record<string, string> {
  const most = (of: (h: FleetHost) => number, limit: number) =>
    hosts.reduce((n, h) => Math.max(n, Math.min(of(h), limit)), 1);
  return { "--name": `${most((h) => h.host.length, 24)}ch`, "--gpus": String(most((h) => h.gpus.length, 16)) };
}

const PLACES = 10,
  FEW = 60, // hosts: more are squares unless something is unusual
  VIRTUAL = 80;

const COLUMNS: [HostOrder, string][] = [
  ["utilization_percent", "Util"],
  ["memory_used_mb", "VRAM"],
  ["temperature_celsius", "Hottest"],
  ["power_watts", "Power"],
];

function Sorted({
  name,
  by,
  order,
  sort,
  n,
}: {
  name: string;
  by: HostOrder;
  order: HostOrder;
  sort: (o: HostOrder) => void;
  n?: boolean;
}) {
  const on = order === by;
  return (
    <th scope="col" class={n ? "n" : ""} aria-sort={on ? (n ? "descending" : "ascending") : "none"}>
      <button type="button" class="link" onClick={() => sort(on ? "" : by)}>
        {name}
        <span aria-hidden="true">{on ? (n ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function Hosts({ hosts }: { hosts: FleetHost[] }) {
  const [only, setOnly] = useState<TroubleFilter>("");
  const [query, setQuery] = useState("");
  const [order, setOrder] = useState<HostOrder>("");
  const [figures, setFigures] = useState<boolean | null>(null);
  const every = figures ?? (hosts.length <= FEW || order !== "");
  const list = hostsShown(hosts, only, query, order),
    rows = every ? list : list.filter((h) => h.trouble !== "fine"),
    small = every ? [] : list.filter((h) => h.trouble === "fine");
  const slice = useSlice(rows.length > VIRTUAL, rows.length, 45);
  const sort = (o: HostOrder) => setOrder(o);
  return (
    <Section
      id="hosts"
      title={`${list.length} host${list.length === 1 ? "" : "s"}${list.length < hosts.length ? ` of ${hosts.length}` : ""}`}
      note={order ? "" : "worst first"}
      side={
        <div class="controls">
          <span class="dim scale" aria-hidden="true">
            util 0%{" "}
            {[0, 1, 2, 3, 4, 5].map((n) => (
              <i key={n} class={`square h${n}`} />
            ))}{" "}
            100%
          </span>
          <Choice<TroubleFilter>
            label="Which hosts"
            of={[
              ["", `All ${hosts.length}`],
              ["trouble", `Needs you ${hosts.filter((h) => h.trouble !== "fine").length}`],
              ["room", `Has room ${hosts.filter(hasRoom).length}`],
            ]}
            value={only}
            choose={setOnly}
          />
          <label class="control">
            <input type="checkbox" checked={every} onChange={(e) => setFigures(e.currentTarget.checked)} /> Figures for
            all
          </label>
          <label class="field search">
            <Icon name="search" />
            <input
              type="search"
              value={query}
              placeholder="gpu17 H100"
              aria-label="Filter hosts"
              onInput={(e) => setQuery(e.currentTarget.value)}
            />
          </label>
        </div>
      }
    >
      {rows.length > 0 && (
        <Scroll label="Table of hosts">
          <table class="hosts" aria-rowcount={rows.length + 1}>
            <thead>
              <tr>
                <Sorted name="Host" by="host" order={order} sort={sort} />
                <th scope="col">GPUs</th>
                <th scope="col">What it says</th>
                {COLUMNS.map(([by, name]) => (
                  <Sorted key={by} name={name} by={by} order={order} sort={sort} n />
                ))}
              </tr>
            </thead>
            <tbody ref={slice.box}>
              {slice.above > 0 && <tr style={{ height: `${slice.above}px` }} aria-hidden="true" />}
              {rows.slice(slice.start, slice.end).map((h) => (
                <Host key={h.host} h={h} />
              ))}
              {slice.below > 0 && <tr style={{ height: `${slice.below}px` }} aria-hidden="true" />}
            </tbody>
          </table>
        </Scroll>
      )}
      {small.length > 0 && (
        <ul class="map" style={roomFor(small)} aria-label="Hosts with no trouble seen, the busiest first">
          {small.map((h) => (
            <Small key={h.host} h={h} />
          ))}
        </ul>
      )}
      {!list.length && <p class="dim">No host matches.</p>}
    </Section>
  );
}

function Fit({ hosts }: { hosts: FleetHost[] }) {
  const [text, setText] = useState("");
  const bytes = parseSize(text),
    mb = bytes == null ? null : bytes / 2 ** 20;
  const found = mb ? fitting(hosts, mb) : [],
    most = freest(hosts);
  return (
    <Section id="fit" title="Free VRAM">
      <label class="control">
        Needed on one GPU{" "}
        <input
          type="search"
          value={text}
          placeholder="60 GiB"
          size={10}
          onInput={(e) => setText(e.currentTarget.value)}
        />
      </label>
      {!mb ? (
        text.trim() ? (
          <p class="lv bad" role="status">
            Write a size like 60GiB.
          </p>
        ) : (
          <p class="dim">
            {most ? (
              <>
                The most on one GPU: {memory(most.memory_room_mb)} on GPU {most.gpu_index} of {most.host}.
              </>
            ) : (
              "No GPU reports free VRAM."
            )}
          </p>
        )
      ) : found.length ? (
        <>
          <p>
            {memory(mb)} fits on {found.length} GPU{found.length === 1 ? "" : "s"}, idle ones first, then the tightest
            fit:
          </p>
          <ul class="plain">
            {found.slice(0, PLACES).map((g) => (
              <li key={`${g.host}-${g.gpu_index}`}>
                <b>{g.host}</b> GPU {g.gpu_index}: {memory(g.memory_room_mb)} free{" "}
                <span class="dim">
                  {percent(g.utilization_percent)}, {g.name}
                </span>
              </li>
            ))}
          </ul>
          {found.length > PLACES && <p class="dim">and {found.length - PLACES} more</p>}
        </>
      ) : (
        <p>
          {memory(mb)} fits nowhere
          {most ? `; GPU ${most.gpu_index} of ${most.host} has the most: ${memory(most.memory_room_mb)}` : ""}.
        </p>
      )}
    </Section>
  );
}

function Who({ fleet }: { fleet: Fleet }) {
  const [by, setBy] = useState<"user" | "container">("user");
  const list = by === "user" ? fleet.by_user.users : fleet.by_container.containers,
    bill = by === "user" && fleet.energy_by_user?.energy_joules ? fleet.energy_by_user : null;
  const spent = new Map(bill?.users?.map((u) => [u.user ?? null, u]) ?? []),
    priced = !!bill && bill.price_per_kwh > 0;
  return (
    <Section
      id="who"
      title="Who uses how much"
      side={
        <label class="control">
          By{" "}
          <select value={by} onChange={(e) => setBy(e.currentTarget.value as typeof by)}>
            <option value="user">user</option>
            <option value="container">container</option>
          </select>
        </label>
      }
    >
      {list.length ? (
        <Scroll label={`Use by ${by}`}>
          <table class="small">
            <thead>
              <tr>
                <th scope="col">{by === "user" ? "User" : "Container"}</th>
                <th scope="col" class="n">
                  VRAM
                </th>
                <th scope="col" class="n" title="1 is one GPU fully used">
                  GPUs busy
                </th>
                <th scope="col" class="n">
                  Power
                </th>
                {bill && (
                  <th scope="col" class="n">
                    Last 24 h
                  </th>
                )}
                {priced && (
                  <th scope="col" class="n">
                    Cost
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {list.slice(0, 12).map((u) => {
                const name = u[by] ?? null,
                  energyOf = spent.get(name);
                return (
                  <tr key={name}>
                    <th scope="row">{name ?? DASH}</th>
                    <td class="n">{memory(u.memory_mb)}</td>
                    <td class="n">{u.utilization_percent == null ? DASH : (u.utilization_percent / 100).toFixed(1)}</td>
                    <td class="n">{watts(u.power_watts)}</td>
                    {bill && <td class="n">{energy(energyOf?.energy_joules)}</td>}
                    {priced && (
                      <td class="n">
                        {energyOf?.cost == null ? DASH : `${energyOf.cost.toFixed(2)} ${bill.currency}`}
                      </td>
                    )}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <p class="dim">No processes.</p>
      )}
      {list.length > 12 && <p class="dim">{list.length - 12} more hold less.</p>}
    </Section>
  );
}

function Energy({ bill }: { bill: Bill | null }) {
  if (!bill?.energy_joules) return null; // nothing counted
  const cost = bill.price_per_kwh > 0 ? (bill.energy_joules / 3.6e6) * bill.price_per_kwh : null;
  return (
    <Section id="spent" title="Energy, last 24 h">
      <p>
        <b>{energy(bill.energy_joules)}</b>
        {cost != null && ` for ${cost.toFixed(2)} ${bill.currency}`}
      </p>
      <ul class="plain">
        {(bill.hosts ?? []).slice(0, 5).map((h) => (
          <li key={h.host}>
            {h.host ?? DASH}: {energy(h.energy_joules)}
            {h.cost != null && (
              <span class="dim">
                {" "}
                {h.cost.toFixed(2)} {bill.currency}
              </span>
            )}
          </li>
        ))}
      </ul>
      {cost == null && (
        <p class="dim">
          Set <code>energy.price_per_kwh</code> to see what it costs.
        </p>
      )}
    </Section>
  );
}

function useFleet(): { answer: Answer | null; problem: string | null } {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let timer = 0,
      over = false,
      asking = false;
    const look = async () => {
      clearTimeout(timer);
      if (document.visibilityState === "hidden" || asking) return; // the next look is when it is seen again
      asking = true;
      let wait = EVERY;
      try {
        const next = await get<Answer>("/api/fleet");
        // What came is of the last visit: the new one is on its way.
        if (next.loading) wait = SOON;
        setAnswer(next);
        setProblem(null);
      } catch (e) {
        if (e instanceof Refused && e.status === 401) location.reload();
        setProblem(e instanceof Error ? e.message : String(e));
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

function App() {
  const { answer, problem } = useFleet();
  const [, redraw] = useState(0);
  const fleet = answer?.fleet ?? null,
    wrong = problem ?? (answer?.error ? `The fleet's database can't be asked: ${answer.error}.` : null);
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
          <h1>
            <img src="/icon.svg" alt="" width="22" height="22" /> <span>whirr</span>
          </h1>
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
          <span class="grow" />
          <span class={`state ${wrong ? "warn" : "good"}`} id="state">
            <i class="dot" />
            {answer?.fetched_at ? `as of ${clock(Date.parse(answer.fetched_at), undefined, true)}` : "asking"}
          </span>
          <button
            type="button"
            class="icon theme"
            aria-label={isDark() ? "Light colors" : "Dark colors"}
            onClick={() => {
              toggleTheme();
              redraw((n) => n + 1);
            }}
          >
            <Icon name="theme" />
          </button>
        </div>
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
                    ? `${worst.host}: ${tied(worst.note ?? worst.trouble.replace("_", " "))}`
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
            <Hosts hosts={fleet.status.hosts} />
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
