/* SPDX-License-Identifier: Apache-2.0
 * The results, for people and for programs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/os/place.h"
#include "base/words.h"
#include "cli/watch/watch.h"
#include "format/json/json.h"
#include "insight/view/course.h"

enum { TITLE_SIZE = 96, LIST_MAX = 4096 };

static double cost_of(const struct watched *w)
{
    return usage_energy_j(&w->usage) / 3.6e6 * w->price_per_kwh;
}

/* ---- text ---- */

static const char *last_name(const char *path)
{
    const char *slash = path_last_slash(path);
    return slash ? slash + 1 : path;
}

/* "train.py" for `python3 train.py`: the first argument of an interpreter that is a file, otherwise the program. */
static void title_of(const struct watched *w, char title[TITLE_SIZE])
{
    const char *program = last_name(w->argv[0]), *name = program;
    static const char *const interpreters[] = {"python", "node", "bash", "sh", "perl", "ruby", "julia", "java"};
    for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
        if (str_starts(str_from(program), interpreters[i]) && w->argc > 1 && w->argv[1][0] != '-')
            name = last_name(w->argv[1]);
    str_copy_clean(title, TITLE_SIZE, str_from(name[0] ? name : program));
}

static void row(struct buf *out, const struct page *page, const char *label, const struct buf *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_LABEL, LEFT, label, 13);
    page_wrap(out, page, INK_PLAIN, text->at ? text->at : "", 15, 15);
}

static void list_gpus(struct buf *out, const struct watched *w)
{
    size_t used = 0;
    for (size_t i = 0; i < w->usage.gpu_count; i++) {
        const struct run_gpu *g = &w->usage.gpus[i];
        if (!g->used)
            continue;
        buf_printf(out, "%sGPU %d", used++ ? ", " : " on ", g->index);
        if (g->name[0])
            buf_printf(out, " (%s%s)", g->simulated ? "simulated " : "", g->name);
    }
}

static void put_headline(struct buf *out, const struct page *page, const struct watched *w)
{
    AUTO_BUF struct buf line = BUF(LIST_MAX);
    char title[TITLE_SIZE], duration[WORDS_SIZE];
    enum limit limit = course_limited_by(&w->usage.course);
    title_of(w, title);
    buf_printf(&line, "%s ran for %s", title, words_duration(llround(w->seconds * 1000), duration));
    if (w->blind)
        buf_printf(&line, "; the GPUs could not be sampled: %s.", w->problem);
    else if (!w->usage.gpu_count)
        buf_text(&line, "; there is no GPU on this host.");
    else if (!w->usage.course.on_gpu)
        buf_text(&line, "; no GPU use was seen.");
    else {
        list_gpus(&line, w);
        buf_printf(&line, "%s%s.", limit == LIMIT_NONE ? ", mostly waiting" : ", mostly limited by ",
                   limit == LIMIT_NONE ? "" : limit_words(limit));
    }
    page_ink(out, page, INK_STRONG, buf_view(&line));
    buf_char(out, '\n');
}

static void put_levels(struct buf *out, const struct page *page, const struct watched *w)
{
    const struct run_course *c = &w->usage.course;
    char a[WORDS_SIZE], b[WORDS_SIZE];
    AUTO_BUF struct buf vram = BUF(256), util = BUF(256), energy = BUF(512);
    buf_printf(&vram, c->vram_bytes.known ? "peak %s, mean %s" : "%s",
               c->vram_bytes.known ? words_bytes(c->vram_bytes.peak, a) : page_dash(page),
               words_bytes(llround(course_mean(&c->vram_bytes)), b));
    row(out, page, "VRAM", &vram);
    buf_printf(&util, c->util_permille.known ? "peak %s, mean %s" : "%s",
               c->util_permille.known ? words_percent(c->util_permille.peak, a) : page_dash(page),
               words_percent(llround(course_mean(&c->util_permille)), b));
    row(out, page, "Utilization", &util);
    if (!c->power_mw.known) {
        buf_text(&energy, page_dash(page));
    } else {
        buf_text(&energy, words_energy(llround(usage_energy_j(&w->usage) * 1000), a));
        if (w->price_per_kwh > 0)
            buf_printf(&energy, ", %.*f %s", cost_of(w) < 0.1 ? 4 : 2, cost_of(w), w->currency);
        buf_printf(&energy, " (mean %s", words_power(llround(course_mean(&c->power_mw)), a));
        buf_printf(&energy, ", peak %s)", words_power(c->power_mw.peak, a));
        if (usage_attributed_j(&w->usage) > 0)
            buf_printf(&energy, "; %s above idle", words_energy(llround(usage_attributed_j(&w->usage) * 1000), a));
    }
    row(out, page, "Energy", &energy);
}

