/* SPDX-License-Identifier: Apache-2.0
 * Numbers, texts and readings of a recording, in both directions.
 */
#include "source/replay/coder.h"

#include <string.h>

uint64_t code_u64(struct coder *c, uint64_t value)
{
    if (!c->reading) {
        varint_put(c->out, value);
        return value;
    }
    if (c->failed || !varint_get(&c->at, c->end, &value)) {
        c->failed = true;
        return 0;
    }
    return value;
}

static uint64_t zigzag(int64_t n)
{
    return ((uint64_t)n << 1) ^ (uint64_t)(n >> 63);
}

static int64_t unzigzag(uint64_t n)
{
    return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

int64_t coder_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

int64_t coder_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

int64_t code_i64(struct coder *c, int64_t now, int64_t before)
{
    return coder_plus(before, unzigzag(code_u64(c, zigzag(coder_minus(now, before)))));
}

uint64_t code_small(struct coder *c, uint64_t value, uint64_t most)
{
    value = code_u64(c, value);
    if (c->reading && value > most) {
        c->failed = true;
        return 0;
    }
    return value;
}

void code_text(struct coder *c, char *text, size_t size)
{
    size_t len = code_small(c, c->reading ? 0 : strlen(text), size - 1);
    if (!c->reading) {
        buf_add(c->out, text, len);
        return;
    }
    if (c->failed || len > (size_t)(c->end - c->at)) {
        c->failed = true;
        return;
    }
    /* Recordings may come from strangers: remove control characters. */
    str_copy_clean(text, size, (struct str){(const char *)c->at, len});
    c->at += len;
}

void code_texts(struct coder *c, char *const *texts, const char *const *before, const size_t *sizes, size_t count)
{
    uint64_t mask = 0;
    for (size_t i = 0; !c->reading && i < count; i++)
        if (strcmp(texts[i], before[i]) != 0)
            mask |= 1u << i;
    mask = code_small(c, mask, (1u << count) - 1);
    for (size_t i = 0; i < count; i++)
        if (mask & 1u << i)
            code_text(c, texts[i], sizes[i]);
}

bool reading_same(struct reading a, struct reading b)
{
    return a.state == b.state && (a.value == b.value || a.state != READING_OK);
}

static void code_reading(struct coder *c, struct reading *now, struct reading before)
{
    bool state_changed = now->state != before.state;
    int64_t old = before.state == READING_OK ? before.value : 0, value = now->state == READING_OK ? now->value : 0;
    int64_t difference = coder_minus(value, old);
    /* One bit of the difference flags the state; a difference that needs all 64 bits is stored separately. */
    bool fits = difference >= INT64_MIN / 2 && difference <= INT64_MAX / 2;
    uint64_t tag = code_u64(c, (fits ? zigzag(difference) << 1 : 0) | (state_changed || !fits));
    if (!(tag & 1)) {
        *now = (struct reading){coder_plus(old, unzigzag(tag >> 1)), before.state};
        return;
    }
    uint64_t state = code_small(c, now->state | (fits ? 0u : 16u), READING_LAST | 16u);
    value = coder_plus(old, (state & 16) ? unzigzag(code_u64(c, zigzag(difference))) : unzigzag(tag >> 1));
    if ((state & 15) > READING_LAST)
        c->failed = true;
    else
        *now = (struct reading){(state & 15) == READING_OK ? value : 0, (enum reading_state)(state & 15)};
}

/* For each changed column: the number of columns skipped, and the reading. */
void code_readings(struct coder *c, struct reading *now, const struct reading *before, size_t count, const struct column_map *map)
{
    size_t changed = 0, next = 0;
    for (size_t i = 0; !c->reading && i < count; i++)
        changed += !reading_same(now[i], before[i]);
    changed = code_small(c, changed, SCHEMA_COLUMNS_MAX);
    for (size_t i = 0, column = 0; i < changed && !c->failed; i++, next = column + 1) {
        if (!c->reading) {
            for (column = next; reading_same(now[column], before[column]);)
                column++;
            code_u64(c, column - next);
            code_reading(c, &now[column], before[column]);
            continue;
        }
        column = next + code_small(c, 0, SCHEMA_COLUMNS_MAX);
        struct reading unknown = {0};
        int here = column < map->count ? map->to[column] : -1;
        if (column >= map->count)
            c->failed = true;
        else
            code_reading(c, here < 0 ? &unknown : &now[here], here < 0 ? unknown : before[here]);
    }
}

bool readings_same(const struct reading *a, const struct reading *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!reading_same(a[i], b[i]))
            return false;
    return true;
}
