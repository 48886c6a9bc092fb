/* SPDX-License-Identifier: Apache-2.0
 * Unloading and loading models through a server's own API. The server's word is not trusted: the guard verifies through the
 * driver that the memory is free. What was loaded is written into the journal before anything is unloaded.
 */
#include "guard/way_http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "guard/json_path.h"
#include "net/http.h"

enum { REPLY_MAX = 4 * 1024 * 1024, LOOK_TIMEOUT_MS = 5000, ACT_TIMEOUT_MS = 120000, URL_SIZE = 1024 };

static const struct http_way rows[] = {
#define HTTP_WAY(...) {__VA_ARGS__},
#include "guard/http_ways.def"
#undef HTTP_WAY
};

size_t http_way_count(void)
{
    return ARRAY_LEN(rows);
}

const struct http_way *http_way_at(size_t i)
{
    return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

const struct http_way *http_way_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static bool is_set(const char *text)
{
    return text && text[0];
}

/* Appends `text` with "{id}" replaced, by JSON's rules inside a body and by percent signs inside a path. */
static void expand(struct buf *out, const char *text, const char *id, bool in_path)
{
    const char *hole;
    while ((hole = strstr(text, "{id}"))) {
        buf_add(out, text, (size_t)(hole - text));
        text = hole + 4;
        if (in_path) {
            for (const char *c = id; *c; c++) {
                if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("-._~", *c))
                    buf_char(out, *c);
                else
                    buf_printf(out, "%%%02X", (unsigned char)*c);
            }
            continue;
        }
        AUTO_BUF struct buf quoted = BUF(JOURNAL_ITEM_SIZE * 8);
        struct json_writer w = JSON_WRITER(&quoted);
        jw_text(&w, id);
        if (quoted.len >= 2)
            buf_add(out, quoted.at + 1, quoted.len - 2);
    }
    buf_text(out, text);
}

/* One request of a row. 2xx is 0; everything else is an error with the server's words. The answer's JSON goes to *ret. */
static int call(struct way_context *c, const char *method, const char *path, const char *body, const char *id, int64_t timeout_ms,
                json_t **ret, struct error *err)
{
    AUTO_BUF struct buf url = BUF(URL_SIZE);
    struct str base = str_from(c->settings->url);
    while (base.len && base.at[base.len - 1] == '/')
        base.len--;
    buf_str(&url, base);
    expand(&url, path, id, true);
    AUTO_BUF struct buf sent = BUF(URL_SIZE * 4);
    if (is_set(body))
        expand(&sent, body, id, false);
    if (url.failed || sent.failed)
        return error_set(err, -ENAMETOOLONG, "the request to %s is too long", c->settings->url);

    char bearer[WAY_TEXT_SIZE + 32];
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", c->settings->token);
    const char *headers[] = {is_set(c->settings->token) ? bearer : NULL, NULL};
    const char *verb = is_set(method) ? method : "POST";
    struct http_request request = {
        .method = verb,
        .url = url.at,
        .body = sent.at                    ? sent.at
                : strcmp(verb, "GET") == 0 ? NULL
                                           : "",
        .headers = headers,
        .timeout_ms = timeout_ms,
    };
    AUTO_BUF struct buf reply = BUF(REPLY_MAX);
    int status = http_call(c->env, &request, &reply, err);
    if (status < 0)
        return status;
    if (status < 200 || status > 299)
        return error_set(err, -EPROTO, "%s %s answered %d: %.200s", verb, url.at, status, reply.at ? reply.at : "");
    if (ret)
        *ret = json_loadb(reply.at ? reply.at : "", reply.len, JSON_DECODE_ANY, NULL);
    return 0;
}

static int get(struct way_context *c, const char *path, json_t **ret, struct error *err)
{
    *ret = NULL;
    int rc = call(c, "GET", path, NULL, "", LOOK_TIMEOUT_MS, ret, err);
    if (rc == 0 && !*ret)
        rc = error_set(err, -EPROTO, "%s%s did not answer in JSON", c->settings->url, path);
    return rc;
}

struct collector {
    const struct http_way *row;
    struct journal_entry *entry;
};

/* "status.value=loaded" */
static bool passes(const json_t *item, const char *only)
{
    if (!is_set(only))
        return true;
    char path[128];
    const char *equals = strchr(only, '=');
    str_copy(path, sizeof path, (struct str){only, (size_t)(equals - only)});
    const char *value = json_string_value(json_path_first(item, path));
    return value && strcmp(value, equals + 1) == 0;
}

static bool collect(const json_t *item, void *user)
{
    struct collector *k = user;
    const char *id = json_string_value(json_path_first(item, k->row->id));
    if (id && id[0] && passes(item, k->row->only) && k->entry->item_count < JOURNAL_ITEMS_MAX)
        str_copy(k->entry->items[k->entry->item_count++], JOURNAL_ITEM_SIZE, str_from(id));
    return true;
}

