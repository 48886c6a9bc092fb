// SPDX-License-Identifier: Apache-2.0
// Tools for drawing on a canvas, as rarely as possible.
import type { Level } from "./level";

let family = ""; // cached: every query makes the browser compute all styles
export const font = (bold: boolean) =>
  `${bold ? "600 " : ""}11px ${(family ||= getComputedStyle(document.body).fontFamily)}`;

/** Clears the canvas and sets its size. */
export function blank(c: HTMLCanvasElement, w: number, h: number): CanvasRenderingContext2D {
  const dpr = devicePixelRatio || 1;
  if (c.width !== Math.round(w * dpr) || c.height !== Math.round(h * dpr)) {
    c.width = Math.round(w * dpr);
    c.height = Math.round(h * dpr);
  }
  const ctx = c.getContext("2d")!;
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.clearRect(0, 0, w, h);
  ctx.font = font(false);
  ctx.textBaseline = "middle";
  return ctx;
}

const widths = [new Map<string, number>(), new Map<string, number>()]; // cached widths of texts: the same ones appear every second

/** The width of a text in one of the two fonts, which the canvas must have selected. */
export function widthOf(ctx: CanvasRenderingContext2D, text: string, bold = false): number {
  const known = widths[Number(bold)]!;
  let wide = known.get(text);
  if (wide == null) {
    if (known.size > 2000) known.clear();
    known.set(text, (wide = ctx.measureText(text).width));
  }
  return wide;
}

const waiting = new Set<{ draw(): void }>();

/** Draws all charts in one frame, each once. */
export function soon(plot: { draw(): void }): void {
  if (!waiting.size)
    requestAnimationFrame(() => {
      const list = [...waiting];
      waiting.clear();
      for (const p of list) p.draw();
    });
  waiting.add(plot);
}

/** Severity by shape and color: either suffices. */
export function shape(ctx: CanvasRenderingContext2D, level: Level, x: number, y: number, r: number): void {
  ctx.beginPath();
  if (level === "bad") {
    ctx.moveTo(x, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.lineTo(x - r, y + r);
  } else if (level === "warn") {
    ctx.moveTo(x, y - r);
    ctx.lineTo(x + r, y);
    ctx.lineTo(x, y + r);
    ctx.lineTo(x - r, y);
  } else ctx.rect(x - r + 1, y - r + 1, 2 * r - 2, 2 * r - 2);
  ctx.closePath();
  ctx.fill();
}
