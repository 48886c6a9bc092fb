/* SPDX-License-Identifier: Apache-2.0
 * The steps of changing a setting. The journal is always ahead of the GPU.
 */
#include "lease/lease_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lease/lease_state.h"

/* ---- journal values ---- */

static void put_value(struct control_value v, struct reading *number, char *text, size_t size)
{
    *number = v.stock || v.low != v.high ? reading_absent(READING_UNSUPPORTED) : reading_ok(v.low);
    text[0] = '\0';
    if (v.stock)
        snprintf(text, size, "stock");
    else if (v.low != v.high)
        snprintf(text, size, "%lld-%lld", (long long)v.low, (long long)v.high);
}

static bool get_value(struct reading number, const char *text, struct control_value *ret)
{
    struct str rest = str_from(text), low;
    *ret = (struct control_value){.stock = strcmp(text, "stock") == 0};
    if (ret->stock)
        return true;
    if (reading_get(number, &ret->low)) {
        ret->high = ret->low;
        return true;
    }
    return str_cut(&rest, '-', &low) && str_to_i64(low, &ret->low) && str_to_i64(rest, &ret->high);
}

bool lease_set_values(const struct lease_setting *s, enum control_kind *kind, struct control_value *asked,
                      struct control_value *before)
{
    return control_from_name(s->what, kind) && get_value(s->asked, s->asked_text, asked) &&
           get_value(s->before, s->before_text, before);
}

const char *lease_set_words(const struct lease *l, char out[SETTINGS_WORDS])
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < l->setting_count && at < SETTINGS_WORDS - 80; i++) {
        enum control_kind kind;
        struct control_value asked, before;
        char now[CONTROL_TEXT_SIZE], old[CONTROL_TEXT_SIZE];
        if (lease_set_values(&l->settings[i], &kind, &asked, &before))
            at += (size_t)snprintf(out + at, SETTINGS_WORDS - at, "%s%s %s (was %s)", i ? ", " : "", control_words(kind),
                                   control_text(kind, NULL, asked, now), control_text(kind, NULL, before, old));
    }
    return out;
}

void lease_set_add_words(const struct lease *l, const char *gpu, char *out, size_t size)
{
    for (size_t i = 0; i < l->setting_count; i++) {
        enum control_kind kind;
        struct control_value asked, before;
        char now[CONTROL_TEXT_SIZE];
        size_t at = strlen(out);
        if (strcmp(l->settings[i].gpu, gpu) == 0 && lease_set_values(&l->settings[i], &kind, &asked, &before))
            snprintf(out + at, size - at, "%s%s %s", at ? ", " : "", control_words(kind), control_text(kind, NULL, asked, now));
    }
}

/* A setting with its GPU. */
struct changed {
    const struct control_gpu *gpu;
    struct lease_value v;
};

/* Whose value the GPU has; -errno: it can't be queried. */
static int owner_of(const struct changed *x, struct error *err)
{
    struct control_state now;
    int rc = control_look(x->gpu, x->v.kind, &now, err);
    return rc < 0 && rc != -EBUSY ? rc : (int)lease_value_owner(&x->v, rc, &now);
}

static int find_changed(const struct control_set *c, const struct lease_setting *s, struct changed *ret, struct error *err)
{
    *ret = (struct changed){.v = {.unfinished = lease_stage_of(s->step) != STAGE_ACTIVE,
                                  .least = reading_or(s->least, 0),
                                  .most = reading_or(s->most, 0)}};
    bool known = lease_set_values(s, &ret->v.kind, &ret->v.asked, &ret->v.before);
    /* A simulated GPU has its UUID also as another model, on another simulated machine: the one with this lease's value is meant.
     */
    for (size_t i = 0; i < c->gpu_count; i++)
        if (control_is(&c->gpus[i], s->gpu) && (!ret->gpu || (known && owner_of(ret, NULL) != VALUE_OURS)))
            ret->gpu = &c->gpus[i];
    if (!ret->gpu)
        return error_set(err, -ENODEV, "GPU %s is not there", s->gpu);
    return known ? 0 : error_set(err, -EBADMSG, "unknown setting '%s'", s->what);
}

static void set_step(struct lease *l, const char *step)
{
    for (size_t i = 0; i < l->setting_count; i++)
        snprintf(l->settings[i].step, sizeof l->settings[i].step, "%s", step);
}

/* ---- start ---- */

