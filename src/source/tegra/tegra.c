/* SPDX-License-Identifier: Apache-2.0
 * The tegra source: the GPU of a Jetson without NVML, from files as found from JetPack 4 to 7 (docs/jetson.md). If NVML lists it,
 * the nvml source adds what only these files have.
 */
#include "source/tegra/tegra.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/source.h"
#include "source/sysfs/sensors.h"
#include "source/sysfs/sysfs_card.h"

enum { HWMONS_MAX = 32, RAILS_MAX = 8, PWM_MAX = 255 };

/* Rails that feed the GPU. VDD_GPU_SOC also feeds the rest of the chip's logic; rails shared with the CPU are omitted. */
static const char *const gpu_rails[] = {"VDD_GPU", "VDD_SYS_GPU", "GPU", "VDD_GPU_SOC", "POM_5V_GPU"};

bool tegra_find(const struct env *env, struct attrs *devfreq)
{
    static const char *const chips[] = {"gpu", "gp10b", "gv11b", "ga10b"};
    AUTO_DIR DIR *all = dir_open(env, "/sys/class/devfreq");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char path[PATH_SIZE], target[PATH_SIZE];
        const char *chip = strrchr(entry->d_name, '.');
        bool named = false;
        for (size_t i = 0; chip && i < ARRAY_LEN(chips); i++)
            named |= strcmp(chip + 1, chips[i]) == 0;
        if (!named || strlen(entry->d_name) > 64)
            continue;
        /* Other vendors' GPUs are called "ADDRESS.gpu", too: check the driver. */
        snprintf(path, sizeof path, "/sys/class/devfreq/%s/device/driver", entry->d_name);
        const char *last = file_read_link(env, path, target, sizeof target) > 0 ? strrchr(target, '/') : NULL;
        if (last && (strcmp(last + 1, "gk20a") == 0 || strcmp(last + 1, "nvgpu") == 0 || strcmp(last + 1, "gpu") == 0))
            return attrs_init(devfreq, env, "/sys/class/devfreq/%s", entry->d_name) == 0;
    }
    return false;
}

/* Asleep: power-gated, and its load would be meaningless. */
static bool tegra_is_asleep(struct attrs *devfreq)
{
    char text[32];
    return attrs_text(devfreq, "device/power/runtime_status", text, sizeof text) > 0 && strcmp(text, "suspended") == 0;
}

static void fill(struct reading *to, struct reading from)
{
    if (to->state != READING_OK)
        *to = from;
}

/* ---- power ---- */

static bool is_gpu_rail(const char *name)
{
    return NAME_IN(gpu_rails, str_from(name));
}

/* Voltage and current monitors have no power file. */
static struct reading rail_power(struct attrs *hwmon, int channel)
{
    int64_t mv, ma;
    char name[32];
    snprintf(name, sizeof name, "in%d_input", channel);
    int rc = attrs_number(hwmon, name, &mv);
    snprintf(name, sizeof name, "curr%d_input", channel);
    if (rc == 0)
        rc = attrs_number(hwmon, name, &ma);
    if (rc < 0 || mv < 0 || ma < 0 || mv > 60000 || ma > 1000000)
        return reading_absent(rc < 0 ? attrs_state(rc) : READING_UNSUPPORTED); /* the current of an idle rail can be negative */
    return reading_ok(mv * ma / 1000);
}

static struct reading hwmon_power(struct attrs *hwmon)
{
    for (int i = 1; i <= RAILS_MAX; i++) {
        char name[32], label[GPU_TEXT_SIZE];
        snprintf(name, sizeof name, "in%d_label", i);
        if (attrs_text(hwmon, name, label, sizeof label) > 0 && is_gpu_rail(label))
            return rail_power(hwmon, i);
    }
    return reading_absent(READING_UNSUPPORTED);
}

/* JetPack 4 has the same monitors in the iio class, with power in mW. */
static struct reading iio_power(const struct env *env)
{
    for (int device = 0; device < RAILS_MAX; device++) {
        struct attrs iio;
        char name[32], label[GPU_TEXT_SIZE];
        if (attrs_init(&iio, env, "/sys/bus/iio/devices/iio:device%d", device) < 0)
            continue;
        for (int i = 0; i < RAILS_MAX; i++) {
            snprintf(name, sizeof name, "rail_name_%d", i);
            if (attrs_text(&iio, name, label, sizeof label) <= 0 || !is_gpu_rail(label))
                continue;
            snprintf(name, sizeof name, "in_power%d_input", i);
            return attrs_reading(&iio, name, 1, 1);
        }
    }
    return reading_absent(READING_UNSUPPORTED);
}

/* ---- board sensors: power and fan ---- */

