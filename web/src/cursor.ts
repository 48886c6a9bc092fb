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

/** The chart that is meant: the one with the focus, under the pointer, or the first. */
export const chartMeant = (): string | undefined =>
  (
    document.activeElement?.closest<HTMLElement>(".chart") ??
    document.querySelector<HTMLElement>(".chart:hover") ??
    document.querySelector<HTMLElement>(".chart")
  )?.dataset.metric;

let fill: (metric: string) => void = () => undefined;

/** One chart can fill the page. */
export const fillPage = (metric: string): void => fill(metric);
export const onFillPage = (f: (metric: string) => void): void => void (fill = f);
