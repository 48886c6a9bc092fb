/* SPDX-License-Identifier: Apache-2.0
 * whirr alert test: chooses a rule or a condition, and what to try it on: the present, a simulated host, a recording or the
 * history.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/answers.h"
#include "ask/history_source.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/alert/alert.h"
#include "cli/cli_show.h"
#include "config/findings.h"
#include "config/places.h"
#include "format/alert_forms.h"
#include "format/json/json.h"
#include "format/table/grid.h"
#include "insight/verdict/judge.h"
#include "past/question.h"
#include "source/source.h"
#include "store/query.h"

enum { DURATION_MS = 10 * 60 * 1000, INTERVAL_MS = 5000, OUT_MAX = 64 << 20 };

/* ---- choosing rules ---- */

static int read_condition(const char *text, struct alert_rule *rule)
{
    struct expr_error err;
    int result = expr_parse(str_from(text), &rule->when, &err);
    if (result == 0) {
        str_copy(rule->name, sizeof rule->name, STR("condition"));
        rule->scope = expr_scope(rule->when);
        rule->enabled = true;
        rule->severity = SEVERITY_WARNING;
        rule->help = "";
        rule->summary = strdup("");
        return rule->summary ? EXIT_FINE : cli_fail("out of memory");
    }
    if (result == -ENOMEM)
        return cli_fail("out of memory");
    AUTO_BUF struct buf excerpt = BUF(4096);
    expr_caret(&excerpt, str_from(text), &err, 4);
    cli_fail("column %d: %s", err.column, err.text);
    fputs(buf_view(&excerpt).at, stderr);
    return EXIT_FAILED;
}

static bool is_a_word(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static int no_such_rule(const struct alert_rules *rules, const char *name)
{
    struct nearest n;
    const char *old;
    nearest_init(&n, name);
    for (size_t i = 0; i < rules->count; i++)
        nearest_try(&n, rules->list[i].name);
    for (size_t i = 0; (old = config_old_alert(i)); i++)
        nearest_try(&n, old);
    const char *near = nearest_found(&n);
    return near ? cli_fail("unknown rule '%s'; did you mean '%s'?", name, near)
                : cli_fail("unknown rule '%s'; `whirr alert rules` lists them", name);
}

static bool is_meant(const struct alert_rule *rule, const char *name)
{
    return strcmp(rule->name, name) == 0 || (rule_is_finding(rule) && config_names_finding(name, rule->finding));
}

/* Keeps only the rules with this name and frees the others; an older name may stand for several. */
static void keep_named(struct alert_rules *rules, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct alert_rule rule = rules->list[i];
        if (is_meant(&rule, name)) {
            rule.enabled = true;
            rules->list[kept++] = rule;
            continue;
        }
        expr_free(rule.when);
        expr_free(rule.clear);
        free(rule.summary);
    }
    rules->count = kept;
}

static int choose(struct cli *cli, struct alert_rules *rules, const char *what)
{
    const char *hold = options_value(cli->options, "for", NULL);
    int64_t hold_ms = 0;
    if (hold && !duration_parse(str_from(hold), &hold_ms))
        return cli_usage(cli, "--for needs " DURATION_SYNTAX);
    if (!what)
        return hold ? cli_usage(cli, "--for needs a rule or a condition") : EXIT_FINE;
    struct alert_rule only = {0};
    bool found = false;
    for (size_t i = 0; i < rules->count; i++)
        found |= is_meant(&rules->list[i], what);
    if (!found && is_a_word(what))
        return no_such_rule(rules, what);
    int status = found ? EXIT_FINE : read_condition(what, &only);
    if (status != EXIT_FINE) {
        free(only.summary);
        return status;
    }
    keep_named(rules, what);
    if (!found)
        rules->list[rules->count++] = only;
    for (size_t i = 0; hold && i < rules->count; i++)
        rules->list[i].hold_ms = hold_ms;
    return EXIT_FINE;
}

/* ---- on the present: does it hold, and which inputs are missing if that is unknown? ---- */

