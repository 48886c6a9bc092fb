/* SPDX-License-Identifier: Apache-2.0
 * The options that all commands accept.
 */
#include "cli/command.h"

static const char *const log_levels[] = {"debug", "info", "warning", "error", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const color_choices[] = {"auto", "always", "never", NULL};

#define OPTION_ASKED_HOST                                                                                      \
    .name = "host", .known_as = "asked-host", .argument = "NAME[:PORT]|ssh://NAME", .complete = COMPLETE_HOST, \
    .help = "Ask the daemon of this host instead (may be repeated)"
static const struct option_spec host_in_front[] = {{OPTION_ASKED_HOST}};
const struct option_table host_option = {host_in_front, ARRAY_LEN(host_in_front)};

static const struct option_spec globals[] = {
    {.name = "json", .help = "Print JSON instead of text"},
    {.name = "gpu", .argument = "INDEX|UUID|PCI", .help = "Limit to this GPU; status, why, ps and top to several: 0,2 or 0-3"},
    {OPTION_ASKED_HOST},
    {.name = "source",
     .argument = "NAME[:PARAMETERS]",
     .complete = COMPLETE_SOURCE,
     .help = "Read GPUs from this source (may be repeated; default: auto)"},
    {.name = "sysroot",
     .argument = "DIR",
     .complete = COMPLETE_FOLDER,
     .help = "Read /sys, /proc and /etc from a recorded machine"},
    {.name = "direct", .help = "Sample directly, without asking a running daemon"},
    {.name = "socket",
     .argument = "PATH|none",
     .complete = COMPLETE_FILE,
     .help = "The daemon's socket: where commands connect and serve listens"},
    {.name = "config", .argument = "FILE", .complete = COMPLETE_FILE, .help = "Read only this configuration file"},
    {.name = "color", .argument = "WHEN", .values = color_choices, .help = "Use colors: auto (on a terminal), always, never"},
    {.name = "no-color", .help = "Same as --color never; NO_COLOR in the environment is respected, too"},
    {.name = "verbose", .letter = 'v', .help = "Show more detail"},
    {.name = "log",
     .argument = "LEVEL",
     .values = log_levels,
     .help = "Log to stderr from this level on: debug, info, warning, error"},
    {.name = "log-format", .argument = "FORMAT", .values = log_formats, .help = "Log as text or json"},
    {.name = "help", .letter = 'h', .help = "Show help"},
    {.name = "version", .letter = 'V', .help = "Show the version"},
};

const struct option_table global_options = {globals, ARRAY_LEN(globals)};
