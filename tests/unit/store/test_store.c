/* SPDX-License-Identifier: Apache-2.0
 * What of a snapshot is in the file afterwards, as plain SQL sees it.
 */
#include "sql.h"

#include <errno.h>

#include "store/query.h"

static void rows_have_the_columns_of_the_contract_in_its_units(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=training");
    struct store *s = open_store("contract.db");
    struct snapshot *snapshot = NULL;
    for (int i = 0; i < 20; i++) {
        snapshot_unref(snapshot);
        snapshot = sim_history_next(&h);
        snapshot->taken_at.ms += 456;
        write_one(s, snapshot);
    }
    const struct gpu *gpu = &snapshot->gpus[1];
    assert_int_equal(sql_i64("contract.db", "SELECT COUNT(*) FROM gpu_stats"), 40);
    char query[256], text[128], expected[WALL_TEXT_SIZE];
    wall_format(snapshot->taken_at, expected);
    sql_text("contract.db", "SELECT recorded_at FROM gpu_stats ORDER BY id DESC LIMIT 1", text, sizeof text);
    assert_string_equal(text, expected);
    sql_text("contract.db", "SELECT gpu_name FROM gpu_stats WHERE gpu_index = 1", text, sizeof text);
    assert_string_equal(text, gpu->id.name);
    sql_text("contract.db", "SELECT host FROM gpu_stats", text, sizeof text);
    assert_string_equal(text, "box");
    sql_text("contract.db", "SELECT gpu_uuid FROM gpu_stats WHERE gpu_index = 1", text, sizeof text);
    assert_string_equal(text, gpu->id.uuid);
    const struct {
        const char *column;
        double value;
    } cases[] = {
        {"temperature_celsius", (double)gpu->temp_mdegc.value / 1000},
        {"power_watts", (double)gpu->power_mw.value / 1000},
        {"memory_used_mb", (double)gpu->mem_used_bytes.value / (1 << 20)},
        {"memory_total_mb", (double)gpu->mem_total_bytes.value / (1 << 20)},
        {"gpu_utilization_percent", (double)gpu->util_permille.value / 10},
        {"memory_utilization_percent", (double)gpu->mem_util_permille.value / 10},
        {"clock_graphics_mhz", (double)gpu->clock_graphics_khz.value / 1000},
        {"energy_joules", (double)gpu->energy_mj.value / 1000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(query, sizeof query, "SELECT %s FROM gpu_stats WHERE gpu_index = 1 ORDER BY id DESC LIMIT 1", cases[i].column);
        double stored = sql_double("contract.db", query);
        assert_true(stored > 0 && stored > cases[i].value - 1e-6 && stored < cases[i].value + 1e-6);
    }
    snapshot_unref(snapshot);
    store_close(s);
    sim_history_close(&h);
}

static void absent_is_null_and_unknown_metrics_cost_no_column(void **state)
{
    (void)state;
    struct snapshot *snapshot = snapshot_new(1);
    snapshot->taken_at = HISTORY_BEGIN;
    snprintf(snapshot->host.name, sizeof snapshot->host.name, "box");
    snprintf(snapshot->gpus[0].id.pci_address, GPU_PCI_SIZE, "0000:03:00.0");
    snapshot->gpus[0].util_permille = reading_ok(0);
    snapshot->gpus[0].temp_mdegc = reading_absent(READING_DENIED);
    struct store *s = open_store("absent.db");
    write_one(s, snapshot);
    assert_int_equal(sql_i64("absent.db", "SELECT gpu_utilization_percent IS 0.0 FROM gpu_stats"), 1);
    assert_int_equal(sql_i64("absent.db", "SELECT temperature_celsius IS NULL FROM gpu_stats"), 1);
    assert_int_equal(sql_i64("absent.db", "SELECT power_watts IS NULL FROM gpu_stats"), 1);
    assert_int_equal(sql_i64("absent.db", "SELECT COUNT(*) FROM pragma_table_info('samples') WHERE name = 'fan_rpm'"), 0);
    /* The column comes with its first value; older rows have none. */
    snapshot->taken_at.ms += 5000;
    snapshot->gpus[0].fan_rpm = reading_ok(1200);
    write_one(s, snapshot);
    assert_int_equal(sql_i64("absent.db", "SELECT COUNT(*) FROM gpu_stats"), 2);
    assert_int_equal(sql_i64("absent.db", "SELECT fan_rpm FROM gpu_stats ORDER BY id DESC"), 1200);
    assert_int_equal(sql_i64("absent.db", "SELECT COUNT(fan_rpm) FROM gpu_stats"), 1);
    store_close(s);
    s = open_store("absent.db");
    snapshot->taken_at.ms += 5000;
    snapshot->gpus[0].fan_rpm = reading_ok(1300);
    write_one(s, snapshot);
    assert_int_equal(sql_i64("absent.db", "SELECT COUNT(fan_rpm) FROM gpu_stats"), 2);
    store_close(s);
    snapshot_unref(snapshot);
}

static void cards_keep_their_identity_over_restarts_and_renumbering(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=idle");
    struct store *s = open_store("identity.db");
    struct snapshot *snapshot = sim_history_next(&h);
    write_one(s, snapshot);
    store_close(s);
    /* The other way round after a restart. */
    s = open_store("identity.db");
    snapshot->taken_at.ms += 5000;
    snapshot->gpus[0].index = 1;
    snapshot->gpus[1].index = 0;
    write_one(s, snapshot);
    assert_int_equal(sql_i64("identity.db", "SELECT COUNT(*) FROM gpus"), 2);
    char query[300];
    snprintf(query, sizeof query, "SELECT COUNT(DISTINCT gpu_index) FROM gpu_stats WHERE gpu_uuid = '%s'",
             snapshot->gpus[0].id.uuid);
    assert_int_equal(sql_i64("identity.db", query), 2); /* each row has the number that the card had then */
    /* A UUID that was not known before belongs to the card at the same place with the same name. */
    store_close(s);
    sql_run("identity.db", "UPDATE gpus SET uuid = NULL, identity = 'pci ' || pci_address || ' ' || name");
    s = open_store("identity.db");
    snapshot->taken_at.ms += 5000;
    write_one(s, snapshot);
    assert_int_equal(sql_i64("identity.db", "SELECT COUNT(*) FROM gpus"), 2);
    assert_int_equal(sql_i64("identity.db", "SELECT COUNT(uuid) FROM gpus"), 2);
    store_close(s);
    snapshot_unref(snapshot);
    sim_history_close(&h);
}

static void a_host_whose_name_changes_keeps_its_rows(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    const struct store_options options = {
        .env = &test_env, .url = store_url("renamed.db"), .host = "", .one_host = true, .limits = store_default_limits};
    struct store *s = NULL;
    struct error err = {0};
    assert_int_equal(store_open(&options, &s, &err), 0);
    for (int i = 0; i < 6; i++) {
        struct snapshot *snapshot = sim_history_next(&h);
        snprintf(snapshot->host.name, sizeof snapshot->host.name, i < 3 ? "old" : "new");
        write_one(s, snapshot);
        snapshot_unref(snapshot);
    }
    store_close(s);
    assert_int_equal(sql_i64("renamed.db", "SELECT COUNT(*) FROM hosts"), 1);
    assert_int_equal(sql_i64("renamed.db", "SELECT COUNT(*) FROM gpu_stats WHERE host = 'new'"), 6);
    sim_history_close(&h);
}

static void facts_are_written_when_they_change(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("facts.db");
    struct snapshot *snapshot = sim_history_next(&h);
    gpu_set_property(&snapshot->gpus[0], PROPERTY_driver_version, "1.0");
    snapshot->gpus[0].power_limit_max_mw = reading_ok(450000);
    write_one(s, snapshot);
    int64_t before = sql_i64("facts.db", "SELECT COUNT(*) FROM facts");
    assert_true(before > 5);
    snapshot->taken_at.ms += 5000;
    write_one(s, snapshot);
    store_close(s);
    s = open_store("facts.db");
    snapshot->taken_at.ms += 5000;
    write_one(s, snapshot);
    assert_int_equal(sql_i64("facts.db", "SELECT COUNT(*) FROM facts"), before);
    snapshot->taken_at.ms += 5000;
    gpu_set_property(&snapshot->gpus[0], PROPERTY_driver_version, "2.0");
    write_one(s, snapshot);
    assert_int_equal(sql_i64("facts.db", "SELECT COUNT(*) FROM facts"), before + 1);
    assert_int_equal(sql_i64("facts.db", "SELECT value FROM facts WHERE key = 'power_limit_max_watts'"), 450);
    assert_int_equal(sql_i64("facts.db", "SELECT COUNT(*) FROM facts WHERE key = 'largest_instance'"), 0);
    static const char newest[] = "SELECT value FROM facts WHERE key = 'largest_instance' ORDER BY since_ms DESC LIMIT 1";
    gpu_add_instance(&snapshot->gpus[0])->mem_total_bytes = reading_ok(9856);
    gpu_add_instance(&snapshot->gpus[0])->mem_total_bytes = reading_ok(20096);
    for (int i = 0; i < 2; i++) {
        snapshot->taken_at.ms += 5000;
        write_one(s, snapshot);
        store_close(s);
        s = open_store("facts.db");
    }
    assert_int_equal(sql_i64("facts.db", newest), 20096);
    snapshot->gpus[0].instance_count = 0;
    snapshot->taken_at.ms += 5000;
    write_one(s, snapshot);
    assert_int_equal(sql_i64("facts.db", "SELECT COUNT(*) FROM facts WHERE key = 'largest_instance'"), 2);
    assert_int_equal(sql_i64("facts.db", newest), 0); /* "none" */
    snapshot->gpus[0].instance_count = 2;
    store_close(s);
    snapshot_unref(snapshot);
    sim_history_close(&h);
}

static struct snapshot *with_process(struct sim_history *h, int32_t pid, int64_t start_key, int64_t mem_bytes, int64_t util,
                                     int64_t mw)
{
    struct snapshot *snapshot = sim_history_next(h);
    struct gpu *gpu = &snapshot->gpus[0];
    gpu->process_count = 0;
    gpu->processes_state = READING_OK;
    gpu->power_mw = gpu->power_average_mw = reading_ok(200000);
    gpu->energy_mj = reading_absent(READING_UNSUPPORTED);
    if (pid) {
        struct process *p = gpu_add_process(gpu, pid);
        p->type = PROCESS_COMPUTE;
        p->start_key = start_key;
        snprintf(p->name, sizeof p->name, "python3");
        snprintf(p->user, sizeof p->user, "alice");
        p->mem_bytes = mem_bytes ? reading_ok(mem_bytes) : reading_absent(READING_DENIED);
        p->util_permille = reading_ok(util);
        p->power_mw = reading_ok(mw);
    }
    return snapshot;
}

/* An instant's draw may be three times the mean of its second, as an H200's is while it reads prompts. */
static void energy_follows_the_mean_draw(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("mean.db");
    for (int i = 0; i < 5; i++) {
        struct snapshot *snapshot = with_process(&h, 4242, 77, 1 << 20, 500, 550000);
        snapshot->gpus[0].power_mw = reading_ok(600000);
        snapshot->gpus[0].idle_mw = snapshot->gpus[0].not_attributed_mw = reading_ok(50000);
        write_one(s, snapshot);
        snapshot_unref(snapshot);
    }
    store_close(s);
    sim_history_close(&h);
    assert_int_equal(sql_i64("mean.db", "SELECT SUM(energy_mj) FROM energy"), 4 * 5 * 200000);
    assert_int_equal(sql_i64("mean.db", "SELECT energy_mj FROM processes"), 4 * 5 * 150000); /* all but rest, which is 50 W */
}

static void each_run_of_a_process_is_one_row(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("process_runs.db");
    for (int i = 0; i < 24; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = with_process(&h, 4242, 77, (i + 1LL) << 20, 500, 100000);
        write_one(s, snapshot);
        if (i == 11) { /* a restart of ours is not one of theirs */
            store_close(s);
            s = open_store("process_runs.db");
        }
    }
    assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM processes"), 1);
    assert_int_equal(sql_i64("process_runs.db", "SELECT samples FROM processes"), 24);
    assert_int_equal(sql_i64("process_runs.db", "SELECT memory_peak_bytes FROM processes"), 24 << 20);
    assert_int_equal(sql_i64("process_runs.db", "SELECT memory_sum_bytes / memory_count FROM processes"), (25 << 20) / 2);
    assert_int_equal(sql_i64("process_runs.db", "SELECT sm_sum_permille / sm_count FROM processes"), 500);
    assert_int_equal(sql_i64("process_runs.db", "SELECT last_seen_ms - first_seen_ms FROM processes"), 23 * 5000);
    assert_int_equal(sql_i64("process_runs.db", "SELECT ended FROM processes"), 0);
    /* 22 intervals of 5 s (one was lost with the restart) at 100 of 200 W */
    assert_int_equal(sql_i64("process_runs.db", "SELECT energy_mj FROM processes"), 22 * 500000);
    assert_int_equal(sql_i64("process_runs.db", "SELECT SUM(energy_mj) FROM energy"), 22 * 1000000);
    assert_int_equal(sql_i64("process_runs.db", "SELECT SUM(attributed_mj) FROM energy"), 22 * 500000);
    assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM process_minutes"), 2);
    assert_int_equal(sql_i64("process_runs.db", "SELECT SUM(energy_mj) FROM process_minutes"), 22 * 500000);

    /* Gone, and its number taken by another one. */
    const struct snapshot *gone = with_process(&h, 0, 0, 0, 0, 0);
    write_one(s, gone);
    snapshot_unref(gone);
    assert_int_equal(sql_i64("process_runs.db", "SELECT ended FROM processes"), 1);
    const struct snapshot *other = with_process(&h, 4242, 99, 0, 10, 1);
    write_one(s, other);
    snapshot_unref(other);
    assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM processes"), 2);
    assert_int_equal(sql_i64("process_runs.db", "SELECT memory_peak_bytes IS NULL FROM processes WHERE start_key = 99"), 1);
    /* Missed for one sample, it goes on. */
    for (int i = 0; i < 2; i++) {
        const struct snapshot *missed = with_process(&h, i ? 4242 : 0, 99, 0, 10, 1);
        write_one(s, missed);
        snapshot_unref(missed);
    }
    assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM processes"), 2);
    assert_int_equal(sql_i64("process_runs.db", "SELECT SUM(ended) FROM processes"), 1);
    /* While the processes are not known, none is gone. */
    struct snapshot *unknown = with_process(&h, 0, 0, 0, 0, 0);
    unknown->gpus[0].processes_state = READING_FAILED;
    write_one(s, unknown);
    snapshot_unref(unknown);
    assert_int_equal(sql_i64("process_runs.db", "SELECT SUM(ended) FROM processes"), 1);
    store_close(s);
    sim_history_close(&h);
}

/* One row of text, its columns separated by spaces. */
static void assert_row(const char *name, const char *query, const char *expected)
{
    char text[256];
    sql_text(name, query, text, sizeof text);
    assert_string_equal(text, expected);
}

static int keep_run(void *user, const struct store_process_run *run)
{
    *(struct store_process_run *)user = *run;
    return 0;
}

/* Every value differs from all others, so that none can be in the column of another. */
static void each_column_of_a_process_has_its_own_value(void **state)
{
    (void)state;
    static const int64_t memory[] = {100, 0, 600}, util[] = {10, 20, 40};
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("columns.db");
    for (int i = 0; i < 4; i++) {
        struct snapshot *snapshot = with_process(&h, i < 3 ? 4242 : 0, 77, memory[i % 3], util[i % 3], 100000);
        struct process *p = i < 3 ? &snapshot->gpus[0].processes[0] : &(struct process){0};
        p->type = PROCESS_GRAPHICS;
        p->started_at.ms = 1700000000000;
        str_copy(p->command, sizeof p->command, STR("python3 train.py"));
        str_copy(p->container, sizeof p->container, STR("0123abcd"));
        str_copy(p->model, sizeof p->model, STR("Qwen3-8B"));
        str_copy(p->container_name, sizeof p->container_name, STR("ns/pod/main"));
        str_copy(p->job, sizeof p->job, STR("4711"));
        str_copy(p->title, sizeof p->title, STR("train.py"));
        p->limit.code = i ? LIMIT_HEAT : LIMIT_UNJUDGED;
        p->generated_tokens = reading_ok(1000 + 11 * i);
        p->prompt_tokens = reading_ok(5000 + 31 * i);
        p->requests_running = reading_ok(i ? 9 : 0);
        p->served[SERVING_REQUEST] = (struct serving_sum){true, 1, 70 + 2 * i};
        write_one(s, snapshot);
        snapshot_unref(snapshot);
    }
    assert_row("columns.db",
               "SELECT pid || ' ' || start_key || ' ' || started_at_ms || ' ' || name || ' ' || user_name || ' ' || type || ' ' || "
               "container "
               "|| ' ' || model || ' ' || container_name || ' ' || job || ' ' || title || ' ' || command FROM processes",
               "4242 77 1700000000000 python3 alice graphics 0123abcd Qwen3-8B ns/pod/main 4711 train.py python3 train.py");
    assert_row(
        "columns.db",
        "SELECT samples || ' ' || memory_max_bytes || ' ' || memory_sum_bytes || ' ' || memory_count || ' ' || sm_sum_permille || "
        "' ' "
        "|| sm_count || ' ' || limit_code || ' ' || limit_samples || ' ' || generated_tokens || ' ' || prompt_tokens || ' ' || "
        "running_sum || ' ' || running_samples || ' ' || requests FROM process_minutes",
        "3 600 700 2 70 3 heat 2 22 62 18 2 4");
    assert_row("columns.db", "SELECT energy_mj || ' ' || attributed_mj FROM energy", "3000000 1000000");
    char expected[200];
    snprintf(expected, sizeof expected, "%s %s %s %s 0 1", h.ids[0].vendor, h.ids[0].pci_address, h.ids[0].uuid, h.ids[0].name);
    assert_row(
        "columns.db",
        "SELECT vendor || ' ' || pci_address || ' ' || uuid || ' ' || name || ' ' || gpu_index || ' ' || simulated FROM gpus",
        expected);

    for (int within = 0; within < 2; within++) {
        struct store_process_run run = {0};
        const struct store_span span = {.since_ms = HISTORY_BEGIN.ms, .until_ms = h.clock.today.ms, .within = within, .limit = 9};
        struct error err;
        assert_int_equal(store_process_runs(s, &span, keep_run, &run, &err), 0);
        assert_int_equal(run.process.pid, 4242);
        assert_int_equal(run.process.start_key, 77);
        assert_int_equal(run.process.started_at.ms, 1700000000000);
        assert_int_equal(run.process.type, PROCESS_GRAPHICS);
        assert_string_equal(run.process.name, "python3");
        assert_string_equal(run.process.user, "alice");
        assert_string_equal(run.process.command, "python3 train.py");
        assert_string_equal(run.process.container, "0123abcd");
        assert_string_equal(run.process.model, "Qwen3-8B");
        assert_string_equal(run.process.container_name, "ns/pod/main");
        assert_string_equal(run.process.job, "4711");
        assert_string_equal(run.process.title, "train.py");
        assert_string_equal(run.gpu_uuid, h.ids[0].uuid);
        assert_string_equal(run.host, "box");
        assert_int_equal(run.first_seen.ms, HISTORY_BEGIN.ms);
        assert_int_equal(run.last_seen.ms, HISTORY_BEGIN.ms + 10000);
        assert_true(run.ended && run.simulated);
        assert_int_equal(run.samples, 3);
        assert_int_equal(reading_or(run.memory_peak_bytes, -1), 600);
        assert_int_equal(reading_or(run.memory_mean_bytes, -1), 350);
        assert_int_equal(reading_or(run.sm_mean_permille, -1), 23);
        assert_int_equal(run.energy_mj, 1000000);
    }
    store_close(s);
    sim_history_close(&h);
}

/* Counters of a model server become tokens of minutes: what it had counted before it was seen is not of them, one that begins anew
 * goes on, and one that says nothing for a while has lost nothing. */
static void tokens_are_kept_by_the_minute(void **state)
{
    (void)state;
    static const int64_t counted[] = {5000, 5100, 5200, -1, 5400, 30, 40, 40, 40, 40, 40, 40, 40, 50};
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("tokens.db");
    for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
        struct snapshot *snapshot = with_process(&h, 4242, 77, 1 << 20, 500, 100000);
        struct process *p = &snapshot->gpus[0].processes[0];
        p->generated_tokens = counted[i] < 0 ? reading_absent(READING_PENDING) : reading_ok(counted[i]);
        p->requests_running = i < 3 ? reading_absent(READING_PENDING) : reading_ok(i % 2 ? 6 : 0);
        if (i > 5) /* it is learned from the server, and later than its process */
            str_copy(p->model, sizeof p->model, STR("Qwen3-8B"));
        write_one(s, snapshot);
        snapshot_unref(snapshot);
    }
    store_close(s);
    sim_history_close(&h);
    assert_int_equal(sql_i64("tokens.db", "SELECT SUM(generated_tokens) FROM process_minutes"), 400 + 30 + 20);
    assert_int_equal(sql_i64("tokens.db", "SELECT COUNT(*) FROM process_minutes"), 2);
    assert_int_equal(sql_i64("tokens.db", "SELECT generated_tokens FROM process_minutes ORDER BY minute DESC LIMIT 1"), 10);
    assert_int_equal(sql_i64("tokens.db", "SELECT COUNT(prompt_tokens) FROM process_minutes"), 0); /* not told: NULL, not 0 */
    assert_int_equal(sql_i64("tokens.db", "SELECT COUNT(*) FROM processes WHERE model = 'Qwen3-8B'"), 1);
    assert_int_equal(sql_i64("tokens.db", "SELECT SUM(generated_tokens) FROM process_stats_minute"), 450);
    /* Of 11 samples that said it, 6 had six requests. */
    assert_int_equal(sql_i64("tokens.db", "SELECT SUM(running_sum) FROM process_minutes"), 36);
    assert_int_equal(sql_i64("tokens.db", "SELECT SUM(running_samples) FROM process_minutes"), 6);
}

