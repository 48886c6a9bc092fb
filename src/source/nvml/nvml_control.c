/* SPDX-License-Identifier: Apache-2.0
 * Settings of NVIDIA's GPUs. Predicts what the driver would refuse: laptops, vGPU guests, partitioned GPUs, missing privileges.
 * Clock locks can't be read back: the caller must remember them.
 */
#include "source/source_control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "source/nvml/internal.h"

enum { CAP_SYS_ADMIN_BIT = 21, FANS_MAX = 8, PSTATE_FASTEST = 0 };

static int refused(struct nvml *n, struct nvml_card *card, int code, const char *what, struct error *err)
{
    if (nvml_is_trouble(code))
        card_fail(n, card, code);
    int rc = code == NVML_NO_PERMISSION                                      ? -EACCES
             : code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND ? -EOPNOTSUPP
             : code == NVML_INVALID_ARGUMENT                                 ? -EINVAL
             : nvml_is_trouble(code)                                         ? -ENODEV
                                                                             : -EIO;
    return error_set(err, rc, "%s: %s", what, nvml_words(&n->lib, code));
}

/* A working handle: the driver may have been reloaded since. */
static int reach(struct nvml *n, size_t gpu, struct nvml_card **ret, struct error *err)
{
    if (gpu >= n->card_count)
        return error_set(err, -ENODEV, "the GPU is gone");
    struct nvml_card *card = &n->cards[gpu];
    if (n->restart)
        session_stop(n);
    if (card->trouble)
        card_detach(n, card);
    int rc = session_start(n, err);
    if (rc < 0)
        return rc;
    int code = card->handle ? NVML_OK : card_attach(n, card);
    if (code != NVML_OK)
        return refused(n, card, code, "the GPU cannot be reached", err);
    *ret = card;
    return 0;
}

/* The kernel module requires CAP_SYS_ADMIN. A library named in place of the driver's decides for itself. */
static bool may_set(const struct nvml *n)
{
    if (strcmp(n->env->nvml_library, "libnvidia-ml.so.1") != 0)
        return true;
    char text[4096];
    uint64_t mask = 0;
    const char *line = file_read_head(n->env, "/proc/self/status", text, sizeof text) > 0 ? strstr(text, "\nCapEff:") : NULL;
    return !line || sscanf(line, "\nCapEff: %" SCNx64, &mask) != 1 || (mask >> CAP_SYS_ADMIN_BIT & 1);
}

/* Why nothing at all can be set on it. */
static int settable(struct nvml *n, struct nvml_card *card, struct error *err)
{
    unsigned mode = 0, mig = 0, pending = 0;
    if (NVML(n, virtualization, card->handle, &mode) == NVML_OK && mode == NVML_VIRTUAL_GUEST)
        return error_set(err, -EOPNOTSUPP, "this is a virtual GPU: its settings belong to the host");
    if (NVML(n, mig_mode, card->handle, &mig, &pending) == NVML_OK && mig)
        return error_set(err, -EOPNOTSUPP, "this GPU is divided into MIG instances, whose users would share the change");
    return 0;
}

static int look_power(struct nvml *n, struct nvml_card *card, struct control_state *s, struct error *err)
{
    unsigned now = 0, stock = 0, least = 0, most = 0, in_force = 0;
    int code = NVML(n, power_limit_set, card->handle, &now);
    if (code == NVML_OK)
        code = NVML(n, power_limit_range, card->handle, &least, &most);
    if (code == NVML_NOT_SUPPORTED)
        return error_set(err, -EOPNOTSUPP,
                         "its power limit belongs to the firmware, as on laptops; `whirr set clocks` can lower its clocks instead");
    if (code != NVML_OK)
        return refused(n, card, code, "cannot read its power limit", err);
    if (!n->lib.set_power_limit || least >= most)
        return error_set(err, -EOPNOTSUPP, "its power limit is fixed");
    s->now = (struct control_value){.low = now, .high = now};
    s->now_known = true;
    s->least = least;
    s->most = most;
    if (NVML(n, power_limit_default, card->handle, &stock) == NVML_OK) {
        s->exact_stock = true;
        s->stock_value = (struct control_value){.low = stock, .high = stock};
    }
    if (NVML(n, power_limit, card->handle, &in_force) == NVML_OK)
        s->in_force = reading_ok(in_force);
    return 0;
}

