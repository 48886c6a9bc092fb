/* SPDX-License-Identifier: Apache-2.0
 * One sample of the host from procfs and sysfs below the sysroot: memory, load, pressure, CPU; other parts are in files of their
 * own. Keeps the last rates while the interval is too short for new ones.
 */
#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "host/linux/internal.h"

/* ---- memory, load, pressure: one look is enough ---- */

void machine_read_memory(const struct env *env, struct host *out)
{
    char text[8192];
    ssize_t len = file_read_head(env, "/proc/meminfo", text, sizeof text);
    enum { TOTAL, AVAILABLE, FREE, BUFFERS, CACHED, SWAP_TOTAL, SWAP_FREE, LINES };
    static const char *const names[LINES] = {
        "MemTotal:", "MemAvailable:", "MemFree:", "Buffers:", "Cached:", "SwapTotal:", "SwapFree:"};
    struct reading lines[LINES];
    for (size_t i = 0; i < LINES; i++)
        lines[i] = reading_absent(len < 0 ? reading_state_from_errno((int)len) : READING_UNSUPPORTED);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, line, name, number;
    while (str_cut(&rest, '\n', &line)) {
        int64_t kib;
        if (!str_word(&line, &name) || !str_word(&line, &number) || !str_to_i64(number, &kib) || kib < 0 || kib > INT64_MAX / 1024)
            continue;
        size_t which = NAME_FIND(names, name);
        if (which < LINES)
            lines[which] = reading_ok(kib * 1024);
    }
    /* Kernels before 3.14 don't estimate available memory. */
    if (lines[AVAILABLE].state != READING_OK && lines[FREE].state == READING_OK)
        lines[AVAILABLE] = reading_ok(lines[FREE].value + reading_or(lines[BUFFERS], 0) + reading_or(lines[CACHED], 0));
    out->mem_total_bytes = lines[TOTAL];
    out->mem_used_permille = lines[TOTAL].state == READING_OK ? lines[AVAILABLE] : lines[TOTAL];
    if (out->mem_used_permille.state == READING_OK && lines[TOTAL].value > 0) {
        double used = (double)MAX_OF(lines[TOTAL].value - lines[AVAILABLE].value, 0);
        out->mem_used_permille = reading_ok((int64_t)(used * 1000.0 / (double)lines[TOTAL].value + 0.5));
    }
    out->mem_available_bytes = lines[AVAILABLE];
    out->swap_total_bytes = lines[SWAP_TOTAL];
    out->swap_used_bytes = lines[SWAP_FREE];
    if (lines[SWAP_TOTAL].state == READING_OK && lines[SWAP_FREE].state == READING_OK)
        out->swap_used_bytes = reading_ok(MAX_OF(lines[SWAP_TOTAL].value - lines[SWAP_FREE].value, 0));
}

static void read_load(const struct env *env, struct host *out)
{
    char text[128];
    ssize_t len = file_read_head(env, "/proc/loadavg", text, sizeof text);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, word;
    int64_t milli;
    if (len > 0 && str_word(&rest, &word) && str_to_scaled(word, 1000, &milli))
        out->load1_milli = reading_ok(milli);
    else
        out->load1_milli = reading_absent(len < 0 ? reading_state_from_errno((int)len) : READING_FAILED);
}

/* "some avg10=1.23 avg60=0.50 avg300=0.10 total=1234": the first average of a line. */
static struct reading average_of(struct str text, const char *kind)
{
    struct str line, word;
    while (str_cut(&text, '\n', &line)) {
        int64_t permille;
        if (!str_word(&line, &word) || !str_is(word, kind))
            continue;
        if (str_word(&line, &word) && str_starts(word, "avg10=") &&
            str_to_scaled((struct str){word.at + 6, word.len - 6}, 10, &permille) && permille >= 0)
            return reading_ok(MIN_OF(permille, (int64_t)1000));
        return reading_absent(READING_FAILED);
    }
    return reading_absent(READING_UNSUPPORTED);
}

static void read_pressure(const struct env *env, struct host *out)
{
    const struct {
        const char *path;
        struct reading *some, *full;
    } files[] = {
        {"/proc/pressure/cpu", &out->cpu_pressure_permille, NULL},
        {"/proc/pressure/memory", &out->mem_pressure_permille, &out->mem_stall_permille},
        {"/proc/pressure/io", &out->io_pressure_permille, &out->io_stall_permille},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char text[512];
        ssize_t len = file_read_head(env, files[i].path, text, sizeof text);
        struct str view = {text, len > 0 ? (size_t)len : 0};
        struct reading failed = reading_absent(reading_state_from_errno((int)MIN_OF(len, (ssize_t)0)));
        *files[i].some = len < 0 ? failed : average_of(view, "some");
        if (files[i].full)
            *files[i].full = len < 0 ? failed : average_of(view, "full");
    }
}

