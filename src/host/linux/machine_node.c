/* SPDX-License-Identifier: Apache-2.0
 * What people or cables change about the host: mains or battery, the CPU governor, InfiniBand ports.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/internal.h"

/* The line of a small file, trimmed; false: missing. */
static bool node_line(const struct env *env, char *text, size_t size, struct str *ret, const char *format, ...)
    __attribute__((format(gnu_printf, 5, 6)));
static bool node_line(const struct env *env, char *text, size_t size, struct str *ret, const char *format, ...)
{
    char path[PATH_SIZE];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    ssize_t got = len > 0 && len < (int)sizeof path ? file_read_head(env, path, text, size) : -ENAMETOOLONG;
    *ret = str_trim((struct str){text, got > 0 ? (size_t)got : 0});
    return ret->len > 0;
}

/* "Mains" and "USB" are external power; a host without either (a desktop) is never on battery. Online is 0, 1 or 2. */
static void read_mains(struct machine *m, struct host *out)
{
    AUTO_DIR DIR *supplies = dir_open(m->window.env, "/sys/class/power_supply");
    bool any = false, online = false, battery = false;
    for (struct dirent *entry; supplies && (entry = readdir(supplies));) {
        char text[64];
        struct str said;
        if (entry->d_name[0] == '.' ||
            !node_line(m->window.env, text, sizeof text, &said, "/sys/class/power_supply/%s/type", entry->d_name))
            continue;
        bool cord = str_starts(said, "Mains") || str_starts(said, "USB");
        if (str_is(said, "Battery") || str_is(said, "UPS")) /* scope "Device": a mouse's battery */
            battery |= !node_line(m->window.env, text, sizeof text, &said, "/sys/class/power_supply/%s/scope", entry->d_name) ||
                       !str_is(said, "Device");
        if (!cord || !node_line(m->window.env, text, sizeof text, &said, "/sys/class/power_supply/%s/online", entry->d_name))
            continue;
        any = true;
        online |= !str_is(said, "0");
    }
    out->on_battery = any && battery ? reading_ok(!online) : reading_absent(READING_UNSUPPORTED);
}

