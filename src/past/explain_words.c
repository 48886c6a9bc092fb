/* SPDX-License-Identifier: Apache-2.0
 * The sentences about a span of time.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "past/internal.h"

static void say_most_important(struct buf *out, const struct told_span *t)
{
    const struct told_episode *e = &t->episodes[0];
    char since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE];
    moment_format(e->since, t->until, since);
    moment_format(e->until, t->until, until);
    if (t->episode_count == 1)
        buf_text(out, "One thing is worth explaining");
    else
        buf_printf(out, "%zu things are worth explaining; the most important", t->episode_count + t->left_out);
    buf_printf(out, ", from %s to %s: %s", since, until, e->part.answer);
}

void told_say_span(struct told_span *t)
{
    AUTO_BUF struct buf out = BUF(TOLD_ANSWER_SIZE - 1);
    int64_t whole = t->until.ms - t->since.ms;
    bool nothing = t->missing_ms >= whole - 60000;
    if (nothing)
        buf_text(&out, t->gap_count ? t->gaps[0].text : "Nothing was stored in that time.");
    else if (t->episode_count)
        say_most_important(&out, t);
    else
        buf_text(&out, "Nothing happened that is worth explaining: it was calm.");
    if (!nothing && t->missing_ms > 0) {
        char missing[WORDS_SIZE];
        buf_printf(&out, " Nothing is known about %s of the time: %s", words_duration(t->missing_ms, missing), t->gaps[0].text);
    }
    str_copy(t->answer, sizeof t->answer, out.failed ? STR("Too much happened to be said in a few words.") : buf_view(&out));
    if (t->level == LEVEL_HOUR && t->step_ms >= 3600000)
        snprintf(t->note, sizeof t->note, "Looked at hour by hour: what lasted minutes may not be seen.");
}
