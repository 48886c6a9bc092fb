/* SPDX-License-Identifier: Apache-2.0
 * The knee in a series of power limits, as a table with bars and as JSON.
 */
#include "cli/control/tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"

enum { STEP_MW = 5000, BAR = 20, DRIFT_PERCENT = 5 };

static const struct {
    const char *name, *words;
} works[TUNE_WORKS] = {
    [TUNE_RATE] = {"rate", ""},
    [TUNE_TOKENS] = {"tokens_per_second", "tokens/s"},
    [TUNE_SM] = {"sm_activity_times_clock", "MHz x SM activity"},
    [TUNE_LOAD] = {"utilization_times_clock", "MHz x utilization"},
};

size_t tune_limits(int64_t now_mw, int64_t least_mw, size_t steps, int64_t limits[TUNE_POINTS_MAX])
{
    size_t count = 0;
    steps = MIN_OF(MAX_OF(steps, (size_t)2), (size_t)TUNE_POINTS_MAX);
    for (size_t i = 0; i < steps; i++) {
        int64_t mw = now_mw - (now_mw - least_mw) * (int64_t)i / (int64_t)(steps - 1);
        if (i > 0 && i + 1 < steps)
            mw = mw / STEP_MW * STEP_MW;
        mw = MAX_OF(mw, least_mw);
        if (!count || mw < limits[count - 1])
            limits[count++] = mw;
    }
    return count;
}

/* Energy for the same work, relative to the first limit. */
static double tune_energy_share(const struct tune_result *r, size_t at)
{
    const struct tune_point *first = &r->points[0], *p = &r->points[at];
    return p->work > 0 && first->watts > 0 ? p->watts / p->work * first->work / first->watts : NAN;
}

/* The lowest limit that keeps this share of the first one's speed; -1: none does, or heat spoiled the first measurement. */
static int tune_knee(const struct tune_result *r, double keep)
{
    int knee = -1;
    for (size_t i = 1; i < r->count && !r->points[0].hot; i++)
        if (!r->points[i].hot && r->points[i].work >= keep * r->points[0].work && tune_energy_share(r, i) < 1)
            knee = (int)i;
    return knee;
}

static bool is_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

/* The number that ends before `end`, or that begins after `from`. */
static bool number_before(struct str line, size_t end, double *ret)
{
    while (end > 0 && line.at[end - 1] == ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && is_number(line.at[begin - 1]))
        begin--;
    return begin < end && str_to_double((struct str){line.at + begin, end - begin}, ret);
}

static bool number_behind(struct str line, size_t from, double *ret)
{
    while (from < line.len && strchr(" :=\t", line.at[from]))
        from++;
    size_t end = from;
    while (end < line.len && is_number(line.at[end]))
        end++;
    return end > from && str_to_double((struct str){line.at + from, end - from}, ret);
}

/* In "tokens/s: 88" the number follows, whatever precedes the text. */
static bool has_sign(struct str line, size_t at)
{
    while (at < line.len && line.at[at] == ' ')
        at++;
    return at < line.len && (line.at[at] == ':' || line.at[at] == '=');
}

bool tune_rate(struct str line, const char *text, double *ret)
{
    size_t len = strlen(text);
    for (size_t at = line.len >= len ? line.len - len + 1 : 0; at-- > 0;) {
        if (memcmp(line.at + at, text, len) != 0)
            continue;
        bool before = !has_sign(line, at + len) && number_before(line, at, ret);
        if (before || number_behind(line, at + len, ret))
            return true;
    }
    return false;
}

static long long watts_of(int64_t mw)
{
    return (long long)((mw + 500) / 1000);
}

static long percent(double share)
{
    return lround(share * 100);
}

static const char *tune_words(const struct tune_result *r, int knee, char out[TUNE_WORDS])
{
    const struct tune_point *first = &r->points[0];
    if (knee >= 0)
        snprintf(out, TUNE_WORDS, "at %lld of %lld W it keeps %ld%% of its speed and saves %ld%% of its energy",
                 watts_of(r->points[knee].limit_mw), watts_of(first->limit_mw), percent(r->points[knee].work / first->work),
                 percent(1 - tune_energy_share(r, (size_t)knee)));
    else if (first->hot)
        snprintf(out, TUNE_WORDS, "heat slows it at its present limit of %lld W: cool it first", watts_of(first->limit_mw));
    else
        snprintf(out, TUNE_WORDS, "no lower limit keeps its speed and saves energy");
    return out;
}

static bool drifted(const struct tune_result *r)
{
    return r->again > 0 && fabs(r->again / r->points[0].work - 1) * 100 > DRIFT_PERCENT;
}

static void share_cell(struct buf *out, const struct page *page, enum ink ink, double share)
{
    char text[16];
    snprintf(text, sizeof text, "%ld%%", percent(share));
    page_bar(out, page, ink, isnan(share) ? reading_absent(READING_FAILED) : reading_ok((int64_t)lround(MIN_OF(share, 1.0) * 1000)),
             BAR);
    page_cell(out, page, INK_PLAIN, RIGHT, isnan(share) ? page_dash(page) : text, 5);
    buf_text(out, "  ");
}

