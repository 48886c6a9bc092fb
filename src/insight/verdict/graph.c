/* SPDX-License-Identifier: Apache-2.0
 * Links findings. What an edge needs is a pure question to the readings.
 */
#include "insight/verdict/graph.h"

#include "base/cleanup.h"
#include "insight/facts/levels.h"
#include "model/finding_code.h"

/* From here on a cause is the root of what it explains; below it is told as a possible one. */
#define ROOT_LEAST 0.6
#define STRONG 1.0
#define MEDIUM 0.8
#define WEAK 0.5
enum { TOLD = false, HIDDEN = true };

static bool always(const struct gpu *gpu)
{
    (void)gpu;
    return true;
}

static bool gpu_is_at_work(const struct gpu *gpu)
{
    return gpu->activity.code >= ACTIVITY_LIGHTLY_LOADED || gpu->activity.code == ACTIVITY_UNKNOWN;
}

/* Not read is not absent: only a driver that says so rules it out. */
static bool heat_throttles(const struct gpu *gpu)
{
    return gpu->throttle_bits.state != READING_OK || gpu->throttle_bits.value & THROTTLE_HOT;
}

static bool power_brakes(const struct gpu *gpu)
{
    return reading_or(gpu->throttle_bits, 0) & THROTTLE_POWER_BRAKE;
}

static bool has_fewer_lanes(const struct gpu *gpu)
{
    return reading_or(gpu->pcie_width, INT64_MAX) < reading_or(gpu->pcie_width_max, INT64_MAX);
}

static const struct {
    finding_code effect, cause;
    bool (*needs)(const struct gpu *gpu);
    double weight;
    bool hidden;
} edges[] = {
#define CAUSES(effect, cause, needs, weight, way) {FINDING_##effect, FINDING_##cause, needs, weight, way},
#include "model/causes.def"
#undef CAUSES
};

double graph_weight(const struct gpu *gpu, finding_code cause, finding_code effect)
{
    for (size_t i = 0; i < ARRAY_LEN(edges); i++)
        if (edges[i].effect == effect && edges[i].cause == cause)
            return gpu && !edges[i].needs(gpu) ? 0 : edges[i].weight;
    return 0;
}

/* A guess, which is only information, explains nothing that is worse. What the host does reaches all of its GPUs. */
static double explains(const struct snapshot *now, const struct finding *cause, const struct finding *effect)
{
    if ((cause->gpu_index >= 0 && cause->gpu_index != effect->gpu_index) || cause->severity <= SEVERITY_INFO || cause == effect)
        return 0;
    double sure = cause->confidence * graph_weight(snapshot_gpu(now, effect->gpu_index), cause->code, effect->code);
    return sure >= ROOT_LEAST ? sure : 0;
}

static bool is_hidden(const struct verdict *v, const struct snapshot *now, const struct finding *f)
{
    for (size_t i = 0; i < ARRAY_LEN(edges); i++)
        for (size_t k = 0; edges[i].hidden && edges[i].effect == f->code && k < v->count; k++) {
            const struct finding *by = &v->findings[k];
            if (by->code == edges[i].cause && by->gpu_index == f->gpu_index && by->severity >= f->severity &&
                graph_weight(snapshot_gpu(now, f->gpu_index), by->code, f->code) > 0)
                return true;
        }
    return false;
}

static void leave_out(struct verdict *v, const struct snapshot *now)
{
    bool leaves[FINDINGS_PER_GPU * (GPU_MAX + 2)];
    size_t kept = 0;
    for (size_t i = 0; i < v->count; i++)
        leaves[i] = v->findings[i].gpu_index >= 0 && is_hidden(v, now, &v->findings[i]);
    for (size_t i = 0; i < v->count; i++)
        if (!leaves[i])
            v->findings[kept++] = v->findings[i];
    v->count = kept;
}

void graph_link(struct verdict *v, const struct snapshot *now)
{
    /* Severities travel up chains: an effect of an effect counts for the root, too. */
    enum { CHAIN_MAX = 4 };
    leave_out(v, now);
    for (int round = 0; round < CHAIN_MAX; round++)
        for (size_t k = 0; k < v->count; k++) {
            struct finding *effect = &v->findings[k];
            double best = 0;
            for (size_t i = 0; i < v->count; i++) {
                struct finding *cause = &v->findings[i];
                double sure = explains(now, cause, effect);
                if (sure > 0 && cause->severity < effect->severity)
                    cause->severity = effect->severity;
                if (sure > best) {
                    best = sure;
                    effect->is_effect = true;
                    effect->root = cause->code;
                }
            }
        }
}
