/* SPDX-License-Identifier: Apache-2.0
 * From the simulated card to a struct gpu, with its instances where MIG divides it, and with what model servers say of themselves.
 */
#include "source/sim/body.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "host/identity.h"

/* ---- Metrics of a simulated model server. Its load varies by a tenth in a fixed rhythm, so that its counters at any moment don't
 * depend on earlier samples. */

#define RHYTHM_S 47.0
#define SWING 0.1

/* The current share of the mean, and the passed seconds of mean load. */
struct course_of_load {
    double now, passed_s;
};

static struct course_of_load course_at(double age)
{
    const double turn = 2 * 3.14159265358979 / RHYTHM_S;
    return (struct course_of_load){1 + SWING * cos(turn * age), age + SWING / turn * sin(turn * age)};
}

static struct reading rounded(double value)
{
    return reading_ok(llround(value));
}

static void say_nothing(struct process *p)
{
    for (size_t i = PROCESS_METRIC_tokens_milli; i < PROCESS_METRIC_COUNT; i++)
        p->metric[i] = reading_absent(READING_FAILED);
}

/* Latencies belong to requests: without one there are none. */
static void fill_times(const struct sim_serving *s, double now, struct process *p)
{
    if (s->tokens <= 0) {
        p->first_token_us = p->token_time_us = p->prefix_permille = reading_absent(READING_PENDING);
        return;
    }
    p->first_token_us = rounded(s->first_token_s * now * 1e6);
    p->token_time_us = rounded(s->running / s->tokens * 1e6);
    p->prefix_permille = rounded(s->prefix_hits * 1000);
}

/* Each request takes as long as 200 tokens. */
static void fill_sums(const struct sim_serving *s, double passed_s, struct process *p)
{
    double tokens = floor(s->tokens * passed_s), requests = floor(tokens / 200),
           each_s = s->tokens > 0 ? s->running / s->tokens : 0;
    str_copy(p->server_kind, sizeof p->server_kind, STR("vllm"));
    p->served[SERVING_FIRST_TOKEN] = (struct serving_sum){true, requests * s->first_token_s, requests};
    p->served[SERVING_PER_TOKEN] = (struct serving_sum){true, tokens * each_s, tokens};
    p->served[SERVING_REQUEST] = (struct serving_sum){true, requests * (s->first_token_s + 199 * each_s), requests};
}

static void fill_serving(const struct fill *f, const struct sim_share *share, struct process *p)
{
    const struct sim_serving *s = f->world->scenario->jobs[share->job].serving;
    if (!s)
        return;
    if (s->silent) {
        say_nothing(p);
        return;
    }
    struct course_of_load at = course_at(f->t - share->life.began);
    /* Decoding waits for the memory about half of the time: lower clocks cost it half as much. */
    at.now *= (1 + f->view.speed) / 2;
    at.passed_s = fmax(0, at.passed_s - f->view.lost_s / 2);
    p->tokens_milli = rounded(s->tokens * at.now * f->world->speed * 1000);
    p->prompt_milli = rounded(s->prompt_tokens * at.now * f->world->speed * 1000);
    p->generated_tokens = rounded(s->tokens * at.passed_s);
    p->prompt_tokens = rounded(s->prompt_tokens * at.passed_s);
    p->requests_running = rounded(s->running * at.now);
    p->requests_waiting = rounded(s->waiting * at.now);
    p->kv_cache_permille = rounded(s->kv_cache * (1 + (at.now - 1) * (1 - s->kv_cache)) * 1000); /* a full one stays full */
    p->preempted_milli = rounded(s->preempted_per_min * at.now * 1000 / 60);
    p->image_jobs = reading_absent(READING_UNSUPPORTED);
    fill_times(s, at.now, p);
    fill_sums(s, at.passed_s, p);
}

/* ---- A card partitioned by MIG: its instances, and what the driver no longer reports for the whole card ---- */

static const struct {
    int compute, memory; /* sevenths of the multiprocessors, eighths of the memory */
} slices[] = {{3, 4}, {2, 2}, {1, 1}, {1, 1}};

