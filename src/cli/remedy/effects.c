/* SPDX-License-Identifier: Apache-2.0
 * Measured steps: what a remedy changed, on which GPU, and when. A file in the state directory, a line for each; what was measured
 * once is what is expected the next time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/remedy/remedy_cli.h"
#include "config/places.h"

enum { FILE_MAX = 256 * 1024, VALUES = 5 };
/* A step that began at a power this far from today's says nothing about today. */
enum { ALIKE_PERMILLE = 150 };

static bool effects_file(char path[PLACE_SIZE + 16], struct error *err)
{
    char folder[PLACE_SIZE];
    if (place_state(folder, err) < 0)
        return false;
    snprintf(path, PLACE_SIZE + 16, "%s/effects", folder);
    return true;
}

void effects_done(struct effects *e)
{
    free(e->list);
    *e = (struct effects){0};
}

static void write_values(struct buf *out, const struct remedy_values *v)
{
    const struct reading *list = (const struct reading *)v;
    for (size_t i = 0; i < VALUES; i++) {
        int64_t value;
        if (reading_get(list[i], &value))
            buf_printf(out, "\t%lld", (long long)value);
        else
            buf_text(out, "\t-");
    }
}

static bool read_values(struct str *rest, struct remedy_values *ret)
{
    struct reading *list = (struct reading *)ret;
    for (size_t i = 0; i < VALUES; i++) {
        struct str word;
        int64_t value;
        if (!str_cut(rest, '\t', &word))
            return false;
        list[i] = str_to_i64(word, &value) ? reading_ok(value) : reading_absent(READING_UNSUPPORTED);
    }
    return true;
}

static bool read_effect(struct str line, struct effect *e)
{
    struct str at, gpu, model, code;
    char name[32];
    if (!str_cut(&line, '\t', &at) || !str_cut(&line, '\t', &gpu) || !str_cut(&line, '\t', &model) ||
        !str_cut(&line, '\t', &code) || !str_to_i64(at, &e->at.ms))
        return false;
    str_copy(e->gpu, sizeof e->gpu, gpu);
    str_copy(e->model, sizeof e->model, model);
    str_copy(name, sizeof name, code);
    return remedy_from_name(name, &e->code) && read_values(&line, &e->before) && read_values(&line, &e->after) &&
           read_values(&line, &e->expected);
}

void effects_read(struct effects *ret)
{
    char path[PLACE_SIZE + 16];
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    *ret = (struct effects){0};
    if (place_state_find(path, NULL) < 0)
        return;
    str_copy(path + strlen(path), sizeof path - strlen(path), STR("/effects"));
    if (keep_read(path, &text, NULL) < 0 || !(ret->list = calloc(EFFECTS_MAX, sizeof *ret->list)))
        return;
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        if (ret->count == EFFECTS_MAX) {
            memmove(ret->list, ret->list + 1, (EFFECTS_MAX - 1) * sizeof *ret->list);
            ret->count--;
        }
        if (read_effect(line, &ret->list[ret->count]))
            ret->count++;
    }
}

int effects_add(const struct effect *e, struct error *err)
{
    char path[PLACE_SIZE + 16];
    AUTO_EFFECTS struct effects all = {0};
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    if (!effects_file(path, err))
        return -ENOENT;
    effects_read(&all);
    for (size_t i = all.count >= EFFECTS_MAX - 1; i <= all.count; i++) {
        const struct effect *x = i < all.count ? &all.list[i] : e;
        buf_printf(&text, "%lld\t%s\t%s\t%s", (long long)x->at.ms, x->gpu, x->model, remedy_row(x->code)->code);
        write_values(&text, &x->before);
        write_values(&text, &x->after);
        write_values(&text, &x->expected);
        buf_char(&text, '\n');
    }
    return keep_write(path, buf_view(&text), err);
}

struct reading effect_change(struct reading before, struct reading after)
{
    int64_t a, b;
    return reading_get(before, &a) && reading_get(after, &b) ? reading_ok(b - a) : reading_absent(READING_UNSUPPORTED);
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
    const char *key = gpu->id.uuid[0] ? gpu->id.uuid : gpu->id.pci_address;
    for (int own = 1; own >= 0 && !r->source; own--)
        for (size_t i = all->count; i-- > 0 && !r->source;) {
            const struct effect *e = &all->list[i];
            if (e->code != r->code || strcmp(e->model, gpu->id.name) != 0 || (own && strcmp(e->gpu, key) != 0) ||
                !began_alike(e, gpu))
                continue;
            r->source = own ? EXPECTED_OWN_HISTORY : EXPECTED_SIBLINGS;
            r->seen = e->at;
            const struct reading *before = (const struct reading *)&e->before, *after = (const struct reading *)&e->after;
            for (size_t k = 0; k < VALUES; k++)
                ((struct reading *)&r->expected)[k] = effect_change(before[k], after[k]);
        }
}

const char *effect_words(const struct remedy_values *change, const struct remedy_values *from, char out[EFFECT_WORDS])
{
    char power[WORDS_SIZE] = "", fan[WORDS_SIZE] = "", speed[WORDS_SIZE] = "";
    int64_t value, was;
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
    snprintf(out, EFFECT_WORDS, "%s%s%s", power, fan, speed);
    return out;
}

void effects_expect_all(const struct snapshot *now, struct why *why)
{
    AUTO_EFFECTS struct effects all = {0};
    bool any = false;
    for (size_t g = 0; g < why->gpu_count; g++)
        for (size_t i = 0; i < why->gpus[g].suggestion_count; i++)
            any |= remedy_row(why->gpus[g].remedies[i].code)->kind == REMEDY_SETTING;
    if (!any)
        return;
    effects_read(&all);
    for (size_t g = 0; g < why->gpu_count && g < now->gpu_count && all.count; g++)
        for (size_t i = 0; i < why->gpus[g].suggestion_count; i++) {
            struct remedy *r = &why->gpus[g].remedies[i];
            char words[EFFECT_WORDS], when[MOMENT_TEXT_SIZE], *text = why->gpus[g].suggestions[i], *tail = strstr(text, "   (");
            effects_expect(&all, &now->gpus[g], r);
            if (!r->source)
                continue;
            const struct gpu *gpu = &now->gpus[g];
            const struct remedy_values from = {.clock_khz = gpu->clock_graphics_khz};
            size_t at = tail ? (size_t)(tail - text) : strlen(text);
            moment_format(r->seen, now->taken_at, when);
            if (!effect_words(&r->expected, &from, words)[0])
                continue;
            snprintf(text + at, WHY_LINE_SIZE - at, "   (about %s, as %s at %s)", words,
                     r->source == EXPECTED_OWN_HISTORY ? "measured" : "on another GPU", when);
            memcpy(r->text, text, sizeof r->text);
        }
}