struct rule_check {
    struct cli *cli;
    struct buf *out;
    struct json_writer *json;
    const struct alert_rules *rules;
    const struct snapshot *snapshot;
    const struct alert_rule *rule;
    bool single; /* also report what does not hold */
    int only;    /* position of the GPU of --gpu, or ALL_GPUS */
    size_t holds, unknown;
};

/* Names without a known value, or inputs that were not read: the reason for "unknown". */
static void list_unknown(struct buf *out, const struct alert_rule *rule, const struct subject *s)
{
    const struct alert_name *name;
    if (rule_is_finding(rule)) {
        const struct gpu_looked *l = s->gpu ? verdict_looked(s->snapshot->verdict, s->gpu->index) : NULL;
        if (rule_holds(rule, s) == TRUTH_UNKNOWN)
            buf_text(out, l && l->missing[0] ? l->missing : "the GPU can't be read");
        return;
    }
    for (size_t i = 0; (name = expr_name(rule->when, i)); i++) {
        if (name_read(name, s).type != VALUE_UNKNOWN)
            continue;
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = strcmp(expr_name(rule->when, k)->text, name->text) == 0;
        if (!again)
            buf_printf(out, "%s%s", out->len ? ", " : "", name->text);
    }
}

static void who(struct buf *out, const struct subject *s)
{
    char words[PROCESS_WORDS];
    if (s->process)
        buf_printf(out, "%s on ", process_words(s->process, SHORT_NAME | WITH_PID, words));
    if (s->gpu)
        buf_printf(out, "GPU %d%s%s%s", s->gpu->index, s->gpu->id.name[0] ? " (" : "", s->gpu->id.name,
                   s->gpu->id.name[0] ? ")" : "");
    else
        buf_text(out, s->snapshot->host.name);
}

static void print_subject(struct rule_check *l, const struct subject *s, enum truth truth)
{
    static const char *const words[] = {"does not hold", "holds", "unknown"};
    static const enum ink inks[] = {INK_FAINT, INK_WARN, INK_FAINT};
    char hold[WORDS_SIZE];
    const struct alert_name *name = NULL;
    double value;
    const struct finding *f =
        rule_is_finding(l->rule) ? verdict_find(s->snapshot->verdict, s->gpu ? s->gpu->index : -1, l->rule->finding) : NULL;
    buf_text(l->out, "  ");
    page_ink(l->out, &l->cli->page, inks[truth], str_from(words[truth]));
    buf_text(l->out, "  ");
    who(l->out, s);
    if (truth == TRUTH_UNKNOWN) {
        AUTO_BUF struct buf missing = BUF(4096);
        list_unknown(&missing, l->rule, s);
        buf_printf(l->out, ": not known: %s", buf_view(&missing).at);
    } else if (f) {
        buf_printf(l->out, ": %s", f->headline);
    } else if (!rule_is_finding(l->rule) && expr_value(l->rule->when, s, &name, &value)) {
        buf_printf(l->out, ": %s is ", name->text);
        unit_format(l->out, value, name->unit);
    }
    words_duration(l->rule->hold_ms, hold);
    if (truth == TRUTH_TRUE)
        buf_printf(l->out, l->rule->hold_ms ? "; fires if it does for %s" : "; fires", hold);
    buf_char(l->out, '\n');
}

struct told_subject {
    const char *rule;
    int gpu_index;
    int32_t pid;
    enum truth truth;
    double value;
    bool has_value;
    struct str missing; /* "fan_rpm, link_width" */
};

static const char *truth_name(enum truth truth)
{
    static const char *const words[] = {"false", "true", "unknown"};
    return words[truth];
}
ANSWER_NAMES(truths, enum truth, truth_name, 0, TRUTH_UNKNOWN);

static const void *next_missing(const struct answer_at *at, struct answer_step *step)
{
    struct str rest = ((const struct told_subject *)at->record)->missing, one;
    for (size_t i = 0; str_cut(&rest, ',', &one); i++)
        if (i == step->at) {
            step->at++;
            step->item.text = str_trim(one);
            return &step->item;
        }
    return NULL;
}

