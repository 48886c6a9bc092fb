/* SPDX-License-Identifier: Apache-2.0
 * SQLite behind the ops of db.h.
 */
#include "store/db/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/os/shared.h"
#include "store/db/db.h"

/* ---- the library, loaded on first use ---- */

struct sqlite_library sqlite;
static bool loaded;
static pthread_mutex_t sqlite_lock = PTHREAD_MUTEX_INITIALIZER;

enum { OLDEST = 3037000 };

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"sqlite3_" #name, &sqlite.name},
    SQLITE_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

#ifdef WHIRR_SQLITE_LINKED
/* The program links SQLite, libwhirr does not: there these are NULL. */
#define WEAK(name) extern __typeof__(sqlite3_##name) sqlite3_##name __attribute__((weak));
SQLITE_FUNCTIONS(WEAK)
#undef WEAK

static bool use_linked(void)
{
    if (!sqlite3_libversion_number)
        return false;
    sqlite = (struct sqlite_library){
#define OWN(name) .name = sqlite3_##name,
        SQLITE_FUNCTIONS(OWN)
#undef OWN
    };
    return true;
}
#else
static bool use_linked(void)
{
    return false;
}
#endif

static bool load_shared(struct error *why)
{
    void *library = library_load("libsqlite3.so.0", why);
    return library && library_symbols(library, symbols, ARRAY_LEN(symbols), why) == 0;
}

static int load_functions(struct error *err)
{
    struct error why = {0};
    if (!use_linked() && !load_shared(&why))
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later (Debian: libsqlite3-0): %s", why.text);
    if (sqlite.libversion_number() < OLDEST)
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later; this host has %s", sqlite.libversion());
    /* SQLite would take a lock to count each allocation, and nothing reads the count. No effect once SQLite is in use. */
    sqlite.config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* SQLite would allocate twenty pages at once per connection: more than most need, and it can't free them one by one. */
    sqlite.config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    loaded = true;
    return 0;
}

int sqlite_load(struct error *err)
{
    pthread_mutex_lock(&sqlite_lock);
    int rc = loaded ? 0 : load_functions(err);
    pthread_mutex_unlock(&sqlite_lock);
    return rc;
}

/* ---- the database ---- */

enum { BUSY_TIMEOUT_MS = 5000, JOURNAL_SIZE_LIMIT = 16 << 20, STEPS_BETWEEN_CHECKS = 2000, BACKUP_PAGES = 1024 };

struct sqlite_db {
    struct db db;
    sqlite3 *handle;
};

enum { TRACKED_MAX = 1024 };

struct sqlite_statement {
    struct db_statement statement;
    sqlite3_stmt *handle;
    uint64_t set[TRACKED_MAX / 64]; /* bound parameters: most of a summary is NULL, row after row */
};

static sqlite3 *handle_of(struct db *db)
{
    return ((struct sqlite_db *)db)->handle;
}

static sqlite3_stmt *stmt_of(struct db_statement *s)
{
    return ((struct sqlite_statement *)s)->handle;
}

static int to_errno(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK: return 0;
    case SQLITE_FULL: return -ENOSPC;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return -EUCLEAN;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return -EBUSY;
    case SQLITE_NOMEM: return -ENOMEM;
    case SQLITE_READONLY: return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH: return -EACCES;
    case SQLITE_CANTOPEN: return -ENOENT;
    default: return -EIO;
    }
}

/* SQLite calls this every few thousand of its steps, some tens of microseconds. */
static int is_cut_off(void *db)
{
    return db_cut_off(db, NULL) < 0;
}

static int fail(const struct db *db, int code, struct error *err)
{
    sqlite3 *handle = ((const struct sqlite_db *)db)->handle;
    int rc = (code & 0xff) == SQLITE_INTERRUPT ? db_cut_off(db, err) : 0;
    if (rc < 0)
        return rc;
    rc = to_errno(code);
    /* SQLite reports a full disk during a write as an I/O error; the system errno tells. */
    if (rc == -EIO && sqlite.system_errno(handle) == ENOSPC)
        rc = -ENOSPC;
    return error_set(err, rc, "%s", rc == -ENOSPC ? "the disk is full" : sqlite.errmsg(handle));
}

