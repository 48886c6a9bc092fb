/* SPDX-License-Identifier: Apache-2.0
 * Queries several hosts: a child per host runs the command as if it were the only one; the answers are joined.
 */
#include "cli/hosts/each_host.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/hosts.h"
#include "base/cleanup.h"
#include "base/os/pipe.h"
#include "cli/cli_show.h"

enum { ANSWERS_MAX = 64 << 20, PROBLEM_MAX = 64 * 1024, ROUND_WITHIN_MS = 120000 };

/* One host's answer. */
struct host_reply {
    const char *host;
    pid_t pid;
    int out_fd, problem_fd;
    struct buf out, problem;
    int status; /* the command's exit status there */
    bool late;
};

struct asked_hosts {
    const char *names[HOSTS_MAX];
    size_t count;
};

static int multi_host_gather(const struct cli *cli, struct asked_hosts *h)
{
    const struct options *o = cli->options;
    for (size_t i = 0; i < o->given_count; i++) {
        const char *as = o->given[i].spec->known_as, *name = o->given[i].value;
        bool again = false;
        if (!as || strcmp(as, "asked-host") != 0)
            continue;
        for (size_t k = 0; k < h->count; k++)
            again |= strcmp(h->names[k], name) == 0;
        if (again)
            continue;
        if (h->count == HOSTS_MAX)
            return cli_usage(cli, "more than %d times '--host'", HOSTS_MAX);
        h->names[h->count++] = name;
    }
    return EXIT_FINE;
}

/* ---- the children ---- */

static int multi_host_start(struct cli *cli, struct host_reply *r)
{
    int out[2], problem[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(problem, O_CLOEXEC) < 0) {
        int rc = -errno;
        close(out[0]);
        close(out[1]);
        return rc;
    }
    fflush(NULL);
    int rc = host_child_start(cli, r->host, out[1], problem[1], &r->pid);
    close(out[1]);
    close(problem[1]);
    r->out_fd = out[0];
    r->problem_fd = problem[0];
    return rc;
}

static void multi_host_take(int *fd, struct buf *to)
{
    char piece[65536];
    ssize_t n = read(*fd, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0) {
        buf_add(to, piece, (size_t)n); /* too long: marked as failed; read and drop the rest */
        return;
    }
    close(*fd);
    *fd = -1;
}

/* Reads until all have finished, or the time is over. */
static void listen_to_all(struct host_reply *replies, size_t count)
{
    struct mono began = clock_mono(&clock_system);
    for (;;) {
        struct pollfd polls[2 * HOSTS_MAX];
        nfds_t open = 0;
        for (size_t i = 0; i < count; i++) {
            polls[2 * i] = (struct pollfd){.fd = replies[i].out_fd, .events = POLLIN};
            polls[2 * i + 1] = (struct pollfd){.fd = replies[i].problem_fd, .events = POLLIN};
            open += (replies[i].out_fd >= 0) + (replies[i].problem_fd >= 0);
        }
        int64_t left_ms = ROUND_WITHIN_MS - mono_since_ms(clock_mono(&clock_system), began);
        if (!open || left_ms <= 0)
            return;
        if (pipe_poll(polls, 2 * count, (int)left_ms) < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < count; i++) {
            if (replies[i].out_fd >= 0 && polls[2 * i].revents)
                multi_host_take(&replies[i].out_fd, &replies[i].out);
            if (replies[i].problem_fd >= 0 && polls[2 * i + 1].revents)
                multi_host_take(&replies[i].problem_fd, &replies[i].problem);
        }
    }
}

