#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// What the dashboard costs, against its limits: bench/dashboard.mjs BUILD/whirr. Skipped where Chromium or the packages of web/ are missing.
//   first paint   with data, on loopback, in a window at rest                250 ms
//   size          of all that the first load takes, until every panel that
//                 is not far below has its data, gzipped                     150 KiB
//   year          all charts of a year of 8 GPUs                             100 ms
//   64 GPUs       a sample, drawn                                            16.7 ms (a frame)
//   CPU           of all of Chromium at 1 Hz: 8 GPUs 5%, 64 GPUs 12% of a core; beside a page that does nothing but draw them with uPlot, and beside the page of
//                 Netdata: the one that is installed (NETDATA and NETDATA_WEB name its program and its pages elsewhere) or Debian's
//                 packages, unpacked for as long as it takes
// Times on a machine that is busy with something else say nothing: the load average is printed beside them.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { loadavg, tmpdir, userInfo } from "node:os";
import path from "node:path";

const root = path.resolve(path.dirname(new URL(import.meta.url).pathname), "..");
if (process.argv[2]) process.env.WHIRR_BIN = path.resolve(process.argv[2]);
let support, load;
try {
  support = await import(path.join(root, "tests/browser/support.mjs"));
  load = await import(path.join(root, "tests/browser/load.mjs"));
  if (support.missing) throw new Error(support.missing);
} catch (e) {
  console.log(`skipped: ${e.message.split("\n")[0]}`);
  process.exit(0);
}
const seconds = Number(process.env.BENCH_SECONDS ?? 30),
  samples = Number(process.env.BENCH_SAMPLES ?? 3000);
let failed = false;
const say = (name, value, unit, limit) => {
  const over = limit != null && value > limit;
  if (limit != null)
    console.log(["figure", `dashboard: ${name}`, Number(value.toPrecision(6)), unit, "at most", limit, ""].join("\t")); // tools/bench reads it
  failed ||= over;
  console.log(
    `${name.padEnd(44)}${value.toFixed(value < 100 ? 1 : 0).padStart(8)} ${unit}${limit == null ? "" : `   limit ${limit} ${unit}${over ? "   TOO MUCH" : ""}`}`,
  );
};
const middle = (list) => list[Math.floor(list.length / 2)];
const browser = await support.openBrowser();
const fresh = async (options) =>
  (await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })).newPage();

/** What all processes of the browser have taken so far. */
const cpuSeconds = async (cdp) =>
  (await cdp.send("SystemInfo.getProcessInfo")).processInfo.reduce((sum, p) => sum + p.cpuTime, 0);

/** Done when Chromium has nothing more to do: a new window keeps it busy for a while, with pages of its own even. */
async function rest() {
  const cdp = await browser.newBrowserCDPSession();
  for (let quiet = 0, before = await cpuSeconds(cdp), end = Date.now() + 30000; quiet < 3;) {
    await new Promise((done) => setTimeout(done, 100));
    const now = await cpuSeconds(cdp);
    quiet = now - before < 0.03 ? quiet + 1 : 0;
    before = now;
    if (Date.now() > end) throw new Error("Chromium doesn't come to rest");
  }
  await cdp.detach();
}

/** Opens it, and is done with its first paint; nothing in the page asks for that, which would keep it from painting. Milliseconds from the start of the navigation. */
async function paint(page, cdp, url) {
  await cdp.send("Page.enable");
  await cdp.send("Page.setLifecycleEventsEnabled", { enabled: true });
  const painted = new Promise((done) =>
    cdp.on("Page.lifecycleEvent", (e) => {
      if (e.name === "firstContentfulPaint") done();
    }),
  ); // a blank page has none
  await page.goto(url);
  await painted;
  return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
}

