/* SPDX-License-Identifier: Apache-2.0
 * Identifies processes from procfs below the sysroot: one read (the stat file) per look; user names; the details of one process for
 * the person who asks, read with that person's privileges, never stored or sent.
 */
#include "host/linux/process_files.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/secret/mask.h"
#include "host/identity.h"
#include "host/procfs.h"
#include "host/who.h"

/* ---- PID namespaces. Older NVIDIA drivers report host PIDs to every container, newer ones translate them for the caller, DRM
 * sources find PIDs in our own /proc: inside a container, only evidence tells what a PID refers to. */

/* The initial PID namespace has this inode number since Linux 3.8 (PROC_PID_INIT_INO). */
#define HOST_PID_NAMESPACE "pid:[4026531836]"

enum { FILES_LOOKED_AT = 4096, PID_KTHREADD = 2 };

/* True: /proc shows the host's processes, so a driver's PID can be looked up directly. */
static bool procfs_is_of_host(const struct env *env)
{
    /* Kernel threads exist only in the host's namespace, and kthreadd is always PID 2 there. This also covers a host's /proc
     * mounted into a container, where our own namespace says nothing. */
    char text[1024];
    struct proc_stat stat;
    if (env->own_pids && !env_is_recorded(env))
        return true; /* a process says so */
    ssize_t len = proc_read(env, PID_KTHREADD, "stat", text, sizeof text);
    if (len > 0 && proc_stat_parse((struct str){text, (size_t)len}, &stat) && (stat.flags & PROC_FLAG_KERNEL_THREAD))
        return true;

    if (file_read_link(env, "/proc/self/ns/pid", text, sizeof text) > 0)
        return strcmp(text, HOST_PID_NAMESPACE) == 0;

    static const char *const markers[] = {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"};
    for (size_t i = 0; i < ARRAY_LEN(markers); i++)
        if (file_exists(env, markers[i]))
            return false;
    return true;
}

bool is_gpu_file(const char *path)
{
    static const char *const devices[] = {"/dev/nvidia", "/dev/dri/", "/dev/kfd", "/dev/dxg"};
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (str_starts(str_from(path), devices[i]))
            return true;
    return false;
}

int process_holds_gpu(const struct env *env, int32_t pid)
{
    char target[PATH_SIZE];
    AUTO_DIR DIR *dir = proc_dir(env, pid, "fd");
    if (!dir)
        return is_gone(-errno) || errno == EACCES || errno == EPERM ? 0 : -errno;
    struct dirent *entry;
    for (int i = 0; i < FILES_LOOKED_AT && (entry = readdir(dir)); i++) {
        if (proc_fd(env, pid, entry->d_name, target, sizeof target) > 0 && is_gpu_file(target))
            return 1;
    }
    return 0;
}

/* ---- User names. The file comes first: the name service may ask a server and take its time. */

enum { PASSWD_MAX = 4 << 20 };

bool passwd_find(struct str passwd, int64_t uid, struct str *name)
{
    struct str line;
    while (str_cut(&passwd, '\n', &line)) {
        struct str login, password, number;
        int64_t id;
        if (str_cut(&line, ':', &login) && login.len && login.at[0] != '#' && str_cut(&line, ':', &password) &&
            str_cut(&line, ':', &number) && str_to_i64(number, &id) && id == uid) {
            *name = login;
            return true;
        }
    }
    return false;
}

bool users_look_up(const struct env *env, int64_t uid, char name[USER_NAME_SIZE])
{
    AUTO_BUF struct buf passwd = BUF(PASSWD_MAX);
    struct str found;
    if (file_read_all(env, "/etc/passwd", &passwd) == 0 && passwd_find(buf_view(&passwd), uid, &found)) {
        str_copy_clean(name, USER_NAME_SIZE, found);
        return name[0];
    }
    if (env_is_recorded(env)) /* a recorded host has other users than this one */
        return false;
    struct passwd entry, *result = NULL;
    char room[4096];
    if (getpwuid_r((uid_t)uid, &entry, room, sizeof room, &result) != 0 || !result || !result->pw_name)
        return false;
    str_copy_clean(name, USER_NAME_SIZE, str_from(result->pw_name));
    return name[0];
}

/* ---- Who a process is ---- */

enum {
    CMDLINE_SIZE = 16384,
    ENVIRON_MAX = 128 * 1024,
    CHILDREN_TEXT = 4096,
    COMM_CUT_LEN = 15, /* the kernel truncates names here */
};

struct who_reader {
    const struct env *env;
    struct users *users;
    bool show_secrets;
    bool of_host; /* /proc shows the host's PIDs */
    int64_t ticks_per_s, page_bytes;
    struct wall booted;      /* ms 0 unknown */
    int64_t booted_by_clock; /* wall minus monotonic clock at that time, in ms */
};

/* The line "btime SECONDS" of /proc/stat, after interrupt counters of up to tens of kilobytes. */
static struct wall boot_time(const struct env *env)
{
    AUTO_BUF struct buf text = BUF(1 << 20);
    if (file_read_all(env, "/proc/stat", &text) < 0)
        return (struct wall){0};
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        int64_t seconds;
        if (str_starts(line, "btime ") && str_to_i64((struct str){line.at + 6, line.len - 6}, &seconds) && seconds > 0 &&
            seconds < INT64_MAX / MS_PER_S)
            return (struct wall){seconds * MS_PER_S};
    }
    return (struct wall){0};
}