int lease_set_plan(struct lease *l, const struct control_gpu *gpu, int gpu_index, enum control_kind kind, struct control_value v,
                   struct error *err)
{
    struct control_state now;
    int rc = gpu ? control_look(gpu, kind, &now, err)
                 : error_set(err, -ENODEV, "GPU %d is not there, or has no settings that can be changed", gpu_index);
    if (rc == 0)
        rc = control_check(kind, &now, v, err);
    if (rc < 0)
        return rc;
    if (l->setting_count == LEASE_SETTINGS_MAX)
        return error_set(err, -E2BIG, "more than %d settings at once", LEASE_SETTINGS_MAX);
    struct lease_setting *s = &l->settings[l->setting_count++];
    *s = (struct lease_setting){.least = reading_ok(now.least), .most = reading_ok(now.most)};
    snprintf(s->what, sizeof s->what, "%s", control_name(kind));
    str_copy(s->gpu, sizeof s->gpu, str_from(gpu_id_key(&gpu->id)));
    put_value(v, &s->asked, s->asked_text, sizeof s->asked_text);
    /* An unreadable value counts as unchanged by other programs. */
    put_value(now.now_known ? now.now : (struct control_value){.stock = true}, &s->before, s->before_text, sizeof s->before_text);
    if (lease_gpu_at(l, s->gpu) < 0 && l->gpu_count < LEASE_GPUS_MAX) {
        struct lease_gpu *to = &l->gpus[l->gpu_count++];
        str_copy(to->uuid, sizeof to->uuid, str_from(gpu_id_key(&gpu->id)));
        to->index = gpu_index;
    }
    return 0;
}

static bool same_setting(const struct lease_setting *a, const struct lease_setting *b)
{
    return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->what, b->what) == 0;
}

/* Whether it is over: time elapsed, process gone, host rebooted. NULL: no; else why. */
static const char *set_over(const struct lease *l, struct wall now)
{
    struct lease here;
    lease_init(&here, LEASE_SETTING, 0, now);
    const struct lease_life life = {
        .alive = lease_process_alive(l), .other_boot = here.boot[0] && strcmp(here.boot, l->boot) != 0, .now = now};
    return l->kind == LEASE_SETTING ? lease_over(l, &life) : NULL;
}

/* Another lease's settings stay its own until it ends; then they are restored first. */
static int refuse_second(struct lease_dir *d, const struct control_set *c, const struct lease_list *list, const struct lease *l,
                         struct error *err)
{
    struct wall now = clock_wall(&clock_system);
    for (size_t i = 0; i < list->count; i++) {
        struct lease *other = &list->at[i];
        if (other->kind == LEASE_SETTING && set_over(other, now) && lease_set_end(d, c, other, NULL, NULL) == 0)
            continue;
        for (size_t k = 0; other->kind == LEASE_SETTING && k < other->setting_count * l->setting_count; k++) {
            const struct lease_setting *s = &other->settings[k / l->setting_count];
            enum control_kind kind;
            if (same_setting(s, &l->settings[k % l->setting_count]) && control_from_name(s->what, &kind))
                return error_set(err, -EBUSY, "lease %s of %s has changed the %s already; end it first: whirr lease end %s",
                                 other->id, other->user, control_words(kind), other->id);
        }
    }
    return 0;
}

/* ---- the actions ---- */

struct change_run {
    struct lease_dir *d;
    const struct control_set *c;
    struct lease *l;
    bool taken; /* another program has changed something */
};

/* What was planned may be outdated: another lease ended, or another program changed it. */
static int read_one(const struct control_set *c, struct lease_setting *s, struct error *err)
{
    struct changed x;
    struct control_state now;
    int rc = find_changed(c, s, &x, err);
    if (rc == 0)
        rc = control_look(x.gpu, x.v.kind, &now, err);
    if (rc == 0) /* an unreadable value counts as unchanged by other programs */
        put_value(now.now_known ? now.now : (struct control_value){.stock = true}, &s->before, s->before_text,
                  sizeof s->before_text);
    return rc;
}

/* Sets the value, and records the driver's rounded result as requested. */
static int set_one(const struct control_set *c, struct lease_setting *s, struct error *err)
{
    struct changed x;
    struct control_state now;
    int rc = find_changed(c, s, &x, err);
    if (rc == 0)
        rc = control_look(x.gpu, x.v.kind, &now, err);
    if (rc == 0 && now.now_known && !control_equal(x.v.kind, now.now, x.v.before))
        return error_set(err, -EBUSY, "another program has just changed the %s; look, then try again", control_words(x.v.kind));
    if (rc == 0)
        rc = control_write(x.gpu, x.v.kind, x.v.asked, err);
    if (rc == 0)
        rc = control_look(x.gpu, x.v.kind, &now, err);
    if (rc < 0 || !now.now_known || control_equal(x.v.kind, now.now, x.v.asked))
        return rc;
    if (control_equal(x.v.kind, now.now, x.v.before))
        return error_set(err, -EIO, "the driver accepted the %s but did not change it", control_words(x.v.kind));
    put_value(now.now, &s->asked, s->asked_text, sizeof s->asked_text);
    return 0;
}