static void read_fan_of(struct attrs *hwmon, const char *driver, struct gpu *out)
{
    if (strcmp(driver, "pwmfan") == 0)
        fill(&out->fan_permille, attrs_reading(hwmon, "pwm1", 1000, PWM_MAX));
    if (strcmp(driver, "pwm_tach") == 0 || strcmp(driver, "pwmfan") == 0 || strcmp(driver, "tachometer") == 0) {
        static const char *const names[] = {"fan1_input", "rpm"};
        fill(&out->fan_rpm, attrs_first(hwmon, names, ARRAY_LEN(names), 1, 1));
    }
}

static void read_board(const struct env *env, struct gpu *out)
{
    for (int i = 0; i < HWMONS_MAX; i++) {
        struct attrs hwmon;
        char driver[GPU_TEXT_SIZE];
        if (attrs_init(&hwmon, env, "/sys/class/hwmon/hwmon%d", i) < 0 || attrs_text(&hwmon, "name", driver, sizeof driver) <= 0)
            continue;
        if (strcmp(driver, "ina3221") == 0)
            fill(&out->power_mw, hwmon_power(&hwmon));
        read_fan_of(&hwmon, driver, out);
    }
    fill(&out->power_mw, iio_power(env));
    struct attrs old;
    if (attrs_init(&old, env, "/sys/devices/pwm-fan") == 0) {
        fill(&out->fan_permille, attrs_reading(&old, "target_pwm", 1000, PWM_MAX));
        fill(&out->fan_rpm, attrs_reading(&old, "rpm_measured", 1, 1));
    }
}

static void read_heat(const struct env *env, struct gpu *out)
{
    static const char *const chip[] = {"gpu-thermal", "GPU-therm"}, *const hottest[] = {"tj-thermal"};
    char basis[GPU_TEXT_SIZE] = "";
    if (out->temp_mdegc.state != READING_OK) {
        out->temp_mdegc = thermal_zone_read(env, chip, ARRAY_LEN(chip), basis);
        gpu_set_property(out, PROPERTY_temperature_basis, basis);
    }
    fill(&out->temp_hotspot_mdegc, thermal_zone_read(env, hottest, ARRAY_LEN(hottest), basis));
}

/* ---- processes ---- */

bool tegra_client_parse(struct str line, int32_t *ret_pid, int64_t *ret_bytes)
{
    struct str who, name, pid, size;
    int64_t number, kib;
    if (!str_word(&line, &who) || !str_is(who, "user") || !str_word(&line, &name) || !str_word(&line, &pid) ||
        !str_word(&line, &size) || size.len < 2 || size.at[size.len - 1] != 'K')
        return false;
    size.len--;
    if (!str_to_i64(pid, &number) || number <= 0 || number > INT32_MAX || !str_to_i64(size, &kib) || kib < 0 ||
        kib > INT64_MAX / 1024)
        return false;
    *ret_pid = (int32_t)number;
    *ret_bytes = kib * 1024;
    return true;
}

/* Only root may read it. */
static void read_processes(const struct env *env, struct gpu *out)
{
    AUTO_BUF struct buf text = BUF(1 << 20);
    int rc = file_read_all(env, "/sys/kernel/debug/nvmap/iovmm/maps", &text);
    if (rc < 0) {
        out->processes_state = rc == -EACCES || rc == -EPERM ? READING_DENIED : READING_UNSUPPORTED;
        return;
    }
    struct str rest = buf_view(&text), line;
    int32_t pid;
    int64_t bytes;
    while (str_cut(&rest, '\n', &line)) {
        if (!tegra_client_parse(line, &pid, &bytes))
            continue;
        struct process *p = gpu_find_process(out, pid);
        p = p ? p : gpu_add_process(out, pid);
        if (!p)
            break;
        p->type = PROCESS_COMPUTE;
        p->mem_bytes = reading_ok(MAX_OF(reading_or(p->mem_bytes, 0), bytes));
    }
    out->processes_state = READING_OK;
}

/* ---- identity ---- */

/* "NVIDIA Jetson AGX Orin Developer Kit"; "" unknown. */
static void tegra_board(const struct env *env, char name[GPU_NAME_SIZE])
{
    char text[GPU_NAME_SIZE];
    ssize_t len = file_read_head(env, "/proc/device-tree/model", text, sizeof text);
    str_copy_clean(name, GPU_NAME_SIZE, len > 0 ? str_trim(str_from(text)) : STR("")); /* ends with a NUL */
}

