/* SPDX-License-Identifier: Apache-2.0
 * The links of a GPU. PCIe: packets that are sent again, errors; the generation of idle GPUs rests and follows the load with a
 * delay; the number of lanes does not change with the load outside of laptops, and a narrow link may be why a GPU works so little.
 * NVLink: against GPUs of the same kind beside it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "model/finding_code.h"

/* Its slot is out of reach from here, and clouds give some GPUs half of their lanes for good. */
static bool is_in_virtual_machine(const struct gpu *gpu)
{
    return gpu->virtualization.state == READING_OK && strcasecmp(gpu->virtualization.value, "pass-through") == 0;
}

static void detect_lanes(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    struct finding *narrow = NULL;
    int64_t lanes, most;
    bool works = (f->load == LOAD_LIGHT || f->load == LOAD_BUSY) && f->load_permille >= LINK_LANES_LOAD;
    if (!reading_get(gpu->pcie_width, &lanes) || lanes <= 0 || !reading_get(gpu->pcie_width_max, &most) || lanes >= most)
        return;
    if (works)
        narrow = collect(c, gpu, FINDING_PCIE_LINK, SEVERITY_WARNING, 0.95, 0, ": its PCIe link has %lld of %lld lanes under load",
                         (long long)lanes, (long long)most);
    else if (!cooling_is_shared(gpu)) /* laptops switch lanes off at rest */
        narrow = collect(c, gpu, FINDING_PCIE_LINK, SEVERITY_NOTICE, 0.7, 0, ": its PCIe link has %lld of %lld lanes",
                         (long long)lanes, (long long)most);
    if (narrow && is_in_virtual_machine(gpu))
        narrow->advice = "Ask who runs the host: a virtual machine has the lanes that its host gives it.";
}

static struct finding *tell_generation(struct collection *c, const struct gpu *gpu, double confidence)
{
    return collect(c, gpu, FINDING_PCIE_LINK, SEVERITY_WARNING, confidence, 0,
                   ": its PCIe link runs at generation %lld of %lld under load", (long long)gpu->pcie_generation.value,
                   (long long)gpu->pcie_generation_max.value);
}

static bool has_lower_generation(const struct gpu *gpu)
{
    int64_t now, most;
    return reading_get(gpu->pcie_generation, &now) && reading_get(gpu->pcie_generation_max, &most) && now > 0 && now < most;
}

/* A link follows the performance state of its GPU within a second: one that works in its highest states for a minute has had time.
 */
static void detect_generation(const struct facts *f, struct collection *c)
{
    enum { FOLLOWS_MS = 60000, BUSY_FROM = 900 };
    const struct gpu *gpu = f->gpu;
    const struct process *p = f->workers.shares_known ? f->workers.first : NULL;
    int64_t load, state;
    if (!p || !p->started_at.ms || f->now->taken_at.ms - p->started_at.ms < FOLLOWS_MS || !reading_get(gpu->pstate, &state) ||
        state > WORKING_STATE_MAX || !reading_get(gpu->util_permille, &load) || load < BUSY_FROM || f->load != LOAD_BUSY ||
        !has_lower_generation(gpu))
        return;
    tell_generation(c, gpu, 0.85);
}

/* The driver lowers the generation with the performance state, and raises it with a delay. */
bool link_is_slow(const struct gpu *gpu)
{
    enum { LOAD_FROM = 500 };
    return reading_or(gpu->util_permille, 0) >= LOAD_FROM && reading_or(gpu->pstate, 0) <= WORKING_STATE_MAX &&
           has_lower_generation(gpu);
}

void find_slow_link(const struct gpu *gpu, struct wall since, struct collection *c)
{
    enum { HOLD_MS = 60000 }; /* until it has followed the load */
    struct finding *found = since.ms && c->now->taken_at.ms - since.ms >= HOLD_MS ? tell_generation(c, gpu, 0.95) : NULL;
    if (found)
        found->since = since;
}

void find_replays(const struct gpu *gpu, double per_min, struct wall since, struct collection *c)
{
    enum { PER_MIN_MAX = 8 };
    struct finding *found = per_min > PER_MIN_MAX ? collect(c, gpu, FINDING_PCIE_REPLAYS, SEVERITY_WARNING, 0.95, 0,
                                                            ": its PCIe link sends packets again, %.0f a minute", per_min)
                                                  : NULL;
    if (found)
        found->since = since;
}

static void detect_errors(const struct facts *f, struct collection *c)
{
    int64_t count;
    if (reading_get(f->gpu->pcie_uncorrected_errors, &count) && count > 0)
        collect(c, f->gpu, FINDING_PCIE_ERRORS, SEVERITY_WARNING, 0.9, 0,
                ": its PCIe link has had %lld error%s that could not be corrected since the host was started", (long long)count,
                count == 1 ? "" : "s");
}

/* How many GPUs of this kind the host has, and how many links the best connected one has up. */
static size_t siblings_of(const struct facts *f, int64_t *ret_links)
{
    size_t count = 0;
    *ret_links = 0;
    for (size_t i = 0; i < f->now->gpu_count; i++)
        if (strcmp(f->now->gpus[i].id.name, f->gpu->id.name) == 0) {
            count++;
            *ret_links = MAX_OF(*ret_links, reading_or(f->now->gpus[i].nvlink_links_active, 0));
        }
    return count;
}

/* GPUs of one board have as many links each. A bridge joins two cards with at most four links and may leave others out, so a GPU
 * without any is suspect only on a baseboard, or as one of two. */
static void detect_nvlink(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    enum { BRIDGE_LINKS_MAX = 4 };
    int64_t active, most, ready;
    struct finding *apart =
        reading_get(gpu->fabric_ready, &ready) && !ready
            ? collect(c, gpu, FINDING_NVLINK, SEVERITY_WARNING, 0.9, 0, " %s not joined the NVLink fabric", has(f))
            : NULL;
    if (apart)
        apart->advice = "Check that the Fabric Manager is running: systemctl status '*fabricmanager*'";
    size_t siblings = siblings_of(f, &most);
    if (!reading_get(gpu->nvlink_links_active, &active) || active < 0)
        return;
    int64_t errors, worst;
    char with[96] = "";
    if (reading_get(gpu->nvlink_errors, &errors) && reading_get(gpu->nvlink_worst_link, &worst))
        snprintf(with, sizeof with, "; %lld errors on its links, most on link %lld", (long long)errors, (long long)worst);
    if (active < most && (active || most > BRIDGE_LINKS_MAX || siblings == 2))
        collect(c, gpu, FINDING_NVLINK, SEVERITY_WARNING, 0.9, 0, ": %lld of %lld links to other GPUs %s up%s", (long long)active,
                (long long)most, are(f), with);
}

/* Links without a bridge are never up, so the card itself is the measure. */
void find_missing_links(const struct gpu *gpu, int64_t most_seen, struct collection *c)
{
    int64_t active;
    if (reading_get(gpu->nvlink_links_active, &active) && active < most_seen)
        collect(c, gpu, FINDING_NVLINK, SEVERITY_WARNING, 0.95, 0, ": %lld of %lld links to other GPUs are up", (long long)active,
                (long long)most_seen);
}

static void detect_link(const struct facts *f, struct collection *c)
{
    detect_lanes(f, c);
    detect_generation(f, c);
    detect_errors(f, c);
    detect_nvlink(f, c);
}

const struct area area_link = {.find = detect_link};
