/* SPDX-License-Identifier: Apache-2.0
 * whirr run: takes a lease on GPUs if requested, announces a program that needs the GPU, waits until guarded workers have made
 * room, runs it, and gives everything back.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/answers.h"
#include "ask/ask_lease.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/program.h"
#include "base/secret/mask.h"
#include "cli/cli_show.h"
#include "cli/lease/lease_options.h"
#include "config/config.h"
#include "lease/lease_use.h"

enum { WAIT_DEFAULT_MS = 120000, POLL_MS = 200, SAID_MS = 1000 };

/* ---- workers under guard ---- */

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

/* ---- the program ---- */

/* Steam's "stop" and a closing session must end the program, not only the process that waits for it. */
static volatile sig_atomic_t program;

static void pass_on(int number)
{
    if (program > 0)
        kill(program, number);
}

static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* Signals that the caller ignores stay ignored (nohup). */
static void handle(int number, void (*how)(int))
{
    struct sigaction old;
    const struct sigaction now = {.sa_handler = how};
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &now, NULL);
}

/* The exit status of a shell for such a program. */
static int cannot_start(const char *name, int rc)
{
    cli_fail("cannot start '%s': %s", name, strerror(-rc));
    return rc == -ENOENT ? 127 : 126;
}

/* Lets the program start, and waits until it ends. */
static int run_program(struct held_program *p, const char *name)
{
    program = p->pid;
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
        handle(passed_on[i], pass_on);
    /* The program owns the terminal: keyboard signals are meant for it. */
    handle(SIGINT, SIG_IGN);
    handle(SIGQUIT, SIG_IGN);
    int rc = held_program_begin(p);
    if (rc < 0)
        cannot_start(name, rc);
    return held_program_wait(p);
}

/* Announces the program to every guard of this user. */
static int run_announced(struct cli *cli, struct held_program *p, const char *name, int64_t wait_ms)
{
    size_t guards = announce(cli, "announce", NULL);
    wait_for_room(cli, wait_ms); /* even if no guard answered: a slow one may have received it */
    int status = run_program(p, name);
    if (guards)
        announce(cli, "unannounce", NULL);
    return status;
}

/* Drops a program that never began. */
static int give_up(struct held_program *p, const char *why)
{
    if (p->pid > 0)
        held_program_drop(p);
    return cli_fail("%s", why);
}

/* ---- the lease ---- */

int lease_options_read(struct cli *cli, struct lease_taker *t)
{
    const char *gpus = options_value(cli->options, "gpus", "1"), *vram = options_value(cli->options, "vram", NULL);
    int64_t count;
    if (!str_to_i64(str_from(gpus), &count) || count < 1 || count > LEASE_GPUS_MAX)
        return cli_usage(cli, "invalid value '%s' for --gpus; expected a number from 1 to %d", gpus, LEASE_GPUS_MAX);
    int status = vram ? cli_size(cli, "vram", vram, &t->wish.mem_bytes) : EXIT_FINE;
    if (status != EXIT_FINE)
        return status;
    t->wish.gpus_wanted = (int)count;
    t->wish.exclusive = !vram || options_has(cli->options, "exclusive");
    str_copy_clean(t->wish.note, sizeof t->wish.note, str_from(options_value(cli->options, "note", "")));
    return options_duration(cli, "timeout", &t->timeout_ms);
}

/* Whether the options request GPUs at all. */
static bool asks_for_gpus(const struct cli *cli)
{
    static const char *const names[] = {"gpus", "vram", "exclusive", "gpu"};
    bool given = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        given |= options_has(cli->options, names[i]);
    return given;
}

/* A program inside another lease has nothing more to take. */
static bool has_lease_already(struct cli *cli)
{
    const char *id = env_variable("WHIRR_LEASE");
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct error err;
    if (!id || lease_dir_find(&dir, cli->settings->lease.dir, &err) < 0 ||
        lease_dir_list(&dir, clock_wall(cli->env.clock), &list, &err) < 0)
        return false;
    const struct lease *l = lease_list_find(&list, id);
    return l && l->state == LEASE_ACTIVE && l->uid == (int64_t)geteuid();
}

static void set_variables(const struct lease_taker *t)
{
    AUTO_BUF struct buf text = BUF(16384);
    if (!lease_environment(t, &text))
        fprintf(stderr, "whirr: no variable limits a program to these GPUs; it got %s\n",
                lease_gpu_words(&t->wish, (char[LEASE_WORDS]){0}));
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        struct str name, value = line;
        char key[64];
        if (!str_cut(&value, '=', &name) || !name.len)
            continue;
        str_copy(key, sizeof key, name);
        char *copy = strndup(value.at, value.len);
        if (copy)
            setenv(key, copy, 1);
        free(copy);
    }
    setenv("WHIRR_LEASE", t->wish.id, 1);
}

