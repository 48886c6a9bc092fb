/* SPDX-License-Identifier: Apache-2.0
 * Settings as people write them, and the GPUs that have them. The sources know the files and calls behind them.
 */
#include "source/source_control.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "model/remedy.h"
#include "source/sim/sim.h"

enum { MW_PER_W = 1000 };

static const struct {
    const char *name, *words, *unit;
    int64_t scale;     /* from what people type to the value */
    int64_t tolerance; /* drivers round: differences up to this are equal */
} kinds[CONTROL_KINDS] = {
    [CONTROL_POWER] = {"power_limit", "power limit", "W", MW_PER_W, MW_PER_W},
    [CONTROL_CLOCKS] = {"clocks", "clocks", "MHz", 1, 17}, /* i915 has steps of 50/3 MHz */
    [CONTROL_FAN] = {"fan", "fan speed", "%", 1, 1},
    [CONTROL_ACOUSTIC] = {"acoustic_target", "fan target", "", 1, 0},
    [CONTROL_LEVEL] = {"performance_level", "performance level", "", 1, 0},
    [CONTROL_ADVICE] = {"advice", "by hand:", "", 1, 0},
};

const char *const control_levels[CONTROL_LEVELS] = {
    "auto", "low", "high", "manual", "profile_standard", "profile_min_sclk", "profile_min_mclk", "profile_peak", "perf_determinism",
};

int64_t control_level_of(struct str name)
{
    size_t i = NAME_FIND(control_levels, name);
    return i < CONTROL_LEVELS ? (int64_t)i : -1;
}

const char *control_name(enum control_kind kind)
{
    return kinds[kind].name;
}

const char *control_words(enum control_kind kind)
{
    return kinds[kind].words;
}

bool control_from_name(const char *name, enum control_kind *ret)
{
    size_t i = NAME_FIND(kinds, str_from(name));
    if (i < ARRAY_LEN(kinds))
        *ret = (enum control_kind)i;
    return i < ARRAY_LEN(kinds);
}

/* "Check airflow": its sentence up to the details; its code where the sentence differs from case to case. */
static void advice_text(int64_t number, char out[CONTROL_TEXT_SIZE])
{
    const struct remedy_row *row = number >= 1 && number <= REMEDY_COUNT ? remedy_row((enum remedy_code)(number - 1)) : NULL;
    const char *text = !row ? "?" : row->text ? row->text : row->code;
    str_copy(out, CONTROL_TEXT_SIZE, str_trim((struct str){text, strcspn(text, ":;,.(")}));
    for (char *gap = out; row && !row->text && (gap = strchr(gap, '_'));)
        *gap = ' ';
}

const char *control_text(enum control_kind kind, const char *unit, struct control_value v, char out[CONTROL_TEXT_SIZE])
{
    const char *in = unit && unit[0] ? unit : kinds[kind].unit, *gap = in[0] && strcmp(in, "%") != 0 ? " " : "";
    if (v.stock)
        snprintf(out, CONTROL_TEXT_SIZE, "%s", kind == CONTROL_FAN ? "automatic" : kind == CONTROL_ADVICE ? "not done" : "stock");
    else if (kind == CONTROL_POWER)
        words_power(v.low, out);
    else if (kind == CONTROL_LEVEL)
        snprintf(out, CONTROL_TEXT_SIZE, "%s", v.low >= 0 && v.low < CONTROL_LEVELS ? control_levels[v.low] : "?");
    else if (kind == CONTROL_ADVICE)
        advice_text(v.low, out);
    else if (v.low != v.high)
        snprintf(out, CONTROL_TEXT_SIZE, "%lld-%lld%s%s", (long long)v.low, (long long)v.high, gap, in);
    else
        snprintf(out, CONTROL_TEXT_SIZE, "%lld%s%s", (long long)v.low, gap, in);
    return out;
}

static bool is_near(int64_t a, int64_t b, int64_t tolerance)
{
    return a - b <= tolerance && b - a <= tolerance;
}

