/* SPDX-License-Identifier: Apache-2.0 */
#include "remedy/act.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "config/places.h"

static const char *act_dir(const struct act *a)
{
    return a->env->simulated ? PLACE_OF_SIMULATED : a->lease_dir;
}

/* What a context costs at rest is what its clocks cost. */
static int plan_lowest_clocks(struct change_list *l, const struct gpu *gpu, struct error *err)
{
    const struct control_gpu *at = control_find(&l->set, gpu_id_key(&gpu->id));
    struct control_state state;
    char text[24];
    int rc = at ? control_look(at, CONTROL_CLOCKS, &state, err) : error_set(err, -EOPNOTSUPP, "its clocks can't be set");
    if (rc < 0 && rc != -EACCES)
        return rc;
    snprintf(text, sizeof text, "%lld", (long long)state.least);
    return plan_setting(l, gpu, CONTROL_CLOCKS, text, err);
}

int act_plan(const struct act *a, const struct gpu *gpu, enum remedy_code code, struct change_list *l, struct error *err)
{
    int rc = control_open(a->env, &l->set, err);
    if (rc < 0)
        return rc;
    switch (code) {
    case REMEDY_QUIET: return plan_quiet(l, gpu, err);
    case REMEDY_STOCK_LIMIT: return plan_setting(l, gpu, CONTROL_POWER, "stock", err);
    case REMEDY_FAN_AUTO: return plan_setting(l, gpu, CONTROL_FAN, "auto", err);
    case REMEDY_RESET_CLOCKS: return plan_setting(l, gpu, CONTROL_CLOCKS, "stock", err);
    case REMEDY_PARK_CLOCKS: return plan_lowest_clocks(l, gpu, err);
    default: break;
    }
    if (!a->env->simulated)
        return error_set(err, -EOPNOTSUPP, "whirr can't do that itself");
    char number[24];
    snprintf(number, sizeof number, "%d", (int)code + 1);
    return plan_setting(l, gpu, CONTROL_ADVICE, number, err);
}

bool act_is_denied(const struct act *a, const struct change_list *l)
{
    bool denied = false;
    for (size_t i = 0; i < l->count; i++)
        denied |= l->at[i].denied;
    AUTO_CLOSE int fd = denied && !a->env->simulated ? helper_connect() : -1;
    return denied && fd < 0;
}

void act_words(const struct change_list *l, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < l->count && len < size; i++) {
        const struct change *c = &l->at[i];
        char now[CONTROL_TEXT_SIZE], new[CONTROL_TEXT_SIZE], gpu[24];
        snprintf(gpu, sizeof gpu, "GPU %d: ", c->setting.gpu_index);
        control_text(c->setting.kind, c->state.unit, c->state.now, now);
        len += (size_t)snprintf(out + len, size - len, "%s%s %s%s%s", i ? ", " : gpu, control_words(c->setting.kind),
                                c->setting.kind == CONTROL_ADVICE ? ""
                                : c->state.now_known              ? now
                                                                  : "as it is",
                                c->setting.kind == CONTROL_ADVICE ? "" : " -> ",
                                control_text(c->setting.kind, c->state.unit, c->setting.value, new));
    }
}

static int begin_there(int fd, const struct change_list *l, const char *who, struct wall until, struct lease *ret,
                       struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    char words[SETTINGS_WORDS];
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    *r = (struct request){.op = REQUEST_SET, .until = until, .count = l->count};
    for (size_t i = 0; i < l->count; i++)
        r->settings[i] = l->at[i].setting;
    str_copy_clean(r->command, sizeof r->command, str_from(who));
    return helper_ask(fd, r, ret, words, err);
}

static int begin_here(const struct act *a, const struct change_list *l, struct lease *lease, struct error *err)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    int rc = lease_dir_open_settings(&dir, act_dir(a), err);
    for (size_t i = 0; i < l->count && rc == 0; i++) {
        const struct request_setting *s = &l->at[i].setting;
        rc = lease_set_plan(lease, control_find(&l->set, s->gpu), s->gpu_index, s->kind, s->value, err);
    }
    if (rc == 0)
        rc = lease_dir_lock(&dir, LEASE_LOCK_MS, err);
    if (rc == 0)
        rc = lease_set_recover(&dir, &l->set, false, err);
    if (rc >= 0)
        rc = lease_set_begin(&dir, &l->set, lease, err);
    return rc;
}

int act_begin(const struct act *a, const struct change_list *l, const char *who, struct wall *until, struct lease *ret,
              struct error *err)
{
    bool simulated = a->env->simulated != NULL;
    AUTO_CLOSE int fd = simulated ? -1 : helper_connect();
    if (fd >= 0)
        return begin_there(fd, l, who, *until, ret, err);
    if (!simulated) /* this process ends, and no other one would see to it */
        until->ms = 0;
    lease_init(ret, LEASE_SETTING, 0, clock_wall(a->env->clock));
    ret->until = *until;
    str_copy_clean(ret->command, sizeof ret->command, str_from(who));
    int rc = begin_here(a, l, ret, err);
    for (size_t i = 0; i < l->count && rc == 0 && simulated && until->ms; i++)
        rc = sim_put_back_at(control_find(&l->set, l->at[i].setting.gpu), l->at[i].setting.kind, *until, err);
    return rc;
}

static int end_here(const struct act *a, const char *id, char *words, struct error *err)
{
    AUTO_CONTROL struct control_set set = {0};
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_LEASE_LIST struct lease_list list = {0};
    int rc = control_open(a->env, &set, err);
    if (rc == 0)
        rc = lease_dir_open_settings(&dir, act_dir(a), err);
    if (rc == 0)
        rc = lease_dir_lock(&dir, LEASE_LOCK_MS, err);
    if (rc == 0)
        rc = lease_dir_list(&dir, clock_wall(a->env->clock), &list, err);
    struct lease *l = rc == 0 ? lease_list_find(&list, id) : NULL;
    if (rc == 0 && !l)
        return error_set(err, -ENOENT, "lease %s has ended", id);
    return rc < 0 ? rc : lease_set_end(&dir, &set, l, words, err);
}

int act_end(const struct act *a, const char *id, char *words, struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    AUTO_CLOSE int fd = r && !a->env->simulated ? helper_connect() : -1;
    struct error there = {0};
    words[0] = '\0';
    if (fd >= 0) {
        r->op = REQUEST_END;
        str_copy(r->id, sizeof r->id, str_from(id));
        if (helper_ask(fd, r, NULL, words, &there) == 0)
            return 0;
    }
    int rc = end_here(a, id, words, err);
    return rc < 0 && there.text[0] ? error_set(err, rc, "%s", there.text) : rc;
}
