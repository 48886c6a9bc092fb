/* SPDX-License-Identifier: Apache-2.0
 * Maps a GPU of a snapshot to its row in the database, across restarts and renumbering, and writes its facts.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/internal.h"
#include "store/query.h"

enum { WHOLE = -1 }; /* a GPU without instances */

static void identity_text(const struct gpu *gpu, char text[IDENTITY_SIZE])
{
    if (gpu->id.uuid[0])
        str_copy(text, IDENTITY_SIZE, str_from(gpu->id.uuid)); /* called for every row: avoid formatting */
    else if (gpu->id.pci_address[0])
        snprintf(text, IDENTITY_SIZE, "pci %s %s", gpu->id.pci_address, gpu->id.name);
    else
        snprintf(text, IDENTITY_SIZE, "index %d %s", gpu->index, gpu->id.name);
}

/* 1: found, 0: not, or -errno. */
static int find_in_database(struct store *s, const struct gpu *gpu, const char *identity, int64_t *ret_id, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_GPU_FIND, err);
    if (!q)
        return err->code;
    db_bind_i64(q, 1, s->host_id);
    db_bind_text(q, 2, identity);
    int rc = db_step(q, err);
    if (rc == 0 && gpu->id.uuid[0] && gpu->id.pci_address[0]) {
        q = store_statement(s, ST_GPU_ADOPT, err);
        if (!q)
            return err->code;
        db_bind_i64(q, 1, s->host_id);
        db_bind_text(q, 2, gpu->id.pci_address);
        db_bind_text(q, 3, gpu->id.name);
        rc = db_step(q, err);
    }
    if (rc == 1) {
        *ret_id = db_i64(q, 0);
        db_reset(q);
    }
    return rc;
}

static int insert(struct store *s, const struct gpu *gpu, const char *identity, int64_t at_ms, int64_t *ret_id, struct error *err)
{
    int rc = schema_lock(s->db, err); /* allocate one ID at a time */
    struct db_statement *q = rc == 0 ? store_statement(s, ST_GPU_INSERT, err) : NULL;
    if (!q)
        return rc < 0 ? rc : err->code;
    db_bind_i64(q, 1, s->host_id);
    db_bind_text(q, 2, identity);
    db_bind_word(q, 3, gpu->id.uuid);
    db_bind_word(q, 4, gpu->id.pci_address);
    db_bind_word(q, 5, gpu->id.name);
    db_bind_word(q, 6, gpu->id.vendor);
    db_bind_numbers(q, 7, gpu->index, at_ms, gpu->simulated);
    rc = db_step(q, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the database gave a GPU no number");
    *ret_id = db_i64(q, 0);
    db_reset(q);
    int64_t max = subject_max(s->db->ops->kind);
    return *ret_id <= max ? 0 : error_set(err, -EOVERFLOW, "more than %lld GPUs in one database", (long long)max);
}

static int update(struct store *s, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_GPU_UPDATE, err);
    if (!q)
        return err->code;
    db_bind_text(q, 1, known->identity);
    db_bind_word(q, 2, gpu->id.uuid);
    db_bind_word(q, 3, gpu->id.pci_address);
    db_bind_word(q, 4, gpu->id.name);
    db_bind_word(q, 5, gpu->id.vendor);
    db_bind_numbers(q, 6, gpu->index, at_ms, known->id);
    return db_put(q, err);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = str_hash(str_from(text));
    return hash ? hash : 1;
}

static void fact_text(enum metric metric, int64_t value, char text[GPU_TEXT_SIZE])
{
    snprintf(text, GPU_TEXT_SIZE, "%.10g", (double)value * metric_table[metric].json_scale);
}

int put_fact(struct store *s, const struct known_gpu *known, const char *key, const char *value, int64_t at_ms, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_FACT, err);
    if (!q)
        return err->code;
    db_bind_i64(q, 1, known->id);
    db_bind_text(q, 2, key);
    db_bind_i64(q, 3, at_ms);
    db_bind_text(q, 4, value);
    return db_put(q, err);
}

