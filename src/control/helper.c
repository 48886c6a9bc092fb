/* SPDX-License-Identifier: Apache-2.0
 * whirr-control: the one process that may change GPU settings for others, and that decides who gets GPUs (lease/lease_broker.h). It
 * listens on a Unix socket, identifies the peer before reading a byte, checks every value against the GPU's range, and restores
 * everything when it ends. It opens no network connection, runs no program, and writes only to the kernel's device files and the
 * journals.
 *
 *   main thread       accepts, decides about GPUs; calls no driver
 *   settings thread   gets the connections that ask about settings; a driver may hang there
 */
#include "control/control.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/os/net.h"
#include "base/str.h"
#include "config/config.h"
#include "config/places.h"
#include "daemon/sandbox.h"
#include "lease/control_request.h"
#include "lease/lease_broker.h"
#include "lease/lease_dir.h"

enum {
    CLIENTS_MAX = 32,
    CLIENTS_OF_ROOT = 4,
    CLIENTS_OF_USER = 8,
    GROUPS_MAX = 1024,
    IDLE_MS = 30000,
    SILENT_MS = 5000,
    STUCK_MS = 5000,
    STOP_MS = 20000,
    SHORTAGE_MS = 100
};

struct asker {
    int fd;
    uid_t uid;
    char user[PROCESS_USER_SIZE];
    char holds[LEASE_ID_SIZE]; /* "": none */
    bool trusted;              /* may end leases of others */
    struct lease_broker_begun begun;
    struct mono heard_at;
    size_t len;
    char in[REQUEST_MAX];
};

/* Connections that one thread reads. */
struct desk {
    size_t count;
    struct asker *clients[CLIENTS_MAX];
};

struct helper {
    const struct env *env;
    const struct config *config;
    uid_t daemon; /* the user of the system's daemon; 0: none */
    int listener;
    struct desk desk;
    struct lease_broker broker;
    struct mailbox *handed, *over; /* connections for the settings thread; its end */
    atomic_size_t in_use;          /* there: connections and leases */
    _Atomic int64_t busy_since;    /* by the monotonic clock; 0: it waits for requests */
    struct settings_holder holder; /* from here on of the settings thread alone */
    struct error cannot;           /* why no settings can be changed; "": they can */
    struct desk settings_desk;
};

/* ---- permissions ---- */

static bool in_group(int fd, const char *name)
{
    const struct group *wanted = name[0] ? getgrnam(name) : NULL;
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof groups;
    struct ucred who;
    socklen_t len = sizeof who;
    if (!wanted)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.gid == wanted->gr_gid)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    for (size_t i = 0; i < size / sizeof groups[0]; i++)
        if (groups[i] == wanted->gr_gid)
            return true;
    return false;
}

/* Whether this peer may change settings; NULL: yes, else why not. */
static const char *refuse_settings(const struct helper *h, const struct asker *c)
{
    if (h->cannot.text[0])
        return h->cannot.text;
    if (c->uid == 0 || c->uid == geteuid())
        return NULL;
    if (!h->config->control.allow)
        return "changing settings is off; root can allow it: [control] allow = true in /etc/whirr/whirr.toml";
    return in_group(c->fd, h->config->control.group) ? NULL
                                                     : "only root and members of the group of control.group may change settings";
}

/* ---- answers ---- */

/* With a descriptor, if `passed` is one. */
static void send_line(const struct asker *c, const struct buf *line, int passed)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {line->at, line->len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        memcpy(CMSG_DATA(&control.head), &passed, sizeof passed);
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
    }
    if (!line->failed)
        (void)!sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer(const struct asker *c, int rc, const struct lease *l, const char *words, int passed, const struct error *err)
{
    AUTO_BUF struct buf line = BUF(2 * LEASE_BYTES_MAX);
    struct json_writer j = JSON_WRITER(&line);
    jw_object(&j);
    jw_key_bool(&j, "ok", rc >= 0);
    if (rc < 0) {
        jw_key_text(&j, "error", err->text);
        jw_key_text(&j, "code", request_code(rc));
    }
    if (rc >= 0 && words)
        jw_key_text(&j, "words", words);
    if (rc >= 0 && l) {
        jw_key(&j, "lease");
        lease_json(&j, l);
    }
    jw_end(&j);
    buf_char(&line, '\n');
    send_line(c, &line, passed);
}

