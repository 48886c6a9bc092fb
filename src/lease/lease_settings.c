/* SPDX-License-Identifier: Apache-2.0
 * The steps of changing a setting. The journal is always ahead of the GPU.
 */
#include "lease/lease_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

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
    enum control_kind kind;
    struct control_value asked, before;
};

static int find_changed(const struct control_set *c, const struct lease_setting *s, struct changed *ret, struct error *err)
{
    ret->gpu = control_find(c, s->gpu);
    if (!ret->gpu)
        return error_set(err, -ENODEV, "GPU %s is not there", s->gpu);
    return lease_set_values(s, &ret->kind, &ret->asked, &ret->before) ? 0
                                                                      : error_set(err, -EBADMSG, "unknown setting '%s'", s->what);
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
    int rc = control_look(gpu, kind, &now, err);
    if (rc == 0)
        rc = control_check(kind, &now, v, err);
    if (rc < 0)
        return rc;
    if (l->setting_count == LEASE_SETTINGS_MAX)
        return error_set(err, -E2BIG, "more than %d settings at once", LEASE_SETTINGS_MAX);
    struct lease_setting *s = &l->settings[l->setting_count++];
    *s = (struct lease_setting){.least = reading_ok(now.least), .most = reading_ok(now.most)};
    snprintf(s->what, sizeof s->what, "%s", control_name(kind));
    str_copy(s->gpu, sizeof s->gpu, str_from(control_key(gpu)));
    put_value(v, &s->asked, s->asked_text, sizeof s->asked_text);
    /* An unreadable value counts as unchanged by other programs. */
    put_value(now.now_known ? now.now : (struct control_value){.stock = true}, &s->before, s->before_text, sizeof s->before_text);
    if (lease_gpu_at(l, s->gpu) < 0 && l->gpu_count < LEASE_GPUS_MAX) {
        struct lease_gpu *to = &l->gpus[l->gpu_count++];
        str_copy(to->uuid, sizeof to->uuid, str_from(control_key(gpu)));
        to->index = gpu_index;
    }
    return 0;
}

static bool same_setting(const struct lease_setting *a, const struct lease_setting *b)
{
    return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->what, b->what) == 0;
}

