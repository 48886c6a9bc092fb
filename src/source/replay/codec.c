/* SPDX-License-Identifier: Apache-2.0
 * Writes and reads a whole snapshot in one walk.
 */
#include "source/replay/codec.h"

#include <errno.h>
#include <string.h>

#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"
#include "source/replay/coder.h"
#include "source/source.h"

enum {
    SNAPSHOT_SETTINGS = 1,
    SNAPSHOT_HOST = 2,
    SNAPSHOT_DRIVER = 4,
    SNAPSHOT_SOURCES = 8,
    SNAPSHOT_EVENTS = 16,
    SNAPSHOT_VERDICT = 32,
    SNAPSHOT_ALL = 63
};

static void code_host(struct coder *c, struct host *now, const struct host *before)
{
    char *const texts[] = {now->name};
    const char *const before_texts[] = {before->name};
    const size_t sizes[] = {sizeof now->name};
    code_texts(c, texts, before_texts, sizes, 1);
    code_readings(c, now->metric, before->metric, HOST_METRIC_COUNT, c->schema ? &c->schema->host : NULL);
}

static void code_driver(struct coder *c, struct driver_info *d)
{
    CODE_TEXT(c, d->driver_version);
    CODE_TEXT(c, d->cuda_version);
    CODE_TEXT(c, d->nvml_version);
    CODE_TEXT(c, d->error_message);
}

/* Not recorded: a property of the source. */
static void name_driver(struct source_status *s)
{
    const struct source_ops *ops = source_find(str_from(s->name));
    s->names_driver = ops && ops->names_driver;
}

static void code_sources(struct coder *c, struct snapshot *now)
{
    now->source_count = code_small(c, now->source_count, SOURCES_MAX);
    for (size_t i = 0; i < now->source_count; i++) {
        struct source_status *s = &now->sources[i];
        CODE_TEXT(c, s->name);
        s->state = (enum source_state)code_small(c, s->state, SOURCE_ASLEEP);
        s->gpu_count = (int)code_small(c, (uint64_t)MAX_OF(s->gpu_count, 0), GPU_MAX);
        s->errors_total = code_u64(c, s->errors_total);
        s->consecutive_errors = (uint32_t)code_small(c, s->consecutive_errors, UINT32_MAX);
        s->init_failures_total = code_u64(c, s->init_failures_total);
        CODE_TEXT(c, s->message);
        name_driver(s);
    }
}

/* 1 + index of an existing GPU; 0: none. */
static uint64_t event_gpu(const struct snapshot *s, int index)
{
    return index >= 0 && (size_t)index < s->gpu_count ? (uint64_t)index + 1 : 0;
}

static void code_events(struct coder *c, struct snapshot *now)
{
    now->event_count = code_small(c, now->event_count, EVENTS_MAX);
    for (size_t i = 0; i < now->event_count; i++) {
        struct event *e = &now->events[i];
        e->kind = (enum event_kind)code_small(c, e->kind, EVENT_OTHER);
        e->gpu_index = (int)code_small(c, event_gpu(now, e->gpu_index), now->gpu_count) - 1;
        e->code = code_i64(c, e->code, 0);
        e->at.ms = code_i64(c, e->at.ms, now->taken_at.ms);
        CODE_TEXT(c, e->text);
    }
}

/* By name, which other versions know, too; "": a code of a newer version. */
static void code_finding_code(struct coder *c, finding_code *code)
{
    char name[48] = "";
    if (!c->reading)
        str_copy(name, sizeof name, str_from(finding_code_name(*code)));
    CODE_TEXT(c, name);
    if (c->reading && !finding_code_from_name(name, code))
        *code = FINDING_CANNOT_KNOW;
}

/* From the lowest bit: muted, tense, effect, the two shares (0: absent). Older versions wrote only `muted` here. */
static void code_flags(struct coder *c, struct finding *f)
{
    struct reading *const shares[] = {&f->share_minute_permille, &f->share_ten_permille};
    uint64_t flags = (uint64_t)f->muted | (uint64_t)f->tense << 1 | (uint64_t)f->is_effect << 3;
    for (unsigned i = 0; i < ARRAY_LEN(shares); i++)
        flags |= (uint64_t)(MIN_OF(reading_or(*shares[i], -1), (int64_t)1000) + 1) << (4 + 10 * i);
    flags = code_small(c, flags, (1 << 24) - 1);
    f->muted = flags & 1;
    f->tense = (enum tense)(flags >> 1 & 3);
    f->is_effect = flags >> 3 & 1;
    for (unsigned i = 0; i < ARRAY_LEN(shares); i++) {
        int64_t share = (int64_t)(flags >> (4 + 10 * i) & 1023);
        *shares[i] = share ? reading_ok(share - 1) : (struct reading){0};
    }
}

