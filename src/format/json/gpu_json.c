/* SPDX-License-Identifier: Apache-2.0
 * Everything known about GPUs and their processes. Rows of metrics come from the metric tables.
 */
#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/process_rows.h"
#include "insight/facts/levels.h"

/* ---- what a GPU is doing, and what limits a process on it ---- */

ANSWER_NAMES(activities, enum activity_code, activity_code_name, 0, ACTIVITY_COUNT - 1);
ANSWER_NAMES(symptoms, enum symptom, symptom_name, 0, SYMPTOM_COUNT - 1);
ANSWER_SHARED_NAMES(throttles, unsigned, throttle_name, 0, THROTTLE_COUNT - 1);

ANSWER_MAKER(make_activity_words, struct activity, word, activity_code_words(of->code));

SHARED_ANSWER_TABLE(activity_answer, struct activity, .name = "Activity",
                    .about = "What a GPU is doing, judged over the last minute, and what a person would notice about it")
{
    FIELD(NAME, "code", code, NULL, NAMES(activities));
    MADE(WORD, "words", make_activity_words, NULL);
    FIELD(OPTION, "load_percent", load_permille,
          "Utilization as it was judged, over the last seconds; with bursts their mean over the last minute", SCALE(0.1));
    FIELD(BOOL, "bursts", bursts, "Works in bursts, with pauses");
    FIELD(BITS, "symptoms", symptoms, NULL, NAMES(symptoms));
    FIELD(BITS, "throttled_by", throttled_by, NULL, NAMES(throttles), OPEN);
}

ANSWER_SHARED_NAMES(limit_codes, enum limit, limit_name, LIMIT_UNJUDGED + 1, LIMIT_COUNT - 1);

ANSWER_MAKER(make_limit_words, struct process_limit, word, limit_words(of->code));

ANSWER_MAKER(make_side, struct process_limit, word, limit_side_name(limit_side(of->code)));

SHARED_ANSWER_TABLE(limit_answer, struct process_limit, .name = "Limit",
                    .about = "What limits a process on a GPU, over the last ten seconds")
{
    FIELD(NAME, "code", code, NULL, NAMES(limit_codes));
    MADE(WORD, "words", make_limit_words, "Behind \"limited by\"");
    MADE(WORD, "side", make_side,
         "gpu: the GPU works as hard as it can; link: PCIe or NVLink; host: the program's own side keeps the GPU waiting; "
         "others: other programs or ranks; none: nothing is asked of the GPU, or nothing shows",
         .schema = "{\"enum\": [\"none\", \"gpu\", \"link\", \"host\", \"others\"]}");
    FIELD(AMOUNT, "share_percent", share_permille, "Share of the time that was looked at", SCALE(0.1));
    FIELD(AMOUNT, "over_seconds", over_ms, "How long that was; 0: one look", SCALE(1e-3), WHOLE);
    FIELD(NUMBER, "confidence", confidence, NULL, .parts = 100, .schema = "{\"minimum\": 0, \"maximum\": 1}");
    FIELD(NAME, "second", second, "What limits it for most of the rest", NAMES(limit_codes), OR_NULL);
    FIELD(AMOUNT, "second_percent", second_permille, NULL, SCALE(0.1));
}

/* ---- rows of metrics ---- */

ANSWER_NAMES(compute_modes, int64_t, compute_mode_name, 0, 3);
ANSWER_NAMES(power_mizers, int64_t, power_mizer_name, 0, 3);
ANSWER_NAMES(recoveries, int64_t, recovery_action_name, 0, 7);

