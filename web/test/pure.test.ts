// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clock,
  duration,
  energy,
  memory,
  memoryOf,
  parseSize,
  parseUntil,
  percent,
  ranges,
  shortName,
  steady,
  tied,
  utcZone,
  watts,
  wattsOf,
} from "../src/format";
import { changeText } from "../src/changes";
import { verdictOf } from "../src/verdict";
import { answerLevel, areaLevel, gpuLevel, withFindings, worst } from "../src/level";
import { shownState, slowedBy, throttling } from "../src/limit";
import { lanes, limitBands, limitLanes } from "../src/lanes";
import { advice, backoff, merge, nearest, sparkline, timeLeft } from "../src/model";
import { gpusAt, healthAt, pastAt } from "../src/moment";
import { checked, NOW, readPlace, writePlace } from "../src/place";
import { filtered, grouped, type Row, serving, sorted, tokensPerJoule } from "../src/rows";
import {
  type FleetHost,
  fitting,
  freest,
  hostCounts,
  hostsShown,
  pagesOf,
  troubleLevel,
  troubleText,
} from "../src/hosts";
import { axis, grid, onto, pace, portions, shifted, spread, stacked, throttled } from "../src/plots";
import type { GuardedWorker as Worker } from "../src/api";
import type { Finding, Gpu, History, PastEvent, Series, Why } from "../src/types";

const gpu = (more: Partial<Gpu> = {}): Gpu => ({
  index: 0,
  uuid: "GPU-1",
  name: "RTX",
  vendor: "x",
  simulated: false,
  state: "ok",
  error_message: null,
  utilization_percent: 50,
  memory_used_mb: 1024,
  memory_total_mb: 24576,
  temperature_celsius: 60,
  temperature_limit_celsius: 90,
  temperature_shutdown_celsius: 95,
  fan_percent: 40,
  fan_rpm: null,
  fan_state: "turning",
  power_watts: 200,
  power_limit_watts: 450,
  clock_graphics_mhz: 2000,
  throttle_reasons: [],
  processes: [],
  processes_left_out: 0,
  processes_hidden: 0,
  absent: {},
  ...more,
});
const row = (pid: number, more: Partial<Row> = {}): Row => ({
  gpu: 0,
  pid,
  name: "python3",
  command: "python3 train.py",
  user: "alice",
  memory_mb: 100,
  utilization_percent: 10,
  container: null,
  model: null,
  ...more,
});
const why = (answer: string, more: Partial<Why> = {}): Why => ({
  answer,
  timestamp: "2026-11-15T00:00:00Z",
  simulated: false,
  severity: "info",
  gpu_index: 0,
  machine: { answer: "", causes: [], suggestions: [], severity: "info" },
  gpus: [0, 1].map((i) => ({
    gpu_index: i,
    gpu_name: "",
    answer: "",
    causes: [],
    suggestions: [],
    severity: "info" as const,
  })),
  ...more,
});

test("numbers read as whirr writes them", () => {
  assert.equal(percent(34.6), "35%");
  assert.equal(percent(null), "–");
  assert.equal(memory(340), "340 MiB");
  assert.equal(memory(5632), "5.5 GiB");
  assert.equal(memory(1.5 * 2 ** 20), "1.5 TiB");
  assert.equal(watts(9999), "9999 W");
  assert.equal(watts(44100), "44.1 kW");
  assert.deepEqual([0, 60, 330, -300].map(utcZone), ["UTC", "UTC+1", "UTC+5:30", "UTC−5"]);
  assert.equal(
    tied("97%, 700 W (at its power limit), 71 °C, 5.5 GiB of 2 Windows"),
    "97%, 700\u00a0W (at its power limit), 71\u00a0°C, 5.5\u00a0GiB of 2 Windows",
  );
  assert.equal(memoryOf(6246, 24576), "6.1/24.0 GiB");
  assert.equal(wattsOf(134.2, 450), "134/450 W");
  assert.equal(wattsOf(134.2, null), "134 W");
  assert.equal(energy(3.1e6), "0.86 kWh");
  assert.equal(energy(9076), "9.1 kJ");
  assert.equal(energy(0), "0 kJ");
});

test("durations have one form", () => {
  for (const [seconds, text] of [
    [45, "45s"],
    [59.6, "1m"],
    [75, "1m 15s"],
    [600, "10m"],
    [10080, "2h 48m"],
    [93600, "1d 2h"],
    [86400, "1d"],
  ] as const)
    assert.equal(duration(seconds), text);
});

test("the date stands only where it is not today's", () => {
  const noon = new Date(2026, 10, 15, 12, 0).getTime();
  assert.equal(clock(new Date(2026, 10, 15, 3, 10).getTime(), noon), "03:10");
  assert.equal(clock(new Date(2026, 10, 14, 3, 10, 5).getTime(), noon, true), "2026-11-14 03:10:05");
});