static int list_items(const struct http_way *row, struct way_context *c, struct journal_entry *entry, struct error *err)
{
    entry->item_count = 0;
    if (!is_set(row->list_path))
        return 0;
    json_t *root = NULL;
    int rc = call(c, row->list_method, row->list_path, strcmp(row->list_method, "GET") == 0 ? NULL : "{}", "", LOOK_TIMEOUT_MS,
                  &root, err);
    if (rc < 0)
        return rc;
    if (!root)
        return error_set(err, -EPROTO, "%s%s did not answer in JSON", c->settings->url, row->list_path);
    struct collector k = {row, entry};
    json_path_each(root, str_from(row->items), collect, &k);
    json_decref(root);
    return 0;
}

/* Is work in flight? With "{id}" in the path each item that is loaded is asked for. */
static int busy(const struct way *way, struct way_context *c, struct error *err)
{
    const struct http_way *row = way->row;
    if (!is_set(row->busy_path))
        return 0;
    bool by_item = strstr(row->busy_path, "{id}") != NULL, working = false;
    AUTO_FREE struct journal_entry *now = calloc(1, sizeof *now);
    int rc = now ? 0 : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0 && by_item)
        rc = list_items(row, c, now, err);
    size_t times = by_item && rc == 0 ? now->item_count : 1;
    for (size_t i = 0; rc == 0 && !working && i < times; i++) {
        json_t *root = NULL;
        rc = call(c, "GET", row->busy_path, NULL, by_item ? now->items[i] : "", LOOK_TIMEOUT_MS, &root, err);
        working = rc == 0 && json_path_any(root, row->busy_key);
        json_decref(root);
    }
    return rc < 0 ? rc : working;
}

static int64_t limit(int64_t configured_ms)
{
    return configured_ms ? configured_ms : ACT_TIMEOUT_MS;
}

static int evict(const struct way *way, struct way_context *c, struct error *err)
{
    const struct http_way *row = way->row;
    int rc = list_items(row, c, c->entry, err);
    if (rc == 0 && is_set(row->list_path) && c->entry->item_count == 0)
        return 0; /* nothing is loaded */
    int working = rc == 0 && is_set(row->idle) ? busy(way, c, err) : 0;
    if (working)
        return working < 0 ? working : error_set(err, -EBUSY, "%s works, and would not survive being unloaded now", way->name);
    if (rc == 0)
        rc = way_note(c, "unload", err);
    if (rc == 0 && is_set(row->before_path))
        rc = call(c, "POST", row->before_path, row->before_body, "", limit(c->settings->evict_timeout_ms), NULL, err);
    bool by_item = strstr(row->unload_path, "{id}") || strstr(row->unload_body, "{id}");
    size_t times = by_item ? c->entry->item_count : 1;
    for (size_t i = 0; rc == 0 && i < times; i++)
        rc = call(c, row->unload_method, row->unload_path, row->unload_body, by_item ? c->entry->items[i] : "",
                  limit(c->settings->evict_timeout_ms), NULL, err);
    if (rc < 0 && is_set(row->before_path) && is_set(row->after_path)) {
        struct error ignored = {0}; /* it was paused for the unloading: let it go on */
        call(c, "POST", row->after_path, row->after_body, "", LOOK_TIMEOUT_MS, NULL, &ignored);
    }
    return rc;
}

static int resume(const struct way *way, struct way_context *c, struct error *err)
{
    const struct http_way *row = way->row;
    int rc = way_note(c, "reload", err);
    if (rc == 0 && is_set(row->reload_path)) {
        bool by_item = strstr(row->reload_path, "{id}") || strstr(row->reload_body, "{id}");
        size_t times = by_item ? c->entry->item_count : 1;
        for (size_t i = 0; rc == 0 && i < times; i++)
            rc = call(c, row->reload_method, row->reload_path, row->reload_body, by_item ? c->entry->items[i] : "",
                      limit(c->settings->resume_timeout_ms), NULL, err);
    }
    if (rc == 0 && is_set(row->after_path))
        rc = call(c, "POST", row->after_path, row->after_body, "", limit(c->settings->resume_timeout_ms), NULL, err);
    return rc;
}

static enum way_found find(const struct way *way, struct way_context *c, struct error *err)
{
    const struct http_way *row = way->row;
    if (is_set(row->asleep_path)) {
        json_t *root;
        if (get(c, row->asleep_path, &root, err) < 0)
            return WAY_FOUND_UNKNOWN;
        bool asleep = json_path_any(root, row->asleep_key);
        json_decref(root);
        return asleep ? WAY_FOUND_EVICTED : WAY_FOUND_RUNNING;
    }
    if (!is_set(row->list_path))
        return WAY_FOUND_UNKNOWN;
    struct journal_entry now = {0};
    if (list_items(row, c, &now, err) < 0)
        return WAY_FOUND_UNKNOWN;
    return now.item_count ? WAY_FOUND_RUNNING : WAY_FOUND_EVICTED;
}

const struct way_ops way_http = {
    .busy = busy,
    .evict = evict,
    .resume = resume,
    .find = find,
};
