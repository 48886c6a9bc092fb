// SPDX-License-Identifier: Apache-2.0
// Small parts that are used everywhere.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
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

/** A mark with its own shape and color: either suffices. */
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
  save: "M8 2v8M5 7.500l3 3 3-3M2.500 11v2.500h11V11",
  search: "M7 2.500a4.500 4.500 0 1 0 .01 0ZM10.500 10.500 14 14",
  fan: "M8 7.200C6 5.500 5.800 1.500 8.800 1.200 12 1 11.800 5 8.800 7.400ZM8.600 8.400c2.500-.9 6.100.9 4.900 3.700-1.300 2.900-4.700.8-5.300-3ZM7.400 8.400c-.4 2.700-3.700 5-5.500 2.600C.2 8.300 3.700 6.500 7.300 7.900Z",
  open: "M4 6l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  wait: "M4 2h8M4 14h8M5 2v2.500l3 3 3-3V2M5 14v-2.500l3-3 3 3V14",
  lock: "M3.500 7.500h9v6h-9ZM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500",
} as const;

export function Icon({ name, label }: { name: keyof typeof ICONS; label?: string }) {
  return (
    <svg
      class={`i ${name}`}
      viewBox="0 0 16 16"
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    >
      <path d={ICONS[name]} />
    </svg>
  );
}

/* Called, not mounted: there are hundreds, and a component each would cost as much as its content. */

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

/** A bar; `mark`: its limit, `usual`: its usual range, `soon`: its forecast. */
export function Bar({
  value,
  limit,
  level,
  label,
  mark,
  usual,
  soon,
  waits = false,
}: {
  value: Num;
  limit: Num;
  level?: Level;
  label: string;
  mark?: Num;
  usual?: Num;
  soon?: number | null;
  waits?: boolean;
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
        <div class={`fill ${level ?? ""} ${waits ? "waits" : ""}`} style={{ width: `${now}%` }} />
      </div>
      {mark != null && <i class="limit" style={{ left: `${share(mark, limit)}%` }} />}
      {usual != null && <i class="usual" style={{ left: `${share(usual, limit)}%` }} />}
    </div>
  );
}

/** A command to paste, with a copy button. */
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

/** A wide element that the keyboard can scroll, too. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

/** A modal dialog that keeps the focus inside. The button, Esc and a click beside it close it and return the focus. */
export function Dialog({
  label,
  kind,
  close,
  children,
}: {
  label: string;
  kind: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current!,
      before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={`panel ${kind}`}
      aria-label={label}
      onClose={close}
      onClick={(e) => e.target === box.current && close()}
    >
      <div class="inside">
        <button type="button" class="icon quiet close" aria-label="Close" title="Close (Esc)" onClick={close}>
          <Icon name="close" />
        </button>
        {children}
      </div>
    </dialog>
  );
}

const narrow = matchMedia("(max-width: 48rem)");

/** Whether the page is as narrow as a phone. */
export function useNarrow(): boolean {
  const [is, set] = useState(narrow.matches);
  useEffect(() => {
    const size = () => set(narrow.matches);
    narrow.addEventListener("change", size);
    return () => narrow.removeEventListener("change", size);
  }, []);
  return is;
}

/** On a phone a section shows only its title until a tap, or an address that names it, opens it. */
function useFold(id: string, fold: boolean): { folds: boolean; open: boolean; toggle: () => void } {
  const folds = useNarrow() && fold;
  const [open, setOpen] = useState(location.hash === `#${id}`);
  useEffect(() => {
    if (!fold) return;
    const named = () => location.hash === `#${id}` && setOpen(true);
    addEventListener("hashchange", named);
    return () => removeEventListener("hashchange", named);
  }, [fold]);
  return { folds, open: open || !folds, toggle: () => setOpen(!open) };
}

export function Section({
  id,
  title,
  note,
  children,
  side,
  fold = false,
}: {
  id: string;
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
  side?: ComponentChildren;
  fold?: boolean;
}) {
  const f = useFold(id, fold);
  return (
    <section id={id} class={`panel pad ${f.open ? "" : "folded"}`} aria-labelledby={`${id}-title`}>
      <div class="head">
        <h2 id={`${id}-title`}>
          {f.folds ? (
            <button type="button" class="link strong fold" aria-expanded={f.open} onClick={f.toggle}>
              {title} <Icon name="open" />
            </button>
          ) : (
            title
          )}
        </h2>
        {note && <span class="dim note">{note}</span>}
        <span class="grow" />
        {f.open && side}
      </div>
      {f.open && children}
    </section>
  );
}

/** A field that filters while typing. */
export function Search({
  id,
  value,
  say,
  label,
  placeholder,
}: {
  id?: string;
  value: string;
  say: (text: string) => void;
  label: string;
  placeholder: string;
}) {
  return (
    <label class="field search">
      <Icon name="search" />
      <input
        id={id}
        type="search"
        value={value}
        placeholder={placeholder}
        aria-label={label}
        onInput={(e) => say(e.currentTarget.value)}
      />
    </label>
  );
}

/** The heading of a sortable column. */
export function SortHead({
  name,
  sorted,
  number,
  sort,
}: {
  name: string;
  sorted: "ascending" | "descending" | "none";
  number?: boolean;
  sort: () => void;
}) {
  return (
    <th scope="col" class={number ? "n" : ""} aria-sort={sorted}>
      <button type="button" class="link" onClick={sort}>
        {name}
        <span aria-hidden="true">{{ ascending: " ↑", descending: " ↓", none: "" }[sorted]}</span>
      </button>
    </th>
  );
}

/** A choice among a few values. */
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
