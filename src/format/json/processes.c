/* SPDX-License-Identifier: Apache-2.0
 * Processes of the GPUs as JSON.
 */
#include "format/json/json.h"
#include "format/process_rows.h"

/* One object for each GPU whose power the processes do not explain wholly. */
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

void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    jw_object(j);
    jw_key_array(j, "processes");
    for (size_t i = 0; i < rows->count; i++)
        json_process(j, rows->rows[i].gpu, rows->rows[i].process);
    jw_end(j);
    not_attributed(j, s, rows);
    jw_key_int(j, "count", (int64_t)rows->count);
    jw_key_int(j, "hidden", (int64_t)rows->hidden);
    json_time(j, "timestamp", s->taken_at);
    jw_end(j);
}
