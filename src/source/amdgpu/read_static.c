/* SPDX-License-Identifier: Apache-2.0
 * Static properties of an AMD card: limits, firmware, board numbers; and the errors counted by its RAS blocks.
 */
#include <stdio.h>

#include "source/amdgpu/amdgpu_read.h"
#include "source/sysfs/sysfs_card.h"

static void copy_text(struct attrs *a, const char *name, enum property property, struct gpu *out)
{
    char text[GPU_TEXT_SIZE];
    if (attrs_text(a, name, text, sizeof text) > 0)
        gpu_set_property(out, property, text);
}

static int count_fans(struct attrs *hwmon)
{
    int fans = 0;
    char name[ATTR_NAME_SIZE];
    for (int i = 1; i <= 4; i++) {
        snprintf(name, sizeof name, "fan%d_input", i);
        bool has_fan = attrs_exists(hwmon, name);
        snprintf(name, sizeof name, "pwm%d", i);
        fans += has_fan || attrs_exists(hwmon, name);
    }
    return fans;
}

void amdgpu_read_static(struct amdgpu_reader *r, struct gpu *out)
{
    struct attrs *h = &r->hwmon;
    const struct amdgpu_channels *c = &r->memory->channels;
    int chip = c->edge >= 0 ? c->edge : c->junction;
    out->temp_shutdown_mdegc = hwmon_reading(h, "temp", chip, "_emergency", 1, 1);
    out->temp_memory_limit_mdegc = hwmon_reading(h, "temp", c->memory, "_crit", 1, 1);
    out->power_limit_default_mw = attrs_reading(h, "power1_cap_default", 1, 1000);
    out->power_limit_min_mw = attrs_reading(h, "power1_cap_min", 1, 1000);
    out->power_limit_max_mw = attrs_reading(h, "power1_cap_max", 1, 1000);
    if (h->path[0])
        out->fan_count = reading_ok(count_fans(h));

    copy_text(&r->device, "vbios_version", PROPERTY_vbios_version, out);
    copy_text(&r->device, "serial_number", PROPERTY_serial, out);
    copy_text(&r->device, "product_number", PROPERTY_part_number, out);
    gpu_set_property(out, PROPERTY_memory_kind, r->memory->is_apu ? "shared" : "dedicated");
    const char *architecture = gpu_architecture(r->card);
    if (architecture)
        gpu_set_property(out, PROPERTY_architecture, architecture);
}

/* "ue: 0
 * ce: 3
 * ", or a sentence if the block can't be queried. */
static bool parse_errors(struct str text, int64_t *uncorrected, int64_t *corrected)
{
    struct str line, key;
    bool found = false;
    while (str_cut(&text, '\n', &line)) {
        int64_t value;
        if (!str_cut(&line, ':', &key) || !str_to_i64(str_trim(line), &value) || value < 0)
            continue;
        key = str_trim(key);
        if (str_is(key, "ue"))
            *uncorrected += value;
        else if (str_is(key, "ce"))
            *corrected += value;
        else
            continue;
        found = true;
    }
    return found;
}

/* "0x00000012 : 0x00001000 : R": address, size, and R retired, P pending, F failed to retire. */
static void read_bad_pages(struct attrs *ras, struct gpu *out)
{
    AUTO_BUF struct buf text = BUF(1024 * 1024);
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/gpu_vram_bad_pages", ras->path);
    if (file_read_all(ras->env, path, &text) < 0)
        return;
    int64_t retired = 0;
    bool pending = false;
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!str_starts(line, "0x"))
            continue;
        retired += str_ends(line, "R");
        pending = pending || str_ends(line, "P");
    }
    out->retired_pages_dbe = reading_ok(retired);
    out->retired_pages_pending = reading_ok(pending);
}

void amdgpu_read_ras(struct attrs *device, struct gpu *out)
{
    struct attrs ras;
    if (attrs_init(&ras, device->env, "%s/ras", device->path) < 0)
        return;
    AUTO_DIR DIR *dir = dir_open(device->env, ras.path);
    if (!dir)
        return;
    int64_t uncorrected = 0, corrected = 0;
    bool found = false;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char text[512];
        if (!str_ends(str_from(entry->d_name), "_err_count") || strlen(entry->d_name) >= ATTR_NAME_SIZE)
            continue;
        ssize_t len = attrs_text(&ras, entry->d_name, text, sizeof text);
        bool counted = len > 0 && parse_errors((struct str){text, (size_t)len}, &uncorrected, &corrected);
        found = found || counted;
        if (counted && str_starts(str_from(entry->d_name), "umc"))
            out->ecc_enabled = reading_ok(1);
    }
    if (found) {
        out->ecc_uncorrected = reading_ok(uncorrected);
        out->ecc_corrected = reading_ok(corrected);
    }
    read_bad_pages(&ras, out);
}
