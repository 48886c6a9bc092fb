/* SPDX-License-Identifier: Apache-2.0
 * The writer's SQL that does not depend on the columns, prepared on first use.
 */
#include "store/internal.h"

#define LOWEST_FREE(table)                                                                 \
    "(SELECT MIN(t.id) + 1 FROM (SELECT 0 AS id UNION ALL SELECT id FROM " table ") AS t " \
    "WHERE NOT EXISTS (SELECT 1 FROM " table " AS n WHERE n.id = t.id + 1))"

#define FINDING_STATE                                                                                                       \
    "severity = $1, severity_now = $2, confidence_permille = $3, last_seen_ms = $4, samples = $5, util_sum_permille = $6, " \
    "util_count = $7, power_sum_mw = $8, power_count = $9, temp_max_mdegc = $10, ended = $11"

static const char *const texts[ST_COUNT] = {
    [ST_GPU_FIND] = "SELECT id FROM gpus WHERE host_id = $1 AND identity = $2",
    /* A GPU whose UUID was unknown (an older driver) is still the same GPU. */
    [ST_GPU_ADOPT] = "SELECT id FROM gpus WHERE host_id = $1 AND uuid IS NULL AND pci_address = $2 AND name = $3",
    [ST_GPU_INSERT] =
        "INSERT INTO gpus (host_id, identity, uuid, pci_address, name, vendor, gpu_index, first_seen_ms, last_seen_ms, "
        "simulated, id) SELECT CAST($1 AS BIGINT), $2, $3, $4, $5, $6, CAST($7 AS BIGINT), CAST($8 AS BIGINT), CAST($8 AS BIGINT), "
        "CAST($9 AS BIGINT), " LOWEST_FREE("gpus") " RETURNING id",
    [ST_GPU_UPDATE] = "UPDATE gpus SET identity = $1, uuid = $2, pci_address = $3, name = $4, vendor = $5, gpu_index = $6, "
                      "last_seen_ms = $7 WHERE id = $8",
    [ST_HOST_FIND] = "SELECT id FROM hosts WHERE name = $1",
    /* IDs have 14 bits in the keys of samples: use the lowest free one, not a sequence, which advances with every failed
     * attempt. */
    [ST_HOST_INSERT] =
        "INSERT INTO hosts (name, first_seen_ms, last_seen_ms, id) SELECT $1, CAST($2 AS BIGINT), CAST($2 AS BIGINT), " LOWEST_FREE(
            "hosts") " RETURNING id",
    [ST_HOST_SEEN] = "UPDATE hosts SET last_seen_ms = $1 WHERE id = $2",
    [ST_GPU_SEEN] = "UPDATE gpus SET last_seen_ms = $1 WHERE id = $2",
    /* NULL violates NOT NULL, which fails the transaction: while it hung, a later one wrote the same items. */
    [ST_WRITER] = "INSERT INTO writers (host_id, run, last_number, at_ms) VALUES ($1, $2, $3, $4) "
                  "ON CONFLICT (host_id, run) DO UPDATE SET last_number = CASE WHEN writers.last_number < $5 THEN "
                  "excluded.last_number END, at_ms = excluded.at_ms",
    [ST_FACT] = "INSERT INTO facts (gpu_id, key, since_ms, value) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (gpu_id, key, since_ms) DO UPDATE SET value = excluded.value",
    [ST_PENDING] = "INSERT INTO pending (series, level, subject, bucket) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    [ST_PENDING_DONE] = "DELETE FROM pending WHERE series = $1 AND level = $2 AND subject = $3 AND bucket = $4",
    [ST_MARKS] = "SELECT series, subject, bucket FROM pending WHERE level = $1 AND bucket <> $2 AND "
                 "((series = 1 AND subject = $3) OR (series = 0 AND subject IN (SELECT id FROM gpus WHERE host_id = $3))) "
                 "ORDER BY bucket, subject LIMIT $4",
    [ST_OVERDUE] = "SELECT subject, bucket FROM pending WHERE series = $1 AND level = $2 AND bucket < $3 ORDER BY bucket, subject "
                   "LIMIT $4",
    [ST_EVENT] =
        "INSERT INTO events (at_ms, host_id, gpu_id, kind, severity, code, text, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    [ST_FINDING_BEGIN] =
        "INSERT INTO finding_episodes (severity, severity_now, confidence_permille, last_seen_ms, samples, util_sum_permille, "
        "util_count, power_sum_mw, power_count, temp_max_mdegc, host_id, gpu_id, process_id, pid, code, since_ms, first_seen_ms, "
        "worst_ms, headline, ended) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, "
        "0) RETURNING id",
    [ST_FINDING_STATE] = "UPDATE finding_episodes SET " FINDING_STATE " WHERE id = $12",
    [ST_FINDING_WORSE] = "UPDATE finding_episodes SET " FINDING_STATE ", worst_ms = $12, headline = $13 WHERE id = $14",
    [ST_RUN_FIND] = "SELECT id FROM processes WHERE last_seen_ms >= $1 AND gpu_id = $2 AND pid = $3 AND start_key = $4 "
                    "ORDER BY last_seen_ms DESC LIMIT 1",
    [ST_RUN_INSERT] =
        "INSERT INTO processes (gpu_id, pid, start_key, started_at_ms, name, user_name, command, container, model, type, "
        "container_name, job, title, first_seen_ms, last_seen_ms, ended, samples, memory_sum_bytes, memory_count, sm_sum_permille, "
        "sm_count, energy_mj) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, 0, 0, 0, 0, 0, 0, 0) RETURNING id",
    [ST_RUN_UPDATE] =
        "UPDATE processes SET last_seen_ms = $1, ended = 0, samples = samples + $2, "
        "memory_peak_bytes = CASE WHEN memory_peak_bytes IS NULL OR $3 > memory_peak_bytes THEN $3 ELSE memory_peak_bytes END, "
        "memory_sum_bytes = memory_sum_bytes + $4, memory_count = memory_count + $5, "
        "sm_sum_permille = sm_sum_permille + $6, sm_count = sm_count + $7, energy_mj = energy_mj + $8, "
        "parked_mj = COALESCE(parked_mj + $9, $9, parked_mj) WHERE id = $10",
    [ST_RUN_NAME] = "UPDATE processes SET container_name = COALESCE(container_name, $1), job = COALESCE(job, $2), model = "
                    "COALESCE(model, $3) WHERE id = $4",
    [ST_RUN_END] = "UPDATE processes SET ended = 1 WHERE id = $1",
    [ST_PROCESS_MINUTE] =
        "INSERT INTO process_minutes (minute, process_id, samples, memory_max_bytes, memory_sum_bytes, memory_count, "
        "sm_sum_permille, "
        "sm_count, energy_mj, parked_mj, limit_code, limit_samples, generated_tokens, prompt_tokens, running_sum, running_samples, "
        "requests) "
        "VALUES "
        "($1, "
        "$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) "
        "ON CONFLICT (minute, process_id) DO UPDATE SET "
        "samples = process_minutes.samples + excluded.samples, memory_max_bytes = CASE WHEN process_minutes.memory_max_bytes IS "
        "NULL OR "
        "excluded.memory_max_bytes > process_minutes.memory_max_bytes THEN excluded.memory_max_bytes ELSE "
        "process_minutes.memory_max_bytes END, memory_sum_bytes = process_minutes.memory_sum_bytes + excluded.memory_sum_bytes, "
        "memory_count = process_minutes.memory_count + excluded.memory_count, "
        "sm_sum_permille = process_minutes.sm_sum_permille + excluded.sm_sum_permille, "
        "sm_count = process_minutes.sm_count + excluded.sm_count, energy_mj = process_minutes.energy_mj + excluded.energy_mj, "
        "parked_mj = COALESCE(process_minutes.parked_mj + excluded.parked_mj, excluded.parked_mj, process_minutes.parked_mj), "
        "requests = COALESCE(process_minutes.requests + excluded.requests, excluded.requests, process_minutes.requests), "
        "generated_tokens = COALESCE(process_minutes.generated_tokens + excluded.generated_tokens, excluded.generated_tokens, "
        "process_minutes.generated_tokens), prompt_tokens = COALESCE(process_minutes.prompt_tokens + excluded.prompt_tokens, "
        "excluded.prompt_tokens, process_minutes.prompt_tokens), running_sum = COALESCE(process_minutes.running_sum + "
        "excluded.running_sum, excluded.running_sum, process_minutes.running_sum), running_samples = "
        "COALESCE(process_minutes.running_samples + excluded.running_samples, excluded.running_samples, "
        "process_minutes.running_samples), "
        /* limit_samples counts the minute so far: the larger count is the later one, or from before a restart. */
        "limit_code = CASE WHEN excluded.limit_samples >= COALESCE(process_minutes.limit_samples, 0) THEN excluded.limit_code ELSE "
        "process_minutes.limit_code END, limit_samples = CASE WHEN excluded.limit_samples >= "
        "COALESCE(process_minutes.limit_samples, 0) THEN excluded.limit_samples ELSE process_minutes.limit_samples END",
    [ST_HOURS_MARKS] = "SELECT subject, bucket FROM pending WHERE series = 2 AND level = 2 AND bucket < $1 AND (subject = $2 OR "
                       "bucket < $3) ORDER BY bucket DESC LIMIT $4",
    [ST_ENERGY] = "INSERT INTO energy (minute, gpu_id, energy_mj, attributed_mj, counted) VALUES ($1, $2, $3, $4, $5) "
                  "ON CONFLICT (minute, gpu_id) DO UPDATE SET energy_mj = energy.energy_mj + excluded.energy_mj, "
                  "attributed_mj = energy.attributed_mj + excluded.attributed_mj, "
                  "counted = CASE WHEN excluded.counted > energy.counted THEN excluded.counted ELSE energy.counted END",
};

struct db_statement *store_statement(struct store *s, enum statement which, struct error *err)
{
    if (!s->statements[which])
        db_prepare(s->db, texts[which], &s->statements[which], err);
    return s->statements[which];
}

static void finish_buckets(struct store *s, enum series series)
{
    db_finish(&s->read_raw[series]);
    db_finish(&s->find_raw[series]);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        db_finish(&s->read_buckets[series][level]);
        db_finish(&s->insert_bucket[series][level]);
        db_finish(&s->delete_bucket[series][level]);
    }
}

void store_forget_columns(struct store *s)
{
    for (int series = 0; series < SERIES_COUNT; series++) {
        db_finish(&s->insert_sample[series]);
        finish_buckets(s, (enum series)series);
    }
}

void store_drop_idle(struct store *s)
{
    for (int series = 0; series < SERIES_COUNT; series++)
        finish_buckets(s, (enum series)series);
    for (size_t i = 0; i < ST_COUNT; i++) {
        if (s->statements[i] && !s->statements[i]->used)
            db_finish(&s->statements[i]);
        else if (s->statements[i])
            s->statements[i]->used = false;
    }
}
