// SPDX-License-Identifier: Apache-2.0
// What the page shows in every situation: scenarios x (now, past, range, denied, stale) x (light, dark, phone). A sample by default;
// WHIRR_SWEEP=all asks all of them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  Daemon,
  eventually,
  maker,
  missing,
  openBrowser,
  patience,
  violations,
  visit as visitWith,
} from "./support.mjs";

const skip = missing || (!existsSync(maker) && "make_history is not built"),
  all = process.env.WHIRR_SWEEP === "all";
let browser;
before(async () => {
  if (!skip) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
});

const SCENARIOS =
  "overheat gpu-lost late-rank mixed idle training inference vram-leak held-context reserved multi-user fan-stopped power-cap crowd ecc-errors bad-link gpu-error reset-needed row-remap power-brake hot-idle shared-desktop asleep video-encode crypto-miner mig bursty";
const LOOKS = {
  light: { viewport: { width: 1440, height: 900 } },
  dark: { viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 } },
};
const VIEWS = { now: "/", past: "/?at=-10m", range: "/?from=-20m&to=-5m", denied: "/?span=1h" };

/** Texts that lie over each other, as pairs. */
const overlaps = (page) =>
  page.evaluate(() => {
    const boxes = [],
      walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const e = node.parentElement;
      if (
        !node.data.trim() ||
        e.closest(".sr, .skip, .strip, .plot, .ticks, .evidence, .lane, script, noscript, select, dialog")
      )
        continue;
      if (!e.checkVisibility()) continue; // in a fold
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const line of range.getClientRects()) {
        let { left, right, top, bottom } = line;
        for (let p = e; p; p = p.parentElement) {
          if (getComputedStyle(p).overflow === "visible") continue;
          const c = p.getBoundingClientRect();
          left = Math.max(left, c.left);
          right = Math.min(right, c.right);
          top = Math.max(top, c.top);
          bottom = Math.min(bottom, c.bottom);
        }
        if (right - left > 2 && bottom - top > 2)
          boxes.push({
            left,
            right,
            top,
            bottom,
            fixed: !!e.closest(".topbar"),
            of: node,
            text: node.data.trim().slice(0, 40),
          });
      }
    }
    const found = [];
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1))
        if (
          a.of !== b.of &&
          a.fixed === b.fixed &&
          Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 &&
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5
        )
          found.push(`${a.text} | ${b.text}`);
    return found.slice(0, 5);
  });

async function looked(page, what) {
  // Everything came, or says why not.
  await page.locator("footer").waitFor();
  await eventually(async () => !/Loading/.test(await page.locator("main").innerText()));
  if (what === "now" || what === "past") {
    const said = async () => [
      await page.locator(".verdict .text").innerText(),
      (await page.locator("#answer .sentence").first().innerText()).trim(),
    ];
    await eventually(async () => {
      const [header, answer] = await said();
      return (
        header.replace(/\s+/g, " ") === answer.replace(/\s+/g, " ") ||
        (header === "not recorded" && /^Nothing was recorded/.test(answer))
      );
    });
  }
  assert.deepEqual(await overlaps(page), [], "texts lie over each other");
}

const list = SCENARIOS.split(" ");
for (const [k, scenario] of (all ? list : list.slice(0, 3)).entries())
  test(`${scenario}: now, past, range, denied, stale`, { skip, timeout: 10 * patience }, async (t) => {
    const d = new Daemon(),
      store = `sqlite:${d.folder}/past.db`,
      gpus = scenario === "late-rank" ? "" : "gpus=2,";
    t.after(() => d.remove());
    execFileSync(maker, [store, "30", `${gpus}scenario=${scenario}`, "20"], {
      timeout: patience,
      env: { ...process.env, MAKE_HISTORY_JUDGED: "1" },
    });
    await d.start(`sim:${gpus}scenario=${scenario},start=300`, ["--store", store], { WHIRR_STORE_HOST: "box" });
    const looks = Object.keys(LOOKS);
    for (const [i, [view, address]] of Object.entries(VIEWS).entries())
      for (const look of all ? looks : [looks[(i + k) % looks.length]]) {
        const page = await visitWith(browser, t, "about:blank", { ...LOOKS[look], bypassCSP: true });
        if (view === "denied")
          await page.route(/\/api\/(history|report)/, (route) =>
            route.fulfill({
              status: 403,
              json: { error: { code: "forbidden", message: "This token may not read the history." } },
            }),
          );
        await page.goto(d.url + address);
        await looked(page, view);
        if (view === "denied" && look !== "phone")
          await page.locator("#timeline").getByText("No permission").first().waitFor();
        if (all || view === "now") assert.deepEqual(await violations(page), [], `${view}, ${look}`);
        await page.goto("about:blank");
      }
    for (const look of all ? looks : [looks[k % looks.length]]) {
      const page = await visitWith(browser, t, d.url, LOOKS[look]);
      await looked(page, "now");
      await d.stop();
      await page.locator(".deadbar").waitFor();
      await eventually(async () => /^✕/.test(await page.title()));
      assert.deepEqual(await overlaps(page), [], `stale, ${look}`);
      await d.start(`sim:${gpus}scenario=${scenario},start=300`, ["--store", store], { WHIRR_STORE_HOST: "box" });
      await eventually(async () => !(await page.locator(".deadbar").count()));
    }
  });
