/* SPDX-License-Identifier: Apache-2.0
 * Logs what happens to sources and GPUs: compares each sample with the previous one, and logs each change once, however many
 * samples there are (docs/daemon.md).
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "daemon/part.h"

struct log_changes {
    const struct snapshot *last; /* NULL before the first sample */
    bool logged_nothing;         /* logged that there is no source */
};

static const struct source_status *log_changes_find(const struct snapshot *s, const char *name)
{
    for (size_t i = 0; s && i < s->source_count; i++)
        if (strcmp(s->sources[i].name, name) == 0)
            return &s->sources[i];
    return NULL;
}

static void log_source(const struct source_status *now, const struct source_status *before)
{
    enum source_state was = before ? before->state : SOURCE_OFF;
    bool new_failure = now->consecutive_errors == 1 && (!before || before->errors_total != now->errors_total);
    if (now->state == was && !new_failure)
        return;
    struct log_field name = LOG_TEXT("source", now->name), why = LOG_TEXT("error", now->message);
    struct log_field count = LOG_INT("consecutive_errors", now->consecutive_errors),
                     total = LOG_INT("errors_total", (int64_t)now->errors_total);
    switch (now->state) {
    case SOURCE_OK:
        if (was == SOURCE_FAILING || was == SOURCE_SET_ASIDE || was == SOURCE_HUNG)
            log_info("source works again", name, LOG_INT("count", now->gpu_count), total);
        else
            log_info("source started", name, LOG_INT("count", now->gpu_count));
        break;
    case SOURCE_FAILING: log_error("query failed, retrying at the next sample", name, why, count, total); break;
    case SOURCE_SET_ASIDE:
        log_error("source suspended after repeated failures, retrying with growing pauses", name, why, count, total);
        break;
    case SOURCE_HUNG: log_error("source is hanging in its driver and was abandoned, the rest continues", name, why); break;
    case SOURCE_RELEASED: log_info("source released on request", name); break;
    case SOURCE_ASLEEP: log_info("source closed, all of its GPUs are asleep", name); break;
    case SOURCE_OFF: log_debug("source is not in use", name, why); break;
    }
}

static void log_gpu(const struct gpu *now, const struct gpu *before)
{
    enum gpu_state was = before ? before->state : GPU_OK;
    if (now->state == was || now->released)
        return; /* a release on request is logged with its source */
    struct log_field gpu = LOG_INT("gpu", now->index), name = LOG_TEXT("name", now->id.name),
                     why = LOG_TEXT("error", now->error_message);
    switch (now->state) {
    case GPU_OK: log_info("GPU can be read again", gpu, name); break;
    case GPU_ASLEEP: log_debug("GPU is asleep", gpu, name); break;
    case GPU_ERROR: log_error("cannot read GPU", gpu, name, why); break;
    case GPU_LOST: log_error("GPU is lost", gpu, name, why); break;
    }
}

/* Logs once at the start, and again when the last source stops working. */
static void log_no_source(struct log_changes *seen, const struct snapshot *s)
{
    AUTO_BUF struct buf why = BUF(4096);
    for (size_t i = 0; i < s->source_count; i++) {
        if (s->sources[i].state != SOURCE_OFF) {
            seen->logged_nothing = false;
            return;
        }
        buf_printf(&why, "%s%s: %s", why.len ? "; " : "", s->sources[i].name, s->sources[i].message);
    }
    if (!seen->logged_nothing)
        log_warn("GPU features disabled: no source", LOG_TEXT("reason", buf_view(&why).at));
    seen->logged_nothing = true;
}

static void log_events(const struct snapshot *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        const struct event *e = &s->events[i];
        if (e->kind == EVENT_GPU_LOST || e->kind == EVENT_GPU_BACK)
            continue; /* logged as a change of state */
        log_warn(e->text, LOG_TEXT("event", event_kind_name(e->kind)), LOG_INT("gpu", e->gpu_index), LOG_INT("code", e->code));
    }
}

static void *open_log_changes(const struct part_host *host, struct error *err)
{
    (void)err;
    (void)host;
    return calloc(1, sizeof(struct log_changes));
}

static void log_changes_sampled(void *part, const struct snapshot *s)
{
    struct log_changes *seen = part;
    for (size_t i = 0; i < s->source_count; i++)
        log_source(&s->sources[i], log_changes_find(seen->last, s->sources[i].name));
    for (size_t i = 0; i < s->gpu_count; i++)
        log_gpu(&s->gpus[i], seen->last && i < seen->last->gpu_count ? &seen->last->gpus[i] : NULL);
    log_no_source(seen, s);
    log_events(s);
    if (s->gpu_count == 0)
        log_debug("no GPUs in this sample");
    snapshot_unref(seen->last);
    seen->last = snapshot_ref(s);
}

static void close_log_changes(void *part)
{
    struct log_changes *seen = part;
    if (seen)
        snapshot_unref(seen->last);
    free(seen);
}

const struct part_ops log_changes_ops = {
    .name = "log", .open = open_log_changes, .sampled = log_changes_sampled, .close = close_log_changes};
