/* SPDX-License-Identifier: Apache-2.0
 * Broadcasts in slices, and handles slow clients.
 */
#include "serve/live/live.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

enum { SLICE_US = 4000, SLICE_CHECK = 16 };

static void on_slice(void *arg);

int hub_init(struct hub *h, struct loop *loop)
{
    *h = (struct hub){.loop = loop};
    h->slice = watch_timer(loop->base, on_slice, h);
    return h->slice ? 0 : -ENOMEM;
}

void hub_done(struct hub *h)
{
    watch_free(h->slice);
    batch_unref(h->batch);
    *h = (struct hub){0};
}

void hub_join(struct hub *h, struct subscriber *s)
{
    s->hub = h;
    s->seen = h->batch ? h->batch->number : 0; /* its first message has newer data */
    s->next = h->first;
    s->prev = NULL;
    if (h->first)
        h->first->prev = s;
    h->first = s;
    h->count++;
    s->joined = true;
}

void hub_leave(struct subscriber *s)
{
    if (!s->joined)
        return;
    struct hub *h = s->hub;
    if (h->cursor == s)
        h->cursor = s->next;
    if (s->prev)
        s->prev->next = s->next;
    else
        h->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
    h->count--;
    s->joined = false;
}

static void send_missed(struct subscriber *s)
{
    char data[48];
    int len = snprintf(data, sizeof data, "{\"samples\":%llu}", (unsigned long long)s->missed);
    hub_send(s, TOPIC_MISSED, (struct str){data, (size_t)len});
    s->missed = 0;
}

static void send_newest(struct subscriber *s)
{
    struct batch *b = s->hub->batch;
    struct blob *bytes = batch_bytes(b, s->language, s->topics);
    s->seen = b->number;
    if (s->missed)
        send_missed(s);
    if (bytes && bytes->len) {
        s->ops->send(s, bytes);
        s->hub->samples_sent++;
    }
}

/* Whether this sample is the closest to the client's due time. A client without its own interval takes every sample. */
static bool wants_now(struct subscriber *s, int64_t now)
{
    if (s->interval_ms <= s->hub->sample_interval_ms)
        return true;
    if (now + s->hub->sample_interval_ms / 2 < s->due_ms)
        return false;
    s->due_ms += s->interval_ms;
    if (s->due_ms <= now)
        s->due_ms = now + s->interval_ms;
    return true;
}

static void deliver_to(struct subscriber *s, int64_t now)
{
    struct batch *b = s->hub->batch;
    if (s->seen >= b->number)
        return;
    if (!wants_now(s, now)) {
        s->seen = b->number;
    } else if (s->ops->queued(s)) {
        s->missed++;
        s->hub->samples_missed++;
    } else {
        send_newest(s);
    }
}

static void on_slice(void *arg)
{
    struct hub *h = arg;
    int64_t start = clock_mono(&clock_system).ns, now_ms = start / NS_PER_MS;
    for (unsigned n = 1; h->cursor; n++) {
        struct subscriber *s = h->cursor;
        h->cursor = s->next;
        deliver_to(s, now_ms);
        if (n % SLICE_CHECK == 0 && clock_mono(&clock_system).ns - start > SLICE_US * 1000LL)
            break;
    }
    if (h->cursor) /* with a timer, sockets get their turn first */
        watch_on(h->slice, 0);
}

void hub_publish(struct hub *h, struct batch *b)
{
    /* Subscribers that the last sample has not reached yet (behind the cursor) get this one instead. */
    for (struct subscriber *s = h->cursor; s; s = s->next) {
        s->missed++;
        h->samples_missed++;
    }
    batch_unref(h->batch);
    h->batch = b;
    h->cursor = h->first;
    on_slice(h);
}

void hub_drained(struct subscriber *s)
{
    if (!s->joined || !s->missed || s->ops->queued(s))
        return;
    /* The newest sample is sent now, so it was not missed. */
    if (s->seen < s->hub->batch->number) {
        s->missed--;
        send_newest(s);
    }
}

void hub_send(struct subscriber *s, enum topic topic, struct str data)
{
    AUTO_BUF struct buf out = BUF(data.len + 256);
    batch_write_message(&out, s->language, topic, data);
    AUTO_BLOB struct blob *bytes = blob_take(&out);
    if (bytes)
        s->ops->send(s, bytes);
}

void hub_announce(struct hub *h, enum topic topic, struct str data)
{
    struct blob *bytes[LANGUAGE_COUNT] = {0};
    for (struct subscriber *s = h->first; s; s = s->next) {
        if (!(s->topics & 1u << topic))
            continue;
        if (!bytes[s->language]) {
            AUTO_BUF struct buf out = BUF(data.len + 256);
            batch_write_message(&out, s->language, topic, data);
            bytes[s->language] = blob_take(&out);
        }
        if (bytes[s->language])
            s->ops->send(s, bytes[s->language]);
    }
    for (int i = 0; i < LANGUAGE_COUNT; i++)
        blob_unref(bytes[i]);
}
