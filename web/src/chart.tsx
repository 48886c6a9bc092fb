// SPDX-License-Identifier: Apache-2.0
// One plot. It is built anew when what it shows is another thing, and only gets new data otherwise.
import { memo } from "./memo";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clock, DASH, tickText } from "./format";
import {
  axis,
  type Column,
  grid,
  type Layer,
  type Metric,
  onto,
  pace,
  portions,
  spread,
  stacked,
  throttled,
} from "./plots";
import { go } from "./store";
import type { History, PastEvent, Series } from "./types";

const COLORS = 8,
  HEIGHT = 180,
  NEAR = 6; // px
const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const color = (i: number) => css(`--c${i % COLORS}`);

export interface ChartProps {
  history: History;
  which: string; // GPUs, by index
  metric: Metric;
  events: PastEvent[];
  limit: number | null; // the whole of it: of VRAM
  mark: number | null; // a line to stay below: where it throttles
  layers: Layer[] | null; // processes, the largest first
  other: { label: string; history: History } | null; // to compare with, already moved here
}

interface Lines {
  data: Column[];
  series: uPlot.Series[];
  bands: uPlot.Band[];
  times: number[];
  from: number;
  to: number;
  hot: [number, number][];
}

/** Columns and how each is drawn. */
function lines({ history, which, metric, layers, other, mark }: ChartProps): Lines {
  const gpus = which.split(",").map(Number);
  const own = history.series.filter((s) => gpus.includes(s.gpu_index));
  const before = other?.history.series.filter((s) => gpus.includes(s.gpu_index)) ?? [];
  // Times of another stretch are others: both go onto the steps of this one.
  const step = history.step_seconds,
    steps = other && step > 0 ? grid(Date.parse(history.since) / 1000, Date.parse(history.until) / 1000, step) : null;
  const times = steps ?? axis(own);
  const column = (s: Series, kind: "mean" | "min" | "max") =>
    steps
      ? spread(steps, s, pace(s, step), metric.name, metric.scale, kind)
      : onto(times, s, metric.name, kind, metric.scale);
  const digits = metric.unit === "GiB" ? 1 : 0;
  const text = (v: number | null) =>
    v == null ? DASH : `${v.toFixed(digits)}${metric.unit === "%" ? "" : " "}${metric.unit}`;
  const out: Lines = {
    times,
    data: [],
    series: [],
    bands: [],
    from: Date.parse(history.since) / 1000,
    to: Date.parse(history.until) / 1000,
    hot: metric.name === "temperature_celsius" && own.length === 1 ? throttled(own[0], history.step_seconds, mark) : [],
  };
  const add = (data: Column, series: uPlot.Series) => {
    out.data.push(data);
    out.series.push({ points: { show: false }, value: (_u, v) => text(v as number | null), ...series });
  };
  if (layers && metric.process) {
    const raw = layers.map((l) =>
      spread(
        times,
        l.history.series.find((s) => gpus.includes(s.gpu_index)),
        l.history.step_seconds,
        metric.process!,
        metric.scale,
      ),
    );
    const parts = portions(raw, own[0] ? column(own[0], "mean") : []),
      all = [...parts.layers, parts.others],
      sums = stacked(all);
    for (let i = layers.length; i >= 0; i--)
      // the highest first: those below are drawn over it
      if (all[i]!.some((v) => v))
        add(sums[i]!, {
          label: layers[i]?.name ?? "others",
          stroke: layers[i] ? color(i) : css("--dim"),
          fill: layers[i] ? color(i) : `${css("--dim")}60`,
          width: 1,
          value: (_u, _v, _s, at) => (at == null ? DASH : text(all[i]![at] ?? null)),
        });
    for (const s of own) add(column(s, "mean"), { label: `GPU ${s.gpu_index}`, stroke: css("--text"), width: 1.5 });
    return out;
  }
  own.forEach((s, i) => {
    const c = color(gpus.length > COLORS ? i : s.gpu_index);
    add(column(s, "mean"), { label: `GPU ${s.gpu_index}`, stroke: c, width: 1.5 });
    if (gpus.length > 1) return;
    add(column(s, "max"), { label: "max", stroke: "transparent" });
    add(column(s, "min"), { label: "min", stroke: "transparent" });
    out.bands.push({ series: [2, 3], fill: `${c}40` });
  });
  before.forEach((s) =>
    add(column(s, "mean"), {
      label: `${gpus.length > 1 ? `GPU ${s.gpu_index} ` : ""}${other!.label}`,
      stroke: css("--dim"),
      width: 1.5,
      dash: [6, 4],
    }),
  );
  return out;
}

