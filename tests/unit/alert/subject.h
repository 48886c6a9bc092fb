/* SPDX-License-Identifier: Apache-2.0
 * A machine for tests of rules: readings are set by their names in the API.
 */
#pragma once

#include "alert/expr/name.h"
#include "test.h"

static inline struct snapshot *machine_new(size_t gpus)
{
    struct snapshot *s = snapshot_new(gpus);
    assert_non_null(s);
    str_copy(s->host.name, sizeof s->host.name, STR("box"));
    for (size_t i = 0; i < gpus; i++) {
        struct gpu *g = &s->gpus[i];
        g->index = (int)i;
        snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-%04zu", i);
        str_copy(g->id.name, sizeof g->id.name, STR("Test Card"));
        g->processes_state = READING_OK;
    }
    return s;
}

static inline void gpu_set(struct gpu *g, const char *json, double value)
{
    enum metric m = metric_from_json(json);
    assert_int_not_equal(m, METRIC_COUNT);
    g->metric[m] = reading_ok((int64_t)(value / metric_table[m].json_scale + (value < 0 ? -0.5 : 0.5)));
}

static inline void gpu_unset(struct gpu *g, const char *json)
{
    g->metric[metric_from_json(json)] = reading_absent(READING_FAILED);
}
