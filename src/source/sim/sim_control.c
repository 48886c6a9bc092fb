/* SPDX-License-Identifier: Apache-2.0
 * Settings of simulated cards: ranges like those of the real ones, and a log that the physics follow. No rights are needed, unless
 * fault=denied takes them away.
 */
#include "source/sim/body.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/keep.h"
#include "config/places.h"
#include "model/finding_code.h"
#include "model/remedy.h"

/* ---- The log of changed settings ---- */

enum { FILE_MAX = 16 * 1024 };
#define SUFFIX ".sim"

static bool file_of(const struct gpu_id *id, bool make, char path[PLACE_SIZE + 160], struct error *err)
{
    char folder[PLACE_SIZE], name[GPU_UUID_SIZE + GPU_NAME_SIZE + 2];
    if (place_simulated(make, folder, err) < 0)
        return false;
    /* The same number and seed is another GPU where another model is simulated. */
    snprintf(name, sizeof name, "%s %s", gpu_id_key(id), id->name);
    keep_path(folder, name, SUFFIX, path, PLACE_SIZE + 160);
    return true;
}

static bool parse_line(struct str line, struct sim_change *ret)
{
    struct str at, kind, low;
    char name[32];
    *ret = (struct sim_change){.set = SET_NUMBERS};
    if (!str_cut(&line, ' ', &at) || !str_cut(&line, ' ', &kind) || !str_to_i64(at, &ret->at_ms))
        return false;
    str_copy(name, sizeof name, kind);
    if (!control_from_name(name, &ret->kind))
        return false;
    if (str_is(line, "before") || str_is(line, "stock")) {
        ret->set = str_is(line, "stock") ? SET_STOCK : SET_BEFORE;
        return true;
    }
    return str_cut(&line, ' ', &low) && str_to_i64(low, &ret->low) && str_to_i64(line, &ret->high);
}

static void parse(struct str text, struct sim_settings *ret, char spec[SIM_SPEC_SIZE])
{
    struct str line;
    while (str_cut(&text, '\n', &line)) {
        if (spec && str_starts(line, "source "))
            str_copy(spec, SIM_SPEC_SIZE, (struct str){line.at + 7, line.len - 7});
        if (ret && ret->count < SIM_CHANGES_MAX && parse_line(line, &ret->list[ret->count]))
            ret->count++;
    }
}

void sim_settings_read(const struct gpu_id *id, struct sim_settings *ret)
{
    char path[PLACE_SIZE + 160];
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    ret->count = 0;
    if (file_of(id, false, path, NULL) && keep_read(path, &text, NULL) == 0)
        parse(buf_view(&text), ret, NULL);
}

/* Makes room for one more: drops the oldest that a later one of its kind has replaced. */
static void make_room(struct sim_settings *s)
{
    for (size_t i = 0; s->count == SIM_CHANGES_MAX && i < s->count; i++)
        for (size_t k = i + 1; k < s->count; k++)
            if (s->list[k].kind == s->list[i].kind) {
                memmove(&s->list[i], &s->list[i + 1], (s->count - i - 1) * sizeof s->list[0]);
                s->count--;
                return;
            }
}

/* Adds a change, and writes the file. */
static int sim_settings_add(const struct gpu_id *id, const char *params, const struct sim_change *change, struct error *err)
{
    char path[PLACE_SIZE + 160];
    struct sim_settings s = {0};
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    if (!file_of(id, true, path, err))
        return err && err->code ? err->code : -ENOENT;
    sim_settings_read(id, &s);
    for (size_t i = s.count; i-- > 0;) /* a new change cancels later ones of its kind */
        if (s.list[i].kind == change->kind && s.list[i].at_ms > change->at_ms) {
            memmove(&s.list[i], &s.list[i + 1], (s.count - i - 1) * sizeof s.list[0]);
            s.count--;
        }
    make_room(&s);
    s.list[s.count++] = *change;
    buf_printf(&text, "source sim:%s\n", params);
    for (size_t i = 0; i < s.count; i++) {
        const struct sim_change *c = &s.list[i];
        buf_printf(&text, "%lld %s ", (long long)c->at_ms, control_name(c->kind));
        if (c->set == SET_NUMBERS)
            buf_printf(&text, "%lld %lld\n", (long long)c->low, (long long)c->high);
        else
            buf_printf(&text, "%s\n", c->set == SET_STOCK ? "stock" : "before");
    }
    return keep_write(path, buf_view(&text), err);
}

int64_t sim_settings_mark(void)
{
    char folder[PLACE_SIZE];
    struct stat info;
    if (place_simulated(false, folder, NULL) < 0 || stat(folder, &info) < 0)
        return 0;
    return (int64_t)info.st_mtim.tv_sec * NS_PER_S + info.st_mtim.tv_nsec;
}

