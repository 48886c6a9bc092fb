/* SPDX-License-Identifier: Apache-2.0
 * Answers that are written from a table: the same keys and values as before there were tables (tests/golden/answers), back and
 * forth without loss, and types of the dashboard that follow them.
 */
#include "answer/answer.h"

#include <math.h>
#include <stdio.h>

#include "../format/sample.h"
#include "answer_members.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/units.h"
#include "format/alert_forms.h"
#include "format/capacity_forms.h"
#include "format/forecast_forms.h"
#include "format/health_forms.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/lease_forms.h"
#include "format/notifiers.h"
#include "format/process_rows.h"
#include "insight/view/idle_audit.h"
#include "model/finding_code.h"
#include "serve/api/assets.h"

static const struct wall now = {1800000000000};

/* ---- examples: as much as there can be, and nothing at all ---- */

static void write_notifiers(struct json_writer *j, bool full)
{
    struct notifier_stats list[2] = {{.name = "ops",
                                      .type = notify_type_name(CONFIG_NOTIFY_WEBHOOK),
                                      .target = "http://127.0.0.1/...",
                                      .state = NOTIFIER_RETRYING,
                                      .sent_total = 12,
                                      .failed_total = 1,
                                      .attempts_total = 14,
                                      .errors_total = 2,
                                      .queued = 3,
                                      .held = 2,
                                      .held_until = {now.ms + HOUR_MS},
                                      .quiet = "22:00-07:00 info\n12:00-13:00",
                                      .digest = "08:00",
                                      .last_sent_at = now,
                                      .next_try_at = {now.ms + 1000},
                                      .last_error = "refused: \"no\""},
                                     {.name = "chat", .type = notify_type_name(CONFIG_NOTIFY_SLACK)}};
    json_notifiers(j, list, full ? 2 : 0);
}

static struct lease lease_example(bool full)
{
    struct lease l = {.id = "k3f9qa2x", .uid = 1000, .user = "alice", .made = now, .from = now};
    if (!full)
        return l;
    l.kind = LEASE_RESERVE;
    l.state = LEASE_ACTIVE;
    l.pid = 4242;
    l.start_key = 123456789;
    l.until.ms = now.ms + HOUR_MS;
    l.ticket = 7;
    l.gpus_wanted = 2;
    l.mem_bytes = 20 * GIB_BYTES;
    l.exclusive = l.simulated = true;
    l.gpu_count = 2;
    l.setting_count = 1;
    l.idle_since = now;
    snprintf(l.boot, sizeof l.boot, "b00t");
    snprintf(l.command, sizeof l.command, "/usr/bin/python3 train.py");
    snprintf(l.note, sizeof l.note, "paper");
    snprintf(l.ended_why, sizeof l.ended_why, "its time is over");
    l.gpus[0] =
        (struct lease_gpu){.uuid = "GPU-0", .index = 0, .free_bytes = reading_ok(7), .used_bytes = reading_ok((int64_t)1 << 60)};
    l.gpus[1] = (struct lease_gpu){.uuid = "GPU-1", .index = 1, .used_bytes = reading_absent(READING_DENIED)};
    l.settings[0] = (struct lease_setting){.what = "power_limit",
                                           .gpu = "GPU-0",
                                           .step = "written",
                                           .asked = reading_ok(330000),
                                           .before = reading_ok(450000),
                                           .least = reading_ok(100000),
                                           .most = reading_ok(600000),
                                           .asked_text = "quiet"};
    return l;
}

static void write_lease(struct json_writer *j, bool full)
{
    struct lease l = lease_example(full);
    lease_json(j, &l);
}

static void write_leases(struct json_writer *j, bool full)
{
    struct lease two[2] = {lease_example(true), lease_example(false)};
    struct lease_list list = {.at = two, .count = full ? 2 : 0, .problem_count = full ? 1 : 0};
    two[1].state = LEASE_ENDED;
    snprintf(list.problems[0], sizeof list.problems[0], "x.json: it is broken");
    json_leases(j, &list, false, NULL);
}

static void write_guard(struct json_writer *j, bool full)
{
    struct guard_status list[2] = {{.name = "ollama",
                                    .state = GUARD_PAUSED,
                                    .since = now,
                                    .resumes_at = {now.ms + 60000},
                                    .claim = 3,
                                    .reason = "steam needs GPU 0",
                                    .problem = "none",
                                    .method = "http",
                                    .pid = 4242,
                                    .pid_count = 2,
                                    .bytes = 3 * GIB_BYTES / 2,
                                    .others = 3,
                                    .gpus = {5, 1},
                                    .held = true,
                                    .hot = true,
                                    .not_freed = true,
                                    .gated = true,
                                    .idle = true,
                                    .idle_ms = 90500,
                                    .asked_at = now,
                                    .waiting = 4,
                                    .in_flight = 1,
                                    .evictions_total = 9,
                                    .resumes_total = 8,
                                    .failures_total = 1,
                                    .evict_ms = 1234,
                                    .resume_ms = 2000},
                                   {.name = "vllm", .bytes = -1}};
    json_guard(j, list, full ? 2 : 0);
}

static void write_guard_event(struct json_writer *j, bool full)
{
    struct guard_event event = {
        .kind = full ? 1 : 0, .worker = "ollama", .state = GUARD_PAUSED, .text = "is off the GPU", .at = now};
    json_guard_event(j, &event);
}

