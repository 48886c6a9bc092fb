/* SPDX-License-Identifier: Apache-2.0
 * The source: decides when to run nvidia-smi. Each sample takes one run for readings and one for processes; slow values and
 * graphics processes come from -q -x with the slow group.
 */
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/nvidia_smi/internal.h"
#include "source/nvml/outside.h"

enum { STILL_FRESH_MS = 250 }; /* open()'s query serves the first sample */

static struct smi *of(struct source *s)
{
    return (struct smi *)s;
}

static void smi_close(struct source *source)
{
    struct smi *s = of(source);
    if (!s)
        return;
    smi_cards_done(s);
    free(s);
}

static int read_xml(struct smi *s, struct error *err)
{
    AUTO_REPORT struct smi_report r = {0};
    int rc = smi_tool_xml(s, &r, err);
    if (rc < 0)
        return rc;
    s->xml_known = s->xml_fresh = true;
    if (r.driver.driver_version[0])
        str_copy(s->driver.driver_version, sizeof s->driver.driver_version, str_from(r.driver.driver_version));
    if (r.driver.cuda_version[0])
        str_copy(s->driver.cuda_version, sizeof s->driver.cuda_version, str_from(r.driver.cuda_version));
    if (s->xml_only) { /* it also lists the cards */
        AUTO_REPORT struct smi_report cards = {0};
        for (size_t i = 0; i < r.count; i++) {
            struct smi_card *card = smi_report_card(&cards, r.cards[i].gpu.id.uuid, r.cards[i].gpu.id.pci_address);
            if (!card)
                continue;
            card->index = (int)i;
            card->gpu.id = r.cards[i].gpu.id;
        }
        smi_cards_update(s, &cards);
    }
    s->processes_state = READING_OK;
    smi_cards_update_slow(s, &r);
    return 0;
}

static int read_apps(struct smi *s, struct error *err)
{
    AUTO_REPORT struct smi_report r = {0};
    for (size_t i = 0; i < s->count; i++)
        smi_report_card(&r, s->cards[i].id.uuid, s->cards[i].id.pci_address);
    int rc = smi_tool_apps(s, &r, err);
    s->processes_state = rc == -ETIMEDOUT ? READING_PENDING : rc < 0 ? READING_FAILED : READING_OK;
    smi_cards_update_apps(s, &r);
    return rc;
}

static int query(struct smi *s, unsigned groups, struct error *err)
{
    AUTO_REPORT struct smi_report r = {0};
    int rc = s->xml_only ? 0 : smi_tool_query(s, groups, &r, err);
    if (rc < 0 || s->xml_only)
        return rc;
    for (size_t i = 0; i < r.count; i++)
        if (r.cards[i].gpu.driver_version.state == READING_OK)
            str_copy(s->driver.driver_version, sizeof s->driver.driver_version, str_from(r.cards[i].gpu.driver_version.value));
    smi_cards_update(s, &r);
    if (s->no_memory)
        return error_set(err, -ENOMEM, "out of memory");
    s->queried_at = clock_mono(s->env->clock);
    s->queried_groups = groups;
    return 0;
}

static bool is_fresh(const struct smi *s)
{
    return s->queried_at.ns && mono_since_ms(clock_mono(s->env->clock), s->queried_at) < STILL_FRESH_MS;
}

/* Runs -q -x when due; it also lists all processes, including graphics ones. */
static int read_more(struct smi *s, unsigned groups, struct error *err)
{
    bool due = s->xml_only || (groups & (GROUP_SLOW | GROUP_STATIC)) || ((groups & GROUP_PROCESS) && !s->xml_known);
    struct error why = {0};
    int rc = due ? read_xml(s, &why) : 0;
    if (rc < 0 && s->xml_only)
        return error_set(err, rc, "%s", why.text);
    s->more_late = rc == -ETIMEDOUT;
    if (rc == 0 && due)
        return 0;
    /* Without it, only its own values are missing. */
    rc = groups & GROUP_PROCESS ? read_apps(s, &why) : 0;
    s->more_late |= rc == -ETIMEDOUT;
    return 0;
}

