// SPDX-License-Identifier: Apache-2.0
// Keys of the whole page.
import { chartMeant, fillPage } from "./cursor";
import { now as hostNow } from "./clock";
import { current, go, goBack, goNow, look, set } from "./store";

const STEP = 60e3; // ms

/** Moves a minute back or forward; from the present, only back. */
export function step(by: number): void {
  const { place, sampleAt } = current(),
    now = sampleAt ?? hostNow(),
    at = (place.at ?? now) + by * STEP;
  if (at >= now && place.at == null) set({ notice: "There is nothing later than now." }, true);
  else if (at >= now) goNow();
  else go({ ...place, at }, place.at == null ? "push" : "replace", 150);
}

function pressed(e: KeyboardEvent): void {
  const field = e.target instanceof Element && e.target.closest("input, select, textarea");
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return; // a dialog has its own keys
  const { view, gpus, place, history, notice } = current();
  if (e.key === "Escape") {
    if (field) (e.target as HTMLElement).blur();
    else if (notice) set({ notice: null }, true);
    else if (place.at != null || place.from != null) goBack();
    else if (view.gpu != null || view.pid != null) look({ gpu: null, pid: null });
    return;
  }
  if (field) return;
  if (/^\d$/.test(e.key) && gpus?.some((g) => g.index === Number(e.key))) {
    const gpu = Number(e.key);
    look({ gpu: view.gpu === gpu ? null : gpu });
  } else if (e.key === "/" || e.key === "t") {
    const input = document.querySelector<HTMLInputElement>(e.key === "/" ? "#filter" : "#moment");
    if (!input) return;
    e.preventDefault();
    input.focus();
    input.select();
  } else if ((e.key === "," || e.key === ".") && history) step(e.key === "," ? -1 : 1);
  else if (e.key === "f") {
    const metric = chartMeant();
    if (metric) fillPage(metric);
  }
}

export function keys(): () => void {
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
