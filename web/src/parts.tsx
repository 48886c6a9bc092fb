// SPDX-License-Identifier: Apache-2.0
// Small parts that are used everywhere.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { absence, DASH } from "./format";
import type { Level } from "./model";
import type { Num } from "./types";

const SHAPES: Record<Level, string> = { bad: "▲", warn: "◆", good: "●", idle: "○" };
const NAMES: Record<Level, string> = { bad: "Act now", warn: "Look soon", good: "Fine", idle: "Idle" };

/** A mark by shape and by color: either is enough. */
export function Mark({ level, label }: { level: Level; label?: string }) {
  return (
    <span class={`mark ${level}`} role="img" aria-label={label ?? NAMES[level]} title={label ?? NAMES[level]}>
      {SHAPES[level]}
    </span>
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

/** `usual`: where it usually is; `soon`: where it will be. */
export function Bar({
  value,
  limit,
  level,
  label,
  usual,
  soon,
}: {
  value: Num;
  limit: Num;
  level?: Level;
  label: string;
  usual?: [number, number] | null;
  soon?: number | null;
}) {
  if (value == null || !limit) return <div class="bar none" />;
  const now = share(value, limit);
  return (
    <div
      class="bar"
      role="meter"
      aria-label={label}
      title={usual || soon ? label : undefined}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(now)}
    >
      {soon != null && soon > value && (
        <div class="soon" style={{ left: `${now}%`, width: `${share(soon, limit) - now}%` }} />
      )}
      <div class={`fill ${level ?? ""}`} style={{ width: `${now}%` }} />
      {usual && (
        <div
          class="usual"
          style={{
            left: `${share(usual[0], limit)}%`,
            width: `${Math.max(1, share(usual[1], limit) - share(usual[0], limit))}%`,
          }}
        />
      )}
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
      <button type="button" onClick={copy} aria-label={`Copy ${text}`}>
        {done || "Copy"}
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
  children,
  side,
}: {
  id: string;
  title: string;
  children: ComponentChildren;
  side?: ComponentChildren;
}) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <div class="head">
        <h2 id={`${id}-title`}>{title}</h2>
        {side}
      </div>
      {children}
    </section>
  );
}
