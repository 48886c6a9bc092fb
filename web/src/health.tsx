// SPDX-License-Identifier: Apache-2.0
// Are the GPUs well? With reasons.
import type { Level } from "./model";
import { Mark, Section } from "./parts";
import type { State } from "./store";

const healthLevel = (state: string): Level => (state === "failing" || state === "lost" ? "bad" : state === "degraded" ? "warn" : state === "healthy" ? "good" : "idle");

export function HealthPanel({ s }: { s: State }) {
  if (!s.health.length) return null;
  const sick = s.health.filter((h) => h.state !== "healthy" && h.state !== "asleep");
  return (
    <Section id="health" title="Health">
      {sick.length === 0 && <p><Mark level="good" /> {s.health.length === 1 ? "The GPU is healthy." : `All ${s.health.length} GPUs are healthy.`}</p>}
      <ul class="plain">{(s.health.length <= 8 ? s.health : sick).map((h) => (
        <li key={h.gpu_index}><Mark level={healthLevel(h.state)} label={h.state} /> GPU {h.gpu_index} is {h.state}. <span class="dim">{h.reason}</span>{h.state !== "healthy" ? ` ${h.action}` : ""}</li>
      ))}</ul>
    </Section>
  );
}
