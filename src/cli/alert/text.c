/* SPDX-License-Identifier: Apache-2.0
 * Active alerts in a few lines each; rules and silences as tables.
 */
#include "cli/alert/alert.h"

#include "alert/expr/name.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "format/table/grid.h"

static enum ink severity_name_ink(const char *severity)
{
    return strcmp(severity, "critical") == 0 ? INK_BAD : strcmp(severity, "warning") == 0 ? INK_WARN : INK_LOAD;
}

/* "since 12m", "for 40s". */
static void age(struct buf *out, const struct page *page, const char *before, const json_t *o, const char *key)
{
    struct wall at;
    char text[NUMBER_SIZE];
    if (!wall_parse(str_from(json_text(o, key)), &at) || page->now.ms - at.ms < 1000)
        return;
    show_age(text, page, page->now.ms - at.ms);
    buf_printf(out, "%s%s", before, text);
}

static void one(struct buf *out, const struct page *page, const json_t *a)
{
    const char *state = json_text(a, "state"), *severity = json_text(a, "severity"), *silence = json_text(a, "silence_id");
    bool firing = strcmp(state, "firing") == 0, pending = strcmp(state, "pending") == 0;
    AUTO_BUF struct buf facts = BUF(512);
    page_ink(out, page, firing ? severity_name_ink(severity) : INK_FAINT, str_from(state));
    buf_text(out, "  ");
    page_ink(out, page, INK_STRONG, str_from(json_text(a, "alert")));
    buf_printf(&facts, "  %s", severity);
    age(&facts, page,
        firing    ? ", for "
        : pending ? ", holds for "
                  : ", over for ",
        a,
        firing    ? "started_at"
        : pending ? "pending_since"
                  : "ended_at");
    if (silence[0])
        buf_printf(&facts, ", silenced by %s", silence);
    if (json_is_true(json_object_get(a, "flapping")))
        buf_text(&facts, ", flapping");
    page_ink(out, page, INK_FAINT, buf_view(&facts));
    buf_text(out, "\n  ");
    page_wrap(out, page, INK_PLAIN, json_text(a, "summary"), 2, 2);
}

void alert_text(struct buf *out, const struct page *page, const json_t *body, bool all)
{
    const json_t *counts = json_object_get(body, "counts"), *list = json_object_get(body, "alerts"), *a;
    int64_t firing = json_integer_value(json_object_get(counts, "firing"));
    int64_t pending = json_integer_value(json_object_get(counts, "pending"));
    int64_t resolved = json_integer_value(json_object_get(counts, "resolved"));
    size_t i, shown = 0;
    bool simulated = false;
    json_array_foreach(list, i, a) simulated |= json_is_true(json_object_get(a, "simulated"));
    page_simulated_line(out, page, simulated);
    json_array_foreach(list, i, a)
    {
        if (!all && strcmp(json_text(a, "state"), "resolved") == 0)
            continue;
        one(out, page, a);
        shown++;
    }
    if (!firing && !pending)
        buf_text(out, "No alerts.\n");
    if (!all && resolved)
        buf_printf(out, "%lld %s ended within the last hour (--all).\n", (long long)resolved, resolved == 1 ? "is" : "are");
    if (json_array_size(json_object_get(body, "silences"))) {
        buf_text(out, shown ? "\n" : "");
        silences_text(out, page, json_object_get(body, "silences"));
    }
}

static void matchers_text(struct buf *out, const json_t *matchers)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)matchers, key, value)
        buf_printf(out, "%s%s=%s", out->len ? " " : "", key, json_string_value(value) ? json_string_value(value) : "");
}

