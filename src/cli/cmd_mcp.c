/* SPDX-License-Identifier: Apache-2.0
 * whirr mcp: answers an assistant.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/cli.h"
#include "base/cleanup.h"
#include "base/os/pipe.h"
#include "base/os/program.h"
#include "cli/command.h"
#include "mcp/mcp.h"

/* The Model Context Protocol over stdin and stdout. */

enum {
    CHILDREN_MAX = 8,         /* at a time; more have to wait */
    CONVERSATIONS_MAX = 64,   /* waiting for answers; more calls are refused */
    LINE_MAX_BYTES = 1 << 20, /* of a message; the rest of a longer line is skipped */
    CHILD_WITHIN_MS = 120000,
    WATCH_MS = 1000, /* how often to check silent and ending children */
    ENDING_MS = 10,
    PROBLEM_MAX = 16384,
    WORDS_MAX = 64,
};

/* A line and its answers. */
struct conversation {
    struct mcp_messages messages;
    struct conversation *next;
};

struct asked_command {
    pid_t pid; /* 0: free */
    int out_fd, problem_fd;
    struct buf out, problem;
    struct mono began;
    struct mcp_request *request; /* NULL: it has answered, and is ending */
};

struct stdio_talk {
    const struct cli *cli;
    enum mcp_version spoken;
    int in_fd;
    struct buf input;
    bool skipping; /* inside a line that is too long */
    bool ended;    /* the client closed its end */
    bool broken;   /* the client is gone */
    struct conversation *first;
    struct asked_command children[CHILDREN_MAX];
};

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

/* ---- output ---- */

static void stdio_say(struct stdio_talk *t, const struct mcp_messages *m)
{
    AUTO_BUF struct buf out = BUF(MCP_REPLY_MAX);
    if (!mcp_write(m, &out))
        return;
    buf_char(&out, '\n');
    t->broken |= out.failed || write_stdout(out.at, out.len) < 0;
}

static bool is_open(const struct mcp_messages *m)
{
    bool open = false;
    for (size_t i = 0; i < m->count; i++)
        open |= mcp_waits(&m->list[i]);
    return open;
}

/* Writes and frees conversations whose answers are complete. */
static void settle(struct stdio_talk *t)
{
    for (struct conversation **at = &t->first; *at;) {
        struct conversation *c = *at;
        if (is_open(&c->messages)) {
            at = &c->next;
            continue;
        }
        stdio_say(t, &c->messages);
        *at = c->next;
        mcp_done(&c->messages);
        free(c);
    }
}

/* ---- children ---- */

/* Children inherit the options of this command: host, source, configuration. */
static size_t own_words(const struct cli *cli, struct buf *texts, size_t starts[WORDS_MAX])
{
    const struct ask_options *ask = &cli->ask;
    const struct {
        const char *name, *value;
    } given[] = {{"host", cli->host},
                 {"sysroot", cli->env.sysroot[0] ? cli->env.sysroot : NULL},
                 {"config", ask->config},
                 {"socket", ask->socket},
                 {"direct", ask->direct ? "" : NULL}};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        if (!given[i].value)
            continue;
        starts[count++] = texts->len;
        buf_printf(texts, "--%s%s%s%c", given[i].name, given[i].value[0] ? "=" : "", given[i].value, '\0');
    }
    for (size_t i = 0; i < ask->source_count; i++) {
        starts[count++] = texts->len;
        buf_printf(texts, "--source=%s%c", ask->sources[i], '\0');
    }
    return count;
}

static int start_child(struct stdio_talk *t, struct asked_command *c, struct mcp_request *r)
{
    AUTO_BUF struct buf own = BUF(65536), texts = BUF(65536);
    const char *words[MCP_WORDS_MAX + 1], *argv[WORDS_MAX + MCP_WORDS_MAX + 2] = {t->cli->env.self_program};
    size_t starts[WORDS_MAX], count = own_words(t->cli, &own, starts), argc = 1;
    *c = (struct asked_command){.out_fd = -1, .problem_fd = -1, .out = BUF(MCP_BODY_MAX), .problem = BUF(PROBLEM_MAX)};
    if (!mcp_command(r, &texts, words) || own.failed)
        return -E2BIG;
    for (size_t i = 0; i < count; i++)
        argv[argc++] = own.at + starts[i];
    for (size_t i = 0; words[i]; i++)
        argv[argc++] = words[i];
    int out[2] = {-1, -1}, problem[2] = {-1, -1};
    int rc = pipe2(out, O_CLOEXEC) < 0 || pipe2(problem, O_CLOEXEC) < 0 ? -errno : 0;
    c->out_fd = out[0];
    c->problem_fd = problem[0];
    c->began = clock_mono(&clock_system);
    if (rc == 0)
        rc = launch_spawn(argv, -1, out[1], problem[1], &c->pid);
    if (out[1] >= 0)
        close(out[1]);
    if (problem[1] >= 0)
        close(problem[1]);
    return rc;
}

