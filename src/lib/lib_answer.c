/* SPDX-License-Identifier: Apache-2.0
 * Resources, why and fit.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask_fit.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "format/capacity_forms.h"
#include "format/json/json.h"
#include "insight/view/why.h"
#include "lib/handle.h"

enum { FRESH_MS = 500 };

/* ---- resources ---- */

/* Without a daemon, CPU rates are those between two calls, so that no call has to wait. */
static int sample_resources(struct whirr *w, const struct snapshot **ret, struct host *host)
{
    struct error err = {0};
    const struct snapshot *s = session_sample(w->session, GROUP_QUICK, &err);
    if (!s)
        return handle_fail(w, &err);
    *host = s->host;
    if (!session_asks_daemon(w->session)) {
        if (!w->machine)
            w->machine = machine_new(&w->cli.env);
        if (w->machine)
            machine_sample(w->machine, host);
    }
    *ret = s;
    return 0;
}

static int resources_text(struct whirr *w, struct buf *out)
{
    struct host host = {0};
    AUTO_SNAPSHOT const struct snapshot *s = NULL;
    int rc = sample_resources(w, &s, &host);
    if (rc)
        return rc;
    struct json_writer j = JSON_WRITER_PRETTY(out);
    json_resources(&j, s, &host);
    return 0;
}

int whirr_resources_json(struct whirr *w, char **ret)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    int rc = handle_use(w, ret != NULL);
    if (!rc)
        rc = resources_text(w, &out);
    return rc ? rc : handle_text(w, &out, ret);
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void copy_text(const json_t *o, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));
    str_copy(to, size, str_from(text ? text : ""));
}

/* Parses the JSON body instead of computing the values again, so that both always agree. */
int whirr_resources(struct whirr *w, struct whirr_resources *ret)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct error err = {0};
    int rc = handle_use(w, ret != NULL);
    if (rc)
        return rc;
    if (ret->size < offsetof(struct whirr_resources, gpu_name)) {
        error_set(&err, -EINVAL, "whirr_resources.size is not set");
        return handle_fail(w, &err);
    }
    rc = resources_text(w, &out);
    AUTO_JSON json_t *o = rc ? NULL : json_loadb(buf_view(&out).at, out.len, 0, NULL);
    if (!rc && !o) {
        error_set(&err, -ENOMEM, "out of memory");
        rc = handle_fail(w, &err);
    }
    if (rc)
        return rc;
    struct whirr_resources r = {
        .size = ret->size,
        .cpu_percent = number_of(o, "cpu_percent"),
        .memory_percent = number_of(o, "memory_percent"),
        .available_memory_gb = number_of(o, "available_memory_gb"),
        .memory_total_gb = number_of(o, "memory_total_gb"),
        .gpu_vram_gb = number_of(o, "gpu_vram_gb"),
        .gpu_available = json_is_true(json_object_get(o, "gpu_available")),
        .gpu_count = (int)json_integer_value(json_object_get(o, "gpu_count")),
        .gpu_total_vram_gb = number_of(o, "gpu_total_vram_gb"),
        .gpu_used_vram_gb = number_of(o, "gpu_used_vram_gb"),
        .gpu_free_vram_gb = number_of(o, "gpu_free_vram_gb"),
        .gpu_utilization_percent = number_of(o, "gpu_utilization_percent"),
        .gpu_temperature_c = number_of(o, "gpu_temperature_c"),
    };
    copy_text(o, "gpu_name", r.gpu_name, sizeof r.gpu_name);
    copy_text(o, "gpu_source", r.gpu_source, sizeof r.gpu_source);
    memcpy(ret, &r, MIN_OF(ret->size, sizeof r));
    return 0;
}

/* ---- why ---- */

static int explain(struct whirr *w, bool whole, char **ret)
{
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    AUTO_SNAPSHOT const struct snapshot *now = NULL;
    struct why *why = NULL;
    struct error err = {0};
    int rc = handle_use(w, ret != NULL);
    if (rc)
        return rc;
    if (explain_now(&w->cli, w->session, &now, &why, &err) < 0)
        return handle_fail(w, &err);
    struct json_writer j = JSON_WRITER_PRETTY(&out);
    if (whole)
        json_why(&j, now, why, ALL_GPUS);
    else
        buf_text(&out, why->answer);
    why_free(why);
    return handle_text(w, &out, ret);
}

int whirr_why(struct whirr *w, char **ret)
{
    return explain(w, false, ret);
}

int whirr_why_json(struct whirr *w, char **ret)
{
    return explain(w, true, ret);
}

/* ---- fit ---- */

struct fit_question {
    struct placement_request request;
    struct model_options options;
    struct model_facts *facts; /* NULL: the request is an amount of memory */
    struct model_need *need;
};

static int read_question(const char *what, struct fit_question *q, struct error *err)
{
    q->request = (struct placement_request){.count = 1, .only = -1};
    q->options = (struct model_options){.context = -1, .cache_type = "f16", .overhead_bytes = MODEL_OVERHEAD_DEFAULT};
    if (access(what, F_OK) != 0 && bytes_parse(str_from(what), &q->request.bytes)) {
        q->request.whole = true;
        return q->request.bytes > 0 ? 0 : error_set(err, -EINVAL, "a size must be above 0, not '%s'", what);
    }
    q->facts = calloc(1, sizeof *q->facts);
    q->need = calloc(1, sizeof *q->need);
    if (!q->facts || !q->need)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = model_files_read(what, q->facts, err);
    if (rc < 0)
        return rc;
    model_need(q->facts, &q->options, q->need);
    q->request.bytes = q->need->bytes;
    q->request.fixed_bytes = q->need->fixed_bytes;
    q->request.layers = q->need->layers;
    q->request.layer_count = q->need->layer_count;
    return 0;
}

static int answer_question(struct whirr *w, const char *what, const struct fit_question *q, struct buf *out, struct error *err)
{
    session_set_max_age(w->session, FRESH_MS);
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(w->session, GROUP_ALL, err);
    if (!s)
        return err->code;
    AUTO_FREE struct capacity *c = fit_capacity(&w->cli, w->session, s, w->cli.settings->worker.reserve_bytes);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    AUTO_FREE struct placement *p = placement_find(c, &q->request);
    if (!p)
        return error_set(err, -errno, errno == ENOMEM ? "out of memory" : "that size can't be placed");
    if (q->need)
        fit_doubt(q->need, p);
    const struct fit_subject subject = {.path = q->facts ? what : NULL,
                                        .facts = q->facts,
                                        .need = q->need,
                                        .cache_type = q->options.cache_type,
                                        .context_wanted = q->options.context};
    struct json_writer j = JSON_WRITER_PRETTY(out);
    json_placement(&j, c, &q->request, p, &subject);
    return p->verdict == PLACEMENT_FITS;
}

int whirr_fit(struct whirr *w, const char *what, char **ret_json)
{
    AUTO_BUF struct buf out = BUF(8 << 20);
    struct fit_question q = {0};
    struct error err = {0};
    int rc = handle_use(w, what != NULL);
    if (rc)
        return rc;
    rc = read_question(what, &q, &err);
    if (rc == 0)
        rc = answer_question(w, what, &q, &out, &err);
    free(q.facts);
    free(q.need);
    if (rc < 0)
        return handle_fail(w, &err);
    int text = ret_json ? handle_text(w, &out, ret_json) : 0;
    return text < 0 ? text : rc;
}
