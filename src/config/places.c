/* SPDX-License-Identifier: Apache-2.0
 * Paths from the environment.
 */
#include "config/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/os/place.h"
#include "base/os/shared.h"
#include "base/os/words.h"
#include "config/config.h"

#define SYSTEM_SOCKET PLACE_SYSTEM_RUNTIME "/whirr.sock"

static bool places_join(char path[PLACE_SIZE], const char *folder, const char *name)
{
    if (!folder || !path_is_whole(folder) || snprintf(path, PLACE_SIZE, "%s%s", folder, name) >= PLACE_SIZE)
        return false;
    path_normalise(path);
    return true;
}

/* A system path, below WHIRR_SYSTEM_ROOT if set. */
static bool join_system(char path[PLACE_SIZE], const char *name)
{
    const char *root = env_variable(CONFIG_SYSTEM_ROOT);
    return places_join(path, root && root[0] ? root : name, root && root[0] ? name : "");
}

/* A directory of root that all users may read: files in it have their own modes. */
static bool make_public(const char *path)
{
    struct stat info;
    int there = shared_dir_open_given(path, NULL);
    AUTO_CLOSE int fd = there == -ENOENT ? shared_dir_open(path, 0755, NULL) : there;
    return fd >= 0 && fstat(fd, &info) == 0 && ((info.st_mode & 0777) == 0755 || info.st_uid != geteuid() || fchmod(fd, 0755) == 0);
}

int place_state_find(char path[PLACE_SIZE], struct error *err)
{
    bool found = places_join(path, env_variable("STATE_DIRECTORY"), "");
    if (found && strchr(path, ':')) /* systemd may list several, separated by colons; the first is ours */
        *strchr(path, ':') = '\0';
    if (!found)
        found = places_join(path, env_variable("XDG_STATE_HOME"), "/whirr");
    if (!found && geteuid() == 0)
        found = join_system(path, PLACE_SYSTEM_STATE);
    if (!found)
        found = places_join(path, env_variable("HOME"), "/.local/state/whirr");
    if (!found)
        return error_set(err, -ENOENT, "no state directory: neither XDG_STATE_HOME nor HOME is set");
    return 0;
}

int place_state(char path[PLACE_SIZE], struct error *err)
{
    int rc = place_state_find(path, err);
    return rc < 0 ? rc : shared_dir_make(path, 0700, err);
}

static int in_state(char path[PLACE_SIZE], const char *name, struct error *err)
{
    int result = place_state(path, err);
    size_t len = strlen(path);
    if (!result && len + strlen(name) < PLACE_SIZE)
        memcpy(path + len, name, strlen(name) + 1);
    return result;
}

int place_checks(bool system, char path[PLACE_SIZE], struct error *err)
{
    if (system)
        return join_system(path, PLACE_SYSTEM_CHECKS) ? 0
                                                      : error_set(err, -ENAMETOOLONG, "the path of the system's state is too long");
    int rc = place_state_find(path, err);
    if (rc == 0)
        str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from("/checks"));
    return rc;
}

int place_tokens(char path[PLACE_SIZE], struct error *err)
{
    return in_state(path, "/tokens", err);
}

int place_lock(char path[PLACE_SIZE], struct error *err)
{
    return in_state(path, "/daemon.lock", err);
}

/* Whether the system-wide places apply. Root's login has a session, but its daemon is still the system's. */
static bool is_system(void)
{
    const char *session = env_variable("XDG_RUNTIME_DIR");
    return geteuid() == 0 && (!session || !path_is_whole(session) || strncmp(session, "/run/user/", 10) == 0);
}

bool place_system_state(char path[PLACE_SIZE])
{
    return join_system(path, PLACE_SYSTEM_STATE);
}

bool place_system_socket(char path[PLACE_SIZE])
{
    return join_system(path, SYSTEM_SOCKET);
}