test("sizes are read as people write them", () => {
  assert.equal(parseSize("24GiB"), 24 * 2 ** 30);
  assert.equal(parseSize(" 7,5 gb "), 7.5e9);
  assert.equal(parseSize("8"), 8 * 2 ** 30);
  assert.equal(parseSize("512 MiB"), 512 * 2 ** 20);
  assert.equal(parseSize("1000 bytes"), 1000);
  for (const text of ["", "much", "-3", "3 miles"]) assert.equal(parseSize(text), null);
});

test("names are those that owners use", () => {
  assert.equal(shortName("Acme GeForce RTX 4090", "acme"), "RTX 4090");
  assert.equal(shortName("Acme H100 80GB HBM3", "acme"), "H100 80GB HBM3");
  assert.equal(shortName(null, "acme"), "unknown");
});

test("a power limit that was reached is nothing to look at, heat is", () => {
  assert.deepEqual(throttling(["power cap"]), "at its power limit");
  assert.deepEqual(throttling(["idle"]), null);
  assert.deepEqual(
    throttling(["power cap", "hardware thermal slowdown", "software thermal slowdown"]),
    "at its power limit, thermal throttling",
  );
  assert.equal(gpuLevel(gpu({ throttle_reasons: ["power cap"] })), "good");
  assert.equal(gpuLevel(gpu({ temperature_celsius: 88 })), "good"); // whether that is hot is not for the page to say
  assert.equal(gpuLevel(gpu({ state: "lost" })), "bad");
  assert.equal(gpuLevel(gpu({ state: "asleep", utilization_percent: null })), "idle");
});

test("a tile is colored by its GPU's first finding, and so is the figure that it is about", () => {
  const found = {
    code: "fan_stopped",
    severity: "critical" as const,
    area: "fan",
    gpu_index: 0,
    pid: null,
    headline: "GPU 0: the fan has stopped",
  };
  const stopped = withFindings([gpu({})], [found, { ...found, code: "loud", severity: "warning" }])[0]!;
  assert.equal(gpuLevel(stopped), "bad");
  assert.equal(areaLevel(stopped, "fan"), "bad");
  assert.equal(areaLevel(stopped, "heat"), "good");
  assert.equal(gpuLevel(gpu({ finding: { ...found, severity: "warning" } })), "warn");
  const failing = { gpu_index: 0, gpu_name: "", state: "failing", reason: "", action: "", since: null };
  assert.equal(gpuLevel(gpu({}), failing), "bad"); // of the past, findings are not known
  assert.equal(gpuLevel(gpu({ finding: null }), failing), "good");
  const summary = {
    timestamp: "",
    host: "",
    answer: null,
    gpus: [{ ...gpu({}), finding: null }],
  } as unknown as Parameters<typeof merge>[1];
  assert.equal(merge([stopped], summary)[0]!.finding, stopped.finding, "until the next answer");
});

test("what the daemon judges counts, and a power limit stays a dim word", () => {
  const judged = { code: "busy", words: "busy", throttled_by: [] as string[] };
  assert.deepEqual(slowedBy(gpu({ throttle_reasons: ["power cap", "hardware slowdown"], activity: judged })), [
    "power cap",
  ]);
  assert.deepEqual(
    slowedBy(
      gpu({ throttle_reasons: ["power cap"], activity: { ...judged, throttled_by: ["hardware thermal slowdown"] } }),
    ),
    ["hardware thermal slowdown", "power cap"],
  );
  assert.deepEqual(slowedBy(gpu({ throttle_reasons: null })), null);
});

test("the answer is as urgent as the daemon says", () => {
  const idle = { code: "idle", words: "idle", throttled_by: null };
  const w = why("GPU 0 is busy");
  assert.equal(answerLevel(w), "good");
  assert.equal(answerLevel({ ...w, severity: "critical" }), "bad");
  assert.equal(answerLevel({ ...w, severity: "warning" }), "warn");
  assert.equal(answerLevel({ ...w, gpus: w.gpus.map((g) => ({ ...g, activity: idle })) }), "idle");
  assert.equal(answerLevel({ ...w, gpus: w.gpus.map((g, i) => (i ? g : { ...g, activity: idle })) }), "good");
});

test("a command is told apart from its advice", () => {
  assert.deepEqual(advice("To make it quieter: sudo tool -i 0 -pl 350   (now 450 W, minimum 150 W)"), {
    text: "To make it quieter: (now 450 W, minimum 150 W)",
    command: "sudo tool -i 0 -pl 350",
  });
  assert.deepEqual(advice("Run `whirr doctor` to see more."), {
    text: "Run whirr doctor to see more.",
    command: "whirr doctor",
  });
  assert.deepEqual(advice("It may be misused: check who started it: ps -fp 42"), {
    text: "It may be misused: check who started it:",
    command: "ps -fp 42",
  });
  assert.deepEqual(advice("Reboot the host: nothing else helps."), {
    text: "Reboot the host: nothing else helps.",
    command: null,
  });
});

