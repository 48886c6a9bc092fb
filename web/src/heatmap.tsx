// SPDX-License-Identifier: Apache-2.0
// Many GPUs on one screen, each in its place: problems have their own color, mark and figure, and are named above; the others are shaded by
// their load.
import { useState } from "preact/hooks";
import { absence, celsius, memory, percent, plainly, ranges, watts } from "./format";
import { type Level, RANK } from "./level";
import { type GpuState, shownState, STATES } from "./limit";
import { memo } from "./memo";
import { Choice, Icon, Mark } from "./parts";
import { current, look } from "./store";
import type { Gpu } from "./types";

export const toggle = (index: number) => look({ gpu: current().view.gpu === index ? null : index });

const HEAT = {
  utilization_percent: { name: "Util", text: percent, share: (g: Gpu) => (g.utilization_percent ?? 0) / 100 },
  temperature_celsius: {
    name: "Temp",
    text: celsius,
    share: (g: Gpu) => ((g.temperature_celsius ?? 30) - 30) / ((g.temperature_limit_celsius ?? 95) - 30),
  },
  power_watts: { name: "Power", text: watts, share: (g: Gpu) => (g.power_watts ?? 0) / (g.power_limit_watts || 1) },
  memory_used_mb: { name: "VRAM", text: memory, share: (g: Gpu) => (g.memory_used_mb ?? 0) / (g.memory_total_mb || 1) },
};
type Heat = keyof typeof HEAT;
const STEPS = 6;

/** The figure that its finding is about. */
const ABOUT: Record<string, Heat> = {
  heat: "temperature_celsius",
  fan: "temperature_celsius",
  power: "power_watts",
  memory: "memory_used_mb",
};

const MARKS: Partial<Record<GpuState, "wait" | "lock">> = { waits: "wait", held: "lock" };

/** One of many: redrawn only when its text changes. The title contains nothing that changes with a sample. */
const Cell = memo(function Cell({
  index,
  step,
  level,
  state,
  text,
  word,
  title,
  picked,
}: {
  index: number;
  step: number;
  level: Level;
  state: GpuState;
  text: string;
  word: boolean;
  title: string;
  picked: boolean;
}) {
  const mark = MARKS[state];
  return (
    <button
      type="button"
      class={`cell ${step < 0 ? "none" : `h${step}`} ${level} ${state}`}
      aria-pressed={picked}
      onClick={() => toggle(index)}
      title={title}
    >
      <span>
        {index}
        {level === "bad" || level === "warn" || (level === "note" && !mark) ? <Mark level={level} /> : null}
        {mark && <Icon name={mark} label={STATES[state]} />}
      </span>
      <b class={word ? "word" : undefined}>{text}</b>
    </button>
  );
});

const SHOWN = 5; // kinds of trouble

/** What stands out, by kind, above the map in which nothing moves. */
function Odd({ gpus, levels }: { gpus: Gpu[]; levels: Map<Gpu, Level> }) {
  const kinds = new Map<string, Gpu[]>();
  for (const g of gpus) {
    const level = levels.get(g)!;
    if (level !== "bad" && level !== "warn" && level !== "note") continue;
    const kind = g.finding?.code ?? g.state;
    kinds.set(kind, [...(kinds.get(kind) ?? []), g]);
  }
  const sorted = [...kinds].sort((a, b) => RANK[levels.get(b[1][0]!)!] - RANK[levels.get(a[1][0]!)!]);
  return (
    <div class="odd" role="group" aria-label="What stands out">
      {sorted.slice(0, SHOWN).map(([kind, list]) => (
        <button
          key={kind}
          type="button"
          class={`chip ${levels.get(list[0]!)}`}
          title={list[0]!.finding ? plainly(list[0]!.finding.headline) : undefined}
          onClick={() => toggle(list[0]!.index)}
        >
          <Mark level={levels.get(list[0]!)!} /> <b>{ranges(list.map((g) => g.index))}</b> {kind.replaceAll("_", " ")}
        </button>
      ))}
      {sorted.length > SHOWN && <span class="dim">{sorted.length - SHOWN} more kinds</span>}
      {!sorted.length && <span class="dim">None stands out.</span>}
    </div>
  );
}

const AFTER: Record<GpuState, number> = { waits: 2, held: 1, works: 0, idle: 0, unreadable: 0 };

/** Problems first, then waiting and held GPUs; the rest by index. */
function worstFirst(gpus: Gpu[], levels: Map<Gpu, Level>, states: Map<Gpu, GpuState>): Gpu[] {
  const rank = (g: Gpu) => Math.max(1, RANK[levels.get(g)!]);
  return [...gpus].sort(
    (a, b) => rank(b) - rank(a) || AFTER[states.get(b)!] - AFTER[states.get(a)!] || a.index - b.index,
  );
}

