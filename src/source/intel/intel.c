/* SPDX-License-Identifier: Apache-2.0
 * The intel source: i915 and xe cards, discrete and integrated. Their working part is the GT: both drivers offer its clock,
 * throttling and idle time under different names.
 *
 *   i915  card0/gt/gt0/rps_act_freq_mhz, throttle_reason_*, rc6_residency_ms     (before 6.x: card0/gt_act_freq_mhz)
 *   xe    card0/device/tile0/gt0/freq0/act_freq, freq0/throttle/reason_*, gtidle/idle_residency_ms
 */
#include "source/intel/intel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "model/metric.h"
#include "source/drm/card_source.h"
#include "source/source_control.h"
#include "source/sysfs/sensors.h"
#include "source/sysfs/sysfs_card.h"

/* ---- GTs ---- */

struct gt_reading {
    size_t count; /* GTs found */
    struct reading graphics_khz, graphics_max_khz;
    struct reading media_khz, media_max_khz;
    struct reading throttle_bits;
    struct reading idle_ms; /* of the busiest GT; increases */
};

enum { TILES_MAX = 4, GTS_OF_A_TILE = 4, MHZ_MAX = 20000 };

struct gt {
    struct attrs freq, throttle, idle;
    const char *act, *max, *throttle_status, *throttle_prefix, *idle_name;
    bool media;
};

static unsigned reason_of(const char *name)
{
    static const struct {
        const char *name;
        unsigned reason;
    } reasons[] = {
        {"pl1", THROTTLE_POWER_CAP},
        {"pl2", THROTTLE_POWER_CAP},
        {"pl4", THROTTLE_POWER_CAP},
        {"psys_pl1", THROTTLE_POWER_CAP},
        {"psys_pl2", THROTTLE_POWER_CAP},
        {"psys_crit", THROTTLE_POWER_CAP},
        {"thermal", THROTTLE_SW_THERMAL},
        {"soc_thermal", THROTTLE_SW_THERMAL},
        {"soc_avg_thermal", THROTTLE_SW_THERMAL},
        {"ratl", THROTTLE_SW_THERMAL},
        {"prochot", THROTTLE_HW_THERMAL},
        {"mem_thermal", THROTTLE_MEM_THERMAL},
        {"vr_thermalert", THROTTLE_VR_THERMAL},
        {"vr_thermal", THROTTLE_VR_THERMAL},
        {"vr_tdc", THROTTLE_CURRENT},
        {"iccmax", THROTTLE_CURRENT},
        {"pwrbrk", THROTTLE_POWER_BRAKE},
    };
    size_t i = NAME_FIND(reasons, str_from(name));
    return i < ARRAY_LEN(reasons) ? reasons[i].reason : THROTTLE_OTHER;
}

/* "status" says whether any reason is active; each reason is a file with 0 or 1. */
static struct reading read_throttle(struct gt *gt)
{
    int64_t value;
    int rc = attrs_number(&gt->throttle, gt->throttle_status, &value);
    if (rc < 0)
        return reading_absent(attrs_state(rc));
    if (value == 0)
        return reading_ok(0);
    AUTO_DIR DIR *dir = dir_open(gt->throttle.env, gt->throttle.path);
    size_t prefix = strlen(gt->throttle_prefix);
    unsigned reasons = 0;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strncmp(name, gt->throttle_prefix, prefix) != 0 || strcmp(name, gt->throttle_status) == 0)
            continue;
        if (attrs_number(&gt->throttle, name, &value) == 0 && value != 0)
            reasons |= reason_of(name + prefix);
    }
    return reading_ok(reasons ? reasons : THROTTLE_OTHER);
}

/* 0 MHz is valid: the GT sleeps between pieces of work. */
static struct reading read_khz(struct attrs *a, const char *name)
{
    struct reading mhz = attrs_reading(a, name, 1, 1);
    if (mhz.state != READING_OK)
        return mhz;
    return mhz.value >= 0 && mhz.value <= MHZ_MAX ? reading_ok(mhz.value * 1000) : reading_absent(READING_IMPLAUSIBLE);
}

