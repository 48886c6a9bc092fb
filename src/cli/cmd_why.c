/* SPDX-License-Identifier: Apache-2.0
 * whirr why: explains the present, a moment or span of the past, a job or a process; and proves one finding.
 */
#include <errno.h>
#include <stdio.h>

#include "answer/answer.h"
#include "ask/answers.h"
#include "ask/history_source.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "cli/command.h"
#include "cli/remedy/remedy_cli.h"
#include "config/findings.h"
#include "config/places.h"
#include "format/json/json.h"
#include "format/process_rows.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "insight/facts/words.h"
#include "insight/verdict/graph.h"
#include "insight/view/why.h"
#include "model/finding_code.h"
#include "past/past_usual.h"
#include "past/question.h"

enum { CPU_TIME_PROCESSES = 3, USES_CPU_PERMILLE = 30, SAMPLE_MS = 1000 };

/* ---- where a program spends its CPU time: sampled here, or by the daemon, which may sample other users' processes ---- */

static bool is_listed(const struct process *const *list, size_t count, const struct process *p)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pid == p->pid)
            return true;
    return false;
}

/* Picks at most CPU_TIME_PROCESSES programs that use a CPU, the most important ones on their GPU. Returns how many. */
static size_t cpu_time_processes(const struct snapshot *now, int only, const struct process *ret[CPU_TIME_PROCESSES])
{
    size_t count = 0;
    for (size_t g = 0; g < now->gpu_count; g++) {
        const struct gpu *gpu = &now->gpus[g];
        if (gpu->simulated || (only != ALL_GPUS && only != (int)g))
            continue;
        for (size_t i = 0; i < gpu->process_count && count < CPU_TIME_PROCESSES; i++) {
            const struct process *p = &gpu->processes[i];
            if (p->visible && reading_or(p->cpu_permille, 0) >= USES_CPU_PERMILLE && !is_listed(ret, count, p))
                ret[count++] = p;
        }
    }
    return count;
}

/* Describes the result for one of them, or how to permit sampling. Samples for `ms`; a daemon takes a second. */
static void cpu_time_words(struct cli *cli, struct session *session, const struct process *p, int64_t ms, char words[ADDRESS_WORDS])
{
    struct address_samples here = {.state = READING_DENIED};
    AUTO_BUF struct buf answer = BUF(64 * 1024);
    char target[64];
    words[0] = '\0';
    if (!cli->host) {
        address_samples_take(&cli->env, p->pid, ms, true, &here);
        address_samples_words(&here, words);
    }
    if (here.state == READING_OK || !session_asks_daemon(session))
        return;
    snprintf(target, sizeof target, "/api/why/cpu?pid=%d", (int)p->pid);
    if (session_get(session, target, &answer) == 200)
        json_cpu_samples_words(buf_view(&answer), words);
}

static void cleanup_why(struct why **why)
{
    why_free(*why);
}

/* Samples for two seconds in which lines a program of this host spends its time. False: `err` says why it could not. */
static bool sample_lines(struct cli *cli, int32_t pid, struct looks *looks, struct program_lines *ret, struct error *err)
{
    const struct lines_request request = {.pid = pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S};
    if (cli->host || lines_take(&cli->env, &request, looks, err) < 0)
        return false;
    looks_judge(looks, ret);
    return true;
}

/* Adds the lines of the rank that others wait for, else of the first program that limits its GPU itself. */
static void add_lines(struct cli *cli, const struct snapshot *now, int only, struct buf *out)
{
    struct looks looks;
    struct program_lines lines;
    struct error err = {0};
    for (int late = 1; late >= 0; late--)
        for (size_t g = 0; g < now->gpu_count; g++)
            for (size_t i = 0; i < now->gpus[g].process_count && (only == ALL_GPUS || only == (int)g); i++) {
                const struct process *p = &now->gpus[g].processes[i];
                if (now->gpus[g].simulated || !p->visible ||
                    !(late ? snapshot_waiting_ranks(now, p) > 0 : limit_side(p->limit.code) == LIMIT_SIDE_HOST) ||
                    !sample_lines(cli, p->pid, &looks, &lines, &err))
                    continue;
                table_late_rank(out, &cli->page, now, p, &lines);
                table_lines(out, &cli->page, p, &lines);
                looks_done(&looks);
                return;
            }
}

