// SPDX-License-Identifier: Apache-2.0
// The page says what it knows, and says when it does not: dead links, late answers, times to come, other clocks, covered pages.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import net from "node:net";
import { after, before, test } from "node:test";
import { Daemon, daemon, eventually, maker, missing, openBrowser, patience, visit as visitWith } from "./support.mjs";

const skip = missing,
  stored = skip || (!existsSync(maker) && "make_history is not built"),
  PHONE = { viewport: { width: 360, height: 740 } };
let browser;
before(async () => {
  if (!skip) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
});
const visit = (t, url, options) => visitWith(browser, t, url, options);
const ask = async (d, path) => (await fetch(d.url + path)).json();

async function withPast(t, source, past, env) {
  const d = new Daemon(),
    store = `sqlite:${d.folder}/past.db`;
  t.after(() => d.remove());
  execFileSync(maker, [store, ...past], { timeout: patience, env: { ...process.env, ...env } });
  return d.start(source, ["--store", store], { WHIRR_STORE_HOST: "box" });
}

/** A network between browser and daemon that can go away without a word: what is open stays open, and nothing comes through. */
async function network(t, d) {
  const pairs = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(d.port, "127.0.0.1"),
      pair = { near, far };
    pairs.add(pair);
    for (const s of [near, far])
      s.on("error", () => undefined).on("close", () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    near.on("data", (x) => pair.cut || far.write(x));
    far.on("data", (x) => pair.cut || near.write(x));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => {
    for (const p of pairs) p.near.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut: () => {
      for (const p of pairs) p.cut = true;
    },
  };
}

for (const [name, options] of [
  ["light", {}],
  ["dark, on a phone", { ...PHONE, colorScheme: "dark" }],
])
  test(
    `a network that is gone without a word: the page looks dead, and lives again by itself (${name})`,
    { skip },
    async (t) => {
      const d = await daemon(t, "sim:gpus=2,scenario=training"),
        way = await network(t, d);
      const page = await visit(t, way.url, options);
      await page.locator("#state").getByText("live").waitFor();
      await page.locator("footer").waitFor();
      const look = () =>
        page.evaluate(() => ({
          dead: document.body.classList.contains("dead"),
          gray: getComputedStyle(document.querySelector(".main")).filter,
          pale: Number(getComputedStyle(document.querySelector(".main")).opacity),
          title: document.title,
          bar: document.querySelector(".deadbar")?.textContent ?? "",
        }));
      const alive = await look();
      assert.deepEqual([alive.dead, alive.gray, alive.pale, alive.bar], [false, "none", 1, ""]);
      way.cut(); // what is open now is never answered again, and never closed
      await page
        .locator(".deadbar")
        .getByText(/Everything below is from \d\d:\d\d:\d\d, \d+s ago\./)
        .waitFor();
      const dead = await look();
      assert.ok(dead.dead && /grayscale/.test(dead.gray) && dead.pale <= 0.6, JSON.stringify(dead));
      assert.match(dead.title, /^✕ (stale|no connection) · /);
      const bar = await page.locator(".deadbar").boundingBox();
      assert.ok(bar.y >= 0 && bar.y + bar.height <= 400 && bar.width >= 300, "it is seen at a glance");
      assert.equal(await page.locator(".tile").count(), 2, "what was known stays");
      await page.locator("#state").getByText("live").waitFor(); // new connections get through
      await eventually(async () => !(await look()).dead);
      assert.doesNotMatch((await look()).title, /✕/);
      const text = () => page.locator(".tile").first().innerText(),
        before = await text();
      await eventually(async () => (await text()) !== before);
    },
  );

test("a hidden tab is paused, and says so in its title", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1");
  const page = await visit(t, d.url);
  await page.waitForFunction(() => /^▲/.test(document.title));
  const turn = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await turn("hidden");
  await page.waitForFunction(() => /^✕ paused · /.test(document.title));
  await turn("visible");
  await page.waitForFunction(() => /^▲/.test(document.title));
});

test("memory that runs out has a name", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=vram-leak,start=850,speed=2");
  const page = await visit(t, "about:blank");
  await eventually(async () => (await ask(d, "/api/forecast")).gpus[0].memory.process);
  await page.goto(d.url);
  await page
    .locator(".tile .full")
    .getByText(/VRAM full in about .*: server\.py/)
    .waitFor();
});

