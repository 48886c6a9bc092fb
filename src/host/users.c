/* SPDX-License-Identifier: Apache-2.0
 * User names, each looked up once: the system may ask a server and take its time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/identity.h"

enum {
    USERS_MAX = 512,              /* beyond that, the oldest makes room */
    ASK_AGAIN_MS = 5 * 60 * 1000, /* a user without a name may get one */
};

struct user {
    int64_t uid;
    struct mono asked;
    bool named;
    char name[USER_NAME_SIZE];
};

struct users {
    const struct env *env;
    struct user known[USERS_MAX];
    size_t count, next;
};

struct users *users_new(const struct env *env)
{
    struct users *u = calloc(1, sizeof *u);
    if (u)
        u->env = env;
    return u;
}

void users_free(struct users *u)
{
    free(u);
}

void users_name(struct users *u, int64_t uid, char *to, size_t size)
{
    struct mono now = clock_mono(u->env->clock);
    struct user *user = NULL;
    for (size_t i = 0; i < u->count && !user; i++)
        if (u->known[i].uid == uid)
            user = &u->known[i];
    if (!user || (!user->named && mono_since_ms(now, user->asked) > ASK_AGAIN_MS)) {
        if (!user) {
            user = &u->known[u->next];
            u->next = (u->next + 1) % USERS_MAX;
            u->count = MIN_OF(u->count + 1, (size_t)USERS_MAX);
        }
        *user = (struct user){.uid = uid, .asked = now};
        user->named = users_look_up(u->env, uid, user->name);
        if (!user->named)
            snprintf(user->name, sizeof user->name, "%lld", (long long)uid);
    }
    str_copy(to, size, str_from(user->name));
}