/* ---- CPU time between two reads of /proc/stat, the busiest core, and the temperature ---- */

enum { TEXT_MAX = 1 << 20 };

/* "0-3,8" -> 5 */
static int64_t count_ranges(struct str text)
{
    struct str range;
    int64_t count = 0;
    text = str_trim(text);
    while (str_cut(&text, ',', &range)) {
        struct str first;
        int64_t from, to;
        if (!str_cut(&range, '-', &first) || !str_to_i64(first, &from))
            return 0;
        to = from;
        if (range.len && !str_to_i64(range, &to))
            return 0;
        if (from < 0 || to < from || to > 1 << 20)
            return 0;
        count += to - from + 1;
    }
    return count;
}

static struct reading count_cores(const struct env *env, struct str stat)
{
    char text[1024];
    ssize_t len = file_read(env, "/sys/devices/system/cpu/online", text, sizeof text);
    int64_t count = len > 0 ? count_ranges((struct str){text, (size_t)len}) : 0;
    struct str line;
    while (count == 0 && str_cut(&stat, '\n', &line))
        if (str_starts(line, "cpu") && line.len > 3 && line.at[3] >= '0' && line.at[3] <= '9') {
            for (count = 1; str_cut(&stat, '\n', &line) && str_starts(line, "cpu");)
                count++;
        }
    return count ? reading_ok(count) : reading_absent(READING_FAILED);
}

/* "user nice system idle iowait irq softirq steal guest guest_nice": user and nice include guests. */
static bool parse_times(struct str columns, struct cpu_time *ret)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7, COLUMNS = 8 };
    struct str word;
    uint64_t values[COLUMNS] = {0}, sum = 0;
    int column = 0;
    for (; column < COLUMNS && str_word(&columns, &word); column++) {
        if (!str_to_u64(word, &values[column]))
            return false;
        sum += values[column];
    }
    *ret = (struct cpu_time){sum, sum - values[IDLE] - values[IOWAIT], values[IOWAIT], values[STEAL]};
    return column > IDLE;
}

/* iowait may decrease, and a core that was offline restarts at zero. */
static void set_share(struct reading *out, uint64_t before, uint64_t now, uint64_t elapsed)
{
    int64_t permille;
    if (machine_share(before, now, elapsed, &permille))
        *out = reading_ok(permille);
}

static void read_all(struct machine *m, const struct cpu_time *now, struct host *out)
{
    struct reading *const readings[] = {&out->cpu_permille, &out->cpu_iowait_permille, &out->cpu_steal_permille};
    if (!m->window.measured || !m->cpu.total) {
        for (size_t i = 0; i < ARRAY_LEN(readings); i++)
            *readings[i] = reading_absent(READING_PENDING);
    } else if (now->total > m->cpu.total) {
        uint64_t elapsed = now->total - m->cpu.total;
        set_share(&out->cpu_permille, m->cpu.busy, now->busy, elapsed);
        set_share(&out->cpu_iowait_permille, m->cpu.iowait, now->iowait, elapsed);
        set_share(&out->cpu_steal_permille, m->cpu.steal, now->steal, elapsed);
    }
    m->cpu = *now;
}

/* The lines "cpu0 ...", "cpu3 ..." of online cores. */
static void read_cores(struct machine *m, struct str stat, struct host *out)
{
    struct str line, word;
    int64_t most = -1;
    bool any = false, before = false;
    while (str_cut(&stat, '\n', &line) && str_starts(line, "cpu")) {
        struct cpu_time now;
        int64_t number, permille;
        if (!str_word(&line, &word) || !str_to_i64((struct str){word.at + 3, word.len - 3}, &number) || number < 0 ||
            number >= CORES_MAX || !parse_times(line, &now))
            continue;
        struct cpu_time *was = &m->cores[number];
        any = true;
        before = before || was->total;
        if (was->total && now.total > was->total && machine_share(was->busy, now.busy, now.total - was->total, &permille))
            most = MAX_OF(most, permille);
        *was = now;
    }
    /* The kernel rounds each line: over a short time, the total may be a tick ahead of every core. */
    if (most >= 0)
        out->cpu_core_max_permille = reading_ok(MAX_OF(most, reading_or(out->cpu_permille, 0)));
    else if (!before)
        out->cpu_core_max_permille = reading_absent(any ? READING_PENDING : READING_UNSUPPORTED);
}

