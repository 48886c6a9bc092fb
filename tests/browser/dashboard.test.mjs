// SPDX-License-Identifier: Apache-2.0
// The dashboard as people use it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { fleetOf } from "./load.mjs";
import {
  Daemon,
  daemon,
  driver,
  eventually,
  maker,
  missing,
  openBrowser,
  patience,
  Prometheus,
  prometheus,
  violations,
  visit as visitWith,
} from "./support.mjs";

const skip = missing;
let browser;
before(async () => {
  if (!skip) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
});

const visit = (t, url, options) => visitWith(browser, t, url, options);
const sentence = (page) => page.locator("#answer .sentence");

test("the right process is blamed, and the page follows when that changes", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=game-start,start=4");
  const page = await visit(t, d.url);
  await page.locator(".tile").first().waitFor();
  assert.match(
    await page.locator(".tile").first().innerText(),
    /GPU 0[\s\S]*Utilization[\s\S]*Temperature[\s\S]*Power[\s\S]*VRAM[\s\S]*Fan/,
  );
  await page.locator("header.topbar").getByText("live").waitFor(); // the first paint is older than the connection
  assert.match(await page.locator("header.topbar").innerText(), /simulated[\s\S]*live/);
  const { causes } = await eventually(async () => {
    const [gpu] = (await (await fetch(`${d.url}/api/why`)).json()).gpus;
    return gpu.causes[0]?.code === "graphics_load" && gpu;
  });
  const name = causes[0].process.replace(".exe", "");
  await sentence(page).getByText(name).waitFor();
  await page.locator(".tile .doing").getByText(name).waitFor();
  assert.match(await page.locator("#answer").innerText(), /(likely|possible)[\s\S]*\bMore\b/);
  assert.ok((await page.getByRole("button", { name: /^Copy whirr / }).count()) > 0);
});

test("who has a GPU is on its tile, and leases have a section where there are any", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=reserved");
  const page = await visit(t, d.url);
  await page
    .locator(".tile .leased")
    .first()
    .getByText(/^reserved for alice until /)
    .waitFor();
  assert.match(await page.locator("#leases").innerText(), /alice[\s\S]*reserved until[\s\S]*GPU 0, 1/);
  const none = await visit(t, (await daemon(t, "sim:scenario=idle")).url);
  await none.locator("#processes").waitFor();
  assert.equal(await none.locator("#leases, .leased").count(), 0);
});

test("the answer is as urgent as the daemon says, with evidence and a command", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1");
  const page = await visit(t, d.url);
  const why = await eventually(async () => {
    const w = await (await fetch(`${d.url}/api/why`)).json();
    return w.severity === "critical" && w;
  });
  assert.equal(why.gpu_index, 1);
  await page.locator("#answer.bad .sentence").getByText("lost").waitFor();
  assert.equal(await page.locator("#answer .sentence .mark").getAttribute("aria-label"), "Act now");
  assert.ok(await page.locator("#answer .evidence li").first().isVisible());
  assert.ok(await page.locator("#answer .command code").first().isVisible());
  assert.match(await page.locator('.tile[aria-label="GPU 0"] header').innerText(), /busy/);
  // The tab says it, too: how many of what, and by its icon.
  await page.waitForFunction(() => /^▲1 .* · whirr$/.test(document.title));
  assert.match(await page.locator("link[rel=icon]").getAttribute("href"), /^data:image\/svg/);
  assert.equal((await page.locator(".verdict .count").innerText()).trim(), "1");
});

test(
  "the first paint has the answer, the cards and the verdict, and nothing moves afterwards",
  { skip: skip || (!existsSync(maker) && "make_history is not built") },
  async (t) => {
    const d = new Daemon();
    t.after(() => d.remove());
    // Idle: an answer about another GPU may be longer and move what is below it.
    const store = `sqlite:${d.folder}/past.db`;
    execFileSync(maker, [store, "60", "gpus=4,scenario=idle", "20"], { timeout: patience });
    await d.start("sim:gpus=4,scenario=idle", ["--store", store], { WHIRR_STORE_HOST: "box" });
    await eventually(async () => (await (await fetch(`${d.url}/api/health`)).json()).gpu_monitoring.last_sample_at);
    const page = await visit(t, d.url, {
      before: () => {
        window.moved = 0;
        new PerformanceObserver((list) => {
          for (const e of list.getEntries()) window.moved += e.value;
        }).observe({ type: "layout-shift", buffered: true });
        new PerformanceObserver((list) => {
          for (const e of list.getEntries())
            if (e.name === "first-contentful-paint")
              window.first = {
                tiles: document.querySelectorAll(".tile").length,
                answer: document.querySelector(".sentence")?.textContent,
              };
        }).observe({ type: "paint", buffered: true });
      },
    });
    await page.waitForFunction(() => window.first && document.querySelector("footer"));
    const first = await page.evaluate(() => window.first);
    assert.match(first.answer, /GPU/);
    assert.equal(first.tiles, 4);
    await page.locator("#rail .area[d^=M]").waitFor();
    await page.locator("#charts canvas").first().waitFor();
    await page.locator("#state").getByText("live").waitFor();
    await page.waitForFunction(() => performance.now() > 4000 && document.querySelector("#energy p"));
    assert.ok((await page.evaluate(() => window.moved)) < 0.01, `moved by ${await page.evaluate(() => window.moved)}`);
  },
);

