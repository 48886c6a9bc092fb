/* SPDX-License-Identifier: Apache-2.0
 * whirr watch: runs a program, and reports at its end how it used the GPUs.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/program.h"
#include "cli/cli_show.h"
#include "cli/watch/watch.h"
#include "config/config.h"

enum { INTERVAL_MS = 1000, FIRST_MS = 200, CANNOT_RUN = 126, NOT_FOUND = 127 };

/* ---- sampling ---- */

/* A thread samples where the program spends its CPU time, so that its end is noticed at once. */
struct cpu_sampler {
    pthread_t thread;
    bool running, known;
    _Atomic bool done;
    struct mono began;
    const struct env *env;
    int32_t pid;
    struct address_samples found;
};

struct looker {
    struct cli *cli;
    struct session *session; /* NULL: sampling is not possible */
    struct watched *w;
    struct process_tree tree;
    struct cpu_sampler sampler;
};

static void *take_cpu_samples(void *user)
{
    enum { SAMPLE_MS = 500 };
    struct cpu_sampler *c = user;
    address_samples_take(c->env, c->pid, SAMPLE_MS, true, &c->found);
    c->done = true;
    return NULL;
}

/* Takes the result, unless it is worse than the previous one. */
static void end_cpu_samples(struct looker *l)
{
    struct cpu_sampler *c = &l->sampler;
    if (!c->running)
        return;
    pthread_join(c->thread, NULL);
    c->running = false;
    if (c->found.state == READING_OK || !c->known)
        address_samples_words(&c->found, l->w->cpu_time);
    c->known |= c->found.state == READING_OK;
}

/* A process of the program that is limited by its host side; 0: none. */
static int32_t limited_by_host(const struct looker *l, const struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            if (!s->gpus[g].simulated && limit_side(p->limit.code) == LIMIT_SIDE_HOST && tree_has(&l->tree, p->pid))
                return p->pid;
        }
    return 0;
}

static void sample_cpu(struct looker *l, const struct snapshot *s)
{
    enum { AGAIN_MS = 60000 };
    struct cpu_sampler *c = &l->sampler;
    struct mono now = clock_mono(&clock_system);
    if (c->running && c->done)
        end_cpu_samples(l);
    if (c->running || (c->began.ns && mono_since_ms(now, c->began) < AGAIN_MS))
        return;
    if (!(c->pid = limited_by_host(l, s)))
        return;
    c->env = &l->cli->env;
    c->began = now;
    c->done = false;
    c->running = pthread_create(&c->thread, NULL, take_cpu_samples, c) == 0;
}

/* Skips a sample that fails: the program continues. */
static void watch_look(struct looker *l)
{
    struct error err = {0};
    struct tree_use use;
    if (!l->session)
        return;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(l->session, GROUP_ALL, &err);
    tree_look(&l->tree, &l->cli->env, &use);
    if (!s)
        return;
    usage_see(&l->w->usage, s, clock_mono(&clock_system), &l->tree, &use);
    sample_cpu(l, s);
}

/* Samples before the program starts. -EINVAL: wrong usage. */
static int watch_begin(struct looker *l, struct error *err)
{
    struct error why = {0};
    int only = ALL_GPUS;
    l->session = session_open(l->cli, &why);
    if (l->session)
        session_set_max_age(l->session, 0);
    AUTO_SNAPSHOT const struct snapshot *s = l->session ? session_sample(l->session, GROUP_ALL, &why) : NULL;
    if (s && session_only(l->session, s, &only, err) < 0)
        return -EINVAL;
    if (s && usage_init(&l->w->usage, s, clock_mono(&clock_system), only == ALL_GPUS ? -1 : only) == 0)
        return tree_init(&l->tree, getpid());
    l->w->blind = true;
    str_copy(l->w->problem, sizeof l->w->problem, str_from(why.text[0] ? why.text : "out of memory"));
    session_close(TAKE(l->session));
    return 0;
}

static void follow(struct looker *l, struct program *p)
{
    struct mono began = clock_mono(&clock_system), next = began;
    int64_t step_ms = MIN_OF(l->w->interval_ms, FIRST_MS); /* begin fast, to catch a short program */
    if (l->session)
        tree_look(&l->tree, &l->cli->env, &(struct tree_use){0});
    watch_lines_begin(&l->w->lines, &l->cli->env, p->pid);
    while (!program_has_ended(p)) {
        next.ns += step_ms * NS_PER_MS;
        int64_t left_ms = mono_since_ms(next, clock_mono(&clock_system));
        if (left_ms > 0) {
            program_wait(p, left_ms);
            if (program_has_ended(p))
                break;
            if (mono_since_ms(next, clock_mono(&clock_system)) > 0) {
                next.ns -= step_ms * NS_PER_MS; /* woken early */
                continue;
            }
        } else {
            next = clock_mono(&clock_system); /* sampling is slower than this interval */
        }
        watch_look(l);
        step_ms = MIN_OF(2 * step_ms, l->w->interval_ms);
    }
    struct mono ended = clock_mono(&clock_system);
    struct error err = {0};
    l->w->status = p->status;
    end_cpu_samples(l);
    watch_lines_end(&l->w->lines);
    AUTO_SNAPSHOT const struct snapshot *s = l->session ? session_sample(l->session, GROUP_ALL, &err) : NULL;
    if (l->session)
        usage_end(&l->w->usage, s, ended);
    l->w->seconds = (double)(ended.ns - began.ns) / 1e9;
}

/* ---- the end ---- */

