/* SPDX-License-Identifier: Apache-2.0
 * The NVML source: NVIDIA's cards through the driver's own library. Decides which card may be touched and reads it group by group;
 * takes the driver's events; describes all of it for doctor.
 */
#include "source/nvml/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/fault/fault.h"
#include "source/source.h"
#include "source/source_control.h"
#include "source/sysfs/sysfs_card.h"
#include "source/tegra/tegra.h"

enum { RETRY_LOST_MS = 5000 };

static struct nvml *of(struct source *s)
{
    return (struct nvml *)s;
}

/* ---- Events reported by the driver: critical errors (XID) and double-bit memory errors ---- */

static void register_card(struct nvml *n, struct nvml_card *card)
{
    unsigned long long types = NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT_ECC, supported = 0;
    card->events_registered = true; /* once, whatever the result */
    if (NVML(n, event_types, card->handle, &supported) == NVML_OK)
        types &= supported;
    if (!types || n->lib.event_register(card->handle, types, n->events) != NVML_OK)
        card->xid_last = reading_absent(READING_UNSUPPORTED);
    else if (card->xid_last.state != READING_OK)
        card->xid_last = reading_absent(READING_PENDING);
}

static void events_update(struct nvml *n)
{
    if (!n->running || n->events_refused)
        return;
    if (!n->events) {
        bool able = n->lib.event_create && n->lib.event_register && n->lib.event_wait && n->lib.event_free;
        if (!able || n->lib.event_create(&n->events) != NVML_OK) {
            n->events_refused = true;
            n->events = NULL;
            return;
        }
    }
    for (size_t i = 0; i < n->card_count; i++)
        if (n->cards[i].handle && !n->cards[i].events_registered && !n->cards[i].asleep && !n->cards[i].trouble)
            register_card(n, &n->cards[i]);
}

void events_done(struct nvml *n)
{
    if (n->events && n->running)
        n->lib.event_free(n->events);
    n->events = NULL;
}

static int card_of(const struct nvml *n, nvml_device handle)
{
    for (size_t i = 0; i < n->card_count; i++)
        if (n->cards[i].handle == handle)
            return (int)i;
    return -1;
}

static void fill_event(struct nvml *n, const struct nvml_event *said, struct event *event)
{
    int at = card_of(n, said->device);
    *event = (struct event){.kind = EVENT_OTHER, .gpu_index = at, .at = clock_wall(n->env->clock)};
    if (said->type == NVML_EVENT_XID) {
        event->kind = EVENT_DRIVER_FAULT;
        event->code = (int64_t)said->data;
        const struct fault_info *xid = xid_find(event->code);
        snprintf(event->text, sizeof event->text, "XID %lld%s%s", (long long)event->code, xid ? ": " : "", xid ? xid->what : "");
        if (at >= 0)
            n->cards[at].xid_last = reading_ok(event->code);
    } else if (said->type == NVML_EVENT_DOUBLE_BIT_ECC) {
        event->kind = EVENT_ECC;
        snprintf(event->text, sizeof event->text, "an uncorrectable memory error (double-bit) occurred");
    } else {
        snprintf(event->text, sizeof event->text, "driver event 0x%llx", said->type);
    }
}

static size_t nvml_events(struct source *s, struct event *events, size_t max)
{
    struct nvml *n = of(s);
    size_t count = 0;
    while (n->running && n->events && count < max) {
        struct nvml_event said = {0};
        if (n->lib.event_wait(n->events, &said, 0) != NVML_OK)
            break; /* TIMEOUT: none; sampling notices a lost card */
        fill_event(n, &said, &events[count++]);
    }
    return count;
}

/* ---- Output for doctor: the library, what it lacks, and what each card refuses ---- */

static void describe_library(struct nvml *n, struct buf *out)
{
    buf_printf(out, "library %s", library_path(n->lib.handle));
    if (n->driver.nvml_version[0])
        buf_printf(out, ", NVML %s, driver %s, CUDA %s", n->driver.nvml_version, n->driver.driver_version, n->driver.cuda_version);
    buf_text(out, "\n");
    if (n->lib.place[0])
        buf_text(out, "found in a place that the loader does not know\n");
    int version;
    size_t size = process_entry_size(&n->lib, &version);
    if (size)
        buf_printf(out, "process lists: version %d, %zu bytes an entry\n", version, size);
    AUTO_BUF struct buf missing = BUF(8192);
    nvml_library_missing(&n->lib, &missing);
    if (missing.len)
        buf_printf(out, "not in this version of the library: " STR_FMT "\n", STR_ARG(buf_view(&missing)));
}

