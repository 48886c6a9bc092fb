/* SPDX-License-Identifier: Apache-2.0
 * What `whirr setup` is about to do, as data: files with their text before and after, and commands with those that take them back.
 * It can be shown, done, and undone: what was done is kept in setup.json in the state directory.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "config/places.h"

enum { PLAN_FILES_MAX = 4, PLAN_COMMANDS_MAX = 8, PLAN_WORDS_MAX = 8, PLAN_WORD_SIZE = 512 };

struct plan_file {
    char path[PLACE_SIZE];
    char *before, *after; /* NULL: there is none */
    bool config;          /* is read before it takes the place of the old one */
};

struct plan_command {
    char words[PLAN_WORDS_MAX][PLAN_WORD_SIZE];
    size_t count;
};

struct plan {
    struct plan_file files[PLAN_FILES_MAX];
    size_t file_count;
    struct plan_command commands[PLAN_COMMANDS_MAX], undo[2 * PLAN_COMMANDS_MAX];
    size_t command_count, undo_count;
};

void plan_done(struct plan *p);
/* A file that is to have this text; one that has it already is left out. */
int plan_add_file(struct plan *p, const char *path, struct str after, bool config, struct error *err);
/* argv ends with NULL; `undo` may be NULL. */
void plan_add_command(struct plan *p, const char *const *argv, const char *const *undo);

bool plan_is_empty(const struct plan *p);
/* For people: what is added and removed in each file, without secrets, and the commands. */
void plan_show(const struct plan *p, struct buf *out);
void plan_json(const struct plan *p, bool done, struct buf *out);
/* Writes the files, then runs the commands; stops at the first that fails. What was done is recorded first. */
int plan_do(const struct env *env, const struct plan *p, struct error *err);
/* Takes back what the record says. -ENOENT: nothing was set up. `out` gets a line for each step. dry_run: only these lines,
 * of what would be done. */
int plan_undo(const struct env *env, bool dry_run, struct buf *out, struct error *err);
