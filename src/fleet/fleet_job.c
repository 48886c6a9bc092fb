/* SPDX-License-Identifier: Apache-2.0
 * A job on several hosts: what limits it on each GPU, and which rank the others wait for. No host sees that alone: one whose ranks
 * all wait only knows that the slow one is elsewhere.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"
#include "format/json/told.h"
#include "format/table/grid.h"

/* The basis of the answer. */
struct job_count {
    size_t processes, hosts, waiting, judged;
    const struct fleet_process *late; /* the first that does not wait; the most limited of them */
    size_t late_count;
};

static bool waits(const struct fleet_process *p)
{
    enum { MOSTLY = 500 };
    return (p->limit == LIMIT_STRAGGLER_WAIT || p->limit == LIMIT_KERNEL_WAIT) && p->limit_permille >= MOSTLY;
}

/* It does not wait, and its limit is known: the others may be waiting for it. */
static bool may_be_late(const struct fleet_process *p)
{
    return p->limit != LIMIT_UNJUDGED && !waits(p);
}

static bool is_of(const struct fleet_process *p, const char *job)
{
    return strcmp(p->job, job) == 0;
}

/* Processes are sorted by host. */
static struct job_count count_job(const struct fleet *f, const char *job)
{
    struct job_count c = {0};
    const char *host = "";
    for (size_t i = 0; i < f->process_count; i++) {
        const struct fleet_process *p = &f->processes[i];
        if (!is_of(p, job))
            continue;
        c.processes++;
        c.hosts += strcmp(host, p->host) != 0;
        host = p->host;
        c.judged += p->limit != LIMIT_UNJUDGED;
        c.waiting += waits(p);
        if (!may_be_late(p))
            continue;
        c.late_count++;
        if (!c.late || p->limit_permille > c.late->limit_permille)
            c.late = p;
    }
    return c;
}

/* Only a minority can hold up the others. */
static bool is_held_up(const struct job_count *c)
{
    return c->late && c->waiting > c->late_count;
}

static void write_answer(const struct job_count *c, const char *job, char *text, size_t size)
{
    char head[160];
    snprintf(head, sizeof head, "Job %s, %zu process%s on %zu host%s", job, c->processes, c->processes == 1 ? "" : "es", c->hosts,
             c->hosts == 1 ? "" : "s");
    if (!c->processes)
        snprintf(text, size, "No process of job %s is in this database now.", job);
    else if (!c->judged)
        snprintf(text, size, "%s: what limits them isn't known, their hosts report no limits.", head);
    else if (c->late_count == 1 && is_held_up(c))
        snprintf(text, size, "%s: %zu wait for GPU %s of %s, where %s is limited by %s.", head, c->waiting, c->late->gpu,
                 c->late->host, c->late->process, limit_words(c->late->limit));
    else if (is_held_up(c))
        snprintf(text, size, "%s: %zu wait for %zu others, first of all for GPU %s of %s, where %s is limited by %s.", head,
                 c->waiting, c->late_count, c->late->gpu, c->late->host, c->late->process, limit_words(c->late->limit));
    else if (c->waiting == c->judged)
        snprintf(text, size,
                 "%s: all of them wait, and none shows for whom: for a rank that isn't in this database, or for the "
                 "network between the hosts.",
                 head);
    else if (c->waiting)
        snprintf(text, size, "%s: %zu wait for another rank now.", head, c->waiting);
    else
        snprintf(text, size, "%s: none waits for another.", head);
}

bool fleet_table_job(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v)
{
    static const struct grid_column columns[] = {{"HOST", LEFT, 0},     {"GPU", RIGHT, 0},    {"UTIL", RIGHT, 2},
                                                 {"POWER W", RIGHT, 3}, {"PROCESS", LEFT, 0}, {"LIMIT", LEFT, 0}};
    const struct job_count c = count_job(f, v->job);
    char answer[512];
    write_answer(&c, v->job, answer, sizeof answer);
    page_ink(out, page, INK_STRONG, str_from(answer));
    buf_char(out, '\n');
    if (!c.processes)
        return false;
    AUTO_GRID struct grid g;
    size_t shown = 0, max = v->all ? c.processes : FLEET_ROWS;
    grid_init(&g, columns, ARRAY_LEN(columns));
    /* List the ranks that the others wait for first. */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < f->process_count && shown < max; i++) {
            const struct fleet_process *p = &f->processes[i];
            if (!is_of(p, v->job) || may_be_late(p) != (pass == 0))
                continue;
            char util[NUMBER_SIZE], power[NUMBER_SIZE];
            const char *doing = p->limit == LIMIT_UNJUDGED ? page_dash(page) : limit_doing(p->limit);
            show_percent(util, page, p->util_permille);
            fleet_show_watts(power, page, p->power_mw);
            enum ink ink = is_held_up(&c) && pass == 0 ? INK_WARN : INK_PLAIN;
            const char *cells[] = {p->host, p->gpu, util, power, p->process, doing};
            for (size_t k = 0; k < ARRAY_LEN(cells); k++)
                grid_add(&g, ink, cells[k]);
            shown++;
        }
    grid_write(out, page, &g);
    if (shown < c.processes)
        buf_printf(out, "and %zu more processes; --all shows them\n", c.processes - shown);
    if (is_held_up(&c))
        buf_printf(out, "See what that rank is doing: whirr --host %s why %s\n", c.late->host, c.late->process);
    out->failed |= g.failed;
    return true;
}

struct told_job {
    const struct fleet *f;
    const char *job;
    bool held_up;
    struct job_count c;
    char answer[FLEET_SENTENCE];
};

ANSWER_MAKER(make_waits, struct fleet_process, yes, waits(of));
ANSWER_TEST(is_judged, struct fleet_process, of->limit != LIMIT_UNJUDGED);

static bool make_waited_for(const struct answer_at *at, union answer_value *ret)
{
    ret->yes = ((const struct told_job *)at->context)->held_up && may_be_late(at->record);
    return true;
}

ANSWER_TABLE(rank_answer, struct fleet_process)
{
    FIELD(TEXT, "host", host, NULL);
    FIELD(TEXT, "gpu", gpu, NULL);
    FIELD(TEXT, "name", process, NULL);
    FIELD(NAME, "limit", limit, NULL, NAMES(limit_codes), WHEN(is_judged));
    FIELD(AMOUNT, "limit_percent", limit_permille, NULL, SCALE(0.1), WHEN(is_judged));
    MADE(BOOL, "waits", make_waits, NULL);
    MADE(BOOL, "waited_for", make_waited_for, NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
}

static const void *next_rank(const struct answer_at *at, struct answer_step *step)
{
    const struct told_job *told = at->record;
    while (step->at < told->f->process_count && !is_of(&told->f->processes[step->at], told->job))
        step->at++;
    return step->at < told->f->process_count ? &told->f->processes[step->at++] : NULL;
}

ANSWER_TABLE(job_answer, struct told_job)
{
    FIELD(WORD, "job", job, NULL);
    FIELD(TEXT, "answer", answer, NULL);
    FIELD(INT, "hosts", c.hosts, NULL);
    FIELD(INT, "waiting", c.waiting, NULL);
    EACH(OBJECT, "processes", next_rank, NULL, FIELDS(rank_answer));
}

bool fleet_json_job(struct json_writer *j, const struct fleet *f, const struct fleet_view *v)
{
    struct told_job told = {.f = f, .job = v->job, .c = count_job(f, v->job)};
    told.held_up = is_held_up(&told.c);
    write_answer(&told.c, v->job, told.answer, sizeof told.answer);
    answer_write(j, &job_answer, &told, &told);
    return told.c.processes > 0;
}