test("the newest sample goes over what is known", () => {
  const [g] = merge([gpu()], {
    timestamp: "",
    host: "",
    answer: "",
    gpus: [
      {
        index: 0,
        state: "ok",
        error_message: null,
        utilization_percent: 7,
        memory_used_mb: 1,
        memory_total_mb: 2,
        temperature_celsius: 3,
        fan_percent: null,
        power_watts: 4,
        power_limit_watts: 5,
      },
    ],
  });
  assert.equal(g!.utilization_percent, 7);
  assert.equal(g!.temperature_limit_celsius, 90);
});

test("processes are sorted, and unknown values stay below", () => {
  const list = [row(1, { memory_mb: 5 }), row(2, { memory_mb: null }), row(3, { memory_mb: 9 })];
  assert.deepEqual(
    sorted(list, "memory_mb", true).map((r) => r.pid),
    [3, 1, 2],
  );
  assert.deepEqual(
    sorted(list, "memory_mb", false).map((r) => r.pid),
    [1, 3, 2],
  );
});

test("a model server says what it says of itself, and nothing else", () => {
  const plain = { gpu: 0, pid: 1, name: "x", user: null, memory_mb: 1, utilization_percent: 1, container: null } as Row;
  assert.deepEqual(serving(plain, [plain]), []);
  const vllm = {
    ...plain,
    model: "m",
    power_watts: 200,
    tokens_per_second: 900,
    requests_running: 12,
    requests_waiting: 0,
    kv_cache_percent: 98.4,
    time_to_first_token_seconds: 4.21,
    time_per_token_seconds: 0.0386,
    preemptions_per_second: 0,
    image_jobs: null,
  };
  assert.deepEqual(serving(vllm, [vllm]), [
    ["Requests", "12 running, 0 waiting"],
    ["KV cache", "98%"],
    ["First token", "4.2 s"],
    ["Per token", "39 ms"],
    ["Tokens per joule", "4.5"],
  ]);
  // A second worker of the same model uses energy, too; where its power is not known, nothing is.
  const worker = { ...plain, pid: 2, gpu: 1, model: "m", power_watts: 100 };
  assert.equal(tokensPerJoule(vllm, [vllm, worker, plain]), 3);
  assert.equal(tokensPerJoule(vllm, [vllm, { ...worker, power_watts: null }]), null);
  assert.deepEqual(serving({ ...plain, image_jobs: 3 }, []), [["Images queued", "3"]]);
});

test("processes are filtered by words and by fields, and grouped", () => {
  const list = [
    row(1),
    row(2, { user: "bob", command: "blender -b" }),
    row(31, { user: "bob", container: "alice-job" }),
  ];
  assert.deepEqual(
    filtered(list, "alice").map((r) => r.pid),
    [1, 31],
  );
  assert.deepEqual(
    filtered(list, "user:bob BLENDER").map((r) => r.pid),
    [2],
  );
  assert.deepEqual(filtered(list, "  ").length, 3);
  assert.deepEqual(
    grouped(list, "user").map((g) => [g.name, g.rows.length, g.memory_mb]),
    [
      ["bob", 2, 200],
      ["alice", 1, 100],
    ],
  );
  const unknown = { memory_mb: null, utilization_percent: null, power_watts: null },
    [some, none] = grouped(
      [row(1, { user: "carol", ...unknown }), row(2, unknown), row(3, { ...unknown, memory_mb: 7 })],
      "user",
    );
  assert.deepEqual(
    [some!.memory_mb, some!.power_watts, none!.memory_mb, none!.utilization_percent],
    [7, null, null, null],
    "what is not reported is not 0",
  );
});

test("a moment of the past shows what was stored, of the GPU that was there", () => {
  const series = (uuid: string, times: number[], util: number[]) => ({
    gpu_index: 0,
    gpu_name: "Old",
    gpu_uuid: uuid,
    times,
    metrics: [{ name: "utilization_percent", unit: "%", mean: util, min: util, max: util }],
  });
  const history: History = {
    since: "",
    until: "",
    step_seconds: 10,
    level: "samples",
    series: [series("GPU-1", [5000, 5010], [1, 2]), series("GPU-0", [990, 1000, 1010], [10, 20, 30])],
  };
  const then = gpusAt([gpu()], history, why("", { processes: [{ ...row(9), gpu_index: 0 }] }), 1004);
  assert.equal(then.length, 1);
  assert.equal(then[0]!.utilization_percent, 20);
  assert.equal(then[0]!.temperature_limit_celsius, null, "a limit of another GPU is not borrowed");
  assert.equal(then[0]!.absent.power_watts, "not stored");
  assert.deepEqual(
    then[0]!.processes.map((p) => p.pid),
    [9],
  );
  assert.equal(gpusAt([gpu()], history, why(""), 3000)[0]!.state, "not stored");
  assert.equal(nearest([1, 3, 5], 4), 1);
  assert.equal(nearest([], 4), null);
});

