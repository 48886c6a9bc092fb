// SPDX-License-Identifier: Apache-2.0
// The GPUs: one in full width, up to four as cards, up to fifteen as small cards, more as a heat map. Each keeps its place.
import { useCallback, useMemo } from "preact/hooks";
import { celsius, duration, memory, memoryOf, percent, shortName, until, watts, wattsOf } from "./format";
import { HeatMap, toggle } from "./heatmap";
import { areaLevel, gpuLevel, type Level } from "./level";
import { shownState } from "./limit";
import { Bar, Icon, Mark, value } from "./parts";
import { readings } from "./readings";
import type { Forecast, Usual } from "./api";
import type { Gpu, GpuCondition, Why, WhyGpu } from "./types";

const CARDS = 4,
  DENSE = 16,
  BUSY = 50; // %

function doing(g: Gpu, then: boolean): string {
  const top = [...g.processes].sort(
    (a, b) => (b.utilization_percent ?? 0) - (a.utilization_percent ?? 0) || (b.memory_mb ?? 0) - (a.memory_mb ?? 0),
  )[0];
  if (!top && g.state !== "ok") return "";
  if (!top && (g.absent.processes || g.processes_hidden))
    return then ? "Its processes were not seen." : "Its processes can't be seen from here.";
  if (!top) return then ? "No process was using it." : "No process is using it.";
  const who = [top.user, top.container_name ?? top.container].filter(Boolean).join(", ");
  return `${top.short_name ?? top.display_name ?? top.name ?? top.pid}${who ? ` (${who})` : ""}`;
}

/** "44% 1420 rpm", "off", and "stopped" only if there is such a finding. */
function Fan({ g }: { g: Gpu }) {
  const level = areaLevel(g, "fan"),
    stopped = g.finding?.code === "fan_stopped";
  if (g.fan_percent == null && !g.fan_rpm) return value(null, "", g.absent.fan_percent);
  const still = !g.fan_rpm && !g.fan_percent;
  return (
    <span class={level === "good" ? "" : `lv ${level}`}>
      <Icon name="fan" />{" "}
      {stopped ? (
        <b>stopped</b>
      ) : still ? (
        "off"
      ) : (
        <>
          {g.fan_percent != null && <b>{percent(g.fan_percent)}</b>}
          {g.fan_rpm ? <span class={g.fan_percent == null ? "" : "rpm"}> {Math.round(g.fan_rpm)} rpm</span> : null}
        </>
      )}
    </span>
  );
}

/** Its state in a word or two, from the answer or its health. */
function Chip({ g, why, health, level }: { g: Gpu; why?: WhyGpu; health?: GpuCondition; level: Level }) {
  const sick =
    health && health.state !== "healthy" && health.state !== "asleep" && health.state !== "unknown"
      ? health.state
      : null;
  const text = g.state !== "ok" ? g.state : (why?.brief?.state ?? sick ?? g.activity?.words);
  if (!text) return null;
  return (
    <span class={`chip ${level === "bad" || level === "warn" ? level : ""}`} title={health?.reason}>
      {text}
    </span>
  );
}

/** Waits, although the driver counts it as busy. */
const seemsBusy = (g: Gpu, level: Level): boolean =>
  shownState(g, level) === "waits" && (g.utilization_percent ?? 0) >= BUSY;

/** Hatched while it waits: busy by the driver's count, and at no work. */
function Ring({ g, waits }: { g: Gpu; waits: boolean }) {
  const v = g.utilization_percent,
    turn = 2 * Math.PI * 30;
  return (
    <div class="ring" role="img" aria-label={`Utilization ${percent(v)}`}>
      <svg viewBox="0 0 72 72" aria-hidden="true">
        <circle cx="36" cy="36" r="30" class="of" style={{ strokeDasharray: `${0.75 * turn} ${turn}` }} />
        {v != null && v > 0 && (
          <circle
            cx="36"
            cy="36"
            r="30"
            class={waits ? "is waits" : "is"}
            style={{ strokeDasharray: `${(0.75 * turn * Math.min(100, v)) / 100} ${turn}` }}
          />
        )}
      </svg>
      <b>{percent(v)}</b>
      <span>{waits ? "waits" : "util"}</span>
    </div>
  );
}

interface Of {
  g: Gpu;
  why?: WhyGpu;
  health?: GpuCondition;
  soon?: Forecast["gpus"][number];
  picked: boolean;
  then: boolean;
}