static void describe_card(struct nvml *n, size_t index, struct buf *out)
{
    const struct nvml_card *card = &n->cards[index];
    buf_printf(out, "GPU %zu %s %s:", index, card->id.pci_address, card->id.name[0] ? card->id.name : "without a name");
    if (card->asleep)
        buf_text(out, " asleep, not touched\n");
    else if (card->resting)
        buf_text(out, " idle, left alone so that it can fall asleep\n");
    else if (card->trouble)
        buf_printf(out, " %s\n", nvml_words(&n->lib, card->trouble));
    else if (!card->sampled)
        buf_text(out, " not read yet\n");
    else
        buf_printf(out, " %s%s\n", card->mig_enabled ? "divided into instances; " : "", "not supported or not permitted:");
    if (card->asleep || card->resting || card->trouble || !card->sampled)
        return;
    query_describe(n, card, out);
    fields_describe(n, card, out);
    if (card->gpm.refused)
        buf_text(out, "  profiling metrics (GPM): this GPU or driver has none\n");
    if (card->refused_utilization)
        buf_printf(out, "  utilization of processes: %s\n", nvml_words(&n->lib, card->refused_utilization));
}

static void nvml_describe(struct source *s, struct buf *out)
{
    struct nvml *n = of(s);
    if (n->visible == VISIBLE_NONE)
        buf_printf(out, "NVIDIA_VISIBLE_DEVICES=%s hides every GPU\n", n->env->visible_devices);
    else if (n->visible != VISIBLE_ALL)
        buf_printf(out, "NVIDIA_VISIBLE_DEVICES=%s hides %zu GPUs\n", n->env->visible_devices, n->hidden);
    if (n->visible == VISIBLE_NONE)
        return;
    describe_library(n, out);
    nvapi_describe(n, out);
    if (!n->running)
        buf_text(out, "closed: all GPUs are asleep\n");
    for (size_t i = 0; i < n->card_count; i++)
        describe_card(n, i, out);
}

static void nvml_close(struct source *s)
{
    struct nvml *n = of(s);
    if (!n)
        return;
    session_stop(n);
    for (size_t i = 0; i < n->card_count; i++)
        card_done(n, &n->cards[i]);
    free(n->cards);
    nvapi_done(n);
    free(n->gpm_request);
    free(n->entries);
    free(n);
}

static int nvml_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    (void)params;
    /* The library would report this host, not the recorded one; a library named explicitly is intended. */
    if (env_is_recorded(env) && strcmp(env->nvml_library, "libnvidia-ml.so.1") == 0)
        return error_set(err, -ENODEV, "NVML is not asked on a recorded machine");
    struct nvml *n = calloc(1, sizeof *n);
    if (!n)
        return error_set(err, -ENOMEM, "out of memory");
    n->source.ops = &nvml_source;
    n->env = env;
    n->visible = visible_kind(env->visible_devices);
    int rc = nvml_library_open(&n->lib, env, err);
    /* Nothing may be shown: don't even touch the driver. */
    if (rc == 0 && n->visible != VISIBLE_NONE)
        rc = find_cards(n, err);
    if (rc < 0) {
        nvml_close(&n->source);
        return rc;
    }
    n->changed = false;
    *ret = &n->source;
    return 0;
}

static int nvml_list(struct source *s, struct gpu_id *ids, size_t max)
{
    struct nvml *n = of(s);
    size_t count = MIN_OF(n->card_count, max);
    for (size_t i = 0; i < count; i++)
        ids[i] = n->cards[i].id;
    n->changed = false;
    return (int)count;
}

static bool nvml_changed(struct source *s)
{
    return of(s)->changed;
}

/* Sampling */

static bool may_touch(const struct nvml_card *card)
{
    return !card->asleep && !card->resting;
}

static void wake_up_card(struct nvml *n, struct nvml_card *card)
{
    if (card->trouble && mono_since_ms(clock_mono(n->env->clock), card->retried) < RETRY_LOST_MS)
        return;
    if (card->trouble)
        card_detach(n, card);
    if (!card->handle)
        card_attach(n, card);
}

static int nvml_refresh(struct source *s, unsigned groups, struct error *err)
{
    struct nvml *n = of(s);
    bool wanted = false;
    if (n->restart)
        session_stop(n);
    for (size_t i = 0; i < n->card_count; i++) {
        sleep_update(n, &n->cards[i]);
        wanted |= may_touch(&n->cards[i]);
    }
    if (!wanted) {
        session_stop(n); /* an open library alone keeps the cards awake */
        return 0;
    }
    if (n->refreshes > 0 && (groups & GROUP_SLOW))
        find_plugged(n);
    int rc = session_start(n, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n->card_count; i++)
        if (may_touch(&n->cards[i]))
            wake_up_card(n, &n->cards[i]);
    nvapi_refresh(n);
    /* Like GPM: skip what a quick one-shot can't use. */
    if (n->refreshes++ > 0 || !is_one_look(groups))
        events_update(n);
    return 0;
}

