// SPDX-License-Identifier: Apache-2.0
// What a panel asks for itself. Not there yet, not there at all and not to be had are different things, with different words.
import { useEffect, useState } from "preact/hooks";
import { get, words } from "./live";
import { type Asked, UNANSWERED } from "./store";

/** The answer to a question, asked again when `tick` is another. That of another question is never shown for it; of the same one, the last
 *  answer stays where the next does not come. */
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

/** What stands in the place of an answer, or beside one that is old. */
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
