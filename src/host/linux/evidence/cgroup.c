/* SPDX-License-Identifier: Apache-2.0
 * The control group of a process, v1, v2 or both: its CPU quota, how long it was throttled, and its pressure. A quota may belong
 * to the group or any ancestor (a pod's): the tightest counts.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/evidence/internal.h"

enum {
    LEARN_AGAIN_MS = 20 * 1000, /* a quota may change while a container runs */
    LEVELS_MAX = 16,
    RATE_LEAST_MS = 400, /* the kernel accumulates pressure and throttling in steps of milliseconds */
};

/* ---- texts ---- */

bool cgroup_path(struct str cgroup, const char *controller, struct str *ret)
{
    struct str line, number, controllers, one;
    while (str_cut(&cgroup, '\n', &line)) {
        const char *first = memchr(line.at, ':', line.len);
        const char *second = first ? memchr(first + 1, ':', line.len - (size_t)(first + 1 - line.at)) : NULL;
        if (!second)
            continue;
        number = (struct str){line.at, (size_t)(first - line.at)};
        controllers = (struct str){first + 1, (size_t)(second - first) - 1};
        struct str path = {second + 1, line.len - (size_t)(second + 1 - line.at)};
        if (!controller && str_is(number, "0") && controllers.len == 0)
            return *ret = path, true;
        while (controller && str_cut(&controllers, ',', &one))
            if (str_is(one, controller))
                return *ret = path, true;
    }
    return false;
}

/* "31 23 0:28 ROOT POINT options ... - TYPE SOURCE SUPER_OPTIONS" */
struct mount_line {
    struct str root, point, type, options;
};

static bool mount_line_parse(struct str line, struct mount_line *ret)
{
    enum { ROOT = 3, POINT = 4 };
    struct str word;
    *ret = (struct mount_line){0};
    for (int column = 0; str_word(&line, &word); column++) {
        if (column == ROOT)
            ret->root = word;
        else if (column == POINT)
            ret->point = word;
        else if (column > POINT && str_is(word, "-"))
            return str_word(&line, &ret->type) && str_word(&line, &word) && (str_word(&line, &ret->options) || true);
    }
    return false;
}

static bool has_option(struct str options, const char *wanted)
{
    struct str one;
    while (str_cut(&options, ',', &one))
        if (str_is(one, wanted))
            return true;
    return false;
}

/* `path` relative to `root`; false: not below it. */
static bool path_below(struct str path, struct str root, struct str *ret)
{
    if (str_is(root, "/")) {
        *ret = str_is(path, "/") ? (struct str){"", 0} : path;
        return true;
    }
    if (path.len < root.len || memcmp(path.at, root.at, root.len) != 0 || (path.len > root.len && path.at[root.len] != '/'))
        return false;
    *ret = (struct str){path.at + root.len, path.len - root.len};
    return true;
}

bool cgroup_folder(struct str mountinfo, struct str path, const char *controller, char *to, size_t size)
{
    struct str line, below;
    struct mount_line mount;
    if (str_contains(path, "..")) /* outside this cgroup namespace */
        return false;
    while (str_cut(&mountinfo, '\n', &line)) {
        if (!mount_line_parse(line, &mount) || !str_is(mount.type, controller ? "cgroup" : "cgroup2") ||
            (controller && !has_option(mount.options, controller)) || !path_below(path, mount.root, &below) ||
            mount.point.len + below.len >= size)
            continue;
        snprintf(to, size, STR_FMT STR_FMT, STR_ARG(mount.point), STR_ARG(below));
        return true;
    }
    return false;
}

bool mount_of_path(struct str mountinfo, struct str path, struct mount_place *ret)
{
    struct str line, below;
    struct mount_line mount;
    *ret = (struct mount_place){0};
    while (str_cut(&mountinfo, '\n', &line))
        /* A later mount hides an earlier one at the same point. */
        if (mount_line_parse(line, &mount) && path_below(path, mount.point, &below) && mount.point.len >= ret->point.len)
            *ret = (struct mount_place){mount.point, mount.type};
    return ret->point.len > 0;
}

