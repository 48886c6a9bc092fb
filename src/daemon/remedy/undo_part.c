/* SPDX-License-Identifier: Apache-2.0
 * Undo as a part of the daemon: one list of what other parts hold, and asking them to take it back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "daemon/guard_part.h"
#include "remedy/undo.h"

struct undo_part {
    const struct part_host *host;
};

/* Whether it names that GPU. */
static bool silences_gpu(const struct silence *s, const struct gpu *gpu)
{
    char index[16];
    snprintf(index, sizeof index, "%d", gpu->index);
    for (size_t i = 0; i < s->matcher_count; i++)
        if (strcmp(s->matchers[i].key, "gpu") == 0 && strcmp(s->matchers[i].value, index) == 0)
            return true;
    return false;
}

static void add_silences(const struct part_host *host, const struct gpu *only, struct undo_list *list)
{
    const struct silences *all = alert_part_silences(part_find(host, &alert_part_ops));
    for (size_t i = 0; all && i < all->count; i++) {
        const struct silence *s = &all->list[i];
        if (only && !silences_gpu(s, only))
            continue;
        struct undo_entry *e = undo_add(list, UNDO_SILENCE, s->id);
        if (!e)
            return;
        snprintf(e->what, sizeof e->what, "alerts");
        size_t len = (size_t)snprintf(e->now, sizeof e->now, "silenced:");
        for (size_t k = 0; k < s->matcher_count && len < sizeof e->now; k++)
            len += (size_t)snprintf(e->now + len, sizeof e->now - len, " %s=%s", s->matchers[k].key, s->matchers[k].value);
        snprintf(e->by, sizeof e->by, "%s", s->created_by);
        snprintf(e->how, sizeof e->how, "whirr alert silence remove %s", s->id);
        e->since = s->created_at;
        e->until = s->until;
    }
}

static void add_paused(const struct part_host *host, const struct gpu *only, struct undo_list *list)
{
    const struct guard_api *door = part_find(host, &guard_part_ops);
    AUTO_FREE struct guard_status *workers = door ? calloc(GUARD_WORKERS_MAX, sizeof *workers) : NULL;
    size_t count = workers ? guard_list(door->guard, workers, GUARD_WORKERS_MAX) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct guard_status *w = &workers[i];
        bool here = !only || w->gpus[only->index / 64] >> (only->index % 64) & 1;
        struct undo_entry *e = here && w->state == GUARD_PAUSED ? undo_add(list, UNDO_GUARD, w->name) : NULL;
        if (!e)
            continue;
        snprintf(e->what, sizeof e->what, "guard");
        snprintf(e->now, sizeof e->now, "%s paused", w->name);
        snprintf(e->before, sizeof e->before, "running");
        snprintf(e->by, sizeof e->by, "%.*s", (int)sizeof e->by - 1, w->reason);
        snprintf(e->how, sizeof e->how, "whirr guard resume %s", w->name);
        e->since = w->since;
    }
}

static void list_changes(const struct part_host *host, const struct snapshot *latest, const struct gpu *only,
                         struct undo_list *list)
{
    lease_part_undo(part_find(host, &lease_part_ops), latest, only, list);
    add_silences(host, only, list);
    add_paused(host, only, list);
    health_part_undo(part_find(host, &health_part_ops), only, list);
    undo_sort(list);
}

static int get_undo(void *part, const struct part_request *r, struct buf *out)
{
    AUTO_FREE struct undo_list *list = calloc(1, sizeof *list);
    int at, status = part_which_gpu(r, r->latest, &at, out);
    if (!list || status != 200)
        return list ? status : part_error(out, 503, "internal", "Out of memory.");
    list_changes(((struct undo_part *)part)->host, r->latest, at == ALL_GPUS ? NULL : &r->latest->gpus[at], list);
    answer_write(JSON_LINE(out), &undo_list_answer, list, NULL);
    return 200;
}

