/* SPDX-License-Identifier: Apache-2.0
 * whirr config: check, show, default.
 */
#include <stdlib.h>
#include <string.h>

#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/os/place.h"
#include "cli/cli_show.h"
#include "config/places.h"

enum { TEXT_MAX = 4 << 20 };

static void print_files(const struct config *config, struct buf *out)
{
    if (!config)
        return;
    if (config->file_count == 0)
        buf_text(out, "No configuration file: all settings are at their defaults. To start one: whirr config default\n");
    for (size_t i = 0; i < config->file_count; i++)
        buf_printf(out, "%s: fine\n", config->files[i]);
}

/* Warns that another store.url begins a new history. */
static void print_history(const struct config *config, struct buf *out)
{
    struct history_memory memory;
    char url[STORE_PLACE_SIZE], text[STORE_PLACE_SIZE] = "none";
    history_recall(&memory);
    if (!config || !memory.now[0])
        return;
    if (store_place(config->store.url, url, NULL) == 0)
        store_place_text(url, text, sizeof text);
    AUTO_FREE char *whole = realpath(text, NULL);
    if (strcmp(memory.now, whole ? whole : text) != 0)
        buf_printf(out,
                   "store.url: the history is in %s so far; after a restart it goes to %s. Nothing is copied: the old database "
                   "stays, and is used again if store.url is set back.\n",
                   memory.now, text);
    if (strcmp(memory.now, whole ? whole : text) != 0 && strcmp(text, "none") != 0)
        buf_printf(out, "To move the history there, now or later: whirr db copy '%s' '%s'\n", memory.now, text);
}

static int run_check(struct cli *cli)
{
    struct config *config = NULL;
    struct config_problems problems;
    AUTO_BUF struct buf out = BUF(TEXT_MAX);
    int rc = settings_check(cli, &config, &problems);
    if (cli->json) {
        settings_problems_json(config, &problems, &out);
    } else {
        settings_problems_text(&problems, &out);
        print_files(config, &out);
        print_history(config, &out);
    }
    config_free(config);
    int status = show_text(&out);
    return rc < 0 ? EXIT_FAILED : status;
}

static int run_show(struct cli *cli)
{
    struct config *config = NULL;
    int status = settings_load(cli, NULL, 0, &config);
    if (status != EXIT_FINE)
        return status;
    AUTO_BUF struct buf out = BUF(TEXT_MAX);
    bool secrets = options_has(cli->options, "show-secrets");
    if (cli->json)
        config_write_show_json(config, secrets, &out);
    else
        config_write_show(config, secrets, &out);
    config_free(config);
    return show_text(&out);
}

static int run_default(struct cli *cli)
{
    (void)cli;
    AUTO_BUF struct buf out = BUF(TEXT_MAX);
    config_write_default(&out);
    return show_text(&out);
}

static int run_docs(struct cli *cli)
{
    (void)cli;
    AUTO_BUF struct buf out = BUF(TEXT_MAX);
    config_write_docs(&out);
    return show_text(&out);
}

static int run_manual(struct cli *cli)
{
    (void)cli;
    AUTO_BUF struct buf out = BUF(TEXT_MAX);
    config_write_manual(&out, manual_text);
    return show_text(&out);
}

static int config_run(struct cli *cli)
{
    static const struct {
        const char *word;
        int (*run)(struct cli *cli);
    } words[] = {{"check", run_check}, {"show", run_show}, {"default", run_default}, {"docs", run_docs}, {"scdoc", run_manual}};
    static const char *const names[] = {"check", "show", "default"};
    const char *word = cli->options->arguments[0];
    size_t i = NAME_FIND(words, str_from(word));
    return i < ARRAY_LEN(words) ? words[i].run(cli) : cli_unknown(cli, "subcommand", word, names, ARRAY_LEN(names));
}

static const struct option_spec options[] = {
    {.name = "show-secrets", .help = "With `show`: print passwords, tokens and notification addresses, too"},
};

const struct command command_config = {
    .alone = true,
    .exits = "0 fine; 1 check found mistakes; 2 wrong usage, or a configuration that can't be used.",
    .name = "config",
    .group = HELP_SETUP,
    .summary = "Check and show the configuration",
    .details = "Settings come from " PLACE_CONFIG_NAME ", then $XDG_CONFIG_HOME/whirr/whirr.toml (or only the file given with "
               "--config), then environment variables like WHIRR_SERVER_LISTEN, then flags; later ones win. `check` exits with 1 "
               "if something is wrong, and reports file, line, what is allowed and the nearest known key.",
    .arguments = "check|show|default",
    .arguments_min = 1,
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr config check", "is everything right, and if not, where is the mistake?"},
                 {"whirr config show", "every setting, and the file, variable or default it comes from"},
                 {"whirr config default > ~/.config/whirr/whirr.toml", "a commented file to start with"}},
    .lacks = "gpu",
    .run = config_run,
};
