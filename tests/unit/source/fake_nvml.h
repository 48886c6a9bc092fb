/* SPDX-License-Identifier: Apache-2.0
 * A machine whose NVIDIA driver is the scripted fake, for tests in one process.
 */
#pragma once

#include <stdio.h>

#include "base/file.h"
#include "source/source.h"
#include "test.h"

struct fake_machine {
    struct env env;
    struct clock_manual clock;
    char library[512], root[64];
    struct source *source;
    struct error err;
    void (*script)(const char *);
    unsigned long (*calls)(const char *);
    void (*reset_calls)(void);
    int (*open_count)(void);
};

/* `release`: "" for the newest, else "-470" and so on. Nothing is opened yet; the sysroot is an empty folder. */
void fake_machine_init(struct fake_machine *m, const char *release, const char *script);
void fake_machine_done(struct fake_machine *m);
int fake_machine_open(struct fake_machine *m); /* opens the source; 0 or -errno */
/* Refresh and sample of one GPU; the caller gpu_done()s it. */
struct gpu fake_machine_sample(struct fake_machine *m, size_t gpu, unsigned groups);
/* Of the library, which is loaded already. */
void *fake_machine_symbol(const struct fake_machine *m, const char *name);
/* A file below the sysroot. */
void fake_machine_file(struct fake_machine *m, const char *path, const char *text);

#define assert_reading(r, v)                     \
    do {                                         \
        assert_int_equal((r).state, READING_OK); \
        assert_int_equal((r).value, (v));        \
    } while (0)
#define assert_absent(r, why) assert_int_equal((r).state, (why))
