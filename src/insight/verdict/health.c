/* SPDX-License-Identifier: Apache-2.0
 * Which findings count for health, and in which order they are told.
 */
#include "insight/verdict/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/facts/levels.h"
#include "model/finding_code.h"

/* ---- checks ---- */

static const struct {
    const char *name;
    finding_code finding;
} checks[HEALTH_CHECK_COUNT] = {
#define HEALTH_CHECK(name, code, found) {code, FINDING_##found},
#include "insight/verdict/health_checks.def"
#undef HEALTH_CHECK
};

const char *health_check_name(enum health_check check)
{
    return check < HEALTH_CHECK_COUNT ? checks[check].name : "unknown";
}

finding_code health_check_finding(enum health_check check)
{
    return checks[check].finding;
}

enum health_check health_check_of(finding_code code)
{
    if (code == FINDING_FAN_STOPPED || code == FINDING_FAN_BY_HAND)
        return HEALTH_CHECK_FAN;
    if (code == FINDING_MEMORY_HOT)
        return HEALTH_CHECK_TEMPERATURE;
    if (code == FINDING_CHECK_SLOW)
        return HEALTH_CHECK_CHECK;
    enum health_check check = 0;
    while (check < HEALTH_CHECK_COUNT && checks[check].finding != code)
        check++;
    return check;
}

static bool is_read(struct reading r)
{
    return r.state == READING_OK;
}

bool health_can_judge(enum health_check check, const struct gpu *gpu, const struct usual *usual)
{
    bool ok = gpu->state == GPU_OK && !gpu->released;
    enum fan_state fan;
    switch (check) {
    case HEALTH_CHECK_LOST: return gpu->state != GPU_ASLEEP && !gpu->released && !gpu_is_denied(gpu);
    case HEALTH_CHECK_ERROR: return ok;
    case HEALTH_CHECK_DRIVER_VERDICT: return ok && is_read(gpu->recovery_action);
    case HEALTH_CHECK_ECC: return ok && is_read(gpu->ecc_uncorrected);
    case HEALTH_CHECK_ROW_REMAP:
        return ok && (is_read(gpu->remapped_rows_failed) || is_read(gpu->remapped_rows_uncorrected) ||
                      is_read(gpu->remapped_rows_pending));
    case HEALTH_CHECK_RETIRED_PAGES:
        return ok && (is_read(gpu->retired_pages_sbe) || is_read(gpu->retired_pages_dbe) || is_read(gpu->retired_pages_pending));
    case HEALTH_CHECK_REPAIR:
        return ok && (is_read(gpu->unrepairable_memory) || is_read(gpu->ecc_sram_threshold) ||
                      is_read(gpu->channel_repair_pending) || is_read(gpu->tpc_repair_pending));
    case HEALTH_CHECK_CHECK: return gpu->check.at.ms != 0;
    case HEALTH_CHECK_SLOWDOWN: return ok && is_read(gpu->throttle_bits);
    case HEALTH_CHECK_TEMPERATURE: return ok && is_read(gpu->temp_mdegc);
    case HEALTH_CHECK_PCIE_LINK: /* links of idle cards rest */
        return ok && reading_or(gpu->util_permille, 0) >= LINK_LANES_LOAD && is_read(gpu->pcie_width) &&
               is_read(gpu->pcie_width_max);
    case HEALTH_CHECK_PCIE_REPLAYS: return ok && (is_read(gpu->pcie_replays) || is_read(gpu->pcie_corrected_errors));
    case HEALTH_CHECK_PCIE_ERRORS: return ok && is_read(gpu->pcie_uncorrected_errors);
    case HEALTH_CHECK_NVLINK: return ok && is_read(gpu->nvlink_links_active);
    case HEALTH_CHECK_FAN:
        fan = ok ? fan_judge(gpu).state : FAN_STATE_UNKNOWN;
        return fan != FAN_STATE_UNKNOWN && fan != FAN_STATE_NONE;
    case HEALTH_CHECK_COOLING: return ok && (!usual || usual->drift.days);
    case HEALTH_CHECK_XID:
    case HEALTH_CHECK_DRIVER_FAULT:
    case HEALTH_CHECK_COUNT: break;
    }
    return false; /* no reading shows it */
}

static size_t count_judged(const struct gpu *gpu, const struct usual *usual)
{
    size_t judged = 0;
    for (enum health_check check = HEALTH_CHECK_ERROR + 1; check < HEALTH_CHECK_COUNT; check++)
        judged += health_can_judge(check, gpu, usual);
    return judged;
}

/* ---- states ---- */

