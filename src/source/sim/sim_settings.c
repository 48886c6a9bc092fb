/* SPDX-License-Identifier: Apache-2.0
 * The log of changed settings of a simulated GPU.
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
#include "model/remedy.h"

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

int sim_settings_add(const struct gpu_id *id, const char *params, const struct sim_change *change, struct error *err)
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
