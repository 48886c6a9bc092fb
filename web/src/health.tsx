// SPDX-License-Identifier: Apache-2.0
// Are the GPUs well? With reasons.
import { clock } from "./format";
import type { Level } from "./model";
import { Mark, Section } from "./parts";
import type { State } from "./store";

const healthLevel = (state: string): Level =>
  state === "failing" || state === "lost"
    ? "bad"
    : state === "degraded"
      ? "warn"
      : state === "healthy"
        ? "good"
        : "idle";

export function HealthPanel({ s }: { s: State }) {
  const then = s.place.at != null && s.past != null,
    health = then ? s.past!.health : s.health,
    is = then ? "was" : "is",
    were = then ? "were" : "are";
  if (!health.length) return null;
  const asleep = health.filter((h) => h.state === "asleep").length;
  const sick = health.filter((h) => h.state !== "healthy" && h.state !== "asleep");
  return (
    <Section id="health" title={then ? `Health at ${clock(s.place.at!)}` : "Health"}>
      {sick.length === 0 && (
        <p>
          <Mark level="good" />{" "}
          {asleep
            ? `Nothing ${is} wrong; ${asleep} GPU${asleep === 1 ? ` ${is}` : `s ${were}`} asleep.`
            : health.length === 1
              ? `The GPU ${is} healthy.`
              : `All ${health.length} GPUs ${were} healthy.`}
        </p>
      )}
      <ul class="plain">
        {(health.length <= 8 ? health : sick).map((h) => (
          <li key={h.gpu_index}>
            <Mark level={healthLevel(h.state)} label={h.state} /> GPU {h.gpu_index} {is} {h.state}.{" "}
            <span class="dim">{h.reason}</span>
            {h.state !== "healthy" && !then ? ` ${h.action}` : ""}
          </li>
        ))}
      </ul>
    </Section>
  );
}
