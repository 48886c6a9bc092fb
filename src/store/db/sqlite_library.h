/* SPDX-License-Identifier: Apache-2.0
 * SQLite, loaded when a history is first opened: linking its 1,700 symbols would slow down the start of every command that does
 * not need them. A program that must run without a system SQLite, or with an old one, contains it (-Dsqlite=linked). Knows nothing
 * of statements and rows.
 */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

/* clang-format off */
#define SQLITE_FUNCTIONS(X) \
    X(open_v2) X(close_v2) X(exec) X(prepare_v3) X(finalize) X(bind_null) X(bind_int64) X(bind_text) X(step) X(reset) \
    X(column_type) X(column_int64) X(column_text) X(column_bytes) X(changes) X(system_errno) X(errmsg) X(config) \
    X(extended_result_codes) X(busy_timeout) X(libversion) X(libversion_number) X(progress_handler) X(backup_init) \
    X(backup_step) X(backup_finish) X(backup_remaining) X(backup_pagecount)
/* clang-format on */

struct sqlite_library {
#define DECLARE(name) typeof(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(DECLARE)
#undef DECLARE
};
/* Filled by sqlite_load. */
extern struct sqlite_library sqlite;

/* Retries on each call until it succeeds: the library may be installed while the daemon runs. */
int sqlite_load(struct error *err);