/* Its range may have shrunk since: use the nearest value it accepts. */
static int write_nearest(const struct changed *x, struct error *err)
{
    struct control_state now;
    struct control_value v = x->v.before;
    int rc = control_look(x->gpu, x->v.kind, &now, err);
    v.low = MIN_OF(MAX_OF(v.low, now.least), now.most);
    v.high = MIN_OF(MAX_OF(v.high, now.least), now.most);
    return rc < 0 ? rc : control_write(x->gpu, x->v.kind, v, err);
}

static int restore_one(const struct control_set *c, const struct lease_setting *s, bool *taken, struct error *err)
{
    struct changed x;
    int rc = find_changed(c, s, &x, err);
    if (rc < 0)
        return rc == -EBADMSG ? 0 : rc;
    int owner = owner_of(&x, err);
    if (owner != VALUE_OURS) {
        *taken |= owner == VALUE_FOREIGN || owner == VALUE_RESET;
        return MIN_OF(owner, 0);
    }
    rc = control_write(x.gpu, x.v.kind, x.v.before, err);
    return rc == -ERANGE ? write_nearest(&x, err) : rc;
}

static int restore_all(const struct control_set *c, const struct lease *l, bool *taken, struct error *err)
{
    int first = 0;
    for (size_t i = 0; i < l->setting_count; i++) {
        int rc = restore_one(c, &l->settings[i], taken, first < 0 ? NULL : err);
        first = first < 0 ? first : rc;
    }
    return first;
}

static int mark(struct change_run *r, const char *step, struct error *err)
{
    char before[sizeof r->l->settings[0].step];
    memcpy(before, r->l->settings[0].step, sizeof before);
    set_step(r->l, step);
    int rc = lease_dir_put(r->d, r->l, err);
    if (rc < 0)
        set_step(r->l, before); /* as the journal says, or as it will be judged if it says otherwise */
    return rc;
}

/* From here on, halves are ours. Drops settings changed by another program. */
static int mark_restoring(struct change_run *r, struct error *err)
{
    struct lease *l = r->l;
    size_t kept = 0;
    for (size_t i = 0; i < l->setting_count; i++) {
        struct changed x;
        int owner = find_changed(r->c, &l->settings[i], &x, NULL) == 0 ? owner_of(&x, NULL) : VALUE_OURS;
        r->taken |= owner == VALUE_FOREIGN || owner == VALUE_RESET;
        if (owner < 0 || owner == VALUE_OURS)
            l->settings[kept++] = l->settings[i];
    }
    l->setting_count = kept;
    int rc = kept ? mark(r, "restoring", err) : 0;
    set_step(l, "restoring");
    return rc;
}

static int perform(struct change_run *r, enum lease_action action, struct error *err)
{
    int rc = 0;
    switch (action) {
    case ACTION_READ:
        for (size_t i = 0; i < r->l->setting_count && rc == 0; i++)
            rc = read_one(r->c, &r->l->settings[i], err);
        return rc;
    case ACTION_MARK_WRITTEN: return mark(r, "written", err);
    case ACTION_SET:
        for (size_t i = 0; i < r->l->setting_count && rc == 0; i++)
            rc = set_one(r->c, &r->l->settings[i], err);
        return rc;
    case ACTION_MARK_ACTIVE: return mark(r, "active", err);
    case ACTION_MARK_RESTORING: return mark_restoring(r, NULL);
    case ACTION_RESTORE: return restore_all(r->c, r->l, &r->taken, err);
    default: /* ACTION_REMOVE */ rc = lease_dir_remove(r->d, r->l->id, err); return rc == -ENOENT ? 0 : rc;
    }
}

/* Performs what follows the event. Returns the first failure that matters, or 0. */
static int follow(struct change_run *r, enum lease_stage stage, enum lease_event event, struct error *err)
{
    int first = 0;
    for (enum lease_action action = lease_next(&stage, event); action != ACTION_REST;) {
        int rc = perform(r, action, first < 0 ? NULL : err);
        if (first == 0 && action != ACTION_MARK_RESTORING)
            first = MIN_OF(rc, 0);
        action = lease_next(&stage, rc < 0 ? EVENT_FAILED : EVENT_DONE);
    }
    return first;
}

int lease_set_begin(struct lease_dir *d, const struct control_set *c, struct lease *l, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    int rc = lease_dir_list(d, clock_wall(&clock_system), &list, err);
    if (rc == 0)
        rc = refuse_second(d, c, &list, l, err);
    if (rc == 0)
        rc = lease_list_admits(&list, l, err);
    if (rc == 0 && !l->id[0])
        rc = lease_new_id(l->id) < 0 ? error_set(err, -EIO, "no random bytes for a name") : 0;
    if (rc < 0)
        return rc;
    l->ticket = list.next_ticket;
    return follow(&(struct change_run){.d = d, .c = c, .l = l}, STAGE_NONE, EVENT_CHANGE, err);
}