test(
  "a moment of the past: by link, by slider, by hand, and back",
  { skip: skip || (!existsSync(maker) && "make_history is not built") },
  async (t) => {
    const d = new Daemon();
    t.after(() => d.remove());
    const store = `sqlite:${d.folder}/past.db`;
    execFileSync(maker, [store, "180", "scenario=night,start=16200", "20"], { timeout: patience });
    await d.start("sim:gpus=4,scenario=idle", ["--store", store], { WHIRR_STORE_HOST: "box", TZ: "UTC" });
    const page = await visit(t, `${d.url}/?at=-2h`, { timezoneId: "UTC" });
    const table = page.locator("#processes tbody");
    await table.getByText("kworkerds").first().waitFor();
    assert.match(await table.innerText(), /www-data/);
    await page.locator("#answer h2").filter({ hasText: /^At / }).waitFor();
    await page.locator(".tile").first().filter({ hasText: "kworkerds" }).waitFor();

    await page.getByRole("button", { name: "Back to live" }).click();
    await page.waitForFunction(() => !document.querySelector("#processes tbody")?.textContent.includes("kworkerds"));
    assert.equal(new URL(page.url()).search, "");
    await page.goBack(); // the moment is there again
    await table.getByText("kworkerds").first().waitFor();
    await page.goForward();

    const slider = page.getByRole("slider", { name: "Moment to show" });
    await slider.focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(
      () => /^\?at=2/.test(location.search) && /^At /.test(document.querySelector("#answer h2").textContent),
    );

    await page.locator("#answer[aria-busy=false]").waitFor(); // what comes would move the strip
    const strip = await page.locator("#rail .strip").boundingBox();
    await page.mouse.move(strip.x + strip.width * 0.9, strip.y + 20);
    await page.mouse.down();
    await page.mouse.move(strip.x + strip.width * 0.99, strip.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /^\?from=.*&to=/.test(location.search));
    await page.locator(".episodes li").first().waitFor();
    assert.equal(await page.locator(".tile").count(), 0, "nothing of now");
    assert.match(await page.locator("#answer").innerText(), /What happened from[\s\S]*kworkerds[\s\S]*k(Wh|J)/);
    assert.equal(await page.getByText("The host is in").count(), 0, "its zone is ours");
    const elsewhere = await visit(t, page.url(), {
      timezoneId: "Asia/Kolkata",
      viewport: { width: 1440, height: 900 },
    });
    await elsewhere.getByText(/Times are yours \(Asia\/(Kolkata|Calcutta)\). The host is in UTC: \d\d:\d\d./).waitFor();

    await page.goto(`${d.url}/?at=-2h`);
    await page.locator("#charts").scrollIntoViewIfNeeded();
    await page.locator("#charts canvas").first().waitFor();
  },
);

/** A zone in which it is between eight and nine in the morning: the last night is a few hours ago, whenever this runs. */
function morning() {
  const east = ((8 - new Date().getUTCHours() + 24 + 11) % 24) - 11;
  return {
    timezoneId: `Etc/GMT${east > 0 ? "-" : "+"}${Math.abs(east)}`,
    at: (hours, minutes) =>
      Math.floor((Date.now() + east * 3600e3) / 86400e3) * 86400e3 - east * 3600e3 + (hours * 60 + minutes) * 60e3,
  };
}