static struct reading higher(struct reading a, struct reading b)
{
    if (a.state != READING_OK)
        return b.state == READING_OK || a.state == READING_UNREAD ? b : a;
    return b.state == READING_OK && b.value > a.value ? b : a;
}

static void gt_add(struct gt *gt, struct gt_reading *ret)
{
    struct reading now = read_khz(&gt->freq, gt->act), most = read_khz(&gt->freq, gt->max);
    if (gt->media) {
        ret->media_khz = higher(ret->media_khz, now);
        ret->media_max_khz = higher(ret->media_max_khz, most);
    } else {
        ret->graphics_khz = higher(ret->graphics_khz, now);
        ret->graphics_max_khz = higher(ret->graphics_max_khz, most);
    }
    struct reading throttle = read_throttle(gt);
    if (throttle.state == READING_OK)
        ret->throttle_bits = reading_ok(reading_or(ret->throttle_bits, 0) | throttle.value);
    else if (ret->throttle_bits.state == READING_UNREAD)
        ret->throttle_bits = throttle;
    struct reading idle = attrs_reading(&gt->idle, gt->idle_name, 1, 1);
    if (ret->idle_ms.state != READING_OK || (idle.state == READING_OK && idle.value < ret->idle_ms.value))
        ret->idle_ms = idle;
    ret->count++;
}

static void read_i915(const struct drm_card *card, const struct env *env, struct gt_reading *ret)
{
    for (int i = 0; i < GTS_OF_A_TILE; i++) {
        struct gt gt = {.act = "rps_act_freq_mhz",
                        .max = "rps_RP0_freq_mhz",
                        .throttle_status = "throttle_reason_status",
                        .throttle_prefix = "throttle_reason_",
                        .idle_name = "rc6_residency_ms",
                        .media = i > 0};
        attrs_init(&gt.freq, env, "/sys/class/drm/%s/gt/gt%d", card->name, i);
        gt.throttle = gt.idle = gt.freq;
        if (attrs_exists(&gt.freq, gt.act))
            gt_add(&gt, ret);
    }
    if (ret->count)
        return;
    /* Kernels before 5.18 know one GT, in the card's directory. */
    struct gt gt = {.act = "gt_act_freq_mhz",
                    .max = "gt_RP0_freq_mhz",
                    .throttle_status = "gt_throttle_reason_status",
                    .throttle_prefix = "gt_throttle_reason_",
                    .idle_name = "power/rc6_residency_ms"};
    drm_card_attrs(card, env, &gt.freq);
    gt.throttle = gt.idle = gt.freq;
    if (attrs_exists(&gt.freq, gt.act))
        gt_add(&gt, ret);
}

/* Since Meteor Lake, the second GT of a tile is the media engine. */
static void read_xe(const struct drm_card *card, const struct env *env, struct gt_reading *ret)
{
    for (int tile = 0; tile < TILES_MAX; tile++) {
        for (int i = 0; i < GTS_OF_A_TILE; i++) {
            struct gt gt = {.act = "act_freq",
                            .max = "rp0_freq",
                            .throttle_status = "status",
                            .throttle_prefix = "reason_",
                            .idle_name = "idle_residency_ms",
                            .media = i > 0};
            attrs_init(&gt.freq, env, "/sys/class/drm/%s/device/tile%d/gt%d/freq0", card->name, tile, i);
            attrs_init(&gt.throttle, env, "%s/throttle", gt.freq.path);
            attrs_init(&gt.idle, env, "/sys/class/drm/%s/device/tile%d/gt%d/gtidle", card->name, tile, i);
            if (attrs_exists(&gt.freq, gt.act))
                gt_add(&gt, ret);
        }
    }
}

static void gt_read(const struct drm_card *card, const struct env *env, struct gt_reading *ret)
{
    *ret = (struct gt_reading){0};
    if (strcmp(card->driver, "xe") == 0)
        read_xe(card, env, ret);
    else
        read_i915(card, env, ret);
}

