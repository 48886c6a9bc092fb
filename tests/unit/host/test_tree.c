/* SPDX-License-Identifier: Apache-2.0
 * What a process and its descendants use of the host, between two looks at a machine of files.
 */
#include "host/tree.h"

#include <stdio.h>

#include "sysroot.h"
#include "test.h"

enum { ROOT = 50, PROGRAM = 60, CHILD = 61, OTHER = 70 };

static void put(struct sysroot *s, int pid, int parent, int ticks, int start)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (x) S %d %d 1 0 -1 4194304 0 0 0 0 %d 0 0 0 20 0 1 0 %d 0 10 0\n", pid, parent, pid, ticks,
             start);
    sysroot_write(s, path, text);
}

static struct tree_use look_after(struct sysroot *s, struct process_tree *t, int64_t ms)
{
    struct tree_use use;
    clock_manual_advance_ms(&s->clock, ms);
    tree_look(t, &s->env, &use);
    return use;
}

static void only_descendants_count_each_since_it_was_seen_or_started(void **state)
{
    (void)state;
    if (sysconf(_SC_CLK_TCK) != 100)
        SKIP("ticks of another length");
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct process_tree t;
    assert_int_equal(tree_init(&t, ROOT), 0);
    put(&s, ROOT, 1, 500, 1);
    put(&s, PROGRAM, ROOT, 1000, 5);
    put(&s, OTHER, 1, 0, 6);
    struct tree_use use = look_after(&s, &t, 1000);
    assert_int_equal(use.processes, 1);
    assert_int_equal(use.cpu_permille, 0); /* no look before */
    put(&s, PROGRAM, ROOT, 1050, 5);
    put(&s, CHILD, PROGRAM, 20, 900);
    put(&s, OTHER, 1, 100, 6);
    use = look_after(&s, &t, 1000);
    assert_int_equal(use.processes, 2);
    assert_int_equal(use.cpu_permille, 700);
    assert_int_equal(use.cpu_busiest_permille, 500);
    assert_true(tree_has(&t, CHILD) && !tree_has(&t, OTHER) && !tree_has(&t, ROOT));
    /* The child has ended, and another one got its number. */
    put(&s, CHILD, PROGRAM, 10, 1000);
    use = look_after(&s, &t, 1000);
    assert_int_equal(use.cpu_permille, 100);
    tree_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_descendants_count_each_since_it_was_seen_or_started),
    };
    return RUN_TESTS(tests);
}
