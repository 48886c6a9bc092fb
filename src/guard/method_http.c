/* SPDX-License-Identifier: Apache-2.0
 * Unloads and reloads models through a server's own API. Doesn't trust the server: the guard verifies through the driver that the
 * memory is free. The journal records what was loaded before anything is unloaded.
 */
#include "guard/method.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "guard/json_path.h"
#include "net/http_client.h"

/* ---- one request to a server ---- */

enum { LOOK_TIMEOUT_MS = 5000, REPLY_MAX = 4 * 1024 * 1024, URL_SIZE = 1024 };

static bool is_set(const char *text)
{
    return text && text[0];
}

static bool http_is_set(const struct server_request *request)
{
    return is_set(request->path);
}

static bool http_by_item(const struct server_request *request)
{
    static const char *const holes[] = {"{id}", "{name}"};
    const char *const texts[] = {request->path, request->body};
    for (size_t i = 0; i < ARRAY_LEN(holes); i++)
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            if (texts[k] && strstr(texts[k], holes[i]))
                return true;
    return false;
}

static void add_quoted(struct buf *out, const char *text)
{
    AUTO_BUF struct buf quoted = BUF(JOURNAL_ITEM_SIZE * 8);
    struct json_writer w = JSON_WRITER(&quoted);
    jw_text(&w, text);
    if (quoted.len >= 2)
        buf_add(out, quoted.at + 1, quoted.len - 2); /* the template has its own quotes */
}

/* Expands placeholders: JSON-escaped in a body, percent-encoded in a path. */
static void expand(struct buf *out, const char *text, const struct journal_item *item, bool in_path)
{
    while (*text) {
        size_t plain = strcspn(text, "{");
        buf_add(out, text, plain);
        text += plain;
        const char *id = item && strncmp(text, "{id}", 4) == 0     ? item->id
                         : item && strncmp(text, "{name}", 6) == 0 ? (item->name[0] ? item->name : item->id)
                                                                   : NULL;
        if (id) {
            if (in_path)
                buf_percent(out, id);
            else
                add_quoted(out, id);
            text = strchr(text, '}') + 1;
        } else if (item && strncmp(text, "{extra}", 7) == 0) {
            buf_text(out, item->extra[0] ? item->extra : "{}");
            text += 7;
        } else if (*text) {
            buf_char(out, *text++);
        }
    }
}

static int http_ask(struct method_context *c, const struct server_request *asked, const struct journal_item *item,
                    int64_t timeout_ms, json_t **ret, struct error *err)
{
    AUTO_BUF struct buf url = BUF(URL_SIZE);
    struct str base = str_from(c->settings->url);
    while (base.len && base.at[base.len - 1] == '/')
        base.len--;
    buf_str(&url, base);
    expand(&url, asked->path, item, true);
    AUTO_BUF struct buf sent = BUF(URL_SIZE * 4);
    if (is_set(asked->body))
        expand(&sent, asked->body, item, false);
    if (url.failed || sent.failed)
        return error_set(err, -ENAMETOOLONG, "the request to %s is too long", c->settings->url);

    char bearer[METHOD_TEXT_SIZE + 32];
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", c->settings->token);
    const char *headers[] = {is_set(c->settings->token) ? bearer : NULL, NULL};
    const char *verb = is_set(asked->method) ? asked->method : "POST";
    struct http_request request = {
        .method = verb,
        .url = url.at,
        .body = sent.at                    ? sent.at
                : strcmp(verb, "GET") == 0 ? NULL
                                           : "",
        .headers = headers,
        .timeout_ms = timeout_ms,
        .status_is_enough = !ret, /* success needs no complete answer: don't repeat the action */
        .cancel = c->ending,
    };
    AUTO_BUF struct buf reply = BUF(REPLY_MAX);
    int status = http_call(c->env, &request, &reply, err);
    if (status < 0)
        return status;
    if (status < 200 || status > 299)
        return error_set(err, status >= 400 && status < 500 ? -EACCES : -EPROTO, "%s %s answered %d: %.200s", verb, url.at, status,
                         reply.at ? reply.at : "");
    if (ret)
        *ret = json_loadb(reply.at ? reply.at : "", reply.len, JSON_DECODE_ANY, NULL);
    return 0;
}

/* ---- the items that a server has loaded ---- */

struct collector {
    const struct server_row *row;
    struct journal_entry *entry;
};