/* With -v: adds where programs spend their CPU time, sampled for a second in total. */
static void add_cpu_time(struct cli *cli, struct session *session, const struct snapshot *now, int only, struct buf *out)
{
    const struct process *list[CPU_TIME_PROCESSES];
    size_t count = cpu_time_processes(now, only, list);
    for (size_t i = 0; i < count; i++) {
        char words[ADDRESS_WORDS];
        cpu_time_words(cli, session, list[i], SAMPLE_MS / (int64_t)count, words);
        if (words[0])
            table_cpu_time(out, &cli->page, list[i], words);
    }
}

static int narrow_to_job(const struct snapshot **now, struct why **why, const char *job, struct error *err)
{
    const struct snapshot *part;
    struct why *own;
    int rc = why_of_job(*now, *why, job, &part, &own);
    if (rc < 0)
        return error_set(err, rc,
                         rc == -ENOENT ? "no process of job '%s' is on a GPU of this host; whirr ps --by job lists the jobs"
                                       : "out of memory (job '%s')",
                         job);
    snapshot_unref(*now);
    why_free(*why);
    *now = part;
    *why = own;
    return 0;
}

static int why_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *now = NULL;
    __attribute__((cleanup(cleanup_why))) struct why *why = NULL;
    if (explain_now(cli, session, &now, &why, err) < 0)
        return err->code;
    const char *job = options_value(cli->options, "job", NULL);
    if (job && narrow_to_job(&now, &why, job, err) < 0)
        return err->code;
    int only;
    if (session_choose(cli, &now, &why, &only, err) < 0)
        return err->code;
    cli->status = snapshot_none_readable(now) ? 1 : 0;
    expect_remedies(now, why);
    shown_answer_keep(cli, why, only);
    if (cli->json) {
        json_why(AS_JSON(cli, out), now, why, only);
    } else if (cli->ask.idle) {
        table_idle(out, &cli->page, now, why, only);
    } else {
        table_why(out, &cli->page, now, why, only, "whirr why");
        add_lines(cli, now, only, out);
        if (cli->page.verbose)
            add_cpu_time(cli, session, now, only, out);
    }
    return 0;
}

/* ---- one process ---- */

static int why_process_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *now = sample_watched(session, err);
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    int only, rc = now ? session_only(session, now, &only, err) : err->code;
    if (rc < 0 || (rc = process_rows_find(&rows, now, cli->options->arguments[0], only, err)) < 0)
        return rc;
    char cpu_time[ADDRESS_WORDS] = "";
    for (size_t i = 1; i < rows.count; i++) /* of a job's ranks, the one that the others wait for */
        if (snapshot_waiting_ranks(now, rows.rows[i].process) > 0 && !snapshot_waiting_ranks(now, rows.rows[0].process)) {
            struct process_row late = rows.rows[i];
            rows.rows[i] = rows.rows[0];
            rows.rows[0] = late;
        }
    const struct process *first = rows.rows[0].process;
    struct looks looks;
    struct program_lines lines;
    struct error why = {0};
    /* A process that is not visible may be in another PID namespace: here, its PID may be another program's. */
    bool ours = !rows.rows[0].gpu->simulated && first->visible &&
                (limit_side(first->limit.code) >= LIMIT_SIDE_HOST || snapshot_waiting_ranks(now, first) > 0);
    bool seen = ours && sample_lines(cli, first->pid, &looks, &lines, &why);
    if ((cli->page.verbose || (!cli->json && !seen)) && !rows.rows[0].gpu->simulated &&
        limit_side(first->limit.code) >= LIMIT_SIDE_HOST)
        cpu_time_words(cli, session, first, SAMPLE_MS, cpu_time);
    const struct limits_told told = {cpu_time, seen ? &lines : NULL, why.text};
    if (cli->json)
        json_limits(AS_JSON(cli, out), now, &rows, &told);
    else
        table_limits(out, &cli->page, now, &rows, &told);
    if (seen)
        looks_done(&looks);
    return 0;
}

