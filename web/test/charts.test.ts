// SPDX-License-Identifier: Apache-2.0
// What charts, timeline and addresses are made of.
import assert from "node:assert/strict";
import test from "node:test";
import { items } from "../src/findings";
import { firstSentence, parseMoment, plainly } from "../src/format";
import { counts } from "../src/level";
import { limitOf } from "../src/limit";
import { NOW, readPlace, readView, windowOf, writePlace } from "../src/place";
import { byWeight, type Row } from "../src/rows";
import { bands, continued, findingMarks, pictureOf, stretches } from "../src/pictures";
import { gaps, range, spreadLabels, ticks, timeTicks } from "../src/scale";
import { joined, METRICS } from "../src/plots";
import { mattering, readings } from "../src/readings";
import * as ring from "../src/ring";
import { areaPath, holes, sums } from "../src/slots";
import type { Alert } from "../src/api";
import type { Finding, Gpu, History, PastEvent, Series } from "../src/types";

const gpu = (index: number, more: Partial<Gpu> = {}): Gpu =>
  ({
    index,
    name: "RTX",
    vendor: "x",
    state: "ok",
    utilization_percent: 50,
    memory_used_mb: 1024,
    memory_total_mb: 24576,
    temperature_celsius: 60,
    temperature_limit_celsius: 90,
    fan_percent: 40,
    power_watts: 200,
    power_limit_watts: 450,
    clock_graphics_mhz: 2000,
    throttle_reasons: [],
    processes: [],
    absent: {},
    ...more,
  }) as Gpu;

const series = (index: number, times: number[], values: (number | null)[], name = "utilization_percent"): Series => ({
  gpu_index: index,
  gpu_name: "RTX",
  times,
  metrics: [{ name, unit: "", mean: values, min: values, max: values }],
});
const history = (list: Series[], step = 10): History => ({
  since: "",
  until: "",
  step_seconds: step,
  level: "samples",
  series: list,
});

test("a moment is typed as people say it", () => {
  const now = new Date(2026, 10, 16, 19, 8, 9).getTime(), // a Monday
    at = (...when: [number, number, number, number, number]) => new Date(...when).getTime();
  const says = (text: string) => parseMoment(text, now);
  assert.equal(says("03:10"), at(2026, 10, 16, 3, 10));
  assert.equal(says("22:00"), at(2026, 10, 15, 22, 0), "the last one that has been");
  assert.equal(says(" Yesterday  22:00"), at(2026, 10, 15, 22, 0));
  assert.equal(says("yesterday, 9:05 pm"), at(2026, 10, 15, 21, 5));
  assert.equal(says("12:30 am"), at(2026, 10, 16, 0, 30));
  assert.equal(says("mon 9:30"), at(2026, 10, 16, 9, 30));
  assert.equal(says("mon 22:00"), at(2026, 10, 9, 22, 0), "not to come");
  assert.equal(says("saturday 9:30"), at(2026, 10, 14, 9, 30));
  assert.equal(says("2026-11-02 03:10"), at(2026, 10, 2, 3, 10));
  assert.equal(says("2h ago"), now - 7200e3);
  assert.equal(says("-90m"), now - 5400e3);
  for (const nonsense of ["", "soon", "25:10", "3:70", "10", "13:10 apples"])
    assert.equal(says(nonsense), null, nonsense);
});

test("what is seen is in the address, and only what is not as usual", () => {
  assert.equal(writePlace(NOW, readView("")), "");
  const address =
    "?at=2026-11-15T03:10:00Z&span=1h&gpu=2&pid=7&by=process&compare=ago:3600&q=user:alice+llama&group=user";
  assert.equal(writePlace(readPlace(address), readView(address)), address);
  assert.deepEqual(readView("?span=forever&gpu=x&by=magic&compare=<script>&group=none"), readView(""));
  assert.equal(readView("?span=99y").span, 31536000);
});

test("around a moment at least an hour is seen, and nothing of the future", () => {
  const now = 1e10;
  assert.deepEqual(windowOf(NOW, 300, now), { from: now - 300e3, to: now, live: true });
  assert.deepEqual(windowOf({ at: now - 7200e3, from: null, to: null }, 300, now), {
    from: now - 9000e3,
    to: now - 5400e3,
    live: false,
  });
  assert.equal(windowOf({ at: now - 60e3, from: null, to: null }, 300, now).to, now);
  assert.deepEqual(windowOf({ at: 5, from: 1, to: 9 }, 300, now), { from: 1, to: 9, live: false });
});

