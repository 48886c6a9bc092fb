// SPDX-License-Identifier: Apache-2.0
// The page as one file: the answer, GPUs, charts and processes of the moment or range on screen, as they look, without a script. It opens
// anywhere, and needs no host.
import { drawAll } from "./cursor";
import { now as hostNow } from "./clock";
import { clock, longClock, zone } from "./format";
import { current } from "./store";
import { isDark } from "./theme";

const MOST = 300 * 1024; // bytes
const TRIES: [scale: number, quality: number, rows: number][] = [
  [1, 0.85, 200],
  [1, 0.6, 60],
  [0.7, 0.5, 30],
  [0.5, 0.4, 12],
];
const SECTIONS = ["#answer", "#gpus", "#charts", "#processes", "#findings", "#timeline"];
const GONE =
  "button.icon, input, select, form, .controls, .choices, .seg, .selection, .nohistory, .acts, dialog, .skip, a.button";

/** The canvases of a chart as one image. */
function picture(figure: Element, scale: number, quality: number): string {
  const [base, over] = figure.querySelectorAll("canvas"),
    to = document.createElement("canvas"),
    wide = base!.clientWidth * scale,
    high = base!.clientHeight * scale;
  to.width = Math.max(1, Math.round(wide));
  to.height = Math.max(1, Math.round(high));
  const ctx = to.getContext("2d")!;
  ctx.fillStyle = getComputedStyle(figure).backgroundColor;
  ctx.fillRect(0, 0, to.width, to.height);
  for (const c of [base!, over!]) if (c.width && c.height) ctx.drawImage(c, 0, 0, to.width, to.height);
  return to.toDataURL("image/webp", quality);
}

/** A copy that can't be pressed. */
function still(element: Element, [scale, quality, rows]: (typeof TRIES)[number]): Element {
  const copy = element.cloneNode(true) as Element;
  const figures = [...element.querySelectorAll("figure.chart")];
  copy.querySelectorAll("figure.chart").forEach((figure, i) => {
    const plot = figure.querySelector(".plot")!,
      image = document.createElement("img"),
      from = figures[i]!.querySelector(".plot")!;
    image.src = picture(figures[i]!, scale, quality);
    image.alt = `${figure.querySelector("h3")?.textContent}: ${from.getAttribute("aria-valuetext") ?? ""}`;
    image.className = "shot";
    plot.replaceWith(image);
  });
  for (const e of copy.querySelectorAll(GONE)) e.remove();
  for (const e of copy.querySelectorAll("button, a, [tabindex]")) {
    const plain = document.createElement(e.tagName === "BUTTON" || e.tagName === "A" ? "span" : e.tagName);
    plain.className = `${e.getAttribute("class") ?? ""} still`;
    if (e.hasAttribute("style")) plain.style.cssText = e.getAttribute("style")!; // by hand: the page's policy forbids the attribute
    if (e.hasAttribute("title")) plain.title = e.getAttribute("title")!;
    plain.append(...e.childNodes);
    e.replaceWith(plain);
  }
  for (const e of copy.querySelectorAll("details")) e.open = true;
  for (const e of [...copy.querySelectorAll("tbody tr")].slice(rows)) e.remove();
  for (const e of [copy, ...copy.querySelectorAll("*")])
    for (const a of [...e.attributes])
      if (/^on|^id$|^for$|^aria-(controls|labelledby)$/.test(a.name)) e.removeAttribute(a.name);
  return copy;
}

const styles = async (): Promise<string> => {
  const sheets = [...document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]")];
  return (await Promise.all(sheets.map(async (l) => (await fetch(l.href)).text()))).join("\n");
};

const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function shown(): string {
  const { place, sampleAt } = current();
  if (place.at != null) return longClock(place.at);
  if (place.from != null) return `${clock(place.from)} to ${clock(place.to!)}`;
  return longClock(sampleAt ?? hostNow());
}

function page(how: (typeof TRIES)[number], css: string): string {
  const { host, gpus } = current(),
    title = `${host}, ${shown()} (${zone()})`,
    simulated = gpus?.some((g) => g.simulated) ? ' <span class="chip">simulated</span>' : "";
  const parts = SECTIONS.flatMap((s) => [...document.querySelectorAll(s)]).map((e) => still(e, how).outerHTML);
  return `<!doctype html>
<html lang="en" data-theme="${isDark() ? "dark" : "light"}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>${escaped(title)}</title>
<style>${css}
.shot { display: block; width: 100%; } .still { cursor: default; text-decoration: none; } .gputabs .still { flex: 1 0 10rem; padding: .55rem .9rem; }</style></head>
<body class="shared"><header class="topbar"><div class="row first"><h1>whirr</h1> <b class="host">${escaped(title)}</b>${simulated}</div></header>
<div class="page"><main class="main">${parts.join("\n")}</main></div>
<footer>Saved ${escaped(longClock(hostNow()))}. It does not change any more.</footer></body></html>
`;
}

/** Saves the page; the first try that is small enough. */
export async function savePage(): Promise<void> {
  drawAll(); // charts out of view, too
  await new Promise((drawn) => requestAnimationFrame(drawn));
  const css = await styles();
  let blob = new Blob();
  for (const how of TRIES) {
    blob = new Blob([page(how, css)], { type: "text/html" });
    if (blob.size <= MOST) break;
  }
  const { host, place, sampleAt } = current(),
    at = new Date(place.at ?? place.to ?? sampleAt ?? hostNow()).toISOString().slice(0, 16).replace(":", "");
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = `whirr-${host}-${at}.html`.replace(/[^\w.-]+/g, "-");
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