async function firstPaint(url) {
  const took = [];
  let bytes = 0;
  for (let i = 0; i < 9; i++) {
    const page = await fresh();
    await rest();
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Network.enable");
    // All that is asked for until everything on the page has its data; once, and without what comes with each sample, however many came meanwhile.
    const sizes = new Map(),
      under = new Map();
    cdp.on("Network.requestWillBeSent", (e) => {
      if (!/\/api\/(why|gpu\/metrics)$/.test(e.request.url)) under.set(e.requestId, e.request.url);
    });
    cdp.on("Network.loadingFinished", (e) => {
      if (under.has(e.requestId)) {
        sizes.set(under.get(e.requestId), Math.max(e.encodedDataLength, sizes.get(under.get(e.requestId)) ?? 0));
        under.delete(e.requestId);
      }
    });
    cdp.on("Network.loadingFailed", (e) => under.delete(e.requestId));
    took.push(await paint(page, cdp, url));
    await page.waitForFunction(
      (stored) =>
        document.querySelector(".tile") &&
        document.querySelector("footer") &&
        document.querySelector("#capacity li") &&
        (!stored ||
          (document.querySelector("#energy table") &&
            document.querySelector("#lifelines li") &&
            document.querySelector("#rail .load")?.getAttribute("d"))),
      made,
    );
    while (under.size) await page.waitForTimeout(20);
    bytes = Math.max(
      bytes,
      [...sizes.values()].reduce((sum, n) => sum + n, 0),
    );
    await page.context().close();
  }
  took.sort((a, b) => a - b);
  say("first paint with data, 8 GPUs, best of 9", took[0], "ms", 250);
  say("first paint with data, 8 GPUs, median", middle(took), "ms");
  say("first load", bytes / 1024, "KiB", 150);
}

/** The CPU of all processes of the browser in the meantime, in percent of a core. */
async function cpu(page, wait) {
  const cdp = await browser.newBrowserCDPSession();
  await page.waitForTimeout(3000); // it has settled
  const before = await cpuSeconds(cdp);
  await page.waitForTimeout(wait * 1000);
  const spent = (await cpuSeconds(cdp)) - before;
  await cdp.detach();
  return (100 * spent) / wait;
}

const BARE =
  () => `<!doctype html><title>bare</title><style>${readFileSync(createRequire(path.join(root, "web/package.json")).resolve("uplot/dist/uPlot.min.css"))}</style><div id=a></div>
<script>${readFileSync(path.join(root, "web/node_modules/uplot/dist/uPlot.iife.min.js"))}
const data = Array.from({ length: 9 }, () => []);
const u = new uPlot({ width: 1200, height: 400, series: [{}, ...Array.from({ length: 8 }, (_, i) => ({ label: "GPU " + i, stroke: "hsl(" + i * 45 + " 70% 45%)" }))] }, data, document.getElementById("a"));
new WebSocket("ws://" + location.host + "/ws?events=gpu_status_update").onmessage = (m) => {
  const d = JSON.parse(m.data);
  if (d.type !== "gpu_status_update") return;
  data[0].push(Date.parse(d.data.timestamp) / 1000);
  d.data.gpus.forEach((g, i) => data[i + 1].push(g.utilization_percent));
  if (data[0].length > 60) data.forEach((c) => c.shift());
  u.setData(data);
};</script>`;

/** Where Netdata is: installed, or Debian's packages unpacked into a folder. Nothing is installed, no service is started. */
function findNetdata(folder) {
  const at = (root) => ({
    program: `${root}/usr/sbin/netdata`,
    web: `${root}/usr/share/netdata/web`,
    stock: `${root}/usr/lib/netdata/conf.d`,
    plugins: `${root}/usr/lib/netdata/plugins.d`,
  });
  const there = (f) => existsSync(f.program) && existsSync(f.web);
  const installed = {
    ...at(""),
    ...(process.env.NETDATA && { program: process.env.NETDATA }),
    ...(process.env.NETDATA_WEB && { web: process.env.NETDATA_WEB }),
  };
  if (there(installed)) return installed;
  const run = (...argv) => execFileSync(argv[0], argv.slice(1), { cwd: folder, stdio: "ignore", timeout: 60000 });
  try {
    run("apt-get", "download", "-qq", "netdata-core", "netdata-web");
    for (const file of readdirSync(folder).filter((f) => f.endsWith(".deb"))) run("dpkg", "-x", file, "netdata");
  } catch {
    /* no Debian, or no way to its packages */
  }
  const unpacked = at(path.join(folder, "netdata"));
  if (!there(unpacked))
    throw new Error("not installed, and Debian's packages netdata-core and netdata-web can't be downloaded");
  return unpacked;
}