static int look_clocks(struct nvml *n, struct nvml_card *card, struct control_state *s, struct error *err)
{
    unsigned architecture = 0, least = 0, most = 0;
    if (NVML(n, architecture, card->handle, &architecture) == NVML_OK && architecture < NVML_ARCHITECTURE_VOLTA)
        return error_set(err, -EOPNOTSUPP, "clocks can be locked from the Volta generation on");
    if (!n->lib.lock_clocks || !n->lib.unlock_clocks)
        return error_set(err, -EOPNOTSUPP, "this driver cannot lock clocks");
    int code = NVML(n, clock_range, card->handle, NVML_CLOCK_GRAPHICS, PSTATE_FASTEST, &least, &most);
    if (code != NVML_OK) {
        least = 1; /* the driver uses the nearest supported clock */
        code = NVML(n, clock_max, card->handle, NVML_CLOCK_GRAPHICS, &most);
    }
    if (code != NVML_OK)
        return refused(n, card, code, "cannot read its clocks", err);
    s->least = least;
    s->most = most;
    return 0;
}

/* The common speed of all fans, or automatic. */
static int look_fan(struct nvml *n, struct nvml_card *card, struct control_state *s, struct error *err)
{
    unsigned fans = 0, least = 0, most = 0, policy, speed;
    if (!n->lib.fan_count || n->lib.fan_count(card->handle, &fans) != NVML_OK || fans == 0)
        return error_set(err, -EOPNOTSUPP, "it has no fan of its own");
    if (!n->lib.set_fan || !n->lib.set_fan_automatic || !n->lib.fan_policy || !n->lib.fan_range || !n->lib.fan_target)
        return error_set(err, -EOPNOTSUPP, "this driver cannot set fans; 520 and later can");
    int code = n->lib.fan_range(card->handle, &least, &most);
    s->least = MAX_OF(least, 1U);
    s->most = most;
    for (unsigned i = 0; i < MIN_OF(fans, FANS_MAX) && code == NVML_OK; i++) {
        struct control_value v = {.stock = true};
        code = n->lib.fan_policy(card->handle, i, &policy);
        if (code == NVML_OK && policy == NVML_FAN_MANUAL && (code = n->lib.fan_target(card->handle, i, &speed)) == NVML_OK)
            v = (struct control_value){.low = speed, .high = speed};
        if (i > 0 && code == NVML_OK && !control_equal(CONTROL_FAN, v, s->now))
            return error_set(err, -EBUSY, "another program has set its fans to different speeds");
        s->now = v;
    }
    if (code != NVML_OK)
        return refused(n, card, code, "cannot read its fans", err);
    s->now_known = true;
    return 0;
}

static int look_acoustic(struct nvml *n, struct nvml_card *card, struct control_state *s, struct error *err)
{
    unsigned now = 0, least = 0, most = 0;
    if (!n->lib.threshold || !n->lib.set_threshold ||
        n->lib.threshold(card->handle, NVML_THRESHOLD_ACOUSTIC_CURRENT, &now) != NVML_OK ||
        n->lib.threshold(card->handle, NVML_THRESHOLD_ACOUSTIC_MIN, &least) != NVML_OK ||
        n->lib.threshold(card->handle, NVML_THRESHOLD_ACOUSTIC_MAX, &most) != NVML_OK || least >= most)
        return error_set(err, -EOPNOTSUPP, "its temperature target cannot be set");
    s->now = (struct control_value){.low = now, .high = now};
    s->now_known = true;
    s->least = least;
    s->most = most;
    s->unit = "°C";
    return 0;
}

