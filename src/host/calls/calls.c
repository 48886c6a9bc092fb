/* SPDX-License-Identifier: Apache-2.0
 * Processes on a system with calls: who they are (CPU time in microseconds), their details, the tree of all, and who listens where.
 */
#include "host/calls/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/secret/mask.h"
#include "base/str.h"
#include "host/identity.h"
#include "host/listens.h"
#include "host/procfs.h"
#include "host/tree.h"
#include "host/who.h"

const struct system_calls *calls_of(const struct env *env)
{
    static const struct system_calls none = {.name = "a recorded machine"};
    return env_is_recorded(env) ? &none : &host_calls;
}

/* ---- Who they are ---- */

enum { CMDLINE_SIZE = 16384, ENVIRON_MAX = 128 * 1024, NS_PER_TICK = 1000 };

struct who_reader {
    const struct env *env;
    const struct system_calls *calls;
    bool show_secrets;
    struct calls_process seen; /* set by who_look() */
};

struct who_reader *who_reader_new(const struct env *env, bool show_secrets)
{
    struct who_reader *r = calloc(1, sizeof *r);
    if (r)
        *r = (struct who_reader){.env = env, .calls = calls_of(env), .show_secrets = show_secrets};
    return r;
}

void who_reader_free(struct who_reader *r)
{
    free(r);
}

int64_t who_ticks_per_s(const struct who_reader *r)
{
    (void)r;
    return NS_PER_S / NS_PER_TICK;
}

int who_look(struct who_reader *r, int32_t pid, struct who_now *ret)
{
    struct calls_process p = {.pid = pid};
    int rc = CALL(r->calls, process, pid, &p);
    if (rc < 0)
        return rc;
    r->seen = p;
    *ret = (struct who_now){.start_key = p.start_key,
                            .cpu_ticks = p.cpu_ns < 0 ? -1 : p.cpu_ns / NS_PER_TICK,
                            .parent = p.parent,
                            .resident = p.resident_bytes};
    str_copy_clean(ret->comm, sizeof ret->comm, str_from(p.name));
    return 0;
}

/* No PID namespaces here: driver and system agree on PIDs. */
void who_meet(struct who_reader *r, struct who *w, const struct who_now *now)
{
    (void)now;
    w->started_at = r->seen.started_at;
    w->ours = true;
    w->unsure = false;
}

/* Rewrites in place: paths with '/', the program without ".exe". */
static size_t plain_arguments(char *text, size_t len, struct str *args, size_t max)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\\')
            text[i] = '/';
    size_t count = arguments_of((struct str){text, len}, args, max);
    for (size_t i = 0; i < count; i++) {
        struct str *a = &args[i];
        if (a->len > 4 && str_is_any_case((struct str){a->at + a->len - 4, 4}, ".exe"))
            a->len -= 4;
    }
    return count;
}

size_t who_arguments(const struct env *env, int32_t pid, char *text, size_t size, struct str *args, size_t max)
{
    int len = process_command(env, pid, text, size);
    return len > 0 ? plain_arguments(text, (size_t)len, args, max) : 0;
}

static void learn_job(struct who_reader *r, struct who *w)
{
    AUTO_BUF struct buf environment = BUF(ENVIRON_MAX);
    struct process_job job;
    bool read = CALL(r->calls, environment, w->pid, &environment) >= 0;
    process_job((struct str){"", 0}, read ? buf_view(&environment) : (struct str){"", 0}, &job);
    who_take_job(w, &job);
}

void who_learn(struct who_reader *r, struct who *w)
{
    char text[CMDLINE_SIZE], directory[1024] = "";
    struct str args[ARGUMENTS_MAX];
    w->user[0] = w->command[0] = w->model[0] = w->title[0] = '\0';
    str_copy(w->name, sizeof w->name, str_from(w->comm));

    int len = CALL(r->calls, arguments, w->pid, text, sizeof text);
    size_t count = len > 0 ? arguments_of((struct str){text, (size_t)len}, args, ARGUMENTS_MAX) : 0;
    if (r->show_secrets)
        command_join(args, count, w->command, sizeof w->command);
    else
        mask_arguments(args, count, w->command, sizeof w->command);
    count = len > 0 ? plain_arguments(text, (size_t)len, args, ARGUMENTS_MAX) : 0;
    model_name(args, count, w->model, sizeof w->model);
    if (CALL(r->calls, directory, w->pid, directory, sizeof directory) < 0)
        directory[0] = '\0';
    command_title(args, count, str_from(directory), w->title, sizeof w->title);
    if (CALL(r->calls, user, w->pid, text, sizeof text) >= 0)
        str_copy_clean(w->user, sizeof w->user, str_from(text));
    who_learn_launcher(r->env, w);
    learn_job(r, w);
}