struct answer_field metric_field(const struct metric_info *m, size_t offset)
{
    struct answer_field f = {.kind = ANSWER_READING,
                             .key = m->json,
                             .about = m->help,
                             .scale = m->kind == KIND_NUMBER ? m->json_scale : 0,
                             .offset = (uint32_t)offset,
                             .size = sizeof(struct reading)};
    switch (m->kind) {
    case KIND_NUMBER: break;
    case KIND_BOOL: f.item = ANSWER_BOOL; break;
    case KIND_PSTATE:
        f.item = ANSWER_TEXT;
        f.letter = 'P';
        f.schema = "{\"pattern\": \"^P[0-9]+$\"}";
        break;
    case KIND_THROTTLE:
        f.item = ANSWER_BITS;
        f.names = &throttles;
        f.open = true;
        break;
    case KIND_COMPUTE_MODE:
    case KIND_POWER_MIZER:
    case KIND_RECOVERY:
        f.item = ANSWER_NAME;
        f.names = m->kind == KIND_RECOVERY ? &recoveries : m->kind == KIND_POWER_MIZER ? &power_mizers : &compute_modes;
        f.open = true;
    }
    return f;
}

static void add_metric(const struct metric_info *m, size_t offset, bool counts)
{
    struct answer_field f = metric_field(m, offset);
    f.counts = counts;
    answer_add(&f);
}

ANSWER_TABLE(gpu_metrics_answer, struct gpu)
{
    static const bool counted[METRIC_COUNT] = {
        [METRIC_util_permille] = true, [METRIC_mem_used_bytes] = true,    [METRIC_mem_total_bytes] = true,
        [METRIC_temp_mdegc] = true,    [METRIC_power_mw] = true,          [METRIC_power_limit_mw] = true,
        [METRIC_fan_permille] = true,  [METRIC_clock_graphics_khz] = true};
    for (size_t i = 0; i < METRIC_COUNT; i++)
        add_metric(&metric_table[i], ANSWER_AT(metric[i]), counted[i]);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        FIELD(TEXT, property_table[i].json, property[i].value, property_table[i].help, STATE(property[i].state));
}

ANSWER_TABLE(process_metrics_answer, struct process)
{
    static const bool counted[PROCESS_METRIC_COUNT] = {
        [PROCESS_METRIC_mem_bytes] = true,        [PROCESS_METRIC_util_permille] = true,
        [PROCESS_METRIC_power_mw] = true,         [PROCESS_METRIC_tokens_milli] = true,
        [PROCESS_METRIC_requests_running] = true, [PROCESS_METRIC_requests_waiting] = true,
        [PROCESS_METRIC_kv_cache_permille] = true};
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        add_metric(&process_metric_table[i], ANSWER_AT(metric[i]), counted[i]);
}

SHARED_ANSWER_TABLE(machine_answer, struct host, .name = "Machine", .about = "The host itself: every reading that it has")
{
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        add_metric(&host_metric_table[i], ANSWER_AT(metric[i]), false);
}

/* ---- a process ---- */

ANSWER_NAMES(process_types, enum process_type, process_type_name, PROCESS_COMPUTE, PROCESS_BOTH);
ANSWER_NAMES(power_bases, enum power_basis, power_basis_name, POWER_BASIS_UTILIZATION, POWER_BASIS_ONLY_PROCESS);
ANSWER_NAMES(process_activities, enum process_activity, process_activity_name, PROCESS_ACTIVITY_UNKNOWN + 1, PROCESS_HOLDING);

static bool make_title(const struct answer_at *at, union answer_value *ret)
{
    ret->word = process_title(at->record);
    return ret->word[0];
}

bool make_short_name(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= PROCESS_WORDS, "room");
    process_words(at->record, SHORT_NAME, ret->text);
    return true;
}

/* Outside of containers there is none. */
static enum reading_state container_name_state(const void *record)
{
    const struct process *p = record;
    return p->container[0] ? p->container_name_state : READING_OK;
}

