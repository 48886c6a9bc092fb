/* SPDX-License-Identifier: Apache-2.0
 * Leases as files: write, fsync, rename, and a lock for decisions.
 */
#include "lease/lease_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/keep.h"
#include "base/os/shared.h"
#include "base/os/words.h"
#include "config/places.h"
#include "host/identity.h"
#include "lease/control_request.h"
#include "lease/lease_state.h"

enum { NAME_SIZE = LEASE_ID_SIZE + 8, LOCK_TRY_MS = 5, LOCK_LOOK_MS = 50, LOCK_TURNS = 6, AWAIT_MS = 250, AWAIT_WATCHED_MS = 5000 };
#define SUFFIX ".json"

static void file_name(char name[NAME_SIZE], const char *id, bool fresh)
{
    snprintf(name, NAME_SIZE, fresh ? ".%s.new" : "%s" SUFFIX, id);
}

/* Others can neither add nor remove files there. */
static bool only_owner_writes(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* The journal itself if readable, else its public copy. */
static int open_beside(const char *configured)
{
    char path[PLACE_SIZE];
    int fd = place_settings(configured, false, path, NULL);
    if (fd == -EACCES)
        fd = place_settings_shown(configured, false, path, NULL);
    if (fd >= 0 && only_owner_writes(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Copies that whirr-control made for all users. */
static int open_copies(const char *configured, char path[PLACE_SIZE])
{
    int fd = place_service_shown(configured, false, path, NULL);
    if (fd < 0 || only_owner_writes(fd))
        return MAX_OF(fd, -1);
    close(fd);
    return -1;
}

/* Reads an open directory from its start; NULL with errno. */
static DIR *entries_of(int dir)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    int code = errno;
    if (!entries && again >= 0)
        close(again);
    errno = code;
    return entries;
}

static bool has_files(int dir)
{
    AUTO_DIR DIR *d = entries_of(dir);
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (str_ends(str_from(entry->d_name), SUFFIX))
            return true;
    return false;
}

/* The same, or an error if it has promised something and isn't there: a command that decided without it could promise a GPU twice.
 */
static int service_decides(int copies, const char *path, struct error *err)
{
    enum { PAUSE_MS = 50, WITHIN_MS = 10000 };
    struct mono begin = clock_mono(&clock_system);
    for (;;) {
        int rc = lease_service_ready(err);
        bool ended = rc == -EPIPE || (rc == 0 && copies >= 0 && has_files(copies));
        if (!ended)
            return rc;
        if (mono_since_ms(clock_mono(&clock_system), begin) >= WITHIN_MS)
            return error_set(err, -ENOTCONN,
                             "whirr-control has leases in '%s', and is not running\nHave " WORD_ADMINISTRATOR
                             " start it: systemctl start whirr-control.socket",
                             path);
        poll(NULL, 0, PAUSE_MS); /* while it is started again */
    }
}

static int open_own(struct lease_dir *d, const char *configured, bool make, struct error *err)
{
    char path[PLACE_SIZE];
    int copies = open_copies(configured, path), decides = make ? service_decides(copies, path, err) : 0;
    if (decides > 0 && copies < 0)
        copies = open_copies(configured, path);
    if (decides > 0 && copies < 0)
        decides =
            error_set(err, -ENOENT, "whirr-control keeps its leases elsewhere than '%s': is lease.dir the same for all?", path);
    if (decides < 0) {
        if (copies >= 0)
            close(copies);
        return decides;
    }
    int own = place_leases(configured, make && !decides, d->path, decides ? NULL : err);
    d->own = !decides;
    d->service = copies >= 0 && (decides || own == -ENOENT);
    d->fd = d->service ? copies : own;
    d->second = MAX_OF(d->service ? own : copies, -1);
    if (d->service)
        snprintf(d->path, sizeof d->path, "%s", path);
    return d->fd >= 0 ? 0 : own;
}

static int dir_open_as(struct lease_dir *d, const char *configured, bool make, struct error *err)
{
    *d = LEASE_DIR_CLOSED;
    d->simulated = open_beside(PLACE_OF_SIMULATED);
    d->beside = open_beside(configured);
    int rc = open_own(d, configured, make, err);
    if (rc == -ENOENT && !make && (d->simulated >= 0 || d->beside >= 0))
        return 0; /* only settings have been changed */
    if (rc < 0)
        lease_dir_close(d);
    return rc;
}

int lease_dir_open_journal(struct lease_dir *d, const char *configured, struct error *err)
{
    *d = LEASE_DIR_CLOSED;
    d->journal = true;
    d->fd = place_service_leases(configured, true, d->path, err);
    if (d->fd < 0)
        return d->fd;
    d->shown = place_service_shown(configured, true, d->shown_path, err);
    return d->shown < 0 ? d->shown : lease_dir_lock(d, MS_PER_S, err);
}

int lease_dir_open_settings(struct lease_dir *d, const char *configured, struct error *err)
{
    *d = LEASE_DIR_CLOSED;
    d->settings = true;
    int fd = place_settings(configured, true, d->path, err);
    if (fd < 0)
        return fd;
    d->fd = fd;
    if (strcmp(configured, PLACE_OF_SIMULATED) == 0)
        return 0;
    d->shown = MAX_OF(place_settings_shown(configured, true, d->shown_path, NULL), -1); /* without it only root sees them */
    return 0;
}

int lease_dir_open(struct lease_dir *d, const char *configured, struct error *err)
{
    return dir_open_as(d, configured, true, err);
}

struct wall lease_dir_changed_at(const struct lease_dir *d)
{
    enum { TICK_MS = 20 };
    const int all[] = {d->fd, d->second, d->beside, d->simulated};
    struct wall last = {0};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct stat info;
        if (all[i] >= 0 && fstat(all[i], &info) == 0)
            last.ms = MAX_OF(last.ms, (int64_t)info.st_mtim.tv_sec * MS_PER_S + info.st_mtim.tv_nsec / NS_PER_MS + TICK_MS);
    }
    return last;
}

int lease_dir_find(struct lease_dir *d, const char *configured, struct error *err)
{
    return dir_open_as(d, configured, false, err);
}

void lease_dir_close(struct lease_dir *d)
{
    const int fds[] = {d->fd, d->beside, d->simulated, d->shown, d->second, d->link};
    lease_dir_unlock(d);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *d = LEASE_DIR_CLOSED;
}

/* ---- the lock ---- */

/* Any user can lock the leases, only the owner can open the lock of settings. A lock that another user put in its place, or an
 * earlier version made, is replaced by anyone who may: chmod would act on whatever file the name refers to. */
static int open_lock(const struct lease_dir *d)
{
    const mode_t mode = d->settings || d->journal ? 0600 : 0666;
    struct stat info;
    /* Without O_CREAT first: for another user's file in a world-writable directory, the kernel refuses it (protected_regular). */
    int fd = shared_file_open(d->fd, "lock", O_RDWR, 0, &info);
    if (fd == -ENOENT || fd == -EMFILE || fd == -ENFILE || (fd >= 0 && (info.st_mode & 0777) == mode && info.st_nlink == 1))
        ;
    else if (unlinkat(d->fd, "lock", 0) == 0 || unlinkat(d->fd, "lock", AT_REMOVEDIR) == 0) {
        if (fd >= 0)
            close(fd);
        fd = -ENOENT;
    }
    if (fd != -ENOENT)
        return fd;
    fd = shared_file_open(d->fd, "lock", O_RDWR | O_CREAT | O_EXCL, mode, &info);
    if (fd >= 0)
        (void)!fchmod(fd, mode); /* regardless of the umask */
    return fd != -EEXIST ? fd : shared_file_open(d->fd, "lock", O_RDWR, 0, &info);
}

/* The owner may have removed the file while we waited: then others lock another one. */
static bool is_the_lock(const struct lease_dir *d, int fd)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && fstatat(d->fd, "lock", &there, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

static int say_locked(const struct lease_dir *d, int64_t pid, int64_t within_ms, struct error *err)
{
    if (pid > 0)
        return error_set(err, -EBUSY, "process %lld has locked the leases in '%s' for more than %lld s", (long long)pid, d->path,
                         (long long)(within_ms / MS_PER_S));
    return error_set(err, -EBUSY, "the leases in '%s' have been locked for more than %lld s", d->path,
                     (long long)(within_ms / MS_PER_S));
}

/* 0, or -EBUSY after `within_ms` with one holder, or a few times that with several: each may be the next decision, or one user
 * taking turns with himself. */
static int wait_for_lock(const struct lease_dir *d, int fd, int64_t within_ms, struct mono begin, struct error *err)
{
    struct mono since = begin, looked = {0};
    int64_t holder = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_set(err, -errno, "cannot lock '%s/lock': %s", d->path, strerror(errno));
        struct mono now = clock_mono(&clock_system);
        if (mono_since_ms(now, looked) >= LOCK_LOOK_MS) {
            int64_t before = holder;
            holder = file_locker(fd);
            looked = now;
            if (holder != before)
                since = now; /* progress: the lock changed hands */
        }
        if (mono_since_ms(now, since) >= within_ms || mono_since_ms(now, begin) >= LOCK_TURNS * within_ms)
            return say_locked(d, holder, within_ms, err);
        usleep(LOCK_TRY_MS * 1000);
    }
    return 0;
}

int lease_dir_lock(struct lease_dir *d, int64_t within_ms, struct error *err)
{
    struct mono begin = clock_mono(&clock_system);
    if (d->service || d->fd < 0)
        return 0; /* one process decides, and checks again before it writes; or there is nothing to decide */
    for (;;) {
        int opened = open_lock(d);
        if (opened < 0)
            return error_set(err, opened, "cannot open '%s/lock': %s", d->path,
                             opened == -EBADMSG ? "it is no plain file" : strerror(-opened));
        AUTO_CLOSE int fd = opened;
        int rc = wait_for_lock(d, fd, within_ms, begin, err);
        if (rc < 0)
            return rc;
        if (!is_the_lock(d, fd))
            continue;
        d->lock_fd = fd;
        fd = -1;
        return 0;
    }
}

void lease_dir_unlock(struct lease_dir *d)
{
    if (d->lock_fd >= 0) {
        flock(d->lock_fd, LOCK_UN); /* a program started meanwhile has it open, too */
        close(d->lock_fd);
    }
    d->lock_fd = -1;
}

/* ---- reading ---- */

void lease_list_done(struct lease_list *l)
{
    free(l->at);
    *l = (struct lease_list){0};
}

struct lease *lease_list_find(const struct lease_list *l, const char *id)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->at[i].id, id) == 0)
            return &l->at[i];
    return NULL;
}