/* ---- Power from energy counters ---- */

enum { ENERGY_COUNTERS = 3 };

/* Counters of a card in order of preference: whole card, package, ... */
struct energy {
    bool known;
    struct mono at;
    int64_t last_uj[ENERGY_COUNTERS]; /* -1: missing */
    struct reading power_mw;
    int best; /* the counter in use; -1 none */
};

enum { LEAST_MS = 50 };

static int choose_counter(const struct energy *e, const int64_t now[ENERGY_COUNTERS])
{
    int there = -1;
    for (int i = 0; i < ENERGY_COUNTERS; i++) {
        if (now[i] < 0)
            continue;
        if (e->last_uj[i] >= 0 && now[i] > e->last_uj[i])
            return i;
        if (there < 0 || (now[there] == 0 && now[i] > 0))
            there = i;
    }
    return there;
}

/* Updates from the counters (absent ones, too). Power is PENDING until the second read, and again after a counter fell (driver
 * reload); on a recorded host also while no counter moves, because time doesn't pass. A counter that stands still while another
 * moves is skipped: energy1 of the B580 stays 0. */
static void energy_update(struct energy *e, const struct reading uj[ENERGY_COUNTERS], bool recorded, struct mono now)
{
    int64_t values[ENERGY_COUNTERS], elapsed_ms = mono_since_ms(now, e->at);
    enum reading_state why = READING_UNSUPPORTED;
    for (int i = 0; i < ENERGY_COUNTERS; i++) {
        values[i] = uj[i].state == READING_OK && uj[i].value >= 0 ? uj[i].value : -1;
        if (uj[i].state != READING_OK && uj[i].state != READING_UNSUPPORTED && uj[i].state != READING_UNREAD)
            why = uj[i].state;
    }
    if (e->known && elapsed_ms < LEAST_MS)
        return; /* too soon: keep the last value */
    for (int i = 0; i < ENERGY_COUNTERS && !e->known; i++)
        e->last_uj[i] = -1;
    int best = choose_counter(e, values);
    bool any = best >= 0;
    if (!any)
        e->power_mw = reading_absent(why);
    else if (e->last_uj[best] < 0 || values[best] < e->last_uj[best] || (recorded && values[best] == e->last_uj[best]))
        e->power_mw = reading_absent(READING_PENDING);
    else
        e->power_mw = reading_ok((values[best] - e->last_uj[best]) / elapsed_ms);
    for (int i = 0; i < ENERGY_COUNTERS; i++)
        e->last_uj[i] = values[i];
    e->best = best;
    e->at = now;
    e->known = any;
}

/* ---- Memory: two queries of the kernel's user interface, with our own declarations: xe's are newer than many systems' headers. */

enum { ANSWER_MAX = 16384, CLASS_DEVICE = 1 };

struct i915_query_item {
    uint64_t query_id;
    int32_t length; /* in: size of the answer buffer, 0 asks for the size; out: negative is -errno */
    uint32_t flags;
    uint64_t data;
};

struct i915_query {
    uint32_t count, flags;
    uint64_t items;
};

struct i915_region {
    uint16_t class, instance;
    uint32_t reserved0;
    uint64_t probed_size, unallocated_size;
    uint64_t reserved1[8];
};

struct i915_regions {
    uint32_t count, reserved[3];
    struct i915_region regions[];
};

struct xe_query {
    uint64_t extensions;
    uint32_t query, size;
    uint64_t data;
    uint64_t reserved[2];
};

struct xe_region {
    uint16_t class, instance;
    uint32_t least_page_size;
    uint64_t total_size, used, cpu_visible_size, cpu_visible_used;
    uint64_t reserved[6];
};

struct xe_regions {
    uint32_t count, pad;
    struct xe_region regions[];
};

