/* SPDX-License-Identifier: Apache-2.0
 * A source on its own thread. Jobs go in, results come out; the thread may hang in a driver without delaying other sources.
 */
#pragma once

#include "base/mailbox.h"
#include "source/source.h"

struct worker;

/* Everything in the coordinator's mailbox starts with this. */
enum message_kind {
    MESSAGE_RESULT,
    MESSAGE_REQUEST,
    MESSAGE_SUBSCRIBE,
    MESSAGE_INTERVAL,
    MESSAGE_RELEASE,
    MESSAGE_DESCRIBE,
    MESSAGE_FORGET,
    MESSAGE_END_WAITS,
    MESSAGE_STOP
};
struct message {
    enum message_kind kind;
};

enum job_kind { JOB_SAMPLE, JOB_CLOSE, JOB_DESCRIBE, JOB_STOP };

struct result {
    struct message message_base;
    size_t slot; /* which worker */
    enum job_kind kind;
    unsigned groups; /* read in this job */
    unsigned known;  /* read in this job or kept from earlier */
    bool open;       /* the source is open now */
    int rc;          /* 0, or why the source could not be opened or read */
    char message[SOURCE_MESSAGE_SIZE];
    struct driver_info driver;
    struct host host;                /* of a source that describes its own */
    struct event events[EVENTS_MAX]; /* gpu_index: position in this source's list */
    size_t event_count;
    unsigned implausible; /* impossible readings */
    char *description;    /* JOB_DESCRIBE: heap text */
    size_t gpu_count;
    struct gpu gpus[];
};

void result_free(struct result *r);

/* Puts results into `results` as struct result *, which start with a struct message of MESSAGE_RESULT. */
struct worker *worker_new(const struct env *env, const struct source_ops *ops, const char *params, bool show_secrets, size_t slot,
                          struct mailbox *results);
void worker_ask(struct worker *w, enum job_kind kind, unsigned groups);
/* After JOB_STOP: waits until the source is closed and the thread has ended. False: timeout; the thread is abandoned with its
 * memory and the result mailbox. Accepts NULL. */
bool worker_free(struct worker *w, int64_t timeout_ms);