static void joules_of_processes_add_up_to_those_of_the_card(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=multi-user");
    struct store *s = open_store("joules.db");
    for (int i = 0; i < 240; i++) {
        struct snapshot *snapshot = sim_history_next(&h);
        struct gpu *gpu = &snapshot->gpus[0];
        int64_t total = reading_or(gpu->power_mw, 0), weight = 0, given = 0;
        for (size_t p = 0; p < gpu->process_count; p++)
            weight += 1 + reading_or(gpu->processes[p].util_permille, 0);
        for (size_t p = 0; p < gpu->process_count; p++) { /* as the engine attributes: all of it */
            int64_t part = total * (1 + reading_or(gpu->processes[p].util_permille, 0)) / weight;
            gpu->processes[p].power_mw = reading_ok(p + 1 == gpu->process_count ? total - given : part);
            given += part;
        }
        write_one(s, snapshot);
        snapshot_unref(snapshot);
    }
    double card = sql_double("joules.db", "SELECT SUM(energy_mj) FROM energy");
    double processes = sql_double("joules.db", "SELECT SUM(energy_mj) FROM processes");
    double counter = sql_double("joules.db", "SELECT MAX(energy_mj) - MIN(energy_mj) FROM samples");
    assert_true(card > 0);
    assert_true(processes > card * 0.99 && processes < card * 1.01);
    assert_true(card > counter * 0.99 && card < counter * 1.01);
    store_close(s);
    sim_history_close(&h);
}