static void tell_ended(void *user, const struct lease *l, const char *why)
{
    struct helper *h = user;
    log_info("a lease of settings has ended", LOG_TEXT("id", l->id), LOG_TEXT("user", l->user), LOG_TEXT("why", why));
    for (size_t i = 0; i < h->settings_desk.count; i++) {
        struct asker *c = h->settings_desk.clients[i];
        if (strcmp(c->holds, l->id) != 0)
            continue;
        AUTO_BUF struct buf line = BUF(1024);
        struct json_writer j = JSON_WRITER(&line);
        jw_object(&j);
        jw_key_text(&j, "ended", why);
        jw_end(&j);
        buf_char(&line, '\n');
        send_line(c, &line, -1);
        c->holds[0] = '\0';
    }
}

/* ---- requests ---- */

static int do_set(struct helper *h, struct asker *c, const struct request *r, struct lease *l, struct error *err)
{
    struct wall now = clock_wall(&clock_system);
    if (r->hold && c->holds[0])
        return error_set(err, -EBUSY, "this connection holds lease %s; end it first, or open another connection", c->holds);
    lease_init(l, LEASE_SETTING, getpid(), now);
    str_copy(l->user, sizeof l->user, str_from(c->user));
    str_copy(l->command, sizeof l->command, str_from(r->command));
    l->until = r->until;
    for (size_t i = 0; i < r->count; i++) {
        const struct request_setting *s = &r->settings[i];
        int rc = lease_set_plan(l, control_find(&h->holder.set, s->gpu), s->gpu_index, s->kind, s->value, err);
        if (rc < 0)
            return rc;
    }
    int rc = holder_begin(&h->holder, l, true, err);
    if (rc == 0 && r->hold)
        memcpy(c->holds, l->id, sizeof c->holds);
    return rc;
}

static int do_stock(struct helper *h, const struct request *r, struct error *err)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct request_setting *s = &r->settings[i];
        const struct control_gpu *gpu = control_find(&h->holder.set, s->gpu);
        if (gpu && s->kind == CONTROL_FAN)
            (void)control_write(gpu, s->kind, (struct control_value){.stock = true}, NULL); /* before taking any lock */
        int rc = holder_lock(&h->holder, err);
        if (rc == 0)
            rc = lease_set_stock(&h->holder.dir, &h->holder.set, gpu, s->kind, err);
        holder_unlock(&h->holder);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Users may end their own, root all. */
static int may_end(struct helper *h, const struct asker *c, const char *id, struct error *err)
{
    const struct lease *l = holder_find(&h->holder, id);
    if (!l)
        return error_set(err, -ENOENT, "there is no lease %s of settings", id);
    return c->uid == 0 || c->uid == geteuid() || strcmp(l->user, c->user) == 0
               ? 0
               : error_set(err, -EPERM, "lease %s belongs to %s", id, l->user);
}

static int do_settings(struct helper *h, struct asker *c, const struct request *r, struct lease *l, char words[SETTINGS_WORDS],
                       struct error *err)
{
    const char *why = refuse_settings(h, c);
    if (why)
        return error_set(err, -EPERM, "%s", why);
    if (r->op == REQUEST_SET)
        return do_set(h, c, r, l, err);
    if (r->op == REQUEST_STOCK)
        return do_stock(h, r, err);
    int rc = may_end(h, c, r->id, err);
    if (rc < 0)
        return rc;
    return r->op == REQUEST_END ? holder_end(&h->holder, r->id, words, err) : holder_prolong(&h->holder, r->id, r->until, err);
}

