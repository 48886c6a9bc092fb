// SPDX-License-Identifier: Apache-2.0
// Whether the description is valid OpenAPI 3.1, its examples fit its schemas, and the daemon's real answers do, too.
// node check-openapi.mjs URL ANSWERS.json: answers are [{path, method, status, type, body}]; events [{name, data}].
import fs from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [url, answersFile] = process.argv.slice(2);
const spec = await (await fetch(url + "/openapi.json")).json();
const problems = [];

const validated = await new Validator().validate(structuredClone(spec));
if (!validated.valid) problems.push(["not valid OpenAPI", validated.errors]);
if (!spec.openapi.startsWith("3.1")) problems.push(["not 3.1", spec.openapi]);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema({ $id: "spec", ...spec });
const resolve = (node) =>
  node?.$ref
    ? node.$ref
        .slice(2)
        .split("/")
        .reduce((at, key) => at[key.replace("~1", "/")], spec)
    : node;
const pointer = (parts) =>
  "spec#/" + parts.map((p) => encodeURIComponent(p.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
let checked = 0;
function check(where, parts, value) {
  checked++;
  const validate = ajv.compile({ $ref: pointer(parts) });
  if (!validate(value)) problems.push([where, validate.errors.slice(0, 5)]);
}

for (const [name, schema] of Object.entries(spec.components.schemas)) {
  ajv.compile({ $ref: pointer(["components", "schemas", name]) });
  for (const example of schema.examples ?? []) check(`example of ${name}`, ["components", "schemas", name], example);
}

// Every answer has an example: of its own, or of its schema.
for (const [path, methods] of Object.entries(spec.paths))
  for (const [method, operation] of Object.entries(methods))
    for (const [status, given] of Object.entries(operation.responses ?? {}))
      for (const [type, media] of Object.entries(resolve(given).content ?? {})) {
        if (!given.$ref && media.example !== undefined && media.schema)
          check(
            `example of ${method} ${path}`,
            ["paths", path, method, "responses", status, "content", type, "schema"],
            media.example,
          );
        const schema = resolve(media.schema);
        if (
          type === "application/json" &&
          status < 300 &&
          media.example === undefined &&
          !media.examples &&
          !schema?.examples
        )
          problems.push([`${method} ${path} ${status} has no example`]);
      }

const { answers, events } = JSON.parse(fs.readFileSync(answersFile));
for (const { path, method, status, type, body } of answers) {
  const operation = spec.paths[path]?.[method.toLowerCase()];
  if (!operation) {
    problems.push([`${method} ${path} is not described`]);
    continue;
  }
  const response = resolve(operation.responses[status]);
  if (!response) {
    problems.push([`${method} ${path}: ${status} is not described`]);
    continue;
  }
  const media = Object.entries(response.content ?? {}).find(([name]) => type?.startsWith(name));
  if (body !== null && !media) problems.push([`${method} ${path}: ${status} as ${type} is not described`]);
  if (media && type.startsWith("application/json") && media[1].schema)
    check(
      `${method} ${path} ${status}`,
      media[1].schema.$ref?.slice(2).split("/") ?? [
        "paths",
        path,
        method.toLowerCase(),
        "responses",
        String(status),
        "content",
        media[0],
        "schema",
      ],
      JSON.parse(body),
    );
}
const eventSchemas = Object.entries(spec.components.schemas).filter(
  ([name]) => name.startsWith("Event") && name !== "Event",
);
for (const { name, data } of events) {
  const found = eventSchemas.find(([, schema]) => schema.properties.type.const === name);
  if (found) check(`event ${name}`, ["components", "schemas", found[0]], { type: name, data });
  else problems.push([`event ${name} is not described`]);
}
console.log(JSON.stringify(["checked", { checked, paths: Object.keys(spec.paths), problems }, 0]));