static void write_counter(const char *name, int64_t after_s, int64_t up_s, int64_t counter_j, int samples)
{
    struct store *s = open_store(name);
    for (int i = 0; i < samples; i++) {
        struct snapshot *snapshot = snapshot_new(1);
        snapshot->taken_at.ms = HISTORY_BEGIN.ms + (after_s + 5 * i) * MS_PER_S;
        snapshot->taken.ns = (up_s + 5 * i) * NS_PER_S;
        snapshot->interval_s = 5;
        snprintf(snapshot->host.name, sizeof snapshot->host.name, "box");
        snprintf(snapshot->gpus[0].id.uuid, GPU_UUID_SIZE, "GPU-1");
        snapshot->gpus[0].power_mw = snapshot->gpus[0].power_average_mw = reading_ok(100000);
        snapshot->gpus[0].power_limit_mw = reading_ok(300000);
        /* As it is read: every 30 s, and kept in between. */
        snapshot->gpus[0].energy_mj = reading_ok((counter_j + i / 6 * 6 * 500) * 1000);
        write_one(s, snapshot);
        snapshot_unref(snapshot);
    }
    store_close(s);
}

static void energy_used_between_samples_is_the_gpus(void **state)
{
    (void)state;
    write_counter("missed.db", 0, 1000, 50000, 10);
    assert_int_equal(sql_i64("missed.db", "SELECT SUM(energy_mj) FROM energy"), 4500000); /* 45 s at 100 W */
    assert_int_equal(sql_i64("missed.db", "SELECT MAX(counted) FROM energy"), 1);
    /* Two hours later the counter says 700 kJ more than when it was read last, 30 s after the begin. */
    write_counter("missed.db", 7200, 8200, 53000 + 700000, 3);
    assert_int_equal(sql_i64("missed.db", "SELECT SUM(energy_mj) FROM energy"), 3000000 + 700000000 + 1000000);
    assert_int_equal(sql_i64("missed.db", "SELECT SUM(attributed_mj) FROM energy"), 0);
    assert_true(sql_i64("missed.db", "SELECT SUM(energy_mj) FROM energy WHERE counted = 2") >= 700000000); /* and is marked so */
    /* Spread over the time in which it was used. */
    assert_in_range(sql_i64("missed.db", "SELECT COUNT(*) FROM energy"), 118, 122);
    assert_in_range(sql_i64("missed.db", "SELECT MAX(energy_mj) FROM energy"), 5000000, 12000000);
}