test("the first sentence stands alone, and is not cut at a version", () => {
  assert.deepEqual(firstSentence("GPU 1 is busy: x is training Llama-3.1-8B. 98%, 700 W. GPU 3 is idle."), [
    "GPU 1 is busy: x is training Llama-3.1-8B.",
    "98%, 700 W. GPU 3 is idle.",
  ]);
  assert.deepEqual(firstSentence("One."), ["One.", ""]);
  assert.equal(
    plainly("Simulated GPU 1 is busy. Simulated GPUs 0 and 2 are idle."),
    "GPU 1 is busy. GPUs 0 and 2 are idle.",
  );
});

test("axes have steps that people count in", () => {
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(20, 100, 4), [20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(0, 24.1, 5), [0, 5, 10, 15, 20]);
  assert.ok(timeTicks(-62e9, 32e9, 9).length <= 11, "three thousand years");
  assert.deepEqual(ticks(0, Infinity, 5), []);
  const hour = timeTicks(1000, 4600, 6);
  assert.ok(hour.length >= 5 && hour.every((t) => t % 600 === 0), String(hour));
});

test("labels stand apart and inside", () => {
  assert.deepEqual(spreadLabels([10, 11, 50], 12, 0, 100), [10, 22, 50]);
  assert.deepEqual(spreadLabels([99, 98], 12, 0, 100), [100, 88]);
  assert.deepEqual(spreadLabels([], 12, 0, 100), []);
});

test("gaps are where nothing was recorded, at the ends, too", () => {
  const times = [100, 110, 120, 200, 210];
  assert.deepEqual(gaps({ times, from: 0, to: 300, gap: 25, live: false }), [
    [0, 100],
    [120, 200],
    [210, 300],
  ]);
  assert.deepEqual(gaps({ times, from: 95, to: 230, gap: 25, live: true }), [[120, 200]], "what is to come is no gap");
  assert.deepEqual(gaps({ times: [], from: 0, to: 10, gap: 5, live: true }), [[0, 10]]);
});

const wanted = {
  gpus: [gpu(0), gpu(1)],
  picked: null,
  worst: [1],
  compare: null,
  layers: null,
  other: null,
  events: [],
  lanes: [],
  from: 0,
  to: 40,
  live: false,
  end: "now",
  at: null,
  older: "",
};
const metric = (name: string) => METRICS.find((m) => m.name === name)!;

test("a line for each GPU, the worst heavy; many GPUs are bands with the worst by number", () => {
  const few = pictureOf({
    ...wanted,
    history: history([series(0, [0, 10], [1, 2]), series(1, [0, 10], [3, null])]),
    metric: metric("utilization_percent"),
  });
  assert.deepEqual(
    few.lines.map((l) => [l.label, l.values, l.heavy]),
    [
      ["0", [1, 2], false],
      ["1", [3, null], true],
    ],
  );
  assert.notDeepEqual(few.lines[0]!.dash, few.lines[1]!.dash, "apart without color");
  assert.deepEqual(range(few), [0, 100]);
  const many = pictureOf({
    ...wanted,
    worst: [5],
    history: history(Array.from({ length: 20 }, (_, i) => series(i, [0, 10], [i, 2 * i]))),
    metric: metric("utilization_percent"),
  });
  assert.deepEqual(
    many.lines.map((l) => l.label),
    ["mid", "5"],
  );
  assert.deepEqual(many.bands[0], [
    [0, 0],
    [19, 38],
  ]);
  assert.deepEqual(bands([[1], [null], [3]], 1).mid, [3]);
});

test("a stack is the GPU: processes, others, and what is left by name", () => {
  const layer = (name: string, values: (number | null)[]) => ({
    name,
    history: history([series(0, [0, 10, 20], values)]),
  });
  const p = pictureOf({
    ...wanted,
    picked: 0,
    layers: [layer("a", [30, 90, 5]), layer("b", [10, 30, null])],
    history: history([series(0, [0, 10, 20], [60, 60, null])]),
    metric: metric("utilization_percent"),
  });
  assert.deepEqual(
    p.parts!.map((x) => [x.label, x.values]),
    [
      ["a", [30, 45, null]],
      ["b", [10, 15, null]],
      ["others", [20, 0, null]],
    ],
  );
  assert.deepEqual(p.rest, { label: "idle", values: [40, 40, null] });
});

