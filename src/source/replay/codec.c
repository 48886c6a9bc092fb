/* SPDX-License-Identifier: Apache-2.0
 * Writes and reads a whole snapshot in one walk: every function below returns the resulting value, which is its argument when
 * writing and the decoded value when reading. Failure is sticky.
 */
#include "source/replay/codec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"
#include "source/source.h"

struct coder {
    bool reading, failed;
    struct buf *out;                       /* writing */
    const unsigned char *at, *end;         /* reading */
    const struct recorded_columns *schema; /* reading */
    size_t processes, instances;           /* so far in this snapshot */
};

/* ---- Numbers, texts and readings ---- */

static uint64_t code_u64(struct coder *c, uint64_t value)
{
    if (!c->reading) {
        varint_put(c->out, value);
        return value;
    }
    if (c->failed || !varint_get(&c->at, c->end, &value)) {
        c->failed = true;
        return 0;
    }
    return value;
}

static uint64_t zigzag(int64_t n)
{
    return ((uint64_t)n << 1) ^ (uint64_t)(n >> 63);
}

static int64_t unzigzag(uint64_t n)
{
    return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

/* Wrapping. */
static int64_t coder_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t coder_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t code_i64(struct coder *c, int64_t now, int64_t before)
{
    return coder_plus(before, unzigzag(code_u64(c, zigzag(coder_minus(now, before)))));
}

/* A count or an enumeration: a number above `most` means damage. */
static uint64_t code_small(struct coder *c, uint64_t value, uint64_t most)
{
    value = code_u64(c, value);
    if (c->reading && value > most) {
        c->failed = true;
        return 0;
    }
    return value;
}

static void code_text(struct coder *c, char *text, size_t size)
{
    size_t len = code_small(c, c->reading ? 0 : strlen(text), size - 1);
    if (!c->reading) {
        buf_add(c->out, text, len);
        return;
    }
    if (c->failed || len > (size_t)(c->end - c->at)) {
        c->failed = true;
        return;
    }
    /* Recordings may come from strangers: remove control characters. */
    str_copy_clean(text, size, (struct str){(const char *)c->at, len});
    c->at += len;
}

#define CODE_TEXT(c, field) code_text(c, field, sizeof(field))

/* Up to 8 texts; codes the changed ones. */
static void code_texts(struct coder *c, char *const *texts, const char *const *before, const size_t *sizes, size_t count)
{
    uint64_t mask = 0;
    for (size_t i = 0; !c->reading && i < count; i++)
        if (strcmp(texts[i], before[i]) != 0)
            mask |= 1u << i;
    mask = code_small(c, mask, (1u << count) - 1);
    for (size_t i = 0; i < count; i++)
        if (mask & 1u << i)
            code_text(c, texts[i], sizes[i]);
}

static bool reading_same(struct reading a, struct reading b)
{
    return a.state == b.state && (a.value == b.value || a.state != READING_OK);
}

static void code_reading(struct coder *c, struct reading *now, struct reading before)
{
    bool state_changed = now->state != before.state;
    int64_t old = before.state == READING_OK ? before.value : 0, value = now->state == READING_OK ? now->value : 0;
    int64_t difference = coder_minus(value, old);
    /* One bit of the difference flags the state; a difference that needs all 64 bits is stored separately. */
    bool fits = difference >= INT64_MIN / 2 && difference <= INT64_MAX / 2;
    uint64_t tag = code_u64(c, (fits ? zigzag(difference) << 1 : 0) | (state_changed || !fits));
    if (!(tag & 1)) {
        *now = (struct reading){coder_plus(old, unzigzag(tag >> 1)), before.state};
        return;
    }
    uint64_t state = code_small(c, now->state | (fits ? 0u : 16u), READING_LAST | 16u);
    value = coder_plus(old, (state & 16) ? unzigzag(code_u64(c, zigzag(difference))) : unzigzag(tag >> 1));
    if ((state & 15) > READING_LAST)
        c->failed = true;
    else
        *now = (struct reading){(state & 15) == READING_OK ? value : 0, (enum reading_state)(state & 15)};
}

/* For each changed column: the number of columns skipped, and the reading. Only reading needs the map. */
static void code_readings(struct coder *c, struct reading *now, const struct reading *before, size_t count,
                          const struct column_map *map)
{
    size_t changed = 0, next = 0;
    for (size_t i = 0; !c->reading && i < count; i++)
        changed += !reading_same(now[i], before[i]);
    changed = code_small(c, changed, SCHEMA_COLUMNS_MAX);
    for (size_t i = 0, column = 0; i < changed && !c->failed; i++, next = column + 1) {
        if (!c->reading) {
            for (column = next; reading_same(now[column], before[column]);)
                column++;
            code_u64(c, column - next);
            code_reading(c, &now[column], before[column]);
            continue;
        }
        column = next + code_small(c, 0, SCHEMA_COLUMNS_MAX);
        struct reading unknown = {0};
        int here = column < map->count ? map->to[column] : -1;
        if (column >= map->count)
            c->failed = true;
        else
            code_reading(c, here < 0 ? &unknown : &now[here], here < 0 ? unknown : before[here]);
    }
}

static bool readings_same(const struct reading *a, const struct reading *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!reading_same(a[i], b[i]))
            return false;
    return true;
}