static void readings_of_different_counters_are_not_compared(void **state)
{
    (void)state;
    write_counter("reset.db", 0, 1000, 50000, 2);
    write_counter("reset.db", 3600, 4600, 900, 2); /* the driver was loaded anew */
    assert_int_equal(sql_i64("reset.db", "SELECT SUM(energy_mj) FROM energy"), 1000000);
    write_counter("reset.db", 7200, 60, 100000, 2); /* the host was started anew a minute ago */
    assert_int_equal(sql_i64("reset.db", "SELECT SUM(energy_mj) FROM energy"), 1500000);
    write_counter("reset.db", 7300, 160, 100000 + 50000000, 2); /* no GPU of 300 W uses 50 MJ in 100 s */
    assert_int_equal(sql_i64("reset.db", "SELECT SUM(energy_mj) FROM energy"), 2000000);
}

static void events_are_kept_with_their_card(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=idle");
    struct store *s = open_store("events.db");
    struct error err;
    /* Before the first snapshot, too. */
    const struct store_event start = {
        .at = HISTORY_BEGIN, .gpu_index = -1, .kind = "daemon", .severity = "info", .text = "started"};
    assert_int_equal(store_write(s, NULL, 0, &start, 1, &err), 0);
    struct snapshot *snapshot = sim_history_next(&h);
    snapshot->event_count = 1;
    snapshot->events[0] =
        (struct event){.kind = EVENT_DRIVER_FAULT, .gpu_index = 1, .code = 79, .at = snapshot->taken_at, .text = "fell off"};
    snapshot->source_count = 1;
    snprintf(snapshot->sources[0].name, SOURCE_NAME_SIZE, "nvml");
    snapshot->sources[0].state = SOURCE_OK;
    write_one(s, snapshot);
    snapshot->taken_at.ms += 5000;
    snapshot->event_count = 0;
    snapshot->sources[0].state = SOURCE_HUNG;
    write_one(s, snapshot);
    snapshot->taken_at.ms += 5000;
    write_one(s, snapshot);
    const struct store_event alert = {
        .at = snapshot->taken_at, .gpu_index = 0, .kind = "alert", .severity = "warning", .text = "hot", .data = "{\"value\": 91}"};
    assert_int_equal(store_write(s, NULL, 0, &alert, 1, &err), 0);
    assert_int_equal(sql_i64("events.db", "SELECT COUNT(*) FROM events"), 4);
    assert_int_equal(sql_i64("events.db", "SELECT code FROM events e JOIN gpus g ON g.id = e.gpu_id WHERE g.gpu_index = 1"), 79);
    assert_int_equal(sql_i64("events.db", "SELECT COUNT(*) FROM events WHERE kind = 'source' AND text LIKE 'nvml: hung%'"), 1);
    assert_int_equal(sql_i64("events.db", "SELECT COUNT(*) FROM events e JOIN gpus g ON g.id = e.gpu_id WHERE kind = 'alert'"), 1);
    store_close(s);
    snapshot_unref(snapshot);
    sim_history_close(&h);
}

