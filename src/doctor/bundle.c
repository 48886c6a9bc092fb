/* SPDX-License-Identifier: Apache-2.0
 * Makes the bundle: records what a sample reads, removes private data, packs the rest.
 */
#include "doctor/bundle.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/cli.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "doctor/doctor.h"
#include "format/record.h"
#include "source/source.h"

/* ---- what a sample reads below the sysroot: each path once, with its latest content ---- */

enum { LINKS_MAX = 40, CAUGHT_MAX = 20000, CAUGHT_BYTES_MAX = 48 * 1024 * 1024 };

/* Keeps symbolic links as such because they lead to the drivers' directories. */
struct caught_entry {
    enum env_read kind; /* READ_FILE, READ_LINK or READ_FOLDER */
    const char *path;   /* as on the host, resolved except for the last part */
    struct str bytes;   /* content of a file, or target of a link */
};

struct caught {
    pthread_mutex_t lock;
    struct caught_entry *entries;
    size_t count, capacity, bytes;
    size_t lost; /* entries that did not fit */
};

static struct caught *caught_new(void)
{
    struct caught *c = calloc(1, sizeof *c);
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void caught_forget(struct caught_entry *e)
{
    free((char *)e->path);
    free((char *)e->bytes.at);
}

static void caught_free(struct caught *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        caught_forget(&c->entries[i]);
    free(c->entries);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Samples repeat reads: replace the bytes of a known path. A linear search is enough for some hundred paths. */
static void caught_add(struct caught *c, enum env_read kind, const char *path, struct str bytes)
{
    struct caught_entry *at = NULL;
    for (size_t i = c->count; i > 0 && !at; i--)
        if (strcmp(c->entries[i - 1].path, path) == 0)
            at = &c->entries[i - 1];
    if (at && kind > at->kind)
        return; /* more than its existence is known already */
    char *copy = malloc(bytes.len + 1), *name = at ? NULL : strdup(path);
    if (!copy || (!at && !name) || c->bytes + bytes.len > CAUGHT_BYTES_MAX ||
        (!at && (c->count == CAUGHT_MAX || !ROOM_FOR_ONE(c->entries, c->count, c->capacity, 256)))) {
        free(copy);
        free(name);
        c->lost++;
        return;
    }
    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    copy[bytes.len] = '\0';
    if (!at) {
        at = &c->entries[c->count++];
        *at = (struct caught_entry){.path = name};
    }
    c->bytes += bytes.len - at->bytes.len;
    free((char *)at->bytes.at);
    at->kind = kind;
    at->bytes = (struct str){copy, bytes.len};
}

static void on_read(const struct env *env, enum env_read kind, const char *path, struct str bytes)
{
    struct caught *c = env->user;
    pthread_mutex_lock(&c->lock);
    caught_add(c, kind, path, bytes);
    pthread_mutex_unlock(&c->lock);
}

/* Records all reads through env from now on, from any thread. */
static void caught_watch(struct caught *c, struct env *env)
{
    env->user = c;
    env->on_read = on_read;
}

/* ---- resolving ---- */

/* Removes the last part of a path that begins with a slash. */
static void go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

/* Walks from `at` along `rest`, part by part; records links and follows them, except the last one. */
static int resolve(struct caught *links, const struct env *env, char at[PATH_SIZE], const char *rest, int *links_left)
{
    while (*rest) {
        rest += strspn(rest, "/");
        size_t len = strcspn(rest, "/");
        struct str part = {rest, len};
        rest += len;
        if (!len || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            go_up(at);
            continue;
        }
        size_t used = strlen(at);
        if (used + len + 2 > PATH_SIZE)
            return -ENAMETOOLONG;
        snprintf(at + used, PATH_SIZE - used, "/" STR_FMT, STR_ARG(part));
        char target[PATH_SIZE], next[PATH_SIZE];
        bool last = rest[strspn(rest, "/")] == '\0';
        while (!last && file_read_link(env, at, target, sizeof target) >= 0) { /* the target itself may be a link */
            /* An unpacked link to outside of the recorded tree would lead into another host's. */
            if (target[0] == '/' || --*links_left < 0)
                return -ELOOP;
            caught_add(links, READ_LINK, at, str_from(target));
            go_up(at);
            str_copy(next, sizeof next, str_from(target));
            int rc = resolve(links, env, at, next, links_left);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static bool is_folder(const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    struct stat info;
    return env_path(env, whole, "%s", path) == 0 && stat(whole, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Some names matter by existing (drm/renderD128) although nothing reads below them: record the subdirectories of listed
 * directories in /sys. */
static void add_folders_in(struct caught *c, const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    if (strncmp(path, "/sys/", 5) != 0)
        return;
    AUTO_DIR DIR *folder = dir_open(env, path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            (size_t)snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name) < sizeof whole)
            caught_add(c, READ_FOLDER, whole, STR(""));
}

static int caught_by_path(const void *a, const void *b)
{
    return strcmp(((const struct caught_entry *)a)->path, ((const struct caught_entry *)b)->path);
}

/* Stops recording and resolves the paths. Sorts entries by path, directories before their contents. */
static size_t caught_finish(struct caught *c, struct env *env, const struct caught_entry **ret)
{
    env->on_read = NULL;
    env->user = NULL;
    struct caught resolved = {.count = 0};
    for (size_t i = 0; i < c->count; i++) {
        const struct caught_entry *e = &c->entries[i];
        char at[PATH_SIZE] = "";
        int links_left = LINKS_MAX;
        if (resolve(&resolved, env, at, e->path, &links_left) < 0) {
            c->lost++;
            continue;
        }
        bool folder = e->kind == READ_FOLDER || (e->kind == READ_EXISTS && is_folder(env, at));
        char target[PATH_SIZE];
        if (e->kind != READ_LINK && file_read_link(env, at, target, sizeof target) > 0)
            continue; /* a directory behind a link, with nothing read below it */
        caught_add(&resolved, folder ? READ_FOLDER : e->kind == READ_EXISTS ? READ_FILE : e->kind, at, folder ? STR("") : e->bytes);
        if (e->kind == READ_FOLDER)
            add_folders_in(&resolved, env, at);
    }
    for (size_t i = 0; i < c->count; i++)
        caught_forget(&c->entries[i]);
    free(c->entries);
    c->lost += resolved.lost;
    c->entries = resolved.entries;
    c->count = resolved.count;
    c->capacity = resolved.capacity;
    if (c->count)
        qsort(c->entries, c->count, sizeof *c->entries, caught_by_path);
    *ret = c->entries;
    return c->count;
}

/* ---- the bundle ---- */

enum { SAMPLES = 4, PAUSE_MS = 300, ARCHIVE_MAX = 64 * 1024 * 1024 };

struct bundle {
    struct cli *cli;
    struct privacy privacy;
    struct machine_entry *entries; /* redacted contents; owns paths and bytes */
    size_t entry_count, entry_capacity;
    struct buf about; /* the doctor's report */
    struct buf out;   /* the archive or the text */
    struct buf list;  /* names of the entries, for people */
    size_t files, left_out;
    struct snapshot *samples[SAMPLES];
    size_t sample_count;
};

static void bundle_done(struct bundle *b)
{
    for (size_t i = 0; i < b->sample_count; i++)
        snapshot_unref(b->samples[i]);
    for (size_t i = 0; i < b->entry_count; i++) {
        free((char *)b->entries[i].path);
        free((char *)b->entries[i].bytes.at);
    }
    free(b->entries);
    buf_done(&b->about);
    buf_done(&b->out);
    buf_done(&b->list);
}

static void bundle_add(struct bundle *b, enum machine_kind kind, const char *path, struct str bytes)
{
    if (!ROOM_FOR_ONE(b->entries, b->entry_count, b->entry_capacity, 256)) {
        b->left_out++;
        return;
    }
    char *name = strdup(path), *copy = malloc(bytes.len + 1);
    if (!name || !copy) {
        free(name);
        free(copy);
        b->left_out++;
        return;
    }
    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    copy[bytes.len] = '\0';
    b->entries[b->entry_count++] = (struct machine_entry){kind, name, {copy, bytes.len}};
    b->files += kind == MACHINE_FILE;
}

/* ---- processes ---- */

static void record_file(const struct env *env, const char *path)
{
    AUTO_BUF struct buf ignored = BUF(1024 * 1024);
    file_read_all(env, path, &ignored); /* env passes it to the recorder */
}

/* Sources examine the descriptors of every process; the bundle only needs device descriptors of processes on a GPU. */
static void read_descriptors(const struct env *env, int32_t pid)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    AUTO_DIR DIR *folder = dir_open(env, path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char target[PATH_SIZE], whole[PATH_SIZE];
        if (!isdigit((unsigned char)entry->d_name[0]) || env_path(env, whole, "%s/%s", path, entry->d_name) < 0)
            continue;
        ssize_t len = readlink(whole, target, sizeof target - 1);
        if (len <= 0)
            continue;
        target[len] = '\0';
        if (strncmp(target, "/dev/dri/", 9) != 0 && strncmp(target, "/dev/accel/", 11) != 0 &&
            strncmp(target, "/dev/nvidia", 11) != 0 && strcmp(target, "/dev/kfd") != 0)
            continue;
        snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name);
        file_read_link(env, whole, target, sizeof target);
        snprintf(whole, sizeof whole, "/proc/%d/fdinfo/%s", pid, entry->d_name);
        record_file(env, whole);
    }
}

static void read_processes_of(const struct env *env, const struct gpu *gpu)
{
    static const char *const names[] = {"stat", "status", "comm", "cgroup", "cmdline"};
    for (size_t i = 0; i < gpu->process_count && !gpu->simulated; i++) {
        for (size_t n = 0; n < ARRAY_LEN(names); n++) {
            char path[PATH_SIZE];
            snprintf(path, sizeof path, "/proc/%d/%s", gpu->processes[i].pid, names[n]);
            record_file(env, path);
        }
        read_descriptors(env, gpu->processes[i].pid);
    }
}

static void read_processes(const struct env *env, const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        read_processes_of(env, &s->gpus[i]);
    for (size_t i = 0; i < s->accelerator_count; i++)
        read_processes_of(env, &s->accelerators[i]);
}

static bool on_one_of(const struct gpu *gpus, size_t count, int32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (gpu_find_process(&gpus[i], pid))
            return true;
    return false;
}

static bool on_a_gpu(const struct bundle *b, int32_t pid)
{
    for (size_t k = 0; k < b->sample_count; k++) {
        const struct snapshot *s = b->samples[k];
        if (on_one_of(s->gpus, s->gpu_count, pid) || on_one_of(s->accelerators, s->accelerator_count, pid))
            return true;
    }
    return false;
}

/* ---- contents ---- */

static bool wanted(const struct bundle *b, const char *path)
{
    static const char *const never[] = {"/etc/passwd", "/proc/net/", "/proc/diskstats", "/sys/block", "/proc/self/",
                                        "/usr/",       "/var/"};
    for (size_t i = 0; i < ARRAY_LEN(never) && !b->privacy.off; i++)
        if (strncmp(path, never[i], strlen(never[i])) == 0)
            return false;
    if (strncmp(path, "/proc/", 6) == 0 && isdigit((unsigned char)path[6]))
        return on_a_gpu(b, (int32_t)strtol(path + 6, NULL, 10));
    return true;
}

static void add_file(struct bundle *b, const char *path, struct str bytes)
{
    bundle_add(b, MACHINE_FILE, path, bytes);
    buf_printf(&b->list, "  %s (%zu bytes)\n", path + 1, bytes.len);
}

static void add_caught(struct bundle *b, const struct caught_entry *entries, size_t count)
{
    size_t before = b->files;
    for (size_t i = 0; i < count; i++) {
        const struct caught_entry *e = &entries[i];
        if (!e->path[0] || !e->path[1] || !wanted(b, e->path))
            continue;
        /* A path that was read as a link but has entries below it is a directory. */
        size_t len = strlen(e->path);
        bool has_below = i + 1 < count && strncmp(entries[i + 1].path, e->path, len) == 0 && entries[i + 1].path[len] == '/';
        if (e->kind == READ_FOLDER) {
            bundle_add(b, MACHINE_FOLDER, e->path, (struct str){0});
        } else if (e->kind == READ_LINK && !has_below) {
            bundle_add(b, MACHINE_LINK, e->path, e->bytes);
        } else if (e->kind == READ_FILE) {
            AUTO_BUF struct buf text = BUF(CAUGHT_BYTES_MAX);
            privacy_file(&b->privacy, e->path, e->bytes, &text);
            bundle_add(b, MACHINE_FILE, e->path, buf_view(&text));
        }
    }
    buf_printf(&b->list, "  sys, proc, etc: %zu files that whirr reads\n", b->files - before);
}

/* ---- samples ---- */

static int take_samples(struct bundle *b, struct session *session, struct error *err)
{
    while (b->sample_count < SAMPLES) {
        if (b->sample_count && !env_is_recorded(&b->cli->env))
            pause_ms(PAUSE_MS);
        AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
        if (!s)
            return err->code;
        struct snapshot *copy = snapshot_copy(s);
        if (!copy)
            return error_set(err, -ENOMEM, "out of memory");
        b->samples[b->sample_count++] = copy;
        privacy_learn(&b->privacy, copy);
    }
    return 0;
}

/* A replay reads these again from the bundle's files. */
static bool read_from_files(const struct gpu *gpu)
{
    const struct source_ops *ops = source_find(str_from(gpu->source));
    return ops && ops->reads_files;
}

static struct snapshot *without_file_gpus(const struct snapshot *s)
{
    struct snapshot *copy = snapshot_copy(s);
    size_t kept = 0;
    for (size_t i = 0; copy && i < copy->gpu_count; i++) {
        if (read_from_files(&copy->gpus[i]))
            gpu_done(&copy->gpus[i]);
        else
            copy->gpus[kept++] = copy->gpus[i];
    }
    if (copy)
        copy->gpu_count = kept;
    while (copy && copy->accelerator_count) /* accelerators are always read from files */
        gpu_done(&copy->accelerators[--copy->accelerator_count]);
    return copy;
}

static int add_recording(struct bundle *b, struct error *err)
{
    char folder[] = "/tmp/whirr-bundle-XXXXXX", path[64];
    if (!mkdtemp(folder))
        return error_set(err, -errno, "cannot create a directory in /tmp: %s", strerror(errno));
    snprintf(path, sizeof path, "%s/recording", folder);
    struct recorder *recorder = recorder_open(path, err);
    int rc = recorder ? 0 : err->code;
    size_t gpus = 0;
    for (size_t i = 0; rc == 0 && i < b->sample_count; i++) {
        AUTO_SNAPSHOT const struct snapshot *s = without_file_gpus(b->samples[i]);
        gpus += s ? s->gpu_count : 0;
        rc = s ? recorder_add(recorder, s, err) : error_set(err, -ENOMEM, "out of memory");
    }
    if (recorder && recorder_close(recorder, err) < 0)
        rc = err->code;
    AUTO_BUF struct buf bytes = BUF(ARCHIVE_MAX);
    struct env here = {.sysroot = ""};
    if (rc == 0 && gpus)
        rc = file_read_all(&here, path, &bytes);
    unlink(path);
    rmdir(folder);
    if (rc == 0 && gpus)
        add_file(b, "/whirr/recording", buf_view(&bytes));
    return rc;
}

/* ---- the report goes first, as a comment ---- */

static void add_report(struct bundle *b, const struct doctor_facts *facts, const char *described)
{
    const struct snapshot *last = b->samples[b->sample_count - 1];
    struct page page = {.width = 100, .utf8 = true, .now = last->taken_at};
    AUTO_FREE struct findings *findings = malloc(sizeof *findings);
    AUTO_BUF struct buf text = BUF(4 * 1024 * 1024);
    if (!findings)
        return;
    doctor_judge(facts, last, findings);
    doctor_text(&text, &page, facts, last, findings, described);
    privacy_text(&b->privacy, &b->about, buf_view(&text));
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct machine_entry *)a)->path, ((const struct machine_entry *)b)->path);
}

static int bundle_fill(struct bundle *b, struct caught *caught, struct error *err)
{
    AUTO_FREE struct doctor_facts *facts = malloc(sizeof *facts);
    AUTO_BUF struct buf described = BUF(1024 * 1024);
    if (!facts)
        return error_set(err, -ENOMEM, "out of memory");
    caught_watch(caught, &b->cli->env);
    struct session *session = session_open(b->cli, err);
    if (!session)
        return err->code;
    int rc = take_samples(b, session, err);
    if (rc == 0) {
        session_describe(session, &described);
        doctor_read(&b->cli->env, b->samples[b->sample_count - 1], facts);
        read_processes(&b->cli->env, b->samples[b->sample_count - 1]);
    }
    session_close(session);
    const struct caught_entry *entries;
    size_t count = caught_finish(caught, &b->cli->env, &entries);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < b->sample_count; i++)
        privacy_snapshot(&b->privacy, b->samples[i]);
    add_report(b, facts, described.at ? described.at : "");
    rc = add_recording(b, err);
    if (rc < 0)
        return rc;
    add_caught(b, entries, count);
    if (b->entry_count)
        qsort(b->entries, b->entry_count, sizeof *b->entries, by_path);
    b->left_out += machine_write(&b->out, buf_view(&b->about), b->entries, b->entry_count);
    return buf_check(&b->out, err, "the bundle does not fit into %d MiB", ARCHIVE_MAX >> 20);
}