/* ---- --prove CODE: the rule of a finding, the readings that decide about it, and the nearest one that would change the answer
 * ---- */

/* ---- words ---- */

enum { VALUE_WORDS = 96 };

static const char *value_words(const struct metric_info *m, int64_t value, char out[VALUE_WORDS])
{
    const char *unit = metric_unit(m->json);
    struct text s = {out, VALUE_WORDS, 0};
    switch (m->kind) {
    case KIND_BOOL: snprintf(out, VALUE_WORDS, "%s", value ? "yes" : "no"); break;
    case KIND_PSTATE: snprintf(out, VALUE_WORDS, "P%lld", (long long)value); break;
    case KIND_THROTTLE:
        snprintf(out, VALUE_WORDS, "none");
        for (unsigned i = 0; i < THROTTLE_COUNT; i++)
            if (value & 1 << i)
                text_append(&s, "%s%s", s.len ? ", " : "", throttle_name(i));
        break;
    default:
        snprintf(out, VALUE_WORDS, "%.6g%s%s", (double)value * m->json_scale, unit[0] && unit[0] != '%' ? " " : "", unit);
        break;
    }
    return out;
}

/* "at 84 °C instead of 91 °C it would not be said" */
static void turn_sentence(const struct proof_reading *r, bool said, char *out, size_t size)
{
    char now[VALUE_WORDS], other[VALUE_WORDS];
    if (!r->turns) {
        snprintf(out, size, "without %s it would%s apply", r->info->json, said ? " not" : "");
        return;
    }
    if (r->value.state == READING_OK)
        snprintf(out, size, "with %s at %s instead of %s it would%s apply", r->info->json, value_words(r->info, r->turn, other),
                 value_words(r->info, r->value.value, now), said ? " not" : "");
    else
        snprintf(out, size, "with %s at %s, which is not read, it would%s apply", r->info->json,
                 value_words(r->info, r->turn, other), said ? " not" : "");
}

static void who_words(const struct proof *p, char *out, size_t size)
{
    if (p->gpu_index < 0)
        snprintf(out, size, "the host");
    else
        snprintf(out, size, "GPU %d", p->gpu_index);
}

static void answer_words(const struct proof *p, char *out, size_t size)
{
    char who[24], turn[256] = "";
    who_words(p, who, sizeof who);
    if (p->said && p->by_moment)
        snprintf(out, size, "It applies to %s: %s.", who, p->found.headline);
    else if (p->said)
        snprintf(out, size,
                 "It applies to %s: %s. The readings of this moment alone don't bring it about: it rests on the time before, on "
                 "programs or on the kernel log.",
                 who, p->found.headline);
    else if (p->count)
        turn_sentence(&p->readings[0], false, turn, sizeof turn);
    if (!p->said && p->count)
        snprintf(out, size, "It doesn't apply to %s; %s.", who, turn);
    else if (!p->said)
        snprintf(out, size, "It doesn't apply to %s, and no single reading would change that.", who);
}

/* Lists the possible causes of a finding, or its possible effects, from causes.def. */
static void edges_words(finding_code code, bool causes, struct text *s)
{
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++) {
        finding_code other = (finding_code)i;
        double weight = causes ? graph_weight(NULL, other, code) : graph_weight(NULL, code, other);
        if (weight > 0)
            text_append(s, "%s%s", s->len ? ", " : "", finding_code_name(other));
    }
}

/* ---- output ---- */

