/* SPDX-License-Identifier: Apache-2.0
 * A fault is born or renewed when it is seen, and knows how many resets its card had then. From faults to findings, and from
 * findings to a verdict: the worst decides.
 */
#include "insight/verdict/health_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/facts/levels.h"
#include "insight/facts/words.h"
#include "insight/verdict/graph.h"
#include "model/finding.h"
#include "source/fault/fault.h"

/* ---- what is remembered of a card: its faults, its resets, and which faults came back after one ---- */

enum {
    FAULT_DAY_MS = 86400000, /* after so long without a repeat a fault is over */
    FAULT_HOUR_MS = 3600000, /* a fault of an application is worth a line for so long */
    FAULT_SAME_MS = 5000,    /* the same XID from two places */
    FAULT_OFTEN = 3,         /* application faults a day that deserve a look */
};

struct health_history *health_history_new(void)
{
    return calloc(1, sizeof(struct health_history));
}

void health_history_free(struct health_history *h)
{
    free(h);
}

/* The card's memory, made when it is not there yet; NULL when the memory is full. */
static struct health_card *memory_card(struct health_history *h, const struct gpu *gpu)
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

static void memory_take_look(struct health_card *card, enum health_check check, const struct health_look *look, struct wall now)
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

/* What a log or an event told: an XID or a fault of the driver. */
static void memory_take_logged(struct health_card *card, enum health_check check, int32_t code, struct wall at, int64_t same_ms)
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

/* ---- findings ---- */

static struct health_finding *add_finding(struct health_verdict *v, const struct health_fault *fault, enum health_state state,
                                          const char *action)
{
    size_t at = v->finding_count;
    while (at > 0 && v->findings[at - 1].state < state)
        at--;
    if (at == HEALTH_FINDINGS_MAX)
        return NULL;
    size_t kept = MIN_OF(v->finding_count, (size_t)HEALTH_FINDINGS_MAX - 1);
    memmove(&v->findings[at + 1], &v->findings[at], (kept - at) * sizeof v->findings[0]);
    v->finding_count = kept + 1;
    v->findings[at] = (struct health_finding){
        .check = fault->check, .state = state, .code = fault->code, .since = fault->held.ms ? fault->held : fault->first_at};
    snprintf(v->findings[at].action, HEALTH_TEXT_SIZE, "%s", action);
    return &v->findings[at];
}

__attribute__((format(gnu_printf, 2, 3))) static void set_reason(struct health_finding *finding, const char *format, ...)
{
    if (!finding)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(finding->reason, sizeof finding->reason, format, args);
    va_end(args);
}

static const char *const again = "Have the GPU checked and replaced: a reset did not cure it.";

/* Months, not moments: how long it has been known does not matter. */
static void find_drift(struct health_verdict *v, const struct health_fault *fault)
{
    struct health_finding *f = add_finding(v, fault, fault->state, health_advice_text(fault->advice));
    set_reason(f, "%s.", fault->reason);
}

