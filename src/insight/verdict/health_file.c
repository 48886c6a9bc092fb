/* SPDX-License-Identifier: Apache-2.0
 * The memory of the cards as JSON, both ways. States and checks go by name: numbers change between versions.
 */
#include "insight/verdict/health.h"
#include "insight/verdict/health_memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "model/finding_code.h"

enum { FILE_VERSION = 1 };

/* What is kept of them; a simulation begins anew. */
struct kept_fault {
    struct health_fault f;
    enum health_check check;
    enum health_state state;
    char finding[64];
};

struct kept_card {
    struct health_card c;
    bool was_lost;
};

struct kept_health {
    int version;
    struct health_host host;
    struct health_log_mark until;
    const struct health_history *all;
    struct wall now;
    struct kept_card card; /* those being written */
    struct kept_fault fault;
};

static bool belongs_here(const struct health_history *h, const struct health_card *c, struct wall now)
{
    bool named = c->id.uuid[0] || c->id.pci_address[0];
    bool ours = c->simulated ? h->machine[0] && strcmp(c->machine, h->machine) == 0 : !c->machine[0];
    return ours && (named || now.ms - c->last_seen.ms < HEALTH_UNNAMED_MAX_MS) &&
           (!c->forgotten.ms || now.ms - c->forgotten.ms < HEALTH_FORGOTTEN_MAX_MS);
}

static const void *next_fault(const struct answer_at *at, struct answer_step *step)
{
    const struct health_card *c = &((const struct kept_card *)at->record)->c;
    struct kept_fault *k = &((struct kept_health *)at->context)->fault;
    if (step->at == c->fault_count)
        return NULL;
    *k = (struct kept_fault){.f = c->faults[step->at++]};
    k->check = health_check_of(k->f.code);
    k->state = HEALTH_HEALTHY + k->f.health;
    str_copy(k->finding, sizeof k->finding, str_from(finding_code_name(k->f.code)));
    return k;
}

/* Other devices are apart: versions before 0.3 took every card for a GPU. */
static const void *next_of(const struct answer_at *at, struct answer_step *step, bool others)
{
    struct kept_health *file = at->context;
    struct health_card *c = &file->card.c;
    const struct health_history *h = file->all;
    while (step->at < h->card_count &&
           ((h->cards[step->at].id.kind != DEVICE_GPU) != others || !belongs_here(h, &h->cards[step->at], file->now)))
        step->at++;
    if (step->at == h->card_count)
        return NULL;
    *c = h->cards[step->at++];
    if (c->simulated) {
        c->last_state = GPU_OK;
        c->state = HEALTH_UNKNOWN;
        c->state_since.ms = 0;
        c->fault_count = 0;
        c->energy_mj = c->ecc_corrected = c->ecc_uncorrected = (struct reading){0};
    }
    file->card.was_lost = c->last_state == GPU_LOST || c->last_state == GPU_ERROR;
    return &file->card;
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    return next_of(at, step, false);
}

static const void *next_part(const struct answer_at *at, struct answer_step *step)
{
    return next_of(at, step, true);
}

ANSWER_NAMES(checks, enum health_check, health_check_name, 0, HEALTH_CHECK_COUNT - 1);
ANSWER_NAMES(kinds, enum device_kind, device_kind_name, DEVICE_NPU, DEVICE_IB_PORT);
ANSWER_NAMES(states, enum health_state, health_state_name, HEALTH_UNKNOWN, HEALTH_LOST);

