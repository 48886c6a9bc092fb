/* SPDX-License-Identifier: Apache-2.0 */
#include "remedy/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

enum { BEFORE_PART = 12, BEFORE_MS_LEAST = 300, SAMPLES_LEAST = 2 };
/* Readings that move by less than this have not moved. */
enum { NOISE_PERMILLE = 20, NOISE_FAN_PERMILLE = 20, NOISE_MDEGC = 4000, LOAD_PERMILLE = 150 };

static const char *doing_phase_name(enum doing_phase phase)
{
    static const char *const names[DOING_PHASES] = {"measuring_before", "changing",        "measuring_after",
                                                    "undoing",          "measuring_again", "over"};
    return names[phase];
}

static const char *doing_outcome_name(enum doing_outcome outcome)
{
    static const char *const names[DOING_OUTCOMES] = {"running",   "measured",  "as_expected", "not_as_expected",
                                                      "no_effect", "cant_tell", "failed"};
    return names[outcome];
}

/* ---- JSON ---- */

ANSWER_NAMES(doing_phases, enum doing_phase, doing_phase_name, 0, DOING_PHASES - 1);
ANSWER_NAMES(doing_outcomes, enum doing_outcome, doing_outcome_name, 0, DOING_OUTCOMES - 1);

ANSWER_TEST(expects, struct remedy_doing, of->remedy.source);

ANSWER_MAKER(doing_code, struct remedy_doing, word, remedy_row(of->remedy.code)->code);

ANSWER_MAKER(doing_source, struct remedy_doing, word, expected_source_name(of->remedy.source));

SHARED_ANSWER_TABLE(doing_answer, struct remedy_doing, .name = "RemedyDoing")
{
    FIELD(TEXT, "id", id, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL);
    MADE(WORD, "code", doing_code, "Of the remedy");
    FIELD(TEXT, "text", remedy.text, "Its sentence", FOREIGN);
    FIELD(TEXT, "plan", plan, "What it changes", OR_NULL);
    FIELD(TEXT, "who", who, "Who asked for it", OR_NULL, FOREIGN);
    FIELD(BOOL, "trying", trying, "Is taken back in any case");
    FIELD(BOOL, "dry_run", dry_run, "Nothing is changed");
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(MOMENT, "since", since, NULL);
    FIELD(MOMENT, "until", until, "The old values are back then", OR_NULL);
    FIELD(NAME, "phase", phase, NULL, NAMES(doing_phases));
    FIELD(NAME, "outcome", outcome, NULL, NAMES(doing_outcomes));
    FIELD(BOOL, "kept", kept, "It still holds");
    FIELD(TEXT, "result", text, "What came of it, as a sentence", OR_NULL);
    FIELD(OBJECT, "before", before.values, "Measured", FIELDS(remedy_values_answer), PRESENT(has_before));
    FIELD(OBJECT, "after", after.values, NULL, FIELDS(remedy_values_answer), PRESENT(has_after));
    FIELD(OBJECT, "again", again.values, "After it was taken back", FIELDS(remedy_values_answer), PRESENT(has_again));
    FIELD(OBJECT, "expected", remedy.expected, "Changes; null: not known", FIELDS(remedy_values_answer), WHEN(expects));
    MADE(WORD, "expected_source", doing_source, "own_history or siblings", OR_NULL);
    FIELD(TEXT, "undo_id", lease_id, "For POST /api/undo", OR_NULL);
}

/* ---- measuring ---- */

static void mean_add(struct run_mean *m, struct reading r)
{
    int64_t value;
    if (reading_get(r, &value)) {
        m->sum += value;
        m->count++;
    }
}

static struct reading mean_of(const struct run_mean *m)
{
    return m->count ? reading_ok(m->sum / m->count) : reading_absent(READING_UNSUPPORTED);
}

static struct reading tokens_of(const struct gpu *gpu)
{
    struct run_mean sum = {0};
    for (size_t i = 0; i < gpu->process_count; i++)
        mean_add(&sum, gpu->processes[i].tokens_milli);
    return sum.count ? reading_ok(sum.sum) : reading_absent(READING_UNSUPPORTED);
}