static void passed_over(struct lease_list *list, const char *name, const char *why)
{
    if (list->problem_count < LEASE_PROBLEMS_MAX) {
        char *to = list->problems[list->problem_count], clean[64];
        str_copy_clean(clean, sizeof clean, str_from(name));
        snprintf(to, sizeof list->problems[0], "%s: %.110s", clean, why);
    }
    list->problem_count++;
}

static void end_lease(struct lease *l, const char *why)
{
    l->state = LEASE_ENDED;
    snprintf(l->ended_why, sizeof l->ended_why, "%s", why);
}

static void judge_life(struct lease *l, bool held, struct wall now)
{
    const struct lease_life life = {.held = held, .alive = !held && lease_process_alive(l), .now = now};
    const char *why = l->state == LEASE_ENDED || l->kind == LEASE_SETTING ? NULL : lease_over(l, &life);
    if (why)
        end_lease(l, why);
}

/* One of the directories. */
struct lease_place {
    int fd;
    bool settings, journal, copies;
    const char *path; /* for people */
    struct users *users;
};

/* Root restores settings, so another user must not be able to tell it what to write. */
static const char *wrong_owner(const struct lease *l, const struct lease_place *d, const struct stat *file)
{
    bool settings = d->settings;
    if (settings != (l->kind == LEASE_SETTING))
        return settings ? "it changes no setting" : "changed settings are not written down here";
    if (d->journal || d->copies)
        return shared_owner_trusted(file->st_uid) ? NULL : "whirr-control has not written it";
    if (l->uid != (int64_t)file->st_uid)
        return "it belongs to another user than it says";
    if (l->kind == LEASE_SETTING && file->st_uid != 0 && file->st_uid != geteuid())
        return "settings are changed by root alone";
    return NULL;
}

