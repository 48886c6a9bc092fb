// SPDX-License-Identifier: Apache-2.0
// Pictures of the dashboard, for looking at and for the README: node tests/browser/screenshots.mjs FOLDER [NAME...]
// What it shows is simulated. docs/images/ has the two of the README: node tests/browser/screenshots.mjs docs/images dashboard dashboard-dark
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fleetOf } from "./load.mjs";
import { Daemon, maker, openBrowser } from "./support.mjs";

const WIDE = { width: 1280, height: 900 },
  PHONE = { width: 390, height: 844 },
  README = { width: 1280, height: 740 };
const MIXED = { source: "sim:gpus=4,scenario=mixed", past: ["600", "gpus=4,scenario=mixed", "30"] };
const OVERHEAT = { source: "sim:gpus=2,scenario=overheat,start=600", past: ["130", "gpus=2,scenario=overheat", "20"] };
const clickGpu = async (page) => {
  await page.getByRole("button", { name: "GPU 0", exact: true }).click();
};
const charts = async (page) => {
  await page.locator("#time select").selectOption("3600");
  await clickGpu(page);
  await page.locator("#charts").scrollIntoViewIfNeeded();
  await page.locator("#charts canvas").nth(4).waitFor();
};

/** Alerts with a silence, what fits, settings: what a person opens. */
const panels = async (page, d) => {
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop"))[0],
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

/** In the page: the answer is of the same sample as the tile it is about. On a busy machine one may be newer. */
const agree = () => {
  const [, gpu, util] = /GPU (\d+)[^%]*?(\d+%)/.exec(document.querySelector(".sentence").textContent) ?? [];
  return gpu != null && document.querySelector(`.tile[aria-label="GPU ${gpu}"] dd`)?.textContent === util;
};

const PICTURES = {
  light: { ...MIXED, full: true, then: charts },
  dark: { ...OVERHEAT, scheme: "dark", full: true, then: charts },
  phone: { ...MIXED, size: PHONE, full: true },
  "phone-dark": { ...OVERHEAT, size: { width: 360, height: 740 }, scheme: "dark", full: true },
  "gpus-64": { source: "sim:gpus=64,scenario=training,fault=lost@9" },
  "gpus-64-phone": { source: "sim:gpus=64,scenario=training,fault=lost@9", size: PHONE },
  "gpus-8-4k": { source: "sim:gpus=8,scenario=training", size: { width: 3840, height: 2160 } },
  "no-gpu": { source: "drm", env: { WHIRR_ROOT: "/nonexistent" } },
  "all-failed": { source: "sim:gpus=2,fault=error" },
  "lost-gpu": { source: "sim:gpus=2,scenario=training,fault=lost@1" },
  past: { source: "sim:gpus=4,scenario=idle", past: ["180", "scenario=night,start=16200", "20"], query: "?at=-2h" },
  range: {
    source: "sim:gpus=4,scenario=idle",
    past: ["180", "scenario=night,start=16200", "20"],
    query: "?from=-3h&to=-1h",
    full: true,
  },
  leak: { source: "sim:scenario=vram-leak,start=500", past: ["20", "scenario=vram-leak", "5"] },
  settings: {
    source: "sim:gpus=2,scenario=training,fault=lost@1",
    full: true,
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
  guard: { source: "sim:gpus=4,scenario=mixed", full: true, stub: guarded },
  fleet: { source: "sim", page: "/fleet", env: FLEET, stub: fleet },
  "fleet-dark": { source: "sim", page: "/fleet", env: FLEET, stub: fleet, scheme: "dark" },
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
  dashboard: { ...MIXED, size: README, webp: true },
  "dashboard-dark": { ...OVERHEAT, size: README, scheme: "dark", webp: true },
};

const [folder = ".", ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const name of names.length ? names : Object.keys(PICTURES)) {
  const p = PICTURES[name],
    d = new Daemon();
  try {
    const store = `sqlite:${d.folder}/past.db`;
    if (p.past) execFileSync(maker, [store, ...p.past], { timeout: 120000 });
    await d.start(p.source, p.past ? ["--store", store] : [], { WHIRR_STORE_HOST: "box", ...p.env });
    const context = await browser.newContext({
      viewport: p.size ?? WIDE,
      colorScheme: p.scheme ?? "light",
      deviceScaleFactor: p.webp ? 1.5 : 1,
      timezoneId: "UTC",
    });
    const page = await context.newPage();
    await p.stub?.(page);
    await page.goto(d.url + (p.page ?? "/") + (p.query ?? ""));
    await page.waitForFunction((ms) => performance.now() > ms, p.soon ? 200 : 4000); // after a few samples
    if (p.webp) await page.waitForFunction(agree, undefined, { polling: 50 });
    await p.then?.(page, d);
    if (p.then === charts)
      await page.waitForFunction(() =>
        performance
          .getEntriesByName("charts", "measure")
          .some((m) => performance.now() > m.startTime + m.duration + 1500),
      );
    await page.evaluate(() => {
      const host = document.querySelector(".host");
      if (host) host.textContent = "desk";
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
