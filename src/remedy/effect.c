/* SPDX-License-Identifier: Apache-2.0 */
#include "remedy/effect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "base/moment.h"
#include "base/words.h"
#include "config/places.h"
#include "insight/facts/levels.h"

enum { FILE_MAX = 512 * 1024, VALUES = sizeof(struct remedy_values) / sizeof(struct reading) };
/* A step that began at a power this far from today's says nothing about today. */
enum { ALIKE_PERMILLE = 150 };
/* How near an expected change has to be. */
enum { NEAR_MW = 3000, NEAR_FAN_PERMILLE = 30 };

static const char *effect_cause_name(enum effect_cause cause)
{
    static const char *const names[EFFECT_CAUSES] = {"remedy", "context", "limit", "display", "model"};
    return names[cause];
}

/* ---- JSON ---- */

static const char *effect_code_name(enum remedy_code code)
{
    return remedy_row(code)->code;
}
ANSWER_NAMES(effect_causes, enum effect_cause, effect_cause_name, 0, EFFECT_CAUSES - 1);
ANSWER_NAMES(effect_codes, enum remedy_code, effect_code_name, 0, REMEDY_COUNT - 1);

SHARED_ANSWER_TABLE(remedy_values_answer, struct remedy_values, .name = "RemedyValues")
{
    FIELD(OPTION, "fan_percent", fan_permille, NULL, SCALE(0.1));
    FIELD(OPTION, "power_watts", power_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "temperature_celsius", temp_mdegc, NULL, SCALE(1e-3));
    FIELD(OPTION, "clock_graphics_mhz", clock_khz, NULL, SCALE(1e-3));
    FIELD(OPTION, "tokens_per_second", tokens_milli, NULL, SCALE(1e-3));
}

SHARED_ANSWER_TABLE(effect_answer, struct effect, .name = "Effect")
{
    FIELD(MOMENT, "at", at, "When it was measured");
    FIELD(INT, "gpu_index", gpu_index, "Its index at that time");
    FIELD(TEXT, "gpu_uuid", gpu, "UUID, or PCI address");
    FIELD(TEXT, "gpu_name", model, NULL);
    FIELD(NAME, "cause", cause, "remedy: whirr do; else what came or went on its own", NAMES(effect_causes));
    FIELD(NAME, "code", code, "The remedy that does this", NAMES(effect_codes), OPEN, .none = REMEDY_FAULT);
    FIELD(TEXT, "what", what, "What changed", OR_NULL, FOREIGN);
    FIELD(OPTION, "limit_before_watts", from_mw, "Of a changed power limit", SCALE(1e-3));
    FIELD(OPTION, "limit_after_watts", to_mw, NULL, SCALE(1e-3));
    FIELD(OBJECT, "before", before, NULL, FIELDS(remedy_values_answer));
    FIELD(OBJECT, "after", after, NULL, FIELDS(remedy_values_answer));
    FIELD(OBJECT, "expected", expected, "Changes that were expected; null: not known", FIELDS(remedy_values_answer));
}

SHARED_ANSWER_TABLE(effect_hits_answer, struct effect_hits, .name = "RemedyHits")
{
    FIELD(NAME, "code", code, "Of the remedy", NAMES(effect_codes), OPEN, .none = REMEDY_FAULT);
    FIELD(INT, "measured", measured, "Steps that were measured");
    FIELD(INT, "expected", expected, "Those where something was expected");
    FIELD(INT, "hit", hit, "Those that came as expected, within a fifth");
    FIELD(OPTION, "expected_watts", expected_mw, "Of the newest", SCALE(1e-3));
    FIELD(OPTION, "measured_watts", measured_mw, NULL, SCALE(1e-3));
}

/* ---- the list ---- */

void effects_done(struct effects *e)
{
    free(e->list);
    *e = (struct effects){0};
}

int effects_put(struct effects *all, const struct effect *e)
{
    if (!all->list && !(all->list = calloc(EFFECTS_MAX, sizeof *all->list)))
        return -ENOMEM;
    if (all->count == EFFECTS_MAX)
        memmove(all->list, all->list + 1, --all->count * sizeof *all->list);
    all->list[all->count++] = *e;
    return 0;
}

