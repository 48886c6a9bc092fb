// SPDX-License-Identifier: Apache-2.0
// The tab's icon shows the mark of the worst finding.
import type { Level } from "./level";

const SHAPES: Partial<Record<Level, string>> = {
  bad: `<path d="M23 15l8 16H15z" fill="#d92d2d" stroke="#fff" stroke-width="1.5"/>`,
  silent: `<path d="M18 18l11 11M29 18L18 29" fill="none" stroke="#fff" stroke-width="6"/><path d="M18 18l11 11M29 18L18 29" fill="none" stroke="#777" stroke-width="4"/>`,
  warn: `<path d="M23 14l8.500 8.500-8.500 8.500-8.500-8.500z" fill="#e09400" stroke="#fff" stroke-width="1.5"/>`,
};
let shown: string | null = null;

export function favicon(level: Level): void {
  const shape = SHAPES[level] ?? "";
  if (shape === shown) return;
  const first = shown === null;
  shown = shape;
  if (first && !shape) return; // as the server sent it
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]") ?? document.createElement("link");
  link.rel = "icon";
  link.type = "image/svg+xml";
  link.href = shape
    ? `data:image/svg+xml,${encodeURIComponent(
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke="#4d7fe0" stroke-width="5" stroke-linecap="round"><path d="M14 14C10 8 14 3 19 4M14 14c6-4 11 0 10 5M14 14c4 6 0 11-5 10M14 14C8 18 3 14 4 9"/></g>${shape}</svg>`,
      )}`
    : "/icon.svg";
  document.head.append(link);
}
