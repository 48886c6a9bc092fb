// SPDX-License-Identifier: Apache-2.0
// The past as plots: a line for each GPU, the least and the most of each step around it where one GPU is shown, and what happened.
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock, DASH, tickText } from "./format";
import { get } from "./live";
import { Section } from "./parts";
import { go, type State } from "./store";
import type { Gpu, History, PastEvent } from "./types";

const METRICS = [
  { name: "utilization_percent", title: "Utilization", unit: "%", top: 100, scale: 1 },
  { name: "memory_used_mb", title: "VRAM", unit: "GiB", top: null, scale: 1 / 1024 },
  { name: "power_watts", title: "Power", unit: "W", top: null, scale: 1 },
  { name: "temperature_celsius", title: "Temperature", unit: "°C", top: null, scale: 1 },
  { name: "fan_percent", title: "Fan", unit: "%", top: 100, scale: 1 },
  { name: "clock_graphics_mhz", title: "Clock", unit: "MHz", top: null, scale: 1 },
  { name: "pcie_rx_bytes_per_second", title: "PCIe received", unit: "MiB/s", top: null, scale: 1 / 1048576 },
  { name: "pcie_tx_bytes_per_second", title: "PCIe sent", unit: "MiB/s", top: null, scale: 1 / 1048576 },
] as const;
const MOST = 8;

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const color = (i: number) => css(`--c${i % MOST}`);

/** All series on one time axis: uPlot wants that, and GPUs may have been there at different times. */
export function align(history: History, gpus: number[], metric: string, scale: number, band: boolean): uPlot.AlignedData {
  const series = history.series.filter((s) => gpus.includes(s.gpu_index));
  const times = [...new Set(series.flatMap((s) => s.times))].sort((a, b) => a - b);
  const place = new Map(times.map((t, i) => [t, i]));
  const columns: (number | null)[][] = [];
  for (const s of series) {
    const m = s.metrics.find((x) => x.name === metric);
    for (const kind of band ? (["mean", "max", "min"] as const) : (["mean"] as const)) {
      const column = new Array<number | null>(times.length).fill(null);
      s.times.forEach((t, i) => { const v = m?.[kind][i]; column[place.get(t)!] = v == null ? null : v * scale; });
      columns.push(column);
    }
  }
  return [times, ...columns];
}

