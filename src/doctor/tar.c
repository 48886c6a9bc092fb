/* SPDX-License-Identifier: Apache-2.0
 * The ustar format: a block of 512 bytes in front of each entry, contents padded to blocks, two empty blocks at the end.
 */
#include "doctor/bundle.h"

#include <stdio.h>

enum { BLOCK = 512, NAME_MAX_ = 100, PREFIX_MAX = 155, TYPE_FILE = '0', TYPE_LINK = '2', TYPE_FOLDER = '5' };

/* As POSIX lays it out; every number is octal text. */
struct tar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2], user[32],
        group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

/* A long name is divided at a slash: prefix/name. */
static bool set_name(struct tar_header *h, const char *name)
{
    size_t len = strlen(name);
    if (len <= sizeof h->name) {
        memcpy(h->name, name, len);
        return true;
    }
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t front = (size_t)(slash - name), rest = len - front - 1;
        if (front > sizeof h->prefix)
            return false;
        if (rest > sizeof h->name || rest == 0)
            continue;
        memcpy(h->prefix, name, front);
        memcpy(h->name, slash + 1, rest);
        return true;
    }
    return false;
}

static void octal(char *field, size_t size, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%0*llo", (int)size - 1, (unsigned long long)value);
    memcpy(field, text, size);
}

static bool add_header(struct tar *t, const char *name, char type, unsigned mode, size_t size, const char *target)
{
    struct tar_header h = {.type = type};
    if (!set_name(&h, name) || strlen(target) > sizeof h.link) {
        t->left_out++;
        return false;
    }
    octal(h.mode, sizeof h.mode, mode);
    octal(h.uid, sizeof h.uid, 0);
    octal(h.gid, sizeof h.gid, 0);
    octal(h.size, sizeof h.size, size);
    octal(h.mtime, sizeof h.mtime, t->time.ms > 0 ? (uint64_t)(t->time.ms / MS_PER_S) : 0);
    memcpy(h.link, target, strlen(target));
    memcpy(h.magic, "ustar", 6);
    memcpy(h.version, "00", 2);
    /* The sum is taken with blanks in its own place. */
    memset(h.checksum, ' ', sizeof h.checksum);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof h; i++)
        sum += ((const unsigned char *)&h)[i];
    octal(h.checksum, 7, sum);
    buf_add(t->out, (const char *)&h, sizeof h);
    return true;
}

void tar_folder(struct tar *t, const char *name)
{
    char with_slash[PREFIX_MAX + NAME_MAX_ + 2];
    if (snprintf(with_slash, sizeof with_slash, "%s/", name) >= (int)sizeof with_slash) {
        t->left_out++;
        return;
    }
    add_header(t, with_slash, TYPE_FOLDER, 0755, 0, "");
}

void tar_file(struct tar *t, const char *name, struct str bytes)
{
    static const char zeros[BLOCK];
    if (!add_header(t, name, TYPE_FILE, 0644, bytes.len, ""))
        return;
    buf_str(t->out, bytes);
    if (bytes.len % BLOCK)
        buf_add(t->out, zeros, BLOCK - bytes.len % BLOCK);
}

void tar_link(struct tar *t, const char *name, const char *target)
{
    add_header(t, name, TYPE_LINK, 0777, 0, target);
}

void tar_end(struct tar *t)
{
    static const char zeros[2 * BLOCK];
    buf_add(t->out, zeros, sizeof zeros);
}
