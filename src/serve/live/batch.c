/* SPDX-License-Identifier: Apache-2.0
 * The messages of a sample: their topics, what each says, and their wire formats.
 */
#include "serve/live/batch.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "serve/live/ws_frame.h"

/* ---- topics ---- */

static const char *const topic_names[TOPIC_COUNT] = {
    [TOPIC_STATUS] = "gpu_status",   [TOPIC_STATUS_UPDATE] = "gpu_status_update",
    [TOPIC_STATS] = "gpu_stats",     [TOPIC_HIGH_USAGE] = "high_gpu_usage_alert",
    [TOPIC_GPU_EVENT] = "gpu_event", [TOPIC_GPU_HEALTH] = "gpu_health",
    [TOPIC_ALERT] = "alert",         [TOPIC_GUARD] = "guard",
    [TOPIC_MISSED] = "missed",       [TOPIC_ERROR] = "error",
};

static const char *topic_name(enum topic topic)
{
    return topic_names[topic];
}

bool topic_from_name(struct str name, enum topic *ret)
{
    size_t i = NAME_FIND(topic_names, name);
    if (i < TOPIC_COUNT)
        *ret = (enum topic)i;
    return i < TOPIC_COUNT;
}

/* ---- batches ---- */

enum { BATCH_TEXT_MAX = 64 << 20, RECORD_SEPARATOR = 0x1e };

struct batch *batch_new(uint64_t number)
{
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->refs = 1;
    b->number = number;
    b->text = BUF(BATCH_TEXT_MAX);
    return b;
}

void batch_unref(struct batch *b)
{
    if (!b || --b->refs)
        return;
    for (int i = 0; i < BATCH_CACHE; i++)
        blob_unref(b->cache[i].blob);
    buf_done(&b->text);
    free(b->messages);
    free(b);
}

struct json_writer batch_begin(struct batch *b, enum topic topic)
{
    if (!ROOM_FOR_ONE(b->messages, b->count, b->capacity, 8)) {
        b->text.failed = true;
        return JSON_WRITER(&b->text);
    }
    b->messages[b->count].topic = topic;
    b->messages[b->count].at = b->text.len;
    return JSON_WRITER(&b->text);
}

void batch_end(struct batch *b)
{
    if (b->text.failed)
        return;
    b->messages[b->count].len = b->text.len - b->messages[b->count].at;
    b->count++;
}

void batch_write_message(struct buf *out, enum language language, enum topic topic, struct str data)
{
    AUTO_BUF struct buf one = BUF(BATCH_TEXT_MAX);
    buf_printf(&one, language == LANGUAGE_WS ? "{\"type\":\"%s\",\"data\":" : "42[\"%s\",", topic_name(topic));
    buf_str(&one, data);
    buf_char(&one, language == LANGUAGE_WS ? '}' : ']');
    if (language == LANGUAGE_SIO_POLL) {
        if (out->len)
            buf_char(out, RECORD_SEPARATOR);
        buf_str(out, buf_view(&one));
    } else {
        ws_frame_text(out, buf_view(&one));
    }
}

struct blob *batch_bytes(struct batch *b, enum language language, unsigned topics)
{
    int place = 0;
    for (; place < BATCH_CACHE && b->cache[place].blob; place++)
        if (b->cache[place].language == language && b->cache[place].topics == topics)
            return b->cache[place].blob;
    if (place == BATCH_CACHE) { /* many different filters: replace the last one */
        place = BATCH_CACHE - 1;
        blob_unref(TAKE(b->cache[place].blob));
    }
    AUTO_BUF struct buf out = BUF(2 * BATCH_TEXT_MAX);
    for (size_t i = 0; i < b->count; i++)
        if (topics & 1u << b->messages[i].topic)
            batch_write_message(&out, language, b->messages[i].topic,
                                (struct str){b->text.at + b->messages[i].at, b->messages[i].len});
    if (b->text.failed)
        return NULL;
    b->cache[place].language = language;
    b->cache[place].topics = topics;
    return b->cache[place].blob = blob_take(&out);
}

/* ---- what the messages say ---- */

enum { ALERT_PROCESSES = 5 };

static bool uses_more(const struct process *a, const struct process *b)
{
    int64_t left = reading_or(a->util_permille, -1), right = reading_or(b->util_permille, -1);
    if (left != right)
        return left > right;
    return reading_or(a->mem_bytes, -1) > reading_or(b->mem_bytes, -1);
}