static int bundle_save(const struct bundle *b, const char *path, struct error *err)
{
    struct str bytes = buf_view(&b->out);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, -errno, "cannot create '%s': %s", path, strerror(errno));
    for (size_t at = 0; at < bytes.len;) {
        ssize_t put = write(fd, bytes.at + at, bytes.len - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            int rc = error_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
            unlink(path);
            return rc;
        }
        at += (size_t)put;
    }
    return 0;
}

/* Looks through the result once more, as a person would. */
static void print_suspects(const struct bundle *b, struct buf *out)
{
    enum { LISTED = 10 };
    struct str rest = buf_view(&b->out), line;
    size_t number = 0, found = 0;
    while (str_cut(&rest, '\n', &line)) {
        const char *what = privacy_suspect(line);
        number++;
        if (what && found++ < LISTED)
            buf_printf(out, "%s  line %zu, %s: %.*s\n", found == 1 ? "Check these before you send it:\n" : "", number, what,
                       (int)MIN_OF(line.len, (size_t)100), line.at);
    }
    if (found > LISTED)
        buf_printf(out, "  and %zu more\n", found - LISTED);
    if (!found)
        buf_text(out, "Searched for home directories, e-mail and network addresses, and URLs: none.\n");
}

static void print_summary(const struct bundle *b, const struct caught *caught, const char *path)
{
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    buf_printf(&out, "%s is written, with %zu files:\n", path, b->files);
    buf_str(&out, buf_view(&b->list));
    if (b->left_out || caught->lost)
        buf_printf(&out, "  (%zu were left out: too long a name, or too large)\n", b->left_out + caught->lost);
    if (b->privacy.off)
        buf_text(&out, "It holds host and user names, command lines, serial numbers and UUIDs, as you asked for.\n");
    else
        buf_printf(&out,
                   "Replaced by stand-ins: the host's name, %zu user names, %zu UUIDs, %zu serial numbers; command lines are left "
                   "out.\n",
                   b->privacy.users, b->privacy.uuids, b->privacy.serials);
    print_suspects(b, &out);
    buf_printf(&out,
               "It is plain text: read it before you send it. Replay it with:\n"
               "  whirr doctor --unpack %s machine && whirr --sysroot machine\n",
               path);
    show_text(&out);
}

