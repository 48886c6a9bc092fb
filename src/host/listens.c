/* SPDX-License-Identifier: Apache-2.0
 * The sockets of a process (/proc/PID/fd) against those that listen in its network (/proc/PID/net/tcp, tcp6).
 */
#include "host/listens.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "host/procfs.h"

enum { INODES_MAX = 512, FDS_MAX = 8192, TABLE_MAX = 4 << 20, LISTENING = 0x0a };

int32_t process_parent(const struct env *env, int32_t pid)
{
    char path[64], text[2048];
    struct proc_stat stat;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    ssize_t n = file_read_head(env, path, text, sizeof text);
    return n > 0 && proc_stat_parse((struct str){text, (size_t)n}, &stat) ? (int32_t)stat.parent : 0;
}

static bool same_network(const struct env *env, int32_t pid)
{
    char path[64], its[64], ours[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
    return file_read_link(env, path, its, sizeof its) > 0 && file_read_link(env, "/proc/self/ns/net", ours, sizeof ours) > 0 &&
           strcmp(its, ours) == 0;
}

static size_t list_sockets(const struct env *env, int32_t pid, uint64_t *inodes)
{
    char path[64], target[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    AUTO_DIR DIR *dir = dir_open(env, path);
    for (int i = 0; dir && i < FDS_MAX && count < INODES_MAX; i++) {
        const struct dirent *e = readdir(dir);
        if (!e)
            break;
        snprintf(path, sizeof path, "/proc/%d/fd/%.16s", pid, e->d_name);
        ssize_t n = e->d_name[0] == '.' ? 0 : file_read_link(env, path, target, sizeof target);
        struct str link = {target, n > 0 ? (size_t)n : 0};
        if (str_starts(link, "socket:[") && str_ends(link, "]") &&
            str_to_u64((struct str){link.at + 8, link.len - 9}, &inodes[count]))
            count++;
    }
    return count;
}

/* "0100007F:1F90": loopback or any address, as the kernel writes them on a little-endian machine. */
static bool read_local(struct str word, uint16_t *port)
{
    struct str address;
    int64_t number;
    if (!str_cut(&word, ':', &address) || !str_to_cursor(word, &number) || number <= 0 || number > 65535)
        return false;
    *port = (uint16_t)number;
    bool any = address.len > 0;
    for (size_t i = 0; i < address.len; i++)
        any &= address.at[i] == '0';
    bool four = address.len == 8 && str_ends(address, "7F");
    bool six = str_is(address, "00000000000000000000000001000000") ||
               (address.len == 32 && str_starts(address, "0000000000000000FFFF0000") && str_ends(address, "7F"));
    return any || four || six;
}

/* "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 ..." */
static bool read_line(struct str line, uint16_t *port, uint64_t *inode)
{
    struct str word[10];
    int64_t state;
    for (size_t i = 0; i < ARRAY_LEN(word); i++)
        if (!str_word(&line, &word[i]))
            return false;
    return str_to_cursor(word[3], &state) && state == LISTENING && str_to_u64(word[9], inode) && read_local(word[1], port);
}

static size_t match(const struct env *env, int32_t pid, const char *table, const uint64_t *inodes, size_t inode_count,
                    uint16_t *ports, size_t count, size_t max)
{
    char path[64];
    AUTO_BUF struct buf text = BUF(TABLE_MAX);
    snprintf(path, sizeof path, "/proc/%d/net/%s", pid, table);
    if (file_read_all(env, path, &text) < 0)
        return count;
    struct str rest = buf_view(&text), line;
    while (count < max && str_cut(&rest, '\n', &line)) {
        uint16_t port;
        uint64_t inode;
        if (!read_line(line, &port, &inode))
            continue;
        bool own = false, known = false;
        for (size_t i = 0; i < inode_count; i++)
            own |= inodes[i] == inode;
        for (size_t i = 0; i < count; i++)
            known |= ports[i] == port;
        if (own && !known)
            ports[count++] = port;
    }
    return count;
}

size_t process_listens(const struct env *env, int32_t pid, uint16_t *ports, size_t max)
{
    uint64_t inodes[INODES_MAX];
    if (!same_network(env, pid))
        return 0;
    size_t sockets = list_sockets(env, pid, inodes);
    size_t count = sockets ? match(env, pid, "tcp", inodes, sockets, ports, 0, max) : 0;
    return sockets ? match(env, pid, "tcp6", inodes, sockets, ports, count, max) : 0;
}
