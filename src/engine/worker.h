/* SPDX-License-Identifier: Apache-2.0
 * A source on its own thread. Jobs go in, results come out; the thread may hang in a driver without delaying other sources.
 */
#pragma once

#include "base/mailbox.h"
#include "source/source.h"

struct worker;

/* Everything in the coordinator's mailbox begins with this. */
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
    unsigned known;  /* read in this job or kept from an earlier one */
    bool open;       /* the source is open now */
    int rc;          /* 0, or why the source could not be opened or read */
    char message[SOURCE_MESSAGE_SIZE];
    struct driver_info driver;
    struct host host;                /* of a source that has its own */
    struct event events[EVENTS_MAX]; /* gpu_index: position in this source's list */
    size_t event_count;
    unsigned implausible; /* readings that could not be true */
    char *description;    /* JOB_DESCRIBE: heap text */
    size_t gpu_count;
    struct gpu gpus[];
};

void result_free(struct result *r);

/* Results are put into `results` as struct result *, which begin with a struct message of MESSAGE_RESULT. */
struct worker *worker_new(const struct env *env, const struct source_ops *ops, const char *params, bool show_secrets, size_t slot,
                          struct mailbox *results);
void worker_ask(struct worker *w, enum job_kind kind, unsigned groups);
/* After JOB_STOP was asked for: waits until the source is closed and the thread has ended. False: it did not in that time, and is
 * left behind with its memory and the mailbox of results. NULL is fine. */
bool worker_free(struct worker *w, int64_t timeout_ms);
