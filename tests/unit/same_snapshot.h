/* SPDX-License-Identifier: Apache-2.0
 * Two snapshots say the same, in everything that a reader of them can see.
 */
#pragma once

#include "model/snapshot.h"

static inline void assert_same_reading(struct reading a, struct reading b, const char *what)
{
    if (a.state != b.state || (a.state == READING_OK && a.value != b.value))
        fail_msg("%s: %s %lld and %s %lld", what, reading_state_name(a.state), (long long)a.value, reading_state_name(b.state),
                 (long long)b.value);
}

static inline void assert_same_process(const struct process *a, const struct process *b)
{
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->instance, b->instance);
    assert_int_equal(a->visible, b->visible);
    assert_int_equal(a->start_key, b->start_key);
    assert_int_equal(a->started_at.ms, b->started_at.ms);
    assert_int_equal(a->power_basis, b->power_basis);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->user, b->user);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->container, b->container);
    assert_string_equal(a->model, b->model);
    assert_string_equal(a->title, b->title);
    assert_string_equal(a->container_name, b->container_name);
    assert_string_equal(a->job, b->job);
    assert_same_reading(a->rank, b->rank, "rank");
    assert_same_reading(a->world_size, b->world_size, "world_size");
    assert_int_equal(a->container_name_state, b->container_name_state);
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        assert_same_reading(a->metric[i], b->metric[i], process_metric_table[i].field);
    assert_int_equal(a->limit.code, b->limit.code);
    assert_int_equal(a->limit.share_permille, b->limit.share_permille);
    assert_int_equal(a->limit.second, b->limit.second);
    assert_int_equal(!a->host, !b->host);
    for (size_t i = 0; a->host && i < EVIDENCE_COUNT; i++)
        assert_same_reading(a->host->metric[i], b->host->metric[i], evidence_table[i].field);
    if (a->host) {
        assert_string_equal(a->host->busiest_child, b->host->busiest_child);
        assert_string_equal(a->host->peer, b->host->peer);
        assert_string_equal(a->host->collective, b->host->collective);
    }
}

static inline void assert_same_gpu(const struct gpu *a, const struct gpu *b)
{
    assert_string_equal(a->id.uuid, b->id.uuid);
    assert_string_equal(a->id.pci_address, b->id.pci_address);
    assert_string_equal(a->id.name, b->id.name);
    assert_string_equal(a->id.vendor, b->id.vendor);
    assert_int_equal(a->index, b->index);
    assert_string_equal(a->source, b->source);
    assert_int_equal(a->simulated, b->simulated);
    assert_int_equal(a->state, b->state);
    assert_string_equal(a->error_message, b->error_message);
    assert_string_equal(a->profile, b->profile);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        assert_same_reading(a->metric[i], b->metric[i], metric_table[i].field);
    for (size_t i = 0; i < PROPERTY_COUNT; i++) {
        assert_int_equal(a->property[i].state, b->property[i].state);
        assert_string_equal(a->property[i].value, b->property[i].value);
    }
    assert_int_equal(a->processes_state, b->processes_state);
    assert_int_equal(a->processes_left_out, b->processes_left_out);
    assert_int_equal(a->processes_hidden, b->processes_hidden);
    assert_int_equal(a->process_count, b->process_count);
    for (size_t i = 0; i < a->process_count; i++)
        assert_same_process(&a->processes[i], &b->processes[i]);
    assert_int_equal(a->instance_count, b->instance_count);
    for (size_t i = 0; i < a->instance_count; i++)
        assert_same_gpu(&a->instances[i], &b->instances[i]);
}

static inline void assert_same_host(const struct host *a, const struct host *b)
{
    assert_string_equal(a->name, b->name);
    const struct reading *x = &a->cpu_permille, *y = &b->cpu_permille;
    assert_same_reading(*x, *y, "cpu");
    assert_same_reading(a->cpu_count, b->cpu_count, "cpus");
    assert_same_reading(a->mem_total_bytes, b->mem_total_bytes, "memory");
    assert_same_reading(a->mem_available_bytes, b->mem_available_bytes, "memory available");
    assert_same_reading(a->swap_total_bytes, b->swap_total_bytes, "swap");
    assert_same_reading(a->swap_used_bytes, b->swap_used_bytes, "swap used");
    assert_same_reading(a->load1_milli, b->load1_milli, "load");
    assert_same_reading(a->net_rx_bytes_per_s, b->net_rx_bytes_per_s, "rx");
    assert_same_reading(a->net_tx_bytes_per_s, b->net_tx_bytes_per_s, "tx");
    assert_same_reading(a->disk_read_bytes_per_s, b->disk_read_bytes_per_s, "read");
    assert_same_reading(a->disk_write_bytes_per_s, b->disk_write_bytes_per_s, "write");
}

static inline void assert_same_snapshot(const struct snapshot *a, const struct snapshot *b)
{
    assert_int_equal(a->sequence, b->sequence);
    assert_int_equal(a->groups, b->groups);
    assert_int_equal(a->taken_at.ms, b->taken_at.ms);
    assert_int_equal(a->taken.ns, b->taken.ns);
    assert_true(a->interval_s == b->interval_s);
    assert_same_host(&a->host, &b->host);
    assert_string_equal(a->driver.driver_version, b->driver.driver_version);
    assert_string_equal(a->driver.cuda_version, b->driver.cuda_version);
    assert_string_equal(a->driver.nvml_version, b->driver.nvml_version);
    assert_string_equal(a->driver.error_message, b->driver.error_message);
    assert_int_equal(a->source_count, b->source_count);
    for (size_t i = 0; i < a->source_count; i++) {
        const struct source_status *x = &a->sources[i], *y = &b->sources[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->names_driver, y->names_driver);
        assert_int_equal(x->state, y->state);
        assert_int_equal(x->gpu_count, y->gpu_count);
        assert_int_equal(x->errors_total, y->errors_total);
        assert_int_equal(x->consecutive_errors, y->consecutive_errors);
        assert_int_equal(x->init_failures_total, y->init_failures_total);
        assert_string_equal(x->message, y->message);
    }
    assert_int_equal(a->event_count, b->event_count);
    for (size_t i = 0; i < a->event_count; i++) {
        const struct event *x = &a->events[i], *y = &b->events[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->gpu_index, y->gpu_index);
        assert_int_equal(x->code, y->code);
        assert_int_equal(x->at.ms, y->at.ms);
        assert_string_equal(x->text, y->text);
    }
    assert_int_equal(a->gpu_count, b->gpu_count);
    for (size_t i = 0; i < a->gpu_count; i++)
        assert_same_gpu(&a->gpus[i], &b->gpus[i]);
}
