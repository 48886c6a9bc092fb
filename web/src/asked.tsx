// SPDX-License-Identifier: Apache-2.0
// Queries of a single panel. "Not there yet", "nothing there" and "failed" differ, and have different words.
import { useEffect, useState } from "preact/hooks";
import { get, words } from "./live";
import { type Asked, UNANSWERED } from "./store";

/** The answer to a query, repeated when `tick` changes. Never shows the answer to another query; keeps the last answer if the
 * next one fails. */
export function useAsked<T>(
  question: string,
  on: boolean,
  tick: unknown = 0,
  ask: (question: string, signal: AbortSignal) => Promise<T> = get,
): Asked<T> {
  const [got, setGot] = useState<Asked<T> & { question: string }>({ ...UNANSWERED, question: "" });
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    ask(question, stop.signal).then(
      (answer) => setGot({ question, answer, problem: null }),
      (e: unknown) =>
        !stop.signal.aborted &&
        setGot((old) => ({ question, answer: old.question === question ? old.answer : null, problem: words(e) })),
    );
    return () => stop.abort();
  }, [question, on, tick]);
  return got.question === question ? got : UNANSWERED;
}

/** Shown instead of an answer, or beside an old one. */
export function Missing({ of }: { of: Asked<unknown> }) {
  if (of.problem)
    return (
      <p class="lv warn" role="status">
        {of.problem}
        {of.answer ? " This is older." : ""}
      </p>
    );
  return of.answer ? null : <p class="dim">Loading…</p>;
}
