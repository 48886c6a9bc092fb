/* SPDX-License-Identifier: Apache-2.0
 * Answers about the past for people, made from their JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/moment.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "insight/area/part.h"
#include "insight/view/why.h"

enum { EPISODES_MAX = 64, EVIDENCE_SHOWN = 4, LINES_MAX = 12, TOGETHER_MS = 150000 };

static struct reading why_past_number_of(const json_t *object, const char *key, double scale)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? reading_ok((int64_t)(json_number_value(value) * scale + 0.5)) : reading_absent(READING_UNREAD);
}

/* "22:10 – 01:40 (3h30m)" */
static void show_span(const json_t *object, const struct page *page, char *text, size_t size)
{
    struct wall since = json_moment(object, "since"), until = json_moment(object, "until");
    char from[MOMENT_TEXT_SIZE], to[MOMENT_TEXT_SIZE], lasted[NUMBER_SIZE];
    moment_format_span(since, until, page->now, from, to);
    show_age(lasted, page, until.ms - since.ms);
    snprintf(text, size, "%s %s %s (%s)", from, page_dash(page), to, lasted);
}

static void faint_line(struct buf *out, const struct page *page, const char *text)
{
    if (text[0])
        page_wrap(out, page, INK_FAINT, text, 0, 0);
}

static void evidence_of(struct buf *out, const struct page *page, const json_t *part)
{
    const json_t *cause = json_array_get(json_object_get(part, "causes"), 0), *list = json_object_get(cause, "evidence");
    for (size_t i = 0; i < json_array_size(list) && i < EVIDENCE_SHOWN; i++) {
        buf_text(out, page->utf8 ? "     · " : "     - ");
        page_wrap(out, page, INK_FAINT, json_string_value(json_array_get(list, i)), 7, 7);
    }
}

/* ---- a moment ---- */

static void moment_title(struct buf *out, const struct page *page, const json_t *body)
{
    char at[MOMENT_TEXT_SIZE], title[MOMENT_TEXT_SIZE + HOST_NAME_SIZE + 64];
    const char *detail = json_text(body, "detail"), *host = json_text(body, "host");
    moment_format(json_moment(body, "at"), page->now, at);
    snprintf(title, sizeof title, "%s%s%s%s%s", at, host[0] ? "  " : "", host, detail[0] ? "  from " : "", detail);
    page_wrap(out, page, INK_LOAD, title, 0, 0);
}

/* Shows the parts with the code for present explanations. */
static void moment_parts(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *gpus = json_object_get(body, "gpus");
    size_t count = json_array_size(gpus);
    struct snapshot *s = snapshot_new(count);
    if (!s) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *gpu = json_array_get(gpus, i);
        s->gpus[i].index = (int)json_integer_value(json_object_get(gpu, "gpu_index"));
        s->gpus[i].simulated = json_is_true(json_object_get(body, "simulated"));
        str_copy(s->gpus[i].id.name, sizeof s->gpus[i].id.name, str_from(json_text(gpu, "gpu_name")));
    }
    struct why *why = why_from_json(body, s);
    if (why)
        table_why(out, page, s, why, ALL_GPUS, NULL);
    else
        out->failed = true;
    why_free(why);
    snapshot_unref(s);
}

static void moment_processes(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *list = json_object_get(body, "processes");
    if (json_array_size(list) == 0)
        return;
    buf_char(out, '\n');
    page_ink(out, page, INK_STRONG, STR("  Who was there"));
    buf_char(out, '\n');
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        char memory[NUMBER_SIZE], share[NUMBER_SIZE], line[320];
        const char *name = json_text(p, "short_name"), *user = json_text(p, "user"), *container = json_text(p, "container");
        show_bytes(memory, page, why_past_number_of(p, "memory_mb", 1048576));
        show_percent(share, page, why_past_number_of(p, "utilization_percent", 10));
        snprintf(line, sizeof line, "  GPU %lld  %9s  %6s  %s (pid %lld%s%s%s%s)",
                 (long long)json_integer_value(json_object_get(p, "gpu_index")), memory, share, name[0] ? name : "?",
                 (long long)json_integer_value(json_object_get(p, "pid")), user[0] ? ", " : "", user, container[0] ? ", " : "",
                 container);
        page_fit(out, page, str_from(line), page->width);
        buf_char(out, '\n');
    }
}