void silences_text(struct buf *out, const struct page *page, const json_t *silences)
{
    static const struct grid_column columns[] = {
        {"SILENCE", LEFT, 0}, {"ABOUT", LEFT, 0}, {"ENDS IN", RIGHT, 0}, {"BY", LEFT, 2}, {"COMMENT", LEFT, 1}};
    const json_t *s;
    size_t i;
    if (json_array_size(silences) == 0) {
        buf_text(out, "No silences.\n");
        return;
    }
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    json_array_foreach(silences, i, s)
    {
        AUTO_BUF struct buf about = BUF(4096);
        struct wall until = {0};
        char left[NUMBER_SIZE] = "";
        matchers_text(&about, json_object_get(s, "matchers"));
        if (wall_parse(str_from(json_text(s, "until")), &until))
            show_age(left, page, until.ms - page->now.ms);
        grid_add(&g, INK_STRONG, json_text(s, "id"));
        grid_add(&g, INK_PLAIN, buf_view(&about).at);
        grid_add(&g, INK_PLAIN, left);
        grid_add(&g, INK_PLAIN, json_text(s, "created_by"));
        grid_add(&g, INK_FAINT, json_text(s, "comment"));
    }
    grid_write(out, page, &g);
}

void alert_rules_text(struct buf *out, const struct page *page, const json_t *body)
{
    static const struct grid_column columns[] = {
        {"RULE", LEFT, 0}, {"SEVERITY", LEFT, 0}, {"FOR", RIGHT, 1}, {"STATE", LEFT, 0}, {"CONDITION", LEFT, 0}};
    AUTO_GRID struct grid g;
    const json_t *rules = json_object_get(body, "rules"), *r;
    size_t i;
    grid_init(&g, columns, ARRAY_LEN(columns));
    json_array_foreach(rules, i, r)
    {
        char hold[WORDS_SIZE];
        const char *state = json_text(r, "state"), *severity = json_text(r, "severity");
        bool enabled = json_is_true(json_object_get(r, "enabled")), firing = strcmp(state, "firing") == 0;
        words_duration((int64_t)(json_number_value(json_object_get(r, "for_seconds")) * MS_PER_S), hold);
        grid_add(&g, enabled ? INK_STRONG : INK_FAINT, json_text(r, "name"));
        grid_add(&g, INK_PLAIN, severity);
        grid_add(&g, INK_PLAIN, hold);
        grid_add(&g, firing ? severity_name_ink(severity) : INK_FAINT, !enabled ? "off" : state[0] ? state : page_dash(page));
        grid_add(&g, INK_PLAIN, json_text(r, "when"));
    }
    grid_write(out, page, &g);
}

static const char *type_word(const struct alert_name *n)
{
    static const char *const words[] = {[VALUE_UNKNOWN] = "",
                                        [VALUE_BOOL] = "true/false",
                                        [VALUE_TEXT] = "text",
                                        [VALUE_WORDS] = "words",
                                        [VALUE_NUMBER] = "number"};
    return words[n->type];
}

void alert_names_text(struct buf *out, const struct page *page)
{
    static const struct grid_column columns[] = {{"NAME", LEFT, 0}, {"IS", LEFT, 1}, {"OF", LEFT, 2}, {"WHAT", LEFT, 0}};
    AUTO_GRID struct grid g;
    struct alert_name n;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; name_at(i, &n); i++) {
        grid_add(&g, INK_STRONG, n.text);
        grid_add(&g, INK_FAINT, type_word(&n));
        grid_add(&g, INK_FAINT, scope_name(n.scope));
        grid_add(&g, INK_PLAIN, n.help);
    }
    grid_write(out, page, &g);
}

static const void *next_value(const struct answer_at *at, struct answer_step *step)
{
    step->item.pair.key = name_word(at->record, step->at++);
    return step->item.pair.key ? &step->item : NULL;
}

ANSWER_MAKER(make_type, struct alert_name, word, type_word(of));
ANSWER_NAMES(scopes, enum alert_scope, scope_name, SCOPE_HOST, SCOPE_PROCESS);

ANSWER_TABLE(name_answer, struct alert_name)
{
    FIELD(TEXT, "name", text, NULL);
    MADE(WORD, "type", make_type, NULL);
    FIELD(NAME, "scope", scope, NULL, NAMES(scopes));
    FIELD(WORD, "description", help, NULL);
    EACH(WORD, "values", next_value, "Those that a text can have");
}

static const void *next_name(const struct answer_at *at, struct answer_step *step)
{
    struct alert_name *n = at->context;
    return name_at(step->at++, n) ? n : NULL;
}

SHARED_ANSWER_TABLE(alert_names_answer, struct alert_name)
{
    EACH(OBJECT, "names", next_name, NULL, FIELDS(name_answer));
}
