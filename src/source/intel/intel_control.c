/* SPDX-License-Identifier: Apache-2.0
 * Settings of Intel's GPUs in kernel files. Fans can't be set.
 *
 *   hwmon/power1_max (xe: power2_max of the package if missing)    uW; never 0, which would disable the limit
 *   xe    device/tileN/gt0/freq0/{min,max}_freq                    from rpn_freq to rp0_freq
 *   i915  gt_{min,max}_freq_mhz                                    from gt_RPn_freq_mhz to gt_RP0_freq_mhz
 */
#include "source/drm/card_source.h"
#include "source/source_control.h"

#include <errno.h>

#include "base/cleanup.h"
#include "source/sysfs/sensors.h"

enum { UW_PER_MW = 1000, MW_PER_W = 1000, TILES_MAX = 4, LEAST_SHARE = 10 };

struct gt_names {
    const char *min, *max, *least, *most;
};
static const struct gt_names xe_names = {"min_freq", "max_freq", "rpn_freq", "rp0_freq"};
static const struct gt_names i915_names = {"gt_min_freq_mhz", "gt_max_freq_mhz", "gt_RPn_freq_mhz", "gt_RP0_freq_mhz"};

struct intel_files {
    struct attrs hwmon, gts[TILES_MAX];
    size_t gt_count;
    const struct gt_names *names;
    const char *power; /* file of the limit: "power1_max"; NULL: none */
    const char *rated;
};

static int reach(struct source *source, size_t gpu, struct intel_files *f, struct error *err)
{
    const struct env *env;
    const struct drm_card *card = card_source_card(source, gpu, &env);
    if (!card)
        return error_set(err, -ENODEV, "the GPU is gone");
    *f = (struct intel_files){.names = strcmp(card->driver, "xe") == 0 ? &xe_names : &i915_names};
    struct attrs device;
    drm_device_attrs(card, env, &device);
    hwmon_find(&device, &f->hwmon);
    bool first = attrs_exists(&f->hwmon, "power1_max"), second = attrs_exists(&f->hwmon, "power2_max");
    f->power = first ? "power1_max" : second ? "power2_max" : NULL;
    f->rated = first ? "power1_rated_max" : "power2_rated_max";
    if (f->names == &i915_names)
        drm_card_attrs(card, env, &f->gts[f->gt_count++]);
    for (int tile = 0; f->names == &xe_names && tile < TILES_MAX; tile++) {
        struct attrs *gt = &f->gts[f->gt_count];
        attrs_init(gt, env, "/sys/class/drm/%s/device/tile%d/gt0/freq0", card->name, tile);
        f->gt_count += attrs_exists(gt, f->names->max);
    }
    return 0;
}

static int look_power(struct intel_files *f, struct control_state *s, struct error *err)
{
    int64_t now, rated;
    if (!f->power)
        return error_set(err, -EOPNOTSUPP, "its driver has no power limit that can be set");
    int rc = attrs_number(&f->hwmon, f->power, &now);
    if (rc < 0)
        return control_file_error(rc, f->power, err);
    if (now <= 0)
        return error_set(err, -EOPNOTSUPP, "its power limit is switched off");
    s->exact_stock = attrs_number(&f->hwmon, f->rated, &rated) == 0 && rated > 0;
    s->now = (struct control_value){.low = now / UW_PER_MW, .high = now / UW_PER_MW};
    s->now_known = true;
    /* The kernel reports no minimum. Without a rated power, only values below the current one are known to work. */
    s->most = (s->exact_stock ? MAX_OF(rated, now) : now) / UW_PER_MW;
    s->least = MAX_OF(s->most / LEAST_SHARE, (int64_t)MW_PER_W);
    if (s->exact_stock)
        s->stock_value = (struct control_value){.low = rated / UW_PER_MW, .high = rated / UW_PER_MW};
    return attrs_writable(&f->hwmon, f->power) ? 0 : control_file_error(-EACCES, f->power, err);
}