/* ---- A GPU with its processes and instances ---- */

enum {
    PROCESS_ID = 1,
    PROCESS_TEXTS = 2,
    PROCESS_METRICS = 4,
    PROCESS_BASIS = 8,
    PROCESS_DOES = 16,
    PROCESS_SHOWN = 32,
    PROCESS_PARENT = 64,
    PROCESS_IN_JOB = 128,
    PROCESS_RANK = 256,
    PROCESS_LIMITED = 512,
    PROCESS_ON_HOST = 1024,
    PROCESS_LEASED = 2048,
    PROCESS_ALL = 4095
};

static void code_process_texts(struct coder *c, struct process *p, const struct process *before)
{
    char *const now[] = {p->name, p->user, p->command, p->container, p->model};
    const char *const old[] = {before->name, before->user, before->command, before->container, before->model};
    const size_t sizes[] = {sizeof p->name, sizeof p->user, sizeof p->command, sizeof p->container, sizeof p->model};
    code_texts(c, now, old, sizes, ARRAY_LEN(now));
}

/* Added later than the texts above, whose number is fixed. */
static void code_process_shown(struct coder *c, struct process *p, const struct process *before)
{
    char *const now[] = {p->title, p->container_name};
    const char *const old[] = {before->title, before->container_name};
    const size_t sizes[] = {sizeof p->title, sizeof p->container_name};
    code_texts(c, now, old, sizes, ARRAY_LEN(now));
    p->container_name_state = (enum reading_state)code_small(c, p->container_name_state, READING_LAST);
}

/* A number, or its absence. */
static struct reading code_count(struct coder *c, struct reading r)
{
    uint64_t coded = code_small(c, r.state == READING_OK ? (uint64_t)r.value + 1 : 0, INT32_MAX);
    return coded ? reading_ok((int64_t)coded - 1) : (struct reading){0};
}

static bool limits_same(const struct process_limit *a, const struct process_limit *b)
{
    return a->code == b->code && a->share_permille == b->share_permille && a->over_ms == b->over_ms && a->second == b->second &&
           a->second_permille == b->second_permille && llround(a->confidence * 1000) == llround(b->confidence * 1000);
}

/* By name, which other versions know, too. */
static void code_limit_code(struct coder *c, enum limit *code)
{
    char name[48] = "";
    if (!c->reading)
        str_copy(name, sizeof name, str_from(*code ? limit_name(*code) : ""));
    CODE_TEXT(c, name);
    if (c->reading && !limit_from_name(name, code))
        *code = name[0] ? LIMIT_CANNOT_TELL : LIMIT_UNJUDGED;
}

static void code_limit(struct coder *c, struct process_limit *l)
{
    code_limit_code(c, &l->code);
    code_limit_code(c, &l->second);
    l->share_permille = (int64_t)code_small(c, (uint64_t)l->share_permille, 1000);
    l->second_permille = (int64_t)code_small(c, (uint64_t)l->second_permille, 1000);
    l->over_ms = code_i64(c, l->over_ms, 0);
    l->confidence = (double)code_small(c, (uint64_t)llround(l->confidence * 1000), 1000) / 1000;
}

static const struct host_evidence *evidence_of(const struct process *p)
{
    static const struct host_evidence nothing;
    return p->host ? p->host : &nothing;
}