#define IOCTL_I915_QUERY _IOWR('d', 0x40 + 0x39, struct i915_query)
#define IOCTL_XE_QUERY _IOWR('d', 0x40 + 0x00, struct xe_query)
enum { I915_QUERY_MEMORY_REGIONS = 4, XE_QUERY_MEM_REGIONS = 1 };

uint64_t intel_vram_from_i915(const void *answer, size_t size)
{
    const struct i915_regions *all = answer;
    uint64_t total = 0;
    if (size < sizeof *all)
        return 0;
    for (size_t i = 0; i < all->count && sizeof *all + (i + 1) * sizeof all->regions[0] <= size; i++)
        if (all->regions[i].class == CLASS_DEVICE)
            total += all->regions[i].probed_size;
    return total;
}

uint64_t intel_vram_from_xe(const void *answer, size_t size)
{
    const struct xe_regions *all = answer;
    uint64_t total = 0;
    if (size < sizeof *all)
        return 0;
    for (size_t i = 0; i < all->count && sizeof *all + (i + 1) * sizeof all->regions[0] <= size; i++)
        if (all->regions[i].class == CLASS_DEVICE)
            total += all->regions[i].total_size;
    return total;
}

static uint64_t ask_i915(int fd, void *answer)
{
    struct i915_query_item item = {.query_id = I915_QUERY_MEMORY_REGIONS};
    struct i915_query query = {.count = 1, .items = (uintptr_t)&item};
    if (ioctl(fd, IOCTL_I915_QUERY, &query) < 0 || item.length <= 0 || item.length > ANSWER_MAX)
        return 0;
    item.data = (uintptr_t)answer;
    if (ioctl(fd, IOCTL_I915_QUERY, &query) < 0 || item.length <= 0)
        return 0;
    return intel_vram_from_i915(answer, (size_t)item.length);
}

static uint64_t ask_xe(int fd, void *answer)
{
    struct xe_query query = {.query = XE_QUERY_MEM_REGIONS};
    if (ioctl(fd, IOCTL_XE_QUERY, &query) < 0 || query.size == 0 || query.size > ANSWER_MAX)
        return 0;
    query.data = (uintptr_t)answer;
    if (ioctl(fd, IOCTL_XE_QUERY, &query) < 0)
        return 0;
    return intel_vram_from_xe(answer, query.size);
}

/* Opens the render node briefly. Only for awake cards of the real host; otherwise UNSUPPORTED. */
static struct reading intel_vram_total(const struct drm_card *card, const struct env *env)
{
    char path[PATH_SIZE];
    if (env_is_recorded(env) || card->render_minor < 0 || env_path(env, path, "/dev/dri/renderD%d", card->render_minor) < 0)
        return reading_absent(READING_UNSUPPORTED);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return reading_absent(reading_state_from_errno(errno));
    AUTO_FREE void *answer = calloc(1, ANSWER_MAX);
    if (!answer)
        return reading_absent(READING_FAILED);
    uint64_t total = strcmp(card->driver, "xe") == 0 ? ask_xe(fd, answer) : ask_i915(fd, answer);
    return total > 0 && total < INT64_MAX ? reading_ok((int64_t)total) : reading_absent(READING_UNSUPPORTED);
}

/* ---- The source ---- */

struct intel_memory {
    struct energy energy;
    struct reading vram_total; /* queried once */
    bool idle_known;
    struct mono idle_at;
    int64_t idle_ms;
    struct reading awake_permille; /* between the last two reads */
};

struct intel {
    struct card_source base;
    struct intel_memory memory[GPU_MAX];
    struct platform platform;
};

static bool is_ours(const struct drm_card *card)
{
    return card->pci_address[0] && (strcmp(card->driver, "i915") == 0 || strcmp(card->driver, "xe") == 0);
}

/* Integrated graphics are function 2 of the first bus on every Intel processor. */
static bool is_discrete(const struct drm_card *card)
{
    return strcmp(card->pci_address, "0000:00:02.0") != 0;
}

