/* SPDX-License-Identifier: Apache-2.0
 * whirr watch: runs a program, and says at its end what it did with the GPUs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/show.h"
#include "cli/watch/watch.h"
#include "config/config.h"

enum { INTERVAL_MS = 1000, FIRST_MS = 200, CANNOT_RUN = 126, NOT_FOUND = 127 };

/* A closing session ends the program, not only the one that waits for it. */
static volatile sig_atomic_t program, early; /* early: a signal that came before there was a program to pass it to */

static void pass_on(int number)
{
    if (program > 0)
        kill(program, number);
    else
        early = number;
}

/* ---- the program ---- */

/* What is typed is meant for the program; what is sent to us is passed on. Set before it starts, for all threads: a ^C may come
 * with its first line. In `defaults` what the program itself must not ignore because of us. */
static void take_signals(sigset_t *defaults)
{
    const struct sigaction passing = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigemptyset(defaults);
    sigaddset(defaults, SIGPIPE);
    if (signal(SIGINT, SIG_IGN) != SIG_IGN)
        sigaddset(defaults, SIGINT);
    if (signal(SIGQUIT, SIG_IGN) != SIG_IGN)
        sigaddset(defaults, SIGQUIT);
    sigaction(SIGTERM, &passing, NULL);
    sigaction(SIGHUP, &passing, NULL);
}

/* Its exit status when it could not be started, else 0. It keeps the terminal, its files and its place in the process group. */
static int watch_start(const char *const *argv, pid_t *ret)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    take_signals(&defaults);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(ret, argv[0], NULL, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (rc == 0) {
        program = *ret;
        if (early)
            kill(program, early);
        return 0;
    }
    cli_fail("cannot start '%s': %s", argv[0], strerror(rc));
    return rc == ENOENT ? NOT_FOUND : CANNOT_RUN;
}

/* True: it has ended. Children that it left behind come to us; they are only cleared away. */
static bool has_ended(pid_t pid, int *status)
{
    int other;
    if (waitpid(pid, status, WNOHANG) == pid)
        return true;
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid && info.si_pid != pid) {
        waitpid(info.si_pid, &other, 0);
        info = (siginfo_t){0};
    }
    return false;
}

/* Until it ends, or for so long. */
static void wait_for_end(int pidfd, int64_t ms)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    if (pidfd < 0)
        pause_ms(MIN_OF(ms, 50)); /* a kernel without pidfds */
    else
        poll(&p, 1, (int)ms);
}

/* ---- looking ---- */

/* Samples of where the program spends its CPU time are taken beside the looks: its end is noticed at once. */
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
    struct session *session; /* NULL: nothing can be sampled */
    struct watched *w;
    struct process_tree tree;
    struct cpu_sampler sampler;
};

static void *take_cpu_samples(void *user)
{
    enum { SAMPLE_MS = 500 };
    struct cpu_sampler *c = user;
    address_samples_take(c->env, c->pid, SAMPLE_MS, &c->found);
    c->done = true;
    return NULL;
}

/* What came of it, unless less is known than before. */
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

/* The process of the program that its own side limits; 0: there is none. */
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

/* A sample that fails is left out: the program goes on. */
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

/* The first look, before the program is there. -EINVAL: wrong usage. */
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

static void follow(struct looker *l, pid_t pid)
{
    AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct mono began = clock_mono(&clock_system), next = began;
    int64_t step_ms = MIN_OF(l->w->interval_ms, FIRST_MS); /* a short program is seen, too */
    if (l->session)
        tree_look(&l->tree, &l->cli->env, &(struct tree_use){0});
    while (!has_ended(pid, &l->w->status)) {
        next.ns += step_ms * NS_PER_MS;
        int64_t left_ms = mono_since_ms(next, clock_mono(&clock_system));
        if (left_ms > 0) {
            wait_for_end(pidfd, left_ms);
            if (has_ended(pid, &l->w->status))
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
    end_cpu_samples(l);
    AUTO_SNAPSHOT const struct snapshot *s = l->session ? session_sample(l->session, GROUP_ALL, &err) : NULL;
    if (l->session)
        usage_end(&l->w->usage, s, ended);
    l->w->seconds = (double)(ended.ns - began.ns) / 1e9;
}

/* ---- the end ---- */

static int write_report(struct cli *cli, const struct watched *w)
{
    AUTO_BUF struct buf out = BUF(4 << 20);
    const char *file = options_value(cli->options, "output", NULL);
    struct page page = cli->page;
    page.color = page.color && isatty(STDERR_FILENO);
    if (cli->json)
        watch_json(&out, w);
    else
        watch_text(&out, &page, w);
    FILE *to = file ? fopen(file, "we") : stderr;
    if (!to)
        return cli_fail("cannot write '%s': %s", file, strerror(errno));
    bool fine = !out.failed && fwrite(out.at, 1, out.len, to) == out.len;
    if (file)
        fine = fclose(to) == 0 && fine;
    return fine ? EXIT_FINE : cli_fail("cannot write the report: %s", strerror(errno));
}

/* The same end as the program's: also by a signal, so that a shell sees it. */
static int end_like_it(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    const struct rlimit none = {0};
    fflush(NULL);
    setrlimit(RLIMIT_CORE, &none); /* its own core file is the one that counts */
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number;
}

static int watch_run(struct cli *cli)
{
    static struct watched w;
    struct error err = {0};
    struct looker l = {.cli = cli, .w = &w};
    struct rusage spent;
    pid_t pid = -1;
    w = (struct watched){.argv = cli->options->arguments,
                         .argc = cli->options->argument_count,
                         .interval_ms = INTERVAL_MS,
                         .price_per_kwh = cli->settings->energy.price_per_kwh,
                         .currency = cli->settings->energy.currency};
    if (options_seconds(cli->options, "interval", &w.interval_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* children that it leaves behind are counted, too */
    int result = watch_begin(&l, &err);
    if (result < 0)
        return result == -EINVAL ? cli_usage(cli, "%s", err.text) : cli_fail("out of memory");
    w.started_at = clock_wall(cli->env.clock);
    int status = watch_start(w.argv, &pid);
    if (status == 0) {
        follow(&l, pid);
        if (getrusage(RUSAGE_CHILDREN, &spent) == 0)
            w.cpu_s = (double)(spent.ru_utime.tv_sec + spent.ru_stime.tv_sec) +
                      (double)(spent.ru_utime.tv_usec + spent.ru_stime.tv_usec) / 1e6;
        write_report(cli, &w);
        status = -1;
    }
    session_close(l.session);
    tree_done(&l.tree);
    if (!w.blind)
        usage_done(&w.usage);
    return status < 0 ? end_like_it(w.status) : status;
}

static const struct option_spec options[] = {
    {.name = "interval", .argument = "SECONDS", .help = "Sample every SECONDS (default: 1)"},
    OPTION_OUTPUT("Write the report to FILE instead of stderr"),
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
        "heat, and other programs on the GPU. Asks a running daemon, or samples directly.",
    .arguments = "-- COMMAND...",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr watch -- python3 train.py", "what it used, and what limited it"},
                 {"whirr watch --json -o run.json -- ./benchmark", "the same as data"},
                 {"whirr watch --gpu 0 -- docker run --gpus all IMAGE", "count GPU 0 as a whole, with all its processes"}},
    .run = watch_run,
};