ANSWER_TABLE(fault_answer, struct kept_fault)
{
    FIELD(NAME, "check", check, NULL, NAMES(checks));
    FIELD(TEXT, "finding", finding, NULL);
    FIELD(INT, "code", f.number, NULL);
    FIELD(INT, "first_ms", f.first_at.ms, NULL);
    FIELD(INT, "last_ms", f.last_at.ms, NULL);
    FIELD(INT, "held_ms", f.held.ms, NULL);
    FIELD(INT, "times", f.times, NULL);
    FIELD(INT, "total", f.total, NULL);
    FIELD(INT, "resets", f.resets, NULL);
    FIELD(BOOL, "returned", f.returned, NULL);
    FIELD(BOOL, "active", f.active, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(TEXT, "reason", f.reason, NULL);
}

ANSWER_TABLE(card_answer, struct kept_card)
{
    FIELD(TEXT, "uuid", c.id.uuid, NULL);
    FIELD(TEXT, "pci_address", c.id.pci_address, NULL);
    FIELD(TEXT, "name", c.id.name, NULL);
    FIELD(TEXT, "vendor", c.id.vendor, NULL);
    FIELD(NAME, "kind", c.id.kind, NULL, NAMES(kinds), PRESENT(c.id.kind), MAYBE);
    FIELD(INT, "index", c.index, NULL);
    FIELD(TEXT, "source", c.source, NULL);
    FIELD(TEXT, "machine", c.machine, NULL, PRESENT(c.simulated), MAYBE);
    FIELD(TEXT, "serial", c.serial, NULL);
    FIELD(INT, "first_seen_ms", c.first_seen.ms, NULL);
    FIELD(INT, "last_seen_ms", c.last_seen.ms, NULL);
    FIELD(INT, "forgotten_ms", c.forgotten.ms, NULL, PRESENT(c.forgotten.ms), MAYBE);
    FIELD(TEXT, "forgotten_by", c.forgotten_by, NULL, PRESENT(c.forgotten.ms), MAYBE);
    FIELD(BOOL, "was_lost", was_lost, NULL);
    FIELD(INT, "resets", c.resets, NULL);
    FIELD(OPTION, "energy_mj", c.energy_mj, NULL, WHOLE);
    FIELD(OPTION, "ecc_corrected", c.ecc_corrected, NULL, WHOLE);
    FIELD(OPTION, "ecc_uncorrected", c.ecc_uncorrected, NULL, WHOLE);
    FIELD(INT, "nvlinks_most", c.nvlinks_most, NULL);
    FIELD(NAME, "state", c.state, NULL, NAMES(states));
    FIELD(INT, "state_since_ms", c.state_since.ms, NULL);
    EACH(OBJECT, "faults", next_fault, NULL, FIELDS(fault_answer));
}

ANSWER_TABLE(file_answer, struct kept_health)
{
    FIELD(INT, "version", version, NULL);
    FIELD(TEXT, "machine", host.machine, NULL);
    FIELD(TEXT, "boot", host.boot, NULL);
    FIELD(INT, "kernel_log_until_us", until.us, NULL);
    FIELD(INT, "kernel_log_until_ms", until.at.ms, NULL);
    EACH(OBJECT, "cards", next_gpu, NULL, FIELDS(card_answer));
    EACH(OBJECT, "parts", next_part, NULL, FIELDS(card_answer));
}

void health_write(const struct health_history *h, const struct health_host *host, struct health_log_mark until, struct wall now,
                  struct buf *out)
{
    struct kept_health file = {.version = FILE_VERSION, .host = *host, .until = until, .all = h, .now = now};
    answer_write(JSON_LINE(out), &file_answer, &file, &file);
}

/* ---- back: a value that makes no sense is none ---- */

/* A check that this version does not have is left out. Older versions wrote the check alone, and a sentence without the GPU before
 * it. */
static bool take_fault(const json_t *o, struct health_fault *ret)
{
    struct kept_fault k = {.check = HEALTH_CHECK_COUNT, .state = HEALTH_LOST + 1};
    struct health_fault *f = &k.f;
    answer_read(&fault_answer, o, &k, NULL);
    if (k.check == HEALTH_CHECK_COUNT || k.state > HEALTH_LOST)
        return false;
    f->code = health_check_finding(k.check);
    f->total = MAX_OF(f->total, (uint64_t)f->times);
    f->health = (enum health_effect)(MAX_OF(k.state, HEALTH_HEALTHY) - HEALTH_HEALTHY);
    f->severity = f->health >= EFFECT_FAILING ? SEVERITY_CRITICAL : f->health ? SEVERITY_WARNING : SEVERITY_NOTICE;
    *ret = *f;
    if (k.finding[0]) {
        finding_code_from_name(k.finding, &ret->code);
        return true;
    }
    if (f->code == FINDING_FAN_FAILING && f->health >= EFFECT_FAILING)
        ret->code = FINDING_FAN_STOPPED;
    snprintf(ret->reason, sizeof ret->reason, ": %.*s", (int)sizeof f->reason - 3, f->reason);
    return true;
}

static bool take_card(const json_t *o, struct health_card *c)
{
    struct kept_card k = {.c.state = HEALTH_LOST + 1};
    answer_read(&card_answer, o, &k, NULL);
    *c = k.c;
    c->last_state = k.was_lost ? GPU_LOST : GPU_OK;
    size_t i;
    json_t *fault;
    json_array_foreach(json_object_get(o, "faults"), i, fault)
    {
        if (c->fault_count < HEALTH_FAULTS_MAX && take_fault(fault, &c->faults[c->fault_count]))
            c->fault_count++;
    }
    return c->state <= HEALTH_LOST && c->index >= 0 && c->index < GPU_MAX;
}

/* How long something was held is not known over a time without samples; a boot ends what the readings showed. */
static void wake_up(struct health_history *h)
{
    for (size_t i = 0; i < h->card_count; i++)
        for (size_t k = 0; k < h->cards[i].fault_count; k++)
            if (!h->cards[i].faults[k].active)
                h->cards[i].faults[k].held.ms = 0;
}

static bool take_cards(struct health_history *h, const json_t *list, struct wall now)
{
    size_t i;
    json_t *card;
    bool good = true;
    json_array_foreach(list, i, card)
    {
        if (h->card_count == GPU_MAX)
            break;
        struct health_card *c = &h->cards[h->card_count];
        good &= take_card(card, c);
        h->card_count += belongs_here(h, c, now);
    }
    return good;
}

int health_read(struct health_history *h, struct str text, const struct health_host *host, struct wall now,
                struct health_log_mark *until, struct error *err)
{
    json_error_t said;
    AUTO_JSON json_t *root = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, &said);
    const json_t *cards = json_object_get(root, "cards");
    struct kept_health file = {0};
    answer_read(&file_answer, root, &file, NULL);
    if (file.host.machine[0] && host->machine[0] && strcmp(file.host.machine, host->machine) != 0)
        return error_set(err, -EXDEV, "it is of another host");
    bool good = file.version == FILE_VERSION && json_is_array(cards) && json_is_string(json_object_get(root, "boot"));
    good = good && take_cards(h, cards, now) && take_cards(h, json_object_get(root, "parts"), now);
    bool same_boot = good && host->boot[0] && strcmp(file.host.boot, host->boot) == 0;
    *until = same_boot ? file.until : (struct health_log_mark){0};
    if (!good) {
        h->card_count = 0;
        return error_set(err, -EINVAL, "it is not a file of health records");
    }
    h->changes++;
    wake_up(h);
    if (!same_boot)
        health_note_boot(h);
    return 0;
}

void health_keep_names(struct health_history *h)
{
    for (size_t i = 0; i < h->card_count; i++) {
        struct health_card *c = &h->cards[i];
        c->fault_count = 0;
        c->resets = 0;
        c->state = HEALTH_UNKNOWN;
        c->last_state = GPU_OK;
        c->nvlinks_most = 0;
        c->energy_mj = c->ecc_corrected = c->ecc_uncorrected = (struct reading){0};
    }
}
