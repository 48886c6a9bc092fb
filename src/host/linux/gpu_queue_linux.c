/* SPDX-License-Identifier: Apache-2.0
 * Tracing for a moment: an instance of tracefs, which leaves other traces of the host alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "host/gpu_queue.h"

#define EVENTS "/events/gpu_scheduler"
#define INSTANCE "/instances/whirr"

static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* The place with these events; NULL with the reason. */
static const char *find_place(const struct env *env, struct error *err)
{
    char path[PATH_SIZE];
    int rc = -ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof path, "%s" EVENTS, places[i]);
        AUTO_CLOSE int fd = dir_fd_open(env, path);
        if (fd >= 0)
            return places[i];
        AUTO_CLOSE int base = dir_fd_open(env, places[i]);
        rc = base == -EACCES || fd == -EACCES ? -EPERM : rc;
    }
    if (rc == -EPERM)
        error_set(err, rc, "the kernel lets only root trace: sudo whirr watch --queues");
    else
        error_set(err, rc,
                  "the kernel has no events of gpu_scheduler in /sys/kernel/tracing: no GPU with amdgpu, xe or another driver "
                  "that uses drm's scheduler, or tracefs is not mounted");
    return NULL;
}

static int write_word(const struct env *env, const char *place, const char *file, const char *word)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s" INSTANCE "%s", place, file);
    return file_write(env, path, str_from(word));
}

static int trace_for(const struct env *env, const char *place, int64_t ms, struct buf *out)
{
    char path[PATH_SIZE];
    write_word(env, place, "/buffer_size_kb", "512"); /* of each CPU */
    int rc = write_word(env, place, EVENTS "/enable", "1");
    if (rc < 0)
        return rc;
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * NS_PER_MS};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
    rc = write_word(env, place, EVENTS "/enable", "0");
    snprintf(path, sizeof path, "%s" INSTANCE "/trace", place);
    int read = file_read_all(env, path, out);
    return rc < 0 ? rc : read;
}

int queue_take(const struct env *env, int64_t ms, struct queue_look *ret, struct error *err)
{
    AUTO_BUF struct buf text = BUF(QUEUE_TEXT_MAX);
    char path[PATH_SIZE];
    const char *place = find_place(env, err);
    int rc = place ? env_path(env, path, "%s" INSTANCE, place) : err->code;
    if (rc < 0)
        return rc;
    AUTO_CLOSE int other = dir_fd_open_at(AT_FDCWD, path);
    if (other >= 0 && flock(other, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, -EBUSY, "another whirr is tracing these queues");
    if (other >= 0)
        rmdir(path); /* of one that was killed */
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "can't make %s: %s", path, strerror(errno));
    AUTO_CLOSE int own = dir_fd_open_at(AT_FDCWD, path);
    if (own >= 0)
        flock(own, LOCK_EX | LOCK_NB);
    rc = trace_for(env, place, ms, &text);
    rmdir(path);
    if (rc < 0)
        return error_set(err, rc, "can't trace in %s: %s", path, strerror(-rc));
    return queue_judge(buf_view(&text), ret);
}
