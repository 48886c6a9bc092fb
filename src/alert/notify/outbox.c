/* SPDX-License-Identifier: Apache-2.0
 * The queue of one target.
 */
#include "alert/notify/outbox.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "alert/notify/notice.h"
#include "base/cleanup.h"

enum { RECHECK_MS = 60000 };

static const struct mono never = {INT64_MAX};

void outbox_done(struct outbox *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->items[i]);
    for (size_t i = 0; i < o->sent_count; i++)
        free(o->sent[i]);
    free(o->items);
    free(o->sent);
    *o = (struct outbox){0};
}

static bool same(const struct alert_notice *a, const struct alert_notice *b)
{
    return strcmp(a->fingerprint, b->fingerprint) == 0;
}

/* Appends to a growing array of pointers; false if out of memory. */
static bool append(void ***list, size_t *count, size_t *capacity, void *item)
{
    if (!ROOM_FOR_ONE(*list, *count, *capacity, 16))
        return false;
    (*list)[(*count)++] = item;
    return true;
}

/* ---- sent alerts ---- */

static size_t find_sent(const struct outbox *o, const struct alert_notice *n)
{
    size_t i = 0;
    while (i < o->sent_count && !same(&o->sent[i]->notice, n))
        i++;
    return i;
}

static void outbox_forget(struct outbox *o, size_t at)
{
    if (at >= o->sent_count)
        return;
    free(o->sent[at]);
    memmove(&o->sent[at], &o->sent[at + 1], (o->sent_count - at - 1) * sizeof o->sent[0]);
    o->sent_count--;
    o->changed = true;
}

static void remember(struct outbox *o, const struct alert_notice *n)
{
    outbox_forget(o, find_sent(o, n));
    if (o->sent_count == OUTBOX_SENT_MAX)
        outbox_forget(o, 0);
    struct outbox_sent *copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = (struct outbox_sent){*n, true};
    if (!append((void ***)&o->sent, &o->sent_count, &o->sent_capacity, copy))
        free(copy);
    o->changed = true;
}

/* ---- the queue ---- */

static void remove_at(struct outbox *o, size_t at)
{
    free(o->items[at]);
    memmove(&o->items[at], &o->items[at + 1], (o->count - at - 1) * sizeof o->items[0]);
    o->count--;
    o->changed = true;
}

/* The newest queued notice of this alert, or NULL. */
static const struct alert_notice *queued(const struct outbox *o, const struct alert_notice *n)
{
    for (size_t i = o->count; i-- > 0;)
        if (same(&o->items[i]->notice, n))
            return &o->items[i]->notice;
    return NULL;
}

/* Whether it was already sent as firing with at least this severity. */
static bool is_known(const struct alert_notice *sent, const struct alert_notice *n)
{
    return sent->status == NOTICE_FIRING && sent->started_at.ms == n->started_at.ms && notice_severity(sent) >= notice_severity(n);
}

/* A firing notice that was sent before (rules were restarted), or a resolved one whose beginning was never sent. */
static bool superfluous(struct outbox *o, const struct alert_notice *n)
{
    const struct alert_notice *waits = queued(o, n);
    size_t at = find_sent(o, n);
    const struct alert_notice *sent = at < o->sent_count ? &o->sent[at]->notice : NULL;
    if (sent && n->status == NOTICE_FIRING)
        o->sent[at]->confirmed = true;
    if (n->status == NOTICE_FIRING)
        return waits ? is_known(waits, n) : sent && is_known(sent, n);
    if (!o->rules.send_resolved) {
        outbox_forget(o, at);
        return true;
    }
    return waits ? waits->status == NOTICE_RESOLVED : !sent;
}

bool outbox_put(struct outbox *o, const struct alert_notice *notice, struct mono now, struct wall today)
{
    if (superfluous(o, notice))
        return false;
    if (o->count == NOTIFIER_QUEUE_MAX) {
        remove_at(o, 0);
        o->given_up++;
    }
    struct outbox_item *item = malloc(sizeof *item);
    if (!item)
        return false;
    *item = (struct outbox_item){.notice = *notice, .due = {now.ns + o->rules.group_wait_ms * NS_PER_MS}, .queued_at = today};
    item->notice.notifier_count = 0;
    if (!append((void ***)&o->items, &o->count, &o->capacity, item)) {
        free(item);
        return false;
    }
    o->changed = true;
    return true;
}

