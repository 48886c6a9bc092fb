/* SPDX-License-Identifier: Apache-2.0
 * Names of limits.
 */
#include "model/limit.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *code;
    enum limit_side side;
    const char *words, *doing;
} limits[LIMIT_COUNT] = {
    [LIMIT_UNJUDGED] = {NULL, LIMIT_SIDE_NOTHING, "", ""},
#define LIMIT(name, code, side, finding, words, doing) [LIMIT_##name] = {code, LIMIT_SIDE_##side, words, doing},
#include "model/limits.def"
#undef LIMIT
};

static enum limit known(enum limit limit)
{
    return limit > LIMIT_UNJUDGED && limit < LIMIT_COUNT ? limit : LIMIT_UNJUDGED;
}

const char *limit_name(enum limit limit)
{
    return limits[known(limit)].code;
}

bool limit_from_name(const char *name, enum limit *ret)
{
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++)
        if (strcmp(limits[l].code, name) == 0) {
            *ret = (enum limit)l;
            return true;
        }
    return false;
}

const char *limit_words(enum limit limit)
{
    return limits[known(limit)].words;
}

const char *limit_doing(enum limit limit)
{
    return limits[known(limit)].doing;
}

enum limit_side limit_side(enum limit limit)
{
    return limits[known(limit)].side;
}

const char *limit_side_name(enum limit_side side)
{
    static const char *const names[] = {"none", "gpu", "link", "host", "others"};
    return names[side];
}