static void code_finding(struct coder *c, struct finding *f, struct wall taken_at)
{
    code_finding_code(c, &f->code);
    f->severity = (enum severity)code_small(c, f->severity, SEVERITY_CRITICAL);
    code_flags(c, f);
    f->confidence = (double)code_small(c, (uint64_t)(f->confidence * 1000 + 0.5), 1000) / 1000;
    f->gpu_index = (int)code_small(c, (uint64_t)(f->gpu_index + 1), GPU_MAX) - 1;
    f->pid = (int32_t)code_small(c, (uint64_t)MAX_OF(f->pid, 0), INT32_MAX);
    f->since.ms = code_i64(c, f->since.ms, taken_at.ms);
    if (f->is_effect)
        code_finding_code(c, &f->root);
    if (f->tense == TENSE_WAS)
        f->until.ms = code_i64(c, f->until.ms, taken_at.ms);
    f->power_mw = code_i64(c, f->power_mw, 0);
    CODE_TEXT(c, f->headline);
}

static void code_number(struct coder *c, struct reading *r)
{
    r->state = (enum reading_state)code_small(c, r->state, READING_LAST);
    r->value = code_i64(c, r->value, 0);
}

/* Only a daemon sends it; recordings are judged on playback. */
static void code_verdict(struct coder *c, struct snapshot *now)
{
    size_t count = code_small(c, c->reading ? 0 : now->verdict->count, FINDINGS_PER_GPU * (now->gpu_count + 2));
    if (c->reading && !c->failed)
        now->verdict = verdict_new(now->gpu_count, count);
    if (c->failed || !now->verdict) {
        c->failed = true;
        return;
    }
    now->verdict->count = count;
    now->verdict->missing_count = code_small(c, now->verdict->missing_count, GPU_MAX);
    for (size_t i = 0; i < count; i++)
        code_finding(c, &now->verdict->findings[i], now->taken_at);
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct gpu_looked *l = &now->verdict->gpus[i];
        l->gpu_index = (int)code_small(c, (uint64_t)(l->gpu_index + 1), GPU_MAX) - 1;
        l->looked = (unsigned)code_small(c, l->looked, (1u << AREA_COUNT) - 1);
        CODE_TEXT(c, l->missing);
        code_number(c, &l->health_level);
        code_number(c, &l->vram_full_seconds);
        code_number(c, &l->throttle_seconds);
        code_number(c, &l->xid);
    }
}

static bool sources_same(const struct snapshot *a, const struct snapshot *b)
{
    if (a->source_count != b->source_count)
        return false;
    for (size_t i = 0; i < a->source_count; i++) {
        const struct source_status *x = &a->sources[i], *y = &b->sources[i];
        if (strcmp(x->name, y->name) != 0 || x->state != y->state || x->gpu_count != y->gpu_count ||
            x->errors_total != y->errors_total || x->consecutive_errors != y->consecutive_errors ||
            x->init_failures_total != y->init_failures_total || strcmp(x->message, y->message) != 0)
            return false;
    }
    return true;
}

static unsigned snapshot_changes(struct snapshot *a, const struct snapshot *b)
{
    unsigned mask = (a->event_count ? SNAPSHOT_EVENTS : 0) | (a->verdict ? SNAPSHOT_VERDICT : 0);
    if (a->groups != b->groups || memcmp(&a->interval_s, &b->interval_s, sizeof a->interval_s) != 0)
        mask |= SNAPSHOT_SETTINGS;
    if (strcmp(a->host.name, b->host.name) != 0)
        mask |= SNAPSHOT_HOST;
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        if (!reading_same(a->host.metric[i], b->host.metric[i]))
            mask |= SNAPSHOT_HOST;
    if (strcmp(a->driver.driver_version, b->driver.driver_version) != 0 ||
        strcmp(a->driver.cuda_version, b->driver.cuda_version) != 0 ||
        strcmp(a->driver.nvml_version, b->driver.nvml_version) != 0 ||
        strcmp(a->driver.error_message, b->driver.error_message) != 0)
        mask |= SNAPSHOT_DRIVER;
    if (!sources_same(a, b))
        mask |= SNAPSHOT_SOURCES;
    return mask;
}

static void code_settings(struct coder *c, struct snapshot *now, const struct snapshot *before)
{
    uint64_t bits;
    memcpy(&bits, &now->interval_s, sizeof bits);
    now->groups = (unsigned)code_small(c, now->groups, GROUP_ALL);
    bits = code_u64(c, bits);
    memcpy(&now->interval_s, &bits, sizeof bits);
    if (c->reading && !(now->interval_s >= 0 && now->interval_s <= 1e9)) /* rejects NaN, too */
        now->interval_s = before->interval_s;
}

