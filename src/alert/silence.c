/* SPDX-License-Identifier: Apache-2.0
 * The list of silences, and matching alerts against it.
 */
#include "alert/silence.h"

#include <errno.h>
#include <stdio.h>

#include "alert/expr/node.h"

int silence_add_matcher(struct silence *s, struct str text, struct error *err)
{
    const char *equals = text.len ? memchr(text.at, '=', text.len) : NULL;
    struct str key = str_trim((struct str){text.at, equals ? (size_t)(equals - text.at) : 0});
    struct str value = equals ? str_trim((struct str){equals + 1, text.len - (size_t)(equals + 1 - text.at)}) : (struct str){0};
    if (s->matcher_count == SILENCE_MATCHERS_MAX)
        return error_set(err, -EINVAL, "more than %d conditions", SILENCE_MATCHERS_MAX);
    struct silence_matcher *m = &s->matchers[s->matcher_count];
    if (!key.len || !value.len || key.len >= sizeof m->key || value.len >= sizeof m->value)
        return error_set(err, -EINVAL, "'%.*s' is not a condition: write KEY=VALUE, like alert=hot or gpu=0",
                         (int)(text.len < 80 ? text.len : 80), text.at ? text.at : "");
    str_copy_clean(m->key, sizeof m->key, key);
    str_copy_clean(m->value, sizeof m->value, value);
    s->matcher_count++;
    return 0;
}

int silences_add(struct silences *all, struct silence *s, struct wall now, struct error *err)
{
    if (!s->matcher_count)
        return error_set(err, -EINVAL, "at least one condition is needed, like alert=hot; alert=* silences everything");
    if (s->until.ms <= now.ms)
        return error_set(err, -EINVAL, "the end of the silence is already over");
    silences_expire(all, now);
    if (all->count == SILENCES_MAX)
        return error_set(err, -ENOSPC, "there are already %d silences", SILENCES_MAX);
    s->created_at = now;
    snprintf(s->id, sizeof s->id, "s%u", ++all->next_id);
    all->list[all->count++] = *s;
    return 0;
}

bool silences_remove(struct silences *all, const char *id)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i].id, id) == 0) {
            memmove(&all->list[i], &all->list[i + 1], (all->count - i - 1) * sizeof all->list[0]);
            all->count--;
            return true;
        }
    return false;
}

bool silences_expire(struct silences *all, struct wall now)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].until.ms > now.ms)
            all->list[kept++] = all->list[i];
    bool any = kept < all->count;
    all->count = kept;
    return any;
}

static bool fits(const struct silence *s, silence_label_fn *label, const void *alert)
{
    for (size_t i = 0; i < s->matcher_count; i++) {
        const char *value = label(alert, s->matchers[i].key);
        if (!value || !glob_matches(str_from(s->matchers[i].value), str_from(value)))
            return false;
    }
    return s->matcher_count > 0;
}

const struct silence *silences_match(const struct silences *all, silence_label_fn *label, const void *alert, struct wall now)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].until.ms > now.ms && fits(&all->list[i], label, alert))
            return &all->list[i];
    return NULL;
}
