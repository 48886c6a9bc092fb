/* SPDX-License-Identifier: Apache-2.0
 * User names, each looked up once. The file is read first: the name service may ask a server and take its time.
 */
#include "host/linux/process_files.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"

enum {
    USERS_MAX = 512, /* remembered; beyond that the oldest makes room */
    NAME_SIZE = 33,
    PASSWD_MAX = 4 << 20,
    ASK_AGAIN_MS = 5 * 60 * 1000, /* a user without a name may get one */
};

struct user {
    int64_t uid;
    struct mono asked;
    bool named;
    char name[NAME_SIZE];
};

struct users {
    const struct env *env;
    struct user known[USERS_MAX];
    size_t count, next;
};

bool passwd_find(struct str passwd, int64_t uid, struct str *name)
{
    struct str line;
    while (str_cut(&passwd, '\n', &line)) {
        struct str login, password, number;
        int64_t id;
        if (str_cut(&line, ':', &login) && login.len && login.at[0] != '#' && str_cut(&line, ':', &password) &&
            str_cut(&line, ':', &number) && str_to_i64(number, &id) && id == uid) {
            *name = login;
            return true;
        }
    }
    return false;
}

static bool look_up(const struct env *env, int64_t uid, char name[NAME_SIZE])
{
    AUTO_BUF struct buf passwd = BUF(PASSWD_MAX);
    struct str found;
    if (file_read_all(env, "/etc/passwd", &passwd) == 0 && passwd_find(buf_view(&passwd), uid, &found)) {
        str_copy_clean(name, NAME_SIZE, found);
        return name[0];
    }
    if (env_is_recorded(env)) /* the users of this machine are not those of the recorded one */
        return false;
    struct passwd entry, *result = NULL;
    char room[4096];
    if (getpwuid_r((uid_t)uid, &entry, room, sizeof room, &result) != 0 || !result || !result->pw_name)
        return false;
    str_copy_clean(name, NAME_SIZE, str_from(result->pw_name));
    return name[0];
}

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
        user->named = look_up(u->env, uid, user->name);
        if (!user->named)
            snprintf(user->name, sizeof user->name, "%lld", (long long)uid);
    }
    str_copy(to, size, str_from(user->name));
}