test(
  "a person types 03:10 and reads why: two actions",
  { skip: skip || (!existsSync(maker) && "make_history is not built") },
  async (t) => {
    const d = new Daemon(),
      { timezoneId, at } = morning(),
      store = `sqlite:${d.folder}/past.db`;
    t.after(() => d.remove());
    // From midnight to half past four; the miner runs from 02:10 to 03:40.
    execFileSync(maker, [store, "270", "scenario=night,start=10200", "30"], {
      timeout: patience,
      env: { ...process.env, MAKE_HISTORY_END: String(at(4, 30) / 1000) },
    });
    await d.start("sim:gpus=4,scenario=idle,fault=lost@1", ["--store", store], { WHIRR_STORE_HOST: "box" });
    const page = await visit(t, d.url, { timezoneId });
    await page.locator("#answer.bad").waitFor(); // now a GPU is lost
    await page.locator('.tile[aria-label="GPU 1"] header').getByText("lost").first().waitFor();
    const title = page.locator("#answer h2");
    await page.getByLabel("Go to a moment").fill("03:10"); // one
    await page.keyboard.press("Enter"); // two
    await title.getByText(/^At /).waitFor();
    await page.locator("#answer[aria-busy=false]").waitFor();
    assert.match(await title.innerText(), /^At 03:10:00/);
    assert.match(await page.locator(".pastbar").innerText(), /You are looking at .*03:10:00/);
    await page.locator("#processes tbody").getByText("kworkerds").first().waitFor();
    await page.locator("#answer[aria-busy=false] .sentence").getByText(/ was /).waitFor();
    assert.match(
      await page.locator("#answer").innerText(),
      /GPU 0 was busy[^\n]* kworkerds \(www-data\) was mining[\s\S]*likely[\s\S]*kworkerds \(pid \d+, www-data/,
    );
    assert.match(await page.locator('.tile[aria-label="GPU 0"]').innerText(), /kworkerds/);
    assert.ok(!/lost/.test(await page.locator('.tile[aria-label="GPU 1"]').innerText()), "it was not lost then");
    assert.match(new URL(page.url()).search, /^\?at=20/);
  },
);

test("another answer moves nothing below it", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=game-start,start=2,speed=0.001");
  const page = await visit(t, d.url),
    top = () => page.locator("#gpus").evaluate((e) => e.getBoundingClientRect().top),
    height = () =>
      page.locator("#answer .because").evaluate((e) => [...e.children].map((c) => c.children.length).join());
  await sentence(page).getByText("is idle").waitFor();
  const before = await top(),
    short = await height();
  await d.stop(); // the game begins when the page has been seen without it
  await d.start("sim:scenario=game-start,start=60");
  await sentence(page).getByText("Starfall").waitFor();
  await page.waitForFunction(
    (was) => [...document.querySelector("#answer .because").children].map((c) => c.children.length).join() !== was,
    short,
  ); // there is more to say
  assert.equal(await top(), before);
  // Where there is less room, it may grow once; it does not shrink again.
  await page.setViewportSize({ width: 390, height: 844 });
  const kept = () => page.evaluate(() => parseFloat(document.querySelector("#answer .kept").style.minHeight));
  await eventually(async () => (await kept()) > 150);
  const tall = await kept();
  await page.evaluate(() => document.querySelector("#answer .do").setAttribute("hidden", "")); // a shorter one
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.ok((await kept()) >= tall);
});

/** What a chart says to a screen reader: what it shows. */
const said = (page, metric) =>
  page.locator(`.chart[data-metric=${metric}] .plot`).evaluate((e) => {
    e.focus();
    return e.getAttribute("aria-valuetext");
  });

test(
  "charts move with every sample, without a history, and show values of one moment everywhere",
  { skip },
  async (t) => {
    const d = await daemon(t, "sim:gpus=2,scenario=training");
    const page = await visit(t, d.url);
    await page.locator("#charts canvas").first().waitFor();
    await page.getByText("No history is kept on this host.").waitFor();
    assert.ok(await page.getByRole("button", { name: "24h", exact: true }).isDisabled());
    assert.match(await said(page, "utilization_percent"), /^now: GPU 0 \d+%, GPU 1 \d+%$/);
    const before = await said(page, "utilization_percent");
    await eventually(async () => (await said(page, "utilization_percent")) !== before); // another sample
    await page.getByRole("button", { name: "1m", exact: true }).click();
    assert.equal(new URL(page.url()).search, "?span=1m");
    // The arrow keys move one pointer in all charts.
    await page.locator(".chart[data-metric=utilization_percent] .plot").focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => /^\d\d:\d\d:\d\d: /.test(document.activeElement.getAttribute("aria-valuetext")));
    const [one, two] = [await said(page, "utilization_percent"), await said(page, "temperature_celsius")];
    assert.equal(one.slice(0, 8), two.slice(0, 8));
    // One chart fills the page, and Escape brings the others back.
    await page.keyboard.press("f");
    await page.locator("dialog.full .chart").waitFor();
    assert.ok((await page.locator("dialog.full .chart").boundingBox()).height > 800);
    await page.keyboard.press("Escape");
    await eventually(async () => (await page.locator("dialog").count()) === 0);
    assert.ok(
      await page.evaluate(() => document.activeElement.closest("[data-metric=temperature_celsius]")),
      "the focus is back",
    );
  },
);