static void write_guard_health(struct json_writer *j, bool full)
{
    struct guard_status list[3] = {{.state = GUARD_PAUSED}, {.gave_up = true}, {.name = "x"}};
    json_guard_health(j, list, full ? 3 : 0, full ? "it sees nothing" : NULL);
}

static void add_when(struct forecast_when *w, enum forecast_verdict verdict)
{
    *w = (struct forecast_when){.verdict = verdict, .basis_s = 300.25, .reason = "train.py is growing"};
    if (verdict == FORECAST_EXPECTED) {
        w->likely_s = 720.04;
        w->earliest_s = 660;
        w->latest_s = HUGE_VAL;
    }
}

static struct forecast *forecast_example(bool full)
{
    struct forecast *f = calloc(1, sizeof *f + 2 * sizeof f->gpus[0]);
    f->at = full ? now : (struct wall){0};
    f->count = full ? 2 : 0;
    f->has_store = full;
    add_when(&f->store.when, FORECAST_REACHED);
    f->store.of_disk = true;
    f->store.used_bytes = reading_ok(123456789);
    f->store.disk_free_bytes = reading_absent(READING_DENIED);
    f->store.bytes_per_s = 10;
    for (size_t i = 0; i < f->count; i++) {
        struct forecast_gpu *g = &f->gpus[i];
        g->gpu_index = (int)i;
        snprintf(g->id.name, sizeof g->id.name, "RTX");
        snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-%zu", i);
        add_when(&g->vram.when, i ? FORECAST_UNKNOWN : FORECAST_EXPECTED);
        add_when(&g->heat.when, i ? FORECAST_NEVER : FORECAST_REACHED);
        g->heat.now_mdegc = reading_ok(71500);
        g->heat.limit_mdegc = reading_absent(READING_UNSUPPORTED);
        g->heat.final_c = i ? 74.26 : NAN;
        g->heat.tau_s = i ? 58.13 : NAN;
    }
    if (full) {
        struct forecast_vram *v = &f->gpus[0].vram;
        v->used_bytes = reading_ok(18000 * MIB_BYTES);
        v->room_bytes = reading_ok(24132 * MIB_BYTES);
        v->bytes_per_s = 512.0 * MIB_BYTES / 60;
        v->pid = 4242;
        snprintf(v->name, sizeof v->name, "python3");
        snprintf(v->words, sizeof v->words, "train.py");
        snprintf(v->user, sizeof v->user, "alice");
    }
    return f;
}

static void write_forecast(struct json_writer *j, bool full)
{
    struct forecast *f = forecast_example(full);
    struct forecast_basis basis = {.host = full ? "box" : NULL, .simulated = full, .remembered = full, .watched_s = 86400.04};
    json_forecast(j, f, &basis, ALL_GPUS);
    free(f);
}

static struct usual usual_example(bool full)
{
    struct usual u = {.days = 1};
    if (!full)
        return u;
    u = (struct usual){.days = 28,
                       .confidence = 0.95,
                       .since = now,
                       .start = BASELINE_NEW_FAN_CURVE,
                       .temp_mdegc = reading_ok(71500),
                       .temp_low_mdegc = reading_ok(70000),
                       .temp_high_mdegc = reading_ok(-3000),
                       .at_more_power = true,
                       .ambient_mdegc = reading_ok(22250),
                       .fan_permille = reading_ok(405),
                       .idle_power_mw = reading_ok(21000),
                       .util_permille = reading_ok(333),
                       .too_hot = true,
                       .fan_behind = true,
                       .at_clock = {10501000, 52000},
                       .at_low_clock = {405000, 21000},
                       .step_count = 2,
                       .drift = {.rising = true,
                                 .strong = true,
                                 .days = 60,
                                 .since = {now.ms - 60 * 24 * HOUR_MS},
                                 .until = now,
                                 .power_mw = 300000,
                                 .mdegc_per_month = 1500,
                                 .fan_permille_per_month = -25}};
    u.steps[0] = (struct baseline_step){.pid = 7, .since = now, .before_mw = 20000, .since_mw = 35500};
    u.steps[1] = (struct baseline_step){.pid = 8};
    return u;
}

static void write_usual(struct json_writer *j, bool full)
{
    struct usual u = usual_example(full);
    jw_object(j);
    jw_key(j, "usual");
    if (full)
        answer_write(j, &usual_answer, &u, NULL);
    else
        jw_null(j);
    jw_end(j);
}

static void write_usual_early(struct json_writer *j, bool full)
{
    struct usual u = usual_example(false);
    (void)full;
    jw_object(j);
    jw_key(j, "usual");
    answer_write(j, &usual_answer, &u, NULL);
    jw_end(j);
}

