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

#include "config/config.h"

#define SYSTEM_STATE "/var/lib/whirr"
#define SYSTEM_RUNTIME "/run/whirr"
#define SYSTEM_SOCKET SYSTEM_RUNTIME "/whirr.sock"

static bool join(char path[PLACE_SIZE], const char *folder, const char *name)
{
    return folder && folder[0] == '/' && snprintf(path, PLACE_SIZE, "%s%s", folder, name) < PLACE_SIZE;
}

/* A path of the system, below WHIRR_SYSTEM_ROOT where that is set. */
static bool join_system(char path[PLACE_SIZE], const char *name)
{
    const char *root = getenv(CONFIG_SYSTEM_ROOT);
    return join(path, root && root[0] ? root : name, root && root[0] ? name : "");
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
            return error_set(err, -errno, "cannot make the folder '%s': %s", path, strerror(errno));
        if (!kept)
            return 0;
    }
}

/* A folder of root that everybody may look into: what lies there has modes of its own. */
static bool make_public(char path[PLACE_SIZE])
{
    return make_folders(path, NULL) == 0 && chmod(path, 0755) == 0;
}

int place_state(char path[PLACE_SIZE], struct error *err)
{
    bool found = join(path, getenv("STATE_DIRECTORY"), "");
    if (found && strchr(path, ':')) /* systemd lists several with colons; the first is ours */
        *strchr(path, ':') = '\0';
    if (!found)
        found = join(path, getenv("XDG_STATE_HOME"), "/whirr");
    if (!found && geteuid() == 0)
        found = join_system(path, SYSTEM_STATE);
    if (!found)
        found = join(path, getenv("HOME"), "/.local/state/whirr");
    if (!found)
        return error_set(err, -ENOENT, "there is no place for state: neither XDG_STATE_HOME nor HOME is set");
    return make_folders(path, err);
}

int place_tokens(char path[PLACE_SIZE], struct error *err)
{
    int result = place_state(path, err);
    size_t len = strlen(path);
    if (!result && len + sizeof "/tokens" <= PLACE_SIZE)
        memcpy(path + len, "/tokens", sizeof "/tokens");
    return result;
}

bool place_socket(const char *configured, char path[PLACE_SIZE])
{
    if (strcmp(configured, "none") == 0)
        return false;
    if (strcmp(configured, "auto") != 0)
        return snprintf(path, PLACE_SIZE, "%s", configured) < PLACE_SIZE;
    if (join(path, getenv("RUNTIME_DIRECTORY"), "/whirr.sock"))
        return true;
    if (geteuid() == 0)
        return join_system(path, SYSTEM_RUNTIME) && make_public(path) && join_system(path, SYSTEM_SOCKET);
    return join(path, getenv("XDG_RUNTIME_DIR"), "/whirr.sock");
}

bool place_of_daemon(const char *configured, int n, char path[PLACE_SIZE])
{
    if (strcmp(configured, "auto") != 0)
        return n == 0 && place_socket(configured, path);
    /* A daemon of one's own first: it sees what the user sees. */
    bool own = join(path, getenv("XDG_RUNTIME_DIR"), "/whirr.sock");
    if (n == 0 && own)
        return true;
    return n == (own ? 1 : 0) && join_system(path, SYSTEM_SOCKET);
}

int place_runtime(char path[PLACE_SIZE], struct error *err)
{
    if (join(path, getenv("RUNTIME_DIRECTORY"), "") && !strchr(path, ':') && make_folders(path, NULL) == 0)
        return 0;
    if (geteuid() == 0 && join_system(path, SYSTEM_RUNTIME) && make_public(path))
        return 0;
    if (geteuid() != 0 && join(path, getenv("XDG_RUNTIME_DIR"), "/whirr") && make_folders(path, NULL) == 0)
        return 0;
    return place_state(path, err); /* no session: a user from su or cron */
}

void place_store(const struct config *config, char url[PLACE_STORE_SIZE])
{
    char folder[PLACE_SIZE];
    struct error err = {0};
    url[0] = '\0';
    if (strcmp(config->store.url, "auto") != 0)
        snprintf(url, PLACE_STORE_SIZE, "%s", strcmp(config->store.url, "none") == 0 ? "" : config->store.url);
    else if (place_state(folder, &err) == 0)
        snprintf(url, PLACE_STORE_SIZE, "sqlite:%s/whirr.db", folder);
}