/* True if it is gone and its slot is free. One that hangs in a driver goes when the driver returns. */
static bool reap(struct asked_command *c)
{
    if (c->pid > 0 && waitpid(c->pid, NULL, WNOHANG) == 0)
        return false;
    *c = (struct asked_command){.out_fd = -1, .problem_fd = -1};
    return true;
}

static void end_child(struct asked_command *c, bool killed)
{
    if (c->pid > 0 && killed)
        kill(-c->pid, SIGKILL);
    if (c->out_fd >= 0)
        close(c->out_fd);
    if (c->problem_fd >= 0)
        close(c->problem_fd);
    buf_done(&c->out);
    buf_done(&c->problem);
    c->out_fd = c->problem_fd = -1;
    c->request = NULL;
    reap(c);
}

/* Some commands exit with a failure and still print an answer: JSON counts as one. */
static void take_answer(struct asked_command *c)
{
    bool found = !c->out.failed && c->out.len && c->out.at[0] == '{';
    mcp_answer(c->request, found, buf_view(found ? &c->out : &c->problem));
    end_child(c, false);
}

static void start_children(struct stdio_talk *t)
{
    for (struct conversation *v = t->first; v; v = v->next)
        for (size_t i = 0; i < v->messages.count; i++) {
            struct mcp_request *r = &v->messages.list[i];
            size_t free_at = 0;
            while (free_at < CHILDREN_MAX && t->children[free_at].pid)
                free_at++;
            if (free_at == CHILDREN_MAX)
                return;
            if (!mcp_waits(r) || r->asked)
                continue;
            struct asked_command *c = &t->children[free_at];
            int rc = start_child(t, c, r);
            r->asked = true;
            c->request = r;
            if (rc < 0) {
                mcp_fail(r, strerror(-rc));
                end_child(c, true);
            }
        }
}

/* ---- input ---- */

static void cancel(struct stdio_talk *t, const json_t *id)
{
    for (struct conversation *v = t->first; v; v = v->next)
        for (size_t i = 0; i < v->messages.count; i++) {
            struct mcp_request *r = &v->messages.list[i];
            if (!mcp_waits(r) || !json_equal(r->id, id))
                continue;
            for (size_t k = 0; k < CHILDREN_MAX; k++)
                if (t->children[k].request == r)
                    end_child(&t->children[k], true);
            r->tool = NULL; /* cancelled: nothing to answer */
        }
}

static void hear(struct stdio_talk *t, struct str line)
{
    struct conversation *c = calloc(1, sizeof *c);
    size_t open = 0;
    if (!c || str_trim(line).len == 0) {
        free(c);
        return;
    }
    mcp_read(&c->messages, line, &t->spoken);
    for (struct conversation *v = t->first; v; v = v->next)
        open++;
    for (size_t i = 0; i < c->messages.count; i++) {
        struct mcp_request *r = &c->messages.list[i];
        if (r->cancels)
            cancel(t, r->cancels);
        if (mcp_waits(r) && open >= CONVERSATIONS_MAX)
            mcp_fail(r, "too many calls at once; wait for some of their answers");
    }
    struct conversation **last = &t->first;
    while (*last)
        last = &(*last)->next;
    *last = c;
}

static void hear_more(struct stdio_talk *t)
{
    if (!buf_reserve(&t->input, 65536)) { /* the line is too long */
        if (!t->skipping)
            hear(t, STR("…"));
        t->skipping = true;
        buf_done(&t->input);
        t->input = BUF(LINE_MAX_BYTES + 65536);
        return;
    }
    ssize_t got = read(t->in_fd, t->input.at + t->input.len, 65536);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    t->ended = got <= 0;
    t->input.len += got > 0 ? (size_t)got : 0;
    struct str rest = buf_view(&t->input), line;
    while (memchr(rest.at, '\n', rest.len) && str_cut(&rest, '\n', &line)) {
        if (!t->skipping)
            hear(t, line);
        t->skipping = false;
    }
    if (t->ended && rest.len && !t->skipping)
        hear(t, rest);
    memmove(t->input.at, rest.at, rest.len);
    t->input.len = rest.len;
}

