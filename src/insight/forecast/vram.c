/* SPDX-License-Identifier: Apache-2.0
 * When is the memory of a card full, and who fills it?
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/forecast/internal.h"

/* Memory is taken in pages of 2 MiB. */
#define PAGE_BYTES (2.0 * 1048576)
/* A process that is as young as this, or gained most of its memory in a stretch that is, is loading, not leaking. */
#define LOADING_S 180.0
/* The process that grows is named when it makes up that much of the growth. */
#define BLAME_SHARE 0.5
/* and it is heeded instead of the card when it was seen to grow for so many times as long. */
#define LONGER 1.5

static bool loads(const struct track *t, int64_t age_ms)
{
    double age_s = (double)age_ms / 1000, first = t->first.value;
    if (age_s < LOADING_S && track_span_s(t) < 0.8 * age_s)
        first = 0; /* its beginning was not seen, and it began with nothing */
    return track_span_s(t) < LOADING_S && t->last.value - first > 0.5 * t->last.value;
}

/* The process whose memory grows most; NULL: none is known to. */
static const struct forecast_process *grower(const struct forecast_card *card, struct rise *ret)
{
    const struct forecast_process *found = NULL;
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++) {
        const struct forecast_process *p = card->processes[i];
        struct rise rise;
        if (!p || !p->seen || (p->track.stretch_count == 0 && p->track.highest <= p->track.first.value))
            continue; /* has not grown at all: spares the fit */
        if (rise_find(&p->track, card->room_bytes, PAGE_BYTES, &rise) != RISE_FOUND)
            continue;
        if (found && rise.line.slope <= ret->line.slope)
            continue;
        found = p;
        *ret = rise;
    }
    return found;
}

static void name_process(struct forecast_vram *v, const struct forecast_process *p)
{
    v->pid = p->pid;
    str_copy(v->name, sizeof v->name, str_from(p->name));
    str_copy(v->user, sizeof v->user, str_from(p->user));
    str_copy(v->words, sizeof v->words, str_from(p->words));
}

static void who_text(const struct forecast_vram *v, char text[PROCESS_WORDS + 32])
{
    if (v->pid)
        snprintf(text, PROCESS_WORDS + 32, "%s (pid %d)", v->words, v->pid);
    else
        snprintf(text, PROCESS_WORDS + 32, "the memory in use");
}

static void say_rise(struct forecast_vram *v, const struct rise *rise)
{
    char who[PROCESS_WORDS + 32], rate[32], span[32];
    who_text(v, who);
    words_bytes(llround(rise->line.slope * 60), rate);
    forecast_span_words(rise->basis_s, span);
    v->when.rising = v->when.verdict == FORECAST_NO_TREND;
    if (v->when.verdict == FORECAST_NO_TREND)
        forecast_explain(&v->when, FORECAST_NO_TREND,
                         "%s is growing by %s a minute, watched too briefly to say when it will be full", who, rate);
    else if (rise->cyclic)
        forecast_explain(&v->when, v->when.verdict, "the peaks of %s have been growing by %s a minute for %s",
                         v->pid ? who : "the memory in use", rate, span);
    else
        forecast_explain(&v->when, v->when.verdict, "%s has been growing by %s a minute for %s", who, rate, span);
}

static void say_swings(struct forecast_vram *v, const struct track *t)
{
    char low[32], high[32];
    double least = t->last.value, most = t->highest;
    for (size_t i = 0; i < t->stretch_count; i++) {
        least = MIN_OF(least, t->stretches[i].first);
        most = MAX_OF(most, t->stretches[i].highest);
    }
    words_bytes(llround(least), low);
    words_bytes(llround(most), high);
    forecast_explain(&v->when, FORECAST_NO_TREND, "up and down between %s and %s", low, high);
}

static void say_none(struct forecast_vram *v, const struct rise *rise, double room)
{
    char span[32], used[32];
    forecast_span_words(rise->basis_s, span);
    words_bytes(llround(rise->line.level), used);
    if (rise->line.slope < 0 && -rise->line.slope * rise->line.span > 0.01 * room && -rise->line.slope > 3 * rise->line.slope_error)
        forecast_explain(&v->when, FORECAST_NO_TREND, "falling, %s now", used);
    else
        forecast_explain(&v->when, FORECAST_NO_TREND, "steady at %s for %s", used, span);
}

