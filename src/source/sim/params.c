/* SPDX-License-Identifier: Apache-2.0
 * Parses "gpus=8,scenario=training,fault=lost@3:60" into a host. Refuses unknown words and suggests the nearest.
 */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "source/sim/sim_job.h"

enum { NAME_SIZE = 48 };

static const char *const parameter_names[] = {"gpus", "scenario", "seed", "speed", "start", "vendor", "model", "fault", "npus"};
static const char *const vendor_names[] = {"mixed", "nvidia", "amd", "intel"};

/* "unknown scenario 'trainnig' of the simulator; did you mean 'training'?" */
int sim_params_refuse(struct error *err, const char *what, struct str given, const char *const *names, size_t count)
{
    char text[NAME_SIZE];
    str_copy_clean(text, sizeof text, given);
    const char *nearest = nearest_name(text, names, count);
    AUTO_BUF struct buf known = BUF(400);
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
    if (nearest)
        return error_set(err, -EINVAL, "unknown %s '%s' of the simulator; did you mean '%s'?", what, text, nearest);
    if (known.failed)
        return error_set(err, -EINVAL, "unknown %s '%s' of the simulator; `whirr sim` lists them", what, text);
    return error_set(err, -EINVAL, "unknown %s '%s' of the simulator; known: %s", what, text, known.at);
}

int sim_params_number(struct error *err, const char *name, struct str text, double least, double most, double *ret)
{
    double value;
    if (!str_to_double(text, &value) || value < least || value > most)
        return error_set(err, -EINVAL, "sim: %s='" STR_FMT "' must be a number from %g to %g", name, STR_ARG(text), least, most);
    *ret = value;
    return 0;
}

static int set_scenario(struct sim_world *w, struct str name, struct error *err)
{
    const struct sim_scenario *all;
    size_t count = sim_scenarios(&all);
    const char *names[96];
    for (size_t i = 0; i < count; i++) {
        if (str_is(name, all[i].name)) {
            w->scenario = &all[i];
            return 0;
        }
        names[MIN_OF(i, ARRAY_LEN(names) - 1)] = all[i].name;
    }
    return sim_params_refuse(err, "scenario", name, names, MIN_OF(count, ARRAY_LEN(names)));
}

static bool is_vendor(struct str s)
{
    return NAME_IN(vendor_names, s);
}

/* The n-th card of a vendor, cyclically. */
static const struct sim_card *nth_of_vendor(const char *vendor, int n)
{
    const struct sim_card *all, *of[32];
    size_t count = cards(&all), found = 0;
    for (size_t i = 0; i < count && found < ARRAY_LEN(of); i++)
        if (strcmp(all[i].vendor, vendor) == 0)
            of[found++] = &all[i];
    return of[(size_t)n % found];
}

/* Fills w->card. A mixed host lists its NVIDIA cards first, as every host does. */
static void deal_cards(struct sim_world *w, const char *what)
{
    const struct sim_card *one = card_find(str_from(what));
    if (one && !is_vendor(str_from(what))) {
        for (int i = 0; i < w->gpus; i++)
            w->card[i] = one;
        return;
    }
    if (strcmp(what, "mixed") != 0) {
        for (int i = 0; i < w->gpus; i++)
            w->card[i] = nth_of_vendor(what, i);
        return;
    }
    int nvidia = (w->gpus + 1) / 2;
    for (int i = 0; i < w->gpus; i++) {
        int other = i - nvidia;
        w->card[i] = i < nvidia ? nth_of_vendor("nvidia", i) : nth_of_vendor(other % 2 ? "intel" : "amd", other / 2);
    }
}

struct requests {
    double gpus, npus, start;
    char cards[NAME_SIZE];
};

static int set(struct sim_world *w, struct requests *requests, struct str name, struct str value, struct error *err)
{
    if (str_is(name, "gpus")) {
        int r = sim_params_number(err, "gpus", value, 1, GPU_MAX, &requests->gpus);
        if (r == 0 && requests->gpus != floor(requests->gpus))
            return error_set(err, -EINVAL, "sim: gpus='" STR_FMT "' must be a whole number", STR_ARG(value));
        return r;
    }
    if (str_is(name, "npus"))
        return sim_params_number(err, "npus", value, 0, GPU_MAX - 1, &requests->npus);
    if (str_is(name, "scenario"))
        return set_scenario(w, value, err);
    if (str_is(name, "seed")) {
        uint64_t seed;
        if (!str_to_u64(value, &seed))
            return error_set(err, -EINVAL, "sim: seed='" STR_FMT "' must be a whole number", STR_ARG(value));
        w->seed = seed;
        return 0;
    }
    if (str_is(name, "speed"))
        return sim_params_number(err, "speed", value, 0.001, 10000, &w->speed);
    if (str_is(name, "start"))
        return sim_params_number(err, "start", value, 0, 31 * 86400, &requests->start);
    if (str_is(name, "fault"))
        return sim_fault_add(w, value, err);
    if (str_is(name, "vendor")) {
        if (!is_vendor(value))
            return sim_params_refuse(err, "vendor", value, vendor_names, ARRAY_LEN(vendor_names));
        str_copy(requests->cards, sizeof requests->cards, value);
        return 0;
    }
    if (str_is(name, "model")) {
        const char *names[32];
        size_t count = 0;
        while (count < ARRAY_LEN(names) && (names[count] = sim_card(count, NULL)))
            count++;
        const struct sim_card *card = card_find(value);
        if (!card)
            return sim_params_refuse(err, "model", value, names, count);
        str_copy(requests->cards, sizeof requests->cards, str_from(card->key));
        return 0;
    }
    return sim_params_refuse(err, "parameter", name, parameter_names, ARRAY_LEN(parameter_names));
}

int sim_world_parse(const char *params, struct sim_world *ret, struct error *err)
{
    const struct sim_scenario *all;
    sim_scenarios(&all);
    struct sim_world w = {.scenario = &all[0], .seed = 1, .speed = 1};
    struct requests requests = {.gpus = 0, .start = -1};
    struct str rest = str_from(params), part;
    while (str_cut(&rest, ',', &part)) {
        part = str_trim(part);
        if (!part.len)
            continue;
        struct str value = part, name;
        str_cut(&value, '=', &name);
        int r = set(&w, &requests, str_trim(name), str_trim(value), err);
        if (r < 0)
            return r;
    }
    w.gpus = requests.gpus ? (int)requests.gpus : w.scenario->gpus;
    w.npus = MIN_OF((int)requests.npus, GPU_MAX - w.gpus);
    w.start_s = requests.start >= 0 ? requests.start : w.scenario->begin_s;
    /* Fault times count from where the scenario is entered. */
    for (size_t i = 0; i < w.fault_count; i++) {
        struct sim_condition *c = &w.faults[i];
        c->when.from += w.start_s;
        if (c->when.to > 0)
            c->when.to += w.start_s;
        if (c->where.every && c->where.nth >= w.gpus + w.npus)
            return error_set(err, -EINVAL, "sim: a fault is asked for on GPU %d, but there are %d (from 0)", c->where.nth, w.gpus);
    }
    deal_cards(&w, requests.cards[0] ? requests.cards : w.scenario->cards);
    *ret = w;
    return 0;
}