ANSWER_TABLE(subject_answer, struct told_subject)
{
    FIELD(WORD, "alert", rule, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL, NONE(-1));
    FIELD(INT, "pid", pid, NULL, OR_NULL);
    FIELD(NAME, "condition", truth, NULL, NAMES(truths));
    FIELD(NUMBER, "value", value, "The number that decided", PRESENT(has_value));
    EACH(PIECE, "not_known", next_missing, "Why it is unknown whether it holds");
}

static void write_subject(struct rule_check *l, const struct subject *s, enum truth truth)
{
    AUTO_BUF struct buf missing = BUF(4096);
    struct told_subject told = {
        .rule = l->rule->name, .gpu_index = s->gpu ? s->gpu->index : -1, .pid = s->process ? s->process->pid : 0, .truth = truth};
    told.has_value = !rule_is_finding(l->rule) && expr_value(l->rule->when, s, NULL, &told.value);
    list_unknown(&missing, l->rule, s);
    told.missing = buf_view(&missing);
    answer_write(l->json, &subject_answer, &told, NULL);
}

static void now_judge(struct rule_check *l, const struct subject *s)
{
    enum truth truth = rule_holds(l->rule, s);
    l->holds += truth == TRUTH_TRUE;
    l->unknown += truth == TRUTH_UNKNOWN;
    if (!l->single && truth != TRUTH_TRUE)
        return;
    if (l->cli->json)
        write_subject(l, s, truth);
    else
        print_subject(l, s, truth);
}

static void judge_rule(struct rule_check *l, const struct snapshot *s)
{
    struct subject subject = {.snapshot = s};
    if (l->rule->scope == SCOPE_HOST)
        now_judge(l, &subject);
    for (size_t i = 0; l->rule->scope != SCOPE_HOST && i < s->gpu_count; i++) {
        if (l->only != ALL_GPUS && (int)i != l->only)
            continue;
        subject.gpu = &s->gpus[i];
        subject.process = NULL;
        if (l->rule->scope == SCOPE_GPU)
            now_judge(l, &subject);
        for (size_t k = 0; l->rule->scope == SCOPE_PROCESS && k < s->gpus[i].process_count; k++) {
            subject.process = &s->gpus[i].processes[k];
            now_judge(l, &subject);
        }
    }
}

static void judge_all(struct rule_check *l)
{
    const struct alert_rules *rules = l->rules;
    size_t held = 0, unknown = 0;
    for (size_t i = 0; i < rules->count; i++) {
        l->rule = &rules->list[i];
        l->holds = l->unknown = 0;
        if (!l->rule->enabled)
            continue;
        size_t before = l->out->len;
        if (!l->cli->json) {
            page_ink(l->out, &l->cli->page, INK_STRONG, str_from(l->rule->name));
            buf_printf(l->out, "  %s\n", rule_is_finding(l->rule) ? l->rule->help : expr_text(l->rule->when));
        }
        judge_rule(l, l->snapshot);
        if (!l->cli->json && !l->single && !l->holds)
            l->out->len = before; /* list only those that hold */
        held += l->holds > 0;
        unknown += !l->holds && l->unknown > 0;
    }
    if (!l->cli->json && !l->single)
        buf_printf(l->out, "%zu of %zu rules hold now; %zu can't be evaluated.\n", held, rules->count, unknown);
}

static void write_rules(const struct answer_at *at, struct json_writer *j)
{
    struct rule_check *l = at->context;
    l->json = j;
    jw_array(j);
    judge_all(l);
    jw_end(j);
}

ANSWER_TABLE(now_answer, struct rule_check)
{
    WRITER(LIST, "rules", write_rules, NULL, .item = ANSWER_OBJECT, FIELDS(subject_answer));
}