static int64_t clock_offset_ms(const struct env *env)
{
    return clock_wall(env->clock).ms - clock_mono(env->clock).ns / NS_PER_MS;
}

/* A daemon may start before the clock is set: reread the boot time after the clock changed. */
static void follow_clock(struct who_reader *r)
{
    int64_t offset = clock_offset_ms(r->env);
    if (r->booted.ms && llabs(offset - r->booted_by_clock) < 2 * MS_PER_S)
        return;
    r->booted = boot_time(r->env);
    r->booted_by_clock = offset;
}

struct who_reader *who_reader_new(const struct env *env, bool show_secrets)
{
    struct who_reader *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->users = users_new(env);
    if (!r->users) {
        free(r);
        return NULL;
    }
    r->env = env;
    r->show_secrets = show_secrets;
    r->of_host = procfs_is_of_host(env);
    /* Ticks have always been hundredths of a second on Linux; pages are 4, 16 or 64 KiB. */
    r->ticks_per_s = MAX_OF(sysconf(_SC_CLK_TCK), 1);
    r->page_bytes = MAX_OF(sysconf(_SC_PAGESIZE), 1);
    return r;
}

void who_reader_free(struct who_reader *r)
{
    if (!r)
        return;
    users_free(r->users);
    free(r);
}

int64_t who_ticks_per_s(const struct who_reader *r)
{
    return r->ticks_per_s;
}

/* The kernel truncates names to 15 bytes; the command line has the rest if it starts the same. */
static void whole_name(struct who *w, struct str program)
{
    const char *slash = program.len ? memrchr(program.at, '/', program.len) : NULL;
    if (slash)
        program = (struct str){slash + 1, program.len - (size_t)(slash + 1 - program.at)};
    /* Before Linux 6.14, a program executed by descriptor has the number as its name. */
    bool number = w->comm[0] && strspn(w->comm, "0123456789") == strlen(w->comm);
    if (program.len && (number || (strlen(w->comm) == COMM_CUT_LEN && str_starts(program, w->comm))))
        str_copy_clean(w->name, sizeof w->name, program);
    else
        str_copy(w->name, sizeof w->name, str_from(w->comm));
}

static void learn_title(struct who_reader *r, struct who *w, const struct str *args, size_t count)
{
    char directory[PATH_SIZE] = "";
    struct env quiet = unrecorded(r->env); /* keep working directories out of recordings */
    if (proc_link(&quiet, w->pid, "cwd", directory, sizeof directory) <= 0)
        directory[0] = '\0';
    command_title(args, count, str_from(directory), w->title, sizeof w->title);
}

static void learn_container(struct who_reader *r, struct who *w, struct str cgroup)
{
    char container[PROCESS_CONTAINER_SIZE];
    container_name(cgroup, container, sizeof container);
    /* A runtime's files are many and large: keep a known name as long as the container exists. */
    if (strcmp(container, w->container) != 0 || w->container_name_state != READING_OK)
        w->container_name_state = container_label(r->env, cgroup, container, w->container_name, sizeof w->container_name);
    str_copy(w->container, sizeof w->container, str_from(container));
}

/* A job's container often runs as root, or as a user without a name here: the job then tells its owner. Otherwise trust the
 * kernel, not an environment that any process may set. */
static void learn_job(struct who_reader *r, struct who *w, struct str cgroup, int64_t uid)
{
    AUTO_BUF struct buf environment = BUF(ENVIRON_MAX);
    int64_t number;
    struct process_job job;
    bool known = process_environment(r->env, w->pid, &environment) >= 0;
    process_job(cgroup, known ? buf_view(&environment) : (struct str){0}, &job);
    who_take_job(w, &job);
    if (!job.of_slurm || (uid > 0 && !str_to_i64(str_from(w->user), &number)))
        return;
    if (job.uid >= 0)
        users_name(r->users, job.uid, w->user, sizeof w->user);
    else if (job.user[0])
        str_copy(w->user, sizeof w->user, str_from(job.user));
}

