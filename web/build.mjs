// SPDX-License-Identifier: Apache-2.0
// Bundles the dashboard: node build.mjs OUTPUT.js. OUTPUT.css and OUTPUT.d (what it was made of, for ninja) lie beside it.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import path from "node:path";

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const output = path.resolve(process.argv[2]);
const made = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx"],
  outfile: output,
  bundle: true,
  minify: true,
  metafile: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
const inputs = Object.keys(made.metafile.inputs).map((name) => path.resolve(here, name).replaceAll(" ", "\\ "));
writeFileSync(output.replace(/\.js$/, ".d"), `${process.argv[2]}: ${inputs.join(" ")}\n`);
