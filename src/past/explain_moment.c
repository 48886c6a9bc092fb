/* SPDX-License-Identifier: Apache-2.0
 * Explains one moment of the past.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/view/why.h"
#include "past/explain.h"
#include "past/past_usual.h"
#include "store/query.h"

struct hosts {
    const char *wanted, *own;
    char found[HOST_NAME_SIZE], only[HOST_NAME_SIZE];
    char names[256];
    size_t count;
};

static int note_host(void *user, const struct store_host *host)
{
    struct hosts *h = user;
    const char *name = host->name;
    if ((h->wanted && strcmp(h->wanted, name) == 0) || (!h->wanted && h->own && strcmp(h->own, name) == 0))
        str_copy(h->found, sizeof h->found, str_from(name));
    str_copy(h->only, sizeof h->only, str_from(name));
    size_t used = strlen(h->names);
    if (used < sizeof h->names - 1)
        snprintf(h->names + used, sizeof h->names - used, "%s%s", used ? ", " : "", name);
    h->count++;
    return 0;
}

int told_host(struct store *s, const char *wanted, const char *own, char ret[HOST_NAME_SIZE], struct error *err)
{
    struct hosts h = {.wanted = wanted, .own = own};
    int rc = store_hosts(s, note_host, &h, err);
    if (rc < 0)
        return rc;
    if (h.count == 0)
        return error_set(err, -ENOENT, "nothing was ever stored");
    if (!h.found[0] && wanted)
        return error_set(err, -ENODATA, "the history knows no host '%s'; there is: %s", wanted, h.names);
    if (!h.found[0] && h.count > 1)
        return error_set(err, -ENODATA, "the history is of several hosts (%s): one has to be named", h.names);
    str_copy(ret, HOST_NAME_SIZE, str_from(h.found[0] ? h.found : h.only));
    return 0;
}

/* Drops advice, which is useless about the past: its processes are gone, and their PIDs belong to others. */
static void drop_advice(struct why *why)
{
    why->machine.suggestion_count = 0;
    for (size_t i = 0; i < why->gpu_count; i++)
        why->gpus[i].suggestion_count = 0;
}

static void say_note(struct explained_moment *m)
{
    if (m->level == LEVEL_MINUTE)
        snprintf(m->note, sizeof m->note,
                 "Only minutes are left of that time: this is about the means of the minute, not about single samples.");
    else if (m->level == LEVEL_HOUR)
        snprintf(m->note, sizeof m->note,
                 "Only hours are left of that time: this is about the means of the hour, and what lasted minutes cannot be seen.");
}

/* -ENODATA: nothing was stored then. only, course: for one GPU; 0, NULL: for all, learning usual values for this moment. */
static int explain_stored(struct store *s, const char *host, struct wall at, int64_t only, struct usual_course *course,
                          struct explained_moment *ret, struct error *err)
{
    AUTO_FREE struct recent *recent = calloc(1, sizeof *recent);
    AUTO_FREE struct baselines *learned = NULL;
    const struct baselines *usual = NULL;
    *ret = (struct explained_moment){.at = at};
    if (!recent)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = store_past(s, host, at, only, &ret->snapshot, recent, &ret->level, err);
    if (rc < 0)
        return rc;
    rc = course ? usual_course_at(course, at, &usual, err) : past_usual(s, host, at, &learned, err);
    if (rc == 0)
        ret->why = why_explain_past(ret->snapshot, recent, course ? usual : learned);
    recent_done(recent);
    if (!ret->why) {
        explained_moment_done(ret);
        return rc < 0 ? rc : error_set(err, -ENOMEM, "out of memory");
    }
    drop_advice(ret->why);
    say_note(ret);
    return 0;
}

int explain_moment(struct store *s, const char *host, struct wall at, struct wall now, struct explained_moment *ret,
                   struct error *err)
{
    int rc = explain_stored(s, host, at, 0, NULL, ret, err);
    if (rc == 0) {
        rc = stored_verdict(s, host, ret->snapshot, ret->why, err);
        if (rc < 0)
            explained_moment_done(ret);
        return rc;
    }
    return rc == -ENODATA ? gap_around(s, host, at, now, &ret->gap, err) : rc;
}

int explain_moment_of(struct store *s, const struct store_gpu *gpu, struct wall at, struct usual_course *usual,
                      struct explained_moment *ret, struct error *err)
{
    int rc = explain_stored(s, gpu->host, at, gpu->id, usual, ret, err);
    return rc == -ENODATA ? 0 : rc;
}

void explained_moment_done(struct explained_moment *m)
{
    why_free(m->why);
    snapshot_unref(m->snapshot);
    *m = (struct explained_moment){0};
}
