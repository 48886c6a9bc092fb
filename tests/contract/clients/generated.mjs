// SPDX-License-Identifier: Apache-2.0
// A client that a generator made from the description, used as its reader would: node generated.mjs URL FOLDER
import path from "node:path";
import { generate } from "openapi-typescript-codegen";
import { build } from "esbuild";

const [url, folder] = process.argv.slice(2);
const spec = await (await fetch(url + "/openapi.json")).json();
await generate({ input: spec, output: folder, httpClient: "fetch", useOptions: true });
const bundle = path.join(folder, "client.mjs");
await build({
  entryPoints: [path.join(folder, "index.ts")],
  bundle: true,
  format: "esm",
  platform: "node",
  outfile: bundle,
  logLevel: "error",
});
const client = await import(bundle);
client.OpenAPI.BASE = url;
const say = (what, value) => console.log(JSON.stringify([what, value, 0]));
say("devices", await client.GpUsService.getDevices({}));
say("one", await client.GpUsService.getMetrics({ gpu: "1" }));
say("summary", await client.GpUsService.getSummary({}));
say("health", await client.ServiceService.getHealth());
say("why", await client.GpUsService.getWhy({}));
try {
  await client.GpUsService.getMetrics({ gpu: "99" });
} catch (error) {
  say("refused", [error.status, error.body]);
}