/* *passed: a descriptor to be sent along. */
static int do_gpus(struct helper *h, struct asker *c, struct request *r, int *passed, struct error *err)
{
    const struct lease_broker_peer peer = {.uid = c->uid, .user = c->user, .trusted = c->trusted};
    switch (r->op) {
    case REQUEST_BEGIN: return lease_broker_begin(&h->broker, &peer, r->id, &c->begun, passed, err);
    case REQUEST_COMMIT: return lease_broker_commit(&h->broker, &peer, &r->lease, &c->begun, err);
    case REQUEST_END: return lease_broker_end(&h->broker, &peer, r->id, err);
    default: return 0;
    }
}

/* The settings thread has been in one call for long: a driver hangs. */
static bool is_stuck(const struct helper *h)
{
    int64_t since = atomic_load(&h->busy_since);
    return since && mono_since_ms(clock_mono(&clock_system), (struct mono){since}) >= STUCK_MS;
}

/* To the settings thread, with what it has sent. */
static int hand_over(struct helper *h, struct asker *c, struct error *err)
{
    if (c->begun.fd >= 0)
        return error_set(err, -EINVAL, "this connection has begun a lease of GPUs");
    if (is_stuck(h) || atomic_load(&h->in_use) >= CLIENTS_MAX + HOLDER_LEASES_MAX)
        return error_set(err, -EBUSY, "settings of GPUs can't be changed now: a driver does not answer, or too many ask at once");
    atomic_fetch_add(&h->in_use, 1);
    mailbox_put(h->handed, c);
    return 0;
}

/* False: the settings thread has it now. */
static bool handle(struct helper *h, struct asker *c, struct str line, bool of_settings)
{
    struct error err = {0};
    char words[SETTINGS_WORDS] = "";
    int passed = -1;
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    AUTO_FREE struct lease *l = calloc(1, sizeof *l);
    int rc = r && l ? request_read(line, r, &err) : error_set(&err, -ENOMEM, "out of memory");
    if (rc == 0 && r->until.ms && r->until.ms <= clock_wall(&clock_system).ms)
        rc = error_set(&err, -EINVAL, "its end is in the past");
    bool gpus =
        rc == 0 && (r->op >= REQUEST_READY || (!of_settings && r->op == REQUEST_END && lease_list_find(&h->broker.list, r->id)));
    if (rc == 0 && gpus && of_settings && r->op != REQUEST_READY)
        rc = error_set(&err, -EINVAL, "this connection is about settings");
    else if (rc == 0 && gpus)
        rc = do_gpus(h, c, r, &passed, &err);
    else if (rc == 0 && of_settings)
        rc = do_settings(h, c, r, l, words, &err);
    else if (rc == 0 && (rc = hand_over(h, c, &err)) == 0)
        return false;
    const struct lease *shown = rc < 0 ? NULL : r->op == REQUEST_SET ? l : r->op == REQUEST_COMMIT ? &r->lease : NULL;
    if (rc < 0 || !gpus)
        log_info(rc < 0 ? "a request was refused" : "a request was done", LOG_TEXT("user", c->user), LOG_TEXT("why", err.text));
    answer(c, rc, shown, words, passed, &err);
    if (passed >= 0)
        close(passed);
    return true;
}

/* ---- clients ---- */

static void drop_client(struct helper *h, struct desk *d, size_t at)
{
    struct asker *c = d->clients[at];
    struct lease *l = c->holds[0] ? holder_find(&h->holder, c->holds) : NULL;
    if (l && holder_end(&h->holder, c->holds, NULL, NULL) < 0)
        l->until.ms = 1; /* ended: holder_look retries until it succeeds */
    lease_broker_cancel(&h->broker, &c->begun);
    close(c->fd);
    free(c);
    d->clients[at] = d->clients[--d->count];
}

static void name_user(struct asker *c)
{
    const struct passwd *who = getpwuid(c->uid);
    if (who)
        str_copy_clean(c->user, sizeof c->user, str_from(who->pw_name));
    else
        snprintf(c->user, sizeof c->user, "%u", (unsigned)c->uid);
}

/* No user can lock out all others; root always gets a place. */
static bool has_place(const struct desk *d, uid_t uid)
{
    size_t own = 0;
    for (size_t i = 0; i < d->count; i++)
        own += d->clients[i]->uid == uid;
    return uid == 0 ? d->count < CLIENTS_MAX : d->count < CLIENTS_MAX - CLIENTS_OF_ROOT && own < CLIENTS_OF_USER;
}

