/* SPDX-License-Identifier: Apache-2.0
 * Keeps the faults of a card. A fault is born or renewed when it is seen, and knows how many resets the card had then.
 */
#include "insight/verdict/health_memory.h"
#include "insight/verdict/health_judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

struct health_history *health_history_new(void)
{
    return calloc(1, sizeof(struct health_history));
}

void health_history_free(struct health_history *h)
{
    free(h);
}

struct health_card *memory_card(struct health_history *h, const struct gpu *gpu)
{
    for (size_t i = 0; i < h->card_count; i++) { /* from its own place on, where it usually is */
        struct health_card *card = &h->cards[((size_t)MAX_OF(gpu->index, 0) + i) % h->card_count];
        bool nameless = !card->id.uuid[0] && !card->id.pci_address[0];
        if (nameless ? card->index == gpu->index && strcmp(card->id.name, gpu->id.name) == 0 : gpu_same(&card->id, &gpu->id))
            return card;
    }
    if (h->card_count == GPU_MAX)
        return NULL;
    struct health_card *card = &h->cards[h->card_count++];
    *card = (struct health_card){.id = gpu->id, .index = gpu->index, .last_state = gpu->state};
    return card;
}

static bool went_back(struct reading *before, struct reading now)
{
    int64_t was, is;
    bool back = reading_get(*before, &was) && reading_get(now, &is) && is < was;
    if (now.state == READING_OK)
        *before = now;
    return back;
}

void memory_notice_reset(struct health_card *card, const struct gpu *gpu)
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
static struct health_fault *fault_of(struct health_card *card, enum health_check check, int32_t code, bool make)
{
    struct health_fault *oldest = NULL;
    for (size_t i = 0; i < card->fault_count; i++) {
        struct health_fault *fault = &card->faults[i];
        if (fault->check == check && fault->code == code)
            return fault;
        if (!oldest || over(fault, card) > over(oldest, card) ||
            (over(fault, card) == over(oldest, card) && fault->last_at.ms < oldest->last_at.ms))
            oldest = fault;
    }
    if (!make)
        return NULL;
    struct health_fault *fault = card->fault_count < HEALTH_FAULTS_MAX ? &card->faults[card->fault_count++] : oldest;
    *fault = (struct health_fault){.check = check, .code = code, .resets = card->resets};
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

void memory_take_look(struct health_card *card, enum health_check check, const struct health_look *look, struct wall now)
{
    struct health_fault *fault = fault_of(card, check, 0, look->look == LOOK_PRESENT);
    if (!fault)
        return;
    if (look->look == LOOK_UNJUDGED) {
        if (!fault->active)
            fault->held.ms = 0; /* it did not last long enough to count */
        return;
    }
    if (look->look == LOOK_CLEAR) {
        fault->active = false;
        fault->held.ms = 0;
        return;
    }
    if (fault->held.ms == 0)
        fault->held = now;
    if (!fault->active && now.ms - fault->held.ms < look->hold_ms)
        return;
    if (!fault->active)
        renew(card, fault, now);
    fault->active = true;
    fault->last_at = now;
    fault->resets = card->resets;
    fault->state = look->state;
    fault->advice = look->advice;
    str_copy(fault->reason, sizeof fault->reason, str_from(look->reason));
}

void memory_take_logged(struct health_card *card, enum health_check check, int32_t code, struct wall at, int64_t same_ms)
{
    struct health_fault *fault = fault_of(card, check, code, true);
    int64_t apart = at.ms - fault->last_at.ms;
    same_ms = MAX_OF(same_ms, (int64_t)FAULT_SAME_MS);
    if (fault->times && apart > -same_ms && apart < same_ms)
        return;
    renew(card, fault, at);
}

static bool health_memory_note(struct health_history *h, const char *pci_address, enum health_check check, int64_t code,
                               struct wall at)
{
    for (size_t i = 0; i < h->card_count; i++)
        if (h->cards[i].id.pci_address[0] && strcasecmp(h->cards[i].id.pci_address, pci_address) == 0) {
            memory_take_logged(&h->cards[i], check, (int32_t)code, at, h->same_ms);
            return true;
        }
    return false;
}

bool health_note_xid(struct health_history *h, const char *pci_address, int64_t code, struct wall at)
{
    return health_memory_note(h, pci_address, HEALTH_CHECK_XID, code, at);
}

bool health_note_driver_fault(struct health_history *h, const char *pci_address, int64_t code, struct wall at)
{
    return health_memory_note(h, pci_address, HEALTH_CHECK_DRIVER_FAULT, code, at);
}

bool health_note_switch_fault(struct health_history *h, const struct snapshot *s, int64_t code, struct wall at)
{
    bool any = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (reading_or(s->gpus[i].nvlink_links_active, 0) > 0)
            any |= health_note_driver_fault(h, s->gpus[i].id.pci_address, code, at);
    return any;
}