static struct capacity *capacity_example(void)
{
    struct capacity *c = capacity_alloc(3);
    c->guard_known = true;
    c->hold_count = 2;
    c->holds[0] = (struct capacity_hold){.worker = "ollama", .gpu_index = 0, .bytes = 12288 * MIB_BYTES, .evictable = true};
    c->holds[1] = (struct capacity_hold){.worker = "vllm", .gpu_index = 1, .bytes = MIB_BYTES / 2};
    for (int i = 0; i < 3; i++) {
        struct capacity_gpu *g = &c->gpus[i];
        *g = (struct capacity_gpu){
            .index = i ? 1 : 0, .instance = i == 2 ? 4 : -1, .usable = i != 1, .shared = i == 1, .only_if_named = i == 1};
        snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-%d", i);
        snprintf(g->id.name, sizeof g->id.name, "RTX");
    }
    struct capacity_gpu *g = &c->gpus[0];
    snprintf(g->id.pci_address, sizeof g->id.pci_address, "0000:01:00.0");
    snprintf(g->id.vendor, sizeof g->id.vendor, "nvidia");
    g->simulated = true;
    g->total_bytes = reading_ok(24564 * MIB_BYTES);
    g->free_bytes = reading_ok(9216 * MIB_BYTES);
    g->reserve_bytes = 1024 * MIB_BYTES;
    g->available_bytes = reading_ok(8192 * MIB_BYTES);
    g->reclaimable_bytes = reading_ok(12288 * MIB_BYTES);
    g->util_permille = reading_ok(37);
    g->least_hour_bytes = reading_ok(7168 * MIB_BYTES);
    g->least_day_bytes = reading_ok(512 * MIB_BYTES);
    g->watched_ms = 86400 * MS_PER_S;
    snprintf(c->gpus[1].problem, sizeof c->gpus[1].problem, "it is lost");
    c->gpus[1].total_bytes = reading_absent(READING_FAILED);
    return c;
}

static void write_capacity(struct json_writer *j, bool full)
{
    AUTO_FREE struct capacity *c = capacity_example();
    AUTO_FREE struct snapshot *s = calloc(1, sizeof *s + 2 * sizeof s->gpus[0]);
    struct capacity_courses *courses = courses_new();
    for (int i = 0; i < 3; i++)
        courses_add(courses, &c->gpus[0].id, (struct wall){now.ms - i * 20 * 60000}, (9216 - i) * MIB_BYTES);
    s->taken_at = now;
    s->gpu_count = 2;
    s->gpus[1].index = 1;
    snprintf(s->host.name, sizeof s->host.name, "box");
    json_capacity(j, s, c, full ? courses : NULL, full ? ALL_GPUS : 1);
    courses_free(courses);
}

static void write_placement(struct json_writer *j, bool full)
{
    AUTO_FREE struct capacity *c = capacity_example();
    struct placement_request request = {
        .bytes = 16384 * MIB_BYTES, .fixed_bytes = 512 * MIB_BYTES, .only = -1, .count = full ? 2 : 0};
    static const int64_t layers[] = {1, 2};
    AUTO_FREE struct placement *p = calloc(1, sizeof *p);
    struct model_facts facts = {.format = "gguf", .architecture = "llama", .tensor_count = 291, .context = reading_ok(8192)};
    struct model_need need = {.layer_count = 33,
                              .weight_bytes = 4096 * MIB_BYTES,
                              .host_bytes = 256 * MIB_BYTES,
                              .context = 4096,
                              .cache_bytes = reading_ok(512 * MIB_BYTES),
                              .overhead_bytes = 300 * MIB_BYTES,
                              .complete = true};
    struct fit_subject subject = {.context_wanted = -1};
    *p = (struct placement){
        .verdict = full ? PLACEMENT_FITS : PLACEMENT_UNKNOWN, .missing_bytes = full ? 0 : -1, .reason = "it fits"};
    if (full) {
        request.layers = layers;
        subject =
            (struct fit_subject){.path = "/m.gguf", .facts = &facts, .need = &need, .cache_type = "f16", .context_wanted = 4096};
        p->copy_count = 1;
        p->copies[0] = (struct placement_copy){.share_count = 2, .shares = {{0, 8192 * MIB_BYTES, 20}, {2, 8192 * MIB_BYTES, 13}}};
        p->evicted_count = 1;
        snprintf(p->evicted[0], sizeof p->evicted[0], "ollama");
    }
    json_placement(j, c, &request, p, &subject);
}

static struct alert alert_example(enum alert_phase phase)
{
    struct alert a = {
        .rule = "hot",
        .severity = SEVERITY_WARNING,
        .scope = SCOPE_GPU,
        .gpu_index = phase == ALERT_RESOLVED ? -1 : 1,
        .gpu_uuid = "GPU-1",
        .gpu_name = "RTX",
        .simulated = true,
        .host = "box",
        .pid = phase == ALERT_FIRING ? 4242 : 0,
        .process = "python3",
        .state = {.phase = phase, .pending_at = now, .started_at = {now.ms + 1}, .ended_at = {now.ms + 2}, .flapping = true},
        .has_value = phase == ALERT_FIRING,
        .value = 88.5,
        .summary = "GPU 1 is hot",
        .label_count = phase == ALERT_FIRING ? 1 : 0,
        .labels = {{"team", "ml"}}};
    if (phase == ALERT_FIRING)
        snprintf(a.silenced_by, sizeof a.silenced_by, "s1");
    return a;
}

static void write_alerts(struct json_writer *j, bool full)
{
    struct alert three[3] = {alert_example(ALERT_FIRING), alert_example(ALERT_PENDING), alert_example(ALERT_RESOLVED)};
    struct alert *list[3] = {&three[0], &three[1], &three[2]};
    AUTO_FREE struct alert_set *set = calloc(1, sizeof *set);
    snprintf(three[1].rule, sizeof three[1].rule, "mine");
    set->list = list;
    set->count = 3;
    set->left_out = 3;
    set->last_at = full ? now : (struct wall){0};
    set->silences.count = full;
    set->silences.list[0] = (struct silence){.id = "s1",
                                             .matcher_count = 2,
                                             .matchers = {{"alert", "hot"}, {"gpu", "*"}},
                                             .created_at = now,
                                             .until = {now.ms + HOUR_MS},
                                             .comment = "new fans"};
    json_alerts(j, set, full ? EVERY_GPU : 1);
}

