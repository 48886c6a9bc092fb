/* SPDX-License-Identifier: Apache-2.0
 * One sample of a host with calls: levels as they are, rates between two samples.
 */
#include "host/machine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/calls/calls.h"

struct machine {
    struct machine_window window; /* first */
    const struct system_calls *calls;
    struct calls_cpu cpu, cores[CALLS_CORES_MAX];
    struct counters net, disks;
};

struct machine *machine_new(const struct env *env)
{
    struct machine *m = calloc(1, sizeof *m);
    if (m) {
        machine_window_init(&m->window, env);
        m->calls = calls_of(env);
    }
    return m;
}

/* InfiniBand ports are read on Linux alone. */
size_t machine_ports(const struct machine *m, struct machine_port list[MACHINE_PORTS_MAX])
{
    (void)m, (void)list;
    return 0;
}

void machine_expect_port(struct machine *m, const char *name, const char *model, bool forgotten)
{
    (void)m, (void)name, (void)model, (void)forgotten;
}

/* ---- levels ---- */

static struct reading known(int64_t value)
{
    return value >= 0 ? reading_ok(value) : reading_absent(READING_UNSUPPORTED);
}

void machine_read_memory(const struct env *env, struct host *out)
{
    struct calls_memory memory = {-1, -1, -1, -1};
    int rc = CALL(calls_of(env), memory, &memory);
    if (rc < 0) {
        out->mem_total_bytes = out->mem_available_bytes = out->mem_used_permille = out->swap_total_bytes = out->swap_used_bytes =
            reading_absent(reading_state_from_errno(rc));
        return;
    }
    out->mem_total_bytes = known(memory.total_bytes);
    out->mem_available_bytes = out->mem_used_permille = known(memory.available_bytes);
    out->swap_total_bytes = known(memory.swap_total_bytes);
    out->swap_used_bytes = known(memory.swap_used_bytes);
    if (memory.total_bytes > 0 && memory.available_bytes >= 0) {
        double used = (double)MAX_OF(memory.total_bytes - memory.available_bytes, (int64_t)0);
        out->mem_used_permille = reading_ok((int64_t)(used * 1000.0 / (double)memory.total_bytes + 0.5));
    }
}

static void read_load(const struct machine *m, struct host *out)
{
    int64_t milli;
    int rc = CALL(m->calls, load, &milli);
    out->load1_milli = rc < 0 ? reading_absent(reading_state_from_errno(rc)) : reading_ok(milli);
}

static void read_battery(const struct machine *m, struct host *out)
{
    bool on;
    int rc = CALL(m->calls, on_battery, &on);
    out->on_battery = rc < 0 ? reading_absent(reading_state_from_errno(rc)) : reading_ok(on);
}

/* ---- rates ---- */

static struct reading busy_share(const struct calls_cpu *before, const struct calls_cpu *now)
{
    int64_t permille;
    if (!before->total)
        return reading_absent(READING_PENDING);
    return now->total > before->total && machine_share(before->busy, now->busy, now->total - before->total, &permille)
               ? reading_ok(permille)
               : reading_absent(READING_FAILED);
}

static void read_cpu(struct machine *m, struct host *out, bool new_window)
{
    struct calls_cpu all, cores[CALLS_CORES_MAX] = {{0}};
    int count = CALL(m->calls, cpu, &all, cores, CALLS_CORES_MAX);
    if (count < 0) {
        out->cpu_permille = out->cpu_core_max_permille = out->cpu_count = reading_absent(reading_state_from_errno(count));
        return;
    }
    out->cpu_count = known(count ? count : -1);
    out->cpu_permille = m->window.last.cpu_permille;
    out->cpu_core_max_permille = m->window.last.cpu_core_max_permille;
    if (!new_window)
        return;
    out->cpu_permille = busy_share(&m->cpu, &all);
    out->cpu_core_max_permille = reading_absent(READING_UNSUPPORTED);
    for (int i = 0; i < MIN_OF(count, (int)CALLS_CORES_MAX); i++) {
        struct reading one = cores[i].total ? busy_share(&m->cores[i], &cores[i]) : reading_absent(READING_UNSUPPORTED);
        struct reading *most = &out->cpu_core_max_permille;
        if (most->state != READING_OK || (one.state == READING_OK && one.value > most->value))
            *most = one.state == READING_OK || most->state != READING_PENDING ? one : *most;
        m->cores[i] = cores[i];
    }
    /* Read one after the other: the total may be ahead of every core. */
    if (out->cpu_core_max_permille.state == READING_OK)
        out->cpu_core_max_permille.value = MAX_OF(out->cpu_core_max_permille.value, reading_or(out->cpu_permille, 0));
    m->cpu = all;
}