bool effect_from_text(const char *text, struct effect *ret)
{
    AUTO_JSON json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    *ret = (struct effect){.code = REMEDY_FAULT};
    return json_is_object(json) && answer_read(&effect_answer, json, ret, NULL) && ret->gpu[0];
}

/* ---- the file ---- */

void effects_read(struct effects *ret)
{
    char path[PLACE_SIZE + 16], line[4096];
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    *ret = (struct effects){0};
    if (place_state_find(path, NULL) < 0)
        return;
    str_copy(path + strlen(path), sizeof path - strlen(path), STR("/effects"));
    if (keep_read(path, &text, NULL) < 0)
        return;
    struct str rest = buf_view(&text), one;
    while (str_cut(&rest, '\n', &one)) {
        struct effect e;
        str_copy(line, sizeof line, one);
        if (effect_from_text(line, &e) && effects_put(ret, &e) < 0)
            return;
    }
}

int effects_add(const struct effect *e, struct error *err)
{
    char path[PLACE_SIZE + 16];
    AUTO_EFFECTS struct effects all = {0};
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    int rc = place_state(path, err);
    if (rc < 0)
        return rc;
    str_copy(path + strlen(path), sizeof path - strlen(path), STR("/effects"));
    effects_read(&all);
    if (effects_put(&all, e) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < all.count; i++) {
        struct json_writer j = JSON_WRITER(&text); /* each line is a text of its own */
        answer_write(&j, &effect_answer, &all.list[i], NULL);
        buf_char(&text, '\n');
    }
    return keep_write(path, buf_view(&text), err);
}

/* ---- what they let expect ---- */

struct reading effect_change(struct reading before, struct reading after)
{
    int64_t a, b;
    return reading_get(before, &a) && reading_get(after, &b) ? reading_ok(b - a) : reading_absent(READING_UNSUPPORTED);
}

struct remedy_values effect_changes(const struct remedy_values *before, const struct remedy_values *after)
{
    struct remedy_values changes;
    const struct reading *a = (const struct reading *)before, *b = (const struct reading *)after;
    for (size_t k = 0; k < VALUES; k++)
        ((struct reading *)&changes)[k] = effect_change(a[k], b[k]);
    return changes;
}

static bool began_alike(const struct effect *e, const struct gpu *gpu)
{
    int64_t then, now;
    if (!reading_get(e->before.power_mw, &then) || !reading_get(gpu->power_mw, &now))
        return true;
    int64_t off = llabs(then - now) * 1000 / MAX_OF(then, (int64_t)1);
    return off <= ALIKE_PERMILLE;
}

void effects_expect(const struct effects *all, const struct gpu *gpu, struct remedy *r)
{
    const char *key = gpu_id_key(&gpu->id);
    for (int own = 1; own >= 0 && !r->source; own--)
        for (size_t i = all->count; i-- > 0 && !r->source;) {
            const struct effect *e = &all->list[i];
            /* What a context that boosts adds is what either saves. */
            enum remedy_code wanted = r->code == REMEDY_NO_BOOST ? REMEDY_CLOSE_CONTEXT : r->code;
            if (e->code != wanted || strcmp(e->model, gpu->id.name) != 0 || (own && strcmp(e->gpu, key) != 0) ||
                !began_alike(e, gpu))
                continue;
            r->source = own ? EXPECTED_OWN_HISTORY : EXPECTED_SIBLINGS;
            r->seen = e->at;
            r->expected = effect_changes(&e->before, &e->after);
        }
}

/* Behind the sentence, in its parentheses' place. */
static void say_expected(const struct snapshot *now, const struct gpu *gpu, struct remedy *r, char *text)
{
    char words[EFFECT_WORDS], when[MOMENT_TEXT_SIZE], *tail = strstr(text, "   (");
    const struct remedy_values from = effect_base(gpu->util_permille, gpu->clock_graphics_khz);
    size_t at = tail ? (size_t)(tail - text) : strlen(text);
    if (!effect_words(&r->expected, &from, words)[0])
        return;
    moment_format(r->seen, now->taken_at, when);
    snprintf(text + at, WHY_LINE_SIZE - at, "   (about %s, as %s at %s)", words,
             r->source == EXPECTED_OWN_HISTORY ? "measured" : "on another GPU", when);
    memcpy(r->text, text, sizeof r->text);
}

