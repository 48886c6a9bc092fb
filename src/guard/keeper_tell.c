/* SPDX-License-Identifier: Apache-2.0
 * A keeper's messages: the story of a worker, one sentence per step, to the log and the listener. Decides nothing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"
#include "guard/keeper.h"

enum { FIELDS_MAX = 8 };

/* Fields that explain a decision: which GPU, how hot it is, and who else uses it. */
static void add_facts(const struct keeper *k, struct log_field *to)
{
    int64_t mdegc;
    int hottest = keeper_hottest(k, &mdegc), gpu = k->claim.gpu >= 0 && !k->hot ? k->claim.gpu : hottest;
    if (gpu >= 0)
        *to++ = LOG_INT("gpu", gpu);
    if (hottest >= 0 && k->spec->health && k->spec->overheat) {
        *to++ = LOG_INT("temperature", mdegc / 1000);
        *to++ = LOG_INT("threshold", k->spec->hot_mdegc / 1000);
    }
    *to = LOG_INT("other_processes", (int64_t)k->claim.others);
}

static void tell_guard(struct keeper *k, enum guard_event_kind kind, enum guard_state before, const char *text, int status)
{
    struct log_field fields[FIELDS_MAX] = {LOG_TEXT("worker", k->spec->name), LOG_TEXT("state", guard_state_name(k->policy.state))};
    add_facts(k, fields + 2);
    /* Eviction for another program is a warning, too: work stops. */
    bool driven_out = kind == GUARD_EVENT_STATE && k->policy.state == GUARD_DRAINING && !k->policy.held &&
                      !k->policy.evict_wanted && !k->policy.idle;
    if (kind == GUARD_EVENT_PROBLEM || kind == GUARD_EVENT_LEFT || driven_out)
        log_write(LOG_WARNING, text, fields);
    else
        log_write(LOG_INFO, text, fields);
    if (k->shared->options.event)
        k->shared->options.event(k->shared->options.user, &(struct guard_event){.kind = kind,
                                                                                .worker = k->spec->name,
                                                                                .state = k->policy.state,
                                                                                .before = before,
                                                                                .text = text,
                                                                                .exit_status = status,
                                                                                .at = clock_wall(k->env->clock)});
}

