/* SPDX-License-Identifier: Apache-2.0
 * Watches the lease directory with inotify.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lease/lease_dir.h"

#define SUFFIX ".json"

int lease_dir_watch(const struct lease_dir *d)
{
    AUTO_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0 || inotify_add_watch(fd, d->path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE) < 0)
        return -errno;
    int watch = fd;
    fd = -1;
    return watch;
}

int lease_file_watch(int file)
{
    char path[32];
    AUTO_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (fd < 0 || inotify_add_watch(fd, path, IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF) < 0)
        return -errno;
    int watch = fd;
    fd = -1;
    return watch;
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
