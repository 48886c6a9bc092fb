/* SPDX-License-Identifier: Apache-2.0
 * The inside of the store's threads. Private to service*.c.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "store/backlog.h"
#include "store/service.h"

/* What is told to the writer: new limits, or an event. */
struct order {
    struct store_limits limits;
    struct kept_event *event; /* NULL: limits */
};

struct store_service {
    struct store_service_options options;
    char url[512], host[HOST_NAME_SIZE], queue_path[512];
    struct mailbox *inbox, *orders, *jobs;
    pthread_t writer, reader;
    bool writer_runs, reader_runs;
    _Atomic unsigned epoch; /* changes when the file is another one */
    _Atomic int users;      /* threads and the owner: the last one frees */

    pthread_mutex_t lock; /* guards `status` alone */
    struct store_status status;

    /* The writer's own. */
    struct store *store;
    struct backlog backlog;
    struct batch batch;
    int64_t confirmed_run; /* since the connection was made, it is known what of this run is written */
    uint64_t written;
    struct mono retry_at;
    int64_t retry_ms;
};

static inline bool service_is_server(const struct store_service *v)
{
    return strncmp(v->url, "sqlite:", 7) != 0;
}

void service_drop_order(void *order);
/* One user less; the last one frees. */
void service_release(struct store_service *v);
/* The writer's thread. */
void *service_writer(void *service);
