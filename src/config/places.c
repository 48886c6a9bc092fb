/* SPDX-License-Identifier: Apache-2.0
 * Paths from the environment.
 */
#include "config/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/os/place.h"
#include "config/config.h"

#define SYSTEM_SOCKET PLACE_SYSTEM_RUNTIME "/whirr.sock"

static bool places_join(char path[PLACE_SIZE], const char *folder, const char *name)
{
    if (!folder || !path_is_whole(folder) || snprintf(path, PLACE_SIZE, "%s%s", folder, name) >= PLACE_SIZE)
        return false;
    path_normalise(path);
    return true;
}

/* A path of the system, below WHIRR_SYSTEM_ROOT where that is set. */
static bool join_system(char path[PLACE_SIZE], const char *name)
{
    const char *root = env_variable(CONFIG_SYSTEM_ROOT);
    return places_join(path, root && root[0] ? root : name, root && root[0] ? name : "");
}

/* Makes the folder and those above it. */
static int make_folders(char *path, struct error *err)
{
    for (char *slash = path + 1;; slash++) {
        if (*slash != '/' && *slash)
            continue;
        char kept = *slash;
        *slash = '\0';
        int made = mkdir(path, 0700);
        *slash = kept;
        if (made && errno != EEXIST && errno != EROFS && !(errno == EACCES && kept))
            return error_set(err, -errno, "cannot create the directory '%s': %s", path, strerror(errno));
        if (!kept)
            return 0;
    }
}

/* A directory of root that all users may read: what lies there has modes of its own. */
static bool make_public(char path[PLACE_SIZE])
{
    return make_folders(path, NULL) == 0 && chmod(path, 0755) == 0;
}

int place_state(char path[PLACE_SIZE], struct error *err)
{
    bool found = places_join(path, env_variable("STATE_DIRECTORY"), "");
    if (found && strchr(path, ':')) /* systemd lists several with colons; the first is ours */
        *strchr(path, ':') = '\0';
    if (!found)
        found = places_join(path, env_variable("XDG_STATE_HOME"), "/whirr");
    if (!found && geteuid() == 0)
        found = join_system(path, PLACE_SYSTEM_STATE);
    if (!found)
        found = places_join(path, env_variable("HOME"), "/.local/state/whirr");
    if (!found)
        return error_set(err, -ENOENT, "no state directory: neither XDG_STATE_HOME nor HOME is set");
    return make_folders(path, err);
}

static int in_state(char path[PLACE_SIZE], const char *name, struct error *err)
{
    int result = place_state(path, err);
    size_t len = strlen(path);
    if (!result && len + strlen(name) < PLACE_SIZE)
        memcpy(path + len, name, strlen(name) + 1);
    return result;
}

int place_tokens(char path[PLACE_SIZE], struct error *err)
{
    return in_state(path, "/tokens", err);
}

int place_lock(char path[PLACE_SIZE], struct error *err)
{
    return in_state(path, "/daemon.lock", err);
}

/* Is the system's place ours? A login of root has a session, and its daemon is the system's all the same. */
static bool is_system(void)
{
    const char *session = env_variable("XDG_RUNTIME_DIR");
    return geteuid() == 0 && (!session || !path_is_whole(session) || strncmp(session, "/run/user/", 10) == 0);
}

bool place_system_socket(char path[PLACE_SIZE])
{
    return join_system(path, SYSTEM_SOCKET);
}

/* Of this user, or of the service that we are part of. */
static bool own_socket(char path[PLACE_SIZE])
{
    if (places_join(path, env_variable("RUNTIME_DIRECTORY"), "")) {
        path[strcspn(path, ":")] = '\0'; /* systemd lists several with colons; the first is ours */
        size_t len = strlen(path);
        return snprintf(path + len, PLACE_SIZE - len, "/whirr.sock") < (int)(PLACE_SIZE - len);
    }
    return is_system() ? place_system_socket(path) : places_join(path, env_variable("XDG_RUNTIME_DIR"), "/whirr.sock");
}

bool place_to_act(const char *configured, char path[PLACE_SIZE])
{
    if (strcmp(configured, "none") == 0)
        return false;
    if (strcmp(configured, "auto") != 0) {
        bool fits = snprintf(path, PLACE_SIZE, "%s", configured) < PLACE_SIZE;
        path_normalise(path);
        return fits;
    }
    return own_socket(path);
}

bool place_socket(const char *configured, char path[PLACE_SIZE])
{
    char folder[PLACE_SIZE], system[PLACE_SIZE];
    if (!place_to_act(configured, path))
        return false;
    bool public = strcmp(configured, "auto") == 0 && place_system_socket(system) && strcmp(path, system) == 0;
    return !public || (join_system(folder, PLACE_SYSTEM_RUNTIME) && make_public(folder));
}

