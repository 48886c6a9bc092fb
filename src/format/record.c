/* SPDX-License-Identifier: Apache-2.0
 * The recorder: writes each snapshot as its difference to the previous one, each frame with one write.
 */
#include "format/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "model/finding.h"
#include "source/replay/codec.h"

/* Interval of whole snapshots: limits what is lost after a damaged frame. */
enum { KEY_EVERY = 600 };

struct recorder {
    int fd;
    char path[PATH_SIZE];
    off_t end;               /* of the last complete frame */
    struct snapshot *before; /* our own copy; NULL: write the next one whole */
    unsigned since_key;
    uint64_t samples;
};

/* Finds how much of the file is complete. -EINVAL: not a recording. */
static int find_end(const char *path, off_t *ret, struct error *err)
{
    AUTO_FCLOSE FILE *f = fopen(path, "rbe");
    if (!f)
        return error_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
    int r = frame_check_magic(f, path, err);
    if (r < 0)
        return r;
    struct frame frame = {0};
    bool torn;
    do {
        *ret = ftello(f);
        r = frame_read(f, &frame, &torn);
    } while (r == 1 || r == -EBADMSG);
    frame_done(&frame);
    return r == -ENOMEM ? error_set(err, r, "out of memory") : 0;
}

static int write_all(struct recorder *r, struct str bytes, struct error *err)
{
    ssize_t n = pwrite(r->fd, bytes.at, bytes.len, r->end);
    if (n == (ssize_t)bytes.len) {
        r->end += n;
        return 0;
    }
    int code = n < 0 ? -errno : -ENOSPC;
    if (ftruncate(r->fd, r->end) < 0) /* a torn frame would end every reading there */
        return error_set(err, -errno, "cannot repair the end of '%s': %s", r->path, strerror(errno));
    return error_set(err, code, "cannot write to '%s': %s", r->path, strerror(-code));
}

#define TOO_BIG "a sample is too big for a recording"

static void add_frame(struct buf *out, enum frame_type type, const struct buf *payload)
{
    out->failed |= payload->failed;
    out->no_memory |= payload->no_memory;
    if (!payload->failed)
        frame_build(out, type, buf_view(payload));
}

static int write_frame(struct recorder *r, enum frame_type type, struct buf *payload, struct error *err)
{
    AUTO_BUF struct buf frame = BUF(FRAME_MAX + FRAME_OVERHEAD_MAX);
    add_frame(&frame, type, payload);
    int rc = buf_check(&frame, err, TOO_BIG);
    return rc < 0 ? rc : write_all(r, buf_view(&frame), err);
}

static int record_begin(struct recorder *r, struct error *err)
{
    struct stat st;
    if (fstat(r->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "'%s' is not a regular file", r->path);
    if (st.st_size > 0) {
        int rc = find_end(r->path, &r->end, err);
        if (rc < 0)
            return rc;
        if (ftruncate(r->fd, r->end) < 0)
            return error_set(err, -errno, "cannot cut off the torn end of '%s': %s", r->path, strerror(errno));
    } else {
        int rc = write_all(r, STR(RECORDING_MAGIC), err);
        if (rc < 0)
            return rc;
    }
    AUTO_BUF struct buf schema = BUF(65536);
    schema_write(&schema);
    return write_frame(r, FRAME_SCHEMA, &schema, err);
}

struct recorder *recorder_open(const char *path, struct error *err)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (!r) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    str_copy(r->path, sizeof r->path, str_from(path));
    r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (r->fd < 0)
        error_set(err, -errno, "cannot open '%s' for recording: %s", path, strerror(errno));
    if (r->fd < 0 || record_begin(r, err) < 0) {
        recorder_close(r, NULL);
        return NULL;
    }
    return r;
}

int record_one(struct buf *out, const struct snapshot *s, struct error *err)
{
    struct snapshot *own = snapshot_copy(s);
    if (!own)
        return error_set(err, -ENOMEM, "out of memory");
    AUTO_BUF struct buf schema = BUF(65536), payload = BUF(FRAME_MAX);
    schema_write(&schema);
    snapshot_encode(&payload, own, NULL);
    snapshot_unref(own);
    buf_text(out, RECORDING_MAGIC);
    add_frame(out, FRAME_SCHEMA, &schema);
    add_frame(out, FRAME_KEY, &payload);
    return buf_check(out, err, TOO_BIG);
}

int recorder_add(struct recorder *r, const struct snapshot *s, struct error *err)
{
    struct snapshot *own = snapshot_copy(s);
    if (!own)
        return error_set(err, -ENOMEM, "out of memory");
    verdict_free(TAKE(own->verdict)); /* a recording is judged when it is played */
    bool key = !r->before || r->since_key >= KEY_EVERY;
    AUTO_BUF struct buf payload = BUF(FRAME_MAX);
    snapshot_encode(&payload, own, key ? NULL : r->before);
    int rc = write_frame(r, key ? FRAME_KEY : FRAME_DELTA, &payload, err);
    snapshot_unref(r->before);
    r->before = rc < 0 ? NULL : own;
    if (rc < 0) {
        snapshot_unref(own);
        return rc;
    }
    r->since_key = key ? 1 : r->since_key + 1;
    r->samples++;
    return 0;
}

uint64_t recorder_bytes(const struct recorder *r)
{
    return (uint64_t)r->end;
}

uint64_t recorder_samples(const struct recorder *r)
{
    return r->samples;
}

int recorder_close(struct recorder *r, struct error *err)
{
    if (!r)
        return 0;
    int rc = 0;
    if (r->fd >= 0) {
        if (fsync(r->fd) < 0 && errno != EINVAL)
            rc = error_set(err, -errno, "cannot bring '%s' to the disk: %s", r->path, strerror(errno));
        close(r->fd);
    }
    snapshot_unref(r->before);
    free(r);
    return rc;
}
