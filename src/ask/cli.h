/* SPDX-License-Identifier: Apache-2.0
 * What a command runs with, and how it says that something failed. Which commands there are is not known here.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "format/table/page.h"
#include "model/snapshot.h"

struct command;
struct config;
struct options;

/* How answers are found: filled by src/cli from the options of a command, by src/lib from those of a program. */
struct ask_options {
    const char *sources[SOURCES_MAX];
    size_t source_count; /* 0: all that are found */
    bool direct;         /* sampled here in any case */
    bool show_secrets, idle;
    const char *gpu, *config, *socket, *store;
    const char *price, *currency, *hot; /* of a report; NULL here and above: not given */
};

struct cli {
    const struct command *command;
    const char *name;        /* of the command, for messages */
    struct options *options; /* as they were typed; only src/cli knows what is in it */
    struct ask_options ask;
    struct env env;
    struct page page;
    bool terminal; /* stdout is one that can be drawn on */
    bool json;
    struct config *settings;  /* as every command sees them (settings_open); NULL for those that read none */
    const char *host;         /* --host: the one that is asked; NULL: this one */
    const char *const *hosts; /* of a command that shows several at once itself */
    size_t host_count;
    bool among_hosts;   /* one of several: nothing may be asked on the terminal */
    int status;         /* of an answer that was shown: check plugins have their own codes */
    int failure_status; /* of one that could not be; 0: EXIT_FAILED, or EXIT_USAGE */
};

/* Messages to stderr, with "whirr: " in front; they return the exit status. */
int cli_fail(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
/* `cli` may be NULL: no command is known yet. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* What err says, as wrong usage (-EINVAL) or as a failure. */
int cli_error(const struct cli *cli, const struct error *err);

/* A name that is not among `names`: with the nearest one, or with all of a few. */
int cli_unknown(const struct cli *cli, const char *kind, const char *word, const char *const *names, size_t count);

/* An amount of memory with its unit, above 0, that a person typed for --`option` (NULL: as an argument). EXIT_FINE, or what is
 * wrong with it was said. */
int cli_size(const struct cli *cli, const char *option, const char *text, int64_t *ret);

/* Writes text to stdout, whole. A reader that has gone is not a failure. */
int show_text(const struct buf *text);

/* 0, or -errno. */
int write_stdout(const char *at, size_t len);

/* Waits without losing signals. */
void pause_ms(int64_t ms);
