// SPDX-License-Identifier: Apache-2.0
// A page that is fed by hand: samples as fast as it draws them, with a clock that follows, and a history as long as one likes.

/** In the page, before its script: window.feed(summary, seconds) is a message of the daemon, so long after the last one. */
export function fakeFeed() {
  const real = Date.now.bind(Date);
  let ahead = 0;
  Date.now = () => real() + ahead;
  // The page gathers what arrives within 40 ms and draws it at once; here it draws when told to.
  const later = window.setTimeout.bind(window);
  let waiting = null;
  window.setTimeout = (work, ms, ...rest) => (ms === 40 ? ((waiting = work), 2 ** 30) : later(work, ms, ...rest));
  window.drawNow = () => {
    const work = waiting;
    waiting = null;
    work?.();
  };
  window.WebSocket = class {
    constructor() {
      // The daemon writes a message, the page reads it: only the latter is the page's work.
      window.write = (summary, seconds) => {
        ahead += seconds * 1000;
        summary.timestamp = new Date(Date.now()).toISOString();
        return JSON.stringify({ type: "gpu_status_update", data: summary });
      };
      window.read = (data) => this.onmessage?.({ data });
      window.feed = (summary, seconds) => window.read(window.write(summary, seconds));
      setTimeout(() => this.onopen?.());
    }
    close() {}
  };
}

/** Feeds so many samples; how long each took to draw, layout included, in milliseconds, shortest first. */
export function feed(page, samples, seconds = 1) {
  return page.evaluate(
    async ([count, apart]) => {
      const summary = await (await fetch("/api/gpu/summary")).json();
      const took = [],
        channel = new MessageChannel();
      const next = () =>
        new Promise((done) => {
          channel.port1.onmessage = done;
          channel.port2.postMessage(0);
        });
      for (let i = 0; i < count; i++) {
        for (const g of summary.gpus) {
          g.utilization_percent = (i * 7 + g.index * 3) % 100;
          g.temperature_celsius = 40 + ((i + g.index) % 40);
          g.power_watts = 100 + ((i * 5 + g.index) % 300);
        }
        const message = window.write(summary, apart),
          begin = performance.now();
        window.read(message);
        window.drawNow();
        await null; // preact draws in a microtask
        await null;
        void document.body.offsetHeight;
        took.push(performance.now() - begin);
        await next();
      }
      return took.sort((a, b) => a - b);
    },
    [samples, seconds],
  );
}

/** What a sample touches in which the utilization of one GPU is another: cells of the heat map by index, and their attributes. */
export async function touched(page, index) {
  await page.route("**/api/gpu/metrics", (route) => route.abort()); // its figures are others
  const change = await page.evaluate(async (index) => {
    const summary = await (await fetch("/api/gpu/summary")).json();
    const next = async () => {
      window.feed(summary, 1);
      window.drawNow();
      await new Promise((done) => setTimeout(done));
    };
    for (const g of summary.gpus) g.utilization_percent = 12;
    await next();
    const seen = [],
      watch = new MutationObserver((records) => seen.push(...records)),
      cells = [...document.querySelectorAll(".cell")];
    watch.observe(document.querySelector(".heat"), {
      attributes: true,
      childList: true,
      characterData: true,
      subtree: true,
    });
    summary.gpus[index].utilization_percent = 87;
    await next();
    watch.disconnect();
    return {
      cells: [...new Set(seen.map((r) => cells.findIndex((c) => c.contains(r.target))))],
      attributes: [...new Set(seen.map((r) => r.attributeName).filter(Boolean))],
      text: cells[index].innerText,
    };
  }, index);
  await page.unroute("**/api/gpu/metrics");
  return change;
}

/** What the page holds after everything that can go has gone. */
export async function held(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.enable");
  for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("Performance.enable");
  const all = Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
  await cdp.detach();
  return { mib: all.JSHeapUsedSize / 2 ** 20, nodes: all.Nodes, listeners: all.JSEventListeners };
}

