/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of this directory: lazily loaded ntdll calls that its headers don't describe, and small helpers. Layouts are
 * those of 64-bit Windows 8.1 and later.
 */
#pragma once

/* The network headers need all system headers. */
#undef NOGDI
#undef NOUSER
#include <winsock2.h>

#include <windows.h>
#include <winternl.h>

#include "host/calls/calls.h"

/* Classes of NtQuerySystemInformation and NtQueryInformationProcess. */
enum { NATIVE_PROCESSES = 5, NATIVE_CPU_TIMES = 8, NATIVE_PAGE_FILES = 18, NATIVE_COMMAND_LINE = 60 };

struct native_cpu_times {
    LARGE_INTEGER idle, kernel, user, dpc, interrupt; /* kernel includes idle */
    ULONG interrupts;
};

struct native_page_file {
    ULONG next_offset, total_pages, used_pages, peak_pages;
    UNICODE_STRING name;
};

struct native_thread {
    LARGE_INTEGER kernel_time, user_time, create_time;
    ULONG wait_time;
    PVOID start_address;
    HANDLE process, thread;
    LONG priority, base_priority;
    ULONG context_switches, state, wait_reason;
};

struct native_process {
    ULONG next_offset, thread_count;
    LARGE_INTEGER private_working_set;
    ULONG hard_faults, threads_most;
    ULONGLONG cycles;
    LARGE_INTEGER create_time, user_time, kernel_time;
    UNICODE_STRING name;
    LONG base_priority;
    HANDLE pid, parent;
    ULONG handles, session;
    ULONG_PTR key;
    SIZE_T virtual_most, virtual_size;
    ULONG page_faults;
    SIZE_T working_set_most, working_set, pools[4], page_file, page_file_most, private_pages;
    LARGE_INTEGER operations[3], transferred[3];
    struct native_thread threads[];
};

/* 0 or -errno: -ENOSYS if the system lacks the class. The caller frees the result. */
int native_query(int class, void **ret, size_t *ret_size);
int native_process_query(HANDLE process, int class, void *to, ULONG size);

/* Opens a process for queries; NULL with *rc. */
HANDLE native_open(int32_t pid, int *rc);
int native_error(void); /* of the last call: -errno */
/* To UTF-8, truncated to the size. */
void native_text(const wchar_t *text, size_t count, char *to, size_t size);
