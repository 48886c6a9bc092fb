// SPDX-License-Identifier: Apache-2.0
// The GPUs: a tile each, and from 16 on a heat map with the tiles of those that matter.
import { type Dispatch, type StateUpdater, useCallback, useMemo, useState } from "preact/hooks";
import { absence, celsius, DASH, duration, memory, memoryOf, percent, shortName, wattsOf } from "./format";
import { memo } from "./memo";
import { areaLevel, gpuLevel, type Level, slowedBy, sparkline, throttling, worse } from "./model";
import { Bar, Mark, Section, value } from "./parts";
import type { Forecast, Gpu, HealthVerdict, History, Series, Usual, Why } from "./types";

const LEVELS: Record<Level, number> = { bad: 0, warn: 1, good: 2, idle: 3 };

const Spark = memo(function Spark({
  series,
  from,
  to,
  label,
}: {
  series: Series | undefined;
  from: number;
  to: number;
  label: string;
}) {
  const values = series?.metrics.find((m) => m.name === "utilization_percent")?.mean;
  const path = series && values ? sparkline(series.times, values, from, to, 100, 300, 40) : "";
  return (
    <figure class="spark">
      <svg
        viewBox="0 -1 300 42"
        preserveAspectRatio="none"
        role="img"
        aria-label={path ? `Utilization, ${label}` : "No history"}
      >
        <path d="M0 40H300" class="axis" />
        <path d={path} />
      </svg>
      <figcaption>{path ? label : "no history"}</figcaption>
    </figure>
  );
});

function activity(g: Gpu): string {
  if (g.state !== "ok") return g.state;
  const top = [...g.processes].sort(
    (a, b) => (b.utilization_percent ?? 0) - (a.utilization_percent ?? 0) || (b.memory_mb ?? 0) - (a.memory_mb ?? 0),
  )[0];
  const u = g.utilization_percent;
  const how = g.activity
    ? g.activity.words
    : u == null
      ? "utilization unknown"
      : u < 5
        ? "idle"
        : u < 50
          ? "lightly loaded"
          : "busy";
  if (!top) return how;
  const who = top.container_name ?? top.container ?? top.user;
  const what = `${top.short_name ?? top.name ?? top.pid}${who ? ` (${who})` : ""}`;
  if (g.activity) return g.activity.code === "idle" ? how : `${how}: ${what}`;
  return u != null && u < 5 && (top.memory_mb ?? 0) > 512
    ? `idle, ${what} holds ${memory(top.memory_mb)}`
    : `${how}: ${what}`;
}

function fanText(g: Gpu): string {
  const parts = [];
  if (g.fan_percent != null) parts.push(g.fan_percent === 0 && !g.fan_rpm ? "off" : percent(g.fan_percent));
  if (g.fan_rpm) parts.push(`${Math.round(g.fan_rpm)}\u00a0rpm`);
  return parts.join(", ") || DASH;
}

/** The health as a word, whatever it is; nothing where it repeats the state. */
function HealthBadge({ g, health }: { g: Gpu; health?: HealthVerdict }) {
  if (!health || health.state === g.state) return null;
  const level =
    health.state === "degraded" ? "warn" : health.state === "failing" || health.state === "lost" ? "bad" : "";
  return (
    <span class={`badge ${level}`} title={health.reason}>
      {health.state}
    </span>
  );
}

