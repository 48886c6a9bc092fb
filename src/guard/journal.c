/* SPDX-License-Identifier: Apache-2.0
 * The guard's journal: after a power cut, either the old entry or the new one exists.
 */
#include "guard/method.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/keep.h"
#include "base/os/shared.h"

enum { JOURNAL_BYTES_MAX = 256 * 1024 };

int journal_open(struct journal *j, const char *dir, const char *name, struct error *err)
{
    int rc = shared_dir_make(dir, 0700, err);
    if (rc < 0)
        return rc;
    int len = snprintf(j->path, sizeof j->path, "%s/%s.journal", dir, name);
    if (len < 0 || (size_t)len >= sizeof j->path - 8)
        return error_set(err, -ENAMETOOLONG, "the path of the guard's journal is too long");
    for (char *c = j->path + strlen(dir) + 1; *c; c++)
        if (*c == '/' || (unsigned char)*c < 0x20)
            *c = '_';
    return 0;
}

static void write_item(struct json_writer *w, const struct journal_item *item)
{
    jw_object(w);
    jw_key_text(w, "id", item->id);
    if (item->name[0])
        jw_key_text(w, "name", item->name);
    if (item->extra[0])
        jw_key_text(w, "extra", item->extra);
    jw_end(w);
}

static void write_identity(struct json_writer *w, struct claim_identity who)
{
    jw_array(w);
    jw_int(w, who.pid);
    jw_int(w, who.start_key);
    jw_end(w);
}

static void write_entry(struct buf *text, const struct journal_entry *e)
{
    struct json_writer w = JSON_WRITER(text);
    jw_object(&w);
    jw_key_text(&w, "state", guard_state_name(e->state));
    jw_key_text(&w, "step", e->step);
    jw_key_int(&w, "bytes", e->bytes);
    jw_key_bool(&w, "held", e->held);
    jw_key_bool(&w, "idle", e->idle);
    jw_key_array(&w, "acted");
    for (size_t i = 0; i < e->acted_count; i++)
        jw_text(&w, e->acted[i]);
    jw_end(&w);
    jw_key_array(&w, "items");
    for (size_t i = 0; i < e->item_count; i++)
        write_item(&w, &e->items[i]);
    jw_end(&w);
    jw_key_array(&w, "pids");
    for (size_t i = 0; i < e->pid_count; i++)
        write_identity(&w, e->pids[i]);
    jw_end(&w);
    jw_key(&w, "leader");
    write_identity(&w, e->leader);
    jw_key(&w, "claimant");
    write_identity(&w, e->claimant);
    jw_key_array(&w, "gpus");
    for (size_t i = 0; i < e->gpu_count; i++) {
        jw_array(&w);
        jw_int(&w, e->gpus[i].gpu);
        jw_int(&w, e->gpus[i].bytes);
        jw_text(&w, e->gpus[i].uuid);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    buf_char(text, '\n');
}

int journal_write(const struct journal *j, const struct journal_entry *entry, struct error *err)
{
    if (!j->path[0])
        return 0;
    AUTO_BUF struct buf text = BUF(JOURNAL_BYTES_MAX);
    write_entry(&text, entry);
    int rc = text.no_memory ? -ENOMEM : text.failed ? -EFBIG : keep_write(j->path, buf_view(&text), NULL);
    const char *why = rc == -ENOMEM ? "out of memory" : strerror(-rc);
    return rc == 0 ? 0 : error_set(err, rc, "cannot write the guard's journal '%s': %s", j->path, why);
}

static size_t read_texts(const json_t *list, void *to, size_t size, size_t max)
{
    size_t count = 0, i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (count == max || !json_is_string(item))
            break;
        str_copy((char *)to + count++ * size, size, str_from(json_string_value(item)));
    }
    return count;
}