/* Writes the lease with the program's PID. -EPIPE: whirr-control was started again meanwhile. */
static int write_once(struct lease_taker *t, struct held_program *p, const char *const *argv, struct error *err)
{
    int fd = -1, rc = lease_dir_begin(&t->dir, t->wish.id, &fd, err);
    if (rc < 0)
        return rc;
    rc = held_program_make(p, argv, fd);
    if (rc < 0)
        error_set(err, rc, "cannot start '%s': %s", argv[0], strerror(-rc));
    t->wish.pid = p->pid;
    t->wish.start_key = rc == 0 ? lease_process_start(p->pid) : 0;
    if (rc == 0)
        rc = lease_dir_commit(&t->dir, &t->wish, fd, err);
    if (rc < 0) {
        lease_dir_cancel(&t->dir, t->wish.id, fd);
        return rc;
    }
    lease_taker_leave_queue(t);
    t->fd = fd;
    return 0;
}

static int write_lease(struct lease_taker *t, struct held_program *p, const char *const *argv, struct error *err)
{
    int rc;
    while ((rc = write_once(t, p, argv, err)) == -EPIPE)
        if (p->pid > 0)
            held_program_drop(p);
    lease_dir_unlock(&t->dir);
    return rc;
}

static int take_once(struct lease_taker *t, struct held_program *p, const char *const *argv, struct error *err)
{
    bool dry = options_has(t->cli->options, "dry-run");
    if (dry)
        t->timeout_ms = 0;
    int rc = lease_take(t, err);
    if (rc < 0)
        return rc;
    if (dry) {
        lease_dir_unlock(&t->dir);
        return 0;
    }
    set_variables(t);
    lease_taker_handle_signals(t, false);
    rc = write_lease(t, p, argv, err);
    lease_taker_tell(t, rc < 0 ? EVENT_FAILED : EVENT_DONE);
    if (rc == -EAGAIN && t->timeout_ms)
        return -ESTALE;
    if (rc == 0)
        fprintf(stderr, "%swhirr: running on %s\n", t->simulated ? "SIMULATED\n" : "",
                lease_gpu_words(&t->wish, (char[LEASE_WORDS]){0}));
    return rc;
}

/* A whirr-control that was killed after it had granted room forgets the grant: then the wait begins anew. */
static int take_lease(struct lease_taker *t, struct held_program *p, const char *const *argv, struct error *err)
{
    const struct lease asked = t->wish;
    struct mono begin = clock_mono(&clock_system);
    int64_t within_ms = t->timeout_ms;
    int rc;
    while ((rc = take_once(t, p, argv, err)) == -ESTALE) {
        if (p->pid > 0)
            held_program_drop(p);
        lease_taker_done(t);
        t->stage = STAGE_NONE;
        t->wish = asked;
        if (within_ms > 0)
            t->timeout_ms = MAX_OF(within_ms - mono_since_ms(clock_mono(&clock_system), begin), (int64_t)1);
    }
    return rc;
}

/* Before it runs a single instruction: what it starts is in its group, too. */
static int enforce(const struct lease_taker *t, const struct held_program *p, struct vram_cap *cap, struct error *err)
{
    const char *addresses[LEASE_GPUS_MAX];
    if (!options_has(t->cli->options, "enforce"))
        return 0;
    for (size_t i = 0; i < t->answer.count; i++) {
        const struct capacity_gpu *gpu = &t->capacity->gpus[t->answer.gpus[i]];
        if (gpu->instance >= 0)
            return error_set(err, -ENOTSUP, "--enforce: GPU %d is divided, and its hardware limits each part already", gpu->index);
        addresses[i] = gpu->id.pci_address;
    }
    return vram_cap_set(&t->cli->env, addresses, t->answer.count, t->wish.mem_bytes, p->pid, cap, err);
}