int bundle_write(struct cli *cli, const char *path, bool with_private)
{
    struct error err = {0};
    struct bundle *b = calloc(1, sizeof *b);
    struct caught *caught = caught_new();
    int status = EXIT_FAILED;
    if (!b || !caught) {
        cli_fail("out of memory");
    } else {
        b->cli = cli;
        b->about = BUF(4 * 1024 * 1024);
        b->out = BUF(ARCHIVE_MAX);
        b->list = BUF(65536);
        b->privacy.off = with_private;
        bool shown = strcmp(path, "-") == 0; /* before it is a file: what would be in it */
        if (!shown && access(path, F_OK) == 0)
            cli_fail("'%s' exists already", path);
        else if (shown)
            status = bundle_fill(b, caught, &err) < 0 ? cli_fail("%s", err.text) : show_text(&b->out);
        else if (bundle_fill(b, caught, &err) < 0 || bundle_save(b, path, &err) < 0)
            cli_fail("%s", err.text);
        else {
            print_summary(b, caught, path);
            status = EXIT_FINE;
        }
        bundle_done(b);
    }
    caught_free(caught);
    free(b);
    return status;
}

int bundle_unpack(const char *path, const char *dir)
{
    struct env here = {.sysroot = ""};
    struct error err = {0};
    AUTO_BUF struct buf text = BUF(MACHINE_TEXT_MAX), out = BUF(8192);
    int rc = file_read_all(&here, path, &text);
    if (rc < 0)
        return cli_fail("cannot read '%s': %s", path, strerror(-rc));
    if (!str_starts(buf_view(&text), "# whirr machine "))
        return cli_fail("'%s' is not a machine file: its first line must be '# whirr machine 1'", path);
    if (machine_expand(buf_view(&text), dir, &err) < 0)
        return cli_fail("cannot unpack '%s': %s", path, err.text);
    buf_printf(&out, "Unpacked into %s. Replay it with: whirr --sysroot %s\n", dir, dir);
    show_text(&out);
    return EXIT_FINE;
}