static bool evidence_same(const struct process *one, const struct process *other)
{
    const struct host_evidence *a = evidence_of(one), *b = evidence_of(other);
    return !one->host == !other->host && a->state == b->state && a->looks == b->looks && a->over_ms == b->over_ms &&
           readings_same(a->metric, b->metric, EVIDENCE_COUNT) && strcmp(a->busiest_thread, b->busiest_thread) == 0 &&
           strcmp(a->busiest_child, b->busiest_child) == 0 && strcmp(a->compiler, b->compiler) == 0 &&
           strcmp(a->mount, b->mount) == 0 && strcmp(a->code, b->code) == 0 && strcmp(a->peer, b->peer) == 0 &&
           strcmp(a->collective, b->collective) == 0;
}

static void code_evidence(struct coder *c, struct process *p, const struct process *before)
{
    bool there = code_small(c, p->host != NULL, 1);
    if (c->reading && !there)
        process_done(p);
    if (!there || c->failed)
        return;
    struct host_evidence *h = process_evidence(p);
    const struct host_evidence *old = evidence_of(before);
    if (!h) {
        c->failed = true;
        return;
    }
    h->state = (enum reading_state)code_small(c, h->state, READING_LAST);
    h->looks = code_i64(c, h->looks, old->looks);
    h->over_ms = code_i64(c, h->over_ms, old->over_ms);
    code_readings(c, h->metric, old->metric, EVIDENCE_COUNT, c->schema ? &c->schema->evidence : NULL);
    /* Later versions append theirs. */
    char *const now[] = {h->busiest_thread, h->busiest_child, h->compiler, h->mount, h->code, h->peer, h->collective};
    const char *const was[] = {old->busiest_thread, old->busiest_child, old->compiler,  old->mount,
                               old->code,           old->peer,          old->collective};
    const size_t sizes[] = {sizeof h->busiest_thread, sizeof h->busiest_child, sizeof h->compiler,  sizeof h->mount,
                            sizeof h->code,           sizeof h->peer,          sizeof h->collective};
    code_texts(c, now, was, sizes, ARRAY_LEN(now));
}

static unsigned process_changes(const struct process *a, const struct process *b)
{
    unsigned mask = 0;
    if (a->start_key != b->start_key || a->started_at.ms != b->started_at.ms || a->visible != b->visible || a->type != b->type ||
        a->instance != b->instance)
        mask |= PROCESS_ID;
    if (strcmp(a->name, b->name) != 0 || strcmp(a->user, b->user) != 0 || strcmp(a->command, b->command) != 0 ||
        strcmp(a->container, b->container) != 0 || strcmp(a->model, b->model) != 0)
        mask |= PROCESS_TEXTS;
    if (!readings_same(a->metric, b->metric, PROCESS_METRIC_COUNT))
        mask |= PROCESS_METRICS;
    if (a->power_basis != b->power_basis)
        mask |= PROCESS_BASIS;
    if (a->activity != b->activity)
        mask |= PROCESS_DOES;
    if (strcmp(a->title, b->title) != 0 || strcmp(a->container_name, b->container_name) != 0 ||
        a->container_name_state != b->container_name_state)
        mask |= PROCESS_SHOWN;
    if (a->parent != b->parent || strcmp(a->parent_name, b->parent_name) != 0)
        mask |= PROCESS_PARENT;
    if (strcmp(a->job, b->job) != 0)
        mask |= PROCESS_IN_JOB;
    if (!reading_same(a->rank, b->rank) || !reading_same(a->world_size, b->world_size))
        mask |= PROCESS_RANK;
    if (!limits_same(&a->limit, &b->limit))
        mask |= PROCESS_LIMITED;
    if (!evidence_same(a, b))
        mask |= PROCESS_ON_HOST;
    if (strcmp(a->lease, b->lease) != 0 || a->without_lease != b->without_lease)
        mask |= PROCESS_LEASED;
    return mask;
}

