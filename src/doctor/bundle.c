/* SPDX-License-Identifier: Apache-2.0
 * Makes the bundle: samples while it is noted what is read, takes out what is private, packs the rest.
 */
#include "doctor/bundle.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ask/cli.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "doctor/doctor.h"
#include "doctor/files_read.h"
#include "doctor/redact.h"
#include "doctor/tar.h"
#include "format/json/json.h"
#include "format/record.h"
#include "serve/http/gzip.h"

enum { SAMPLES = 4, PAUSE_MS = 300, ARCHIVE_MAX = 64 * 1024 * 1024 };

struct bundle {
    struct cli *cli;
    struct privacy privacy;
    struct buf archive;
    struct tar tar;
    struct buf list; /* names of what is inside, for people */
    size_t files;
    struct snapshot *samples[SAMPLES];
    size_t sample_count;
};

static void bundle_done(struct bundle *b)
{
    for (size_t i = 0; i < b->sample_count; i++)
        snapshot_unref(b->samples[i]);
    buf_done(&b->archive);
    buf_done(&b->list);
}

/* ---- processes ---- */

static void tell(const struct env *env, const char *path)
{
    AUTO_BUF struct buf ignored = BUF(1024 * 1024);
    file_read_all(env, path, &ignored); /* whoever watches env is told */
}

/* Sources look at descriptors of every process; only those of devices, of processes on a GPU, belong into the bundle. */
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
        if (strncmp(target, "/dev/dri/", 9) != 0 && strncmp(target, "/dev/nvidia", 11) != 0 && strcmp(target, "/dev/kfd") != 0)
            continue;
        snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name);
        file_read_link(env, whole, target, sizeof target);
        snprintf(whole, sizeof whole, "/proc/%d/fdinfo/%s", pid, entry->d_name);
        tell(env, whole);
    }
}

static void read_processes(const struct env *env, const struct snapshot *s)
{
    static const char *const names[] = {"stat", "status", "comm", "cgroup", "cmdline"};
    for (size_t g = 0; g < s->gpu_count; g++) {
        for (size_t i = 0; i < s->gpus[g].process_count && !s->gpus[g].simulated; i++) {
            for (size_t n = 0; n < ARRAY_LEN(names); n++) {
                char path[PATH_SIZE];
                snprintf(path, sizeof path, "/proc/%d/%s", s->gpus[g].processes[i].pid, names[n]);
                tell(env, path);
            }
            read_descriptors(env, s->gpus[g].processes[i].pid);
        }
    }
}

static bool on_a_gpu(const struct bundle *b, int32_t pid)
{
    for (size_t k = 0; k < b->sample_count; k++)
        for (size_t g = 0; g < b->samples[k]->gpu_count; g++)
            if (gpu_find_process(&b->samples[k]->gpus[g], pid))
                return true;
    return false;
}

/* ---- what goes in ---- */

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

static bool path_ends(const char *path, const char *end)
{
    return str_ends(str_from(path), end);
}

/* Files that are private as a whole get their stand-in here; the rest is gone through word by word. */
static void add_private_file(struct bundle *b, const char *path, struct str bytes, struct buf *out)
{
    bool of_process = strncmp(path, "/proc/", 6) == 0 && isdigit((unsigned char)path[6]);
    if (b->privacy.off) {
        buf_str(out, bytes);
    } else if (of_process && path_ends(path, "/cmdline")) {
        /* The program's name stays, its arguments do not. */
        size_t len = strnlen(bytes.at, bytes.len);
        const char *slash = memrchr(bytes.at, '/', len);
        const char *name = slash ? slash + 1 : bytes.at;
        privacy_text(&b->privacy, out, (struct str){name, len - (size_t)(name - bytes.at)});
        buf_char(out, '\0');
    } else if (path_ends(path, "/unique_id") || path_ends(path, "/serial_number")) {
        for (size_t i = 0; i < bytes.len; i++)
            buf_char(out, isalnum((unsigned char)bytes.at[i]) ? '0' : bytes.at[i]);
    } else if (path_ends(path, "/mounts")) {
        struct str rest = bytes, line;
        while (str_cut(&rest, '\n', &line))
            if (str_contains(line, " /proc proc "))
                buf_printf(out, STR_FMT "\n", STR_ARG(line));
    } else {
        privacy_text(&b->privacy, out, bytes);
    }
}

static void add_file(struct bundle *b, const char *name, struct str bytes)
{
    tar_file(&b->tar, name, bytes);
    buf_printf(&b->list, "  %s (%zu bytes)\n", name, bytes.len);
    b->files++;
}

static void add_caught(struct bundle *b, const struct caught_entry *entries, size_t count)
{
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        const struct caught_entry *e = &entries[i];
        const char *name = e->path + 1;
        if (!e->path[0] || !name[0] || !wanted(b, e->path))
            continue;
        /* What was read as a link, and has something below it all the same, is a folder. */
        size_t len = strlen(e->path);
        bool has_below = i + 1 < count && strncmp(entries[i + 1].path, e->path, len) == 0 && entries[i + 1].path[len] == '/';
        if (e->kind == READ_FOLDER) {
            tar_folder(&b->tar, name);
        } else if (e->kind == READ_LINK && !has_below) {
            tar_link(&b->tar, name, e->bytes.at);
        } else if (e->kind == READ_FILE) {
            AUTO_BUF struct buf text = BUF(CAUGHT_BYTES_MAX);
            add_private_file(b, e->path, e->bytes, &text);
            tar_file(&b->tar, name, buf_view(&text));
            b->files++;
            shown++;
        }
    }
    buf_printf(&b->list, "  sys, proc, etc: %zu files that whirr reads\n", shown);
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

