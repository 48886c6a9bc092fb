/* SPDX-License-Identifier: Apache-2.0
 * Asks the judge again, reading by reading.
 */
#include "insight/view/why.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/facts/facts.h"
#include "insight/verdict/health_memory.h"

enum { GPUS_TRIED_MAX = 4 };

struct proof_trial {
    struct snapshot *s; /* a copy to move readings in */
    const struct judge_basis *basis;
    finding_code code;
    int gpu_index;
    bool is_found, failed;
};

static bool finds(struct proof_trial *t)
{
    struct judge_basis basis = *t->basis;
    struct health_history *memory = health_history_new();
    basis.presence = NULL;
    basis.cards = memory;
    activity_fill(t->s, basis.past);
    struct verdict *v = memory ? verdict_make(t->s, &basis, NULL) : NULL;
    bool found = v && verdict_find(v, t->gpu_index, t->code);
    t->failed |= !v;
    verdict_free(v);
    health_history_free(memory);
    return found;
}

static bool flips_with(struct proof_trial *t, struct reading *at, struct reading with)
{
    struct reading before = *at;
    *at = with;
    bool flips = finds(t) != t->is_found;
    *at = before;
    return flips;
}

static bool flips_at(struct proof_trial *t, struct reading *at, int64_t value)
{
    return flips_with(t, at, reading_ok(value));
}

/* What people tell apart. */
static int64_t step_of(const struct metric_info *m)
{
    switch (m->range) {
    case RANGE_HEAT:
    case RANGE_MARGIN:
    case RANGE_POWER:
    case RANGE_CLOCK: return 1000;
    case RANGE_SHARE:
    case RANGE_FAN: return 10;
    case RANGE_BYTES:
    case RANGE_FLOW: return 1 << 20;
    default: return 1;
    }
}

static int64_t range_end(const struct metric_info *m, bool upper)
{
    static const struct {
        int64_t least, most;
    } ends[RANGE_COUNT] = {
#define RANGE(name, least, most) [RANGE_##name] = {least, most},
#include "model/ranges.def"
#undef RANGE
    };
    return upper ? ends[m->range].most : ends[m->range].least;
}

/* Between one that does not flip it and one that does, as near to the first as people can tell. */
static int64_t narrow(struct proof_trial *t, struct reading *at, int64_t same, int64_t other, int64_t step)
{
    while (llabs(other - same) > step) {
        int64_t middle = same + (other - same) / 2;
        if (flips_at(t, at, middle))
            other = middle;
        else
            same = middle;
    }
    /* The next round number, where it flips it as well. */
    int64_t round = other > same ? (same / step + 1) * step : (same - 1) / step * step;
    return flips_at(t, at, round) ? round : other;
}

/* The nearest value in one direction. */
static bool turn_towards(struct proof_trial *t, struct reading *at, const struct metric_info *m, bool up, int64_t *ret)
{
    static const int tenths[] = {1, 3, 10, 30, 100};
    int64_t from = reading_or(*at, 0), end = range_end(m, up), last = from, step = step_of(m);
    for (size_t i = 0; i <= ARRAY_LEN(tenths); i++) {
        int64_t far = i < ARRAY_LEN(tenths) ? MAX_OF(from / 10 * tenths[i], (int64_t)tenths[i] * step) : INT64_MAX;
        int64_t value = up ? (far > end - from ? end : from + far) : (far > from - end ? end : from - far);
        if (value == last)
            continue;
        if (flips_at(t, at, value)) {
            *ret = narrow(t, at, last, value, step);
            return true;
        }
        last = value;
    }
    return false;
}

static bool turn_bits(struct proof_trial *t, struct reading *at, int64_t *ret)
{
    int64_t bits = reading_or(*at, 0);
    for (int i = 0; i < THROTTLE_COUNT; i++)
        if (flips_at(t, at, bits ^ 1 << i)) {
            *ret = bits ^ 1 << i;
            return true;
        }
    *ret = 0;
    return bits && flips_at(t, at, 0);
}

static bool turn_code(struct proof_trial *t, struct reading *at, const struct metric_info *m, int64_t *ret)
{
    enum { CODES_TRIED = 16 };
    for (int64_t i = range_end(m, false); i <= range_end(m, true) && i < CODES_TRIED; i++)
        if (i != reading_or(*at, -1) && flips_at(t, at, i)) {
            *ret = i;
            return true;
        }
    return false;
}

static bool find_turn(struct proof_trial *t, struct reading *at, const struct metric_info *m, int64_t *ret)
{
    int64_t up = 0, down = 0, from = reading_or(*at, 0);
    if (m->kind == KIND_THROTTLE)
        return turn_bits(t, at, ret);
    if (m->kind != KIND_NUMBER)
        return turn_code(t, at, m, ret);
    bool has_up = turn_towards(t, at, m, true, &up), has_down = turn_towards(t, at, m, false, &down);
    *ret = has_up && (!has_down || up - from <= from - down) ? up : down;
    return has_up || has_down;
}

static void keep(struct proof *p, const struct proof_reading *r)
{
    size_t at = p->count;
    while (at > 0 && p->readings[at - 1].distance > r->distance)
        at--;
    if (at == PROOF_READINGS_MAX)
        return;
    size_t kept = MIN_OF(p->count, (size_t)PROOF_READINGS_MAX - 1);
    for (size_t i = kept; i > at; i--)
        p->readings[i] = p->readings[i - 1];
    p->readings[at] = *r;
    p->count = kept + 1;
}

