/* SPDX-License-Identifier: Apache-2.0
 * One sample of the host from procfs and sysfs below the sysroot: reads its parts, and keeps the last rates while the interval is
 * too short for new ones.
 */
#include "host/linux/internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

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
    machine_read_temperature(m, out);
    machine_read_air(m, out);
    machine_read_pressure(m->window.env, out);
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
    machine_read_cpu(m, out, new_window);
    machine_read_memory(m->window.env, out);
    machine_read_load(m->window.env, out);
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
