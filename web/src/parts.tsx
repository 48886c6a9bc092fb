// SPDX-License-Identifier: Apache-2.0
// Small parts that are used everywhere.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { absence, DASH } from "./format";
import type { Level } from "./level";
import type { Num } from "./types";

const SHAPES: Record<Level, string> = {
  bad: "M8 1.500 15 14.500H1Z",
  warn: "M8 .5 15.500 8 8 15.500.5 8Z",
  note: "M2.500 2.500h11v11h-11Z",
  good: "M8 2a6 6 0 1 0 .01 0Z",
  idle: "M8 2.500a5.500 5.500 0 1 0 .01 0Z",
  silent: "M3 3l10 10M13 3 3 13",
};
const NAMES: Record<Level, string> = {
  bad: "Act now",
  warn: "Look soon",
  note: "Worth knowing",
  good: "Fine",
  idle: "Idle",
  silent: "Silent",
};

/** A mark by shape and by color: either is enough. */
export function Mark({ level, label }: { level: Level; label?: string }) {
  const name = label ?? NAMES[level];
  return (
    <svg class={`mark ${level}`} viewBox="0 0 16 16" role="img" aria-label={name}>
      <path d={SHAPES[level]} />
    </svg>
  );
}

const ICONS = {
  clock: "M8 1.500a6.500 6.500 0 1 0 .01 0ZM8 4.500V8l2.500 1.500",
  theme: "M8 1.500a6.500 6.500 0 1 0 .01 0ZM8 1.500v13a6.500 6.500 0 0 0 0-13Z",
  expand: "M10 2h4v4M14 2l-5 5M6 14H2v-4M2 14l5-5",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  copy: "M5.500 5.500h8v8h-8ZM10.500 5V2.500h-8v8H5",
  search: "M7 2.500a4.500 4.500 0 1 0 .01 0ZM10.500 10.500 14 14",
  fan: "M8 8C5 5 6 1.500 9 2s2 4-1 6ZM8 8c3-3 6.500-2 6 1s-4 2-6-1ZM8 8c3 3 2 6.500-1 6s-2-4 1-6ZM8 8c-3 3-6.500 2-6-1s4-2 6 1Z",
  open: "M4 6l4 4 4-4",
} as const;

export function Icon({ name }: { name: keyof typeof ICONS }) {
  return (
    <svg class={`i ${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

/* Called, not mounted: there are hundreds of them, and a component each would cost as much as what it draws. */

/** A value, or "–" with the reason on hover and focus. */
export function value(of: Num, text: string, reason?: string) {
  if (of != null) return <span class="num">{text}</span>;
  const why = absence(reason);
  return (
    <span class="absent" tabIndex={0} role="note" title={why} aria-label={`no value: ${why}`}>
      {DASH}
    </span>
  );
}

const share = (value: number, limit: number) => Math.max(0, Math.min(100, (100 * value) / limit));

/** A bar; `mark`: its limit, `usual`: where it usually is, `soon`: where it will be. */
export function Bar({
  value,
  limit,
  level,
  label,
  mark,
  usual,
  soon,
}: {
  value: Num;
  limit: Num;
  level?: Level;
  label: string;
  mark?: Num;
  usual?: Num;
  soon?: number | null;
}) {
  if (value == null || !limit) return <div class="bar none" />;
  const now = share(value, limit);
  return (
    <div
      class="bar"
      role="meter"
      aria-label={label}
      title={usual != null || soon ? label : undefined}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(now)}
    >
      <div class="track">
        {soon != null && soon > value && (
          <div class="soon" style={{ left: `${now}%`, width: `${share(soon, limit) - now}%` }} />
        )}
        <div class={`fill ${level ?? ""}`} style={{ width: `${now}%` }} />
      </div>
      {mark != null && <i class="limit" style={{ left: `${share(mark, limit)}%` }} />}
      {usual != null && <i class="usual" style={{ left: `${share(usual, limit)}%` }} />}
    </div>
  );
}

/** A command to paste, with a button that copies it. */
export function Command({ text }: { text: string }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      // not a secure page: select it instead
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      setDone(document.execCommand("copy") ? "Copied" : "Press Ctrl+C");
      field.remove();
    }
    setTimeout(() => setDone(""), 2000);
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="icon quiet" onClick={copy} aria-label={`Copy ${text}`} title="Copy">
        {done || <Icon name="copy" />}
      </button>
    </span>
  );
}

/** Something wide; the keyboard can scroll it, too. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

export function Section({
  id,
  title,
  note,
  children,
  side,
}: {
  id: string;
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
  side?: ComponentChildren;
}) {
  return (
    <section id={id} class="panel pad" aria-labelledby={`${id}-title`}>
      <div class="head">
        <h2 id={`${id}-title`}>{title}</h2>
        {note && <span class="dim note">{note}</span>}
        <span class="grow" />
        {side}
      </div>
      {children}
    </section>
  );
}

/** One of a few. */
export function Choice<T extends string>({
  label,
  of,
  value,
  choose,
}: {
  label: string;
  of: [T, string][];
  value: T;
  choose: (v: T) => void;
}) {
  return (
    <div class="seg" role="group" aria-label={label}>
      {of.map(([key, name]) => (
        <button key={key} type="button" aria-pressed={value === key} onClick={() => choose(key)}>
          {name}
        </button>
      ))}
    </div>
  );
}