test("what covers the page has a way out, above everything", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training");
  for (const options of [PHONE, {}]) {
    const page = await visit(t, d.url, { ...options, hasTouch: true });
    for (const name of ["Utilization: fill the page", "Utilization: save"]) {
      const opener = page.getByRole("button", { name });
      const out = {
        button: () => page.getByRole("button", { name: "Close" }).tap(),
        escape: () => page.keyboard.press("Escape"),
        beside: () => page.touchscreen.tap(3, 3),
      };
      for (const way of Object.keys(out)) {
        await opener.focus();
        await opener.tap();
        const dialog = page.locator("dialog[open]");
        await dialog.waitFor();
        const { width, height } = page.viewportSize(),
          box = await dialog.boundingBox();
        assert.ok(
          box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height,
          "all of it is seen",
        );
        const close = page.getByRole("button", { name: "Close" }),
          at = await close.boundingBox();
        assert.ok(at.width >= 24 && at.height >= 24, "a finger finds it");
        assert.ok(
          await close.evaluate((e) => {
            const r = e.getBoundingClientRect();
            return e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
          }),
          "nothing lies on it",
        );
        await out[way]();
        await eventually(async () => (await page.locator("dialog").count()) === 0);
        assert.ok(await opener.evaluate((e) => e === document.activeElement), `${way}: the focus is back`);
      }
    }
  }
});

test("nothing that an address leads to lies under the header", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=2,scenario=training", ["30", "gpus=2,scenario=training", "10"]);
  for (const [query, options] of [
    ["", {}],
    ["?at=-10m", PHONE],
  ]) {
    const page = await visit(t, `${d.url}/${query}#processes`, options);
    await eventually(async () =>
      page.evaluate(() => {
        const top = document.querySelector("#processes")?.getBoundingClientRect().top,
          head = document.querySelector(".topbar").getBoundingClientRect().bottom;
        const end = scrollY + innerHeight >= document.scrollingElement.scrollHeight - 2;
        return top != null && top >= head && (end || top < head + 40);
      }),
    );
  }
});

test("what is still to come is refused, in the address, by hand and by key", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=2,scenario=training", ["30", "gpus=2,scenario=training", "10"]);
  for (const query of [
    "?at=2999-01-01T00:00:00Z",
    "?from=2999-01-01T00:00:00Z&to=2999-02-01T00:00:00Z",
    "?at=gestern",
    "?at=-99999999999999d",
    "?from=-1h&to=nope",
  ]) {
    const page = await visit(t, `${d.url}/${query}`);
    await page
      .locator(".notice")
      .getByText(/is still to come\. This is now\.|is not a time\. This is now\./)
      .waitFor();
    await page.locator(".tile").first().waitFor();
    assert.equal(new URL(page.url()).search, "", "a reload shows the same");
    await page.locator("#charts canvas").first().waitFor();
    assert.equal(
      await page
        .getByText("Loading…")
        .locator("visible=true")
        .filter({ hasText: /^Loading…$/ })
        .and(page.locator("#answer *"))
        .count(),
      0,
    );
    await page.getByRole("button", { name: "Close" }).click();
    assert.equal(await page.locator(".notice").count(), 0);
  }
  const page = await visit(t, `${d.url}/?from=-20m&to=2999-01-01T00:00:00Z`); // ends now
  await page.locator("#answer[aria-busy=false]").waitFor();
  await page.getByRole("button", { name: "Back to live" }).click();
  const field = page.getByLabel("Go to a moment");
  for (const [typed, words] of [
    ["2999-01-01 03:10", "2999-01-01 03:10 is still to come."],
    ["soon", "“soon” is not a time."],
  ]) {
    await field.fill(typed);
    await page.keyboard.press("Enter");
    await page.locator(".notice").getByText(words).waitFor();
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    assert.doesNotMatch(page.url(), /at=/);
  }
  await page.locator("body").click({ position: { x: 2, y: 500 } });
  await page.keyboard.press("Escape");
  await page.keyboard.press(".");
  await page.locator(".notice").getByText("There is nothing later than now.").waitFor();
  assert.doesNotMatch(page.url(), /at=/);
});