const expected = (soon: Of["soon"]) => (soon?.memory.verdict === "expected" ? soon.memory : null);
const usualText = (u: Usual | null | undefined) =>
  u?.temperature_high_celsius == null
    ? ""
    : `, usually ${Math.round(u.temperature_low_celsius ?? u.temperature_high_celsius)} to ${celsius(u.temperature_high_celsius)} at this power`;

function Full({ soon }: { soon: Of["soon"] }) {
  const full = expected(soon);
  if (full?.seconds == null) return null;
  const who = full.process?.short_name ?? full.process?.name;
  return (
    <p class="lv warn full" title={full.reason}>
      VRAM full in about {duration(full.seconds)}
      {who ? `: ${who}` : ""}
    </p>
  );
}

/** "leased to alice until 18:00", "power limit 330 W until 08:00" */
function LeaseLabel({ g }: { g: Gpu }) {
  if (!g.leases?.length) return null;
  const text = g.leases.map(
    (l) => `${l.changes ?? `${l.reserved ? "reserved for" : "leased to"} ${l.user}`}${until(l.until)}`,
  );
  return <p class="leased">{text.join(", ")}</p>;
}

function Name({ g, picked }: { g: Gpu; picked: boolean }) {
  return (
    <h3>
      <button
        type="button"
        class="link"
        aria-pressed={picked}
        onClick={() => toggle(g.index)}
        title="Why, and its charts"
      >
        GPU {g.index}
      </button>{" "}
      <span class="name" title={g.name ?? ""}>
        {shortName(g.name, g.vendor ?? "")}
      </span>
    </h3>
  );
}

function Card({ g, why, health, soon, picked, then }: Of) {
  const judged = gpuLevel(g, health),
    waits = seemsBusy(g, judged),
    level: Level = waits && judged === "good" ? "idle" : judged,
    full = expected(soon),
    heat = areaLevel(g, "heat"),
    limit = g.temperature_limit_celsius;
  return (
    <article class={`tile panel ${level} ${picked ? "picked" : ""}`} aria-label={`GPU ${g.index}`}>
      <header>
        <Mark level={level} />
        <Name g={g} picked={picked} />
        <Chip g={g} why={why} health={health} level={level} />
      </header>
      <p class="doing" title={g.error_message ?? doing(g, then)}>
        {g.error_message ?? doing(g, then)}
      </p>
      <LeaseLabel g={g} />
      <Full soon={soon} />
      <div class="readings">
        <Ring g={g} waits={waits} />
        <dl>
          <dt>Temp</dt>
          <dd class="gauge">
            <Bar
              value={g.temperature_celsius}
              limit={(limit ?? 95) + 5}
              mark={limit}
              usual={why?.usual?.temperature_high_celsius}
              level={heat}
              label={`Temperature against its limit${usualText(why?.usual)}`}
            />
          </dd>
          <dd class={heat === "good" ? "" : `lv ${heat}`}>
            {value(g.temperature_celsius, celsius(g.temperature_celsius), g.absent.temperature_celsius)}
          </dd>
          <dt>Power</dt>
          <dd class="gauge">
            <Bar value={g.power_watts} limit={g.power_limit_watts} label="Power against its limit" />
          </dd>
          <dd>{value(g.power_watts, wattsOf(g.power_watts, g.power_limit_watts), g.absent.power_watts)}</dd>
          <dt>VRAM</dt>
          <dd class="gauge">
            <Bar
              value={g.memory_used_mb}
              limit={g.memory_total_mb}
              level={full ? "warn" : undefined}
              label={full ? "VRAM used; hatched: in an hour" : "VRAM used"}
              soon={
                full?.growth_mb_per_minute && g.memory_used_mb != null
                  ? g.memory_used_mb + 60 * full.growth_mb_per_minute
                  : null
              }
            />
          </dd>
          <dd>{value(g.memory_used_mb, memoryOf(g.memory_used_mb, g.memory_total_mb), g.absent.memory_used_mb)}</dd>
          <dt>Fan</dt>
          <dd class="gauge">
            <Bar value={g.fan_percent} limit={100} label="Fan" level={areaLevel(g, "fan")} />
          </dd>
          <dd>
            <Fan g={g} />
          </dd>
        </dl>
      </div>
    </article>
  );
}