/* With intel_pstate and amd-pstate, "powersave" is the normal governor, which scales with the load. */
static void read_governor(struct machine *m, struct host *out)
{
    char text[64];
    struct str driver, governor;
    out->cpu_clocks_low = reading_absent(READING_UNSUPPORTED);
    if (!node_line(m->window.env, text, sizeof text, &driver, "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver"))
        return;
    bool scales = str_contains(driver, "pstate");
    if (node_line(m->window.env, text, sizeof text, &governor, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"))
        out->cpu_clocks_low = reading_ok(!scales && str_is(governor, "powersave"));
}

/* ---- InfiniBand ---- */

static struct ib_port *ib_port_find(struct machine *m, const char *name)
{
    for (size_t i = 0; i < m->ib_port_count; i++)
        if (strcmp(m->ib_ports[i].own.name, name) == 0)
            return &m->ib_ports[i];
    if (m->ib_port_count == MACHINE_PORTS_MAX || strlen(name) >= sizeof m->ib_ports[0].own.name)
        return NULL;
    struct ib_port *port = &m->ib_ports[m->ib_port_count++];
    *port = (struct ib_port){0};
    str_copy(port->own.name, sizeof port->own.name, str_from(name));
    return port;
}

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" in Mbit/s; 0: neither. */
static int64_t rate_of(struct str text)
{
    struct str number, unit;
    int64_t rate;
    bool known = str_word(&text, &number) && str_word(&text, &unit) && str_is(unit, "Gb/sec") && str_to_scaled(number, 1000, &rate);
    return known && rate > 0 ? rate : 0;
}

/* The names of mlx5, then those of bnxt_re; a device without a counter lacks its file. */
static const struct {
    enum rdma_count count;
    const char *file;
} counters[] = {
    {RDMA_RETRIES, "hw_counters/local_ack_timeout_err"},
    {RDMA_RETRIES, "hw_counters/packet_seq_err"},
    {RDMA_RETRIES, "hw_counters/rnr_nak_retry_err"},
    {RDMA_CONGESTED, "hw_counters/np_cnp_sent"},
    {RDMA_CONGESTED, "hw_counters/rp_cnp_handled"},
    {RDMA_DISORDERED, "hw_counters/out_of_sequence"},
    {RDMA_DOWNED, "counters/link_downed"},
    {RDMA_RETRIES, "hw_counters/to_retransmits"},
    {RDMA_CONGESTED, "hw_counters/rx_cnp_pkts"},
    {RDMA_DISORDERED, "hw_counters/oos_drop_count"},
};

static void read_counters(struct machine *m, struct ib_port *port, const char *path)
{
    enum { LATELY_MS = 60 * 60 * 1000 };
    struct reading now[RDMA_COUNTS];
    struct mono at = clock_mono(m->window.env->clock);
    for (size_t i = 0; i < RDMA_COUNTS; i++)
        now[i] = reading_absent(READING_UNSUPPORTED);
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        char text[64];
        struct str said;
        int64_t value;
        if (node_line(m->window.env, text, sizeof text, &said, "/sys/class/infiniband/%s/%s", path, counters[i].file) &&
            str_to_i64(said, &value) && value >= 0)
            now[counters[i].count] = reading_ok(reading_or(now[counters[i].count], 0) + value);
    }
    for (size_t i = 0; i < RDMA_COUNTS; i++) {
        int64_t before, value;
        bool both = reading_get(port->counts[i], &before) && reading_get(now[i], &value) && value >= before;
        bool lately = i == RDMA_DOWNED && mono_since_ms(at, port->downed_at) < LATELY_MS;
        int64_t kept = lately ? reading_or(port->gained[i], 0) : 0;
        if (both && value > before && i == RDMA_DOWNED)
            port->downed_at = at;
        port->gained[i] =
            both ? reading_ok(kept + value - before) : reading_absent(now[i].state == READING_OK ? READING_PENDING : now[i].state);
        port->counts[i] = now[i];
    }
}

/* The link of Ethernet (RoCE) has its own tools and often no cable. */
static void read_port(struct machine *m, const char *device, const char *number)
{
    char text[64], name[64], path[80];
    struct str said;
    snprintf(name, sizeof name, "%s/%s", device, number);
    snprintf(path, sizeof path, "%s/ports/%s", device, number);
    struct ib_port *port = ib_port_find(m, name);
    if (!port)
        return;
    read_counters(m, port, path);
    port->is_infiniband = node_line(m->window.env, text, sizeof text, &said, "/sys/class/infiniband/%s/link_layer", path) &&
                          str_is(said, "InfiniBand");
    if (!port->is_infiniband)
        return;
    if (!port->own.model[0] && node_line(m->window.env, text, sizeof text, &said, "/sys/class/infiniband/%s/hca_type", device))
        str_copy(port->own.model, sizeof port->own.model, said);
    bool up = node_line(m->window.env, text, sizeof text, &said, "/sys/class/infiniband/%s/state", path) && str_starts(said, "4:");
    port->rate =
        up && node_line(m->window.env, text, sizeof text, &said, "/sys/class/infiniband/%s/rate", path) ? rate_of(said) : 0;
    port->best_rate = MAX_OF(port->best_rate, port->rate);
    port->was_up |= up;
}

/* Ports of the same model in one host should have the same speed. */
static bool is_slow(const struct machine *m, const struct ib_port *port)
{
    int64_t best = port->best_rate;
    for (size_t i = 0; i < m->ib_port_count; i++)
        if (port->own.model[0] && strcmp(m->ib_ports[i].own.model, port->own.model) == 0)
            best = MAX_OF(best, m->ib_ports[i].rate);
    return port->rate > 0 && port->rate < best;
}

static void read_infiniband(struct machine *m)
{
    AUTO_DIR DIR *devices = dir_open(m->window.env, "/sys/class/infiniband");
    for (size_t i = 0; i < m->ib_port_count; i++) {
        m->ib_ports[i].rate = 0; /* a device that is gone has no link */
        for (size_t k = 0; k < RDMA_DOWNED; k++)
            m->ib_ports[i].gained[k] = reading_absent(READING_UNSUPPORTED); /* and counts nothing */
    }
    for (struct dirent *entry; devices && (entry = readdir(devices));) {
        char path[PATH_SIZE];
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > 24)
            continue;
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports", entry->d_name);
        AUTO_DIR DIR *ports = dir_open(m->window.env, path);
        for (struct dirent *one; ports && (one = readdir(ports));)
            if (one->d_name[0] != '.' && strlen(one->d_name) <= 4)
                read_port(m, entry->d_name, one->d_name);
    }
}

