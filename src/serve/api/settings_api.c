/* SPDX-License-Identifier: Apache-2.0
 * GPU settings for clients of the API. The daemon itself can't change anything: the helper checks role and range again.
 */
#include "serve/api/core.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

/* ---- in the thread ---- */

static int plan(struct setting_errand *s, struct change_list *l)
{
    AUTO_FREE struct gpu *about = calloc(1, sizeof *about);
    if (!about)
        return error_set(&s->err, -ENOMEM, "out of memory");
    about->id = s->id;
    about->index = s->gpu_index;
    about->power_mw = s->draw_mw;
    int rc = control_open(&s->errand.env, &l->set, &s->err);
    if (rc < 0)
        return rc;
    return s->quiet ? plan_quiet(l, about, &s->err) : plan_setting(l, about, s->kind, s->value, &s->err);
}

static int ask_helper(struct setting_errand *s, const struct change_list *l)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    char words[SETTINGS_WORDS];
    AUTO_CLOSE int fd = r ? helper_connect() : -ENOMEM;
    if (fd < 0)
        return error_set(&s->err, -ECONNREFUSED,
                         "the helper that may change settings does not run, or does not let the daemon's user in; "
                         "enable whirr-control.socket, and add that user to control.group");
    *r = (struct request){.op = REQUEST_SET, .until = s->until, .count = l->count};
    for (size_t i = 0; i < l->count; i++)
        r->settings[i] = l->at[i].setting;
    str_copy_clean(r->command, sizeof r->command, str_from(s->who));
    return helper_ask(fd, r, &s->lease, words, &s->err);
}

static void change(struct errand *e)
{
    struct setting_errand *s = (struct setting_errand *)e;
    AUTO_FREE struct change_list *l = calloc(1, sizeof *l);
    s->err = (struct error){0};
    s->lease = (struct lease){0};
    s->rc = l ? plan(s, l) : error_set(&s->err, -ENOMEM, "out of memory");
    if (s->rc == 0)
        s->rc = ask_helper(s, l);
    if (l)
        change_list_done(l);
}

const struct errand_ops changing_setting = {.work = change, .busy = "Another setting is being changed; ask again in a second."};

SHARED_ANSWER_TABLE(setting_answer, struct lease, .name = "SettingLease")
{
    PART("lease", lease_answer, "It puts the old value back");
}

/* ---- in the loop ---- */

static void reply(struct exchange *x, const struct setting_errand *s)
{
    if (s->rc < 0) {
        bool ours = s->rc == -EINVAL || s->rc == -ERANGE || s->rc == -EOPNOTSUPP || s->rc == -ENOENT;
        exchange_error(x, ours ? 400 : s->rc == -ECONNREFUSED ? 503 : 409, ours ? "bad_value" : "not_changed", "%s", s->err.text);
        return;
    }
    AUTO_BUF struct buf out = BUF(128 * 1024);
    answer_write(JSON_TO(&out), &setting_answer, &s->lease, NULL);
    exchange_json(x, 201, &out);
}

static void bad_body(struct exchange *x)
{
    exchange_error(x, 400, "bad_body",
                   "Expected {\"gpu\": 0, \"what\": \"quiet\", \"for_seconds\": 7200}; what: quiet, or power_limit, clocks or fan "
                   "with a value like \"330W\".");
}

/* Reads the GPU, the setting and its end. The end is required; only a user of the host itself may omit it. */
static bool read_request(const struct exchange *x, const json_t *body, struct setting_errand *s)
{
    enum { DAYS_MAX = 7 };
    int64_t index = json_integer_value(json_object_get(body, "gpu")),
            seconds = json_integer_value(json_object_get(body, "for_seconds"));
    const char *what = json_text(body, "what"), *value = json_text(body, "value");
    const struct gpu *gpu = index >= 0 && index < GPU_MAX ? snapshot_gpu(x->server->data.latest, (int)index) : NULL;
    if (!json_is_integer(json_object_get(body, "gpu")) || !gpu || seconds < 1 || seconds > DAYS_MAX * 86400LL)
        return false;
    s->quiet = str_is(str_from(what), "quiet");
    if (!s->quiet && (!control_from_name(what, &s->kind) || !value[0]))
        return false;
    s->id = gpu->id;
    s->gpu_index = gpu->index;
    s->draw_mw = gpu->power_mw;
    s->until.ms = clock_wall(&clock_system).ms + seconds * MS_PER_S;
    str_copy(s->value, sizeof s->value, str_from(value));
    return true;
}

void post_setting(struct exchange *x)
{
    struct setting_errand *s = &x->server->setting;
    if (errand_is_over(&s->errand, x)) {
        reply(x, s);
        return;
    }
    if (!x->server->options.control) {
        exchange_error(x, 403, "control_off",
                       "Changing settings is off; the host's owner turns it on with [control] allow = true.");
        return;
    }
    if (!x->server->data.latest) {
        ready_starting(x);
        return;
    }
    if (!errand_is_free(&s->errand, x))
        return;
    AUTO_JSON json_t *body = json_loadb(x->body.at ? x->body.at : "", x->body.len, JSON_REJECT_DUPLICATES, NULL);
    bool fine = read_request(x, body, s);
    if (!fine) {
        bad_body(x);
        return;
    }
    str_copy(s->who, sizeof s->who, str_from(x->who));
    errand_begin(&s->errand, x);
}
