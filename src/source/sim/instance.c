/* SPDX-License-Identifier: Apache-2.0
 * A simulated card partitioned by MIG: its instances, and what the driver no longer reports for the whole card.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "source/sim/sim_fill.h"

static const struct {
    int compute, memory; /* sevenths of the multiprocessors, eighths of the memory */
} slices[] = {{3, 4}, {2, 2}, {1, 1}, {1, 1}};

static void fill_instance(const struct fill *f, const struct gpu *parent, size_t number, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    int64_t total = (int64_t)c->vram * 1048576 * slices[number].memory / 8, used = 0;
    double util = 0, tensor = 0, dram = 0;
    for (size_t i = 0; i < f->view.share_count; i++)
        if (f->world->scenario->jobs[f->view.shares[i].job].instance == (int)number + 1) {
            used += (int64_t)f->view.shares[i].load.vram;
            util += f->view.shares[i].load.util * 7 / slices[number].compute;
            tensor += f->view.shares[i].load.tensor * 7 / slices[number].compute;
            dram += f->view.shares[i].load.mem_util * 8 / slices[number].memory;
        }
    used = MIN_OF(used, total);
    g->simulated = true;
    str_copy(g->source, sizeof g->source, str_from(parent->source));
    str_copy(g->id.vendor, sizeof g->id.vendor, str_from(c->vendor));
    str_copy(g->id.pci_address, sizeof g->id.pci_address, str_from(parent->id.pci_address));
    snprintf(g->profile, sizeof g->profile, "%dg.%ldgb", slices[number].compute,
             lround(c->vram / 1024.0 * slices[number].memory / 8));
    snprintf(g->id.name, sizeof g->id.name, "%.64s MIG %.24s", c->name, g->profile);
    /* The card's UUID with another first group: stable and unique. */
    snprintf(g->id.uuid, sizeof g->id.uuid, "MIG-%08zx%.32s", 0x5a0000 + number, parent->id.uuid[0] ? parent->id.uuid + 12 : "");
    g->mem_total_bytes = reading_ok(total);
    g->mem_used_bytes = reading_ok(used);
    g->mem_free_bytes = reading_ok(total - used);
    g->mem_reserved_bytes = reading_ok(0);
    if (c->abilities & CARD_GPM) {
        g->sm_active_permille = reading_ok(llround(MIN_OF(util, 1.0) * 910));
        g->tensor_active_permille = reading_ok(llround(MIN_OF(tensor, 1.0) * 1000));
        g->dram_active_permille = reading_ok(llround(MIN_OF(dram, 1.0) * 900));
    }
    g->compute_units = reading_ok(c->units * slices[number].compute / 8);
}

void fill_instances(const struct fill *f, unsigned groups, struct gpu *g)
{
    /* NVML doesn't support utilization of the card, its video engines and processes while MIG is on. */
    const struct reading none = reading_absent(READING_UNSUPPORTED);
    g->util_permille = g->mem_util_permille = g->encoder_permille = g->decoder_permille = none;
    g->jpeg_permille = g->ofa_permille = g->encoder_sessions = none;
    for (size_t i = 0; i < g->process_count; i++) {
        struct process *p = &g->processes[i];
        p->util_permille = p->mem_util_permille = p->encoder_permille = p->decoder_permille = none;
        p->instance = f->world->scenario->jobs[f->view.shares[i].job].instance - 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        struct gpu *instance = gpu_add_instance(g);
        if (!instance)
            return;
        fill_instance(f, g, i, instance);
        for (size_t m = 0; m < METRIC_COUNT; m++)
            if (!(metric_table[m].group & groups))
                instance->metric[m] = (struct reading){0};
        gpu_mark_absent(instance, groups, READING_UNSUPPORTED);
    }
}