struct proof_shown {
    const struct proof *proof;
    const struct snapshot *now;
    struct wall asked; /* when it was asked: the end of the age of readings */
};

static void line(struct buf *out, const struct page *page, const char *label, const char *text)
{
    char padded[16];
    snprintf(padded, sizeof padded, "  %-9s ", label);
    page_ink(out, page, INK_LABEL, str_from(padded));
    page_wrap(out, page, INK_PLAIN, text, 12, 12);
}

static int64_t sample_age(const struct proof_shown *w)
{
    return MAX_OF(w->asked.ms - w->now->taken_at.ms, (int64_t)0);
}

static void readings_table(struct buf *out, const struct page *page, const struct proof_shown *w)
{
    const struct proof *p = w->proof;
    static const struct grid_column columns[] = {
        {"READING", LEFT, 0}, {"VALUE", RIGHT, 0}, {"AGE", RIGHT, 0}, {"TURNS AT", RIGHT, 0}, {"WITHOUT IT", LEFT, 1}};
    AUTO_GRID struct grid g;
    char value[VALUE_WORDS], turn[VALUE_WORDS], name[96], age[WORDS_SIZE];
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < p->count; i++) {
        const struct proof_reading *r = &p->readings[i];
        bool read = r->value.state == READING_OK;
        snprintf(name, sizeof name, "%s%s", r->of_host ? "host." : "", r->info->json);
        grid_add(&g, INK_PLAIN, name);
        grid_add(&g, read ? INK_STRONG : INK_FAINT,
                 read ? value_words(r->info, r->value.value, value) : words_absent(r->value.state));
        grid_add(&g, INK_FAINT, read ? words_duration(sample_age(w) + r->age_ms, age) : "");
        grid_add(&g, INK_PLAIN, r->turns ? value_words(r->info, r->turn, turn) : page_dash(page));
        grid_add(&g, INK_FAINT,
                 p->together  ? "the same, as long as there is another"
                 : !r->needed ? "the same"
                 : p->said    ? "not said"
                              : "said");
    }
    grid_write(out, page, &g);
}

static void prove_table(struct buf *out, const struct page *page, const struct proof_shown *w)
{
    const struct proof *p = w->proof;
    const struct finding_kind *kind = finding_kind(p->code);
    const char *reference = finding_reference(p->code);
    char text[1024];
    answer_words(p, text, sizeof text);
    page_wrap(out, page, INK_STRONG, text, 0, 0);
    snprintf(text, sizeof text, "%s: %s", kind->code, kind->title);
    line(out, page, "Rule", text);
    snprintf(text, sizeof text, "%s, %s; an alert once it holds for %llds%s%s", finding_area_name(kind->area),
             severity_text(kind->severity), (long long)(kind->hold_ms / MS_PER_S), reference ? "; compared with: " : "",
             reference ? reference : "");
    if (kind->severity == SEVERITY_INFO && !kind->hold_ms)
        snprintf(text, sizeof text, "%s, information, never an alert", finding_area_name(kind->area));
    line(out, page, "", text);
    struct text s = TEXT(text);
    text[0] = '\0';
    edges_words(p->code, true, &s);
    if (s.len)
        line(out, page, "Causes", text);
    s = TEXT(text);
    text[0] = '\0';
    edges_words(p->code, false, &s);
    if (s.len)
        line(out, page, "Effects", text);
    if (p->together)
        line(out, page, "Nearest", "each of these readings alone is enough: it would go away only without all of them");
    else if (p->said && p->count) {
        turn_sentence(&p->readings[0], true, text, sizeof text);
        line(out, page, "Nearest", text);
    }
    line(out, page, "Readings",
         p->count ? "what decides it, the closest first:" : "no reading of a GPU or the host decides about it alone");
    if (p->count)
        readings_table(out, page, w);
}

/* ---- JSON ---- */

struct told_proof {
    const struct proof *p;
    const struct finding_kind *kind;
    const struct snapshot *now;
    int64_t age_ms; /* of the sample */
    char answer[1024];
};

