// SPDX-License-Identifier: Apache-2.0
// The pointer's position in time, shared by all charts. Not part of the state: it moves constantly, and only charts redraw.
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

/** The chart that a key applies to: the one with the focus, under the pointer, or the first. */
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

const drawers = new Set<() => void>();

/** Charts draw themselves only in view, and all of them when the page is saved or printed. */
export const drawAll = (): void => drawers.forEach((draw) => draw());
export function onDrawAll(draw: () => void): () => void {
  drawers.add(draw);
  return () => void drawers.delete(draw);
}
