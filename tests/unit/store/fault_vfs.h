/* SPDX-License-Identifier: Apache-2.0
 * A disk with faults, as a VFS of SQLite: it can be full, and it can lose its power. What was written reaches the real file only
 * with the sync that follows; a process that ends without one leaves the file as a power cut would.
 */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "test.h"

struct fault_write {
    struct fault_write *next;
    sqlite3_int64 offset;
    int len;
    char bytes[];
};

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct fault_write *first, **last; /* not synced yet, oldest first */
};

static _Atomic bool fault_disk_full;  /* writes find no room */
static _Atomic int fault_refused;     /* so many of them */
static _Atomic bool fault_holds_back; /* writes wait for the sync */
static sqlite3_vfs fault_vfs;
static sqlite3_vfs *fault_real;

static inline struct fault_file *fault_of(sqlite3_file *f)
{
    return (struct fault_file *)f;
}

static inline int fault_apply(struct fault_file *f)
{
    int rc = SQLITE_OK;
    while (f->first) {
        struct fault_write *w = f->first;
        if (rc == SQLITE_OK)
            rc = f->real->pMethods->xWrite(f->real, w->bytes, w->len, w->offset);
        f->first = w->next;
        sqlite3_free(w);
    }
    f->last = &f->first;
    return rc;
}

static inline int fault_close(sqlite3_file *file)
{
    struct fault_file *f = fault_of(file);
    fault_apply(f);
    int rc = f->real->pMethods ? f->real->pMethods->xClose(f->real) : SQLITE_OK;
    sqlite3_free(f->real);
    return rc;
}

static inline int fault_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    struct fault_file *f = fault_of(file);
    if (fault_disk_full) {
        fault_refused++;
        return SQLITE_FULL;
    }
    if (!fault_holds_back)
        return f->real->pMethods->xWrite(f->real, bytes, len, offset);
    struct fault_write *w = sqlite3_malloc((int)sizeof *w + len);
    if (!w)
        return SQLITE_NOMEM;
    w->next = NULL;
    w->offset = offset;
    w->len = len;
    memcpy(w->bytes, bytes, (size_t)len);
    *f->last = w;
    f->last = &w->next;
    return SQLITE_OK;
}

static inline int fault_read(sqlite3_file *file, void *to, int len, sqlite3_int64 offset)
{
    struct fault_file *f = fault_of(file);
    int rc = f->real->pMethods->xRead(f->real, to, len, offset);
    for (struct fault_write *w = f->first; w; w = w->next) {
        sqlite3_int64 begin = w->offset > offset ? w->offset : offset;
        sqlite3_int64 end = w->offset + w->len < offset + len ? w->offset + w->len : offset + len;
        if (begin < end) {
            memcpy((char *)to + (begin - offset), w->bytes + (begin - w->offset), (size_t)(end - begin));
            if (rc == SQLITE_IOERR_SHORT_READ && end == offset + len)
                rc = SQLITE_OK;
        }
    }
    return rc;
}

static inline int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct fault_file *f = fault_of(file);
    int rc = f->real->pMethods->xFileSize(f->real, size);
    for (struct fault_write *w = f->first; w; w = w->next)
        if (w->offset + w->len > *size)
            *size = w->offset + w->len;
    return rc;
}

static inline int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct fault_file *f = fault_of(file);
    fault_apply(f);
    return f->real->pMethods->xTruncate(f->real, size);
}

static inline int fault_sync(sqlite3_file *file, int flags)
{
    struct fault_file *f = fault_of(file);
    int rc = fault_apply(f);
    return rc == SQLITE_OK ? f->real->pMethods->xSync(f->real, flags) : rc;
}

#define FAULT_REAL(file) (fault_of(file)->real)
static inline int fault_lock(sqlite3_file *f, int how)
{
    return FAULT_REAL(f)->pMethods->xLock(FAULT_REAL(f), how);
}
static inline int fault_unlock(sqlite3_file *f, int how)
{
    return FAULT_REAL(f)->pMethods->xUnlock(FAULT_REAL(f), how);
}
static inline int fault_reserved(sqlite3_file *f, int *out)
{
    return FAULT_REAL(f)->pMethods->xCheckReservedLock(FAULT_REAL(f), out);
}
static inline int fault_control(sqlite3_file *f, int op, void *arg)
{
    return FAULT_REAL(f)->pMethods->xFileControl(FAULT_REAL(f), op, arg);
}
static inline int fault_sector(sqlite3_file *f)
{
    return FAULT_REAL(f)->pMethods->xSectorSize(FAULT_REAL(f));
}
static inline int fault_device(sqlite3_file *f)
{
    return FAULT_REAL(f)->pMethods->xDeviceCharacteristics(FAULT_REAL(f));
}
static inline int fault_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return FAULT_REAL(f)->pMethods->xShmMap(FAULT_REAL(f), page, size, extend, out);
}
static inline int fault_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return FAULT_REAL(f)->pMethods->xShmLock(FAULT_REAL(f), offset, n, flags);
}
static inline void fault_shm_barrier(sqlite3_file *f)
{
    FAULT_REAL(f)->pMethods->xShmBarrier(FAULT_REAL(f));
}
static inline int fault_shm_unmap(sqlite3_file *f, int delete)
{
    return FAULT_REAL(f)->pMethods->xShmUnmap(FAULT_REAL(f), delete);
}

static const sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_reserved,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_device,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

static inline int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    (void)vfs;
    struct fault_file *f = fault_of(file);
    *f = (struct fault_file){.real = sqlite3_malloc(fault_real->szOsFile)};
    f->last = &f->first;
    if (!f->real)
        return SQLITE_NOMEM;
    memset(f->real, 0, (size_t)fault_real->szOsFile);
    int rc = fault_real->xOpen(fault_real, name, f->real, flags, out_flags);
    if (rc != SQLITE_OK) {
        sqlite3_free(f->real);
        return rc;
    }
    f->base.pMethods = &fault_methods;
    return SQLITE_OK;
}

/* From now on every connection of this program goes through it. */
static inline void fault_vfs_install(void)
{
    fault_real = sqlite3_vfs_find(NULL);
    fault_vfs = *fault_real;
    fault_vfs.zName = "whirr-fault";
    fault_vfs.szOsFile = (int)sizeof(struct fault_file);
    fault_vfs.xOpen = fault_open;
    fault_vfs.pNext = NULL;
    assert_int_equal(sqlite3_vfs_register(&fault_vfs, 1), SQLITE_OK);
}