static void put_throttling(struct buf *out, const struct page *page, const struct run_course *c)
{
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    char duration[WORDS_SIZE];
    for (unsigned bit = 0; bit < ARRAY_LEN(c->throttled_s); bit++)
        if (c->throttled_s[bit] > 0)
            buf_printf(&text, "%s%s for %s", text.len ? ", " : "", throttle_name(bit),
                       words_duration(llround(c->throttled_s[bit] * 1000), duration));
    if (!text.len)
        buf_text(&text, "none");
    row(out, page, "Throttling", &text);
}

static void put_phases(struct buf *out, const struct page *page, const struct run_course *c)
{
    struct course_phase phases[COURSE_PHASES_MAX];
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    char duration[WORDS_SIZE], util[WORDS_SIZE];
    size_t count = course_phases(c, phases);
    for (size_t i = 0; i < count; i++) {
        const struct course_phase *p = &phases[i];
        buf_printf(&text, "%s%s %s", i ? ", " : "", course_kind_name(p->kind),
                   words_duration(llround(p->seconds * 1000), duration));
        if (p->kind == COURSE_COMPUTING && p->util_permille.state == READING_OK)
            buf_printf(&text, " at %s", words_percent(p->util_permille.value, util));
    }
    row(out, page, "Phases", &text);
}

static void put_limits(struct buf *out, const struct page *page, const struct run_course *c)
{
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    bool said[LIMIT_COUNT] = {false};
    char share[WORDS_SIZE];
    for (;;) {
        int best = -1;
        for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++)
            if (!said[l] && l != LIMIT_NONE && l != LIMIT_CANNOT_TELL && c->limited_s[l] > 0 &&
                (best < 0 || c->limited_s[l] > c->limited_s[best]))
                best = l;
        if (best < 0)
            break;
        said[best] = true;
        buf_printf(&text, "%s%s %s", text.len ? ", " : "", limit_words((enum limit)best),
                   words_percent(llround(c->limited_s[best] / MAX_OF(c->seconds, 1e-9) * 1000), share));
    }
    if (text.len)
        buf_text(&text, " of the time");
    else
        buf_text(&text, "nothing that can be seen here");
    row(out, page, "Limited by", &text);
}

static void put_places(struct buf *out, const struct page *page, const struct program_lines *l)
{
    char words[PLACE_WORDS];
    for (size_t i = 0; i < l->count; i++) {
        AUTO_BUF struct buf text = BUF(LIST_MAX);
        buf_text(&text, place_words(&l->places[i], i == 0, words));
        row(out, page, i == 0 ? "Where" : "", &text);
    }
}

static void put_use(struct buf *out, const struct page *page, const struct watched *w)
{
    if (w->blind || !w->usage.gpu_count)
        return;
    if (!w->usage.course.on_gpu) {
        if (w->usage.processes_hidden)
            buf_text(out, "  Processes on the GPUs can't be seen here. To count a GPU as a whole: whirr watch --gpu 0 -- ...\n");
        return;
    }
    put_levels(out, page, w);
    put_throttling(out, page, &w->usage.course);
    put_phases(out, page, &w->usage.course);
    put_limits(out, page, &w->usage.course);
    if (w->cpu_time[0]) {
        AUTO_BUF struct buf text = BUF(LIST_MAX);
        buf_text(&text, w->cpu_time);
        row(out, page, "CPU time", &text);
    }
}

void watch_text(struct buf *out, const struct page *page, const struct watched *w)
{
    put_headline(out, page, w);
    put_use(out, page, w);
    /* Of a program that its GPU limits, or that uses none, they are no answer. */
    if (w->lines.wanted || (w->usage.course.on_gpu && limit_side(course_limited_by(&w->usage.course)) >= LIMIT_SIDE_HOST))
        put_places(out, page, &w->lines.lines);
}

/* ---- JSON ---- */

static void key_level(struct json_writer *j, const char *name, const struct course_level *l, double scale)
{
    char key[64];
    static const char *const unit_before[] = {"peak", "mean"};
    for (int i = 0; i < 2; i++) {
        const char *mark = strchr(name, '*');
        snprintf(key, sizeof key, "%.*s%s%s", (int)(mark - name), name, unit_before[i], mark + 1);
        jw_key(j, key);
        if (l->known)
            jw_number(j, (i ? course_mean(l) : (double)l->peak) * scale);
        else
            jw_null(j);
    }
}

static void key_number(struct json_writer *j, const char *key, double value, bool known)
{
    jw_key(j, key);
    if (known)
        jw_number(j, value);
    else
        jw_null(j);
}