test(
  "charts: processes, throttling, another GPU, another time, PNG and CSV, and all of it in the address",
  { skip: skip || (!existsSync(maker) && "make_history is not built") },
  async (t) => {
    const d = new Daemon();
    t.after(() => d.remove());
    const store = `sqlite:${d.folder}/past.db`;
    execFileSync(maker, [store, "130", "gpus=2,scenario=overheat", "20"], { timeout: patience });
    await d.start("sim:gpus=2,scenario=overheat,start=600", ["--store", store], { WHIRR_STORE_HOST: "box" });
    const page = await visit(t, d.url, { viewport: { width: 1440, height: 900 } });
    const chart = (metric) => page.locator(`.chart[data-metric=${metric}]`);
    const says = (metric, what) => eventually(async () => what.test(await said(page, metric)));
    await page.getByRole("button", { name: "1h", exact: true }).click();
    await says("temperature_celsius", /GPU 0 9\d °C, GPU 1 7\d °C/);
    await page.getByRole("button", { name: "By process" }).click();
    // Those of the GPU that the verdict is about; what is left has a name.
    for (const metric of ["utilization_percent", "memory_used_mb", "power_watts"]) await says(metric, /train\.py/);
    await says("memory_used_mb", /free [\d.]+/);
    assert.match(page.url(), /span=1h&gpu=0&by=process/);
    await page.reload();
    await says("memory_used_mb", /train\.py/);
    await page.getByRole("button", { name: "By GPU" }).click();
    await page.getByLabel("Compare with").selectOption({ label: "GPU 1" });
    await says("power_watts", /GPU 0 \d+ W, GPU 1 \d+ W/);
    await page.getByLabel("Compare with").selectOption({ label: "1h earlier" });
    await says("power_watts", /1h earlier \d+ W/);
    assert.match(page.url(), /compare=ago:3600/);
    await page.getByLabel("Compare with").selectOption("");

    const save = chart("power_watts").getByRole("button", { name: "Power: save" });
    await save.click();
    const [png] = await Promise.all([
      page.waitForEvent("download"),
      chart("power_watts").getByRole("button", { name: "Power as PNG" }).click(),
    ]);
    assert.match(png.suggestedFilename(), /^whirr-.+-power_watts-20[\d-]+T\d{4}\.png$/);
    assert.deepEqual(
      [...readFileSync(await png.path()).subarray(1, 4)],
      [..."PNG"].map((c) => c.charCodeAt(0)),
    );
    await save.click();
    const link = chart("power_watts").getByRole("link", { name: "Power as CSV" });
    assert.match(await link.getAttribute("download"), /^whirr-.+-power_watts-.+\.csv$/);
    const csv = await page.request.get(`${d.url}${await link.getAttribute("href")}`);
    assert.match(await csv.text(), /^time,[\s\S]*power_watts/m);
    await page.getByRole("button", { name: "Close" }).click();

    // Dragging zooms in one action, a click marks a moment, a double click zooms out.
    await page.keyboard.press("Escape"); // all GPUs
    await page.evaluate(() => scrollTo(0, 0));
    await chart("utilization_percent").scrollIntoViewIfNeeded();
    const box = await chart("utilization_percent").locator(".plot").boundingBox();
    const y = box.y + 60;
    await page.mouse.move(box.x + box.width * 0.3, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.45, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /[?&]from=.*&to=/.test(location.search));
    const zoomed = new URL(page.url()).searchParams;
    const minutes = (Date.parse(zoomed.get("to")) - Date.parse(zoomed.get("from"))) / 60e3;
    assert.ok(minutes > 5 && minutes < 15, `${minutes} minutes`);
    await page.locator(".episodes li").first().waitFor();
    await chart("utilization_percent").scrollIntoViewIfNeeded();
    const again = await chart("utilization_percent").locator(".plot").boundingBox();
    await page.mouse.click(again.x + again.width / 2, again.y + 60);
    await page.waitForFunction(() => /[?&]at=.*&from=/.test(location.search));
    await page.locator("#answer h2").filter({ hasText: /^At / }).waitFor();
    // A link to it shows the same.
    const copy = await visit(t, page.url());
    await copy.locator("#answer h2").filter({ hasText: /^At / }).waitFor();
    await sentence(copy)
      .filter({ hasText: /GPU 0 was thermal throttling/ })
      .waitFor();
    // Escape goes back as it came: out of the moment, then out of the zoom.
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => /[?&]from=.*&to=/.test(location.search) && !/[?&]at=/.test(location.search));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !/at=|from=/.test(location.search));
  },
);

test("a lost connection shows, and ends", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training");
  const page = await visit(t, d.url);
  const state = page.locator("#state");
  await state.getByText("live").waitFor();
  await d.stop();
  await state.getByText("connection lost").waitFor();
  await state.filter({ hasText: /connecting again in|data is/ }).waitFor();
  assert.equal(await page.locator(".tile").count(), 2, "what was known stays");
  await d.start("sim:gpus=2,scenario=training");
  await state.getByText("live").waitFor();
});

test("a connection that fails while the page loads costs a moment, not half of the page", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=1,scenario=idle");
  const page = await visit(t, "about:blank");
  let failed = 0;
  await page.route("**/below.js", (route) => (failed++ ? route.continue() : route.abort()));
  await page.goto(d.url);
  await page.locator("footer").getByText("Plain page").waitFor();
  assert.equal(failed, 2);
});

test("acting asks for a token; a wrong one is refused, the right one acts", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1");
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "admin"))[0];
  const page = await visit(t, d.url);
  const alerts = page.locator("#findings");
  await alerts
    .getByRole("button", { name: /^Silence \d/ })
    .first()
    .click();
  await alerts.getByLabel("This needs a token").fill("wrong");
  await alerts.getByRole("button", { name: "Sign in" }).click();
  await alerts.getByText("isn't known here").waitFor();
  await alerts.getByLabel("This needs a token").fill(token);
  await alerts.getByRole("button", { name: "Sign in" }).click();
  await alerts.getByText("Silenced until").waitFor();
  assert.equal(await page.getByLabel("This needs a token").count(), 0);
  const silences = await alerts.getByRole("button", { name: /^End silence/ }).count();
  await alerts
    .getByRole("button", { name: /^End silence/ })
    .first()
    .click();
  await page.waitForFunction((n) => document.querySelectorAll("#findings .silences button").length === n - 1, silences);
});

