// SPDX-License-Identifier: Apache-2.0
// Pictures of the dashboard, for looking at and for the README: node tests/browser/screenshots.mjs FOLDER [NAME...]
// What it shows is simulated. docs/images/ has the two of the README: node tests/browser/screenshots.mjs docs/images dashboard dashboard-dark
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { Daemon, maker, openBrowser } from "./support.mjs";

const WIDE = { width: 1280, height: 900 }, PHONE = { width: 390, height: 844 }, README = { width: 1280, height: 740 };
const MIXED = { source: "sim:gpus=4,scenario=mixed", past: ["600", "gpus=4,scenario=mixed", "30"] };
const OVERHEAT = { source: "sim:gpus=2,scenario=overheat,start=600", past: ["130", "gpus=2,scenario=overheat", "20"] };
const clickGpu = async (page) => { await page.getByRole("button", { name: "GPU 0", exact: true }).click(); };
const charts = async (page) => {
  await page.locator("#time select").selectOption("3600");
  await clickGpu(page);
  await page.locator("#charts").scrollIntoViewIfNeeded();
  await page.locator("#charts canvas").nth(4).waitFor();
};

const PICTURES = {
  "light": { ...MIXED, full: true, then: charts },
  "dark": { ...OVERHEAT, scheme: "dark", full: true, then: charts },
  "phone": { ...MIXED, size: PHONE, full: true },
  "phone-dark": { ...OVERHEAT, size: { width: 360, height: 740 }, scheme: "dark", full: true },
  "gpus-64": { source: "sim:gpus=64,scenario=training,fault=lost@9" },
  "gpus-64-phone": { source: "sim:gpus=64,scenario=training,fault=lost@9", size: PHONE },
  "gpus-8-4k": { source: "sim:gpus=8,scenario=training", size: { width: 3840, height: 2160 } },
  "no-gpu": { source: "drm", env: { WHIRR_ROOT: "/nonexistent" } },
  "all-failed": { source: "sim:gpus=2,fault=error" },
  "lost-gpu": { source: "sim:gpus=2,scenario=training,fault=lost@1" },
  "past": { source: "sim:gpus=4,scenario=idle", past: ["180", "scenario=night,start=16200", "20"], query: "?at=-2h" },
  "range": { source: "sim:gpus=4,scenario=idle", past: ["180", "scenario=night,start=16200", "20"], query: "?from=-3h&to=-1h", full: true },
  "leak": { source: "sim:scenario=vram-leak,start=500", past: ["20", "scenario=vram-leak", "5"] },
  "login": { source: "sim", page: "/login" },
  "docs-dark": { source: "sim", page: "/docs", scheme: "dark" },
  "plain": { source: MIXED.source, page: "/plain", soon: true }, // it loads itself again
  "dashboard": { ...MIXED, size: README, webp: true },
  "dashboard-dark": { ...OVERHEAT, size: README, scheme: "dark", webp: true },
};

const [folder = ".", ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const name of names.length ? names : Object.keys(PICTURES)) {
  const p = PICTURES[name], d = new Daemon();
  try {
    const store = `sqlite:${d.folder}/past.db`;
    if (p.past) execFileSync(maker, [store, ...p.past], { timeout: 120000 });
    await d.start(p.source, p.past ? ["--store", store] : [], { WHIRR_STORE_HOST: "box", ...p.env });
    const context = await browser.newContext({ viewport: p.size ?? WIDE, colorScheme: p.scheme ?? "light", deviceScaleFactor: p.webp ? 1.5 : 1, timezoneId: "UTC" });
    const page = await context.newPage();
    await page.goto(d.url + (p.page ?? "/") + (p.query ?? ""));
    await page.waitForFunction((ms) => performance.now() > ms, p.soon ? 200 : 4000); // after a few samples
    await p.then?.(page);
    if (p.then) await page.waitForFunction(() => performance.getEntriesByName("charts", "measure").some((m) => performance.now() > m.startTime + m.duration + 1500));
    await page.evaluate(() => { const host = document.querySelector(".host"); if (host) host.textContent = "desk"; }); // whoever makes them
    const file = path.join(folder, `${name}.${p.webp ? "webp" : "png"}`);
    if (p.webp) { // playwright has no webp; the browser has
      const cdp = await context.newCDPSession(page);
      const { data } = await cdp.send("Page.captureScreenshot", { format: "webp", quality: 82 });
      (await import("node:fs")).writeFileSync(file, Buffer.from(data, "base64"));
    } else await page.screenshot({ path: file, fullPage: p.full });
    console.log(file);
    await context.close();
  } finally { await d.remove(); }
}
await browser.close();
