/* SPDX-License-Identifier: Apache-2.0
 * An episode in sentences: what it was, who caused it, one set of numbers (means and the highest temperature of the whole episode),
 * the usual values, and what ended it. The explanation itself covers one moment, whose numbers would differ.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "past/explain.h"

struct sentence {
    char text[WHY_ANSWER_SIZE];
    size_t len;
};

static void episode_words_add(struct sentence *s, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
static void episode_words_add(struct sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(s->text + s->len, sizeof s->text - s->len, format, args);
    va_end(args);
    if (len > 0 && (size_t)len < sizeof s->text - s->len)
        s->len += (size_t)len;
    else
        s->text[s->len] = '\0'; /* whole sentences, or none */
}

static void add_numbers(struct sentence *s, const struct explained_episode *e, bool power_said)
{
    int64_t util, power, temp;
    bool has_util = reading_get(e->util_permille, &util), has_power = !power_said && reading_get(e->power_mw, &power);
    bool has_temp = reading_get(e->temp_max_mdegc, &temp);
    if (has_util)
        episode_words_add(s, " %lld%%", words_whole(util, 10));
    if (has_power)
        episode_words_add(s, has_util ? " and %lld W" : " %lld W", words_whole(power, 1000));
    if (has_util || has_power)
        episode_words_add(s, " on average");
    if (has_temp)
        episode_words_add(s, "%s %lld °C", has_util || has_power ? ", up to" : " Up to", words_whole(temp, 1000));
    if (has_temp && e->part.usual.too_hot && e->part.usual.temp_mdegc.state == READING_OK)
        episode_words_add(s, "; %lld °C was usual at this power", words_whole(e->part.usual.temp_mdegc.value, 1000));
    if (has_util || has_power || has_temp)
        episode_words_add(s, ".");
}

static void add_end(struct sentence *s, const struct explained_episode *e, char ret[EPISODE_END_SIZE])
{
    int64_t util;
    ret[0] = '\0';
    switch (e->end) {
    case EPISODE_END_UNKNOWN: return;
    case EPISODE_ONGOING: snprintf(ret, EPISODE_END_SIZE, "It was still going on at the end of this time."); break;
    case EPISODE_END_PROCESS:
        if (e->words[0])
            snprintf(ret, EPISODE_END_SIZE, "It ended when %.48s exited.", e->words);
        break;
    case EPISODE_END_LOAD:
        if (reading_get(e->end_util_permille, &util))
            snprintf(ret, EPISODE_END_SIZE, "It ended when utilization fell to %lld%%.", words_whole(util, 10));
        break;
    case EPISODE_END_RECORD: snprintf(ret, EPISODE_END_SIZE, "Nothing was stored after that."); break;
    }
    if (ret[0])
        episode_words_add(s, " %s", ret);
}

void episode_write_sentence(struct explained_episode *e)
{
    const struct why_brief *b = &e->part.brief;
    struct sentence s = {0};
    if (!b->state[0] && !b->doing[0] && !e->headline[0])
        return; /* lost, unreadable: the answer has no numbers */
    if (e->headline[0])
        episode_words_add(&s, "%s%s.", e->simulated ? "Simulated " : "", e->headline);
    else
        episode_words_add(&s, "%sGPU %d was %s%s%s.", e->simulated ? "Simulated " : "", e->gpu_index, b->state,
                          b->state[0] && b->doing[0] ? ": " : "", b->doing);
    if (e->part.activity.code != ACTIVITY_LOST) /* from the minutes when it was present */
        add_numbers(&s, e, strstr(b->doing, " W by") || strstr(b->doing, " W, "));
    add_end(&s, e, e->ended);
    str_copy(e->part.answer, sizeof e->part.answer, str_from(s.text));
}
