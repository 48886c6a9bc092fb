/* SPDX-License-Identifier: Apache-2.0
 * A backup: written beside its name, closed, looked through, and renamed.
 */
#include "store/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/copy.h"
#include "store/internal.h"

enum { PATH_SIZE = 4096 + 16 };

static void tell_pages(void *user, int64_t permille)
{
    const struct backup_options *o = user;
    o->progress(o->user, NULL, permille);
}

static void tell_rows(void *user, const struct copy_counts *counts)
{
    const struct backup_options *o = user;
    o->progress(o->user, counts->tables[counts->table].name, counts->permille);
}

static int copy_file(const struct backup_options *o, const char *part, struct error *err)
{
    struct db *db = NULL;
    int rc = db_open_sqlite(o->from + strlen("sqlite:"), true, &db, err);
    if (rc == 0) {
        db->cancel = o->cancel;
        rc = db_backup_sqlite(db, part, tell_pages, (void *)o, err);
    }
    db_close(db);
    return rc;
}

static int copy_server(const struct backup_options *o, const char *part, struct error *err)
{
    char url[PATH_SIZE + 8];
    struct copy_counts counts;
    snprintf(url, sizeof url, "sqlite:%s", part);
    return store_copy(&(struct copy_options){.env = o->env,
                                             .from = o->from,
                                             .to = url,
                                             .host = o->host,
                                             .cancel = o->cancel,
                                             .progress = tell_rows,
                                             .user = (void *)o},
                      &counts, err);
}

/* One file, without a log beside it. */
static int close_log(const char *part, struct error *err)
{
    struct db *db = NULL;
    int rc = db_open_sqlite(part, false, &db, err);
    if (rc == 0)
        rc = db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE", err);
    db_close(db);
    return rc;
}

static int look_through(const struct backup_options *o, const char *part, struct error *err)
{
    char url[PATH_SIZE + 8], found[256];
    snprintf(url, sizeof url, "sqlite:%s", part);
    o->progress(o->user, "looking through it", -1);
    int rc = store_find_damage(url, o->cancel, INT64_C(3600000), found, sizeof found, err);
    return rc == 0 && found[0] ? error_set(err, -EUCLEAN, "the history is damaged: %s", found) : rc;
}

static void remove_part(const char *part)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_SIZE + 8];
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(name, sizeof name, "%s%s", part, ends[i]);
        unlink(name);
    }
}

/* The name and the bytes survive a loss of power. */
static int sync_folder(const char *path, struct error *err)
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)MAX_OF(slash - path, (ptrdiff_t)1) : 1, slash ? path : ".");
    AUTO_CLOSE int fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) < 0 && errno != EINVAL)
        return error_set(err, -errno, "cannot write to '%s': %s", folder, strerror(errno));
    return 0;
}

int store_backup(const struct backup_options *o, int64_t *ret_bytes, struct error *err)
{
    char part[PATH_SIZE];
    struct stat info;
    int64_t version;
    snprintf(part, sizeof part, "%s.part", o->path);
    int rc = store_peek_version(o->env, o->from, &version, err);
    if (rc == 0 && version == 0)
        rc = error_set(err, -ENOENT, "nothing is stored there");
    if (rc < 0)
        return rc;
    remove_part(part);
    bool pages = strncmp(o->from, "sqlite:", 7) == 0 && !o->host;
    rc = pages ? copy_file(o, part, err) : copy_server(o, part, err);
    if (rc == 0)
        rc = close_log(part, err);
    if (rc == 0)
        rc = look_through(o, part, err);
    if (rc == 0 && rename(part, o->path) < 0)
        rc = error_set(err, -errno, "cannot rename '%s' to '%s': %s", part, o->path, strerror(errno));
    if (rc < 0) {
        remove_part(part);
        return rc;
    }
    *ret_bytes = stat(o->path, &info) == 0 ? (int64_t)info.st_size : 0;
    return sync_folder(o->path, err);
}
