/* SPDX-License-Identifier: Apache-2.0
 * The NVML source: NVIDIA's cards through the driver's own library. Decides which card may be touched and reads it group by group.
 */
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/nvml/internal.h"
#include "source/source_control.h"
#include "source/sysfs/sysfs_card.h"
#include "source/tegra/tegra_read.h"

enum { RETRY_LOST_MS = 5000 };

static struct nvml *of(struct source *s)
{
    return (struct nvml *)s;
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

static size_t nvml_events(struct source *s, struct event *events, size_t max)
{
    return events_take(of(s), events, max);
}

static void nvml_describe(struct source *s, struct buf *out)
{
    describe(of(s), out);
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