void who_learn_parent(struct who_reader *r, struct who *w, int64_t parent)
{
    struct calls_process p = {0};
    w->parent = parent > 0 && parent <= INT32_MAX ? (int32_t)parent : 0;
    w->parent_name[0] = '\0';
    if (w->parent && CALL(r->calls, process, w->parent, &p) >= 0)
        str_copy_clean(w->parent_name, sizeof w->parent_name, str_from(p.name));
}

struct reading who_memory(struct who_reader *r, const struct who *w, const struct who_now *now)
{
    (void)r, (void)w;
    return now->resident < 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok(now->resident);
}

int process_command(const struct env *env, int32_t pid, char *text, size_t size)
{
    return CALL(calls_of(env), arguments, pid, text, size);
}

int process_environment(const struct env *env, int32_t pid, struct buf *ret)
{
    return CALL(calls_of(env), environment, pid, ret);
}

size_t process_children(const struct env *env, int32_t pid, int32_t *list, size_t max)
{
    AUTO_FREE struct calls_process *all = calloc(TREE_MAX, sizeof *all);
    int known = all ? CALL(calls_of(env), processes, all, TREE_MAX) : -ENOMEM;
    size_t count = 0;
    for (int i = 0; i < known && count < max; i++)
        if (all[i].parent == pid && all[i].pid != pid)
            list[count++] = all[i].pid;
    return count;
}

int64_t process_start(const struct env *env, int32_t pid)
{
    struct calls_process p = {0};
    return CALL(calls_of(env), process, pid, &p) < 0 ? 0 : p.start_key;
}

int32_t process_parent(const struct env *env, int32_t pid)
{
    struct calls_process p = {0};
    return CALL(calls_of(env), process, pid, &p) < 0 ? 0 : p.parent;
}

/* ---- Details, and user names by number ---- */

enum { TEXT_SIZE = 64 << 10, DIRECTORY_SIZE = 1024, DETAILS_ENVIRON_MAX = 256 << 10 };

static const char *why_not(int rc)
{
    return rc == -EACCES || rc == -EPERM ? "only its user and an administrator can read it" : details_refusal(rc);
}

int process_details(const struct env *env, int32_t pid, int64_t start_key, bool show_secrets, struct buf *out)
{
    const struct system_calls *calls = calls_of(env);
    struct calls_process p = {0};
    int rc = CALL(calls, process, pid, &p);
    if (rc < 0 || (start_key && p.start_key != start_key))
        return rc < 0 && rc != -ENOENT ? rc : -ESRCH;
    AUTO_FREE char *text = malloc(TEXT_SIZE);
    AUTO_BUF struct buf environment = BUF(DETAILS_ENVIRON_MAX);
    char directory[DIRECTORY_SIZE];
    struct str args[ARGUMENTS_MAX];
    if (!text)
        return -ENOMEM;
    rc = CALL(calls, arguments, pid, text, TEXT_SIZE);
    if (rc > 0)
        details_add_command(out, args, arguments_of((struct str){text, (size_t)rc}, args, ARGUMENTS_MAX), show_secrets);
    else
        details_add(out, "Command", why_not(rc));
    if (CALL(calls, directory, pid, directory, sizeof directory) >= 0)
        details_add(out, "Directory", directory);
    rc = CALL(calls, environment, pid, &environment);
    if (rc >= 0 && environment.len)
        details_add_environment(out, buf_view(&environment), show_secrets);
    else
        details_add(out, "Environment", rc >= 0 ? "empty" : why_not(rc));
    return out->failed ? -ENOMEM : 0;
}

bool users_look_up(const struct env *env, int64_t uid, char name[USER_NAME_SIZE])
{
    return CALL(calls_of(env), user_name, uid, name, USER_NAME_SIZE) >= 0;
}

