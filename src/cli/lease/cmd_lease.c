/* SPDX-License-Identifier: Apache-2.0
 * whirr lease: lists leases, shows one, ends one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask_lease.h"
#include "base/cleanup.h"
#include "base/os/words.h"
#include "cli/cli_show.h"
#include "cli/control/change.h"
#include "config/config.h"
#include "format/lease_forms.h"
#include "format/table/table.h"
#include "lease/control_request.h"

/* EXIT_FINE, or prints what is wrong. Without a directory there are no leases. */
static int read_list(struct cli *cli, struct lease_list *list)
{
    struct error err = {0};
    int rc = lease_ask_list(cli, list, &err);
    if (rc < 0 && (rc != -ENOENT || cli->host))
        return cli_error(cli, &err);
    return EXIT_FINE;
}

static int list_leases(struct cli *cli)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    int status = read_list(cli, &list);
    if (status != EXIT_FINE)
        return status;
    if (cli->json) {
        json_leases(AS_JSON_LINE(cli, &out), &list, true, NULL);
    } else {
        char service[CONTROL_SOCKET_SIZE];
        control_socket(service);
        table_leases(&out, &cli->page, &list, clock_wall(cli->env.clock));
        if (WORDS_HAVE_SUDO && !cli->host && !cli->ask.source_count && access(service, F_OK) < 0)
            buf_text(&out, "Leases of other users are unknown: the service whirr-control is not running.\n");
    }
    return show_text(&out);
}

/* NULL after printing that it does not exist. */
static struct lease *find_lease(const struct lease_list *list, const char *id)
{
    struct lease *l = lease_list_find(list, id);
    if (!l)
        cli_fail("there is no lease '%s'; `whirr lease` lists them", id);
    return l;
}

static int show_lease(struct cli *cli, const char *id)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    int status = read_list(cli, &list);
    const struct lease *l = status == EXIT_FINE ? find_lease(&list, id) : NULL;
    if (!l)
        return status == EXIT_FINE ? EXIT_FAILED : status;
    if (cli->json)
        lease_json(AS_JSON_LINE(cli, &out), l);
    else
        table_lease(&out, &cli->page, l, clock_wall(cli->env.clock));
    return show_text(&out);
}

/* A program keeps its memory until it ends: ending only the lease would promise its room to another. */
static int end_program(const struct cli *cli, const struct lease *l)
{
    char who[LEASE_WORDS];
    if (!options_has(cli->options, "stop") && l->state == LEASE_ACTIVE)
        return cli_fail("lease %s ends with its program, %s (pid %d); to stop that: whirr lease end %s --stop", l->id,
                        lease_holder_words(l, who), (int)l->pid, l->id);
    if (!lease_process_alive(l))
        return cli_fail("the program of lease %s can't be found; the lease ends on its own", l->id);
    if (kill(l->pid, SIGTERM) < 0)
        return cli_fail("cannot stop process %d: %s", (int)l->pid, strerror(errno));
    return EXIT_FINE;
}

static int end_lease(struct cli *cli, const char *id)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct error err = {0};
    int rc = lease_dir_find(&dir, cli->settings->lease.dir, &err);
    if (rc == 0)
        rc = lease_dir_lock(&dir, LEASE_LOCK_MS, &err);
    if (rc == 0)
        rc = lease_dir_list(&dir, clock_wall(cli->env.clock), &list, &err);
    if (rc < 0 && rc != -ENOENT)
        return cli_fail("%s", err.text);
    const struct lease *l = find_lease(&list, id);
    if (!l)
        return EXIT_FAILED;
    if (options_has(cli->options, "dry-run")) {
        char gpus[LEASE_WORDS];
        return show_would(cli, "end lease %s of %s (%s)", l->id, l->user, lease_gpu_words(l, gpus));
    }
    if (l->kind == LEASE_SETTING) {
        lease_dir_unlock(&dir);
        if (l->simulated)
            cli->env.simulated = SIMULATED_ALL;
        return change_end(cli, id);
    }
    if (l->state != LEASE_ENDED && (l->kind == LEASE_RUN || l->state == LEASE_WAITING))
        return end_program(cli, l);
    rc = lease_dir_remove(&dir, id, &err);
    if (rc == -EPERM || rc == -EACCES)
        return cli_fail("lease %s is that of %s: only they or root can end it", id, l->user);
    if (rc < 0)
        return cli_fail("%s", err.text);
    printf("Lease %s has ended.\n", id);
    return EXIT_FINE;
}

static int lease_run(struct cli *cli)
{
    static const char *const words[] = {"list", "show", "end"};
    const struct options *o = cli->options;
    const char *word = o->argument_count ? o->arguments[0] : "list";
    bool list = strcmp(word, "list") == 0;
    if (!list && strcmp(word, "show") != 0 && strcmp(word, "end") != 0)
        return cli_unknown(cli, "subcommand", word, words, ARRAY_LEN(words));
    if (list != (o->argument_count < 2))
        return cli_usage(cli, list ? "'lease list' takes no id" : "'lease %s' needs the id of a lease", word);
    if (list)
        return list_leases(cli);
    return strcmp(word, "show") == 0 ? show_lease(cli, o->arguments[1]) : end_lease(cli, o->arguments[1]);
}

static const struct option_spec options[] = {
    {.name = "stop", .help = "With `end`: stop the program of the lease (SIGTERM)"},
    {OPTION_DRY_RUN},
};

const struct command command_lease = {
    .name = "lease",
    .group = HELP_ACT,
    .summary = "List leases of GPUs, show one, or end one",
    .details = "A lease is what `whirr run`, `reserve` and `wait --gpu-free` hold, or what `quiet`, `limit`, `clocks` and `fan` "
               "have changed. Waiting ones are listed in the order in which they "
               "will be served. The lease of a program ends with it, however it ends.",
    .exits = "0 fine; 1 there is no such lease, or it can't be ended; 2 wrong usage or configuration.",
    .arguments = "[list|show ID|end ID]",
    .arguments_max = 2,
    OPTIONS(options),
    .examples = {{"whirr lease", "who has which GPU, and who waits"},
                 {"whirr lease end k3f9qa2x", "give back a reservation"},
                 {"whirr lease --json", "the same for programs"}},
    .remote = true,
    .lacks = "gpu",
    .run = lease_run,
};