static int look_clocks(struct intel_files *f, struct control_state *s, struct error *err)
{
    struct control_value v = {0};
    int64_t least, most;
    for (size_t i = 0; i < f->gt_count; i++) {
        int rc = attrs_number(&f->gts[i], f->names->min, &v.low);
        if (rc == 0)
            rc = attrs_number(&f->gts[i], f->names->max, &v.high);
        if (rc == 0)
            rc = attrs_number(&f->gts[i], f->names->least, &least);
        if (rc == 0)
            rc = attrs_number(&f->gts[i], f->names->most, &most);
        if (rc == 0 && !attrs_writable(&f->gts[i], f->names->max))
            rc = -EACCES;
        if (rc < 0)
            return control_file_error(rc, f->names->max, err);
        s->least = least;
        s->most = most;
        if (i > 0 && !control_equal(CONTROL_CLOCKS, v, s->now))
            return error_set(err, -EBUSY, "another program has given its tiles different clocks");
        s->now = v;
    }
    if (f->gt_count == 0)
        return error_set(err, -EOPNOTSUPP, "its driver has no clocks that can be set");
    s->now_known = s->exact_stock = true;
    s->stock_value = (struct control_value){.low = s->least, .high = s->most};
    return 0;
}

static int intel_look(struct source *source, size_t gpu, enum control_kind kind, struct control_state *ret, struct error *err)
{
    struct intel_files f;
    int rc = reach(source, gpu, &f, err);
    if (rc < 0)
        return rc;
    if (kind == CONTROL_POWER)
        return look_power(&f, ret, err);
    if (kind == CONTROL_CLOCKS)
        return look_clocks(&f, ret, err);
    return error_set(err, -EOPNOTSUPP, "Intel's drivers have no %s that can be set", control_words(kind));
}

/* Ordered so that the minimum never exceeds the maximum in between: the kernel would refuse. */
static int set_clocks(const struct intel_files *f, struct control_value now, struct control_value v)
{
    bool down = v.high < now.low;
    for (size_t i = 0; i < f->gt_count; i++) {
        int rc = attrs_write_number(&f->gts[i], down ? f->names->min : f->names->max, down ? v.low : v.high);
        if (rc == 0)
            rc = attrs_write_number(&f->gts[i], down ? f->names->max : f->names->min, down ? v.high : v.low);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int intel_set(struct source *source, size_t gpu, enum control_kind kind, struct control_value v, struct error *err)
{
    struct control_state s = {0};
    struct intel_files f;
    int rc = intel_look(source, gpu, kind, &s, err);
    if (rc == 0 || rc == -EBUSY)
        rc = control_check(kind, &s, v, err);
    if (rc == 0)
        rc = reach(source, gpu, &f, err);
    if (rc < 0)
        return rc;
    if (v.stock)
        return error_set(err, -EOPNOTSUPP, "what is stock for its %s is not known", control_words(kind));
    rc = kind == CONTROL_POWER ? attrs_write_number(&f.hwmon, f.power, v.low * UW_PER_MW) : set_clocks(&f, s.now, v);
    return rc < 0 ? control_file_error(rc, kind == CONTROL_POWER ? f.power : f.names->max, err) : 0;
}

static void intel_command(struct source *source, size_t gpu, enum control_kind kind, struct control_value v, struct buf *out)
{
    struct intel_files f;
    if (reach(source, gpu, &f, NULL) < 0)
        return;
    if (kind == CONTROL_POWER && f.power)
        buf_printf(out, "echo %lld > %s/%s", (long long)(v.low * UW_PER_MW), f.hwmon.path, f.power);
    for (size_t i = 0; kind == CONTROL_CLOCKS && i < f.gt_count; i++)
        buf_printf(out, "%secho %lld > %s/%s; echo %lld > %s/%s", i ? "; " : "", (long long)v.high, f.gts[i].path, f.names->max,
                   (long long)v.low, f.gts[i].path, f.names->min);
}

const struct control_ops intel_control = {.look = intel_look, .set = intel_set, .command = intel_command};
