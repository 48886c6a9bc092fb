/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_silence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    NAMES_SIZE = 1200,      /* of hosts in one query */
    NOT_SILENT_MS = 300000, /* how long a database shows the last sample */
};

const char *silence_host_of(const struct vector_row *row)
{
    const char *host = vector_label(row, "host");
    return host[0] ? host : vector_label(row, "instance");
}

int seen_add(struct seen_list *l, const struct vector_row *row)
{
    if (!ROOM_FOR_ONE(l->list, l->count, l->capacity, 64))
        return -ENOMEM;
    struct seen_host *s = &l->list[l->count++];
    s->unnamed = !vector_label(row, "host")[0];
    str_copy_clean(s->host, sizeof s->host, str_from(silence_host_of(row)));
    str_copy_clean(s->instance, sizeof s->instance, str_from(vector_label(row, "instance")));
    return 0;
}

static int seen_by_host(const void *a, const void *b)
{
    return strcmp(((const struct seen_host *)a)->host, ((const struct seen_host *)b)->host);
}

static void seen_sort(struct seen_list *l)
{
    if (l->count)
        qsort(l->list, l->count, sizeof *l->list, seen_by_host);
}

static bool seen_has(const struct seen_list *l, const char *host)
{
    struct seen_host key;
    str_copy(key.host, sizeof key.host, str_from(host));
    return l->count && bsearch(&key, l->list, l->count, sizeof *l->list, seen_by_host);
}

/* ---- outdated data ---- */

static bool is_gone(const struct fleet_silence *s, const char *host)
{
    for (size_t i = 0; i < s->stale.count; i++)
        if (strcmp(s->stale.list[i].host, host) == 0)
            return !seen_has(&s->here, host);
    return false;
}

/* A host with two routes is up while one of them is fresh. */
static void forget_stale(struct fleet_silence *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->here.count; i++) {
        bool stale = false;
        for (size_t k = 0; k < s->stale.count && !stale; k++)
            stale = strcmp(s->here.list[i].host, s->stale.list[k].host) == 0 &&
                    strcmp(s->here.list[i].instance, s->stale.list[k].instance) == 0;
        if (!stale)
            s->here.list[kept++] = s->here.list[i];
    }
    s->here.count = kept;
}

int silence_drop(struct fleet_silence *s, struct fleet *f)
{
    size_t gpus = 0, sums = 0, processes = 0;
    if (!s->stale.count)
        return 0;
    forget_stale(s);
    seen_sort(&s->here);
    for (size_t i = 0; i < f->gpu_count; i++)
        if (!is_gone(s, f->gpus[i].host))
            f->gpus[gpus++] = f->gpus[i];
    for (size_t i = 0; i < f->sum_count; i++)
        if (!is_gone(s, f->sums[i].host))
            f->sums[sums++] = f->sums[i];
    for (size_t i = 0; i < f->process_count; i++)
        if (!is_gone(s, f->processes[i].host))
            f->processes[processes++] = f->processes[i];
    f->gpu_count = gpus;
    f->sum_count = sums;
    f->process_count = processes;
    return fleet_index(f);
}

/* ---- silent hosts ---- */

static int note_silent(struct fleet *f, const struct fleet_silence *s, const char *host)
{
    if (seen_has(&s->here, host) || fleet_has_gpus(f, host))
        return 0;
    struct fleet_note *n = fleet_note_of(f, host);
    if (n)
        n->silent = true;
    return n ? 0 : -ENOMEM;
}

/* The former host name of a target that is down. */
static const char *name_of_target(const struct fleet_silence *s, const char *instance)
{
    for (size_t i = 0; i < s->seen.count; i++)
        if (strcmp(s->seen.list[i].instance, instance) == 0)
            return s->seen.list[i].host;
    return instance;
}

/* `host=~"gpu1|gpu2"` if there are few; "" for many, or for names with special characters: then query all. */
static void write_matcher(const struct fleet *f, const struct fleet_silence *s, struct buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t named = 0;
    for (size_t i = 0; i < s->seen.count; i++)
        if (s->seen.list[i].unnamed)
            return;
    for (size_t i = 0; i < f->note_count; i++) {
        if (!f->notes[i].silent)
            continue;
        buf_text(out, named++ ? "|" : "{host=~\"");
        for (const char *c = f->notes[i].host; *c; c++)
            buf_printf(out, strchr(plain, *c) ? "%c" : *c == '.' ? "[%c]" : ".", *c);
    }
    if (named)
        buf_text(out, "\"}");
}

