/* SPDX-License-Identifier: Apache-2.0
 * whirr serve: turns options and settings into a running daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/os/service.h"
#include "base/os/words.h"
#include "cli/command.h"
#include "daemon/daemon.h"
#include "fleet/fleet.h"

enum { FLAGS_MAX = 24, LISTEN_OPTIONS_MAX = 8 };

struct serve {
    struct cli *cli;
    struct config_flag flags[FLAGS_MAX];
    size_t flag_count;
    size_t listen_count;
};

/* Options that are aliases of settings. */
static const struct {
    const char *option, *key, *flag;
} same[] = {
    {"interval", "sampling.interval_seconds", "--interval"},
    {"store", "store.url", "--store"},
    {"log-format", "log.format", "--log-format"},
    {"log-level", "log.level", "--log-level"},
    {"log", "log.level", "--log"},
};

static void add_flag(struct serve *s, const char *key, const char *value, const char *flag)
{
    s->flags[s->flag_count++] = (struct config_flag){key, value, flag};
}

static int serve_gather(struct serve *s)
{
    const struct options *o = s->cli->options;
    for (size_t i = 0; i < o->given_count; i++) {
        if (strcmp(o->given[i].spec->name, "listen") != 0)
            continue;
        if (s->listen_count++ == LISTEN_OPTIONS_MAX)
            return cli_usage(s->cli, "--listen is given more than %d times", LISTEN_OPTIONS_MAX);
        add_flag(s, "server.listen", o->given[i].value, "--listen"); /* repeated options make a list */
    }
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (options_has(o, same[i].option))
            add_flag(s, same[i].key, options_value(o, same[i].option, ""), same[i].flag);
    if (options_has(o, "insecure"))
        add_flag(s, "server.insecure", "true", "--insecure");
    if (options_has(o, "verbose"))
        add_flag(s, "log.level", "debug", "--verbose");
    return EXIT_FINE;
}

static int serve_load(void *user, struct config **ret, struct config_problems *problems)
{
    struct serve *s = user;
    return settings_read(s->cli, s->flags, s->flag_count, ret, problems);
}

/* systemd names the journal's file, but a shell in between may have redirected stderr. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    char ours[64];
    if (!stream || fstat(STDERR_FILENO, &st))
        return false;
    snprintf(ours, sizeof ours, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    return strcmp(stream, ours) == 0;
}

static void set_up_log(const struct config *config)
{
    enum log_format format = LOG_FORMAT_TEXT;
    if (config->log.format == CONFIG_LOG_JSON)
        format = LOG_FORMAT_JSON;
    if (config->log.format == CONFIG_LOG_JOURNAL || (config->log.format == CONFIG_LOG_AUTO && stderr_is_journal()))
        format = LOG_FORMAT_JOURNAL;
    log_setup((enum log_level)config->log.level, format, stderr);
}

static int serve_here(void *user)
{
    struct cli *cli = user;
    struct serve s = {.cli = cli};
    struct config *config;
    int status = serve_gather(&s);
    if (status == EXIT_FINE)
        status = settings_load(cli, s.flags, s.flag_count, &config);
    if (status == EXIT_FINE) {
        set_up_log(config);
        env_use_nvapi(&cli->env, config->sampling.nvidia_api);
        static const struct part_ops *const more[] = {&fleet_part_ops};
        status = daemon_run(&(struct daemon_options){.env = &cli->env,
                                                     .config = config,
                                                     .load = serve_load,
                                                     .user = &s,
                                                     .more = more,
                                                     .more_count = ARRAY_LEN(more),
                                                     .sources = cli->ask.sources,
                                                     .source_count = cli->ask.source_count});
    }
    return status;
}

static int serve_run(struct cli *cli)
{
    return service_run(serve_here, cli);
}

static const char *const log_levels[] = {"debug", "info", "warning", "error", NULL};

static const struct option_spec options[] = {
    {.name = "listen", .argument = "ADDR:PORT", .help = "Address to listen on (may be repeated; default: 127.0.0.1:9447)"},
    {.name = "interval", .argument = "SECONDS", .help = "Time between samples (default: 5)"},
    {.name = "store", .argument = "URL|none", .help = "History database: sqlite:PATH, postgresql://... or none"},
    {.name = "insecure", .help = "Allow addresses other than loopback without a token"},
    {.name = "log-level",
     .argument = "LEVEL",
     .values = log_levels,
     .hidden = true,
     .help = "Minimum severity to log (default: info)"},
};

const struct command command_serve = {
    .alone = true,
    .name = "serve",
    .group = HELP_RUN,
    .summary = "Run the daemon: dashboard, API, metrics, history and alerts",
    .details = "Commands of this user ask a running daemon instead of sampling themselves. " WORD_SERVE_ENDS,
    OPTIONS(options),
    .examples = {{"whirr serve", "dashboard and API on http://127.0.0.1:9447"},
                 {"whirr serve --interval 1 --store sqlite:gpu.db", "a sample every second, kept in a file"},
                 {"whirr token new laptop && whirr serve --listen 0.0.0.0:9447", "for other hosts, with a token"}},
    .lacks = "json gpu",
    .run = serve_run,
};
