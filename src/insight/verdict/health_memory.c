/* SPDX-License-Identifier: Apache-2.0
 * A fault is born or renewed when it is seen, and knows how many resets its card had then.
 */
#include "insight/verdict/health_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/area.h"
#include "insight/verdict/health.h"
#include "model/finding_code.h"

enum {
    FAULT_DAY_MS = 86400000, /* after so long without a repeat a fault is over */
    FAULT_SAME_MS = 5000,    /* the same XID from two places */
    REPLAYS_WINDOW_MS = 60000,
};

struct health_history *health_history_new(void)
{
    return calloc(1, sizeof(struct health_history));
}

void health_history_free(struct health_history *h)
{
    free(h);
}

static struct health_card *card_of(struct health_history *h, const struct gpu_id *id, int index, enum gpu_state state)
{
    for (size_t i = 0; i < h->card_count; i++) { /* from its own place on, where it usually is */
        struct health_card *card = &h->cards[((size_t)MAX_OF(index, 0) + i) % h->card_count];
        if (gpu_id_key(&card->id)[0] ? gpu_same(&card->id, id) : card->index == index && strcmp(card->id.name, id->name) == 0)
            return card;
    }
    if (h->card_count == GPU_MAX)
        return NULL;
    struct health_card *card = &h->cards[h->card_count++];
    *card = (struct health_card){.id = *id, .index = index, .last_state = state};
    h->changes++;
    return card;
}

struct health_card *health_card_of(struct health_history *h, const struct gpu *gpu)
{
    return card_of(h, &gpu->id, gpu->index, gpu->state);
}

/* ---- inventory ---- */

bool health_is_there(const struct health_card *card, const struct snapshot *now)
{
    bool gpu = card->id.kind == DEVICE_GPU;
    const struct gpu *list = gpu ? now->gpus : now->accelerators;
    if (card->id.kind == DEVICE_IB_PORT)
        return card->last_state == GPU_OK;
    for (size_t i = 0; i < (gpu ? now->gpu_count : now->accelerator_count); i++)
        if (gpu_same(&list[i].id, &card->id))
            return list[i].state == GPU_OK || list[i].state == GPU_ASLEEP || list[i].released;
    return false;
}

const struct gpu *health_successor(const struct health_card *card, const struct snapshot *now)
{
    const struct gpu *found = NULL;
    if (!card->id.uuid[0] || !card->id.pci_address[0])
        return NULL;
    for (size_t i = 0; i < now->gpu_count; i++) {
        const struct gpu_id *id = &now->gpus[i].id;
        if (gpu_same(id, &card->id))
            return NULL;
        if (id->uuid[0] && strcmp(id->pci_address, card->id.pci_address) == 0 && (now->gpus[i].simulated == card->simulated))
            found = &now->gpus[i];
    }
    return found;
}

bool health_is_called(const struct health_card *card, const char *which)
{
    char index[16];
    snprintf(index, sizeof index, "%d", card->index);
    return (card->id.kind == DEVICE_GPU && strcmp(index, which) == 0) || (card->id.uuid[0] && strcmp(card->id.uuid, which) == 0) ||
           (card->id.pci_address[0] && strcasecmp(card->id.pci_address, which) == 0);
}

int health_forget(struct health_history *h, const struct snapshot *now, const char *which, struct wall at, const char *by,
                  struct health_card **ret)
{
    struct health_card *found = NULL;
    size_t count = 0;
    bool there = false;
    for (size_t i = 0; i < h->card_count; i++) {
        struct health_card *card = &h->cards[i];
        if (!health_is_called(card, which) || !card->forgotten.ms == !at.ms)
            continue;
        if (at.ms && health_is_there(card, now)) {
            there = true;
            continue;
        }
        found = card;
        count++;
    }
    if (count != 1)
        return count ? -EMLINK : there ? -EBUSY : -ENOENT;
    found->forgotten = at;
    str_copy(found->forgotten_by, sizeof found->forgotten_by, str_from(at.ms && by ? by : ""));
    h->changes++;
    *ret = found;
    return 0;
}

/* Another GPU in its slot: said of that one, until the card is forgotten or back. */
static void recall_replaced(const struct health_card *card, struct collection *c)
{
    const struct gpu *gpu = card->forgotten.ms ? NULL : health_successor(card, c->now);
    if (gpu)
        find_replaced(gpu, &card->id, card->serial, card->last_seen, c);
}

static bool went_back(struct reading *before, struct reading now)
{
    int64_t was, is;
    bool back = reading_get(*before, &was) && reading_get(now, &is) && is < was;
    if (now.state == READING_OK)
        *before = now;
    return back;
}

