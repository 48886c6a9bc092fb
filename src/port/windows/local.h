/* SPDX-License-Identifier: Apache-2.0
 * What a Unix socket is elsewhere: a file that says on which port of the loopback interface a daemon listens, and what it answers,
 * so that no other program is taken for it. A second file beside it has a key that its owner alone can read: who knows it is the
 * owner. Both vanish with the process that made them, however that ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LOCAL_WORD_SIZE = 33 };

struct local_door {
    uint16_t port;
    char answer[LOCAL_WORD_SIZE];
    char key[LOCAL_WORD_SIZE]; /* "-": it is not ours to know */
};

struct local_files;

/* With random words. 0 or -errno; -EADDRINUSE: a process that lives has one there. */
int local_door_open(const char *path, uint16_t port, struct local_door *ret, struct local_files **files);
void local_door_close(struct local_files *files); /* NULL is fine */
/* -ENOENT: there is none. */
int local_door_read(const char *path, struct local_door *ret);