export function Tile({
  g,
  health,
  series,
  from,
  to,
  soon,
  usual,
  advised,
  picked,
  pick,
  mixed,
  then,
  stored,
}: {
  g: Gpu;
  stored: boolean;
  mixed: boolean;
  then: boolean;
  health?: HealthVerdict;
  usual?: Usual | null;
  advised?: string;
  series?: Series;
  from: number;
  to: number;
  soon?: Forecast["gpus"][number];
  picked: boolean;
  pick: () => void;
}) {
  const level = gpuLevel(g, health);
  const slow = throttling(slowedBy(g)),
    slowed = ["clocks", "heat", "power"].map((area) => areaLevel(g, area)).reduce(worse);
  const t = g.temperature_celsius,
    limit = g.temperature_limit_celsius;
  const fan = areaLevel(g, "fan"),
    found = g.finding && level !== "good" && level !== "idle" ? g.finding : null;
  const low = usual?.temperature_low_celsius,
    high = usual?.temperature_high_celsius;
  const band = low != null && high != null ? ([low, high] as [number, number]) : null;
  const bandText = band ? `, usually ${Math.round(band[0])} to ${celsius(band[1])} at this power` : "";
  const grows = soon?.memory.verdict === "expected" ? soon.memory.growth_mb_per_minute : null;
  const full =
    soon?.memory.verdict === "expected" && soon.memory.seconds != null
      ? `full in about ${duration(soon.memory.seconds)}`
      : null;
  return (
    <article class={`tile ${level}`} aria-label={`GPU ${g.index}`}>
      <header>
        <Mark level={level} />
        <h3>
          <button type="button" class="link" aria-pressed={picked} onClick={pick} title="Show only this GPU below">
            GPU {g.index}
          </button>{" "}
          <span class="name" title={g.name ?? ""}>
            {shortName(g.name, g.vendor)}
          </span>
        </h3>
        {g.simulated && mixed && (
          <span class="badge" title="Not a real GPU: whirr simulates it">
            simulated
          </span>
        )}
        {g.state !== "ok" && <span class={`badge ${level}`}>{g.state}</span>}
        <HealthBadge g={g} health={health} />
      </header>
      <p class="doing" title={activity(g)}>
        {g.error_message ?? activity(g)}
      </p>
      <dl>
        <div>
          <dt>Util</dt>
          <dd>{value(g.utilization_percent, percent(g.utilization_percent), g.absent.utilization_percent)}</dd>
          <dd class="gauge">
            <Bar value={g.utilization_percent} limit={100} label="Utilization" />
          </dd>
        </div>
        <div>
          <dt>VRAM</dt>
          <dd>{value(g.memory_used_mb, memoryOf(g.memory_used_mb, g.memory_total_mb), g.absent.memory_used_mb)}</dd>
          <dd class="gauge">
            <Bar
              value={g.memory_used_mb}
              limit={g.memory_total_mb}
              level={full ? "warn" : undefined}
              label={full ? `VRAM used, ${full}; hatched: in an hour` : "VRAM used"}
              soon={grows && g.memory_used_mb != null ? g.memory_used_mb + 60 * grows : null}
            />
          </dd>
        </div>
        <div>
          <dt>Temp</dt>
          <dd>
            {value(
              t,
              limit == null ? celsius(t) : `${Math.round(t ?? 0)}/${celsius(limit)}`,
              g.absent.temperature_celsius,
            )}
          </dd>
          <dd class="gauge">
            <Bar
              value={t}
              limit={limit ?? 100}
              level={areaLevel(g, "heat")}
              label={`Temperature against its limit${bandText}`}
              usual={band}
            />
          </dd>
        </div>
        <div>
          <dt>Power</dt>
          <dd>{value(g.power_watts, wattsOf(g.power_watts, g.power_limit_watts), g.absent.power_watts)}</dd>
          <dd class="gauge">
            <Bar value={g.power_watts} limit={g.power_limit_watts} label="Power against its limit" />
          </dd>
        </div>
        <div class="notes">
          <dt>Fan</dt>
          <dd class={fan === "good" ? undefined : `lv ${fan}`}>
            {value(g.fan_percent ?? g.fan_rpm, fanText(g), g.absent.fan_percent)}
          </dd>
          <dd class="gauge">
            <Bar value={g.fan_percent} limit={100} label="Fan" />
          </dd>
        </div>
        <div class="notes">
          <dt>Throttling</dt>
          <dd class={slow && slowed !== "good" ? `lv ${slowed}` : "dim"}>
            {slow ??
              (slowedBy(g) && g.state === "ok"
                ? "none"
                : value(null, "", g.absent.throttle_reasons ?? (then ? "not stored" : g.state)))}
          </dd>
        </div>
      </dl>
      {usual?.too_hot && band && (
        <p class="lv warn">
          Hotter than usual: {Math.round(band[0])} to {celsius(band[1])} at this power.
        </p>
      )}
      {full && (
        <p class="lv warn" title={soon!.memory.reason}>
          VRAM {full}.
        </p>
      )}
      {found ? (
        <p class={`lv ${level}`}>
          {found.headline}. {advised ?? ""}
        </p>
      ) : (
        then && health && level !== "good" && level !== "idle" && <p class={`lv ${level}`}>{health.reason}</p>
      )}
      {stored && <Spark series={series} from={from} to={to} label={then ? "the hour before" : "last hour"} />}
    </article>
  );
}

const HEAT = {
  utilization_percent: { name: "Utilization", text: percent, share: (g: Gpu) => (g.utilization_percent ?? 0) / 100 },
  memory_used_mb: { name: "VRAM", text: memory, share: (g: Gpu) => (g.memory_used_mb ?? 0) / (g.memory_total_mb || 1) },
  temperature_celsius: {
    name: "Temperature",
    text: celsius,
    share: (g: Gpu) => ((g.temperature_celsius ?? 30) - 30) / ((g.temperature_limit_celsius ?? 95) - 30),
  },
  power_watts: {
    name: "Power",
    text: (v: number | null | undefined) => (v == null ? DASH : `${Math.round(v)} W`),
    share: (g: Gpu) => (g.power_watts ?? 0) / (g.power_limit_watts || 1),
  },
};

/** One of many: drawn again only when what it says changes. Its title has nothing that changes with a sample. */
const Cell = memo(function Cell({
  index,
  step,
  level,
  text,
  word,
  title,
  picked,
  toggle,
}: {
  index: number;
  step: number;
  level: Level;
  text: string;
  word: boolean;
  title: string;
  picked: boolean;
  toggle: (i: number) => void;
}) {
  return (
    <button
      type="button"
      class={`cell ${step < 0 ? "none" : `h${step}`} ${level}`}
      aria-pressed={picked}
      onClick={() => toggle(index)}
      title={title}
    >
      <span>
        {level === "bad" || level === "warn" ? <Mark level={level} /> : null} {index}
      </span>
      <b class={word ? "word" : undefined}>{text}</b>
    </button>
  );
});

