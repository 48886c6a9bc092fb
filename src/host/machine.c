/* SPDX-License-Identifier: Apache-2.0
 * The host's load from procfs. Bytes on the wire and on the disks are counted once: interfaces and disks that are hardware,
 * not the bridges, bonds, partitions and mappings above them.
 */
#include "host/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/counters.h"

enum {
    WINDOW_MS = 200, /* rates over less are noise: the last ones are kept */
    TEXT_MAX = 1 << 20,
    SECTOR_BYTES = 512, /* of /proc/diskstats, whatever the disk's own are */
};

/* What is measured between two calls. */
struct machine {
    const struct env *env;
    int64_t window_ms;
    bool measured; /* there is a first sample */
    struct mono at;
    uint64_t cpu_busy, cpu_total;
    struct counters net, disks;
    struct host last; /* its rates are given while the window is too short */
};

struct machine *machine_new(const struct env *env)
{
    struct machine *m = calloc(1, sizeof *m);
    if (m) {
        m->env = env;
        m->window_ms = WINDOW_MS;
    }
    return m;
}

void machine_set_window(struct machine *m, int64_t ms)
{
    m->window_ms = ms;
}

void machine_free(struct machine *m)
{
    free(m);
}

static void read_name(const struct env *env, struct host *out)
{
    char text[256];
    ssize_t len = file_read_head(env, "/proc/sys/kernel/hostname", text, sizeof text);
    if (len <= 0)
        len = file_read_head(env, "/etc/hostname", text, sizeof text);
    if (len > 0)
        str_copy_clean(out->name, sizeof out->name, str_trim((struct str){text, (size_t)len}));
    else if (!env_is_recorded(env) && gethostname(out->name, sizeof out->name) == 0)
        out->name[sizeof out->name - 1] = '\0';
}

/* --- CPU ---------------------------------------------------------------------------------------------------------------------- */

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

/* "cpu user nice system idle iowait irq softirq steal guest guest_nice": guests are in user and nice already. */
static bool cpu_times(struct str stat, uint64_t *busy, uint64_t *total)
{
    enum { IDLE = 3, IOWAIT = 4, COLUMNS = 8 };
    struct str line, word;
    if (!str_cut(&stat, '\n', &line) || !str_word(&line, &word) || !str_is(word, "cpu"))
        return false;
    uint64_t sum = 0, idle = 0, value;
    int column = 0;
    for (; column < COLUMNS && str_word(&line, &word); column++) {
        if (!str_to_u64(word, &value))
            return false;
        sum += value;
        if (column == IDLE || column == IOWAIT)
            idle += value;
    }
    *busy = sum - idle;
    *total = sum;
    return column > IDLE;
}

static void read_cpu(struct machine *m, struct host *out, bool new_window)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    int rc = file_read_all(m->env, "/proc/stat", &text);
    uint64_t busy, total;
    if (rc < 0 || !cpu_times(buf_view(&text), &busy, &total)) {
        out->cpu_permille = reading_absent(rc < 0 ? reading_state_from_errno(rc) : READING_FAILED);
        out->cpu_count = out->cpu_permille;
        return;
    }
    out->cpu_count = count_cores(m->env, buf_view(&text));
    out->cpu_permille = m->last.cpu_permille;
    if (!new_window)
        return;
    if (!m->measured || !m->cpu_total)
        out->cpu_permille = reading_absent(READING_PENDING);
    else if (total > m->cpu_total && busy >= m->cpu_busy) /* iowait may run backwards */
        out->cpu_permille = reading_ok((int64_t)MIN_OF((busy - m->cpu_busy) * 1000 / (total - m->cpu_total), (uint64_t)1000));
    m->cpu_busy = busy;
    m->cpu_total = total;
}

/* --- Memory and load ---------------------------------------------------------------------------------------------------------- */

