/* SPDX-License-Identifier: Apache-2.0
 * Writes events: those of a snapshot, those from other rooms, changes of a GPU, and sources that fail or recover.
 */
#include <errno.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "store/internal.h"

int put_event(struct store *s, const struct store_event *e, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_EVENT, err);
    if (!q)
        return err->code;
    int64_t gpu_id = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].index == e->gpu_index && e->gpu_index >= 0)
            gpu_id = s->gpus[i].id;
    db_bind_i64(q, 1, e->at.ms);
    db_bind_i64(q, 2, s->host_id);
    if (gpu_id)
        db_bind_i64(q, 3, gpu_id);
    else
        db_bind_null(q, 3);
    db_bind_text(q, 4, e->kind);
    db_bind_text(q, 5, e->severity);
    if (e->code)
        db_bind_i64(q, 6, e->code);
    else
        db_bind_null(q, 6);
    db_bind_text(q, 7, e->text);
    if (e->data)
        db_bind_text(q, 8, e->data);
    else
        db_bind_null(q, 8);
    return db_put(q, err);
}

static const char *event_severity(enum event_kind kind)
{
    return kind == EVENT_DRIVER_FAULT || kind == EVENT_GPU_LOST || kind == EVENT_ECC ? "critical"
           : kind == EVENT_GPU_BACK                                                  ? "info"
                                                                                     : "warning";
}

int write_snapshot_events(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < snapshot->event_count; i++) {
        const struct event *e = &snapshot->events[i];
        const struct store_event row = {.at = e->at.ms ? e->at : snapshot->taken_at,
                                        .gpu_index = e->gpu_index,
                                        .kind = event_kind_name(e->kind),
                                        .severity = event_severity(e->kind),
                                        .code = e->code,
                                        .text = e->text};
        rc = put_event(s, &row, err);
    }
    return rc;
}

/* Sources that failed or recovered since the previous snapshot. */
int write_source_changes(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < snapshot->source_count; i++) {
        const struct source_status *now = &snapshot->sources[i];
        size_t k = 0;
        while (k < s->source_count && strcmp(s->source_names[k], now->name) != 0)
            k++;
        bool known = k < s->source_count;
        if (known && s->source_states[k] == now->state)
            continue;
        bool bad = now->state == SOURCE_FAILING || now->state == SOURCE_SET_ASIDE || now->state == SOURCE_HUNG;
        char text[SOURCE_MESSAGE_SIZE + 64];
        snprintf(text, sizeof text, "%s: %s%s%s", now->name, source_state_name(now->state), now->message[0] ? ": " : "",
                 now->message);
        if (known || bad)
            rc = put_event(s,
                           &(struct store_event){.at = snapshot->taken_at,
                                                 .gpu_index = -1,
                                                 .kind = "source",
                                                 .severity = bad ? "warning" : "info",
                                                 .text = text},
                           err);
        if (!known && s->source_count < SOURCES_MAX)
            str_copy(s->source_names[s->source_count++], SOURCE_NAME_SIZE, str_from(now->name));
        if (k < s->source_count)
            s->source_states[k] = now->state;
    }
    return rc;
}

static int put_change(struct store *s, const struct gpu *gpu, const struct gpu_change *c, struct error *err)
{
    AUTO_BUF struct buf data = BUF(1024);
    struct json_writer j = JSON_WRITER(&data);
    char words[CHANGE_WORDS], text[CHANGE_WORDS + 24];
    jw_object(&j);
    jw_key_text(&j, "what", change_name(c->code));
    jw_key_text(&j, "before", c->before);
    jw_key_text(&j, "after", c->after);
    jw_end(&j);
    snprintf(text, sizeof text, "GPU %d: %s", gpu->index, change_words(c, words));
    if (data.failed)
        return error_set(err, -ENOMEM, "out of memory");
    return put_event(
        s,
        &(struct store_event){
            .at = c->since, .gpu_index = gpu->index, .kind = "change", .severity = "info", .text = text, .data = data.at},
        err);
}

int write_changes(struct store *s, const struct host *host, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms,
                  struct error *err)
{
    int rc = 0;
    for (int code = 0; rc == 0 && code < CHANGE_COUNT; code++) {
        struct gpu_change change;
        const char *key = change_key((enum change_code)code);
        enum change_seen seen = change_watch_see(&known->watch, (enum change_code)code, host, gpu, (struct wall){at_ms}, &change);
        if ((seen == WATCHED_FIRST || seen == WATCHED_CHANGED) && !change_is_fact((enum change_code)code))
            rc = put_fact(s, known, key, change.after, change.since.ms, err);
        if (rc == 0 && seen == WATCHED_CHANGED)
            rc = put_change(s, gpu, &change, err);
    }
    return rc;
}