static int look_kind(struct nvml *n, struct nvml_card *card, enum control_kind kind, struct control_state *ret, struct error *err)
{
    switch (kind) {
    case CONTROL_POWER: return look_power(n, card, ret, err);
    case CONTROL_CLOCKS: return look_clocks(n, card, ret, err);
    case CONTROL_FAN: return look_fan(n, card, ret, err);
    case CONTROL_ACOUSTIC: return look_acoustic(n, card, ret, err);
    default: return error_set(err, -EOPNOTSUPP, "it has no performance levels to choose from");
    }
}

static int nvml_look(struct source *source, size_t gpu, enum control_kind kind, struct control_state *ret, struct error *err)
{
    struct nvml *n = (struct nvml *)source;
    struct nvml_card *card = NULL;
    int rc = reach(n, gpu, &card, err);
    if (rc == 0)
        rc = settable(n, card, err);
    if (rc == 0)
        rc = look_kind(n, card, kind, ret, err);
    if (rc == 0 && !may_set(n))
        rc = error_set(err, -EACCES, "changing it needs root (in a container: the capability SYS_ADMIN)");
    return rc;
}

static int set_fans(struct nvml *n, struct nvml_card *card, struct control_value v)
{
    unsigned fans = 0;
    int first = n->lib.fan_count(card->handle, &fans);
    /* Continue after a failure: no fan may be left at a fixed speed. */
    for (unsigned i = 0; i < MIN_OF(fans, FANS_MAX); i++) {
        int code = v.stock ? n->lib.set_fan_automatic(card->handle, i) : n->lib.set_fan(card->handle, i, (unsigned)v.low);
        first = first ? first : code;
    }
    return first;
}

static int nvml_set(struct source *source, size_t gpu, enum control_kind kind, struct control_value v, struct error *err)
{
    struct nvml *n = (struct nvml *)source;
    struct nvml_card *card = NULL;
    struct control_state s = {0};
    int rc = nvml_look(source, gpu, kind, &s, err);
    if (rc == 0 || rc == -EBUSY) /* fans at different speeds don't prevent setting one speed for all */
        rc = reach(n, gpu, &card, err);
    if (rc == 0)
        rc = control_check(kind, &s, v, err);
    if (rc < 0)
        return rc;
    int code = NVML_NOT_SUPPORTED, degrees = (int)v.low;
    if (kind == CONTROL_POWER && !v.stock)
        code = n->lib.set_power_limit(card->handle, (unsigned)v.low);
    else if (kind == CONTROL_CLOCKS)
        code = v.stock ? n->lib.unlock_clocks(card->handle) : n->lib.lock_clocks(card->handle, (unsigned)v.low, (unsigned)v.high);
    else if (kind == CONTROL_FAN)
        code = set_fans(n, card, v);
    else if (kind == CONTROL_ACOUSTIC && !v.stock)
        code = n->lib.set_threshold(card->handle, NVML_THRESHOLD_ACOUSTIC_CURRENT, &degrees);
    return code == NVML_OK ? 0 : refused(n, card, code, "the driver refuses", err);
}

static void nvml_command(struct source *source, size_t gpu, enum control_kind kind, struct control_value v, struct buf *out)
{
    const struct nvml *n = (const struct nvml *)source;
    const char *pci = gpu < n->card_count ? n->cards[gpu].id.pci_address : "";
    if (kind == CONTROL_POWER && !v.stock)
        buf_printf(out, "nvidia-smi -i %s -pl %lld", pci, (long long)(v.low / 1000));
    else if (kind == CONTROL_CLOCKS && v.stock)
        buf_printf(out, "nvidia-smi -i %s -rgc", pci);
    else if (kind == CONTROL_CLOCKS)
        buf_printf(out, "nvidia-smi -i %s -lgc %lld,%lld", pci, (long long)v.low, (long long)v.high);
    else if (kind == CONTROL_ACOUSTIC && !v.stock)
        buf_printf(out, "nvidia-smi -i %s -gtt %lld", pci, (long long)v.low);
}

const struct control_ops nvml_control = {.look = nvml_look, .set = nvml_set, .command = nvml_command};
