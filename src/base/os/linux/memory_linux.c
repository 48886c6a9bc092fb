/* SPDX-License-Identifier: Apache-2.0
 * Returns memory that the start, a burst of requests or a long history query left behind: in the allocator, and in file pages.
 */
#include "base/os/memory.h"

#include <link.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

enum { TRIM_EVERY_MS = 20000, DROP_EVERY_MS = 3600000 };

/* A debugger's breakpoints are in private copies of file pages, which must not be dropped. */
static bool is_traced(const struct env *env)
{
    char text[4096];
    return file_read_head(env, "/proc/self/status", text, sizeof text) > 0 && !strstr(text, "\nTracerPid:\t0\n");
}

/* Leaves writable segments alone, and relocations in them. */
static int drop_object(struct dl_phdr_info *object, size_t size, void *bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || p->p_flags & PF_W)
            continue;
        uintptr_t from = (object->dlpi_addr + p->p_vaddr + page - 1) / page * page;
        uintptr_t to = (object->dlpi_addr + p->p_vaddr + p->p_memsz) / page * page;
        if (from < to && madvise((void *)from, to - from, MADV_DONTNEED) == 0)
            *(size_t *)bytes += to - from;
    }
    return 0;
}

size_t memory_drop_files(const struct env *env)
{
    size_t bytes = 0;
    if (!is_traced(env))
        dl_iterate_phdr(drop_object, &bytes);
    return bytes;
}

void memory_give_back(struct memory *m, const struct env *env, struct mono now)
{
    if (mono_since_ms(now, m->trimmed) < TRIM_EVERY_MS)
        return;
    bool first = !m->trimmed.ns; /* startup is not over yet */
    m->trimmed = now;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    if (first || (m->dropped.ns && mono_since_ms(now, m->dropped) < DROP_EVERY_MS))
        return;
    m->dropped = now;
    memory_drop_files(env);
}
