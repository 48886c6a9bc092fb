// SPDX-License-Identifier: Apache-2.0
// Who is on the GPUs: a table to sort, filter and group; cards on a phone.
import { memo } from "./memo";
import { useMemo, useState } from "preact/hooks";
import { DASH, duration, memory, percent, watts } from "./format";
import { filtered, grouped, type GroupKey, type Row, rows, sorted, type SortKey } from "./model";
import { Scroll, Section, value } from "./parts";
import type { Gpu, Life } from "./types";

const COLUMNS: { key: SortKey; name: string; number?: boolean }[] = [
  { key: "gpu", name: "GPU", number: true },
  { key: "name", name: "Process" },
  { key: "user", name: "User" },
  { key: "pid", name: "PID", number: true },
  { key: "memory_mb", name: "VRAM", number: true },
  { key: "utilization_percent", name: "Util", number: true },
  { key: "power_watts", name: "Power", number: true },
];
const SHOWN_MAX = 200;
const sameMinute = (a: number, b: number) => Math.floor(a / 60e3) === Math.floor(b / 60e3);

/** What a line shows of a process; reasons for what is absent are compared apart. */
const SHOWN = [
  "gpu",
  "pid",
  "name",
  "model",
  "container",
  "command",
  "user",
  "type",
  "memory_mb",
  "utilization_percent",
  "power_watts",
  "started_at",
] as const;
const sameRow = (a: Row, b: Row) =>
  SHOWN.every((k) => a[k] === b[k]) && SHOWN.every((k) => a.absent?.[k] === b.absent?.[k]);