/* Counters that went back, or a card that came back, mean a reset. */
static void memory_notice_reset(struct health_card *card, const struct gpu *gpu)
{
    bool reset = gpu->state == GPU_OK && (card->last_state == GPU_LOST || card->last_state == GPU_ERROR);
    reset |= went_back(&card->energy_mj, gpu->energy_mj);
    reset |= went_back(&card->ecc_corrected, gpu->ecc_corrected);
    reset |= went_back(&card->ecc_uncorrected, gpu->ecc_uncorrected);
    card->resets += reset;
    card->last_state = gpu->state == GPU_ASLEEP ? card->last_state : gpu->state;
}

void health_note_boot(struct health_history *h)
{
    for (size_t i = 0; i < h->card_count; i++) {
        struct health_card *card = &h->cards[i];
        card->resets++;
        /* Counters that begin anew with it are no second reset. */
        card->replays = card->energy_mj = card->ecc_corrected = card->ecc_uncorrected = (struct reading){0};
        card->last_state = GPU_OK;
    }
}

static bool over(const struct health_fault *fault, const struct health_card *card)
{
    return !fault->active && fault->held.ms == 0 && fault->resets < card->resets;
}

/* The fault of this kind, made when there is none: in a full memory the one seen longest ago gives way, if it is over already. */
static struct health_fault *fault_of(struct health_card *card, finding_code code, int32_t number, bool make)
{
    struct health_fault *oldest = NULL;
    for (size_t i = 0; i < card->fault_count; i++) {
        struct health_fault *fault = &card->faults[i];
        if (fault->code == code && fault->number == number)
            return fault;
        if (!oldest || over(fault, card) > over(oldest, card) ||
            (over(fault, card) == over(oldest, card) && fault->last_at.ms < oldest->last_at.ms))
            oldest = fault;
    }
    if (!make)
        return NULL;
    struct health_fault *fault = card->fault_count < HEALTH_FAULTS_MAX ? &card->faults[card->fault_count++] : oldest;
    *fault = (struct health_fault){.code = code, .number = number, .resets = card->resets};
    return fault;
}

/* A new occurrence, at `at`. */
static void renew(struct health_card *card, struct health_fault *fault, struct wall at)
{
    if (fault->times && at.ms - fault->last_at.ms > FAULT_DAY_MS && fault->resets == card->resets)
        fault->times = 0;
    fault->total++;
    if (!fault->times++)
        fault->first_at = at;
    fault->returned |= fault->resets < card->resets && fault->last_at.ms > 0;
    fault->resets = card->resets;
    if (at.ms > fault->last_at.ms)
        fault->last_at = at;
}

/* What a log or an event told: an XID or a fault of the driver. */
static void memory_take_logged(struct health_card *card, finding_code code, int32_t number, struct wall at, int64_t same_ms)
{
    struct health_fault *fault = fault_of(card, code, number, true);
    int64_t apart = at.ms - fault->last_at.ms;
    same_ms = MAX_OF(same_ms, (int64_t)FAULT_SAME_MS);
    if (fault->times && apart > -same_ms && apart < same_ms)
        return;
    renew(card, fault, at);
}

static bool note_logged(struct health_history *h, const char *pci_address, finding_code code, int64_t number, struct wall at)
{
    for (size_t i = 0; i < h->card_count; i++)
        if (h->cards[i].id.pci_address[0] && strcasecmp(h->cards[i].id.pci_address, pci_address) == 0) {
            memory_take_logged(&h->cards[i], code, (int32_t)number, at, h->same_ms);
            return true;
        }
    return false;
}

bool health_note_xid(struct health_history *h, const char *pci_address, int64_t code, struct wall at)
{
    return note_logged(h, pci_address, FINDING_XID, code, at);
}

bool health_note_driver_fault(struct health_history *h, const char *pci_address, int64_t code, struct wall at)
{
    return note_logged(h, pci_address, FINDING_DRIVER_FAULT, code, at);
}

bool health_note_switch_fault(struct health_history *h, const struct snapshot *s, int64_t code, struct wall at)
{
    bool any = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (reading_or(s->gpus[i].nvlink_links_active, 0) > 0)
            any |= health_note_driver_fault(h, s->gpus[i].id.pci_address, code, at);
    return any;
}

void health_meet(struct health_history *h, const struct snapshot *now)
{
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct health_card *card = health_card_of(h, &now->gpus[i]);
        if (card)
            card->id = now->gpus[i].id;
    }
}

void health_note_port(struct health_history *h, const char *name, const char *model, bool up, struct wall at)
{
    struct gpu_id id = {.kind = DEVICE_IB_PORT};
    str_copy(id.uuid, sizeof id.uuid, str_from(name));
    str_copy(id.name, sizeof id.name, str_from(model));
    struct health_card *card = card_of(h, &id, 0, GPU_OK);
    if (!card)
        return;
    card->last_state = up ? GPU_OK : GPU_LOST;
    if (!up)
        return;
    card->last_seen = at;
    card->first_seen = card->first_seen.ms ? card->first_seen : at;
    card->forgotten.ms = 0;
}