static void a_newer_schema_is_left_alone(void **state)
{
    (void)state;
    store_close(open_store("newer.db"));
    sql_run("newer.db", "UPDATE meta SET value = '99' WHERE key = 'schema_version'");
    struct store *s = NULL;
    struct error err;
    const struct store_options options = {.env = &test_env, .url = store_url("newer.db"), .limits = store_default_limits};
    assert_int_equal(store_open(&options, &s, &err), -EPROTO);
    assert_non_null(strstr(err.text, "newer version"));
    assert_int_equal(sql_i64("newer.db", "SELECT value FROM meta WHERE key = 'schema_version'"), 99);
}

/* A path that was cut would be another file, beside the one that all others open. */
static void a_path_that_is_too_long_is_refused_and_not_cut(void **state)
{
    (void)state;
    char url[1024], name[201] = "";
    memset(name, 'a', sizeof name - 1);
    int len = snprintf(url, sizeof url, "sqlite:%s/", store_folder);
    while (len < 420)
        len += snprintf(url + len, sizeof url - (size_t)len, "./");
    snprintf(url + len, sizeof url - (size_t)len, "%s", name);
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {.env = &test_env, .url = url, .limits = store_default_limits};
    assert_int_equal(store_open(&options, &s, &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.text, "longer than 511"));
    for (size_t cut = 420; cut < strlen(url); cut++) {
        char shorter[sizeof url];
        str_copy(shorter, cut + 1, str_from(url + strlen("sqlite:")));
        if (shorter[strlen(shorter) - 1] == 'a')
            assert_int_equal(access(shorter, F_OK), -1);
    }
}