static void code_process(struct coder *c, struct process *p, const struct process *before)
{
    unsigned mask = (unsigned)code_small(c, c->reading ? 0 : process_changes(p, before), PROCESS_ALL);
    if (mask & PROCESS_ID) {
        p->start_key = code_i64(c, p->start_key, before->start_key);
        p->started_at.ms = code_i64(c, p->started_at.ms, before->started_at.ms);
        p->visible = code_small(c, p->visible, 1);
        p->type = (enum process_type)code_small(c, p->type, PROCESS_BOTH);
        p->instance = (int32_t)code_small(c, (uint64_t)(MAX_OF(p->instance, -1) + 1), GPU_INSTANCES_MAX) - 1;
    }
    if (mask & PROCESS_TEXTS)
        code_process_texts(c, p, before);
    if (mask & PROCESS_METRICS)
        code_readings(c, p->metric, before->metric, PROCESS_METRIC_COUNT, c->schema ? &c->schema->process_metrics : NULL);
    if (mask & PROCESS_BASIS)
        p->power_basis = (enum power_basis)code_small(c, p->power_basis, POWER_BASIS_ONLY_PROCESS);
    if (mask & PROCESS_DOES)
        p->activity = (enum process_activity)code_small(c, p->activity, PROCESS_HOLDING);
    if (mask & PROCESS_SHOWN)
        code_process_shown(c, p, before);
    if (mask & PROCESS_PARENT) {
        p->parent = (int32_t)code_i64(c, p->parent, before->parent);
        CODE_TEXT(c, p->parent_name);
    }
    if (mask & PROCESS_IN_JOB)
        CODE_TEXT(c, p->job);
    if (mask & PROCESS_RANK) {
        p->rank = code_count(c, p->rank);
        p->world_size = code_count(c, p->world_size);
    }
    if (mask & PROCESS_LIMITED)
        code_limit(c, &p->limit);
    if (mask & PROCESS_ON_HOST)
        code_evidence(c, p, before);
    if (mask & PROCESS_LEASED) {
        CODE_TEXT(c, p->lease);
        p->without_lease = code_small(c, p->without_lease, 1);
    }
}

/* 1 + position of the same process in the previous list, searching from `guess` on; 0: new. */
static size_t find_before(const struct gpu *before, const struct process *p, size_t guess)
{
    for (size_t n = 0; n < before->process_count; n++) {
        size_t i = (guess + n) % before->process_count;
        if (before->processes[i].pid == p->pid && before->processes[i].start_key == p->start_key)
            return i + 1;
    }
    return 0;
}

static void code_processes(struct coder *c, struct gpu *now, const struct gpu *before)
{
    static const struct process no_process = {.instance = -1};
    size_t count = code_small(c, now->process_count, GPU_PROCESSES_MAX), guess = 0;
    c->processes += count;
    if (c->processes > RECORDED_PROCESSES_MAX)
        c->failed = true;
    for (size_t i = 0; i < count && !c->failed; i++) {
        struct process *p = c->reading ? gpu_add_process(now, 0) : &now->processes[i];
        if (!p) {
            c->failed = true;
            return;
        }
        size_t which = code_small(c, c->reading ? 0 : find_before(before, p, guess), before->process_count);
        const struct process *old = which ? &before->processes[which - 1] : &no_process;
        guess = which;
        if (c->reading)
            process_copy(p, old);
        if (!which)
            p->pid = (int32_t)code_i64(c, p->pid, 0);
        code_process(c, p, old);
    }
}

static bool processes_same(const struct gpu *a, const struct gpu *b)
{
    if (a->process_count != b->process_count)
        return false;
    for (size_t i = 0; i < a->process_count; i++)
        if (a->processes[i].pid != b->processes[i].pid || process_changes(&a->processes[i], &b->processes[i]))
            return false;
    return true;
}

enum {
    GPU_ID = 1,
    GPU_STATE = 2,
    GPU_METRICS = 4,
    GPU_PROPERTIES = 8,
    GPU_PROCESS_FACTS = 16,
    GPU_PROCESS_LIST = 32,
    GPU_INSTANCE_LIST = 64,
    GPU_ACTIVITY = 128,
    GPU_LEASED = 256,
    GPU_SET = 512,
    GPU_CHECKED = 1024,
    GPU_SECTIONS = 2047
};

static bool property_same(const struct property_text *a, const struct property_text *b)
{
    return a->state == b->state && strcmp(a->value, b->value) == 0;
}

static void code_property(struct coder *c, struct property_text *p)
{
    p->state = (enum reading_state)code_small(c, p->state, READING_LAST);
    CODE_TEXT(c, p->value);
}

static void code_properties(struct coder *c, struct gpu *now, const struct gpu *before)
{
    size_t changed = 0;
    for (size_t i = 0; !c->reading && i < PROPERTY_COUNT; i++)
        changed += !property_same(&now->property[i], &before->property[i]);
    changed = code_small(c, changed, SCHEMA_COLUMNS_MAX);
    for (size_t i = 0; !c->reading && i < PROPERTY_COUNT; i++)
        if (!property_same(&now->property[i], &before->property[i])) {
            code_u64(c, i);
            code_property(c, &now->property[i]);
        }
    for (size_t i = 0; c->reading && i < changed && !c->failed; i++) {
        size_t column = code_u64(c, 0);
        struct property_text unknown = {0};
        if (column >= c->schema->properties.count) {
            c->failed = true;
            return;
        }
        int here = c->schema->properties.to[column];
        code_property(c, here < 0 ? &unknown : &now->property[here]);
    }
}