static void fill_instance(const struct fill *f, const struct gpu *parent, size_t number, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    int64_t total = (int64_t)c->vram * 1048576 * slices[number].memory / 8, used = 0;
    double util = 0, tensor = 0, dram = 0;
    for (size_t i = 0; i < f->view.share_count; i++)
        if (f->world->scenario->jobs[f->view.shares[i].job].instance == (int)number + 1) {
            used += (int64_t)f->view.shares[i].load.vram;
            util += f->view.shares[i].load.util * 7 / slices[number].compute;
            tensor += f->view.shares[i].load.tensor * 7 / slices[number].compute;
            dram += f->view.shares[i].load.mem_util * 8 / slices[number].memory;
        }
    used = MIN_OF(used, total);
    g->simulated = true;
    str_copy(g->source, sizeof g->source, str_from(parent->source));
    str_copy(g->id.vendor, sizeof g->id.vendor, str_from(c->vendor));
    str_copy(g->id.pci_address, sizeof g->id.pci_address, str_from(parent->id.pci_address));
    snprintf(g->profile, sizeof g->profile, "%dg.%ldgb", slices[number].compute,
             lround(c->vram / 1024.0 * slices[number].memory / 8));
    snprintf(g->id.name, sizeof g->id.name, "%.64s MIG %.24s", c->name, g->profile);
    /* The card's UUID with another first group: stable and unique. */
    snprintf(g->id.uuid, sizeof g->id.uuid, "MIG-%08zx%.32s", 0x5a0000 + number, parent->id.uuid[0] ? parent->id.uuid + 12 : "");
    g->mem_total_bytes = reading_ok(total);
    g->mem_used_bytes = reading_ok(used);
    g->mem_free_bytes = reading_ok(total - used);
    g->mem_reserved_bytes = reading_ok(0);
    if (c->abilities & CARD_GPM) {
        g->sm_active_permille = reading_ok(llround(MIN_OF(util, 1.0) * 910));
        g->tensor_active_permille = reading_ok(llround(MIN_OF(tensor, 1.0) * 1000));
        g->dram_active_permille = reading_ok(llround(MIN_OF(dram, 1.0) * 900));
    }
    g->compute_units = reading_ok(c->units * slices[number].compute / 8);
}

static void fill_instances(const struct fill *f, unsigned groups, struct gpu *g)
{
    /* NVML doesn't support utilization of the card, its video engines and processes while MIG is on. */
    const struct reading none = reading_absent(READING_UNSUPPORTED);
    g->util_permille = g->mem_util_permille = g->encoder_permille = g->decoder_permille = none;
    g->jpeg_permille = g->ofa_permille = g->encoder_sessions = none;
    for (size_t i = 0; i < g->process_count; i++) {
        struct process *p = &g->processes[i];
        p->util_permille = p->mem_util_permille = p->encoder_permille = p->decoder_permille = none;
        p->instance = f->world->scenario->jobs[f->view.shares[i].job].instance - 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        struct gpu *instance = gpu_add_instance(g);
        if (!instance)
            return;
        fill_instance(f, g, i, instance);
        for (size_t m = 0; m < METRIC_COUNT; m++)
            if (!(metric_table[m].group & groups))
                instance->metric[m] = (struct reading){0};
        gpu_mark_absent(instance, groups, READING_UNSUPPORTED);
    }
}

/* ---- The card, in its vendor's manner: what the real one doesn't report is absent for the same reason ---- */

/* The last XID up to t; false: none yet. */
static bool fill_last_xid(const struct sim_world *w, int gpu, double t, double *ret)
{
    bool found = false;
    double newest = -1;
    for (size_t i = 0; i < sim_condition_count(w); i++) {
        struct sim_condition c = *sim_condition(w, i);
        struct sim_life life;
        c.when.to = 0; /* it remains the last one afterwards */
        if (c.kind == TROUBLE_XID && sim_condition_life(&c, gpu, t, &life) && life.began > newest) {
            newest = life.began;
            *ret = c.value;
            found = true;
        }
    }
    return found;
}