static void write_rules(struct json_writer *j, bool full)
{
    AUTO_FREE struct alert_rules *rules = calloc(1, sizeof *rules);
    struct alert a = alert_example(ALERT_FIRING), *list[1] = {&a};
    AUTO_FREE struct alert_set *set = calloc(1, sizeof *set);
    static const struct config_pair pairs[] = {{"team", "ml"}};
    static const char *const names[] = {"ops", "chat"};
    char template[] = "{{gpu}} is hot", none[] = "";
    struct expr_error err;
    set->list = list;
    set->count = 1;
    rules->count = 2;
    rules->list[0] = (struct alert_rule){.name = "hot",
                                         .builtin = true,
                                         .changed = true,
                                         .enabled = true,
                                         .finding = FINDING_HOT,
                                         .severity = SEVERITY_WARNING,
                                         .scope = SCOPE_GPU,
                                         .hold_ms = 1500,
                                         .summary = template,
                                         .help = "Too hot",
                                         .labels = {pairs, 1},
                                         .notify = {names, 2}};
    rules->list[1] = (struct alert_rule){.name = "mine", .scope = SCOPE_GPU, .summary = none, .help = "", .clear_hold_ms = 60000};
    assert_int_equal(expr_parse(STR("utilization_percent > 10"), &rules->list[1].when, &err), 0);
    assert_int_equal(expr_parse(STR("utilization_percent < 5"), &rules->list[1].clear, &err), 0);
    json_alert_rules(j, rules, full ? set : NULL);
    expr_free(rules->list[1].when);
    expr_free(rules->list[1].clear);
}

static struct snapshot *snapshot_example(bool full)
{
    struct snapshot *s = snapshot_new(full ? 3 : 0);
    snprintf(s->host.name, sizeof s->host.name, "box");
    for (size_t i = 0; full && i < HOST_METRIC_COUNT; i++)
        s->host.metric[i] = i % 5 == 4 ? reading_absent(READING_PENDING) : reading_ok((int64_t)i * 1000 + 1000);
    s->host.mem_total_bytes = full ? reading_ok(64 * GIB_BYTES) : reading_absent(READING_DENIED);
    s->host.mem_available_bytes = reading_ok(37 * GIB_BYTES + GIB_BYTES / 2);
    if (!full)
        return s;
    for (int i = 0; i < 3; i++) {
        struct gpu *gpu = &s->gpus[i];
        gpu->index = i;
        gpu->state = (enum gpu_state[]){GPU_OK, GPU_LOST, GPU_ERROR}[i];
        snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-%d", i);
        snprintf(gpu->id.vendor, sizeof gpu->id.vendor, i == 2 ? "amd" : "nvidia");
    }
    struct gpu *gpu = &s->gpus[0];
    snprintf(gpu->id.name, sizeof gpu->id.name, "RTX");
    snprintf(gpu->id.pci_address, sizeof gpu->id.pci_address, "0000:01:00.0");
    snprintf(gpu->source, sizeof gpu->source, "sim");
    snprintf(s->gpus[2].error_message, sizeof s->gpus[2].error_message, "it fell off the bus");
    gpu_set_property(gpu, PROPERTY_memory_kind, "dedicated");
    gpu->simulated = true;
    gpu->mem_total_bytes = reading_ok(24564 * MIB_BYTES + 1000);
    gpu->mem_free_bytes = reading_ok(8 * GIB_BYTES);
    gpu->mem_used_bytes = reading_absent(READING_DENIED);
    gpu->util_permille = reading_ok(775);
    gpu->temp_mdegc = reading_ok(71000);
    snprintf(s->driver.driver_version, sizeof s->driver.driver_version, "535.104.05");
    snprintf(s->driver.cuda_version, sizeof s->driver.cuda_version, "12.2");
    return s;
}

static void write_devices(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = snapshot_example(true);
    json_devices(j, s, full ? ALL_GPUS : 2);
}

static void write_driver(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = snapshot_example(full);
    json_driver(j, s);
}

static void write_resources(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = snapshot_example(full);
    json_resources(j, s, &s->host);
}

/* ---- a whole machine, and what is said of it ---- */

static struct snapshot *machine_example(bool full)
{
    if (!full)
        return snapshot_new(0);
    struct snapshot *s = sample_machine();
    struct gpu *gpu = &s->gpus[0];
    struct process *p = &gpu->processes[0];
    gpu->activity = (struct activity){.code = ACTIVITY_BUSY,
                                      .symptoms = 1u << SYMPTOM_HOT | 1u << SYMPTOM_LOUD,
                                      .throttled_by = THROTTLE_POWER_CAP,
                                      .bursts = true,
                                      .load_permille = reading_ok(655)};
    p->limit = (struct process_limit){.code = 1, .share_permille = 815, .over_ms = 61500, .confidence = 0.876, .second = 2};
    p->rank = reading_ok(3);
    p->world_size = reading_ok(8);
    p->parent = 77;
    p->activity = PROCESS_LOADING;
    snprintf(p->container, sizeof p->container, "c0ffee");
    p->container_name_state = READING_DENIED;
    gpu->processes_left_out = 2;
    snprintf(gpu->lease.id, sizeof gpu->lease.id, "k3f9");
    snprintf(gpu->lease.user, sizeof gpu->lease.user, "bob");
    gpu->lease.until = now;
    gpu->lease.reserved = true;
    gpu->not_attributed_mw = reading_ok(11000);
    s->host.cpu_count = reading_ok(16);
    s->event_count = 2;
    s->events[0] = (struct event){.kind = 1, .gpu_index = 2, .code = 79, .at = now, .text = "XID 79"};
    s->events[1] = (struct event){.kind = 0, .gpu_index = -1};
    return s;
}