static void measuring_begin(struct measuring *m, int64_t ms, struct wall now)
{
    *m = (struct measuring){.from = now, .ms = ms};
}

/* True: that was the last sample. */
static bool measuring_add(struct measuring *m, const struct gpu *gpu, struct wall now)
{
    int64_t past_ms = now.ms - m->from.ms;
    m->samples++;
    if (past_ms * 3 >= m->ms * 2) {
        const struct reading r[MEASURED_VALUES] = {gpu->fan_permille,       gpu->power_mw,  gpu->temp_mdegc,
                                                   gpu->clock_graphics_khz, tokens_of(gpu), gpu->util_permille};
        for (size_t k = 0; k < MEASURED_VALUES; k++)
            mean_add(&m->means[k], r[k]);
        if (!m->counted++)
            m->limit_mw = gpu->power_limit_mw;
        m->limit_moved |= effect_change(m->limit_mw, gpu->power_limit_mw).value != 0;
    }
    return past_ms >= m->ms && m->counted && m->samples >= SAMPLES_LEAST;
}

static struct measured measuring_end(const struct measuring *m)
{
    const struct run_mean *a = m->means;
    return (struct measured){{mean_of(&a[0]), mean_of(&a[1]), mean_of(&a[2]), mean_of(&a[3]), mean_of(&a[4])}, mean_of(&a[5])};
}

const char *measured_words(const struct measured *m, char out[MEASURED_WORDS])
{
    int64_t value;
    size_t len = 0;
    out[0] = '\0';
    if (reading_get(m->values.fan_permille, &value))
        len += (size_t)snprintf(out + len, MEASURED_WORDS - len, "  %3lld%% fan", words_whole(value, 10));
    if (reading_get(m->values.power_mw, &value))
        len += (size_t)snprintf(out + len, MEASURED_WORDS - len, "  %4lld W", words_whole(value, 1000));
    if (reading_get(m->values.temp_mdegc, &value))
        len += (size_t)snprintf(out + len, MEASURED_WORDS - len, "  %3lld °C", words_whole(value, 1000));
    if (reading_get(m->values.clock_khz, &value))
        len += (size_t)snprintf(out + len, MEASURED_WORDS - len, "  %4lld MHz", words_whole(value, 1000));
    if (reading_get(m->values.tokens_milli, &value))
        snprintf(out + len, MEASURED_WORDS - len, "  %lld tokens/s", words_whole(value, 1000));
    return out;
}

static int64_t permille_of(int64_t change, int64_t of)
{
    return of ? llabs(change) * 1000 / of : 0;
}

static bool has_moved(const struct measured *from, const struct remedy_values *change)
{
    int64_t value, was;
    if (reading_get(change->power_mw, &value) && reading_get(from->values.power_mw, &was) &&
        permille_of(value, was) > NOISE_PERMILLE)
        return true;
    if (reading_get(change->clock_khz, &value) && reading_get(from->values.clock_khz, &was) &&
        permille_of(value, was) > NOISE_PERMILLE)
        return true;
    if (reading_get(change->temp_mdegc, &value) && llabs(value) > NOISE_MDEGC)
        return true;
    return reading_get(change->fan_permille, &value) && llabs(value) > NOISE_FAN_PERMILLE;
}

/* Percent by which the load changed, where that is too much to compare; 0: it stayed. */
static int load_changed(const struct measured *a, const struct measured *b)
{
    int64_t x, y;
    if (!reading_get(a->util_permille, &x) || !reading_get(b->util_permille, &y) || llabs(x - y) < LOAD_PERMILLE)
        return 0;
    return (int)words_whole(llabs(x - y), 10);
}

/* ---- --keep-if 'fan < 70%' ---- */

bool keep_if_parse(const char *text, struct keep_if *ret)
{
    static const struct {
        const char *name;
        int64_t scale;
    } metrics[] = {{"fan", 10}, {"power", 1000}, {"temperature", 1000}, {"clock", 1000}, {"tokens", 1000}};
    struct str rest = str_from(text), name;
    const char *op = strpbrk(text, "<>");
    if (!op)
        return false;
    ret->below = *op == '<';
    name = str_trim((struct str){text, (size_t)(op - text)});
    rest = str_trim(str_from(op + 1));
    while (rest.len && strchr("%WCMHz° /skt", rest.at[rest.len - 1]))
        rest.len--;
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        if (str_is(name, metrics[i].name)) {
            ret->metric = i;
            return str_to_scaled(rest, metrics[i].scale, &ret->value);
        }
    return false;
}

