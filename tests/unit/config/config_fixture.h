/* SPDX-License-Identifier: Apache-2.0
 * Loads configurations from texts: a folder of their own for each test program, an environment given by the test.
 */
#pragma once

#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "test.h"

static char config_folder[64];
static struct config_problems problems;

static inline void make_config_folder(void)
{
    make_folder_here(config_folder);
}

static inline const char *write_file(const char *name, const char *text)
{
    static char path[128];
    if (!config_folder[0])
        make_config_folder();
    snprintf(path, sizeof path, "%s/%s", config_folder, name);
    AUTO_FCLOSE FILE *f = fopen(path, "w");
    assert_non_null(f);
    fchmod(fileno(f), 0600); /* some hold secrets */
    fputs(text, f);
    return path;
}

static inline int load(const char *file, const char *const *environment, const struct config_flag *flags, size_t flag_count,
                       struct config **ret)
{
    struct env env;
    env_init_system(&env);
    env.sysroot = config_folder;
    const struct config_inputs inputs = {&env, file, environment, flags, flag_count};
    return config_load(&inputs, ret, &problems);
}

/* As a command that only looks reads it. */
static inline int load_forgiving(const char *file, const char *const *environment, struct config **ret)
{
    struct env env;
    env_init_system(&env);
    env.sysroot = config_folder;
    const struct config_inputs inputs = {.env = &env, .file = file, .environment = environment, .forgiving = true};
    return config_load(&inputs, ret, &problems);
}

static inline void print_problems(void)
{
    for (size_t i = 0; i < problems.count; i++)
        print_error("%s: %s\n", problems.list[i].where, problems.list[i].text);
}

/* A file alone, that must be fine. */
static inline struct config *loaded(const char *text)
{
    struct config *c = NULL;
    if (load(write_file("alone.toml", text), NULL, NULL, 0, &c) != 0) {
        print_problems();
        fail();
    }
    return c;
}

/* A file alone that must be refused with exactly one error, whose text behind the path is `expected` ("3:5: ..."). */
static inline void assert_refused(const char *text, const char *expected)
{
    struct config *c = NULL;
    const char *path = write_file("wrong.toml", text);
    int rc = load(path, NULL, NULL, 0, &c);
    if (rc != -22 || problems.errors != 1) {
        print_error("%s\nreturned %d with %zu errors:\n", text, rc, problems.errors);
        print_problems();
        fail();
    }
    char said[1024];
    snprintf(said, sizeof said, "%s: %s", problems.list[0].where, problems.list[0].text);
    assert_memory_equal(said, path, strlen(path));
    assert_string_equal(said + strlen(path) + 1, expected);
    assert_null(c);
}