int64_t cpu_max_millicores(struct str text)
{
    struct str quota, period;
    int64_t quota_us, period_us;
    if (!str_word(&text, &quota) || !str_word(&text, &period) || !str_to_i64(quota, &quota_us) || !str_to_i64(period, &period_us) ||
        quota_us <= 0 || period_us <= 0 || quota_us > INT64_MAX / 1000)
        return 0;
    return MAX_OF(quota_us * 1000 / period_us, 1);
}

bool cpu_stat_parse(struct str text, struct cpu_stat *ret)
{
    struct str line, key, number;
    while (str_cut(&text, '\n', &line)) {
        int64_t value;
        if (!str_word(&line, &key) || !str_word(&line, &number) || !str_to_i64(number, &value) || value < 0)
            continue;
        if (str_is(key, "throttled_usec")) /* v2 */
            return ret->throttled_us = value, true;
        if (str_is(key, "throttled_time")) /* v1, in ns */
            return ret->throttled_us = value / 1000, true;
    }
    return false;
}

bool pressure_parse(struct str text, struct pressure *ret)
{
    struct str line, word;
    while (str_cut(&text, '\n', &line)) {
        if (!str_word(&line, &word) || !str_is(word, "some"))
            continue;
        bool average = false, total = false;
        while (str_word(&line, &word)) {
            if (str_starts(word, "avg10="))
                average = str_to_scaled((struct str){word.at + 6, word.len - 6}, 10, &ret->avg10_permille);
            else if (str_starts(word, "total="))
                total = str_to_i64((struct str){word.at + 6, word.len - 6}, &ret->total_us);
        }
        return average && total;
    }
    return false;
}

/* ---- one process's group ---- */

static ssize_t read_in(struct evidence_reader *r, const char *folder, const char *file, char *text, size_t size)
{
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path)
        return -ENAMETOOLONG;
    return budget_take(r) ? file_read_head(r->env, path, text, size) : -EAGAIN;
}

static int64_t quota_of(struct evidence_reader *r, const char *folder, bool v2)
{
    char text[128], period[64];
    ssize_t n = read_in(r, folder, v2 ? "cpu.max" : "cpu.cfs_quota_us", text, sizeof text);
    if (n <= 0)
        return 0;
    if (v2)
        return cpu_max_millicores((struct str){text, (size_t)n});
    ssize_t p = text[0] == '-' ? 0 : read_in(r, folder, "cpu.cfs_period_us", period, sizeof period);
    char both[256];
    int len = snprintf(both, sizeof both, "%.*s %.*s", (int)n, text, (int)MAX_OF(p, (ssize_t)0), period);
    return p > 0 ? cpu_max_millicores((struct str){both, (size_t)len}) : 0;
}

/* Walks from the group up to the mount. */
static void learn_quota(struct evidence_reader *r, struct cgroup_memory *m, const char *folder, size_t mount_len, bool v2)
{
    char at[PATH_SIZE];
    str_copy(at, sizeof at, str_from(folder));
    for (int level = 0; level < LEVELS_MAX && strlen(at) >= mount_len; level++) {
        int64_t quota = quota_of(r, at, v2);
        if (quota > 0 && (!m->quota_millicores || quota < m->quota_millicores)) {
            m->quota_millicores = quota;
            str_copy(m->quota_folder, sizeof m->quota_folder, str_from(at));
        }
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            break;
        *slash = '\0';
    }
}

/* The directory of a controller's group; "" none. Returns the length of its mount path. */
static size_t find_folder(struct evidence_reader *r, struct str cgroup, const char *controller, char *to, size_t size)
{
    struct str path;
    to[0] = '\0';
    if (!cgroup_path(cgroup, controller, &path) || !cgroup_folder(buf_view(&r->mounts), path, controller, to, size))
        return 0;
    size_t below = str_is(path, "/") ? 0 : path.len;
    return strlen(to) > below ? strlen(to) - below : 1;
}