static void read_item(const json_t *from, struct journal_item *to)
{
    const char *id =
        json_string_value(json_is_string(from) ? from : json_object_get(from, "id")); /* a plain string: an older journal */
    const char *name = json_string_value(json_object_get(from, "name")), *extra = json_string_value(json_object_get(from, "extra"));
    str_copy(to->id, sizeof to->id, str_from(id ? id : ""));
    str_copy(to->name, sizeof to->name, str_from(name ? name : ""));
    str_copy(to->extra, sizeof to->extra, str_from(extra ? extra : ""));
}

static struct claim_identity read_identity(const json_t *pair)
{
    return (struct claim_identity){(int32_t)json_integer_value(json_array_get(pair, 0)),
                                   json_integer_value(json_array_get(pair, 1))};
}

static bool read_entry(const json_t *root, struct journal_entry *e)
{
    const char *state = json_string_value(json_object_get(root, "state"));
    if (!state || !guard_state_from_name(state, &e->state))
        return false;
    const char *step = json_string_value(json_object_get(root, "step"));
    str_copy(e->step, sizeof e->step, str_from(step ? step : ""));
    e->bytes = json_integer_value(json_object_get(root, "bytes"));
    e->held = json_is_true(json_object_get(root, "held"));
    e->idle = json_is_true(json_object_get(root, "idle"));
    e->acted_count = read_texts(json_object_get(root, "acted"), e->acted, sizeof e->acted[0], JOURNAL_METHODS_MAX);
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(root, "items"), i, pair)
    {
        if (e->item_count < JOURNAL_ITEMS_MAX)
            read_item(pair, &e->items[e->item_count++]);
    }
    json_array_foreach(json_object_get(root, "pids"), i, pair)
    {
        if (e->pid_count == CLAIM_WORKER_PIDS)
            break;
        e->pids[e->pid_count++] = read_identity(pair);
    }
    e->leader = read_identity(json_object_get(root, "leader"));
    e->claimant = read_identity(json_object_get(root, "claimant"));
    json_array_foreach(json_object_get(root, "gpus"), i, pair)
    {
        int64_t index = json_integer_value(json_array_get(pair, 0));
        if (e->gpu_count == JOURNAL_GPUS_MAX || index < -1 || index >= GPU_MAX)
            break;
        const char *uuid = json_string_value(json_array_get(pair, 2));
        e->gpus[e->gpu_count].gpu = (int)index;
        e->gpus[e->gpu_count].bytes = json_integer_value(json_array_get(pair, 1));
        str_copy(e->gpus[e->gpu_count++].uuid, GPU_UUID_SIZE, str_from(uuid ? uuid : ""));
    }
    return true;
}

/* NULL with *rc: -EBADMSG if not JSON, else why it is unreadable now. */
static json_t *journal_load(const struct journal *j, int *rc, struct error *err)
{
    AUTO_BUF struct buf text = BUF(JOURNAL_BYTES_MAX);
    json_error_t said;
    *rc = keep_read(j->path, &text, err);
    if (*rc < 0) {
        *rc = *rc == -EFBIG ? -EBADMSG : *rc;
        return NULL;
    }
    json_t *root = json_loadb(buf_view(&text).at, text.len, JSON_REJECT_DUPLICATES, &said);
    if (!root && json_error_code(&said) == json_error_out_of_memory)
        *rc = error_set(err, -ENOMEM, "cannot read '%s': out of memory", j->path);
    else if (!root)
        *rc = -EBADMSG;
    return root;
}

int journal_read(const struct journal *j, struct journal_entry *entry, struct error *err)
{
    *entry = (struct journal_entry){0};
    if (!j->path[0])
        return -ENOENT;
    int rc;
    AUTO_JSON json_t *root = journal_load(j, &rc, err);
    if (root && !read_entry(root, entry))
        rc = -EBADMSG;
    if (rc != -EBADMSG)
        return rc;
    *entry = (struct journal_entry){0};
    struct error why;
    if (keep_aside(j->path, &why) < 0)
        return error_set(err, -EBADMSG, "the guard's journal '%s' is damaged; %s", j->path, why.text);
    return error_set(err, -EBADMSG, "the guard's journal '%s' cannot be read and was moved to '%s.damaged'", j->path, j->path);
}
