// SPDX-License-Identifier: Apache-2.0
// What people come to the page for, each with the number of actions it takes; and the page for different eyes, hands and places.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fakeFeed } from "./load.mjs";
import {
  Daemon,
  daemon,
  eventually,
  maker,
  missing,
  openBrowser,
  patience,
  violations,
  visit as visitWith,
} from "./support.mjs";

const skip = missing,
  stored = skip || (!existsSync(maker) && "make_history is not built");
let browser;
before(async () => {
  if (!skip) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
});
const SIZE = { width: 1440, height: 900 };
const visit = (t, url, options) => visitWith(browser, t, url, { viewport: SIZE, ...options });
const ask = async (d, path) => (await fetch(d.url + path)).json();

/** A daemon with a past. */
async function withPast(t, source, past, env) {
  const d = new Daemon(),
    store = `sqlite:${d.folder}/past.db`;
  t.after(() => d.remove());
  execFileSync(maker, [store, ...past], { timeout: patience, env: { ...process.env, ...env } });
  return d.start(source, ["--store", store], { WHIRR_STORE_HOST: "box" });
}

/** Counts what a person does. */
function hand(page) {
  const me = {
    actions: 0,
    click: async (what) => {
      me.actions++;
      await what.click();
    },
  };
  return me;
}

const onScreen = (what) =>
  what.evaluate((e) => {
    const r = e.getBoundingClientRect();
    return r.top >= 0 && r.top < innerHeight && r.bottom <= innerHeight + 1;
  });

test("which process leaks: no action, it is on the first screen", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=vram-leak,start=850,speed=2");
  const leak = await eventually(async () =>
    (await ask(d, "/api/gpu/metrics")).findings.find((f) => f.code === "vram_full_soon"),
  );
  const { short_name } = (await ask(d, "/api/processes")).processes.find((p) => p.pid === leak.pid);
  const page = await visit(t, d.url);
  const said = page.locator("#answer").getByText(short_name.split(" · ")[0]).first();
  await said.waitFor();
  assert.ok(await onScreen(said));
  // At its first signs the forecast comes and goes.
  await eventually(async () =>
    /will run out of memory|memory was full/.test(await page.locator("header .verdict").innerText()),
  );
});

test("which of 64 GPUs is the hottest: no action", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=64,scenario=training,fault=lost@9,speed=0.001");
  const page = await visit(t, d.url);
  const line = page.locator("#heat .note");
  await line.getByText("hottest").waitFor();
  assert.ok(await onScreen(line));
  assert.ok(await onScreen(page.locator(".cell").last()), "all of them on one screen");
  assert.match(await page.locator(".cell").nth(9).innerText(), /^9\s+lost$/, "each in its place");
  assert.match(await page.locator(".odd button").first().innerText(), /9 lost/, "the odd one is named above");
  const { gpus } = await ask(d, "/api/gpu/summary");
  const most = Math.max(...gpus.map((g) => g.temperature_celsius ?? 0));
  await eventually(async () => (await line.innerText()).includes(`, ${Math.round(most)} °C`));
});

test("who used most energy today: one action", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=4,scenario=mixed", ["60", "gpus=4,scenario=mixed", "30"]);
  const page = await visit(t, d.url),
    me = hand(page);
  await page.locator("#energy tbody th").first().waitFor({ state: "attached" });
  await me.click(page.locator(".tabs").getByRole("link", { name: "Energy" }));
  await eventually(() => onScreen(page.locator("#energy tbody tr").first()));
  assert.equal(await page.locator("#energy tbody th").first().innerText(), "alice");
  assert.equal(me.actions, 1);
});

test("silence an alert: two actions, with a token at hand", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1");
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "admin"))[0];
  const page = await visit(t, `${d.url}/login`);
  await page.getByLabel("Sign in with a token").fill(token);
  await page.keyboard.press("Enter");
  const me = hand(page);
  await page
    .locator("#findings")
    .getByRole("button", { name: /^Silence \d/ })
    .first()
    .waitFor({ state: "attached" });
  await me.click(page.locator(".tabs").getByRole("link", { name: "Findings" }));
  await me.click(
    page
      .locator("#findings")
      .getByRole("button", { name: /^Silence \d/ })
      .first(),
  );
  await page.locator("#findings").getByText("Silenced until").waitFor();
  assert.equal(me.actions, 2);
});