/* "status.value=loaded|loading", "model_name!=None" */
static bool passes(const json_t *item, const char *only)
{
    if (!is_set(only))
        return true;
    char path[128];
    const char *equals = strchr(only, '=');
    bool unequal = equals > only && equals[-1] == '!';
    str_copy(path, sizeof path, (struct str){only, (size_t)(equals - only) - unequal});
    const char *value = json_string_value(json_path_first(item, path));
    struct str rest = str_from(equals + 1), one;
    bool found = false;
    while (value && !found && str_cut(&rest, '|', &one))
        found = str_is(one, value);
    return unequal ? value && !found : found;
}

static bool known_already(const struct journal_entry *entry, const char *id)
{
    for (size_t i = 0; i < entry->item_count; i++)
        if (strcmp(entry->items[i].id, id) == 0)
            return true;
    return false;
}

/* "key" of the item, "^key" of the object that contains its list. */
static const json_t *value_of(const json_t *item, const json_t *holder, const char *key)
{
    return key[0] == '^' ? json_path_first(holder, key + 1) : json_path_first(item, key);
}

static bool collect(const json_t *item, const json_t *holder, void *user)
{
    struct collector *k = user;
    const char *id = json_string_value(json_path_first(item, k->row->id));
    if (!is_set(id) || !passes(item, k->row->only) || k->entry->item_count == JOURNAL_ITEMS_MAX || known_already(k->entry, id))
        return true;
    struct journal_item *kept = &k->entry->items[k->entry->item_count++];
    *kept = (struct journal_item){0};
    str_copy(kept->id, sizeof kept->id, str_from(id));
    const char *name = is_set(k->row->name_key) ? json_string_value(value_of(item, holder, k->row->name_key)) : NULL;
    if (name)
        str_copy(kept->name, sizeof kept->name, str_from(name));
    const json_t *extra = is_set(k->row->extra_key) ? value_of(item, holder, k->row->extra_key) : NULL;
    AUTO_FREE char *text = json_is_object(extra) ? json_dumps(extra, JSON_COMPACT) : NULL;
    if (text && strlen(text) < sizeof kept->extra) /* too long: reload it with the server's defaults */
        str_copy(kept->extra, sizeof kept->extra, str_from(text));
    return true;
}

static int http_list(const struct server_row *row, struct method_context *c, struct journal_entry *entry, struct error *err)
{
    entry->item_count = 0;
    if (!http_is_set(&row->list))
        return 0;
    AUTO_JSON json_t *root = NULL;
    struct server_request list = row->list;
    if (!is_set(list.body) && strcmp(list.method, "GET") != 0)
        list.body = "{}";
    int rc = http_ask(c, &list, NULL, LOOK_TIMEOUT_MS, &root, err);
    if (rc < 0)
        return rc;
    if (!root)
        return error_set(err, -EPROTO, "%s%s did not answer in JSON", c->settings->url, row->list.path);
    struct collector k = {row, entry};
    json_path_each(root, str_from(row->items ? row->items : ""), collect, &k);
    return 0;
}

enum { ACT_TIMEOUT_MS = 120000 };

static const struct server_row rows[] = {
#define SERVER(name_, what_, ...) {.name = name_, __VA_ARGS__},
#include "guard/servers.def"
#undef SERVER
};