static int alert_now(struct cli *cli, const struct alert_rules *rules)
{
    AUTO_BUF struct buf out = BUF(16 << 20);
    struct error err = {0};
    struct session *session = session_open(cli, &err);
    AUTO_SNAPSHOT const struct snapshot *s = session ? session_sample(session, GROUP_ALL, &err) : NULL;
    int status = EXIT_FINE, only = ALL_GPUS;
    if (s && session_only(session, s, &only, &err) < 0)
        snapshot_unref(TAKE(s));
    if (!s) {
        status = cli_error(cli, &err);
    } else {
        struct rule_check l = {.cli = cli, .out = &out, .rules = rules, .snapshot = s, .single = rules->count == 1, .only = only};
        if (!cli->json)
            judge_all(&l);
        if (!cli->json && s->gpu_count == 0 && out.len == 0)
            buf_text(&out, "No GPU.\n");
        status = cli->json ? show_answer(cli, &now_answer, &l) : show_text(&out);
    }
    session_close(session);
    return status;
}

/* ---- on a course of samples, as the daemon would ---- */

enum { TRIAL_EVENTS_MAX = 10000 };

struct trial_event {
    struct wall from, to; /* to.ms 0: still firing at the end */
    struct alert alert;   /* a copy from when it fired */
};

struct trial {
    struct alert_set set;
    struct judge *judge;
    const char *which; /* --gpu: report only alerts of this one; NULL: all */
    int only;          /* its index; -1: not found */
    struct wall first, last;
    size_t samples, pending;
    size_t truths[3]; /* results of a single rule's condition, for every subject and sample */
    struct trial_event *events;
    size_t count, capacity, left_out;
    bool simulated;
    bool failed; /* out of memory */
};

static bool trial_init(struct trial *t, const struct alert_rules *rules, const struct config *config)
{
    struct finding_settings settings;
    *t = (struct trial){.judge = judge_new()};
    alert_set_init(&t->set, rules);
    config_findings(config, &settings);
    if (t->judge)
        judge_set_settings(t->judge, &settings);
    return t->judge;
}

static void trial_done(struct trial *t)
{
    alert_set_done(&t->set);
    judge_free(t->judge);
    free(t->events);
}

/* ---- the course ---- */

static void add_event(struct trial *t, const struct alert *a)
{
    if (t->count == TRIAL_EVENTS_MAX) {
        t->left_out++;
        return;
    }
    if (!ROOM_FOR_ONE(t->events, t->count, t->capacity, 16)) {
        t->failed = true;
        return;
    }
    t->events[t->count++] = (struct trial_event){.from = a->state.started_at, .alert = *a};
}

static bool same_alert(const struct alert *a, const struct alert *b)
{
    return strcmp(a->rule, b->rule) == 0 && a->gpu_index == b->gpu_index && a->pid == b->pid && a->start_key == b->start_key;
}

static void on_news(void *user, enum alert_news news, const struct alert_rule *rule, struct alert *a)
{
    struct trial *t = user;
    (void)rule;
    if (t->which && (a->gpu_index < 0 || a->gpu_index != t->only))
        return;
    if (news == NEWS_FIRED)
        add_event(t, a);
    else if (news == NEWS_CALMED)
        t->pending++;
    for (size_t i = t->count; news == NEWS_RESOLVED && i-- > 0;)
        if (!t->events[i].to.ms && same_alert(&t->events[i].alert, a)) {
            t->events[i].to = a->state.ended_at;
            break;
        }
}

static void count_truths(struct trial *t, const struct snapshot *s)
{
    const struct alert_rule *rule = &t->set.rules->list[0];
    struct subject subject = {.snapshot = s};
    if (t->set.rules->count != 1)
        return;
    if (rule->scope == SCOPE_HOST)
        t->truths[rule_holds(rule, &subject)]++;
    for (size_t i = 0; rule->scope != SCOPE_HOST && i < s->gpu_count; i++) {
        if (t->which && s->gpus[i].index != t->only)
            continue;
        subject.gpu = &s->gpus[i];
        if (rule->scope == SCOPE_GPU)
            t->truths[rule_holds(rule, &subject)]++;
        for (size_t k = 0; rule->scope == SCOPE_PROCESS && k < s->gpus[i].process_count; k++) {
            subject.process = &s->gpus[i].processes[k];
            t->truths[rule_holds(rule, &subject)]++;
        }
    }
}

