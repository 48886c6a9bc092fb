// SPDX-License-Identifier: Apache-2.0
// What is below the first screen. It comes in a file of its own, after the first paint.
import { type ComponentChildren, type FunctionComponent } from "preact";
import { memo } from "./memo";
import { AlertsPanel } from "./alerts";
import { CapacityPanel } from "./capacity";
import { Charts } from "./charts";
import { EnergyPanel } from "./energy";
import { GuardPanel } from "./guard";
import { HealthPanel } from "./health";
import { Lifelines } from "./lifelines";
import { Processes } from "./processes";
import { SettingsPanel } from "./settings";
import type { State } from "./store";
import { Timeline } from "./timeline";
import type { Gpu } from "./types";

/** Not drawn with every sample: only when what it looks at is another thing. */
function when<P extends { s: State }>(
  part: (props: P) => ComponentChildren,
  looksAt: (keyof State)[],
  tick = (_: State) => 0,
) {
  const steady = ["s", "gpus"]; // GPUs change with every sample
  return memo(
    part as FunctionComponent<P>,
    (a, b) =>
      Object.keys(b).every((k) => steady.includes(k) || a[k as keyof P] === b[k as keyof P]) &&
      looksAt.every((k) => a.s[k] === b.s[k]) &&
      tick(a.s) === tick(b.s),
  ) as FunctionComponent<P>;
}

const EVERY = 10e3,
  APART = 1.7e3; // ms
let slow = 0;

/** What shows how much time has passed is drawn every 10 seconds as well; each part with another sample, so that none takes long. */
function slowly<P extends { s: State }>(part: (props: P) => ComponentChildren, ...looksAt: (keyof State)[]) {
  const phase = APART * slow++;
  return when(part, looksAt, (s) => Math.floor(((s.sampleAt ?? 0) + phase) / EVERY));
}

const Past = slowly(Timeline, "place", "link", "history"),
  Lives = slowly(Lifelines, "place", "link", "history"),
  Plots = slowly(Charts, "place", "link", "history");
const Alerts = when(AlertsPanel, ["alerts", "notifiers"]),
  Health = when(HealthPanel, ["health", "place", "past"]),
  Guard = slowly(GuardPanel, "workers");
const Capacity = slowly(CapacityPanel, "link"),
  Energy = slowly(EnergyPanel, "place", "link", "history"),
  Settings = memo(SettingsPanel);

export function Below({
  s,
  gpus,
  span,
  setSpan,
  picked,
  pick,
}: {
  s: State;
  gpus: Gpu[];
  span: number;
  setSpan: (n: number) => void;
  picked: number | null;
  pick: (i: number | null) => void;
}) {
  const then = s.place.at != null;
  return (
    <>
      {(s.history || (s.gpus?.length ?? 0) > 0) && <Past s={s} span={span} setSpan={setSpan} />}
      {s.place.from == null && gpus.length > 0 && (
        <Processes
          gpus={gpus}
          picked={picked}
          pick={pick}
          lives={then ? [] : s.lives}
          now={s.place.at ?? s.sampleAt ?? Date.now()}
        />
      )}
      <Lives s={s} span={span} picked={picked} />
      <Plots s={s} gpus={s.gpus ?? []} span={span} picked={picked} pick={pick} />
      {s.gpus && s.gpus.length > 0 && (
        <div class="panels">
          <Alerts s={s} />
          <Health s={s} />
          <Guard s={s} />
          <Capacity s={s} />
          <Energy s={s} span={span} />
          <Settings />
        </div>
      )}
    </>
  );
}