test("the minute that is not over is as the last one; what ended before is not", () => {
  const times = [0, 60, 120, 180];
  assert.deepEqual(continued([5, 6, null, null], times, series(0, [0, 60], [5, 6]), 180), [5, 6, 6, 6]);
  assert.deepEqual(continued([5, null, null, null], times, series(0, [0], [5]), 200), [5, null, null, null]);
  assert.deepEqual(continued([null, null], [0, 60], series(0, [0], [null]), 60), [null, null]);
});

test("what was before the page was opened comes from the history", () => {
  const live = [{ name: "a", history: history([series(0, [100, 101], [7, 8])]) }],
    stored = [
      { name: "a", history: history([series(0, [0, 60, 120], [1, 2, 3])]) },
      { name: "gone", history: history([series(0, [0, 60], [4, 4])]) },
    ];
  const [a, gone] = joined(live, stored, 100);
  assert.deepEqual(a!.history.series[0]!.times, [0, 60, 100, 101]);
  assert.deepEqual(a!.history.series[0]!.metrics[0]!.mean, [1, 2, 7, 8]);
  assert.deepEqual(gone!.history.series[0]!.metrics[0]!.mean, [4, 4]);
});

test("the page remembers what it saw, and fills what was before from the history", () => {
  for (let i = 0; i < 3; i++) ring.push(1e6 + i * 1000, [gpu(0, { utilization_percent: i }), gpu(1)], 1);
  ring.push(1e6 + 3000, [gpu(0, { utilization_percent: 3 }), gpu(1, { state: "lost" })], 1);
  ring.push(1e6 + 3000, [gpu(0, { utilization_percent: 99 })], 1); // the same sample again
  const column = (i: number) => ring.recent().series[i]!.metrics.find((m) => m.name === "utilization_percent")!.mean;
  assert.deepEqual(column(0), [0, 1, 2, 3]);
  assert.deepEqual(column(1), [50, 50, 50, null], "a lost GPU has no values");
  assert.deepEqual(ring.limits(1), [null, null, null, "lost"]);
  ring.fill(history([series(0, [990, 995, 1000.5], [40, 41, 42])], 1));
  assert.deepEqual(ring.recent().series[0]!.times, [990, 995, 1000, 1001, 1002, 1003]);
  assert.deepEqual(column(0), [40, 41, 0, 1, 2, 3]);
  const process = {
    pid: 7,
    name: "python3",
    short_name: "train.py",
    utilization_percent: 5,
    memory_mb: 10,
    power_watts: 1,
  };
  ring.pushProcesses(1e6, [gpu(0, { processes: [process] as Gpu["processes"] })]);
  ring.pushProcesses(1e6 + 2000, [gpu(0)]);
  assert.equal(ring.layers(0, 7)[0]!.name, "train.py");
  assert.deepEqual(ring.course(0, 7, "utilization_percent")!.values, [5, null]);
  for (let i = 0; i < 3000; i++) ring.push(2e6 + i * 1000, [gpu(0)], 1);
  assert.ok(ring.recent().series[0]!.times.length < 1.3 * ring.KEPT, "and forgets");
});

test("findings are marks, from the first sample to the last", () => {
  const event = (more: Partial<PastEvent>): PastEvent => ({
    id: 1,
    at: "1970-01-01T00:01:40Z",
    gpu_index: 1,
    kind: "finding",
    severity: "warning",
    text: "GPU 1 was loud",
    data: { duration_seconds: 20 },
    ...more,
  });
  assert.deepEqual(findingMarks([event({}), event({ kind: "daemon" })], null), [
    { from: 100, to: 120, level: "warn", text: "GPU 1 was loud" },
  ]);
  assert.deepEqual(findingMarks([event({})], 0), [], "of another GPU");
  assert.deepEqual(
    stretches([0, 1, 2, 3, 50], ["power limit", "power limit", "thermal throttling", null, "idle"], 5).map((p) => [
      p.from,
      p.to,
      p.text,
      p.level,
    ]),
    [
      [0, 2, "power limit", "good"],
      [2, 2, "thermal throttling", "bad"],
      [50, 50, "idle", "good"],
    ],
  );
});

