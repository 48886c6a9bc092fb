/* SPDX-License-Identifier: Apache-2.0
 * Why there, why not.
 */
#include "insight/fit/placement.h"

#include <string.h>

#include "base/cleanup.h"
#include "insight/facts/words.h"

static void say_gpus(struct text *t, const struct capacity *c, const struct placement_copy *copy)
{
    char words[CAPACITY_WORDS];
    if (copy->share_count == 1) {
        text_append(t, "%s", capacity_gpu_words(&c->gpus[copy->shares[0].gpu], words));
        return;
    }
    text_append(t, "GPUs ");
    for (size_t i = 0; i < copy->share_count; i++)
        text_append(t, "%s%d", i == 0 ? "" : i + 1 == copy->share_count ? " and " : ", ", c->gpus[copy->shares[i].gpu].index);
}

/* The room on GPUs together, as things are. */
static int64_t room_of(const struct capacity *c, const struct placement_copy *copy)
{
    int64_t sum = 0;
    for (size_t i = 0; i < copy->share_count; i++)
        sum += reading_or(c->gpus[copy->shares[i].gpu].available_bytes, 0);
    return sum;
}

static const struct capacity_gpu *roomiest(const struct capacity *c, const struct placement_request *request)
{
    const struct capacity_gpu *best = NULL;
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        if (!placement_may_use(request, gpu) || gpu->available_bytes.state != READING_OK)
            continue;
        if (!best || gpu->available_bytes.value > best->available_bytes.value)
            best = gpu;
    }
    return best;
}

/* Another GPU had room too: why not that one? */
static void say_choice(struct text *t, const struct capacity *c, const struct placement_request *request,
                       const struct placement_copy *copy)
{
    const struct capacity_gpu *chosen = &c->gpus[copy->shares[0].gpu];
    char words[CAPACITY_WORDS];
    bool larger = false;
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        int64_t room;
        if (gpu == chosen || !placement_may_use(request, gpu) || strcmp(gpu->id.vendor, chosen->id.vendor) != 0 ||
            !reading_get(gpu->available_bytes, &room) || room < request->bytes + request->fixed_bytes)
            continue;
        if (reading_or(gpu->util_permille, 0) >= BUSY_PERMILLE && reading_or(chosen->util_permille, 0) < BUSY_PERMILLE) {
            text_append(t, "; %s has room too but is busy (%lld%%)", capacity_gpu_words(gpu, words),
                        percent(gpu->util_permille.value));
            return;
        }
        larger = larger || room > reading_or(chosen->available_bytes, 0);
    }
    if (larger)
        text_append(t, "; that is the tightest room that is enough");
}

static void say_fits(struct text *t, const struct capacity *c, const struct placement_request *request, const struct placement *p)
{
    char size[SHORT_WORDS], room[SHORT_WORDS], words[CAPACITY_WORDS];
    const struct placement_copy *copy = &p->copies[0];
    int64_t need = request->bytes + request->fixed_bytes * (int64_t)copy->share_count;
    if (p->copy_count > 1)
        text_append(t, "%zu copies of %s fit, the first on ", p->copy_count, words_bytes(need, size));
    else
        text_append(t, "%s fit on ", words_bytes(need, size));
    say_gpus(t, c, copy);
    text_append(t, ", where %s are available", words_bytes(room_of(c, copy), room));
    const struct capacity_gpu *most = roomiest(c, request);
    if (copy->share_count > 1 && request->gpus == 0 && most)
        text_append(t, " together; no single GPU has enough (most: %s with %s)", capacity_gpu_words(most, words),
                    words_bytes(most->available_bytes.value, room));
    if (p->evicted_count) {
        text_append(t, ", once ");
        for (size_t i = 0; i < p->evicted_count; i++)
            text_append(t, "%s%s", i == 0 ? "" : i + 1 == p->evicted_count ? " and " : ", ", p->evicted[i]);
        text_append(t, p->evicted_count > 1 ? " are evicted" : " is evicted");
    } else if (copy->share_count == 1 && p->copy_count == 1) {
        say_choice(t, c, request, copy);
    }
}

