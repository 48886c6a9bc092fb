/* SPDX-License-Identifier: Apache-2.0
 * Locks on whole files.
 */
#pragma once

enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };

int flock(int fd, int how);
