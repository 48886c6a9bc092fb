/* SPDX-License-Identifier: Apache-2.0
 * CPU time between two reads of /proc/stat, the busiest core, and the temperature.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/internal.h"

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

void machine_read_cpu(struct machine *m, struct host *out, bool new_window)
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
void machine_read_temperature(struct machine *m, struct host *out)
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