static int take_since(void *user, const struct vector_row *row)
{
    struct fleet *f = user;
    char host[HOST_NAME_SIZE];
    str_copy_clean(host, sizeof host, str_from(silence_host_of(row)));
    for (size_t i = 0; i < f->note_count; i++) {
        struct fleet_note *n = &f->notes[i];
        int64_t ms = row->value > 0 && row->value < 1e9 ? llround(row->value * MS_PER_S) : 0;
        if (n->silent && strcmp(n->host, host) == 0 && (!n->silent_ms || ms < n->silent_ms))
            n->silent_ms = ms;
    }
    return 0;
}

/* A host's last sample says how far its clock was behind: it may be just a moment old. */
static int take_ahead(void *user, const struct vector_row *row)
{
    struct fleet *f = user;
    char host[HOST_NAME_SIZE];
    str_copy_clean(host, sizeof host, str_from(silence_host_of(row)));
    int64_t ahead_ms = fabs(row->value) < 1e9 ? llround(row->value * MS_PER_S) : 0;
    for (size_t i = 0; i < f->note_count; i++) {
        struct fleet_note *n = &f->notes[i];
        if (!n->silent || strcmp(n->host, host) != 0 || !n->silent_ms || n->silent_ms + ahead_ms >= NOT_SILENT_MS)
            continue;
        n->silent = false;
        n->silent_ms = 0;
        return fleet_compare_clock(f, host, ahead_ms);
    }
    return 0;
}

/* The database's time of each host's last sample: to a second for recent ones, to five minutes for others. Unknown without an
 * answer. */
static bool ask_since(const struct fleet_place *place, const struct fleet_silence *s, struct fleet *f)
{
    AUTO_BUF struct buf matcher = BUF(NAMES_SIZE);
    AUTO_BUF struct buf question = BUF(2 * NAMES_SIZE + 512);
    AUTO_BUF struct buf clocks = BUF(NAMES_SIZE + 256);
    AUTO_BUF struct buf answer = BUF(FLEET_ANSWER_MAX);
    struct error err = {0};
    write_matcher(f, s, &matcher);
    const char *hosts = matcher.failed || !matcher.len ? "" : matcher.at;
    buf_printf(&question,
               "time() - max by (host,instance) (max_over_time(timestamp(whirr_build_info%s)[10m:1s]) or "
               "max_over_time(timestamp(whirr_build_info%s)[%dd:5m]))",
               hosts, hosts, SILENCE_DAYS);
    if (question.failed || fleet_ask(place, question.at, &answer, &err) != 0 || vector_read(&answer, take_since, f) != 0)
        return false;
    answer.len = 0;
    buf_printf(&clocks, "min by (host,instance) (last_over_time(whirr_push_clock_ahead_seconds%s[%dd])) <= -30", hosts,
               SILENCE_DAYS);
    if (!clocks.failed && fleet_ask(place, clocks.at, &answer, &err) == 0)
        vector_read(&answer, take_ahead, f);
    return true;
}

/* A host that a database knows, but without a sample that it would show, is new. */
static void forget_new(const struct fleet_silence *s, struct fleet *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        const struct fleet_note *n = &f->notes[i];
        bool down = false;
        for (size_t k = 0; k < s->down.count && !down; k++)
            down =
                strcmp(s->down.list[k].unnamed ? name_of_target(s, s->down.list[k].instance) : s->down.list[k].host, n->host) == 0;
        if (!n->silent || n->silent_ms || down)
            f->notes[kept++] = *n;
    }
    f->note_count = kept;
}

int silence_find(const struct fleet_place *place, struct fleet_silence *s, struct fleet *f)
{
    int rc = 0;
    bool any = false;
    seen_sort(&s->here);
    seen_sort(&s->seen);
    for (size_t i = 0; i < s->seen.count && rc == 0; i++)
        if (!i || seen_by_host(&s->seen.list[i - 1], &s->seen.list[i]) != 0)
            rc = note_silent(f, s, s->seen.list[i].host);
    for (size_t i = 0; i < s->down.count && rc == 0; i++)
        rc = note_silent(f, s, s->down.list[i].unnamed ? name_of_target(s, s->down.list[i].instance) : s->down.list[i].host);
    for (size_t i = 0; i < f->note_count; i++)
        any |= f->notes[i].silent;
    if (rc == 0 && any && ask_since(place, s, f))
        forget_new(s, f);
    return rc;
}

void silence_done(struct fleet_silence *s)
{
    free(s->here.list);
    free(s->stale.list);
    free(s->seen.list);
    free(s->down.list);
    *s = (struct fleet_silence){0};
}