static void what_is_not_a_database_is_told_apart(void **state)
{
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s/%s", store_folder, "noise.db");
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 20000; i++)
        fputc(i * 7 % 251, f);
    fclose(f);
    struct store *s = NULL;
    struct error err;
    const struct store_options options = {.env = &test_env, .url = store_url("noise.db"), .limits = store_default_limits};
    assert_int_equal(store_open(&options, &s, &err), -EUCLEAN);
    char moved[256];
    assert_int_equal(store_move_aside(store_url("noise.db"), HISTORY_BEGIN, moved, sizeof moved, &err), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(moved, F_OK), 0);
    assert_non_null(strstr(moved, "noise.db.damaged-20260301T000000Z"));
    store_close(open_store("noise.db"));
    assert_int_equal(store_open_read_only(&test_env, "sqlite:/nonexistent/x.db", &s, &err), -ENOENT);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(rows_have_the_columns_of_the_contract_in_its_units),
        TEST(absent_is_null_and_unknown_metrics_cost_no_column),
        TEST(cards_keep_their_identity_over_restarts_and_renumbering),
        TEST(a_host_whose_name_changes_keeps_its_rows),
        TEST(facts_are_written_when_they_change),
        TEST(energy_follows_the_mean_draw),
        TEST(each_run_of_a_process_is_one_row),
        TEST(each_column_of_a_process_has_its_own_value),
        TEST(tokens_are_kept_by_the_minute),
        TEST(joules_of_processes_add_up_to_those_of_the_card),
        TEST(energy_used_between_samples_is_the_gpus),
        TEST(readings_of_different_counters_are_not_compared),
        TEST(events_are_kept_with_their_card),
        TEST(a_newer_schema_is_left_alone),
        TEST(a_path_that_is_too_long_is_refused_and_not_cut),
        TEST(what_is_not_a_database_is_told_apart),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
