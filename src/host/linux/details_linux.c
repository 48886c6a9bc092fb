/* SPDX-License-Identifier: Apache-2.0
 * Details of one process for the person who asks: full command, directory, GPU files, environment. Read with that person's
 * privileges, never stored or sent.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"
#include "host/linux/process_files.h"
#include "host/procfs.h"

enum {
    TEXT_SIZE = 256 << 10,
    LINE_SIZE = 4096,
    FILES_LOOKED_AT = 4096,
    DEVICES_SHOWN = 32,
    DEVICE_SIZE = 64,
};

static ssize_t read_long(const struct env *env, int32_t pid, const char *file, struct buf *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return file_read_all(env, path, out);
}

static void add_command(const struct env *env, int32_t pid, bool show_secrets, struct buf *out)
{
    AUTO_BUF struct buf text = BUF(TEXT_SIZE);
    struct str args[ARGUMENTS_MAX];
    if (read_long(env, pid, "cmdline", &text) < 0 || !text.len)
        return;
    size_t count = proc_arguments(buf_view(&text), args, ARGUMENTS_MAX);
    details_add_command(out, args, count, show_secrets);
}

static void add_directory(const struct env *env, int32_t pid, struct buf *out)
{
    char path[64], directory[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    if (file_read_link(env, path, directory, sizeof directory) > 0)
        details_add(out, "Directory", directory);
}

static int details_by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "/dev/nvidia0 (12), /dev/nvidiactl (3)" */
static void add_files(const struct env *env, int32_t pid, struct buf *out)
{
    char folder[64], path[PATH_SIZE], target[PATH_SIZE], found[DEVICES_SHOWN][DEVICE_SIZE] = {0}, line[LINE_SIZE] = "";
    int times[DEVICES_SHOWN] = {0};
    size_t count = 0, used = 0;
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    AUTO_DIR DIR *dir = dir_open(env, folder);
    if (!dir) {
        details_add(out, "GPU files", details_refusal(-errno));
        return;
    }
    struct dirent *entry;
    char all[DEVICES_SHOWN * 8][DEVICE_SIZE];
    size_t files = 0;
    for (int i = 0; i < FILES_LOOKED_AT && files < ARRAY_LEN(all) && (entry = readdir(dir)); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (file_read_link(env, path, target, sizeof target) > 0 && is_gpu_file(target))
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
    ssize_t rc = read_long(env, pid, "environ", &text);
    if (rc < 0 || !text.len) {
        details_add(out, "Environment", rc < 0 ? details_refusal(rc) : "empty");
        return;
    }
    details_add_environment(out, buf_view(&text), show_secrets);
}

int process_details(const struct env *env, int32_t pid, int64_t start_key, bool show_secrets, struct buf *out)
{
    char text[1024], path[64];
    struct proc_stat stat;
    struct env quiet = *env; /* keep out of recordings */
    quiet.on_read = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    ssize_t len = file_read_head(&quiet, path, text, sizeof text);
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