test("who controls the daemon can ask in which line a program is", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=1,scenario=training");
  const token = /\S{20,}/.exec(d.run("token", "new", "ops", "--role", "control"))[0];
  const opened = async (options) => {
    const page = await visit(t, d.url, options);
    await page.locator("#processes tbody button.link").first().click();
    return page.locator("#processes tr.why");
  };
  await (await opened()).getByText(/^On the host:\s+whirr why \d+/).waitFor();
  const mine = await opened({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } });
  await mine.getByRole("button", { name: "Which line is it in?" }).click();
  await mine.getByText("A simulated program has no lines").waitFor();
});

test("the login form refuses a wrong token and takes the right one", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=1,scenario=idle");
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "admin"))[0];
  const page = await visit(t, `${d.url}/login`);
  const sign = async (text) => {
    await page.getByLabel("Sign in with a token").fill(text);
    await page.keyboard.press("Enter");
  };
  await sign("wrong");
  await page.getByText("That token isn't known here.").waitFor();
  await sign(token);
  await sentence(page).getByText("GPU 0").waitFor();
  assert.equal(new URL(page.url()).pathname, "/");
  assert.equal((await page.context().cookies()).length, 1);
});

test(
  "a worker is held, comes back, and is evicted, by a person with a token",
  { skip: skip || (!(existsSync(driver.nvml) && existsSync(driver.cuda)) && "the fake driver is not built") },
  async (t) => {
    const d = new Daemon();
    const { env, worker, state } = d.guarded('clear_for = "10m"\n');
    t.after(async () => {
      await d.remove();
      worker.kill();
    });
    await d.start("nvml", [], env);
    const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "admin"))[0];
    const page = await visit(t, d.url);
    const guard = page.locator("#guard");
    await guard.getByText("llama is running").waitFor();
    await guard.getByRole("button", { name: /^Hold llama/ }).click();
    await guard.getByLabel("This needs a token").fill(token);
    await guard.getByRole("button", { name: "Sign in" }).click();
    await guard.getByText("llama is paused and held").waitFor();
    assert.equal(state(), 2, "it is off the GPU");
    assert.equal(await guard.getByRole("button", { name: /^Evict/ }).count(), 0);
    await guard.getByRole("button", { name: /^Resume llama/ }).click();
    await guard.getByText("llama is running").waitFor();
    assert.equal(state(), 0);
    await guard.getByRole("button", { name: /^Evict llama/ }).click();
    await guard.getByText("llama is paused").waitFor();
    const reply = await page.request.post(`${d.url}/api/guard/release`, {
      data: { worker: "llama" },
      headers: { Authorization: `Bearer ${token}` },
    });
    assert.equal(reply.status(), 202);
    await guard.getByText(/back in \d+m/).waitFor(); // nobody wants the GPU: clear_for counts down
  },
);

test("settings show their origin and cannot be changed", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=1,scenario=idle", [], { WHIRR_ENERGY_PRICE_PER_KWH: "0.31" });
  const page = await visit(t, d.url);
  const settings = page.locator("#settings");
  await settings.getByText("Show what is set").click();
  await settings
    .getByRole("row", { name: /energy.price_per_kwh 0.31 environment WHIRR_ENERGY_PRICE_PER_KWH/ })
    .waitFor();
  await settings.getByRole("row", { name: /sampling.interval_seconds 0.5 flag --interval/ }).waitFor();
  assert.equal(await settings.getByRole("row", { name: "server.max_age_ms" }).count(), 0, "a default");
  await settings.getByLabel("Show all").check();
  await settings.getByRole("row", { name: /server.max_age_ms 250 default/ }).waitFor();
  assert.equal(await settings.locator("input:not([type=checkbox]), button").count(), 0);
});

test("who is notified and when not is shown beside the alerts", { skip }, async (t) => {
  const d = new Daemon();
  t.after(() => d.remove());
  const config = `${d.folder}/whirr.toml`;
  writeFileSync(
    config,
    '[alerts]\nquiet = ["22:00-07:00"]\n[notify.phone]\ntype = "webhook"\nurl = "http://127.0.0.1:9/secret"\n',
  );
  await d.start("sim:gpus=1,scenario=idle", [], { WHIRR_CONFIG: config });
  const page = await visit(t, d.url);
  await page
    .locator("#findings")
    .getByText("phone (webhook) is notified, but not in quiet hours: 22:00-07:00")
    .waitFor();
  assert.ok(!(await page.content()).includes("9/secret"));
});