static void trial_see(void *trial, const struct snapshot *s)
{
    struct trial *t = trial;
    int at = t->which ? snapshot_find_gpu(s, t->which) : -1;
    if (t->which && !t->samples)
        t->only = -1;
    if (at >= 0)
        t->only = s->gpus[at].index;
    struct snapshot *judged = snapshot_copy(s);
    if (judged) {
        verdict_free(TAKE(judged->verdict));
        judge_take(t->judge, judged);
        alert_set_step(&t->set, judged, NULL, on_news, t);
        count_truths(t, judged);
    }
    t->failed |= !judged;
    snapshot_unref(judged);
    if (!t->samples++)
        t->first = s->taken_at;
    t->last = s->taken_at;
    t->simulated |= s->gpu_count && s->gpus[0].simulated;
}

/* ---- the result ---- */

static void subject_text(char *text, size_t size, const struct alert *a)
{
    if (a->pid)
        snprintf(text, size, "GPU %d, pid %d", a->gpu_index, (int)a->pid);
    else if (a->gpu_index >= 0)
        snprintf(text, size, "GPU %d", a->gpu_index);
    else
        snprintf(text, size, "%s", a->host[0] ? a->host : "host");
}

static void moment_text(char text[MOMENT_TEXT_SIZE], const struct page *page, const struct trial *t, struct wall at,
                        bool from_start)
{
    char age[NUMBER_SIZE];
    if (!from_start) {
        moment_format(at, page->now, text);
        return;
    }
    show_age(age, page, at.ms - t->first.ms);
    snprintf(text, MOMENT_TEXT_SIZE, "+%s", age);
}

static void events_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start)
{
    static const struct grid_column columns[] = {{"FROM", LEFT, 0},     {"LASTS", RIGHT, 0}, {"RULE", LEFT, 0},
                                                 {"SEVERITY", LEFT, 2}, {"OF", LEFT, 0},     {"SUMMARY", LEFT, 1}};
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < t->count; i++) {
        const struct trial_event *e = &t->events[i];
        char from[MOMENT_TEXT_SIZE], lasts[NUMBER_SIZE], of[96];
        moment_text(from, page, t, e->from, from_start);
        show_age(lasts, page, (e->to.ms ? e->to.ms : t->last.ms) - e->from.ms);
        if (!e->to.ms)
            str_copy(lasts + strlen(lasts), sizeof lasts - strlen(lasts), STR("+"));
        subject_text(of, sizeof of, &e->alert);
        grid_add(&g, INK_PLAIN, from);
        grid_add(&g, INK_PLAIN, lasts);
        grid_add(&g, INK_STRONG, e->alert.rule);
        grid_add(&g, INK_PLAIN, severity_text(e->alert.severity));
        grid_add(&g, INK_PLAIN, of);
        grid_add(&g, INK_PLAIN, e->alert.summary);
    }
    if (t->count)
        grid_write(out, page, &g);
}

/* `from_start` shows times relative to the first sample, as for a simulated host. */
static void trial_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start)
{
    char length[NUMBER_SIZE];
    if (!t->samples) {
        buf_text(out, "No samples.\n");
        return;
    }
    page_simulated_line(out, page, t->simulated);
    show_age(length, page, t->last.ms - t->first.ms);
    events_text(out, page, t, from_start);
    buf_printf(out, "%zu sample%s over %s: ", t->samples, t->samples == 1 ? "" : "s", length);
    if (t->count)
        buf_printf(out, "would have fired %zu time%s", t->count + t->left_out, t->count + t->left_out == 1 ? "" : "s");
    else
        buf_text(out, "nothing would have fired");
    if (t->pending)
        buf_printf(out, ", %zu time%s the condition did not hold for long enough", t->pending, t->pending == 1 ? "" : "s");
    buf_text(out, ".\n");
    if (t->set.rules->count == 1 && t->truths[TRUTH_UNKNOWN])
        buf_printf(out, "The condition could not be evaluated %zu of %zu times: a reading that it uses is missing there.\n",
                   t->truths[TRUTH_UNKNOWN], t->truths[0] + t->truths[1] + t->truths[2]);
}

