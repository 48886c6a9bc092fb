/* SPDX-License-Identifier: Apache-2.0
 * Memory that goes back to the system while the daemon runs.
 */
#include "base/os/memory.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sysroot.h"

/* Pointers, which the loader has written into a segment that is read-only from then on. */
static const char *const relocated[] = {"one", "two", "three"};

static long pages_of_files_kb(void)
{
    char line[256];
    long kb = -1;
    AUTO_FCLOSE FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "RssFile: %ld", &kb);
    return kb;
}

/* Reads what lies between variables as well. */
__attribute__((no_sanitize("address"))) static int touch_object(struct dl_phdr_info *object, size_t size, void *sum)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        const volatile unsigned char *at = (const volatile unsigned char *)(object->dlpi_addr + p->p_vaddr);
        for (size_t k = 0; p->p_type == PT_LOAD && !(p->p_flags & PF_W) && k < p->p_memsz; k += page)
            *(unsigned *)sum += at[k];
    }
    return 0;
}

static void pages_that_only_the_loading_needed_are_dropped(void **state)
{
    (void)state;
    struct env env;
    unsigned before = 0, after = 0;
    env_init_system(&env);
    dl_iterate_phdr(touch_object, &before);
    long all = pages_of_files_kb();
    assert_true(all > 0);
    if (!memory_drop_files(&env))
        SKIP("somebody traces this program");
    long left = pages_of_files_kb();
    if (left > all / 2)
        fail_msg("%ld kB of %ld kB are left", left, all);
    assert_string_equal(relocated[2], "three");
    dl_iterate_phdr(touch_object, &after);
    assert_int_equal(after, before); /* all of it comes back */
}

static void while_the_program_is_traced_its_pages_stay(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    sysroot_write(&s, "/proc/self/status", "Name:\twhirr\nTracerPid:\t4711\nUid:\t0\n");
    assert_int_equal(memory_drop_files(&s.env), 0);
    sysroot_write(&s, "/proc/self/status", "Name:\twhirr\nTracerPid:\t0\nUid:\t0\n");
    assert_true(memory_drop_files(&s.env) > 0);
}

static void the_start_is_over_when_they_are_and_then_it_is_done_every_hour(void **state)
{
    (void)state;
    struct env env;
    struct memory m = {0};
    struct mono at = {1000 * NS_PER_S};
    env_init_system(&env);
    memory_give_back(&m, &env, at);
    assert_int_equal(m.dropped.ns, 0);
    at.ns += 19 * NS_PER_S;
    memory_give_back(&m, &env, at);
    assert_int_equal(m.dropped.ns, 0);
    at.ns += NS_PER_S;
    memory_give_back(&m, &env, at);
    assert_int_equal(m.dropped.ns, at.ns);
    int64_t first = at.ns;
    for (int i = 0; i < 179; i++) {
        at.ns += 20 * NS_PER_S;
        memory_give_back(&m, &env, at);
        assert_int_equal(m.trimmed.ns, at.ns);
        assert_int_equal(m.dropped.ns, first);
    }
    at.ns += 20 * NS_PER_S;
    memory_give_back(&m, &env, at);
    assert_int_equal(m.dropped.ns, first + 3600 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_that_only_the_loading_needed_are_dropped),
        TEST(while_the_program_is_traced_its_pages_stay),
        TEST(the_start_is_over_when_they_are_and_then_it_is_done_every_hour),
    };
    return RUN_TESTS(tests);
}