static struct reading whole(double x)
{
    return reading_ok((int64_t)llround(x));
}

static struct reading permille(double x)
{
    return whole(MAX_OF(0.0, MIN_OF(1.0, x)) * 1000);
}

/* NVML gives whole degrees and percent; kernel files are finer. */
static struct reading coarse(double x, double step)
{
    return whole(floor(x / step) * step);
}

static uint64_t hash_of(const struct fill *f, uint64_t what)
{
    return (uint64_t)(sim_chance(f->world->seed, (uint64_t)f->gpu, 0x1d00 + what, 0) * 0x1p53);
}

void fill_id(const struct sim_world *w, int gpu, struct gpu_id *id)
{
    static const struct sim_card npu = {.name = "Simulated NPU", .vendor = "intel"};
    const struct sim_card *c = gpu < w->gpus ? w->card[gpu] : &npu;
    struct fill f = {.world = w, .gpu = gpu};
    id->kind = gpu < w->gpus ? DEVICE_GPU : DEVICE_NPU;
    str_copy(id->name, sizeof id->name, str_from(c->name));
    str_copy(id->vendor, sizeof id->vendor, str_from(c->vendor));
    snprintf(id->pci_address, sizeof id->pci_address, "%04x:%02x:00.0", (unsigned)gpu / 0xe0, 1 + (unsigned)gpu % 0xe0);
    uint64_t other = sim_has_trouble(w, TROUBLE_REPLACED, gpu, w->start_s, NULL, NULL) ? 0x80 : 0;
    uint64_t a = hash_of(&f, 1 + other), b = hash_of(&f, 2 + other);
    if (strcmp(c->vendor, "nvidia") == 0)
        snprintf(id->uuid, sizeof id->uuid, "GPU-%08x-%04x-%04x-%04x-%012llx", (unsigned)(a & 0xffffffff),
                 (unsigned)(a >> 32) & 0xffff, (unsigned)(b & 0xfff) | 0x4000, (unsigned)((b >> 12) & 0x3fff) | 0x8000,
                 (unsigned long long)(a * b) & 0xffffffffffffULL);
    else if (strcmp(c->vendor, "amd") == 0)
        snprintf(id->uuid, sizeof id->uuid, "%016llx", (unsigned long long)(a * b));
}

static void fill_memory(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    bool nvidia = strcmp(c->vendor, "nvidia") == 0;
    double total = c->vram * MIB_BYTES, reserved = c->reserved * MIB_BYTES, used = f->view.load.vram;
    if (!nvidia) /* the kernel counts its own buffers as used */
        used = MIN_OF(total, used + 28 * MIB_BYTES);
    g->mem_total_bytes = whole(total);
    g->mem_used_bytes = whole(used);
    g->mem_free_bytes = whole(total - reserved - used);
    if (nvidia)
        g->mem_reserved_bytes = whole(reserved);
    if (c->bar1) {
        g->bar1_total_bytes = whole(c->bar1 * MIB_BYTES);
        g->bar1_used_bytes = whole((f->view.share_count ? 4 + 2 * (double)f->view.share_count : 1) * MIB_BYTES);
    }
    if (strcmp(c->vendor, "amd") == 0) {
        g->gtt_total_bytes = whole(32768 * MIB_BYTES);
        g->gtt_used_bytes = whole((18 + 30 * (double)f->view.share_count) * MIB_BYTES);
    }
}