static void read_cpu(struct machine *m, struct host *out, bool new_window)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    int rc = file_read_all(m->window.env, "/proc/stat", &text);
    struct cpu_time now;
    struct str rest = buf_view(&text), line, word;
    if (rc < 0 || !str_cut(&rest, '\n', &line) || !str_word(&line, &word) || !str_is(word, "cpu") || !parse_times(line, &now)) {
        struct reading failed = reading_absent(rc < 0 ? reading_state_from_errno(rc) : READING_FAILED);
        out->cpu_permille = out->cpu_core_max_permille = out->cpu_iowait_permille = out->cpu_steal_permille = failed;
        out->cpu_count = failed;
        return;
    }
    out->cpu_count = count_cores(m->window.env, buf_view(&text));
    out->cpu_permille = m->window.last.cpu_permille;
    out->cpu_core_max_permille = m->window.last.cpu_core_max_permille;
    out->cpu_iowait_permille = m->window.last.cpu_iowait_permille;
    out->cpu_steal_permille = m->window.last.cpu_steal_permille;
    if (!new_window)
        return;
    read_all(m, &now, out);
    read_cores(m, rest, out);
}

/* --- Temperature -------------------------------------------------------------------------------------------------------------- */

static bool is_cpu_sensor(struct str name)
{
    static const char *const chips[] = {"coretemp", "k10temp", "zenpower", "k8temp", "via_cputemp", "cpu_thermal"};
    return NAME_IN(chips, name);
}

static bool is_cpu_zone(struct str type)
{
    return str_is(type, "x86_pkg_temp") || str_starts(type, "cpu");
}

/* Finds directories of a class whose `name` file names a CPU sensor. False: unreadable now. */
static bool find_in(struct machine *m, const char *class, const char *name, const char *number, bool (*wanted)(struct str))
{
    AUTO_DIR DIR *dir = dir_open(m->window.env, class);
    if (!dir)
        return is_gone(-errno);
    for (struct dirent *entry; (entry = readdir(dir)) && m->sensor_count < SENSORS_MAX;) {
        char path[SENSOR_PATH_SIZE], text[64];
        if (entry->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s/%s", class, entry->d_name, name) >= (int)sizeof path)
            continue;
        ssize_t len = file_read_head(m->window.env, path, text, sizeof text);
        if (len <= 0 || !wanted(str_trim((struct str){text, (size_t)len})))
            continue;
        char *to = m->sensors[m->sensor_count];
        if (snprintf(to, SENSOR_PATH_SIZE, "%s/%s/%s", class, entry->d_name, number) < SENSOR_PATH_SIZE &&
            file_exists(m->window.env, to))
            m->sensor_count++;
    }
    return true;
}

/* temp1 is the package with coretemp and Tctl with k10temp. Without a chip driver, as on many ARM boards, use the thermal zones. */
static void read_temperature(struct machine *m, struct host *out)
{
    if (m->sensor_count < 0) {
        m->sensor_count = 0;
        bool looked = find_in(m, "/sys/class/hwmon", "name", "temp1_input", is_cpu_sensor);
        if (looked && !m->sensor_count)
            looked = find_in(m, "/sys/class/thermal", "type", "temp", is_cpu_zone);
        if (!looked) {
            m->sensor_count = -1; /* search again */
            out->cpu_temp_mdegc = reading_absent(READING_FAILED);
            return;
        }
    }
    out->cpu_temp_mdegc = reading_absent(m->sensor_count ? READING_FAILED : READING_UNSUPPORTED);
    for (int i = 0; i < m->sensor_count; i++) {
        int64_t mdegc;
        if (file_read_i64(m->window.env, m->sensors[i], &mdegc) == 0 && mdegc > -100000 && mdegc < 200000 &&
            (out->cpu_temp_mdegc.state != READING_OK || mdegc > out->cpu_temp_mdegc.value))
            out->cpu_temp_mdegc = reading_ok(mdegc);
    }
}

/* ---- the sample ---- */

enum {
    RARE_MS = 30000, /* changed by people or cables */
    SLOW_MS = 4000,  /* ten-second averages and temperatures change slowly, and the kernel asks every core for them */
};

struct machine *machine_new(const struct env *env)
{
    struct machine *m = calloc(1, sizeof *m);
    if (m) {
        machine_window_init(&m->window, env);
        m->sensor_count = -1;
        m->zone_count = -1;
    }
    return m;
}

/* The kernel returns the name of the host that runs this: below a sysroot (a recording, a host mounted into a container) read
 * its own file first, and name a host without one after the directory. */
static void read_name(const struct env *env, struct host *out)
{
    static const char *const files[] = {"/proc/sys/kernel/hostname", "/etc/hostname"};
    char text[256];
    ssize_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(files) && len <= 0; i++)
        len = file_read_head(env, files[env_is_recorded(env) ? 1 - i : i], text, sizeof text);
    struct str name = len > 0 ? str_trim((struct str){text, (size_t)len}) : (struct str){0};
    if (!name.len && env_is_recorded(env)) {
        struct str rest = str_from(env->sysroot), part;
        while (str_cut(&rest, '/', &part))
            if (part.len && !str_is(part, "."))
                name = part;
    }
    if (!env_is_recorded(env) && env_given_host_name()[0])
        name = str_from(env_given_host_name());
    else if (!env_is_recorded(env) && env->node_name && env->node_name[0])
        name = str_from(env->node_name); /* a pod's own name changes with each pod */
    if (name.len)
        str_copy_clean(out->name, sizeof out->name, name);
    else if (gethostname(out->name, sizeof out->name) == 0)
        out->name[sizeof out->name - 1] = '\0';
}