static void read_memory(const struct env *env, struct host *out)
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
        for (size_t i = 0; i < LINES; i++)
            if (str_is(name, names[i]))
                lines[i] = reading_ok(kib * 1024);
    }
    /* Kernels before 3.14 do not estimate what is available. */
    if (lines[AVAILABLE].state != READING_OK && lines[FREE].state == READING_OK)
        lines[AVAILABLE] = reading_ok(lines[FREE].value + reading_or(lines[BUFFERS], 0) + reading_or(lines[CACHED], 0));
    out->mem_total_bytes = lines[TOTAL];
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

/* --- Network and disks -------------------------------------------------------------------------------------------------------- */

static bool sysfs_has(const struct env *env, const char *class, const char *name, const char *file)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s/%s", class, name, file);
    return file_exists(env, path);
}

/* Hardware, and not the hardware half of another interface: a virtual machine's synthetic card and the physical function below
 * it (Hyper-V) count the same bytes. */
static bool is_network_card(const struct env *env, const char *name)
{
    return sysfs_has(env, "/sys/class/net", name, "device") && !sysfs_has(env, "/sys/class/net", name, "master/device");
}

/* In a container there is no hardware: then everything but loopback, and but what only joins others. */
static bool is_network_end(const struct env *env, const char *name)
{
    return strcmp(name, "lo") != 0 && !sysfs_has(env, "/sys/class/net", name, "bridge") &&
           !sysfs_has(env, "/sys/class/net", name, "bonding");
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..." */
static bool net_line(struct str line, struct str *name, uint64_t *rx, uint64_t *tx)
{
    enum { RX_BYTES = 0, TX_BYTES = 8 };
    const char *colon = memrchr(line.at, ':', line.len); /* an alias has one in its name */
    if (!colon)
        return false;
    *name = str_trim((struct str){line.at, (size_t)(colon - line.at)});
    struct str rest = {colon + 1, line.len - (size_t)(colon + 1 - line.at)}, word;
    for (int column = 0; column <= TX_BYTES; column++) {
        if (!str_word(&rest, &word) || ((column == RX_BYTES) && !str_to_u64(word, rx)))
            return false;
    }
    return str_to_u64(word, tx);
}

static bool name_is_safe(struct str name)
{
    return name.len && !memchr(name.at, '/', name.len) && name.at[0] != '.';
}

static int gain_of_net(struct machine *m, uint64_t *rx_sum, uint64_t *tx_sum)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    int rc = file_read_all(m->env, "/proc/net/dev", &text);
    if (rc < 0)
        return rc;
    /* Two passes: whether there is hardware decides what is counted. */
    bool hardware = false;
    struct str rest, line, name;
    uint64_t rx, tx;
    for (int pass = 0; pass < 2; pass++) {
        rest = buf_view(&text);
        while (str_cut(&rest, '\n', &line)) {
            bool is_new;
            if (!net_line(line, &name, &rx, &tx) || !name_is_safe(name))
                continue;
            struct counter *c = counters_find(&m->net, name, &is_new);
            if (!c)
                continue;
            if (pass == 0) {
                if (is_new) {
                    c->counted = is_network_card(m->env, c->name);
                    c->in = rx;
                    c->out = tx;
                }
                hardware = hardware || c->counted;
                continue;
            }
            bool counted = c->counted || (!hardware && is_network_end(m->env, c->name));
            counter_advance(c, !counted, rx, tx, rx_sum, tx_sum);
        }
    }
    counters_sweep(&m->net);
    return 0;
}

/* Where sysfs is missing, the name must tell a whole disk from its partitions. */
static bool is_disk_by_name(struct str name)
{
    static const char *const letters[] = {"sd", "vd", "xvd", "hd"};
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if (str_starts(name, letters[i]))
            return name.at[name.len - 1] >= 'a';
    if (str_starts(name, "nvme"))
        return memchr(name.at + 4, 'n', name.len - 4) && !memchr(name.at, 'p', name.len);
    return str_starts(name, "mmcblk") && !memchr(name.at, 'p', name.len);
}