/* The file's owner wrote it: its user name and process are claims, and the kernel knows better. Without the process, it lives as
 * long as its file is held. Root may have started a program as another user; init is no one's program. */
static void drop_claims(struct lease_place d, struct lease *l, uid_t owner)
{
    if (l->kind == LEASE_SETTING)
        return; /* root recorded for whom */
    if (d.journal || d.copies)
        owner = (uid_t)l->uid;
    if (d.users)
        users_name(d.users, owner, l->user, sizeof l->user);
    if (l->pid == 1 || (owner != 0 && !lease_process_is_of(l->pid, owner)))
        l->pid = 0;
}

/* 0, -ENOENT if it vanished meanwhile, or why it doesn't count. */
static int read_lease(struct lease_place d, const char *name, struct wall now, struct lease *ret, struct error *err)
{
    struct stat file;
    int opened = shared_file_open(d.fd, name, O_RDONLY, 0, &file);
    if (opened < 0 || file.st_size > LEASE_BYTES_MAX) {
        if (opened >= 0)
            close(opened);
        opened = opened < 0 ? opened : -EBADMSG;
        return error_set(err, opened, "%s", opened == -EBADMSG ? "not the file of a lease" : strerror(-opened));
    }
    AUTO_CLOSE int fd = opened;
    AUTO_FREE char *text = malloc((size_t)file.st_size + 1);
    ssize_t len = text ? read(fd, text, (size_t)file.st_size) : -1;
    if (len < 0)
        return error_set(err, text ? -errno : -ENOMEM, "%s", text ? strerror(errno) : "out of memory");
    AUTO_JSON json_t *json = json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, NULL);
    int rc = json ? lease_from_json(json, ret, err) : error_set(err, -EBADMSG, "it is broken, or not whole");
    const char *wrong = rc == 0 ? wrong_owner(ret, &d, &file) : NULL;
    if (rc == 0 && strncmp(name, ret->id, strlen(ret->id)) != 0)
        wrong = "it has another lease's id";
    if (rc < 0 || wrong)
        return rc < 0 ? rc : error_set(err, -EPERM, "%s", wrong);
    ret->file = file.st_ino;
    drop_claims(d, ret, file.st_uid);
    /* whirr-control has looked before it made copies: no one else can. */
    judge_life(ret, d.copies || (d.journal ? file_is_held_at_all(fd) : file_is_held(fd)), now);
    return 0;
}