/* ---- All of them, once per look ---- */

void tree_look(struct process_tree *t, const struct env *env, struct tree_use *ret)
{
    *ret = (struct tree_use){0};
    AUTO_FREE struct calls_process *all = calloc(TREE_MAX, sizeof *all);
    AUTO_FREE struct tree_member *list = calloc(TREE_MAX, sizeof *list);
    struct mono now = clock_mono(env->clock);
    int count = all && list ? CALL(calls_of(env), processes, all, TREE_MAX) : -ENOMEM;
    if (count < 0)
        return;
    for (int i = 0; i < count; i++)
        list[i] = (struct tree_member){.pid = all[i].pid,
                                       .parent = all[i].parent,
                                       .start_ticks = all[i].start_key,
                                       .cpu_ticks = MAX_OF(all[i].cpu_ns, (int64_t)0) / NS_PER_TICK,
                                       .read_bytes = all[i].read_bytes,
                                       .write_bytes = all[i].written_bytes};
    tree_mark(list, (size_t)count, t->root);
    tree_take(t, TAKE(list), (size_t)count, now, NS_PER_S / NS_PER_TICK, ret);
}

/* ---- Who listens where, from the system's table of listeners. Its pid takes the place of Linux's inode, one number for all
 * sockets of a process. */

enum { LISTEN_AGAIN_MS = 5000 };

bool process_is_stopped(const struct env *env, int32_t pid)
{
    const struct system_calls *calls = calls_of(env);
    struct calls_process p = {0};
    AUTO_FREE struct calls_thread *list = calloc(CALLS_THREADS_MAX, sizeof *list);
    if (CALL(calls, process, pid, &p) < 0)
        return true; /* gone or not accessible */
    int count = list ? CALL(calls, threads, pid, list, CALLS_THREADS_MAX) : -ENOMEM;
    for (int i = 0; i < count; i++)
        if (list[i].wait != CALLS_WAIT_STOPPED)
            return false;
    return count > 0;
}

static int list_listeners(const struct env *env, struct calls_listener **ret)
{
    *ret = calloc(CALLS_LISTENERS_MAX, sizeof **ret);
    return *ret ? CALL(calls_of(env), listeners, *ret, CALLS_LISTENERS_MAX) : -ENOMEM;
}

/* Port 0: any. */
static const struct calls_listener *find_listener(const struct calls_listener *list, int count, int32_t pid, uint16_t port)
{
    for (int i = 0; i < count; i++)
        if (list[i].pid == pid && (!port || (list[i].port == port && list[i].address[0])))
            return &list[i];
    return NULL;
}

bool process_listens(const struct env *env, int32_t pid, uint16_t port, struct listening *ret)
{
    AUTO_FREE struct calls_listener *list = NULL;
    *ret = (struct listening){0};
    int count = list_listeners(env, &list);
    const struct calls_listener *found = port ? find_listener(list, count, pid, port) : NULL;
    if (!found || process_is_stopped(env, pid))
        return false;
    str_copy(ret->address, sizeof ret->address, str_from(found->address));
    ret->inode = (uint64_t)pid;
    ret->fd = port;
    return true;
}

bool process_still_listens(const struct env *env, int32_t pid, const struct listening *socket)
{
    struct listening now;
    return socket->inode == (uint64_t)pid && process_listens(env, pid, (uint16_t)socket->fd, &now) &&
           strcmp(now.address, socket->address) == 0;
}

bool process_is_server(const struct env *env, int32_t pid, struct mono now, struct listeners *known)
{
    if (!known->read_at.ns || mono_since_ms(now, known->read_at) >= LISTEN_AGAIN_MS) {
        AUTO_FREE struct calls_listener *list = NULL;
        int count = list_listeners(env, &list);
        *known = (struct listeners){.read_at = now};
        str_copy(known->network, sizeof known->network, str_from(count < 0 ? "" : "host"));
        for (int i = 0; i < count && known->count < LISTENERS_MAX; i++)
            known->inodes[known->count++] = (uint64_t)list[i].pid;
    }
    for (size_t i = 0; i < known->count; i++)
        if (known->inodes[i] == (uint64_t)pid)
            return true;
    return false;
}