bool control_equal(enum control_kind kind, struct control_value a, struct control_value b)
{
    if (a.stock || b.stock)
        return a.stock == b.stock;
    int64_t tolerance = kinds[kind].tolerance;
    return is_near(a.low, b.low, tolerance) && is_near(a.high, b.high, tolerance);
}

static int out_of_range(enum control_kind kind, const struct control_state *s, struct control_value v, struct error *err)
{
    char wanted[CONTROL_TEXT_SIZE], least[CONTROL_TEXT_SIZE], most[CONTROL_TEXT_SIZE];
    control_text(kind, s->unit, v, wanted);
    control_text(kind, s->unit, (struct control_value){.low = s->least, .high = s->least}, least);
    control_text(kind, s->unit, (struct control_value){.low = s->most, .high = s->most}, most);
    return error_set(err, -ERANGE, "a %s of %s is outside of what this GPU takes: %s to %s", kinds[kind].words, wanted, least,
                     most);
}

int control_check(enum control_kind kind, const struct control_state *s, struct control_value v, struct error *err)
{
    if (v.stock)
        return 0;
    /* A zero never switches anything off: some drivers read it as "no limit". */
    if (kind == CONTROL_LEVEL ? v.low < 0 || v.low >= CONTROL_LEVELS
                              : v.low <= 0 || v.low > v.high || v.low < s->least || v.high > s->most)
        return out_of_range(kind, s, v, err);
    return 0;
}

static bool parse_number(enum control_kind kind, struct str text, int64_t *ret)
{
    const char *unit = kinds[kind].unit;
    size_t len = strlen(unit);
    if (len && text.len > len && strncasecmp(text.at + text.len - len, unit, len) == 0)
        text = str_trim((struct str){text.at, text.len - len});
    return str_to_scaled(text, kinds[kind].scale, ret) && *ret > 0;
}

/* "75%" of the factory value. */
static bool parse_share(struct str text, const struct control_state *s, int64_t *ret)
{
    int64_t permille;
    if (!str_ends(text, "%") || !s->exact_stock || !str_to_scaled((struct str){text.at, text.len - 1}, 10, &permille))
        return false;
    *ret = s->stock_value.low / 1000 * permille;
    *ret -= *ret % MW_PER_W; /* whole watts: some drivers truncate */
    return permille > 0;
}

static bool parse_value(enum control_kind kind, struct str text, const struct control_state *s, struct control_value *ret)
{
    struct str low;
    if (str_is(text, "stock") || str_is(text, "auto") || str_is(text, "default")) {
        *ret = (struct control_value){.stock = true};
        return true;
    }
    if (kind == CONTROL_LEVEL) {
        ret->low = ret->high = control_level_of(text);
        return ret->low >= 0;
    }
    if (kind == CONTROL_POWER && parse_share(text, s, &ret->low)) {
        ret->high = ret->low;
        return true;
    }
    if (kind == CONTROL_CLOCKS && str_contains(text, "-"))
        return str_cut(&text, '-', &low) && parse_number(kind, low, &ret->low) && parse_number(kind, text, &ret->high);
    if (!parse_number(kind, text, &ret->high))
        return false;
    ret->low = kind == CONTROL_CLOCKS ? s->least : ret->high; /* a single number is the maximum clock */
    return true;
}

int control_parse(enum control_kind kind, const char *text, const struct control_state *s, struct control_value *ret,
                  struct error *err)
{
    static const char *const forms[CONTROL_KINDS] = {
        [CONTROL_POWER] = "\"330W\", \"75%\" or \"stock\"",
        [CONTROL_CLOCKS] = "\"1400-1800\", \"1800\" or \"stock\"",
        [CONTROL_FAN] = "\"45%\" or \"auto\"",
        [CONTROL_ACOUSTIC] = "a number or \"stock\"",
        [CONTROL_LEVEL] = "\"low\", \"high\" or \"stock\"",
        [CONTROL_ADVICE] = "a number",
    };
    struct control_value v = {0};
    if (!parse_value(kind, str_trim(str_from(text)), s, &v))
        return error_set(err, -EINVAL, "invalid %s '%s'; expected %s", kinds[kind].words, text, forms[kind]);
    if (v.stock && s->exact_stock)
        v = s->stock_value;
    int rc = control_check(kind, s, v, err);
    if (rc == 0)
        *ret = v;
    return rc;
}