SHARED_ANSWER_TABLE(process_answer, struct process, .name = "Process", .about = "A process on a GPU")
{
    FIELD(INT, "pid", pid, NULL, COUNTS);
    FIELD(TEXT, "name", name, NULL, OR_NULL, FOREIGN);
    FIELD(TEXT, "command", command, "With secrets masked", OR_NULL, FOREIGN);
    FIELD(TEXT, "user", user, NULL, OR_NULL, COUNTS, FOREIGN);
    FIELD(NAME, "type", type, NULL, NAMES(process_types), OR_NULL, COUNTS);
    KEYS(process_metrics_answer);
    FIELD(NAME, "power_basis", power_basis, "How power_watts was attributed", NAMES(power_bases), OR_NULL);
    FIELD(NAME, "activity", activity,
          "loading: fills memory while it keeps CPU or disks busy; holding: has memory and does nothing", NAMES(process_activities),
          OR_NULL, COUNTS);
    FIELD(OBJECT, "limit", limit, "What limits it; null where that was not judged", FIELDS(limit_answer), PRESENT(limit.code));
    FIELD(TEXT, "container", container, "Name or ID of the container it runs in", OR_NULL, FOREIGN);
    FIELD(TEXT, "model", model, "The model it was started with, where its command line or Ollama's manifests say so", OR_NULL,
          COUNTS, FOREIGN);
    MADE(WORD, "display_name", make_title,
         "What people call it: the script or module of an interpreter, the game in Wine, the application in Electron; "
         "otherwise its name",
         OR_NULL, FOREIGN);
    MADE(TEXT, "short_name", make_short_name,
         "Its name in every sentence and table: display_name with the model, \"process 4242\" where nothing is known", COUNTS,
         FOREIGN);
    FIELD(TEXT, "container_name", container_name,
          "The container's own name (NAMESPACE/POD/CONTAINER in Kubernetes); null with a reason in absent where it can't be read",
          OR_NULL, .state = container_name_state, COUNTS, FOREIGN);
    FIELD(TEXT, "job", job,
          "The job it belongs to: the number of a Slurm job, the name of a torchrun's run, or the launcher with its PID "
          "(torchrun:4242)",
          OR_NULL, COUNTS, FOREIGN);
    FIELD(OPTION, "rank", rank, "Its number among the processes of its job, as torchrun, MPI or Slurm gave it", WHOLE);
    FIELD(OPTION, "world_size", world_size, "How many processes its job has, on all hosts", WHOLE);
    FIELD(INT, "parent_pid", parent, "The process that started it", OR_NULL);
    FIELD(TEXT, "parent_name", parent_name, NULL, OR_NULL, FOREIGN);
    FIELD(TEXT, "lease", lease, "The lease it runs under (`/api/leases`)", OR_NULL);
    FIELD(MOMENT, "started_at", started_at, NULL, OR_NULL, COUNTS);
    FIELD(INT, "instance", instance, "The MIG instance it runs on", NONE(-1));
    FIELD(BOOL, "visible", visible, "false: the PID belongs to a process that can't be seen from here");
}

