/* SPDX-License-Identifier: Apache-2.0
 * Power draw of the host: of the whole from a sensor of the board, power supply or platform; of its CPUs from RAPL.
 *
 *   /sys/class/powercap/intel-rapl:0        name package-0   energy_uj, max_energy_range_uj   (AMD's CPUs, too)
 *   /sys/class/powercap/intel-rapl:0:2      name dram        beside the package; core and uncore are parts of it
 *   /sys/class/powercap/intel-rapl:1        name psys        the whole platform, on laptops
 *   /sys/class/hwmon/hwmonN                 name power_meter (ACPI), corsairpsu
 *
 * Since 2020 only root may read the counters, because they can reveal other users' secrets. They wrap around within minutes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/internal.h"

#define POWERCAP "/sys/class/powercap"
#define HWMON "/sys/class/hwmon"

static bool read_name(const struct env *env, const char *class, const char *entry, char *text, size_t size)
{
    char path[SENSOR_PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/%s/name", class, entry) >= (int)sizeof path)
        return false;
    ssize_t n = file_read_head(env, path, text, size);
    if (n > 0)
        text[str_trim((struct str){text, (size_t)n}).len] = '\0';
    return n > 0;
}

/* False: unreadable now. */
static bool find_zones(struct machine *m)
{
    AUTO_DIR DIR *dir = dir_open(m->window.env, POWERCAP);
    if (!dir)
        return is_gone(-errno);
    for (const struct dirent *e; m->zone_count < ZONES_MAX && (e = readdir(dir));) {
        char name[64];
        if (!str_starts(str_from(e->d_name), "intel-rapl:") || !read_name(m->window.env, POWERCAP, e->d_name, name, sizeof name))
            continue;
        bool platform = strcmp(name, "psys") == 0;
        if (!platform && !str_starts(str_from(name), "package-") && strcmp(name, "dram") != 0)
            continue;
        struct power_zone *z = &m->zones[m->zone_count];
        *z = (struct power_zone){.platform = platform};
        char range[SENSOR_PATH_SIZE + 32];
        if (snprintf(z->path, sizeof z->path, POWERCAP "/%s", e->d_name) >= (int)sizeof z->path)
            continue;
        snprintf(range, sizeof range, "%s/max_energy_range_uj", z->path);
        if (file_read_i64(m->window.env, range, &z->range_uj) < 0)
            z->range_uj = 0;
        m->zone_count++;
    }
    return true;
}

/* A meter for the whole host: ACPI's, or a power supply's. */
static bool find_meter(struct machine *m)
{
    static const char *const names[] = {"power_meter", "corsairpsu"};
    static const char *const files[] = {"power1_average", "power1_input", "device/power1_average"};
    AUTO_DIR DIR *dir = dir_open(m->window.env, HWMON);
    if (!dir)
        return is_gone(-errno);
    for (const struct dirent *e; !m->meter[0] && (e = readdir(dir));) {
        char name[64];
        if (e->d_name[0] == '.' || !read_name(m->window.env, HWMON, e->d_name, name, sizeof name))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            for (size_t k = 0; strcmp(name, names[i]) == 0 && k < ARRAY_LEN(files) && !m->meter[0]; k++)
                if (snprintf(m->meter, sizeof m->meter, HWMON "/%s/%s", e->d_name, files[k]) >= (int)sizeof m->meter ||
                    !file_exists(m->window.env, m->meter))
                    m->meter[0] = '\0';
    }
    return true;
}

/* Mean power of a zone since the last look. */
static struct reading zone_power(const struct machine *m, struct power_zone *z, int64_t elapsed_ms)
{
    char path[SENSOR_PATH_SIZE + 16];
    int64_t now_uj;
    snprintf(path, sizeof path, "%s/energy_uj", z->path);
    int rc = file_read_i64(m->window.env, path, &now_uj);
    if (rc < 0)
        return reading_absent(reading_state_from_errno(rc));
    int64_t used_uj = now_uj - z->last_uj;
    if (used_uj < 0)
        used_uj += z->range_uj;
    bool first = !z->seen;
    z->seen = true;
    z->last_uj = now_uj;
    if (first || elapsed_ms <= 0)
        return reading_absent(READING_PENDING);
    return used_uj < 0 ? reading_absent(READING_FAILED) : reading_ok(used_uj / elapsed_ms); /* uJ per ms is mW */
}

