/* SPDX-License-Identifier: Apache-2.0
 * After a resume: drivers forget limits, clocks and fan modes that a user had set. What is different from before the suspend is
 * said, for a day.
 */
#include <stdio.h>
#include <string.h>

#include "insight/view/answer.h"

enum { SAID_FOR_MS = 86400000 };

static void resume_add_number(struct text *s, const char *what, struct reading before, struct reading now, int64_t unit,
                              const char *sign)
{
    int64_t was, is_now;
    if (reading_get(before, &was) && reading_get(now, &is_now) && words_whole(was, unit) != words_whole(is_now, unit))
        text_append(s, "%s%s %lld%s (before %lld%s)", s->len ? ", " : "", what, words_whole(is_now, unit), sign,
                    words_whole(was, unit), sign);
}

bool resume_changes(const struct recent_settings *before, const struct gpu *gpu, char *out, size_t size)
{
    struct text s = {out, size, 0};
    int64_t was, is_now;
    const char *fan = gpu->fan_control.state == READING_OK ? gpu->fan_control.value : "";
    out[0] = '\0';
    resume_add_number(&s, "power limit", before->power_limit_mw, gpu->power_limit_mw, 1000, " W");
    if (before->fan_control[0] && fan[0] && strcmp(before->fan_control, fan) != 0)
        text_append(&s, "%sfan control %s (before %s)", s.len ? ", " : "", fan, before->fan_control);
    resume_add_number(&s, "application clock", before->clock_app_graphics_khz, gpu->clock_app_graphics_khz, 1000, " MHz");
    resume_add_number(&s, "application memory clock", before->clock_app_memory_khz, gpu->clock_app_memory_khz, 1000, " MHz");
    resume_add_number(&s, "highest clock", before->clock_graphics_max_khz, gpu->clock_graphics_max_khz, 1000, " MHz");
    if (reading_get(before->persistence_mode, &was) && reading_get(gpu->persistence_mode, &is_now) && !was != !is_now)
        text_append(&s, "%spersistence mode %s (before %s)", s.len ? ", " : "", is_now ? "on" : "off", was ? "on" : "off");
    return s.len > 0;
}

void answer_resume(const struct facts *f, struct why_part *part)
{
    const struct recent_gpu *past = activity_past(f->now, f->gpu, f->recent);
    char changes[WHY_LINE_SIZE], ago[SHORT_WORDS], text[WHY_LINE_SIZE + 64];
    size_t used = strlen(part->answer);
    if (f->over || !past || !past->resumed_at.ms || f->gpu->state != GPU_OK)
        return;
    int64_t since = f->now->taken_at.ms - past->resumed_at.ms;
    if (since < 0 || since > SAID_FOR_MS || !resume_changes(&past->before_suspend, f->gpu, changes, sizeof changes))
        return;
    snprintf(part->after_resume, sizeof part->after_resume, "%s", changes);
    snprintf(text, sizeof text, " Since the host resumed %s ago: %s.", words_duration(since, ago), changes);
    if (used + strlen(text) < sizeof part->answer)
        memcpy(part->answer + used, text, strlen(text) + 1);
}