static bool keep_if_holds(const struct keep_if *k, const struct measured *m)
{
    struct reading r = ((const struct reading *)&m->values)[k->metric];
    int64_t value;
    return reading_get(r, &value) && (k->below ? value < k->value : value > k->value);
}

/* ---- one step after the other ---- */

void doing_start(struct remedy_doing *d, struct wall now)
{
    d->since = now;
    d->phase = d->dry_run ? DOING_BEGIN : DOING_BEFORE;
    d->outcome = DOING_RUNNING;
    measuring_begin(&d->run, MAX_OF(d->measure_ms / BEFORE_PART, (int64_t)BEFORE_MS_LEAST), now);
}

static void doing_say(struct remedy_doing *d, enum doing_outcome outcome, const char *text)
{
    d->outcome = outcome;
    str_copy(d->text, sizeof d->text, str_from(text));
}

void doing_undone(struct remedy_doing *d)
{
    d->kept = false;
    d->lease_id[0] = '\0';
    if (d->phase == DOING_OVER)
        return;
    doing_say(d, DOING_UNCLEAR, "It was taken back while it was measured.");
    d->phase = DOING_OVER;
}

void doing_stop(struct remedy_doing *d, const char *why)
{
    bool changed = d->phase == DOING_AFTER;
    doing_say(d, DOING_FAILED, why);
    d->phase = changed ? DOING_END : DOING_OVER;
}

/* Advice about a program is about what it lets the GPU do. */
static bool is_for_the_load(const struct remedy_doing *d)
{
    enum remedy_kind kind = remedy_row(d->remedy.code)->kind;
    return kind == REMEDY_ENV || kind == REMEDY_SERVER_API || kind == REMEDY_HINT;
}

/* How busy the GPU is, too, where that is what the advice is about. */
static const char *measured_change(const struct remedy_doing *d, const struct remedy_values *change, char words[EFFECT_WORDS])
{
    const struct remedy_values clocks = effect_base(d->before.util_permille, d->before.values.clock_khz);
    struct remedy_values from = d->before.values;
    char values[EFFECT_WORDS], busy[WORDS_SIZE] = "";
    int64_t was, is;
    from.clock_khz = clocks.clock_khz;
    effect_words(change, &from, values);
    if (is_for_the_load(d) && reading_get(d->before.util_permille, &was) && reading_get(d->after.util_permille, &is) &&
        llabs(is - was) > NOISE_PERMILLE)
        snprintf(busy, sizeof busy, "%lld%% busy instead of %lld%%%s", words_whole(is, 10), words_whole(was, 10),
                 values[0] ? ", " : "");
    snprintf(words, EFFECT_WORDS, "%s%s", busy, values);
    return words;
}

/* What it did, and whether that is worth keeping. */
static void judge_step(struct remedy_doing *d)
{
    struct remedy_values change = effect_changes(&d->before.values, &d->after.values);
    char words[EFFECT_WORDS], text[DOING_TEXT_SIZE];
    int load = is_for_the_load(d) ? 0 : load_changed(&d->before, &d->after);
    bool keep = true;
    measured_change(d, &change, words);
    if (d->run.limit_moved) {
        doing_say(d, DOING_UNCLEAR, "Can't tell what it did: the power limit was changed meanwhile.");
        keep = false;
    } else if (load) {
        snprintf(text, sizeof text, "Can't tell what it did: the load changed by %d%%.", load);
        doing_say(d, DOING_UNCLEAR, text);
    } else if (!has_moved(&d->before, &change)) {
        doing_say(d, DOING_NO_EFFECT, "No effect: nothing moved by more than the noise.");
        keep = false;
    } else if (!d->remedy.source) {
        snprintf(text, sizeof text, "Measured: %s.", words);
        doing_say(d, DOING_MEASURED, text);
    } else {
        bool as = effect_as_expected(&d->remedy.expected, &change);
        snprintf(text, sizeof text, "Measured: %s, %sas expected.", words, as ? "" : "not ");
        doing_say(d, as ? DOING_AS_EXPECTED : DOING_UNEXPECTED, text);
    }
    if (d->has_keep_if)
        keep = !load && !d->run.limit_moved && keep_if_holds(&d->keep_if, &d->after);
    d->kept = keep && !d->trying;
    d->phase = d->kept ? DOING_OVER : DOING_END;
}