static int by_ticket(const void *a, const void *b)
{
    const struct lease *x = a, *y = b;
    return x->ticket != y->ticket ? (x->ticket < y->ticket ? -1 : 1) : strcmp(x->id, y->id);
}

static size_t count_of_user(const struct lease_list *list, int64_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->at[i].uid == uid && list->at[i].state != LEASE_ENDED;
    return count;
}

/* A user with more leases than commands create wrote files by hand, and can only displace his own. Too many from all users
 * together are never ignored silently: then nothing more is promised. */
static bool has_room(struct lease_list *list, const struct lease *l, const char *name)
{
    if (l->state == LEASE_ENDED)
        return list->count < 2 * LEASES_MAX;
    if (l->kind != LEASE_SETTING && list->count >= LEASES_OF_USER_MAX && count_of_user(list, l->uid) >= LEASES_OF_USER_MAX)
        passed_over(list, name, "its user has too many");
    else if (list->count - list->ended_count < LEASES_MAX)
        return true;
    else {
        passed_over(list, name, "there are too many");
        list->incomplete = true;
    }
    return false;
}

static int add_lease(struct lease_place d, const char *name, struct wall now, struct lease_list *list, struct error *err)
{
    struct error why = {0};
    if (!ROOM_FOR_ONE(list->at, list->count, list->capacity, 16))
        return error_set(err, -ENOMEM, "out of memory");
    struct lease *l = &list->at[list->count];
    int rc = read_lease(d, name, now, l, &why);
    if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
        return error_set(err, rc, "cannot read the leases in '%s': %s", d.path, why.text);
    if (rc < 0 && rc != -ENOENT)
        passed_over(list, name, why.text);
    if (rc < 0 || !has_room(list, l, name))
        return 0;
    list->next_ticket = MAX_OF(list->next_ticket, MIN_OF(l->ticket + 1, LEASE_TICKET_MAX));
    list->ended_count += l->state == LEASE_ENDED;
    list->count++;
    return 0;
}

int lease_list_admits(const struct lease_list *list, const struct lease *l, struct error *err)
{
    if (list->incomplete)
        return error_set(err, -ENOSPC, "there are more than %d leases, and no more are granted\nSee who has them: whirr lease",
                         LEASES_MAX);
    if (l->kind != LEASE_SETTING && !lease_list_find(list, l->id) && count_of_user(list, l->uid) >= LEASES_OF_USER_MAX)
        return error_set(err, -EDQUOT, "%s has %d leases, as many as a user can have\nTo end one: whirr lease end ID", l->user,
                         LEASES_OF_USER_MAX);
    return 0;
}

