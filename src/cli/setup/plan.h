/* SPDX-License-Identifier: Apache-2.0
 * The plan of `whirr setup` as data: files with their text before and after, and commands with their inverses. A plan can be shown,
 * applied and undone: setup.json in the state directory records what was done.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "config/places.h"

enum { PLAN_FILES_MAX = 4, PLAN_COMMANDS_MAX = 8, PLAN_WORDS_MAX = 8, PLAN_WORD_SIZE = 512 };

struct plan_file {
    char path[PLACE_SIZE];
    char *before, *after; /* NULL: no such file */
    bool config;          /* validate it before replacing the old one */
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
/* Adds a file with its new text; skips one that has it already. */
int plan_add_file(struct plan *p, const char *path, struct str after, bool config, struct error *err);
/* argv is NULL-terminated; `undo` may be NULL. */
void plan_add_command(struct plan *p, const char *const *argv, const char *const *undo);

bool plan_is_empty(const struct plan *p);
/* For people: added and removed lines of each file, without secrets, and the commands. */
void plan_show(const struct plan *p, struct buf *out);
void plan_json(const struct plan *p, bool done, struct buf *out);
/* Records the plan, writes the files, then runs the commands; stops at the first failure. */
int plan_do(const struct env *env, const struct plan *p, struct error *err);
/* Undoes the recorded steps. -ENOENT: nothing was set up. `out` gets a line per step. dry_run: only prints these lines. */
int plan_undo(const struct env *env, bool dry_run, struct buf *out, struct error *err);

/* ---- whirr as a service: with systemd, on Windows, or not at all ---- */

/* The kinds that are available here, for any user and for root or an administrator. */
struct setup_kinds {
    const char *names[4]; /* the first is the default */
    const char *expected, *question;
};

/* What this system has. The functions may be NULL: nothing to do. */
struct setup_service {
    struct setup_kinds of_user, of_root;
    const char *needs_root; /* for users who request a system service without being root */
    /* Adds the steps that make this program a service; kind is "system", "user" or "no". */
    int (*add)(struct plan *p, const char *kind, struct error *err);
    /* Runs a step that is a call instead of a program: 0 or -errno; 1: not such a step. */
    int (*step)(const struct plan_command *c, struct error *err);
    /* What to check next, or what remains; "": nothing. */
    void (*done)(const struct plan *p, struct buf *out);
    void (*undone)(struct buf *out);
};
extern const struct setup_service setup_service;
