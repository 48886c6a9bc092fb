/* SPDX-License-Identifier: Apache-2.0
 * A machine made by a test: a temporary folder with the files of /proc, /sys and /etc that the test needs, and a clock that it
 * moves. Removed with everything in it at the end.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/env.h"
#include "base/file.h"
#include "format/record.h"
#include "test.h"

struct sysroot {
    char path[64];
    struct clock_manual clock;
    struct env env;
};

static inline void sysroot_init(struct sysroot *s)
{
    *s = (struct sysroot){0};
    make_folder_here(s->path);
    clock_manual_init(&s->clock, (struct wall){1800000000000});
    env_init_system(&s->env);
    s->env.sysroot = s->path;
    s->env.clock = &s->clock.clock;
}

static inline void sysroot_done(struct sysroot *s)
{
    remove_all(s->path);
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
    remove_all(whole);
}

/* Makes tests/machines/NAME.machine in `dir`. */
static inline void machine_make(const char *name, const char *dir)
{
    char path[PATH_SIZE];
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    struct env here = {.sysroot = ""};
    struct error err = {0};
    AUTO_BUF struct buf text = BUF(MACHINE_TEXT_MAX);
    snprintf(path, sizeof path, "%s/tests/machines/%s.machine", root ? root : ".", name);
    if (file_read_all(&here, path, &text) < 0)
        fail_msg("cannot read %s", path);
    if (machine_expand(buf_view(&text), dir, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

/* A sysroot that is one of the recorded machines. */
static inline void sysroot_machine(struct sysroot *s, const char *name)
{
    sysroot_init(s);
    machine_make(name, s->path);
}

/* One file of a recorded machine, for the caller to free; NULL: it has none. */
static inline char *machine_file(const char *name, const char *path, size_t *ret_len)
{
    AUTO_SYSROOT struct sysroot machine;
    struct buf text = BUF(MACHINE_TEXT_MAX);
    sysroot_machine(&machine, name);
    if (file_read_all(&machine.env, path, &text) < 0)
        return NULL;
    if (ret_len)
        *ret_len = text.len;
    buf_text(&text, ""); /* an empty file is a text, too */
    return buf_take(&text);
}
