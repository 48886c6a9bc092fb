/* SPDX-License-Identifier: Apache-2.0
 * Settings of AMD's GPUs in kernel files.
 *
 *   hwmon/power1_cap                                uW, cut to whole watts; power1_cap_{min,max,default}
 *   hwmon/pwm1_enable, pwm1                         1 manual, 2 automatic; 0 to 255. From RDNA 3 on there is no fixed speed
 *   gpu_od/fan_ctrl/acoustic_target_rpm_threshold   needs a bit of amdgpu.ppfeaturemask; the firmware keeps the fan
 *   power_dpm_force_performance_level               auto, low, high, ...
 */
#include "source/drm/card_source.h"
#include "source/source_control.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "source/amdgpu/amdgpu_read.h"

#define FAN_CTRL "gpu_od/fan_ctrl/"
#define ACOUSTIC FAN_CTRL "acoustic_target_rpm_threshold"
#define LEVEL "power_dpm_force_performance_level"

enum { UW_PER_MW = 1000, PWM_MOST = 255, PWM_MANUAL = 1, PWM_AUTOMATIC = 2, FAN_LEAST = 20, TEXT_SIZE = 512 };

struct amd_files {
    struct attrs device, hwmon;
};

static int reach(struct source *source, size_t gpu, struct amd_files *f, struct error *err)
{
    const struct env *env;
    const struct drm_card *card = card_source_card(source, gpu, &env);
    if (!card || !card->name[0])
        return error_set(err, card ? -EOPNOTSUPP : -ENODEV, card ? "its files are not visible here" : "the GPU is gone");
    drm_device_attrs(card, env, &f->device);
    hwmon_find(&f->device, &f->hwmon);
    return 0;
}

static int need_writable(const struct attrs *a, const char *name, struct error *err)
{
    return attrs_writable(a, name) ? 0 : control_file_error(-EACCES, name, err);
}

static int look_power(struct amd_files *f, struct control_state *s, struct error *err)
{
    int64_t now, least, most, stock;
    int rc = attrs_number(&f->hwmon, "power1_cap", &now);
    if (rc == 0)
        rc = attrs_number(&f->hwmon, "power1_cap_max", &most);
    if (rc < 0)
        return control_file_error(rc, "power1_cap", err);
    if (attrs_number(&f->hwmon, "power1_cap_min", &least) < 0 || least < UW_PER_MW)
        least = 1000 * UW_PER_MW; /* 0 keeps the current one */
    s->now = (struct control_value){.low = now / UW_PER_MW, .high = now / UW_PER_MW};
    s->now_known = true;
    s->least = least / UW_PER_MW;
    s->most = most / UW_PER_MW;
    s->exact_stock = attrs_number(&f->hwmon, "power1_cap_default", &stock) == 0 && stock > 0;
    if (s->exact_stock)
        s->stock_value = (struct control_value){.low = stock / UW_PER_MW, .high = stock / UW_PER_MW};
    return need_writable(&f->hwmon, "power1_cap", err);
}

static int look_fan(struct amd_files *f, struct control_state *s, struct error *err)
{
    int64_t mode, speed;
    if (attrs_exists(&f->device, FAN_CTRL "fan_curve"))
        return error_set(err, -EOPNOTSUPP,
                         "GPUs of this generation take no fixed fan speed; `whirr quiet` lowers their fan target");
    int rc = attrs_number(&f->hwmon, "pwm1_enable", &mode);
    if (rc < 0)
        return rc == -ENOENT ? error_set(err, -EOPNOTSUPP, "it has no fan that can be set")
                             : control_file_error(rc, "pwm1_enable", err);
    s->now = (struct control_value){.stock = mode != PWM_MANUAL};
    if (mode == PWM_MANUAL && (rc = attrs_number(&f->hwmon, "pwm1", &speed)) < 0)
        return control_file_error(rc, "pwm1", err);
    if (mode == PWM_MANUAL)
        s->now.low = s->now.high = (speed * 100 + PWM_MOST / 2) / PWM_MOST;
    s->now_known = true;
    s->least = FAN_LEAST;
    s->most = 100;
    return need_writable(&f->hwmon, "pwm1", err);
}

/* "OD_ACOUSTIC_TARGET:\n2000\nOD_RANGE:\nACOUSTIC_TARGET: 500 3100\n" */
static int look_acoustic(struct amd_files *f, struct control_state *s, struct error *err)
{
    char text[TEXT_SIZE];
    long long now, least, most;
    ssize_t len = attrs_text(&f->device, ACOUSTIC, text, sizeof text);
    if (len < 0)
        return control_file_error((int)len, ACOUSTIC, err);
    if (sscanf(text, "%*[A-Z_]: %lld %*[A-Z_]: %*[A-Z_]: %lld %lld", &now, &least, &most) != 3 || least >= most)
        return error_set(err, -EOPNOTSUPP, "its fan target cannot be set");
    s->now = (struct control_value){.low = now, .high = now};
    s->now_known = true;
    s->least = MAX_OF(least, 1);
    s->most = most;
    s->unit = "rpm";
    return need_writable(&f->device, ACOUSTIC, err);
}

