// SPDX-License-Identifier: Apache-2.0
// Light, dark, or like the system. The style sheet has the colors; code that draws on a canvas gets them here.
type Theme = "light" | "dark";
const changed = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");
let cache: Record<string, string> = {};
let probe: HTMLElement | null = null;

function chosen(): Theme | null {
  try {
    const t = localStorage.getItem("theme");
    return t === "light" || t === "dark" ? t : null;
  } catch {
    return null; // the browser stores nothing
  }
}

function turn(): void {
  const t = chosen();
  if (t) document.documentElement.dataset.theme = t;
  else delete document.documentElement.dataset.theme;
  cache = {};
  for (const f of changed) f();
}

export const isDark = () => (chosen() ?? (dark.matches ? "dark" : "light")) === "dark";

export function toggleTheme(): void {
  const next = isDark() ? "light" : "dark";
  try {
    if ((dark.matches ? "dark" : "light") === next) localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch {
    document.documentElement.dataset.theme = next;
  }
  turn();
}

/** A color of the style sheet in a form for the canvas. */
export function ink(name: string): string {
  if (cache[name]) return cache[name];
  if (!probe) {
    probe = document.createElement("i");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(--${name})`;
  return (cache[name] = getComputedStyle(probe).color);
}

export function onTheme(f: () => void): () => void {
  changed.add(f);
  return () => void changed.delete(f);
}

dark.addEventListener("change", turn);
matchMedia("(forced-colors: active)").addEventListener("change", turn);
turn();
