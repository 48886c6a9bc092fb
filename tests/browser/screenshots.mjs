// SPDX-License-Identifier: Apache-2.0
// Pictures of the dashboard, for looking at and for the README: node tests/browser/screenshots.mjs FOLDER [NAME...]
// What it shows is simulated. docs/images/ has those whose names begin with "dashboard"; the README and docs/dashboard.md show them.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fleetOf } from "./load.mjs";
import { Daemon, maker, openBrowser } from "./support.mjs";

const WIDE = { width: 1440, height: 900 },
  TALL = { width: 1440, height: 2200 },
  PHONE = { width: 390, height: 844 };
const MIXED = { source: "sim:gpus=4,scenario=mixed", past: ["1440", "gpus=4,scenario=mixed", "20"] };
const OVERHEAT = { source: "sim:gpus=2,scenario=overheat,start=600", past: ["130", "gpus=2,scenario=overheat", "20"] };

/** Charts by process of one GPU, over an hour. */
const charts = async (page) => {
  await page.getByRole("button", { name: "1h", exact: true }).click();
  await page.getByRole("button", { name: "By process" }).click();
  await page.waitForFunction(() => performance.getEntriesByName("charts", "measure").length > 1);
};

/** The pointer in one chart, its moment in all of them. */
const hover = async (page) => {
  const plot = page.locator(".chart .plot").first();
  await plot.hover({ position: { x: 420, y: 90 } });
};

/** Alerts with a silence, what fits, settings: what a person opens. */
const panels = async (page, d) => {
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "admin"))[0],
    alerts = page.locator("#findings");
  await alerts
    .getByRole("button", { name: /^Silence \d/ })
    .first()
    .click();
  await alerts.getByLabel("This needs a token").fill(token);
  await alerts.getByRole("button", { name: "Sign in" }).click();
  await alerts.getByText("Silenced until").waitFor();
  await page.getByLabel("Size of the model").fill("24GiB");
  await page.getByRole("button", { name: "Check" }).click();
  await page.locator("#capacity .mark").waitFor();
  await page.getByText("Show what is set").click();
  await page.locator("#settings table").waitFor();
};

/** A worker in every state. */
const guarded = (page) =>
  page.route("**/api/guard", (route) => {
    const ago = (s) => new Date(Date.now() - s * 1000).toISOString(),
      soon = (s) => ago(-s);
    const worker = (name, state, more) => ({
      name,
      state,
      since: ago(90),
      reason: null,
      problem: null,
      gpus: [1],
      memory_mb: 20480,
      held: false,
      method: "checkpoint",
      ...more,
    });
    return route.fulfill({
      json: {
        workers: [
          worker("llama", "running"),
          worker("draws", "running", { idle_after_seconds: 600, last_asked_at: ago(120) }),
          worker("train", "evicting", { last_evict_seconds: 120, reason: "starfall needs the GPU" }),
          worker("embed", "paused", { gpus: [], claim: "seen", reason: "starfall is using GPU 1" }),
          worker("batch", "paused", { gpus: [], held: true, reason: "held by a person" }),
          worker("whisper", "paused", { gpus: [], resumes_at: soon(25) }),
          worker("rag", "resuming", { last_resume_seconds: 95 }),
          worker("old", "absent", { gpus: [], memory_mb: 0, since: null }),
          worker("stuck", "running", { problem: "checkpoint failed 3 times: out of host memory; retrying in 60s" }),
        ],
      },
    });
  });

const FLEET = { WHIRR_FLEET_URL: "http://127.0.0.1:1" };
const fleet = (page) => page.route("**/api/fleet", (route) => route.fulfill({ json: fleetOf(200) }));