static bool make_value(const struct answer_at *at, union answer_value *ret)
{
    const struct proof_reading *r = at->record;
    ret->real = (double)r->value.value * r->info->json_scale;
    return r->value.state == READING_OK;
}

static bool make_absent(const struct answer_at *at, union answer_value *ret)
{
    const struct proof_reading *r = at->record;
    ret->word = reading_state_name(r->value.state);
    return r->value.state != READING_OK;
}

static bool make_reading_age(const struct answer_at *at, union answer_value *ret)
{
    const struct proof_reading *r = at->record;
    ret->real = (double)(((const struct told_proof *)at->context)->age_ms + r->age_ms) / MS_PER_S;
    return r->value.state == READING_OK;
}

static bool make_turn(const struct answer_at *at, union answer_value *ret)
{
    const struct proof_reading *r = at->record;
    ret->real = (double)r->turn * r->info->json_scale;
    return r->turns;
}

static bool make_sentence(const struct answer_at *at, union answer_value *ret)
{
    turn_sentence(at->record, ((const struct told_proof *)at->context)->p->said, ret->text, sizeof ret->text);
    return true;
}

ANSWER_MAKER(make_name, struct proof_reading, word, of->info->json);
ANSWER_MAKER(make_of, struct proof_reading, word, of->of_host ? "host" : "gpu");

ANSWER_TABLE(reading_answer, struct proof_reading)
{
    MADE(WORD, "name", make_name, NULL);
    MADE(WORD, "of", make_of, NULL);
    MADE(NUMBER, "value", make_value, NULL, OR_NULL);
    MADE(WORD, "absent", make_absent, "Why it is unknown", OR_NULL);
    MADE(NUMBER, "age_seconds", make_reading_age, NULL, OR_NULL);
    FIELD(BOOL, "needed", needed, "Without it, the answer would change");
    MADE(NUMBER, "turns_at", make_turn, "The value at which the answer would change", OR_NULL);
    MADE(TEXT, "text", make_sentence, NULL);
}

ANSWER_MAKER(make_headline, struct proof, word, of->said ? of->found.headline : NULL);
ANSWER_MAKER(make_severity, struct proof, word, of->said ? severity_text(of->found.severity) : NULL);
ANSWER_MAKER(make_likelihood, struct proof, word, of->said ? likelihood_words(of->found.confidence) : NULL);
ANSWER_MAKER(make_reference, struct proof, word, finding_reference(of->code));

ANSWER_TABLE(proof_answer, struct proof)
{
    FIELD(BOOL, "said", said, NULL);
    FIELD(BOOL, "by_this_moment", by_moment, NULL);
    FIELD(BOOL, "only_together", together, NULL);
    FIELD(INT, "gpu_index", gpu_index, "null: the host", NONE(-1));
    MADE(WORD, "headline", make_headline, NULL, OR_NULL);
    MADE(WORD, "severity", make_severity, NULL, OR_NULL);
    MADE(WORD, "likelihood", make_likelihood, NULL, OR_NULL);
    MADE(WORD, "reference", make_reference, NULL, OR_NULL);
}

static const void *next_code(const struct told_proof *told, struct answer_step *step, bool causes)
{
    while (step->at < FINDING_CODE_COUNT) {
        finding_code other = (finding_code)step->at++;
        if ((causes ? graph_weight(NULL, other, told->p->code) : graph_weight(NULL, told->p->code, other)) > 0)
            return finding_code_name(other);
    }
    return NULL;
}

static const void *next_cause(const struct answer_at *at, struct answer_step *step)
{
    return next_code(at->record, step, true);
}

static const void *next_effect(const struct answer_at *at, struct answer_step *step)
{
    return next_code(at->record, step, false);
}

static const void *next_reading(const struct answer_at *at, struct answer_step *step)
{
    const struct proof *p = ((const struct told_proof *)at->record)->p;
    return step->at < p->count ? &p->readings[step->at++] : NULL;
}

