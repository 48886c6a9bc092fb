/* SPDX-License-Identifier: Apache-2.0
 * The local place of systems that have Unix sockets.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/net.h"
#include "base/str.h"
#include "http/listener.h"

static bool socket_answers(const char *path)
{
    AUTO_NET_CLOSE int fd = net_local_connect(path);
    return fd >= 0 || fd == -EAGAIN;
}

int listener_open_unix(const char *path, unsigned mode, struct listener *ret, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, -ENAMETOOLONG, "the socket path '%s' is longer than %zu bytes", path, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    AUTO_NET_CLOSE int fd = net_socket(AF_UNIX, SOCK_STREAM);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a Unix socket: %s", strerror(errno));
    struct stat st;
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return error_set(err, -EEXIST, "'%s' exists and is not a socket; it is left alone", path);
        if (socket_answers(path))
            return error_set(err, -EADDRINUSE, "another daemon answers on '%s'", path);
        unlink(path);
    }
    mode_t before = umask(0777 & ~mode);
    int bound = net_bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    umask(before);
    if (bound || net_listen(fd, LISTENER_BACKLOG))
        return error_set(err, -(bound ? error : errno), "cannot listen on '%s': %s", path, strerror(bound ? error : errno));
    *ret = (struct listener){.fd = fd, .is_unix = true, .is_loopback = true};
    fd = -1;
    str_copy(ret->name, sizeof ret->name, str_from(path));
    return 0;
}

void listener_remove_local(struct listener *l)
{
    unlink(l->name);
}
