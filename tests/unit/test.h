/* SPDX-License-Identifier: Apache-2.0
 * What every unit test includes: cmocka with the headers it needs in front, and what tap.c adds to it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Ends a test that cannot be made here; the reason is listed with the results. */
extern const char *skip_reason;
#define SKIP(reason) (skip_reason = (reason), skip())

/* A folder of whole recorded trees, an extra beside tests/machines; NULL where there is none. */
static inline const char *fixtures_dir(void)
{
    const char *dir = getenv("WHIRR_FIXTURES");
    return dir && access(dir, R_OK) == 0 ? dir : NULL;
}

/* Waits for what must come, however slow the machine is; false when 90 seconds were not enough. */
#define EVENTUALLY(condition)                         \
    ({                                                \
        int eventually_left = 18000;                  \
        while (!(condition) && eventually_left-- > 0) \
            usleep(5000);                             \
        eventually_left >= 0;                         \
    })

/* The zone of local times, which is so many minutes east of UTC in winter. Windows has one zone for all. */
void use_zone(const char *name, int minutes);

/* The next number of a sequence that is the same in every run. */
static inline uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* What is about files and programs of Linux is left out elsewhere. */
static inline bool on_linux(void)
{
    return access("/proc/self", F_OK) == 0;
}

/* A new folder of its own in the home of this program; nothing of it is left at the end. */
void make_folder_here(char ret_path[64]);
void remove_all(const char *path); /* with everything in it */

/* For a stand-in that takes its time. */
static inline void be_slow(int ms)
{
    usleep((useconds_t)ms * 1000);
}

#define TEST(function) cmocka_unit_test(function)
#define RUN_TESTS(tests) cmocka_run_group_tests(tests, NULL, NULL)