const struct server_row *server_row_at(size_t i)
{
    return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

const struct server_row *server_row_find(const char *name)
{
    return server_row_at(NAME_FIND(rows, str_from(name)));
}

/* ---- is work in flight? ---- */

static int64_t limit(int64_t configured_ms)
{
    return configured_ms ? configured_ms : ACT_TIMEOUT_MS;
}

static int ask_busy(const struct server_row *row, struct method_context *c, const struct journal_item *item, struct error *err)
{
    struct method_settings own = *c->settings;
    struct method_context there = *c;
    there.settings = &own;
    if (item && is_set(row->busy_at)) {
        struct str url = str_from(item->name);
        if (!str_starts(url, "http://127.") && !str_starts(url, "http://localhost:") && !str_starts(url, "http://[::1]:"))
            return error_set(err, -EPROTO, "%s does not say where %s answers on this host", c->settings->url, item->id);
        str_copy(own.url, sizeof own.url, url);
        own.token[0] = '\0'; /* the server's token isn't for the item's own URL */
    }
    AUTO_JSON json_t *root = NULL;
    int rc = http_ask(&there, &row->busy, item, LOOK_TIMEOUT_MS, &root, err);
    bool working = rc == 0 && json_path_any(root, row->busy_key);
    return rc < 0 ? rc : working;
}

/* Is work in flight? With "{id}" in the path, or if items have their own URLs, queries each loaded item. */
static int busy(const struct method *method, struct method_context *c, struct error *err)
{
    const struct server_row *row = method->row;
    if (!http_is_set(&row->busy))
        return 0;
    if (!http_by_item(&row->busy) && !is_set(row->busy_at))
        return ask_busy(row, c, NULL, err);
    AUTO_FREE struct journal_entry *now = calloc(1, sizeof *now);
    if (!now)
        return error_set(err, -ENOMEM, "out of memory");
    struct server_row looked = *row;
    looked.only = is_set(row->busy_only) ? row->busy_only : row->only;
    looked.name_key = is_set(row->busy_at) ? row->busy_at : row->name_key;
    int rc = http_list(&looked, c, now, err), failed = rc;
    for (size_t i = 0; rc >= 0 && i < now->item_count; i++) {
        int working = ask_busy(row, c, &now->items[i], err);
        if (working > 0)
            return working;
        failed = working < 0 ? working : failed;
    }
    return failed;
}

static int must_be_idle(const struct method *method, struct method_context *c, struct error *err)
{
    int working = method->row->dies_when_busy ? busy(method, c, err) : 0;
    return working <= 0 ? working : error_set(err, -EBUSY, "%s works, and would not survive being unloaded now", method->name);
}

static bool is_listed(const struct journal_entry *now, const char *id)
{
    for (size_t i = 0; i < now->item_count; i++)
        if (strcmp(now->items[i].id, id) == 0)
            return true;
    return false;
}

/* ---- evict ---- */

/* A server refuses to unload what it meanwhile unloaded on its own: fine, unless it still lists the item. */
static int still_loaded(const struct server_row *row, struct method_context *c, struct error *refusal, struct error *err)
{
    AUTO_FREE struct journal_entry *now = calloc(1, sizeof *now);
    if (!now)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = http_list(row, c, now, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < now->item_count; i++)
        for (size_t k = 0; k < c->entry->item_count; k++)
            if (strcmp(now->items[i].id, c->entry->items[k].id) == 0)
                return error_set(err, refusal->code, "%s", refusal->text);
    return 0;
}

/* These answers mean that nothing was done; after any other failure that is unknown. */
static bool is_refusal(int rc)
{
    return rc == -EACCES || rc == -ECONNREFUSED || rc == -EHOSTUNREACH;
}

static int unload_items(const struct server_row *row, struct method_context *c, bool *acted, struct error *err)
{
    struct error refusal = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->entry->item_count; i++) {
        struct error said = {0};
        rc = http_ask(c, &row->unload, &c->entry->items[i], limit(c->settings->evict_timeout_ms), NULL, &said);
        *acted |= !is_refusal(rc);
        if (rc == -EACCES) { /* unload the others nevertheless */
            refusal = said;
            rc = 0;
        } else if (rc < 0) {
            error_set(err, rc, "%s", said.text);
        }
    }
    return rc == 0 && refusal.code ? still_loaded(row, c, &refusal, err) : rc;
}

static int unload(const struct server_row *row, struct method_context *c, bool *acted, struct error *err)
{
    if (http_by_item(&row->unload))
        return unload_items(row, c, acted, err);
    int rc = http_ask(c, &row->unload, NULL, limit(c->settings->evict_timeout_ms), NULL, err);
    *acted = !is_refusal(rc);
    return rc;
}

static int evict(const struct method *method, struct method_context *c, struct error *err)
{
    const struct server_row *row = method->row;
    int rc = http_list(row, c, c->entry, err);
    if (rc == 0 && c->entry->item_count == 0 && http_by_item(&row->unload))
        return 0; /* nothing is loaded */
    if (rc == 0)
        rc = must_be_idle(method, c, err);
    bool paused = false, acted = false;
    if (rc == 0 && http_is_set(&row->before)) {
        rc = method_note(c, "pause", err);
        if (rc == 0)
            rc = http_ask(c, &row->before, NULL, limit(c->settings->evict_timeout_ms), NULL, err);
        paused = rc == 0;
        acted = !is_refusal(rc);
        /* A request may have arrived between the check and the pause; none arrives after it. */
        if (rc == 0)
            rc = must_be_idle(method, c, err);
    }
    if (rc == 0)
        rc = method_note(c, "unload", err);
    if (rc == 0)
        rc = unload(row, c, &acted, err);
    if (rc < 0 && paused && http_is_set(&row->after)) {
        struct error ignored = {0}; /* it was paused for unloading: let it continue */
        http_ask(c, &row->after, NULL, LOOK_TIMEOUT_MS, NULL, &ignored);
    }
    if (rc < 0 && !acted)
        c->entry->step[0] = '\0'; /* it refused: nothing to undo */
    return rc;
}