static void moment(struct buf *out, const struct page *page, const json_t *body)
{
    moment_title(out, page, body);
    if (json_array_size(json_object_get(body, "gpus"))) {
        moment_parts(out, page, body);
        moment_processes(out, page, body);
    } else {
        page_wrap(out, page, INK_STRONG, json_text(body, "answer"), 0, 0);
    }
    if (json_text(body, "note")[0])
        buf_char(out, '\n');
    faint_line(out, page, json_text(body, "note"));
}

/* ---- a span ---- */

static void episode(struct buf *out, const struct page *page, const json_t *e, size_t number)
{
    char span[2 * MOMENT_TEXT_SIZE + NUMBER_SIZE], title[400];
    int64_t times = json_integer_value(json_object_get(e, "times"));
    show_span(e, page, span, sizeof span);
    snprintf(title, sizeof title, "%2zu  GPU %lld  %s", number, (long long)json_integer_value(json_object_get(e, "gpu_index")),
             span);
    buf_char(out, '\n');
    page_ink(out, page, INK_LOAD, str_from(title));
    if (times > 1) {
        char total[NUMBER_SIZE];
        show_age(total, page, (int64_t)(json_number_value(json_object_get(e, "duration_seconds")) * 1000));
        snprintf(title, sizeof title, "  %lld times, %s in all", (long long)times, total);
        page_ink(out, page, INK_FAINT, str_from(title));
    }
    buf_text(out, "\n    ");
    page_wrap(out, page, INK_PLAIN, json_text(e, "answer"), 4, 4);
    if (page->verbose)
        evidence_of(out, page, e);
}

/* ---- recurring work, or work on several GPUs, as one entry of the short form ---- */

struct span_entry {
    const json_t *first; /* the most important one */
    size_t count;
    int64_t times;
    struct wall since, until;
    double seconds, util, power; /* weighted by seconds */
    double temp;
    bool gpus[GPU_MAX], several; /* several GPUs at the same time */
};

/* "busy: blender (erin) was computing" of "GPU 2 was busy: blender (erin) was computing. 97% and ..." */
static struct str doing_of(const json_t *e)
{
    const char *text = json_text(e, "answer"), *was = strstr(text, " was ");
    const char *from = was ? was + 5 : text, *end = strstr(from, ". ");
    return (struct str){from, end ? (size_t)(end - from) : strlen(from)};
}

static bool nearly(struct wall a, struct wall b)
{
    return a.ms - b.ms <= TOGETHER_MS && b.ms - a.ms <= TOGETHER_MS;
}

static bool joins(const struct span_entry *to, const json_t *e)
{
    struct str a = doing_of(to->first), b = doing_of(e);
    bool same = a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
    int64_t gpu = json_integer_value(json_object_get(e, "gpu_index")),
            its = json_integer_value(json_object_get(to->first, "gpu_index"));
    if (!same || gpu < 0 || gpu >= GPU_MAX)
        return false;
    if (gpu == its)
        return !to->several;
    return to->times == 1 && json_integer_value(json_object_get(e, "times")) == 1 && nearly(to->since, json_moment(e, "since")) &&
           nearly(to->until, json_moment(e, "until"));
}

static void why_past_join(struct span_entry *to, const json_t *e)
{
    struct wall since = json_moment(e, "since"), until = json_moment(e, "until");
    int64_t gpu = json_integer_value(json_object_get(e, "gpu_index"));
    double seconds = json_number_value(json_object_get(e, "duration_seconds"));
    bool first = to->count++ == 0, again = !first && gpu == json_integer_value(json_object_get(to->first, "gpu_index"));
    to->since.ms = first ? since.ms : MIN_OF(to->since.ms, since.ms);
    to->until.ms = first ? until.ms : MAX_OF(to->until.ms, until.ms);
    to->several |= !first && !again;
    if (first || again)
        to->times += json_integer_value(json_object_get(e, "times"));
    to->seconds += seconds;
    to->util += seconds * json_number_value(json_object_get(e, "utilization_percent"));
    to->power += seconds * json_number_value(json_object_get(e, "power_watts"));
    to->temp = MAX_OF(to->temp, json_number_value(json_object_get(e, "temperature_max_celsius")));
    if (gpu >= 0 && gpu < GPU_MAX)
        to->gpus[gpu] = true;
}

