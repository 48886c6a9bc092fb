/* SPDX-License-Identifier: Apache-2.0
 * The summary of an alert: the rule's own with {{NAMES}} filled in, or one derived from its condition.
 */

#include "alert/expr/node.h"
#include "alert/rule.h"
#include "base/words.h"

static void write_gpu(struct buf *out, const struct subject *s)
{
    if (!s->gpu)
        buf_text(out, s->snapshot->host.name);
    else if (s->gpu->id.name[0])
        buf_printf(out, "GPU %d (%s)", s->gpu->index, s->gpu->id.name);
    else
        buf_printf(out, "GPU %d", s->gpu->index);
}

static void write_process(struct buf *out, const struct subject *s)
{
    const struct process *p = s->process;
    char words[PROCESS_WORDS];
    if (!p)
        buf_text(out, "a process");
    else
        buf_text(out, process_words(p, LONG_NAME | WITH_PID, words));
}

static void write_words(struct buf *out, const struct alert_name *name, word_set words)
{
    bool first = true;
    const char *word;
    for (size_t i = 0; (word = name_word(name, i)); i++)
        if (words & WORD_BIT(i)) {
            buf_printf(out, "%s%s", first ? "" : ", ", word);
            first = false;
        }
    if (first)
        buf_text(out, "nothing");
}

static void write_value(struct buf *out, const struct alert_name *name, const struct subject *s)
{
    struct value v = name_read(name, s);
    switch (v.type) {
    case VALUE_UNKNOWN: buf_text(out, "–"); break;
    case VALUE_BOOL: buf_text(out, v.truth ? "yes" : "no"); break;
    case VALUE_NUMBER: unit_format(out, v.number, name->unit); break;
    case VALUE_TEXT: buf_str(out, v.text); break;
    case VALUE_WORDS: write_words(out, name, v.words); break;
    }
}

enum word {
    WORD_GPU,
    WORD_GPU_INDEX,
    WORD_GPU_NAME,
    WORD_HOST,
    WORD_PROCESS,
    WORD_VALUE,
    WORD_ALERT,
    WORD_SEVERITY,
    WORD_FOR,
    WORD_ERROR,
    WORD_HEADLINE,
    WORD_COUNT
};
static const char *const words[WORD_COUNT] = {"gpu",   "gpu_index", "gpu_name", "host",          "process", "value",
                                              "alert", "severity",  "for",      "error_message", "headline"};

static enum word find_word(struct str name)
{
    return (enum word)NAME_FIND(words, name);
}

/* The headline of the alert's finding, or else of the worst one. */
static const char *headline(const struct alert_rule *rule, const struct subject *s)
{
    const struct verdict *v = s->snapshot->verdict;
    int index = s->gpu ? s->gpu->index : -1;
    const struct finding *f = rule_is_finding(rule) ? verdict_find(v, index, rule->finding) : verdict_first(v, index);
    return f ? f->headline : "nothing was found";
}

static void write_word(struct buf *out, enum word word, const struct alert_rule *rule, const struct subject *s, int64_t held_ms)
{
    char text[WORDS_SIZE];
    const struct alert_name *name = NULL;
    double value;
    switch (word) {
    case WORD_GPU: write_gpu(out, s); break;
    case WORD_GPU_INDEX: buf_printf(out, "%d", s->gpu ? s->gpu->index : -1); break;
    case WORD_GPU_NAME: buf_text(out, s->gpu ? s->gpu->id.name : ""); break;
    case WORD_HOST: buf_text(out, s->snapshot->host.name); break;
    case WORD_PROCESS: write_process(out, s); break;
    case WORD_VALUE:
        if (!rule_is_finding(rule) && expr_value(rule->when, s, &name, &value))
            unit_format(out, value, name->unit);
        else
            buf_text(out, "–");
        break;
    case WORD_ALERT: buf_text(out, rule->name); break;
    case WORD_SEVERITY: buf_text(out, severity_text(rule->severity)); break;
    case WORD_FOR:
        words_duration(held_ms, text);
        buf_text(out, text);
        break;
    case WORD_ERROR: buf_text(out, s->gpu && s->gpu->error_message[0] ? s->gpu->error_message : "no message"); break;
    case WORD_HEADLINE: buf_text(out, headline(rule, s)); break;
    case WORD_COUNT: break;
    }
}

/* Finds the next {{NAME}} from `from` on; false after the last. */
static bool next_hole(struct str text, size_t from, size_t *open, size_t *close)
{
    for (size_t i = from; i + 1 < text.len; i++)
        if (text.at[i] == '{' && text.at[i + 1] == '{')
            for (size_t k = i + 2; k + 1 < text.len; k++)
                if (text.at[k] == '}' && text.at[k + 1] == '}') {
                    *open = i;
                    *close = k + 2;
                    return true;
                }
    return false;
}

static struct str hole_name(struct str text, size_t open, size_t close)
{
    return str_trim((struct str){text.at + open + 2, close - open - 4});
}

int summary_check(struct str text, enum alert_scope scope, struct expr_error *err)
{
    size_t at = 0, open, close;
    for (; next_hole(text, at, &open, &close); at = close) {
        struct str name = hole_name(text, open, close);
        struct alert_name found;
        char nearest[NAME_SIZE];
        if (find_word(name) < WORD_COUNT)
            continue;
        if (!name_find(name, &found))
            return name_nearest(name, nearest)
                       ? expr_fail(text, open, close - open, err, "unknown name; did you mean {{%s}}?", nearest)
                       : expr_fail(text, open, close - open, err,
                                   "unknown name; a metric, {{gpu}}, {{process}} or {{value}} may stand here");
        if (found.scope > scope)
            return expr_fail(text, open, close - open, err, "the condition is not about a %s", scope_name(found.scope));
    }
    return 0;
}

static void write_default(struct buf *out, const struct alert_rule *rule, const struct subject *s)
{
    const struct alert_name *name = NULL;
    double value;
    if (s->process) {
        write_process(out, s);
        buf_text(out, " on ");
    }
    write_gpu(out, s);
    buf_text(out, ": ");
    if (expr_value(rule->when, s, &name, &value)) {
        buf_printf(out, "%s is ", name->text);
        unit_format(out, value, name->unit);
        buf_printf(out, " (%s)", expr_text(rule->when));
    } else {
        buf_text(out, expr_text(rule->when));
    }
}

void summary_write(struct buf *out, const struct alert_rule *rule, const struct subject *s, int64_t held_ms)
{
    if (!rule->summary[0]) {
        if (rule_is_finding(rule))
            buf_text(out, headline(rule, s));
        else
            write_default(out, rule, s);
        return;
    }
    struct str text = str_from(rule->summary);
    size_t at = 0, open, close;
    for (; next_hole(text, at, &open, &close); at = close) {
        struct str name = hole_name(text, open, close);
        struct alert_name found;
        buf_add(out, text.at + at, open - at);
        enum word word = find_word(name);
        if (word < WORD_COUNT)
            write_word(out, word, rule, s, held_ms);
        else if (name_find(name, &found))
            write_value(out, &found, s);
    }
    buf_add(out, text.at + at, text.len - at);
}
