/* SPDX-License-Identifier: Apache-2.0
 * Throughput: bytes on the network and disks, pages swapped. Bytes count once: on physical interfaces and disks, not on the
 * bridges, bonds, partitions and mappings above them.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/internal.h"

enum {
    TEXT_MAX = 1 << 20,
    SECTOR_BYTES = 512, /* in /proc/diskstats, whatever the disk's sector size */
};

/* --- Network and disks -------------------------------------------------------------------------------------------------------- */

static bool sysfs_has(const struct env *env, const char *class, const char *name, const char *file)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s/%s", class, name, file);
    return file_exists(env, path);
}

/* A physical interface, but not the lower half of another one: Hyper-V's synthetic card and the physical function below it count
 * the same bytes. */
static bool is_network_card(const struct env *env, const char *name)
{
    return sysfs_has(env, "/sys/class/net", name, "device") && !sysfs_has(env, "/sys/class/net", name, "master/device");
}

/* For a recorded host without sysfs: everything but loopback and aggregates. */
static bool is_network_end(const struct env *env, const char *name)
{
    return strcmp(name, "lo") != 0 && !sysfs_has(env, "/sys/class/net", name, "bridge") &&
           !sysfs_has(env, "/sys/class/net", name, "bonding");
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..." */
static bool net_line(struct str line, struct str *name, uint64_t *rx, uint64_t *tx)
{
    enum { RX_BYTES = 0, TX_BYTES = 8 };
    const char *colon = memrchr(line.at, ':', line.len); /* aliases contain a colon */
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
    int rc = file_read_all(m->window.env, "/proc/net/dev", &text);
    if (rc < 0)
        return rc;
    /* Two passes: what counts depends on whether there is hardware. */
    bool hardware = false, unknown = !file_exists(m->window.env, "/sys/class/net");
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
                    c->counted = is_network_card(m->window.env, c->name);
                    c->in = rx;
                    c->out = tx;
                }
                hardware = hardware || c->counted;
                continue;
            }
            bool counted = c->counted || (unknown && is_network_end(m->window.env, c->name));
            counter_advance(c, !counted, rx, tx, rx_sum, tx_sum);
        }
    }
    counters_sweep(&m->net);
    /* A container's own network has no hardware: its traffic isn't the host's. */
    return hardware || unknown ? 0 : -ENODEV;
}

/* Without sysfs, tell whole disks from partitions by name. */
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

/* "major minor name reads merged SECTORS ms writes merged SECTORS ms now BUSY_MS ..." */
struct disk_line {
    struct str name;
    uint64_t read, written, busy_ms;
    bool has_busy;
};

static bool disk_line(struct str line, struct disk_line *ret)
{
    enum { NAME = 2, READ = 5, WRITTEN = 9, BUSY = 12 };
    *ret = (struct disk_line){0};
    struct str word;
    int column = 0;
    for (; column <= BUSY && str_word(&line, &word); column++) {
        if (column == NAME)
            ret->name = word;
        if ((column == READ && !str_to_u64(word, &ret->read)) || (column == WRITTEN && !str_to_u64(word, &ret->written)))
            return false;
        if (column == BUSY)
            ret->has_busy = str_to_u64(word, &ret->busy_ms);
    }
    return column > WRITTEN;
}

struct disk_gain {
    uint64_t sums[2];
    int64_t busiest_ms; /* -1: unknown */
};

static int gain_of_disks(struct machine *m, struct disk_gain *gain)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    int rc = file_read_all(m->window.env, "/proc/diskstats", &text);
    if (rc < 0)
        return rc;
    struct str rest = buf_view(&text), line;
    struct disk_line disk;
    bool any = false;
    while (str_cut(&rest, '\n', &line)) {
        bool is_new;
        if (!disk_line(line, &disk))
            continue;
        struct counter *c = counters_find(&m->disks, disk.name, &is_new);
        if (!c)
            continue;
        if (is_new)
            c->counted = is_disk(m->window.env, disk.name);
        any = any || c->counted;
        if (!is_new && c->counted && disk.has_busy && disk.busy_ms >= c->own)
            gain->busiest_ms = MAX_OF(gain->busiest_ms, (int64_t)(disk.busy_ms - c->own));
        c->own = disk.busy_ms;
        counter_advance(c, is_new || !c->counted, disk.read, disk.written, &gain->sums[0], &gain->sums[1]);
    }
    counters_sweep(&m->disks);
    gain->sums[0] *= SECTOR_BYTES;
    gain->sums[1] *= SECTOR_BYTES;
    return any ? 0 : -ENODEV;
}

static void read_disks(struct machine *m, struct host *out, int64_t elapsed_ms)
{
    struct disk_gain gain = {.busiest_ms = -1};
    int rc = gain_of_disks(m, &gain);
    machine_window_rates(&m->window, rc, elapsed_ms, gain.sums, &out->disk_read_bytes_per_s, &out->disk_write_bytes_per_s);
    out->disk_busy_permille = out->disk_read_bytes_per_s;
    if (out->disk_busy_permille.state != READING_OK)
        return;
    out->disk_busy_permille = gain.busiest_ms < 0
                                  ? reading_absent(READING_UNSUPPORTED)
                                  : reading_ok((int64_t)MIN_OF((double)gain.busiest_ms * 1000 / (double)elapsed_ms, 1000.0));
}

/* --- Swapping ----------------------------------------------------------------------------------------------------------------- */

static int swapped_pages(const struct env *env, uint64_t *in, uint64_t *out)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    int rc = file_read_all(env, "/proc/vmstat", &text);
    if (rc < 0)
        return rc;
    struct str rest = buf_view(&text), line, name, number;
    int found = 0;
    while (str_cut(&rest, '\n', &line)) {
        if (!str_word(&line, &name) || !str_word(&line, &number))
            continue;
        if (str_is(name, "pswpin") && str_to_u64(number, in))
            found |= 1;
        if (str_is(name, "pswpout") && str_to_u64(number, out))
            found |= 2;
    }
    return found == 3 ? 0 : -ENOENT; /* a kernel without swap */
}

static void read_swapping(struct machine *m, struct host *out, int64_t elapsed_ms)
{
    uint64_t in = 0, gone = 0, sums[2] = {0};
    /* Most servers have no swap: skip the long file then. */
    bool none = out->swap_total_bytes.state == READING_OK && out->swap_total_bytes.value == 0;
    int rc = none ? -ENODEV : swapped_pages(m->window.env, &in, &gone);
    bool fine = rc == 0 && m->swap_known && in >= m->swapped_in && gone >= m->swapped_out;
    if (fine) {
        sums[0] = in - m->swapped_in;
        sums[1] = gone - m->swapped_out;
    }
    machine_window_rates(&m->window, rc, elapsed_ms, sums, &out->swap_in_pages_per_s, &out->swap_out_pages_per_s);
    if (rc == 0 && !fine)
        out->swap_in_pages_per_s = out->swap_out_pages_per_s = reading_absent(READING_PENDING);
    m->swapped_in = in;
    m->swapped_out = gone;
    m->swap_known = rc == 0;
}

void machine_read_flow(struct machine *m, struct host *out, int64_t elapsed_ms)
{
    uint64_t net[2] = {0};
    int rc = gain_of_net(m, &net[0], &net[1]);
    machine_window_rates(&m->window, rc, elapsed_ms, net, &out->net_rx_bytes_per_s, &out->net_tx_bytes_per_s);
    read_disks(m, out, elapsed_ms);
    read_swapping(m, out, elapsed_ms);
}
