/* SPDX-License-Identifier: Apache-2.0
 * A machine made by a test: a temporary folder with the files of /proc, /sys and /etc that the test needs, and a clock that it
 * moves. Removed with everything in it at the end.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/env.h"
#include "test.h"

struct sysroot {
    char path[64];
    struct clock_manual clock;
    struct env env;
};

static inline void sysroot_init(struct sysroot *s)
{
    *s = (struct sysroot){.path = "/tmp/whirr-test-XXXXXX"};
    assert_non_null(mkdtemp(s->path));
    clock_manual_init(&s->clock, (struct wall){1800000000000});
    env_init_system(&s->env);
    s->env.sysroot = s->path;
    s->env.clock = &s->clock.clock;
}

static inline int sysroot_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void sysroot_done(struct sysroot *s)
{
    nftw(s->path, sysroot_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
#define AUTO_SYSROOT __attribute__((cleanup(sysroot_done)))

/* The place of a file of the machine on this disk; its folders are made. */
static inline void sysroot_place(struct sysroot *s, const char *path, char whole[512])
{
    snprintf(whole, 512, "%s%s", s->path, path);
    for (char *slash = strchr(whole + strlen(s->path) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(whole, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static inline void sysroot_write_bytes(struct sysroot *s, const char *path, const char *bytes, size_t len)
{
    char whole[512];
    sysroot_place(s, path, whole);
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

static inline void sysroot_write(struct sysroot *s, const char *path, const char *text)
{
    sysroot_write_bytes(s, path, text, strlen(text));
}

static inline void sysroot_link(struct sysroot *s, const char *path, const char *target)
{
    char whole[512];
    sysroot_place(s, path, whole);
    unlink(whole);
    assert_int_equal(symlink(target, whole), 0);
}

static inline void sysroot_remove(struct sysroot *s, const char *path)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", s->path, path);
    nftw(whole, sysroot_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
