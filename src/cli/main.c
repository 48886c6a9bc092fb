/* SPDX-License-Identifier: Apache-2.0
 * The program's entry: finds the command, parses its options, sets up what all commands share, and runs it.
 */
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/os/console.h"
#include "base/os/words.h"
#include "cli/command.h"
#include "cli/hosts/each_host.h"
#include "insight/facts/words.h"
#include "model/snapshot.h"

enum { WIDTH_UNKNOWN = 80, LARGE_BYTES = 64 * 1024, SPARE_BYTES = 256 * 1024 };

static void setup_allocator(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 2);         /* arenas for a dozen threads would hold more than all of them use */
    mallopt(M_TOP_PAD, SPARE_BYTES); /* or each sample makes them grow and shrink */
    /* A fixed threshold: by default it adapts to the largest freed block, and then calloc() clears recycled memory, which makes
     * large, mostly unused tables resident. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

static void setup_page(struct cli *cli)
{
    const char *no_color = getenv("NO_COLOR"), *columns = getenv("COLUMNS");
    const char *color = options_value(cli->options, "color", "auto");
    bool tty = isatty(STDOUT_FILENO);
    int columns_there = 0, rows = 0;
    int64_t number;
    cli->terminal = console_takes_sequences();
    cli->page.utf8 = console_is_utf8();
    cli->page.verbose = options_has(cli->options, "verbose");
    cli->page.root = !WORDS_HAVE_SUDO || geteuid() == 0;
    cli->page.color = strcmp(color, "always") == 0 || (strcmp(color, "auto") == 0 && cli->terminal && !(no_color && no_color[0]));
    if (options_has(cli->options, "no-color"))
        cli->page.color = false;
    cli->page.width = WIDTH_UNKNOWN;
    if (tty && console_size(&columns_there, &rows) && columns_there > 0)
        cli->page.width = columns_there;
    else if (columns && str_to_i64(str_from(columns), &number) && number >= 20 && number <= 10000)
        cli->page.width = (int)number;
    else
        cli->page.whole = !tty;
}

/* Translates the options for lower layers, which don't know them. */
static int read_options(struct cli *cli)
{
    const struct options *o = cli->options;
    cli->ask = (struct ask_options){
        .direct = options_has(o, "direct"),
        .show_secrets = options_has(o, "show-secrets"),
        .idle = options_has(o, "idle"),
        .config = options_value(o, "config", NULL),
        .socket = options_value(o, "socket", NULL),
        .store = options_value(o, "store", NULL),
        .price = options_value(o, "price", NULL),
        .currency = options_value(o, "currency", NULL),
        .hot = options_value(o, "hot", NULL),
    };
    struct text gpus = TEXT(cli->gpus);
    for (size_t i = 0; i < o->given_count; i++) {
        if (strcmp(o->given[i].spec->name, "gpu") == 0 && !text_append(&gpus, "%s%s", gpus.len ? "," : "", o->given[i].value))
            return cli_usage(cli, "too many GPUs in --gpu");
        if (strcmp(o->given[i].spec->name, "source") != 0)
            continue;
        if (cli->ask.source_count == SOURCES_MAX)
            return cli_usage(cli, "more than %d times '--source'", SOURCES_MAX);
        cli->ask.sources[cli->ask.source_count++] = o->given[i].value;
    }
    cli->ask.gpu = gpus.len ? cli->gpus : NULL;
    if (gpu_names_several(cli->ask.gpu) && !cli->command->gpus)
        return cli_usage(cli, "'%s' takes one GPU with --gpu; status, why, ps and top take several", cli->name);
    return EXIT_FINE;
}

static int setup_world(struct cli *cli)
{
    enum log_level level = LOG_ERROR;
    enum log_format format = LOG_FORMAT_TEXT;
    struct stat info;
    static const char *const levels[] = {[LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARNING] = "warning"};
    size_t named = NAME_FIND(levels, str_from(options_value(cli->options, "log", "")));
    if (named < ARRAY_LEN(levels))
        level = (enum log_level)named;
    log_format_from_name(options_value(cli->options, "log-format", "text"), &format);
    log_setup(level, format, stderr);
    env_init_system(&cli->env);
    cli->env.sysroot = options_value(cli->options, "sysroot", "");
    if (cli->env.sysroot[0] && (stat(cli->env.sysroot, &info) < 0 || !S_ISDIR(info.st_mode)))
        return cli_fail("cannot use '%s' as --sysroot: %s", cli->env.sysroot, strerror(errno ? errno : ENOTDIR));
    return EXIT_FINE;
}

static int show_help(const struct cli *cli, const struct command *command)
{
    AUTO_BUF struct buf out = BUF(65536);
    if (command)
        help_command(&out, &cli->page, command, options_has(cli->options, "verbose"));
    else
        help_overview(&out, &cli->page);
    return show_text(&out);
}

