// SPDX-License-Identifier: Apache-2.0
// Beside the table of all hosts: where VRAM is free, who uses how much, and what it costs.
import { useState } from "preact/hooks";
import { DASH, energy, memory, parseSize, percent, watts } from "./format";
import { type Bill, type Fleet, type FleetHost, fitting, freest } from "./hosts";
import { Scroll, Section } from "./parts";

const PLACES = 10;

export function Fit({ hosts }: { hosts: FleetHost[] }) {
  const [text, setText] = useState("");
  const bytes = parseSize(text),
    mb = bytes == null ? null : bytes / 2 ** 20;
  const found = mb ? fitting(hosts, mb) : [],
    most = freest(hosts);
  return (
    <Section id="fit" title="Free VRAM" fold>
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

export function Who({ fleet }: { fleet: Fleet }) {
  const [by, setBy] = useState<"user" | "container">("user");
  const list = (by === "user" ? fleet.by_user.users : fleet.by_container.containers) ?? [],
    bill = by === "user" && fleet.energy_by_user?.energy_joules ? fleet.energy_by_user : null;
  const spent = new Map(bill?.users?.map((u) => [u.user ?? null, u]) ?? []),
    priced = !!bill && bill.price_per_kwh > 0;
  return (
    <Section
      id="who"
      fold
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

export function Energy({ bill }: { bill: Bill | null }) {
  if (!bill?.energy_joules) return null; // nothing measured
  const cost = bill.price_per_kwh > 0 ? (bill.energy_joules / 3.6e6) * bill.price_per_kwh : null;
  return (
    <Section id="spent" title="Energy, last 24 h" fold>
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