static int look_level(struct amd_files *f, struct control_state *s, struct error *err)
{
    char text[64];
    ssize_t len = attrs_text(&f->device, LEVEL, text, sizeof text);
    if (len < 0)
        return control_file_error((int)len, LEVEL, err);
    int64_t level = control_level_of((struct str){text, (size_t)len});
    if (level < 0)
        return error_set(err, -EOPNOTSUPP, "its performance level '%s' is not known to whirr", text);
    s->now = (struct control_value){.low = level, .high = level};
    s->now_known = s->exact_stock = true;
    s->most = CONTROL_LEVELS - 1;
    return need_writable(&f->device, LEVEL, err);
}

static int amdgpu_look(struct source *source, size_t gpu, enum control_kind kind, struct control_state *ret, struct error *err)
{
    struct amd_files f;
    int rc = reach(source, gpu, &f, err);
    if (rc < 0)
        return rc;
    switch (kind) {
    case CONTROL_POWER: return look_power(&f, ret, err);
    case CONTROL_FAN: return look_fan(&f, ret, err);
    case CONTROL_ACOUSTIC: return look_acoustic(&f, ret, err);
    case CONTROL_LEVEL: return look_level(&f, ret, err);
    default: return error_set(err, -EOPNOTSUPP, "its clocks follow performance levels: `whirr set clocks low`, `high` or `stock`");
    }
}

static int set_fan(const struct amd_files *f, struct control_value v)
{
    if (v.stock)
        return attrs_write_number(&f->hwmon, "pwm1_enable", PWM_AUTOMATIC);
    int rc = attrs_write_number(&f->hwmon, "pwm1_enable", PWM_MANUAL); /* otherwise the driver refuses a speed */
    return rc < 0 ? rc : attrs_write_number(&f->hwmon, "pwm1", (v.low * PWM_MOST + 50) / 100);
}

static int set_acoustic(const struct amd_files *f, struct control_value v)
{
    int rc = attrs_write_number(&f->device, ACOUSTIC, v.low);
    return rc < 0 ? rc : attrs_write(&f->device, ACOUSTIC, "c");
}

static int amdgpu_set(struct source *source, size_t gpu, enum control_kind kind, struct control_value v, struct error *err)
{
    static const char *const names[CONTROL_KINDS] = {"power1_cap", "", "pwm1", ACOUSTIC, LEVEL};
    struct control_state s = {0};
    struct amd_files f;
    int rc = amdgpu_look(source, gpu, kind, &s, err);
    if (rc == 0)
        rc = control_check(kind, &s, v, err);
    if (rc == 0)
        rc = reach(source, gpu, &f, err);
    if (rc < 0)
        return rc;
    if (kind == CONTROL_FAN)
        rc = set_fan(&f, v);
    else if (v.stock)
        return error_set(err, -EOPNOTSUPP, "what is stock for its %s is not known", control_words(kind));
    else if (kind == CONTROL_POWER)
        rc = attrs_write_number(&f.hwmon, "power1_cap", v.low * UW_PER_MW);
    else
        rc = kind == CONTROL_LEVEL ? attrs_write(&f.device, LEVEL, control_levels[v.low]) : set_acoustic(&f, v);
    return rc < 0 ? control_file_error(rc, names[kind], err) : 0;
}

static void amdgpu_command(struct source *source, size_t gpu, enum control_kind kind, struct control_value v, struct buf *out)
{
    struct amd_files f;
    if (reach(source, gpu, &f, NULL) < 0)
        return;
    if (kind == CONTROL_POWER)
        buf_printf(out, "echo %lld > %s/power1_cap", (long long)(v.low * UW_PER_MW), f.hwmon.path);
    else if (kind == CONTROL_FAN && v.stock)
        buf_printf(out, "echo 2 > %s/pwm1_enable", f.hwmon.path);
    else if (kind == CONTROL_FAN)
        buf_printf(out, "echo 1 > %s/pwm1_enable; echo %lld > %s/pwm1", f.hwmon.path, (long long)((v.low * PWM_MOST + 50) / 100),
                   f.hwmon.path);
    else if (kind == CONTROL_ACOUSTIC)
        buf_printf(out, "echo %lld > %s/" ACOUSTIC "; echo c > %s/" ACOUSTIC, (long long)v.low, f.device.path, f.device.path);
    else if (kind == CONTROL_LEVEL)
        buf_printf(out, "echo %s > %s/" LEVEL, control_levels[v.low], f.device.path);
}

const struct control_ops amdgpu_control = {.look = amdgpu_look, .set = amdgpu_set, .command = amdgpu_command};