static void try_reading(struct proof_trial *t, struct reading *at, const struct metric_info *m, int64_t age_ms, bool of_host,
                        struct proof *p)
{
    struct proof_reading r = {.info = m, .of_host = of_host, .value = *at, .age_ms = age_ms};
    bool read = at->state == READING_OK;
    r.needed = read && flips_with(t, at, reading_absent(READING_UNREAD));
    r.turns = m->group != GROUP_STATIC && find_turn(t, at, m, &r.turn); /* limits of the part don't move */
    if (!r.needed && !r.turns)
        return;
    /* A move of what was read comes before one of what was not, and that before having no reading. */
    double whole = (double)MAX_OF(llabs(r.value.value), step_of(m));
    r.distance = !r.turns ? 1e12 : !read ? 1e9 : m->kind == KIND_NUMBER ? (double)llabs(r.turn - r.value.value) / whole : 1;
    keep(p, &r);
}

/* Where several readings say the same, none decides alone: the fewest without which it would not be said. */
static void try_together(struct proof_trial *t, struct gpu *gpu, struct proof *p)
{
    struct reading before[METRIC_COUNT];
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        before[i] = gpu->metric[i];
        gpu->metric[i] = reading_absent(READING_UNREAD);
    }
    p->together = !finds(t);
    for (size_t k = 0; k < 2 * METRIC_COUNT; k++) { /* limits of the part first: they stay */
        size_t i = k % METRIC_COUNT;
        if ((k < METRIC_COUNT) != (metric_table[i].group == GROUP_STATIC))
            continue;
        gpu->metric[i] = before[i];
        if (!p->together || before[i].state != READING_OK || !finds(t))
            continue;
        gpu->metric[i] = reading_absent(READING_UNREAD);
        keep(p, &(struct proof_reading){.info = &metric_table[i],
                                        .value = before[i],
                                        .age_ms = gpu_metric_age_ms(gpu, &metric_table[i], t->s->taken),
                                        .needed = true,
                                        .distance = (double)i});
    }
    for (size_t i = 0; i < METRIC_COUNT; i++)
        gpu->metric[i] = before[i];
}

static int prove_for(struct proof_trial *t, struct gpu *gpu, struct proof *p)
{
    *p = (struct proof){.code = t->code, .gpu_index = gpu ? gpu->index : -1};
    t->gpu_index = p->gpu_index;
    t->is_found = finds(t);
    for (size_t i = 0; gpu && i < METRIC_COUNT && !t->failed; i++)
        try_reading(t, &gpu->metric[i], &metric_table[i], gpu_metric_age_ms(gpu, &metric_table[i], t->s->taken), false, p);
    for (size_t i = 0; i < HOST_METRIC_COUNT && !t->failed; i++)
        try_reading(t, &t->s->host.metric[i], &host_metric_table[i], host_metric_age_ms(&t->s->host, i, t->s->taken), true, p);
    if (gpu && t->is_found && !p->count && !t->failed)
        try_together(t, gpu, p);
    return t->failed ? -ENOMEM : 0;
}

static double nearest(const struct proof *p)
{
    return p->count ? p->readings[0].distance : 1e15;
}

/* The position of the GPU that has it; ALL_GPUS: none, or the host has it. */
static int who_has(const struct snapshot *now, const struct verdict *v, finding_code code, const struct finding **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < v->count && !*ret; i++)
        if (v->findings[i].code == code)
            *ret = &v->findings[i];
    for (size_t i = 0; *ret && i < now->gpu_count; i++)
        if (now->gpus[i].index == (*ret)->gpu_index)
            return (int)i;
    return ALL_GPUS;
}

static int prove_in(struct proof_trial *t, const struct verdict *v, int only, struct proof *ret)
{
    const struct snapshot *now = t->s;
    const struct finding *found;
    struct proof next;
    int at = who_has(now, v, t->code, &found), rc;
    if (only != ALL_GPUS) {
        at = only;
        found = verdict_find(v, now->gpus[only].index, t->code);
    }
    if (found || only != ALL_GPUS || now->gpu_count == 0) {
        rc = prove_for(t, at == ALL_GPUS ? NULL : &t->s->gpus[at], ret);
        ret->said = found != NULL;
        if (found)
            ret->found = *found;
        ret->by_moment = found && t->is_found;
        return rc;
    }
    rc = prove_for(t, &t->s->gpus[0], ret);
    for (size_t i = 1; rc == 0 && i < now->gpu_count && i < GPUS_TRIED_MAX; i++) {
        rc = prove_for(t, &t->s->gpus[i], &next);
        if (nearest(&next) < nearest(ret))
            *ret = next;
    }
    return rc;
}

int proof_make(const struct snapshot *now, const struct judge_basis *basis, int only, finding_code code, struct proof *ret)
{
    struct proof_trial t = {.s = snapshot_copy(now), .basis = basis, .code = code};
    if (!t.s)
        return -ENOMEM;
    struct judge_basis moment = *basis;
    moment.presence = NULL;
    struct verdict *said = now->verdict ? verdict_copy(now->verdict) : verdict_make(now, &moment, NULL);
    verdict_free(TAKE(t.s->verdict));
    int rc = said ? prove_in(&t, said, only, ret) : -ENOMEM;
    verdict_free(said);
    snapshot_unref(t.s);
    return rc;
}