/* A process that has grown all along says more than a GPU that was cut off from its past by a process that came or went. */
static void judge_by_process(const struct forecast_card *card, const struct forecast_process *p, struct rise rise,
                             struct forecast_vram *v)
{
    /* From the level of the card now, at the slope of the process. */
    double now = card->vram.last.value;
    rise.line.level += now - p->track.last.value;
    v->bytes_per_s = rise.line.slope;
    rise_when(&rise, &card->vram, FORECAST_FULL_SHARE * card->room_bytes, &v->when);
    say_rise(v, &rise);
}

static void say_too_short(const struct track *t, struct forecast_when *when)
{
    char span[32];
    forecast_span_words(track_span_s(t), span);
    if (t->began_by == CUT_START || t->began_by == CUT_GAP)
        forecast_explain(when, FORECAST_UNKNOWN, "watched for too short a time");
    else
        forecast_explain(when, FORECAST_UNKNOWN, "%s %s ago, watched too briefly since",
                         t->began_by == CUT_PROCESSES ? "a process started or ended" : "the memory in use jumped", span);
}

static void judge(const struct forecast_card *card, bool processes_known, struct forecast_vram *v)
{
    const struct track *t = &card->vram;
    struct rise rise = {0}, of_process = {0};
    enum rise_result found = rise_find(t, card->room_bytes, PAGE_BYTES, &rise);
    bool cut = t->began_by != CUT_START && t->began_by != CUT_GAP;
    const struct forecast_process *p = found == RISE_FOUND || cut ? grower(card, &of_process) : NULL;
    bool by_process = p && found != RISE_SWINGS && of_process.basis_s > LONGER * rise.basis_s;
    if (!by_process && found != RISE_FOUND) {
        if (found == RISE_UNKNOWN)
            say_too_short(t, &v->when);
        else if (found == RISE_SWINGS)
            say_swings(v, t);
        else
            say_none(v, &rise, card->room_bytes);
        return;
    }
    if (by_process || (p && of_process.line.slope >= BLAME_SHARE * rise.line.slope))
        name_process(v, p);
    /* Whose memory grows is not known: it may be a program that loads. */
    bool unknown = !processes_known && rise.basis_s < LOADING_S;
    if (unknown || loads(v->pid ? &p->track : t, v->pid ? p->age_ms : INT64_MAX)) {
        char who[PROCESS_WORDS + 32];
        who_text(v, who);
        forecast_explain(&v->when, FORECAST_UNKNOWN, v->pid ? "%s is loading" : "%s has just started growing: loading, or a leak",
                         who);
        v->when.rising = true;
        return;
    }
    if (by_process) {
        judge_by_process(card, p, of_process, v);
        return;
    }
    rise_when(&rise, t, FORECAST_FULL_SHARE * card->room_bytes, &v->when);
    v->bytes_per_s = rise.line.slope;
    say_rise(v, &rise);
}

void forecast_judge_vram(const struct forecast_card *card, const struct gpu *gpu, struct forecast_vram *ret)
{
    *ret = (struct forecast_vram){.used_bytes = gpu->mem_used_bytes, .room_bytes = reading_absent(READING_UNREAD)};
    const struct track *t = &card->vram;
    if (gpu->state != GPU_OK || gpu->mem_used_bytes.state != READING_OK || !t->samples || card->room_bytes <= 0) {
        forecast_explain(&ret->when, FORECAST_UNKNOWN, "%s",
                         gpu->state == GPU_ASLEEP ? "the GPU is asleep"
                         : gpu->state == GPU_OK   ? "its memory in use can't be read"
                                                  : "the GPU can't be read");
        return;
    }
    ret->room_bytes = reading_ok((int64_t)card->room_bytes);
    if (t->last.value >= FORECAST_FULL_SHARE * card->room_bytes)
        forecast_explain(&ret->when, FORECAST_REACHED, "no memory left");
    else
        judge(card, gpu->processes_state == READING_OK, ret);
}
