/* SPDX-License-Identifier: Apache-2.0
 * A recording as a source: FILE[,speed=X][,loop][,at=SECONDS]. Time follows the clock of env; at each moment it shows the last
 * sample before it. At the end it keeps the last one, or loops.
 */
#include "source/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "model/finding.h"
#include "source/replay/reader.h"

struct replay {
    struct source base;
    const struct env *env;
    char path[PATH_SIZE];
    double speed, at_s;
    bool loop;
    struct mono opened;
    struct replay_reader *reader;
    const struct snapshot *now, *next; /* next: already read, but not due; NULL at the end */
    double now_s, next_s;              /* on the recording's time line, from 0 */
    double lap_s;                      /* total length of the completed loops */
    bool ended;
    char trouble[SOURCE_MESSAGE_SIZE]; /* why reading stopped early; "" */
    int64_t shift_ms;                  /* from recorded wall time to playback time */
    struct gpu_id listed[GPU_MAX];
    size_t listed_count;
    struct event events[EVENTS_MAX]; /* of the samples passed since the last query */
    size_t event_count;
};

/* Seconds between two samples. A clock set back counts as 0; pauses are shortened, because no user wants to wait through the
 * night between two sessions. */
static double step_s(const struct snapshot *a, const struct snapshot *b)
{
    double passed = (double)(b->taken_at.ms - a->taken_at.ms) / MS_PER_S;
    double most = MAX_OF(60.0, 10 * a->interval_s);
    return MAX_OF(0.0, MIN_OF(passed, most));
}

/* Reads the sample after `now`; NULL at the end. */
static void read_next(struct replay *r)
{
    struct error err = {0};
    const struct snapshot *s = NULL;
    int rc = replay_reader_next(r->reader, &s, &err);
    if (rc < 0)
        str_copy(r->trouble, sizeof r->trouble, str_from(err.text));
    r->next = rc == 1 ? s : NULL;
    r->next_s = r->next ? r->now_s + (r->now ? step_s(r->now, r->next) : 0) : 0;
}

static double position_s(const struct replay *r)
{
    double passed = (double)(clock_mono(r->env->clock).ns - r->opened.ns) / NS_PER_S;
    return r->at_s + MAX_OF(passed, 0.0) * r->speed;
}

static int begin_anew(struct replay *r, struct error *err)
{
    int rc = replay_reader_rewind(r->reader, err);
    if (rc < 0)
        return rc;
    double lap = r->now_s + MAX_OF(r->now->interval_s, 1.0) - r->lap_s;
    double ahead = position_s(r) - r->lap_s;
    r->lap_s += MAX_OF(1.0, floor(ahead / lap)) * lap; /* skip whole loops in which no sample was taken */
    const struct snapshot *first = NULL;
    rc = replay_reader_next(r->reader, &first, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "'%s' has become empty", r->path);
    r->next = first;
    r->next_s = r->lap_s;
    return 0;
}

/* Keeps events of skipped samples. The engine itself notices loss and return. */
static void keep_events(struct replay *r, const struct snapshot *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        const struct event *e = &s->events[i];
        if (e->kind == EVENT_GPU_LOST || e->kind == EVENT_GPU_BACK || e->kind == EVENT_SOURCE || r->event_count == EVENTS_MAX)
            continue;
        struct event *kept = &r->events[r->event_count++];
        *kept = *e;
        kept->at.ms += r->shift_ms;
    }
}

static void advance(struct replay *r)
{
    double position = position_s(r);
    for (;;) {
        if (!r->next && !r->ended) {
            read_next(r);
            struct error err = {0};
            if (!r->next && r->loop && !r->trouble[0] && r->now_s > r->lap_s && begin_anew(r, &err) < 0)
                str_copy(r->trouble, sizeof r->trouble, str_from(err.text));
            /* A recording in progress is checked again with the next sample. */
            r->ended = r->trouble[0] != '\0';
        }
        if (!r->next || r->next_s > position)
            return;
        snapshot_unref(r->now);
        r->now = r->next;
        r->now_s = r->next_s;
        r->next = NULL;
        keep_events(r, r->now);
    }
}

static int set_option(struct replay *r, struct str option, struct error *err)
{
    struct str value = option, name;
    str_cut(&value, '=', &name);
    if (str_is(option, "loop")) {
        r->loop = true;
        return 0;
    }
    bool is_speed = str_is(name, "speed"), is_at = str_is(name, "at");
    double number;
    if (!is_speed && !is_at)
        return error_set(err, -EINVAL, "replay: unknown option '" STR_FMT "'; known: speed=X, loop, at=SECONDS", STR_ARG(option));
    if (!str_to_double(value, &number) || number < (is_speed ? 0.001 : 0) || number > (is_speed ? 1e6 : 1e10))
        return error_set(err, -EINVAL, "replay: " STR_FMT " must be a number %s", STR_ARG(name),
                         is_speed ? "from 0.001 to 1000000" : "of seconds from 0");
    *(is_speed ? &r->speed : &r->at_s) = number;
    return 0;
}