const WINDOW = 60; // seconds on Netdata's charts: it asks for new points every second only where it has one for each

/** The CPU that Netdata's page takes, on a daemon and in folders of our own. It shows the whole host, with some two hundred charts. */
async function netdata() {
  const folder = mkdtempSync(path.join(tmpdir(), "whirr-netdata-"));
  let daemon, page;
  try {
    const { program, web, stock, plugins } = findNetdata(folder),
      port = await freePort();
    const own = (name) => {
      mkdirSync(path.join(folder, name));
      return path.join(folder, name);
    };
    const off = (...names) => names.map((name) => `${name} = no\n`).join("");
    writeFileSync(
      path.join(folder, "netdata.conf"),
      `[directories]\nweb = ${web}\nstock config = ${stock}\nplugins = ${plugins}\ncache = ${own("cache")}\nlib = ${own("lib")}\nlog = ${own("log")}\nhome = ${folder}\nconfig = ${folder}
[global]\nrun as user = ${userInfo().username}\n[db]\nmode = ram\n[plugins]\n${off("go.d", "python.d", "charts.d", "node.d", "apps", "ebpf", "cgroups", "fping", "ioping", "perf", "slabinfo", "nfacct", "tc", "statsd")}
[web]\nbind to = 127.0.0.1:${port}\nweb files owner = root\nweb files group = root\n[registry]\nenabled = no\n[cloud]\nenabled = no\n[ml]\nenabled = no\n[health]\nenabled = no\n`,
    );
    daemon = spawn(program, ["-D", "-c", path.join(folder, "netdata.conf")], {
      stdio: "ignore",
      detached: true,
      env: { ...process.env, DO_NOT_TRACK: "1" },
    });
    process.once("exit", () => stopGroup(daemon, "SIGKILL"));
    const chart = `http://127.0.0.1:${port}/api/v1/chart?chart=system.cpu`;
    for (const end = Date.now() + 2 * WINDOW * 1000; ;) {
      // it has collected as much as it shows
      const known = await fetch(chart, { signal: AbortSignal.timeout(5000) })
        .then((r) => r.json())
        .catch(() => null);
      if (known?.duration >= WINDOW) break;
      if (daemon.exitCode !== null) throw new Error(`netdata ended (${daemon.exitCode})`);
      if (Date.now() > end) throw new Error(known ? "netdata collects nothing" : "netdata does not answer");
      await new Promise((r) => setTimeout(r, 1000));
    }
    page = await fresh();
    await page.route(
      (url) => url.hostname !== "127.0.0.1",
      (route) => route.abort(),
    );
    let asked = 0;
    page.on("request", (r) => {
      if (r.url().includes("/api/v1/data?")) asked++;
    });
    await page.goto(`http://127.0.0.1:${port}/#;after=-${WINDOW};before=0`, { waitUntil: "commit", timeout: 30000 });
    await page.locator("canvas").first().waitFor({ timeout: 60000 });
    const used = await cpu(page, seconds);
    if (asked < seconds) throw new Error(`its page did not follow (${asked} questions in ${seconds} s)`);
    return used;
  } finally {
    await page?.context().close();
    if (daemon) await stop(daemon);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A daemon with what it started; what is over is over. */
function stopGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    /* gone */
  }
}

async function stop(child) {
  const over = new Promise((done) =>
    child.exitCode === null && child.signalCode === null ? child.once("exit", done) : done(),
  );
  stopGroup(child, "SIGTERM");
  const hurry = setTimeout(() => stopGroup(child, "SIGKILL"), 10000);
  await over;
  clearTimeout(hurry);
  stopGroup(child, "SIGKILL"); // its helpers
}