for (const hours of [-3, 3])
  test(`a browser whose clock is ${hours} hours off: times are the host's`, { skip: stored }, async (t) => {
    const d = await withPast(t, "sim:gpus=2,scenario=training", ["30", "gpus=2,scenario=training", "10"]);
    const page = await visit(t, `${d.url}/?at=-10m`, {
      timezoneId: "UTC",
      viewport: { width: 1700, height: 900 },
      before: `{ const real = Date, off = ${hours} * 3600e3; const now = () => real.now() + off;
        window.Date = class extends real { constructor(...a) { a.length ? super(...a) : super(now()); } static now() { return now(); } }; }`,
    });
    await page.locator("#answer[aria-busy=false] .sentence").getByText(/ was /).waitFor();
    await page
      .locator(".pastbar")
      .getByText(/, 10m( \d+s)? ago\./)
      .waitFor();
    await page
      .getByText(`This device's clock is 3h ${hours > 0 ? "ahead" : "behind"}. Times here are the host's.`)
      .waitFor();
    await page.getByLabel("Go to a moment").fill("5m ago");
    await page.keyboard.press("Enter");
    await page
      .locator(".pastbar")
      .getByText(/, (5m|5m \d+s|4m \d+s) ago\./)
      .waitFor();
    const at = Date.parse(new URL(page.url()).searchParams.get("at"));
    assert.ok(Math.abs(Date.now() - 300e3 - at) < 60e3, new Date(at).toISOString());
    await page.getByRole("button", { name: "Back to live" }).click();
    await page.locator("#state").getByText("live").waitFor();
    assert.ok(!(await page.evaluate(() => document.body.classList.contains("dead"))));
  });

test(
  "loading, failed and empty are different words, and nothing is claimed before the answer",
  { skip: stored },
  async (t) => {
    const d = await withPast(t, "sim:gpus=2,scenario=training,fault=lost@1", ["60", "gpus=2,scenario=training", "10"]);
    const page = await visit(t, "about:blank", { viewport: { width: 1440, height: 900 } });
    const waiting = [];
    let answer = (route) => waiting.push(route);
    const slow = /\/api\/(history|report|alerts|notifiers|guard|capacity)/;
    const drawn = () => page.evaluate(() => window.drawn.join("|"));
    await page.addInitScript(() => {
      window.drawn = [];
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
        window.drawn = [...window.drawn.slice(-300), text];
        return fillText.call(this, text, ...where);
      };
    });
    await page.route(slow, (route) => answer(route));
    await page.goto(d.url);
    const CLAIMS =
      /Not recorded|Not stored|No silences|No notifier|No workers under guard|notified|No processes were stored|No readings were stored/;
    for (const id of ["energy", "guard", "capacity", "findings", "timeline"])
      await page.locator(`#${id}`).getByText("Loading…").first().waitFor();
    await page.locator("#rail .hole").getByText("Loading…").waitFor();
    await eventually(async () => (await drawn()).includes("Loading…"));
    assert.doesNotMatch(await page.locator("body").innerText(), CLAIMS);
    assert.doesNotMatch(await drawn(), CLAIMS);
    // It fails: other words, and still no claim.
    answer = (route) =>
      route.fulfill({ status: 503, json: { error: { code: "busy", message: "The history is busy." } } });
    for (const route of waiting.splice(0)) await answer(route);
    for (const id of ["energy", "guard", "capacity", "findings", "timeline"])
      await page.locator(`#${id}`).getByText("The history is busy.").first().waitFor();
    await page.locator("#rail .hole").getByText("The history is busy.").waitFor();
    await eventually(async () => (await drawn()).includes("The history is busy."));
    assert.doesNotMatch(await page.locator("body").innerText(), CLAIMS);
    assert.doesNotMatch(await drawn(), CLAIMS);
    // It answers.
    await page.unroute(slow);
    await page.reload();
    await page.locator("#findings").getByText("No notifier is configured").waitFor();
    await page.locator("#findings").getByText("No silences.").waitFor();
    await page.locator("#guard").getByText("No workers under guard.").waitFor();
    assert.doesNotMatch(
      await page.locator("#findings").innerText(),
      /notified|notifies/,
      "nobody is notified of anything",
    );
    await eventually(async () => (await page.locator("#findings").getByText("Loading…").count()) === 0);
  },
);

test("a moment that can't be read says why, and never shows another one for it", { skip: stored }, async (t) => {
  const d = await withPast(t, "sim:gpus=2,scenario=idle", ["60", "gpus=2,scenario=overheat", "20"]);
  const page = await visit(t, `${d.url}/?at=-10m`);
  await page.locator("#answer .sentence").getByText("was thermal throttling").waitFor();
  await page.route(/\/api\/why\?at=/, (route) =>
    route.fulfill({ status: 503, json: { error: { code: "busy", message: "The history is busy." } } }),
  );
  await page.getByRole("button", { name: "1m back" }).click();
  await page.locator("#answer .sentence").getByText("The history is busy.").waitFor();
  assert.equal(await page.locator(".tile").count(), 0);
  const { samples_total: before } = (await ask(d, "/api/health")).gpu_monitoring;
  await eventually(async () => (await ask(d, "/api/health")).gpu_monitoring.samples_total > before + 3);
  assert.match(
    await page.locator("#answer .sentence").innerText(),
    /The history is busy/,
    "samples of now don't wipe it away",
  );
});