static void fill_finding(struct finding *f, int i)
{
    *f = (struct finding){.code = i ? FINDING_HOT : FINDING_HEAT_LIMIT,
                          .severity = i ? SEVERITY_NOTICE : SEVERITY_CRITICAL,
                          .confidence = 0.95,
                          .gpu_index = i ? -1 : 0,
                          .tense = i ? TENSE_WAS : TENSE_COMES_AND_GOES,
                          .is_effect = i,
                          .root = FINDING_HEAT_LIMIT,
                          .muted = i};
    snprintf(f->headline, sizeof f->headline, "GPU 0 is hot");
    if (i) {
        f->until = now;
    } else {
        f->since = now;
        f->pid = 4242;
        f->share_minute_permille = reading_ok(1000);
        f->share_ten_permille = reading_ok(412);
    }
}

static void fill_part(struct why_part *p)
{
    p->severity = SEVERITY_WARNING;
    p->cause_count = 2;
    p->suggestion_count = 1;
    for (size_t i = 0; i < 2; i++) {
        struct why_cause *c = &p->causes[i];
        *c = (struct why_cause){.code = FINDING_HOT, .confidence = i ? 0.5 : 0.875, .text = "It is warm.", .evidence_count = i};
        c->pid = i ? 4242 : 0;
        snprintf(c->process, sizeof c->process, "%s", i ? "python3" : "");
        snprintf(c->evidence[0], WHY_LINE_SIZE, "71 °C");
    }
    snprintf(p->answer, sizeof p->answer, "It is warm.");
    snprintf(p->suggestions[0], WHY_LINE_SIZE, "Open a window");
    p->remedies[0] = (struct remedy){.number = 1,
                                     .text = "Open a window",
                                     .code = REMEDY_AIR,
                                     .root = FINDING_HOT,
                                     .command = "whirr do",
                                     .affects_count = 1,
                                     .affects = {"train.py"},
                                     .source = EXPECTED_OWN_HISTORY,
                                     .expected.power_mw = reading_ok(-40000),
                                     .seen = {1763400000000}};
    p->brief = (struct why_brief){.trouble = true, .headline = "warm", .state = "busy", .numbers = "", .doing = "train.py"};
    p->usual.days = 3;
    p->usual.temp_mdegc = reading_ok(65000);
    snprintf(p->after_resume, WHY_LINE_SIZE, "power limit 450 W");
    struct idle_audit *a = &p->idle_audit;
    *a = (struct idle_audit){.looked = true, .answer = "idle at 38 W", .count = 2, .hidden = 4, .excess_mw = reading_ok(17000)};
    a->findings[0] = (struct idle_finding){.code = IDLE_CODE_BROWSER, .keeps = true, .pid = 9, .added_mw = reading_ok(5500)};
    a->findings[1] = (struct idle_finding){.code = IDLE_CODE_ASPM, .text = "it is off"};
    a->ruled_out = 1u << IDLE_CODE_VIDEO | 1u << IDLE_CODE_OPEN;
    a->suggestion_count = 1;
    snprintf(a->suggestions[0], WHY_LINE_SIZE, "Close it");
}

static struct why *why_example(const struct snapshot *s)
{
    struct why *why = calloc(1, sizeof *why + s->gpu_count * sizeof why->gpus[0]);
    why->verdict = verdict_new(s->gpu_count, 2);
    why->gpu_count = s->gpu_count;
    why->machine.gpu_index = -1;
    snprintf(why->answer, sizeof why->answer, "All is well.");
    for (size_t i = 0; i < s->gpu_count; i++) {
        why->gpus[i].gpu_index = why->verdict->gpus[i].gpu_index = s->gpus[i].index;
        why->gpus[i].activity = s->gpus[i].activity;
    }
    if (s->gpu_count == 0)
        return why;
    why->verdict->gpus[0].looked = 1u << AREA_FAN | 1u << AREA_HEAT;
    snprintf(why->verdict->gpus[0].missing, sizeof why->verdict->gpus[0].missing, "errors");
    fill_part(&why->gpus[0]);
    for (int i = 0; i < 2; i++)
        fill_finding(&why->verdict->findings[why->verdict->count++], i);
    return why;
}

static void write_why(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(full);
    struct why *why = why_example(s);
    json_why(j, s, why, ALL_GPUS);
    why_free(why);
}

static void write_why_of_one(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(true);
    struct why *why = why_example(s);
    json_why(j, s, why, full ? 0 : 2);
    why_free(why);
}

static void write_metrics(struct json_writer *j, bool full)
{
    struct snapshot *s = machine_example(full);
    struct why *why = why_example(s);
    s->verdict = full ? verdict_copy(why->verdict) : NULL;
    json_metrics(j, s, ALL_GPUS);
    why_free(why);
    snapshot_unref(s);
}

