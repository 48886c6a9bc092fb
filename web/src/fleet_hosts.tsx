// SPDX-License-Identifier: Apache-2.0
// The table of all hosts: worst first, one square per GPU, so that hundreds fit on a screen.
import { useState } from "preact/hooks";
import { celsius, DASH, memoryOf, percent, shortName, tied, watts } from "./format";
import {
  type FleetGpu,
  type FleetHost,
  hasRoom,
  type HostOrder,
  hostsShown,
  troubleLevel,
  troubleText,
  type TroubleFilter,
} from "./hosts";
import { memo } from "./memo";
import { Choice, Mark, Scroll, Search, Section, SortHead } from "./parts";
import { useSlice } from "./slice";

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

/** Its name, linked to its own page if that is known. */
function Name({ host, page, ...more }: { host: string; page?: string; class?: string; tabIndex?: number }) {
  return page ? (
    <a href={page} title="Its own page" {...more}>
      {host}
    </a>
  ) : (
    <b {...more}>{host}</b>
  );
}

const Host = memo(function Host({ h, page }: { h: FleetHost; page?: string }) {
  const level = troubleLevel(h),
    silent = h.trouble === "silent";
  const last = h.last_known,
    of = last ?? h;
  const numbers = [
    percent(of.utilization_percent),
    memoryOf(of.memory_used_mb, of.memory_total_mb),
    celsius(of.temperature_celsius),
    watts(of.power_watts),
  ];
  const models = [...new Set(h.gpus.map((g) => g.name).filter(Boolean))];
  return (
    <tr>
      <th scope="row">
        <Mark level={level} label={h.trouble.replace("_", " ")} /> <Name host={h.host} page={page} />
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
      {numbers.map((text) => (
        <td class={last ? "n dim" : "n"} title={last ? "Its last number" : undefined}>
          {last && text !== DASH ? `(${text})` : text}
        </td>
      ))}
    </tr>
  );
});

/** A host without problems: its name and one square per GPU. */
const Small = memo(function Small({ h, page }: { h: FleetHost; page?: string }) {
  const text = `${h.host}: ${percent(h.utilization_percent)}, ${memoryOf(h.memory_used_mb, h.memory_total_mb)}, ${celsius(h.temperature_celsius)}, ${watts(h.power_watts)}`;
  return (
    <li title={text}>
      <span class="sr">{text}</span>
      <span class="who" aria-hidden="true">
        <Name host={h.host} page={page} tabIndex={-1} />
      </span>
      <span class="squares" aria-hidden="true">
        {h.gpus.map((g) => (
          <Square key={g.uuid ?? g.gpu_index} g={g} />
        ))}
      </span>
    </li>
  );
});

/** Makes columns wide enough for the longest name and the most GPUs. */
function roomFor(hosts: FleetHost[]): Record<string, string> {
  const most = (of: (h: FleetHost) => number, limit: number) =>
    hosts.reduce((n, h) => Math.max(n, Math.min(of(h), limit)), 1);
  return { "--name": `${most((h) => h.host.length, 24)}ch`, "--gpus": String(most((h) => h.gpus.length, 16)) };
}

const FEW = 60, // hosts: beyond that, those without problems become squares
  VIRTUAL = 80;

const COLUMNS: [HostOrder, string][] = [
  ["utilization_percent", "Util"],
  ["memory_used_mb", "VRAM"],
  ["temperature_celsius", "Hottest"],
  ["power_watts", "Power"],
];

export function Hosts({ hosts, pages }: { hosts: FleetHost[]; pages: Map<string, string> }) {
  const [only, setOnly] = useState<TroubleFilter>("");
  const [query, setQuery] = useState("");
  const [order, setOrder] = useState<HostOrder>("");
  const [figures, setFigures] = useState<boolean | null>(null);
  const every = figures ?? (hosts.length <= FEW || order !== "");
  const list = hostsShown(hosts, only, query, order),
    rows = every ? list : list.filter((h) => h.trouble !== "fine"),
    small = every ? [] : list.filter((h) => h.trouble === "fine");
  const slice = useSlice(rows.length > VIRTUAL, rows.length, 45);
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
          <Search value={query} say={setQuery} label="Filter hosts" placeholder="gpu17 H100" />
        </div>
      }
    >
      {rows.length > 0 && (
        <Scroll label="Table of hosts">
          <table class="hosts" aria-rowcount={rows.length + 1}>
            <thead>
              <tr>
                <SortHead
                  name="Host"
                  sorted={order === "host" ? "ascending" : "none"}
                  sort={() => setOrder(order === "host" ? "" : "host")}
                />
                <th scope="col">GPUs</th>
                <th scope="col">What it says</th>
                {COLUMNS.map(([by, name]) => (
                  <SortHead
                    key={by}
                    name={name}
                    number
                    sorted={order === by ? "descending" : "none"}
                    sort={() => setOrder(order === by ? "" : by)}
                  />
                ))}
              </tr>
            </thead>
            <tbody ref={slice.box}>
              {slice.above > 0 && <tr style={{ height: `${slice.above}px` }} aria-hidden="true" />}
              {rows.slice(slice.start, slice.end).map((h) => (
                <Host key={h.host} h={h} page={pages.get(h.host)} />
              ))}
              {slice.below > 0 && <tr style={{ height: `${slice.below}px` }} aria-hidden="true" />}
            </tbody>
          </table>
        </Scroll>
      )}
      {small.length > 0 && (
        <ul class="map" style={roomFor(small)} aria-label="Hosts with no trouble seen, the busiest first">
          {small.map((h) => (
            <Small key={h.host} h={h} page={pages.get(h.host)} />
          ))}
        </ul>
      )}
      {!list.length && <p class="dim">No host matches.</p>}
    </Section>
  );
}