static size_t make_entries(const json_t *episodes, struct span_entry *entries)
{
    size_t count = 0;
    for (size_t i = 0; i < MIN_OF(json_array_size(episodes), (size_t)EPISODES_MAX); i++) {
        const json_t *e = json_array_get(episodes, i);
        size_t at = 0;
        while (at < count && !joins(&entries[at], e))
            at++;
        if (at == count)
            entries[count++] = (struct span_entry){.first = e};
        why_past_join(&entries[at], e);
    }
    return count;
}

/* "GPUs 0-3" */
static void gpus_text(const struct span_entry *e, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, e->several ? "GPUs" : "GPU");
    const char *comma = " ";
    for (int i = 0; i < GPU_MAX && used + 16 < size; i++) {
        if (!e->gpus[i])
            continue;
        int last = i;
        while (last + 1 < GPU_MAX && e->gpus[last + 1])
            last++;
        used += (size_t)snprintf(out + used, size - used, last > i ? "%s%d-%d" : "%s%d", comma, i, last);
        comma = ", ";
        i = last;
    }
}

static void entry_line(struct buf *out, const struct page *page, const struct span_entry *e)
{
    char from[MOMENT_TEXT_SIZE], to[MOMENT_TEXT_SIZE], lasted[NUMBER_SIZE], gpus[64], text[WHY_ANSWER_SIZE + 200];
    struct str doing = doing_of(e->first);
    moment_format_span(e->since, e->until, page->now, from, to);
    show_age(lasted, page, (int64_t)(e->seconds * 1000) / (e->several ? (int64_t)e->count : 1));
    gpus_text(e, gpus, sizeof gpus);
    size_t used = (size_t)snprintf(text, sizeof text, "%s %s %s ", from, page_dash(page), to);
    used +=
        (size_t)(e->times > 1 ? snprintf(text + used, sizeof text - used, "(%lld times, %s in all)  ", (long long)e->times, lasted)
                              : snprintf(text + used, sizeof text - used, "(%s)  ", lasted));
    if (e->count == 1) {
        const char *answer = json_text(e->first, "answer"), *own = strstr(answer, "GPU ");
        snprintf(text + used, sizeof text - used, "%s", own ? own : answer);
    } else {
        double weight = e->seconds > 0 ? e->seconds : 1;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %.*s.", gpus, e->several ? "were" : "was", (int)doing.len,
                                 doing.at);
        if (e->util > 0 || e->power > 0)
            snprintf(text + used, sizeof text - used, " %.0f%% and %.0f W on average, up to %.0f °C.", e->util / weight,
                     e->power / weight, e->temp);
    }
    buf_printf(out, "%s ", page_sign(page, SIGN_FINE));
    page_wrap(out, page, INK_PLAIN, text, 2, 2);
}

static size_t lines_from(const struct buf *out, size_t start)
{
    size_t lines = 0;
    for (size_t i = start; i < out->len; i++)
        lines += out->at[i] == '\n';
    return lines;
}

/* As many as fit on the screen, at least one. Returns how many. */
static size_t entry_lines(struct buf *out, const struct page *page, const struct span_entry *entries, size_t count, size_t start)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = out->len;
        entry_line(out, page, &entries[i]);
        if (i > 0 && lines_from(out, start) + (i + 1 < count) > LINES_MAX) {
            out->len = before;
            return i;
        }
    }
    return count;
}