test(
  "on a host with a week of history: why now 0, why then 3, two GPUs 2, a user's week 3, share 1, zoom and back 2",
  { skip: stored },
  async (t) => {
    const d = await withPast(t, "sim:gpus=4,scenario=mixed", ["240", "gpus=4,scenario=mixed", "30"]);
    const page = await visit(t, d.url, { timezoneId: "UTC" });
    const task = async (name, most, work) => {
      const me = hand(page);
      await work(me);
      assert.ok(me.actions <= most, `${name}: ${me.actions} actions`);
      await page.goto(d.url);
      await page.locator("footer").waitFor();
    };
    await task("why now", 0, async () => {
      const said = page.locator("#answer .sentence");
      await said.getByText("is training Llama-3.1-8B").waitFor();
      assert.ok(await onScreen(said));
      assert.equal(await page.locator(".verdict .text").innerText(), (await said.innerText()).trim());
    });
    await task("why two hours ago", 3, async (me) => {
      await me.click(page.locator("#moment"));
      me.actions += 2;
      await page.keyboard.type("2h ago");
      await page.keyboard.press("Enter");
      await page.locator("#answer .sentence").getByText("was training").waitFor();
    });
    await task("two GPUs, last hour", 2, async (me) => {
      await me.click(page.getByRole("button", { name: "1h", exact: true }));
      me.actions++;
      await page.getByLabel("Compare with").selectOption("pair:0,2");
      await page.waitForFunction(() => /gpu=0/.test(location.search) && /compare=gpu:2/.test(location.search));
      await page.waitForFunction(() => performance.getEntriesByName("charts", "measure").length > 0);
    });
    await task("alice's week", 3, async (me) => {
      await me.click(page.getByRole("button", { name: "7d", exact: true }));
      await me.click(page.locator(".tabs").getByRole("link", { name: "Energy" }));
      await me.click(page.locator("#energy").getByRole("button", { name: "alice" }));
      await page.locator("#energy").getByText("last 7d").waitFor();
      const programs = page.getByRole("list", { name: "Programs of alice" });
      await programs.getByText(/train\.py.* kWh, \dh/s).waitFor();
      await eventually(async () => /q=user:alice/.test(page.url()));
    });
    await task("share", 1, async (me) => {
      await page.locator("#charts canvas").first().waitFor();
      const saved = page.waitForEvent("download");
      await me.click(page.getByRole("button", { name: "Save as page" }));
      const file = `${d.folder}/shared.html`;
      await (await saved).saveAs(file);
      const text = readFileSync(file, "utf8");
      assert.ok(text.length <= 300 * 1024 && !/<script|src="(?!data:)|\shref=/.test(text), `${text.length} bytes`);
      const context = await browser.newContext({ javaScriptEnabled: false, offline: true, viewport: SIZE });
      t.after(() => context.close());
      const alone = await context.newPage();
      await alone.goto(`file://${file}`);
      await alone.locator(".answer .sentence").getByText("is training Llama-3.1-8B").waitFor();
      const charts = await alone
        .locator("figure img")
        .evaluateAll((list) => list.map((i) => [i.naturalWidth > 50, i.alt]));
      assert.ok(charts.length >= 6 && charts.every(([drawn]) => drawn), JSON.stringify(charts));
      assert.match(await alone.locator("table").first().innerText(), /train\.py/);
    });
    await task("zoom and back", 2, async (me) => {
      await page.getByRole("button", { name: "1h", exact: true }).click();
      const plot = page.locator(".chart .plot").first();
      await plot.scrollIntoViewIfNeeded();
      const box = await plot.boundingBox();
      me.actions++;
      await page.mouse.move(box.x + 150, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 300, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await page.waitForFunction(() => /from=/.test(location.search));
      me.actions++;
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !/from=/.test(location.search) && /span=1h/.test(location.search));
      await page.locator("#state").getByText("live").waitFor();
    });
  },
);

test("which rank the others wait for: no action, and they do not look busy", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=late-rank,start=300");
  const page = await visit(t, d.url);
  const said = page.locator("#answer .sentence");
  await said.getByText(/GPUs 1-7 are waiting for GPU 0/).waitFor();
  assert.ok(await onScreen(said));
  await eventually(async () => (await page.locator(".tile .fill.waits").count()) === 7);
  await page
    .locator(".tile")
    .nth(3)
    .getByText(/\d+% busy, \d+% at work/)
    .waitFor();
});