static void say_unknown(struct text *t, const struct capacity *c, const struct placement_request *request)
{
    char words[CAPACITY_WORDS];
    const char *before = "it may fit on ";
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        if (!placement_may_use(request, gpu) || gpu->free_bytes.state == READING_OK)
            continue;
        text_append(t, "%s%s (%s)", before, capacity_gpu_words(gpu, words), gpu->problem);
        before = ", ";
    }
    if (roomiest(c, request))
        text_append(t, "; it does not fit on the others");
}

/* The most cards of one maker on which something could be placed: only these can share a copy. */
static int largest_group(const struct capacity *c, const struct placement_request *request)
{
    int most = 0;
    for (size_t i = 0; i < c->gpu_count; i++) {
        int count = 0;
        for (size_t k = 0; k < c->gpu_count; k++)
            count += placement_may_use(request, &c->gpus[k]) && c->gpus[k].instance < 0 &&
                     c->gpus[k].free_bytes.state == READING_OK && strcmp(c->gpus[i].id.vendor, c->gpus[k].id.vendor) == 0;
        most = MAX_OF(most, count);
    }
    return most;
}

static void say_missing(struct text *t, const struct capacity *c, const struct placement_request *request,
                        const struct placement *p)
{
    char size[SHORT_WORDS], room[SHORT_WORDS], words[CAPACITY_WORDS];
    const struct capacity_gpu *most = roomiest(c, request);
    if (c->gpu_count == 0) {
        text_append(t, "there is no GPU here");
        return;
    }
    if (!most) {
        for (size_t i = 0; i < c->gpu_count; i++) {
            const struct capacity_gpu *gpu = &c->gpus[i];
            text_append(t, "%s%s ", i ? ", " : "", capacity_gpu_words(gpu, words));
            if (placement_may_use(request, gpu) && gpu->total_bytes.state == READING_OK)
                text_append(t, "has %s in all", words_bytes(gpu->total_bytes.value, size));
            else
                text_append(t, "cannot be used (%s)", gpu->problem);
        }
        return;
    }
    int cards = largest_group(c, request), wanted = request->gpus * MAX_OF(request->count, 1);
    if (request->gpus > 1 && cards < wanted) {
        text_append(t, "%d GPUs of one maker are wanted, and there %s %d that could be used", wanted, cards == 1 ? "is" : "are",
                    cards);
        return;
    }
    text_append(t, "%s are missing%s", words_bytes(p->missing_bytes, size),
                request->whole && largest_group(c, request) > 1 ? " on one GPU" : "");
    if (request->gpus > 1)
        text_append(t, " for %d GPUs%s", request->gpus, request->even ? " with equal shares" : "");
    text_append(t, "; the most room is on %s with %s", capacity_gpu_words(most, words),
                words_bytes(most->available_bytes.value, room));
    if (most->reserve_bytes)
        text_append(t, " (%s are reserved)", words_bytes(most->reserve_bytes, size));
    int64_t held = 0;
    for (size_t i = 0; i < c->hold_count; i++)
        held += c->holds[i].evictable ? c->holds[i].bytes : 0;
    if (held && !request->no_eviction)
        text_append(t, "; evicting every worker under guard (%s) would not be enough", words_bytes(held, size));
    if (p->could_split)
        text_append(t, "; split over %zu GPUs it would fit, if it can be split", p->could_split);
}

void placement_words(const struct capacity *c, const struct placement_request *request, struct placement *p)
{
    struct text t = TEXT(p->reason);
    switch (p->verdict) {
    case PLACEMENT_FITS: say_fits(&t, c, request, p); break;
    case PLACEMENT_UNKNOWN: say_unknown(&t, c, request); break;
    case PLACEMENT_DOES_NOT_FIT: say_missing(&t, c, request, p); break;
    }
}