/* Another lease's settings stay its own until it ends; then they are restored first. */
static int refuse_second(struct lease_dir *d, const struct control_set *c, const struct lease_list *list, const struct lease *l,
                         struct error *err)
{
    struct wall now = clock_wall(&clock_system);
    for (size_t i = 0; i < list->count; i++) {
        struct lease *other = &list->at[i];
        if (other->kind == LEASE_SETTING && lease_set_over(other, now) && lease_set_end(d, c, other, NULL, NULL) == 0)
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

/* Sets the value, and records the driver's rounded result as requested. */
static int set_one(const struct control_set *c, struct lease_setting *s, struct error *err)
{
    struct changed x;
    struct control_state now;
    int rc = find_changed(c, s, &x, err);
    if (rc == 0)
        rc = control_write(x.gpu, x.kind, x.asked, err);
    if (rc == 0)
        rc = control_look(x.gpu, x.kind, &now, err);
    if (rc < 0 || !now.now_known || control_equal(x.kind, now.now, x.asked))
        return rc;
    if (control_equal(x.kind, now.now, x.before))
        return error_set(err, -EIO, "the driver accepted the %s but did not change it", control_words(x.kind));
    put_value(now.now, &s->asked, s->asked_text, sizeof s->asked_text);
    return 0;
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
    set_step(l, "written");
    rc = lease_dir_put(d, l, err);
    if (rc < 0) { /* it may exist nevertheless, if only the last sync failed */
        (void)lease_dir_remove(d, l->id, NULL);
        return rc;
    }
    for (size_t i = 0; i < l->setting_count && rc == 0; i++)
        rc = set_one(c, &l->settings[i], err);
    if (rc == 0) {
        set_step(l, "active");
        rc = lease_dir_put(d, l, err);
    }
    if (rc == 0)
        return 0;
    set_step(l, "written");
    (void)lease_set_end(d, c, l, NULL, NULL);
    return rc;
}

/* ---- the end ---- */

/* What to do with a setting: 1 restore, 0 leave, -errno the GPU can't be queried. */
static int is_ours(const struct changed *x, const char *step, struct error *err)
{
    struct control_state now;
    int rc = control_look(x->gpu, x->kind, &now, err);
    bool sure = strcmp(step, "active") != 0;
    if (rc == -EBUSY) /* its fans differ: half of our change, or another program's. When in doubt, make them automatic */
        return sure || x->kind == CONTROL_FAN;
    if (rc < 0)
        return rc;
    if (!now.now_known)
        return 1;
    if (control_equal(x->kind, now.now, x->before))
        return 0;
    return sure || control_equal(x->kind, now.now, x->asked);
}

static bool is_before(const struct changed *x)
{
    struct control_state now;
    return control_look(x->gpu, x->kind, &now, NULL) == 0 && now.now_known && control_equal(x->kind, now.now, x->before);
}

/* Its range may have shrunk since: use the nearest value it accepts. */
static int write_nearest(const struct changed *x, struct error *err)
{
    struct control_state now;
    struct control_value v = x->before;
    int rc = control_look(x->gpu, x->kind, &now, err);
    v.low = MIN_OF(MAX_OF(v.low, now.least), now.most);
    v.high = MIN_OF(MAX_OF(v.high, now.least), now.most);
    return rc < 0 ? rc : control_write(x->gpu, x->kind, v, err);
}

static int restore_one(const struct control_set *c, const struct lease_setting *s, bool *taken, struct error *err)
{
    struct changed x;
    int rc = find_changed(c, s, &x, err);
    if (rc < 0)
        return rc == -EBADMSG ? 0 : rc;
    int ours = is_ours(&x, s->step, err);
    if (ours <= 0) {
        *taken |= ours == 0 && !is_before(&x);
        return ours;
    }
    rc = control_write(x.gpu, x.kind, x.before, err);
    return rc == -ERANGE ? write_nearest(&x, err) : rc;
}

int lease_set_put_back(const struct control_set *c, const struct lease *l, struct error *err)
{
    bool taken = false;
    int first = 0;
    for (size_t i = 0; i < l->setting_count; i++) {
        int rc = restore_one(c, &l->settings[i], &taken, err);
        first = first < 0 ? first : rc;
    }
    return first;
}

bool lease_set_has_fan(const struct lease *l)
{
    for (size_t i = 0; i < l->setting_count; i++)
        if (strcmp(l->settings[i].what, control_name(CONTROL_FAN)) == 0)
            return true;
    return false;
}

/* From here on, everything that differs from before is ours. Drops settings changed by another program. */
static int mark_restoring(struct lease_dir *d, const struct control_set *c, struct lease *l, bool *taken, struct error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->setting_count; i++) {
        struct changed x;
        int ours = find_changed(c, &l->settings[i], &x, err) == 0 ? is_ours(&x, l->settings[i].step, err) : 1;
        if (ours == 0)
            *taken |= !is_before(&x);
        else
            l->settings[kept++] = l->settings[i];
    }
    l->setting_count = kept;
    set_step(l, "restoring");
    return lease_dir_put(d, l, err);
}

int lease_set_end(struct lease_dir *d, const struct control_set *c, struct lease *l, char *ret_words, struct error *err)
{
    bool taken = false;
    int first = l->setting_count && strcmp(l->settings[0].step, "active") == 0 ? mark_restoring(d, c, l, &taken, err) : 0;
    if (first < 0) /* a full disk must not keep a fan at a fixed speed */
        first = 0;
    for (size_t i = 0; i < l->setting_count; i++) {
        int rc = restore_one(c, &l->settings[i], &taken, err);
        first = first < 0 ? first : rc;
    }
    if (ret_words)
        snprintf(ret_words, SETTINGS_WORDS, "%s",
                 taken ? "another program has changed it since, and its value was left" : "the old values are back");
    if (first < 0)
        return first;
    int rc = lease_dir_remove(d, l->id, err);
    return rc == -ENOENT ? 0 : rc;
}

/* ---- while active ---- */

enum lease_set_state lease_set_look(const struct control_set *c, const struct lease *l, bool upset)
{
    enum lease_set_state worst = SETTINGS_FINE;
    for (size_t i = 0; i < l->setting_count; i++) {
        struct changed x;
        struct control_state now;
        int rc = find_changed(c, &l->settings[i], &x, NULL);
        rc = rc < 0 ? rc : control_look(x.gpu, x.kind, &now, NULL);
        bool same = rc == 0 && (now.now_known ? control_equal(x.kind, now.now, x.asked) : !upset);
        if (same)
            continue;
        if (rc == 0 && upset && control_write(x.gpu, x.kind, x.asked, NULL) == 0)
            continue;
        enum lease_set_state is = rc == 0 || rc == -EBUSY ? (upset ? SETTINGS_UNREACHABLE : SETTINGS_TAKEN) : SETTINGS_UNREACHABLE;
        worst = is > worst ? is : worst;
    }
    return worst;
}

/* ---- others' leases, and after a crash ---- */

static bool other_boot(const struct lease *l, struct wall now)
{
    struct lease here;
    lease_init(&here, LEASE_SETTING, 0, now);
    return here.boot[0] && strcmp(here.boot, l->boot) != 0;
}

const char *lease_set_over(const struct lease *l, struct wall now)
{
    if (l->kind != LEASE_SETTING)
        return NULL;
    if (l->state == LEASE_ENDED)
        return "it was ended";
    if (l->until.ms && l->until.ms <= now.ms)
        return "its time is over";
    if (other_boot(l, now))
        return "the host was booted since";
    if (l->pid && !lease_process_alive(l))
        return "its program has ended";
    /* Never finished, and bound to no program that could finish it. */
    return !l->pid && l->setting_count && strcmp(l->settings[0].step, "active") != 0 ? "it was not finished" : NULL;
}

int lease_set_release_fans(const struct lease_dir *d, const struct control_set *c, bool all, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct wall now = clock_wall(&clock_system);
    int first = lease_dir_list(d, now, &list, err);
    for (size_t i = 0; i < list.count; i++)
        if (lease_set_has_fan(&list.at[i]) && (all || lease_set_over(&list.at[i], now))) {
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
    for (size_t i = 0; i < list.count; i++) {
        struct lease *l = &list.at[i];
        if (l->kind != LEASE_SETTING)
            continue;
        if (!all && !lease_set_over(l, now))
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
    int rc = lease_dir_list(d, clock_wall(&clock_system), &list, err);
    for (size_t i = 0; i < list.count && rc == 0; i++)
        if (changes(&list.at[i], control_key(gpu), kind))
            rc = lease_set_end(d, c, &list.at[i], NULL, err);
    if (rc == 0)
        rc = control_look(gpu, kind, &now, err);
    if (rc == 0)
        rc = control_parse(kind, "stock", &now, &stock, err);
    return rc < 0 ? rc : control_write(gpu, kind, stock, err);
}