void who_learn(struct who_reader *r, struct who *w)
{
    char text[CMDLINE_SIZE];
    struct str args[ARGUMENTS_MAX];
    w->user[0] = w->command[0] = w->model[0] = w->title[0] = '\0';

    size_t count = who_arguments(r->env, w->pid, text, sizeof text, args, ARGUMENTS_MAX);
    whole_name(w, count ? args[0] : (struct str){0});
    model_name(args, count, w->model, sizeof w->model);
    if (!w->model[0])
        ollama_model_name(r->env, w->pid, args, count, w->model, sizeof w->model);
    learn_title(r, w, args, count);
    if (r->show_secrets)
        command_join(args, count, w->command, sizeof w->command);
    else
        mask_arguments(args, count, w->command, sizeof w->command);

    struct proc_status status;
    proc_status_parse(proc_text(r->env, w->pid, "status", text, sizeof text), &status);
    if (status.uid >= 0)
        users_name(r->users, status.uid, w->user, sizeof w->user);

    struct str cgroup = proc_text(r->env, w->pid, "cgroup", text, sizeof text);
    learn_container(r, w, cgroup);
    who_learn_launcher(r->env, w);
    learn_job(r, w, cgroup, status.uid);
}

/* Reads only the parent's name, and again when another process adopted this one. */
void who_learn_parent(struct who_reader *r, struct who *w, int64_t parent)
{
    char text[1024];
    struct proc_stat stat;
    w->parent = parent > 0 && parent <= INT32_MAX ? (int32_t)parent : 0;
    w->parent_name[0] = '\0';
    if (w->parent && proc_stat_parse(proc_text(r->env, w->parent, "stat", text, sizeof text), &stat))
        str_copy_clean(w->parent_name, sizeof w->parent_name, stat.comm);
}

struct reading who_memory(struct who_reader *r, const struct who *w, const struct who_now *now)
{
    /* A recorded host may have another page size: use the text in kB there. */
    if (env_is_recorded(r->env)) {
        char text[4096];
        struct proc_status status;
        proc_status_parse(proc_text(r->env, w->pid, "status", text, sizeof text), &status);
        if (status.vm_rss_bytes >= 0)
            return reading_ok(status.vm_rss_bytes);
    }
    int64_t bytes;
    if (now->resident < 0 || __builtin_mul_overflow(now->resident, r->page_bytes, &bytes))
        return reading_absent(READING_FAILED);
    return reading_ok(bytes);
}

void who_meet(struct who_reader *r, struct who *w, const struct who_now *now)
{
    follow_clock(r);
    if (r->booted.ms && now->start_key >= 0 && now->start_key < INT64_MAX / MS_PER_S)
        w->started_at = (struct wall){r->booted.ms + now->start_key * MS_PER_S / r->ticks_per_s};
    int holds = r->of_host ? 1 : process_holds_gpu(r->env, w->pid);
    w->ours = holds > 0;
    w->unsure = holds < 0;
}

int who_look(struct who_reader *r, int32_t pid, struct who_now *ret)
{
    char text[1024];
    struct proc_stat stat;
    ssize_t len = proc_read(r->env, pid, "stat", text, sizeof text);
    if (len < 0)
        return (int)len;
    if (!proc_stat_parse((struct str){text, (size_t)len}, &stat))
        return -ESRCH;
    *ret = (struct who_now){
        .start_key = stat.start_ticks, .cpu_ticks = stat.cpu_ticks, .parent = stat.parent, .resident = stat.rss_pages};
    str_copy_clean(ret->comm, sizeof ret->comm, stat.comm);
    return 0;
}

int process_command(const struct env *env, int32_t pid, char *text, size_t size)
{
    return (int)proc_read(env, pid, "cmdline", text, size);
}

int process_environment(const struct env *env, int32_t pid, struct buf *ret)
{
    struct env quiet = unrecorded(env);
    return proc_read_all(&quiet, pid, "environ", ret);
}

size_t process_children(const struct env *env, int32_t pid, int32_t *list, size_t max)
{
    char file[64], text[CHILDREN_TEXT];
    struct str word;
    int64_t child;
    size_t count = 0;
    snprintf(file, sizeof file, "task/%d/children", (int)pid);
    struct str rest = proc_text(env, pid, file, text, sizeof text);
    while (count < max && str_word(&rest, &word))
        if (str_to_i64(word, &child) && child > 0 && child <= INT32_MAX)
            list[count++] = (int32_t)child;
    return count;
}