ANSWER_MAKER(make_code, struct told_proof, word, of->kind->code);
ANSWER_MAKER(make_meaning, struct told_proof, word, of->kind->title);
ANSWER_MAKER(make_area, struct told_proof, word, finding_area_name(of->kind->area));
ANSWER_MAKER(make_hold, struct told_proof, real, (double)of->kind->hold_ms / MS_PER_S);
ANSWER_MAKER(make_at, struct told_proof, at, of->now->taken_at);

ANSWER_TABLE(prove_answer, struct told_proof)
{
    MADE(WORD, "code", make_code, NULL);
    FIELD(TEXT, "answer", answer, NULL);
    VIA(KEYS, NULL, p, proof_answer, NULL);
    MADE(WORD, "meaning", make_meaning, NULL);
    MADE(WORD, "area", make_area, NULL);
    MADE(NUMBER, "holds_seconds", make_hold, NULL);
    EACH(TEXT, "causes", next_cause, NULL);
    EACH(TEXT, "effects", next_effect, NULL);
    MADE(MOMENT, "timestamp", make_at, NULL);
    FIELD(AMOUNT, "age_seconds", age_ms, NULL, SCALE(1e-3));
    EACH(OBJECT, "readings", next_reading, NULL, FIELDS(reading_answer));
}

static void prove_json(struct json_writer *j, const struct proof_shown *w)
{
    struct told_proof told = {.p = w->proof, .kind = finding_kind(w->proof->code), .now = w->now, .age_ms = sample_age(w)};
    answer_words(w->proof, told.answer, sizeof told.answer);
    answer_write(j, &prove_answer, &told, &told);
}

/* ---- now, or at a stored moment ---- */

static int prove_into(struct cli *cli, const struct proof_shown *w, struct buf *out)
{
    cli->status = w->proof->said ? 0 : 1;
    if (cli->json)
        prove_json(AS_JSON(cli, out), w);
    else
        prove_table(out, &cli->page, w);
    return 0;
}

static int prove_now(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *now = sample_watched(session, err);
    finding_code code;
    struct proof proof;
    int only, rc = now ? session_only(session, now, &only, err) : err->code;
    if (rc < 0)
        return rc;
    finding_code_from_name(options_value(cli->options, "prove", ""), &code);
    rc = proof_make(now, &(struct judge_basis){0}, only, code, &proof);
    if (rc < 0)
        return error_set(err, rc, "out of memory");
    return prove_into(cli, &(struct proof_shown){&proof, now, clock_wall(cli->env.clock)}, out);
}

static int prove_stored(struct cli *cli, struct store *s, struct past_question *q, finding_code code, struct buf *out,
                        struct error *err)
{
    char host[HOST_NAME_SIZE];
    struct recent recent = {0};
    AUTO_FREE struct baselines *usual = NULL;
    struct snapshot *made = NULL;
    enum level level;
    struct proof proof;
    int rc = told_host(s, q->host[0] ? q->host : NULL, q->own_host, host, err);
    if (rc == 0)
        rc = store_past(s, host, q->at, 0, &made, &recent, &level, err);
    if (rc < 0)
        return rc;
    AUTO_SNAPSHOT const struct snapshot *then = made;
    rc = past_usual(s, host, q->at, &usual, err);
    int only = q->gpu[0] ? snapshot_find_gpu(then, q->gpu) : ALL_GPUS;
    if (rc == 0 && q->gpu[0] && only < 0)
        rc = error_set(err, -ENODEV, "there was no GPU '%s' then", q->gpu);
    if (rc == 0)
        rc = proof_make(then, &(struct judge_basis){.past = &recent, .usual = usual, .over = true}, only, code, &proof);
    recent_done(&recent);
    if (rc < 0)
        return err->text[0] ? rc : error_set(err, rc, "out of memory");
    return prove_into(cli, &(struct proof_shown){&proof, then, q->at}, out);
}

