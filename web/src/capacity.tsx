// SPDX-License-Identifier: Apache-2.0
// What fits where: free VRAM, and a field for the size of a model.
import { useState } from "preact/hooks";
import { Missing, useAsked } from "./asked";
import { memory, parseSize } from "./format";
import { get } from "./live";
import { Bar, Mark, Section } from "./parts";
import { words } from "./refused";
import type { State } from "./store";
import type { CapacityGpu, Placement } from "./api";

const SHOWN_MAX = 16;

/** The minimum of free memory, if it differs from the present value. */
const low = (g: CapacityGpu) =>
  g.free_least_24h_mb != null && memory(g.free_least_24h_mb) !== memory(g.available_mb)
    ? `24h low: ${memory(g.free_least_24h_mb)}`
    : null;

export function CapacityPanel({ s }: { s: State }) {
  const [size, setSize] = useState("");
  const [found, setFound] = useState<Placement | null>(null);
  const [problem, setProblem] = useState("");
  const tick = Math.floor((s.sampleAt ?? 0) / 30e3);
  const asked = useAsked<{ gpus: CapacityGpu[] }>("/api/capacity", s.link === "live", tick),
    gpus = asked.value?.gpus ?? [];
  const ask = async (e: Event) => {
    e.preventDefault();
    const bytes = parseSize(size);
    setFound(null);
    if (!bytes) {
      setProblem("Write a size like 24GiB.");
      return;
    }
    try {
      setFound(await get<Placement>(`/api/placement?bytes=${bytes}`));
      setProblem("");
    } catch (p) {
      setProblem(words(p));
    }
  };
  return (
    <Section id="capacity" title="What fits where" fold>
      <form class="controls" onSubmit={ask}>
        <label class="control">
          Size of the model{" "}
          <input value={size} placeholder="24GiB" size={8} onInput={(e) => setSize(e.currentTarget.value)} />
        </label>
        <button type="submit">Check</button>
      </form>
      <p role="status">
        {problem && <span class="lv bad">{problem}</span>}
        {found && (
          <>
            <Mark
              level={found.fits_now ? "good" : found.fits === false ? "bad" : "warn"}
              label={found.fits ? "fits" : found.fits === false ? "doesn't fit" : "unknown"}
            />{" "}
            {found.fits
              ? `Fits on GPU ${found.gpus.join(", ")}${found.fits_now ? "" : ", after evicting workers"}. `
              : found.fits === false
                ? "Doesn't fit: "
                : "Unknown: "}
            {found.reason}
          </>
        )}
      </p>
      <Missing of={asked} />
      <ul class="plain">
        {gpus.slice(0, SHOWN_MAX).map((g) => (
          <li key={`${g.gpu_index}/${g.instance}`} class="room">
            <span>
              GPU {g.gpu_index}
              {g.instance == null ? "" : `/${g.instance}`}
            </span>
            {g.usable && g.available_mb != null ? (
              <>
                <Bar value={(g.memory_total_mb ?? 0) - g.available_mb} limit={g.memory_total_mb} label="VRAM in use" />
                <span class="num">
                  {memory(g.available_mb)} free{low(g) && <span class="dim">{low(g)}</span>}
                </span>
              </>
            ) : (
              <span class="dim problem">{g.problem}</span>
            )}
          </li>
        ))}
      </ul>
      {gpus.length > SHOWN_MAX && (
        <p class="dim">and {gpus.length - SHOWN_MAX} more; a size is checked against all of them.</p>
      )}
    </Section>
  );
}
