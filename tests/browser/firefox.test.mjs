// SPDX-License-Identifier: Apache-2.0
// The page in another engine: what people come for, in Debian's Firefox where it is installed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { Daemon, daemon, eventually, maker, noFirefox, openFirefox, patience, visit as visitWith } from "./support.mjs";

const skip = noFirefox,
  stored = skip || (!existsSync(maker) && "make_history is not built");
let browser;
before(async () => {
  if (!skip) browser = await openFirefox();
});
after(async () => {
  await browser?.close();
});
const visit = (t, url, options) => visitWith(browser, t, url, { viewport: { width: 1440, height: 900 }, ...options });

/** How many colors there are on the first canvas: a blank one has one. */
const colors = (page) =>
  page
    .locator("#charts canvas")
    .first()
    .evaluate((c) => {
      const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });

test("the answer, GPUs and moving charts, light and dark", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=4,scenario=mixed");
  const page = await visit(t, d.url);
  await page.locator("#answer .sentence").getByText("GPU").waitFor();
  assert.equal(await page.locator(".tile").count(), 4);
  await eventually(async () => (await colors(page)) > 8);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor),
    before = await paper();
  await page.locator("button.theme").click();
  assert.notEqual(await paper(), before);
  await page.locator(".tile").nth(2).getByRole("button", { name: "GPU 2" }).click();
  await page.waitForFunction(() => /gpu=2/.test(location.search));
  assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= 1440);
});

test("a typed moment, what limited programs, and back", { skip: stored }, async (t) => {
  const d = new Daemon(),
    store = `sqlite:${d.folder}/past.db`;
  t.after(() => d.remove());
  execFileSync(maker, [store, "60", "scenario=night,start=16200", "20"], {
    timeout: patience,
    env: { ...process.env, MAKE_HISTORY_JUDGED: "1" },
  });
  await d.start("sim:gpus=4,scenario=idle", ["--store", store], { WHIRR_STORE_HOST: "box" });
  const page = await visit(t, `${d.url}/?lanes=slow#timeline`);
  await page.locator("#lifelines .life.wait").first().waitFor();
  await page.getByLabel("Go to a moment").fill("20m ago");
  await page.keyboard.press("Enter");
  await page
    .locator("#answer .sentence")
    .getByText(/ was | were /)
    .waitFor();
  await eventually(async () => (await colors(page)) > 8);
  await page.getByRole("button", { name: /^Back to live/ }).click();
  await page.waitForFunction(() => !/at=/.test(location.search));
});

test("64 GPUs, and a phone", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=64,scenario=training,fault=lost@9");
  const page = await visit(t, d.url);
  await page.locator(".cell").nth(63).waitFor();
  assert.match(await page.locator(".cell").nth(9).innerText(), /^9\s+lost$/);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: /^Settings/, expanded: false }).waitFor();
  assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= 390);
});