static int prove_then(struct cli *cli, finding_code code)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct past_question q;
    struct error err = {0};
    struct store *s = NULL;
    if (options_has(cli->options, "source") || options_has(cli->options, "sysroot"))
        return cli_usage(cli, "the past comes from the history, not from a source; for another history: --store");
    if (cli->host)
        return cli_usage(cli, "--prove with --at reads the history itself: run it on that host");
    int rc = past_question_read(&q, options_parameter, cli->options, clock_wall(cli->env.clock), MOMENT_LOCAL, &err);
    if (rc < 0)
        return cli_usage(cli, "--%s", err.text);
    history_own_host(cli->settings, q.own_host);
    rc = history_open(cli, cli->settings, &s, &err);
    if (rc == 0)
        rc = prove_stored(cli, s, &q, code, &out, &err);
    store_close(s);
    if (rc < 0)
        return cli_fail("%s", err.text);
    if (cli->json)
        buf_char(&out, '\n');
    rc = show_text(&out);
    return rc ? rc : cli->status;
}

/* Exit status: 0 the finding applies, 1 it does not, or it failed; 2 there is no such code. */
static int why_prove(struct cli *cli, const char *name)
{
    finding_code code;
    struct nearest near;
    char meant[NEAREST_SIZE + 24];
    nearest_init(&near, name);
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++)
        nearest_try(&near, finding_code_name((finding_code)i));
    if (!finding_code_from_name(name, &code))
        return cli_usage(cli, "there is no finding '%s'%s", name,
                         nearest_found(&near) ? nearest_text(&near, meant, sizeof meant) : "; `whirr why --codes` lists all");
    return options_has(cli->options, "at") ? prove_then(cli, code) : show(cli, prove_now);
}

/* ---- the command ---- */

static int show_codes(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct finding_settings settings = {0};
    if (cli->settings)
        config_findings(cli->settings, &settings);
    if (cli->json)
        json_finding_codes(AS_JSON_LINE(cli, &out), &settings);
    else
        table_finding_codes(&out, &cli->page, &settings);
    return show_text(&out);
}

static int why_run(struct cli *cli)
{
    struct past_question q;
    struct error err = {0};
    const struct options *o = cli->options;
    if (options_has(o, "codes"))
        return show_codes(cli);
    if (options_has(o, "try") &&
        (!cli->ask.idle || o->argument_count || options_has(o, "at") || options_has(o, "since") || cli->json))
        return cli_usage(cli, "--try needs --idle: it measures what settings save on an idle GPU");
    if (options_has(o, "try"))
        return remedy_try_idle(cli);
    if (options_has(o, "prove") && (o->argument_count || options_has(o, "since") || options_has(o, "until") ||
                                    options_has(o, "fleet") || options_has(o, "job") || options_has(o, "idle")))
        return cli_usage(cli, "--prove is about one finding at one moment: it only takes --gpu and --at");
    if (options_has(o, "prove"))
        return why_prove(cli, options_value(o, "prove", ""));
    if (options_has(o, "fleet") && o->argument_count)
        return cli_usage(cli, "a process is explained on its own host; whirr ps --fleet shows where it runs");
    if (options_has(o, "fleet"))
        return fleet_run(cli, options_has(o, "job") ? FLEET_JOB : FLEET_WHY);
    if (!options_has(o, "at") && !options_has(o, "since") && !options_has(o, "until")) {
        const char *host = options_value(o, "host", NULL);
        if (host)
            return cli_usage(cli, "--of is a host of the history and needs --at or --since; to ask that host: whirr --host %s why",
                             host);
        if (options_has(o, "store"))
            return cli_usage(cli, "--store needs --at or --since");
        return show(cli, o->argument_count ? why_process_render : why_render);
    }
    if (o->argument_count)
        return cli_usage(cli, "a process can't be combined with --at or --since; the history names the processes of each time");
    if (options_has(o, "watch") || options_has(o, "idle"))
        return cli_usage(cli, "--%s can't be combined with --at or --since", options_has(o, "watch") ? "watch" : "idle");
    if (options_has(o, "job"))
        return cli_usage(cli, "--job can't be combined with --at or --since");
    if (options_has(o, "source") || options_has(o, "sysroot"))
        return cli_usage(cli, "the past comes from the history, not from a source; for another history: --store");
    int rc = past_question_read(&q, options_parameter, cli->options, clock_wall(cli->env.clock), MOMENT_LOCAL, &err);
    return rc < 0 ? cli_usage(cli, "--%s", err.text) : past_show(cli, &q, NULL);
}

