/* SPDX-License-Identifier: Apache-2.0
 * whirr run: announces a program that needs the GPU, waits until the workers under guard have made room, runs it.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/answers.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/show.h"

enum { WAIT_DEFAULT_MS = 120000, POLL_MS = 200, SAID_MS = 1000 };

static size_t announce(struct cli *cli, const char *what, json_t **workers)
{
    char path[64], body[64], problem[512];
    size_t asked;
    snprintf(path, sizeof path, "/api/guard/%s", what);
    snprintf(body, sizeof body, "{\"pid\": %d}", (int)getpid());
    json_t *list = guard_ask(cli, "POST", path, body, &asked, problem, sizeof problem);
    if (workers)
        *workers = list;
    else
        json_decref(list);
    return asked;
}

/* Off the GPU, or known not to leave it. */
static bool out_of_the_way(const json_t *worker, bool *stuck)
{
    const char *state = json_string_value(json_object_get(worker, "state"));
    if (json_is_true(json_object_get(worker, "gave_up"))) {
        *stuck = true;
        return true;
    }
    return state && (strcmp(state, "paused") == 0 || strcmp(state, "absent") == 0 || strcmp(state, "reserving") == 0);
}

static void wait_for_room(struct cli *cli, int64_t wait_ms)
{
    struct mono begin = clock_mono(&clock_system);
    char problem[512];
    bool all = false, stuck = false, said = false;
    for (int64_t waited_ms; !all && (waited_ms = mono_since_ms(clock_mono(&clock_system), begin)) < wait_ms;) {
        size_t asked, i;
        json_t *worker, *workers = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
        all = !problem[0];
        if (!all && !said)
            fprintf(stderr, "whirr: %s; asking again\n", problem);
        said |= !all;
        json_array_foreach(workers, i, worker)
        {
            bool out = out_of_the_way(worker, &stuck);
            const char *name = json_string_value(json_object_get(worker, "name"));
            if (!out && !said && waited_ms >= SAID_MS)
                fprintf(stderr, "whirr: waiting until %s is off the GPU\n", name ? name : "the worker");
            said |= !out && waited_ms >= SAID_MS;
            all &= out;
        }
        json_decref(workers);
        if (!all)
            pause_ms(POLL_MS);
    }
    if (!all)
        fprintf(stderr, "whirr: a worker still holds the GPU (`whirr guard status`); starting anyway\n");
    else if (stuck)
        fprintf(stderr, "whirr: a worker could not be taken off the GPU (`whirr guard status`); starting anyway\n");
}

/* Steam's "stop" and a closing session end the program, not only the one that waits for it. */
static volatile sig_atomic_t program;

static void pass_on(int number)
{
    if (program > 0)
        kill(program, number);
}

static int run_program(const char *const *argv)
{
    pid_t pid;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    posix_spawnattr_init(&attributes);
    sigfillset(&defaults);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    /* Held back until it is known to whom they are passed on. */
    sigset_t held, before;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, &before);
    posix_spawnattr_setsigmask(&attributes, &before);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    /* The program has the terminal: what is typed is meant for it, and we only wait. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    int rc = posix_spawnp(&pid, argv[0], NULL, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (rc) {
        cli_fail("cannot start '%s': %s", argv[0], strerror(rc));
        return rc == ENOENT ? 127 : 126;
    }
    program = pid;
    const struct sigaction passing = {.sa_handler = pass_on};
    sigaction(SIGTERM, &passing, NULL);
    sigaction(SIGHUP, &passing, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_command(struct cli *cli)
{
    struct error err = {0};
    int64_t wait_ms = WAIT_DEFAULT_MS;
    if (options_seconds(cli->options, "wait", &wait_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    size_t guards = announce(cli, "announce", NULL);
    wait_for_room(cli, wait_ms); /* also where none has answered: one may be slow, and has heard of it */
    int status = run_program(cli->options->arguments);
    if (guards)
        announce(cli, "unannounce", NULL);
    return status;
}

static const struct option_spec options[] = {
    {.name = "wait", .argument = "SECONDS", .help = "Maximum time to wait for room on the GPU (default: 120)"},
};

const struct command command_run = {
    .exits = "The program's own; 1 it could not be started; 2 wrong usage or configuration.",
    .name = "run",
    .group = HELP_ACT,
    .summary = "Run a program after guarded workers have made room",
    .details = "Announces the need to every guard of this user, waits until their workers are off the GPU, runs the program, and "
               "releases them when it ends. Without a guard it simply runs the program.",
    .arguments = "-- COMMAND...",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr run -- blender -b scene.blend -a", "render with the whole GPU"},
                 {"whirr run -- %command%", "in the launch options of a Steam game"},
                 {"whirr run --wait 10 -- ./benchmark", "wait at most 10 seconds for room"}},
    .run = run_command,
};