test("of a moment that was not stored nothing is claimed", () => {
  const history = {
    since: "",
    until: "",
    step_seconds: 1,
    series: [
      {
        gpu_index: 0,
        gpu_uuid: "GPU-1",
        gpu_name: "RTX",
        times: [1000],
        metrics: [{ name: "utilization_percent", mean: [20] }],
      },
    ],
  } as unknown as History;
  const now = {
    gpus: [gpu()],
    health: [{ gpu_index: 0, gpu_name: "RTX", state: "healthy", reason: "", action: "", since: null }],
  };
  const stored = pastAt(now, history, why(""), [], 1000e3);
  assert.equal(stored.gpus[0]!.utilization_percent, 20);
  assert.equal(stored.health.length, 1);
  assert.deepEqual(
    pastAt(
      now,
      history,
      why("", { gpus: [], gap: { since: null, until: null, text: "Nothing was ever stored." } }),
      [],
      1000e3,
    ),
    { gpus: [], health: [] },
  );
});

test("lives of processes become lines, and who did nothing is marked", () => {
  const life = (pid: number, first: number, last: number, util: number, energy: number, user = "alice") => ({
    life: pid,
    pid,
    gpu_index: 0,
    name: "python3",
    user,
    type: "compute",
    first_seen: new Date(first).toISOString(),
    last_seen: new Date(last).toISOString(),
    ended: true,
    utilization_mean_percent: util,
    memory_peak_mb: 4096,
    energy_joules: energy,
    short_name: user === "bob" ? "train.py · Llama-3.1-8B" : "main.py",
    held_idle: util < 1 && last - first > 1800e3,
  });
  const limited = (life: number, from: number, to: number, code: string, side: string) => ({
    life,
    gpu_index: 0,
    since: new Date(from).toISOString(),
    until: new Date(to).toISOString(),
    code,
    words: code,
    doing: `waits for ${code}`,
    side,
  });
  const limits = [
    limited(1, 0, 60e3, "compute", "gpu"),
    limited(3, 0, 120e3, "disk", "host"),
    limited(3, 120e3, 180e3, "heat", "gpu"),
    limited(3, 180e3, 240e3, "cannot_tell", "none"),
    limited(9, 0, 60e3, "disk", "host"),
  ];
  const slow = limitLanes(limits, [life(1, 0, 3600e3, 50, 1000), life(3, 0, 3600e3, 80, 100, "bob")]);
  assert.deepEqual(
    slow.map((l) => [l.user, l.spans.map((s) => s.kind)]),
    [
      ["bob", ["wait", "heat"]],
      ["alice", ["work"]],
    ],
    "who waited longest first; what is not known is left out",
  );
  assert.deepEqual(
    limitBands(limits, 150)
      .get(0)!
      .map((b) => [b.from, b.to, b.text, b.level]),
    [
      [0, 120, "waits: disk", "good"],
      [120, 150, "heat", "bad"],
    ],
    "of the run that was judged for longest, until the page saw for itself",
  );
  const found = lanes(
    [
      life(1, 0, 3600e3, 50, 10),
      life(2, 4000e3, 8000e3, 0.1, 1),
      life(3, 0, 3600e3, 80, 100, "bob"),
      life(4, 0, 10, 1, 1, "early"),
    ],
    1000e3,
    9000e3,
  );
  assert.deepEqual(
    found.map((l) => [l.name, l.user, l.spans.map((s) => s.idle), l.first]),
    [
      ["train.py · Llama-3.1-8B", "bob", [false], true],
      ["main.py", "alice", [false, true], true],
    ],
  );
  const several = [
    life(1, 0, 3600e3, 50, 60),
    life(2, 0, 3600e3, 50, 100, "bob"),
    { ...life(3, 0, 3600e3, 50, 50), name: "b" },
  ];
  assert.deepEqual(
    lanes(several, 0, 3600e3).map((l) => [l.user, l.first]),
    [
      ["alice", true],
      ["alice", false],
      ["bob", true],
    ],
    "users with most energy first, their programs together",
  );
});

