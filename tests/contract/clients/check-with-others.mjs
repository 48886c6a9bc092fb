// SPDX-License-Identifier: Apache-2.0
// What other tools say of the description: swagger-parser and Redocly read it, openapi-typescript makes types of it, and TypeScript
// reads these. node check-with-others.mjs URL FOLDER
import fs from "node:fs";
import path from "node:path";
import SwaggerParser from "@apidevtools/swagger-parser";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [url, folder] = process.argv.slice(2);
const text = await (await fetch(url + "/openapi.json")).text();
const problems = [];

const api = await SwaggerParser.validate(JSON.parse(text)).catch((error) => {
  problems.push(["swagger-parser", error.message.slice(0, 1000)]);
});

// Messages of the WebSocket are components that no path refers to; /ws, /login and /logout answer with 101 and 303, and the path of
// Socket.IO ends in a slash.
const off = ["no-unused-components", "operation-2xx-response", "operation-4xx-response", "no-path-trailing-slash"];
const config = await createConfig({
  extends: ["recommended"],
  rules: Object.fromEntries(off.map((rule) => [rule, "off"])),
});
for (const found of await lintFromString({ source: text, absoluteRef: "openapi.json", config }))
  problems.push([
    "redocly",
    found.ruleId,
    found.severity,
    found.message,
    found.location.map((l) => l.pointer).join(" "),
  ]);

const file = path.join(folder, "api.d.ts");
fs.writeFileSync(file, astToString(await openapiTS(JSON.parse(text))));
const program = ts.createProgram([file], { noEmit: true, strict: true, types: [], skipLibCheck: false });
for (const found of ts.getPreEmitDiagnostics(program))
  problems.push(["openapi-typescript", ts.flattenDiagnosticMessageText(found.messageText, "\n")]);

console.log(
  JSON.stringify([
    "checked",
    { paths: Object.keys(api?.paths ?? {}).length, types: fs.readFileSync(file, "utf8").length, problems },
    0,
  ]),
);