static void write_summary(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(full);
    struct why *why = why_example(s);
    json_summary(j, s, full ? why : NULL);
    why_free(why);
}

static void write_stats(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(full);
    json_stats(j, s, ALL_GPUS);
}

static void write_processes(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(full);
    struct process_rows rows;
    assert_int_equal(process_rows_init(&rows, s, &(struct process_filter){.only = ALL_GPUS}), 0);
    json_processes(j, s, &rows);
    process_rows_done(&rows);
}

static void write_limits(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(true);
    struct process_rows rows;
    struct program_lines lines = {.blame = BLAME_MAIN, .looks = 200, .few_cores = true, .count = 1};
    lines.places[0] = (struct place){.file = "train.py", .function = "augment", .line = 88, .permille = 624, .thread = "main"};
    lines.places[0].caller_file = "main.py";
    lines.places[0].caller_line = 7;
    assert_int_equal(process_rows_init(&rows, s, &(struct process_filter){.only = ALL_GPUS, .pid = full ? 4242 : 9}), 0);
    json_limits(j, s, &rows, &(struct limits_told){"in Python", full ? &lines : NULL, full ? "" : "denied"});
    process_rows_done(&rows);
}

static void write_codes(struct json_writer *j, bool full)
{
    struct finding_settings settings = {0};
    settings.list[2].muted = full;
    json_finding_codes(j, &settings);
}

static void write_cpu_samples(struct json_writer *j, bool full)
{
    struct address_samples s = {.state = READING_DENIED, .why = "may not"};
    if (full)
        s = (struct address_samples){.over_ms = 500, .samples = 90, .threads = 3, .cpu_permille = 1995, .permille = {[1] = 605}};
    if (full)
        s.objects[0] = (struct address_object){"libtorch_cpu.so", 605};
    json_cpu_samples(j, 4242, &s);
}

static struct health *health_example(bool full)
{
    struct health *h = calloc(1, sizeof *h + sizeof h->verdicts[0]);
    struct health_verdict *v = &h->verdicts[0];
    h->count = full;
    *v = (struct health_verdict){.gpu_index = 1,
                                 .id = {.name = "H200", .uuid = "GPU-1"},
                                 .simulated = true,
                                 .activity = {.code = ACTIVITY_IDLE, .throttled_by = THROTTLE_SW_THERMAL},
                                 .state = HEALTH_FAILING,
                                 .before = HEALTH_HEALTHY,
                                 .since = now,
                                 .reason = "XID 95.",
                                 .action = "Reset it.",
                                 .finding_count = 2};
    h->worst = HEALTH_FAILING;
    v->usual.days = 2;
    v->findings[0] = (struct health_finding){.check = HEALTH_CHECK_XID, .code = FINDING_XID, .state = HEALTH_FAILING, .fault = 95};
    v->findings[0].since = now;
    v->findings[1] = (struct health_finding){.state = HEALTH_HEALTHY, .reason = "fine", .action = "none"};
    return h;
}

static void write_health(struct json_writer *j, bool full)
{
    AUTO_SNAPSHOT const struct snapshot *s = machine_example(full);
    struct why *why = why_example(s);
    AUTO_FREE struct health *h = health_example(full);
    struct health_basis basis = {.at = full ? now : (struct wall){0},
                                 .remembered = full,
                                 .watched_since = full ? now : (struct wall){0},
                                 .log_state = full ? "read" : "denied",
                                 .log_message = full ? "" : "ask root"};
    json_health(j, h, &basis, full ? why->verdict : NULL, HEALTH_ALL);
    why_free(why);
}

static void write_health_change(struct json_writer *j, bool full)
{
    AUTO_FREE struct health *h = health_example(true);
    json_health_change(j, &h->verdicts[0], full ? now : (struct wall){0});
}

static const struct example {
    const char *name;
    void (*write)(struct json_writer *j, bool full);
} examples[] = {
    {"notifiers", write_notifiers},
    {"lease", write_lease},
    {"leases", write_leases},
    {"guard", write_guard},
    {"guard event", write_guard_event},
    {"guard health", write_guard_health},
    {"forecast", write_forecast},
    {"usual", write_usual},
    {"usual, early", write_usual_early},
    {"capacity", write_capacity},
    {"placement", write_placement},
    {"alerts", write_alerts},
    {"alert rules", write_rules},
    {"devices", write_devices},
    {"driver", write_driver},
    {"resources", write_resources},
    {"why", write_why},
    {"why, one GPU", write_why_of_one},
    {"metrics", write_metrics},
    {"summary", write_summary},
    {"stats", write_stats},
    {"processes", write_processes},
    {"limits", write_limits},
    {"finding codes", write_codes},
    {"cpu samples", write_cpu_samples},
    {"health", write_health},
    {"health change", write_health_change},
};

static json_t *example_json(const struct example *e, bool full)
{
    AUTO_BUF struct buf text = BUF(1 << 20);
    struct json_writer j = JSON_WRITER(&text);
    e->write(&j, full);
    json_t *json = json_loadb(buf_view(&text).at, text.len, JSON_REJECT_DUPLICATES, NULL);
    if (!json)
        fail_msg("%s is not JSON: %s", e->name, buf_view(&text).at);
    return json;
}

static void source_path(char path[512], const char *name)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    snprintf(path, 512, "%s/%s", root ? root : ".", name);
}

