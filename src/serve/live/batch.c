/* SPDX-License-Identifier: Apache-2.0
 * Messages and their wire formats.
 */
#include "serve/live/batch.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "serve/live/ws_frame.h"

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
