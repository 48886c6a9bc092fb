/* SPDX-License-Identifier: Apache-2.0
 * Stands in for Unix sockets: a file names the loopback port on which a daemon listens and the answer it gives, so that no other
 * program can pose as it. A second file holds a key that only its owner can read: a peer that knows it is the owner. Both vanish
 * with the process that made them, however it ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LOCAL_WORD_SIZE = 33 };

struct local_door {
    uint16_t port;
    char answer[LOCAL_WORD_SIZE];
    char key[LOCAL_WORD_SIZE]; /* "-": not readable by us */
};

struct local_files;

/* Creates both with random words. 0 or -errno; -EADDRINUSE: a live process has one there. */
int local_door_open(const char *path, uint16_t port, struct local_door *ret, struct local_files **files);
void local_door_close(struct local_files *files); /* accepts NULL */
/* -ENOENT: missing. */
int local_door_read(const char *path, struct local_door *ret);