/* Fails at the first difference, and says where it is. Only reasons may be added: they came with the tables. */
static void compare(const char *path, const json_t *was, const json_t *is, bool reasons)
{
    char deeper[512];
    const char *key;
    json_t *value;
    size_t i;
    if (json_equal(was, is))
        return;
    json_object_foreach((json_t *)was, key, value)
    {
        snprintf(deeper, sizeof deeper, "%.400s.%.64s", path, key);
        compare(deeper, value, json_object_get(is, key), strcmp(key, "absent") == 0);
    }
    if (json_is_object(was) && json_is_object(is)) {
        json_object_foreach((json_t *)is, key, value) if (!json_object_get(was, key) && !reasons && strcmp(key, "absent") != 0)
            fail_msg("%s.%s is new", path, key);
        return;
    }
    json_array_foreach(was, i, value)
    {
        snprintf(deeper, sizeof deeper, "%.400s[%zu]", path, i);
        compare(deeper, value, json_array_get(is, i), false);
    }
    if (json_is_array(was) && json_array_size(was) == json_array_size(is))
        return;
    AUTO_FREE char *before = json_dumps(was, JSON_ENCODE_ANY), *now_is = json_dumps(is, JSON_ENCODE_ANY);
    fail_msg("%s was %s and is %s", path, before, now_is);
}

static void answers_are_as_they_were(void **state)
{
    (void)state;
    char path[512];
    source_path(path, "tests/golden/answers.json");
    json_t *before = json_load_file(path, 0, NULL), *present = json_object();
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        json_t *both = json_pack("[o, o]", example_json(&examples[i], true), example_json(&examples[i], false));
        const json_t *was = json_object_get(before, examples[i].name);
        if (was || !getenv("WHIRR_WRITE_GOLDEN"))
            compare(examples[i].name, was, both, false);
        json_object_set_new(present, examples[i].name, both);
    }
    json_object_update_missing(before, present);
    if (getenv("WHIRR_WRITE_GOLDEN")) /* what is recorded stays */
        assert_int_equal(json_dump_file(before, path, JSON_INDENT(1)), 0);
    json_decref(present);
    json_decref(before);
}

/* ---- any answer, without an example of it ---- */

/* A record of random bytes that its answer can be asked about: what is a bool, a name or a text is one. */
static void fill(const struct answer *a, char *record, uint32_t *seed)
{
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        char *at = record + f->offset;
        int64_t number = next_random(seed) % 100000;
        double real = (1 + (double)number / 10) / (f->scale != 0 ? f->scale : 1); /* rounded, it is not 0 */
        struct reading reading = next_random(seed) % 3 ? reading_ok(f->scale < 1e-4 && f->scale != 0 ? number * MIB_BYTES : number)
                                                       : reading_absent(READING_UNSUPPORTED + next_random(seed) % 5);
        if (f->make || f->next || f->by_pointer || f->by_text)
            continue;
        if (f->flag_size == sizeof(bool))
            record[f->flag_offset] = 1;
        if (f->has_state)
            memcpy(record + f->state_offset, &reading.state, sizeof reading.state);
        switch (f->kind) {
        case ANSWER_INT: memcpy(at, &number, f->size); break;
        case ANSWER_AMOUNT:
            number *= f->scale < 1e-4 ? MIB_BYTES : 1;
            memcpy(at, &number, f->size);
            break;
        case ANSWER_NUMBER: memcpy(at, &real, sizeof real); break;
        case ANSWER_BOOL: *at = (char)(number % 2); break;
        case ANSWER_NAME:
            number = f->names->first + number % (f->names->count - f->names->first);
            memcpy(at, &number, f->size);
            break;
        case ANSWER_BITS:
            number %= (int64_t)1 << f->names->count;
            memcpy(at, &number, f->size);
            break;
        case ANSWER_TEXT: snprintf(at, f->size, "t%d", (int)number % 1000); break;
        case ANSWER_LINES: snprintf(at, f->size, "a%d\nb", (int)number % 1000); break;
        case ANSWER_MOMENT: *(struct wall *)at = (struct wall){now.ms + number}; break;
        case ANSWER_READING:
        case ANSWER_OPTION:
            if (f->item == ANSWER_BOOL)
                reading.value %= 2;
            else if (f->item == ANSWER_BITS)
                reading.value %= (int64_t)1 << f->names->count;
            else if (f->item == ANSWER_NAME)
                reading.value = f->names->first + reading.value % (f->names->count - f->names->first);
            *(struct reading *)at = reading;
            break;
        case ANSWER_OBJECT:
        case ANSWER_KEYS: fill(f->of, at, seed); break;
        case ANSWER_LIST:
            *(size_t *)(record + f->count_offset) = 2;
            for (size_t i = 0; i < 2 && f->of; i++)
                fill(f->of, at + i * f->stride, seed);
            for (size_t i = 0; i < 2 && f->item == ANSWER_TEXT; i++)
                snprintf(at + i * f->stride, f->stride, "l%zu", i);
            break;
        case ANSWER_WORD:
        case ANSWER_PIECE:
        case ANSWER_ANY:
        case ANSWER_MAP: break;
        }
    }
}

