/* SPDX-License-Identifier: Apache-2.0
 * The faults that `fault=lost@3:60` adds to a scenario: their names, and how one is written.
 */
#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "model/finding_code.h"
#include "source/sim/sim.h"
#include "source/sim/sim_job.h"

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

int sim_add_fault(struct sim_world *w, struct str text, struct error *err)
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
        return sim_refuse(err, "fault", kind, names, ARRAY_LEN(names));

    struct sim_condition c = {.kind = f->kind, .value = f->value};
    if (letters < kind.len &&
        sim_number(err, f->said.name, (struct str){kind.at + letters, kind.len - letters}, 0, 10000, &c.value) < 0)
        return err ? err->code : -EINVAL;
    double on = 0, until = 0;
    if (gpu.len && sim_number(err, "fault GPU", gpu, 0, GPU_MAX - 1, &on) < 0)
        return err ? err->code : -EINVAL;
    if (gpu.len || f->one)
        c.where = (struct sim_where)ON_GPU((uint16_t)on);
    if (str_cut(&times, '-', &from) && sim_number(err, "fault time", from, 0, 1e7, &c.when.from) < 0)
        return err ? err->code : -EINVAL;
    if (times.len) {
        if (sim_number(err, "end of the fault", times, c.when.from, 1e7, &until) < 0)
            return err ? err->code : -EINVAL;
        c.when.to = until;
    }
    w->faults[w->fault_count++] = c;
    return 0;
}