function Legend({ gpus, levels, states }: { gpus: Gpu[]; levels: Map<Gpu, Level>; states: Map<Gpu, GpuState> }) {
  const has = (level: Level) => gpus.some((g) => levels.get(g) === level),
    is = (state: GpuState) => gpus.some((g) => states.get(g) === state);
  if (!has("bad") && !has("warn") && !is("waits") && !is("held")) return null;
  return (
    <p class="legend dim">
      {has("bad") && (
        <span>
          <Mark level="bad" /> act now
        </span>
      )}
      {has("warn") && (
        <span>
          <Mark level="warn" /> look soon
        </span>
      )}
      {(["waits", "held"] as const).map(
        (state) =>
          is(state) && (
            <span key={state}>
              <Icon name={MARKS[state]!} /> {STATES[state]}
            </span>
          ),
      )}
    </p>
  );
}

/** "34 at work, 12 waiting, 6 held but idle". */
function counted(gpus: Gpu[], states: Map<Gpu, GpuState>): string {
  const words: [GpuState, string][] = [
    ["works", "at work"],
    ["waits", "waiting"],
    ["held", "held but idle"],
    ["idle", "idle"],
    ["unreadable", "not readable"],
  ];
  return words
    .map(([state, text]) => [gpus.filter((g) => states.get(g) === state).length, text] as const)
    .filter(([n]) => n > 0)
    .map(([n, text]) => `${n} ${text}`)
    .join(", ");
}

export function HeatMap({
  gpus,
  levels,
  picked,
  then,
}: {
  gpus: Gpu[];
  levels: Map<Gpu, Level>;
  picked: number | null;
  then: boolean;
}) {
  const [metric, setMetric] = useState<Heat>("utilization_percent");
  const [order, setOrder] = useState<number[] | null>(null); // as it was when a person asked for it
  const states = new Map(gpus.map((g) => [g, shownState(g, levels.get(g)!)])),
    place = order && new Map(order.map((index, i) => [index, i])),
    shown = place
      ? [...gpus].sort(
          (a, b) => (place.get(a.index) ?? Infinity) - (place.get(b.index) ?? Infinity) || a.index - b.index,
        )
      : gpus;
  const most = (of: Heat) =>
    gpus.reduce<Gpu | null>((m, g) => (g[of] != null && (m == null || g[of]! > m[of]!) ? g : m), null);
  const hottest = most("temperature_celsius"),
    hungriest = most("power_watts");
  return (
    <div class="panel pad" id="heat">
      <div class="head">
        <h3>{gpus.length} GPUs</h3>
        <span class="dim note">
          {counted(gpus, states)}
          {hottest && (
            <>
              {" · "}hottest:{" "}
              <button type="button" class="link" onClick={() => toggle(hottest.index)}>
                GPU {hottest.index}
              </button>
              , {celsius(hottest.temperature_celsius)}
            </>
          )}
          {hungriest && (
            <>
              {" · "}most power: GPU {hungriest.index}, {watts(hungriest.power_watts)}
            </>
          )}
        </span>
        <span class="grow" />
        <span class="dim scale" aria-hidden="true">
          0%{" "}
          {Array.from({ length: STEPS }, (_, i) => (
            <i key={i} class={`square h${i}`} />
          ))}{" "}
          100%
        </span>
        <Choice
          label="Color by"
          of={(Object.keys(HEAT) as Heat[]).map((k) => [k, HEAT[k].name])}
          value={metric}
          choose={setMetric}
        />
        <Choice
          label="Order"
          of={[
            ["index", "By index"],
            ["worst", "Worst first"],
          ]}
          value={order ? "worst" : "index"}
          choose={(o) => setOrder(o === "worst" ? worstFirst(gpus, levels, states).map((g) => g.index) : null)}
        />
      </div>
      <Odd gpus={gpus} levels={levels} />
      <div class="heat" role="group" aria-label={`${HEAT[metric].name} of all GPUs`}>
        {shown.map((g) => {
          const level = levels.get(g)!,
            wrong = level === "bad" || level === "warn",
            of = (wrong && ABOUT[g.finding?.area ?? ""]) || metric,
            name = `GPU ${g.index} ${g.name ?? ""}`,
            known = g[of] != null,
            reason = wrong && g.finding ? g.finding.headline : known ? "" : absence(g.absent[of]);
          return (
            <Cell
              key={g.index}
              index={g.index}
              level={level}
              state={states.get(g)!}
              step={known ? Math.max(0, Math.min(STEPS - 1, Math.floor(HEAT[of].share(g) * STEPS))) : -1}
              picked={picked === g.index}
              text={g.state === "ok" ? HEAT[of].text(g[of]) : g.state}
              word={g.state !== "ok"}
              title={reason ? `${name}: ${reason}` : name}
            />
          );
        })}
      </div>
      {!then && <Legend gpus={gpus} levels={levels} states={states} />}
    </div>
  );
}