static bool activity_same(const struct activity *a, const struct activity *b)
{
    return a->code == b->code && a->symptoms == b->symptoms && a->throttled_by == b->throttled_by && a->bursts == b->bursts &&
           readings_same(&a->load_permille, &b->load_permille, 1);
}

static void code_activity(struct coder *c, struct activity *now, const struct activity *before)
{
    now->code = (enum activity_code)code_small(c, now->code, ACTIVITY_COUNT - 1);
    now->symptoms = (unsigned)code_small(c, now->symptoms, (1u << SYMPTOM_COUNT) - 1);
    now->throttled_by = (int64_t)code_small(c, (uint64_t)now->throttled_by, (1u << THROTTLE_COUNT) - 1);
    now->bursts = code_small(c, now->bursts, 1);
    now->load_permille.state = (enum reading_state)code_small(c, now->load_permille.state, READING_LAST);
    now->load_permille.value = code_i64(c, now->load_permille.value, before->load_permille.value);
}

static void code_lease(struct coder *c, struct gpu_lease *l)
{
    CODE_TEXT(c, l->id);
    CODE_TEXT(c, l->user);
    CODE_TEXT(c, l->holder);
    l->reserved = code_small(c, l->reserved, 1);
    l->until.ms = code_i64(c, l->until.ms, 0);
}

static bool leases_same(const struct gpu_lease *a, const struct gpu_lease *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->holder, b->holder) == 0 && strcmp(a->changes, b->changes) == 0 &&
           a->until.ms == b->until.ms;
}

enum { CHECK_CODES = 15 }; /* levels and verdicts */

static void code_check(struct coder *c, struct gpu_check *k)
{
    k->at.ms = code_i64(c, k->at.ms, 0);
    k->level = (int)code_small(c, (uint64_t)k->level, CHECK_CODES);
    k->verdict = (int)code_small(c, (uint64_t)k->verdict, CHECK_CODES);
    k->running = (int32_t)code_small(c, (uint64_t)k->running, INT32_MAX);
    CODE_TEXT(c, k->words);
}

static bool checks_same(const struct gpu_check *a, const struct gpu_check *b)
{
    return a->at.ms == b->at.ms && a->running == b->running && a->verdict == b->verdict && strcmp(a->words, b->words) == 0;
}

static bool gpus_same(const struct gpu *a, const struct gpu *b);

static unsigned gpu_changes(const struct gpu *a, const struct gpu *b)
{
    unsigned mask = 0;
    if (strcmp(a->id.uuid, b->id.uuid) != 0 || strcmp(a->id.pci_address, b->id.pci_address) != 0 ||
        strcmp(a->id.name, b->id.name) != 0 || strcmp(a->id.vendor, b->id.vendor) != 0)
        mask |= GPU_ID;
    if (a->index != b->index || a->simulated != b->simulated || a->state != b->state || strcmp(a->source, b->source) != 0 ||
        strcmp(a->error_message, b->error_message) != 0 || strcmp(a->profile, b->profile) != 0)
        mask |= GPU_STATE;
    if (!readings_same(a->metric, b->metric, METRIC_COUNT))
        mask |= GPU_METRICS;
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (!property_same(&a->property[i], &b->property[i]))
            mask |= GPU_PROPERTIES;
    if (a->processes_state != b->processes_state || a->processes_left_out != b->processes_left_out ||
        a->processes_hidden != b->processes_hidden)
        mask |= GPU_PROCESS_FACTS;
    if (!processes_same(a, b))
        mask |= GPU_PROCESS_LIST;
    if (!activity_same(&a->activity, &b->activity))
        mask |= GPU_ACTIVITY;
    if (!leases_same(&a->lease, &b->lease))
        mask |= GPU_LEASED;
    if (!leases_same(&a->settings, &b->settings))
        mask |= GPU_SET;
    if (!checks_same(&a->check, &b->check))
        mask |= GPU_CHECKED;
    if (a->instance_count != b->instance_count)
        mask |= GPU_INSTANCE_LIST;
    for (size_t i = 0; !(mask & GPU_INSTANCE_LIST) && i < a->instance_count; i++)
        if (!gpus_same(&a->instances[i], &b->instances[i]))
            mask |= GPU_INSTANCE_LIST;
    return mask;
}

