/* SPDX-License-Identifier: Apache-2.0
 * The context that a command runs in, and how it reports failures. Does not know which commands exist.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "format/table/page_table.h"
#include "model/snapshot.h"

struct command;
struct config;
struct options;

/* How to find answers: filled by src/cli from a command's options, by src/lib from those of a program. */
struct ask_options {
    const char *sources[SOURCES_MAX];
    size_t source_count; /* 0: all that are found */
    bool direct;         /* always sample in this process */
    bool show_secrets, idle;
    const char *gpu; /* "0,2": several, where the command takes them */
    const char *config, *socket, *store;
    const char *price, *currency, *hot; /* of a report; NULL here and above: not given */
};

struct cli {
    const struct command *command;
    const char *name;        /* of the command, for messages */
    struct options *options; /* as typed; opaque outside of src/cli */
    struct ask_options ask;
    char gpus[512]; /* of --gpu, if it was given more than once */
    struct env env;
    struct page page;
    bool terminal; /* stdout is a terminal that supports drawing */
    bool json;
    struct config *settings;  /* common settings (settings_open); NULL for commands that read none */
    const char *host;         /* --host: the host to query; NULL: this one */
    const char *const *hosts; /* for a command that shows several hosts itself */
    size_t host_count;
    bool among_hosts;   /* one of several hosts: don't prompt on the terminal */
    int status;         /* of a printed answer: check plugins have their own codes */
    int failure_status; /* of a failed one; 0: EXIT_FAILED, or EXIT_USAGE */
};

/* Print a message to stderr, prefixed with "whirr: ", and return the exit status. */
int cli_fail(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
/* `cli` may be NULL if no command is known yet. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* Reports err as a usage error (-EINVAL) or as a failure. */
int cli_error(const struct cli *cli, const struct error *err);

/* Reports an unknown name; suggests the nearest one, or lists all if there are few. */
int cli_unknown(const struct cli *cli, const char *kind, const char *word, const char *const *names, size_t count);

/* Parses a positive amount of memory with its unit, given for --`option` (NULL: as an argument). EXIT_FINE, or reports the
 * mistake. */
int cli_size(const struct cli *cli, const char *option, const char *text, int64_t *ret);

/* Writes the whole text to stdout. A closed pipe is not a failure. */
int show_text(const struct buf *text);

/* 0, or -errno. */
int write_stdout(const char *at, size_t len);

/* Sleeps for the whole time, even if signals arrive. */
void pause_ms(int64_t ms);
