/* SPDX-License-Identifier: Apache-2.0
 * The results, for people and for programs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
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
    buf_printf(&vram, c->vram_bytes.state == READING_OK ? "peak %s, mean %s" : "%s",
               c->vram_bytes.state == READING_OK ? words_bytes(c->vram_bytes.peak, a) : page_dash(page),
               words_bytes(llround(c->vram_bytes.mean), b));
    row(out, page, "VRAM", &vram);
    buf_printf(&util, c->util_permille.state == READING_OK ? "peak %s, mean %s" : "%s",
               c->util_permille.state == READING_OK ? words_percent(c->util_permille.peak, a) : page_dash(page),
               words_percent(llround(c->util_permille.mean), b));
    row(out, page, "Utilization", &util);
    if (c->power_mw.state != READING_OK) {
        buf_text(&energy, page_dash(page));
    } else {
        buf_text(&energy, words_energy(llround(usage_energy_j(&w->usage) * 1000), a));
        if (w->price_per_kwh > 0)
            buf_printf(&energy, ", %.*f %s", cost_of(w) < 0.1 ? 4 : 2, cost_of(w), w->currency);
        buf_printf(&energy, " (mean %s", words_power(llround(c->power_mw.mean), a));
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
        if (w->usage.processes != READING_OK && w->usage.processes != READING_UNREAD)
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

/* Why nothing is known: the GPUs could not be sampled, or not while it ran, or this user may not see which programs use them. */
static enum reading_state use_state(const void *record)
{
    const struct watched *w = record;
    bool told = !w->usage.gpu_count || w->usage.course.on_gpu;
    return w->blind ? READING_FAILED : told ? READING_OK : w->usage.processes;
}

/* Of a program on no GPU there is no power, and its memory is known. */
static enum reading_state level_state(const struct watched *w, const struct course_level *l)
{
    enum reading_state use = use_state(w);
    return use == READING_OK && w->usage.course.on_gpu ? l->state : use;
}

#define LEVEL_STATE(level)                                                                 \
    static enum reading_state level##_state(const void *record)                            \
    {                                                                                      \
        return level_state(record, &((const struct watched *)record)->usage.course.level); \
    }                                                                                      \
    static enum reading_state level##_state(const void *record)
LEVEL_STATE(vram_bytes);
LEVEL_STATE(util_permille);
LEVEL_STATE(power_mw);

static enum reading_state cost_state(const void *record)
{
    return ((const struct watched *)record)->price_per_kwh > 0 ? power_mw_state(record) : READING_OK;
}

/* Peak and mean. */
#define LEVEL(before, after, member, factor, ...)                                        \
    FIELD(AMOUNT, before "_peak_" after, member.peak, NULL, SCALE(factor), __VA_ARGS__); \
    FIELD(NUMBER, before "_mean_" after, member.mean, NULL, SCALE(factor), __VA_ARGS__)

ANSWER_NAMES(phase_kinds, enum course_kind, course_kind_name, COURSE_STARTING, COURSE_ENDING);
ANSWER_NAMES(limits, enum limit, limit_name, 0, LIMIT_COUNT - 1);

ANSWER_TABLE(phase_answer, struct course_phase)
{
    FIELD(NAME, "kind", kind, NULL, NAMES(phase_kinds));
    FIELD(NUMBER, "start_seconds", from_s, NULL);
    FIELD(NUMBER, "seconds", seconds, NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
    FIELD(READING, "memory_peak_bytes", vram_peak_bytes, NULL);
    FIELD(NAME, "limited_by", limit, NULL, NAMES(limits));
}

ANSWER_TABLE(limits_of_run, struct run_course)
{
    static char keys[LIMIT_COUNT][64];
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++) {
        snprintf(keys[l], sizeof keys[l], "%s_seconds", limit_name((enum limit)l));
        FIELD(NUMBER, keys[l], limited_s[l], NULL);
    }
}

ANSWER_TABLE(throttled_answer, struct run_course)
{
    for (unsigned bit = 0; bit < ARRAY_LEN(of->throttled_s); bit++)
        FIELD(NUMBER, throttle_name(bit), throttled_s[bit], NULL, PRESENT(throttled_s[bit]), MAYBE);
}

ANSWER_TABLE(run_gpu_answer, struct run_gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "uuid", uuid, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    LEVEL("memory", "bytes", vram_bytes, 1, STATE(vram_bytes.state));
    LEVEL("utilization", "percent", util_permille, 0.1, STATE(util_permille.state));
    LEVEL("power", "watts", power_mw, 1e-3, STATE(power_mw.state));
    LEVEL("temperature", "celsius", temp_mdegc, 1e-3, STATE(temp_mdegc.state));
    FIELD(NUMBER, "energy_joules", energy_j, NULL, STATE(power_mw.state));
    FIELD(NUMBER, "attributed_energy_joules", attributed_j, "The part that the program explains", STATE(power_mw.state));
}

