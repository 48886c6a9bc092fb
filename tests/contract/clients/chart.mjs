// SPDX-License-Identifier: Apache-2.0
// Renders a Helm chart with the part of Go's templates that ours uses (there is no helm in Debian), and prints its objects as JSON. An
// action that it does not know is an error, so that the chart stays within what was checked.
//
//   node chart.mjs CHART VALUES [--yaml]     VALUES: JSON, merged over values.yaml as helm does; --yaml: for kubectl apply
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { parse, parseAllDocuments, stringify } from "yaml";

const [chart, given, form] = process.argv.slice(2);
const merge = (a, b) =>
  b && typeof b === "object" && !Array.isArray(b) && a && typeof a === "object"
    ? Object.fromEntries(
        [...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [k, k in b ? merge(a[k], b[k]) : a[k]]),
      )
    : b;
const values = merge(parse(readFileSync(join(chart, "values.yaml"), "utf8")), JSON.parse(given));
const about = parse(readFileSync(join(chart, "Chart.yaml"), "utf8"));
const root = {
  Values: values,
  Chart: { AppVersion: about.appVersion, Name: about.name, Version: about.version },
  Release: { Name: "whirr", Namespace: "monitoring", Service: "Helm" },
};

const ajv = new Ajv({ strict: false, allErrors: true });
const valid = ajv.compile(JSON.parse(readFileSync(join(chart, "values.schema.json"), "utf8")));
if (!valid(values)) {
  console.error("values: " + ajv.errorsText(valid.errors));
  process.exit(1);
}

const truth = (v) =>
  !(
    v === undefined ||
    v === null ||
    v === "" ||
    v === false ||
    v === 0 ||
    (Array.isArray(v) && !v.length) ||
    (typeof v === "object" && !Array.isArray(v) && !Object.keys(v).length)
  );
const templates = {};

function value(word) {
  if (/^".*"$/.test(word)) return JSON.parse(word);
  if (/^\d+$/.test(word)) return Number(word);
  if (word === ".") return root;
  if (!/^(\.\w+)+$/.test(word)) throw new Error("unknown in a template: " + word);
  let at = root;
  for (const key of word.slice(1).split(".")) {
    if (at === undefined || at === null || !(key in at)) throw new Error("no such value: " + word);
    at = at[key];
  }
  return at;
}

const functions = {
  sha256sum: (v) => createHash("sha256").update(String(v)).digest("hex"),
  quote: (v) => JSON.stringify(String(v)),
  default: (fallback, v) => (truth(v) ? v : fallback),
  nindent: (n, text) =>
    "\n" +
    String(text)
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => (line ? " ".repeat(n) + line : line))
      .join("\n"),
  toYaml: (v) => stringify(v).replace(/\n$/, ""),
  not: (v) => !truth(v),
  regexMatch: (pattern, text) => new RegExp(pattern).test(text),
  include: (name) => render(templates[name]),
};

function evaluate(text) {
  let last;
  text.split("|").forEach((stage, i) => {
    const words = stage.trim().match(/"[^"]*"|\S+/g);
    if (words[0] === ".Files.Get") last = readFileSync(join(chart, value(words[1])), "utf8");
    else if (words[0] in functions) last = functions[words[0]](...words.slice(1).map(value), ...(i ? [last] : []));
    else if (i || words.length !== 1) throw new Error("unknown in a template: " + stage);
    else last = value(words[0]);
  });
  return last;
}

// Text and actions; "{{-" and "-}}" take the white space beside them.
function split(text) {
  const parts = [];
  let trim = false;
  for (const piece of text.split(/(\{\{-?[\s\S]*?-?\}\})/)) {
    if (!piece.startsWith("{{")) parts.push({ text: trim ? piece.replace(/^\s+/, "") : piece });
    else {
      if (piece.startsWith("{{-") && parts.length) parts.at(-1).text = parts.at(-1).text?.replace(/\s+$/, "");
      parts.push({ action: piece.replace(/^\{\{-?\s*|\s*-?\}\}$/g, "") });
    }
    if (piece.startsWith("{{")) trim = piece.endsWith("-}}");
  }
  return parts;
}

function render(parts) {
  let out = "";
  const stack = [];
  const shown = () => stack.every((s) => s.on);
  parts.forEach((part, i) => {
    if (part.text !== undefined) out += shown() ? part.text : "";
    else if (part.action.startsWith("if "))
      stack.push(shown() ? { on: truth(evaluate(part.action.slice(3))) } : { on: false, dead: true });
    else if (part.action === "else") stack.at(-1).on = !stack.at(-1).dead && !stack.at(-1).on;
    else if (part.action.startsWith("define ")) {
      const end = parts.findIndex((p, k) => k > i && p.action === "end");
      templates[JSON.parse(part.action.slice(7))] = parts.slice(i + 1, end);
      stack.push({ on: false, dead: true });
    } else if (part.action === "end") stack.pop();
    else if (shown()) out += evaluate(part.action);
  });
  if (stack.length) throw new Error("an {{ if }} without its {{ end }}");
  return out;
}

const files = readdirSync(join(chart, "templates")).sort();
for (const name of files.filter((f) => f.endsWith(".tpl")))
  render(split(readFileSync(join(chart, "templates", name), "utf8")));
const objects = [];
for (const name of files.filter((f) => f.endsWith(".yaml")))
  for (const document of parseAllDocuments(render(split(readFileSync(join(chart, "templates", name), "utf8"))))) {
    if (document.errors.length) throw new Error(`${name}: ${document.errors[0].message}`);
    const object = document.toJS();
    if (object) objects.push(object);
  }
const head = `# The chart in whirr/ with ${given}, for kubectl apply. Made by tests/contract/clients/chart.mjs.
# Pod Security: hostPID, hostPath and capabilities need a namespace of the level "privileged":
#   kubectl label namespace monitoring pod-security.kubernetes.io/enforce=privileged
`;
console.log(
  form === "--yaml"
    ? head +
        objects
          .map((o) => "---\n" + stringify(o, { lineWidth: 0 }))
          .join("")
          .trimEnd()
    : JSON.stringify(objects),
);