test("a GPU that waits or is held is no GPU at work", () => {
  const limit = (code: string, side: string) => ({ code, side, words: code, share_percent: 90 });
  const with1 = (more: object) =>
    gpu({ processes: [{ pid: 1, name: "a", utilization_percent: 100, memory_mb: 1, ...more }] as Gpu["processes"] });
  assert.equal(shownState(with1({ limit: limit("straggler_wait", "others") }), "good"), "waits");
  assert.equal(shownState(with1({ limit: limit("disk", "host") }), "good"), "waits");
  assert.equal(shownState(with1({ limit: limit("other_programs", "others") }), "good"), "works", "shared is at work");
  assert.equal(shownState(with1({ limit: limit("compute", "gpu") }), "good"), "works");
  assert.equal(shownState(gpu({ finding: { code: "context_held" } as Gpu["finding"] }), "note"), "held");
  assert.equal(shownState(gpu({ state: "lost" }), "bad"), "unreadable");
  assert.equal(shownState(gpu(), "idle"), "idle");
});

test("permalinks say the same in both directions", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  assert.deepEqual(readPlace("?at=2026-11-15T03:10:00Z", now), {
    at: Date.parse("2026-11-15T03:10:00Z"),
    from: null,
    to: null,
  });
  assert.deepEqual(readPlace("?from=-2h&to=-1h", now), { at: null, from: now - 7.2e6, to: now - 3.6e6 });
  assert.deepEqual(readPlace("?from=-2h", now).to, now);
  for (const place of [
    { at: now, from: null, to: null },
    { at: null, from: now - 1000, to: now },
    { at: null, from: null, to: null },
  ])
    assert.deepEqual(readPlace(writePlace(place), now), place);
});

test("attempts become rarer, and not all at once", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 50].map((n) => backoff(n, 0.5)),
    [1, 2, 4, 8, 16, 30, 30],
  );
  assert.ok(backoff(3, 0) < backoff(3, 1));
});

test("a line has gaps where nothing was stored", () => {
  assert.equal(sparkline([0, 1, 2, 3], [0, 100, null, 50], 0, 4, 100, 40, 10), "M0.0 10.0L10.0 0.0M30.0 5.0");
});

const series = (
  times: number[],
  metrics: Record<string, (number | null)[]>,
  more: Record<string, { min: (number | null)[]; max: (number | null)[] }> = {},
): Series => ({
  gpu_index: 0,
  gpu_name: "",
  times,
  metrics: Object.entries(metrics).map(([name, mean]) => ({
    name,
    unit: "",
    mean,
    min: more[name]?.min ?? mean,
    max: more[name]?.max ?? mean,
  })),
});

test("series of different times share an axis", () => {
  const a = series([10, 20, 30], { m: [1, 2, 3] }),
    b = series([15, 20], { m: [5, null] });
  assert.equal(axis([a, series([10, 20, 30], {})]), a.times, "the same times are not merged");
  const times = axis([a, b]);
  assert.deepEqual(times, [10, 15, 20, 30]);
  assert.deepEqual(onto(times, a, "m", "mean", 2), [2, null, 4, 6]);
  assert.deepEqual(onto(times, b, "m", "mean", 1), [null, 5, null, null]);
  assert.deepEqual(onto(times, b, "other", "mean", 1), [null, null, null, null]);
});

test("the parts of a GPU never exceed it, gaps stay gaps, and the rest has a name", () => {
  const whole = [null, 13, 13, null, 4, null];
  const { layers, others } = portions(
    [
      [1, 1, 20, null, null, null],
      [null, null, 6, 2, 2, 2],
    ],
    whole,
  );
  assert.deepEqual(layers, [
    [null, 1, 10, null, 0, null],
    [null, 0, 3, null, 2, null],
  ]);
  assert.deepEqual(others, [null, 12, 0, null, 2, null]);
  const sums = stacked([...layers, others]);
  assert.deepEqual(sums.at(-1), whole, "together they are the whole");
  assert.deepEqual(portions([[1, null]], [null, null]).layers, [[1, null]], "not reported for the GPU as a whole");
  assert.deepEqual(portions([], [5]), { layers: [], others: [5] });
  assert.deepEqual(stacked([[], []]), [[], []], "no times");
  assert.deepEqual(stacked([]), []);
});

test("layers with times of their own are stacked with the gaps of their GPU", () => {
  const times = [0, 10, 20, 30];
  const whole = onto(times, series([0, 10, 30], { power_watts: [100, 100, 100] }), "power_watts", "mean", 1);
  assert.deepEqual(whole, [100, 100, null, 100]);
  const process = onto(times, series([10, 20, 30], { power_watts: [40, 50, 60] }), "power_watts", "mean", 1);
  assert.deepEqual(stacked(portions([process], whole).layers), [[0, 40, null, 60]]);
});