int watch_write(struct cli *cli, const struct buf *report, FILE *otherwise)
{
    const char *file = options_value(cli->options, "output", NULL);
    FILE *to = file ? fopen(file, "we") : otherwise;
    if (!to)
        return cli_fail("cannot write '%s': %s", file, strerror(errno));
    bool fine = !report->failed && fwrite(report->at, 1, report->len, to) == report->len;
    if (file)
        fine = fclose(to) == 0 && fine;
    return fine ? EXIT_FINE : cli_fail("cannot write the report: %s", strerror(errno));
}

static void write_report(struct cli *cli, struct watched *w)
{
    AUTO_BUF struct buf out = BUF(16 << 20);
    const char *folded = options_value(cli->options, "folded", NULL);
    struct page page = cli->page;
    page.color = page.color && isatty(STDERR_FILENO);
    if (cli->json)
        watch_json(&out, w);
    else
        watch_text(&out, &page, w);
    if (!cli->json && options_has(cli->options, "lines"))
        watch_lines_tree(&out, &page, &w->lines);
    watch_write(cli, &out, stderr);
    if (folded)
        watch_lines_folded(&w->lines, folded);
}

/* 0, or the exit status if it could not be started. */
static int start(struct program *p, const char *const *argv)
{
    int rc = program_start(p, argv);
    if (rc == 0)
        return 0;
    cli_fail("cannot start '%s': %s", argv[0], strerror(-rc));
    return rc == -ENOENT ? NOT_FOUND : CANNOT_RUN;
}

static int watch_run(struct cli *cli)
{
    static struct watched w;
    struct error err = {0};
    struct looker l = {.cli = cli, .w = &w};
    struct program program = {0};
    w = (struct watched){.argv = cli->options->arguments,
                         .argc = cli->options->argument_count,
                         .interval_ms = INTERVAL_MS,
                         .price_per_kwh = cli->settings->energy.price_per_kwh,
                         .currency = cli->settings->energy.currency,
                         .lines.wanted = options_has(cli->options, "lines")};
    const char *pid = options_value(cli->options, "pid", NULL);
    if (options_seconds(cli->options, "interval", &w.interval_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (options_has(cli->options, "queues"))
        return pid || w.argc ? cli_usage(cli, "--queues covers all programs on the GPUs: it only takes --for") : watch_queues(cli);
    if (pid && w.argc)
        return cli_usage(cli, "--pid watches a running program: it can't be combined with a command");
    if (pid)
        return watch_running(cli, pid);
    if (!w.argc)
        return cli_usage(cli, "missing COMMAND, or --pid PID of a running program");
    if (options_has(cli->options, "for"))
        return cli_usage(cli, "--for goes with --pid and --queues; a command is watched until it ends");
    int result = watch_begin(&l, &err);
    if (result < 0)
        return result == -EINVAL ? cli_usage(cli, "%s", err.text) : cli_fail("out of memory");
    w.started_at = clock_wall(cli->env.clock);
    int status = start(&program, w.argv);
    if (status == 0) {
        follow(&l, &program);
        w.cpu_s = MAX_OF(program_cpu_seconds(&program), 0.0);
        write_report(cli, &w);
        status = -1;
    }
    session_close(l.session);
    tree_done(&l.tree);
    watch_lines_done(&w.lines);
    if (!w.blind)
        usage_done(&w.usage);
    if (status >= 0)
        return status;
    status = program_end_like(&program);
    program_close(&program);
    return status;
}

static const struct option_spec options[] = {
    {.name = "interval", .argument = "SECONDS", .help = "Sample every SECONDS (default: 1)"},
    OPTION_OUTPUT("Write the report to FILE instead of stderr"),
    {.name = "pid", .argument = "PID", .help = "Show in which lines a running Python program spends its time"},
    {.name = "for", .argument = "DURATION", .help = "With --pid or --queues: for how long (default: 10s, 2s)"},
    {.name = "queues", .help = "Trace who waits for whom in the kernel's queues of GPU jobs, as root"},
    {.name = "lines", .help = "List its calls as a tree, each with its share of the time"},
    {.name = "folded",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write its stacks to FILE, for flamegraph.pl or speedscope"},
};

const struct command command_watch = {
    .exits = "The program's own, also by a signal; 126 it can't be run; 127 it was not found; 2 wrong usage or configuration.",
    .name = "watch",
    .group = HELP_EXPLAIN,
    .summary = "Run a program; report VRAM, energy, phases and what limited it",
    .details =
        "Like time(1), for GPUs. The program keeps the terminal, stdin, stdout and stderr; the report goes to stderr when it "
        "ends, or to the file of --output. Its children are counted, also those that leave it. Phases are starting, loading, "
        "computing, saving, waiting, and ending; limits are compute, memory bandwidth, PCIe, the host's CPU, disk, power, "
        "heat, and other programs on the GPU. Asks a running daemon, or samples directly.\n\nOf a Python program (CPython 3.8 to "
        "3.15) it says in which lines it and its children spend their time, 20 samples a second. With --pid it samples a running "
        "program for 10 seconds or --for, 100 times a second, without stopping it. That takes the same "
        "user and kernel.yama.ptrace_scope 0, or root.\n\nWith --queues it traces the kernel's scheduler of GPU jobs for "
        "2 seconds or --for: which threads' jobs waited for those of others. Drivers that don't use it show nothing.",
    .arguments = "-- COMMAND...",
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr watch -- python3 train.py", "what it used, and what limited it"},
                 {"whirr watch --json -o run.json -- ./benchmark", "the same as data"},
                 {"whirr watch --pid 4242 --for 10s --lines", "in which lines a Python program spends its time"}},
    .run = watch_run,
};