/** A single GPU gets the full width, with its readings in a row. */
function Alone({ g, why, health, soon, then }: Of) {
  const level = gpuLevel(g, health);
  return (
    <article class={`tile alone panel ${level}`} aria-label={`GPU ${g.index}`}>
      <header>
        <Mark level={level} />
        <h3>
          GPU {g.index} <span class="name">{g.name}</span>
        </h3>
        <span class="doing">{g.error_message ?? doing(g, then)}</span>
        <Chip g={g} why={why} health={health} level={level} />
      </header>
      <LeaseLabel g={g} />
      <Full soon={soon} />
      <dl>
        {readings(g, why?.usual).map((r) => (
          <div key={r.name}>
            <dt>{r.name}</dt>
            <dd class="dim">{r.name === "Fan" ? "" : r.note}</dd>
            <dd class={`figure ${r.level === "good" ? "" : `lv ${r.level}`}`}>
              {r.name === "Fan" ? <Fan g={g} /> : value(r.value, r.text, g.absent[r.key])}
            </dd>
            <dd class="gauge">
              <Bar value={r.value} limit={r.limit} mark={r.mark} usual={r.usual} level={r.level} label={r.name} />
            </dd>
          </div>
        ))}
      </dl>
    </article>
  );
}

/** One of several: two lines. */
function Small({ g, why, health, soon, picked, then }: Of) {
  const judged = gpuLevel(g, health),
    waits = seemsBusy(g, judged),
    level: Level = waits && judged === "good" ? "idle" : judged,
    heat = areaLevel(g, "heat");
  return (
    <article class={`tile small panel ${level} ${picked ? "picked" : ""}`} aria-label={`GPU ${g.index}`}>
      <header>
        <Mark level={level} />
        <Name g={g} picked={picked} />
        <Chip g={g} why={why} health={health} level={level} />
      </header>
      <p class="doing" title={doing(g, then)}>
        {g.error_message ?? doing(g, then)}
      </p>
      <LeaseLabel g={g} />
      <Full soon={soon} />
      <Bar
        value={g.utilization_percent}
        limit={100}
        label={waits ? "Utilization; it waits" : "Utilization"}
        waits={waits}
      />
      <p class="line">
        <b class={waits ? "waits" : ""}>
          {percent(g.utilization_percent)}
          {waits && ` busy${g.sm_active_percent == null ? ", waiting" : `, ${percent(g.sm_active_percent)} at work`}`}
        </b>
        <span class={heat === "good" ? "" : `lv ${heat}`}>{celsius(g.temperature_celsius)}</span>
        <span>{watts(g.power_watts)}</span>
        <span>{memory(g.memory_used_mb)}</span>
      </p>
    </article>
  );
}

export function Gpus({
  gpus,
  why,
  health,
  forecast,
  picked,
  then,
}: {
  gpus: Gpu[];
  why: Why | null;
  health: GpuCondition[];
  forecast: Forecast | null;
  picked: number | null;
  then: boolean;
}) {
  // Present GPUs come first in the list; a lost one may have had the same index.
  const verdicts = useMemo(() => new Map([...health].reverse().map((h) => [h.gpu_index, h])), [health]);
  const levels = useMemo(() => new Map(gpus.map((g) => [g, gpuLevel(g, verdicts.get(g.index))])), [gpus, verdicts]);
  const of = useCallback(
    (g: Gpu): Of => ({
      g,
      why: why?.gpus.find((w) => w.gpu_index === g.index),
      health: verdicts.get(g.index),
      soon: forecast?.gpus.find((f) => f.gpu_index === g.index),
      picked: picked === g.index,
      then,
    }),
    [why, verdicts, forecast, picked, then],
  );
  if (!gpus.length) return null;
  const one = gpus.find((g) => g.index === picked);
  return (
    <section id="gpus" aria-labelledby="gpus-title">
      <h2 class="sr" id="gpus-title">
        {gpus.length === 1 ? "GPU" : `${gpus.length} GPUs`}
      </h2>
      {gpus.length >= DENSE ? (
        <>
          <HeatMap gpus={gpus} levels={levels} picked={picked} then={then} />
          {one && <Alone {...of(one)} />}
        </>
      ) : gpus.length === 1 ? (
        <Alone {...of(gpus[0]!)} />
      ) : (
        <div class={`tiles n${gpus.length <= CARDS ? gpus.length : "many"}`}>
          {gpus.map((g) =>
            gpus.length <= CARDS ? <Card key={g.index} {...of(g)} /> : <Small key={g.index} {...of(g)} />,
          )}
        </div>
      )}
    </section>
  );
}