/* After a restart: loads the stored values, so that they are not written again. */
static int load_facts(struct store *s, struct known_gpu *known, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db, "SELECT key, value FROM facts WHERE gpu_id = $1 ORDER BY since_ms", &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, known->id);
    while ((rc = db_step(q, err)) == 1) {
        char key[64], value[GPU_TEXT_SIZE];
        str_copy(key, sizeof key, db_text(q, 0));
        str_copy(value, sizeof value, db_text(q, 1));
        for (size_t i = 0; i < METRIC_COUNT; i++)
            if (metric_table[i].group == GROUP_STATIC && strcmp(metric_table[i].json, key) == 0)
                known->facts_hash[i] = hash_text(value);
        for (size_t i = 0; i < PROPERTY_COUNT; i++)
            if (strcmp(property_table[i].json, key) == 0)
                known->facts_hash[METRIC_COUNT + i] = hash_text(value);
        for (size_t i = 0; i < CHANGE_COUNT; i++)
            if (strcmp(change_key((enum change_code)i), key) == 0)
                str_copy(known->watch.values[i].known, CHANGE_VALUE_SIZE, str_from(value));
        enum reading_state list;
        for (int i = GPU_OK; i <= GPU_LOST; i++)
            if (strcmp(key, FACT_STATE) == 0 && strcmp(value, gpu_state_name((enum gpu_state)i)) == 0)
                known->state = i;
        if (strcmp(key, FACT_PROCESSES) == 0 && reading_state_from_name(value, &list))
            known->processes_state = (int)list;
        if (strcmp(key, FACT_INSTANCES) == 0 && !str_to_i64(str_from(value), &known->largest_instance))
            known->largest_instance = WHOLE;
    }
    return rc;
}

/* The metrics that are facts. */
static const enum metric static_metrics[] = {
#define FACT_STATIC(field) METRIC_##field,
#define FACT_FAST(field)
#define FACT_PROCESS(field)
#define FACT_SLOW(field)
#define FACT_RARE(field)
#define METRIC(field, group, ...) FACT_##group(field)
#include "model/metrics.def"
#undef METRIC
};

static int write_numbers(struct store *s, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms, struct error *err)
{
    char text[GPU_TEXT_SIZE];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(static_metrics); i++) {
        enum metric m = static_metrics[i];
        struct reading now = gpu->metric[m], *last = &known->facts[i];
        if (now.state != READING_OK || (last->state == READING_OK && last->value == now.value))
            continue;
        *last = now;
        fact_text(m, now.value, text);
        uint64_t hash = hash_text(text);
        if (known->facts_hash[m] != hash)
            rc = put_fact(s, known, metric_table[m].json, text, at_ms, err);
        known->facts_hash[m] = hash;
    }
    return rc;
}

/* The largest instance of a partitioned GPU, which limits what can be placed on it. */
static int write_instances(struct store *s, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms, struct error *err)
{
    char text[24] = "none";
    int64_t largest = gpu->instance_count || reading_or(gpu->mig_enabled, 0) ? 0 : WHOLE;
    for (size_t i = 0; i < gpu->instance_count; i++)
        largest = MAX_OF(largest, reading_or(gpu->instances[i].mem_total_bytes, 0));
    if (gpu->state != GPU_OK || largest == known->largest_instance)
        return 0;
    known->largest_instance = largest;
    if (largest != WHOLE)
        snprintf(text, sizeof text, "%lld", (long long)largest);
    return put_fact(s, known, FACT_INSTANCES, text, at_ms, err);
}