static void fill_heat(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    const struct body_view *v = &f->view;
    const double step = 1000; /* all of them report whole degrees */
    g->temp_mdegc = coarse(v->die_c * 1000, step);
    g->temp_limit_mdegc = whole(c->slowdown * 1000);
    g->temp_shutdown_mdegc = whole(c->shutdown * 1000);
    if (strcmp(c->vendor, "nvidia") == 0) {
        g->temp_max_operating_mdegc = whole((c->slowdown - 2) * 1000);
        if (c->fans)
            g->temp_target_mdegc = whole(c->target * 1000);
    }
    if (c->abilities & CARD_MARGIN)
        g->temp_margin_mdegc = coarse((c->slowdown - 2 - v->die_c) * 1000, step);
    if (c->abilities & CARD_HOTSPOT)
        g->temp_hotspot_mdegc = coarse((v->die_c + 3 + v->power_w * 0.045) * 1000, step);
    if (c->abilities & CARD_MEM_TEMP) {
        g->temp_memory_mdegc = coarse((v->sink_c + 4 + 10 * v->load.mem_util) * 1000, step);
        g->temp_memory_limit_mdegc = whole((strcmp(c->vendor, "nvidia") == 0 ? 95 : 108) * 1000.0);
    }
    if (!c->fans)
        return;
    g->fan_rpm = whole(v->fan < 0.02 ? 0 : v->fan * c->fan_rpm_max);
    if (strcmp(c->vendor, "intel") == 0)
        return; /* hwmon of i915 and xe reports rpm but no percentage */
    g->fan_permille = coarse(v->fan * 1000, 10);
    g->fan_target_permille = coarse(v->fan_set * 1000, 10);
    g->fan_count = whole(c->fans);
}

static void fill_power(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    const struct body_view *v = &f->view;
    bool nvidia = strcmp(c->vendor, "nvidia") == 0;
    g->power_mw = whole(v->power_w * 1000);
    g->power_limit_mw = whole(v->limit_w * 1000);
    g->power_limit_max_mw = whole(c->max_w * 1000);
    if (nvidia || strcmp(c->vendor, "amd") == 0) {
        g->power_limit_default_mw = whole(c->tdp_w * 1000);
        g->power_limit_min_mw = whole(c->min_w * 1000);
    }
    if (nvidia) {
        g->power_limit_requested_mw = whole(v->limit_w * 1000);
        g->power_instant_mw = g->power_mw;
        g->power_average_mw =
            whole(v->power_w * 1000 * (1 + 0.03 * sim_noise(f->world->seed, (uint64_t)f->gpu, 0x2001, f->t, 0.3)));
    }
    if (nvidia && (c->abilities & CARD_GPM))
        g->power_memory_mw = whole((0.05 + 0.14 * v->load.mem_util) * c->tdp_w * 1000);
    if (c->abilities & CARD_ENERGY)
        g->energy_mj = whole((f->energy_start_j + (v->energy_j - f->energy_start_j) / f->world->speed) * 1000);
    if (c->abilities & CARD_VOLTAGE)
        g->voltage_mv = whole(650 + 450 * v->clock_mhz / c->clock_max);
}

static void fill_clocks(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    const struct body_view *v = &f->view;
    bool nvidia = strcmp(c->vendor, "nvidia") == 0;
    g->clock_graphics_khz = coarse(v->clock_mhz * 1000, nvidia ? 15000 : 1000);
    g->clock_graphics_max_khz = whole(c->clock_max * 1000);
    g->throttle_bits = reading_ok(v->throttle);
    if (c->mem_clock_max > 0) {
        g->clock_memory_khz = whole(v->mem_clock_mhz * 1000);
        g->clock_memory_max_khz = whole(c->mem_clock_max * 1000);
    }
    if (!nvidia) {
        g->throttle_bits.value &= ~(int64_t)THROTTLE_IDLE;
        return;
    }
    g->clock_sm_khz = g->clock_graphics_khz;
    g->clock_sm_max_khz = g->clock_graphics_max_khz;
    g->clock_video_max_khz = whole(c->video_clock_max * 1000);
    g->clock_video_khz = coarse(c->video_clock_max * 1000 * (v->busy ? 0.95 : 0.4), 15000);
    g->throttle_power_us = whole(v->slowed_power_s / f->world->speed * 1e6);
    g->throttle_thermal_us = whole(v->slowed_heat_s / f->world->speed * 1e6);
    bool always_p0 = c->mem_clock_idle >= c->mem_clock_max; /* HBM cards stay in P0 */
    g->pstate = reading_ok(always_p0 ? 0 : !v->busy ? 8 : v->load.util > 0.3 || !c->fans ? 0 : 2);
}