static bool gpus_same(const struct gpu *a, const struct gpu *b)
{
    return gpu_changes(a, b) == 0;
}

static void code_gpu(struct coder *c, struct gpu *now, const struct gpu *before, bool is_instance);

static void code_instances(struct coder *c, struct gpu *now, const struct gpu *before)
{
    static const struct gpu none;
    size_t count = code_small(c, now->instance_count, GPU_INSTANCES_MAX);
    c->instances += count;
    if (c->instances > RECORDED_INSTANCES_MAX)
        c->failed = true;
    for (size_t i = 0; i < count && !c->failed; i++) {
        struct gpu *instance = c->reading ? gpu_add_instance(now) : &now->instances[i];
        if (!instance) {
            c->failed = true;
            return;
        }
        code_gpu(c, instance, i < before->instance_count ? &before->instances[i] : &none, true);
    }
}

/* When reading, a GPU starts as a copy of the previous one; changed lists are rebuilt. */
static void start_gpu(struct coder *c, struct gpu *now, const struct gpu *before, unsigned mask)
{
    struct gpu lists = *before;
    if (mask & GPU_PROCESS_LIST)
        lists.process_count = 0;
    if (mask & GPU_INSTANCE_LIST)
        lists.instance_count = 0;
    c->processes += lists.process_count;
    c->instances += lists.instance_count;
    for (size_t i = 0; i < lists.instance_count; i++)
        c->processes += lists.instances[i].process_count;
    if (c->processes > RECORDED_PROCESSES_MAX || c->instances > RECORDED_INSTANCES_MAX || gpu_copy(now, &lists) < 0) {
        *now = (struct gpu){0};
        c->failed = true;
    }
}

static void code_gpu_state(struct coder *c, struct gpu *now)
{
    now->index = (int)code_small(c, (uint64_t)MAX_OF(now->index, 0), GPU_MAX - 1);
    now->simulated = code_small(c, now->simulated, 1);
    now->state = (enum gpu_state)code_small(c, now->state, GPU_LOST);
    CODE_TEXT(c, now->source);
    CODE_TEXT(c, now->error_message);
    CODE_TEXT(c, now->profile);
}

static void code_gpu(struct coder *c, struct gpu *now, const struct gpu *before, bool is_instance)
{
    unsigned mask = (unsigned)code_small(c, c->reading ? 0 : gpu_changes(now, before), GPU_SECTIONS);
    if (c->reading)
        start_gpu(c, now, before, mask);
    if (is_instance && (mask & GPU_INSTANCE_LIST)) /* instances have no instances */
        c->failed = true;
    if (c->failed)
        return;
    if (mask & GPU_ID) {
        CODE_TEXT(c, now->id.uuid);
        CODE_TEXT(c, now->id.pci_address);
        CODE_TEXT(c, now->id.name);
        CODE_TEXT(c, now->id.vendor);
    }
    if (mask & GPU_STATE)
        code_gpu_state(c, now);
    if (mask & GPU_METRICS)
        code_readings(c, now->metric, before->metric, METRIC_COUNT, c->schema ? &c->schema->metrics : NULL);
    if (mask & GPU_PROPERTIES)
        code_properties(c, now, before);
    if (mask & GPU_PROCESS_FACTS) {
        now->processes_state = (enum reading_state)code_small(c, now->processes_state, READING_LAST);
        now->processes_left_out = code_u64(c, now->processes_left_out);
        now->processes_hidden = code_u64(c, now->processes_hidden);
    }
    if (mask & GPU_PROCESS_LIST)
        code_processes(c, now, before);
    if (mask & GPU_INSTANCE_LIST)
        code_instances(c, now, before);
    if (mask & GPU_ACTIVITY)
        code_activity(c, &now->activity, &before->activity);
    if (mask & GPU_LEASED)
        code_lease(c, &now->lease);
    if (mask & GPU_SET) {
        code_lease(c, &now->settings);
        CODE_TEXT(c, now->settings.changes);
    }
    if (mask & GPU_CHECKED)
        code_check(c, &now->check);
    /* Used as an index into the list: check it. */
    for (size_t i = 0; c->reading && i < now->process_count; i++)
        if (now->processes[i].instance >= (int32_t)now->instance_count)
            now->processes[i].instance = -1;
}

/* ---- The snapshot ---- */

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
