/* SPDX-License-Identifier: Apache-2.0
 * From faults to findings and from findings to a verdict: the worst decides.
 */
#include "insight/verdict/health_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/facts/fan.h"
#include "insight/facts/words.h"
#include "insight/verdict/graph.h"
#include "insight/verdict/health_memory.h"
#include "model/finding.h"
#include "source/fault/fault.h"

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

static void find_xid(struct health_verdict *v, const struct health_fault *fault, const struct health_card *card, struct wall now)
{
    const struct fault_info *info = xid_find(fault->code);
    enum fault_class class = info ? info->class : FAULT_UNKNOWN;
    int64_t ago = MAX_OF((int64_t)0, now.ms - fault->last_at.ms);
    enum health_state state = state_of_fault(fault, card, class, ago);
    char when[SHORT_WORDS], often[32] = "";
    if (state == HEALTH_UNKNOWN)
        return;
    bool worse = fault->returned && state == HEALTH_FAILING;
    struct health_finding *f = add_finding(v, fault, state, worse ? again : fault_action(class));
    if (fault->times > 1)
        snprintf(often, sizeof often, ", %u times", (unsigned)fault->times);
    const char *again_text = worse ? ", and again after a reset" : "";
    const char *what = info ? info->what
                       : fault->code > XID_CATALOG_LAST
                           ? "an error that is newer than this catalog (" XID_CATALOG "); the driver's maker may describe it"
                           : "an error that whirr does not know; the catalog of XIDs of the driver's maker may describe it";
    if (ago < MS_PER_S)
        set_reason(f, "XID %d just now%s%s: %s.", (int)fault->code, often, again_text, what);
    else
        set_reason(f, "XID %d %s ago%s%s: %s.", (int)fault->code, words_duration(ago, when), often, again_text, what);
}

/* A hang or a failed reset that the kernel's driver told of: judged like an XID of its class. */
static void find_driver_fault(struct health_verdict *v, const struct health_fault *fault, const struct health_card *card,
                              struct wall now)
{
    const struct fault_info *info = driver_fault_find(fault->code);
    if (!info)
        return; /* of another version */
    int64_t ago = MAX_OF((int64_t)0, now.ms - fault->last_at.ms);
    enum health_state state = state_of_fault(fault, card, info->class, ago);
    char when[SHORT_WORDS], often[32] = "", what[128];
    if (state == HEALTH_UNKNOWN)
        return;
    bool worse = fault->returned && state == HEALTH_FAILING;
    struct health_finding *f = add_finding(v, fault, state, worse ? again : fault_action(info->class));
    str_copy(what, sizeof what, str_from(info->what));
    what[0] = (char)(what[0] - 'a' + 'A');
    if (fault->times > 1)
        snprintf(often, sizeof often, ", %u times", (unsigned)fault->times);
    set_reason(f, "%s, %s%s%s%s (kernel log).", what, ago < MS_PER_S ? "just now" : words_duration(ago, when),
               ago < MS_PER_S ? "" : " ago", often, worse ? ", and again after a reset" : "");
}

static void find_faults(struct health_verdict *v, const struct health_card *card, struct wall now)
{
    for (size_t i = 0; i < card->fault_count; i++) {
        const struct health_fault *fault = &card->faults[i];
        if (fault->check == HEALTH_CHECK_XID) {
            v->xids[v->xid_count++] = (struct health_xid){fault->code, fault->total, fault->last_at};
            find_xid(v, fault, card, now);
        } else if (fault->check == HEALTH_CHECK_DRIVER_FAULT)
            find_driver_fault(v, fault, card, now);
        else if (fault->active && fault->check == HEALTH_CHECK_COOLING)
            find_drift(v, fault);
        else if (fault->active)
            find_reading_fault(v, fault, now);
        else if (fault->check == HEALTH_CHECK_LOST)
            find_past_loss(v, fault, now);
    }
}

/* ---- verdicts ---- */

enum finding_code health_finding_code(const struct health_finding *h)
{
    switch (h->check) {
    case HEALTH_CHECK_LOST: return FINDING_LOST;
    case HEALTH_CHECK_ERROR: return FINDING_ERROR;
    case HEALTH_CHECK_DRIVER_VERDICT: return FINDING_DRIVER_VERDICT;
    case HEALTH_CHECK_XID: return FINDING_XID;
    case HEALTH_CHECK_DRIVER_FAULT: return FINDING_DRIVER_FAULT;
    case HEALTH_CHECK_ECC: return FINDING_ECC;
    case HEALTH_CHECK_ROW_REMAP: return FINDING_ROW_REMAP;
    case HEALTH_CHECK_RETIRED_PAGES: return FINDING_RETIRED_PAGES;
    case HEALTH_CHECK_REPAIR: return FINDING_REPAIR;
    case HEALTH_CHECK_SLOWDOWN: return FINDING_SLOWDOWN;
    case HEALTH_CHECK_TEMPERATURE: return FINDING_HEAT_LIMIT;
    case HEALTH_CHECK_PCIE_LINK: return FINDING_PCIE_LINK;
    case HEALTH_CHECK_PCIE_REPLAYS: return FINDING_PCIE_REPLAYS;
    case HEALTH_CHECK_NVLINK: return FINDING_NVLINK;
    case HEALTH_CHECK_FAN: return h->state >= HEALTH_FAILING ? FINDING_FAN_STOPPED : FINDING_FAN_FAILING;
    case HEALTH_CHECK_COOLING: return FINDING_COOLING;
    case HEALTH_CHECK_COUNT: break;
    }
    return FINDING_CANNOT_KNOW;
}

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