static void fill_load(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    const struct sim_load *l = &f->view.load;
    bool nvidia = strcmp(c->vendor, "nvidia") == 0;
    g->util_permille = nvidia ? coarse(l->util * 1000, 10) : permille(l->util);
    if (strcmp(c->vendor, "intel") != 0)
        g->mem_util_permille = coarse(l->mem_util * 1000, 10);
    if (nvidia && (c->abilities & CARD_VIDEO)) {
        g->encoder_permille = coarse(l->encode * 1000, 10);
        g->decoder_permille = coarse(l->decode * 1000, 10);
        g->jpeg_permille = g->ofa_permille = reading_ok(0);
        g->encoder_sessions = reading_ok(l->encode > 0 ? 1 : 0);
    }
    if (!(c->abilities & CARD_GPM))
        return;
    g->graphics_active_permille = permille(l->util * 0.99);
    g->sm_active_permille = permille(l->util * 0.91);
    g->sm_occupancy_permille = permille(l->util * 0.38);
    g->tensor_active_permille = permille(l->tensor);
    g->dram_active_permille = permille(l->mem_util * 0.9);
    g->integer_active_permille = permille(l->util * 0.11);
    g->fp64_active_permille = reading_ok(0);
    g->fp32_active_permille = permille(l->util * 0.14);
    g->fp16_active_permille = permille(l->util * 0.02);
}

static void fill_links(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    const struct body_view *v = &f->view;
    double lanes = c->pcie_width;
    sim_has_trouble(f->world, TROUBLE_LINK, f->gpu, f->t, &lanes, NULL);
    bool saves = c->fans && !v->busy; /* the link slows down with the card */
    g->pcie_generation = reading_ok(saves ? 1 : c->pcie_generation);
    g->pcie_width = whole(MIN_OF(lanes, c->pcie_width));
    g->pcie_generation_max = reading_ok(c->pcie_generation);
    g->pcie_width_max = reading_ok(c->pcie_width);
    if (strcmp(c->vendor, "nvidia") == 0)
        g->pcie_replays = reading_ok(0);
    if (c->abilities & CARD_GPM) {
        double lane = 1e9 * lanes, speed = f->world->speed;
        g->pcie_rx_bytes_per_s = whole(lane * 0.22 * v->load.util + 600e3);
        g->pcie_tx_bytes_per_s = whole(lane * 0.09 * v->load.util + 900e3);
        g->pcie_rx_bytes = whole((1e9 * c->pcie_width * 0.22 * v->busy_s + 600e3 * f->t) / speed);
        g->pcie_tx_bytes = whole((1e9 * c->pcie_width * 0.09 * v->busy_s + 900e3 * f->t) / speed);
    }
    if (!c->nvlinks)
        return;
    g->nvlink_links = g->nvlink_links_active = reading_ok(c->nvlinks);
    if (c->abilities & CARD_GPM)
        g->nvlink_rx_bytes_per_s = g->nvlink_tx_bytes_per_s = whole(f->world->gpus > 1 ? 160e9 * v->load.tensor : 0);
}

/* Errors since the start of a TROUBLE_ECC. */
static void count_errors(const struct fill *f, int64_t *ret_corrected, int64_t *ret_uncorrected)
{
    double since;
    *ret_corrected = *ret_uncorrected = 0;
    if (!sim_has_trouble(f->world, TROUBLE_ECC, f->gpu, f->t, NULL, &since))
        return;
    *ret_corrected = (int64_t)((f->t - since) / 10);
    *ret_uncorrected = 1 + (int64_t)((f->t - since) / 300);
}

