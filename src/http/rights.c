/* SPDX-License-Identifier: Apache-2.0
 * Roles and their rights.
 */
#include "http/rights.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *name;
    enum right right; /* granted only by this role and `admin` */
    unsigned rights;
} roles[] = {
    {"read", RIGHT_READ, RIGHT_READ},
    {"commands", RIGHT_COMMANDS, RIGHT_READ | RIGHT_COMMANDS},
    {"silence", RIGHT_SILENCE, RIGHT_READ | RIGHT_SILENCE},
    {"guard", RIGHT_GUARD, RIGHT_READ | RIGHT_GUARD},
    {"control", RIGHT_CONTROL, RIGHT_READ | RIGHT_CONTROL},
    {"admin", RIGHT_ADMIN, RIGHTS_ALL},
};

int rights_parse(struct str text, unsigned *ret, struct error *err)
{
    struct str name;
    *ret = 0;
    while (str_cut(&text, ',', &name)) {
        unsigned rights = 0;
        for (size_t i = 0; i < ARRAY_LEN(roles); i++)
            if (str_is(str_trim(name), roles[i].name))
                rights = roles[i].rights;
        if (!rights)
            return error_set(err, -EINVAL,
                             "'%.*s' is not a role; expected read, commands, silence, guard, control or admin, "
                             "or several of them with commas",
                             (int)name.len, name.at);
        *ret |= rights;
    }
    return *ret ? 0 : error_set(err, -EINVAL, "a token needs a role: read, commands, silence, guard, control or admin");
}

const char *rights_roles(unsigned rights, char text[ROLES_SIZE])
{
    text[0] = '\0';
    for (size_t i = ARRAY_LEN(roles); i-- > 0;) {
        bool implied = roles[i].right == RIGHT_READ && text[0];
        if ((rights & roles[i].rights) != roles[i].rights || implied)
            continue;
        size_t len = strlen(text);
        snprintf(text + len, ROLES_SIZE - len, "%s%s", len ? "," : "", roles[i].name);
        if (roles[i].right == RIGHT_ADMIN)
            break;
    }
    return text;
}

const char *right_role(enum right right)
{
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (roles[i].right == right)
            return roles[i].name;
    return "admin";
}

bool right_acts(enum right right)
{
    return right > RIGHT_COMMANDS;
}