static int sqlite_exec(struct db *db, const char *sql, struct error *err)
{
    int code = sqlite.exec(handle_of(db), sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : fail(db, code, err);
}

/* Takes the write lock now, not midway. */
static int sqlite_begin(struct db *db, struct error *err)
{
    return sqlite_exec(db, "BEGIN IMMEDIATE", err);
}

static int sqlite_prepare(struct db *db, const char *sql, struct db_statement **ret, struct error *err)
{
    struct sqlite_statement *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    int code = sqlite.prepare_v3(handle_of(db), sql, -1, SQLITE_PREPARE_PERSISTENT, &s->handle, NULL);
    if (code != SQLITE_OK) {
        free(s);
        return fail(db, code, err);
    }
    s->statement.db = db;
    *ret = &s->statement;
    return 0;
}

static void sqlite_finish(struct db_statement *s)
{
    sqlite.finalize(stmt_of(s));
    free(s);
}

/* Records whether a parameter has a value now; returns whether it had one before. */
static bool note_bound(struct db_statement *s, int at, bool now)
{
    if (at >= TRACKED_MAX)
        return true;
    uint64_t *word = &((struct sqlite_statement *)s)->set[at / 64], bit = (uint64_t)1 << at % 64;
    bool before = *word & bit;
    *word = now ? *word | bit : *word & ~bit;
    return before;
}

static void sqlite_bind_null(struct db_statement *s, int at)
{
    if (note_bound(s, at, false))
        sqlite.bind_null(stmt_of(s), at);
}

static void sqlite_bind_i64(struct db_statement *s, int at, int64_t value)
{
    note_bound(s, at, true);
    sqlite.bind_int64(stmt_of(s), at, value);
}

static void sqlite_bind_text(struct db_statement *s, int at, struct str text)
{
    note_bound(s, at, true);
    sqlite.bind_text(stmt_of(s), at, text.at, (int)text.len, SQLITE_STATIC);
}

static void sqlite_recycle(struct db_statement *s)
{
    sqlite.reset(stmt_of(s));
    for (int at = 1; at < TRACKED_MAX; at++)
        sqlite_bind_null(s, at);
}

static int sqlite_step(struct db_statement *s, struct error *err)
{
    if (s->db->cancel && *s->db->cancel) { /* for statements too short for the progress handler */
        sqlite.reset(stmt_of(s));
        return db_cut_off(s->db, err);
    }
    int code = sqlite.step(stmt_of(s));
    if (code == SQLITE_ROW)
        return 1;
    /* reset releases the statement and repeats its error, if any. */
    int reset_code = sqlite.reset(stmt_of(s));
    return code == SQLITE_DONE ? 0 : fail(s->db, reset_code != SQLITE_OK ? reset_code : code, err);
}

static int sqlite_put(struct db_statement *s, struct error *err)
{
    int rc = sqlite_step(s, err);
    if (rc == 1)
        sqlite.reset(stmt_of(s));
    return rc < 0 ? rc : 0;
}

static void sqlite_reset(struct db_statement *s)
{
    sqlite.reset(stmt_of(s));
}

static bool sqlite_is_null(struct db_statement *s, int column)
{
    return sqlite.column_type(stmt_of(s), column) == SQLITE_NULL;
}

static int64_t sqlite_i64(struct db_statement *s, int column)
{
    return sqlite.column_int64(stmt_of(s), column);
}

static struct str sqlite_text(struct db_statement *s, int column)
{
    const char *at = (const char *)sqlite.column_text(stmt_of(s), column);
    return at ? (struct str){at, (size_t)sqlite.column_bytes(stmt_of(s), column)} : (struct str){"", 0};
}

static int64_t sqlite_changes(struct db *db)
{
    return sqlite.changes(handle_of(db));
}

static void sqlite_close(struct db *db)
{
    sqlite.close_v2(handle_of(db));
    free(db);
}

static const struct db_ops sqlite_ops = DB_OPS(DB_SQLITE, sqlite);

/* synchronous=FULL: in WAL mode, NORMAL loses the last commits on power loss. auto_vacuum must be set before the first table. */
static const char writer_pragmas[] = "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
                                     "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096;";

/* The history of users and commands is private: the file is readable by its owner only (and a group that owns it). SQLite
 * creates -wal and -shm with the mode of the file. Don't open an existing file here: closing it would drop the locks that
 * another connection of this process holds. Opening the database, the next step, reports errors. */
static void keep_private(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    struct stat st;
    if (stat(path, &st)) {
        AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(ends) && S_ISREG(st.st_mode) && (st.st_mode & 07); i++) { /* created by an earlier version */
        char name[4096];
        if (snprintf(name, sizeof name, "%s%s", path, ends[i]) < (int)sizeof name)
            shared_file_limit(name, st.st_mode & 0770);
    }
}

int db_open_sqlite(const char *path, bool read_only, struct db **ret, struct error *err)
{
    int rc = sqlite_load(err);
    if (rc < 0)
        return rc;
    struct sqlite_db *db = calloc(1, sizeof *db);
    if (!db)
        return error_set(err, -ENOMEM, "out of memory");
    db->db.ops = &sqlite_ops;
    db->db.keeps = read_only;
    if (!read_only)
        keep_private(path);
    int flags = SQLITE_OPEN_NOMUTEX | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int code = sqlite.open_v2(path, &db->handle, flags, NULL);
    if (code != SQLITE_OK) {
        rc = db->handle ? fail(&db->db, code, err) : error_set(err, -ENOMEM, "out of memory");
        int system = db->handle ? sqlite.system_errno(db->handle) : 0;
        if (rc == -ENOENT && system)
            rc = error_set(err, -system, "%s", strerror(system));
        sqlite_close(&db->db);
        return rc;
    }
    sqlite.extended_result_codes(db->handle, 1);
    sqlite.busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    if (read_only)
        sqlite.progress_handler(db->handle, STEPS_BETWEEN_CHECKS, is_cut_off, db);
    if (!read_only)
        rc = sqlite_exec(&db->db, writer_pragmas, err);
    if (rc == 0 && !read_only)
        rc = db_execf(&db->db, err, "PRAGMA journal_size_limit=%d", JOURNAL_SIZE_LIMIT);
    /* SQLite reads the header when the first statement needs it; find a damaged file now. */
    if (rc == 0)
        rc = sqlite_exec(&db->db, "SELECT count(*) FROM sqlite_master", err);
    if (rc < 0) {
        sqlite_close(&db->db);
        return rc;
    }
    *ret = &db->db;
    return 0;
}

static int copy_pages(struct db *from, sqlite3 *to, void (*progress)(void *user, int64_t permille), void *user, struct error *err)
{
    sqlite3_backup *b = sqlite.backup_init(to, "main", handle_of(from), "main");
    int code = b ? SQLITE_OK : SQLITE_NOMEM, rc = 0;
    while (code == SQLITE_OK && rc == 0) {
        code = sqlite.backup_step(b, BACKUP_PAGES);
        int64_t all = sqlite.backup_pagecount(b);
        progress(user, all ? 1000 * (all - sqlite.backup_remaining(b)) / all : 1000);
        rc = db_cut_off(from, err);
    }
    if (b)
        sqlite.backup_finish(b);
    if (rc < 0 || code == SQLITE_DONE)
        return rc;
    rc = to_errno(code);
    if (rc == -EIO && sqlite.system_errno(to) == ENOSPC)
        rc = -ENOSPC;
    return error_set(err, rc, "%s", rc == -ENOSPC ? "the disk is full" : sqlite.errmsg(to));
}

int db_backup_sqlite(struct db *from, const char *path, void (*progress)(void *user, int64_t permille), void *user,
                     struct error *err)
{
    sqlite3 *to = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
    close(fd);
    /* One transaction: otherwise each write of the daemon would begin the copy anew. */
    int rc = sqlite_exec(from, "BEGIN; SELECT count(*) FROM sqlite_master", err);
    if (rc < 0)
        return rc;
    if (sqlite.open_v2(path, &to, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        rc = error_set(err, -EIO, "cannot write '%s': %s", path, to ? sqlite.errmsg(to) : "out of memory");
    else
        rc = copy_pages(from, to, progress, user, err);
    sqlite.close_v2(to);
    sqlite_exec(from, "COMMIT", NULL);
    return rc;
}