/* The socket of this user, or of the service that we are part of. */
static bool own_socket(char path[PLACE_SIZE])
{
    if (places_join(path, env_variable("RUNTIME_DIRECTORY"), "")) {
        path[strcspn(path, ":")] = '\0'; /* systemd may list several, separated by colons; the first is ours */
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
    /* The user's own daemon first: it sees what the user sees. */
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

/* Hides passwords. */
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

static bool memory_file(char path[PLACE_SIZE + 16])
{
    char folder[PLACE_SIZE];
    if (place_state(folder, NULL) < 0)
        return false;
    snprintf(path, PLACE_SIZE + 16, "%s/history-place", folder);
    return true;
}

static void read_memory_line(FILE *f, char *text, int size)
{
    if (!fgets(text, size, f))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

void history_recall(struct history_memory *ret)
{
    char path[PLACE_SIZE + 16];
    *ret = (struct history_memory){0};
    FILE *f = memory_file(path) ? fopen(path, "re") : NULL;
    if (!f)
        return;
    read_memory_line(f, ret->now, sizeof ret->now);
    read_memory_line(f, ret->before, sizeof ret->before);
    read_memory_line(f, ret->host, sizeof ret->host);
    read_memory_line(f, ret->was, sizeof ret->was);
    read_memory_line(f, ret->machine, sizeof ret->machine);
    fclose(f);
    /* A file moved or deleted on purpose needs no mention. */
    if (ret->before[0] == '/' && access(ret->before, F_OK) < 0 && errno == ENOENT)
        ret->before[0] = '\0';
}

bool history_note(const char *place, const char *host, const char *machine, struct history_memory *ret)
{
    char path[PLACE_SIZE + 16];
    history_recall(ret);
    bool moved = strcmp(ret->now, place) != 0;
    if (!moved && !ret->was[0] && strcmp(ret->host, host) == 0 && strcmp(ret->machine, machine) == 0)
        return false;
    /* The name before is kept for two starts: at the first, the server may not have answered. */
    bool renamed = strcmp(ret->machine, machine) == 0 && strcmp(ret->host, host) != 0;
    str_copy(ret->was, sizeof ret->was, str_from(renamed ? ret->host : ""));
    str_copy(ret->host, sizeof ret->host, str_from(host));
    str_copy(ret->machine, sizeof ret->machine, str_from(machine));
    if (moved && ret->now[0])
        str_copy(ret->before, sizeof ret->before, str_from(ret->now));
    if (strcmp(ret->before, place) == 0 || (ret->before[0] == '/' && access(ret->before, F_OK) < 0 && errno == ENOENT))
        ret->before[0] = '\0';
    str_copy(ret->now, sizeof ret->now, str_from(place));
    FILE *f = memory_file(path) ? fopen(path, "we") : NULL;
    if (f) {
        fprintf(f, "%s\n%s\n%s\n%s\n%s\n", ret->now, ret->before, ret->host, ret->was, ret->machine);
        fclose(f);
    }
    return moved && ret->before[0];
}

int place_runtime(char path[PLACE_SIZE], struct error *err)
{
    if (places_join(path, env_variable("RUNTIME_DIRECTORY"), "") && !strchr(path, ':') && shared_dir_make(path, 0700, NULL) == 0)
        return 0;
    if (is_system() && join_system(path, PLACE_SYSTEM_RUNTIME) && make_public(path))
        return 0;
    if (!is_system() && places_join(path, env_variable("XDG_RUNTIME_DIR"), "/whirr") && shared_dir_make(path, 0700, NULL) == 0)
        return 0;
    return place_state(path, err); /* no session: a user from su or cron */
}

int place_simulated(bool make, char path[PLACE_SIZE], struct error *err)
{
    bool found = places_join(path, env_variable("RUNTIME_DIRECTORY"), "") && !strchr(path, ':');
    if (found)
        str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from("/simulated"));
    else
        found = is_system() ? join_system(path, PLACE_SYSTEM_RUNTIME "/simulated")
                            : places_join(path, env_variable("XDG_RUNTIME_DIR"), "/whirr/simulated");
    if (!found) {
        int rc = place_state_find(path, err);
        if (rc < 0)
            return rc;
        str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from("/simulated"));
    }
    return make ? shared_dir_make(path, 0700, err) : 0;
}

int place_leases(const char *configured, bool make, char path[PLACE_SIZE], struct error *err)
{
    struct error why = {0};
    struct stat info;
    if (strcmp(configured, "auto") != 0) {
        snprintf(path, PLACE_SIZE, "%s", configured);
        path_normalise(path);
    } else {
        int rc = place_runtime(path, err);
        if (rc < 0)
            return rc;
        str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from("/leases"));
    }
    AUTO_CLOSE int fd = shared_dir_open(path, make ? 0700 : 0, &why);
    if (fd == -ENOENT && !make)
        return error_set(err, fd, "there is no directory of leases");
    if (fd == -EACCES || (make && fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0))
        return error_set(
            err, -EPERM,
            "cannot use the directory of leases: '%s' belongs to another user\nFor leases of all users, have " WORD_ADMINISTRATOR
            " start the service whirr-control",
            path);
    if (fd < 0)
        return error_set(err, fd, "cannot use the directory of leases: %s", why.text);
    /* Earlier versions let all users write it. */
    if (make && fstat(fd, &info) == 0 && (info.st_mode & 077))
        (void)!fchmod(fd, info.st_mode & 0700);
    int opened = fd;
    fd = -1;
    return opened;
}

