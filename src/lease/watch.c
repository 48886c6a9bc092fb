/* SPDX-License-Identifier: Apache-2.0
 * Watches the lease directory with inotify, and takes descriptors that whirr-control passes on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lease/control_request.h"
#include "lease/lease_dir.h"

#define SUFFIX ".json"

static int watch_path(const char *path, uint32_t events)
{
    AUTO_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0 || inotify_add_watch(fd, path, events) < 0)
        return -errno;
    int watch = fd;
    fd = -1;
    return watch;
}

int lease_dir_watch(const struct lease_dir *d)
{
    return watch_path(d->path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE);
}

int lease_journal_watch(const struct lease_dir *d)
{
    return watch_path(d->path, IN_CLOSE_NOWRITE);
}

int lease_file_watch(int file)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return watch_path(path, IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF);
}

bool lease_dir_changed(int watch)
{
    _Alignas(struct inotify_event) char events[4096];
    bool changed = false;
    for (ssize_t len; (len = read(watch, events, sizeof events)) > 0;)
        for (ssize_t at = 0; at < len;) {
            const struct inotify_event *event = (const struct inotify_event *)(events + at);
            changed |= (event->mask & IN_Q_OVERFLOW) || (event->len && str_ends(str_from(event->name), SUFFIX));
            at += (ssize_t)(sizeof *event + event->len);
        }
    return changed;
}

ssize_t helper_receive(int fd, char *byte, int *passed)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.space = {0}};
    struct iovec part = {byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *with = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (with && with->cmsg_level == SOL_SOCKET && with->cmsg_type == SCM_RIGHTS && with->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(passed, CMSG_DATA(with), sizeof *passed);
    return got;
}
