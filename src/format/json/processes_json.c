/* SPDX-License-Identifier: Apache-2.0
 * Processes of the GPUs as JSON.
 */
#include <stdio.h>

#include "format/json/json.h"
#include "format/process_rows.h"
#include "model/finding.h"

/* One object per GPU whose power the processes don't fully explain. */
static void not_attributed(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    jw_key_array(j, "not_attributed");
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (!process_rows_remainder(rows, s, i))
            continue;
        jw_object(j);
        jw_key_int(j, "gpu_index", s->gpus[i].index);
        json_scaled(j, "power_watts", s->gpus[i].not_attributed_mw, 1e-3);
        jw_end(j);
    }
    jw_end(j);
}

/* Why the processes of a GPU are missing from the list. */
static enum reading_state absent_of(const struct gpu *gpu)
{
    bool there = gpu->state == GPU_OK;
    return there ? gpu->processes_state : gpu->state == GPU_ASLEEP ? READING_ASLEEP : READING_FAILED;
}

/* An empty list may mean that nothing runs, that nothing could be read, or that there are no GPUs. */
static void seen_or_not(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    const struct gpu *unseen = NULL;
    const struct finding *first = verdict_main(s->verdict);
    bool known = first && first->gpu_index < 0 && first->code != FINDING_NO_GPU;
    size_t missing = 0, asked = 0;
    char text[FINDING_HEADLINE_SIZE + GPU_ERROR_SIZE] = "";
    jw_key_array(j, "not_listed");
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (rows->only != ALL_GPUS && rows->only != (int)i)
            continue;
        asked++;
        if (absent_of(gpu) == READING_OK)
            continue;
        unseen = missing++ ? unseen : gpu;
        jw_object(j);
        jw_key_int(j, "gpu_index", gpu->index);
        jw_key_text(j, "reason", reading_state_name(absent_of(gpu)));
        json_words(j, "message", gpu->error_message);
        jw_end(j);
    }
    jw_end(j);
    jw_key_object(j, "absent");
    if (asked == missing && (unseen || known))
        jw_key_text(j, "processes", reading_state_name(unseen ? absent_of(unseen) : READING_FAILED));
    jw_end(j);
    if (s->gpu_count == 0)
        snprintf(text, sizeof text, "%s.", known ? first->headline : "No GPU was found on this host");
    else if (unseen && unseen->released)
        snprintf(text, sizeof text, "GPU %d is released on request: its processes are not looked at.", unseen->index);
    else if (unseen && unseen->state == GPU_ASLEEP)
        snprintf(text, sizeof text, "GPU %d is asleep: nothing runs there.", unseen->index);
    else if (unseen)
        snprintf(text, sizeof text, "The processes on %zu of %zu GPU%s could not be looked at (%s%s%s).", missing, asked,
                 asked == 1 ? "" : "s", reading_state_name(absent_of(unseen)), unseen->error_message[0] ? ": " : "",
                 unseen->error_message);
    else if (rows->count == 0)
        snprintf(text, sizeof text, rows->whole ? "No process is using a GPU." : "No such process is using a GPU.");
    json_words(j, "answer", text);
}

void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    jw_object(j);
    jw_key_array(j, "processes");
    for (size_t i = 0; i < rows->count; i++)
        json_process(j, rows->rows[i].gpu, rows->rows[i].process);
    jw_end(j);
    seen_or_not(j, s, rows);
    not_attributed(j, s, rows);
    jw_key_int(j, "count", (int64_t)rows->count);
    jw_key_int(j, "hidden", (int64_t)rows->hidden);
    json_time(j, "timestamp", s->taken_at);
    jw_end(j);
}