const Line = memo(
  function Line({ r, now, life }: { r: Row; now: number; life?: Life }) {
    const age = r.started_at ? (now - Date.parse(r.started_at)) / 1000 : null;
    const seen = life ? (Date.parse(life.last_seen) - Date.parse(life.first_seen)) / 1000 : 0;
    const idle =
      seen >= 1800 && (life?.utilization_mean_percent ?? 1) < 0.5 && (r.memory_mb ?? 0) >= 512 && r.type !== "graphics";
    return (
      <tr>
        <td class="n" data-name="GPU">
          {r.gpu}
        </td>
        <td class="process" data-name="Process">
          <b>{r.name ?? DASH}</b> {r.model && <span class="badge">{r.model.replace(/^.*\//, "")}</span>}{" "}
          {r.container && (
            <span class="badge" title="Container">
              {r.container}
            </span>
          )}{" "}
          {idle && (
            <span class="badge warn" title="It did nothing in the last hour">
              held {duration(seen)}, did nothing
            </span>
          )}
          <div class="command-line" title={r.command ?? ""}>
            {r.command ?? ""}
          </div>
        </td>
        <td data-name="User">{r.user ?? DASH}</td>
        <td class="n" data-name="PID">
          {r.pid}
        </td>
        <td class="n" data-name="VRAM">
          {value(r.memory_mb, memory(r.memory_mb), r.absent?.memory_mb)}
        </td>
        <td class="n" data-name="Util">
          {value(r.utilization_percent, percent(r.utilization_percent), r.absent?.utilization_percent)}
        </td>
        <td class="n" data-name="Power">
          {value(r.power_watts, watts(r.power_watts), r.absent?.power_watts ?? (r.absent ? undefined : "not stored"))}
        </td>
        <td class="n" data-name="Age">
          {age == null ? DASH : duration(age)}
        </td>
      </tr>
    );
  },
  (a, b) => sameRow(a.r, b.r) && a.life === b.life && sameMinute(a.now, b.now),
);

function List({
  gpus,
  picked,
  pick,
  now,
  lives,
}: {
  gpus: Gpu[];
  lives: Life[];
  picked: number | null;
  pick: (i: number | null) => void;
  now: number;
}) {
  const [key, setKey] = useState<SortKey>("memory_mb");
  const [down, setDown] = useState(true);
  const [query, setQuery] = useState("");
  const [group, setGroup] = useState<GroupKey>("");
  const shown = picked == null ? gpus : gpus.filter((g) => g.index === picked),
    all = rows(shown);
  const list = sorted(filtered(all, query), key, down);
  const sort = (k: SortKey, number?: boolean) => {
    setDown(k === key ? !down : !!number && k !== "gpu");
    setKey(k);
  };
  const hidden = shown.reduce((n, g) => n + g.processes_hidden, 0),
    left = shown.reduce((n, g) => n + g.processes_left_out, 0);
  const groups = group ? grouped(list, group) : null;
  const lived = useMemo(() => new Map(lives.map((l) => [`${l.gpu_index}-${l.pid}`, l])), [lives]);
  return (
    <Section
      id="processes"
      title={`${list.length} process${list.length === 1 ? "" : "es"}${picked == null ? "" : ` on GPU ${picked}`}`}
      side={
        <div class="controls">
          {picked != null && (
            <button type="button" onClick={() => pick(null)}>
              All GPUs
            </button>
          )}
          <label class="control">
            Group by{" "}
            <select value={group} onChange={(e) => setGroup(e.currentTarget.value as GroupKey)}>
              <option value="">nothing</option>
              <option value="user">user</option>
              <option value="container">container</option>
              <option value="model">model</option>
            </select>
          </label>
          <label class="control">
            Filter{" "}
            <input
              type="search"
              value={query}
              placeholder="python3 user:alice"
              onInput={(e) => setQuery(e.currentTarget.value)}
            />
          </label>
        </div>
      }
    >
      {!list.length ? (
        <p class="dim">{query ? `No process matches “${query}”.` : "No processes."}</p>
      ) : groups ? (
        <Scroll label="Processes">
          <table>
            <thead>
              <tr>
                <th scope="col">{group[0]!.toUpperCase() + group.slice(1)}</th>
                <th scope="col" class="n">
                  Processes
                </th>
                <th scope="col" class="n">
                  VRAM
                </th>
                <th scope="col" class="n">
                  Util
                </th>
                <th scope="col" class="n">
                  Power
                </th>
              </tr>
            </thead>
            <tbody>
              {groups.map((g) => (
                <tr key={g.name}>
                  <th scope="row">{g.name}</th>
                  <td class="n">{g.rows.length}</td>
                  <td class="n">{memory(g.memory_mb)}</td>
                  <td class="n">{percent(g.utilization_percent)}</td>
                  <td class="n">{watts(g.power_watts)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <Scroll label="Processes">
          <table class="cards">
            <thead>
              <tr>
                {COLUMNS.map((c) => (
                  <th
                    key={c.key}
                    scope="col"
                    class={c.number ? "n" : ""}
                    aria-sort={key === c.key ? (down ? "descending" : "ascending") : "none"}
                  >
                    <button type="button" class="link" onClick={() => sort(c.key, c.number)}>
                      {c.name}
                      <span aria-hidden="true">{key === c.key ? (down ? " ↓" : " ↑") : ""}</span>
                    </button>
                  </th>
                ))}
                <th scope="col" class="n">
                  Age
                </th>
              </tr>
            </thead>
            <tbody>
              {list.slice(0, SHOWN_MAX).map((r) => (
                <Line key={`${r.gpu}-${r.pid}`} r={r} now={now} life={lived.get(`${r.gpu}-${r.pid}`)} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {list.length > SHOWN_MAX && !groups && <p class="dim">{list.length - SHOWN_MAX} more; the filter finds them.</p>}
      {left > 0 && <p class="dim">{left} more than whirr lists for one GPU.</p>}
      {hidden > 0 && (
        <p class="dim">{hidden} more can't be seen from here: they belong to other users or containers.</p>
      )}
    </Section>
  );
}

/** Samples bring no processes: the table is drawn again when the list is another one, and once a minute for the ages. */
export const Processes = memo(
  List,
  (a, b) =>
    a.picked === b.picked &&
    a.lives === b.lives &&
    sameMinute(a.now, b.now) &&
    a.gpus.length === b.gpus.length &&
    a.gpus.every((g, i) => g.processes === b.gpus[i]!.processes),
);