test("the strip of a day: sums, areas that break at gaps, and the gaps", () => {
  const h = history(
    [series(0, [0, 60, 120], [1, 2, null], "power_watts"), series(1, [0, 60], [10, 20], "power_watts")],
    60,
  );
  assert.deepEqual(sums(h, 0, 300, 5, "sum", "power_watts").slice(0, 2), [11, 22]);
  assert.equal(sums(h, 0, 300, 5, "max", "power_watts")[1], 20);
  const slots = [1, 1, null, null, null, 1];
  assert.deepEqual(holes(slots), [[2 / 6, 5 / 6]]);
  assert.equal(areaPath(slots, 2).area.split("M").length - 1, 2);
});

test("what needs attention is counted, listed with its alert, and comes first among processes", () => {
  const finding = (more: Partial<Finding>): Finding => ({
    code: "heat_limit",
    severity: "critical",
    area: "heat",
    gpu_index: 0,
    pid: null,
    headline: "GPU 0 is throttling",
    since: "2026-11-15T03:00:00Z",
    ...more,
  });
  const list = [
    finding({}),
    finding({ code: "vram_full_soon", severity: "warning", pid: 7, headline: "a process keeps taking more VRAM" }),
    finding({ code: "x", severity: "warning", muted: true }),
    finding({ code: "compute_load", severity: "info", pid: 8 }),
  ];
  assert.deepEqual(counts(list), [
    ["bad", 1],
    ["warn", 1],
  ]);
  const alert = (more: Partial<Alert>): Alert => ({
    alert: "heat_limit",
    code: "heat_limit",
    state: "firing",
    severity: "critical",
    gpu_index: 0,
    summary: "s",
    started_at: "2026-11-15T03:00:00Z",
    ended_at: null,
    silenced: false,
    fingerprint: "f",
    ...more,
  });
  const now = Date.parse("2026-11-15T03:10:00Z");
  const said = items(
    list,
    [alert({}), alert({ alert: "old", code: "old", state: "resolved", summary: "old one" })],
    now,
  );
  assert.equal(said[0]!.alert!.alert, "heat_limit", "one line for a finding and its alert");
  assert.match(said[0]!.when, /, 10m$/);
  assert.equal(said.at(-1)!.text, "old one");
  const row = (pid: number, util: number, mb: number) =>
    ({ pid, gpu: 0, utilization_percent: util, memory_mb: mb }) as Row;
  assert.deepEqual(
    byWeight([row(1, 0, 900), row(2, 90, 5), row(7, 1, 1), row(8, 0, 950)], list).map((r) => r.pid),
    [7, 2, 8, 1],
  );
});

test("a GPU is limited by what throttles it, else by what limits its busiest process", () => {
  const limit = (code: string, side: string, words: string) => ({ code, side, words, share_percent: 80 });
  const on = (g: Partial<Gpu>, ...limits: ReturnType<typeof limit>[]) =>
    limitOf(
      gpu(0, {
        processes: limits.map((l, i) => ({ pid: i, utilization_percent: 90 - i, limit: l })) as Gpu["processes"],
        ...g,
      }),
    );
  assert.equal(
    on({}, limit("loaders", "host", "its loader processes"), limit("compute", "gpu", "compute")),
    "waits: its loader processes",
  );
  assert.equal(on({}, limit("compute", "gpu", "compute")), "compute");
  assert.equal(on({}, limit("cannot_tell", "none", "something that does not show")), null);
  assert.equal(
    on({ throttle_reasons: ["hardware thermal slowdown"] }, limit("compute", "gpu", "compute")),
    "thermal throttling",
  );
  assert.equal(on({ state: "lost" }), "lost");
});

test("the readings that matter for what was found come first", () => {
  const names = (area: string) => mattering(readings(gpu(0), null), area).map((r) => r.name);
  assert.deepEqual(names("heat"), ["Temperature", "Fan", "Power", "Clock"]);
  assert.deepEqual(names("memory").slice(0, 1), ["VRAM"]);
  assert.deepEqual(names(""), ["Utilization", "Temperature", "Power", "VRAM"]);
  assert.equal(
    mattering(readings(gpu(0, { fan_percent: null }), null), "fan").some((r) => r.name === "Fan"),
    false,
  );
});