static const struct card_kind intel_kind = {.ops = &intel_source,
                                            .size = sizeof(struct intel),
                                            .folder = "/sys/class/drm",
                                            .none = "no GPU with the i915 or xe driver in /sys/class/drm",
                                            .vendor = "intel",
                                            .subject = "the GPU"};

static int intel_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = source_check(&intel_source, params, err);
    return wrong < 0 ? wrong : card_source_open(&intel_kind, env, is_ours, ret, err);
}

/* Share of time in which the GT wasn't idle. It stays awake slightly longer than it works. */
static void update_idle(struct intel_memory *m, struct reading idle_ms, bool recorded, struct mono now)
{
    int64_t idle, elapsed = mono_since_ms(now, m->idle_at);
    if (!reading_get(idle_ms, &idle)) {
        m->awake_permille = idle_ms;
        m->idle_known = false;
        return;
    }
    if (m->idle_known && elapsed < 50)
        return;
    /* On a recorded host a constant counter means nothing: time doesn't pass. */
    if (!m->idle_known || idle < m->idle_ms || (recorded && idle == m->idle_ms))
        m->awake_permille = reading_absent(READING_PENDING);
    else
        m->awake_permille = reading_ok(1000 - MIN_OF((idle - m->idle_ms) * 1000 / elapsed, (int64_t)1000));
    m->idle_known = true;
    m->idle_ms = idle;
    m->idle_at = now;
}

/* The engine time of all processes is accurate if all are visible. Otherwise the GT's idle time comes closer. */
static void choose_utilization(const struct drm_load *load, const struct intel_memory *m, struct gpu *out)
{
    const char *basis = NULL;
    bool complete = load->state == READING_OK && load->hidden == 0 && load->busy_permille.state != READING_UNSUPPORTED;
    if (complete) {
        out->util_permille = load->busy_permille;
        basis = "fdinfo";
    } else if (m->awake_permille.state == READING_OK || m->awake_permille.state == READING_PENDING) {
        out->util_permille = m->awake_permille;
        basis = "idle residency";
    } else if (load->state == READING_OK && load->busy_permille.state != READING_UNSUPPORTED) {
        out->util_permille = load->busy_permille;
        basis = "fdinfo of visible processes";
    }
    if (basis)
        gpu_set_property(out, PROPERTY_utilization_basis, basis);
}

/* Integrated graphics have no memory of their own; xe's is bounded like that of other TTM drivers. */
static void fill_shared(struct intel *s, const struct drm_card *card, struct gpu *out)
{
    struct shared_memory m = {0};
    if (strcmp(card->driver, "xe") == 0)
        m.limit_bytes = shared_memory_ttm_limit(s->base.env);
    shared_memory_fill(s->base.env, &m, out);
}

static void read_clients(struct intel *s, size_t at, unsigned groups, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    struct intel_memory *m = &s->memory[at];
    bool discrete = is_discrete(card);
    struct drm_load load;
    drm_scan_fill(s->base.scan, card, !discrete, out, &load);
    for (size_t i = 0; i < out->process_count; i++)
        if (!out->processes[i].type)
            out->processes[i].type = PROCESS_GRAPHICS;
    if (!(groups & GROUP_FAST))
        return;
    choose_utilization(&load, m, out);
    out->decoder_permille = load.decoder_permille;
    if (discrete && m->vram_total.state == READING_UNREAD)
        m->vram_total = intel_vram_total(card, s->base.env);
    if (discrete)
        out->mem_total_bytes = m->vram_total;
    else
        fill_shared(s, card, out);
    if (load.state != READING_OK || (discrete ? !load.has_vram : !load.has_system))
        return;
    if (load.hidden) {
        out->mem_used_bytes = reading_absent(READING_DENIED);
        if (discrete)
            out->mem_free_bytes = out->mem_used_bytes;
        return;
    }
    int64_t used = (int64_t)(load.vram_bytes + (discrete ? 0 : load.system_bytes)), total;
    if (reading_get(out->mem_total_bytes, &total)) {
        used = MIN_OF(used, total);
        /* For shared memory, at most what is left of the driver's limit. */
        if (discrete || reading_or(out->mem_free_bytes, 0) > total - used)
            out->mem_free_bytes = reading_ok(total - used);
    }
    out->mem_used_bytes = reading_ok(used);
}