static void code_times(struct coder *c, struct snapshot *now, const struct snapshot *before)
{
    now->sequence = (uint64_t)code_i64(c, (int64_t)now->sequence, coder_plus((int64_t)before->sequence, 1));
    now->taken_at.ms = code_i64(c, now->taken_at.ms, before->taken_at.ms);
    /* The two clocks run alike: encode only their difference. */
    int64_t passed = (int64_t)((uint64_t)coder_minus(now->taken_at.ms, before->taken_at.ms) * NS_PER_MS);
    now->taken.ns = code_i64(c, now->taken.ns, coder_plus(before->taken.ns, passed));
}

/* Last, and only if there are any: readers that don't know them read everything before. */
static void code_accelerators(struct coder *c, struct snapshot *now, const struct snapshot *before)
{
    static const struct gpu none;
    if (c->failed || (c->reading ? c->at == c->end : now->accelerator_count == 0))
        return;
    size_t count = code_small(c, now->accelerator_count, GPU_MAX);
    if (c->reading && !c->failed && snapshot_add_accelerators(now, count) < 0)
        c->failed = true;
    for (size_t i = 0; i < count && !c->failed; i++) {
        struct gpu *one = &now->accelerators[i];
        code_gpu(c, one, i < before->accelerator_count ? &before->accelerators[i] : &none, false);
        one->id.kind = (enum device_kind)code_small(c, one->id.kind, DEVICE_ACCELERATOR);
    }
}

static void code_snapshot(struct coder *c, struct snapshot *now, const struct snapshot *before)
{
    static const struct gpu none;
    code_times(c, now, before);
    unsigned mask = (unsigned)code_small(c, c->reading ? 0 : snapshot_changes(now, before), SNAPSHOT_ALL);
    if (mask & SNAPSHOT_SETTINGS)
        code_settings(c, now, before);
    if (mask & SNAPSHOT_HOST)
        code_host(c, &now->host, &before->host);
    if (mask & SNAPSHOT_DRIVER)
        code_driver(c, &now->driver);
    if (mask & SNAPSHOT_SOURCES)
        code_sources(c, now);
    if (mask & SNAPSHOT_EVENTS)
        code_events(c, now);
    for (size_t i = 0; i < now->gpu_count && !c->failed; i++)
        code_gpu(c, &now->gpus[i], i < before->gpu_count ? &before->gpus[i] : &none, false);
    for (size_t i = 0; i < now->gpu_count && c->reading; i++) {
        const struct source_status *source = snapshot_source(now, now->gpus[i].source);
        now->gpus[i].released = source && source->state == SOURCE_RELEASED;
    }
    if (mask & SNAPSHOT_VERDICT)
        code_verdict(c, now);
    code_accelerators(c, now, before);
}

/* Beyond a recording's limits: count the rest, as a source does. */
static void shorten(struct snapshot *s)
{
    size_t processes = 0, instances = 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        struct gpu *g = &s->gpus[i];
        size_t room = RECORDED_PROCESSES_MAX - processes;
        if (g->process_count > room) {
            g->processes_left_out += g->process_count - room;
            gpu_cut_processes(g, room);
        }
        processes += g->process_count;
        while (instances + g->instance_count > RECORDED_INSTANCES_MAX)
            gpu_done(&g->instances[--g->instance_count]);
        instances += g->instance_count;
        /* Instances share the process list of their card; a second list would count twice. */
        for (size_t k = 0; k < g->instance_count; k++) {
            size_t left = RECORDED_PROCESSES_MAX - processes;
            gpu_cut_processes(&g->instances[k], left);
            processes += g->instances[k].process_count;
        }
    }
    for (size_t i = 0; i < s->accelerator_count; i++) {
        gpu_cut_processes(&s->accelerators[i], RECORDED_PROCESSES_MAX - processes);
        processes += s->accelerators[i].process_count;
    }
}

static const struct snapshot *nothing_before(void)
{
    static const struct snapshot nothing;
    return &nothing;
}

void snapshot_encode(struct buf *out, struct snapshot *now, const struct snapshot *before)
{
    struct coder c = {.out = out};
    shorten(now);
    code_u64(&c, now->gpu_count);
    code_snapshot(&c, now, before ? before : nothing_before());
    if (c.failed)
        out->failed = true;
}

int snapshot_decode(const unsigned char *payload, size_t len, const struct recorded_columns *schema, const struct snapshot *before,
                    struct snapshot **ret)
{
    struct coder c = {.reading = true, .at = payload, .end = payload + len, .schema = schema};
    if (!before)
        before = nothing_before();
    size_t count = code_small(&c, 0, GPU_MAX);
    if (c.failed)
        return -EBADMSG;
    struct snapshot *now = snapshot_new(count);
    if (!now)
        return -ENOMEM;
    now->groups = before->groups;
    now->interval_s = before->interval_s;
    now->host = before->host;
    now->driver = before->driver;
    memcpy(now->sources, before->sources, sizeof now->sources);
    now->source_count = before->source_count;
    code_snapshot(&c, now, before);
    if (c.failed) {
        snapshot_unref(now);
        return -EBADMSG;
    }
    *ret = now;
    return 0;
}
