/* SPDX-License-Identifier: Apache-2.0
 * Health verdicts as JSON, written and parsed.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/health.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "model/finding_code.h"

ANSWER_NAMES(states, enum health_state, health_state_name, HEALTH_UNKNOWN, HEALTH_LOST);
ANSWER_NAMES(checks, enum health_check, health_check_name, 0, HEALTH_CHECK_COUNT - 1);

ANSWER_TEST(is_xid, struct health_finding, of->check == HEALTH_CHECK_XID);

ANSWER_TABLE(finding_answer, struct health_finding)
{
    FIELD(NAME, "check", check, NULL, NAMES(checks), OPEN);
    FIELD(NAME, "code", code, "Of the finding (docs/findings.md)", NAMES(finding_codes), OPEN);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(INT, "xid", fault, NULL, WHEN(is_xid));
    FIELD(TEXT, "reason", reason, NULL);
    FIELD(TEXT, "action", action, NULL);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
}

/* ---- a GPU ---- */

ANSWER_TABLE(head_answer, struct health_verdict)
{
    FIELD(INT, "gpu_index", gpu_index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "gpu_uuid", id.uuid, NULL, OR_NULL);
    FIELD(TEXT, "pci_address", id.pci_address, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
    FIELD(OBJECT, "activity", activity, NULL, FIELDS(activity_answer));
    FIELD(NAME, "state", state, NULL, NAMES(states), COUNTS);
    FIELD(TEXT, "reason", reason, NULL, COUNTS);
    FIELD(TEXT, "action", action, "What to do", COUNTS);
    FIELD(MOMENT, "since", since, NULL, OR_NULL, COUNTS);
}

ANSWER_TABLE(whole_answer, struct health_verdict)
{
    KEYS(head_answer);
    FIELD(OBJECT, "usual", usual, NULL, FIELDS(usual_answer), PRESENT(usual.days));
    OBJECTS("findings", findings, finding_count, finding_answer,
            "Those of the verdict that count for health, in its order: a cause before what it brings about", COUNTS);
}

struct health_told_gpu {
    const struct health_verdict *v;
    const struct gpu_looked *looked;
};
ANSWER_TABLE(gpu_answer, struct health_told_gpu, .name = "HealthVerdict")
{
    VIA(KEYS, NULL, v, whole_answer, NULL);
    VIA(KEYS, NULL, looked, looked_answer, NULL);
}

/* ---- all GPUs ---- */

/* The answer: the record and its own context. */
struct told_health {
    struct health_basis basis;
    enum health_state worst;
    struct findings_told found;
    const struct health *health;
    int only;
    struct health_told_gpu gpu; /* the one being written */
};

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    struct told_health *told = at->context;
    while (step->at < told->health->count) {
        const struct health_verdict *v = &told->health->verdicts[step->at++];
        if (told->only != HEALTH_ALL && v->gpu_index != told->only)
            continue;
        told->gpu = (struct health_told_gpu){v, told_looked(told->found.v, v->gpu_index)};
        return &told->gpu;
    }
    return NULL;
}

static const char *log_state_name(int state)
{
    return (const char *const[]){"read", "denied", "absent", "skipped"}[state];
}
ANSWER_NAMES(log_states, int, log_state_name, 0, 3);

ANSWER_TABLE(log_answer, struct told_health)
{
    FIELD(WORD, "state", basis.log_state, "skipped: all GPUs are simulated or replayed", NAMES(log_states));
    FIELD(WORD, "message", basis.log_message, "What to do so that it can be read", OR_NULL);
}

SHARED_ANSWER_TABLE(health_answer, struct told_health, .name = "GpuHealth")
{
    FIELD(MOMENT, "timestamp", basis.at, NULL, OR_NULL, COUNTS);
    FIELD(NAME, "state", worst, NULL, NAMES(states), COUNTS);
    FIELD(BOOL, "remembered", basis.remembered, "false: from one look, without the past");
    FIELD(MOMENT, "watched_since", basis.watched_since, NULL, OR_NULL);
    PART("kernel_log", log_answer, NULL);
    FIELD(KEYS, NULL, found, NULL, FIELDS(verdict_answer));
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(gpu_answer));
}

void json_health(struct json_writer *j, const struct health *health, const struct health_basis *basis,
                 const struct verdict *verdict, int only)
{
    struct told_health told = {.basis = *basis,
                               .worst = HEALTH_UNKNOWN,
                               .found = told_findings(verdict, only == HEALTH_ALL ? EVERY_GPU : only),
                               .health = health,
                               .only = only};
    for (size_t i = 0; i < health->count; i++)
        if (only == HEALTH_ALL || health->verdicts[i].gpu_index == only)
            told.worst = MAX_OF(told.worst, health->verdicts[i].state);
    answer_write(j, &health_answer, &told, &told);
}

/* ---- a change ---- */

ANSWER_TABLE(before_answer, struct health_verdict)
{
    FIELD(NAME, "before", before, NULL, NAMES(states));
}

struct told_change {
    struct wall at;
    const struct health_verdict *v;
};
SHARED_ANSWER_TABLE(health_change_answer, struct told_change, .name = "HealthChange")
{
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL);
    VIA(KEYS, NULL, v, head_answer, NULL);
    VIA(KEYS, NULL, v, before_answer, NULL);
}

void json_health_change(struct json_writer *j, const struct health_verdict *v, struct wall at)
{
    answer_write(j, &health_change_answer, &(struct told_change){at, v}, NULL);
}

/* ---- parsing ---- */

/* A check of another version is left out. */
static void read_verdict(const json_t *json, struct health_verdict *v)
{
    const json_t *findings = json_object_get(json, "findings");
    answer_read(&whole_answer, json, v, NULL);
    v->finding_count = 0;
    for (size_t i = 0; i < json_array_size(findings) && v->finding_count < HEALTH_FINDINGS_MAX; i++) {
        struct health_finding f = {.check = HEALTH_CHECK_COUNT, .code = FINDING_CODE_COUNT};
        answer_read(&finding_answer, json_array_get(findings, i), &f, NULL);
        if (f.check == HEALTH_CHECK_COUNT)
            continue;
        if (f.code == FINDING_CODE_COUNT) /* of an older version */
            f.code = health_check_finding(f.check);
        v->findings[v->finding_count++] = f;
    }
}

struct health *health_from_json(struct str text, struct health_basis *basis, struct buf *texts)
{
    AUTO_JSON json_t *root = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(root, "gpus");
    size_t count = MIN_OF(json_array_size(gpus), (size_t)(2 * GPU_MAX));
    struct health *health = json_is_array(gpus) ? calloc(1, sizeof *health + count * sizeof health->verdicts[0]) : NULL;
    struct told_health told = {.basis.log_state = "absent"};
    for (size_t i = 0; health && i < count; i++)
        read_verdict(json_array_get(gpus, i), &health->verdicts[health->count++]);
    if (health) {
        answer_read(&health_answer, root, &told, NULL);
        buf_text(texts, json_text(json_object_get(root, "kernel_log"), "message"));
        health->worst = told.worst;
        *basis = told.basis;
        basis->log_message = texts->failed ? "" : buf_view(texts).at;
    }
    return health;
}
