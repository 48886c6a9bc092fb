/* SPDX-License-Identifier: Apache-2.0
 * What a client may do. A token has one role or several; all roles may read.
 *
 *     read      what the API shows, with command lines masked
 *     commands  read, and command lines as they are
 *     silence   read, and silence alerts
 *     guard     read, and have models moved out of GPUs and back
 *     control   read, and end leases and change settings of GPUs
 *     admin     everything
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"

enum right {
    RIGHT_NONE = 0, /* of a route: open to everyone, like the login page */
    RIGHT_READ = 1 << 0,
    RIGHT_COMMANDS = 1 << 1,
    RIGHT_SILENCE = 1 << 2,
    RIGHT_GUARD = 1 << 3,
    RIGHT_CONTROL = 1 << 4,
    RIGHT_ADMIN = 1 << 5,
    RIGHTS_ALL = (RIGHT_ADMIN << 1) - 1,
};

enum { ROLES_SIZE = 48 };

/* Parses "read", "silence,guard"; -EINVAL with a sentence that lists the roles. */
int rights_parse(struct str roles, unsigned *ret, struct error *err);
/* "silence,guard"; all rights are "admin". */
const char *rights_roles(unsigned rights, char text[ROLES_SIZE]);
/* The role that grants this right: "silence". */
const char *right_role(enum right right);
/* Whether it changes something. */
bool right_acts(enum right right);