static void mark_trouble(struct nvml *n, const struct nvml_card *card, struct gpu *out)
{
    bool lost = card->trouble == NVML_GPU_IS_LOST || card->trouble == NVML_GPU_NOT_FOUND || card->trouble == NVML_NOT_FOUND;
    gpu_done(out);
    gpu_mark_state(out, lost ? GPU_LOST : GPU_ERROR, nvml_words(&n->lib, card->trouble));
}

static struct reading counted(struct nvml_traffic t)
{
    return t.counts ? reading_ok(t.bytes) : reading_absent(READING_UNSUPPORTED);
}

/* A Jetson's driver leaves most readings to kernel files. */
static void read_board_files(struct nvml *n, const struct nvml_card *card, unsigned groups, struct gpu *out)
{
    struct attrs devfreq;
    if (card->shared_memory)
        gpu_set_property(out, PROPERTY_memory_kind, "shared");
    bool found = card->shared_memory && tegra_find(n->env, &devfreq);
    if (found || (card->shared_memory && file_exists(n->env, "/etc/nv_tegra_release")))
        tegra_fill(n->env, found ? &devfreq : NULL, groups, out);
}

static bool read_card(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    if (!mig_update(n, card, groups) || !query_run(n, card, groups, out) || !gpm_run(n, card, groups, out) ||
        !fields_run(n, card, groups, out))
        return false;
    if (n->nvapi)
        nvapi_run(n, card, groups, out);
    if (groups & GROUP_STATIC)
        about_run(n, card, out);
    if (groups & GROUP_RARE)
        pcie_errors(n->env, card->id.pci_address, out);
    if (groups & GROUP_PAST)
        past_run(n, card, out);
    if ((groups & GROUP_PROCESS) && (!process_run(n, card, groups, out) || !utilization_run(n, card, groups, out)))
        return false;
    mig_run(n, card, groups, out);
    out->pcie_rx_bytes = counted(card->received);
    out->pcie_tx_bytes = counted(card->sent);
    if (groups & GROUP_FAST) {
        out->xid_last = card->xid_last;
        if (out->xid_last.state == READING_UNREAD)
            out->xid_last.state = n->events_refused ? READING_UNSUPPORTED : READING_PENDING; /* none so far */
    }
    read_board_files(n, card, groups, out);
    return true;
}

/* A card that answers nothing, though not with "lost". */
static bool all_failed(const struct gpu *out, unsigned groups)
{
    size_t failed = 0;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (!(metric_table[i].group & groups))
            continue;
        if (out->metric[i].state == READING_OK)
            return false;
        failed += out->metric[i].state == READING_FAILED;
    }
    return failed > 0;
}

static void nvml_sample(struct source *s, size_t index, unsigned groups, struct gpu *out)
{
    struct nvml *n = of(s);
    if (index >= n->card_count)
        return;
    struct nvml_card *card = &n->cards[index];
    out->id = card->id;
    str_copy(out->source, sizeof out->source, str_from(nvml_source.name));
    if (!may_touch(card)) {
        gpu_mark_state(out, GPU_ASLEEP, card->resting ? "idle; left alone so that it can fall asleep" : "");
        return;
    }
    if (card->trouble || !card->handle || !read_card(n, card, groups, out)) {
        mark_trouble(n, card, out);
        return;
    }
    card->sampled = true;
    if (all_failed(out, groups)) {
        card_forget_refusals(card);
        gpu_done(out);
        gpu_mark_state(out, GPU_ERROR, nvml_words(&n->lib, NVML_UNKNOWN));
        return;
    }
    gpu_mark_absent(out, groups, READING_UNSUPPORTED);
    sleep_note(n, card, out);
}

static void nvml_driver(struct source *s, struct driver_info *out)
{
    *out = of(s)->driver;
}

const struct source_ops nvml_source = {
    .name = "nvml",
    .ignores_parameters = true,
    .what = "NVIDIA GPUs through the driver's own library (libnvidia-ml.so.1)",
    .automatic = true,
    .names_driver = true,
    .open = nvml_open,
    .list = nvml_list,
    .refresh = nvml_refresh,
    .sample = nvml_sample,
    .driver = nvml_driver,
    .events = nvml_events,
    .changed = nvml_changed,
    .describe = nvml_describe,
    .control = &nvml_control,
    .close = nvml_close,
};
