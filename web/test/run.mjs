// SPDX-License-Identifier: Apache-2.0
// Runs the unit tests: node run.mjs [options of node --test]. Node cannot read TypeScript of its own accord in the version of Debian.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const here = path.dirname(new URL(import.meta.url).pathname),
  folder = mkdtempSync(path.join(tmpdir(), "whirr-web-"));
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: names.map((name) => path.join(here, name)),
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  logLevel: "warning",
});
const tests = names.map((name) => path.join(folder, name.replace(/ts$/, "mjs")));
const done = spawnSync(process.execPath, ["--test", ...process.argv.slice(2), ...tests], { stdio: "inherit" });
rmSync(folder, { recursive: true });
process.exit(done.status ?? 1);