const freePort = () =>
  new Promise((done) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });

async function cost(url) {
  const page = await fresh({ bypassCSP: true });
  await page.goto("about:blank");
  const nothing = await cpu(page, seconds);
  await page.goto(`${url}/login`); // of this origin, so that the socket is
  await page.setContent(BARE());
  await page.waitForFunction(() => data[0].length > 1); // it does draw
  const bare = await cpu(page, seconds);
  await page.goto(url);
  await page.locator(".tile").first().waitFor();
  const ours = await cpu(page, seconds);
  await page.context().close();
  say("CPU of Chromium, an empty page", nothing, "% of a core");
  say("CPU of Chromium, a bare uPlot page", bare, "% of a core");
  say("CPU of Chromium, the dashboard, 8 GPUs", ours, "% of a core");
  // Percents are those of one machine and one browser, so the limit stands beside the page that only draws.
  say("CPU of Chromium, the dashboard, beside a bare uPlot page", ours / bare, "x", 3);
  const theirs = await netdata().catch((e) => e.message.split("\n")[0]);
  if (typeof theirs === "number") say("CPU of Chromium, Netdata's page", theirs, "% of a core");
  else console.log(`${"CPU of Chromium, Netdata's page".padEnd(44)}  absent: ${theirs}`);
}

/** Counts the CPU time of the thread that scripts, lays out and paints; what else runs on the machine is not in it. Milliseconds. */
async function threadTime(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const now = async () =>
    (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  const before = await now();
  return async () => (await now()) - before;
}

async function crowd() {
  const d = await new support.Daemon().start("sim:gpus=64,scenario=training", ["--interval", "1"]);
  const page = await fresh();
  await page.addInitScript(load.fakeFeed);
  await page.goto(d.url);
  await page.waitForFunction(
    () => document.querySelectorAll(".cell").length === 64 && document.querySelector("footer"),
  );
  const live = await fresh();
  await live.goto(d.url);
  await live.locator(".cell").first().waitFor();
  say("CPU of Chromium, the dashboard, 64 GPUs", await cpu(live, seconds), "% of a core", 12);
  await live.context().close();
  await load.feed(page, 200); // the scripts are compiled by then
  const used = await threadTime(page),
    took = await load.feed(page, 600); // one a second, as in life
  say("64 GPUs, a sample drawn, median", middle(took), "ms", 16.7);
  say("64 GPUs, a sample drawn, 99 of 100", took[Math.floor(took.length * 0.99)], "ms");
  say("64 GPUs, all that a sample costs the page", (await used()) / took.length, "ms of CPU");
  await load.feed(page, samples / 5, 3000 / samples);
  const early = await load.held(page);
  await load.feed(page, samples, 3000 / samples);
  const late = await load.held(page);
  say("64 GPUs, heap after 10 minutes", early.mib, "MiB");
  say("64 GPUs, heap after an hour", late.mib, "MiB", Math.round(early.mib + 3));
  await page.context().close();
  await d.remove();
}

const d = new support.Daemon(),
  store = `sqlite:${d.folder}/past.db`,
  made = existsSync(support.maker);
if (made) execFileSync(support.maker, [store, "60", "gpus=8,scenario=training", "5"], { timeout: 120000 }); // a last hour to draw
await d.start("sim:gpus=8,scenario=training", ["--interval", "1", "--store", made ? store : "none"], {
  WHIRR_STORE_HOST: "box",
});
console.log(`load average ${loadavg()[0].toFixed(1)}`);
await firstPaint(d.url);
await cost(d.url);
await d.remove();
const past = new support.Daemon();
await past.start("sim:gpus=8,scenario=training", ["--store", `sqlite:${past.folder}/past.db`]);
const drawn = await load.drawYear(await fresh(), past.url, 9);
say("a year of 8 GPUs, all charts, best of 9", drawn[0], "ms", 100);
say("a year of 8 GPUs, all charts, median", middle(drawn), "ms");
await past.remove();
await crowd();
await browser.close();
process.exit(failed ? 1 : 0);