SHARED_ANSWER_TABLE(gpu_of_answer, struct gpu)
{
    FIELD(INT, "gpu_index", index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
}

SHARED_ANSWER_TABLE(process_row_answer, struct process_row, .name = "ProcessOnGpu", .about = "A process with the GPU that it is on")
{
    VIA(KEYS, NULL, gpu, gpu_of_answer, NULL);
    VIA(KEYS, NULL, process, process_answer, NULL);
}

/* ---- a GPU ---- */

ANSWER_NAMES(device_kinds, enum device_kind, device_kind_name, DEVICE_NPU, DEVICE_ACCELERATOR);
ANSWER_NAMES(fan_states, enum fan_state, fan_state_name, FAN_STATE_UNKNOWN, FAN_STATE_STOPPED);
ANSWER_SHARED_NAMES(gpu_states, enum gpu_state, gpu_state_name, GPU_OK, GPU_LOST);

/* Identity has no reading of its own; if it is missing, the GPU's state is the reason. */
static enum reading_state identity_state(const struct gpu *gpu, const char *text)
{
    if (text[0])
        return READING_OK;
    return gpu->state == GPU_OK ? READING_UNSUPPORTED : gpu->state == GPU_ASLEEP ? READING_ASLEEP : READING_FAILED;
}

static enum reading_state uuid_state(const void *record)
{
    return identity_state(record, ((const struct gpu *)record)->id.uuid);
}

static enum reading_state pci_state(const void *record)
{
    return identity_state(record, ((const struct gpu *)record)->id.pci_address);
}

static enum reading_state name_state(const void *record)
{
    return identity_state(record, ((const struct gpu *)record)->id.name);
}

ANSWER_TEST(has_profile, struct gpu, of->profile[0]);

static bool make_fan_state(const struct answer_at *at, union answer_value *ret)
{
    ret->word = fan_state_name(fan_judge(at->record).state);
    return true;
}

ANSWER_TABLE(gpu_lease_answer, struct gpu_lease, .name = "GpuLease")
{
    FIELD(TEXT, "id", id, NULL);
    FIELD(TEXT, "user", user, NULL);
    FIELD(BOOL, "reserved", reserved, "By `whirr reserve`, not by a command that runs");
    FIELD(TEXT, "changes", changes, "Of settings, for people: `power limit 330 W`; null where it is a lease of the GPU", OR_NULL);
    FIELD(MOMENT, "until", until, "null: its end is open", OR_NULL);
}

static const void *next_lease(const struct answer_at *at, struct answer_step *step)
{
    const struct gpu *gpu = at->record;
    const struct gpu_lease *both[] = {&gpu->lease, &gpu->settings};
    while (step->at < ARRAY_LEN(both))
        if (both[step->at++]->id[0])
            return both[step->at - 1];
    return NULL;
}

static const struct answer gpu_answer;

ANSWER_TABLE(gpu_answer, struct gpu, .name = "Gpu", .about = "Everything known about a GPU")
{
    FIELD(INT, "index", index, NULL, COUNTS);
    FIELD(NAME, "kind", id.kind, "Only of what is no GPU", NAMES(device_kinds), PRESENT(id.kind), MAYBE);
    FIELD(TEXT, "uuid", id.uuid, NULL, .state = uuid_state);
    FIELD(TEXT, "profile", profile, "Of an instance: \"1g.18gb\"", WHEN(has_profile), MAYBE);
    FIELD(TEXT, "pci_address", id.pci_address, NULL, .state = pci_state);
    FIELD(TEXT, "vendor", id.vendor, "Its maker, in lower case", OR_NULL);
    FIELD(TEXT, "name", id.name, NULL, .state = name_state, COUNTS);
    FIELD(TEXT, "source", source, "Who reads it", OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
    FIELD(NAME, "state", state, NULL, NAMES(gpu_states), COUNTS);
    FIELD(TEXT, "error_message", error_message, "The driver's words", OR_NULL, COUNTS, FOREIGN);
    MADE(WORD, "fan_state", make_fan_state, NULL, NAMES(fan_states), OPEN);
    FIELD(OBJECT, "activity", activity, NULL, FIELDS(activity_answer));
    EACH(OBJECT, "leases", next_lease,
         "Who has it whole, by `whirr run` or `whirr reserve`, and the first lease that has changed settings of it; empty where "
         "there is neither",
         FIELDS(gpu_lease_answer));
    KEYS(gpu_metrics_answer);
    OBJECTS("processes", processes, process_count, process_answer, "null: they can't be seen", STATE(processes_state));
    FIELD(INT, "processes_left_out", processes_left_out, "Beyond the limit of 1024");
    FIELD(INT, "processes_hidden", processes_hidden, "Exist, but may not be seen");
    OBJECTS("instances", instances, instance_count, gpu_answer, "MIG instances and partitions: the same keys, and `profile`");
}

/* ---- all of them ---- */

ANSWER_NAMES(event_kinds, enum event_kind, event_kind_name, EVENT_DRIVER_FAULT, EVENT_OTHER);
ANSWER_NAMES(source_states, enum source_state, source_state_name, SOURCE_OFF, SOURCE_ASLEEP);

SHARED_ANSWER_TABLE(event_answer, struct event, .name = "GpuEvent")
{
    FIELD(NAME, "kind", kind, NULL, NAMES(event_kinds));
    FIELD(INT, "gpu_index", gpu_index, NULL, NONE(-1));
    FIELD(INT, "code", code, "Of a driver fault: the driver's number for it");
    FIELD(TEXT, "text", text, NULL);
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(source_answer, struct source_status, .name = "Source")
{
    FIELD(TEXT, "name", name, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(source_states));
    FIELD(INT, "gpu_count", gpu_count, NULL);
    FIELD(INT, "errors_total", errors_total, NULL);
    FIELD(INT, "consecutive_errors", consecutive_errors, NULL);
    FIELD(INT, "init_failures_total", init_failures_total, NULL);
    FIELD(INT, "implausible_total", implausible_total, "Impossible readings");
    FIELD(TEXT, "message", message, "Why it is not ok, in the driver's words", OR_NULL, FOREIGN);
}

static const void *next_source(const struct answer_at *at, struct answer_step *step)
{
    const struct snapshot *s = at->record;
    while (step->at < s->source_count)
        if (s->sources[step->at++].state != SOURCE_OFF) {
            step->item.pair.key = s->sources[step->at - 1].name;
            return &step->item;
        }
    return NULL;
}

SHARED_ANSWER_TABLE(source_names_answer, struct snapshot)
{
    EACH(WORD, "sources", next_source, "Those in use");
}

struct told_metrics {
    const struct snapshot *s;
    const struct gpu *gpus, *accelerators;
    const struct host *host;
    size_t gpu_count, accelerator_count;
    struct findings_told found;
    struct told_totals totals;
    struct told_driver driver;
    struct told_resources resources;
};

SHARED_ANSWER_TABLE(snapshot_head_answer, struct snapshot)
{
    FIELD(MOMENT, "timestamp", taken_at, NULL, COUNTS);
    FIELD(TEXT, "host", host.name, NULL, OR_NULL, COUNTS);
    KEYS(source_names_answer);
}

ANSWER_TABLE(snapshot_tail_answer, struct snapshot)
{
    OBJECTS("source_status", sources, source_count, source_answer, NULL);
    OBJECTS("events", events, event_count, event_answer, "What happened to the GPUs since the last sample");
}

SHARED_ANSWER_TABLE(metrics_answer, struct told_metrics, .name = "Metrics", .about = "Everything known about all GPUs")
{
    VIA(KEYS, NULL, s, snapshot_head_answer, NULL);
    OBJECTS("gpus", gpus, gpu_count, gpu_answer, NULL);
    OBJECTS("accelerators", accelerators, accelerator_count, gpu_answer, "NPUs and accelerators, with a `kind`; in no sum of GPUs");
    FIELD(OBJECT, "totals", totals, NULL, FIELDS(totals_answer));
    FIELD(OBJECT, "driver", driver, NULL, FIELDS(driver_answer));
    VIA(KEYS, NULL, s, snapshot_tail_answer, NULL);
    FIELD(KEYS, NULL, found, NULL, FIELDS(verdict_answer));
    FIELD(OBJECT, "resources", resources, NULL, FIELDS(resources_answer));
    VIA(OBJECT, "machine", host, machine_answer, NULL);
}

void json_metrics(struct json_writer *j, const struct snapshot *s, int only)
{
    bool all = only == ALL_GPUS;
    answer_write(j, &metrics_answer,
                 &(struct told_metrics){.s = s,
                                        .host = &s->host,
                                        .gpus = all ? s->gpus : &s->gpus[only],
                                        .gpu_count = all ? s->gpu_count : 1,
                                        .accelerators = s->accelerators,
                                        .accelerator_count = all ? s->accelerator_count : 0,
                                        .totals = told_totals(s),
                                        .driver = told_driver(s),
                                        .resources = told_resources(s, &s->host),
                                        .found = told_findings(s->verdict, all ? EVERY_GPU : s->gpus[only].index)},
                 NULL);
}
