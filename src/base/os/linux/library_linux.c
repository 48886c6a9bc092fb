/* SPDX-License-Identifier: Apache-2.0
 * Shared libraries through dlopen().
 */
#include "base/os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/env.h"

enum { HUGE_PAGE = 2 << 20 };

void *library_load(const char *name, struct error *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *said = dlerror();
        error_set(err, -ENOENT, "%s", said ? said : "dlopen failed");
    }
    return library;
}

void *library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

const char *library_path(void *library)
{
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

/* Covers the zero-filled part of each segment (.bss). */
static int ask_for_huge_pages(struct dl_phdr_info *object, size_t size, void *library)
{
    const struct link_map *map = library;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)size;
    for (size_t i = 0; object->dlpi_addr == map->l_addr && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t from = (object->dlpi_addr + p->p_vaddr + p->p_filesz + page - 1) / page * page;
        uintptr_t to = (object->dlpi_addr + p->p_vaddr + p->p_memsz) / page * page;
        if (p->p_type == PT_LOAD && to >= from + HUGE_PAGE)
            madvise((void *)from, to - from, MADV_HUGEPAGE); /* best effort: a kernel without huge pages ignores it */
    }
    return object->dlpi_addr == map->l_addr;
}

void library_fill_faster(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        dl_iterate_phdr(ask_for_huge_pages, map);
}

void library_stay(const void *part)
{
    Dl_info found;
    if (dladdr(part, &found) && found.dli_fname)
        dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}
