/* SPDX-License-Identifier: Apache-2.0
 * Applies every rule to one sample: does it hold, and which inputs are missing if that is unknown?
 */
#include "cli/alert/alert.h"

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "cli/cli_show.h"

struct rule_look {
    struct cli *cli;
    struct buf *out;
    struct json_writer *json;
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

static void say_json(struct rule_look *l, const struct subject *s, enum truth truth)
{
    static const char *const words[] = {"false", "true", "unknown"};
    struct json_writer *j = l->json;
    double value;
    jw_object(j);
    jw_key_text(j, "alert", l->rule->name);
    jw_key(j, "gpu_index");
    if (s->gpu)
        jw_int(j, s->gpu->index);
    else
        jw_null(j);
    jw_key(j, "pid");
    if (s->process)
        jw_int(j, s->process->pid);
    else
        jw_null(j);
    jw_key_text(j, "condition", words[truth]);
    jw_key(j, "value");
    if (!rule_is_finding(l->rule) && expr_value(l->rule->when, s, NULL, &value))
        jw_number(j, value);
    else
        jw_null(j);
    AUTO_BUF struct buf missing = BUF(4096);
    list_unknown(&missing, l->rule, s);
    jw_key_array(j, "not_known");
    struct str rest = buf_view(&missing), one;
    while (str_cut(&rest, ',', &one))
        jw_str(j, str_trim(one));
    jw_end(j);
    jw_end(j);
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

static void judge_all(struct rule_look *l, const struct alert_rules *rules, const struct snapshot *s)
{
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
        judge_rule(l, s);
        if (!l->cli->json && !l->single && !l->holds)
            l->out->len = before; /* list only those that hold */
        held += l->holds > 0;
        unknown += !l->holds && l->unknown > 0;
    }
    if (!l->cli->json && !l->single)
        buf_printf(l->out, "%zu of %zu rules hold now; %zu can't be evaluated.\n", held, rules->count, unknown);
}

int alert_now(struct cli *cli, const struct alert_rules *rules)
{
    AUTO_BUF struct buf out = BUF(16 << 20);
    struct json_writer j = JSON_WRITER_PRETTY(&out);
    struct error err = {0};
    struct session *session = session_open(cli, &err);
    AUTO_SNAPSHOT const struct snapshot *s = session ? session_sample(session, GROUP_ALL, &err) : NULL;
    int status = EXIT_FINE, only = ALL_GPUS;
    if (s && session_only(session, s, &only, &err) < 0)
        snapshot_unref(TAKE(s));
    if (!s) {
        status = cli_error(cli, &err);
    } else {
        struct rule_look l = {.cli = cli, .out = &out, .json = &j, .single = rules->count == 1, .only = only};
        if (cli->json) {
            jw_object(&j);
            jw_key_array(&j, "rules");
        }
        judge_all(&l, rules, s);
        if (cli->json) {
            jw_end(&j);
            jw_end(&j);
            buf_char(&out, '\n');
        } else if (s->gpu_count == 0 && out.len == 0) {
            buf_text(&out, "No GPU.\n");
        }
        status = show_text(&out);
    }
    session_close(session);
    return status;
}