static void there_and_back(const struct answer *a, void *user)
{
    size_t *tried = user;
    uint32_t seed = 7;
    struct answer members;
    deep_members(a, &members);
    for (int i = 0; i < 50 && answer_fields(&members)->kind; i++) {
        AUTO_FREE char *record = calloc(1, a->size), *back = calloc(1, a->size);
        AUTO_BUF struct buf first = BUF(1 << 20), second = BUF(1 << 20);
        struct json_writer j = JSON_WRITER(&first), k = JSON_WRITER(&second);
        const char *wrong;
        fill(&members, record, &seed);
        answer_write(&j, &members, record, NULL);
        json_t *json = json_loadb(buf_view(&first).at, first.len, JSON_REJECT_DUPLICATES, NULL);
        if (!answer_read(&members, json, back, &wrong))
            fail_msg("%s: '%s' can't be read from %s", a->name, wrong, first.at);
        answer_write(&k, &members, back, NULL);
        assert_string_equal(second.at, first.at);
        json_decref(json);
        (*tried)++;
    }
    free_members(&members);
}

static void what_is_written_can_be_read(void **state)
{
    (void)state;
    size_t tried = 0;
    answer_each_named(all_answers, all_answer_count, there_and_back, &tried);
    assert_true(tried >= 10 * 50);
}

/* ---- three states, and what can't be ---- */

struct odd {
    int32_t number;
    bool flag;
    struct wall at;
    struct reading reading;
    char text[4];
    size_t count;
    struct wall list[2];
};
static enum reading_state of_list(const void *record)
{
    return ((const struct odd *)record)->flag ? READING_DENIED : READING_OK;
}
ANSWER_TABLE(item, struct wall)
{
    FIELD(INT, "ms", ms, NULL);
}
ANSWER_TABLE(odd_answer, struct odd)
{
    FIELD(INT, "number", number, NULL, NONE(-1));
    FIELD(MOMENT, "at", at, NULL, OR_NULL);
    FIELD(READING, "reading", reading, NULL, WHOLE, NATURAL);
    FIELD(TEXT, "text", text, NULL, OR_NULL);
    OBJECTS("list", list, count, item, NULL, .state = of_list);
}
ANSWER_TABLE(list_answer, struct odd)
{
    OBJECTS("list", list, count, item, NULL);
}

static void none_and_unknown_are_told_apart(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(4096);
    struct json_writer j = JSON_WRITER(&text);
    struct odd odd = {.number = -1, .flag = true, .reading = reading_absent(READING_FAILED)}, back = {0};
    answer_write(&j, &odd_answer, &odd, NULL);
    assert_string_equal(text.at, "{\"number\":null,\"at\":null,\"reading\":null,\"text\":null,\"list\":null,"
                                 "\"absent\":{\"reading\":\"failed\",\"list\":\"denied\"}}");
    json_t *json = json_loads(text.at, 0, NULL);
    assert_true(answer_read(&odd_answer, json, &back, NULL));
    assert_int_equal(back.number, -1);
    assert_int_equal(back.reading.state, READING_FAILED);
    json_decref(json);
}

static void what_cannot_be_is_named(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"{\"number\": 99999999999}", "number"},
                                           {"{\"number\": 1.5}", "number"},
                                           {"{\"number\": \"1\"}", "number"},
                                           {"{\"at\": \"soon\"}", "at"},
                                           {"{\"at\": \"1970-01-01T00:00:00Z\"}", "at"},
                                           {"{\"reading\": -1}", "reading"},
                                           {"{\"reading\": 1e300}", "reading"},
                                           {"{\"text\": 7}", "text"},
                                           {"[]", ""}};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct odd odd = {.number = 5};
        const char *key = NULL;
        json_t *json = json_loads(wrong[i][0], 0, NULL);
        assert_false(answer_read(&odd_answer, json, &odd, &key));
        assert_string_equal(key, wrong[i][1]);
        assert_int_equal(odd.number, -1);
        assert_int_equal(odd.reading.state, READING_UNREAD);
        json_decref(json);
    }
    struct odd odd = {0};
    json_t *json = json_loads("{\"list\": [{\"ms\": 1}, {\"ms\": 2}, {\"ms\": 3}]}", 0, NULL);
    assert_false(answer_read(&list_answer, json, &odd, NULL));
    assert_int_equal(odd.count, 2);
    assert_int_equal(odd.list[1].ms, 2);
    json_decref(json);
}

/* ---- types for others ---- */

static void follows(const char *name, void (*make)(struct buf *out, const struct answer *const *list, size_t count))
{
    char path[512];
    struct env env;
    AUTO_BUF struct buf made = BUF(1 << 20), kept = BUF(1 << 20);
    env_init_system(&env);
    source_path(path, name);
    make(&made, all_answers, all_answer_count);
    if (getenv("WHIRR_WRITE_TYPES")) {
        AUTO_FCLOSE FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(buf_view(&made).at, f) >= 0);
        return;
    }
    assert_int_equal(file_read_all(&env, path, &kept), 0);
    if (strcmp(buf_view(&kept).at, buf_view(&made).at) != 0)
        fail_msg("%s is old; write it anew: WHIRR_WRITE_TYPES=1 meson test -C build answers", name);
}

static void types_of_the_dashboard_follow(void **state)
{
    (void)state;
    follows("web/src/api.ts", answer_typescript);
}

static void types_of_the_python_package_follow(void **state)
{
    (void)state;
    follows("python/whirr/answers.py", answer_python);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_are_as_they_were), TEST(what_is_written_can_be_read),   TEST(none_and_unknown_are_told_apart),
        TEST(what_cannot_be_is_named),  TEST(types_of_the_dashboard_follow), TEST(types_of_the_python_package_follow),
    };
    return RUN_TESTS(tests);
}
