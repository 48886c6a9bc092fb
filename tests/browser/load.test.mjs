// SPDX-License-Identifier: Apache-2.0
// Much at once, and for long: bench/dashboard.mjs measures the same things against their limits on a calm machine.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawYear, fakeFeed, feed, held, touched } from "./load.mjs";
import { Daemon, missing, openBrowser, patience } from "./support.mjs";

let browser, daemon;
before(async () => {
  if (missing) return;
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await daemon?.remove();
});

async function open(source, stored, script) {
  await daemon?.remove();
  daemon = new Daemon();
  await daemon.start(source, stored ? ["--store", `sqlite:${daemon.folder}/past.db`] : []);
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 1000 } })).newPage();
  page.setDefaultTimeout(patience);
  if (script) await page.addInitScript(script);
  return page;
}

test("64 GPUs for an hour: samples are drawn, and nothing grows", { skip: missing }, async () => {
  const page = await open("sim:gpus=64,scenario=training,fault=lost@5", false, fakeFeed);
  await page.goto(daemon.url);
  await page.waitForFunction(
    () => window.feed && document.querySelectorAll(".cell").length === 64 && document.querySelector("footer"),
  );
  assert.match(await page.locator(".cell").nth(5).innerText(), /^5\s+lost$/, "each in its place");
  // Only what is another is touched: a figure and its color.
  const change = await touched(page, 7);
  assert.match(change.text, /^7\s+87%$/);
  assert.deepEqual({ ...change, text: "" }, { cells: [7], attributes: ["class"], text: "" });
  await feed(page, 60, 10);
  const early = await held(page);
  await feed(page, 240, 12.5);
  assert.match(await page.locator(".cell").nth(6).innerText(), /^6\s+\d+%$/);
  assert.match(await page.locator(".cell").nth(5).innerText(), /^5\s+lost$/);
  assert.ok(
    await page
      .locator(".cell")
      .nth(5)
      .evaluate(
        (e) =>
          e.scrollHeight <= e.clientHeight &&
          e.lastElementChild.getBoundingClientRect().bottom <= e.getBoundingClientRect().bottom,
      ),
    "a cell has room for what it says",
  );
  let late = await held(page);
  // What was under way on a busy machine is let go of a little later; what leaks never is.
  for (const until = Date.now() + patience; late.mib >= early.mib + 3 && Date.now() < until;) late = await held(page);
  assert.ok(
    late.mib < early.mib + 3,
    `heap: ${early.mib.toFixed(1)} MiB after 10 minutes, ${late.mib.toFixed(1)} after an hour`,
  );
  assert.ok(late.nodes < early.nodes * 1.1 && late.listeners < early.listeners * 1.5, JSON.stringify({ early, late }));
});

test("a year of 8 GPUs is drawn in all charts", { skip: missing }, async () => {
  const page = await open("sim:gpus=8,scenario=training", true);
  const [best] = await drawYear(page, daemon.url, 1);
  assert.ok(best > 0, `${best} ms`); // how fast: bench/dashboard.mjs
});