test("minutes of processes are stacked under the samples of their GPU", () => {
  const times = [0, 30, 60, 90, 120, 240];
  const a = spread(times, series([0, 60], { memory_mb: [1024, 2048] }), 60, "memory_mb", 1 / 1024);
  assert.deepEqual(a, [1, 1, 2, 2, null, null], "nothing beyond its last minute");
  assert.deepEqual(
    spread(times, undefined, 60, "memory_mb", 1),
    times.map(() => null),
  );
  assert.deepEqual(stacked(portions([a, [5, 5, 5, null, null, 1]], [9, 9, 9, 9, 9, null]).layers), [
    [1, 1, 2, 2, 0, null],
    [6, 6, 7, 2, 0, null],
  ]);
});

test("an earlier time lies over the one that is shown", () => {
  const h = { since: "", until: "", step_seconds: 60, level: "minutes", series: [series([60, 120], { m: [1, 2] })] };
  assert.deepEqual(shifted(h, 86400).series[0]!.times, [86460, 86520]);
  assert.deepEqual(h.series[0]!.times, [60, 120]);
});

test("thermal throttling is a band: by the driver's seconds, else by heat while slowed", () => {
  const times = [0, 10, 20, 30, 40];
  assert.deepEqual(
    throttled(series(times, { throttle_thermal_seconds: [5, 7, 9, 9, 0] }), 10, 95),
    [[10, 30]],
    "a count that starts anew is none",
  );
  const count = { throttle_thermal_seconds: { min: [5, 5, 9, 9, 9], max: [5, 9, 9, 9, 9] } };
  assert.deepEqual(throttled(series(times, { throttle_thermal_seconds: [5, 6, 9, 9, 9] }, count), 10, 95), [[10, 20]]);
  assert.deepEqual(
    throttled(
      series(times, { throttle_reasons: [0, 1, 0.5, 1, 1], temperature_celsius: [95, 95, 91, 80, null] }),
      10,
      95,
    ),
    [[10, 30]],
    "a power limit is none",
  );
  assert.deepEqual(throttled(undefined, 10, 95), []);
});

test("the health of a moment is what was said last before it", () => {
  const now = [
    { gpu_index: 0, gpu_name: "a", state: "healthy", reason: "", action: "", since: null },
    { gpu_index: 1, gpu_name: "b", state: "lost", reason: "gone", action: "reboot", since: null },
  ];
  const change = (at: string, gpu: number, state: string, before: string): PastEvent => ({
    id: 1,
    at,
    gpu_index: gpu,
    kind: "health",
    severity: "info",
    text: null,
    data: { gpu_index: gpu, gpu_name: "b", state, before, reason: `${state} then`, action: "" },
  });
  const events = [
    change("2026-11-15T03:00:00Z", 1, "lost", "degraded"),
    change("2026-11-15T01:00:00Z", 1, "degraded", "healthy"),
  ]; // newest first, as the API may answer
  const at = (time: string) => healthAt(now, events, Date.parse(time)).map((h) => `${h.state} ${h.reason}`.trim());
  assert.deepEqual(at("2026-11-15T04:00:00Z"), ["healthy", "lost lost then"]);
  assert.deepEqual(at("2026-11-15T02:00:00Z"), ["healthy", "degraded degraded then"]);
  assert.deepEqual(at("2026-11-15T00:00:00Z"), ["healthy", "healthy"], "before the first change");
  assert.deepEqual(
    healthAt(now, [change("2026-11-15T03:00:00Z", 1, "lost", "unknown")], 0).map((h) => h.gpu_index),
    [0],
    "nothing is claimed",
  );
  const since = [{ ...now[1]!, since: "2026-11-15T03:00:00Z" }];
  assert.deepEqual(
    [2, 4].map((h) => healthAt(since, [], Date.parse(`2026-11-15T0${h}:00:00Z`)).length),
    [0, 1],
    "not before it began",
  );
});

test("a worker's time left is known in more states than paused", () => {
  const now = Date.parse("2026-11-15T03:00:00Z");
  const left = (more: Partial<Worker>) =>
    timeLeft(
      {
        name: "llama",
        state: "paused",
        since: "2026-11-15T02:59:50Z",
        reason: null,
        problem: null,
        gpus: [0],
        memory_mb: 1,
        held: false,
        ...more,
      },
      now,
    );
  assert.equal(left({ resumes_at: "2026-11-15T03:00:20Z" }), "back in 20s");
  assert.equal(left({ resumes_at: "2026-11-15T02:59:59Z" }), "back soon");
  assert.equal(left({ held: true, resumes_at: null }), "until you resume it");
  assert.equal(left({ idle: true }), "until the next request");
  assert.equal(left({ claim: "sure" }), "until the GPU is free");
  assert.equal(left({ claim: "none" }), "");
  assert.equal(
    left({ state: "running", idle_after_seconds: 600, last_asked_at: "2026-11-15T02:55:00Z" }),
    "paused in 5m without a request",
  );
  assert.equal(left({ state: "running" }), "");
  assert.equal(left({ state: "evicting", last_evict_seconds: 25 }), "done in 15s if it takes as long as last time");
});

