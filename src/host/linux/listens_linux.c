/* SPDX-License-Identifier: Apache-2.0
 * Matches the sockets of a process (/proc/PID/fd) with the listening ones of its network (/proc/PID/net/tcp, tcp6).
 */
#include "host/listens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "host/linux/process_files.h"
#include "host/procfs.h"

enum { INODES_MAX = 512, FDS_MAX = 8192, TABLE_MAX = 512 << 10, LISTENING = 0x0a, STAT_SIZE = 2048 };

static bool read_stat(const struct env *env, int32_t pid, char text[STAT_SIZE], struct proc_stat *ret)
{
    return proc_stat_parse(proc_text(env, pid, "stat", text, STAT_SIZE), ret);
}

int32_t process_parent(const struct env *env, int32_t pid)
{
    char text[STAT_SIZE];
    struct proc_stat stat;
    return read_stat(env, pid, text, &stat) ? (int32_t)stat.parent : 0;
}

bool process_is_stopped(const struct env *env, int32_t pid)
{
    char text[STAT_SIZE];
    struct proc_stat stat;
    return !read_stat(env, pid, text, &stat) || stat.state == 'T' || stat.state == 't';
}

static bool network_of(const struct env *env, int32_t pid, char network[64])
{
    return proc_link(env, pid, "ns/net", network, 64) > 0;
}

static bool same_network(const struct env *env, int32_t pid)
{
    char its[64], ours[64];
    return network_of(env, pid, its) && file_read_link(env, "/proc/self/ns/net", ours, sizeof ours) > 0 && strcmp(its, ours) == 0;
}

/* The socket behind a descriptor of a process. */
static bool socket_of(const struct env *env, int32_t pid, const char *fd, uint64_t *inode)
{
    char target[64];
    ssize_t n = proc_fd(env, pid, fd, target, sizeof target);
    struct str link = {target, n > 0 ? (size_t)n : 0};
    return str_starts(link, "socket:[") && str_ends(link, "]") && str_to_u64((struct str){link.at + 8, link.len - 9}, inode);
}

/* fds may be NULL. */
static size_t list_sockets(const struct env *env, int32_t pid, uint64_t *inodes, int *fds)
{
    size_t count = 0;
    int64_t fd;
    AUTO_DIR DIR *dir = proc_dir(env, pid, "fd");
    for (int i = 0; dir && i < FDS_MAX && count < INODES_MAX; i++) {
        const struct dirent *e = readdir(dir);
        if (!e)
            break;
        if (!str_to_i64(str_from(e->d_name), &fd) || !socket_of(env, pid, e->d_name, &inodes[count]))
            continue;
        if (fds)
            fds[count] = (int)fd;
        count++;
    }
    return count;
}

/* "0100007F:1F90": loopback or any address, as a little-endian kernel writes it, and the address that reaches it. */
static bool read_local(struct str word, uint16_t *port, char reached[LISTEN_ADDRESS_SIZE])
{
    struct str address;
    int64_t number;
    unsigned bytes[4];
    if (!str_cut(&word, ':', &address) || !str_to_cursor(word, &number) || number <= 0 || number > 65535)
        return false;
    *port = (uint16_t)number;
    bool any = address.len > 0;
    for (size_t i = 0; i < address.len; i++)
        any &= address.at[i] == '0';
    bool six = address.len == 32, mapped = six && str_starts(address, "0000000000000000FFFF0000");
    if (any || str_is(address, "00000000000000000000000001000000")) {
        snprintf(reached, LISTEN_ADDRESS_SIZE, six ? "[::1]" : "127.0.0.1");
        return true;
    }
    char last[9];
    str_copy(last, sizeof last, mapped ? (struct str){address.at + 24, 8} : address);
    if ((six && !mapped) || sscanf(last, "%2x%2x%2x%2x", &bytes[3], &bytes[2], &bytes[1], &bytes[0]) != 4 || bytes[0] != 127)
        return false;
    snprintf(reached, LISTEN_ADDRESS_SIZE, "127.%u.%u.%u", bytes[1] & 255, bytes[2] & 255, bytes[3] & 255);
    return true;
}