test(
  "processes: idle holders, groups, and cards on a phone",
  { skip: skip || (!existsSync(maker) && "make_history is not built") },
  async (t) => {
    const d = new Daemon();
    t.after(() => d.remove());
    const store = `sqlite:${d.folder}/past.db`;
    execFileSync(maker, [store, "60", "scenario=held-context", "20"], { timeout: patience });
    await d.start("sim:scenario=held-context", ["--store", store], { WHIRR_STORE_HOST: "box" });
    const page = await visit(t, d.url, { viewport: { width: 390, height: 844 } });
    const table = page.locator("#processes");
    await table
      .locator(".chip")
      .getByText(/held (59m|1h).*, did nothing|holds VRAM, idle/)
      .first()
      .waitFor();
    assert.equal(await table.locator("thead").isVisible(), false, "a card each");
    assert.match(
      await table
        .locator("tbody tr")
        .first()
        .locator("td[data-name=VRAM]")
        .evaluate((e) => getComputedStyle(e, "::before").content),
      /VRAM/,
    );
    await page.locator("#timeline").getByRole("button", { name: "Timeline" }).click(); // folded on a phone
    await page.locator("#lifelines .life.idle").first().waitFor();
    const users = [...new Set((await (await fetch(`${d.url}/api/processes`)).json()).processes.map((p) => p.user))];
    await page.setViewportSize({ width: 1280, height: 900 });
    await table.getByRole("button", { name: "By user" }).click();
    for (const user of users) await table.getByRole("rowheader", { name: user, exact: true }).waitFor();
    assert.equal(await table.locator("tbody tr").count(), users.length);
  },
);

test("a model server shows what it says of itself, in place", { skip }, async (t) => {
  const d = new Daemon();
  t.after(() => d.remove());
  await d.start("sim:scenario=kv-full");
  const page = await visit(t, d.url);
  const told = page.locator("#processes tr.serving");
  await told.getByText("mistralai/Mistral-7B-Instruct-v0.3").waitFor();
  for (const words of [
    /Requests \d+ running, \d+ waiting/,
    /KV cache 9\d%/,
    /First token \d.* s/,
    /Tokens per joule \d/,
  ])
    assert.match((await told.innerText()).replace(/\s+/g, " "), words);
  await page.locator("#processes .chip").getByText("KV cache full").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  const box = await told.boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 390, `on a phone it has its width: ${JSON.stringify(box)}`);
});

test("the keyboard is enough", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=4,scenario=mixed");
  const page = await visit(t, d.url);
  await page.locator("#processes tbody tr").first().waitFor();
  const reach = async (name) => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      const there = (text) =>
        document.activeElement.matches("button") && document.activeElement.textContent.trim().startsWith(text);
      if (await page.evaluate(there, name)) return;
    }
    assert.fail(`${name} cannot be reached with Tab`);
  };
  await reach("GPU 1");
  await page.keyboard.press("Enter");
  await page.locator("#processes .head").getByText("1 on GPU 1").waitFor();
  assert.match(await sentence(page).innerText(), /^\s*GPU 1 /);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !/on GPU 1/.test(document.querySelector("#processes .head").textContent));
  await page.keyboard.press("1");
  await page.locator("#processes .head").getByText("1 on GPU 1").waitFor();
  await page.keyboard.press("1");
  await page.locator("#processes thead button").nth(4).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator('#processes th[aria-sort="descending"]').filter({ hasText: "Power ↓" }).waitFor();
  // A row opens its why below itself.
  await page.locator("#processes tbody .link").first().focus();
  await page.keyboard.press("Enter");
  await page.locator("#processes .why").getByText("Command").waitFor();
  assert.match(new URL(page.url()).search, /pid=\d+/);
  await page.keyboard.press("Enter");
  await page.keyboard.press("/");
  await page.keyboard.type("user:bob");
  await page.waitForFunction(() => document.querySelectorAll("#processes tbody tr").length === 1);
  assert.equal(new URL(page.url()).searchParams.get("q"), "user:bob");
});

for (const scheme of ["light", "dark"])
  test(
    `accessible and not wider than a phone (${scheme})`,
    { skip: skip || (!existsSync(maker) && "make_history is not built") },
    async (t) => {
      const d = new Daemon();
      t.after(() => d.remove());
      const store = `sqlite:${d.folder}/past.db`;
      execFileSync(maker, [store, "60", "gpus=4,scenario=mixed", "20"], { timeout: patience });
      await d.start(
        scheme === "light" ? "sim:gpus=4,scenario=mixed,fault=lost@1" : "sim:gpus=20,scenario=training,fault=lost@1",
        ["--store", store],
        { WHIRR_STORE_HOST: "box" },
      );
      const page = await visit(t, d.url, {
        colorScheme: scheme,
        viewport: { width: 360, height: 740 },
        bypassCSP: true,
        reducedMotion: "reduce",
      });
      for (const name of ["Timeline", "Findings", "Energy", "Guard", "What fits where", "Settings"])
        await page.getByRole("button", { name: new RegExp(`^${name}`), expanded: false }).click();
      await page.locator("#findings li").first().waitFor();
      await page.locator("#processes tbody tr").first().waitFor();
      await page.getByText("Show what is set").click();
      await page
        .getByRole("button", { name: /^GPU 0|^0\s*\d+%/ })
        .first()
        .click();
      await page.locator("#charts").scrollIntoViewIfNeeded();
      await page.locator("#charts canvas").first().waitFor();
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        assert.ok(
          (await page.evaluate(() => document.scrollingElement.scrollWidth)) <= width,
          `scrolls sideways at ${width}`,
        );
        assert.deepEqual(await violations(page), []);
      }
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0, "nothing moves by itself");
      for (const query of ["?at=-20m", "?from=-50m&to=-10m"]) {
        await page.goto(d.url + query);
        await page.locator("#answer[aria-busy=false]").waitFor();
        await page.locator("#timeline").waitFor();
        assert.deepEqual(await violations(page), [], query);
      }
      await page.route(/\/(plain|tile)/, async (route) => {
        // they refresh themselves faster than axe looks
        const reply = await route.fetch().catch(() => null);
        if (!reply) return route.abort(); // the daemon ends before the page does
        await route.fulfill({
          response: reply,
          body: (await reply.text()).replace(/<meta http-equiv="refresh"[^>]*>/g, ""),
        });
      });
      for (const path of ["/plain", "/login", "/tile?gpu=0"]) {
        await page.goto(d.url + path);
        assert.deepEqual(await violations(page), [], path);
      }
      await page.goto(`${d.url}/docs`);
      await page.locator(".opblock").first().waitFor();
      const paper = await page.evaluate(
        () =>
          getComputedStyle(document.querySelector(".swagger-ui")).backgroundColor +
          getComputedStyle(document.documentElement).backgroundColor,
      );
      assert.equal(/rgb\(28, 32, 34\)/.test(paper), scheme === "dark", paper);
      assert.deepEqual(await violations(page), [], "/docs");
    },
  );

