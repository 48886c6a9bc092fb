// SPDX-License-Identifier: Apache-2.0
// Shared by the headers of both pages: the name, findings by severity, light and dark.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { favicon } from "./favicon";
import type { Level } from "./level";
import { Icon, Mark } from "./parts";
import { isDark, toggleTheme } from "./theme";

export function Brand() {
  return (
    <h1>
      <img src="/icon.svg" alt="" width="22" height="22" /> <span>whirr</span>
    </h1>
  );
}

export function ThemeButton() {
  const [, redraw] = useState(0);
  const name = isDark() ? "Light colors" : "Dark colors";
  return (
    <button
      type="button"
      class="icon theme"
      aria-label={name}
      title={name}
      onClick={() => {
        toggleTheme();
        redraw((n) => n + 1);
      }}
    >
      <Icon name="theme" />
    </button>
  );
}

const SHAPES: Partial<Record<Level, string>> = { silent: "✕", bad: "▲", warn: "◆", note: "■" };
const NAMES: Partial<Record<Level, string>> = { silent: "silent", bad: "critical", warn: "warning", note: "notice" };

/** The number of findings per level, and the first one in a few words; also in the tab's title and icon. */
export function Verdict({
  numbers,
  level,
  text,
  host,
  quiet,
  lost = null,
}: {
  numbers: [Level, number][];
  level: Level; // without any
  text: ComponentChildren;
  host: string;
  quiet: boolean; // not current: leave the tab alone
  lost?: string | null; // why it is no longer current
}) {
  useEffect(() => {
    const marks = lost ? `✕ ${lost} ·` : quiet ? "" : numbers.map(([l, n]) => `${SHAPES[l]}${n}`).join(" ");
    document.title = `${marks ? `${marks} ` : ""}${host ? `${host} · ` : ""}whirr`;
    favicon(lost ? "silent" : quiet ? "idle" : (numbers[0]?.[0] ?? level));
  }, [host, quiet, lost, level, numbers.join()]);
  return (
    <a class="verdict" href="#answer" title={typeof text === "string" ? text : undefined}>
      {numbers.length ? (
        numbers.map(([l, n]) => (
          <span key={l} class="count">
            <Mark level={l} label={`${n} ${NAMES[l]}`} /> {n}
          </span>
        ))
      ) : (
        <Mark level={level} />
      )}
      {text && <span class="text">{text}</span>}
    </a>
  );
}