size_t who_arguments(const struct env *env, int32_t pid, char *text, size_t size, struct str *args, size_t max)
{
    int len = process_command(env, pid, text, size);
    return len > 0 ? proc_arguments((struct str){text, (size_t)len}, args, max) : 0;
}

int64_t process_start(const struct env *env, int32_t pid)
{
    char text[1024];
    struct proc_stat stat;
    return proc_stat_parse(proc_text(env, pid, "stat", text, sizeof text), &stat) && stat.state != 'Z' ? stat.start_ticks : 0;
}

/* ---- Details of one process ---- */

enum {
    TEXT_SIZE = 256 << 10,
    LINE_SIZE = 4096,
    DEVICES_SHOWN = 32,
    DEVICE_SIZE = 64,
};

static void add_command(const struct env *env, int32_t pid, bool show_secrets, struct buf *out)
{
    AUTO_BUF struct buf text = BUF(TEXT_SIZE);
    struct str args[ARGUMENTS_MAX];
    if (proc_read_all(env, pid, "cmdline", &text) < 0 || !text.len)
        return;
    size_t count = proc_arguments(buf_view(&text), args, ARGUMENTS_MAX);
    details_add_command(out, args, count, show_secrets);
}

static void add_directory(const struct env *env, int32_t pid, struct buf *out)
{
    char directory[PATH_SIZE];
    if (proc_link(env, pid, "cwd", directory, sizeof directory) > 0)
        details_add(out, "Directory", directory);
}

static int details_by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "/dev/nvidia0 (12), /dev/nvidiactl (3)" */
static void add_files(const struct env *env, int32_t pid, struct buf *out)
{
    char target[PATH_SIZE], found[DEVICES_SHOWN][DEVICE_SIZE] = {0}, line[LINE_SIZE] = "";
    int times[DEVICES_SHOWN] = {0};
    size_t count = 0, used = 0;
    AUTO_DIR DIR *dir = proc_dir(env, pid, "fd");
    if (!dir) {
        details_add(out, "GPU files", details_refusal(-errno));
        return;
    }
    struct dirent *entry;
    char all[DEVICES_SHOWN * 8][DEVICE_SIZE];
    size_t files = 0;
    for (int i = 0; i < FILES_LOOKED_AT && files < ARRAY_LEN(all) && (entry = readdir(dir)); i++) {
        if (proc_fd(env, pid, entry->d_name, target, sizeof target) > 0 && is_gpu_file(target))
            str_copy(all[files++], DEVICE_SIZE, str_from(target));
    }
    qsort(all, files, DEVICE_SIZE, details_by_name);
    for (size_t i = 0; i < files; i++) {
        if ((!count || strcmp(found[count - 1], all[i]) != 0) && count < DEVICES_SHOWN)
            memcpy(found[count++], all[i], DEVICE_SIZE);
        times[count - 1]++;
    }
    for (size_t i = 0; i < count && used < sizeof line - DEVICE_SIZE - 32; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, times[i] > 1 ? "%s%s (%d)" : "%s%s", i ? ", " : "", found[i],
                                 times[i]);
    details_add(out, "GPU files", count ? line : "none is open");
}

static void add_environment(const struct env *env, int32_t pid, bool show_secrets, struct buf *out)
{
    AUTO_BUF struct buf text = BUF(TEXT_SIZE);
    ssize_t rc = proc_read_all(env, pid, "environ", &text);
    if (rc < 0 || !text.len) {
        details_add(out, "Environment", rc < 0 ? details_refusal(rc) : "empty");
        return;
    }
    details_add_environment(out, buf_view(&text), show_secrets);
}

int process_details(const struct env *env, int32_t pid, int64_t start_key, bool show_secrets, struct buf *out)
{
    char text[1024];
    struct proc_stat stat;
    struct env quiet = unrecorded(env); /* keep out of recordings */
    ssize_t len = proc_read(&quiet, pid, "stat", text, sizeof text);
    if (len < 0 && !is_gone(len))
        return (int)len;
    if (len <= 0 || !proc_stat_parse((struct str){text, (size_t)len}, &stat) || (start_key && stat.start_ticks != start_key))
        return -ESRCH;
    add_command(&quiet, pid, show_secrets, out);
    add_directory(&quiet, pid, out);
    add_files(&quiet, pid, out);
    add_environment(&quiet, pid, show_secrets, out);
    return out->failed ? -ENOMEM : 0;
}
