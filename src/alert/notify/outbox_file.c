/* SPDX-License-Identifier: Apache-2.0
 * Writes and reads the queue of one target as JSON.
 */
#include <errno.h>
#include <jansson.h>

#include "alert/notify/notice.h"
#include "alert/notify/outbox.h"
#include "base/cleanup.h"

enum { FILE_VERSION = 1 };

void outbox_write(const struct outbox *o, const char *name, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_int(&j, "version", FILE_VERSION);
    jw_key_text(&j, "notifier", name);
    jw_key_int(&j, "last_sent_ms", o->last_sent_at.ms);
    jw_key_array(&j, "queue");
    for (size_t i = 0; i < o->count; i++) {
        jw_object(&j);
        jw_key_int(&j, "queued_ms", o->items[i]->queued_at.ms);
        jw_key_int(&j, "tried_ms", o->items[i]->tried_at.ms);
        jw_key_int(&j, "refusals", o->items[i]->refusals);
        jw_key(&j, "notice");
        notice_json(&j, &o->items[i]->notice);
        jw_end(&j);
    }
    jw_end(&j);
    jw_key_array(&j, "heard");
    for (size_t i = 0; i < o->sent_count; i++)
        notice_json(&j, &o->sent[i]->notice);
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
}

static bool read_sent(struct outbox *o, const json_t *list)
{
    size_t count = MIN_OF(json_array_size(list), (size_t)OUTBOX_SENT_MAX);
    o->sent = calloc(MAX_OF(count, (size_t)1), sizeof o->sent[0]);
    o->sent_capacity = o->sent ? MAX_OF(count, (size_t)1) : 0;
    for (size_t i = 0; o->sent && i < count; i++) {
        struct outbox_sent *sent = calloc(1, sizeof *sent);
        if (!sent || !notice_from_json(json_array_get(list, i), &sent->notice)) {
            free(sent);
            return false;
        }
        o->sent[o->sent_count++] = sent;
    }
    return o->sent != NULL;
}

static bool read_queue(struct outbox *o, const json_t *list, struct wall today)
{
    size_t count = MIN_OF(json_array_size(list), (size_t)NOTIFIER_QUEUE_MAX);
    o->items = calloc(MAX_OF(count, (size_t)1), sizeof o->items[0]);
    o->capacity = o->items ? MAX_OF(count, (size_t)1) : 0;
    for (size_t i = 0; o->items && i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        struct outbox_item *item = calloc(1, sizeof *item);
        if (!item || !notice_from_json(json_object_get(entry, "notice"), &item->notice)) {
            free(item);
            return false;
        }
        item->queued_at.ms = MIN_OF((int64_t)json_integer_value(json_object_get(entry, "queued_ms")), today.ms);
        item->tried_at.ms = MIN_OF((int64_t)json_integer_value(json_object_get(entry, "tried_ms")), today.ms);
        item->refusals = (uint32_t)json_integer_value(json_object_get(entry, "refusals"));
        bool holds = o->rules.quiet.count || o->rules.digest.count;
        if (today.ms - item->queued_at.ms > (holds ? OUTBOX_HELD_MAX_MS : OUTBOX_AGE_MAX_MS)) {
            free(item); /* the notifier was away for long: last month's alerts are useless */
            o->given_up++;
            continue;
        }
        o->items[o->count++] = item;
    }
    return o->items != NULL;
}

int outbox_read(struct outbox *o, struct str text, struct mono now, struct wall today, struct error *err)
{
    json_error_t error;
    AUTO_JSON json_t *root = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, &error);
    bool good = json_is_object(root) && json_integer_value(json_object_get(root, "version")) == FILE_VERSION &&
                json_is_array(json_object_get(root, "queue")) && json_is_array(json_object_get(root, "heard"));
    struct outbox_rules rules = o->rules;
    uint64_t seed = o->retry.seed;
    good = good && read_sent(o, json_object_get(root, "heard")) && read_queue(o, json_object_get(root, "queue"), today);
    if (good) {
        /* Resumes the pause between two messages; a clock set back must not lengthen it. */
        o->last_sent_at.ms = json_integer_value(json_object_get(root, "last_sent_ms"));
        int64_t ago = today.ms - o->last_sent_at.ms;
        if (o->last_sent_at.ms && ago >= 0 && ago < rules.min_interval_ms)
            o->last_sent.ns = now.ns - ago * NS_PER_MS;
    } else {
        outbox_done(o);
        o->rules = rules;
        o->retry.seed = seed;
    }
    return good ? 0 : error_set(err, -EINVAL, "it is not a queue of notifications");
}