size_t machine_ports(const struct machine *m, struct machine_port list[MACHINE_PORTS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < m->ib_port_count; i++)
        if (m->ib_ports[i].was_up) {
            list[count] = m->ib_ports[i].own;
            list[count++].up = m->ib_ports[i].rate > 0;
        }
    return count;
}

void machine_expect_port(struct machine *m, const char *name, const char *model, bool forgotten)
{
    struct ib_port *port = ib_port_find(m, name);
    if (!port || port->rate > 0)
        return;
    port->was_up = port->is_infiniband = !forgotten;
    if (forgotten)
        port->best_rate = 0;
    if (!port->own.model[0])
        str_copy(port->own.model, sizeof port->own.model, str_from(model));
}

void machine_count_ports(const struct machine *m, struct host *out)
{
    int64_t up = 0, lost = 0, slow = 0;
    bool any = false;
    size_t len = 0;
    for (size_t i = 0; i < m->ib_port_count; i++) {
        const struct ib_port *port = &m->ib_ports[i];
        bool is_lost = port->was_up && port->rate == 0;
        any |= port->is_infiniband;
        up += port->rate > 0;
        lost += is_lost;
        slow += is_slow(m, port);
        if (is_lost && len + 2 + strlen(port->own.name) < sizeof out->ib_lost_names)
            len += (size_t)snprintf(out->ib_lost_names + len, sizeof out->ib_lost_names - len, "%s%s", len ? ", " : "",
                                    port->own.name);
    }
    out->ib_ports_up = any ? reading_ok(up) : reading_absent(READING_UNSUPPORTED);
    out->ib_ports_lost = any ? reading_ok(lost) : reading_absent(READING_UNSUPPORTED);
    out->ib_ports_slow = any ? reading_ok(slow) : reading_absent(READING_UNSUPPORTED);
}

static struct reading sum_of(const struct machine *m, enum rdma_count count)
{
    struct reading sum = reading_absent(READING_UNSUPPORTED);
    for (size_t i = 0; i < m->ib_port_count; i++) {
        const struct reading *one = &m->ib_ports[i].gained[count];
        if (count == RDMA_DOWNED && !m->ib_ports[i].is_infiniband)
            continue;
        if (one->state == READING_OK)
            sum = reading_ok(reading_or(sum, 0) + one->value);
        else if (one->state == READING_PENDING && sum.state != READING_OK)
            sum = *one;
    }
    return sum;
}

static void write_counters(const struct machine *m, int64_t elapsed_ms, struct host *out)
{
    struct reading *const rates[] = {&out->rdma_retries_per_s, &out->rdma_congested_per_s, &out->rdma_disordered_per_s};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        *rates[i] = sum_of(m, (enum rdma_count)i);
        if (rates[i]->state == READING_OK && elapsed_ms > 0)
            rates[i]->value = rates[i]->value * 1000 / elapsed_ms;
    }
    out->ib_flaps = sum_of(m, RDMA_DOWNED);
}

void machine_read_node(struct machine *m, int64_t elapsed_ms, struct host *out)
{
    read_mains(m, out);
    read_governor(m, out);
    read_infiniband(m);
    write_counters(m, elapsed_ms, out);
}