static void tune_row(struct buf *out, const struct page *page, const struct tune_result *r, size_t i, int knee)
{
    const struct tune_point *p = &r->points[i];
    char text[64];
    snprintf(text, sizeof text, "%lld W", watts_of(p->limit_mw));
    page_cell(out, page, (int)i == knee ? INK_GOOD : INK_STRONG, RIGHT, text, 7);
    snprintf(text, sizeof text, "%.0f W", p->watts);
    page_cell(out, page, INK_PLAIN, RIGHT, text, 8);
    buf_text(out, "  ");
    share_cell(out, page, INK_LOAD, p->work / r->points[0].work);
    share_cell(out, page, INK_MEMORY, tune_energy_share(r, i));
    snprintf(text, sizeof text, "%.4g", p->work);
    page_cell(out, page, INK_FAINT, RIGHT, text, 8);
    buf_printf(out, "%s%s\n", p->hot ? "  slowed by heat" : "", (int)i == knee ? "  <" : "");
}

void tune_table(struct buf *out, const struct page *page, const struct tune_result *r, double keep)
{
    char words[TUNE_WORDS];
    int knee = tune_knee(r, keep);
    buf_printf(out, "  LIMIT    DRAW  %-*s  %-*s  %s\n", BAR + 5, "SPEED", BAR + 5, "ENERGY FOR THE SAME WORK",
               r->kind == TUNE_RATE ? r->rate : works[r->kind].words);
    for (size_t i = 0; i < r->count; i++)
        tune_row(out, page, r, i, knee);
    tune_words(r, knee, words);
    words[0] = (char)(words[0] - 'a' + 'A');
    buf_printf(out, "%s.\n", words);
    if (knee >= 0)
        buf_printf(out, "To keep that: whirr set power %lldW --gpu %d\n", watts_of(r->points[knee].limit_mw), r->gpu_index);
    if (r->kind == TUNE_SM || r->kind == TUNE_LOAD)
        buf_text(out, "Its speed was estimated from load and clocks; --rate or a model server measures it.\n");
    if (drifted(r))
        buf_printf(out, "The load itself changed meanwhile: at %lld W it did %ld%% of its work at the end.\n",
                   watts_of(r->points[0].limit_mw), percent(r->again / r->points[0].work));
    if (r->count < r->planned)
        buf_printf(out, "It ended early: %zu of %zu limits were measured.\n", r->count, r->planned);
}

/* A measured point beside the first; the context is the result. */
static bool make_speed(const struct answer_at *at, union answer_value *ret)
{
    ret->real = ((const struct tune_point *)at->record)->work / ((const struct tune_result *)at->context)->points[0].work;
    return true;
}

static bool make_energy(const struct answer_at *at, union answer_value *ret)
{
    const struct tune_result *r = at->context;
    ret->real = tune_energy_share(r, (size_t)((const struct tune_point *)at->record - r->points));
    return true;
}

ANSWER_TABLE(point_answer, struct tune_point)
{
    FIELD(AMOUNT, "limit_watts", limit_mw, NULL, SCALE(1e-3));
    FIELD(NUMBER, "power_watts", watts, NULL);
    FIELD(NUMBER, "work", work, NULL);
    MADE(NUMBER, "speed_share", make_speed, NULL);
    MADE(NUMBER, "energy_share", make_energy, NULL);
    FIELD(OPTION, "clock_mhz", clock_khz, NULL, SCALE(1e-3));
    FIELD(BOOL, "slowed_by_heat", hot, NULL);
}

struct told_tune {
    const struct tune_result *r;
    const struct tune_point *knee; /* NULL: none */
    char answer[TUNE_WORDS];
};

ANSWER_MAKER(make_work, struct tune_result, word, works[of->kind].name);
ANSWER_MAKER(make_rate, struct tune_result, word, of->kind == TUNE_RATE ? of->rate : NULL);
ANSWER_MAKER(make_complete, struct tune_result, yes, of->count == of->planned);
ANSWER_MAKER(make_drifted, struct tune_result, yes, drifted(of));

ANSWER_TABLE(result_answer, struct tune_result)
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(TEXT, "gpu", gpu, NULL);
    MADE(WORD, "work", make_work, NULL);
    MADE(WORD, "rate", make_rate, NULL, OR_NULL);
    MADE(BOOL, "complete", make_complete, NULL);
    MADE(BOOL, "load_changed", make_drifted, NULL);
    OBJECTS("points", points, count, point_answer, NULL);
}

ANSWER_TABLE(tune_answer, struct told_tune)
{
    VIA(KEYS, NULL, r, result_answer, NULL);
    VIA(OBJECT, "knee", knee, point_answer, NULL, OR_NULL);
    FIELD(TEXT, "answer", answer, NULL);
}

void tune_json(struct json_writer *j, const struct tune_result *r, double keep)
{
    int knee = tune_knee(r, keep);
    struct told_tune told = {.r = r, .knee = knee >= 0 ? &r->points[knee] : NULL};
    tune_words(r, knee, told.answer);
    answer_write(j, &tune_answer, &told, (void *)r);
}