/* What runs below all programs: a change of either comes with a restart. */
static void read_versions(const struct env *env, struct host *out)
{
    const struct {
        const char *path;
        char *to;
    } files[] = {{"/proc/sys/kernel/osrelease", out->kernel}, {"/sys/class/dmi/id/bios_version", out->bios}};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char text[128];
        ssize_t len = file_read_head(env, files[i].path, text, sizeof text);
        if (len > 0)
            str_copy_clean(files[i].to, HOST_VERSION_SIZE, str_trim((struct str){text, (size_t)len}));
    }
}

static void keep_flow(const struct machine *m, struct host *out)
{
    static const enum host_metric flow[] = {
        HOST_METRIC_net_rx_bytes_per_s,     HOST_METRIC_net_tx_bytes_per_s, HOST_METRIC_disk_read_bytes_per_s,
        HOST_METRIC_disk_write_bytes_per_s, HOST_METRIC_disk_busy_permille, HOST_METRIC_swap_in_pages_per_s,
        HOST_METRIC_swap_out_pages_per_s,   HOST_METRIC_power_mw,           HOST_METRIC_cpu_power_mw,
    };
    machine_window_keep(&m->window, out, flow, ARRAY_LEN(flow));
}

static void read_slow(struct machine *m, struct host *out, struct mono now)
{
    static const enum host_metric slow[] = {
        HOST_METRIC_cpu_temp_mdegc,     HOST_METRIC_cpu_pressure_permille, HOST_METRIC_mem_pressure_permille,
        HOST_METRIC_mem_stall_permille, HOST_METRIC_io_pressure_permille,  HOST_METRIC_io_stall_permille,
        HOST_METRIC_ambient_temp_mdegc,
    };
    if (m->window.measured && mono_since_ms(now, m->slow_at) < SLOW_MS) {
        machine_window_keep(&m->window, out, slow, ARRAY_LEN(slow));
        memcpy(out->name, m->window.last.name, sizeof out->name);
        memcpy(out->kernel, m->window.last.kernel, sizeof out->kernel);
        memcpy(out->bios, m->window.last.bios, sizeof out->bios);
        return;
    }
    read_name(m->window.env, out);
    read_versions(m->window.env, out);
    read_temperature(m, out);
    machine_read_air(m, out);
    read_pressure(m->window.env, out);
    m->slow_at = now;
}

static void read_rare(struct machine *m, struct host *out, struct mono now)
{
    static const enum host_metric node[] = {
        HOST_METRIC_on_battery,         HOST_METRIC_cpu_clocks_low,       HOST_METRIC_ib_ports_up,
        HOST_METRIC_ib_ports_lost,      HOST_METRIC_ib_ports_slow,        HOST_METRIC_ib_flaps,
        HOST_METRIC_rdma_retries_per_s, HOST_METRIC_rdma_congested_per_s, HOST_METRIC_rdma_disordered_per_s};
    if (m->node_at.ns && mono_since_ms(now, m->node_at) < RARE_MS) {
        machine_window_keep(&m->window, out, node, ARRAY_LEN(node));
        return;
    }
    machine_read_node(m, m->node_at.ns ? mono_since_ms(now, m->node_at) : 0, out);
    m->node_at = now;
}

void machine_sample(struct machine *m, struct host *out)
{
    *out = (struct host){0};
    struct mono now = clock_mono(m->window.env->clock);
    int64_t elapsed_ms = mono_since_ms(now, m->window.at);
    bool new_window = machine_window_left_ms(&m->window, now) == 0;
    read_cpu(m, out, new_window);
    machine_read_memory(m->window.env, out);
    read_load(m->window.env, out);
    read_slow(m, out, now);
    read_rare(m, out, now);
    machine_count_ports(m, out);
    if (new_window) {
        machine_read_flow(m, out, elapsed_ms);
        machine_read_power(m, out, m->window.measured ? elapsed_ms : 0);
        m->window.at = now;
        m->window.measured = true;
    } else {
        keep_flow(m, out);
    }
    m->window.last = *out;
    m->window.last_at = now;
}
