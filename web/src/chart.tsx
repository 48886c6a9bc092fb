// SPDX-License-Identifier: Apache-2.0
// One chart: hovering shows values in all of them, a click marks a moment, dragging zooms, a double click zooms out. For the
// keyboard and for screen readers it is a slider.
import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "./clock";
import { clock, longClock, zone } from "./format";
import { fillPage, onDrawAll, onPoint, point, pointed } from "./cursor";
import { Dialog, Icon } from "./parts";
import { Plot } from "./plot";
import type { Metric } from "./plots";
import { isEmpty, type Picture } from "./scale";
import { current, go, goBack, look } from "./store";
import { ink, onTheme } from "./theme";
import { SPANS } from "./place";

const DRAG = 6; // px

/** Marks a moment in all charts; with a history, the page shows it. */
function mark(at: number, p: Picture): void {
  const { history, sampleAt } = current();
  if (!history || at >= p.to - 0.5 * (p.live ? 2 : 0)) return void point(at);
  if (at * 1000 >= (sampleAt ?? now())) return;
  go({ at: at * 1000, from: p.from * 1000, to: p.to * 1000 });
}

/** To the next longer span, or back to the previous view. */
function zoomOut(): void {
  const { place, view, history } = current();
  if (place.from != null) return goBack();
  const next = SPANS.find(([, n]) => n > view.span);
  if (next && (history || next[1] <= 900)) look({ span: next[1] });
}

const safe = (text: string) => text.replace(/[^\w.-]+/g, "-");

function fileName(metric: Metric, p: Picture, ending: string): string {
  const day = new Date(p.to * 1000 - new Date(p.to * 1000).getTimezoneOffset() * 60e3).toISOString().slice(0, 16);
  return safe(`whirr-${current().host}-${metric.name}-${day.replace(":", "")}.${ending}`);
}