test("who has reserved a GPU, and that the host is dead: no action", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=reserved");
  const page = await visit(t, d.url);
  const reserved = page.locator("#answer .sentence").getByText("is reserved for alice");
  await reserved.waitFor();
  assert.ok(await onScreen(reserved));
  await d.stop();
  await page
    .locator(".deadbar")
    .getByText(/Everything below is from \d\d:\d\d:\d\d/)
    .waitFor();
  assert.ok(await onScreen(page.locator(".deadbar")));
});

test("quiet until the morning: two actions; who changed it: one; and it is undone", { skip }, async (t) => {
  const d = new Daemon();
  t.after(() => d.remove());
  await d.start("sim:gpus=1,scenario=overheat,start=300", ["--store", `sqlite:${d.folder}/past.db`]);
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "control"))[0];
  const reader = await visit(t, d.url);
  await reader.locator("#answer .do").getByText("whirr quiet --gpu 0").waitFor();
  assert.equal(await reader.getByRole("button", { name: /^Do it until/ }).count(), 0, "others see the command");
  const page = await visit(t, `${d.url}/login`);
  await page.getByLabel("Sign in with a token").fill(token);
  await page.keyboard.press("Enter");
  const press = page.getByRole("button", { name: /^Do it until/ });
  await press.waitFor();
  const changes = async () => (await ask(d, "/api/undo")).changes;
  await press.click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await press.waitFor();
  const me = hand(page);
  me.actions++;
  await page.getByLabel("Until when").selectOption("08:00");
  assert.match(await press.innerText(), /08:00$/);
  assert.deepEqual(await changes(), [], "what was canceled is not done");
  await me.click(press);
  await eventually(async () => (await changes()).length);
  assert.equal(me.actions, 2);
  const end = new Date(Date.parse((await changes())[0].until) + 30e3);
  assert.deepEqual([end.getHours(), end.getMinutes()], [8, 0], "until that time");
  await page
    .locator(".measured")
    .getByText(/\d+ W → \d+ W/)
    .waitFor();
  const who = hand(page);
  await who.click(page.getByRole("button", { name: "1 changed" }));
  const list = page.getByRole("dialog", { name: "What is changed" });
  await list.getByText(/power limit \d+ W/).waitFor();
  await list.getByText("was 450 W").waitFor();
  assert.equal(who.actions, 1);
  await list.getByRole("button", { name: /^Undo/ }).click();
  await eventually(async () => !(await changes()).length);
  await list.getByText("Nothing is changed.").waitFor();
  await page.keyboard.press("Escape");
  await page.reload();
  await page.getByRole("list", { name: "Who changed what" }).getByText("laptop took a change back").waitFor();
});

test(
  "a moment at which nothing was recorded claims nothing, and offers the nearest samples",
  { skip: stored },
  async (t) => {
    const end = Math.floor(Date.now() / 1000) - 7200;
    const d = await withPast(t, "sim:gpus=2,scenario=idle", ["60", "gpus=2,scenario=overheat", "20"], {
      MAKE_HISTORY_END: String(end),
    });
    const page = await visit(t, `${d.url}/?at=-1h`);
    await page.locator("#answer .sentence").getByText("Nothing was recorded at").waitFor();
    assert.equal(await page.locator(".tile").count(), 0);
    assert.match(await page.locator(".verdict").innerText(), /not recorded/);
    assert.deepEqual(await page.locator(".verdict .count").count(), 0);
    await page.getByRole("button", { name: /^Last sample before/ }).click();
    await page.locator("#answer .sentence").getByText("was thermal throttling").waitFor();
    assert.equal(await page.locator(".tile").count(), 2);
  },
);

