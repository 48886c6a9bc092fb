/* SPDX-License-Identifier: Apache-2.0
 * What a GPU is doing, and what limits a process on it.
 */
#include "format/json/told.h"

ANSWER_NAMES(activities, enum activity_code, activity_code_name, 0, ACTIVITY_COUNT - 1);
ANSWER_NAMES(symptoms, enum symptom, symptom_name, 0, SYMPTOM_COUNT - 1);
ANSWER_SHARED_NAMES(throttles, unsigned, throttle_name, 0, THROTTLE_COUNT - 1);

ANSWER_MAKER(make_activity_words, struct activity, word, activity_code_words(of->code));

SHARED_ANSWER_TABLE(activity_answer, struct activity, .name = "Activity",
                    .about = "What a GPU is doing, judged over the last minute, and what a person would notice about it")
{
    FIELD(NAME, "code", code, NULL, NAMES(activities));
    MADE(WORD, "words", make_activity_words, NULL);
    FIELD(OPTION, "load_percent", load_permille,
          "Utilization as it was judged, over the last seconds; with bursts their mean over the last minute", SCALE(0.1));
    FIELD(BOOL, "bursts", bursts, "Works in bursts, with pauses");
    FIELD(BITS, "symptoms", symptoms, NULL, NAMES(symptoms));
    FIELD(BITS, "throttled_by", throttled_by, NULL, NAMES(throttles), OPEN);
}

ANSWER_SHARED_NAMES(limit_codes, enum limit, limit_name, LIMIT_UNJUDGED + 1, LIMIT_COUNT - 1);

ANSWER_MAKER(make_limit_words, struct process_limit, word, limit_words(of->code));

ANSWER_MAKER(make_side, struct process_limit, word, limit_side_name(limit_side(of->code)));

SHARED_ANSWER_TABLE(limit_answer, struct process_limit, .name = "Limit",
                    .about = "What limits a process on a GPU, over the last ten seconds")
{
    FIELD(NAME, "code", code, NULL, NAMES(limit_codes));
    MADE(WORD, "words", make_limit_words, "Behind \"limited by\"");
    MADE(WORD, "side", make_side,
         "gpu: the GPU works as hard as it can; link: PCIe or NVLink; host: the program's own side keeps the GPU waiting; "
         "others: other programs or ranks; none: nothing is asked of the GPU, or nothing shows",
         .schema = "{\"enum\": [\"none\", \"gpu\", \"link\", \"host\", \"others\"]}");
    FIELD(AMOUNT, "share_percent", share_permille, "Share of the time that was looked at", SCALE(0.1));
    FIELD(AMOUNT, "over_seconds", over_ms, "How long that was; 0: one look", SCALE(1e-3), WHOLE);
    FIELD(NUMBER, "confidence", confidence, NULL, .parts = 100, .schema = "{\"minimum\": 0, \"maximum\": 1}");
    FIELD(NAME, "second", second, "What limits it for most of the rest", NAMES(limit_codes), OR_NULL);
    FIELD(AMOUNT, "second_percent", second_permille, NULL, SCALE(0.1));
}