function HeatMap({
  gpus,
  levels,
  picked,
  toggle,
}: {
  gpus: Gpu[];
  levels: Map<Gpu, Level>;
  picked: number | null;
  toggle: (i: number) => void;
}) {
  const [metric, setMetric] = useState<keyof typeof HEAT>("utilization_percent");
  const heat = HEAT[metric];
  return (
    <>
      <label class="control">
        Color by{" "}
        <select value={metric} onChange={(e) => setMetric(e.currentTarget.value as keyof typeof HEAT)}>
          {Object.entries(HEAT).map(([key, h]) => (
            <option key={key} value={key}>
              {h.name}
            </option>
          ))}
        </select>
      </label>
      <div class="heat" role="group" aria-label={`${heat.name} of all GPUs`}>
        {gpus.map((g) => {
          const known = g[metric] != null,
            name = `GPU ${g.index} ${g.name ?? ""}`;
          return (
            <Cell
              key={g.index}
              index={g.index}
              level={levels.get(g)!}
              step={known ? Math.max(0, Math.min(9, Math.floor(heat.share(g) * 10))) : -1}
              picked={picked === g.index}
              toggle={toggle}
              text={g.state === "ok" ? heat.text(g[metric]) : g.state}
              word={g.state !== "ok"}
              title={known ? name : `${name}: ${absence(g.absent[metric])}`}
            />
          );
        })}
      </div>
    </>
  );
}

export function Gpus({
  gpus,
  why,
  health,
  hour,
  stored,
  forecast,
  picked,
  pick,
  then,
}: {
  gpus: Gpu[];
  why: Why | null;
  health: HealthVerdict[];
  hour: History | null;
  stored: boolean;
  forecast: Forecast | null;
  picked: number | null;
  pick: Dispatch<StateUpdater<number | null>>;
  then: boolean;
}) {
  const [worst, setWorst] = useState(false);
  const dense = gpus.length >= 16;
  // GPUs that are there come first in the list; one that is gone may have had the same index.
  const verdicts = useMemo(() => new Map([...health].reverse().map((h) => [h.gpu_index, h])), [health]);
  const of = (g: Gpu) => verdicts.get(g.index);
  const levels = useMemo(() => new Map(gpus.map((g) => [g, gpuLevel(g, verdicts.get(g.index))])), [gpus, verdicts]);
  const from = hour ? Date.parse(hour.since) / 1000 : 0,
    to = hour ? Date.parse(hour.until) / 1000 : 1;
  const rank = (g: Gpu) => LEVELS[levels.get(g)!];
  const worstFirst = (list: Gpu[]) =>
    [...list].sort((a, b) => rank(a) - rank(b) || (b.utilization_percent ?? -1) - (a.utilization_percent ?? -1));
  let shown = worst && !dense ? worstFirst(gpus) : gpus;
  if (dense)
    // the one that was picked, then those that need attention
    shown = [
      ...gpus.filter((g) => g.index === picked),
      ...worstFirst(gpus.filter((g) => rank(g) < 2))
        .slice(0, 8)
        .filter((g) => g.index !== picked),
    ];
  const toggle = useCallback((i: number) => pick((before) => (before === i ? null : i)), [pick]);
  if (!gpus.length) return null;
  return (
    <Section
      id="gpus"
      title={gpus.length === 1 ? "GPU" : `${gpus.length} GPUs`}
      side={
        gpus.length > 1 && !dense ? (
          <label class="control">
            <input type="checkbox" checked={worst} onChange={(e) => setWorst(e.currentTarget.checked)} /> Worst first
          </label>
        ) : null
      }
    >
      {dense && <HeatMap gpus={gpus} levels={levels} picked={picked} toggle={toggle} />}
      <div class="tiles">
        {shown.map((g) => (
          <Tile
            key={g.index}
            g={g}
            health={of(g)}
            series={
              hour?.series.find((x) => x.gpu_index === g.index && (!g.uuid || !x.gpu_uuid || x.gpu_uuid === g.uuid)) ??
              hour?.series.find((x) => x.gpu_index === g.index)
            }
            from={from}
            to={to}
            soon={then ? undefined : forecast?.gpus.find((f) => f.gpu_index === g.index)}
            usual={why?.gpus.find((w) => w.gpu_index === g.index)?.usual}
            advised={then ? undefined : why?.gpus.find((w) => w.gpu_index === g.index)?.suggestions[0]}
            picked={picked === g.index}
            pick={() => toggle(g.index)}
            then={then}
            stored={stored}
            mixed={!gpus.every((x) => x.simulated)}
          />
        ))}
      </div>
      {dense && !shown.length && <p class="dim">Select a GPU to see all of it.</p>}
    </Section>
  );
}
