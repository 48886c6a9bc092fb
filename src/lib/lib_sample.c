/* SPDX-License-Identifier: Apache-2.0
 * Samples: taken, delivered at an interval in the thread of the caller, and read by the names of their JSON keys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "lib/handle.h"

int whirr_sample(struct whirr *w, struct whirr_sample **ret)
{
    struct error err = {0};
    int use = handle_use(w, ret != NULL);
    if (use)
        return use;
    const struct snapshot *snapshot = session_sample(w->session, GROUP_ALL, &err);
    if (!snapshot)
        return handle_fail(w, &err);
    struct whirr_sample *s = malloc(sizeof *s);
    if (!s) {
        snapshot_unref(snapshot);
        error_set(&err, -ENOMEM, "out of memory");
        return handle_fail(w, &err);
    }
    s->snapshot = snapshot;
    *ret = s;
    return 0;
}

void whirr_sample_free(struct whirr_sample *s)
{
    if (s)
        snapshot_unref(s->snapshot);
    free(s);
}

/* ---- at an interval ---- */

int handle_fail_at(struct whirr *w, int code, const char *what)
{
    struct error err = {0};
    error_set(&err, code, "%s: %s", what, strerror(-code));
    return handle_fail(w, &err);
}

int handle_deliver_sample(struct whirr *w, whirr_watch_fn *fn, void *user)
{
    struct whirr_sample *s;
    int rc = whirr_sample(w, &s);
    if (rc)
        return rc;
    rc = fn(user, s);
    whirr_sample_free(s);
    return rc;
}

int whirr_watch(struct whirr *w, int64_t interval_ms, whirr_watch_fn *fn, void *user)
{
    int use = handle_use(w, fn != NULL);
    if (use)
        return use;
    if (interval_ms <= 0)
        return handle_fail_at(w, -EINVAL, "the interval");
    struct mono next = clock_mono(&clock_system);
    for (;;) {
        int rc = handle_deliver_sample(w, fn, user);
        if (rc)
            return rc;
        next.ns += interval_ms * NS_PER_MS;
        int64_t left_ms = mono_since_ms(next, clock_mono(&clock_system));
        if (left_ms > 0)
            pause_ms(left_ms);
        else
            next = clock_mono(&clock_system);
    }
}

/* ---- GPUs ---- */

int64_t whirr_sample_time_ms(const struct whirr_sample *s)
{
    return s ? s->snapshot->taken_at.ms : 0;
}

const char *whirr_sample_host(const struct whirr_sample *s)
{
    return s ? s->snapshot->host.name : NULL;
}

size_t whirr_gpu_count(const struct whirr_sample *s)
{
    return s ? s->snapshot->gpu_count : 0;
}

static const struct gpu *gpu_at(const struct whirr_sample *s, size_t gpu)
{
    return s && gpu < s->snapshot->gpu_count ? &s->snapshot->gpus[gpu] : NULL;
}

static const char *words(const char *text)
{
    return text && text[0] ? text : NULL;
}

const char *whirr_gpu_text(const struct whirr_sample *s, size_t gpu, const char *name)
{
    const struct gpu *g = gpu_at(s, gpu);
    if (!g || !name)
        return NULL;
    const struct {
        const char *name, *text;
    } own[] = {
        {"name", g->id.name},
        {"uuid", g->id.uuid},
        {"pci_address", g->id.pci_address},
        {"vendor", g->id.vendor},
        {"state", gpu_state_name(g->state)},
        {"source", g->source},
        {"error_message", g->error_message},
    };
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(own[i].name, name) == 0)
            return words(own[i].text);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(property_table[i].json, name) == 0)
            return g->property[i].state == READING_OK ? words(g->property[i].value) : NULL;
    return NULL;
}

static int value(const struct metric_info *info, struct reading r, double *ret)
{
    if (r.state != READING_OK)
        return -ENODATA;
    *ret = (double)r.value * (info->kind == KIND_NUMBER ? info->json_scale : 1);
    return 0;
}

int whirr_gpu_value(const struct whirr_sample *s, size_t gpu, const char *name, double *ret)
{
    const struct gpu *g = gpu_at(s, gpu);
    if (!s || !name || !ret)
        return -EINVAL;
    enum metric m = metric_from_json(name);
    if (!g)
        return -ENODEV;
    return m == METRIC_COUNT ? -ENOENT : value(&metric_table[m], g->metric[m], ret);
}

const char *whirr_gpu_absent(const struct whirr_sample *s, size_t gpu, const char *name)
{
    const struct gpu *g = gpu_at(s, gpu);
    enum metric m = name ? metric_from_json(name) : METRIC_COUNT;
    return !g || m == METRIC_COUNT || g->metric[m].state == READING_OK ? NULL : reading_state_name(g->metric[m].state);
}

/* ---- processes ---- */

static const struct process *process_at(const struct whirr_sample *s, size_t gpu, size_t process)
{
    const struct gpu *g = gpu_at(s, gpu);
    return g && process < g->process_count ? &g->processes[process] : NULL;
}

size_t whirr_process_count(const struct whirr_sample *s, size_t gpu)
{
    const struct gpu *g = gpu_at(s, gpu);
    return g ? g->process_count : 0;
}

int32_t whirr_process_pid(const struct whirr_sample *s, size_t gpu, size_t process)
{
    const struct process *p = process_at(s, gpu, process);
    return p ? p->pid : 0;
}

const char *whirr_process_text(const struct whirr_sample *s, size_t gpu, size_t process, const char *name)
{
    const struct process *p = process_at(s, gpu, process);
    if (!p || !name)
        return NULL;
    const struct {
        const char *name, *text;
    } own[] = {
        {"name", p->name},
        {"display_name", process_title(p)},
        {"command", p->command},
        {"user", p->user},
        {"type", process_type_name(p->type)},
        {"container", p->container},
        {"container_name", p->container_name},
        {"job", p->job},
        {"model", p->model},
    };
    size_t i = NAME_FIND(own, str_from(name));
    return i < ARRAY_LEN(own) ? words(own[i].text) : NULL;
}

int whirr_process_value(const struct whirr_sample *s, size_t gpu, size_t process, const char *name, double *ret)
{
    const struct process *p = process_at(s, gpu, process);
    if (!s || !name || !ret)
        return -EINVAL;
    if (!p)
        return -ESRCH;
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        if (strcmp(process_metric_table[i].json, name) == 0)
            return value(&process_metric_table[i], p->metric[i], ret);
    return -ENOENT;
}

int whirr_sample_json(const struct whirr_sample *s, char **ret)
{
    if (!s || !ret)
        return -EINVAL;
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    struct json_writer j = JSON_WRITER_PRETTY(&out);
    json_metrics(&j, s->snapshot, ALL_GPUS);
    return handle_text(NULL, &out, ret);
}
