/* SPDX-License-Identifier: Apache-2.0
 * The rules of leases. No files, no clocks, no drivers.
 */
#include "lease/lease_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* clang-format off */
const struct lease_rule lease_rules[] = {
    /* GPUs */
    {STAGE_NONE,      EVENT_ASK,    STAGE_DECIDING,  ACTION_DECIDE},
    {STAGE_DECIDING,  EVENT_DONE,   STAGE_STARTING,  ACTION_START},
    {STAGE_DECIDING,  EVENT_FULL,   STAGE_JOINING,   ACTION_JOIN}, /* with the same lock: no one comes in between */
    {STAGE_DECIDING,  EVENT_FAILED, STAGE_OVER,      ACTION_REST},
    {STAGE_JOINING,   EVENT_DONE,   STAGE_QUEUED,    ACTION_AWAIT},
    {STAGE_JOINING,   EVENT_FAILED, STAGE_LEAVING,   ACTION_LEAVE}, /* it may exist nevertheless, if only the last sync failed */
    {STAGE_QUEUED,    EVENT_DONE,   STAGE_TURN,      ACTION_DECIDE},
    {STAGE_QUEUED,    EVENT_FAILED, STAGE_LEAVING,   ACTION_LEAVE},
    {STAGE_QUEUED,    EVENT_END,    STAGE_LEAVING,   ACTION_LEAVE},
    {STAGE_TURN,      EVENT_DONE,   STAGE_STARTING,  ACTION_START},
    {STAGE_TURN,      EVENT_FULL,   STAGE_QUEUED,    ACTION_AWAIT},
    {STAGE_TURN,      EVENT_FAILED, STAGE_LEAVING,   ACTION_LEAVE},
    {STAGE_STARTING,  EVENT_DONE,   STAGE_HELD,      ACTION_REST},
    {STAGE_STARTING,  EVENT_FAILED, STAGE_LEAVING,   ACTION_LEAVE},
    {STAGE_HELD,      EVENT_END,    STAGE_LEAVING,   ACTION_LEAVE},
    {STAGE_LEAVING,   EVENT_DONE,   STAGE_OVER,      ACTION_REST},
    {STAGE_LEAVING,   EVENT_FAILED, STAGE_OVER,      ACTION_REST}, /* the next decision removes it */
    /* settings */
    {STAGE_NONE,      EVENT_CHANGE, STAGE_READING,   ACTION_READ},
    {STAGE_READING,   EVENT_DONE,   STAGE_WRITING,   ACTION_MARK_WRITTEN},
    {STAGE_READING,   EVENT_FAILED, STAGE_OVER,      ACTION_REST},
    {STAGE_WRITING,   EVENT_DONE,   STAGE_SETTING,   ACTION_SET},
    {STAGE_WRITING,   EVENT_FAILED, STAGE_REMOVING,  ACTION_REMOVE}, /* nothing is set; its record may exist */
    {STAGE_SETTING,   EVENT_DONE,   STAGE_KEEPING,   ACTION_MARK_ACTIVE},
    {STAGE_SETTING,   EVENT_FAILED, STAGE_RESTORING, ACTION_RESTORE},
    {STAGE_SETTING,   EVENT_END,    STAGE_RESTORING, ACTION_RESTORE}, /* found in the journal */
    {STAGE_KEEPING,   EVENT_DONE,   STAGE_ACTIVE,    ACTION_REST},
    {STAGE_KEEPING,   EVENT_FAILED, STAGE_RESTORING, ACTION_RESTORE},
    {STAGE_ACTIVE,    EVENT_END,    STAGE_MARKING,   ACTION_MARK_RESTORING},
    {STAGE_MARKING,   EVENT_DONE,   STAGE_RESTORING, ACTION_RESTORE},
    {STAGE_MARKING,   EVENT_FAILED, STAGE_RESTORING, ACTION_RESTORE}, /* a full disk must not keep a fan at a fixed speed */
    {STAGE_RESTORING, EVENT_DONE,   STAGE_REMOVING,  ACTION_REMOVE},
    {STAGE_RESTORING, EVENT_FAILED, STAGE_RESTORING, ACTION_REST}, /* the GPU is away: the record stays for the next try */
    {STAGE_RESTORING, EVENT_END,    STAGE_RESTORING, ACTION_RESTORE},
    {STAGE_REMOVING,  EVENT_DONE,   STAGE_OVER,      ACTION_REST},
    {STAGE_REMOVING,  EVENT_FAILED, STAGE_RESTORING, ACTION_REST},
};
/* clang-format on */
const size_t lease_rule_count = ARRAY_LEN(lease_rules);

