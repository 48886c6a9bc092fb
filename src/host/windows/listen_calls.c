/* SPDX-License-Identifier: Apache-2.0
 * TCP ports on which processes of a Windows host listen.
 */
#include "host/windows/native.h"

#include <errno.h>
#include <iphlpapi.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/windows/facts_windows.h"

enum { TRIES = 4, INET6 = 23 };

/* The table may grow between two calls. */
static int read_table(ULONG family, void **ret)
{
    ULONG size = 64 << 10;
    for (int i = 0; i < TRIES; i++) {
        AUTO_FREE void *room = malloc(size);
        if (!room)
            return -ENOMEM;
        DWORD rc = GetExtendedTcpTable(room, &size, FALSE, family, TCP_TABLE_OWNER_PID_LISTENER, 0);
        if (rc == NO_ERROR) {
            *ret = TAKE(room);
            return 0;
        }
        if (rc != ERROR_INSUFFICIENT_BUFFER)
            return -ENOSYS;
    }
    return -EIO;
}

static uint16_t port_of(DWORD port)
{
    return (uint16_t)((port & 0xff) << 8 | (port >> 8 & 0xff));
}

/* Wine doesn't report the owner of a socket: the listener is unknown then. */
static int with_owner(struct calls_listener *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].pid)
            list[kept++] = list[i];
    return kept || !count ? (int)kept : -ENOSYS;
}

int windows_listeners(struct calls_listener *list, size_t max)
{
    AUTO_FREE void *four = NULL;
    AUTO_FREE void *six = NULL;
    size_t count = 0;
    int rc = read_table(AF_INET, &four), rc6 = read_table(INET6, &six);
    if (rc < 0 && rc6 < 0)
        return rc;
    const MIB_TCPTABLE_OWNER_PID *table = four;
    for (DWORD i = 0; table && i < table->dwNumEntries && count < max; i++) {
        const MIB_TCPROW_OWNER_PID *row = &table->table[i];
        list[count] = (struct calls_listener){.pid = (int32_t)row->dwOwningPid, .port = port_of(row->dwLocalPort)};
        windows_loopback((const uint8_t *)&row->dwLocalAddr, 4, list[count++].address);
    }
    const MIB_TCP6TABLE_OWNER_PID *table6 = six;
    for (DWORD i = 0; table6 && i < table6->dwNumEntries && count < max; i++) {
        const MIB_TCP6ROW_OWNER_PID *row = &table6->table[i];
        list[count] = (struct calls_listener){.pid = (int32_t)row->dwOwningPid, .port = port_of(row->dwLocalPort)};
        windows_loopback(row->ucLocalAddr, 16, list[count++].address);
    }
    return with_owner(list, count);
}