/* Silent connections without a lease make room for others. */
static bool make_place(struct helper *h, struct desk *d, uid_t uid, struct error *err)
{
    struct mono now = clock_mono(&clock_system);
    for (size_t i = has_place(d, uid) ? 0 : d->count; i-- > 0;)
        if (!d->clients[i]->holds[0] && mono_since_ms(now, d->clients[i]->heard_at) >= SILENT_MS)
            drop_client(h, d, i);
    if (has_place(d, uid))
        return true;
    error_set(err, -EBUSY, "whirr-control has too many connections; close some of yours, or try again");
    return false;
}

static void accept_client(struct helper *h)
{
    AUTO_CLOSE int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct asker *c = fd >= 0 ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        poll(NULL, 0, SHORTAGE_MS); /* out of descriptors or memory: the waiting client keeps the socket ready */
        return;
    }
    *c = (struct asker){.fd = fd, .begun = {.fd = -1}, .heard_at = clock_mono(&clock_system)};
    struct error err = {0};
    int rc = 0;
    if (!net_peer_user(fd, &c->uid))
        rc = error_set(&err, -EPERM, "whirr-control can't tell who is asking");
    else if (!make_place(h, &h->desk, c->uid, &err))
        rc = err.code;
    if (rc < 0) {
        answer(c, rc, NULL, NULL, -1, &err);
        free(c);
        return;
    }
    c->trusted = c->uid == 0 || c->uid == geteuid() || (h->daemon && c->uid == h->daemon);
    name_user(c);
    h->desk.clients[h->desk.count++] = c;
    fd = -1;
}

/* Answers what it has asked. False: it is handed over. */
static bool answer_lines(struct helper *h, struct desk *d, struct asker *c)
{
    for (char *end; (end = memchr(c->in, '\n', c->len));) {
        size_t line = (size_t)(end - c->in);
        if (!handle(h, c, (struct str){c->in, line}, d == &h->settings_desk))
            return false;
        c->len -= line + 1;
        memmove(c->in, end + 1, c->len);
    }
    return true;
}