/* ---- what it adds to a verdict ---- */

bool card_memory_logged(const struct health_card *card, const struct health_fault *fault, struct wall now, struct finding *ret)
{
    *ret = (struct finding){
        .code = fault->code, .confidence = 0.95, .gpu_index = card->index, .fault = fault->number, .since = fault->first_at};
    return judge_logged(&(struct logged_fault){.ago_ms = MAX_OF((int64_t)0, now.ms - fault->last_at.ms),
                                               .times = fault->times,
                                               .cured = fault->resets < card->resets,
                                               .returned = fault->returned},
                        ret);
}

static void recall_replays(struct health_card *card, const struct gpu *gpu, struct collection *c)
{
    struct wall now = c->now->taken_at;
    int64_t count, before, passed = now.ms - card->replays_at.ms;
    /* Where a driver does not count replays, the kernel counts errors that were corrected. */
    struct reading replays = gpu->pcie_replays.state == READING_OK ? gpu->pcie_replays : gpu->pcie_corrected_errors;
    if (!reading_get(replays, &count))
        return;
    bool counted = reading_get(card->replays, &before) && count >= before && passed >= 0;
    if (!counted || passed >= REPLAYS_WINDOW_MS) { /* less is too short to be a rate: the window goes on */
        card->replays_per_min = counted ? (double)(count - before) * 60000 / (double)passed : 0;
        card->replays_since = card->replays_at;
        card->replays = replays;
        card->replays_at = now;
    }
    find_replays(gpu, card->replays_per_min, card->replays_since, c);
}

static void recall_links(struct health_card *card, const struct gpu *gpu, struct collection *c)
{
    if (!link_is_slow(gpu))
        card->slow_since.ms = 0;
    else if (!card->slow_since.ms)
        card->slow_since = c->now->taken_at;
    find_slow_link(gpu, card->slow_since, c);
    find_missing_links(gpu, card->nvlinks_most, c);
    card->nvlinks_most = MAX_OF(card->nvlinks_most, reading_or(gpu->nvlink_links_active, 0));
}

/* An error that a reset did not cure is worse than a new one. */
static void mark_returned(struct finding *found)
{
    size_t len = strlen(found->headline);
    snprintf(found->headline + len, sizeof found->headline - len, ", and this came back after a reset");
    found->severity = SEVERITY_CRITICAL;
    found->health = MAX_OF(found->health, EFFECT_FAILING);
    found->advice = ADVICE_AGAIN;
}

/* What the readings of this moment can't decide stays as it was: sleep does not heal, and an idle link shows nothing. */
static void recall_unjudged(const struct health_fault *fault, const struct gpu *gpu, struct collection *c)
{
    struct finding f = {.code = fault->code,
                        .severity = fault->severity,
                        .health = fault->health,
                        .confidence = 0.95,
                        .gpu_index = gpu->index,
                        .since = fault->held,
                        .advice = fault->advice};
    snprintf(f.headline, sizeof f.headline, "GPU %d%s", gpu->index, fault->reason);
    collect_finding(c, &f);
}

static bool can_judge(const struct health_fault *fault, const struct gpu *gpu)
{
    enum health_check check = health_check_of(fault->code);
    /* A GPU that rests and does not throttle has cooled down, whether its temperature is read or not. */
    bool rests = gpu->state == GPU_OK && gpu->throttle_bits.state == READING_OK && power_level(gpu) == POWER_LOW;
    return health_can_judge(check, gpu, NULL) || (check == HEALTH_CHECK_TEMPERATURE && rests);
}

static void recall_faults(const struct health_card *card, const struct gpu *gpu, struct collection *c)
{
    for (size_t i = 0; i < card->fault_count; i++) {
        const struct health_fault *fault = &card->faults[i];
        struct finding f, *found = (struct finding *)verdict_find(c->verdict, gpu->index, fault->code);
        if (card_memory_logged(card, fault, c->now->taken_at, &f)) {
            collect_finding(c, &f);
        } else if (fault->active && (!found || found->health < fault->health) && !can_judge(fault, gpu)) {
            recall_unjudged(fault, gpu, c);
        } else if (found && !fault->number) {
            if (fault->active && !found->since.ms)
                found->since = fault->held;
            bool returns = fault->returned || (!fault->active && fault->last_at.ms > 0 && fault->resets < card->resets);
            if (returns && finding_kind(fault->code)->area == AREA_ERRORS && found->severity >= SEVERITY_WARNING)
                mark_returned(found);
        } else if (fault->code == FINDING_LOST && fault->times) {
            find_returned(gpu, fault->first_at, fault->last_at, c);
        }
    }
}