size_t sim_changed_machines(char specs[][SIM_SPEC_SIZE], size_t max)
{
    char folder[PLACE_SIZE], path[PLACE_SIZE + 300];
    size_t count = 0;
    AUTO_DIR DIR *dir = place_simulated(false, folder, NULL) == 0 ? opendir(folder) : NULL;
    for (struct dirent *entry; dir && count < max && (entry = readdir(dir));) {
        AUTO_BUF struct buf text = BUF(FILE_MAX);
        if (!str_ends(str_from(entry->d_name), SUFFIX))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        specs[count][0] = '\0';
        if (keep_read(path, &text, NULL) < 0)
            continue;
        parse(buf_view(&text), NULL, specs[count]);
        size_t same = 0;
        while (same < count && strcmp(specs[same], specs[count]) != 0)
            same++;
        count += same == count;
    }
    return count;
}

const struct sim_change *sim_setting(const struct sim_world *w, int gpu, enum control_kind kind, double t)
{
    const struct sim_settings *s = w->settings ? &w->settings[gpu] : NULL;
    for (size_t i = s ? s->count : 0; i-- > 0;)
        if (s->list[i].kind == kind && s->list[i].t <= t)
            return s->list[i].set == SET_BEFORE ? NULL : &s->list[i];
    return NULL;
}

enum sim_advice sim_advice(const struct sim_world *w, int gpu, double t)
{
    const struct sim_change *followed = sim_setting(w, gpu, CONTROL_ADVICE, t);
    switch (followed ? (enum remedy_code)(followed->low - 1) : REMEDY_COUNT) {
    case REMEDY_COUNT: return ADVICE_NONE;
    case REMEDY_AIR:
    case REMEDY_CASE_FANS:
    case REMEDY_CLEAN:
    case REMEDY_COOLER:
    case REMEDY_COOL_MEMORY:
    case REMEDY_SPACE: return ADVICE_ON_AIR;
    case REMEDY_FAN:
    case REMEDY_STOP_WORK: return ADVICE_ON_FAN;
    case REMEDY_POWER_SUPPLY:
    case REMEDY_CHARGER: return ADVICE_ON_POWER;
    case REMEDY_CLOSE_CONTEXT:
    case REMEDY_NO_BOOST:
    case REMEDY_UNLOAD_MODEL: return ADVICE_ON_CONTEXT;
    case REMEDY_RESEAT:
    case REMEDY_RESEAT_SLOT:
    case REMEDY_RESEAT_ERRORS:
    case REMEDY_BRIDGE:
    case REMEDY_SLOT: return ADVICE_ON_SLOT;
    default: return ADVICE_ON_PROGRAM;
    }
}

bool sim_advice_ends(const struct sim_world *w, enum sim_trouble_kind kind, int gpu, double t)
{
    static const enum sim_advice by[] = {[TROUBLE_AIRFLOW] = ADVICE_ON_AIR,
                                         [TROUBLE_ROOM] = ADVICE_ON_AIR,
                                         [TROUBLE_FAN_STOPPED] = ADVICE_ON_FAN,
                                         [TROUBLE_POWER_LIMIT] = ADVICE_ON_POWER,
                                         [TROUBLE_LINK] = ADVICE_ON_SLOT};
    return (size_t)kind < ARRAY_LEN(by) && by[kind] && sim_advice(w, gpu, t) == by[kind];
}

bool sim_was_set(const struct sim_world *w, int gpu, double t)
{
    for (int kind = 0; kind < CONTROL_KINDS; kind++)
        if (sim_setting(w, gpu, (enum control_kind)kind, t))
            return true;
    return false;
}

static struct control_value number(int64_t low, int64_t high)
{
    return (struct control_value){.low = low, .high = high};
}

/* The value that the scenario itself has. */
static struct control_value value_before(const struct sim *s, int gpu, enum control_kind kind, double t)
{
    const struct sim_card *c = s->world.card[gpu];
    const struct sim_scenario *scenario = s->world.scenario;
    double share;
    if (kind == CONTROL_POWER) {
        double watts = sim_has_trouble(&s->world, TROUBLE_POWER_LIMIT, gpu, t, &share, NULL) ? c->tdp_w * share : c->tdp_w;
        return number((int64_t)(MAX_OF(watts, c->min_w) * 1000), (int64_t)(MAX_OF(watts, c->min_w) * 1000));
    }
    for (size_t i = 0; kind == CONTROL_FAN && scenario->fan_control && gpu == 0 && i < scenario->reading_count; i++)
        if (scenario->readings[i].metric == METRIC_fan_permille)
            return number(scenario->readings[i].value / 10, scenario->readings[i].value / 10);
    for (size_t i = 0; kind == CONTROL_CLOCKS && scenario->finding == FINDING_CLOCKS_LOW && gpu == 0 && i < scenario->reading_count;
         i++)
        if (scenario->readings[i].metric == METRIC_clock_graphics_khz)
            return number(scenario->readings[i].value / 1000, scenario->readings[i].value / 1000);
    return (struct control_value){.stock = true};
}