/* By utilization, highest first. Lists are short, and only the first few are needed. */
static size_t top_processes(const struct gpu *gpu, const struct process *top[ALERT_PROCESSES])
{
    size_t count = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        size_t place = count;
        while (place > 0 && uses_more(p, top[place - 1]))
            place--;
        if (place == ALERT_PROCESSES)
            continue;
        if (count < ALERT_PROCESSES)
            count++;
        for (size_t k = count - 1; k > place; k--)
            top[k] = top[k - 1];
        top[place] = p;
    }
    return count;
}

struct told_usage {
    const struct gpu *gpu;
    double limit_percent;
    const struct process *top[ALERT_PROCESSES];
    size_t count;
    struct wall at;
};

static const void *next_process(const struct answer_at *at, struct answer_step *step)
{
    const struct told_usage *told = at->record;
    return step->at < told->count ? told->top[step->at++] : NULL;
}

ANSWER_TABLE(usage_gpu_answer, struct gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(TEXT, "gpu_name", id.name, NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
}

SHARED_ANSWER_TABLE(usage_answer, struct told_usage, .name = "HighUsage")
{
    VIA(KEYS, NULL, gpu, usage_gpu_answer, NULL);
    FIELD(NUMBER, "limit_percent", limit_percent, NULL);
    EACH(OBJECT, "processes", next_process, "Up to 5, the busiest first", FIELDS(process_answer));
    FIELD(MOMENT, "timestamp", at, NULL);
}

static void write_high_usage(struct json_writer *j, const struct snapshot *s, const struct gpu *gpu, double limit_percent)
{
    struct told_usage told = {.gpu = gpu, .limit_percent = limit_percent, .at = s->taken_at};
    told.count = top_processes(gpu, told.top);
    answer_write(j, &usage_answer, &told, NULL);
}

/* True once per rise. An unknown value is neither a rise nor a fall. */
static bool high_usage_rises(struct high_usage *u, size_t position, const struct gpu *gpu, double limit_percent)
{
    int64_t permille;
    if (position >= GPU_MAX || !reading_get(gpu->util_permille, &permille))
        return false;
    bool was = u->above[position];
    u->above[position] = (double)permille > limit_percent * 10;
    return u->above[position] && !was;
}

static void add_high_usage(struct batch *b, const struct snapshot *s, struct high_usage *usage, double limit_percent)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (!high_usage_rises(usage, i, &s->gpus[i], limit_percent))
            continue;
        struct json_writer j = batch_begin(b, TOPIC_HIGH_USAGE);
        write_high_usage(&j, s, &s->gpus[i], limit_percent);
        batch_end(b);
    }
}

static void add_events(struct batch *b, const struct snapshot *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        const struct event *e = &s->events[i];
        struct json_writer j = batch_begin(b, TOPIC_GPU_EVENT);
        answer_write(&j, &event_answer, e, NULL);
        batch_end(b);
    }
}

void compose_sample(struct batch *b, const struct snapshot *s, const struct why *why, struct high_usage *usage,
                    double limit_percent)
{
    struct json_writer j = batch_begin(b, TOPIC_STATUS_UPDATE);
    json_summary(&j, s, why);
    batch_end(b);
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (gpu_is_unread(&s->gpus[i]))
            continue;
        j = batch_begin(b, TOPIC_STATS);
        json_live_stats(&j, s, &s->gpus[i]);
        batch_end(b);
    }
    add_high_usage(b, s, usage, limit_percent);
    add_events(b, s);
}

struct told_status {
    bool connected;
    double interval_s;
    const struct snapshot *s;
    const struct gpu *gpus;
    size_t count;
    struct str summary;
};

SHARED_ANSWER_TABLE(live_status_answer, struct told_status, .name = "LiveStatus")
{
    FIELD(BOOL, "connected", connected, NULL);
    VIA(KEYS, NULL, s, source_names_answer, NULL);
    FIELD(NUMBER, "interval_seconds", interval_s, NULL);
    OBJECTS("devices", gpus, count, device_answer, NULL);
    WRITTEN_OBJECT("summary", summary, summary_answer, NULL);
}

void compose_status(struct json_writer *j, const struct snapshot *s, const struct why *why, int64_t interval_ms)
{
    AUTO_BUF struct buf summary = BUF(JSON_BODY_MAX);
    struct json_writer inner = JSON_WRITER(&summary);
    json_summary(&inner, s, why);
    j->out->failed |= summary.failed;
    answer_write(j, &live_status_answer,
                 &(struct told_status){true, (double)interval_ms / 1000, s, s->gpus, s->gpu_count, buf_view(&summary)}, NULL);
}
