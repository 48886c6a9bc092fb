// SPDX-License-Identifier: Apache-2.0
// Draws one chart on two canvases: the picture, which changes with the data, and above it what follows the pointer. Labels are at
// the ends of their lines, so there is no legend to look up.
import { pointed } from "./cursor";
import { clock, tickText } from "./format";
import type { Level } from "./level";
import { nearest } from "./model";
import { blank, font, shape, soon, widthOf } from "./canvas";
import type { Column } from "./plots";
import { gaps, isEmpty, type Picture, range, spreadLabels, ticks, timeTicks } from "./scale";
import { ink } from "./theme";

const LABEL = 12, // px: minimum distance of labels
  LANE = 12,
  LEFT = 38,
  BOTTOM = 20,
  TOP = 8;
const LEVELS: Record<Level, string> = {
  bad: "crit",
  silent: "crit",
  warn: "warn",
  note: "dim",
  good: "dim",
  idle: "faint",
};

export class Plot {
  private p: Picture | null = null;
  private w = 0;
  private h = 0;
  private right = 60;
  private low = 0;
  private high = 1;
  private sums: Column[] = [];
  private covered = false; // the second canvas is not empty
  constructor(
    public readonly base: HTMLCanvasElement,
    public readonly over: HTMLCanvasElement,
  ) {}

  get ready() {
    return this.p != null;
  }

  show(p: Picture): void {
    this.p = p;
    [this.low, this.high] = range(p);
    this.sums = [];
    if (p.parts) {
      const sum = p.times.map(() => 0);
      this.sums = p.parts.map((x) => x.values.map((v, i) => (v == null ? null : (sum[i] = sum[i]! + v))));
    }
    soon(this);
  }

  size(w: number, h: number): void {
    if (w === this.w && h === this.h) return;
    this.w = w;
    this.h = h;
    this.draw();
  }

  private get plotW() {
    return Math.max(10, this.w - LEFT - this.right);
  }
  private get plotH() {
    return Math.max(10, this.h - TOP - BOTTOM - (this.p?.lanes.length ?? 0) * LANE - (this.p?.lanes.length ? 4 : 0));
  }
  private x(t: number) {
    return LEFT + ((t - this.p!.from) / (this.p!.to - this.p!.from)) * this.plotW;
  }
  private y(v: number) {
    return TOP + this.plotH * (1 - (v - this.low) / (this.high - this.low || 1));
  }

  /** The time at the pointer, in seconds; null beside the plot. */
  timeAt(x: number): number | null {
    if (!this.p || x < LEFT - 8 || x > LEFT + this.plotW + 8) return null;
    const share = Math.max(0, Math.min(1, (x - LEFT) / this.plotW));
    return this.p.from + share * (this.p.to - this.p.from);
  }

  private path(ctx: CanvasRenderingContext2D, values: Column): void {
    const { times, gap, from, to } = this.p!;
    let pen = false,
      last = 0;
    ctx.beginPath();
    for (let i = 0; i < times.length; i++) {
      const v = values[i],
        t = times[i]!;
      if (t < from - gap || t > to + gap) continue;
      if (v == null) {
        pen = false;
        continue;
      }
      const x = this.x(t),
        y = this.y(v);
      if (pen && t - last <= gap) ctx.lineTo(x, y);
      else ctx.moveTo(x, y);
      if (!pen && (values[i + 1] == null || times[i + 1]! - t > gap)) ctx.lineTo(x + 1.5, y); // a single point must be visible, too
      pen = true;
      last = t;
    }
  }

  /** The area between two curves, in pieces that end at gaps. */
  private area(ctx: CanvasRenderingContext2D, low: Column | null, high: Column): void {
    const { times, gap } = this.p!;
    ctx.beginPath();
    for (let i = 0; i < times.length;) {
      if (high[i] == null || (low && low[i] == null)) {
        i++;
        continue;
      }
      let end = i;
      while (
        end + 1 < times.length &&
        high[end + 1] != null &&
        (!low || low[end + 1] != null) &&
        times[end + 1]! - times[end]! <= gap
      )
        end++;
      ctx.moveTo(this.x(times[i]!), this.y(high[i]!));
      for (let k = i + 1; k <= end; k++) ctx.lineTo(this.x(times[k]!), this.y(high[k]!));
      for (let k = end; k >= i; k--) ctx.lineTo(this.x(times[k]!), this.y(low ? low[k]! : Math.max(0, this.low)));
      ctx.closePath();
      i = end + 1;
    }
  }