test("hosts are found by what is wrong, by name, and by the room they have", () => {
  const of = (
    host: string,
    trouble: string,
    severity: string | null,
    room: number,
    util: number,
    work = true,
  ): FleetHost => ({
    host,
    trouble,
    severity,
    note: null,
    utilization_percent: util,
    memory_used_mb: 0,
    memory_total_mb: 0,
    temperature_celsius: 0,
    power_watts: 0,
    gpus: [
      {
        host,
        gpu_index: 0,
        uuid: host,
        name: "NVIDIA H100",
        up: true,
        trouble,
        severity,
        headline: "GPU 0 needs a reset",
        work_may_go_there: work,
        working: util > 0,
        utilization_percent: util,
        memory_used_mb: 0,
        memory_total_mb: 0,
        memory_room_mb: room,
        temperature_celsius: 0,
        power_watts: 0,
      },
    ],
  });
  const hosts = [
    of("a", "lost", null, 90, 0, false),
    of("b", "held", "info", 20, 0),
    of("c", "fine", "info", 60, 90),
    of("d", "fine", "info", 50, 90),
    of("e", "fine", "info", 70, 0),
  ];
  const names = (list: { host: string }[]) => list.map((h) => h.host).join("");
  assert.equal(names(hostsShown(hosts, "trouble", "")), "ab");
  assert.equal(names(hostsShown(hosts, "", "", "utilization_percent")), "cdabe", "by a column");
  assert.equal(names(hostsShown([...hosts].reverse(), "", "", "host")), "abcde");
  assert.deepEqual(hostCounts([...hosts, { ...hosts[0]!, trouble: "silent" }]), [
    ["silent", 1],
    ["bad", 1],
  ]);
  const pages = pagesOf([{ targets: ["gpu17.lab:9448"], labels: { host: "gpu17", __scheme__: "https" } }]);
  assert.equal(pages.get("gpu17"), "https://gpu17.lab:9448/");
  assert.equal(pages.get("gpu18"), undefined, "no guess");
  const roomy = of("r", "fine", "info", 9000, 0);
  assert.equal(names(hostsShown([...hosts, roomy], "room", "")), "r");
  assert.equal(names(hostsShown(hosts, "", "h100 E")), "e");
  assert.equal(names(fitting(hosts, 40)), "edc", "idle ones first, then the tightest; not what is lost");
  assert.deepEqual(hosts.map(troubleLevel), ["bad", "idle", "good", "good", "good"]);
  const failing = of("f", "failing", "critical", 80, 0, false);
  assert.equal(names(fitting([...hosts, failing], 40)), "edc", "nor where a finding forbids it");
  assert.equal(freest([...hosts, failing])!.host, "e");
  assert.equal(freest([hosts[0]!]), null);
  assert.deepEqual(
    [
      ["silent", null],
      ["not_judged", null],
      ["unusual", "warning"],
      ["unusual", "notice"],
      ["failing", "critical"],
    ].map(([trouble, severity]) => troubleLevel({ trouble: trouble!, severity: severity! })),
    ["silent", "idle", "warn", "note", "bad"],
  );
  assert.deepEqual(
    ["fine", "held", "failing"].map((trouble) => troubleText({ ...failing.gpus[0]!, trouble })),
    [null, "held but idle", "GPU 0 needs a reset"],
  );
  assert.equal(troubleText({ ...failing.gpus[0]!, trouble: "not_judged", headline: null }), "not judged");
});

test("another stretch of time lies on the steps of this one, without holes", () => {
  const series = (times: number[]): Series => ({
    gpu_index: 0,
    gpu_name: "",
    times,
    metrics: [{ name: "power_watts", unit: "W", mean: times, min: times, max: times.map((t) => t + 1) }],
  });
  const steps = grid(1001, 1060, 6); // samples come every 20 s, at other times than the steps begin
  assert.deepEqual(steps, [1002, 1008, 1014, 1020, 1026, 1032, 1038, 1044, 1050, 1056]);
  const other = series([983, 1003, 1023, 1043]);
  assert.deepEqual(
    spread(steps, other, pace(other, 6), "power_watts", 1),
    [983, 1003, 1003, 1003, 1023, 1023, 1023, 1043, 1043, 1043],
  );
  assert.deepEqual(spread([1008], other, pace(other, 6), "power_watts", 1, "max"), [1004]);
  const ends = series([983, 1003]);
  assert.deepEqual(spread(steps, ends, pace(ends, 6), "power_watts", 1).slice(-3), [null, null, null]); // what is not known is not drawn
});