/* "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 ..." */
static bool listens_read_line(struct str line, struct str *local, uint64_t *inode)
{
    struct str word[10];
    int64_t state;
    for (size_t i = 0; i < ARRAY_LEN(word); i++)
        if (!str_word(&line, &word[i]))
            return false;
    *local = word[1];
    return str_to_cursor(word[3], &state) && state == LISTENING && str_to_u64(word[9], inode);
}

static bool is_among(const uint64_t *inodes, size_t count, uint64_t inode, size_t *at)
{
    for (*at = 0; *at < count; (*at)++)
        if (inodes[*at] == inode)
            return true;
    return false;
}

/* The socket table of its network, or -errno. */
static ssize_t read_table(const struct env *env, int32_t pid, const char *table, char *text)
{
    char file[32];
    snprintf(file, sizeof file, "net/%s", table);
    return proc_read(env, pid, file, text, TABLE_MAX); /* listening sockets come first: truncation only loses connections */
}

static bool is_listed(const struct env *env, int32_t pid, const char *table, const uint64_t *inodes, size_t count, uint16_t wanted,
                      struct listening *ret, size_t *at)
{
    AUTO_FREE char *text = malloc(TABLE_MAX);
    ssize_t len = text ? read_table(env, pid, table, text) : -ENOMEM;
    struct str rest = {text, len > 0 ? (size_t)len : 0}, line, local;
    while (str_cut(&rest, '\n', &line)) {
        uint16_t port;
        uint64_t inode;
        if (!listens_read_line(line, &local, &inode) || !is_among(inodes, count, inode, at))
            continue;
        if (read_local(local, &port, ret->address) && port == wanted) {
            ret->inode = inode;
            return true;
        }
    }
    return false;
}

static void add_listeners(const struct env *env, int32_t pid, const char *table, struct listeners *ret)
{
    AUTO_FREE char *text = malloc(TABLE_MAX);
    ssize_t len = text ? read_table(env, pid, table, text) : -ENOMEM;
    struct str rest = {text, len > 0 ? (size_t)len : 0}, line, local;
    while (ret->count < LISTENERS_MAX && str_cut(&rest, '\n', &line))
        ret->count += listens_read_line(line, &local, &ret->inodes[ret->count]);
}

bool process_is_server(const struct env *env, int32_t pid, struct mono now, struct listeners *known)
{
    enum { AGAIN_MS = 5000 };
    uint64_t inodes[INODES_MAX];
    char network[64] = "";
    size_t sockets = list_sockets(env, pid, inodes, NULL), at;
    if (!sockets)
        return false;
    if (!network_of(env, pid, network) || strcmp(network, known->network) != 0 || mono_since_ms(now, known->read_at) >= AGAIN_MS) {
        str_copy(known->network, sizeof known->network, str_from(network));
        known->read_at = now;
        known->count = 0;
        add_listeners(env, pid, "tcp", known);
        add_listeners(env, pid, "tcp6", known);
    }
    for (size_t i = 0; i < sockets; i++)
        if (is_among(known->inodes, known->count, inodes[i], &at))
            return true;
    return false;
}

bool process_listens(const struct env *env, int32_t pid, uint16_t port, struct listening *ret)
{
    uint64_t inodes[INODES_MAX];
    int fds[INODES_MAX];
    size_t sockets = same_network(env, pid) && !process_is_stopped(env, pid) ? list_sockets(env, pid, inodes, fds) : 0, at;
    *ret = (struct listening){0};
    if (!sockets || (!is_listed(env, pid, "tcp", inodes, sockets, port, ret, &at) &&
                     !is_listed(env, pid, "tcp6", inodes, sockets, port, ret, &at)))
        return false;
    ret->fd = fds[at];
    return true;
}

bool process_still_listens(const struct env *env, int32_t pid, const struct listening *socket)
{
    char fd[16];
    uint64_t inode;
    snprintf(fd, sizeof fd, "%d", socket->fd);
    return socket_of(env, pid, fd, &inode) && inode == socket->inode && !process_is_stopped(env, pid);
}