/* An effect counts only where going back undoes it. */
static void judge_try(struct remedy_doing *d)
{
    struct remedy_values change = effect_changes(&d->before.values, &d->after.values);
    struct remedy_values back = effect_changes(&d->after.values, &d->again.values);
    char words[EFFECT_WORDS], text[DOING_TEXT_SIZE];
    int64_t there, home;
    int load = is_for_the_load(d) ? load_changed(&d->before, &d->again)
                                  : MAX_OF(load_changed(&d->before, &d->after), load_changed(&d->after, &d->again));
    d->phase = DOING_OVER;
    if (load) {
        snprintf(text, sizeof text, "Can't tell: the load changed by %d%%.", load);
        doing_say(d, DOING_UNCLEAR, text);
    } else if (!has_moved(&d->before, &change))
        doing_say(d, DOING_NO_EFFECT, "No effect: nothing moved by more than the noise.");
    else if (reading_get(change.power_mw, &there) && reading_get(back.power_mw, &home) && llabs(there + home) * 2 > llabs(there))
        doing_say(d, DOING_UNCLEAR, "Can't tell: going back did not undo it, so something else changed as well.");
    else {
        snprintf(text, sizeof text, "It makes %s.", measured_change(d, &change, words));
        doing_say(d, DOING_MEASURED, text);
    }
}

void doing_sample(struct remedy_doing *d, const struct gpu *gpu, struct wall now)
{
    bool measures = d->phase == DOING_BEFORE || d->phase == DOING_AFTER || d->phase == DOING_AGAIN;
    if (!measures)
        return;
    if (!gpu) {
        doing_stop(d, "The GPU is gone.");
        return;
    }
    if (!measuring_add(&d->run, gpu, now))
        return;
    struct measured m = measuring_end(&d->run);
    if (d->phase == DOING_BEFORE) {
        d->before = m;
        d->has_before = true;
        d->phase = DOING_BEGIN;
    } else if (d->phase == DOING_AFTER) {
        d->after = m;
        d->has_after = true;
        judge_step(d);
    } else {
        d->again = m;
        d->has_again = true;
        judge_try(d);
    }
}

void doing_began(struct remedy_doing *d, int rc, const struct error *err, struct wall now)
{
    if (rc < 0) {
        doing_say(d, DOING_FAILED, err->text);
        d->phase = DOING_OVER;
        return;
    }
    d->phase = d->dry_run ? DOING_OVER : DOING_AFTER;
    measuring_begin(&d->run, d->measure_ms, now);
}

void doing_ended(struct remedy_doing *d, int rc, const struct error *err, struct wall now)
{
    if (rc < 0) {
        d->kept = true;
        doing_say(d, DOING_FAILED, err->text);
    } else
        d->lease_id[0] = '\0';
    bool measure_again = rc == 0 && d->trying && d->outcome != DOING_FAILED;
    d->phase = measure_again ? DOING_AGAIN : DOING_OVER;
    if (measure_again)
        measuring_begin(&d->run, d->measure_ms, now);
}

bool doing_effect(const struct remedy_doing *d, struct wall now, struct effect *ret)
{
    if (!d->has_after || d->outcome == DOING_UNCLEAR || d->outcome == DOING_FAILED)
        return false;
    *ret = (struct effect){.at = now,
                           .gpu_index = d->gpu_index,
                           .cause = EFFECT_REMEDY,
                           .code = d->remedy.code,
                           .before = d->before.values,
                           .after = d->after.values};
    str_copy(ret->gpu, sizeof ret->gpu, str_from(d->gpu));
    str_copy(ret->model, sizeof ret->model, str_from(d->gpu_name));
    str_copy_clean(ret->what, sizeof ret->what, str_from(d->plan));
    if (d->remedy.source)
        ret->expected = d->remedy.expected;
    return true;
}