static void cgroup_learn(struct evidence_reader *r, struct cgroup_memory *m, int process)
{
    char text[4096], cpu[PATH_SIZE], folder[PATH_SIZE], before[PATH_SIZE];
    ssize_t n = budget_read(r, process, "cgroup", text, sizeof text);
    if (n <= 0)
        return;
    struct str cgroup = {text, (size_t)n};
    str_copy(before, sizeof before, str_from(m->quota_folder));
    m->quota_millicores = 0;
    m->quota_folder[0] = m->memory_folder[0] = '\0';
    m->is_root = true;
    struct str path;
    size_t len = find_folder(r, cgroup, NULL, folder, sizeof folder);
    str_copy(m->folder, sizeof m->folder, str_from(folder));
    if (cgroup_path(cgroup, NULL, &path) && !str_is(path, "/"))
        m->is_root = !folder[0];
    if (folder[0])
        learn_quota(r, m, folder, len, true);
    if ((len = find_folder(r, cgroup, "cpu", cpu, sizeof cpu)))
        learn_quota(r, m, cpu, len, false);
    if (cgroup_path(cgroup, "memory", &path) && !str_is(path, "/"))
        find_folder(r, cgroup, "memory", m->memory_folder, sizeof m->memory_folder);
    else if (!m->is_root)
        str_copy(m->memory_folder, sizeof m->memory_folder, str_from(m->folder));
    if (strcmp(before, m->quota_folder) != 0)
        m->throttled_known = false;
    m->learned = r->now;
    m->is_known = true;
}

static struct reading share_of(int64_t gained_us, int64_t elapsed_ms)
{
    return reading_ok(MIN_OF(MAX_OF(gained_us, (int64_t)0) / MAX_OF(elapsed_ms, (int64_t)1), (int64_t)1000));
}

static void read_throttling(struct evidence_reader *r, struct cgroup_memory *m, int64_t elapsed_ms)
{
    char text[2048];
    struct cpu_stat stat;
    m->throttled = reading_absent(READING_UNSUPPORTED);
    if (!m->quota_millicores)
        return;
    ssize_t n = read_in(r, m->quota_folder, "cpu.stat", text, sizeof text);
    if (n <= 0 || !cpu_stat_parse((struct str){text, (size_t)n}, &stat)) {
        m->throttled_known = false;
        return;
    }
    m->throttled = m->throttled_known ? share_of(stat.throttled_us - m->throttled_us, elapsed_ms) : reading_absent(READING_PENDING);
    m->throttled_us = stat.throttled_us;
    m->throttled_known = true;
}

/* The group's pressure, else the host's. The first value is the kernel's ten-second average. */
static void read_pressure(struct evidence_reader *r, struct cgroup_memory *m, int which, int64_t elapsed_ms)
{
    static const char *const files[] = {"cpu", "io", "memory"};
    char name[32], text[512];
    struct pressure p;
    snprintf(name, sizeof name, "%s.pressure", files[which]);
    ssize_t n = m->is_root ? -ENOENT : read_in(r, m->folder, name, text, sizeof text);
    if (n <= 0)
        n = read_in(r, "/proc/pressure", files[which], text, sizeof text);
    if (n <= 0 || !pressure_parse((struct str){text, (size_t)n}, &p)) {
        m->pressure[which] = reading_absent(n < 0 ? reading_state_from_errno((int)n) : READING_UNSUPPORTED);
        m->pressure_known[which] = false;
        return;
    }
    m->pressure[which] = m->pressure_known[which] ? share_of(p.total_us - m->pressure_us[which], elapsed_ms)
                                                  : reading_ok(MIN_OF(p.avg10_permille, (int64_t)1000));
    m->pressure_us[which] = p.total_us;
    m->pressure_known[which] = true;
}

void cgroup_look(struct evidence_reader *r, struct cgroup_memory *m, int process)
{
    if (!m->is_known || mono_since_ms(r->now, m->learned) >= LEARN_AGAIN_MS)
        cgroup_learn(r, m, process);
    int64_t elapsed_ms = mono_since_ms(r->now, m->at);
    if (!m->is_known || (m->at.ns && elapsed_ms < RATE_LEAST_MS))
        return;
    read_throttling(r, m, elapsed_ms);
    for (int i = 0; i < CGROUP_PRESSURES; i++)
        read_pressure(r, m, i, elapsed_ms);
    m->at = r->now;
}

void cgroup_write(const struct cgroup_memory *m, struct host_evidence *ret)
{
    enum reading_state why = m->is_known ? READING_UNSUPPORTED : READING_FAILED;
    ret->quota_millicores = m->quota_millicores ? reading_ok(m->quota_millicores) : reading_absent(why);
    ret->throttled_permille = m->throttled;
    ret->cpu_pressure_permille = m->pressure[0];
    ret->io_pressure_permille = m->pressure[1];
    ret->mem_pressure_permille = m->pressure[2];
}