const NIGHT = { source: "sim:gpus=4,scenario=idle", past: ["180", "scenario=night,start=16200", "20"] };
const LOST = "sim:gpus=64,scenario=training,fault=lost@9";
const PICTURES = {
  light: { ...MIXED, then: hover },
  dark: { ...OVERHEAT, scheme: "dark" },
  full: { ...OVERHEAT, size: TALL, then: charts },
  "full-dark": { ...MIXED, size: TALL, scheme: "dark" },
  phone: { ...MIXED, size: { width: 390, height: 2300 } },
  "phone-dark": { ...OVERHEAT, size: { width: 360, height: 740 }, scheme: "dark" },
  wide: { ...MIXED, size: { width: 2560, height: 1440 }, scheme: "dark" },
  one: { source: "sim:scenario=game-start,start=400", past: ["60", "scenario=game-start", "20"], scheme: "dark" },
  "gpus-8": { source: "sim:gpus=8,scenario=training,fault=lost@3", past: ["30", "gpus=8,scenario=training", "10"] },
  "gpus-64": { source: LOST },
  "gpus-64-waiting": { source: "sim:gpus=64,scenario=late-rank,start=120" },
  slow: { ...NIGHT, query: "?lanes=slow&span=1h#timeline", size: WIDE },
  loud: { ...MIXED, query: "?lanes=loud#timeline", size: WIDE },
  "gpus-64-phone": { source: LOST, size: PHONE },
  "no-history": { source: MIXED.source, scheme: "dark" },
  "no-gpu": { source: "drm", env: { WHIRR_ROOT: "/nonexistent" } },
  "all-failed": { source: "sim:gpus=2,fault=error" },
  "lost-gpu": { source: "sim:gpus=2,scenario=training,fault=lost@1" },
  "fan-stopped": { source: "sim:gpus=2,scenario=fan-stopped,start=300" },
  past: { ...NIGHT, query: "?at=-2h" },
  range: { ...NIGHT, query: "?from=-3h&to=-1h" },
  gap: {
    source: "sim:gpus=4,scenario=idle",
    past: ["120", "gpus=4,scenario=mixed", "20"],
    end: 7200,
    query: "?at=-1h",
  },
  leak: { source: "sim:scenario=vram-leak,start=850,speed=2", past: ["20", "scenario=vram-leak", "5"] },
  settings: {
    source: "sim:gpus=2,scenario=training,fault=lost@1",
    size: TALL,
    env: { WHIRR_ENERGY_PRICE_PER_KWH: "0.31" },
    then: panels,
  },
  "settings-phone": {
    source: "sim:gpus=2,scenario=training,fault=lost@1",
    size: { width: 360, height: 740 },
    full: true,
    env: { WHIRR_ENERGY_PRICE_PER_KWH: "0.31" },
    then: panels,
  },
  guard: { source: "sim:gpus=4,scenario=mixed", size: TALL, stub: guarded },
  "forced-colors": { ...OVERHEAT, forced: true },
  fleet: { source: "sim", page: "/fleet", env: FLEET, stub: fleet },
  "fleet-dark": { source: "sim", page: "/fleet", env: FLEET, stub: fleet, scheme: "dark" },
  "fleet-few": {
    source: "sim",
    page: "/fleet",
    env: FLEET,
    stub: (page) => page.route("**/api/fleet", (route) => route.fulfill({ json: fleetOf(14) })),
  },
  "fleet-phone": {
    source: "sim",
    page: "/fleet",
    env: FLEET,
    stub: fleet,
    size: { width: 360, height: 740 },
    full: true,
  },
  died: {
    source: "sim:gpus=2,scenario=training",
    then: async (page, d) => {
      await d.stop();
      await page.locator("#state").getByText("connection lost").waitFor();
    },
  },
  tile: { source: "sim:gpus=2,scenario=training", page: "/tile?gpu=0", size: { width: 480, height: 320 }, soon: true },
  badge: { source: "sim:gpus=2,scenario=training", page: "/badge.svg", size: { width: 320, height: 60 } },
  login: { source: "sim", page: "/login" },
  "docs-dark": { source: "sim", page: "/docs", scheme: "dark" },
  plain: { source: MIXED.source, page: "/plain", soon: true }, // it loads itself again
  dashboard: { ...MIXED, query: "?span=1h", webp: true, then: hover },
  "dashboard-dark": { ...OVERHEAT, query: "?span=15m", scheme: "dark", webp: true },
  "dashboard-past": { ...NIGHT, query: "?at=-2h", webp: true },
  "dashboard-64": { source: LOST, webp: true, minutes: 1 },
  "dashboard-phone": { ...OVERHEAT, size: PHONE, webp: true },
  "dashboard-fleet": {
    source: "sim",
    page: "/fleet",
    env: FLEET,
    stub: (page) => page.route("**/api/fleet", (route) => route.fulfill({ json: fleetOf(14) })),
    webp: true,
  },
};

const [folder = ".", ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const name of names.length ? names : Object.keys(PICTURES)) {
  const p = PICTURES[name],
    d = new Daemon();
  try {
    const store = `sqlite:${d.folder}/past.db`;
    const env = { ...process.env, MAKE_HISTORY_JUDGED: "1" };
    if (p.end) env.MAKE_HISTORY_END = String(Math.floor(Date.now() / 1000) - p.end);
    if (p.past) execFileSync(maker, [store, ...p.past], { timeout: 120000, env });
    await d.start(p.source, p.past ? ["--store", store] : [], { WHIRR_STORE_HOST: "box", ...p.env });
    const context = await browser.newContext({
      viewport: p.size ?? WIDE,
      colorScheme: p.scheme ?? "light",
      deviceScaleFactor: p.webp ? 1.5 : 1,
      forcedColors: p.forced ? "active" : "none",
      timezoneId: "UTC",
    });
    const page = await context.newPage();
    await p.stub?.(page);
    await page.goto(d.url + (p.page ?? "/") + (p.query ?? ""));
    await page.waitForFunction((ms) => performance.now() > ms, p.soon ? 200 : 4000); // after a few samples
    await p.then?.(page, d);
    if (p.minutes) await page.waitForFunction((ms) => performance.now() > ms, 60e3 * p.minutes, { timeout: 0 });
    await page.evaluate(() => {
      const host = document.querySelector(".host");
      if (host && location.pathname === "/") host.textContent = "desk";
      document.documentElement.style.scrollbarGutter = "auto"; // there is no bar in a picture
    }); // whoever makes them
    const file = path.join(folder, `${name}.${p.webp ? "webp" : "png"}`);
    if (p.webp) {
      // playwright has no webp; the browser has
      const cdp = await context.newCDPSession(page);
      const { data } = await cdp.send("Page.captureScreenshot", { format: "webp", quality: 82 });
      (await import("node:fs")).writeFileSync(file, Buffer.from(data, "base64"));
    } else await page.screenshot({ path: file, fullPage: p.full });
    console.log(file);
    await context.close();
  } finally {
    await d.remove();
  }
}
await browser.close();