test("why was it slow: the timeline has what limited each program", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=4,scenario=idle", ["60", "scenario=night,start=16200", "20"], {
    MAKE_HISTORY_JUDGED: "1",
  });
  const page = await visit(t, d.url),
    me = hand(page);
  await me.click(page.locator("#timeline").getByRole("button", { name: "Slow" }));
  const waits = page.locator("#lifelines .life.wait").first();
  await waits.waitFor();
  const { stretches } = await ask(d, "/api/history/limits?since=-1d"),
    wait = stretches.filter((s) => s.side === "host" || s.side === "others" || s.code === "no_requests");
  assert.ok(wait.some((s) => s.side !== "none"));
  const title = await waits.getAttribute("title");
  assert.ok(
    stretches.some((s) => title.endsWith(`: ${s.doing}`)),
    title,
  );
  await waits.click(); // goes there
  await page.waitForFunction(() => /[?&]at=/.test(location.search));
  assert.equal(me.actions, 1);
});

test("log in at the button that needs it, and log out", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1");
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop", "--role", "admin"))[0];
  const page = await visit(t, d.url),
    findings = page.locator("#findings"),
    silence = findings.getByRole("button", { name: /^Silence \d/ }).first();
  await findings.getByText("A button asks for a token first.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Log out" }).count(), 0);
  await silence.click();
  await findings.getByLabel("This needs a token").fill(token);
  await page.keyboard.press("Enter");
  await findings.getByText("Silenced until").waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await findings.getByText("Silenced until").waitFor();
  await page.getByRole("button", { name: /^End silence/ }).click();
  await findings.getByLabel("This needs a token").waitFor();
  assert.equal(await page.getByRole("button", { name: "Log out" }).count(), 0);
});

test("compare with a time that is typed, and a section: a reload shows the same", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=2,scenario=training", ["180", "gpus=2,scenario=training", "20"]);
  const page = await visit(t, `${d.url}/?span=1h`, { timezoneId: "UTC" });
  await page.getByLabel("Compare with").selectOption("type");
  await page.getByLabel("Compare with the time from").fill("2h ago");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /compare=at:2/.test(location.search));
  await page.locator(".tabs").getByRole("link", { name: "Timeline" }).click();
  const seen = () =>
    page.evaluate(() => ({
      search: location.search,
      hash: location.hash,
      tab: document.querySelector(".tabs [aria-current]")?.textContent,
      on: document.querySelector("#timeline")?.getBoundingClientRect().top < innerHeight / 2,
      compare: document.querySelector("select[aria-label='Compare with']")?.value,
    }));
  await eventually(async () => (await seen()).on && (await seen()).tab === "Timeline");
  const before = await seen();
  assert.equal(before.hash, "#timeline");
  assert.match(before.compare, /^at:2/);
  await page.reload();
  await eventually(async () => JSON.stringify(await seen()) === JSON.stringify(before));
  await eventually(async () => {
    await page.mouse.wheel(0, -9000); // a hand moves the page: the address follows
    return (await seen()).hash === "";
  });
});

test("on a phone the page is short: sections open when they are wanted", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=4,scenario=mixed", ["60", "gpus=4,scenario=mixed", "30"]);
  const page = await visit(t, d.url, { viewport: { width: 390, height: 844 } });
  await page.locator("#settings").waitFor();
  await page.locator("#charts canvas").first().waitFor();
  assert.equal(await page.locator("#charts figure").count(), 2);
  const height = await page.evaluate(() => document.scrollingElement.scrollHeight);
  assert.ok(height < 2700, `${height} px`);
  assert.equal(await page.locator("#energy table").count(), 0);
  await page.locator(".tabs").getByRole("link", { name: "Energy" }).click();
  await page.locator("#energy tbody tr").first().waitFor();
  await page.getByRole("button", { name: "Power, VRAM, Fan, Clock" }).click();
  await eventually(async () => (await page.locator("#charts figure").count()) > 2);
});

test("on a phone no reading of the only GPU touches another", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=1,scenario=training");
  const page = await visit(t, d.url, { viewport: { width: 360, height: 740 } });
  await page.locator(".alone dd.dim", { hasText: "throttles at" }).waitFor();
  const touching = await page.locator(".alone dl > div").evaluateAll((parts) => {
    const boxes = parts.flatMap((part) => [...part.querySelectorAll("dt, dd")].filter((e) => e.textContent.trim()));
    const areas = boxes.map((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return { text: e.textContent, box: range.getBoundingClientRect() };
    });
    const near = (a, b) => a.left < b.right + 3 && b.left < a.right + 3 && a.top < b.bottom && b.top < a.bottom;
    return areas.flatMap((a, i) =>
      areas.slice(i + 1).flatMap((b) => (near(a.box, b.box) ? [`${a.text} | ${b.text}`] : [])),
    );
  });
  assert.deepEqual(touching, []);
});

