/* SPDX-License-Identifier: Apache-2.0
 * The hours in which [quiet] lowers the power limits of all GPUs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "config/config.h"
#include "control/control.h"

enum { MINUTES_OF_DAY = 24 * 60, MINUTE_S = 60 };

static bool parse_minutes(const char *text, int *ret)
{
    int64_t hour, minute;
    struct str rest = str_from(text), first;
    if (!str_cut(&rest, ':', &first) || !str_to_i64(first, &hour) || !str_to_i64(rest, &minute) || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || rest.len != 2)
        return false;
    *ret = (int)(hour * MINUTE_S + minute);
    return true;
}

/* "22:00" to "08:00" by the host's clock: whether it is that time now, and until when. */
static bool quiet_hours_until(const char *from, const char *until, struct wall now, struct wall *ret)
{
    int begin, end;
    time_t seconds = (time_t)(now.ms / MS_PER_S);
    struct tm local;
    if (!parse_minutes(from, &begin) || !parse_minutes(until, &end) || begin == end || !localtime_r(&seconds, &local))
        return false;
    int minute = local.tm_hour * MINUTE_S + local.tm_min;
    int since = (minute - begin + MINUTES_OF_DAY) % MINUTES_OF_DAY, length = (end - begin + MINUTES_OF_DAY) % MINUTES_OF_DAY;
    if (since >= length)
        return false;
    local.tm_mday += minute >= end; /* already past today: tomorrow's */
    local.tm_hour = end / MINUTE_S;
    local.tm_min = end % MINUTE_S;
    local.tm_sec = 0;
    local.tm_isdst = -1;
    ret->ms = (int64_t)mktime(&local) * MS_PER_S;
    return true;
}

static bool quiet_value(const struct config *config, const struct control_state *s, struct control_value *ret)
{
    if (strcmp(config->quiet.limit, "auto") == 0)
        return control_quiet(CONTROL_POWER, s, reading_absent(READING_UNREAD), ret);
    return control_parse(CONTROL_POWER, config->quiet.limit, s, ret, NULL) == 0 && ret->low < s->now.low;
}

/* Skips GPUs without a limit, or with a lower one. */
static void begin_quiet(struct settings_holder *k, const struct config *config, struct wall until)
{
    AUTO_FREE struct lease *l = calloc(1, sizeof *l);
    struct error err = {0};
    if (!l)
        return;
    lease_init(l, LEASE_SETTING, getpid(), clock_wall(&clock_system));
    snprintf(l->note, sizeof l->note, "quiet hours");
    l->until = until;
    for (size_t i = 0; i < k->set.gpu_count; i++) {
        const struct control_gpu *gpu = &k->set.gpus[i];
        struct control_state s;
        struct control_value v;
        if (control_look(gpu, CONTROL_POWER, &s, NULL) == 0 && quiet_value(config, &s, &v) &&
            lease_set_plan(l, gpu, (int)i, CONTROL_POWER, v, &err) < 0)
            log_warn("a GPU has no quiet hours", LOG_INT("gpu", i), LOG_TEXT("why", err.text));
    }
    if (!l->setting_count)
        return;
    if (holder_begin(k, l, true, &err) < 0)
        log_warn("quiet hours cannot begin", LOG_TEXT("why", err.text));
}

void quiet_hours_look(struct settings_holder *k, const struct config *config)
{
    static struct wall done_until;
    struct wall now = clock_wall(&clock_system), until;
    if (!quiet_hours_until(config->quiet.from, config->quiet.until, now, &until) || done_until.ms == until.ms)
        return;
    done_until = until;
    begin_quiet(k, config, until);
}