void keeper_tell(struct keeper *k, enum guard_event_kind kind, enum guard_state before, const char *format, ...)
{
    char text[GUARD_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tell_guard(k, kind, before, text, 0);
}

/* Reported once, not at every look: repetitions are only counted. */
void keeper_problem(struct keeper *k, const char *format, ...)
{
    char text[GUARD_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&k->lock);
    bool again = strcmp(k->status.problem, text) == 0;
    str_copy(k->status.problem, sizeof k->status.problem, str_from(text));
    pthread_mutex_unlock(&k->lock);
    if (!again)
        tell_guard(k, GUARD_EVENT_PROBLEM, k->policy.state, text, 0);
}

enum { DECISION_SIZE = WORDS_SIZE + 24 };

/* "207ms after the decision"; "" if an earlier guard decided. */
static const char *since_decision(const struct keeper *k, char out[DECISION_SIZE])
{
    char took[WORDS_SIZE];
    out[0] = '\0';
    if (k->acted_at.ns)
        snprintf(out, DECISION_SIZE, "%s after the decision",
                 words_duration(mono_since_ms(clock_mono(k->env->clock), k->acted_at), took));
    return out;
}

void keeper_problem_over(struct keeper *k, const char *begin)
{
    pthread_mutex_lock(&k->lock);
    if (strncmp(k->status.problem, begin, strlen(begin)) == 0)
        k->status.problem[0] = '\0';
    pthread_mutex_unlock(&k->lock);
}

static void tell_paused(struct keeper *k, enum guard_state before)
{
    char freed[WORDS_SIZE], took[DECISION_SIZE];
    if (before == GUARD_RESERVING || before == GUARD_RESUMING) {
        keeper_tell(k, GUARD_EVENT_STATE, before, "stays paused: %s", k->claim.reason);
        return;
    }
    if (k->policy.not_freed) {
        keeper_tell(k, GUARD_EVENT_STATE, before, "paused");
        keeper_problem(k, "it agreed to free its memory, but the driver shows that it still holds it");
        return;
    }
    pthread_mutex_lock(&k->lock);
    k->status.evictions_total++;
    if (!k->fault && !k->hot) /* otherwise that is why it is paused */
        k->status.problem[0] = '\0';
    pthread_mutex_unlock(&k->lock);
    keeper_tell(k, GUARD_EVENT_STATE, before, "paused; %s of GPU memory were given back%s%s", words_bytes(k->entry.bytes, freed),
                k->acted_at.ns ? " " : "", since_decision(k, took));
}

void keeper_why(const struct keeper *k, char out[static CLAIM_REASON_SIZE])
{
    char ms[WORDS_SIZE];
    if (k->policy.idle)
        snprintf(out, CLAIM_REASON_SIZE, "no request for %s", words_duration(k->spec->limits.idle_ms, ms));
    else
        str_copy(out, CLAIM_REASON_SIZE,
                 str_from(k->policy.held           ? "a person holds it"
                          : k->policy.evict_wanted ? "someone asked for it to leave the GPU"
                          : k->fault               ? "its GPU has a fault"
                          : k->hot                 ? "its GPU is too hot"
                                                   : k->claim.reason));
}

/* The story, one sentence per step. */
void keeper_tell_change(struct keeper *k, enum guard_state before)
{
    char why[CLAIM_REASON_SIZE], needed[WORDS_SIZE];
    keeper_why(k, why);
    switch (k->policy.state) {
    case GUARD_DRAINING:
        k->acted_at = clock_mono(k->env->clock);
        keeper_tell(k, GUARD_EVENT_STATE, before, "gives its GPU up: %s", why);
        break;
    case GUARD_EVICTING:
        keeper_tell(k, GUARD_EVENT_STATE, before, "taking it off the GPU through %s",
                    k->policy.method < k->spec->method_count ? k->spec->methods[k->policy.method].name : "?");
        break;
    case GUARD_PAUSED: tell_paused(k, before); break;
    case GUARD_RESERVING:
        keeper_tell(k, GUARD_EVENT_STATE, before, "%s; waiting for %s of free GPU memory",
                    k->policy.idle ? "a request arrived" : k->claim.reason, words_bytes(k->entry.bytes, needed));
        break;
    case GUARD_RESUMING: keeper_tell(k, GUARD_EVENT_STATE, before, "bringing it back"); break;
    case GUARD_RUNNING:
        keeper_tell(k, GUARD_EVENT_STATE, before,
                    before == GUARD_RESUMING ? "runs again"
                    : before == GUARD_ABSENT ? "is there"
                                             : "goes on");
        break;
    case GUARD_ABSENT:
        if (before != GUARD_RUNNING)
            keeper_problem(k, "the worker ended while it was %s", guard_state_name(before));
        keeper_tell(k, GUARD_EVENT_STATE, before, "is not there");
        break;
    case GUARD_VERIFYING: keeper_tell(k, GUARD_EVENT_STATE, before, "asking the driver whether the memory is free"); break;
    }
}

void keeper_tell_throttle(struct keeper *k)
{
    char now[WORDS_SIZE], least[WORDS_SIZE];
    int64_t mdegc = 0;
    keeper_hottest(k, &mdegc);
    words_temperature(mdegc, now);
    if (k->policy.throttled)
        keeper_tell(k, GUARD_EVENT_STATE, k->policy.state, "is throttled: its GPU is at %s", now);
    else
        keeper_tell(k, GUARD_EVENT_STATE, k->policy.state, "is no longer throttled: its GPU is at %s, below %s", now,
                    words_temperature(k->spec->cool_mdegc, least));
}

/* The problem reported before has resolved itself: a busy model was unloaded after its work ended. */
void keeper_tell_freed_late(struct keeper *k)
{
    char took[DECISION_SIZE];
    pthread_mutex_lock(&k->lock);
    k->status.evictions_total++;
    k->status.problem[0] = '\0';
    pthread_mutex_unlock(&k->lock);
    keeper_tell(k, GUARD_EVENT_STATE, GUARD_PAUSED, "its memory is free now%s%s", k->acted_at.ns ? ", " : "",
                since_decision(k, took));
}

void keeper_tell_end(struct keeper *k, int status)
{
    tell_guard(k, GUARD_EVENT_ENDED, k->policy.state, status ? "the worker ended with an error" : "the worker ended", status);
}
