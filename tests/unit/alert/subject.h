/* SPDX-License-Identifier: Apache-2.0
 * A machine for tests of rules: readings are set by their names in the API.
 */
#pragma once

#include "alert/expr/name.h"
#include "model/finding.h"
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

/* A verdict in which nothing is found, but everything was looked at. */
static inline struct verdict *machine_judge(struct snapshot *s)
{
    verdict_free(s->verdict);
    s->verdict = verdict_new(s->gpu_count, 32);
    assert_non_null(s->verdict);
    for (size_t i = 0; i < s->gpu_count; i++) {
        s->verdict->gpus[i].gpu_index = s->gpus[i].index;
        s->verdict->gpus[i].looked = (1u << AREA_COUNT) - 1;
    }
    return s->verdict;
}

/* One more finding in it; -1: about the host. */
static inline struct finding *machine_find(struct snapshot *s, int gpu_index, finding_code code, enum severity severity)
{
    struct finding *f = &s->verdict->findings[s->verdict->count++];
    *f = (struct finding){.code = code, .severity = severity, .confidence = 0.9, .gpu_index = gpu_index};
    snprintf(f->headline, sizeof f->headline, "GPU %d: %s", gpu_index, finding_code_name(code));
    return f;
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