  private axes(ctx: CanvasRenderingContext2D): void {
    const p = this.p!,
      bottom = TOP + this.plotH;
    ctx.lineWidth = 1;
    ctx.fillStyle = ink("dim");
    ctx.strokeStyle = ink("line");
    ctx.textAlign = "right";
    for (const v of ticks(this.low, this.high, this.plotH > 110 ? 5 : 3)) {
      const y = Math.round(this.y(v)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(LEFT, y);
      ctx.lineTo(LEFT + this.plotW, y);
      ctx.stroke();
      ctx.fillText(v.toFixed(v % 1 ? 1 : 0), LEFT - 6, Math.max(6, y));
    }
    ctx.textAlign = "center";
    const span = p.to - p.from,
      end = LEFT + this.plotW;
    const steps = timeTicks(p.from, p.to, Math.floor(this.plotW / (span > 172800 ? 90 : 62))),
      seconds = steps.length > 1 && steps[1]! - steps[0]! < 60;
    for (const t of steps) {
      const x = this.x(t),
        text = seconds ? clock(t * 1000, t * 1000, true) : tickText(t * 1000, span);
      const half = widthOf(ctx, text) / 2;
      if (x - half < LEFT - 20 || x + half > end - (p.live ? widthOf(ctx, p.end) + 6 : -16)) continue;
      ctx.fillText(text, x, bottom + 12);
    }
    if (p.live) {
      ctx.textAlign = "right";
      ctx.fillText(p.end, end, bottom + 12);
    }
  }

  private unrecorded(ctx: CanvasRenderingContext2D): void {
    const p = this.p!;
    for (const [a, b] of gaps(p)) {
      const x = this.x(a),
        w = this.x(b) - x;
      ctx.fillStyle = ink("sunk");
      ctx.fillRect(x, TOP, w, this.plotH);
      ctx.strokeStyle = ink("line2");
      ctx.setLineDash([2, 3]);
      ctx.strokeRect(x + 0.5, TOP + 0.5, Math.max(1, w - 1), this.plotH - 1);
      ctx.setLineDash([]);
      if (w < 84 || (p.live && isEmpty(p))) continue; // the chart itself says so
      ctx.fillStyle = ink("dim");
      ctx.textAlign = "center";
      ctx.fillText(a === p.from && p.older ? p.older : "Not recorded", x + w / 2, TOP + this.plotH / 2, w - 8);
    }
  }

  private references(ctx: CanvasRenderingContext2D): void {
    for (const r of this.p!.refs) {
      const y = Math.round(this.y(r.value)) + 0.5;
      ctx.strokeStyle = ctx.fillStyle = ink(LEVELS[r.level]);
      ctx.lineWidth = 1;
      ctx.setLineDash([4, 3]);
      ctx.beginPath();
      ctx.moveTo(LEFT, y);
      ctx.lineTo(LEFT + this.plotW, y);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.textAlign = "left";
      const wide = widthOf(ctx, r.label);
      if (wide > this.plotW - 10) continue;
      ctx.globalAlpha = 0.85;
      const text = ctx.fillStyle;
      ctx.fillStyle = ink("panel");
      ctx.fillRect(LEFT + 4, y - 14, wide + 4, 12);
      ctx.globalAlpha = 1;
      ctx.fillStyle = text;
      ctx.fillText(r.label, LEFT + 6, y - 8);
    }
  }

  private findings(ctx: CanvasRenderingContext2D): void {
    for (const m of this.p!.marks) {
      const a = Math.max(LEFT, this.x(m.from)),
        b = Math.min(LEFT + this.plotW, this.x(m.to));
      if (b < LEFT || a > LEFT + this.plotW) continue;
      ctx.fillStyle = ink(LEVELS[m.level]);
      if (m.change) {
        ctx.fillRect(a, TOP + this.plotH - 2, Math.max(2, b - a), 2);
        ctx.fillRect(a - 1, TOP + this.plotH - 8, 3, 8);
        continue;
      }
      ctx.fillRect(a, TOP - 2, Math.max(2, b - a), 2);
      shape(ctx, m.level, a, TOP - 3, 3);
    }
  }

  private limits(ctx: CanvasRenderingContext2D): void {
    const { lanes } = this.p!;
    lanes.forEach((lane, k) => {
      const y = TOP + this.plotH + BOTTOM + 2 + k * LANE;
      ctx.textAlign = "right";
      ctx.fillStyle = ink("dim");
      ctx.fillText(lane.label, LEFT - 6, y + 5);
      for (const part of lane.parts) {
        const a = Math.max(LEFT, this.x(part.from)),
          b = Math.min(LEFT + this.plotW, this.x(part.to));
        if (b - a < 1) continue;
        const loud = part.level === "bad" || part.level === "warn";
        ctx.fillStyle = ink(part.level === "bad" ? "crit-soft" : part.level === "warn" ? "warn-soft" : "sunk");
        ctx.fillRect(a, y, b - a, LANE - 2);
        if (loud) {
          ctx.strokeStyle = ink(LEVELS[part.level]);
          ctx.lineWidth = 1;
          ctx.strokeRect(a + 0.5, y + 0.5, b - a - 1, LANE - 3);
        }
        ctx.fillStyle = ink(loud ? LEVELS[part.level] : "dim");
        ctx.textAlign = "left";
        if (widthOf(ctx, part.text) < b - a - 8) ctx.fillText(part.text, a + 4, y + 5.5);
      }
    });
  }

  draw(): void {
    const p = this.p;
    if (!p || !this.w || !this.h) return;
    this.right = p.parts ? (this.w < 380 ? 84 : 116) : p.bands.length ? 84 : 66;
    const ctx = blank(this.base, this.w, this.h);
    this.axes(ctx);
    this.unrecorded(ctx);
    ctx.save();
    ctx.beginPath();
    ctx.rect(LEFT, TOP - 1, this.plotW, this.plotH + 2);
    ctx.clip();
    p.bands.forEach(([low, high], i) => {
      this.area(ctx, low, high);
      ctx.fillStyle = ink("dim");
      ctx.globalAlpha = i || p.bands.length === 1 ? 0.2 : 0.08;
      ctx.fill();
      ctx.globalAlpha = 1;
    });
    (p.parts ?? []).forEach((part, i) => {
      this.area(ctx, i ? this.sums[i - 1]! : null, this.sums[i]!);
      ctx.fillStyle = ink(part.color);
      ctx.globalAlpha = part.faint ? 0.18 : 0.45;
      ctx.fill();
      ctx.globalAlpha = 1;
      this.path(ctx, this.sums[i]!);
      ctx.strokeStyle = ink(part.color);
      ctx.lineWidth = 1;
      ctx.stroke();
    });
    for (const l of [...p.lines].sort((a, b) => Number(a.heavy) - Number(b.heavy))) {
      if (l.heavy && !p.bands.length && p.top === 100) {
        this.area(ctx, null, l.values);
        ctx.fillStyle = ink(l.color);
        ctx.globalAlpha = 0.07;
        ctx.fill();
        ctx.globalAlpha = 1;
      }
      this.path(ctx, l.values);
      ctx.strokeStyle = ink(l.color);
      ctx.lineWidth = l.heavy ? 2 : 1.3;
      ctx.setLineDash(l.heavy ? [] : l.dash);
      ctx.lineJoin = "round";
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.restore();
    this.references(ctx);
    this.findings(ctx);
    this.limits(ctx);
    this.said(ctx, null);
    this.point(pointed());
  }

  /** The index of the last value that is not after a time, nor beyond a gap. */
  index(at: number | null): number | null {
    const p = this.p!;
    const i = nearest(p.times, at ?? p.to);
    if (i == null || p.times[i]! > (at ?? p.to)) return null;
    return (at ?? p.to) - p.times[i]! > (at == null && p.live ? Infinity : p.gap) ? null : i;
  }

  /** The values at a time, or at the end. */
  values(at: number | null): { label: string; color: string; value: number | null; y: number }[] {
    const p = this.p!,
      i = this.index(at);
    // At the end, use the last known value of each: GPUs aren't all read at the same time.
    const of = (c: Column): number | null => {
      if (i == null) return null;
      for (let k = i; k >= 0 && k > i - 4; k--) if (c[k] != null) return c[k]!;
      return null;
    };
    if (p.parts) {
      const out = p.parts.map((part, k) => {
        const value = of(part.values),
          top = of(this.sums[k]!);
        return { label: part.label, color: part.color, value, y: this.y((top ?? 0) - (value ?? 0) / 2) };
      });
      if (p.rest) {
        const value = of(p.rest.values),
          all = of(this.sums.at(-1) ?? []);
        out.push({ label: p.rest.label, color: "dim", value, y: this.y((all ?? 0) + (value ?? 0) / 2) });
      }
      return out.filter((x) => x.value == null || x.value > 0);
    }
    return p.lines.map((l) => {
      const value = of(l.values);
      return { label: l.label, color: l.color, value, y: this.y(value ?? this.low) };
    });
  }

  private line(ctx: CanvasRenderingContext2D, t: number, dash: number[]): number {
    const x = Math.round(this.x(t)) + 0.5;
    ctx.strokeStyle = ink("text");
    ctx.lineWidth = 1;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(x, TOP);
    ctx.lineTo(x, TOP + this.plotH);
    ctx.stroke();
    ctx.setLineDash([]);
    return x;
  }

  /** Draws the marked moment, and the values at the pointer, there, or at the end. */
  private said(ctx: CanvasRenderingContext2D, inside: number | null): void {
    const p = this.p!,
      bottom = TOP + this.plotH,
      marked = p.at != null && p.at >= p.from && p.at <= p.to ? p.at : null;
    if (marked != null) {
      const x = this.line(ctx, marked, []);
      ctx.fillStyle = ink("text");
      ctx.beginPath();
      ctx.moveTo(x - 4, TOP - 6);
      ctx.lineTo(x + 4, TOP - 6);
      ctx.lineTo(x, TOP);
      ctx.fill();
    }
    const time = inside ?? marked,
      said = this.values(time);
    if (inside != null) this.flag(ctx, this.line(ctx, inside, [2, 2]), inside);
    const x0 = LEFT + this.plotW,
      ys = spreadLabels(
        said.map((s) => s.y),
        LABEL,
        TOP + 4,
        bottom + 2,
      ),
      i = this.index(time),
      x = time == null || i == null ? x0 : this.x(p.times[i]!);
    said.forEach((s, k) => {
      if (!p.parts && s.value != null) {
        ctx.fillStyle = ink(s.color);
        ctx.beginPath();
        ctx.arc(Math.min(x, x0), s.y, 2.6, 0, 7);
        ctx.fill();
      }
      if (ys[k]! > bottom + 8 || (k > 0 && ys[k] === ys[k - 1])) return;
      this.label(ctx, s, x0, ys[k]!);
    });
  }

  /** The second canvas is used only while there is a pointer: it covers the values at the end with those of its moment. */
  point(at: number | null): void {
    const p = this.p;
    if (!p || !this.w) return;
    const inside = at != null && at >= p.from && at <= p.to ? at : null;
    if (inside == null && !this.covered) return;
    const ctx = blank(this.over, this.w, this.h);
    this.covered = inside != null;
    if (inside == null) return;
    ctx.fillStyle = ink("panel");
    ctx.fillRect(LEFT + this.plotW + 4, 0, this.right, TOP + this.plotH + 8);
    this.said(ctx, inside);
  }

  private flag(ctx: CanvasRenderingContext2D, x: number, at: number): void {
    const text = clock(at * 1000, this.p!.to - this.p!.from > 172800 ? undefined : at * 1000, true),
      wide = widthOf(ctx, text) + 10,
      left = Math.max(LEFT, Math.min(LEFT + this.plotW - wide, x - wide / 2));
    ctx.fillStyle = ink("text");
    ctx.fillRect(left, 0, wide, 15);
    ctx.fillStyle = ink("panel");
    ctx.textAlign = "left";
    ctx.fillText(text, left + 5, 8);
    const mark = this.p!.marks.find(
      (m) => at >= m.from - 1 && at <= Math.max(m.to, m.from + 0.01 * (this.p!.to - this.p!.from)),
    );
    if (!mark) return;
    const said = mark.text.length > 60 ? `${mark.text.slice(0, 58)}…` : mark.text,
      w = Math.min(widthOf(ctx, said) + 10, this.plotW),
      at2 = Math.max(LEFT, Math.min(LEFT + this.plotW - w, x - w / 2));
    ctx.fillStyle = ink("panel");
    ctx.fillRect(at2, 17, w, 15);
    ctx.strokeStyle = ink(LEVELS[mark.level]);
    ctx.strokeRect(at2 + 0.5, 17.5, w - 1, 14);
    ctx.fillStyle = ink(LEVELS[mark.level]);
    ctx.fillText(said, at2 + 5, 25, w - 10);
  }

  private label(
    ctx: CanvasRenderingContext2D,
    s: { label: string; color: string; value: number | null; y: number },
    x0: number,
    y: number,
  ): void {
    const p = this.p!;
    ctx.strokeStyle = ink("line2");
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x0 + 2, s.y);
    ctx.lineTo(x0 + 8, y);
    ctx.stroke();
    ctx.textAlign = "left";
    ctx.font = font(true);
    const value = s.value == null ? "–" : p.text(s.value),
      wide = widthOf(ctx, value, true);
    ctx.fillStyle = ink(p.parts ? "dim" : s.color);
    const room = this.right - 14 - wide;
    let name = s.label;
    while (name.length > 2 && widthOf(ctx, name, true) > room) name = `${name.replace(/…$/, "").slice(0, -1)}…`;
    ctx.fillText(name, x0 + 10, y);
    ctx.fillStyle = ink("text");
    ctx.fillText(value, x0 + 14 + widthOf(ctx, name, true), y);
    ctx.font = font(false);
  }
}