/* The file name ends at the first comma, unless a file with the whole name exists. */
static int parse(struct replay *r, const char *params, struct error *err)
{
    struct str rest = str_from(params), part;
    if (rest.len == 0)
        return error_set(err, -EINVAL, "replay needs a recording: replay:FILE");
    if (access(params, F_OK) == 0)
        part = rest, rest = (struct str){"", 0};
    else
        str_cut(&rest, ',', &part);
    if (part.len == 0 || part.len >= sizeof r->path)
        return error_set(err, -EINVAL, "replay: the name of the recording is %s", part.len ? "too long" : "missing");
    str_copy(r->path, sizeof r->path, part);
    while (str_cut(&rest, ',', &part)) {
        part = str_trim(part);
        int rc = part.len ? set_option(r, part, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void replay_close(struct source *source)
{
    struct replay *r = (struct replay *)source;
    if (!r)
        return;
    snapshot_unref(r->now);
    snapshot_unref(r->next);
    replay_reader_close(r->reader);
    free(r);
}

static int replay_load(struct replay *r, struct error *err)
{
    int rc = replay_reader_open(r->path, &r->reader, err);
    if (rc < 0)
        return rc;
    read_next(r);
    if (!r->next)
        return error_set(err, -ENODATA, "%s", r->trouble[0] ? r->trouble : "there is no sample in the recording");
    r->shift_ms = clock_wall(r->env->clock).ms - r->next->taken_at.ms - (int64_t)(r->at_s * MS_PER_S);
    advance(r);
    r->event_count = 0; /* events before the start aren't news */
    if (r->at_s == 0)
        keep_events(r, r->now);
    return 0;
}

static int replay_check(const char *params, struct error *err)
{
    struct replay r = {.speed = 1};
    int rc = parse(&r, params, err);
    if (rc == 0)
        rc = replay_reader_open(r.path, &r.reader, err);
    replay_reader_close(r.reader);
    return rc;
}

static int replay_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    struct replay *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    r->base.ops = &replay_source;
    r->env = env;
    r->speed = 1;
    r->opened = clock_mono(env->clock);
    int rc = parse(r, params ? params : "", err);
    if (rc == 0)
        rc = replay_load(r, err);
    if (rc < 0) {
        replay_close(&r->base);
        return rc;
    }
    *ret = &r->base;
    return 0;
}

/* GPUs first, then other devices. */
static const struct gpu *replay_device(const struct snapshot *s, size_t which)
{
    return which < s->gpu_count ? &s->gpus[which] : &s->accelerators[which - s->gpu_count];
}

static size_t replay_device_count(const struct snapshot *s)
{
    return MIN_OF(s->gpu_count + s->accelerator_count, (size_t)GPU_MAX);
}

static int replay_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct replay *r = (struct replay *)source;
    r->listed_count = MIN_OF(replay_device_count(r->now), max);
    for (size_t i = 0; i < r->listed_count; i++)
        ids[i] = r->listed[i] = replay_device(r->now, i)->id;
    return (int)r->listed_count;
}

static bool replay_changed(struct source *source)
{
    struct replay *r = (struct replay *)source;
    advance(r);
    if (replay_device_count(r->now) != r->listed_count)
        return true;
    for (size_t i = 0; i < r->listed_count; i++)
        if (!gpu_same(&r->listed[i], &replay_device(r->now, i)->id))
            return true;
    return false;
}

static int replay_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)groups;
    (void)err;
    advance((struct replay *)source);
    return 0;
}

/* Processes of another host: they must not be looked up here. */
static void mark_as_foreign(const struct replay *r, struct gpu *g)
{
    for (size_t i = 0; i < g->process_count; i++) {
        struct process *p = &g->processes[i];
        if (p->started_at.ms)
            p->started_at.ms += r->shift_ms;
        if (p->start_key == 0)
            p->start_key = -1;
    }
}