static int add_leases(struct lease_place d, struct wall now, struct lease_list *list, struct error *err)
{
    AUTO_DIR DIR *dir = entries_of(d.fd);
    if (!dir)
        return error_set(err, -errno, "cannot read the leases in '%s': %s", d.path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct str name = str_from(entry->d_name);
        if (entry->d_name[0] == '.' || str_is(name, "lock"))
            continue;
        char id[LEASE_ID_SIZE];
        str_copy(id, sizeof id, (struct str){name.at, name.len - MIN_OF(name.len, strlen(SUFFIX))});
        if (!str_ends(name, SUFFIX) || !lease_id_valid(id))
            passed_over(list, entry->d_name, "it is no lease");
        else if (add_lease(d, entry->d_name, now, list, err) < 0)
            return err ? err->code : -ENOMEM;
    }
    return 0;
}

int lease_dir_list(const struct lease_dir *d, struct wall now, struct lease_list *ret, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {.next_ticket = 1};
    struct env here;
    env_init_system(&here);
    struct users *users = users_new(&here);
    const struct lease_place places[] = {
        {d->fd, d->settings, d->journal, d->service, d->path, users},
        {d->second, false, false, !d->service, "the second place", users},
        {d->beside, true, false, false, "that of settings", users},
        {d->simulated, true, false, false, "that of simulated GPUs", users},
    };
    int rc = 0;
    size_t real = 0;
    for (size_t i = 0; i < ARRAY_LEN(places) && rc == 0; i++) {
        real = list.count;
        if (places[i].fd >= 0)
            rc = add_leases(places[i], now, &list, err);
    }
    for (size_t i = real; i < list.count; i++) {
        struct lease *l = &list.at[i];
        l->simulated = true;
        if (l->until.ms && l->until.ms <= now.ms) { /* the GPU itself has put it back */
            end_lease(l, "its time is over");
            list.ended_count++;
        }
    }
    users_free(users);
    if (rc < 0)
        return rc;
    if (list.count)
        qsort(list.at, list.count, sizeof list.at[0], by_ticket);
    *ret = list;
    list = (struct lease_list){0};
    return 0;
}

/* Removes the public copy. */
static void unshow(const struct lease_dir *d, const char *id)
{
    char name[NAME_SIZE];
    file_name(name, id, false);
    if (d->shown >= 0)
        unlinkat(d->shown, name, 0);
}

/* Writers hold this lock, so a partial file was left by a dead process. */
static void sweep_halves(const struct lease_dir *d)
{
    AUTO_DIR DIR *dir = entries_of(d->fd);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] == '.' && str_ends(str_from(entry->d_name), ".new"))
            unlinkat(d->fd, entry->d_name, 0);
}

void lease_dir_sweep(const struct lease_dir *d, const struct lease_list *list)
{
    char name[NAME_SIZE];
    if (d->service)
        return;
    for (size_t i = 0; i < list->count; i++) {
        file_name(name, list->at[i].id, false);
        if (list->at[i].state == LEASE_ENDED && list->at[i].kind != LEASE_SETTING) {
            unlinkat(d->fd, name, 0);
            unshow(d, list->at[i].id);
        }
    }
    sweep_halves(d);
}

/* ---- writing ---- */

