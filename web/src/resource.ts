// SPDX-License-Identifier: Apache-2.0
// What is known of an answer of the daemon: that it is on its way, the answer with its age, that there is nothing, or why it failed. Does not
// touch the document.
import { now } from "./clock";
import { Refused, words } from "./refused";

export type Resource<T> =
  | { state: "loading"; value: T | null } // value: the previous answer
  | { state: "ok"; value: T; at: number } // at: when it came, by the host's clock
  | { state: "none"; value: null; reason: string } // there is nothing to answer
  | { state: "failed"; value: T | null; reason: string; denied: boolean; at: number | null }; // value, at: of the last answer

export const LOADING: Resource<never> = { state: "loading", value: null };
export const NO_HISTORY: Resource<never> = none("No history is kept on this host.");

export function none(reason: string): Resource<never> {
  return { state: "none", value: null, reason };
}

export const ok = <T>(value: T): Resource<T> => ({ state: "ok", value, at: now() });

/** The question failed: its last answer stays, with its age. The server says 404 where there is nothing. */
export function failed<T>(before: Resource<T>, problem: unknown): Resource<T> {
  if (problem instanceof Refused && problem.status === 404) return none(problem.message);
  return {
    state: "failed",
    value: before.value,
    at: before.state === "ok" || before.state === "failed" ? before.at : null,
    reason: words(problem),
    denied: problem instanceof Refused && (problem.status === 401 || problem.status === 403),
  };
}

/** Another question is asked: its answer is awaited beside the previous one. */
export const again = <T>(before: Resource<T>): Resource<T> => ({ state: "loading", value: before.value });

/** Why there is no answer, or no new one; null: there is one, or it is on its way. */
export const reasonOf = (of: Resource<unknown>): string | null =>
  of.state === "none" || of.state === "failed" ? of.reason : null;
