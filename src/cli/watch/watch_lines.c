/* SPDX-License-Identifier: Apache-2.0
 * The lines of a program: of the one that is run, beside it, or of one that runs already (--pid), for some seconds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "cli/watch/watch.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "host/identity.h"

/* ---- beside a program that is run ---- */

static void *take_lines(void *user)
{
    enum { SELDOM = 20 }; /* a program that runs for hours is seen often enough */
    struct watch_lines *w = user;
    const struct lines_request request = {.pid = w->pid, .looks_per_s = SELDOM, .cancel = &w->over};
    w->rc = lines_take(w->env, &request, &w->looks, &w->err);
    return NULL;
}

void watch_lines_begin(struct watch_lines *w, const struct env *env, int32_t pid)
{
    w->env = env;
    w->pid = pid;
    w->running = pthread_create(&w->thread, NULL, take_lines, w) == 0;
}

void watch_lines_end(struct watch_lines *w)
{
    if (!w->running)
        return;
    w->over = true;
    pthread_join(w->thread, NULL);
    w->running = false;
    w->known = w->rc == 0;
    if (w->known)
        looks_judge(&w->looks, &w->lines);
}

void watch_lines_done(struct watch_lines *w)
{
    if (w->known)
        looks_done(&w->looks);
}

/* ---- what is shown ---- */

struct tree_page {
    struct buf *out;
    const struct page *page;
};

static void put_call(void *user, int depth, const char *function, const char *file, int32_t line, int64_t permille)
{
    enum { INDENT_MAX = 30, SHARE_WIDTH = 6 };
    const struct tree_page *t = user;
    char share[WORDS_SIZE], text[PLACE_WORDS];
    page_cell(t->out, t->page, INK_STRONG, RIGHT, words_percent(permille, share), SHARE_WIDTH);
    snprintf(text, sizeof text, "  %*s%s  ", MIN_OF(depth, INDENT_MAX), "", function);
    buf_text(t->out, text);
    snprintf(text, sizeof text, "%s:%d", file, (int)line);
    page_ink(t->out, t->page, INK_FAINT, str_from(text));
    buf_char(t->out, '\n');
}

void watch_lines_tree(struct buf *out, const struct page *page, const struct watch_lines *w)
{
    if (w->known)
        looks_tree(&w->looks, put_call, &(struct tree_page){out, page});
}

int watch_lines_folded(const struct watch_lines *w, const char *file)
{
    AUTO_BUF struct buf out = BUF(256 << 20);
    if (w->known)
        looks_folded(&w->looks, &out);
    FILE *to = fopen(file, "we");
    if (!to)
        return cli_fail("cannot write '%s': %s", file, strerror(errno));
    bool fine = !out.failed && fwrite(buf_view(&out).at, 1, out.len, to) == out.len;
    fine = fclose(to) == 0 && fine;
    return fine ? EXIT_FINE : cli_fail("cannot write '%s': %s", file, strerror(errno));
}

/* ---- of a program that runs already ---- */

struct told_running {
    const struct process *p;
    int64_t over_ms;
    struct told_lines lines;
    struct told_samples cpu;
};

ANSWER_TABLE(who_answer, struct process)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    FIELD(TEXT, "command", command, NULL, OR_NULL);
}

ANSWER_TABLE(running_answer, struct told_running)
{
    VIA(KEYS, NULL, p, who_answer, NULL);
    FIELD(AMOUNT, "over_seconds", over_ms, NULL, SCALE(1e-3));
    FIELD(KEYS, NULL, lines, NULL, FIELDS(lines_answer));
    FIELD(OBJECT, "cpu", cpu, NULL, FIELDS(cpu_samples_answer), PRESENT(cpu.s), MAYBE);
}

/* `native`: NULL, or instead of lines where the CPU time goes. */
static void running_json(struct buf *out, const struct process *p, int64_t ms, const struct watch_lines *w,
                         const struct address_samples *native)
{
    const struct told_running told = {p, ms, told_lines(native ? NULL : &w->lines, native ? w->err.text : ""), {p->pid, native}};
    answer_write(JSON_PAGE(out), &running_answer, &told, NULL);
}

static void running_text(struct cli *cli, struct buf *out, const struct process *p, int64_t ms, const struct watch_lines *w)
{
    char who[PROCESS_WORDS], over[WORDS_SIZE], text[PROCESS_WORDS + 64];
    snprintf(text, sizeof text, "%s over %s:", process_words(p, EXACT_NAME, who), words_duration(ms, over));
    page_wrap(out, &cli->page, INK_STRONG, text, 0, 0);
    table_lines(out, &cli->page, NULL, &w->lines);
    if (options_has(cli->options, "lines"))
        watch_lines_tree(out, &cli->page, w);
}

/* A program without Python's frames: which of its functions the CPU time goes to. */
static int watch_native(struct cli *cli, const struct process *p, int64_t ms, const struct watch_lines *w, struct buf *out)
{
    struct address_samples found;
    char who[PROCESS_WORDS], words[ADDRESS_WORDS];
    address_samples_take(&cli->env, p->pid, ms, true, &found);
    if (found.state != READING_OK)
        return cli_fail("can't read the lines of process %d: %s, and %s", (int)p->pid, w->err.text, found.why);
    if (cli->json) {
        running_json(out, p, ms, w, &found);
    } else {
        page_wrap(out, &cli->page, INK_STRONG, process_words(p, EXACT_NAME, who), 0, 0);
        table_cpu_time(out, &cli->page, NULL, address_samples_words(&found, words));
    }
    return watch_write(cli, out, stdout);
}

int watch_running(struct cli *cli, const char *asked)
{
    enum { DEFAULT_MS = 10 * 1000, LONGEST_MS = 3600 * 1000 };
    static struct watch_lines w;
    AUTO_BUF struct buf out = BUF(16 << 20);
    int64_t pid, ms = DEFAULT_MS;
    const char *during = options_value(cli->options, "for", NULL), *folded = options_value(cli->options, "folded", NULL);
    if (!str_to_i64(str_from(asked), &pid) || pid <= 0 || pid > INT32_MAX)
        return cli_usage(cli, "invalid value '%s' for --pid; expected the number of a process: whirr ps shows those on GPUs",
                         asked);
    if (during && (!duration_parse(str_from(during), &ms) || ms <= 0 || ms > LONGEST_MS))
        return cli_usage(cli, "invalid value '%s' for --for; expected " DURATION_SYNTAX ", at most 1h", during);
    struct process p = {.pid = (int32_t)pid};
    struct identity *identity = identity_new(&cli->env, false);
    if (identity)
        identity_fill(identity, &p);
    identity_free(identity);
    const struct lines_request request = {.pid = p.pid, .ms = ms, .looks_per_s = LINES_LOOKS_PER_S};
    int rc = process_start(&cli->env, p.pid) ? lines_take(&cli->env, &request, &w.looks, &w.err)
                                             : error_set(&w.err, -ESRCH, "there is no such process");
    if (rc == -ENOEXEC && !folded && !options_has(cli->options, "lines"))
        return watch_native(cli, &p, ms, &w, &out);
    if (rc < 0)
        return cli_fail("can't read the lines of process %d: %s", (int)pid, w.err.text);
    w.known = true;
    looks_judge(&w.looks, &w.lines);
    if (cli->json)
        running_json(&out, &p, ms, &w, NULL);
    else
        running_text(cli, &out, &p, ms, &w);
    int status = watch_write(cli, &out, stdout);
    if (folded && status == EXIT_FINE)
        status = watch_lines_folded(&w, folded);
    watch_lines_done(&w);
    return status;
}