/* The answer above a list, without repeating its first entry. */
static void span_summary(struct buf *out, const struct page *page, const json_t *body, size_t count)
{
    char text[160], missing[NUMBER_SIZE];
    int64_t missing_ms = (int64_t)(json_number_value(json_object_get(body, "missing_seconds")) * 1000);
    if (count < 1) {
        page_wrap(out, page, INK_STRONG, json_text(body, "answer"), 0, 0);
        return;
    }
    char things[48] = "One thing is";
    if (count > 1)
        snprintf(things, sizeof things, "%zu things are", count);
    show_age(missing, page, missing_ms);
    snprintf(text, sizeof text, "%s worth explaining%s.%s%s%s", things, count == 1 ? "" : ", the most important first",
             missing_ms >= MS_PER_S ? " Nothing is known about " : "", missing_ms >= MS_PER_S ? missing : "",
             missing_ms >= MS_PER_S ? " of the time." : "");
    page_wrap(out, page, INK_STRONG, text, 0, 0);
}

static void span_gaps(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *gaps = json_object_get(body, "gaps");
    if (json_array_size(gaps) == 0)
        return;
    buf_char(out, '\n');
    page_ink(out, page, INK_STRONG, STR("  Not known"));
    buf_char(out, '\n');
    for (size_t i = 0; i < json_array_size(gaps); i++) {
        buf_text(out, page->utf8 ? "    • " : "    - ");
        page_wrap(out, page, INK_FAINT, json_text(json_array_get(gaps, i), "text"), 6, 6);
    }
}

static void span_changes(struct buf *out, const struct page *page, const json_t *body)
{
    const json_t *changes = json_object_get(body, "changes");
    char at[MOMENT_TEXT_SIZE], line[400];
    if (json_array_size(changes) == 0)
        return;
    buf_char(out, '\n');
    page_ink(out, page, INK_STRONG, STR("  What changed"));
    buf_char(out, '\n');
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *c = json_array_get(changes, i);
        moment_format(json_moment(c, "since"), page->now, at);
        snprintf(line, sizeof line, "%s  GPU %lld: %s", at, (long long)json_integer_value(json_object_get(c, "gpu_index")),
                 json_text(c, "text"));
        buf_text(out, page->utf8 ? "    • " : "    - ");
        page_wrap(out, page, INK_PLAIN, line, 6, 6);
    }
}

static void span(struct buf *out, const struct page *page, const json_t *body)
{
    char title[2 * MOMENT_TEXT_SIZE + NUMBER_SIZE];
    const json_t *episodes = json_object_get(body, "episodes");
    size_t left_out = (size_t)json_integer_value(json_object_get(body, "episodes_left_out"));
    AUTO_FREE struct span_entry *entries = calloc(EPISODES_MAX, sizeof *entries);
    if (!entries) {
        out->failed = true;
        return;
    }
    size_t count = page->verbose ? json_array_size(episodes) : make_entries(episodes, entries), shown = count;
    page_simulated_line(out, page, json_is_true(json_object_get(body, "simulated")));
    show_span(body, page, title, sizeof title);
    page_wrap(out, page, INK_LOAD, title, 0, 0);
    span_summary(out, page, body, count + left_out);
    for (size_t i = 0; i < count && page->verbose; i++)
        episode(out, page, json_array_get(episodes, i), i + 1);
    if (!page->verbose)
        shown = entry_lines(out, page, entries, count, out->len);
    if (count - shown + left_out) {
        snprintf(title, sizeof title, "  and %zu more%s", count - shown + left_out, shown < count ? "; all of them: -v" : "");
        page_wrap(out, page, INK_FAINT, title, 2, 0);
    }
    span_changes(out, page, body);
    span_gaps(out, page, body);
    if (json_text(body, "note")[0])
        buf_char(out, '\n');
    faint_line(out, page, json_text(body, "note"));
}

int table_past(struct buf *out, const struct page *page, const json_t *body)
{
    if (json_is_array(json_object_get(body, "episodes")))
        span(out, page, body);
    else if (json_is_array(json_object_get(body, "gpus")) && json_object_get(body, "at"))
        moment(out, page, body);
    else
        return -EPROTO;
    return 0;
}