bool tegra_release_parse(struct str text, char out[GPU_TEXT_SIZE])
{
    struct str word, revision = {0}, release = {0};
    for (bool next = false; str_word(&text, &word);) {
        if (word.len > 1 && word.at[0] == 'R' && word.at[1] >= '0' && word.at[1] <= '9' && !release.len)
            release = (struct str){word.at + 1, word.len - 1};
        else if (next && !revision.len)
            revision = word;
        next = str_is(word, "REVISION:");
    }
    if (revision.len && revision.at[revision.len - 1] == ',')
        revision.len--;
    if (!release.len || !revision.len || release.len + revision.len > 24)
        return false;
    snprintf(out, GPU_TEXT_SIZE, "L4T " STR_FMT "." STR_FMT, STR_ARG(release), STR_ARG(revision));
    return true;
}

static void read_what(const struct env *env, struct gpu *out)
{
    char text[256], version[GPU_TEXT_SIZE];
    ssize_t len = file_read_head(env, "/etc/nv_tegra_release", text, sizeof text);
    gpu_set_property(out, PROPERTY_memory_kind, "shared");
    if (out->driver.state != READING_OK)
        gpu_set_property(out, PROPERTY_driver, "nvgpu");
    if (out->driver_version.state != READING_OK && len > 0 && tegra_release_parse((struct str){text, (size_t)len}, version))
        gpu_set_property(out, PROPERTY_driver_version, version);
}

void tegra_fill(const struct env *env, struct attrs *devfreq, unsigned groups, struct gpu *out)
{
    struct gpu clocks = {0};
    if (devfreq) {
        devfreq_read(devfreq, groups, &clocks);
        fill(&out->clock_graphics_khz, clocks.clock_graphics_khz);
        fill(&out->clock_graphics_max_khz, clocks.clock_graphics_max_khz);
    }
    if (groups & GROUP_FAST) {
        if (devfreq && out->util_permille.state != READING_OK) {
            out->util_permille = attrs_reading(devfreq, "device/load", 1, 1); /* tenths of a percent */
            gpu_set_property(out, PROPERTY_utilization_basis, "load of nvgpu");
        }
        read_heat(env, out);
        read_board(env, out);
        if (out->mem_total_bytes.state != READING_OK)
            shared_memory_fill(env, &(struct shared_memory){.used_by_host = true}, out);
    }
    if ((groups & GROUP_PROCESS) && out->processes_state != READING_OK)
        read_processes(env, out);
    if (groups & GROUP_STATIC)
        read_what(env, out);
}

/* ---- the source ---- */

struct tegra {
    struct source source;
    const struct env *env;
    bool unnamed; /* the board's name was unreadable when listed */
};

static int tegra_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    struct attrs devfreq;
    int wrong = source_check(&tegra_source, params, err);
    if (wrong < 0)
        return wrong;
    if (!tegra_find(env, &devfreq))
        return error_set(err, -ENODEV, "no GPU of a Tegra chip in /sys/class/devfreq");
    struct tegra *s = malloc(sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    *s = (struct tegra){.source.ops = &tegra_source, .env = env};
    *ret = &s->source;
    return 0;
}

static void tegra_close(struct source *source)
{
    free(source);
}

static int tegra_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct tegra *s = (struct tegra *)source;
    if (max == 0)
        return 0;
    ids[0] = (struct gpu_id){.vendor = "nvidia"};
    tegra_board(s->env, ids[0].name);
    s->unnamed = !ids[0].name[0];
    if (s->unnamed)
        str_copy(ids[0].name, sizeof ids[0].name, STR("NVIDIA Tegra"));
    return 1;
}

static bool tegra_changed(struct source *source)
{
    struct tegra *s = (struct tegra *)source;
    char name[GPU_NAME_SIZE] = "";
    if (s->unnamed)
        tegra_board(s->env, name);
    return name[0] != '\0';
}

static void tegra_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    (void)gpu;
    struct tegra *s = (struct tegra *)source;
    struct attrs devfreq;
    if (!tegra_find(s->env, &devfreq))
        gpu_mark_state(out, GPU_LOST, "the GPU's driver was unloaded");
    else if (tegra_is_asleep(&devfreq))
        gpu_mark_state(out, GPU_ASLEEP, NULL);
    else
        tegra_fill(s->env, &devfreq, groups, out);
}

static void tegra_describe(struct source *source, struct buf *out)
{
    struct attrs devfreq;
    if (tegra_find(((struct tegra *)source)->env, &devfreq))
        buf_printf(out, "clocks and load in %s\n", devfreq.path);
}

const struct source_ops tegra_source = {
    .name = "tegra",
    .what = "the GPU of a Jetson through the kernel's files, where NVML cannot be used",
    .instead_of = "nvml",
    .automatic = true,
    .reads_files = true,
    .open = tegra_open,
    .list = tegra_list,
    .sample = tegra_sample,
    .changed = tegra_changed,
    .describe = tegra_describe,
    .close = tegra_close,
};