test("the login leads to the link that was asked for", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1", [], {
    WHIRR_SERVER_REQUIRE_TOKEN: "true",
  });
  const token = /\S{20,}/.exec(d.run("token", "new", "laptop"))[0];
  const page = await visit(t, `${d.url}/?gpu=1#findings`);
  const sign = async (text) => {
    await page.getByLabel("Sign in with a token").fill(text);
    await page.keyboard.press("Enter");
  };
  await sign("wrong");
  await page.getByText("That token isn't known here.").waitFor();
  await sign(token);
  await page.locator("#findings li").first().waitFor();
  const at = new URL(page.url());
  assert.equal(at.pathname + at.search + at.hash, "/?gpu=1#findings");
});

test("who may only read sees no button that would refuse", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,scenario=training,fault=lost@1");
  for (const [role, buttons] of [
    ["read", 0],
    ["silence", 1],
  ]) {
    const token = /\S{20,}/.exec(d.run("token", "new", `of-${role}`, "--role", role))[0];
    const page = await visit(t, `${d.url}/login`);
    await page.getByLabel("Sign in with a token").fill(token);
    await page.keyboard.press("Enter");
    const findings = page.locator("#findings"),
      silence = findings.getByRole("button", { name: /^Silence \d/ });
    await findings.getByText("No silences.").waitFor();
    await page.getByRole("button", { name: "Log out" }).waitFor();
    await findings.locator("li").first().waitFor();
    if (buttons) {
      await silence.first().waitFor();
      await findings.getByLabel("Silence until when").selectOption("2h");
      await findings
        .getByRole("button", { name: /^Silence 2h/ })
        .first()
        .click();
      await findings.getByText("Silenced until").waitFor();
    } else {
      await findings.getByText("To act, sign in with a token of the role silence.").waitFor();
      assert.equal(await silence.count(), 0);
    }
  }
});

test("processes that may not be seen are not said to be none", { skip }, async (t) => {
  const d = await daemon(t, "sim:gpus=2,fault=denied"),
    page = await visit(t, d.url);
  await page.getByText("Its processes can't be seen from here.").first().waitFor();
  await page.getByText("Processes can't be seen. whirr isn't allowed to read it.").waitFor();
  assert.equal(await page.getByText(/No process(es)?( is using it)?\./).count(), 0);
});

test("the lines below the answer do not repeat it", { skip }, async (t) => {
  const d = await daemon(t, "sim:scenario=fan-stopped,start=400"),
    page = await visit(t, d.url);
  await page.locator("#answer .because .evidence").first().waitFor();
  const said = await page.locator("#answer .told").innerText();
  assert.equal(said.match(/fan has stopped/g)?.length, 1, said);
  assert.match(said, /Evidence\s+very likely/);
});

test("header and answer name the same thing as the worst", { skip }, async (t) => {
  const said = async (source, words) => {
    const page = await visit(
      t,
      (await daemon(t, source, [], source === "drm" ? { WHIRR_ROOT: "/nonexistent" } : {})).url,
      {
        viewport: { width: 1600, height: 900 },
      },
    );
    for (const where of [".verdict .text", "#answer .sentence"]) await page.locator(where).getByText(words).waitFor();
    await eventually(
      async () =>
        (await page.locator(".verdict .text").innerText()) ===
        (await page.locator("#answer .sentence").innerText()).trim(),
    );
    return page;
  };
  await said("sim:scenario=reserved", "is reserved for alice, and finetune.py");
  const none = await said("drm", "No GPU was found on this host.");
  assert.doesNotMatch(await none.locator("header").innerText(), /Nothing unusual/i);
  const leaks = await said("sim:gpus=2,scenario=vram-leak,start=850,speed=2", "will run out of memory");
  const gpu = async (where) => /GPU \d/.exec(await leaks.locator(where).innerText())?.[0];
  await eventually(async () => {
    const [a, b] = [await gpu(".verdict .text"), await gpu("#answer .sentence")];
    return a && a === b;
  });
});