static void fill_faults(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    bool nvidia = strcmp(c->vendor, "nvidia") == 0;
    double xid = 0;
    if (nvidia)
        g->xid_last = fill_last_xid(f->world, f->gpu, f->t, &xid) ? whole(xid) : reading_absent(READING_PENDING);
    if (!(c->abilities & CARD_ECC))
        return;
    int64_t corrected, uncorrected;
    count_errors(f, &corrected, &uncorrected);
    g->ecc_enabled = reading_ok(1);
    g->ecc_corrected = reading_ok(corrected);
    g->ecc_uncorrected = reading_ok(uncorrected);
    if (!nvidia)
        return;
    g->ecc_corrected_lifetime = reading_ok(corrected + (int64_t)(hash_of(f, 9) % 4));
    g->ecc_uncorrected_lifetime = reading_ok(uncorrected);
    g->remapped_rows_corrected = reading_ok(0);
    g->remapped_rows_uncorrected = reading_ok(uncorrected);
    g->remapped_rows_pending = reading_ok(uncorrected > 0);
    g->remapped_rows_failed = reading_ok(0);
    g->recovery_action = reading_ok(uncorrected > 0 ? 1 : 0);
}

static void fill_facts(const struct fill *f, struct gpu *g)
{
    const struct sim_card *c = f->world->card[f->gpu];
    char text[GPU_TEXT_SIZE];
    g->compute_units = reading_ok(c->units);
    gpu_set_property(g, PROPERTY_driver, c->driver);
    gpu_set_property(g, PROPERTY_architecture, c->architecture);
    gpu_set_property(g, PROPERTY_brand, c->brand);
    gpu_set_property(g, PROPERTY_compute_capability, c->compute);
    gpu_set_property(g, PROPERTY_pci_device_id, c->pci_id);
    gpu_set_property(g, PROPERTY_pci_subsystem_id, c->subsystem);
    gpu_set_property(g, PROPERTY_memory_kind, "dedicated");
    if (strcmp(c->vendor, "nvidia") != 0)
        return;
    gpu_set_property(g, PROPERTY_driver_version, SIM_DRIVER_VERSION);
    gpu_set_property(g, PROPERTY_vbios_version, "96.00.99.00.01");
    gpu_set_property(g, PROPERTY_gsp_firmware, SIM_DRIVER_VERSION);
    gpu_set_property(g, PROPERTY_virtualization, "none");
    if (!c->fans) {
        snprintf(text, sizeof text, "%013llu", (unsigned long long)(1650000000000ULL + hash_of(f, 3) % 9999999));
        gpu_set_property(g, PROPERTY_serial, text);
    }
    g->persistence_mode = reading_ok(!c->fans);
    g->compute_mode = reading_ok(0);
    if (c->abilities & CARD_MIG)
        g->mig_enabled = reading_ok(sim_has_trouble(f->world, TROUBLE_MIG, f->gpu, f->t, NULL, NULL));
    g->display_active = reading_ok((c->abilities & CARD_DISPLAY) && f->gpu == 0);
}

/* What a scenario's program does on the host: on GPU 0, and its rank in a job on all of them. */
static void fill_host_side(const struct fill *f, struct process *p, const char *job)
{
    const struct sim_scenario *s = f->world->scenario;
    if (job) {
        str_copy(p->job, sizeof p->job, str_from(job));
        p->rank = reading_ok(f->gpu);
        p->world_size = reading_ok(f->world->gpus);
    }
    if (f->gpu != 0 || !s->evidence_count || sim_advice(f->world, 0, f->t) == ADVICE_ON_PROGRAM || !process_evidence(p))
        return;
    p->host->state = READING_OK;
    p->host->looks = 20;
    p->host->over_ms = 10 * MS_PER_S;
    for (size_t i = 0; i < s->evidence_count; i++)
        p->host->metric[s->evidence[i].which] = reading_ok(s->evidence[i].value);
    str_copy(p->host->busiest_child, sizeof p->host->busiest_child, str_from(s->child ? s->child : ""));
    str_copy(p->host->compiler, sizeof p->host->compiler, str_from(s->compiler ? s->compiler : ""));
    str_copy(p->host->mount, sizeof p->host->mount, str_from(s->mount ? s->mount : ""));
    str_copy(p->host->code, sizeof p->host->code, str_from(s->code ? s->code : ""));
    str_copy(p->host->peer, sizeof p->host->peer, str_from(s->peer ? s->peer : ""));
}

