/* SPDX-License-Identifier: Apache-2.0
 * Evaluates small paths on JSON.
 */
#include "guard/json_path.h"

enum { KEY_SIZE = 128 };

struct path_walk {
    json_path_visit *each;
    void *user;
    bool stopped;
};

static void json_path_step(struct path_walk *w, const json_t *value, const json_t *holder, struct str path)
{
    if (!value || w->stopped)
        return;
    struct str part;
    if (!str_cut(&path, '.', &part)) {
        w->stopped = !w->each(value, holder, w->user);
        return;
    }
    const json_t *object = value;
    bool all = str_ends(part, "[]");
    if (all)
        part.len -= 2;
    if (part.len) {
        char key[KEY_SIZE];
        if (part.len >= sizeof key)
            return;
        str_copy(key, sizeof key, part);
        value = json_object_get(value, key);
    }
    if (!all) {
        json_path_step(w, value, holder, path);
        return;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        json_path_step(w, json_array_get(value, i), object, path);
}

void json_path_each(const json_t *root, struct str path, json_path_visit *each, void *user)
{
    struct path_walk w = {.each = each, .user = user};
    json_path_step(&w, root, root, path);
}

static bool keep_first(const json_t *value, const json_t *holder, void *user)
{
    (void)holder;
    *(const json_t **)user = value;
    return false;
}

const json_t *json_path_first(const json_t *root, const char *path)
{
    const json_t *found = NULL;
    json_path_each(root, str_from(path), keep_first, &found);
    return found;
}

/* true, a nonzero number, a nonempty string, object or list. */
static bool json_truthy(const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_TRUE: return true;
    case JSON_INTEGER:
    case JSON_REAL: return json_number_value(value) != 0;
    case JSON_STRING: return json_string_length(value) > 0;
    case JSON_ARRAY: return json_array_size(value) > 0;
    case JSON_OBJECT: return json_object_size(value) > 0;
    default: return false;
    }
}

static bool stop_at_truth(const json_t *value, const json_t *holder, void *user)
{
    (void)holder;
    *(bool *)user = json_truthy(value);
    return !*(bool *)user;
}

bool json_path_any(const json_t *root, const char *path)
{
    bool any = false;
    json_path_each(root, str_from(path), stop_at_truth, &any);
    return any;
}
