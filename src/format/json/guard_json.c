/* SPDX-License-Identifier: Apache-2.0
 * JSON of the guard.
 */
#include "format/json/json.h"

static const char *const verdicts[] = {"unknown", "none", "seen", "sure"};

static void seconds_or_null(struct json_writer *j, const char *key, int64_t ms)
{
    jw_key(j, key);
    if (ms > 0)
        jw_number(j, (double)ms / 1000);
    else
        jw_null(j);
}

static void json_worker(struct json_writer *j, const struct guard_status *s)
{
    jw_object(j);
    jw_key_text(j, "name", s->name);
    jw_key_text(j, "state", guard_state_name(s->state));
    json_time(j, "since", s->since);
    json_time(j, "resumes_at", s->resumes_at);
    jw_key_text(j, "claim", verdicts[s->claim]);
    jw_key_text(j, "reason", s->reason[0] ? s->reason : NULL);
    jw_key_text(j, "problem", s->problem[0] ? s->problem : NULL);
    jw_key_text(j, "method", s->method[0] ? s->method : NULL);
    jw_key_text(j, "way", s->method[0] ? s->method : NULL); /* key of versions up to 0.3 */
    jw_key(j, "pid");
    if (s->pid)
        jw_int(j, s->pid);
    else
        jw_null(j);
    jw_key_int(j, "process_count", (int64_t)s->pid_count);
    jw_key_array(j, "gpus");
    for (int i = 0; i < GPU_MAX; i++)
        if (s->gpus[i / 64] >> (i % 64) & 1)
            jw_int(j, i);
    jw_end(j);
    jw_key(j, "memory_mb");
    if (s->bytes >= 0)
        jw_number(j, (double)s->bytes / (1024 * 1024));
    else
        jw_null(j);
    jw_key_int(j, "other_processes", (int64_t)s->others);
    jw_key_bool(j, "held", s->held);
    jw_key_bool(j, "throttled", s->throttled);
    jw_key_bool(j, "hot", s->hot);
    jw_key_bool(j, "fault", s->fault);
    jw_key_bool(j, "gave_up", s->gave_up);
    jw_key_bool(j, "memory_still_held", s->not_freed);
    jw_key_bool(j, "dry_run", s->dry_run);
    jw_key_bool(j, "simulated", s->simulated);
    jw_key_bool(j, "idle", s->idle);
    seconds_or_null(j, "idle_after_seconds", s->idle_ms);
    json_time(j, "last_asked_at", s->asked_at);
    jw_key_int(j, "evictions_total", (int64_t)s->evictions_total);
    jw_key_int(j, "resumes_total", (int64_t)s->resumes_total);
    jw_key_int(j, "failures_total", (int64_t)s->failures_total);
    seconds_or_null(j, "last_evict_seconds", s->evict_ms);
    seconds_or_null(j, "last_resume_seconds", s->resume_ms);
    jw_key(j, "gate");
    if (s->gated) {
        jw_object(j);
        jw_key_int(j, "in_flight", (int64_t)s->in_flight);
        jw_key_int(j, "waiting", (int64_t)s->waiting);
        jw_end(j);
    } else {
        jw_null(j);
    }
    jw_end(j);
}

void json_guard(struct json_writer *j, const struct guard_status *list, size_t count)
{
    jw_object(j);
    jw_key_array(j, "workers");
    for (size_t i = 0; i < count; i++)
        json_worker(j, &list[i]);
    jw_end(j);
    jw_end(j);
}

void json_guard_event(struct json_writer *j, const struct guard_event *event)
{
    static const char *const kinds[] = {"state", "problem", "ended", "problem"};
    jw_object(j);
    jw_key_text(j, "kind", kinds[event->kind]);
    jw_key_text(j, "worker", event->worker);
    jw_key_text(j, "state", guard_state_name(event->state));
    jw_key_text(j, "before", guard_state_name(event->before));
    jw_key_text(j, "text", event->text);
    json_time(j, "timestamp", event->at);
    jw_end(j);
}

void json_guard_health(struct json_writer *j, const struct guard_status *list, size_t count, const char *message)
{
    size_t paused = 0, troubled = 0;
    for (size_t i = 0; i < count; i++) {
        paused += list[i].state == GUARD_PAUSED || list[i].state == GUARD_RESERVING;
        troubled += list[i].gave_up || list[i].not_freed || list[i].fault || list[i].blind;
    }
    jw_object(j);
    jw_key_text(j, "state", count == 0 ? "off" : troubled ? "trouble" : paused ? "paused" : "watching");
    jw_key_int(j, "workers", (int64_t)count);
    jw_key_int(j, "paused", (int64_t)paused);
    jw_key_int(j, "troubled", (int64_t)troubled);
    json_words(j, "message", message ? message : "");
    jw_end(j);
}