static void fill_process(const struct fill *f, struct gpu *g, const struct sim_share *share)
{
    const struct sim_job *j = &f->world->scenario->jobs[share->job];
    const struct sim_program *program = j->program;
    const char *vendor = f->world->card[f->gpu]->vendor;
    struct process *p = gpu_add_process(g, sim_job_pid(f->world, share->job, f->gpu, share->life.turn));
    if (!p)
        return;
    p->type = program->type;
    p->visible = true;
    p->started_at = fill_wall(f->origin, f->world, share->life.began);
    p->start_key = (int64_t)((1e6 + share->life.began) * 100);
    str_copy(p->name, sizeof p->name, str_from(program->name));
    str_copy(p->user, sizeof p->user, str_from(program->user));
    str_copy(p->command, sizeof p->command, str_from(program->command));
    str_copy(p->container, sizeof p->container, str_from(program->container));
    str_copy(p->model, sizeof p->model, str_from(program->model));
    process_find_title(p);
    str_copy(p->container_name, sizeof p->container_name, str_from(program->container));
    if (program->launcher) {
        p->parent = sim_job_pid(f->world, share->job, GPU_MAX - 1, share->life.turn);
        str_copy(p->parent_name, sizeof p->parent_name, str_from(program->launcher));
    }
    p->container_name_state = p->container[0] ? READING_OK : READING_UNREAD;
    p->mem_bytes = whole(share->load.vram);
    double wobble = 1 + 0.05 * sim_noise(f->world->seed, (uint64_t)f->gpu, 0x3000 + share->job, f->t, 2);
    double busy = j->util > 0 ? share->load.util / j->util : 1;
    p->cpu_permille = whole(program->cpu_permille * (0.3 + 0.7 * MIN_OF(busy, 1.0)) * wobble);
    p->host_mem_bytes =
        whole(program->host_mib * MIB_BYTES * (1 + 0.01 * sim_noise(f->world->seed, 0, 0x3100 + share->job, f->t, 60)));
    p->util_permille = coarse(share->load.util * 1000, strcmp(vendor, "nvidia") == 0 ? 10 : 1);
    p->mem_util_permille = p->encoder_permille = p->decoder_permille = p->power_mw = reading_absent(READING_UNSUPPORTED);
    if (strcmp(vendor, "nvidia") == 0) {
        p->mem_util_permille = coarse(share->load.mem_util * 1000, 10);
        p->encoder_permille = coarse(share->load.encode * 1000, 10);
        p->decoder_permille = coarse(share->load.decode * 1000, 10);
    }
    if (p->util_permille.value > reading_or(g->util_permille, 1000)) /* set by the scenario */
        p->util_permille.value = g->util_permille.value;
    p->power_mw = reading_absent(READING_UNREAD); /* attributed by the engine */
    fill_host_side(f, p, program->job);
    fill_serving(f, share, p);
}

/* Ends with the current quarter of the day, whenever it is read. */
static void fill_lease(const struct fill *f, struct gpu *g)
{
    enum { LENGTH_MS = 6 * 3600 * MS_PER_S };
    const char *user = f->world->scenario->reserved_for;
    if (!user)
        return;
    g->lease = (struct gpu_lease){.id = SIM_LEASE, .reserved = true};
    g->lease.until.ms = (fill_wall(f->origin, f->world, f->t).ms / LENGTH_MS + 1) * LENGTH_MS;
    str_copy(g->lease.user, sizeof g->lease.user, str_from(user));
    str_copy(g->lease.holder, sizeof g->lease.holder, str_from(user));
    for (size_t i = 0; i < g->process_count; i++) {
        struct process *p = &g->processes[i];
        p->without_lease = strcmp(p->user, user) != 0;
        str_copy(p->lease, sizeof p->lease, str_from(p->without_lease ? "" : g->lease.id));
    }
}

static void fill_processes(const struct fill *f, struct gpu *g)
{
    g->processes_state = READING_OK;
    if (f->world->scenario->hides && f->gpu == 0)
        return;
    for (size_t i = 0; i < f->view.share_count; i++)
        fill_process(f, g, &f->view.shares[i]);
}