static const void *next_word(const struct answer_at *at, struct answer_step *step)
{
    const struct watched *w = at->record;
    return step->at < w->argc ? &w->argv[step->at++] : NULL;
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct run_usage *u = &((const struct watched *)at->record)->usage;
    while (step->at < u->gpu_count && !u->gpus[step->at].used)
        step->at++;
    return step->at < u->gpu_count ? &u->gpus[step->at++] : NULL;
}

ANSWER_TEST(has_exited, struct watched, WIFEXITED(of->status));
ANSWER_TEST(was_signaled, struct watched, WIFSIGNALED(of->status));
ANSWER_TEST(has_price, struct watched, of->price_per_kwh > 0);
ANSWER_TEST(is_blind, struct watched, of->blind);
ANSWER_TEST(is_on_gpu, struct watched, of->usage.course.on_gpu);
ANSWER_TEST(has_cost, struct watched, of->usage.course.on_gpu && of->price_per_kwh > 0);
ANSWER_MAKER(make_exit, struct watched, number, WEXITSTATUS(of->status));
ANSWER_MAKER(make_signal, struct watched, number, WTERMSIG(of->status));
ANSWER_MAKER(make_basis, struct watched, word, of->usage.only >= 0 && !of->blind ? "gpu" : "processes");
ANSWER_MAKER(make_energy, struct watched, real, usage_energy_j(&of->usage));
ANSWER_MAKER(make_attributed, struct watched, real, usage_attributed_j(&of->usage));
ANSWER_MAKER(make_cost, struct watched, real, cost_of(of));
ANSWER_MAKER(make_limit, struct watched, word, limit_name(course_limited_by(&of->usage.course)));

ANSWER_TABLE(watch_answer, struct watched)
{
    EACH(WORD, "command", next_word, NULL);
    FIELD(MOMENT, "started_at", started_at, NULL);
    FIELD(NUMBER, "elapsed_seconds", seconds, NULL);
    FIELD(NUMBER, "cpu_seconds", cpu_s, NULL);
    MADE(INT, "exit_status", make_exit, NULL, WHEN(has_exited));
    MADE(INT, "signal", make_signal, NULL, WHEN(was_signaled));
    FIELD(AMOUNT, "interval_seconds", interval_ms, NULL, SCALE(1e-3));
    FIELD(INT, "samples", usage.course.seen, NULL);
    FIELD(TEXT, "error", problem, "Why the GPUs could not be sampled", WHEN(is_blind));
    FIELD(BOOL, "used_gpu", usage.course.on_gpu, NULL, .state = use_state);
    MADE(WORD, "basis", make_basis, "What is counted: its processes, or all of a GPU");
    LEVEL("memory", "bytes", usage.course.vram_bytes, 1, .state = vram_bytes_state);
    LEVEL("utilization", "percent", usage.course.util_permille, 0.1, .state = util_permille_state);
    LEVEL("power", "watts", usage.course.power_mw, 1e-3, .state = power_mw_state, WHEN(is_on_gpu));
    MADE(NUMBER, "energy_joules", make_energy, NULL, .state = power_mw_state, WHEN(is_on_gpu));
    MADE(NUMBER, "attributed_energy_joules", make_attributed, "The part that the program explains", .state = power_mw_state,
         WHEN(is_on_gpu));
    MADE(NUMBER, "cost", make_cost, NULL, .state = cost_state, WHEN(has_cost));
    FIELD(WORD, "currency", currency, NULL, WHEN(has_price));
    FIELD(NUMBER, "throttled_total_seconds", usage.course.slowed_s, NULL, .state = use_state);
    MADE(WORD, "limited_by", make_limit, NULL, .state = use_state);
    FIELD(TEXT, "cpu_time", cpu_time, "Where it spent its CPU time while its own side limited it", OR_NULL);
    FIELD(KEYS, NULL, told, NULL, FIELDS(lines_answer));
    OBJECTS("phases", phases, phase_count, phase_answer, NULL, .state = use_state);
    FIELD(OBJECT, "limits", usage.course, "For how long each limited it", FIELDS(limits_of_run), .state = use_state);
    FIELD(OBJECT, "throttled_seconds", usage.course, NULL, FIELDS(throttled_answer), .state = use_state);
    EACH(OBJECT, "gpus", next_gpu, "Those that it used", FIELDS(run_gpu_answer), .state = use_state);
}

void watch_json(struct buf *out, struct watched *w)
{
    w->told = told_lines(w->lines.known ? &w->lines.lines : NULL, w->lines.known ? "" : w->lines.err.text);
    w->phase_count = w->usage.course.moments ? course_phases(&w->usage.course, w->phases) : 0;
    answer_write(JSON_PAGE(out), &watch_answer, w, NULL);
}
