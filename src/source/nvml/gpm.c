/* SPDX-License-Identifier: Apache-2.0
 * Profiling metrics (GPM) of Hopper and later: activity of the units inside a card between two samples. A sample costs 0.2 ms
 * of CPU, the activity of the engine 1.7 ms, the other values nothing (H200, driver 580). It never waits, so the first sample
 * yields nothing.
 */
#include "source/nvml/internal.h"

#include <math.h>
#include <stdlib.h>

enum { GRAPHICS, SM }; /* in the table */

static const struct {
    unsigned char id;
    enum metric metric;
    double scale, most; /* value * scale = field */
} wanted[NVML_GPM_METRICS] = {
    [GRAPHICS] = {NVML_GPM_GRAPHICS, METRIC_graphics_active_permille, 10, 1000},
    [SM] = {NVML_GPM_SM, METRIC_sm_active_permille, 10, 1000},
    {NVML_GPM_SM_OCCUPANCY, METRIC_sm_occupancy_permille, 10, 1000},
    {NVML_GPM_INTEGER, METRIC_integer_active_permille, 10, 1000},
    {NVML_GPM_TENSOR, METRIC_tensor_active_permille, 10, 1000},
    {NVML_GPM_DRAM, METRIC_dram_active_permille, 10, 1000},
    {NVML_GPM_FP64, METRIC_fp64_active_permille, 10, 1000},
    {NVML_GPM_FP32, METRIC_fp32_active_permille, 10, 1000},
    {NVML_GPM_FP16, METRIC_fp16_active_permille, 10, 1000},
    {NVML_GPM_PCIE_TX, METRIC_pcie_tx_bytes_per_s, 1024 * 1024, 1e13},
    {NVML_GPM_PCIE_RX, METRIC_pcie_rx_bytes_per_s, 1024 * 1024, 1e13},
    {NVML_GPM_NVLINK_RX, METRIC_nvlink_rx_bytes_per_s, 1024 * 1024, 1e13},
    {NVML_GPM_NVLINK_TX, METRIC_nvlink_tx_bytes_per_s, 1024 * 1024, 1e13},
};

/* Samples closer than CLOSEST_MS mostly measure the measurement. With no client watching, the interval is longer, longest on an
 * idle card: the result is its mean, so nothing is missed. */
enum { CLOSEST_MS = 50, UNSEEN_MS = 9500, IDLE_MS = 29500, ENGINE_AGAIN_MS = 60000 };

static void absent(struct nvml_gpm *gpm, enum reading_state why)
{
    for (size_t i = 0; i < NVML_GPM_METRICS; i++)
        gpm->values[i] = reading_absent(why);
}

static void write_out(const struct nvml_gpm *gpm, struct gpu *out)
{
    for (size_t i = 0; i < NVML_GPM_METRICS; i++)
        if (out->metric[wanted[i].metric].state == READING_UNREAD)
            out->metric[wanted[i].metric] = gpm->values[i];
}

void gpm_done(struct nvml *n, struct nvml_gpm *gpm)
{
    for (int i = 0; i < 2; i++)
        if (gpm->samples[i] && n->lib.gpm_free && n->running)
            n->lib.gpm_free(gpm->samples[i]);
    *gpm = (struct nvml_gpm){.newest = -1};
}

static bool gpm_prepare(struct nvml *n, nvml_device device, struct nvml_gpm *gpm)
{
    struct nvml_gpm_support support = {.version = 1};
    if (!n->lib.gpm_support || !n->lib.gpm_alloc || !n->lib.gpm_sample || !n->lib.gpm_metrics || !n->lib.gpm_free)
        return false;
    if (n->lib.gpm_support(device, &support) != NVML_OK || !support.supported)
        return false;
    if (!n->gpm_request && !(n->gpm_request = calloc(1, sizeof *n->gpm_request)))
        return false;
    for (int i = 0; i < 2; i++)
        if (n->lib.gpm_alloc(&gpm->samples[i]) != NVML_OK)
            return false;
    for (size_t i = 0; i < NVML_GPM_METRICS; i++)
        gpm->wanted[i] = wanted[i].id;
    return true;
}

/* Compares the samples for wanted[from] to wanted[to - 1]. */
static void gpm_compare(struct nvml *n, struct nvml_gpm *gpm, int before, size_t from, size_t to)
{
    struct nvml_gpm_request *r = n->gpm_request;
    r->version = 1;
    r->before = gpm->samples[before];
    r->after = gpm->samples[gpm->newest];
    r->count = 0;
    for (size_t i = from; i < to; i++)
        if (gpm->wanted[i])
            r->metrics[r->count++] = (struct nvml_gpm_metric){.id = gpm->wanted[i]};
    int code = r->count ? n->lib.gpm_metrics(r) : NVML_OK;

    for (size_t i = from, at = 0; i < to; i++) {
        if (!gpm->wanted[i])
            continue;
        const struct nvml_gpm_metric *m = &r->metrics[at++];
        int result = code == NVML_OK ? m->result : code;
        double value = m->value * wanted[i].scale;
        if (result != NVML_OK) {
            gpm->values[i] = reading_absent(nvml_reading_state(result));
            if (code == NVML_OK && nvml_is_final(result))
                gpm->wanted[i] = 0;
        } else if (!isfinite(value) || value < 0 || value > wanted[i].most * 1.05) {
            gpm->values[i] = reading_absent(READING_IMPLAUSIBLE);
        } else {
            gpm->values[i] = reading_ok(llround(fmin(value, wanted[i].most)));
        }
    }
    gpm->known = true;
}

