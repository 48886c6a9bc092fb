/* SPDX-License-Identifier: Apache-2.0
 * Parses "gpus=8,scenario=training,fault=lost@3:60" into a host. Refuses unknown words and suggests the nearest.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "model/finding_code.h"
#include "source/sim/sim_job.h"

enum { NAME_SIZE = 48 };

static const char *const parameter_names[] = {"gpus", "scenario", "seed", "speed", "start", "vendor", "model", "fault"};
static const char *const vendor_names[] = {"mixed", "nvidia", "amd", "intel"};

struct fault_name {
    struct sim_fault said;
    enum sim_trouble_kind kind;
    bool one; /* without @GPU it applies to GPU 0, not to all */
    double value;
};
static const struct fault_name fault_names[] = {
    {{"lost", "the GPU is lost: it stays listed, its readings fail", FINDING_LOST}, TROUBLE_LOST, true, 0},
    {{"absent", "the GPU was taken out: it is not listed", SIM_ANY_FINDING}, TROUBLE_ABSENT, true, 0},
    {{"replaced", "another GPU of the same kind is in the slot", SIM_ANY_FINDING}, TROUBLE_REPLACED, true, 0},
    {{"error", "the GPU returns an error; if all GPUs do, the source itself fails", FINDING_SOURCE_FAILING},
     TROUBLE_ERROR,
     false,
     0},
    {{"hang", "the driver doesn't return", FINDING_SOURCE_HUNG}, TROUBLE_HANG, false, 0},
    {{"mismatch", "the driver was upgraded and not loaded anew", FINDING_DRIVER_MISMATCH}, TROUBLE_MISMATCH, false, 0},
    {{"nodriver", "the driver is not loaded", FINDING_NO_DRIVER}, TROUBLE_NO_DRIVER, false, 0},
    {{"nopermission", "the driver may not be used", FINDING_NO_PERMISSION}, TROUBLE_NO_PERMISSION, false, 0},
    {{"xid", "the driver reports a critical error: xid79", FINDING_XID}, TROUBLE_XID, true, 13},
    {{"ecc", "memory errors: one uncorrectable at once, corrected ones every 10 s", FINDING_DRIVER_VERDICT}, TROUBLE_ECC, true, 0},
    {{"link", "the PCIe link has this many lanes: link4", FINDING_PCIE_LINK}, TROUBLE_LINK, true, 4},
    {{"fan", "the fan has stopped", SIM_ANY_FINDING}, TROUBLE_FAN_STOPPED, true, 0},
    {{"airflow", "only this share of the cooling is left: airflow0.35", SIM_ANY_FINDING}, TROUBLE_AIRFLOW, true, 0.35},
    {{"power", "the power limit is set to this share of the default: power0.5", SIM_ANY_FINDING}, TROUBLE_POWER_LIMIT, true, 0.5},
    {{"asleep", "the GPU sleeps", SIM_ANY_FINDING}, TROUBLE_ASLEEP, true, 0},
    {{"denied", "privileges are missing: no processes, no profiling counters", SIM_ANY_FINDING}, TROUBLE_DENIED, false, 0},
    {{"slow", "each reading takes this many seconds: slow0.2", SIM_ANY_FINDING}, TROUBLE_SLOW, false, 0.2},
};

const struct sim_fault *sim_fault(size_t number)
{
    return number < ARRAY_LEN(fault_names) ? &fault_names[number].said : NULL;
}

/* "unknown scenario 'trainnig' of the simulator; did you mean 'training'?" */
static int params_refuse(struct error *err, const char *what, struct str given, const char *const *names, size_t count)
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

static int sim_params_number(struct error *err, const char *name, struct str text, double least, double most, double *ret)
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
    return params_refuse(err, "scenario", name, names, MIN_OF(count, ARRAY_LEN(names)));
}

/* KIND[NUMBER][@GPU][:AT[-UNTIL]] */
static int add_fault(struct sim_world *w, struct str text, struct error *err)
{
    if (w->fault_count == SIM_FAULTS_MAX)
        return error_set(err, -EINVAL, "sim: at most %d faults", SIM_FAULTS_MAX);
    struct str times = text, kind, gpu, from;
    if (!str_cut(&times, ':', &gpu) || !str_cut(&gpu, '@', &kind))
        kind = gpu = (struct str){"", 0};
    size_t letters = 0;
    while (letters < kind.len && isalpha((unsigned char)kind.at[letters]))
        letters++;
    const char *names[ARRAY_LEN(fault_names)];
    const struct fault_name *f = NULL;
    for (size_t i = 0; i < ARRAY_LEN(fault_names); i++) {
        names[i] = fault_names[i].said.name;
        if (str_is((struct str){kind.at, letters}, fault_names[i].said.name))
            f = &fault_names[i];
    }
    if (!f)
        return params_refuse(err, "fault", kind, names, ARRAY_LEN(names));

    struct sim_condition c = {.kind = f->kind, .value = f->value};
    if (letters < kind.len &&
        sim_params_number(err, f->said.name, (struct str){kind.at + letters, kind.len - letters}, 0, 10000, &c.value) < 0)
        return err ? err->code : -EINVAL;
    double on = 0, until = 0;
    if (gpu.len && sim_params_number(err, "fault GPU", gpu, 0, GPU_MAX - 1, &on) < 0)
        return err ? err->code : -EINVAL;
    if (gpu.len || f->one)
        c.where = (struct sim_where)ON_GPU((uint16_t)on);
    if (str_cut(&times, '-', &from) && sim_params_number(err, "fault time", from, 0, 1e7, &c.when.from) < 0)
        return err ? err->code : -EINVAL;
    if (times.len) {
        if (sim_params_number(err, "end of the fault", times, c.when.from, 1e7, &until) < 0)
            return err ? err->code : -EINVAL;
        c.when.to = until;
    }
    w->faults[w->fault_count++] = c;
    return 0;
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
    double gpus, start;
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
        return add_fault(w, value, err);
    if (str_is(name, "vendor")) {
        if (!is_vendor(value))
            return params_refuse(err, "vendor", value, vendor_names, ARRAY_LEN(vendor_names));
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
            return params_refuse(err, "model", value, names, count);
        str_copy(requests->cards, sizeof requests->cards, str_from(card->key));
        return 0;
    }
    return params_refuse(err, "parameter", name, parameter_names, ARRAY_LEN(parameter_names));
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
    w.start_s = requests.start >= 0 ? requests.start : w.scenario->begin_s;
    /* Fault times count from where the scenario is entered. */
    for (size_t i = 0; i < w.fault_count; i++) {
        struct sim_condition *c = &w.faults[i];
        c->when.from += w.start_s;
        if (c->when.to > 0)
            c->when.to += w.start_s;
        if (c->where.every && c->where.nth >= w.gpus)
            return error_set(err, -EINVAL, "sim: a fault is asked for on GPU %d, but there are %d (from 0)", c->where.nth, w.gpus);
    }
    deal_cards(&w, requests.cards[0] ? requests.cards : w.scenario->cards);
    *ret = w;
    return 0;
}