static int run_command_line(struct cli *cli, bool named)
{
    if (options_has(cli->options, "help"))
        return show_help(cli, named ? cli->command : NULL);
    if (options_has(cli->options, "version")) {
        printf("whirr %s\n", WHIRR_VERSION);
        return EXIT_FINE;
    }
    const struct command *command = cli->command;
    if (cli->options->argument_count < command->arguments_min)
        return cli_usage(cli, "'%s' needs %s", cli->name, command->arguments);
    if (cli->options->argument_count > command->arguments_max)
        return cli_usage(cli, "'%s' does not take '%s'", cli->name, cli->options->arguments[command->arguments_max]);
    for (size_t i = 0; i < cli->options->given_count; i++)
        if (command_lacks(command, cli->options->given[i].spec->name))
            return cli_usage(cli, "'%s' does not take --%s", cli->name, cli->options->given[i].spec->name);
    int status = read_options(cli);
    if (status == EXIT_FINE)
        status = setup_world(cli);
    if (status == EXIT_FINE && !command->alone)
        status = settings_open(cli);
    struct error err = {0};
    if (status == EXIT_FINE && cli->settings && !command->any_socket && !options_has(cli->options, "asked-host") &&
        ask_check_socket(cli, &err) < 0)
        status = cli_fail("%s", err.text);
    if (status != EXIT_FINE)
        status = command->failure_status ? command->failure_status : status;
    else
        status = options_has(cli->options, "asked-host") ? run_elsewhere(cli) : command->run(cli);
    config_free(TAKE(cli->settings));
    return status;
}

/* whirr loads driver libraries and runs driver programs of the host: it can't vouch for what they do with privileges that the
 * caller lacks. */
static int refuse_gained(const char *by)
{
    bool file = strcmp(by, "file capabilities") == 0;
    return cli_fail("refusing to run with privileges from %s: every user of this host could use them\n"
                    "Take them away (sudo %s /path/to/whirr) and run the system service instead: sudo whirr setup --service system",
                    by, file ? "setcap -r" : "chmod ug-s");
}

/* --host is the host to ask. After commands that take --of, a mere name was a host of the history before 0.3, and still is. */
static void read_old_host(struct cli *cli)
{
    const struct command *c = cli->command;
    size_t of = 0;
    while (of < c->option_count && strcmp(c->options[of].name, "of") != 0)
        of++;
    bool past = strcmp(c->name, "why") != 0 || options_has(cli->options, "at") || options_has(cli->options, "since");
    for (size_t i = 0; i < cli->options->given_count && of < c->option_count && past; i++) {
        const struct option_spec **spec = &cli->options->given[i].spec;
        const char *value = cli->options->given[i].value;
        bool behind = strcmp((*spec)->name, "host") == 0 && *spec != host_option.specs;
        if (behind && !strpbrk(value, ":/@") && value[strspn(value, "0123456789.")])
            *spec = &c->options[of];
    }
}

int main(int argc, char **argv)
{
    static struct options options;
    static struct cli cli = {
        .options = &options}; /* static: a thread that hangs in a driver stays behind and uses its environment until the end */
    static char name[64];
    struct error err = {0};
    const char *gained = env_gained();
    if (gained)
        return refuse_gained(gained);
    setup_allocator();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as EPIPE */
    int word = 1 + (int)command_word((const char *const *)argv + 1, (size_t)argc - 1);
    bool named = word < argc;
    cli.command = command_find(named ? argv[word] : COMMAND_UNNAMED);
    cli.name = cli.command ? cli.command->name : NULL;
    if (cli.command && named) {
        const char *inner = NULL;
        int count = argc - word;
        cli.command = command_inner(cli.command, (const char **)argv + word, &count, &inner);
        argc = word + count;
        if (inner)
            snprintf(name, sizeof name, "%s %s", cli.name, inner);
        if (inner)
            cli.name = name;
    }
    if (!cli.command) { /* or the word is the value of an unknown option */
        struct option_table known[] = {
            host_option, {command_find(COMMAND_UNNAMED)->options, command_find(COMMAND_UNNAMED)->option_count}, global_options};
        return options_parse(cli.options, known, ARRAY_LEN(known), word, argv, &err) < 0 ? cli_usage(NULL, "%s", err.text)
                                                                                         : command_unknown(argv[word]);
    }
    cli.failure_status = cli.command->failure_status;
    struct option_table tables[] = {host_option, {cli.command->options, cli.command->option_count}, global_options};
    int result = options_parse(cli.options, tables, ARRAY_LEN(tables), word, argv, &err);
    if (result == 0 && named) {
        argv[word] = argv[0];
        result = options_parse(cli.options, tables + 1, ARRAY_LEN(tables) - 1, argc - word, argv + word, &err);
    }
    if (result < 0)
        return cli_usage(named ? &cli : NULL, "%s", err.text);
    read_old_host(&cli);
    cli.json = options_has(cli.options, "json");
    setup_page(&cli);
    return run_command_line(&cli, named);
}