/* Removes it where it is disconnected, sends nonsense, or is handed over. */
static void read_client(struct helper *h, struct desk *d, size_t at)
{
    struct asker *c = d->clients[at];
    ssize_t got = recv(c->fd, c->in + c->len, sizeof c->in - c->len, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->heard_at = clock_mono(&clock_system);
    c->len += (size_t)MAX_OF(got, 0);
    if (got > 0 && !answer_lines(h, d, c))
        d->clients[at] = d->clients[--d->count];
    else if (got <= 0 || c->len == sizeof c->in)
        drop_client(h, d, at);
}

/* Waits for the first `more` of them and for clients, and serves those. As poll(). */
static int serve_desk(struct helper *h, struct desk *d, struct pollfd *ready, size_t more, int within_ms)
{
    size_t count = d->count;
    for (size_t i = 0; i < count; i++)
        ready[more + i] = (struct pollfd){.fd = d->clients[i]->fd, .events = POLLIN};
    if (d == &h->settings_desk)
        atomic_store(&h->busy_since, 0);
    int some = poll(ready, more + count, within_ms);
    if (d == &h->settings_desk)
        atomic_store(&h->busy_since, clock_mono(&clock_system).ns);
    for (size_t i = count; some > 0 && i-- > 0;)
        if (ready[more + i].revents)
            read_client(h, d, i);
    return some;
}

/* ---- confinement: beyond what the daemon refuses itself, no sockets but local ones, no other programs, no access to other
 * processes ---- */

static int refuse_calls(void)
{
    static const unsigned refused[] = {SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv};
    enum { CALLS = ARRAY_LEN(refused) };
    struct sock_filter program[CALLS + 8];
    unsigned short n = 0;
#define ADD(...) program[n++] = (struct sock_filter)__VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (size_t i = 0; i < CALLS; i++)
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], (unsigned char)(CALLS - i + 2),
                     0)); /* jump to the refusal at the end */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
    const struct sock_fprog filter = {.len = n, .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

/* From now on: no network, no other programs, and writes only to the kernel's device files, the journals (NULL: not this one) and
 * their public copies. Skips what the kernel doesn't support. */
static int confine(const struct lease_dir *settings, const struct lease_dir *gpus, struct error *err)
{
    const struct lease_dir *const journals[] = {settings, gpus};
    const char *places[5] = {"/sys/devices"};
    size_t count = 1;
    for (size_t i = 0; i < ARRAY_LEN(journals); i++)
        if (journals[i]) {
            places[count++] = journals[i]->path;
            if (journals[i]->shown >= 0)
                places[count++] = journals[i]->shown_path;
        }
    int writes = sandbox_writes(places, count), calls = sandbox_calls(), more = refuse_calls();
    if (writes < 0)
        log_info("Landlock is not in force", LOG_TEXT("why", strerror(-writes)));
    if (calls < 0 || more < 0)
        return error_set(err, calls < 0 ? calls : more, "whirr-control cannot be confined: %s",
                         strerror(calls < 0 ? -calls : -more));
    return 0;
}

/* ---- running ---- */

static atomic_bool stopping;

static void stop(int number)
{
    (void)number;
    atomic_store(&stopping, true);
}

/* Until the next lease of GPUs ends by time. */
static int wait_ms(const struct helper *h)
{
    int64_t left = IDLE_MS;
    if (h->broker.next.ms)
        left = MIN_OF(left, MAX_OF(h->broker.next.ms - clock_wall(&clock_system).ms, (int64_t)0));
    return (int)left;
}

static void serve_once(struct helper *h)
{
    struct pollfd ready[CLIENTS_MAX + 2] = {{.fd = h->listener, .events = POLLIN}, {.fd = h->broker.watch, .events = POLLIN}};
    int some = serve_desk(h, &h->desk, ready, 2, wait_ms(h));
    if (some == 0 || ready[1].revents)
        lease_broker_look(&h->broker);
    if (ready[0].revents)
        accept_client(h);
}

/* ---- settings ---- */

static void take_handed(struct helper *h)
{
    struct desk *d = &h->settings_desk;
    for (struct asker *c; (c = mailbox_take(h->handed, 0));) {
        struct error err = {0};
        if (make_place(h, d, c->uid, &err)) {
            d->clients[d->count++] = c;
            (void)answer_lines(h, d, c);
            continue;
        }
        answer(c, err.code, NULL, NULL, -1, &err);
        close(c->fd);
        free(c);
    }
}

/* Confined once the driver is open, before it reads a request. */
static void open_settings(struct helper *h, int watchdog)
{
    int rc = holder_open(&h->holder, h->env, h->config->lease.dir, watchdog, &h->cannot);
    if (rc == 0)
        rc = confine(&h->holder.dir, NULL, &h->cannot);
    if (rc == -ENODEV)
        error_set(&h->cannot, rc, "there is no GPU whose settings can be changed");
    else if (rc < 0)
        log_error("settings of GPUs can't be changed", LOG_TEXT("why", h->cannot.text));
    if (rc < 0)
        holder_close(&h->holder);
    else
        h->cannot.text[0] = '\0';
}

static void *serve_settings(void *arg)
{
    struct helper *h = arg;
    struct desk *d = &h->settings_desk;
    struct mono looked = {0};
    open_settings(h, h->holder.watchdog);
    while (!atomic_load(&stopping)) {
        struct pollfd ready[CLIENTS_MAX + 1] = {{.fd = mailbox_fd(h->handed), .events = POLLIN}};
        bool watched = h->holder.count || (h->config->quiet.from[0] && !h->cannot.text[0]);
        serve_desk(h, d, ready, 1, watched ? HOLDER_LOOK_MS : IDLE_MS);
        take_handed(h);
        struct mono now = clock_mono(&clock_system);
        if (!h->cannot.text[0] && mono_since_ms(now, looked) >= HOLDER_LOOK_MS) {
            looked = now;
            quiet_hours_look(&h->holder, h->config);
            holder_look(&h->holder, tell_ended, h);
        }
        atomic_store(&h->in_use, d->count + h->holder.count);
    }
    while (d->count)
        drop_client(h, d, 0);
    holder_close(&h->holder);
    mailbox_put(h->over, h);
    return NULL;
}

/* Signals that stop the helper are for the main thread. */
static int start_settings(struct helper *h, pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(thread, NULL, serve_settings, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* ---- running ---- */

int helper_watch(const struct env *env, const struct config *config, struct error *err)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    int rc = lease_dir_open_settings(&dir, config->lease.dir, err);
    if (rc == 0)
        rc = confine(&dir, NULL, err);
    return rc < 0 ? rc : watchdog_run(env, config->lease.dir);
}

/* The owner of the state of the system's daemon, which only root can have made. */
static uid_t daemon_user(void)
{
    struct stat info;
    char path[PLACE_SIZE];
    return place_system_state(path) && stat(path, &info) == 0 ? info.st_uid : 0;
}

static void keep_item(void *item)
{
    (void)item;
}

static void drop_handed(void *item)
{
    struct asker *c = item;
    if (c)
        close(c->fd);
    free(c);
}

int helper_run(const struct env *env, const struct config *config, int listener, bool stays, struct error *err)
{
    static struct helper of_this_process; /* a thread that hangs may still use it at the end */
    struct helper *h = &of_this_process;
    pthread_t thread;
    *h = (struct helper){.env = env,
                         .config = config,
                         .listener = listener,
                         .daemon = daemon_user(),
                         .broker = LEASE_BROKER_CLOSED,
                         .holder = HOLDER_CLOSED,
                         .busy_since = clock_mono(&clock_system).ns};
    static const char *const watch[] = {"--watch", NULL};
    int watchdog = watchdog_start(env->self_program, watch, config->lease.dir);
    if (watchdog < 0)
        return error_set(err, watchdog, "cannot make a process that gives fans back: %s", strerror(-watchdog));
    h->holder.watchdog = watchdog;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max; /* a descriptor for each lease */
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    const struct lease_broker_limits limits = {config->lease.held_max, config->lease.waiting_max};
    h->handed = mailbox_new(2 * (CLIENTS_MAX + HOLDER_LEASES_MAX), drop_handed);
    h->over = mailbox_new(1, keep_item);
    int rc = h->handed && h->over ? lease_broker_open(&h->broker, config->lease.dir, limits, err)
                                  : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0 && (rc = start_settings(h, &thread)) < 0)
        error_set(err, rc, "cannot start a thread: %s", strerror(-rc));
    bool started = rc == 0;
    if (rc == 0)
        rc = confine(NULL, &h->broker.dir, err);
    const struct sigaction on_stop = {.sa_handler = stop};
    sigaction(SIGTERM, &on_stop, NULL);
    sigaction(SIGINT, &on_stop, NULL);
    stays |= config->quiet.from[0] != '\0';
    struct mono idle_since = clock_mono(&clock_system);
    while (rc == 0 && !atomic_load(&stopping) && (stays || mono_since_ms(clock_mono(&clock_system), idle_since) < IDLE_MS)) {
        serve_once(h);
        if (h->desk.count || atomic_load(&h->in_use) || h->broker.list.count)
            idle_since = clock_mono(&clock_system);
    }
    while (h->desk.count)
        drop_client(h, &h->desk, 0);
    lease_broker_close(&h->broker); /* its leases go on: the next one reads the journal */
    if (!started)
        holder_close(&h->holder);
    atomic_store(&stopping, true);
    mailbox_put(h->handed, NULL); /* wakes it */
    if (started && !mailbox_take(h->over, STOP_MS)) {
        log_error("a driver hangs: what was set is put back once it answers"); /* by the watchdog, and --restore of the unit */
        return rc;
    }
    if (started)
        pthread_join(thread, NULL);
    mailbox_free(h->handed);
    mailbox_free(h->over);
    return rc;
}
