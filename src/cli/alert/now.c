/* SPDX-License-Identifier: Apache-2.0
 * Applies every rule to one sample: does it hold, and which inputs are missing if that is unknown?
 */
#include "cli/alert/alert.h"

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/cli_show.h"

struct rule_look {
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

static void say_text(struct rule_look *l, const struct subject *s, enum truth truth)
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

static void say_json(struct rule_look *l, const struct subject *s, enum truth truth)
{
    AUTO_BUF struct buf missing = BUF(4096);
    struct told_subject told = {
        .rule = l->rule->name, .gpu_index = s->gpu ? s->gpu->index : -1, .pid = s->process ? s->process->pid : 0, .truth = truth};
    told.has_value = !rule_is_finding(l->rule) && expr_value(l->rule->when, s, NULL, &told.value);
    list_unknown(&missing, l->rule, s);
    told.missing = buf_view(&missing);
    answer_write(l->json, &subject_answer, &told, NULL);
}

static void now_judge(struct rule_look *l, const struct subject *s)
{
    enum truth truth = rule_holds(l->rule, s);
    l->holds += truth == TRUTH_TRUE;
    l->unknown += truth == TRUTH_UNKNOWN;
    if (!l->single && truth != TRUTH_TRUE)
        return;
    if (l->cli->json)
        say_json(l, s, truth);
    else
        say_text(l, s, truth);
}

static void judge_rule(struct rule_look *l, const struct snapshot *s)
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

static void judge_all(struct rule_look *l)
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
    struct rule_look *l = at->context;
    l->json = j;
    jw_array(j);
    judge_all(l);
    jw_end(j);
}

ANSWER_TABLE(now_answer, struct rule_look)
{
    WRITER(LIST, "rules", write_rules, NULL, .item = ANSWER_OBJECT, FIELDS(subject_answer));
}

int alert_now(struct cli *cli, const struct alert_rules *rules)
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
        struct rule_look l = {.cli = cli, .out = &out, .rules = rules, .snapshot = s, .single = rules->count == 1, .only = only};
        if (!cli->json)
            judge_all(&l);
        if (!cli->json && s->gpu_count == 0 && out.len == 0)
            buf_text(&out, "No GPU.\n");
        status = cli->json ? show_answer(cli, &now_answer, &l) : show_text(&out);
    }
    session_close(session);
    return status;
}
