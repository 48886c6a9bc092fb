// SPDX-License-Identifier: Apache-2.0
// Queries of a single panel. "Not there yet", "nothing there" and "failed" differ, and have different words.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { now } from "./clock";
import { duration } from "./format";
import { get } from "./live";
import { failed, LOADING, ok, type Resource } from "./resource";

/** The answer to a query, repeated when `tick` changes. Never shows the answer to another query; keeps the last answer if the
 * next one fails. */
export function useAsked<T>(
  question: string,
  on: boolean,
  tick: unknown = 0,
  ask: (question: string, signal: AbortSignal) => Promise<T> = get,
): Resource<T> {
  const [got, setGot] = useState<{ question: string; of: Resource<T> }>({ question: "", of: LOADING });
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    ask(question, stop.signal).then(
      (answer) => setGot({ question, of: ok(answer) }),
      (e: unknown) =>
        !stop.signal.aborted &&
        setGot((old) => ({ question, of: failed(old.question === question ? old.of : LOADING, e) })),
    );
    return () => stop.abort();
  }, [question, on, tick]);
  return got.question === question ? got.of : LOADING;
}

const LOADS = "Loading…";

/** A ring with a word, the reason in a sentence, and what to do next: the one form of everything that is not there. */
export function Status({ word, reason, next }: { word: string; reason?: string; next?: ComponentChildren }) {
  return (
    <div class={`status ${word === LOADS ? "loading" : ""}`} role="status">
      <i class="ring-mark" aria-hidden="true" />
      <p>
        <b>{word}</b> {reason && <span>{reason}</span>} {next}
      </p>
    </div>
  );
}

/** Shown instead of an answer, or beside an old one. */
export function Missing({ of, next }: { of: Resource<unknown>; next?: ComponentChildren }) {
  if (of.state === "ok") return null;
  if (of.state === "loading") return of.value ? null : <Status word={LOADS} />;
  if (of.state === "none") return <Status word="Nothing here" reason={of.reason} next={next} />;
  const word = of.denied ? "No permission" : of.value ? `${duration((now() - of.at!) / 1000)} old` : "No answer";
  return <Status word={word} reason={of.reason} next={next} />;
}
