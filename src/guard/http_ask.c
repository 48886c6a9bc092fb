/* SPDX-License-Identifier: Apache-2.0
 * Requests of the HTTP methods.
 */
#include "guard/method.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "guard/json_path.h"
#include "net/http_client.h"

enum { REPLY_MAX = 4 * 1024 * 1024, URL_SIZE = 1024 };

static bool is_set(const char *text)
{
    return text && text[0];
}

bool http_is_set(const struct server_request *request)
{
    return is_set(request->path);
}

bool http_by_item(const struct server_request *request)
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

int http_ask(struct method_context *c, const struct server_request *asked, const struct journal_item *item, int64_t timeout_ms,
             json_t **ret, struct error *err)
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

/* ---- loaded items ---- */

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

int http_list(const struct server_row *row, struct method_context *c, struct journal_entry *entry, struct error *err)
{
    entry->item_count = 0;
    if (!http_is_set(&row->list))
        return 0;
    AUTO_JSON json_t *root = NULL;
    struct server_request list = row->list;
    if (!is_set(list.body) && strcmp(list.method, "GET") != 0)
        list.body = "{}";
    int rc = http_ask(c, &list, NULL, HTTP_LOOK_TIMEOUT_MS, &root, err);
    if (rc < 0)
        return rc;
    if (!root)
        return error_set(err, -EPROTO, "%s%s did not answer in JSON", c->settings->url, row->list.path);
    struct collector k = {row, entry};
    json_path_each(root, str_from(row->items ? row->items : ""), collect, &k);
    return 0;
}