static const struct option_spec options[] = {
    {.name = "idle", .help = "List what keeps each GPU from idling, and who has it open; wakes no GPU"},
    {.name = "try", .help = "With --idle: measure what settings save on an idle GPU, and take them back"},
    {.name = "measure", .argument = "DURATION", .help = "With --try: measure each for this long (default: 20s)"},
    {.name = "yes", .letter = 'y', .help = "With --try: don't ask"},
    {OPTION_DRY_RUN},
    {.name = "job",
     .argument = "ID",
     .help = "Explain only this job: a Slurm job, a run of torchrun, a pod; with --fleet, over all its hosts"},
    {.name = "prove",
     .argument = "CODE",
     .help = "Show the rule of this finding, the readings that decide, and the nearest one that would change the answer"},
    {.name = "forecast", .help = "Show when memory will be full and when a GPU will throttle"},
    {.name = "codes", .help = "List every code of a finding with its severity and meaning"},
    {.name = "at",
     .argument = "TIME",
     .help = "Explain this moment of the past: \"03:10\" (the most recent), -2h, 2026-11-14T03:10"},
    {.name = "since", .argument = "TIME", .help = "Explain what happened since then, most important first"},
    {.name = "until", .argument = "TIME", .help = "With --since: up to then instead of now"},
    {OPTION_STORED_HOST},
    {OPTION_STORE},
    {FLEET_OPTION},
    {FLEET_OPTION_ALL},
    {OPTION_WATCH},
};

const struct command command_why = {
    .exits = "0 fine, even without a GPU; 1 it failed, there are GPUs and none of them can be read, or the finding of --prove "
             "doesn't apply; 2 wrong usage or configuration.",
    .name = "why",
    .group = HELP_EXPLAIN,
    .summary = "Explain why a GPU is loud, hot, slow or busy",
    .details =
        "Compares fan, temperature, power, clocks, utilization and processes with each other and with the GPU's own limits. "
        "If the driver doesn't keep the last seconds itself, it samples for about one second.\n\nWith a PID, or a part of a "
        "program's name, it says what limits that program: its GPU, copies, its own threads and "
        "loaders, disks, a CPU quota, other programs.\n\nWith --at and --since it "
        "answers from the history that `whirr serve` keeps: "
        "who was using the GPU then, and what happened as a result. Times without a zone are in this host's time zone. If "
        "only summaries are left, or nothing was stored, the answer says so.\n\nWith --idle it checks what can keep a GPU from "
        "idling: "
        "displays, a pinned memory clock, compute contexts, loaded models, browsers, video decode, other monitors, PCIe power "
        "saving, runtime power management, persistence mode. `whirr why` does the same for a GPU that draws more than it "
        "usually does when idle. What other users' programs have open is visible to root or an administrator only.\n\nWith --prove "
        "CODE the judgment is repeated with each reading changed in turn: which readings decide this finding, and at what value "
        "the answer would change. With --at it reads the history itself.",
    .arguments = "[PID|NAME]",
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr why", "why is the fan loud, why is it hot, why is it slow"},
                 {"whirr why train.py", "what limits this program, and what to do (also by PID)"},
                 {"whirr why --at 03:10", "why was it loud at ten past three last night"}},
    .gpus = true,
    .remote = true,
    .run = why_run,
};