const char *health_state_name(enum health_state state)
{
    static const char *const names[] = {"unknown", "asleep", "healthy", "degraded", "failing", "lost"};
    return names[state];
}

bool health_state_from_name(const char *name, enum health_state *ret)
{
    for (enum health_state s = HEALTH_UNKNOWN; s <= HEALTH_LOST; s++)
        if (strcmp(name, health_state_name(s)) == 0) {
            *ret = s;
            return true;
        }
    return false;
}

int health_exit_code(enum health_state state)
{
    switch (state) {
    case HEALTH_HEALTHY:
    case HEALTH_ASLEEP: return 0;
    case HEALTH_DEGRADED: return 1;
    case HEALTH_FAILING:
    case HEALTH_LOST: return 2;
    case HEALTH_UNKNOWN: break;
    }
    return 3;
}

/* ---- findings ---- */

bool health_has_held(const struct finding *f, struct wall now)
{
    const struct finding_kind *kind = finding_kind(f->code);
    return kind->area == AREA_ERRORS || f->health > MAX_OF(kind->effect, EFFECT_DEGRADED) ||
           finding_held_ms(f, now) >= kind->hold_ms;
}

/* What comes and goes, or is over, makes no GPU unusable. */
static enum health_state state_of(const struct finding *f)
{
    return HEALTH_HEALTHY + (f->tense == TENSE_NOW ? f->health : MIN_OF(f->health, EFFECT_DEGRADED));
}

/* It degrades its GPU, or is worth a line: an error that ended a program, a slow change. */
static bool is_of_health(const struct finding *f)
{
    const struct finding_kind *kind = finding_kind(f->code);
    bool noted = f->severity > SEVERITY_INFO && (kind->area == AREA_ERRORS || f->severity >= kind->severity);
    return f->tense != TENSE_SOON && (f->health > EFFECT_HEALTHY || (kind->effect > EFFECT_HEALTHY && noted));
}

static bool is_listed(const struct health_verdict *v, finding_code code)
{
    for (size_t i = 0; i < v->finding_count; i++)
        if (v->findings[i].code == code)
            return true;
    return false;
}

static void list(struct health_verdict *v, const struct finding *f, enum health_check check, enum health_state state,
                 const struct gpu *gpu)
{
    if (v->finding_count == HEALTH_FINDINGS_MAX)
        return;
    struct health_finding *h = &v->findings[v->finding_count++];
    *h = (struct health_finding){.check = check, .code = f->code, .state = state, .fault = f->fault, .since = f->since};
    const char *advice = advice_for(f);
    finding_sentence(f, h->reason, sizeof h->reason);
    static const char lost[] = "It is lost"; /* its state is no reason */
    if (f->code == FINDING_LOST && strncmp(h->reason, lost, strlen(lost)) == 0) {
        char rest[HEALTH_TEXT_SIZE / 2];
        str_copy(rest, sizeof rest, str_from(h->reason + strlen(lost)));
        snprintf(h->reason, sizeof h->reason, "%s%s",
                 gpu->unlisted ? "No driver lists it anymore" : "The driver can't reach it anymore", rest);
    }
    if ((f->code == FINDING_LOST || f->code == FINDING_ERROR) && f->tense == TENSE_NOW && gpu->error_message[0])
        snprintf(h->reason + strlen(h->reason) - 1, sizeof h->reason - strlen(h->reason), " (%.110s).", gpu->error_message);
    snprintf(h->action, sizeof h->action, "%s", advice ? advice : HEALTH_NOTHING_TO_DO);
}

/* What brought it about; NULL: it is a root. */
static const struct finding *root_of(const struct verdict *all, const struct finding *f)
{
    enum { CHAIN_MAX = 4 };
    const struct finding *root = f;
    for (int i = 0; i < CHAIN_MAX && root && root->is_effect; i++) {
        const struct finding *cause = verdict_find(all, f->gpu_index, root->root);
        root = cause ? cause : verdict_find(all, -1, root->root);
    }
    return root == f ? NULL : root;
}

/* Other errors that its driver told of: a verdict has the worst of a kind. */
static void list_logged(struct health_verdict *v, const struct finding *told, const struct health_card *card, const struct gpu *gpu,
                        struct wall now)
{
    for (size_t i = 0; i < card->fault_count; i++) {
        struct finding other;
        if (card->faults[i].code == told->code && card->faults[i].number != told->fault &&
            card_memory_logged(card, &card->faults[i], now, &other))
            list(v, &other, health_check_of(other.code), HEALTH_HEALTHY + finding_effect(other.code, other.severity), gpu);
    }
}

