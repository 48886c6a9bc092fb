// SPDX-License-Identifier: Apache-2.0
// Daemons on ports and in folders of the test's own, and Debian's Chromium.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.resolve(path.dirname(new URL(import.meta.url).pathname), "../..");
const web = createRequire(path.join(root, "web/package.json"));
const { chromium, firefox } = web("playwright-core");
const axe = web.resolve("axe-core/axe.min.js");
const whirr = process.env.WHIRR_BIN ?? path.join(root, "build/whirr");
export const maker = path.join(process.env.WHIRR_BUILD ?? path.join(root, "build"), "tests/fakes/history/make_history");
const program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const fakes = path.join(process.env.WHIRR_BUILD ?? path.join(root, "build"), "tests/fakes");
export const driver = {
  nvml: path.join(fakes, "nvml/libnvidia-ml-fake.so"),
  cuda: path.join(fakes, "cuda/libcuda-fake.so"),
};

/** Why these tests cannot run here; false when they can. */
export const missing = !program ? "no chromium (tools/deps test)" : !existsSync(whirr) ? "whirr is not built" : false;

export const patience = 90000; // milliseconds: a busy machine is slow, and nothing waits so long when all is well

// What Playwright turns off (`disabledFeatures` in it), as this argument replaces its own; and two pages behind the address line that Chromium loads in each
// new window, which takes a second of CPU.
const OFF = [
  "AutoDeElevate",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "BoundaryEventDispatchTracksNodeRemoval",
  "DestroyProfileOnBrowserClose",
  "DialMediaRouteProvider",
  "GlobalMediaControls",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "OptimizationHints",
  "PaintHolding",
  "RenderDocument",
  "ThirdPartyStoragePartitioning",
  "Translate",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
];

export function openBrowser() {
  return chromium.launch({
    timeout: patience,
    executablePath: program,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-dev-shm-usage",
      `--disable-features=${OFF.join()}`,
    ],
  });
}

const fox = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find(existsSync);
export const noFirefox = missing || (!fox && "no firefox (Debian: firefox-esr)");

/** Debian's Firefox as it is, over WebDriver BiDi. */
export function openFirefox() {
  return firefox.launch({ timeout: patience, channel: "moz-firefox", executablePath: fox });
}

export class Daemon {
  constructor() {
    this.folder = mkdtempSync(path.join(tmpdir(), "whirr-browser-"));
    // Below those that the kernel gives away: while it is stopped, nobody else is given it, not even a page that tries to reach it. And above the
    // last one that browsers refuse (10080).
    this.port = 11000 + Math.floor(Math.random() * 9000);
  }

