// SPDX-License-Identifier: Apache-2.0
// Who has which GPU, who waits, and changed settings, with their times. Nothing without leases.
import { useAsked } from "./asked";
import { now as hostNow } from "./clock";
import { clock, until } from "./format";
import { Section } from "./parts";
import type { State } from "./store";
import { Ticks } from "./strip";
import { placed } from "./timeline";
import type { Lease } from "./api";

const HOUR = 3600e3,
  BEFORE = 6 * HOUR,
  AFTER = 24 * HOUR; // visible part of long ones

const KINDS: Record<Lease["kind"], string> = {
  run: "running",
  wait: "given away",
  reserve: "reserved",
  setting: "settings",
};

function what(l: Lease, now: number): string {
  if (l.state === "waiting") return "waits";
  if (Date.parse(l.from) > now) return "to come";
  return l.idle_since ? "reserved, idle" : KINDS[l.kind];
}

const changes = (l: Lease) => l.settings.map((x) => x.what.replaceAll("_", " ")).join(", ");

function LeaseRow({ l, w, now }: { l: Lease; w: { from: number; to: number }; now: number }) {
  const span = {
    from: Math.max(w.from, Date.parse(l.from)),
    to: l.until ? Math.min(w.to, Date.parse(l.until)) : w.to,
  };
  const gpus = l.state === "waiting" ? `${l.gpus_wanted} of any` : l.gpus.map((g) => g.gpu_index).join(", "),
    about = l.note ?? (l.kind === "setting" ? changes(l) : l.command) ?? "";
  const text = `${l.user}: GPU ${gpus}, ${what(l, now)} since ${clock(Date.parse(l.from))}${until(l.until)}${about ? `, ${about}` : ""}`;
  return (
    <li title={text}>
      <span class="who">
        <b>{l.user}</b>{" "}
        <span>
          {what(l, now)}
          {until(l.until)}
          {about && <span class="dim"> {about}</span>}
        </span>{" "}
        <span class="dim">GPU {gpus}</span>
      </span>
      <span class="lane">
        {l.state !== "waiting" && (
          <span class={`life ${l.idle_since ? "idle" : ""}`} style={placed(span, w)} role="img" aria-label={text} />
        )}
      </span>
    </li>
  );
}

export function LeasesPanel({ s }: { s: State }) {
  const tick = Math.floor((s.sampleAt ?? 0) / 10e3),
    held = (s.gpus ?? []).flatMap((g) => (g.leases ?? []).map((l) => l.id)).join();
  const leases = useAsked<{ leases: Lease[] }>("/api/leases", s.link === "live", `${tick} ${held}`).value?.leases ?? [];
  if (!leases.length || s.place.at != null || s.place.from != null) return null;
  const now = s.sampleAt ?? hostNow(),
    ends = leases.map((l) => (l.until ? Date.parse(l.until) : 0));
  const w = {
    from: Math.max(now - BEFORE, Math.min(now - HOUR, ...leases.map((l) => Date.parse(l.from)))),
    to: Math.min(now + AFTER, Math.max(now + HOUR, ...ends)),
  };
  return (
    <Section id="leases" title="Leases" fold note={`${clock(w.from)} to ${clock(w.to)}`}>
      <div class="lanebox">
        <ul class="plain lanes">
          {leases.map((l) => (
            <LeaseRow key={l.id} l={l} w={w} now={now} />
          ))}
        </ul>
        <div class="laneaxis">
          <span class="who" />
          <Ticks from={w.from} to={w.to} most={10} />
        </div>
      </div>
    </Section>
  );
}