/* These are read from the files of the bundle once more when it is replayed. */
static bool read_from_files(const struct gpu *gpu)
{
    return strcmp(gpu->source, "amdgpu") == 0 || strcmp(gpu->source, "intel") == 0 || strcmp(gpu->source, "drm") == 0;
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
    return copy;
}

static int add_recording(struct bundle *b, struct error *err)
{
    char folder[] = "/tmp/whirr-bundle-XXXXXX", path[64];
    if (!mkdtemp(folder))
        return error_set(err, -errno, "cannot make a folder in /tmp: %s", strerror(errno));
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
        add_file(b, "whirr/recording", buf_view(&bytes));
    return rc;
}

/* ---- reports ---- */

static void add_reports(struct bundle *b, const struct doctor_facts *facts, const char *described)
{
    const struct snapshot *last = b->samples[b->sample_count - 1];
    struct page page = {.width = 100, .utf8 = true, .now = last->taken_at};
    AUTO_FREE struct findings *findings = malloc(sizeof *findings);
    AUTO_BUF struct buf text = BUF(4 * 1024 * 1024), json = BUF(ARCHIVE_MAX), clean = BUF(4 * 1024 * 1024);
    if (!findings)
        return;
    doctor_judge(facts, last, findings);
    doctor_text(&text, &page, facts, last, findings, described);
    privacy_text(&b->privacy, &clean, buf_view(&text));
    add_file(b, "whirr/doctor.txt", buf_view(&clean));
    struct json_writer j = JSON_WRITER_PRETTY(&json);
    json_metrics(&j, last, ALL_GPUS);
    add_file(b, "whirr/status.json", buf_view(&json));
}

static int fill(struct bundle *b, struct caught *caught, struct error *err)
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
        doctor_look(&b->cli->env, b->samples[b->sample_count - 1], facts);
        read_processes(&b->cli->env, b->samples[b->sample_count - 1]);
    }
    session_close(session);
    const struct caught_entry *entries;
    size_t count = caught_finish(caught, &b->cli->env, &entries);
    if (rc < 0)
        return rc;
    b->tar = (struct tar){.out = &b->archive, .time = b->samples[0]->taken_at};
    for (size_t i = 0; i < b->sample_count; i++)
        privacy_snapshot(&b->privacy, b->samples[i]);
    add_reports(b, facts, described.at ? described.at : "");
    rc = add_recording(b, err);
    if (rc < 0)
        return rc;
    add_caught(b, entries, count);
    tar_end(&b->tar);
    return b->archive.failed ? error_set(err, -EFBIG, "the machine does not fit into %d MiB", ARCHIVE_MAX >> 20) : 0;
}

static int save(const struct bundle *b, const char *path, struct error *err)
{
    AUTO_BUF struct buf packed = BUF(ARCHIVE_MAX + 1024 * 1024);
    if (!gzip_compress(buf_view(&b->archive), &packed))
        return error_set(err, -ENOSYS, "the archive could not be compressed: is libz.so.1 installed?");
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, -errno, "cannot create '%s': %s", path, strerror(errno));
    for (size_t at = 0; at < packed.len;) {
        ssize_t put = write(fd, packed.at + at, packed.len - at);
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

static void tell_people(const struct bundle *b, const struct caught *caught, const char *path)
{
    AUTO_BUF struct buf out = BUF(1024 * 1024);
    buf_printf(&out, "%s is written, with %zu files:\n", path, b->files);
    buf_str(&out, buf_view(&b->list));
    if (b->tar.left_out || caught_lost(caught))
        buf_printf(&out, "  (%zu were left out: too long a name, or too large)\n", b->tar.left_out + caught_lost(caught));
    if (b->privacy.off)
        buf_text(&out, "It holds host and user names, command lines, serial numbers and UUIDs, as you asked for.\n");
    else
        buf_printf(&out,
                   "Replaced by stand-ins: the host's name, %zu user names, %zu UUIDs, %zu serial numbers; command lines are left "
                   "out.\n",
                   b->privacy.users, b->privacy.uuids, b->privacy.serials);
    buf_printf(&out,
               "Look into it before you send it (tar tvzf %s). Replay it with:\n"
               "  mkdir machine && tar xzf %s -C machine && whirr --sysroot machine\n",
               path, path);
    show_text(&out);
}

int bundle_write(struct cli *cli, const char *path)
{
    struct error err = {0};
    struct bundle *b = calloc(1, sizeof *b);
    struct caught *caught = caught_new();
    int status = EXIT_FAILED;
    if (!b || !caught) {
        cli_fail("out of memory");
    } else {
        b->cli = cli;
        b->archive = BUF(ARCHIVE_MAX);
        b->list = BUF(65536);
        b->privacy.off = options_has(&cli->options, "with-private");
        if (access(path, F_OK) == 0)
            cli_fail("'%s' exists already", path);
        else if (fill(b, caught, &err) < 0 || save(b, path, &err) < 0)
            cli_fail("%s", err.text);
        else {
            tell_people(b, caught, path);
            status = EXIT_FINE;
        }
        bundle_done(b);
    }
    caught_free(caught);
    free(b);
    return status;
}