/* The driver asks the card's firmware for the activity of the engine, and for nothing else here. While no multiprocessor has worked
 * since that was 0, it is still 0, and confirmed once a minute. */
static bool engine_still_rests(const struct nvml_gpm *gpm, bool idle)
{
    return idle && reading_or(gpm->values[SM], -1) == 0 && reading_or(gpm->values[GRAPHICS], -1) == 0 &&
           mono_since_ms(gpm->taken, gpm->engine_asked) < ENGINE_AGAIN_MS;
}

static void gpm_compare_all(struct nvml *n, struct nvml_gpm *gpm, int before, bool idle)
{
    bool rested = engine_still_rests(gpm, idle);
    gpm_compare(n, gpm, before, rested ? GRAPHICS + 1 : GRAPHICS, NVML_GPM_METRICS);
    if (rested && engine_still_rests(gpm, idle))
        return;
    if (rested)
        gpm_compare(n, gpm, before, GRAPHICS, GRAPHICS + 1);
    gpm->engine_asked = gpm->taken;
}

/* `mig`: the instance to sample, NVML_NO_INSTANCE for the card itself. Returns NVML's code. */
static int gpm_step(struct nvml *n, nvml_device device, unsigned mig, struct nvml_gpm *gpm, unsigned groups, bool idle)
{
    struct mono now = clock_mono(n->env->clock);
    bool unseen = gpm->known && (groups & (GROUP_UNSEEN | GROUP_GLANCE));
    int64_t closest = !unseen ? CLOSEST_MS : idle && (groups & GROUP_UNSEEN) ? IDLE_MS : UNSEEN_MS;
    if (gpm->newest >= 0 && mono_since_ms(now, gpm->taken) < closest)
        return NVML_OK; /* keep the last values */
    int next = gpm->newest < 0 ? 0 : 1 - gpm->newest;
    int code = mig == NVML_NO_INSTANCE ? n->lib.gpm_sample(device, gpm->samples[next])
                                       : NVML(n, gpm_mig_sample, device, mig, gpm->samples[next]);
    if (code != NVML_OK) {
        absent(gpm, nvml_reading_state(code));
        gpm->refused = nvml_is_final(code);
        return code;
    }
    int before = gpm->newest;
    gpm->newest = next;
    gpm->taken = now;
    if (before >= 0)
        gpm_compare_all(n, gpm, before, idle);
    else
        absent(gpm, READING_PENDING);
    return NVML_OK;
}

static int run_gpm(struct nvml *n, struct nvml_card *card, unsigned mig, struct nvml_gpm *gpm, unsigned groups, struct gpu *out)
{
    /* For a MIG instance, only these show how busy it is. */
    if (out->metric[METRIC_util_permille].state != READING_OK)
        groups &= ~(unsigned)GROUP_GLANCE;
    if (!(groups & GROUP_FAST) || (groups & GROUP_LEAN) || gpm->refused)
        return NVML_OK;
    /* A quick one-shot ends before a second sample: skip the cost of the first. The same goes for a first frame. */
    bool quick = !card->sampled && (is_one_look(groups) || (groups & GROUP_GLANCE));
    bool idle = reading_or(out->metric[METRIC_util_permille], -1) == 0;
    int code = NVML_OK;
    if (quick) {
        absent(gpm, READING_PENDING);
    } else if (gpm->newest < 0 && !gpm->samples[0] && !gpm_prepare(n, card->handle, gpm)) {
        gpm->refused = true;
        absent(gpm, READING_UNSUPPORTED);
        return NVML_OK;
    } else {
        code = gpm_step(n, card->handle, mig, gpm, groups, idle);
    }
    if (!gpm->refused)
        write_out(gpm, out);
    return code;
}

/* The mean over an interval times its length is the card's count. */
static void count(struct nvml_card *card, struct mono since)
{
    double seconds = (double)(card->gpm.taken.ns - since.ns) / NS_PER_S;
    int64_t rate;
    for (size_t i = 0; i < NVML_GPM_METRICS; i++)
        if (reading_get(card->gpm.values[i], &rate))
            card_count_traffic(card, wanted[i].metric, llround((double)rate * seconds));
}

bool gpm_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    bool first = card->gpm.newest < 0;
    struct mono since = card->gpm.taken;
    int code = run_gpm(n, card, NVML_NO_INSTANCE, &card->gpm, groups, out);
    if (!first && card->gpm.taken.ns > since.ns)
        count(card, since);
    if (nvml_is_trouble(code))
        card_fail(n, card, code);
    return !nvml_is_trouble(code);
}

void gpm_run_instance(struct nvml *n, struct nvml_card *card, struct nvml_instance *instance, unsigned groups, struct gpu *out)
{
    run_gpm(n, card, instance->gpu_instance, &instance->gpm, groups, out);
}