/** Heat that throttled, and where that begins: behind the lines. */
function behind(u: uPlot, l: Lines, mark: number | null): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = `${css("--bad")}38`;
  for (const [a, b] of l.hot)
    ctx.fillRect(
      u.valToPos(a, "x", true),
      bbox.top,
      Math.max(devicePixelRatio, u.valToPos(b, "x", true) - u.valToPos(a, "x", true)),
      bbox.height,
    );
  if (mark != null) {
    ctx.strokeStyle = css("--bad");
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    const y = u.valToPos(mark, "y", true);
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

function marks(u: uPlot, events: PastEvent[]): void {
  for (const e of events) {
    const x = u.valToPos(Date.parse(e.at) / 1000, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    u.ctx.fillStyle =
      e.severity === "critical" || e.severity === "error"
        ? css("--bad")
        : e.severity === "warning"
          ? css("--warn")
          : css("--dim");
    u.ctx.fillRect(x, u.bbox.top, devicePixelRatio, u.bbox.height);
    u.ctx.fillRect(x - 3 * devicePixelRatio, u.bbox.top, 7 * devicePixelRatio, 4 * devicePixelRatio);
  }
}

/** What happened where the pointer is. */
function said(u: uPlot, events: PastEvent[]): string {
  const x = u.cursor.left ?? -1;
  if (x < 0) return "";
  const near = events.filter((e) => Math.abs(u.valToPos(Date.parse(e.at) / 1000, "x") - x) <= NEAR);
  return (
    near
      .slice(0, 4)
      .map(
        (e) =>
          `${clock(Date.parse(e.at), undefined, true)} ${e.gpu_index == null ? "" : `GPU ${e.gpu_index}: `}${e.text ?? e.kind}`,
      )
      .join("\n") + (near.length > 4 ? `\nand ${near.length - 4} more` : "")
  );
}

/** The plot on a background, with its title: what is seen is what is saved. */
function save(u: uPlot, metric: Metric): void {
  const from = u.ctx.canvas,
    to = document.createElement("canvas"),
    head = 24 * devicePixelRatio;
  to.width = from.width;
  to.height = from.height + head;
  const ctx = to.getContext("2d")!;
  ctx.fillStyle = css("--card");
  ctx.fillRect(0, 0, to.width, to.height);
  ctx.fillStyle = css("--text");
  ctx.font = `${14 * devicePixelRatio}px system-ui`;
  ctx.fillText(`${metric.title}, ${metric.unit}`, 8 * devicePixelRatio, 17 * devicePixelRatio);
  ctx.drawImage(from, 0, head);
  to.toBlob((blob) => {
    if (!blob) return;
    const a = document.createElement("a");
    a.href = URL.createObjectURL(blob);
    a.download = `whirr-${metric.name}.png`;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });
}

/** Without a pointer, the legend shows what came last; the plot itself does nothing about it, neither at first nor with new data. */
function showLast(u: uPlot): void {
  if ((u.cursor.left ?? -1) >= 0) return;
  const [times, ...columns] = u.data;
  let last = times.length - 1;
  while (last > 0 && columns.every((c) => c[last] == null)) last--;
  u.setLegend({ idx: last });
}

export const Chart = memo(function Chart(props: ChartProps) {
  const { history, which, metric, events, limit, mark } = props;
  const box = useRef<HTMLDivElement>(null),
    tip = useRef<HTMLPreElement>(null),
    plot = useRef<uPlot | null>(null);
  const l = lines(props),
    now = useRef({ l, events, limit, mark });
  now.current = { l, events, limit, mark };
  const empty = l.data.every((c) => c.every((v) => v == null));
  const shape = `${l.series.map((s) => s.label).join("|")}|${empty}`;
  useEffect(() => {
    const place = box.current;
    if (empty || !place) return;
    const ink = {
      stroke: css("--dim"),
      grid: { stroke: css("--line"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui",
    };
    const top = (high: number | null) =>
      metric.top ??
      Math.max(1, Math.max(high ?? 1, (now.current.limit ?? 0) * metric.scale, now.current.mark ?? 0) * 1.05);
    const long = () => (now.current.l.to - now.current.l.from > 172800 ? Infinity : 0);
    const u = new uPlot(
      {
        width: place.clientWidth,
        height: HEIGHT,
        cursor: { y: false, sync: { key: "whirr" }, drag: { x: true, y: false, setScale: false } },
        legend: { show: true, live: true },
        scales: {
          x: { time: true, range: () => [now.current.l.from, now.current.l.to] },
          y: { range: (_u, _low, high) => [0, top(high)] },
        },
        axes: [
          { ...ink, size: 30, values: (_u, splits) => splits.map((t) => tickText(t * 1000, long())) },
          { ...ink, size: 44 },
        ],
        series: [{ value: (_u, v) => (v == null ? DASH : clock(v * 1000, undefined, true)) }, ...l.series],
        bands: l.bands,
        hooks: {
          setSelect: [
            (v) => {
              if (v.select.width < 8) return;
              go({
                at: null,
                from: v.posToVal(v.select.left, "x") * 1000,
                to: v.posToVal(v.select.left + v.select.width, "x") * 1000,
              });
              v.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          drawClear: [(v) => behind(v, now.current.l, now.current.mark)],
          draw: [(v) => marks(v, now.current.events)],
          setCursor: [
            (v) => {
              showLast(v);
              const text = said(v, now.current.events),
                pre = tip.current!;
              pre.hidden = !text;
              if (text) {
                pre.textContent = text;
                pre.style.left = `${Math.max(0, Math.min(place.clientWidth - pre.offsetWidth, (v.cursor.left ?? 0) - 20))}px`;
              }
            },
          ],
        },
      },
      [l.times, ...l.data],
      place,
    );
    plot.current = u;
    showLast(u);
    const watch = new ResizeObserver(() => {
      if (u.width !== place.clientWidth) u.setSize({ width: place.clientWidth, height: HEIGHT });
    });
    watch.observe(place);
    return () => {
      watch.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [shape]);
  const drawn = useRef<unknown>(null);
  useEffect(() => {
    // new data of the same things
    if (plot.current && drawn.current) {
      if (drawn.current !== history || props.layers) {
        plot.current.setData([l.times, ...l.data]);
        showLast(plot.current);
      } else plot.current.redraw(false);
    }
    drawn.current = history;
  }, [history, props.layers, props.other, events]);
  const download = `/api/history?metric=${metric.name}&gpu=${which}&since=${history.since}&until=${history.until}&format=csv`;
  return (
    <figure class="chart" data-metric={metric.name}>
      <figcaption>
        <b>{metric.title}</b>{" "}
        <span class="dim">
          {metric.unit}
          {props.layers && metric.process ? ", by process" : ""}
          {l.hot.length ? ", shaded: thermal throttling" : ""}
        </span>
        <span class="files">
          <a href={download} download={`whirr-${metric.name}.csv`} aria-label={`${metric.title} as CSV`}>
            CSV
          </a>{" "}
          {!empty && (
            <button
              type="button"
              class="link"
              onClick={() => plot.current && save(plot.current, metric)}
              aria-label={`${metric.title} as PNG`}
            >
              PNG
            </button>
          )}
        </span>
      </figcaption>
      {empty ? (
        <p class="dim none">Nothing was stored in this time.</p>
      ) : (
        <div ref={box} class="plot">
          <pre ref={tip} class="tip" hidden />
        </div>
      )}
    </figure>
  );
});