/* Whether the GPU was readable, and whether its processes were known. */
static int write_states(struct store *s, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms, struct error *err)
{
    int rc = 0;
    if (known->state != (int)gpu->state)
        rc = put_fact(s, known, FACT_STATE, gpu_state_name(gpu->state), at_ms, err);
    if (rc == 0 && known->processes_state != (int)gpu->processes_state)
        rc = put_fact(s, known, FACT_PROCESSES, reading_state_name(gpu->processes_state), at_ms, err);
    known->state = (int)gpu->state;
    known->processes_state = (int)gpu->processes_state;
    return rc < 0 ? rc : write_instances(s, gpu, known, at_ms, err);
}

static int write_facts(struct store *s, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms, struct error *err)
{
    int rc = write_numbers(s, gpu, known, at_ms, err);
    if (rc == 0)
        rc = write_states(s, gpu, known, at_ms, err);
    /* Nearly always identical to the previous sample. */
    if (rc < 0 || memcmp(known->properties, gpu->property, sizeof known->properties) == 0)
        return rc;
    memcpy(known->properties, gpu->property, sizeof known->properties);
    for (size_t i = 0; rc == 0 && i < PROPERTY_COUNT; i++) {
        if (gpu->property[i].state != READING_OK)
            continue;
        uint64_t hash = hash_text(gpu->property[i].value);
        if (known->facts_hash[METRIC_COUNT + i] != hash)
            rc = put_fact(s, known, property_table[i].json, gpu->property[i].value, at_ms, err);
        known->facts_hash[METRIC_COUNT + i] = hash;
    }
    return rc;
}

static int learn(struct store *s, const struct gpu *gpu, const char *identity, int64_t at_ms, struct known_gpu **ret,
                 struct error *err)
{
    if (s->gpu_count == GPU_MAX)
        return error_set(err, -E2BIG, "more than %d GPUs on this host", GPU_MAX);
    struct known_gpu *known = &s->gpus[s->gpu_count];
    *known =
        (struct known_gpu){.index = gpu->index, .shown = gpu->id, .state = -1, .processes_state = -1, .largest_instance = WHOLE};
    running_init(&known->running);
    str_copy(known->identity, sizeof known->identity, str_from(identity));
    int rc = find_in_database(s, gpu, identity, &known->id, err);
    if (rc == 0)
        rc = insert(s, gpu, identity, at_ms, &known->id, err);
    else if (rc == 1)
        rc = update(s, gpu, known, at_ms, err);
    if (rc == 0)
        rc = load_facts(s, known, err);
    if (rc < 0)
        return rc;
    s->gpu_count++;
    *ret = known;
    return 0;
}

/* identity_text() depends only on these. */
static bool as_shown(const struct known_gpu *known, const struct gpu *gpu)
{
    return known->index == gpu->index && memcmp(&known->shown, &gpu->id, sizeof gpu->id) == 0;
}

static struct known_gpu *find_known(struct store *s, const char *identity)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (strcmp(s->gpus[i].identity, identity) == 0)
            return &s->gpus[i];
    return NULL;
}

int identify_gpu(struct store *s, const struct host *host, const struct gpu *gpu, int64_t at_ms, struct known_gpu **ret,
                 struct error *err)
{
    /* GPUs come in the same order in every sample. */
    struct known_gpu *known = &s->gpus[s->gpu_next < s->gpu_count ? s->gpu_next : 0];
    int rc = 0;
    if (s->gpu_count == 0 || !as_shown(known, gpu)) {
        char identity[IDENTITY_SIZE];
        identity_text(gpu, identity);
        known = find_known(s, identity);
        if (!known)
            rc = learn(s, gpu, identity, at_ms, &known, err);
        if (rc == 0 && !as_shown(known, gpu)) {
            known->index = gpu->index;
            known->shown = gpu->id;
            rc = update(s, gpu, known, at_ms, err);
        }
    }
    if (rc == 0)
        s->gpu_next = (size_t)(known - s->gpus) + 1;
    if (rc == 0)
        rc = write_facts(s, gpu, known, at_ms, err);
    if (rc == 0)
        rc = write_changes(s, host, gpu, known, at_ms, err);
    if (rc == 0)
        *ret = known;
    return rc;
}
