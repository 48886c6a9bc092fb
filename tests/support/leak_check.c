/* SPDX-License-Identifier: Apache-2.0
 * Linked into the program and the unit tests of a build with the address sanitizer: a process that gave back every byte it took
 * has leaked none, and need not be searched for leaks at its end.
 *
 * The search costs more than 4 s on aarch64, whatever the process did: the allocator there has 2^28 regions to look at. A process
 * with anything left, reachable or not, is searched as ever.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of the sanitizer, whose headers gcc installs in part, and of glibc: frees what the library keeps for itself until the end. */
size_t __sanitizer_get_current_allocated_bytes(void);
size_t __sanitizer_get_allocated_size(const volatile void *block);
int __sanitizer_get_ownership(const volatile void *block);
int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void *, size_t), void (*freed)(const volatile void *));
int __lsan_is_turned_off(void);
void __libc_freeres(void);

/* What libraries took while they were loaded is theirs, at the start and later. */
enum { THEIRS_MAX = 8192 };
static const volatile void *theirs[THEIRS_MAX];
static atomic_size_t theirs_count;
static bool started;
static _Thread_local bool loads;

static void taken(const volatile void *block, size_t bytes)
{
    (void)bytes;
    if (started && !loads)
        return;
    size_t at = atomic_fetch_add(&theirs_count, 1);
    if (at < THEIRS_MAX)
        theirs[at] = block;
}

static void *(*next_dlopen)(const char *, int);

/* Before the one of the sanitizer, which it calls. */
void *dlopen(const char *name, int flags)
{
    loads = true;
    void *library = next_dlopen(name, flags);
    loads = false;
    return library;
}

/* Before anything else: in a program whose calls fail in turn, this one is not to be among them. */
static void find_next(void)
{
    void *found = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&next_dlopen, &found, sizeof next_dlopen);
}

static void freed(const volatile void *block)
{
    (void)block;
}

static void before_libraries(void)
{
    free(malloc(1)); /* the sanitizer begins with the first */
    find_next();
    __sanitizer_install_malloc_and_free_hooks(taken, freed);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_libraries;

__attribute__((constructor(101))) static void after_libraries(void)
{
    started = true;
}

/* The sanitizer asks when nothing but its search is left to do. */
int __lsan_is_turned_off(void)
{
    __libc_freeres();
    size_t bytes = 0, count = atomic_load(&theirs_count);
    for (size_t i = 0; i < count && i < THEIRS_MAX; i++)
        if (__sanitizer_get_ownership(theirs[i]))
            bytes += __sanitizer_get_allocated_size(theirs[i]);
    return __sanitizer_get_current_allocated_bytes() == bytes;
}
