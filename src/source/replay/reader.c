/* SPDX-License-Identifier: Apache-2.0
 * Reads a recording frame by frame, past damage and up to a torn end.
 */
#include "source/replay/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "source/replay/codec.h"

struct replay_reader {
    FILE *file;
    char path[PATH_SIZE];
    struct frame frame;
    struct recorded_columns schema;
    bool has_schema;
    const struct snapshot *last; /* base of the next difference; NULL: wait for a key frame */
    long good;                   /* start of the next frame */
    struct replay_reader_facts facts;
};

/* Takes ownership of the file, even on failure. */
static int replay_reader_start(FILE *file, const char *path, struct replay_reader **ret, struct error *err)
{
    int r = frame_check_magic(file, path, err);
    struct replay_reader *reader = r < 0 ? NULL : calloc(1, sizeof *reader);
    if (!reader) {
        fclose(file);
        return r < 0 ? r : error_set(err, -ENOMEM, "out of memory");
    }
    reader->file = file;
    reader->good = ftell(file);
    str_copy(reader->path, sizeof reader->path, str_from(path));
    *ret = reader;
    return 0;
}

/* Inside a directory: where a bundle has it, or directly. */
static void find_in_folder(const char *folder, char path[PATH_SIZE])
{
    static const char *const places[] = {"whirr/recording", "recording"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (snprintf(path, PATH_SIZE, "%s/%s", folder, places[i]) < PATH_SIZE && access(path, R_OK) == 0)
            return;
    }
    snprintf(path, PATH_SIZE, "%s/%s", folder, places[0]);
}

int replay_reader_open(const char *path, struct replay_reader **ret, struct error *err)
{
    char inside[PATH_SIZE];
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        find_in_folder(path, inside);
        path = inside;
    }
    FILE *file = fopen(path, "rbe");
    if (!file)
        return error_set(err, -errno, "cannot open the recording '%s': %s", path, strerror(errno));
    return replay_reader_start(file, path, ret, err);
}

int replay_reader_open_memory(const void *bytes, size_t len, struct replay_reader **ret, struct error *err)
{
    /* The stream is read-only: nothing writes to `bytes`. */
    FILE *file = len ? fmemopen((void *)bytes, len, "rb") : NULL;
    if (!file)
        return error_set(err, -EINVAL, "an empty recording");
    return replay_reader_start(file, "memory", ret, err);
}

void replay_reader_close(struct replay_reader *r)
{
    if (!r)
        return;
    fclose(r->file);
    frame_done(&r->frame);
    snapshot_unref(r->last);
    free(r);
}

static void replay_reader_forget(struct replay_reader *r)
{
    snapshot_unref(r->last);
    r->last = NULL;
}

int replay_reader_rewind(struct replay_reader *r, struct error *err)
{
    replay_reader_forget(r);
    r->facts = (struct replay_reader_facts){0};
    r->has_schema = false;
    if (fseek(r->file, 0, SEEK_SET) < 0)
        return error_set(err, -errno, "cannot go back in '%s': %s", r->path, strerror(errno));
    int rc = frame_check_magic(r->file, r->path, err);
    r->good = ftell(r->file);
    return rc;
}

static void damage(struct replay_reader *r)
{
    r->facts.damaged++;
    replay_reader_forget(r);
}

/* 1: a snapshot; 0: something else, or a damaged one, which is counted; -ENOMEM. */
static int take_frame(struct replay_reader *r, struct snapshot **ret)
{
    const struct frame *f = &r->frame;
    if (f->type == FRAME_SCHEMA) {
        r->has_schema = schema_read(f->payload, f->len, &r->schema) == 0;
        replay_reader_forget(r);
        if (!r->has_schema)
            damage(r);
        return 0;
    }
    bool key = f->type == FRAME_KEY;
    if (!key && f->type != FRAME_DELTA)
        return 0; /* from a later version: skip it */
    if (!r->has_schema || (!key && !r->last)) {
        r->facts.damaged++; /* its base frame was lost */
        return 0;
    }
    int rc = snapshot_decode(f->payload, f->len, &r->schema, key ? NULL : r->last, ret);
    if (rc == -ENOMEM)
        return rc;
    if (rc < 0) {
        damage(r);
        return 0;
    }
    return 1;
}

int replay_reader_next(struct replay_reader *r, const struct snapshot **ret, struct error *err)
{
    for (;;) {
        int rc = frame_read(r->file, &r->frame, &r->facts.torn);
        if (rc == 0) {
            /* More may be written: retry from the start of this frame. */
            clearerr(r->file);
            if (r->good >= 0)
                fseek(r->file, r->good, SEEK_SET);
            return 0;
        }
        if (rc == -ENOMEM)
            return error_set(err, rc, "out of memory");
        if (rc == -EIO)
            return error_set(err, rc, "cannot read '%s'", r->path);
        if (rc == -EPROTO)
            return error_set(err, -EBADMSG, "'%s' is damaged at byte %ld; what comes behind cannot be found", r->path, r->good);
        r->good = ftell(r->file);
        if (rc == -EBADMSG) {
            damage(r);
            continue;
        }
        struct snapshot *now = NULL;
        rc = take_frame(r, &now);
        if (rc < 0)
            return error_set(err, rc, "out of memory");
        if (rc == 0)
            continue;
        replay_reader_forget(r);
        r->last = now;
        r->facts.samples++;
        *ret = snapshot_ref(now);
        return 1;
    }
}

struct replay_reader_facts replay_reader_facts(const struct replay_reader *r)
{
    return r->facts;
}