static void find_reading_fault(struct health_verdict *v, const struct health_fault *fault, struct wall now)
{
    char since[SHORT_WORDS];
    enum health_state state =
        fault->returned && fault->state == HEALTH_DEGRADED && fault->check <= HEALTH_CHECK_REPAIR ? HEALTH_FAILING : fault->state;
    bool hopeless =
        fault->returned && state >= HEALTH_FAILING && fault->check != HEALTH_CHECK_FAN && fault->check != HEALTH_CHECK_TEMPERATURE;
    struct health_finding *f = add_finding(v, fault, state, hopeless ? again : health_advice_text(fault->advice));
    int64_t lasts = now.ms - fault->held.ms;
    char text[160];
    str_copy(text, sizeof text, str_from(fault->reason));
    text[0] = (char)(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
    if (fault->returned)
        set_reason(f, "%s, and this came back after a reset.", text);
    else if (fault->held.ms && lasts >= FAN_FAULT_MS)
        set_reason(f, "%s; first seen %s ago.", text, words_duration(lasts, since));
    else
        set_reason(f, "%s.", text);
}

/* A card that was lost and came back is not trusted for a day. */
static void find_past_loss(struct health_verdict *v, const struct health_fault *fault, struct wall now)
{
    char ago[SHORT_WORDS];
    if (now.ms - fault->last_at.ms > FAULT_DAY_MS || !fault->times)
        return;
    struct health_finding *f = add_finding(v, fault, HEALTH_DEGRADED, health_advice_text(ADVICE_WATCH));
    set_reason(f, "It was lost %s ago and came back.", words_duration(now.ms - fault->last_at.ms, ago));
    if (f)
        f->until = fault->last_at;
}

/* What an XID makes of the card now; HEALTH_UNKNOWN: nothing any more. */
static enum health_state state_of_fault(const struct health_fault *fault, const struct health_card *card, enum fault_class class,
                                        int64_t ago)
{
    bool cured = fault->resets < card->resets;
    switch (class) {
    case FAULT_INFORM: return HEALTH_UNKNOWN;
    case FAULT_APPLICATION:
        if (ago > FAULT_DAY_MS)
            return HEALTH_UNKNOWN;
        if (fault->times >= FAULT_OFTEN)
            return HEALTH_DEGRADED;
        return ago <= FAULT_HOUR_MS ? HEALTH_HEALTHY : HEALTH_UNKNOWN;
    case FAULT_UNKNOWN:
    case FAULT_LOOK:
        if (cured || ago > FAULT_DAY_MS)
            return HEALTH_UNKNOWN;
        return fault->returned ? HEALTH_FAILING : HEALTH_DEGRADED;
    case FAULT_RESET:
    case FAULT_REBOOT:
    case FAULT_CABLE: break;
    }
    return cured ? HEALTH_UNKNOWN : HEALTH_FAILING;
}

/* An XID, or a hang or failed reset that the kernel's driver told of. */
static void find_logged(struct health_verdict *v, const struct health_fault *fault, const struct health_card *card, struct wall now)
{
    bool xid = fault->check == HEALTH_CHECK_XID;
    const struct fault_info *info = xid ? xid_find(fault->code) : driver_fault_find(fault->code);
    if (!info && !xid)
        return; /* of another version */
    enum fault_class class = info ? info->class : FAULT_UNKNOWN;
    int64_t ago = MAX_OF((int64_t)0, now.ms - fault->last_at.ms);
    enum health_state state = state_of_fault(fault, card, class, ago);
    char span[SHORT_WORDS], when[SHORT_WORDS + 8] = "just now", often[32] = "";
    if (state == HEALTH_UNKNOWN)
        return;
    bool worse = fault->returned && state == HEALTH_FAILING;
    struct health_finding *f = add_finding(v, fault, state, worse ? again : fault_action(class));
    if (ago >= MS_PER_S)
        snprintf(when, sizeof when, "%s ago", words_duration(ago, span));
    if (fault->times > 1)
        snprintf(often, sizeof often, ", %u times", (unsigned)fault->times);
    const char *again_text = worse ? ", and again after a reset" : "";
    const char *what = info ? info->what
                       : fault->code > XID_CATALOG_LAST
                           ? "an error that is newer than this catalog (" XID_CATALOG "); the driver's maker may describe it"
                           : "an error that whirr does not know; the catalog of XIDs of the driver's maker may describe it";
    if (xid)
        set_reason(f, "XID %d %s%s%s: %s.", (int)fault->code, when, often, again_text, what);
    else
        set_reason(f, "%c%s, %s%s%s (kernel log).", what[0] - 'a' + 'A', what + 1, when, often, again_text);
}

static void find_faults(struct health_verdict *v, const struct health_card *card, struct wall now)
{
    for (size_t i = 0; i < card->fault_count; i++) {
        const struct health_fault *fault = &card->faults[i];
        if (fault->check == HEALTH_CHECK_XID)
            v->xids[v->xid_count++] = (struct health_xid){fault->code, fault->total, fault->last_at};
        if (fault->check == HEALTH_CHECK_XID || fault->check == HEALTH_CHECK_DRIVER_FAULT)
            find_logged(v, fault, card, now);
        else if (fault->active && fault->check == HEALTH_CHECK_COOLING)
            find_drift(v, fault);
        else if (fault->active)
            find_reading_fault(v, fault, now);
        else if (fault->check == HEALTH_CHECK_LOST)
            find_past_loss(v, fault, now);
    }
}

/* ---- verdicts ---- */

/* A cause goes before what it brings about: a GPU that its fan leaves too hot needs a fan, not a cleaner filter. */
static void put_roots_first(struct health_verdict *v)
{
    for (size_t i = 1; i < v->finding_count; i++)
        for (size_t k = 0; k < i; k++) {
            struct health_finding root = v->findings[i];
            enum finding_code code = health_finding_code(&root);
            if (finding_kind(code)->area == AREA_ERRORS || graph_weight(NULL, code, health_finding_code(&v->findings[k])) < 0.6)
                continue;
            memmove(&v->findings[k + 1], &v->findings[k], (i - k) * sizeof root);
            v->findings[k] = root;
            break;
        }
}

static void conclude(struct health_verdict *v, struct health_card *card, enum health_state base, size_t judged, struct wall now)
{
    v->gpu_index = card->index;
    v->id = card->id;
    v->simulated = card->simulated;
    find_faults(v, card, now);
    put_roots_first(v);
    const struct health_finding *first = v->finding_count ? &v->findings[0] : NULL;
    enum health_state worst = HEALTH_HEALTHY;
    for (size_t i = 0; i < v->finding_count; i++)
        worst = MAX_OF(worst, v->findings[i].state);
    v->state = worst > HEALTH_HEALTHY ? worst : base;
    snprintf(v->action, sizeof v->action, "%s", first ? first->action : health_advice_text(ADVICE_NONE));
    if (first)
        snprintf(v->reason, sizeof v->reason, "%s", first->reason);
    else if (base == HEALTH_HEALTHY)
        snprintf(v->reason, sizeof v->reason, "No fault was found in %zu check%s.", judged, judged == 1 ? "" : "s");
    else if (base == HEALTH_ASLEEP)
        snprintf(v->reason, sizeof v->reason, "It is asleep and is not woken for this.");
    else {
        snprintf(v->reason, sizeof v->reason, "None of its health readings are available.");
        snprintf(v->action, sizeof v->action, "See what this GPU and driver don't report, and why: whirr doctor");
    }
    v->before = card->state;
    /* One that is in trouble at the first look is news, too: others have to hear of it. */
    v->changed = card->state_since.ms != 0 ? card->state != v->state : v->state >= HEALTH_DEGRADED;
    if (card->state_since.ms == 0 || v->changed)
        card->state_since = now;
    card->state = v->state;
    v->since = card->state_since;
}

static void judge_listed(const struct health_history *h, struct health_verdict *v, struct health_card *card, const struct gpu *gpu,
                         const struct snapshot *now)
{
    struct health_look looks[HEALTH_CHECK_COUNT];
    size_t judged = 0;
    card->index = gpu->index;
    card->id = gpu->id;
    card->listed = true;
    card->simulated = gpu->simulated;
    v->activity = gpu->activity;
    baselines_judge(h->usual, now, gpu, &v->usual);
    if (gpu->state == GPU_OK || gpu->state == GPU_ASLEEP || gpu->released)
        card->last_seen = now->taken_at;
    str_copy(card->source, sizeof card->source, str_from(gpu->source));
    if (!gpu->released)
        memory_notice_reset(card, gpu);
    for (size_t i = 0; i < MIN_OF(now->event_count, (size_t)EVENTS_MAX); i++) {
        const struct event *event = &now->events[i];
        if (event->kind == EVENT_DRIVER_FAULT && event->gpu_index == gpu->index)
            memory_take_logged(card, HEALTH_CHECK_XID, (int32_t)event->code, event->at.ms ? event->at : now->taken_at, h->same_ms);
    }
    health_look_at(gpu, now->taken_at, card, looks);
    if (!snapshot_source_started(now, gpu)) /* no reset brings back a driver that is not there */
        looks[HEALTH_CHECK_ERROR].advice = ADVICE_DRIVER;
    if (gpu->state == GPU_OK && !gpu->released)
        health_look_cooling(&v->usual.drift, &looks[HEALTH_CHECK_COOLING]);
    for (size_t check = 0; check < HEALTH_CHECK_COUNT; check++) {
        memory_take_look(card, (enum health_check)check, &looks[check], now->taken_at);
        judged += looks[check].look != LOOK_UNJUDGED && check != HEALTH_CHECK_LOST && check != HEALTH_CHECK_ERROR;
    }
    enum health_state base = gpu->state == GPU_ASLEEP ? HEALTH_ASLEEP : judged ? HEALTH_HEALTHY : HEALTH_UNKNOWN;
    conclude(v, card, base, judged, now->taken_at);
    if (gpu_is_denied(gpu) && v->state == HEALTH_UNKNOWN) {
        snprintf(v->reason, sizeof v->reason, "You have no permission to read it (%.110s).", gpu->error_message);
        snprintf(v->action, sizeof v->action,
                 "Join the group of its device files (sudo usermod -aG video,render $USER) or ask as "
                 "root; in a job or container, ask for this GPU.");
    }
    if (gpu->released && v->state == HEALTH_UNKNOWN) {
        snprintf(v->reason, sizeof v->reason, "Its driver was released on request.");
        snprintf(v->action, sizeof v->action, "Nothing: it is checked again when whirr takes the driver back.");
    }
}

void health_meet(struct health_history *h, const struct snapshot *now)
{
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct health_card *card = memory_card(h, &now->gpus[i]);
        if (card)
            card->id = now->gpus[i].id;
    }
}

struct health *health_judge(struct health_history *h, const struct snapshot *now)
{
    struct health *health = calloc(1, sizeof *health + now->gpu_count * sizeof health->verdicts[0]);
    if (!health)
        return NULL;
    h->same_ms = (int64_t)(now->interval_s * MS_PER_S) + MS_PER_S; /* events are stamped when they are fetched */
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct health_card *card = memory_card(h, &now->gpus[i]);
        if (!card)
            continue; /* more cards than a machine can have */
        judge_listed(h, &health->verdicts[health->count++], card, &now->gpus[i], now);
    }
    for (size_t i = 0; i < health->count; i++)
        health->worst = MAX_OF(health->worst, health->verdicts[i].state);
    return health;
}

struct health *health_copy(const struct health *health)
{
    size_t size = sizeof *health + health->count * sizeof health->verdicts[0];
    struct health *copy = malloc(size);
    if (copy)
        memcpy(copy, health, size);
    return copy;
}

void health_free(struct health *health)
{
    free(health);
}