/* ---- quiet ---- */

enum { QUIET_PERMILLE = 700, QUIET_OF_DRAW_PERMILLE = 850, QUIET_COOLER_C = 10 };

/* Published measurements on many GPUs: 60 to 85% of the stock limit keeps most of the speed (docs/leases.md). A limit above the
 * current draw would do nothing; one below a third would cripple work that starts later. */
static int64_t quiet_power(const struct control_state *s, struct reading draw_mw)
{
    int64_t stock = s->exact_stock ? s->stock_value.low : s->most, wanted = stock / 1000 * QUIET_PERMILLE, draw;
    if (reading_get(draw_mw, &draw) && draw > s->least)
        wanted = MIN_OF(wanted, MAX_OF(stock / 3, draw / 1000 * QUIET_OF_DRAW_PERMILLE));
    return wanted - wanted % MW_PER_W;
}

bool control_quiet(enum control_kind kind, const struct control_state *s, struct reading draw_mw, struct control_value *ret)
{
    if (!s->now_known || (kind != CONTROL_POWER && kind != CONTROL_ACOUSTIC))
        return false;
    int64_t now = s->now.stock ? s->stock_value.low : s->now.low;
    int64_t wanted = kind == CONTROL_POWER         ? quiet_power(s, draw_mw)
                     : strcmp(s->unit, "rpm") == 0 ? now / 1000 * QUIET_PERMILLE + now % 1000 * QUIET_PERMILLE / 1000
                                                   : now - QUIET_COOLER_C;
    wanted = MAX_OF(wanted, s->least);
    *ret = (struct control_value){.low = wanted, .high = wanted};
    return wanted < now && wanted <= s->most && wanted > 0;
}

void control_hints(enum control_kind kind, const struct control_state *s, struct control_value v, struct reading draw_mw,
                   struct buf *out)
{
    char text[WORDS_SIZE];
    int64_t value;
    if (kind != CONTROL_POWER || v.stock || !s->now_known)
        return;
    if (reading_get(s->in_force, &value) && value < MIN_OF(s->now.low, v.low))
        buf_printf(out, "  Something else (firmware, BMC) holds it at %s: a higher limit has no effect.\n",
                   words_power(value, text));
    if (reading_get(draw_mw, &value) && value < v.low && v.low < s->now.low)
        buf_printf(out, "  It is drawing %s now, less than that: the limit matters only when the GPU works harder.\n",
                   words_power(value, text));
}

/* ---- GPUs ---- */

int control_file_error(int code, const char *name, struct error *err)
{
    switch (code) {
    case -EACCES:
    case -EROFS: return error_set(err, -EACCES, "changing it needs root: '%s' cannot be written", name);
    case -ENOENT:
    case -ENODATA:
    case -EOPNOTSUPP: return error_set(err, -EOPNOTSUPP, "the driver has no '%s' for it", name);
    case -ENODEV:
    case -ENXIO: return error_set(err, -ENODEV, "the GPU is gone");
    case -EPERM: return error_set(err, -EAGAIN, "the GPU is asleep");
    default: return error_set(err, code, "'%s': %s", name, strerror(-code));
    }
}

void control_close(struct control_set *c)
{
    for (size_t i = 0; i < c->source_count; i++)
        c->sources[i]->ops->close(c->sources[i]);
    *c = (struct control_set){0};
}

