// SPDX-License-Identifier: Apache-2.0
// Tools for drawing on a canvas, and for doing so seldom.
import type { Level } from "./level";

let family = ""; // asked for once: every question makes the browser look at all styles
export const font = (bold: boolean) =>
  `${bold ? "600 " : ""}11px ${(family ||= getComputedStyle(document.body).fontFamily)}`;

/** A canvas of this size with nothing on it. */
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

const widths = [new Map<string, number>(), new Map<string, number>()]; // of texts: the same ones stand there every second

/** As wide as a text is in one of the two fonts; the canvas must have that one. */
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

/** All charts are drawn in one frame, each once. */
export function soon(plot: { draw(): void }): void {
  if (!waiting.size)
    requestAnimationFrame(() => {
      const list = [...waiting];
      waiting.clear();
      for (const p of list) p.draw();
    });
  waiting.add(plot);
}

/** Severity by shape and color: either is enough. */
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