/* Sums the increments; a new item only sets its baseline. */
static int gain(struct counters *counters, const struct calls_flow *list, int count, uint64_t sums[2], int64_t *busiest_ms)
{
    for (int i = 0; i < count; i++) {
        bool is_new;
        struct counter *c = counters_find(counters, str_from(list[i].name), &is_new);
        if (!c)
            continue;
        if (!is_new && list[i].busy_ms >= 0 && (uint64_t)list[i].busy_ms >= c->own)
            *busiest_ms = MAX_OF(*busiest_ms, list[i].busy_ms - (int64_t)c->own);
        c->own = list[i].busy_ms >= 0 ? (uint64_t)list[i].busy_ms : 0;
        counter_advance(c, is_new, list[i].in_bytes, list[i].out_bytes, &sums[0], &sums[1]);
    }
    counters_sweep(counters);
    return count < 0 ? count : 0;
}

static void read_flow(struct machine *m, struct host *out, int64_t elapsed_ms)
{
    struct calls_flow list[CALLS_FLOWS_MAX];
    uint64_t net[2] = {0}, disks[2] = {0};
    int64_t busy_ms = -1, none = -1;
    int rc = gain(&m->net, list, CALL(m->calls, networks, list, CALLS_FLOWS_MAX), net, &none);
    machine_window_rates(&m->window, rc, elapsed_ms, net, &out->net_rx_bytes_per_s, &out->net_tx_bytes_per_s);
    rc = gain(&m->disks, list, CALL(m->calls, disks, list, CALLS_FLOWS_MAX), disks, &busy_ms);
    machine_window_rates(&m->window, rc, elapsed_ms, disks, &out->disk_read_bytes_per_s, &out->disk_write_bytes_per_s);
    out->disk_busy_permille = out->disk_read_bytes_per_s;
    if (out->disk_busy_permille.state == READING_OK)
        out->disk_busy_permille = busy_ms < 0 ? reading_absent(READING_UNSUPPORTED)
                                              : reading_ok(MIN_OF(busy_ms * 1000 / MAX_OF(elapsed_ms, (int64_t)1), (int64_t)1000));
}

void machine_sample(struct machine *m, struct host *out)
{
    static const enum host_metric flow[] = {HOST_METRIC_net_rx_bytes_per_s, HOST_METRIC_net_tx_bytes_per_s,
                                            HOST_METRIC_disk_read_bytes_per_s, HOST_METRIC_disk_write_bytes_per_s,
                                            HOST_METRIC_disk_busy_permille};
    *out = (struct host){0};
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        out->metric[i] = reading_absent(READING_UNSUPPORTED);
    struct mono now = clock_mono(m->window.env->clock);
    int64_t elapsed_ms = mono_since_ms(now, m->window.at);
    bool new_window = machine_window_left_ms(&m->window, now) == 0;
    if (!env_is_recorded(m->window.env))
        env_host_name(out->name, sizeof out->name);
    read_cpu(m, out, new_window);
    machine_read_memory(m->window.env, out);
    read_load(m, out);
    read_battery(m, out);
    if (new_window) {
        read_flow(m, out, elapsed_ms);
        m->window.at = now;
        m->window.measured = true;
    } else {
        machine_window_keep(&m->window, out, flow, ARRAY_LEN(flow));
    }
    m->window.last = *out;
    m->window.last_at = now;
}