const Chart = memo(function Chart({ history, which, metric, events, limit }: { history: History; which: string; metric: (typeof METRICS)[number]; events: PastEvent[]; limit: number | null }) {
  const gpus = which.split(",").map(Number);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const marks = useRef(events);
  marks.current = events;
  const band = gpus.length === 1;
  const shown = history.series.filter((s) => gpus.includes(s.gpu_index));
  const data = align(history, gpus, metric.name, metric.scale, band);
  const empty = data.slice(1).every((c) => (c as (number | null)[]).every((v) => v == null));
  const from = Date.parse(history.since) / 1000, to = Date.parse(history.until) / 1000;
  const key = `${shown.map((s) => s.gpu_index).join()}|${from}|${to}|${empty}`;
  useEffect(() => {
    const place = box.current;
    if (empty || !place) return;
    const axis = { stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const text = (_u: uPlot, v: number | null) => (v == null ? DASH : `${v.toFixed(metric.unit === "GiB" ? 1 : 0)}${metric.unit === "%" ? "" : " "}${metric.unit}`);
    const line = (i: number, label: string): uPlot.Series => ({ label, stroke: color(i), width: 1.5, points: { show: false }, value: text });
    const faint = (label: string): uPlot.Series => ({ label, stroke: "transparent", points: { show: false }, value: text });
    const u = new uPlot({
      width: place.clientWidth, height: 180,
      cursor: { y: false, sync: { key: "whirr" }, drag: { x: true, y: false, setScale: false } },
      legend: { show: true, live: true },
      scales: { x: { time: true, range: [from, to] }, y: { range: (_u, _low, high) => [0, metric.top ?? Math.max(1, (limit ? Math.max(high ?? 0, limit * metric.scale) : high ?? 1) * 1.05)] } },
      axes: [{ ...axis, size: 30, values: (_u, splits) => splits.map((t) => tickText(t * 1000, to - from > 172800 ? Infinity : 0)) }, { ...axis, size: 44 }],
      series: [{ value: (_u, v) => (v == null ? "–" : clock(v * 1000, undefined, true)) }, ...shown.flatMap((s, i) => (band ? [line(s.gpu_index, `GPU ${s.gpu_index}`), faint("max"), faint("min")] : [line(gpus.length > MOST ? i : s.gpu_index, `GPU ${s.gpu_index}`)]))],
      bands: band ? [{ series: [2, 3], fill: `${color(gpus[0]!)}40` }] : [],
      hooks: {
        setSelect: [(v) => {
          if (v.select.width < 8) return;
          go({ at: null, from: v.posToVal(v.select.left, "x") * 1000, to: v.posToVal(v.select.left + v.select.width, "x") * 1000 });
          v.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        draw: [(v) => {
          v.ctx.save();
          for (const e of marks.current) {
            const x = v.valToPos(Date.parse(e.at) / 1000, "x", true);
            if (x < v.bbox.left || x > v.bbox.left + v.bbox.width) continue;
            v.ctx.fillStyle = e.severity === "critical" ? css("--bad") : e.severity === "warning" ? css("--warn") : css("--dim");
            v.ctx.fillRect(x, v.bbox.top, devicePixelRatio, v.bbox.height);
          }
          v.ctx.restore();
        }],
      },
    }, data, place);
    plot.current = u;
    const watch = new ResizeObserver(() => { if (u.width !== place.clientWidth) u.setSize({ width: place.clientWidth, height: 180 }); });
    watch.observe(place);
    return () => { watch.disconnect(); u.destroy(); plot.current = null; };
  }, [key, history]);
  const png = () => {
    const canvas = plot.current?.ctx.canvas;
    canvas?.toBlob((blob) => {
      if (!blob) return;
      const a = document.createElement("a");
      a.href = URL.createObjectURL(blob);
      a.download = `whirr-${metric.name}.png`;
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 1000);
    });
  };
  const download = `/api/history?metric=${metric.name}&gpu=${gpus.join()}&since=${history.since}&until=${history.until}&format=csv`;
  return (
    <figure class="chart">
      <figcaption><b>{metric.title}</b> <span class="dim">{metric.unit}</span>
        <span class="files"><a href={download} download={`whirr-${metric.name}.csv`} aria-label={`${metric.title} as CSV`}>CSV</a> {!empty && <button type="button" class="link" onClick={png} aria-label={`${metric.title} as PNG`}>PNG</button>}</span>
      </figcaption>
      {empty ? <p class="dim none">Nothing was stored in this time.</p> : <div ref={box} />}
    </figure>
  );
});

export function Charts({ s, gpus, span, picked }: { s: State; gpus: Gpu[]; span: number; picked: number | null }) {
  const [history, setHistory] = useState<History | null>(null);
  const [events, setEvents] = useState<PastEvent[]>([]);
  const [near, setNear] = useState(false);
  const [theme, setTheme] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => { if (seen.some((e) => e.isIntersecting)) { setNear(true); watch.disconnect(); } }, { rootMargin: "300px" });
    if (box.current) watch.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)"), turn = () => setTheme((n) => n + 1);
    dark.addEventListener("change", turn);
    return () => { watch.disconnect(); dark.removeEventListener("change", turn); };
  }, [gpus.length > 0]);
  const { from, to, at } = s.place;
  const range = from != null ? `since=${new Date(from).toISOString()}&until=${new Date(to!).toISOString()}`
    : at != null ? `since=${new Date(at - (span * 1000) / 2).toISOString()}${at + (span * 1000) / 2 < Date.now() ? `&until=${new Date(at + (span * 1000) / 2).toISOString()}` : ""}` : `since=-${span}s`;
  const chosen = picked != null ? [picked] : gpus.slice(0, MOST).map((g) => g.index);
  const tick = from != null || at != null ? 0 : Math.floor((s.sampleAt ?? 0) / Math.max(10e3, span * 3));
  const live = s.link === "live", which = chosen.join();
  useEffect(() => {
    if (!near || !live || !which) return;
    const stop = new AbortController();
    const wait = setTimeout(() => {
      get<History>(`/api/history?metric=${METRICS.map((m) => m.name).join()}&gpu=${which}&${range}&points=600`, stop.signal).then(setHistory).catch(() => undefined);
      get<{ events: PastEvent[] }>(`/api/history/events?${range}&limit=500`, stop.signal).then((e) => setEvents(e.events)).catch(() => undefined);
    }, at == null ? 0 : 400);
    return () => { clearTimeout(wait); stop.abort(); };
  }, [near, live, which, range, tick]);
  if (!s.history || !gpus.length) return null;
  return (
    <Section id="charts" title="Charts" side={<span class="dim">{picked == null && gpus.length > MOST ? `GPUs 0 to ${MOST - 1}; select one above to see it` : picked == null && gpus.length > 1 ? "select a GPU above for its minimum and maximum" : ""}</span>}>
      <div class="charts" ref={box} key={theme}>
        {history ? METRICS.map((m) => <Chart key={m.name} history={history} which={which} metric={m} events={events}
          limit={m.name === "memory_used_mb" ? Math.max(0, ...gpus.filter((g) => chosen.includes(g.index)).map((g) => g.memory_total_mb ?? 0)) : null} />) : <p class="dim">Loading…</p>}
      </div>
    </Section>
  );
}