/* ---- resume ---- */

/* The driver still shows most of what it held: it never freed it, or has it back. */
static bool holds_its_memory(const struct method_context *c)
{
    int64_t now;
    return c->snapshot && c->entry->bytes > 0 && claim_worker_bytes(c->snapshot, c->worker, &now) && now > c->entry->bytes / 2;
}

/* A model that the server refuses to load (deleted, not loadable this way, or already loaded by a client) doesn't block the
 * others: the server runs, and its next request loads what it needs. */
static int reload_items(const struct method *method, struct method_context *c, struct error *err)
{
    const struct server_row *row = method->row;
    int64_t limit_ms = limit(c->settings->resume_timeout_ms);
    AUTO_FREE struct journal_entry *now = calloc(1, sizeof *now);
    if (!now)
        return error_set(err, -ENOMEM, "out of memory");
    /* If items are loaded by another name than their ID, loading one twice would duplicate it. */
    int listed = is_set(row->name_key) ? http_list(row, c, now, err) : 0;
    if (listed < 0)
        return listed;
    for (size_t i = 0; i < c->entry->item_count; i++) {
        struct journal_item item = c->entry->items[i];
        if (is_listed(now, item.id))
            continue;
        int rc = http_ask(c, &row->reload, &item, limit_ms, NULL, err);
        if (rc == -EACCES && item.extra[0]) { /* settings of another version: use the server's defaults */
            item.extra[0] = '\0';
            rc = http_ask(c, &row->reload, &item, limit_ms, NULL, err);
        }
        if (rc == -EACCES)
            log_warn("the server does not load a model again", LOG_TEXT("method", method->name), LOG_TEXT("model", item.id),
                     LOG_TEXT("error", err->text));
        else if (rc < 0)
            return rc;
    }
    return 0;
}

static int method_http_reload(const struct method *method, struct method_context *c, struct error *err)
{
    const struct server_row *row = method->row;
    if (!http_is_set(&row->reload))
        return 0;
    /* This server would crash if asked to reload what it holds. */
    if (row->dies_when_busy && holds_its_memory(c))
        return 0;
    if (http_by_item(&row->reload))
        return reload_items(method, c, err);
    return http_ask(c, &row->reload, NULL, limit(c->settings->resume_timeout_ms), NULL, err);
}

static int resume(const struct method *method, struct method_context *c, struct error *err)
{
    const struct server_row *row = method->row;
    int rc = method_note(c, "reload", err);
    if (rc == 0)
        rc = method_http_reload(method, c, err);
    if (rc == 0 && http_is_set(&row->after)) {
        rc = method_note(c, "continue", err);
        if (rc == 0)
            rc = http_ask(c, &row->after, NULL, limit(c->settings->resume_timeout_ms), NULL, err);
    }
    return rc;
}

/* ---- after a restart ---- */

static enum method_found method_http_find(const struct method *method, struct method_context *c, struct error *err)
{
    const struct server_row *row = method->row;
    /* An unload request was in progress: the server's current answer may be outdated in a moment. */
    if (strcmp(c->entry->step, "unload") == 0)
        return METHOD_FOUND_EVICTED;
    if (http_is_set(&row->asleep)) {
        json_t *root = NULL;
        int rc = http_ask(c, &row->asleep, NULL, LOOK_TIMEOUT_MS, &root, err);
        bool asleep = json_path_any(root, row->asleep_key), known = rc == 0 && root;
        json_decref(root);
        return !known ? METHOD_FOUND_UNKNOWN : asleep ? METHOD_FOUND_EVICTED : METHOD_FOUND_RUNNING;
    }
    if (!http_is_set(&row->list) || !http_by_item(&row->unload))
        return METHOD_FOUND_UNKNOWN;
    AUTO_FREE struct journal_entry *now = calloc(1, sizeof *now);
    if (!now || http_list(row, c, now, err) < 0)
        return METHOD_FOUND_UNKNOWN;
    for (size_t i = 0; i < c->entry->item_count; i++)
        if (!is_listed(now, c->entry->items[i].id))
            return METHOD_FOUND_EVICTED; /* even if only some of them are gone */
    return METHOD_FOUND_RUNNING;
}

const struct method_ops method_http = {
    .busy = busy,
    .evict = evict,
    .resume = resume,
    .find = method_http_find,
};