test("a burst of events is asked about once", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=idle");
  const page = await visit(t, d.url, { before: fakeFeed });
  await page.waitForFunction(() => window.feed && document.querySelector("footer"));
  await page.waitForLoadState("networkidle");
  const asked = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname));
  await page.evaluate(() => {
    for (let i = 0; i < 64; i++) window.read(JSON.stringify({ type: "alert", data: { gpu_index: i } }));
  });
  await eventually(() => asked.includes("/api/alerts"));
  await page.waitForLoadState("networkidle");
  assert.equal(asked.filter((p) => p === "/api/alerts").length, 1, asked.join());
  assert.ok(!asked.includes("/api/notifiers") && !asked.includes("/api/guard"), asked.join());
});

test("hundreds of processes: twelve at first, and only those in view of all", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=1,scenario=idle");
  const page = await visit(t, "about:blank");
  await page.route("**/api/gpu/metrics", async (route) => {
    const reply = await route.fetch().catch(() => null);
    if (!reply) return route.abort(); // the daemon ends before the page does
    const body = await reply.json();
    body.gpus[0].processes = Array.from({ length: 400 }, (_, i) => ({
      pid: 1000 + i,
      name: `job${i}`,
      short_name: `job${i}.py`,
      command: "",
      user: "alice",
      memory_mb: 5000 - i,
      utilization_percent: 0,
      container: null,
    }));
    await route.fulfill({ response: reply, json: body });
  });
  await page.goto(d.url);
  const rows = page.locator("#processes tbody tr:not([aria-hidden])");
  await page.getByRole("button", { name: "Show all 400" }).waitFor();
  assert.equal(await rows.count(), 12);
  await page.getByRole("button", { name: "Show all 400" }).click();
  await eventually(async () => (await rows.count()) > 12);
  assert.ok((await rows.count()) < 80);
  await page.locator("#timeline, footer").last().scrollIntoViewIfNeeded();
  await page.locator("#processes").getByText("job399.py").waitFor();
  assert.ok((await rows.count()) < 80);
});

for (const [locale, timezoneId] of [
  ["de-DE", "Europe/Berlin"],
  ["zh-CN", "Asia/Shanghai"],
])
  test(`the same words and numbers in ${locale}`, { skip: stored }, async (t) => {
    const d = await withPast(t, "sim:gpus=2,scenario=overheat,start=600", ["30", "gpus=2,scenario=overheat", "20"]);
    const page = await visit(t, `${d.url}/?at=-10m`, { locale, timezoneId });
    await page.locator("#answer .sentence").getByText("was thermal throttling").waitFor();
    assert.match(await page.locator(".pastbar").innerText(), /You are looking at \w+day, \w{3} \d+, \d\d:\d\d:\d\d/);
    assert.match(await page.locator(".tile").first().innerText(), /\d+ °C[\s\S]*\d+\/450 W[\s\S]*\d+\.\d\/24\.0 GiB/);
    assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= SIZE.width);
  });

test("200% zoom, forced colors and a button for dark", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=4,scenario=mixed,fault=lost@1");
  const page = await visit(t, d.url, {
    viewport: { width: 720, height: 450 },
    deviceScaleFactor: 2,
    forcedColors: "active",
    bypassCSP: true,
  });
  await page.locator("#charts canvas").first().waitFor();
  assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= 720, "scrolls sideways");
  const [bar, track, on, off] = await page.evaluate(() => {
    const color = (what, of) => getComputedStyle(document.querySelector(what))[of];
    return [
      color(".readings .fill", "backgroundColor"),
      color(".readings .track", "backgroundColor"),
      color(".seg button[aria-pressed=true]", "outlineStyle"),
      color(".seg button[aria-pressed=false]", "outlineStyle"),
    ];
  });
  assert.notEqual(bar, track, "a bar is seen");
  assert.notEqual(on, off, "what is chosen is seen");
  assert.deepEqual(await violations(page), []);
  await page.emulateMedia({ forcedColors: "none" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole("button", { name: "Dark colors" }).click();
  assert.notEqual(await paper(), light);
  await page.reload();
  await page.locator("#answer .sentence").waitFor();
  assert.notEqual(await paper(), light, "it stays so");
});