static void json_gpus(struct json_writer *j, const struct run_usage *u)
{
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < u->gpu_count; i++) {
        const struct run_gpu *g = &u->gpus[i];
        if (!g->used)
            continue;
        jw_object(j);
        jw_key_int(j, "gpu_index", g->index);
        jw_key_text(j, "name", g->name[0] ? g->name : NULL);
        jw_key_text(j, "uuid", g->uuid[0] ? g->uuid : NULL);
        jw_key_bool(j, "simulated", g->simulated);
        key_level(j, "memory_*_bytes", &g->vram_bytes, 1);
        key_level(j, "utilization_*_percent", &g->util_permille, 0.1);
        key_level(j, "power_*_watts", &g->power_mw, 1e-3);
        key_level(j, "temperature_*_celsius", &g->temp_mdegc, 1e-3);
        key_number(j, "energy_joules", g->energy_j, g->power_mw.known);
        key_number(j, "attributed_energy_joules", g->attributed_j, g->power_mw.known);
        jw_end(j);
    }
    jw_end(j);
}

static void json_phases(struct json_writer *j, const struct run_course *c)
{
    struct course_phase phases[COURSE_PHASES_MAX];
    size_t count = c->moments ? course_phases(c, phases) : 0;
    jw_key_array(j, "phases");
    for (size_t i = 0; i < count; i++) {
        const struct course_phase *p = &phases[i];
        jw_object(j);
        jw_key_text(j, "kind", course_kind_name(p->kind));
        key_number(j, "start_seconds", p->from_s, true);
        key_number(j, "seconds", p->seconds, true);
        key_number(j, "utilization_percent", (double)p->util_permille.value / 10, p->util_permille.state == READING_OK);
        key_number(j, "power_watts", (double)p->power_mw.value / 1000, p->power_mw.state == READING_OK);
        key_number(j, "memory_peak_bytes", (double)p->vram_peak_bytes.value, p->vram_peak_bytes.state == READING_OK);
        jw_key_text(j, "limited_by", limit_name(p->limit));
        jw_end(j);
    }
    jw_end(j);
    jw_key_object(j, "limits");
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++) {
        char key[64];
        snprintf(key, sizeof key, "%s_seconds", limit_name((enum limit)l));
        key_number(j, key, c->limited_s[l], true);
    }
    jw_end(j);
    jw_key_object(j, "throttled_seconds");
    for (unsigned bit = 0; bit < ARRAY_LEN(c->throttled_s); bit++)
        if (c->throttled_s[bit] > 0)
            key_number(j, throttle_name(bit), c->throttled_s[bit], true);
    jw_end(j);
}

void watch_json(struct buf *out, const struct watched *w)
{
    struct json_writer j = JSON_WRITER_PRETTY(out);
    const struct run_course *c = &w->usage.course;
    char text[WALL_TEXT_SIZE];
    bool known = !w->blind && c->power_mw.known;
    jw_object(&j);
    jw_key_array(&j, "command");
    for (size_t i = 0; i < w->argc; i++)
        jw_text(&j, w->argv[i]);
    jw_end(&j);
    wall_format(w->started_at, text);
    jw_key_text(&j, "started_at", text);
    key_number(&j, "elapsed_seconds", w->seconds, true);
    key_number(&j, "cpu_seconds", w->cpu_s, true);
    key_number(&j, "exit_status", WEXITSTATUS(w->status), WIFEXITED(w->status));
    key_number(&j, "signal", WIFSIGNALED(w->status) ? WTERMSIG(w->status) : 0, WIFSIGNALED(w->status));
    key_number(&j, "interval_seconds", (double)w->interval_ms / 1000, true);
    jw_key_int(&j, "samples", (int64_t)c->seen);
    jw_key_text(&j, "error", w->blind ? w->problem : NULL);
    jw_key_bool(&j, "used_gpu", c->on_gpu);
    jw_key_text(&j, "basis", w->usage.only >= 0 && !w->blind ? "gpu" : "processes");
    key_level(&j, "memory_*_bytes", &c->vram_bytes, 1);
    key_level(&j, "utilization_*_percent", &c->util_permille, 0.1);
    key_level(&j, "power_*_watts", &c->power_mw, 1e-3);
    key_number(&j, "energy_joules", known ? usage_energy_j(&w->usage) : 0, known);
    key_number(&j, "attributed_energy_joules", known ? usage_attributed_j(&w->usage) : 0, known);
    key_number(&j, "cost", known ? cost_of(w) : 0, known && w->price_per_kwh > 0);
    jw_key_text(&j, "currency", w->price_per_kwh > 0 ? w->currency : NULL);
    key_number(&j, "throttled_total_seconds", c->slowed_s, !w->blind);
    jw_key_text(&j, "limited_by", limit_name(course_limited_by(c)));
    jw_key_text(&j, "cpu_time", w->cpu_time[0] ? w->cpu_time : NULL);
    json_lines(&j, w->lines.known ? &w->lines.lines : NULL, w->lines.known ? "" : w->lines.err.text);
    json_phases(&j, c);
    json_gpus(&j, &w->usage);
    jw_end(&j);
    buf_char(out, '\n');
}
