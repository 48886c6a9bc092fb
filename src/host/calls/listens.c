/* SPDX-License-Identifier: Apache-2.0
 * Which process listens where, from the system's table of listeners. Its pid takes the place of Linux's inode, one number for all
 * sockets of a process.
 */
#include "host/listens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "host/calls/calls.h"

enum { LISTEN_AGAIN_MS = 5000 };

bool process_is_stopped(const struct env *env, int32_t pid)
{
    const struct system_calls *calls = calls_of(env);
    struct calls_process p = {0};
    AUTO_FREE struct calls_thread *list = calloc(CALLS_THREADS_MAX, sizeof *list);
    if (CALL(calls, process, pid, &p) < 0)
        return true; /* gone or not accessible */
    int count = list ? CALL(calls, threads, pid, list, CALLS_THREADS_MAX) : -ENOMEM;
    for (int i = 0; i < count; i++)
        if (list[i].wait != CALLS_WAIT_STOPPED)
            return false;
    return count > 0;
}

static int list_listeners(const struct env *env, struct calls_listener **ret)
{
    *ret = calloc(CALLS_LISTENERS_MAX, sizeof **ret);
    return *ret ? CALL(calls_of(env), listeners, *ret, CALLS_LISTENERS_MAX) : -ENOMEM;
}

/* Port 0: any. */
static const struct calls_listener *find(const struct calls_listener *list, int count, int32_t pid, uint16_t port)
{
    for (int i = 0; i < count; i++)
        if (list[i].pid == pid && (!port || (list[i].port == port && list[i].address[0])))
            return &list[i];
    return NULL;
}

bool process_listens(const struct env *env, int32_t pid, uint16_t port, struct listening *ret)
{
    AUTO_FREE struct calls_listener *list = NULL;
    *ret = (struct listening){0};
    int count = list_listeners(env, &list);
    const struct calls_listener *found = port ? find(list, count, pid, port) : NULL;
    if (!found || process_is_stopped(env, pid))
        return false;
    str_copy(ret->address, sizeof ret->address, str_from(found->address));
    ret->inode = (uint64_t)pid;
    ret->fd = port;
    return true;
}

bool process_still_listens(const struct env *env, int32_t pid, const struct listening *socket)
{
    struct listening now;
    return socket->inode == (uint64_t)pid && process_listens(env, pid, (uint16_t)socket->fd, &now) &&
           strcmp(now.address, socket->address) == 0;
}

bool process_is_server(const struct env *env, int32_t pid, struct mono now, struct listeners *known)
{
    if (!known->read_at.ns || mono_since_ms(now, known->read_at) >= LISTEN_AGAIN_MS) {
        AUTO_FREE struct calls_listener *list = NULL;
        int count = list_listeners(env, &list);
        *known = (struct listeners){.read_at = now};
        str_copy(known->network, sizeof known->network, str_from(count < 0 ? "" : "host"));
        for (int i = 0; i < count && known->count < LISTENERS_MAX; i++)
            known->inodes[known->count++] = (uint64_t)list[i].pid;
    }
    for (size_t i = 0; i < known->count; i++)
        if (known->inodes[i] == (uint64_t)pid)
            return true;
    return false;
}
