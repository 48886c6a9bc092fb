// SPDX-License-Identifier: Apache-2.0
// Bundles the dashboard: node build.mjs FOLDER/app.js. Beside it: app.css, below.js (what comes after the first paint), chunk.js (what both
// need), fleet.js (the page of all hosts), and app.d (what all was made of, for ninja).
import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import path from "node:path";

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const output = path.resolve(process.argv[2]);
const common = {
  absWorkingDir: here,
  outdir: path.dirname(output),
  bundle: true,
  minify: true,
  metafile: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
};
const made = [
  await build({ ...common, entryPoints: { app: "src/main.tsx" }, splitting: true, chunkNames: "[name]" }),
  await build({ ...common, entryPoints: { fleet: "src/fleet.tsx" } }),
];
const inputs = made
  .flatMap((m) => Object.keys(m.metafile.inputs))
  .map((name) => path.resolve(here, name).replaceAll(" ", "\\ "));
writeFileSync(output.replace(/\.js$/, ".d"), `${process.argv[2]}: ${inputs.join(" ")}\n`);
