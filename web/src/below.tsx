// SPDX-License-Identifier: Apache-2.0
// Everything after the first paint, in a file of its own.
import { type ComponentChildren, type FunctionComponent } from "preact";
import { AlertsPanel, PastFindings } from "./alerts";
import { CapacityPanel } from "./capacity";
import { Charts } from "./charts";
import { EnergyPanel } from "./energy";
import { GuardPanel } from "./guard";
import { LeasesPanel } from "./leases";
import { now } from "./clock";
import { RangeProcesses as RangeParts } from "./lives";
import { memo } from "./memo";
import { Processes } from "./processes";
import { SettingsPanel } from "./settings";
import type { State } from "./store";
import { Rail as RailParts } from "./strip";
import { Timeline as TimelineParts } from "./timeline";
import type { Gpu } from "./types";

export { savePage } from "./share";

/** Redraws a part only when the state that it uses changes, not with every sample. */
function when<P extends { s: State }>(
  part: (props: P) => ComponentChildren,
  looksAt: (keyof State)[],
  tick = (_: State) => 0,
) {
  return memo(
    part as FunctionComponent<P>,
    (a, b) =>
      Object.keys(b).every((k) => k === "s" || a[k as keyof P] === b[k as keyof P]) &&
      looksAt.every((k) => a.s[k] === b.s[k]) &&
      tick(a.s) === tick(b.s),
  ) as FunctionComponent<P>;
}

const EVERY = 10e3,
  APART = 1.7e3; // ms
let slow = 0;

/** Parts that show elapsed time also redraw every 10 seconds; each with another sample, so that none takes long. */
function slowly<P extends { s: State }>(part: (props: P) => ComponentChildren, ...looksAt: (keyof State)[]) {
  const phase = APART * slow++;
  return when(part, looksAt, (s) => Math.floor(((s.sampleAt ?? 0) + phase) / EVERY));
}

export const Rail = slowly(RailParts, "place", "link", "history");
const RangeProcesses = slowly(RangeParts, "place", "view", "link", "history"),
  Past = slowly(TimelineParts, "place", "view", "link", "history"),
  Alerts = slowly(AlertsPanel, "alerts", "notifiers", "findings", "session", "place", "view", "why"),
  Leases = slowly(LeasesPanel, "place", "link"),
  Guard = slowly(GuardPanel, "workers", "session"),
  Capacity = slowly(CapacityPanel, "link"),
  Earlier = slowly(PastFindings, "place", "view", "link", "history"),
  Energy = slowly(EnergyPanel, "place", "view", "link", "history"),
  Settings = memo(SettingsPanel);

export function Below({ s, gpus }: { s: State; gpus: Gpu[] }) {
  const then = s.place.at != null;
  return (
    <>
      <Charts s={s} />
      {(s.place.from == null || then) && gpus.length > 0 && (
        <Processes
          s={s}
          gpus={gpus}
          lives={then ? NONE : (s.lives.value ?? NONE)}
          now={s.place.at ?? s.sampleAt ?? now()}
          why={then ? (s.past.value?.why ?? null) : s.why.value}
          then={then}
        />
      )}
      {s.place.from != null && !then && s.history && <RangeProcesses s={s} />}
      <Leases s={s} />
      <Past s={s} />
    </>
  );
}

const NONE: never[] = [];

export function Side({ s }: { s: State }) {
  if (s.place.at != null || s.place.from != null)
    return (
      <div class="side">
        <Earlier s={s} />
        <Energy s={s} />
      </div>
    );
  return (
    <div class="side">
      <Alerts s={s} />
      <Energy s={s} />
      <Guard s={s} />
      <Capacity s={s} />
      <Settings />
    </div>
  );
}