static int run_with_lease(struct cli *cli, const char *const *argv, int64_t wait_ms)
{
    struct lease_taker t;
    struct held_program p = {.pid = -1};
    struct vram_cap cap = {0};
    struct error err = {0};
    struct str words[ARGUMENTS_MAX];
    size_t count = 0;
    int status = EXIT_FINE;
    int rc = lease_taker_init(&t, cli, LEASE_RUN, &err);
    if (rc == 0 && (status = lease_options_read(cli, &t)) == EXIT_FINE)
        status = options_duration(cli, "for", &t.plan_ms);
    for (; argv[count]; count++)
        words[count] = str_from(argv[count]);
    mask_arguments(words, count, t.wish.command, sizeof t.wish.command);
    if (rc == 0 && status == EXIT_FINE)
        rc = take_lease(&t, &p, argv, &err);
    if (rc == 0 && status == EXIT_FINE && !options_has(cli->options, "dry-run"))
        rc = enforce(&t, &p, &cap, &err);
    if (options_has(cli->options, "dry-run") && status == EXIT_FINE && (rc == 0 || rc == -EAGAIN)) {
        char gpus[LEASE_WORDS];
        status = rc < 0 ? show_would(cli, "wait: %s", err.text)
                        : show_would(cli, "run %s on %s", t.wish.command, lease_gpu_words(&t.wish, gpus));
    } else if (rc < 0)
        status = give_up(&p, err.text);
    else if (status == EXIT_FINE)
        status = run_announced(cli, &p, argv[0], wait_ms);
    vram_cap_done(&cap);
    lease_taker_tell(&t, EVENT_END);
    lease_taker_done(&t);
    return status;
}

static int run_command(struct cli *cli)
{
    const char *const *argv = cli->options->arguments;
    struct error err = {0};
    struct held_program p = {.pid = -1};
    int64_t wait_ms = WAIT_DEFAULT_MS;
    if (options_seconds(cli->options, "wait", &wait_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (options_has(cli->options, "enforce") && !options_has(cli->options, "vram"))
        return cli_usage(cli, "--enforce needs --vram SIZE: the memory to which the kernel holds the program");
    if (options_has(cli->options, "enforce") && vram_cap_possible(&cli->env, &err) < 0)
        return cli_fail("%s", err.text);
    if (asks_for_gpus(cli) && !has_lease_already(cli))
        return run_with_lease(cli, argv, wait_ms);
    if (options_has(cli->options, "dry-run"))
        return show_would(cli, "let guards make room, and run '%s'", argv[0]);
    int rc = held_program_make(&p, argv, -1);
    return rc < 0 ? cannot_start(argv[0], rc) : run_announced(cli, &p, argv[0], wait_ms);
}

static const struct option_spec options[] = {
    {.name = "gpus", .argument = "N", .help = "Take a lease on N GPUs (with --vram or --exclusive: 1; else none)"},
    {OPTION_VRAM},
    {.name = "enforce",
     .help = "With --vram: let the kernel hold the program to it (Linux 6.14, drivers that take part), or refuse"},
    {.name = "exclusive", .help = "With --vram: GPUs with that much memory, shared with no other lease"},
    {.name = "for",
     .argument = "DURATION",
     .help = "How long it will run at most, so that it can start before a reservation begins"},
    {OPTION_NOTE},
    {OPTION_TIMEOUT},
    {OPTION_DRY_RUN},
    {.name = "wait", .argument = "SECONDS", .help = "Maximum time to wait for guarded workers to make room (default: 120)"},
};

const struct command command_run = {
    .exits =
        "The program's own, 128 and the number of the signal that ended it; 1 it could not be started, or no room was found; 2 "
        "wrong usage or configuration; 126, 127 the program can't be run or is not there.",
    .name = "run",
    .group = HELP_ACT,
    .summary = "Run a program on GPUs of its own, after guarded workers have made room",
    .details =
        "With --gpus, --vram, --exclusive or --gpu it takes a lease: it waits in a fair queue until there is room, sets the "
        "variables that limit the program to its GPUs (CUDA_VISIBLE_DEVICES, ROCR_ and HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK; an "
        "empty list hides other vendors' GPUs, where it does), and gives them back when it ends. GPUs that these variables hide "
        "already are not taken. Then, and also without a lease, it "
        "announces the need to every guard of this user, waits until their workers are off the GPU, runs the program, and releases "
        "them when it ends. A program that is not started with `whirr run` is not kept off a GPU: see `whirr lease`. With "
        "--enforce, "
        "the program and what it starts get no more memory of the GPU than --vram says; where kernel, driver or rights don't allow "
        "that, it is not started.",
    .arguments = "-- COMMAND...",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr run --gpus 1 --vram 20GiB -- python train.py", "wait for 20 GiB on a GPU, then train there"},
                 {"whirr run --gpus 4 -- torchrun train.py", "four GPUs that no one else has"},
                 {"whirr run -- %command%", "in the launch options of a Steam game: guarded workers make room"}},
    .lacks = "json",
    .run = run_command,
};