bool place_of_daemon(const char *configured, int n, char path[PLACE_SIZE])
{
    char system[PLACE_SIZE];
    if (strcmp(configured, "auto") != 0)
        return n == 0 && place_to_act(configured, path);
    if (!place_system_socket(system))
        system[0] = '\0';
    /* A daemon of one's own first: it sees what the user sees. */
    bool own = own_socket(path) && strcmp(path, system) != 0;
    if (n == 0 && own)
        return true;
    return n == (own ? 1 : 0) && system[0] && snprintf(path, PLACE_SIZE, "%s", system) > 0;
}

int store_place(const char *given, char url[STORE_PLACE_SIZE], struct error *err)
{
    char folder[PLACE_SIZE];
    if (strcmp(given, "none") == 0)
        return error_set(err, -ENOENT, "no history is kept: store.url is \"none\"");
    bool automatic = strcmp(given, "auto") == 0, named = strstr(given, "://") || strncmp(given, "sqlite:", 7) == 0;
    int rc = automatic ? place_state(folder, err) : 0;
    if (rc < 0)
        return rc;
    int len =
        snprintf(url, STORE_PLACE_SIZE, "%s%s%s", named ? "" : "sqlite:", automatic ? folder : given, automatic ? "/whirr.db" : "");
    if (len >= STORE_PLACE_SIZE)
        return error_set(err, -ENAMETOOLONG, "the address of the history database is too long");
    if (strncmp(url, "sqlite:", 7) == 0)
        path_normalise(url);
    return 0;
}

/* Passwords are not shown. */
void store_place_text(const char *url, char *text, size_t size)
{
    const char *scheme = strstr(url, "://"), *at = scheme ? strchr(scheme + 3, '@') : NULL;
    const char *colon = scheme && at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
    if (strncmp(url, "sqlite:", 7) == 0)
        snprintf(text, size, "%s", url + 7);
    else if (colon)
        snprintf(text, size, "%.*s:***%s", (int)(colon - url), url, at);
    else
        snprintf(text, size, "%s", url);
    char *word = strstr(text, "password=");
    if (word)
        snprintf(word + 9, size - (size_t)(word + 9 - text), "***");
}

int place_runtime(char path[PLACE_SIZE], struct error *err)
{
    if (places_join(path, env_variable("RUNTIME_DIRECTORY"), "") && !strchr(path, ':') && make_folders(path, NULL) == 0)
        return 0;
    if (is_system() && join_system(path, PLACE_SYSTEM_RUNTIME) && make_public(path))
        return 0;
    if (!is_system() && places_join(path, env_variable("XDG_RUNTIME_DIR"), "/whirr") && make_folders(path, NULL) == 0)
        return 0;
    return place_state(path, err); /* no session: a user from su or cron */
}

/* All users may put their own files there, and take away only those. */
static bool make_common(char path[PLACE_SIZE], bool make)
{
    struct stat info;
    if (stat(path, &info) < 0 && make && make_folders(path, NULL) == 0)
        (void)!chmod(path, 01777);
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && access(path, W_OK | X_OK) == 0;
}

int place_leases(const char *configured, bool make, char path[PLACE_SIZE], bool *own, struct error *err)
{
    struct stat info;
    *own = false;
    if (strcmp(configured, "auto") != 0) {
        snprintf(path, PLACE_SIZE, "%s", configured);
        path_normalise(path);
        if (make_common(path, make) || stat(path, &info) == 0)
            return 0;
        return error_set(err, make ? -EACCES : -ENOENT, "cannot use the directory of leases '%s'", path);
    }
    bool common = make && (!PLACE_IS_OF_ADMINISTRATORS || geteuid() == 0);
    if ((join_system(path, PLACE_SYSTEM_LEASES) && make_common(path, false)) ||
        (join_system(path, PLACE_LOCKED_LEASES) && make_common(path, common)))
        return 0;
    int rc = place_runtime(path, err);
    if (rc < 0)
        return rc;
    *own = true;
    str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from("/leases"));
    if (make)
        rc = make_folders(path, err);
    return rc < 0 || stat(path, &info) == 0 ? rc : error_set(err, -ENOENT, "there is no directory of leases");
}

int place_settings(const char *configured, bool make, char path[PLACE_SIZE], struct error *err)
{
    size_t len = strlen(configured);
    while (len > 1 && configured[len - 1] == '/')
        len--;
    if (strcmp(configured, "auto") != 0)
        snprintf(path, PLACE_SIZE, "%.*s-settings", (int)MIN_OF(len, (size_t)PLACE_SIZE - 16), configured);
    else if (!join_system(path, PLACE_SYSTEM_SETTINGS))
        return error_set(err, -ENAMETOOLONG, "the place of changed settings is too long");
    return !make || make_public(path) ? 0
                                      : error_set(err, -EACCES, "cannot use '%s', where changed settings are written down", path);
}

void place_typed(char *path, size_t size, const char *typed)
{
    const char *home = typed[0] == '~' && typed[1] == '/' ? env_variable("HOME") : NULL;
    snprintf(path, size, "%s%s", home ? home : "", home ? typed + 1 : typed);
    path_normalise(path);
}