static const void *next_alert(const struct answer_at *at, struct answer_step *step)
{
    const struct trial *t = at->record;
    struct alert *shown = at->context;
    if (step->at == t->count)
        return NULL;
    const struct trial_event *e = &t->events[step->at++];
    *shown = e->alert;
    if (e->to.ms) {
        shown->state.phase = ALERT_RESOLVED;
        shown->state.ended_at = e->to;
    }
    return shown;
}

ANSWER_TEST(has_condition, struct trial, of->set.rules->count == 1);
ANSWER_MAKER(make_fired, struct trial, number, (int64_t)(of->count + of->left_out));

ANSWER_TABLE(truths_answer, struct trial)
{
    FIELD(INT, "true", truths[TRUTH_TRUE], NULL);
    FIELD(INT, "false", truths[TRUTH_FALSE], NULL);
    FIELD(INT, "unknown", truths[TRUTH_UNKNOWN], NULL);
}

ANSWER_TABLE(trial_answer, struct trial)
{
    FIELD(MOMENT, "since", first, NULL, OR_NULL);
    FIELD(MOMENT, "until", last, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(INT, "samples", samples, NULL);
    MADE(INT, "fired", make_fired, NULL);
    FIELD(INT, "too_short", pending, NULL);
    PART("condition", truths_answer, "Of a single rule", WHEN(has_condition), MAYBE);
    EACH(OBJECT, "alerts", next_alert, NULL, FIELDS(alert_answer));
}

static void trial_json(struct json_writer *j, const struct trial *t)
{
    struct alert shown;
    answer_write(j, &trial_answer, t, &shown);
}

/* ---- choosing data ---- */

static const char *only_source(const struct cli *cli)
{
    return options_times(cli->options, "source") == 1 ? options_value(cli->options, "source", NULL) : NULL;
}

static int play(struct cli *cli, struct trial *t, struct error *err)
{
    int64_t duration_ms = DURATION_MS, interval_ms = INTERVAL_MS;
    const char *duration = options_value(cli->options, "duration", NULL);
    if (duration && (!duration_parse(str_from(duration), &duration_ms) || duration_ms > 7 * 86400000LL))
        return error_set(err, -EINVAL, "--duration needs " DURATION_SYNTAX ", up to 7d");
    if (options_seconds(cli->options, "interval", &interval_ms, err))
        return -EINVAL;
    return course_play(&cli->env, only_source(cli), duration_ms, MAX_OF(interval_ms, 1), trial_see, t, err);
}

/* The column for a name; -1: the history does not store it. */
static int column_of(const struct alert_name *name)
{
    if (strcmp(name->text, "memory_used_percent") == 0)
        return series_find(SERIES_GPU, "memory_used_mb");
    if (strcmp(name->text, "slowed_down") == 0)
        return series_find(SERIES_GPU, "throttle_reasons");
    return name->kind == NAME_GPU_METRIC ? series_find(SERIES_GPU, name->text) : -1;
}

/* Adds a column once; ignores a negative one. */
static size_t add_column(int column, size_t *columns, size_t count, size_t max)
{
    for (size_t k = 0; k < count; k++)
        if (columns[k] == (size_t)column)
            return count;
    if (column >= 0 && count < max)
        columns[count++] = (size_t)column;
    return count;
}

static size_t add_columns(const struct expr *e, size_t *columns, size_t count, size_t max)
{
    const struct alert_name *name;
    for (size_t i = 0; e && (name = expr_name(e, i)); i++)
        count = add_column(column_of(name), columns, count, max);
    return count;
}

/* Collects the stored columns that the rules use. A rule about anything else can't be tried on the past. */
static int columns_of(const struct alert_rules *rules, size_t *columns, size_t max, struct error *err)
{
    size_t count = 0;
    const struct alert_rule *only = rules->count == 1 && !rule_is_finding(&rules->list[0]) ? &rules->list[0] : NULL;
    const struct alert_name *first = only ? expr_name(only->when, 0) : NULL;
    for (size_t i = 0; i < rules->count; i++) {
        count = add_columns(rules->list[i].when, columns, count, max);
        count = add_columns(rules->list[i].clear, columns, count, max);
    }
    bool judged = first && first->kind == NAME_GPU_OTHER && first->type != VALUE_TEXT;
    if (only && (only->scope != SCOPE_GPU || (count == 0 && !judged)))
        return error_set(err, -EINVAL, "the history knows nothing about %s", first ? first->text : "that");
    return (int)count;
}

/* A verdict may need any stored column, whatever the rule says: add as many as fit. */
static size_t add_common(size_t *columns, size_t count, size_t max)
{
    for (size_t i = 0; i < series_count(SERIES_GPU) && count < max; i++)
        count = add_column((int)i, columns, count, max);
    return count;
}

static int replay_history(struct cli *cli, const struct config *config, const struct alert_rules *rules, struct trial *t,
                          struct error *err)
{
    struct wall now = clock_wall(cli->env.clock);
    struct question_span span = {.since = {now.ms - HOUR_MS}, .until = now};
    size_t columns[QUERY_COLUMNS_MAX];
    struct store *store = NULL;
    int result = question_read_span(options_parameter, cli->options, now, MOMENT_LOCAL, &span, err);
    if (result < 0)
        return result;
    int count = columns_of(rules, columns, ARRAY_LEN(columns), err);
    if (count < 0)
        return count;
    count = (int)add_common(columns, (size_t)count, ARRAY_LEN(columns));
    result = history_open(cli, config, &store, err);
    if (!result)
        result = course_past(store, NULL, span.since, span.until, columns, (size_t)count, trial_see, t, err);
    store_close(store);
    return result;
}

static int try_course(struct cli *cli, const struct config *config, const struct alert_rules *rules, bool past)
{
    AUTO_BUF struct buf out = BUF(OUT_MAX);
    struct trial t;
    struct error err = {0};
    bool ready = trial_init(&t, rules, config);
    t.which = options_value(cli->options, "gpu", NULL);
    int result = ready ? past ? replay_history(cli, config, rules, &t, &err) : play(cli, &t, &err)
                       : error_set(&err, -ENOMEM, "out of memory");
    int status = EXIT_FINE;
    if (t.which && t.samples && t.only < 0) {
        status = cli_fail("unknown GPU '%s'", t.which);
    } else if (result < 0 && !t.samples) {
        status = cli_error(cli, &err);
    } else {
        if (result < 0)
            fprintf(stderr, "whirr: only part of the history could be read: %s\n", err.text);
        struct json_writer j = JSON_WRITER_PRETTY(&out);
        if (cli->json)
            trial_json(&j, &t);
        else
            trial_text(&out, &cli->page, &t, !past && !source_of_spec(only_source(cli), NULL)->recorded);
        if (cli->json)
            buf_char(&out, '\n');
        status = show_text(&out);
    }
    trial_done(&t);
    return status;
}

int alert_test(struct cli *cli, const char *what)
{
    struct config *config = NULL;
    struct alert_rules *rules = NULL;
    bool past = options_has(cli->options, "since") || options_has(cli->options, "until") || options_has(cli->options, "store");
    bool played = only_source(cli) && course_plays(only_source(cli));
    if (past && options_has(cli->options, "source"))
        return cli_usage(cli, "--since and --source can't be combined: --since reads the history");
    int status = alert_load(cli, &config, &rules);
    if (status != EXIT_FINE)
        return status;
    status = choose(cli, rules, what);
    if (status == EXIT_FINE)
        status = past || played ? try_course(cli, config, rules, past) : alert_now(cli, rules);
    alert_rules_free(rules);
    config_free(config);
    return status;
}