function save(blob: Blob, name: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

/** Saves the chart with its title, host and time. */
function png(plot: Plot, metric: Metric, p: Picture): void {
  const { base, over } = plot,
    dpr = devicePixelRatio || 1,
    head = 30 * dpr,
    to = document.createElement("canvas");
  to.width = base.width;
  to.height = base.height + head;
  const ctx = to.getContext("2d")!;
  ctx.fillStyle = ink("panel");
  ctx.fillRect(0, 0, to.width, to.height);
  ctx.fillStyle = ink("text");
  ctx.font = `600 ${13 * dpr}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillText(`${metric.title}, ${metric.unit}`, 8 * dpr, 18 * dpr);
  const wide = ctx.measureText(`${metric.title}, ${metric.unit}`).width;
  ctx.fillStyle = ink("dim");
  ctx.font = `${12 * dpr}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillText(
    `${current().host}, ${longClock(p.from * 1000)} to ${clock(p.to * 1000, p.from * 1000, true)} (${zone()})`,
    wide + 20 * dpr,
    18 * dpr,
  );
  ctx.drawImage(base, 0, head);
  ctx.drawImage(over, 0, head);
  to.toBlob((blob) => blob && save(blob, fileName(metric, p, "png")));
}

/** What the page itself has seen, without a history. */
function csv(metric: Metric, p: Picture): void {
  const list = p.parts ?? p.lines,
    cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const rows = p.times
    .map((t, i) => [t, i] as const)
    .filter(([t]) => t >= p.from && t <= p.to)
    .map(([t, i]) => [new Date(t * 1000).toISOString(), ...list.map((l) => l.values[i]?.toFixed(2) ?? "")].join());
  const names = list.map((l) => cell(p.parts ? l.label : `gpu ${l.label} ${metric.unit}`));
  save(
    new Blob([[["time", ...names].join(), ...rows].join("\n") + "\n"], { type: "text/csv" }),
    fileName(metric, p, "csv"),
  );
}

export function Chart({
  metric,
  picture,
  big,
  note,
  query,
  missing,
  full = false,
}: {
  metric: Metric;
  picture: Picture | null;
  big: boolean;
  note: string;
  query: string | null;
  missing: string; // shown instead of a chart
  full?: boolean; // fills the page
}) {
  const [saving, setSaving] = useState(false);
  const box = useRef<HTMLDivElement>(null),
    plot = useRef<Plot | null>(null),
    shown = useRef<Picture | null>(null),
    seen = useRef(true),
    selection = useRef<HTMLDivElement>(null);
  const silent = picture?.live && isEmpty(picture) && picture.times.length > 0;
  shown.current = picture;
  const say = () => {
    const p = shown.current,
      place = box.current;
    if (!p || !place || !plot.current?.ready) return;
    const at = pointed() ?? p.at;
    const text = plot.current
      .values(at)
      .slice(0, 12)
      .map(
        (v) =>
          `${p.parts || v.label === "mid" ? v.label : `GPU ${v.label}`} ${v.value == null ? "no value" : p.text(v.value)}`,
      )
      .join(", ");
    place.setAttribute("aria-valuemin", String(Math.round(p.from)));
    place.setAttribute("aria-valuemax", String(Math.round(p.to)));
    place.setAttribute("aria-valuenow", String(Math.round(at ?? p.to)));
    place.setAttribute(
      "aria-valuetext",
      `${at == null ? (p.live ? "now" : "at the end") : clock(at * 1000, undefined, true)}: ${text}`,
    );
  };
  useEffect(() => {
    const place = box.current!,
      [base, over] = place.querySelectorAll("canvas"),
      p = (plot.current = new Plot(base!, over!));
    const size = new ResizeObserver(() => p.size(place.clientWidth, place.clientHeight));
    size.observe(place);
    // Draw only visible charts; others when they come into view.
    const sight = new IntersectionObserver(
      ([e]) => {
        seen.current = e!.isIntersecting;
        if (seen.current && shown.current) p.show(shown.current);
      },
      { rootMargin: "100px" },
    );
    sight.observe(place);
    const off = [
      onDrawAll(() => shown.current && (p.show(shown.current), say())),
      onPoint(() => seen.current && p.point(pointed())),
      onTheme(() => p.draw()),
    ];
    return () => {
      size.disconnect();
      sight.disconnect();
      for (const f of off) f();
      plot.current = null;
    };
  }, []);
  useEffect(() => {
    if (!picture || !plot.current) return;
    if (seen.current) plot.current.show(picture);
    if (document.activeElement === box.current || !box.current!.hasAttribute("aria-valuetext")) say();
  }, [picture]);
  const start = useRef<number | null>(null);
  const x = (e: PointerEvent) => e.clientX - box.current!.getBoundingClientRect().left;
  const select = (a: number | null, b = 0) => {
    const s = selection.current!;
    s.hidden = a == null;
    if (a != null) {
      s.style.left = `${Math.min(a, b)}px`;
      s.style.width = `${Math.abs(b - a)}px`;
    }
  };
  const key = (e: KeyboardEvent) => {
    const p = shown.current;
    if (!p) return;
    const at = pointed() ?? p.at ?? p.to,
      step = ((p.to - p.from) / 60) * (e.shiftKey ? 5 : 1);
    if (e.key === "ArrowLeft" || e.key === "ArrowRight")
      point(Math.max(p.from, Math.min(p.to, at + (e.key === "ArrowLeft" ? -step : step))));
    else if (e.key === "Home" || e.key === "End") point(e.key === "Home" ? p.from : p.to);
    else if (e.key === "Enter") mark(at, p);
    else if (e.key === "+" || e.key === "=") {
      const quarter = (p.to - p.from) / 4;
      go({ at: null, from: (at - quarter) * 1000, to: Math.min(p.to, at + quarter) * 1000 });
    } else if (e.key === "-") zoomOut();
    else return;
    e.preventDefault();
    requestAnimationFrame(say);
  };
  const close = () => setSaving(false);
  return (
    <figure class={`chart panel ${big ? "big" : ""}`} data-metric={metric.name}>
      <figcaption>
        <h3>{metric.title}</h3> <span class="dim note">{note}</span>
        <span class="grow" />
        {!full && (
          <button
            type="button"
            class="icon quiet"
            aria-label={`${metric.title}: fill the page`}
            title="Fill the page (f)"
            onClick={() => fillPage(metric.name)}
          >
            <Icon name="expand" />
          </button>
        )}
        <button
          type="button"
          class="icon quiet"
          aria-label={`${metric.title}: save`}
          title="Save"
          onClick={() => setSaving(true)}
        >
          <Icon name="more" />
        </button>
      </figcaption>
      <div
        class={`plot ${big ? "tall" : ""}`}
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={`${metric.title}, ${metric.unit}: moment`}
        aria-valuenow={0}
        onPointerMove={(e) => {
          const at = plot.current?.timeAt(x(e)) ?? null;
          point(at);
          if (start.current != null && Math.abs(x(e) - start.current) >= DRAG) select(start.current, x(e));
        }}
        onPointerLeave={() => point(null)}
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          start.current = x(e);
          if (e.pointerType === "mouse") box.current!.setPointerCapture(e.pointerId);
        }}
        onPointerCancel={() => {
          start.current = null;
          select(null);
        }}
        onPointerUp={(e) => {
          const from = start.current,
            p = shown.current;
          start.current = null;
          select(null);
          if (from == null || !p || !plot.current) return;
          const end = x(e),
            clamp = (v: number) => plot.current!.timeAt(v) ?? (v < 60 ? p.from : p.to);
          if (Math.abs(end - from) < DRAG) {
            const at = plot.current.timeAt(end);
            if (at != null) mark(at, p);
          } else if (current().history) {
            const [a, b] = [clamp(Math.min(from, end)), clamp(Math.max(from, end))];
            go({ at: null, from: a * 1000, to: Math.max(b, a + 5) * 1000 });
          }
        }}
        onDblClick={zoomOut}
        onKeyDown={key}
        onFocus={say}
      >
        <canvas aria-hidden="true" />
        <canvas aria-hidden="true" />
        <div class="selection" ref={selection} hidden />
        {silent && <p class="nothing dim">Not reported by these GPUs.</p>}
        {!picture && <p class="nothing dim">{missing}</p>}
      </div>
      {saving && (
        <Dialog label={`Save ${metric.title}`} kind="menu" close={close}>
          <h3>Save</h3>
          <button
            type="button"
            onClick={() => (plot.current && picture && png(plot.current, metric, picture), close())}
          >
            {metric.title} as PNG
          </button>
          {query && picture ? (
            <a
              class="button"
              href={`${query}&metric=${metric.name}&format=csv`}
              download={fileName(metric, picture, "csv")}
              onClick={close}
            >
              {metric.title} as CSV
            </a>
          ) : (
            <button type="button" onClick={() => (picture && csv(metric, picture), close())}>
              {metric.title} as CSV
            </button>
          )}
        </Dialog>
      )}
    </figure>
  );
}
