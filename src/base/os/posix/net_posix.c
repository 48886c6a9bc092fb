/* SPDX-License-Identifier: Apache-2.0
 * Local sockets are Unix sockets.
 */
#include "base/os/net.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>

int net_local_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = net_socket(AF_UNIX, SOCK_STREAM);
    if (fd < 0)
        return -errno;
    /* EAGAIN means that the queue is full: fail, because falling back is faster than waiting. */
    if (net_connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = errno;
    net_close(fd);
    return -error;
}