int lease_dir_begin(struct lease_dir *d, const char *id, int *ret_fd, struct error *err)
{
    char name[NAME_SIZE];
    if (d->service)
        return lease_service_ask(d, REQUEST_BEGIN, id, NULL, ret_fd, err);
    file_name(name, id, true);
    unlinkat(d->fd, name, 0);
    AUTO_CLOSE int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Hold it before another user can open it; whirr-control passes it on instead. */
    bool own = d->settings || d->journal;
    if (fd < 0 || (errno = d->journal ? 0 : -file_hold(fd)) || fchmod(fd, own ? 0600 : 0644) < 0) {
        int code = -errno;
        if (fd >= 0)
            unlinkat(d->fd, name, 0);
        return error_set(err, code, "cannot write a lease in '%s': %s", d->path, strerror(-code));
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

int lease_dir_commit(struct lease_dir *d, struct lease *l, int fd, struct error *err)
{
    if (d->service)
        return lease_service_ask(d, REQUEST_COMMIT, "", l, NULL, err);
    char fresh[NAME_SIZE], name[NAME_SIZE];
    AUTO_BUF struct buf text = BUF(LEASE_BYTES_MAX);
    file_name(fresh, l->id, true);
    file_name(name, l->id, false);
    lease_json(JSON_LINE(&text), l);
    int rc = text.failed ? (text.no_memory ? -ENOMEM : -EFBIG) : keep_write_to(fd, buf_view(&text));
    if (rc == 0 && renameat(d->fd, fresh, d->fd, name) < 0)
        rc = -errno;
    if (rc == 0 && fsync(d->fd) < 0 && errno != EINVAL)
        rc = -errno;
    return rc == 0 ? 0 : error_set(err, rc, "cannot write a lease in '%s': %s", d->path, strerror(-rc));
}

void lease_dir_cancel(struct lease_dir *d, const char *id, int fd)
{
    char name[NAME_SIZE];
    file_name(name, id, true);
    if (!d->service)
        unlinkat(d->fd, name, 0);
    if (d->link >= 0)
        close(d->link); /* what has begun on it goes with it */
    d->link = -1;
    if (fd >= 0)
        close(fd);
}

/* The directory with the public copies. */
static struct lease_dir shown_of(const struct lease_dir *d)
{
    struct lease_dir shown = LEASE_DIR_CLOSED;
    shown.fd = d->shown;
    return shown;
}

int lease_dir_put(struct lease_dir *d, struct lease *l, struct error *err)
{
    int fd = -1;
    if (d->service)
        return lease_service_ask(d, REQUEST_COMMIT, "", l, NULL, err);
    int rc = lease_dir_begin(d, l->id, &fd, err);
    if (rc < 0)
        return rc;
    rc = lease_dir_commit(d, l, fd, err);
    if (rc < 0)
        lease_dir_cancel(d, l->id, fd);
    else
        close(fd);
    if (rc == 0)
        lease_dir_show(d, l);
    return rc;
}

void lease_dir_show(const struct lease_dir *d, struct lease *l)
{
    struct lease_dir shown = shown_of(d);
    if (d->shown >= 0)
        (void)lease_dir_put(&shown, l, NULL);
}

void lease_dir_show_all(const struct lease_dir *d, const struct lease_list *list)
{
    struct lease_dir shown = shown_of(d);
    AUTO_DIR DIR *dir = d->shown >= 0 ? opendir(d->shown_path) : NULL;
    struct stat there;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (fstatat(d->fd, entry->d_name, &there, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
            unlinkat(d->shown, entry->d_name, 0);
    for (size_t i = 0; i < list->count && d->shown >= 0; i++)
        (void)lease_dir_put(&shown, &list->at[i], NULL);
}

int lease_dir_remove(struct lease_dir *d, const char *id, struct error *err)
{
    char name[NAME_SIZE];
    int own = d->service ? d->second : d->fd, copies = d->service ? d->fd : d->second;
    file_name(name, id, false);
    unshow(d, id);
    if (own >= 0 && unlinkat(own, name, 0) == 0)
        return 0;
    errno = own >= 0 ? errno : ENOENT;
    if (errno == ENOENT && copies >= 0)
        return lease_service_ask(d, REQUEST_END, id, NULL, NULL, err);
    return error_set(err, -errno, "cannot end lease %s: %s", id, errno == ENOENT ? "there is no such lease" : strerror(errno));
}

/* ---- waiting ---- */

int lease_dir_await(const struct lease_dir *d, const struct lease *listed)
{
    char name[NAME_SIZE];
    struct stat file;
    file_name(name, listed->id, false);
    AUTO_CLOSE int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &file) < 0)
        return errno == ENOENT ? 0 : -errno;
    AUTO_CLOSE int watch = lease_file_watch(fd);
    if (file.st_ino == listed->file && !d->service &&
        !file_is_held(fd)) /* bound by process only, from an earlier version: nothing signals its end */
        return poll(NULL, 0, AWAIT_MS) < 0 ? -errno : 0;
    while (file.st_ino == listed->file && file.st_nlink && (d->service || file_is_held(fd))) {
        struct pollfd change = {.fd = watch, .events = POLLIN};
        char events[512];
        if (poll(&change, watch >= 0, watch >= 0 ? AWAIT_WATCHED_MS : AWAIT_MS) < 0)
            return -errno;
        if (change.revents)
            (void)!read(watch, events, sizeof events);
        if (change.revents && !d->service && file_is_held(fd))
            usleep(LOCK_TRY_MS * 1000); /* the kernel reports the close before it releases the lock */
        if (fstat(fd, &file) < 0)
            return -errno;
    }
    return 0;
}
