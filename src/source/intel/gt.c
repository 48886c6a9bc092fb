/* SPDX-License-Identifier: Apache-2.0
 * Reads the files of one GT after the other.
 *
 *   i915  card0/gt/gt0/rps_act_freq_mhz, throttle_reason_*, rc6_residency_ms     (before 6.x: card0/gt_act_freq_mhz)
 *   xe    card0/device/tile0/gt0/freq0/act_freq, freq0/throttle/reason_*, gtidle/idle_residency_ms
 */
#include "source/intel/gt.h"

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