/* Beside a configured lease directory, or the system's. */
static int settings_path(const char *configured, const char *end, const char *system, char path[PLACE_SIZE], struct error *err)
{
    size_t len = strlen(configured);
    while (len > 1 && configured[len - 1] == '/')
        len--;
    if (strcmp(configured, PLACE_OF_SIMULATED) == 0) {
        int rc = place_simulated(false, path, err);
        if (rc < 0)
            return rc;
        str_copy(path + strlen(path), PLACE_SIZE - strlen(path), str_from(end));
    } else if (strcmp(configured, "auto") != 0)
        snprintf(path, PLACE_SIZE, "%.*s%s", (int)MIN_OF(len, (size_t)PLACE_SIZE - 32), configured, end);
    else if (!join_system(path, system))
        return error_set(err, -ENAMETOOLONG, "the place of changed settings is too long");
    path_normalise(path);
    return 0;
}

/* Opens a directory of this user (root) alone. */
static int open_private(const char *path, bool make, const char *what, struct error *err)
{
    struct stat info;
    AUTO_CLOSE int fd = shared_dir_open(path, make ? 0700 : 0, err);
    if (fd < 0)
        return err ? error_prefix(err, "%s", what) : fd;
    /* An earlier version let all users read it, and lock what they could read. */
    bool closed = fstat(fd, &info) == 0 && (!(info.st_mode & 0077) || (make && fchmod(fd, 0700) == 0));
    if (make && !closed)
        return error_set(err, -errno, "cannot close '%s' to other users: %s", path, strerror(errno));
    int opened = fd;
    fd = -1;
    return opened;
}

int place_settings(const char *configured, bool make, char path[PLACE_SIZE], struct error *err)
{
    int rc = settings_path(configured, "-settings", PLACE_SYSTEM_SETTINGS, path, err);
    return rc < 0 ? rc : open_private(path, make, "cannot use the journal of changed settings", err);
}

int place_settings_shown(const char *configured, bool make, char path[PLACE_SIZE], struct error *err)
{
    int rc = settings_path(configured, "-settings-shown", PLACE_SHOWN_SETTINGS, path, err);
    return rc < 0 ? rc : shared_dir_open(path, make ? 0755 : 0, err);
}

int place_service_leases(const char *configured, bool make, char path[PLACE_SIZE], struct error *err)
{
    int rc = settings_path(configured, "-service", PLACE_SERVICE_LEASES, path, err);
    return rc < 0 ? rc : open_private(path, make, "cannot use the journal of leases", err);
}

int place_service_shown(const char *configured, bool make, char path[PLACE_SIZE], struct error *err)
{
    int rc = settings_path(configured, "-service-shown", PLACE_SERVICE_SHOWN, path, err);
    return rc < 0 ? rc : shared_dir_open(path, make ? 0755 : 0, err);
}

int place_earlier_leases(const char *configured, char path[PLACE_SIZE])
{
    if (strcmp(configured, "auto") != 0)
        return -ENOENT; /* a directory of one's own goes on as it is */
    int fd = join_system(path, PLACE_SYSTEM_LEASES) ? shared_dir_open_given(path, NULL) : -ENAMETOOLONG;
    if (fd == -ENOENT && join_system(path, PLACE_LOCKED_LEASES))
        fd = shared_dir_open(path, 0, NULL);
    return fd;
}

void place_typed(char *path, size_t size, const char *typed)
{
    const char *home = typed[0] == '~' && typed[1] == '/' ? env_variable("HOME") : NULL;
    snprintf(path, size, "%s%s", home ? home : "", home ? typed + 1 : typed);
    path_normalise(path);
}
