/* SPDX-License-Identifier: Apache-2.0
 * Reads an Intel GPU: its GTs, power from energy counters, and the size of its memory.
 *
 *   i915  card0/gt/gt0/rps_act_freq_mhz, throttle_reason_*, rc6_residency_ms     (before 6.x: card0/gt_act_freq_mhz)
 *   xe    card0/device/tile0/gt0/freq0/act_freq, freq0/throttle/reason_*, gtidle/idle_residency_ms
 */
#include "source/intel/intel_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "model/metric.h"

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

void gt_read(const struct drm_card *card, const struct env *env, struct gt_reading *ret)
{
    *ret = (struct gt_reading){0};
    if (strcmp(card->driver, "xe") == 0)
        read_xe(card, env, ret);
    else
        read_i915(card, env, ret);
}

/* ---- Power from energy counters ---- */

enum { LEAST_MS = 50 };

static int choose(const struct energy *e, const int64_t now[ENERGY_COUNTERS])
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

void energy_update(struct energy *e, const struct reading uj[ENERGY_COUNTERS], bool recorded, struct mono now)
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
    int best = choose(e, values);
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

struct reading intel_vram_total(const struct drm_card *card, const struct env *env)
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
