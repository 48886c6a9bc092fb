/* SPDX-License-Identifier: Apache-2.0
 * The NVML source: NVIDIA's cards through the driver's own library. Opens and closes it, finds the cards, reads one.
 */
#include "source/nvml/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/nvml/internal.h"

enum { RETRY_LOST_MS = 5000 };

static struct nvml *of(struct source *s)
{
    return (struct nvml *)s;
}

static int init_error(struct nvml *n, int code, struct error *err)
{
    const char *words = nvml_words(&n->lib, code);
    const char *hint = code == NVML_DRIVER_NOT_LOADED   ? "the NVIDIA kernel driver is not loaded"
                       : code == NVML_VERSION_MISMATCH  ? "the library and the loaded kernel driver are of different versions; "
                                                          "restart the machine or reload the driver"
                       : code == NVML_NO_PERMISSION     ? "no access to /dev/nvidiactl; see its owner and mode"
                       : code == NVML_LIBRARY_NOT_FOUND ? "a library of the driver is missing"
                                                        : "NVML does not start";
    return error_set(err, -ENODEV, "%s: %s", words, hint);
}

static void learn_versions(struct nvml *n)
{
    char text[NVML_TEXT_SIZE] = "";
    int cuda = 0;
    if (n->lib.driver_version && n->lib.driver_version(text, sizeof text) == NVML_OK)
        str_copy_clean(n->driver.driver_version, sizeof n->driver.driver_version, str_from(text));
    text[0] = '\0';
    if (n->lib.nvml_version && n->lib.nvml_version(text, sizeof text) == NVML_OK)
        str_copy_clean(n->driver.nvml_version, sizeof n->driver.nvml_version, str_from(text));
    if (n->lib.cuda_version && n->lib.cuda_version(&cuda) == NVML_OK && cuda > 0)
        snprintf(n->driver.cuda_version, sizeof n->driver.cuda_version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
}

static int start(struct nvml *n, struct error *err)
{
    if (n->running)
        return 0;
    int code = n->lib.init();
    if (code != NVML_OK && code != NVML_ALREADY_INITIALIZED)
        return init_error(n, code, err);
    n->running = true;
    n->restart = false;
    if (!n->driver.driver_version[0])
        learn_versions(n);
    return 0;
}

static void stop(struct nvml *n)
{
    if (!n->running)
        return;
    events_done(n);
    for (size_t i = 0; i < n->card_count; i++)
        card_detach(n, &n->cards[i]);
    if (!n->restart)
        n->lib.shutdown();
    n->running = false;
}

/* Finding the cards */

static struct nvml_card *add_card(struct nvml *n, int nvml_index)
{
    struct nvml_card *more = realloc(n->cards, (n->card_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    n->cards = more;
    card_init(&more[n->card_count], nvml_index);
    return &more[n->card_count++];
}

static void hide_last_card(struct nvml *n)
{
    card_done(n, &n->cards[--n->card_count]);
    n->hidden++;
}

/* A list of MIG UUIDs shows the cards that hold one of them. */
static bool shows_card(struct nvml *n, struct nvml_card *card, size_t total)
{
    if (visible_card(n->env->visible_devices, total, card->nvml_index, card->id.uuid))
        return true;
    if (!card->handle || !strstr(n->env->visible_devices, "MIG-"))
        return false;
    return mig_update(n, card, GROUP_STATIC) && card->instance_count > 0;
}

static int find_running(struct nvml *n, struct error *err)
{
    unsigned count = 0;
    int code = n->lib.count(&count);
    if (code != NVML_OK)
        return error_set(err, -ENODEV, "%s: NVML does not count its GPUs", nvml_words(&n->lib, code));
    if (count == 0)
        return error_set(err, -ENODEV, "the NVIDIA driver is loaded but finds no GPU");
    for (unsigned i = 0; i < count && n->card_count < GPU_MAX; i++) {
        if (!visible_card(n->env->visible_devices, count, (int)i, "")) {
            n->hidden++;
            continue;
        }
        struct nvml_card *card = add_card(n, (int)i);
        if (!card)
            return error_set(err, -ENOMEM, "out of memory");
        code = card_attach(n, card);
        if (code == NVML_OK && !shows_card(n, card, count))
            hide_last_card(n);
    }
    return 0;
}

/* A card that does not even open has no name: the one that only sysfs knows must be it. */
static void name_unopened(struct nvml *n, const struct nvml_seen *seen, size_t seen_count)
{
    size_t next = 0;
    for (size_t i = 0; i < n->card_count; i++) {
        if (n->cards[i].id.pci_address[0])
            continue;
        for (; next < seen_count; next++) {
            bool known = false;
            for (size_t k = 0; k < n->card_count && !known; k++)
                known = strcmp(n->cards[k].id.pci_address, seen[next].address) == 0;
            if (!known)
                break;
        }
        if (next == seen_count)
            return;
        sleep_identify(n->env, seen[next++].address, &n->cards[i].id);
    }
}

/* With a card asleep, sysfs gives the list (NVML's order is that of the addresses) and only the others are opened. */
static int find_mixed(struct nvml *n, const struct nvml_seen *seen, size_t count, struct error *err)
{
    for (size_t i = 0; i < count && n->card_count < GPU_MAX; i++) {
        struct nvml_card *card = add_card(n, (int)i);
        if (!card)
            return error_set(err, -ENOMEM, "out of memory");
        sleep_identify(n->env, seen[i].address, &card->id);
        card->asleep = seen[i].asleep;
        if (!card->asleep)
            card_attach(n, card);
        if (!shows_card(n, card, count))
            hide_last_card(n);
    }
    return 0;
}

static int find_cards(struct nvml *n, struct error *err)
{
    struct nvml_seen seen[GPU_MAX];
    size_t count = sleep_scan(n->env, seen, ARRAY_LEN(seen)), asleep = 0;
    for (size_t i = 0; i < count; i++)
        asleep += seen[i].asleep;
    if (count == 0 || asleep < count) {
        int rc = start(n, err);
        if (rc < 0)
            return rc;
    }
    int rc = asleep ? find_mixed(n, seen, count, err) : find_running(n, err);
    if (rc == 0 && !asleep)
        name_unopened(n, seen, count);
    return rc;
}

static void nvml_close(struct source *s)
{
    struct nvml *n = of(s);
    if (!n)
        return;
    stop(n);
    for (size_t i = 0; i < n->card_count; i++)
        card_done(n, &n->cards[i]);
    free(n->cards);
    free(n->gpm_request);
    free(n->entries);
    free(n);
}

static int nvml_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    (void)params;
    struct nvml *n = calloc(1, sizeof *n);
    if (!n)
        return error_set(err, -ENOMEM, "out of memory");
    n->source.ops = &nvml_source;
    n->env = env;
    n->visible = visible_kind(env->visible_devices);
    int rc = nvml_library_open(&n->lib, env, err);
    /* Told to show nothing: the driver is not even touched. */
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
        stop(n);
    for (size_t i = 0; i < n->card_count; i++) {
        sleep_update(n, &n->cards[i]);
        wanted |= may_touch(&n->cards[i]);
    }
    if (!wanted) {
        stop(n); /* an open library alone keeps the cards awake */
        return 0;
    }
    int rc = start(n, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n->card_count; i++)
        if (may_touch(&n->cards[i]))
            wake_up_card(n, &n->cards[i]);
    /* Like GPM: nothing that a quick one-shot would not live to use. */
    if (n->refreshes++ > 0 || (groups & ~(unsigned)GROUP_QUICK))
        events_update(n);
    return 0;
}

static void mark_trouble(struct nvml *n, const struct nvml_card *card, struct gpu *out)
{
    bool lost = card->trouble == NVML_GPU_IS_LOST || card->trouble == NVML_GPU_NOT_FOUND || card->trouble == NVML_NOT_FOUND;
    gpu_done(out);
    gpu_mark_state(out, lost ? GPU_LOST : GPU_ERROR, nvml_words(&n->lib, card->trouble));
}

static bool read_card(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    if (!mig_update(n, card, groups) || !query_run(n, card, groups, out) || !gpm_run(n, card, groups, out) ||
        !fields_run(n, card, groups, out))
        return false;
    if (groups & GROUP_STATIC)
        about_run(n, card, out);
    if ((groups & GROUP_PROCESS) && (!process_run(n, card, out) || !utilization_run(n, card, out)))
        return false;
    mig_run(n, card, groups, out);
    if (groups & GROUP_FAST)
        out->xid_last = card->xid_last;
    return true;
}

/* A card that answers nothing at all, though not with "lost". */
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
    .what = "NVIDIA GPUs through the driver's own library (libnvidia-ml.so.1)",
    .automatic = true,
    .open = nvml_open,
    .list = nvml_list,
    .refresh = nvml_refresh,
    .sample = nvml_sample,
    .driver = nvml_driver,
    .events = nvml_events,
    .changed = nvml_changed,
    .describe = nvml_describe,
    .close = nvml_close,
};
