/* SPDX-License-Identifier: Apache-2.0
 * Evidence from files: the file system that a process waits for, and whether it is a server. Each costs more than a counter, so
 * they are read rarely and only when needed.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"
#include "host/linux/process_files.h"

enum {
    MOUNT_AGAIN_MS = 10 * 1000,
    SERVER_AGAIN_MS = 60 * 1000,
    FDS_MAX = 256,
    MOUNTS_MAX = 1 << 20,
    EXPENSIVE = 16, /* counts as this many files */
};

bool is_network_type(struct str type)
{
    static const char *const types[] = {"nfs",    "nfs4",         "cifs", "smb3", "smbfs",  "ceph",     "lustre", "gpfs",
                                        "beegfs", "beegfs_nodev", "afs",  "9p",   "wekafs", "orangefs", "pvfs2"};
    static const char *const fuse[] = {"fuse.sshfs",     "fuse.s3fs",      "fuse.gcsfuse",   "fuse.goofys",
                                       "fuse.glusterfs", "fuse.juicefs",   "fuse.ceph-fuse", "fuse.rclone",
                                       "fuse.mount-s3",  "fuse.blobfuse2", "fuse.dfuse"};
    return NAME_IN(types, type) || NAME_IN(fuse, type);
}

static bool take_expensive(struct evidence_reader *r)
{
    if (r->share_left < EXPENSIVE)
        return false;
    r->share_left -= EXPENSIVE;
    return true;
}

static bool read_whole(struct evidence_reader *r, int32_t pid, const char *file, struct buf *text)
{
    struct env quiet = unrecorded(r->env); /* keep a process's own view out of recordings */
    return proc_read_all(&quiet, pid, file, text) >= 0;
}

/* Finds an open file on a mounted network file system. */
static void find_mount(struct evidence_reader *r, struct evidence_memory *w)
{
    AUTO_BUF struct buf mounts = BUF(MOUNTS_MAX);
    char target[PATH_SIZE];
    w->files.is_network = false;
    w->files.mount[0] = '\0';
    if (!read_whole(r, w->watched.target.pid, "mountinfo", &mounts))
        return;
    AUTO_DIR DIR *dir = proc_dir(r->env, w->watched.target.pid, "fd");
    struct env quiet = unrecorded(r->env);
    const struct dirent *e;
    for (int i = 0; dir && i < FDS_MAX && (e = readdir(dir)) && !w->files.is_network; i++) {
        struct mount_place place;
        ssize_t n = e->d_name[0] == '.' ? 0 : proc_fd(&quiet, w->watched.target.pid, e->d_name, target, sizeof target);
        if (n <= 0 || target[0] != '/' || !mount_of_path(buf_view(&mounts), str_from(target), &place) ||
            !is_network_type(place.type))
            continue;
        w->files.is_network = true;
        str_copy_clean(w->files.mount, sizeof w->files.mount, place.point);
    }
}

/* Part of its parent's program: forked, spawned by Python's multiprocessing, or with its own title ("VLLM::EngineCore"). Any
 * other child was merely started by a parent with a port, such as a notebook or an agent. */
static bool is_part_of_parent(struct evidence_reader *r, int32_t pid, int32_t parent)
{
    enum { COMMAND_MAX = 64 << 10 };
    AUTO_BUF struct buf its = BUF(COMMAND_MAX), parents = BUF(COMMAND_MAX);
    if (!read_whole(r, pid, "cmdline", &its) || !read_whole(r, parent, "cmdline", &parents) || !its.len)
        return false;
    bool same = its.len == parents.len && memcmp(its.at, parents.at, its.len) == 0;
    return same || memmem(its.at, its.len, "multiprocessing", 15) || memmem(its.at, its.len, "::", 2);
}

/* A server's engine may be a child of the process with the port; but so may a rank whose launcher has one. */
static int64_t serves(struct evidence_reader *r, const struct evidence_memory *w)
{
    enum { INIT = 1, ITSELF = 1, ITS_PARENT = 2 };
    int32_t pid = w->watched.target.pid, parent = w->look_count ? (int32_t)w->looks[w->look_count - 1].stat.parent : 0;
    if (process_is_server(r->env, pid, r->now, &r->listeners))
        return ITSELF;
    bool part = parent > INIT && is_part_of_parent(r, pid, parent);
    return part && process_is_server(r->env, parent, r->now, &r->listeners) ? ITS_PARENT : 0;
}

static bool is_due(const struct evidence_reader *r, struct mono *at, int64_t again_ms)
{
    if (at->ns && mono_since_ms(r->now, *at) < again_ms)
        return false;
    *at = r->now;
    return true;
}

void files_look(struct evidence_reader *r, struct evidence_memory *w, bool busy, bool waits)
{
    if (waits && is_due(r, &w->files.mount_at, MOUNT_AGAIN_MS) && take_expensive(r))
        find_mount(r, w);
    if (!busy && is_due(r, &w->files.listens_at, SERVER_AGAIN_MS) && take_expensive(r))
        w->files.listens = reading_ok(serves(r, w));
}

void files_write(const struct file_memory *m, struct host_evidence *ret)
{
    ret->listens = m->listens;
    ret->swap_bytes = m->swap_bytes;
    ret->file_rss_bytes = m->rss_bytes;
    str_copy(ret->mount, sizeof ret->mount, str_from(m->mount));
    if (!m->is_network || ret->main_disk_permille.state != READING_OK)
        return;
    /* The kernel waits for pages of network files in the same function as for disks. */
    ret->main_network_fs_permille = reading_ok(reading_or(ret->main_network_fs_permille, 0) + ret->main_disk_permille.value);
    ret->main_disk_permille = reading_ok(0);
}