test("a headline stays where only noise is another", () => {
  const said = "GPU 1 is loud (fan 100%) because it can't get rid of 316 W.";
  assert.equal(steady(said, said.replace("316", "321")), said);
  assert.equal(steady(said, said.replace("316", "350")), said.replace("316", "350"), "a figure that moved");
  assert.equal(steady(said, said.replace("GPU 1", "GPU 2")), said.replace("GPU 1", "GPU 2"), "another GPU");
  assert.equal(steady(said, "GPU 1 is idle."), "GPU 1 is idle.");
  assert.equal(steady("", said), said);
});

test("what is worst: by severity, then what the answer is about; what is muted or information is not", () => {
  const finding = (severity: Finding["severity"], gpu_index: number, muted = false): Finding => ({
    code: "x",
    severity,
    area: "heat",
    gpu_index,
    pid: null,
    headline: "",
    muted,
  });
  const about = (gpu_index: number) => ({ gpu_index }) as Why;
  assert.equal(worst([], about(0)), null);
  assert.equal(worst([finding("info", 0), finding("critical", 1, true)], about(0)), null);
  assert.equal(worst([finding("warning", 0), finding("warning", 1)], about(1))!.gpu_index, 1);
  assert.equal(worst([finding("notice", 0), finding("critical", 1)], about(0))!.gpu_index, 1);
});

test("what is still to come, or is no time, is refused; a range that reaches there ends now", () => {
  const now = Date.parse("2026-11-15T12:00:00Z"),
    hour = 3600e3;
  assert.match(checked({ at: now + hour, from: null, to: null }, now).refused!, /is still to come/);
  assert.match(checked({ at: null, from: now + hour, to: now + 2 * hour }, now).refused!, /is still to come/);
  assert.deepEqual(checked({ at: null, from: now - hour, to: now + hour }, now), {
    at: null,
    from: now - hour,
    to: now,
  });
  for (const search of ["?at=soon", "?from=-1h&to=x", "?at=-99999999999999d", "?at=2999-01-01"]) {
    const { refused, ...place } = readPlace(search, now);
    assert.deepEqual(place, NOW, search);
    assert.ok(refused, search);
  }
});

test("an end is the next such time, or a span from now", () => {
  const now = new Date(2026, 10, 18, 21, 0).getTime(),
    at = (text: string) => {
      const end = parseUntil(text, now);
      return end == null ? null : clock(end, now);
    };
  assert.equal(at("2h"), "23:00");
  assert.equal(at("08:00"), "2026-11-19 08:00");
  assert.equal(at("until 22:30"), "22:30");
  assert.equal(at("tomorrow"), "2026-11-19 08:00");
  assert.equal(at("fri 18:00"), "2026-11-20 18:00");
  for (const none of ["", "later", "25:99", "until"]) assert.equal(at(none), null, none);
});

test("who changed what, in words; a refusal is one", () => {
  const event = (data: unknown, text = "x from y: z done (200)"): PastEvent =>
    ({ id: 1, at: "", gpu_index: null, kind: "audit", severity: "info", text, data }) as PastEvent;
  assert.equal(changeText(event({ who: "alice", what: "/api/guard/evict", status: 202 })), "alice evicted a worker");
  assert.equal(changeText(event({ who: "alice", what: "/api/remedies/quiet", status: 202 })), "alice did “quiet”");
  assert.match(changeText(event({ who: "bob", what: "/api/undo", status: 403 })), /^bob was refused/);
  assert.equal(changeText(event(null, "token laptop was added")), "Token laptop was added");
});

test("GPUs that stand out are named in few words", () => {
  assert.equal(ranges([0, 2, 3, 4, 9]), "0, 2-4, 9");
});

test("one verdict: what is first leads, once, and stays while only noise changes", () => {
  const finding = {
    code: "heat",
    severity: "warning",
    gpu_index: 1,
    headline: "GPU 1 is hot (80 °C)",
    muted: false,
  } as Finding;
  const of = (answer: string, trouble: boolean, headline: string) => {
    const w = why(answer, { gpu_index: 1, findings: [{ ...finding, headline }] });
    w.gpus[1]!.brief = { trouble, headline: null, state: null, numbers: null, doing: null };
    return verdictOf(w, true);
  };
  assert.equal(of("GPU 1 is busy.", false, "GPU 1 is hot (80 °C)").headline, "GPU 1 is hot (80 °C).");
  assert.equal(of("GPU 1 is busy.", false, "GPU 1 is hot (81 °C)").headline, "GPU 1 is hot (80 °C).");
  const once = of("GPU 1 is hot (90 °C), where x waits. It is old.", false, "GPU 1 is hot (90 °C), where x waits");
  assert.deepEqual([once.headline, once.rest], ["GPU 1 is hot (90 °C), where x waits.", "It is old."]);
});