static void read_fans(struct attrs *hwmon, unsigned groups, struct gpu *out)
{
    int64_t fans = 0;
    struct reading fastest = reading_absent(READING_UNSUPPORTED);
    for (int i = 1; i <= 4; i++) {
        struct reading rpm = hwmon_reading(hwmon, "fan", i, "_input", 1, 1);
        fans += rpm.state == READING_OK;
        if (rpm.state == READING_OK ? rpm.value >= reading_or(fastest, 0) : fastest.state == READING_UNSUPPORTED)
            fastest = rpm;
    }
    if (groups & GROUP_FAST)
        out->fan_rpm = fastest;
    if ((groups & GROUP_STATIC) && hwmon->path[0])
        out->fan_count = reading_ok(fans);
}

/* The graphics part of the CPU's energy counter; only root may read it since 2020. */
static struct reading read_uncore_energy(const struct env *env)
{
    for (int i = 0; i < 4; i++) {
        struct attrs domain;
        char name[16];
        attrs_init(&domain, env, "/sys/class/powercap/intel-rapl:0:%d", i);
        if (attrs_text(&domain, "name", name, sizeof name) > 0 && strcmp(name, "uncore") == 0)
            return attrs_reading(&domain, "energy_uj", 1, 1);
    }
    return reading_absent(READING_UNSUPPORTED);
}

static void read_power(struct intel *s, size_t at, struct attrs *h, unsigned groups, struct gpu *out)
{
    static const char *const limits[] = {"power1_cap", "power1_max", "power2_cap", "power2_max"};
    struct energy *e = &s->memory[at].energy;
    struct reading counters[ENERGY_COUNTERS] = {attrs_reading(h, "energy1_input", 1, 1), attrs_reading(h, "energy2_input", 1, 1)};
    counters[2] =
        is_discrete(&s->base.cards.slots[at].card) ? reading_absent(READING_UNSUPPORTED) : read_uncore_energy(s->base.env);
    energy_update(e, counters, env_is_recorded(s->base.env), clock_mono(s->base.env->clock));
    if (groups & GROUP_FAST) {
        out->power_mw = e->power_mw;
        out->power_limit_mw = attrs_first(h, limits, ARRAY_LEN(limits), 1, 1000);
    }
    if ((groups & GROUP_RARE) && e->best >= 0 && counters[e->best].state == READING_OK)
        out->energy_mj = reading_ok(counters[e->best].value / 1000);
}

/* i915 has one sensor without a label; xe labels package and memory, and has no first one. */
static int chip_sensor(struct attrs *h)
{
    int package = hwmon_channel(h, "temp", "pkg");
    return package >= 0 ? package : 1;
}

static void read_heat(struct intel *s, const struct drm_card *card, struct attrs *h, struct gpu *out)
{
    int chip = chip_sensor(h), vram = hwmon_channel(h, "temp", "vram");
    out->temp_mdegc = hwmon_reading(h, "temp", chip, "_input", 1, 1);
    out->temp_limit_mdegc = hwmon_reading(h, "temp", chip, "_crit", 1, 1);
    out->temp_memory_mdegc = hwmon_reading(h, "temp", vram, "_input", 1, 1);
    static const char *const voltages[] = {"in0_input", "in1_input"};
    out->voltage_mv = attrs_first(h, voltages, ARRAY_LEN(voltages), 1, 1);
    if (out->temp_mdegc.state == READING_UNSUPPORTED && !is_discrete(card) && s->platform.has_temperature) {
        out->temp_mdegc = s->platform.temperature.mdegc;
        gpu_set_property(out, PROPERTY_temperature_basis, s->platform.temperature.basis);
    }
}