void outbox_roll_begin(struct outbox *o)
{
    for (size_t i = 0; i < o->sent_count; i++)
        o->sent[i]->confirmed = false;
}

void outbox_roll_end(struct outbox *o, struct mono now, struct wall today)
{
    for (size_t i = o->sent_count; i-- > 0;) {
        if (o->sent[i]->confirmed)
            continue;
        struct alert_notice over = o->sent[i]->notice;
        over.status = NOTICE_RESOLVED;
        over.ended_at = today;
        outbox_put(o, &over, now, today); /* if resolved notices aren't sent, this only forgets the alert */
    }
}

static struct mono later(struct mono a, struct mono b)
{
    return a.ns > b.ns ? a : b;
}

static struct mono repeat_due(const struct outbox *o)
{
    return o->rules.repeat_ms && o->sent_count ? o->repeat_at : never;
}

/* ---- held notices ---- */

/* Until when to hold it; ms 0: it may be sent. */
static struct wall held_until(const struct outbox *o, const struct outbox_item *item, struct wall today)
{
    enum severity severity = notice_severity(&item->notice);
    struct wall quiet = quiet_until(&o->rules.quiet, severity, today);
    struct wall digest = digest_after(&o->rules.digest, severity, item->queued_at);
    if (digest.ms <= today.ms)
        digest.ms = 0;
    return digest.ms > quiet.ms ? digest : quiet;
}

/* Also true if an earlier notice of the same alert is held: the end must not overtake the beginning. */
static bool is_held(const struct outbox *o, size_t at, struct wall today)
{
    if (!o->rules.quiet.count && !o->rules.digest.count)
        return false;
    for (size_t i = 0; i <= at; i++)
        if ((i == at || same(&o->items[i]->notice, &o->items[at]->notice)) && held_until(o, o->items[i], today).ms)
            return true;
    return false;
}

size_t outbox_held(const struct outbox *o, struct wall today, struct wall *until)
{
    size_t count = 0;
    *until = (struct wall){0};
    for (size_t i = 0; i < o->count; i++) {
        if (!is_held(o, i, today))
            continue;
        struct wall one = held_until(o, o->items[i], today);
        count++;
        if (one.ms && (!until->ms || one.ms < until->ms))
            *until = one;
    }
    return count;
}

static struct mono queue_due(const struct outbox *o, struct mono now, struct wall today)
{
    struct mono first = never, rested = {o->last_sent.ns ? o->last_sent.ns + o->rules.min_interval_ms * NS_PER_MS : 0};
    for (size_t i = 0; i < o->count; i++) {
        struct mono due =
            is_held(o, i, today) ? (struct mono){now.ns + (int64_t)RECHECK_MS * NS_PER_MS} : later(o->items[i]->due, rested);
        first = due.ns < first.ns ? due : first;
    }
    return first;
}

struct mono outbox_due(const struct outbox *o, struct mono now, struct wall today)
{
    struct mono queue = queue_due(o, now, today), repeat = repeat_due(o);
    struct mono due = queue.ns < repeat.ns ? queue : repeat;
    return due.ns == never.ns ? never : later(due, o->retry.not_before);
}

/* ---- a batch ---- */

/* A resolved notice whose firing one was given up in the meantime has nothing to report. */
static bool is_orphan(const struct outbox *o, const struct alert_notice *n)
{
    return n->status == NOTICE_RESOLVED && find_sent(o, n) == o->sent_count;
}

static int rank(const struct alert_notice *n)
{
    int severity = (int)notice_severity(n);
    return n->status == NOTICE_FIRING ? severity + SEVERITY_CRITICAL + 1 : severity;
}

/* Sends only the newest notice of an alert, which includes the time when it began. */
static void add_newest(const struct outbox *o, struct outbox_batch *batch, const struct alert_notice *n)
{
    for (size_t i = 0; i < batch->count; i++)
        if (same(batch->list[i], n)) {
            batch->list[i] = n;
            return;
        }
    if (!is_orphan(o, n))
        batch->list[batch->count++] = n;
}

static void lead_with_worst(struct outbox_batch *batch)
{
    size_t worst = 0;
    for (size_t i = 1; i < batch->count; i++)
        if (rank(batch->list[i]) > rank(batch->list[worst]))
            worst = i;
    const struct alert_notice *first = batch->list[worst];
    memmove(&batch->list[1], &batch->list[0], worst * sizeof batch->list[0]);
    batch->list[0] = first;
}