/* ---- the loop ---- */

static void drain(int *fd, struct buf *to)
{
    char piece[65536];
    ssize_t got = read(*fd, piece, sizeof piece);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got > 0) {
        buf_add(to, piece, (size_t)got);
        return;
    }
    close(*fd);
    *fd = -1;
}

static void serve_child(struct asked_command *c, struct pollfd polls[2])
{
    if (!c->request) {
        reap(c);
        return;
    }
    if (polls[0].revents && c->out_fd >= 0)
        drain(&c->out_fd, &c->out);
    if (polls[1].revents && c->problem_fd >= 0)
        drain(&c->problem_fd, &c->problem);
    if (c->out_fd < 0 && c->problem_fd < 0) {
        take_answer(c);
    } else if (mono_since_ms(clock_mono(&clock_system), c->began) > CHILD_WITHIN_MS) {
        mcp_fail(c->request, "the answer took longer than two minutes");
        end_child(c, true);
    }
}

static void step(struct stdio_talk *t)
{
    struct pollfd polls[2 * CHILDREN_MAX + 1];
    int patience_ms = -1;
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        const struct asked_command *c = &t->children[i];
        polls[2 * i] = (struct pollfd){.fd = c->pid ? c->out_fd : -1, .events = POLLIN};
        polls[2 * i + 1] = (struct pollfd){.fd = c->pid ? c->problem_fd : -1, .events = POLLIN};
        if (c->pid)
            patience_ms = c->request && patience_ms != ENDING_MS ? WATCH_MS : ENDING_MS;
    }
    polls[2 * CHILDREN_MAX] = (struct pollfd){.fd = t->ended ? -1 : t->in_fd, .events = POLLIN};
    if (pipe_poll(polls, ARRAY_LEN(polls), patience_ms) < 0)
        return;
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (t->children[i].pid)
            serve_child(&t->children[i], &polls[2 * i]);
    if (polls[2 * CHILDREN_MAX].revents)
        hear_more(t);
}

/* Runs until the client ends it. Returns the exit status. */
static int mcp_stdio_run(const struct cli *cli)
{
    struct stdio_talk t = {.cli = cli, .spoken = MCP_UNSAID, .in_fd = pipe_input(), .input = BUF(LINE_MAX_BYTES + 65536)};
    const struct sigaction stop = {.sa_handler = on_stop};
    if (t.in_fd < 0)
        return cli_fail("cannot read the standard input: %s", strerror(errno));
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    while (!stopped && !t.broken && !(t.ended && !t.first)) {
        step(&t);
        settle(&t);
        start_children(&t);
    }
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (t.children[i].request)
            end_child(&t.children[i], true);
    while (t.first) {
        struct conversation *c = t.first;
        t.first = c->next;
        mcp_done(&c->messages);
        free(c);
    }
    buf_done(&t.input);
    return t.broken ? EXIT_FAILED : EXIT_FINE;
}

static int mcp_run(struct cli *cli)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return cli_usage(cli,
                         "an assistant starts this and talks to it over stdin and stdout; docs/assistants.md has the settings");
    return mcp_stdio_run(cli);
}

const struct command command_mcp = {
    .name = "mcp",
    .group = HELP_RUN,
    .summary = "Answer AI assistants: a Model Context Protocol server on stdin and stdout",
    .details =
        "For the settings of Claude, Codex, Cursor, VS Code and others, which start it and end it (docs/assistants.md). Tools: "
        "status, "
        "why, ps, health, history, report, fit, forecast, findings, hosts; all of them only read, and give what the commands "
        "give, in at most 4 KiB unless more is asked for. Secrets in command lines are masked, and text that comes from "
        "programs is marked as data. The daemon has the same at /mcp, if server.mcp is set.",
    .examples = {{"claude mcp add whirr -- whirr mcp", "Claude Code asks this host"},
                 {"codex mcp add gpu2 -- whirr mcp --host ssh://gpu2", "Codex asks another one"},
                 {"claude mcp add whirr -- whirr mcp --source sim:gpus=4", "try it without a GPU"}},
    .remote = true,
    .lacks = "json gpu",
    .run = mcp_run,
};
