/* SPDX-License-Identifier: Apache-2.0
 * See read.h. File formats follow the drivers' sources (docs/npu.md).
 */
#include "source/accel/accel_read.h"

#include <stdio.h>

#include "base/cleanup.h"

static void take_text(struct attrs *from, const char *name, enum property property, struct gpu *out)
{
    char text[GPU_TEXT_SIZE];
    if (attrs_text(from, name, text, sizeof text) > 0)
        gpu_set_property(out, property, text);
}

/* ---- Intel ---- */

/* The driver asks for at most one query per second: job submission takes the same lock. */
static struct reading busy_share(struct attrs *device, struct busy_time *busy)
{
    enum { LEAST_MS = 900 };
    struct mono now = clock_mono(device->env->clock);
    int64_t us, passed_us = (now.ns - busy->at.ns) / 1000;
    if (busy->known && passed_us < LEAST_MS * 1000)
        return busy->permille;
    int rc = attrs_number(device, "npu_busy_time_us", &us);
    if (rc < 0 || us < 0) {
        busy->known = false;
        return reading_absent(rc < 0 ? attrs_state(rc) : READING_UNSUPPORTED);
    }
    busy->permille = reading_absent(READING_PENDING);
    busy->moved |= busy->known && us != busy->us;
    /* Time doesn't pass on a recorded host: a counter that never moved gives no rate. */
    if (busy->known && us >= busy->us && (busy->moved || !env_is_recorded(device->env)))
        busy->permille = reading_ok(MIN_OF((us - busy->us) * 1000 / passed_us, (int64_t)1000));
    busy->us = us;
    busy->at = now;
    busy->known = true;
    return busy->permille;
}

static void read_intel(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)own;
    if (groups & GROUP_FAST) {
        struct reading load = busy_share(device, busy);
        struct reading bytes = attrs_reading(device, "npu_memory_utilization", 1, 1); /* bytes, despite its name */
        if (load.state != READING_UNSUPPORTED) {
            out->util_permille = load;
            gpu_set_property(out, PROPERTY_utilization_basis, "npu_busy_time_us");
        }
        if (bytes.state != READING_UNSUPPORTED)
            out->mem_used_bytes = bytes;
        out->clock_graphics_khz = attrs_reading(device, "npu_current_frequency_mhz", 1000, 1);
        if (out->clock_graphics_khz.state == READING_OK && out->clock_graphics_khz.value == 0)
            out->clock_graphics_khz = reading_absent(READING_ASLEEP); /* it fell asleep meanwhile */
    }
    if (groups & GROUP_STATIC)
        out->clock_graphics_max_khz = attrs_reading(device, "npu_max_frequency_mhz", 1000, 1);
}

/* ---- AMD ---- */

static void read_xdna(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)own;
    (void)busy;
    if (!(groups & GROUP_STATIC))
        return;
    take_text(device, "vbnv", PROPERTY_brand, out);
    take_text(device, "fw_version", PROPERTY_vbios_version, out);
}

/* ---- Gaudi ---- */

static void read_gaudi(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)own;
    (void)busy;
    char status[GPU_TEXT_SIZE];
    if (attrs_text(device, "status", status, sizeof status) > 0 && strcasecmp(status, "operational") != 0) {
        char words[GPU_ERROR_SIZE];
        snprintf(words, sizeof words, "its driver says: %s", status);
        gpu_done(out);
        gpu_mark_state(out, GPU_ERROR, words);
        return;
    }
    if (groups & GROUP_FAST)
        out->clock_graphics_khz = attrs_reading(device, "clk_cur_freq_mhz", 1000, 1);
    if (groups & GROUP_SLOW)
        out->power_limit_mw = attrs_reading(device, "max_power", 1, 1);
    if (!(groups & GROUP_STATIC))
        return;
    out->clock_graphics_max_khz = attrs_reading(device, "clk_max_freq_mhz", 1000, 1);
    out->module_id = attrs_reading(device, "module_id", 1, 1);
    take_text(device, "cpucp_ver", PROPERTY_vbios_version, out);
}

/* ---- Tenstorrent ---- */

void accel_board_name(struct attrs *own, char name[GPU_NAME_SIZE])
{
    char type[32];
    if (attrs_text(own, "tt_card_type", type, sizeof type) > 0 && strcmp(type, "unknown") != 0)
        snprintf(name, GPU_NAME_SIZE, "Tenstorrent %s", type);
}

void accel_take_pids(struct str text, struct gpu *out)
{
    struct str line;
    int64_t pid;
    while (str_cut(&text, '\n', &line)) {
        if (!str_to_i64(str_trim(line), &pid) || pid <= 0 || pid > INT32_MAX || gpu_find_process(out, (int32_t)pid))
            continue;
        struct process *p = gpu_add_process(out, (int32_t)pid);
        if (!p)
            break;
        p->type = PROCESS_COMPUTE;
    }
    out->processes_state = READING_OK;
}

/* "/sys/class/tenstorrent/tenstorrent!3" and "/proc/driver/tenstorrent/3/pids". */
static void read_pids(struct attrs *own, struct gpu *out)
{
    char path[PATH_SIZE];
    AUTO_BUF struct buf text = BUF(1 << 16);
    const char *number = strrchr(own->path, '!');
    snprintf(path, sizeof path, "/proc/driver/tenstorrent/%s/pids", number ? number + 1 : "0");
    int rc = file_read_all(own->env, path, &text);
    if (rc < 0)
        out->processes_state = reading_state_from_errno(rc);
    else
        accel_take_pids(buf_view(&text), out);
}

static void read_tenstorrent(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)device;
    (void)busy;
    if (groups & GROUP_FAST)
        out->clock_graphics_khz = attrs_reading(own, "tt_aiclk", 1000, 1);
    if (groups & GROUP_PROCESS)
        read_pids(own, out);
    if (!(groups & GROUP_STATIC))
        return;
    take_text(own, "tt_serial", PROPERTY_serial, out);
    take_text(own, "tt_fw_bundle_ver", PROPERTY_vbios_version, out);
}

const struct accel_driver *accel_driver_of(const char *name)
{
    static const struct accel_driver drivers[] = {
        {"intel_vpu", DEVICE_NPU, true, read_intel},
        {"amdxdna", DEVICE_NPU, true, read_xdna},
        {"habanalabs", DEVICE_ACCELERATOR, false, read_gaudi},
        {"tenstorrent", DEVICE_ACCELERATOR, false, read_tenstorrent},
        {"qaic", DEVICE_ACCELERATOR, false, NULL},
        {NULL, DEVICE_NPU, false, NULL},
    };
    const struct accel_driver *d = drivers;
    while (d->name && strcmp(d->name, name) != 0)
        d++;
    return d;
}
