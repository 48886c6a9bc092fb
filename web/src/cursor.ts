// SPDX-License-Identifier: Apache-2.0
// Where the pointer is in time: one for all charts. Not part of the state, for it moves with the hand and redraws no text but the charts' own.
let time: number | null = null; // seconds
const watchers = new Set<() => void>();
let waiting = 0;

export const pointed = () => time;

export function point(at: number | null): void {
  if (at === time) return;
  time = at;
  if (!waiting)
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      for (const w of watchers) w();
    });
}

export function onPoint(f: () => void): () => void {
  watchers.add(f);
  return () => void watchers.delete(f);
}

/** One chart can fill the page: the one with the focus or under the pointer. True when something changed. */
export function fullChart(which: Element | "toggle" | null): boolean {
  const full = document.querySelector(".chart.full");
  const next =
    which === "toggle"
      ? full
        ? null
        : (document.activeElement?.closest(".chart") ??
          document.querySelector(".chart:hover") ??
          document.querySelector(".chart"))
      : which;
  if (!full && !next) return false;
  full?.classList.remove("full");
  if (next && next !== full) next.classList.add("full");
  document.body.classList.toggle("covered", !!document.querySelector(".chart.full"));
  return true;
}