/** A year of some GPUs, as the daemon answers for so many points. */
export function year(gpus, points, metrics) {
  const until = Date.parse("2026-11-15T00:00:00Z"),
    step = Math.ceil((365 * 86400) / points / 3600) * 3600;
  const times = Array.from({ length: points }, (_, i) => until / 1000 - (points - i) * step);
  const course = (g, m) => times.map((_, i) => 40 + 30 * Math.sin(i / 9 + g) + m);
  return {
    since: new Date(until - 365 * 86400e3).toISOString(),
    until: new Date(until).toISOString(),
    step_seconds: step,
    level: "hours",
    series: Array.from({ length: gpus }, (_, g) => ({
      of: "gpu",
      host: "box",
      gpu_index: g,
      gpu_name: "GPU",
      gpu_uuid: null,
      times,
      metrics: metrics.map((name, m) => {
        const mean = course(g, m);
        return { name, unit: "", mean, min: mean.map((v) => v - 5), max: mean.map((v) => v + 5) };
      }),
    })),
  };
}

/** Draws a year of 8 GPUs in all charts, again and again; milliseconds each. */
export async function drawYear(page, url, times) {
  await page.route(/\/api\/history\?metric=.*throttle/, (route) => {
    const metrics = new URL(route.request().url()).searchParams.get("metric").split(",");
    return route.fulfill({ json: year(8, 600, metrics) });
  });
  const took = [];
  for (let i = 0; i < times; i++) {
    await page.goto(`${url}/?span=1y`);
    await page.waitForFunction(
      () =>
        performance.getEntriesByName("charts", "measure").length > 0 &&
        document.querySelectorAll("#charts .chart").length === 8,
    );
    took.push(await page.evaluate(() => performance.getEntriesByName("charts", "measure").at(-1).duration));
  }
  return took.sort((a, b) => a - b);
}

/** What /api/fleet answers about so many hosts: one has lost a GPU, one is held but idle, one has room. */
export function fleetOf(count) {
  const gpu = (host, i, more) => ({
    host,
    gpu_index: i,
    uuid: `GPU-${host}-${i}`,
    name: "NVIDIA H100",
    up: true,
    trouble: "fine",
    severity: "info",
    code: "compute_load",
    process: "python3",
    headline: null,
    work_may_go_there: true,
    working: true,
    utilization_percent: 80,
    memory_used_mb: 71680,
    memory_total_mb: 81920,
    memory_free_mb: 10240,
    memory_room_mb: 10240,
    temperature_celsius: 60,
    power_watts: 400,
    ...more,
  });
  const host = (n, trouble, note, more) => ({
    host: `gpu${n}`,
    trouble,
    severity: trouble === "lost" ? "critical" : "info",
    code: null,
    process: null,
    note,
    utilization_percent: 80,
    memory_used_mb: 286720,
    memory_total_mb: 327680,
    temperature_celsius: 63,
    power_watts: 1600,
    gpus: [0, 1, 2, 3].map((i) =>
      gpu(`gpu${n}`, i, {
        trouble: i ? "fine" : trouble,
        severity: trouble === "lost" && !i ? "critical" : "info",
        ...more,
      }),
    ),
  });
  const hosts = [
    host(17, "lost", "GPU 0 is lost"),
    host(99, "held", "4 GPUs are held but idle (280.0 GiB)"),
    host(200, "fine", null, { memory_free_mb: 71680, memory_room_mb: 71680 }),
    ...Array.from({ length: count - 3 }, (_, i) => host(1000 + i, "fine", null)),
  ];
  const use = (key, name, more) => ({
      [key]: name,
      memory_mb: 2 ** 20,
      utilization_percent: 250,
      power_watts: 900,
      ...more,
    }),
    bill = { span_seconds: 86400, energy_joules: 7.2e9, price_per_kwh: 0.5, currency: "EUR" };
  return {
    fetched_at: "2026-11-15T03:10:00.000Z",
    loading: false,
    error: null,
    fleet: {
      status: {
        answer: `${count} hosts, ${4 * count} GPUs: 1 lost, 4 held but idle`,
        gpu_count: 4 * count,
        hosts_not_answering: 0,
        hosts,
      },
      by_user: { users: [use("user", "alice"), use("user", "bob")] },
      by_container: { containers: [use("container", "train")] },
      energy_by_host: { ...bill, hosts: [{ host: "gpu17", energy_joules: 3.6e9, cost: 500 }] },
      energy_by_user: { ...bill, users: [{ user: "alice", energy_joules: 3.6e9, cost: 500 }] },
    },
  };
}
