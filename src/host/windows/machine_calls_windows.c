/* SPDX-License-Identifier: Apache-2.0
 * CPU time, memory, network, disks and mains of a Windows host.
 */
#include "host/windows/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <winioctl.h>
#include <ws2tcpip.h>

#include <iphlpapi.h>

#include "base/cleanup.h"

enum { DISKS_MAX = 32, FILETIMES_PER_MS = 10000, IF_LOOPBACK = 24 };

/* ---- CPU ---- */

static uint64_t number_of(FILETIME t)
{
    return (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
}

/* Cores of our processor group: up to 64. */
static int read_cores(struct calls_cpu *cores, size_t max)
{
    AUTO_FREE void *room = NULL;
    size_t size = 0;
    int rc = native_query(NATIVE_CPU_TIMES, &room, &size);
    if (rc < 0)
        return rc;
    const struct native_cpu_times *times = room;
    size_t count = MIN_OF(size / sizeof *times, max);
    for (size_t i = 0; i < count; i++) {
        uint64_t total = (uint64_t)(times[i].kernel.QuadPart + times[i].user.QuadPart);
        cores[i] = (struct calls_cpu){total, total - (uint64_t)times[i].idle.QuadPart};
    }
    return (int)count;
}

int windows_cpu(struct calls_cpu *all, struct calls_cpu *cores, size_t max)
{
    FILETIME idle, kernel, user;
    if (!GetSystemTimes(&idle, &kernel, &user))
        return native_error();
    uint64_t total = number_of(kernel) + number_of(user); /* kernel time includes idle */
    *all = (struct calls_cpu){total, total - number_of(idle)};
    read_cores(cores, max);
    return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

/* ---- memory ---- */

/* Bytes in page files, not memory committed to programs. */
static void read_page_files(struct calls_memory *ret)
{
    AUTO_FREE void *room = NULL;
    size_t size = 0;
    SYSTEM_INFO system;
    if (native_query(NATIVE_PAGE_FILES, &room, &size) < 0)
        return;
    GetSystemInfo(&system);
    ret->swap_total_bytes = ret->swap_used_bytes = 0;
    for (size_t at = 0; at + sizeof(struct native_page_file) <= size;) {
        const struct native_page_file *file = (const void *)((const char *)room + at);
        ret->swap_total_bytes += (int64_t)file->total_pages * system.dwPageSize;
        ret->swap_used_bytes += (int64_t)file->used_pages * system.dwPageSize;
        if (!file->next_offset)
            break;
        at += file->next_offset;
    }
}

int windows_memory(struct calls_memory *ret)
{
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    if (!GlobalMemoryStatusEx(&status))
        return native_error();
    *ret = (struct calls_memory){(int64_t)status.ullTotalPhys, (int64_t)status.ullAvailPhys, -1, -1};
    read_page_files(ret);
    return 0;
}

/* ---- network and disks ---- */

static bool is_card(const MIB_IF_ROW2 *row)
{
    return row->InterfaceAndOperStatusFlags.HardwareInterface && !row->InterfaceAndOperStatusFlags.FilterInterface;
}

/* Physical interfaces; without any, as in a container, all but loopback. */
int windows_networks(struct calls_flow *list, size_t max)
{
    MIB_IF_TABLE2 *table = NULL;
    if (GetIfTable2(&table) != NO_ERROR || !table)
        return -ENOSYS;
    bool hardware = false;
    size_t count = 0;
    for (ULONG i = 0; i < table->NumEntries; i++)
        hardware = hardware || (is_card(&table->Table[i]) && table->Table[i].Type != IF_LOOPBACK);
    for (ULONG i = 0; i < table->NumEntries && count < max; i++) {
        const MIB_IF_ROW2 *row = &table->Table[i];
        if (row->Type == IF_LOOPBACK || (hardware && !is_card(row)))
            continue;
        list[count] = (struct calls_flow){.in_bytes = row->InOctets, .out_bytes = row->OutOctets, .busy_ms = -1};
        snprintf(list[count].name, sizeof list[count].name, "%llx", (unsigned long long)row->InterfaceLuid.Value);
        count++;
    }
    FreeMibTable(table);
    return (int)count;
}

static bool read_disk(int number, struct calls_flow *ret)
{
    wchar_t path[32];
    DISK_PERFORMANCE p;
    DWORD size = 0;
    _snwprintf(path, ARRAY_LEN(path), L"\\\\.\\PhysicalDrive%d", number);
    HANDLE disk = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    if (disk == INVALID_HANDLE_VALUE)
        return false;
    bool good = DeviceIoControl(disk, IOCTL_DISK_PERFORMANCE, NULL, 0, &p, sizeof p, &size, NULL) && size == sizeof p;
    CloseHandle(disk);
    if (!good)
        return false;
    *ret = (struct calls_flow){.in_bytes = (uint64_t)p.BytesRead.QuadPart,
                               .out_bytes = (uint64_t)p.BytesWritten.QuadPart,
                               .busy_ms = MAX_OF(p.QueryTime.QuadPart - p.IdleTime.QuadPart, 0) / FILETIMES_PER_MS};
    snprintf(ret->name, sizeof ret->name, "disk%d", number);
    return true;
}

int windows_disks(struct calls_flow *list, size_t max)
{
    size_t count = 0;
    for (int i = 0; i < DISKS_MAX && count < max; i++)
        count += read_disk(i, &list[count]);
    return count ? (int)count : -ENODEV;
}

int windows_on_battery(bool *ret)
{
    enum { NO_BATTERY = 128, UNKNOWN = 255 };
    SYSTEM_POWER_STATUS status;
    if (!GetSystemPowerStatus(&status))
        return native_error();
    if ((status.BatteryFlag & NO_BATTERY) || status.ACLineStatus == UNKNOWN)
        return -ENODEV;
    *ret = status.ACLineStatus == 0;
    return 0;
}
