// SPDX-License-Identifier: Apache-2.0
// The one ranking of the page: header, answer, tabs, tiles, map and the tab's title take what is first, and its sentence, from here. Does not
// touch the document.
import { firstSentence, plainly, steady } from "./format";
import { answerLevel, counts, type Level, worst } from "./level";
import type { Finding, Why, WhyGpu } from "./types";

export interface Verdict {
  first: Finding | null; // that needs attention
  index: number | null; // of the GPU that the answer is about; null: the host
  level: Level;
  numbers: [Level, number][];
  headline: string;
  rest: string;
}

const bare = (text: string) =>
  plainly(text)
    .toLowerCase()
    .replace(/[\d.,:;()]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** Whether a sentence says nothing beyond another one. */
export const repeats = (text: string, said: string): boolean => bare(said).includes(bare(text));

/** An answer in two parts: the daemon's short form, or its first sentence, and the rest. */
export function parted(answer: string, own: WhyGpu | undefined): [string, string] {
  const whole = plainly(answer),
    brief = plainly(own?.brief?.headline ?? "");
  if (brief.length > 24 && whole.startsWith(`${brief}:`)) return [`${brief}.`, whole.slice(brief.length + 2)];
  return firstSentence(whole);
}

const judged = new WeakMap<Why, Verdict>();
let shown = ""; // of the present

function judge(why: Why, now: boolean): Verdict {
  const findings = why.gap ? [] : (why.findings ?? why.gpus.flatMap((g) => g.findings ?? [])),
    first = worst(findings, why),
    index = first?.gpu_index ?? why.gpu_index,
    own = why.gpus.find((g) => g.gpu_index === index);
  const answer = plainly(
      (index !== why.gpu_index && own ? own.answer : why.answer) || "Nothing is known about this moment.",
    ),
    head = plainly(first?.headline ?? "");
  // What is first leads, even if the answer is about something usual.
  const leads = first && own?.brief?.trouble === false && !repeats(head, answer),
    [next, rest] = parted(leads ? `${head}. ${answer}` : answer, own),
    headline = now ? (shown = steady(shown, next)) : next;
  return { first, index, level: answerLevel(why), numbers: counts(findings), headline, rest };
}

/** The verdict of an answer; `now`: of the present one, whose sentence changes only with its subject. */
export function verdictOf(why: Why, now: boolean): Verdict {
  const known = judged.get(why) ?? judge(why, now);
  judged.set(why, known);
  return known;
}
