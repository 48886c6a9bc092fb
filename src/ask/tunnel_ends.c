/* SPDX-License-Identifier: Apache-2.0
 * Unix sockets in a directory that other users can't enter.
 */
#include "ask/tunnel.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "config/places.h"

/* Files to remove if a signal ends us; a process has at most one tunnel. */
static char left_behind[TUNNEL_ENDS_MAX + 1][108];

void tunnel_abandon(void)
{
    for (int i = 0; i < TUNNEL_ENDS_MAX; i++)
        if (left_behind[i][0])
            unlink(left_behind[i]);
    if (left_behind[TUNNEL_ENDS_MAX][0])
        rmdir(left_behind[TUNNEL_ENDS_MAX]);
}

static void on_signal(int number)
{
    tunnel_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

/* A command with its own signal handler keeps it, and calls tunnel_abandon(). */
static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static int make_folder(struct tunnel_ends *e, struct error *err)
{
    char runtime[PLACE_SIZE];
    bool fits = place_runtime(runtime, NULL) == 0 && strlen(runtime) < 80; /* a socket path is limited to 107 bytes */
    const char *base = fits ? runtime : "/tmp";
    snprintf(e->folder, sizeof e->folder, "%s/whirr-ssh-XXXXXX", base);
    if (mkdtemp(e->folder)) /* 0700: other users can't reach the socket in it */
        return 0;
    int rc = -errno;
    e->folder[0] = '\0';
    return error_set(err, rc, "cannot make a directory below %s: %s", base, strerror(-rc));
}

int tunnel_ends_make(struct tunnel_ends *e, struct error *err)
{
    int rc = make_folder(e, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < e->count; i++) {
        snprintf(e->place[i], sizeof e->place[i], "%s/%d", e->folder, i);
        str_copy(left_behind[i], sizeof left_behind[i], str_from(e->place[i]));
    }
    str_copy(left_behind[TUNNEL_ENDS_MAX], sizeof left_behind[TUNNEL_ENDS_MAX], str_from(e->folder));
    watch_signals();
    return 0;
}

/* The sockets appear after the login. */
bool tunnel_ends_there(const struct tunnel_ends *e, pid_t ssh)
{
    (void)ssh;
    return access(e->place[e->count - 1], F_OK) == 0;
}

void tunnel_ends_remove(struct tunnel_ends *e)
{
    if (!e->folder[0])
        return;
    for (int i = 0; i < e->count; i++)
        unlink(e->place[i]);
    rmdir(e->folder);
    memset(left_behind, 0, sizeof left_behind);
}
