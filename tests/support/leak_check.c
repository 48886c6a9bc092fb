/* SPDX-License-Identifier: Apache-2.0
 * Linked into the program and the unit tests of a build with the address sanitizer: a process that freed every byte has leaked
 * none, so the search for leaks at its end is skipped.
 *
 * The search takes more than 4 s on aarch64, whatever the process did: the allocator there scans 2^28 regions. A process that has
 * anything left, reachable or not, is searched as usual.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of the sanitizer, whose headers gcc installs only in part. __libc_freeres() of glibc frees what the library keeps until the end.
 */
size_t __sanitizer_get_current_allocated_bytes(void);
size_t __sanitizer_get_allocated_size(const volatile void *block);
int __sanitizer_get_ownership(const volatile void *block);
int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void *, size_t), void (*freed)(const volatile void *));
int __lsan_is_turned_off(void);
void __libc_freeres(void);

/* Memory that libraries allocated while they were loaded does not count. */
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

/* Runs before the sanitizer's function, and calls it. */
void *dlopen(const char *name, int flags)
{
    loads = true;
    void *library = next_dlopen(name, flags);
    loads = false;
    return library;
}

/* Runs before anything else: fault injection must not count these calls. */
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
    free(malloc(1)); /* the sanitizer starts with the first allocation */
    find_next();
    __sanitizer_install_malloc_and_free_hooks(taken, freed);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_libraries;

__attribute__((constructor(101))) static void after_libraries(void)
{
    started = true;
}

/* The sanitizer calls this right before its search. */
int __lsan_is_turned_off(void)
{
    __libc_freeres();
    size_t bytes = 0, count = atomic_load(&theirs_count);
    for (size_t i = 0; i < count && i < THEIRS_MAX; i++)
        if (__sanitizer_get_ownership(theirs[i]))
            bytes += __sanitizer_get_allocated_size(theirs[i]);
    return __sanitizer_get_current_allocated_bytes() == bytes;
}