  env(more = {}) {
    const at = {
      HOME: this.folder,
      XDG_RUNTIME_DIR: this.folder,
      XDG_STATE_HOME: this.folder,
      XDG_CONFIG_HOME: this.folder,
      XDG_DATA_HOME: this.folder,
    };
    const kept = Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^(WHIRR|GPU|XDG)_/.test(name) || /^WHIRR_(EXE|WINE_PREFIX)$/.test(name),
      ),
    );
    // Leaks are looked for elsewhere: here the search at the end of each helper would take longer than what is waited for.
    kept.ASAN_OPTIONS = `${process.env.ASAN_OPTIONS ?? ""}:detect_leaks=0`;
    return { ...kept, ...at, WHIRR_OWN_PIDS: "1", WHIRR_SERVER_SOCKET: path.join(this.folder, "whirr.sock"), ...more };
  }

  run(...args) {
    return execFileSync(whirr, args, { env: this.env(), encoding: "utf8", timeout: patience });
  }

  /** Started again, it listens where it did before. */
  async start(source, args = [], env = {}) {
    for (; ; this.port++) {
      try {
        return await this.startOnce(source, args, env);
      } catch (problem) {
        if (!/in use/.test(String(problem))) throw problem;
      }
    }
  }

  startOnce(source, args, env) {
    return new Promise((resolve, reject) => {
      let log = "";
      this.process = spawn(
        whirr,
        [
          "serve",
          "--listen",
          `127.0.0.1:${this.port}`,
          "--interval",
          "0.5",
          "--source",
          source,
          "--store",
          "none",
          ...args,
        ],
        { env: this.env(env), stdio: ["ignore", "ignore", "pipe"] },
      );
      this.process.stderr.on("data", (text) => {
        log += text;
        const found = /listening.*?127\.0\.0\.1:(\d+)/.exec(log);
        if (found) this.port = Number(found[1]);
        if (found && /source started|GPU features disabled|query failed/.test(log)) resolve(this);
      });
      this.process.on("close", (code) => reject(new Error(`whirr ended (${code}): ${log}`)));
    });
  }

  /** A GPU on a fake driver with a real process on it, and a guard for that. Needs start("nvml", [], env). */
  guarded(settings) {
    const worker = spawn("sleep", ["600"], { stdio: "ignore" }),
      cuda = path.join(this.folder, "cuda");
    mkdirSync(cuda);
    const gpu = "gpu NVIDIA H200\n  total 40000\n  temperature 50\n",
      holds = `  process ${worker.pid} compute 8000\n`;
    writeFileSync(path.join(cuda, "nvml.base"), gpu + holds);
    writeFileSync(path.join(this.folder, "nvml"), `${gpu}${holds}  used 8000\n`);
    writeFileSync(
      path.join(this.folder, "whirr.toml"),
      `[worker]\nprocess_check_interval_secs = 0.2\nminimum_pause = "0s"\n${settings}[guard.worker.llama]\nmethods = ["checkpoint"]\nmatch = { pid = ${worker.pid} }\n`,
    );
    const env = {
      WHIRR_NVML_LIBRARY: driver.nvml,
      WHIRR_CUDA_LIBRARY: driver.cuda,
      WHIRR_FAKE_CUDA: cuda,
      WHIRR_FAKE_NVML: path.join(this.folder, "nvml"),
      WHIRR_CONFIG: path.join(this.folder, "whirr.toml"),
    };
    return {
      env,
      worker,
      state: () => {
        try {
          return Number(readFileSync(path.join(cuda, `${worker.pid}.state`), "utf8"));
        } catch {
          return 0;
        }
      },
    };
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  stop() {
    return new Promise((resolve) => {
      if (!this.process || this.process.exitCode !== null) return resolve();
      this.process.removeAllListeners("close");
      this.process.on("close", resolve);
      this.process.kill();
    });
  }

  async remove() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const prometheus = ["/usr/bin/prometheus", "/usr/local/bin/prometheus"].find(existsSync);

/** A Prometheus that scrapes daemons, on a port and in a folder of its own. */
export class Prometheus {
  start() {
    this.folder = mkdtempSync(path.join(tmpdir(), "whirr-prometheus-"));
    writeFileSync(
      path.join(this.folder, "prometheus.yml"),
      `global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs: [{job_name: whirr, file_sd_configs: [{files: ["${this.folder}/targets.json"], refresh_interval: 1s}]}]\n`,
    );
    return new Promise((resolve, reject) => {
      let log = "";
      this.process = spawn(
        prometheus,
        [
          `--config.file=${this.folder}/prometheus.yml`,
          `--storage.tsdb.path=${this.folder}/data`,
          "--web.listen-address=127.0.0.1:0",
        ],
        { stdio: ["ignore", "ignore", "pipe"] },
      );
      this.process.stderr.on("data", (text) => {
        log += text;
        const found = /msg="Listening on".*?address=127\.0\.0\.1:([1-9]\d*)/.exec(log);
        if (!found || !/Server is ready/.test(log)) return;
        this.url = `http://127.0.0.1:${found[1]}`;
        resolve(this);
      });
      this.process.on("error", reject);
      this.process.on("exit", (code) => reject(new Error(`prometheus ended (${code}): ${log}`)));
    });
  }

  /** From now on these daemons, each by a name of its own: on one machine they all have the machine's. */
  scrape(daemons) {
    const targets = Object.entries(daemons).map(([host, d]) => ({
      targets: [`127.0.0.1:${d.port}`],
      labels: { host, instance: host },
    }));
    writeFileSync(path.join(this.folder, "targets.new"), JSON.stringify(targets));
    renameSync(path.join(this.folder, "targets.new"), path.join(this.folder, "targets.json"));
  }

  /** The number that a question has for an answer; 0 where there is none. */
  async count(question) {
    const { data } = await (
      await fetch(`${this.url}/api/v1/query?query=${encodeURIComponent(`count(${question})`)}`)
    ).json();
    return Number(data.result[0]?.value[1] ?? 0);
  }

  async remove() {
    this.process.removeAllListeners("exit");
    const over = new Promise((done) =>
      this.process.exitCode === null && this.process.signalCode === null ? this.process.once("exit", done) : done(),
    );
    this.process.kill();
    await over;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** In the page, before its script: whatever is shown that no person would write, at any time, in text, attributes, title or charts. */
function watchWords() {
  if (location.pathname.startsWith("/docs")) return; // the API in words of programs
  // A path (/dev/null) and an option (--null) are words of programs.
  const wrong = /\[object|(?<![\w/.=-])(undefined|NaN|null)(?![\w-])/,
    told = new Set();
  const look = (text, where) => {
    if (!wrong.test(text) || told.has(where)) return;
    told.add(where);
    console.error(`nobody writes this: "${text.slice(0, 200)}" in ${where}`);
  };
  const name = (e) => `${e?.tagName?.toLowerCase()}.${e?.getAttribute?.("class")}`,
    skipped = (e) => !!e?.closest?.("script, style, code, #swagger-ui");
  const node = (n) => {
    if (n.nodeType === Node.TEXT_NODE) return skipped(n.parentElement) || look(n.data, name(n.parentElement));
    if (n.nodeType !== Node.ELEMENT_NODE || skipped(n)) return;
    for (const a of n.attributes) look(a.value, `${a.name} of ${name(n)}`);
    for (const child of n.childNodes) node(child);
  };
  new MutationObserver((list) => {
    for (const m of list)
      if (m.type === "attributes")
        skipped(m.target) ||
          look(m.target.getAttribute(m.attributeName) ?? "", `${m.attributeName} of ${name(m.target)}`);
      else if (m.type === "characterData") node(m.target);
      else m.addedNodes.forEach(node);
  }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    look(`${text} ${where.slice(0, 2)}`, "a canvas");
    return fillText.call(this, text, ...where);
  };
}

/** A page of a browser without a past; whatever goes wrong in it fails the test. */
export async function visit(browser, t, url, { before: script, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.problems = [];
  page.on("pageerror", (e) => {
    // What Firefox says of a daemon that ends before its page does.
    if (!/^Firefox can.t establish a connection/.test(String(e.message))) page.problems.push(e.stack || String(e));
  });
  page.on("console", (m) => {
    if (/Content Security Policy|TypeError|nobody writes this/.test(m.text())) page.problems.push(m.text());
  });
  page.on("request", (r) => {
    if (!/^(blob:|http:\/\/127\.0\.0\.1:)/.test(r.url())) page.problems.push(`asked elsewhere: ${r.url()}`);
  });
  t.after(async () => {
    // Nothing is ever drawn beside the window, whatever time it is of.
    const wide = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]).catch(() => [0, 0]);
    await page.unrouteAll({ behavior: "ignoreErrors" }); // an answer that is still being changed has nobody to go to
    await context.close();
    assert.deepEqual(page.problems, []);
    assert.ok(wide[0] <= wide[1], `the page is ${wide[0]} px wide in a window of ${wide[1]}`);
  });
  await page.addInitScript(watchWords);
  if (script) await page.addInitScript(script);
  await page.goto(url);
  return page;
}

export async function daemon(t, source, args, env) {
  const d = new Daemon();
  t.after(() => d.remove());
  return d.start(source, args, env);
}

export async function eventually(look) {
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((r) => setTimeout(r, 200))) {
    const found = await look();
    if (found) return found;
  }
  assert.fail("it did not happen");
}

/** What axe-core finds on a page, as text. */
export async function violations(page) {
  await page.addScriptTag({ path: axe });
  return page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map(
      (v) =>
        `${v.id}: ${v.nodes
          .slice(0, 3)
          .map((n) => `${n.html.slice(0, 200)} ${n.failureSummary}`)
          .join(" | ")}`,
    ),
  );
}