int lease_set_put_back(const struct control_set *c, const struct lease *l, struct error *err)
{
    bool taken = false;
    return restore_all(c, l, &taken, err);
}

bool lease_set_has_fan(const struct lease *l)
{
    for (size_t i = 0; i < l->setting_count; i++)
        if (strcmp(l->settings[i].what, control_name(CONTROL_FAN)) == 0)
            return true;
    return false;
}

int lease_set_end(struct lease_dir *d, const struct control_set *c, struct lease *l, char *ret_words, struct error *err)
{
    struct change_run r = {.d = d, .c = c, .l = l};
    int rc = follow(&r, l->setting_count ? lease_stage_of(l->settings[0].step) : STAGE_RESTORING, EVENT_END, err);
    if (ret_words)
        snprintf(ret_words, SETTINGS_WORDS, "%s",
                 r.taken ? "another program has changed it since, and its value was left" : "the old values are back");
    return rc;
}

/* ---- while active ---- */

enum lease_set_state lease_set_look(const struct control_set *c, const struct lease *l, bool upset)
{
    enum lease_set_state worst = SETTINGS_FINE;
    for (size_t i = 0; i < l->setting_count; i++) {
        struct changed x;
        struct control_state now;
        enum lease_set_state is = SETTINGS_UNREACHABLE;
        int rc = find_changed(c, &l->settings[i], &x, NULL);
        rc = rc < 0 ? rc : control_look(x.gpu, x.v.kind, &now, NULL);
        bool unread = rc == 0 && !now.now_known, parts = rc == -EBUSY;
        enum value_owner owner = rc == 0 || parts ? lease_value_owner(&x.v, rc, &now) : VALUE_FOREIGN;
        if (owner == VALUE_OURS && !parts && !(unread && upset))
            continue;
        if ((rc == 0 || parts) && (!upset || owner == VALUE_FOREIGN))
            is = SETTINGS_TAKEN;
        else if (rc == 0 && control_write(x.gpu, x.v.kind, x.v.asked, NULL) == 0)
            continue; /* a suspend, a reload or a lost GPU took it away */
        worst = MAX_OF(worst, is);
    }
    return worst;
}

/* ---- others' leases, and after a crash ---- */

int lease_set_release_fans(const struct lease_dir *d, const struct control_set *c, bool all, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct wall now = clock_wall(&clock_system);
    int first = lease_dir_list(d, now, &list, err);
    for (size_t i = 0; i < list.count; i++)
        if (lease_set_has_fan(&list.at[i]) && (all || set_over(&list.at[i], now))) {
            int rc = lease_set_put_back(c, &list.at[i], err);
            first = first < 0 ? first : rc;
        }
    return first;
}

int lease_set_recover(struct lease_dir *d, const struct control_set *c, bool all, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct wall now = clock_wall(&clock_system);
    int rc = lease_dir_list(d, now, &list, err), left = 0;
    if (rc < 0)
        return rc;
    lease_dir_sweep(d, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct lease *l = &list.at[i];
        if (l->kind != LEASE_SETTING)
            continue;
        if (!all && !set_over(l, now))
            left++;
        else if (lease_set_end(d, c, l, NULL, err) < 0)
            left++;
    }
    return left;
}

static bool changes(const struct lease *l, const char *key, enum control_kind kind)
{
    for (size_t i = 0; l->kind == LEASE_SETTING && i < l->setting_count; i++)
        if (strcmp(l->settings[i].gpu, key) == 0 && strcmp(l->settings[i].what, control_name(kind)) == 0)
            return true;
    return false;
}

int lease_set_stock(struct lease_dir *d, const struct control_set *c, const struct control_gpu *gpu, enum control_kind kind,
                    struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct control_state now;
    struct control_value stock;
    int rc = gpu ? lease_dir_list(d, clock_wall(&clock_system), &list, err)
                 : error_set(err, -ENODEV, "the GPU is not there, or has no settings that can be changed");
    for (size_t i = 0; i < list.count && rc == 0; i++)
        if (changes(&list.at[i], gpu_id_key(&gpu->id), kind))
            rc = lease_set_end(d, c, &list.at[i], NULL, err);
    if (rc == 0)
        rc = control_look(gpu, kind, &now, err);
    if (rc == 0)
        rc = control_parse(kind, "stock", &now, &stock, err);
    return rc < 0 ? rc : control_write(gpu, kind, stock, err);
}