static void replay_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    (void)groups; /* the recording has whatever was read then */
    struct replay *r = (struct replay *)source;
    if (gpu >= r->listed_count)
        return;
    /* A card may have gone or moved since list(). */
    const struct gpu *found = NULL;
    for (size_t i = 0, count = replay_device_count(r->now); i < count && !found; i++)
        if (gpu_same(&r->listed[gpu], &replay_device(r->now, (gpu + i) % count)->id))
            found = replay_device(r->now, (gpu + i) % count);
    if (!found) {
        out->id = r->listed[gpu];
        gpu_mark_state(out, GPU_LOST, "no longer in the recording");
        return;
    }
    if (gpu_copy(out, found) < 0) {
        *out = (struct gpu){.id = r->listed[gpu]};
        gpu_mark_state(out, GPU_ERROR, "out of memory");
        return;
    }
    mark_as_foreign(r, out);
}

static void replay_driver(struct source *source, struct driver_info *out)
{
    *out = ((struct replay *)source)->now->driver;
}

static void replay_host(struct source *source, struct host *out)
{
    *out = ((struct replay *)source)->now->host;
}

static size_t replay_events(struct source *source, struct event *events, size_t max)
{
    struct replay *r = (struct replay *)source;
    size_t count = MIN_OF(max, r->event_count);
    memcpy(events, r->events, count * sizeof *events);
    r->event_count = 0;
    return count;
}

static void replay_describe(struct source *source, struct buf *out)
{
    struct replay *r = (struct replay *)source;
    const struct snapshot *s = r->now;
    struct replay_reader_facts facts = replay_reader_facts(r->reader);
    char at[WALL_TEXT_SIZE];
    wall_format(s->taken_at, at);
    buf_printf(out, "recording '%s' of host '%s', speed %g%s\n", r->path, s->host.name, r->speed, r->loop ? ", over and over" : "");
    buf_printf(out, "now at %.1f s: what was read at %s\n", r->now_s - r->lap_s, at);
    if (!r->next)
        buf_printf(out, "at the end: holds the last sample\n");
    for (size_t i = 0; i < s->source_count; i++)
        buf_printf(out, "recorded from %s (%s%s%s)\n", s->sources[i].name, source_state_name(s->sources[i].state),
                   s->sources[i].message[0] ? ": " : "", s->sources[i].message);
    if (facts.damaged)
        buf_printf(out, "%llu damaged samples were left out\n", (unsigned long long)facts.damaged);
    if (facts.torn && !r->next)
        buf_printf(out, "its end is cut off: the recorder was killed, or is still writing\n");
    if (r->trouble[0])
        buf_printf(out, "%s\n", r->trouble);
}

/* Shifted to the clock of this process, as if watched here. */
static struct snapshot *shifted(const struct replay *r, const struct snapshot *s, struct mono now, struct wall now_wall)
{
    struct snapshot *copy = snapshot_copy(s);
    if (!copy)
        return NULL;
    copy->taken_at.ms += r->shift_ms;
    copy->taken.ns = now.ns - (now_wall.ms - copy->taken_at.ms) * NS_PER_MS;
    verdict_free(TAKE(copy->verdict));
    for (size_t i = 0; i < copy->gpu_count; i++)
        mark_as_foreign(r, &copy->gpus[i]);
    for (size_t i = 0; i < MIN_OF(copy->event_count, (size_t)EVENTS_MAX); i++)
        copy->events[i].at.ms += r->shift_ms;
    return copy;
}

static void replay_past(const struct env *env, const char *params, void (*take)(void *user, struct snapshot *s), void *user)
{
    enum { USEFUL_S = 900 };
    struct replay r = {.speed = 1};
    struct error err = {0};
    struct wall now_wall = clock_wall(env->clock);
    struct mono now = clock_mono(env->clock);
    if (parse(&r, params, &err) < 0 || r.at_s <= 0 || replay_reader_open(r.path, &r.reader, &err) < 0)
        return;
    read_next(&r);
    if (r.next)
        r.shift_ms = now_wall.ms - r.next->taken_at.ms - (int64_t)(r.at_s * MS_PER_S);
    while (r.next && r.next_s < r.at_s) {
        struct snapshot *copy = r.at_s - r.next_s <= USEFUL_S ? shifted(&r, r.next, now, now_wall) : NULL;
        if (copy)
            take(user, copy);
        snapshot_unref(r.now);
        r.now = r.next;
        r.now_s = r.next_s;
        read_next(&r);
    }
    snapshot_unref(r.now);
    snapshot_unref(r.next);
    replay_reader_close(r.reader);
}

const struct source_ops replay_source = {
    .name = "replay",
    .what = "plays what `whirr record` wrote",
    .recorded = true,
    .check = replay_check,
    .open = replay_open,
    .list = replay_list,
    .refresh = replay_refresh,
    .sample = replay_sample,
    .driver = replay_driver,
    .host = replay_host,
    .past = replay_past,
    .events = replay_events,
    .changed = replay_changed,
    .describe = replay_describe,
    .close = replay_close,
};
