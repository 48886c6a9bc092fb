/* SPDX-License-Identifier: Apache-2.0
 * What is asked about every GPU of a server and would take a look at many rows of each: the most it did in the last half hour, and
 * its health as its daemon judges it. One row for each GPU, written once a minute and when the health changes.
 */
#include <errno.h>

#include "store/everywhere.h"
#include "store/internal.h"

int latest_note(struct store *s, int64_t gpu_id, int64_t at_ms, struct error *err)
{
    if (s->db->ops->kind == DB_SQLITE)
        return 0;
    struct db_statement *q = store_statement(s, ST_LATEST, err);
    if (!q)
        return -EIO;
    int64_t minute = bucket_of(LEVEL_MINUTE, at_ms);
    db_bind_i64(q, 1, bucket_key(gpu_id, minute - EVERYWHERE_BUSY_MINUTES));
    db_bind_i64(q, 2, bucket_key(gpu_id, minute + 1));
    db_bind_i64(q, 3, gpu_id);
    db_bind_i64(q, 4, at_ms);
    return db_put(q, err);
}

int latest_note_health(struct store *s, int64_t gpu_id, const struct store_event *e, struct error *err)
{
    if (s->db->ops->kind == DB_SQLITE || !gpu_id || !e->data || strcmp(e->kind, "health") != 0)
        return 0;
    struct db_statement *q = store_statement(s, ST_LATEST_HEALTH, err);
    if (!q)
        return -EIO;
    db_bind_i64(q, 1, gpu_id);
    db_bind_i64(q, 2, e->at.ms);
    db_bind_text(q, 3, e->data);
    return db_put(q, err);
}