static bool is_disk(const struct env *env, struct str name)
{
    if (!file_exists(env, "/sys/block"))
        return is_disk_by_name(name);
    char file[COUNTER_NAME_SIZE];
    str_copy(file, sizeof file, name);
    for (char *c = file; *c; c++)
        if (*c == '/') /* cciss/c0d0 */
            *c = '!';
    return file[0] != '.' && sysfs_has(env, "/sys/block", file, "device");
}

/* "major minor name reads merged SECTORS ms writes merged SECTORS ms ..." */
static bool disk_line(struct str line, struct str *name, uint64_t *read, uint64_t *written)
{
    enum { NAME = 2, READ = 5, WRITTEN = 9 };
    struct str word;
    for (int column = 0; column <= WRITTEN; column++) {
        if (!str_word(&line, &word))
            return false;
        if (column == NAME)
            *name = word;
        if (column == READ && !str_to_u64(word, read))
            return false;
    }
    return str_to_u64(word, written);
}

static int gain_of_disks(struct machine *m, uint64_t *read_sum, uint64_t *written_sum)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    int rc = file_read_all(m->env, "/proc/diskstats", &text);
    if (rc < 0)
        return rc;
    struct str rest = buf_view(&text), line, name;
    uint64_t read, written;
    bool any = false;
    while (str_cut(&rest, '\n', &line)) {
        bool is_new;
        if (!disk_line(line, &name, &read, &written))
            continue;
        struct counter *c = counters_find(&m->disks, name, &is_new);
        if (!c)
            continue;
        if (is_new)
            c->counted = is_disk(m->env, name);
        any = any || c->counted;
        counter_advance(c, is_new || !c->counted, read, written, read_sum, written_sum);
    }
    counters_sweep(&m->disks);
    *read_sum *= SECTOR_BYTES;
    *written_sum *= SECTOR_BYTES;
    return any ? 0 : -ENODEV;
}

static void set_rates(struct machine *m, int rc, int64_t elapsed_ms, const uint64_t sums[2], struct reading *in,
                      struct reading *out)
{
    if (rc < 0)
        *in = *out = reading_absent(reading_state_from_errno(rc));
    else if (!m->measured)
        *in = *out = reading_absent(READING_PENDING);
    else {
        *in = reading_ok((int64_t)((double)sums[0] * MS_PER_S / (double)elapsed_ms));
        *out = reading_ok((int64_t)((double)sums[1] * MS_PER_S / (double)elapsed_ms));
    }
}

void machine_sample(struct machine *m, struct host *out)
{
    *out = (struct host){0};
    struct mono now = clock_mono(m->env->clock);
    int64_t elapsed_ms = mono_since_ms(now, m->at);
    bool new_window = !m->measured || elapsed_ms >= m->window_ms;
    read_name(m->env, out);
    read_cpu(m, out, new_window);
    read_memory(m->env, out);
    read_load(m->env, out);
    if (new_window) {
        uint64_t net[2] = {0}, disks[2] = {0};
        int rc = gain_of_net(m, &net[0], &net[1]);
        set_rates(m, rc, elapsed_ms, net, &out->net_rx_bytes_per_s, &out->net_tx_bytes_per_s);
        rc = gain_of_disks(m, &disks[0], &disks[1]);
        set_rates(m, rc, elapsed_ms, disks, &out->disk_read_bytes_per_s, &out->disk_write_bytes_per_s);
        m->at = now;
        m->measured = true;
    } else {
        out->net_rx_bytes_per_s = m->last.net_rx_bytes_per_s;
        out->net_tx_bytes_per_s = m->last.net_tx_bytes_per_s;
        out->disk_read_bytes_per_s = m->last.disk_read_bytes_per_s;
        out->disk_write_bytes_per_s = m->last.disk_write_bytes_per_s;
    }
    m->last = *out;
}