/* Drops resolved notices whose firing one was given up and is not queued either. */
static void drop_orphans(struct outbox *o)
{
    for (size_t i = o->count; i-- > 0;) {
        bool begun = !is_orphan(o, &o->items[i]->notice);
        for (size_t k = 0; k < i && !begun; k++)
            begun = same(&o->items[k]->notice, &o->items[i]->notice);
        if (!begun)
            remove_at(o, i);
    }
}

static void take_items(struct outbox *o, struct wall today, struct outbox_batch *batch)
{
    bool group = o->rules.group || o->rules.quiet.count || o->rules.digest.count; /* send a whole night in one message */
    size_t max = group ? MIN_OF(o->rules.group_max, (size_t)OUTBOX_GROUP_MAX) : 1;
    for (size_t i = 0; i < o->count && batch->taken < MAX_OF(max, (size_t)1); i++) {
        if (is_held(o, i, today))
            continue;
        o->items[i]->taken = true;
        batch->taken++;
        add_newest(o, batch, &o->items[i]->notice);
    }
    lead_with_worst(batch);
}

bool outbox_take(struct outbox *o, struct mono now, struct wall today, struct outbox_batch *batch)
{
    *batch = (struct outbox_batch){0};
    for (size_t i = 0; i < o->count; i++)
        o->items[i]->taken = false; /* left from a cancelled attempt */
    drop_orphans(o);
    if (outbox_due(o, now, today).ns > now.ns)
        return false;
    if (later(queue_due(o, now, today), o->retry.not_before).ns <= now.ns) {
        take_items(o, today, batch);
        return true;
    }
    batch->repeat = true;
    for (size_t i = 0; i < o->sent_count; i++)
        batch->list[batch->count++] = &o->sent[i]->notice;
    return batch->count > 0;
}

static void settle_sent(struct outbox *o, const struct outbox_batch *batch, struct mono now, struct wall today)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct alert_notice *n = &o->items[i]->notice;
        if (!o->items[i]->taken)
            continue;
        if (n->status == NOTICE_FIRING)
            remember(o, n);
        else
            outbox_forget(o, find_sent(o, n));
    }
    for (size_t i = o->count; i-- > 0;)
        if (o->items[i]->taken)
            remove_at(o, i);
    o->retry.failures = 0;
    o->retry.not_before = (struct mono){0};
    if (!batch->repeat) {
        o->last_sent = now;
        o->last_sent_at = today;
    }
    if (batch->repeat || !o->repeat_at.ns)
        o->repeat_at = (struct mono){now.ns + o->rules.repeat_ms * NS_PER_MS};
}

/* Gives up notices of this attempt that were refused too often or tried for too long. */
static size_t give_up_hopeless(struct outbox *o, enum outbox_result result, struct wall today)
{
    size_t gone = 0;
    bool holds = o->rules.quiet.count || o->rules.digest.count; /* then old notices waited on purpose */
    for (size_t i = o->count; i-- > 0;) {
        struct outbox_item *item = o->items[i];
        if (!item->taken)
            continue;
        if (!item->tried_at.ms)
            item->tried_at = today;
        item->refusals += result == OUTBOX_REFUSED;
        struct wall since = holds ? item->tried_at : item->queued_at;
        if (item->refusals >= OUTBOX_REFUSALS_MAX || today.ms - since.ms > OUTBOX_AGE_MAX_MS) {
            remove_at(o, i);
            gone++;
        }
    }
    return gone;
}

int64_t outbox_settle(struct outbox *o, const struct outbox_batch *batch, enum outbox_result result, int64_t pause_ms,
                      struct mono now, struct wall today)
{
    if (result == OUTBOX_CANCELLED)
        return 0;
    if (result == OUTBOX_SENT) {
        settle_sent(o, batch, now, today);
        return 0;
    }
    size_t gone = give_up_hopeless(o, result, today);
    o->given_up += gone;
    o->changed = true;
    int64_t pause = retry_failed(&o->retry, now, OUTBOX_PAUSE_MAX_MS, MIN_OF(pause_ms, (int64_t)OUTBOX_RETRY_AFTER_MAX_MS));
    if (gone) { /* the next one gets its own attempts */
        o->retry.failures = 0;
        pause = MAX_OF((int64_t)RETRY_PAUSE_FIRST_MS, pause_ms);
        o->retry.not_before = (struct mono){now.ns + pause * NS_PER_MS};
    }
    return pause;
}

/* ---- the queue as JSON ---- */

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