void effects_expect_all(const struct effects *all, const struct snapshot *now, struct why *why)
{
    for (size_t g = 0; g < why->gpu_count && g < now->gpu_count && all->count; g++)
        for (size_t i = 0; i < why->gpus[g].suggestion_count; i++) {
            struct remedy *r = &why->gpus[g].remedies[i];
            if (r->source)
                continue;
            effects_expect(all, &now->gpus[g], r);
            if (r->source)
                say_expected(now, &now->gpus[g], r, why->gpus[g].suggestions[i]);
        }
}

struct remedy_values effect_base(struct reading util_permille, struct reading clock_khz)
{
    return (struct remedy_values){.clock_khz = util_is_idle(util_permille) ? reading_absent(READING_UNREAD) : clock_khz};
}

const char *effect_words(const struct remedy_values *change, const struct remedy_values *from, char out[EFFECT_WORDS])
{
    char power[WORDS_SIZE] = "", fan[WORDS_SIZE] = "", speed[WORDS_SIZE] = "";
    int64_t value, was;
    out[0] = '\0';
    if (reading_get(change->power_mw, &value) && llabs(value) >= 1000)
        snprintf(power, sizeof power, "%lld W %s", words_whole(llabs(value), 1000), value < 0 ? "less" : "more");
    if (reading_get(change->fan_permille, &value) && llabs(value) >= 10)
        snprintf(fan, sizeof fan, "%s%lld%% fan %s", power[0] ? ", " : "", words_whole(llabs(value), 10),
                 value < 0 ? "less" : "more");
    struct reading moved = change->tokens_milli, base = from->tokens_milli;
    if (moved.state != READING_OK) {
        moved = change->clock_khz;
        base = from->clock_khz;
    }
    if (reading_get(moved, &value) && reading_get(base, &was) && was > 0 && llabs(value) * 100 / was)
        snprintf(speed, sizeof speed, "%s%lld%% %s", power[0] || fan[0] ? ", " : "", words_whole(llabs(value) * 100, was),
                 value < 0 ? "slower" : "faster");
    if (power[0] || fan[0] || speed[0])
        snprintf(out, EFFECT_WORDS, "%s%s%s", power, fan, speed);
    else if (reading_get(change->temp_mdegc, &value) && llabs(value) >= 1000)
        snprintf(out, EFFECT_WORDS, "%lld °C %s", words_whole(llabs(value), 1000), value < 0 ? "cooler" : "hotter");
    return out;
}

/* ---- how often they were right ---- */

static bool is_near(struct reading expected, struct reading measured, int64_t least)
{
    int64_t e, m;
    return !reading_get(expected, &e) || !reading_get(measured, &m) || llabs(e - m) <= MAX_OF(llabs(e) / 5, least);
}

bool effect_as_expected(const struct remedy_values *expected, const struct remedy_values *measured)
{
    return is_near(expected->power_mw, measured->power_mw, NEAR_MW) &&
           is_near(expected->fan_permille, measured->fan_permille, NEAR_FAN_PERMILLE);
}

static void effects_count(const struct effect *e, struct effect_hits *h)
{
    struct remedy_values measured = effect_changes(&e->before, &e->after);
    h->measured++;
    if (e->expected.power_mw.state != READING_OK && e->expected.fan_permille.state != READING_OK)
        return;
    h->expected++;
    h->hit += effect_as_expected(&e->expected, &measured);
    h->expected_mw = e->expected.power_mw;
    h->measured_mw = measured.power_mw;
}

size_t effects_hits(const struct effects *all, struct effect_hits *list, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        size_t at = 0;
        while (at < count && list[at].code != all->list[i].code)
            at++;
        if (at == max)
            continue;
        if (at == count)
            list[count++] = (struct effect_hits){.code = all->list[i].code};
        effects_count(&all->list[i], &list[at]);
    }
    return count;
}