static int smi_refresh(struct source *source, unsigned groups, struct error *err)
{
    struct smi *s = of(source);
    bool served = is_fresh(s) && (groups & ~s->queried_groups) == 0;
    if (!served)
        smi_tool_start_clock(s);
    smi_cards_look_asleep(s);
    if (smi_cards_all_asleep(s) || visible_kind(s->env->visible_devices) == VISIBLE_NONE)
        return 0;
    s->xml_fresh = false;
    int rc = served ? 0 : query(s, groups, err);
    s->queried_groups = 0; /* use it only once */
    return rc < 0 ? rc : read_more(s, groups, err);
}

static int nvidia_smi_start(struct smi *s, struct error *err)
{
    smi_tool_start_clock(s);
    smi_cards_look_asleep(s);
    if (smi_cards_all_asleep(s))
        return 0;
    int rc = query(s, GROUP_ALL, err);
    if (rc == 0 && s->xml_only)
        rc = read_xml(s, err);
    return rc;
}

static int smi_check(const char *params, struct error *err)
{
    return params[0] ? error_set(err, -EINVAL, "the source nvidia-smi takes no parameters, but got '%s'", params) : 0;
}

static int smi_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    if (smi_check(params, err) < 0)
        return -EINVAL;
    /* The program would report this host, not the recorded one; one given by path is intended. */
    if (env_is_recorded(env) && !strchr(env->nvidia_smi, '/'))
        return error_set(err, -ENODEV, "nvidia-smi is not run on a recorded machine");
    struct smi *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &nvidia_smi_source;
    s->env = env;
    str_copy(s->program, sizeof s->program, str_from(env->nvidia_smi));
    int rc = visible_kind(env->visible_devices) == VISIBLE_NONE ? 0 : nvidia_smi_start(s, err);
    if (rc < 0) {
        smi_close(&s->source);
        return rc;
    }
    s->changed = false;
    *ret = &s->source;
    return 0;
}

static int smi_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct smi *s = of(source);
    size_t count = MIN_OF(s->count, max);
    for (size_t i = 0; i < count; i++)
        ids[i] = s->cards[i].id;
    s->changed = false;
    return (int)count;
}

static bool smi_changed(struct source *source)
{
    return of(source)->changed;
}

static void smi_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct smi *s = of(source);
    if (gpu < s->count)
        smi_merge_sample(s, &s->cards[gpu], groups, out);
}

static void smi_driver(struct source *source, struct driver_info *out)
{
    struct smi *s = of(source);
    /* Old drivers lack the option; use the other outputs then. */
    if (!s->version_asked && s->runs) {
        s->version_asked = true;
        smi_tool_version(s);
    }
    *out = s->driver;
}

static void smi_describe(struct source *source, struct buf *out)
{
    struct smi *s = of(source);
    buf_printf(out, "program %s, %u runs, the last took %lld ms\n", s->program, s->runs, (long long)s->last_run_ms);
    if (s->env->visible_devices && s->hidden)
        buf_printf(out, "NVIDIA_VISIBLE_DEVICES=%s hides %zu GPUs\n", s->env->visible_devices, s->hidden);
    if (s->xml_only)
        buf_text(out, "this driver does not know --query-gpu: read through -q -x\n");
    size_t missing = 0;
    for (size_t i = 0; i < smi_column_count && !s->xml_only && s->runs; i++) {
        if (s->spelling[i] != SPELLING_UNKNOWN)
            continue;
        buf_printf(out, "%s%s", missing++ ? ", " : "columns that this driver does not know: ", smi_columns[i].name);
    }
    buf_text(out, missing ? "\n" : "");
    for (size_t i = 0; i < s->count; i++) {
        const struct smi_known_card *card = &s->cards[i];
        const char *state = card->asleep ? "asleep, not touched" : card->now.state == GPU_LOST ? card->now.error_message : "read";
        buf_printf(out, "GPU %zu %s %s: %s\n", i, card->id.pci_address, card->id.name, state);
    }
}

const struct source_ops nvidia_smi_source = {
    .name = "nvidia-smi",
    .what = "NVIDIA GPUs through the program nvidia-smi, where NVML cannot be used",
    .instead_of = "nvml",
    .automatic = true,
    .periodic_only = true,
    .check = smi_check,
    .open = smi_open,
    .list = smi_list,
    .refresh = smi_refresh,
    .sample = smi_sample,
    .driver = smi_driver,
    .changed = smi_changed,
    .describe = smi_describe,
    .close = smi_close,
};