static void machine_power_add(struct reading *sum, struct reading part)
{
    if (sum->state == READING_UNSUPPORTED)
        *sum = part;
    else if (sum->state == READING_OK)
        *sum = part.state == READING_OK ? reading_ok(sum->value + part.value) : part; /* a partial sum is no sum */
}

void machine_read_power(struct machine *m, struct host *out, int64_t elapsed_ms)
{
    if (m->zone_count < 0) {
        m->zone_count = 0;
        if (!find_zones(m) || !find_meter(m)) {
            m->zone_count = -1; /* search again */
            out->power_mw = out->cpu_power_mw = reading_absent(READING_FAILED);
            return;
        }
    }
    out->power_mw = out->cpu_power_mw = reading_absent(READING_UNSUPPORTED);
    for (int i = 0; i < m->zone_count; i++)
        machine_power_add(m->zones[i].platform ? &out->power_mw : &out->cpu_power_mw, zone_power(m, &m->zones[i], elapsed_ms));
    int64_t uw;
    int rc = m->meter[0] ? file_read_i64(m->window.env, m->meter, &uw) : -ENOENT;
    if (rc == 0)
        out->power_mw = reading_ok(uw / 1000);
    else if (m->meter[0] && out->power_mw.state != READING_OK)
        out->power_mw = reading_absent(reading_state_from_errno(rc));
}

/* ---- Ambient temperature: sensors labeled as such (a server's intake, a workstation's ambient), or a thermometer on a wire. */

enum { AIR_INPUTS = 16, AIR_LEAST_MDEGC = -20000, AIR_MAX_MDEGC = 60000 };

static bool says_air(struct str text)
{
    static const char *const words[] = {"ambient", "inlet", "intake"};
    char label[64];
    str_copy(label, sizeof label, text);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(label, words[i]))
            return true;
    return false;
}

static bool text_of(const struct env *env, const char *path, char *text, size_t size, struct str *ret)
{
    ssize_t len = file_read_head(env, path, text, size);
    *ret = str_trim((struct str){text, len > 0 ? (size_t)len : 0});
    return ret->len > 0;
}

static void find_air(struct machine *m)
{
    AUTO_DIR DIR *dir = dir_open(m->window.env, "/sys/class/hwmon");
    int error = errno;
    m->air[0] = '\0';
    for (struct dirent *entry; dir && (entry = readdir(dir)) && !m->air[0];) {
        char path[PATH_SIZE], text[64];
        struct str said;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/sys/class/hwmon/%s/name", entry->d_name);
        bool wire = text_of(m->window.env, path, text, sizeof text, &said) && str_is(said, "w1_slave_temp");
        for (int i = 1; i <= AIR_INPUTS && !m->air[0]; i++) {
            snprintf(path, sizeof path, "/sys/class/hwmon/%s/temp%d_label", entry->d_name, i);
            if (!(wire && i == 1) && (!text_of(m->window.env, path, text, sizeof text, &said) || !says_air(said)))
                continue;
            snprintf(path, sizeof path, "/sys/class/hwmon/%s/temp%d_input", entry->d_name, i);
            if (strlen(path) < sizeof m->air && file_exists(m->window.env, path))
                str_copy(m->air, sizeof m->air, str_from(path));
        }
    }
    m->air_known = dir || is_gone(-error);
}

void machine_read_air(struct machine *m, struct host *out)
{
    int64_t mdegc;
    if (!m->air_known)
        find_air(m);
    out->ambient_temp_mdegc = reading_absent(m->air[0] ? READING_FAILED : READING_UNSUPPORTED);
    if (m->air[0] && file_read_i64(m->window.env, m->air, &mdegc) == 0 && mdegc > AIR_LEAST_MDEGC && mdegc < AIR_MAX_MDEGC)
        out->ambient_temp_mdegc = reading_ok(mdegc);
}
