/* SPDX-License-Identifier: Apache-2.0
 * Writes frames to stdout.
 */
#include "cli/cli_show.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/tunnel.h"
#include "base/os/console.h"

enum { WATCH_DEFAULT_MS = 2000 };

static volatile sig_atomic_t cursor_hidden;

/* Ctrl-C ends a watch: only the cursor needs restoring. */
static void on_signal(int signal)
{
    (void)signal;
    tunnel_abandon();
    static const char show_cursor[] = "\033[?25h\n";
    if (cursor_hidden && write(STDOUT_FILENO, show_cursor, sizeof show_cursor - 1) < 0)
        _exit(EXIT_FINE);
    _exit(EXIT_FINE);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

struct json_writer show_json(const struct cli *cli, struct buf *out, bool line)
{
    return (struct json_writer){.out = out, .pretty = !options_has(cli->options, "watch"), .line = line};
}

int show_answer(const struct cli *cli, const struct answer *a, const void *record)
{
    AUTO_BUF struct buf out = BUF(16 << 20);
    answer_write(AS_JSON_LINE(cli, &out), a, record, (void *)record);
    return show_text(&out);
}

struct would {
    bool dry_run;
    const char *would;
};

ANSWER_TABLE(would_answer, struct would)
{
    FIELD(BOOL, "dry_run", dry_run, NULL);
    FIELD(WORD, "would", would, NULL);
}

int show_would(const struct cli *cli, const char *format, ...)
{
    AUTO_BUF struct buf out = BUF(256 << 10), what = BUF(128 << 10);
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&what, format, arguments);
    va_end(arguments);
    if (cli->json)
        return show_answer(cli, &would_answer, &(struct would){true, what.at});
    buf_printf(&out, "Would %s.\nNothing was changed (dry run).\n", what.at);
    return show_text(&out);
}

static void measure_terminal(struct cli *cli, int *rows)
{
    int columns = 0;
    *rows = 0;
    if (console_size(&columns, rows) && columns > 0)
        cli->page.width = columns;
    else
        *rows = 0;
}

/* Draws the frame over the previous one, clearing each line to its end; omits what does not fit on the screen. */
static int draw_over(const struct buf *frame, int rows, int *lines_drawn)
{
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    struct str rest = buf_view(frame), line;
    int lines = 0, most = rows > 1 ? rows - 1 : 1000000;
    buf_text(&out, "\033[?25l");
    if (*lines_drawn)
        buf_printf(&out, "\033[%dF", *lines_drawn);
    while (lines < most && str_cut(&rest, '\n', &line)) {
        buf_str(&out, line);
        buf_text(&out, "\033[K\n");
        lines++;
    }
    buf_text(&out, "\033[J");
    cursor_hidden = 1;
    *lines_drawn = lines;
    return out.failed ? -ENOMEM : write_stdout(out.at, out.len);
}

bool show_is_line(const struct cli *cli)
{
    return options_has(cli->options, "line") || options_has(cli->options, "format");
}

/* Whether a program reads the output. */
static bool for_programs(const struct cli *cli)
{
    return cli->json || show_is_line(cli) || fields_wanted(cli);
}

static int put_frame(struct cli *cli, const struct buf *frame, bool in_place, int rows, int *lines_drawn)
{
    if (frame->failed)
        return -E2BIG;
    if (in_place)
        return draw_over(frame, rows, lines_drawn);
    int rc = write_stdout(frame->at ? frame->at : "", frame->len);
    /* An empty line separates answers for people only. */
    if (rc == 0 && !for_programs(cli))
        rc = write_stdout("\n", 1);
    return rc;
}

static int draw_frame(struct cli *cli, struct session *session, render_fn *render, struct buf *frame, struct error *err)
{
    cli->page.now = clock_wall(cli->env.clock);
    int rc = render(cli, session, frame, err);
    if (cli->json && frame->len && frame->at[frame->len - 1] != '\n')
        buf_char(frame, '\n');
    return rc;
}

static int watch(struct cli *cli, struct session *session, render_fn *render, int64_t every_ms)
{
    bool in_place = cli->terminal && !for_programs(cli);
    int lines_drawn = 0;
    struct mono next = clock_mono(&clock_system);
    for (;;) {
        struct error err = {0};
        int rows = 0;
        if (in_place)
            measure_terminal(cli, &rows);
        AUTO_BUF struct buf frame = BUF(FRAME_MAX);
        if (draw_frame(cli, session, render, &frame, &err) < 0)
            return cli_fail("%s", err.text);
        int rc = put_frame(cli, &frame, in_place, rows, &lines_drawn);
        if (rc == -EPIPE)
            return EXIT_FINE;
        if (rc < 0)
            return cli_fail("cannot write to stdout: %s", strerror(-rc));
        next.ns += every_ms * NS_PER_MS;
        int64_t left_ms = mono_since_ms(next, clock_mono(&clock_system));
        if (left_ms > 0)
            pause_ms(left_ms);
        else
            next = clock_mono(&clock_system); /* too slow for this interval: don't try to catch up */
    }
}

/* A one-shot ends when its text is printed. Closing the driver properly would cost another 4 ms, and the kernel does it anyway. */
static int leave(const struct cli *cli, struct session *session, int status)
{
    if (cli->host) { /* close the tunnel */
        session_close(session);
        return status;
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    session_close(session); /* free everything for leak checkers */
    return status;
#else
    (void)session;
    fflush(NULL);
    _exit(status);
#endif
}

static int failed(const struct cli *cli, int status)
{
    return status == EXIT_FAILED && cli->failure_status ? cli->failure_status : status;
}

/* Shows once, or with --watch until the end. Closes `session` or leaves it to the kernel. */
static int show_with(struct cli *cli, struct session *session, render_fn *render, bool again, int64_t every_ms)
{
    struct error err = {0};
    if (!again) {
        AUTO_BUF struct buf frame = BUF(FRAME_MAX);
        int status = draw_frame(cli, session, render, &frame, &err) < 0 ? cli_fail("%s", err.text) : show_text(&frame);
        return leave(cli, session, status == EXIT_FINE ? cli->status : failed(cli, status));
    }
    if (session)
        session_set_max_age(session, every_ms / 2);
    int status = watch(cli, session, render, every_ms);
    session_close(session);
    return failed(cli, status);
}

static int read_watch(struct cli *cli, bool *again, int64_t *every_ms)
{
    struct error err = {0};
    *every_ms = WATCH_DEFAULT_MS;
    *again = options_has(cli->options, "watch");
    if (options_seconds(cli->options, "watch", every_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (*again)
        catch_signals();
    return EXIT_FINE;
}

int show_without_session(struct cli *cli, render_fn *render)
{
    bool again;
    int64_t every_ms;
    int status = read_watch(cli, &again, &every_ms);
    return status == EXIT_FINE ? show_with(cli, NULL, render, again, every_ms) : status;
}

int show(struct cli *cli, render_fn *render)
{
    struct error err = {0};
    bool again;
    int64_t every_ms;
    int status = read_watch(cli, &again, &every_ms);
    if (status != EXIT_FINE)
        return status;
    cli->env.one_look = !again;
    struct session *session = session_open(cli, &err);
    if (session)
        session_show_progress(session);
    if (!session)
        return err.code == -EINVAL ? cli_usage(cli, "%s", err.text) : failed(cli, cli_fail("%s", err.text));
    return show_with(cli, session, render, again, every_ms);
}