static void multi_host_finish(struct host_reply *r)
{
    int status = 0;
    r->late = r->out_fd >= 0 || r->problem_fd >= 0;
    if (r->late && r->pid > 0)
        kill(r->pid, SIGTERM);
    if (r->out_fd >= 0)
        close(r->out_fd);
    if (r->problem_fd >= 0)
        close(r->problem_fd);
    while (r->pid > 0 && waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    r->status = r->pid > 0 && WIFEXITED(status) && !r->late ? WEXITSTATUS(status) : EXIT_FAILED;
    if (r->late)
        buf_printf(&r->problem, "whirr: %s did not answer within %d s\n", r->host, ROUND_WITHIN_MS / MS_PER_S);
}

/* ---- the answers ---- */

/* The message from stderr, without the program's name. */
static void put_problem(struct buf *out, const struct host_reply *r)
{
    struct str rest = str_trim(buf_view(&r->problem));
    if (str_starts(rest, "whirr: "))
        rest = (struct str){rest.at + 7, rest.len - 7};
    buf_str(out, rest.len ? rest : STR("it failed without a message"));
}

static bool is_answer(const struct host_reply *r)
{
    return r->out.len > 0 && !r->out.failed;
}

static int put_json(struct buf *out, const struct host_reply *replies, size_t count, struct error *err)
{
    json_t *hosts = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct host_reply *r = &replies[i];
        AUTO_BUF struct buf problem = BUF(PROBLEM_MAX);
        json_t *answer = is_answer(r) ? json_loadb(r->out.at, r->out.len, 0, NULL) : NULL, *one = json_object();
        if (!answer)
            put_problem(&problem, r);
        json_object_set_new(one, "host", json_string(r->host));
        json_object_set_new(one, "exit_status", json_integer(r->status));
        json_object_set_new(one, "error", answer ? json_null() : json_stringn(buf_view(&problem).at, problem.len));
        json_object_set_new(one, "answer", answer ? answer : json_null());
        json_array_append_new(hosts, one);
    }
    AUTO_JSON json_t *all = json_pack("{s:o}", "hosts", hosts);
    AUTO_FREE char *text = json_dumps(all, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    if (!text)
        return error_set(err, -ENOMEM, "out of memory");
    buf_printf(out, "%s\n", text);
    return 0;
}

/* For programs: joins all answers, prints the header once, and sends failures to stderr. */
static void put_lines(struct buf *out, const struct cli *cli, const struct host_reply *replies, size_t count)
{
    bool titled = false;
    for (size_t i = 0; i < count; i++) {
        struct str rest = buf_view(&replies[i].out), title;
        if (!is_answer(&replies[i])) {
            AUTO_BUF struct buf problem = BUF(PROBLEM_MAX);
            put_problem(&problem, &replies[i]);
            cli_fail(STR_FMT, STR_ARG(buf_view(&problem)));
            continue;
        }
        if (titled && options_has(cli->options, "csv"))
            str_cut(&rest, '\n', &title);
        titled = true;
        buf_str(out, rest);
    }
}

static void put_blocks(struct buf *out, const struct cli *cli, const struct host_reply *replies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct host_reply *r = &replies[i];
        if (i)
            buf_char(out, '\n');
        page_ink(out, &cli->page, INK_STRONG, str_from(r->host));
        buf_char(out, '\n');
        if (is_answer(r)) {
            buf_str(out, buf_view(&r->out));
            if (r->out.at[r->out.len - 1] != '\n')
                buf_char(out, '\n');
            continue;
        }
        AUTO_BUF struct buf problem = BUF(PROBLEM_MAX);
        put_problem(&problem, r);
        page_ink(out, &cli->page, INK_BAD, buf_view(&problem));
        buf_char(out, '\n');
    }
}

/* If "no answer" has a status of its own, it outweighs success but does not hide a failure. */
static int worse_of(const struct cli *cli, int a, int b)
{
    int none = cli->failure_status;
    if (none && (a == none || b == none)) {
        int other = a == none ? b : a;
        return other == EXIT_FINE ? none : other;
    }
    return MAX_OF(a, b);
}

static int ask_all(struct cli *cli, struct session *none, struct buf *out, struct error *err)
{
    (void)none;
    static struct host_reply replies[HOSTS_MAX]; /* large */
    struct asked_hosts h = {0};
    multi_host_gather(cli, &h);
    int rc = 0, worst = EXIT_FINE;
    for (size_t i = 0; i < h.count; i++) {
        replies[i] = (struct host_reply){
            .host = h.names[i], .pid = -1, .out_fd = -1, .problem_fd = -1, .out = BUF(ANSWERS_MAX), .problem = BUF(PROBLEM_MAX)};
        int failed = multi_host_start(cli, &replies[i]);
        if (failed < 0)
            buf_printf(&replies[i].problem, "cannot ask: %s", strerror(-failed));
    }
    listen_to_all(replies, h.count);
    for (size_t i = 0; i < h.count; i++) {
        multi_host_finish(&replies[i]);
        int status = is_answer(&replies[i]) ? replies[i].status : cli->failure_status ? cli->failure_status : EXIT_FAILED;
        worst = worse_of(cli, worst, status);
    }
    if (cli->json)
        rc = put_json(out, replies, h.count, err);
    else if (fields_wanted(cli) || options_has(cli->options, "line") || options_has(cli->options, "jsonl"))
        put_lines(out, cli, replies, h.count);
    else
        put_blocks(out, cli, replies, h.count);
    for (size_t i = 0; i < h.count; i++) {
        buf_done(&replies[i].out);
        buf_done(&replies[i].problem);
    }
    cli->status = worst;
    return rc;
}

int run_elsewhere(struct cli *cli)
{
    static const char *const about_here[] = {"direct", "source", "sysroot", "socket", "store"};
    struct asked_hosts h = {0};
    if (!cli->command->remote)
        return cli_usage(cli, "'%s' works on this host only, not with --host", cli->name);
    for (size_t i = 0; i < ARRAY_LEN(about_here); i++)
        if (options_has(cli->options, about_here[i]))
            return cli_usage(cli, "--host can't be combined with --%s", about_here[i]);
    int status = multi_host_gather(cli, &h);
    if (status != EXIT_FINE)
        return status;
    for (size_t i = 0; i < h.count; i++) {
        struct host_place place;
        struct error err = {0};
        if (host_place_read(h.names[i], cli->settings, &place, &err) == -EINVAL)
            return cli_usage(cli, "%s", err.text);
    }
    if (h.count > 1) {
        if (strcmp(cli->name, "top") == 0) {
            cli->hosts = h.names;
            cli->host_count = h.count;
            return cli->command->run(cli);
        }
        if (strcmp(cli->name, "wait") == 0)
            return cli_usage(cli, "'%s' takes one --host", cli->name);
        return show_without_session(cli, ask_all);
    }
    cli->host = h.names[0];
    cli->among_hosts = host_child_is_one();
    return cli->command->run(cli);
}