test(
  "two hosts of a real Prometheus are on the page of all hosts",
  { skip: skip || (!prometheus && "no prometheus (tools/deps test)") },
  async (t) => {
    const database = await new Prometheus().start();
    t.after(() => database.remove());
    const config = path.join(database.folder, "whirr.toml");
    writeFileSync(config, '[hosts.gpu42]\naddress = "http://gpu42.lab:9448"\n');
    const one = await daemon(t, "sim:gpus=2,scenario=training", [], {
      WHIRR_FLEET_URL: database.url,
      WHIRR_CONFIG: config,
    });
    database.scrape({ gpu42: one, gpu17: await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1") });
    await eventually(
      async () =>
        (await database.count("gpu_up")) === 4 &&
        (await database.count("gpu_up == 0")) === 1 &&
        (await database.count("gpu_utilization_percent")) === 3 &&
        (await database.count('whirr_gpu_health{state="lost"} == 1')) === 1 &&
        (await database.count('gpu_process_memory_bytes{user="alice"}')) === 3,
    );
    const page = await visit(t, one.url);
    await page.getByRole("link", { name: "All hosts" }).click();
    await page
      .locator("#answer.bad")
      .getByText(/^2 hosts, 4 GPUs, .* 1 lost/)
      .waitFor();
    const worst = page.locator("#hosts tbody tr");
    assert.match(await worst.first().innerText(), /gpu17[\s\S]*GPU 1 is lost/);
    assert.equal(await worst.first().locator(".square").count(), 2);
    assert.match(await worst.nth(1).innerText(), /gpu42[\s\S]*\d+%\s+[\d.]+\/[\d.]+ GiB\s+\d+ °C\s+\d+ W/);
    assert.equal(
      await worst.nth(1).getByRole("link", { name: "gpu42" }).getAttribute("href"),
      "http://gpu42.lab:9448/",
      "where the configuration says that it is",
    );
    assert.equal(await worst.first().getByRole("link").count(), 0, "no guess where nothing says where it is");
    assert.match(await page.locator("#who tbody tr").first().innerText(), /^alice\s+[\d.]+ GiB\s+[\d.]+\s+\d+ W/);
    await page.getByLabel("Needed on one GPU").fill("1 GiB");
    await page
      .locator("#fit")
      .getByText(/^1.0 GiB fits on 3 GPUs/)
      .waitFor();
  },
);

test(
  "all hosts on one page: worst first, who holds and is idle, where there is room, what it costs",
  { skip },
  async (t) => {
    const d = await daemon(t, "sim:gpus=1,scenario=idle", [], { WHIRR_FLEET_URL: "http://127.0.0.1:1" }); // a real database has two above, and 300 in tests/contract/test_fleet.py
    const page = await visit(t, d.url, {
      bypassCSP: true,
      before: () => {
        const real = window.fetch;
        window.asked = 0;
        window.fetch = (...how) => {
          window.asked++;
          return real(...how);
        };
      },
    });
    let asked = 0;
    await page.route(/\/api\/fleet$/, (route) =>
      route.fulfill({ json: asked++ ? fleetOf(300) : { fetched_at: null, loading: true, error: null, fleet: null } }),
    );
    await page.getByRole("link", { name: "All hosts" }).click();
    await page.locator("#answer.bad").getByText("300 hosts, 1200 GPUs").waitFor(); // not there at first: it asks again
    assert.deepEqual(
      await page
        .locator("#hosts tbody th")
        .allInnerTexts()
        .then((l) => l.map((x) => x.trim())),
      ["gpu17", "gpu99"],
    );
    assert.equal(await page.locator("#hosts .map li").count(), 298);
    assert.ok(
      (await page.locator("#hosts").evaluate((e) => e.getBoundingClientRect().height)) < 1000,
      "hundreds of hosts on a screen",
    );
    assert.equal(
      await page.locator("#hosts .map .who").evaluateAll((l) => l.filter((e) => e.scrollWidth > e.clientWidth).length),
      0,
      "names can be read",
    );
    await page.getByRole("button", { name: "Needs you 2" }).click();
    await page.getByRole("heading", { name: "2 hosts of 300" }).waitFor();
    await page.getByRole("button", { name: "All 300" }).click();
    // A column sorts all of them; only those in view are in the document.
    await page.locator("#hosts thead").getByRole("button", { name: "Host" }).click();
    await page.locator("#hosts tbody tr").nth(1).getByText("gpu99").waitFor();
    assert.ok((await page.locator("#hosts tbody tr").count()) < 80);
    await page.locator("#hosts thead").getByRole("button", { name: "Host" }).click();
    await page.getByLabel("Needed on one GPU").fill("60 GiB");
    await page.locator("#fit").getByText("60.0 GiB fits on 4 GPUs").waitFor();
    assert.match(await page.locator("#fit li").first().innerText(), /^gpu200 GPU 0: 70.0 GiB free/);
    assert.match(
      await page.locator("#who tbody tr").first().innerText(),
      /alice[\s\S]*2\.5[\s\S]*1000 kWh[\s\S]*500\.00 EUR/,
    );
    assert.match(await page.locator("#spent").innerText(), /2000 kWh for 1000\.00 EUR/);
    await page.getByLabel("Needed on one GPU").fill("much");
    await page.locator("#fit").getByText("Write a size like 60GiB.").waitFor();
    assert.ok(
      (await page.evaluate(() => {
        // one question at a time, however often the page is looked at
        const before = window.asked;
        for (let i = 0; i < 3; i++) document.dispatchEvent(new Event("visibilitychange"));
        return window.asked - before;
      })) <= 1,
    );
    assert.deepEqual(await violations(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= 360);
    await page.route(/\/api\/fleet$/, (route) => route.abort()); // the newest counts: no question in between reaches the daemon
    await page.locator("#state").getByText("stale, as of").waitFor(); // what was known stays, and looks dead
    assert.match(await page.locator("#hosts").evaluate((e) => getComputedStyle(e).filter), /grayscale/);
    assert.match(await page.title(), /^✕ stale · /);
    await page.unroute(/\/api\/fleet$/); // the daemon's own answer: it knows no fleet
    await page.getByRole("alert").getByText("The fleet's database can't be asked").waitFor();
    assert.match(await page.locator("#state").innerText(), /stale, as of/);
    await page.reload();
    await page.getByRole("alert").getByText("The fleet's database can't be asked").waitFor();
  },
);

test("no GPU, and GPUs that can't be read, are said plainly", { skip }, async (t) => {
  const none = await daemon(t, "drm", [], { WHIRR_ROOT: "/nonexistent" });
  const page = await visit(t, none.url, { bypassCSP: true });
  await sentence(page).getByText("No GPU was found on this host.").waitFor();
  await page.locator(".empty").getByText("drm: off").waitFor();
  assert.equal(await page.locator("#answer .command code").first().innerText(), "whirr doctor");
  await page.waitForFunction(() => document.querySelector("footer") && !document.querySelector("#rail")); // there is no past to look at
  assert.deepEqual(await violations(page), []);
  const failing = await daemon(t, "sim:gpus=2,fault=error");
  const unread = await visit(t, failing.url);
  await unread.locator("#answer.warn").getByText("can't be read").first().waitFor();
});

test("a history that doesn't answer for a moment is still there", { skip }, async (t) => {
  const d = new Daemon();
  t.after(() => d.remove());
  await d.start("sim:gpus=1,scenario=idle", ["--store", `sqlite:${d.folder}/past.db`]);
  const page = await visit(t, d.url, {
    before: () => {
      const real = window.fetch,
        busy = () => new Response('{"error":{"code":"busy","message":"The history is busy."}}', { status: 503 });
      window.refused = 0;
      window.fetch = (path, ...how) =>
        String(path).includes("points=900") ? (window.refused++, Promise.resolve(busy())) : real(path, ...how);
    },
  });
  await page.locator("#rail .strip").waitFor();
  await page.waitForFunction(() => window.refused > 0);
  assert.ok((await page.evaluate(() => window.refused)) > 0);
});

test("a hidden page is quiet", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=8,scenario=training");
  const page = await visit(t, d.url);
  await page.locator("#state").getByText("live").waitFor();
  await page.waitForLoadState("networkidle"); // what it asks for at its start
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.locator("#state").getByText("paused").waitFor();
  let requests = 0;
  page.on("request", () => requests++);
  page.on("websocket", () => requests++);
  const samples = async () => (await (await fetch(`${d.url}/api/health`)).json()).gpu_monitoring.samples_total;
  const before = await samples();
  await eventually(async () => (await samples()) >= before + 4);
  assert.equal(requests, 0);
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "visible" });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.locator("#state").getByText("live").waitFor();
});