static void list_findings(struct health_verdict *v, const struct snapshot *now, const struct gpu *gpu,
                          const struct health_card *card)
{
    for (size_t i = 0; now->verdict && i < now->verdict->count; i++) {
        const struct finding *f = &now->verdict->findings[i];
        if (f->gpu_index != gpu->index || !is_of_health(f) || !health_has_held(f, now->taken_at))
            continue;
        const struct finding *root = root_of(now->verdict, f);
        enum health_check check = health_check_of(f->code), causes = root ? health_check_of(root->code) : HEALTH_CHECK_COUNT;
        if (root && !is_listed(v, root->code))
            list(v, root, causes < HEALTH_CHECK_COUNT ? causes : check,
                 is_of_health(root) && health_has_held(root, now->taken_at) ? state_of(root) : state_of(f), gpu);
        if (!is_listed(v, f->code))
            list(v, f, check, state_of(f), gpu);
        if (f->fault)
            list_logged(v, f, card, gpu, now->taken_at);
    }
}

/* ---- verdicts ---- */

static void say_none(struct health_verdict *v, const struct gpu *gpu, size_t judged)
{
    const char *action = HEALTH_NOTHING_TO_DO;
    if (v->state == HEALTH_HEALTHY) {
        snprintf(v->reason, sizeof v->reason, "No fault was found in %zu check%s.", judged, judged == 1 ? "" : "s");
    } else if (v->state == HEALTH_ASLEEP) {
        snprintf(v->reason, sizeof v->reason, "It is asleep and is not woken for this.");
    } else if (gpu->released) {
        snprintf(v->reason, sizeof v->reason, "Its driver was released on request.");
        action = "Nothing: it is checked again when whirr takes the driver back.";
    } else if (gpu_is_denied(gpu)) {
        snprintf(v->reason, sizeof v->reason, "You have no permission to read it (%.110s).", gpu->error_message);
        action = "Join the group of its device files (sudo usermod -aG video,render $USER) or ask as root; in a job or container, "
                 "ask for this GPU.";
    } else {
        snprintf(v->reason, sizeof v->reason, "None of its health readings are available.");
        action = "See what this GPU and driver don't report, and why: whirr doctor";
    }
    snprintf(v->action, sizeof v->action, "%s", action);
}

static void conclude(struct health_verdict *v, struct health_card *card, struct wall now)
{
    v->before = card->state;
    /* One that is in trouble at the first look is news, too: others have to hear of it. */
    v->changed = card->state_since.ms != 0 ? card->state != v->state : v->state >= HEALTH_DEGRADED;
    if (card->state_since.ms == 0 || v->changed)
        card->state_since = now;
    card->state = v->state;
    v->since = card->state_since;
}

static void view_card(const struct health_history *h, struct health_verdict *v, struct health_card *card, const struct gpu *gpu,
                      const struct snapshot *now)
{
    v->gpu_index = gpu->index;
    v->id = gpu->id;
    v->simulated = gpu->simulated;
    v->activity = gpu->activity;
    baselines_judge(h->usual, now, gpu, &v->usual);
    for (size_t i = 0; i < card->fault_count; i++)
        if (card->faults[i].code == FINDING_XID)
            v->xids[v->xid_count++] = (struct health_xid){card->faults[i].number, card->faults[i].total, card->faults[i].last_at};
    list_findings(v, now, gpu, card);
    size_t judged = count_judged(gpu, &v->usual);
    enum health_state base = gpu->state == GPU_ASLEEP ? HEALTH_ASLEEP : judged ? HEALTH_HEALTHY : HEALTH_UNKNOWN;
    enum health_state worst = HEALTH_HEALTHY;
    for (size_t i = 0; i < v->finding_count; i++)
        worst = MAX_OF(worst, v->findings[i].state);
    v->state = worst > HEALTH_HEALTHY ? worst : base;
    if (v->finding_count) {
        memcpy(v->reason, v->findings[0].reason, sizeof v->reason);
        memcpy(v->action, v->findings[0].action, sizeof v->action);
    } else {
        say_none(v, gpu, judged);
    }
    conclude(v, card, now->taken_at);
}

struct health *health_view(struct health_history *h, const struct snapshot *now)
{
    struct health *health = calloc(1, sizeof *health + now->gpu_count * sizeof health->verdicts[0]);
    if (!health)
        return NULL;
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct health_card *card = health_card_of(h, &now->gpus[i]);
        if (!card)
            continue; /* more cards than a machine can have */
        struct health_verdict *v = &health->verdicts[health->count++];
        view_card(h, v, card, &now->gpus[i], now);
        health->worst = MAX_OF(health->worst, v->state);
    }
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