static struct control_value value_now(const struct sim *s, int gpu, enum control_kind kind)
{
    struct gpu_id id = {0};
    struct sim_settings all;
    struct control_value now = value_before(s, gpu, kind, s->world.start_s);
    fill_id(&s->world, gpu, &id);
    sim_settings_read(&id, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct sim_change *c = &all.list[i];
        if (c->kind == kind && c->at_ms <= clock_wall(s->env->clock).ms)
            now = c->set == SET_BEFORE  ? value_before(s, gpu, kind, s->world.start_s)
                  : c->set == SET_STOCK ? (struct control_value){.stock = true}
                                        : number(c->low, c->high);
    }
    return now;
}

static int sim_look(struct source *source, size_t at, enum control_kind kind, struct control_state *ret, struct error *err)
{
    const struct sim *s = (const struct sim *)source;
    int gpu = s->listed[at];
    const struct sim_card *c = s->world.card[gpu];
    double t = s->world.start_s;
    if (sim_has_trouble(&s->world, TROUBLE_LOST, gpu, t, NULL, NULL))
        return error_set(err, -ENODEV, "the GPU is gone");
    ret->now_known = true;
    if (kind == CONTROL_POWER) {
        ret->least = (int64_t)c->min_w * 1000;
        ret->most = (int64_t)c->max_w * 1000;
        ret->exact_stock = true;
        ret->stock_value = number((int64_t)c->tdp_w * 1000, (int64_t)c->tdp_w * 1000);
    } else if (kind == CONTROL_CLOCKS) {
        ret->least = (int64_t)c->clock_idle;
        ret->most = (int64_t)c->clock_max;
    } else if (kind == CONTROL_FAN && c->fans) {
        ret->least = 30;
        ret->most = 100;
    } else if (kind == CONTROL_ADVICE) {
        ret->least = 1;
        ret->most = REMEDY_COUNT;
    } else
        return error_set(err, -EOPNOTSUPP, kind == CONTROL_FAN ? "it has no fan that can be set" : "it has no such setting");
    ret->now = value_now(s, gpu, kind);
    if (ret->now.stock && ret->exact_stock)
        ret->now = ret->stock_value;
    return sim_has_trouble(&s->world, TROUBLE_DENIED, gpu, t, NULL, NULL) ? error_set(err, -EACCES, "changing it needs root") : 0;
}

static int sim_set(struct source *source, size_t at, enum control_kind kind, struct control_value v, struct error *err)
{
    const struct sim *s = (const struct sim *)source;
    struct control_state state = {0};
    struct gpu_id id = {0};
    int rc = sim_look(source, at, kind, &state, err);
    if (rc == 0)
        rc = control_check(kind, &state, v, err);
    if (rc < 0)
        return rc;
    struct sim_change change = {.at_ms = clock_wall(s->env->clock).ms, .kind = kind, .low = v.low, .high = v.high};
    bool before = control_equal(kind, v, value_before(s, s->listed[at], kind, s->world.start_s));
    change.set = before ? SET_BEFORE : v.stock ? SET_STOCK : SET_NUMBERS;
    fill_id(&s->world, s->listed[at], &id);
    return sim_settings_add(&id, s->params, &change, err);
}

int sim_put_back_at(const struct control_gpu *gpu, enum control_kind kind, struct wall at, struct error *err)
{
    const struct sim *s = (const struct sim *)gpu->source;
    struct sim_settings all;
    sim_settings_read(&gpu->id, &all);
    struct sim_change before = {.kind = kind, .set = SET_BEFORE};
    size_t seen = 0;
    for (size_t i = all.count; i-- > 0 && seen < 2;)
        if (all.list[i].kind == kind && ++seen == 2)
            before = all.list[i];
    before.at_ms = at.ms;
    return sim_settings_add(&gpu->id, s->params, &before, err);
}

static void sim_command(struct source *source, size_t at, enum control_kind kind, struct control_value v, struct buf *out)
{
    (void)source, (void)at, (void)kind, (void)v, (void)out; /* no other tool knows this card */
}

const struct control_ops sim_control = {.look = sim_look, .set = sim_set, .command = sim_command};