static int add_source(struct control_set *c, const struct source_ops *ops, const struct env *env, const char *params,
                      struct error *err)
{
    struct source *s = NULL;
    int rc = ops->open(env, params, &s, err);
    if (rc < 0)
        return rc;
    c->sources[c->source_count++] = s;
    AUTO_FREE struct gpu_id *ids = calloc(GPU_MAX, sizeof *ids);
    int count = ids ? ops->list(s, ids, GPU_MAX) : -ENOMEM;
    for (int i = 0; i < count && c->gpu_count < GPU_MAX; i++)
        c->gpus[c->gpu_count++] = (struct control_gpu){.source = s, .at = (size_t)i, .id = ids[i]};
    return MIN_OF(count, 0);
}

/* Never opens a driver beside it: what is tried on a simulated machine reaches no real one. */
static void add_simulated(struct control_set *c, const struct env *env, struct error *err)
{
    char machines[ARRAY_LEN(c->sources)][SIM_SPEC_SIZE];
    size_t count = 1;
    if (strcmp(env->simulated, SIMULATED_ALL) == 0)
        count = sim_changed_machines(machines, ARRAY_LEN(machines));
    else
        str_copy(machines[0], sizeof machines[0], str_from(env->simulated));
    for (size_t i = 0; i < count; i++) {
        const char *params = "";
        const struct source_ops *ops = source_of_spec(machines[i], &params);
        if (ops && ops->simulated)
            (void)add_source(c, ops, env, params, err);
    }
}

int control_open(const struct env *env, struct control_set *ret, struct error *err)
{
    *ret = (struct control_set){0};
    if (env->simulated)
        add_simulated(ret, env, err);
    for (size_t i = 0; !env->simulated && i < source_registry_count && ret->source_count < ARRAY_LEN(ret->sources); i++)
        if (source_registry[i]->control && source_registry[i]->automatic)
            (void)add_source(ret, source_registry[i], env, "", err);
    if (ret->gpu_count)
        return 0;
    control_close(ret);
    return error_set(err, -ENODEV, "no GPU with settings was found");
}

bool control_is(const struct control_gpu *gpu, const char *key)
{
    return strcmp(gpu->id.uuid, key) == 0 || strcmp(gpu->id.pci_address, key) == 0;
}

const struct control_gpu *control_find(const struct control_set *c, const char *key)
{
    for (size_t i = 0; key[0] && i < c->gpu_count; i++)
        if (control_is(&c->gpus[i], key))
            return &c->gpus[i];
    return NULL;
}

int control_look(const struct control_gpu *gpu, enum control_kind kind, struct control_state *ret, struct error *err)
{
    *ret = (struct control_state){.in_force = reading_absent(READING_UNREAD), .unit = kinds[kind].unit};
    return gpu->source->ops->control->look(gpu->source, gpu->at, kind, ret, err);
}

int control_write(const struct control_gpu *gpu, enum control_kind kind, struct control_value v, struct error *err)
{
    return gpu->source->ops->control->set(gpu->source, gpu->at, kind, v, err);
}

/* ---- a fixed fan speed ---- */

enum { FAN_HOT_MDEGC = 80000, FAN_MARGIN_MDEGC = 8000 };

bool control_fan_safe(const struct control_gpu *gpu, struct error *err)
{
    struct gpu now = {0};
    struct source *s = gpu->source;
    unsigned groups = GROUP_FAST | GROUP_STATIC;
    int64_t temperature = 0, limit;
    if (!s->ops->refresh || s->ops->refresh(s, groups, err) == 0)
        s->ops->sample(s, gpu->at, groups, &now);
    bool known = reading_get(now.temp_mdegc, &temperature);
    int64_t hot =
        reading_get(now.temp_limit_mdegc, &limit) ? MIN_OF(limit - FAN_MARGIN_MDEGC, (int64_t)FAN_HOT_MDEGC) : FAN_HOT_MDEGC;
    gpu_done(&now);
    if (!known)
        error_set(err, -EIO, "its temperature cannot be read");
    else if (temperature >= hot)
        error_set(err, -EOVERFLOW, "it is at %lld °C", words_whole(temperature, 1000));
    return known && temperature < hot;
}
