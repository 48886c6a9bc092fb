/* SPDX-License-Identifier: Apache-2.0
 * Sources of user names. The file comes first: the name service may ask a server and take its time.
 */
#include "host/linux/process_files.h"

#include <pwd.h>

#include "base/file.h"
#include "host/identity.h"

enum { PASSWD_MAX = 4 << 20 };

/* The name of `uid` in the text of a passwd file. */
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

bool users_look_up(const struct env *env, int64_t uid, char name[USER_NAME_SIZE])
{
    AUTO_BUF struct buf passwd = BUF(PASSWD_MAX);
    struct str found;
    if (file_read_all(env, "/etc/passwd", &passwd) == 0 && passwd_find(buf_view(&passwd), uid, &found)) {
        str_copy_clean(name, USER_NAME_SIZE, found);
        return name[0];
    }
    if (env_is_recorded(env)) /* a recorded host has other users than this one */
        return false;
    struct passwd entry, *result = NULL;
    char room[4096];
    if (getpwuid_r((uid_t)uid, &entry, room, sizeof room, &result) != 0 || !result || !result->pw_name)
        return false;
    str_copy_clean(name, USER_NAME_SIZE, str_from(result->pw_name));
    return name[0];
}
