/* SPDX-License-Identifier: Apache-2.0
 * JSON of the guard.
 */
#include "answer/answer.h"
#include "base/units.h"
#include "format/json/json.h"

static const char *claim_name(enum claim_verdict claim)
{
    static const char *const names[] = {"unknown", "none", "seen", "sure"};
    return names[claim];
}

static const char *event_name(enum guard_event_kind kind)
{
    static const char *const names[] = {"state", "problem", "ended", "problem"};
    return names[kind];
}

enum summary { OFF, TROUBLE, PAUSED, WATCHING };
static const char *summary_name(enum summary summary)
{
    static const char *const names[] = {"off", "trouble", "paused", "watching"};
    return names[summary];
}

ANSWER_NAMES(states, enum guard_state, guard_state_name, GUARD_RUNNING, GUARD_ABSENT);
ANSWER_NAMES(claims, enum claim_verdict, claim_name, CLAIM_UNKNOWN, CLAIM_SURE);
ANSWER_NAMES(events, enum guard_event_kind, event_name, GUARD_EVENT_STATE, GUARD_EVENT_LEFT);
ANSWER_NAMES(summaries, enum summary, summary_name, OFF, WATCHING);

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct guard_status *s = at->record;
    for (; step->at < GPU_MAX; step->at++)
        if (s->gpus[step->at / 64] >> (step->at % 64) & 1) {
            step->item.number = (int64_t)step->at++;
            return &step->item.number;
        }
    return NULL;
}

ANSWER_TABLE(gate_answer, struct guard_status)
{
    FIELD(INT, "in_flight", in_flight, NULL);
    FIELD(INT, "waiting", waiting, NULL);
}

ANSWER_TABLE(worker_answer, struct guard_status, .name = "GuardedWorker")
{
    FIELD(TEXT, "name", name, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(MOMENT, "resumes_at", resumes_at,
          "When it comes back to the GPU if nothing changes; null: it is not paused, or something keeps it off", OR_NULL);
    FIELD(NAME, "claim", claim, NULL, NAMES(claims));
    FIELD(TEXT, "reason", reason, "Of the claim, of there being none, or of the pause where no program is why", OR_NULL);
    FIELD(TEXT, "problem", problem, NULL, OR_NULL);
    FIELD(TEXT, "method", method, "Through which it is off the GPU", OR_NULL);
    FIELD(TEXT, "way", method, "The old name of `method`, until 0.4", OR_NULL, .schema = "{\"deprecated\": true}");
    FIELD(INT, "pid", pid, NULL, OR_NULL);
    FIELD(INT, "process_count", pid_count, NULL);
    EACH(INT, "gpus", next_gpu, NULL);
    FIELD(AMOUNT, "memory_mb", bytes, "Held now, or to come back; null: that can't be read", SCALE(PER_MIB), NONE(-1));
    FIELD(INT, "other_processes", others, NULL);
    FIELD(BOOL, "held", held, NULL);
    FIELD(BOOL, "throttled", throttled, NULL);
    FIELD(BOOL, "hot", hot, NULL);
    FIELD(BOOL, "fault", fault, NULL);
    FIELD(BOOL, "gave_up", gave_up, NULL);
    FIELD(BOOL, "memory_still_held", not_freed, NULL);
    FIELD(BOOL, "dry_run", dry_run, NULL);
    FIELD(BOOL, "simulated", simulated, "GPUs of a simulator are what it goes by");
    FIELD(BOOL, "idle", idle, "Off the GPU because no request came for so long; the next request brings it back");
    FIELD(AMOUNT, "idle_after_seconds", idle_ms, "`idle_after`; null: never", SCALE(1e-3), OR_NULL);
    FIELD(MOMENT, "last_asked_at", asked_at, "null: requests are not watched", OR_NULL);
    FIELD(INT, "evictions_total", evictions_total, NULL);
    FIELD(INT, "resumes_total", resumes_total, NULL);
    FIELD(INT, "failures_total", failures_total, NULL);
    FIELD(AMOUNT, "last_evict_seconds", evict_ms, NULL, SCALE(1e-3), OR_NULL);
    FIELD(AMOUNT, "last_resume_seconds", resume_ms, NULL, SCALE(1e-3), OR_NULL);
    PART("gate", gate_answer, NULL, PRESENT(gated));
}

SHARED_ANSWER_TABLE(guard_event_answer, struct guard_event, .name = "GuardEvent")
{
    FIELD(NAME, "kind", kind, NULL, NAMES(events));
    FIELD(WORD, "worker", worker, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(NAME, "before", before, NULL, NAMES(states));
    FIELD(WORD, "text", text, "A sentence without a full stop");
    FIELD(MOMENT, "timestamp", at, NULL);
}

struct told_workers {
    const struct guard_status *list;
    size_t count;
};

SHARED_ANSWER_TABLE(guard_answer, struct told_workers, .name = "Guard")
{
    OBJECTS("workers", list, count, worker_answer, NULL);
}

struct guard_summary {
    enum summary state;
    size_t workers, paused, troubled;
    const char *message;
};
SHARED_ANSWER_TABLE(guard_health_answer, struct guard_summary, .name = "GuardHealth")
{
    FIELD(NAME, "state", state, NULL, NAMES(summaries));
    FIELD(INT, "workers", workers, NULL);
    FIELD(INT, "paused", paused, NULL);
    FIELD(INT, "troubled", troubled,
          "Workers that could not be taken off the GPU, have a fault, or whose profile needs to know who else is on the GPU "
          "while "
          "that cannot be seen");
    FIELD(WORD, "message", message, "Why nothing is guarded although `[worker]` asks for evictions", OR_NULL);
}

void json_guard(struct json_writer *j, const struct guard_status *list, size_t count)
{
    answer_write(j, &guard_answer, &(struct told_workers){list, count}, NULL);
}

void json_guard_event(struct json_writer *j, const struct guard_event *event)
{
    answer_write(j, &guard_event_answer, event, NULL);
}

void json_guard_health(struct json_writer *j, const struct guard_status *list, size_t count, const char *message)
{
    struct guard_summary s = {.workers = count, .message = message};
    for (size_t i = 0; i < count; i++) {
        s.paused += list[i].state == GUARD_PAUSED || list[i].state == GUARD_RESERVING;
        s.troubled += list[i].gave_up || list[i].not_freed || list[i].fault || list[i].blind;
    }
    s.state = count == 0 ? OFF : s.troubled ? TROUBLE : s.paused ? PAUSED : WATCHING;
    answer_write(j, &guard_health_answer, &s, NULL);
}
