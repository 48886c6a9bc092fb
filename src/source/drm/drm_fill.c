/* SPDX-License-Identifier: Apache-2.0
 * From clients to the processes and load of one card.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/drm/scan.h"

enum { NAMES = 24 };

/* Load per engine name over all clients of a card. */
struct client_sums {
    size_t count;
    bool pending;
    struct {
        const char *name;
        enum engine_kind kind;
        int64_t permille;
    } engines[NAMES];
};

static bool of_card(const struct drm_client *c, const struct drm_card *card)
{
    return strcmp(c->device, card->pci_address[0] ? card->pci_address : card->name) == 0;
}

static bool draws_or_computes(enum engine_kind kind)
{
    return kind == ENGINE_GRAPHICS || kind == ENGINE_COMPUTE;
}

static void add_to_sums(struct client_sums *sums, const struct client_engine *e, bool frozen)
{
    if (e->permille < 0 || frozen) {
        sums->pending = true;
        return;
    }
    size_t i = 0;
    while (i < sums->count && strcmp(sums->engines[i].name, e->name) != 0)
        i++;
    if (i == NAMES)
        return;
    if (i == sums->count) {
        sums->engines[i].name = e->name;
        sums->engines[i].kind = e->kind;
        sums->engines[i].permille = 0;
        sums->count++;
    }
    sums->engines[i].permille += e->permille;
}

/* The busiest engine of a kind. PENDING until a second read. */
static struct reading busiest(const struct client_sums *sums, bool (*wanted)(enum engine_kind))
{
    struct reading best = reading_absent(sums->pending ? READING_PENDING : READING_UNSUPPORTED);
    for (size_t i = 0; i < sums->count; i++)
        if (wanted(sums->engines[i].kind) && sums->engines[i].permille >= reading_or(best, 0))
            best = reading_ok(MIN_OF(sums->engines[i].permille, (int64_t)1000));
    return best;
}

static bool decodes(enum engine_kind kind)
{
    return kind == ENGINE_DECODER;
}

static bool encodes(enum engine_kind kind)
{
    return kind == ENGINE_ENCODER;
}

/* Adds up several clients of a process. */
static void add_reading(struct reading *sum, struct reading more)
{
    if (more.state == READING_OK)
        *sum = reading_ok(MIN_OF(reading_or(*sum, 0) + more.value, (int64_t)1000));
    else if (sum->state != READING_OK && (sum->state == READING_UNREAD || more.state == READING_PENDING))
        *sum = more;
}

static void add_to_process(struct process *p, const struct drm_client *c, bool shared_memory, bool frozen)
{
    struct client_sums own = {0};
    for (size_t i = 0; i < c->engine_count; i++) {
        const struct client_engine *e = &c->engines[i];
        add_to_sums(&own, e, frozen);
        if (e->busy > 0 && e->kind == ENGINE_COMPUTE)
            p->type |= PROCESS_COMPUTE;
        else if (e->busy > 0 && e->kind != ENGINE_OTHER && e->kind != ENGINE_COPY)
            p->type |= PROCESS_GRAPHICS;
    }
    add_reading(&p->util_permille, busiest(&own, draws_or_computes));
    add_reading(&p->decoder_permille, busiest(&own, decodes));
    add_reading(&p->encoder_permille, busiest(&own, encodes));
    bool has_memory = shared_memory ? c->has_vram || c->has_system : c->has_vram;
    if (has_memory) {
        uint64_t bytes = c->vram_bytes + (shared_memory ? c->system_bytes : 0);
        p->mem_bytes = reading_ok(reading_or(p->mem_bytes, 0) + (int64_t)bytes);
    } else if (p->mem_bytes.state == READING_UNREAD) {
        p->mem_bytes = reading_absent(READING_UNSUPPORTED);
    }
}

/* Index of a pid in the process list, whose wide rows are too slow to search for each client. */
struct places {
    uint32_t *slots; /* index + 1 */
    size_t mask;
};

static bool places_init(struct places *p, size_t clients, const struct gpu *out)
{
    size_t size = 64;
    while (size < 2 * (clients + out->process_count))
        size *= 2;
    *p = (struct places){calloc(size, sizeof *p->slots), size - 1};
    return p->slots != NULL;
}

static struct process *process_of(struct places *p, struct gpu *out, int32_t pid)
{
    size_t at = (uint32_t)pid * 2654435761u >> 7 & p->mask;
    for (; p->slots[at]; at = (at + 1) & p->mask)
        if (out->processes[p->slots[at] - 1].pid == pid)
            return &out->processes[p->slots[at] - 1];
    struct process *new = gpu_add_process(out, pid);
    if (new)
        p->slots[at] = (uint32_t)out->process_count;
    return new;
}

static bool is_silent(const struct scan_result *r, const struct drm_card *card)
{
    for (size_t i = 0; i < r->silent_count; i++)
        if (strcmp(r->silent[i], card->name) == 0)
            return true;
    return false;
}

void drm_scan_fill(struct drm_scan *s, const struct drm_card *card, bool shared_memory, struct gpu *out, struct drm_load *load)
{
    *load = (struct drm_load){0};
    struct client_sums sums = {0};
    struct places places;
    pthread_mutex_lock(&s->lock);
    const struct scan_result *r = &s->latest;
    bool hung = s->scanning && mono_since_ms(clock_mono(s->env->clock), s->scanned) >= SCAN_HUNG_MS;
    int rc = hung ? -ETIMEDOUT : r->rc;
    /* Time doesn't pass on a recorded host: counters that never moved give no rates. */
    bool frozen = env_is_recorded(s->env) && !r->moved;
    bool ready = rc == 0 && places_init(&places, r->client_count, out);
    for (size_t i = 0; ready && i < r->client_count; i++) {
        const struct drm_client *c = &r->clients[i];
        if (!of_card(c, card) || c->read_in == 0)
            continue;
        load->clients++;
        load->has_vram |= c->has_vram;
        load->has_system |= c->has_system;
        load->vram_bytes += c->vram_bytes;
        load->system_bytes += c->system_bytes;
        for (size_t e = 0; e < c->engine_count; e++)
            add_to_sums(&sums, &c->engines[e], frozen);
        struct process *p = process_of(&places, out, c->owner);
        if (p)
            add_to_process(p, c, shared_memory, frozen);
    }
    if (ready)
        free(places.slots);
    load->state = rc == 0 ? READING_OK : reading_state_from_errno(rc);
    load->hidden = r->stats.hidden;
    load->busy_permille = busiest(&sums, draws_or_computes);
    load->decoder_permille = busiest(&sums, decodes);
    load->encoder_permille = busiest(&sums, encodes);
    /* No clients after the first scan means no work, unless the driver doesn't report clients (i915 before 5.19). */
    if (load->state == READING_OK && load->clients == 0 && !is_silent(r, card))
        load->busy_permille = r->number > 1 ? reading_ok(0) : reading_absent(READING_PENDING);
    out->processes_state = load->state;
    out->processes_hidden = load->hidden;
    pthread_mutex_unlock(&s->lock);
}