static void take_snapshot(struct health_history *h, struct health_card *card, const struct gpu *gpu, const struct snapshot *now)
{
    bool there = gpu->state == GPU_OK || gpu->state == GPU_ASLEEP;
    card->index = gpu->index;
    card->id = gpu->id;
    card->simulated = gpu->simulated;
    str_copy(card->machine, sizeof card->machine, str_from(gpu->simulated ? h->machine : ""));
    if (gpu->serial.state == READING_OK)
        str_copy(card->serial, sizeof card->serial, str_from(gpu->serial.value));
    if (there || gpu->released)
        card->last_seen = now->taken_at;
    if (there && !card->first_seen.ms)
        card->first_seen = now->taken_at;
    if (there) /* it is back */
        card->forgotten.ms = 0;
    str_copy(card->source, sizeof card->source, str_from(gpu->source));
    if (gpu->id.kind != DEVICE_GPU)
        return;
    if (!gpu->released)
        memory_notice_reset(card, gpu);
    for (size_t i = 0; i < MIN_OF(now->event_count, (size_t)EVENTS_MAX); i++) {
        const struct event *event = &now->events[i];
        if (event->kind == EVENT_DRIVER_FAULT && event->gpu_index == gpu->index)
            memory_take_logged(card, FINDING_XID, (int32_t)event->code, event->at.ms ? event->at : now->taken_at, h->same_ms);
    }
}

void card_memory_recall(struct health_history *h, struct collection *c)
{
    h->same_ms = (int64_t)(c->now->interval_s * MS_PER_S) + MS_PER_S; /* events are stamped when they are fetched */
    for (size_t i = 0; i < c->now->gpu_count; i++) {
        const struct gpu *gpu = &c->now->gpus[i];
        struct health_card *card = health_card_of(h, gpu);
        if (!card)
            continue;
        take_snapshot(h, card, gpu, c->now);
        if (gpu->state == GPU_OK && !gpu->released) {
            recall_replays(card, gpu, c);
            recall_links(card, gpu, c);
        }
        recall_faults(card, gpu, c);
    }
    for (size_t i = 0; i < c->now->accelerator_count; i++) {
        const struct gpu *one = &c->now->accelerators[i];
        struct health_card *card = gpu_id_key(&one->id)[0] ? health_card_of(h, one) : NULL;
        if (card)
            take_snapshot(h, card, one, c->now);
    }
    for (size_t i = 0; h->card_count > c->now->gpu_count && i < h->card_count; i++)
        recall_replaced(&h->cards[i], c);
}

/* ---- what it takes from one ---- */

static void keep_found(struct health_card *card, const struct finding *f, struct wall now)
{
    char who[16];
    struct health_fault *fault = fault_of(card, f->code, 0, true);
    if (!fault->held.ms)
        fault->held = f->since.ms ? f->since : now;
    if (!fault->active && !health_has_held(f, now))
        return;
    if (!fault->active)
        renew(card, fault, now);
    fault->active = true;
    fault->last_at = now;
    fault->resets = card->resets;
    fault->severity = f->severity;
    fault->health = f->health;
    fault->advice = f->advice;
    int len = snprintf(who, sizeof who, "GPU %d", f->gpu_index);
    str_copy(fault->reason, sizeof fault->reason, str_from(f->headline + len));
}

/* Of logged faults, whose words are made anew each time, and of what is over, nothing is kept. */
static bool is_kept(const struct finding *f)
{
    return f->health > EFFECT_HEALTHY && f->tense == TENSE_NOW && !f->fault && finding_kind(f->code)->effect > EFFECT_HEALTHY;
}

void card_memory_keep(struct health_history *h, const struct collection *c)
{
    for (size_t i = 0; i < c->now->gpu_count; i++) {
        const struct gpu *gpu = &c->now->gpus[i];
        struct health_card *card = health_card_of(h, gpu);
        for (size_t k = 0; card && k < card->fault_count; k++) {
            struct health_fault *fault = &card->faults[k];
            const struct finding *found = fault->number ? NULL : verdict_find(c->verdict, gpu->index, fault->code);
            if (found && is_kept(found))
                continue;
            if (can_judge(fault, gpu))
                fault->active = false;
            if (!fault->active)
                fault->held.ms = 0; /* it is over, or did not last long enough to count */
        }
        for (size_t k = 0; card && k < c->verdict->count; k++)
            if (c->verdict->findings[k].gpu_index == gpu->index && is_kept(&c->verdict->findings[k]))
                keep_found(card, &c->verdict->findings[k], c->now->taken_at);
    }
}
