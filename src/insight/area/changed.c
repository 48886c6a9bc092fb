/* SPDX-License-Identifier: Apache-2.0
 * What changed on a GPU, and what came with it: "idle power is 51 W since the driver went from 575 to 580 on Nov 12 (22 W
 * before)". A change alone is information for a day; a setting is what a person asked for, so it stays information. A
 * GPU that is another one than before is a warning.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/baseline/changes.h"
#include "model/finding_code.h"

enum {
    TOGETHER_MS = 600000,      /* changes of one boot */
    SAID_FOR_MS = 86400000,    /* of a change that nothing came with */
    MORE_LEAST_MW = 5000,      /* idle power differs by so much from one day to the next */
    MORE_LEAST_PERMILLE = 200, /* ..., and by this part of it */
};

/* The changes of one boot, or one hand; the newest first. */
struct together {
    const struct gpu_change *list[CHANGE_COUNT];
    size_t count;
};

static finding_code code_of(const struct together *t)
{
    finding_code code = FINDING_SETTING_CHANGED;
    for (size_t i = 0; i < t->count; i++) {
        if (t->list[i]->code <= CHANGE_BIOS)
            return FINDING_DRIVER_CHANGED;
        if (t->list[i]->code <= CHANGE_DISPLAY)
            code = FINDING_PLACE_CHANGED;
    }
    return code;
}

/* "the driver went from 575 to 580 and persistence mode was turned off on Nov 12" */
static const char *words_together(const struct facts *f, const struct together *t, char *out, size_t size)
{
    struct text s = {out, size - CHANGE_WHEN, 0};
    char words[CHANGE_WORDS], when[CHANGE_WHEN];
    out[0] = '\0';
    for (size_t i = 0; i < t->count; i++)
        text_append(&s, "%s%s", i ? " and " : "", change_words(t->list[i], words));
    s.size = size;
    text_append(&s, " %s", change_when(t->list[0], f->now->taken_at, when));
    return out;
}

/* Idle minutes before and since say so, and so does this moment. A power limit is far above. */
static bool idles_higher(const struct facts *f, const struct together *t)
{
    int64_t before, since, power;
    const struct gpu_change *c = t->list[0];
    return f->load == LOAD_IDLE && (t->count > 1 || c->code != CHANGE_POWER_LIMIT) && reading_get(c->idle_before_mw, &before) &&
           reading_get(c->idle_since_mw, &since) && reading_get(f->gpu->power_mw, &power) &&
           since - before >= MAX_OF((int64_t)MORE_LEAST_MW, before * MORE_LEAST_PERMILLE / 1000) && power > (before + since) / 2;
}

static bool has_fewer_lanes(const struct facts *f, const struct gpu_change *c)
{
    int64_t before, since, lanes;
    return c->code < CHANGE_DISPLAY && reading_get(c->lanes_before, &before) && reading_get(c->lanes_since, &since) &&
           reading_get(f->gpu->pcie_width, &lanes) && since < before && lanes <= since;
}

/* A setting that holds the GPU now, and is lower than it was. */
static bool is_held(const struct facts *f, const struct gpu_change *c)
{
    char value[CHANGE_VALUE_SIZE];
    bool lower = strtoll(c->after, NULL, 10) < strtoll(c->before, NULL, 10);
    if (!lower || !change_value(c->code, &f->now->host, f->gpu, value) || strcmp(value, c->after) != 0)
        return false;
    return (c->code == CHANGE_POWER_LIMIT && f->at_power_limit) || (c->code == CHANGE_CLOCK && f->load == LOAD_BUSY);
}

/* True: something came with it, and is said. */
static bool say_effect(const struct facts *f, const struct together *t, struct collection *c)
{
    const struct gpu_change *newest = t->list[0];
    char words[CHANGE_WORDS];
    words_together(f, t, words, sizeof words);
    if (idles_higher(f, t)) {
        collect(c, f->gpu, code_of(t), SEVERITY_NOTICE, 0.8, 0, ": idle power %s %lld W since %s (%lld W before)", is(f),
                words_whole(newest->idle_since_mw.value, 1000), words, words_whole(newest->idle_before_mw.value, 1000));
        return true;
    }
    for (size_t i = 0; i < t->count; i++) {
        if (has_fewer_lanes(f, t->list[i])) {
            collect(c, f->gpu, code_of(t), SEVERITY_NOTICE, 0.8, 0, ": its PCIe link %s %lld lanes since %s (%lld before)", has(f),
                    (long long)f->gpu->pcie_width.value, words, (long long)t->list[i]->lanes_before.value);
            return true;
        }
        if (is_held(f, t->list[i])) {
            collect(c, f->gpu, FINDING_SETTING_CHANGED, SEVERITY_INFO, 0.9, 0, ": %s", words);
            return true;
        }
    }
    return false;
}

static void detect_changed(const struct facts *f, struct collection *c)
{
    bool alone = true;
    for (size_t i = f->changes ? f->changes->count : 0; i-- > 0;) {
        const struct gpu_change *newest = &f->changes->list[i];
        struct together t = {0};
        if (!gpu_same(&newest->id, &f->gpu->id) || newest->since.ms > f->now->taken_at.ms)
            continue;
        for (size_t k = i + 1; k-- > 0 && t.count < CHANGE_COUNT;) {
            const struct gpu_change *other = &f->changes->list[k];
            if (gpu_same(&other->id, &f->gpu->id) && newest->since.ms - other->since.ms <= TOGETHER_MS)
                t.list[t.count++] = other;
        }
        if (say_effect(f, &t, c))
            return;
        if (alone && f->now->taken_at.ms - newest->since.ms <= SAID_FOR_MS) {
            char words[CHANGE_WORDS];
            collect(c, f->gpu, code_of(&t), SEVERITY_INFO, 0.9, 0, ": %s", words_together(f, &t, words, sizeof words));
        }
        alone = false;
    }
}

void find_replaced(const struct gpu *gpu, const struct gpu_id *gone, const char *serial, struct wall seen, struct collection *c)
{
    struct finding *found =
        collect(c, gpu, FINDING_REPLACED, SEVERITY_WARNING, 0.97, 0, ": it is in the place of another %s (%s %s)",
                strcmp(gpu->id.name, gone->name) == 0 ? "GPU of its kind" : "GPU", serial[0] ? "serial number" : "UUID",
                serial[0] ? serial : gone->uuid);
    if (found)
        found->since = seen;
}

const struct area area_changed = {.find = detect_changed};