static void read_gt(struct intel *s, size_t at, unsigned groups, struct gpu *out)
{
    struct gt_reading gt;
    gt_read(&s->base.cards.slots[at].card, s->base.env, &gt);
    if (groups & GROUP_FAST) {
        update_idle(&s->memory[at], gt.idle_ms, env_is_recorded(s->base.env), clock_mono(s->base.env->clock));
        out->clock_graphics_khz = gt.graphics_khz;
        out->clock_video_khz = gt.media_khz;
        out->throttle_bits = gt.throttle_bits;
    }
    if (groups & GROUP_STATIC) {
        out->clock_graphics_max_khz = gt.graphics_max_khz;
        out->clock_video_max_khz = gt.media_max_khz;
    }
}

static void read_static(const struct drm_card *card, const struct env *env, struct gpu *out)
{
    drm_card_properties(card, env, out);
    gpu_set_property(out, PROPERTY_memory_kind, is_discrete(card) ? "dedicated" : "shared");
    const char *architecture = gpu_architecture(card);
    if (architecture)
        gpu_set_property(out, PROPERTY_architecture, architecture);
}

static void read_awake(struct intel *s, size_t at, unsigned groups, struct attrs *h, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    if (groups & (GROUP_FAST | GROUP_STATIC)) {
        read_gt(s, at, groups, out);
        pcie_link(card, s->base.env, is_discrete(card), groups, out);
        read_fans(h, groups, out);
    }
    if (groups & GROUP_RARE)
        pcie_errors(s->base.env, card->pci_address, out);
    if (groups & (GROUP_FAST | GROUP_RARE))
        read_power(s, at, h, groups, out);
    if (groups & GROUP_FAST) {
        platform_update(&s->platform, s->base.env);
        read_heat(s, card, h, out);
        if (out->fan_rpm.state == READING_UNSUPPORTED)
            platform_fill_fan(&s->platform, out);
    }
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        read_clients(s, at, groups, out);
    if (groups & GROUP_STATIC) {
        read_static(card, s->base.env, out);
        out->temp_shutdown_mdegc = hwmon_reading(h, "temp", chip_sensor(h), "_emergency", 1, 1);
        out->temp_memory_limit_mdegc = hwmon_reading(h, "temp", hwmon_channel(h, "temp", "vram"), "_crit", 1, 1);
    }
}

static void intel_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct intel *s = (struct intel *)source;
    const struct drm_card *card = &s->base.cards.slots[gpu].card;
    enum card_power power = card_source_power(&s->base, gpu);
    if (power == CARD_AWAKE) {
        struct attrs device, hwmon;
        drm_device_attrs(card, s->base.env, &device);
        hwmon_find(&device, &hwmon);
        read_awake(s, gpu, groups, &hwmon, out);
        /* It may have fallen asleep or vanished in mid-read. */
        if (hwmon.refused || hwmon.gone || !attrs_exists(&device, "uevent"))
            power = drm_card_power(card, s->base.env);
    }
    if (power == CARD_AWAKE)
        return;
    /* Don't attribute energy of its sleep or absence to the next second. */
    s->memory[gpu].energy = (struct energy){0};
    s->memory[gpu].idle_known = false;
    if (card_source_rests(&s->base, power, out))
        read_static(card, s->base.env, out);
}

static void intel_describe(struct source *source, struct buf *out)
{
    const struct card_source *s = (const struct card_source *)source;
    for (size_t i = 0; i < s->cards.count; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        buf_printf(out, "%s at %s, driver %s, %s, %s\n", card->name, card->pci_address, card->driver,
                   is_discrete(card) ? "discrete" : "on the processor's die", card_power_name(card_source_power(s, i)));
    }
}

const struct source_ops intel_source = {
    .name = "intel",
    .what = "Intel graphics through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .open = intel_open,
    .presence = drm_cards_signature,
    .list = card_source_list,
    .refresh = card_source_refresh,
    .sample = intel_sample,
    .changed = card_source_changed,
    .describe = intel_describe,
    .control = &intel_control,
    .close = card_source_close,
};