enum lease_action lease_next(enum lease_stage *stage, enum lease_event event)
{
    for (size_t i = 0; i < lease_rule_count; i++)
        if (lease_rules[i].stage == *stage && lease_rules[i].event == event) {
            *stage = lease_rules[i].next;
            return lease_rules[i].action;
        }
    return ACTION_REST;
}

enum lease_stage lease_stage_of(const char *step)
{
    return strcmp(step, "written") == 0 ? STAGE_SETTING : strcmp(step, "restoring") == 0 ? STAGE_RESTORING : STAGE_ACTIVE;
}

/* ---- values ---- */

/* Drivers round to their own steps. No other program's value is mistaken for ours by more than that. */
static bool is_near(const struct lease_value *v, int64_t now, int64_t asked)
{
    enum { PARTS_OF_RANGE = 32 };
    return llabs(now - asked) <= (v->most - v->least) / PARTS_OF_RANGE;
}

/* Its low and high limit are set one after the other, so each may be the old or the new one. */
static bool is_half(const struct lease_value *v, struct control_value now)
{
    if (now.stock || v->asked.stock)
        return false;
    bool low = is_near(v, now.low, v->asked.low), high = is_near(v, now.high, v->asked.high);
    return (low || (!v->before.stock && now.low == v->before.low)) && (high || (!v->before.stock && now.high == v->before.high));
}

enum value_owner lease_value_owner(const struct lease_value *v, int rc, const struct control_state *now)
{
    if (rc == -EBUSY) /* its parts differ: half of our change, or another program's. When in doubt, fans become automatic */
        return v->unfinished || v->kind == CONTROL_FAN ? VALUE_OURS : VALUE_FOREIGN;
    if (!now->now_known)
        return VALUE_OURS;
    if (control_equal(v->kind, now->now, v->asked)) /* also where that was the value before: it is not taken by another */
        return VALUE_OURS;
    if (control_equal(v->kind, now->now, v->before))
        return VALUE_BEFORE;
    if (v->unfinished && is_half(v, now->now))
        return VALUE_OURS;
    struct control_value stock = now->exact_stock ? now->stock_value : (struct control_value){.stock = true};
    return control_equal(v->kind, now->now, stock) ? VALUE_RESET : VALUE_FOREIGN;
}

/* ---- life ---- */

static const char *setting_over(const struct lease *l, const struct lease_life *life)
{
    if (l->state == LEASE_ENDED)
        return "it was ended";
    if (l->until.ms && l->until.ms <= life->now.ms)
        return "its time is over";
    if (life->other_boot)
        return "the host was booted since";
    if (l->pid && !life->alive)
        return "its program has ended";
    /* Never finished, and bound to no program that could finish it. */
    return !l->pid && l->setting_count && lease_stage_of(l->settings[0].step) != STAGE_ACTIVE ? "it was not finished" : NULL;
}

const char *lease_over(const struct lease *l, const struct lease_life *life)
{
    bool bound = l->kind == LEASE_RUN || l->state == LEASE_WAITING;
    if (l->kind == LEASE_SETTING)
        return setting_over(l, life);
    if (l->state == LEASE_ENDED)
        return l->ended_why[0] ? l->ended_why : "it was ended";
    if (bound && !life->held && !life->alive)
        return "its program has ended";
    if (!bound && l->until.ms && l->until.ms <= life->now.ms)
        return "its time is over";
    return l->kind == LEASE_WAIT && l->made.ms > life->now.ms ? "the clock was set back" : NULL;
}