static enum undo_state take_back(const struct part_host *host, const struct part_request *r, const struct undo_entry *e,
                                 struct error *err)
{
    static const unsigned needs[UNDO_DOORS] = {[UNDO_RESERVATION] = RIGHT_CONTROL,
                                               [UNDO_SILENCE] = RIGHT_SILENCE,
                                               [UNDO_GUARD] = RIGHT_GUARD,
                                               [UNDO_FORGOTTEN] = RIGHT_ADMIN};
    unsigned right = needs[e->door] ? needs[e->door] : RIGHT_CONTROL;
    struct guard_api *door = part_find(host, &guard_part_ops);
    int rc = 0;
    if (!(r->rights & (right | RIGHT_ADMIN))) {
        error_set(err, -EPERM, "this needs the role %s", right_role(right));
        return UNDO_REFUSED;
    }
    switch (e->door) {
    case UNDO_SETTING: return remedy_part_put_back(part_find(host, &remedy_part_ops), e, err) < 0 ? UNDO_REFUSED : UNDO_UNDER_WAY;
    case UNDO_RESERVATION: rc = lease_part_end(part_find(host, &lease_part_ops), e->id, err); break;
    case UNDO_SILENCE: alert_part_unsilence(part_find(host, &alert_part_ops), e->id); break;
    case UNDO_GUARD: guard_take_command(door->guard, e->id, COMMAND_RESUME); return UNDO_UNDER_WAY;
    case UNDO_FORGOTTEN: rc = health_part_expect(part_find(host, &health_part_ops), e->id, r->who); break;
    default: rc = error_set(err, -EOPNOTSUPP, "it can't be taken back here: %s", e->how);
    }
    return rc < 0 && rc != -ENOENT ? UNDO_REFUSED : UNDO_DONE;
}

/* Undoes the entries with this ID, drops all others from the list, and returns how many were refused. */
static size_t take_back_all(const struct part_host *host, const struct part_request *r, const char *id, bool dry_run,
                            struct undo_list *list)
{
    size_t kept = 0, refused = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct undo_entry *e = &list->at[i];
        struct error err = {0};
        if (strcmp(id, "all") != 0 && strcmp(id, e->id) != 0)
            continue;
        e->state = dry_run ? UNDO_DRY_RUN : take_back(host, r, e, &err);
        refused += e->state == UNDO_REFUSED;
        str_copy(e->why_not, sizeof e->why_not, str_from(err.text));
        list->at[kept++] = *e;
    }
    list->count = kept;
    return refused;
}

static int post_undo(void *part, const struct part_request *r, struct buf *out)
{
    AUTO_FREE struct undo_list *list = calloc(1, sizeof *list);
    char id[UNDO_ID_SIZE] = "";
    AUTO_JSON json_t *body = json_loadb(r->body.at ? r->body.at : "", r->body.len, JSON_REJECT_DUPLICATES, NULL);
    json_copy_text(body, "id", id, sizeof id);
    bool dry_run = json_is_true(json_object_get(body, "dry_run"));
    if (!list || !id[0])
        return part_error(out, 400, "bad_body", "The body must be {\"id\": \"ID\"}, with an ID of GET /api/undo, or \"all\".");
    list_changes(((struct undo_part *)part)->host, r->latest, NULL, list);
    size_t refused = take_back_all(((struct undo_part *)part)->host, r, id, dry_run, list);
    if (!list->count && strcmp(id, "all") != 0)
        return part_error(out, 404, "no_such_change", "There is no such change; GET /api/undo lists them.");
    answer_write(JSON_LINE(out), &undo_list_answer, list, NULL);
    return refused && refused == list->count ? 403 : 200;
}

static void *open_undo(const struct part_host *host, struct error *err)
{
    struct undo_part *p = calloc(1, sizeof *p);
    if (p)
        p->host = host;
    else
        error_set(err, -ENOMEM, "out of memory");
    return p;
}

static const struct route routes_of_undo[] = {
    {"/api/undo", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_undo},
    {"/api/undo", HTTP_POST, PART_JSON, RIGHT_CONTROL | RIGHT_SILENCE | RIGHT_GUARD, .answer = post_undo},
};

const struct part_ops undo_part_ops = {
    .name = "undo", .routes = routes_of_undo, .route_count = ARRAY_LEN(routes_of_undo), .open = open_undo, .close = free};
