/* SPDX-License-Identifier: Apache-2.0
 * Local sockets on systems with Unix sockets.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/net.h"
#include "base/os/shared.h"
#include "base/str.h"
#include "http/listener.h"

static bool socket_answers(const char *path)
{
    AUTO_NET_CLOSE int fd = net_local_connect(path);
    return fd >= 0 || fd == -EAGAIN;
}

int listener_open_unix(const char *path, unsigned mode, struct listener *ret, struct error *err)
{
    const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
    if (strlen(path) > most)
        return error_set(err, -ENAMETOOLONG, "the socket path '%s' is longer than %zu bytes", path, most);
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
    int rc = shared_socket_bind(fd, path, mode);
    if (rc == 0 && net_listen(fd, LISTENER_BACKLOG))
        rc = -errno;
    if (rc < 0)
        return error_set(err, rc, "cannot listen on '%s': %s", path, strerror(-rc));
    *ret = (struct listener){.fd = fd, .is_unix = true, .is_loopback = true};
    fd = -1;
    str_copy(ret->name, sizeof ret->name, str_from(path));
    return 0;
}

void listener_remove_local(struct listener *l)
{
    unlink(l->name);
}