struct wall fill_wall(struct wall origin, const struct sim_world *w, double t)
{
    return (struct wall){origin.ms + (int64_t)llround((t - w->start_s) / w->speed * MS_PER_S)};
}

/* From the first changed setting on, the card's physics answer for these. */
static bool is_physical(enum metric m)
{
    return m == METRIC_fan_permille || m == METRIC_fan_rpm || m == METRIC_fan_target_permille || m == METRIC_temp_mdegc ||
           m == METRIC_temp_margin_mdegc || m == METRIC_temp_memory_mdegc || m == METRIC_temp_hotspot_mdegc ||
           m == METRIC_power_mw || m == METRIC_clock_graphics_khz || m == METRIC_clock_sm_khz || m == METRIC_clock_memory_khz ||
           m == METRIC_throttle_bits || m == METRIC_power_limit_mw;
}

/* Readings that the scenario sets regardless of the card's physics. */
static void fill_readings(const struct fill *f, struct gpu *g)
{
    const struct sim_scenario *s = f->world->scenario;
    const struct sim_reading *list = f->gpu == 0 ? s->readings : s->others;
    size_t count = f->gpu == 0 ? s->reading_count : s->other_count;
    if (f->gpu != 0 && !count && !sim_was_set(f->world, f->gpu, f->t))
        return;
    bool was_set = sim_was_set(f->world, f->gpu, f->t);
    bool advised = sim_advice(f->world, f->gpu, f->t) != ADVICE_NONE;
    for (size_t i = 0; i < count && !advised; i++)
        if (!was_set || !is_physical(list[i].metric))
            g->metric[list[i].metric] = reading_ok(list[i].value + (int64_t)((double)list[i].per_second * f->t));
    static const enum metric pipes[] = {METRIC_integer_active_permille, METRIC_fp32_active_permille, METRIC_fp16_active_permille};
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++) /* a multiprocessor that rests issues nothing */
        g->metric[pipes[i]].value = MIN_OF(g->metric[pipes[i]].value, g->sm_active_permille.value);
    const struct sim_change *fan = sim_setting(f->world, f->gpu, CONTROL_FAN, f->t);
    if (fan)
        gpu_set_property(g, PROPERTY_fan_control, fan->set == SET_STOCK ? "automatic" : "manual");
    else if (s->fan_control && f->gpu == 0)
        gpu_set_property(g, PROPERTY_fan_control, s->fan_control);
    /* No more than this card has. */
    int64_t room = reading_or(g->mem_total_bytes, 0) - reading_or(g->mem_reserved_bytes, 0);
    g->mem_used_bytes.value = MIN_OF(g->mem_used_bytes.value, room);
    g->mem_free_bytes.value = room - g->mem_used_bytes.value;
    g->power_mw.value = MIN_OF(g->power_mw.value, g->power_limit_mw.value);
    g->clock_graphics_khz.value = MIN_OF(g->clock_graphics_khz.value, g->clock_graphics_max_khz.value);
}

void fill_gpu(const struct fill *f, unsigned groups, struct gpu *g)
{
    fill_load(f, g);
    fill_memory(f, g);
    fill_heat(f, g);
    fill_power(f, g);
    fill_clocks(f, g);
    fill_links(f, g);
    fill_faults(f, g);
    if (groups & GROUP_STATIC || groups & GROUP_SLOW)
        fill_facts(f, g);
    fill_readings(f, g);
    if (groups & GROUP_PROCESS)
        fill_processes(f, g);
    fill_lease(f, g);
    if (f->world->card[f->gpu]->abilities & CARD_MIG && sim_has_trouble(f->world, TROUBLE_MIG, f->gpu, f->t, NULL, NULL))
        fill_instances(f, groups, g);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (!(metric_table[i].group & groups))
            g->metric[i] = (struct reading){0};
    for (size_t i = 0; !(groups & GROUP_STATIC) && i < PROPERTY_COUNT; i++)
        g->property[i] = (struct property_text){0};
    gpu_mark_absent(g, groups, READING_UNSUPPORTED);
}
