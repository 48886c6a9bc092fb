/* SPDX-License-Identifier: Apache-2.0
 * Loads libpq and its functions; decodes numbers.
 */
#include "store/db/pg_connection.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/library.h"

struct libpq pq;
static bool loaded;
static pthread_mutex_t pq_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct library_symbol symbols[] = {
    {"PQconnectdb", &pq.connectdb},
    {"PQstatus", &pq.status},
    {"PQerrorMessage", &pq.error_message},
    {"PQfinish", &pq.finish},
    {"PQsetnonblocking", &pq.set_nonblocking},
    {"PQsocket", &pq.socket},
    {"PQflush", &pq.flush},
    {"PQconsumeInput", &pq.consume_input},
    {"PQisBusy", &pq.is_busy},
    {"PQsendQuery", &pq.send_query},
    {"PQsendQueryParams", &pq.send_params},
    {"PQsendPrepare", &pq.send_prepare},
    {"PQsendQueryPrepared", &pq.send_prepared},
    {"PQgetResult", &pq.get_result},
    {"PQresultStatus", &pq.result_status},
    {"PQresultErrorField", &pq.error_field},
    {"PQresultErrorMessage", &pq.result_error},
    {"PQntuples", &pq.ntuples},
    {"PQgetvalue", &pq.getvalue},
    {"PQgetisnull", &pq.getisnull},
    {"PQgetlength", &pq.getlength},
    {"PQftype", &pq.ftype},
    {"PQclear", &pq.clear},
    {"PQenterPipelineMode", &pq.enter_pipeline},
    {"PQexitPipelineMode", &pq.exit_pipeline},
    {"PQpipelineSync", &pq.pipeline_sync},
    {"PQtransactionStatus", &pq.transaction_status},
    {"PQbackendPID", &pq.backend_pid},
    {"PQgetCancel", &pq.get_cancel},
    {"PQcancel", &pq.cancel},
    {"PQfreeCancel", &pq.free_cancel},
    {"PQsetNoticeProcessor", &pq.set_notices},
};

int libpq_load(const struct env *env, struct error *err)
{
    pthread_mutex_lock(&pq_lock);
    if (!loaded) {
        struct error why = {0};
        void *library = env->load_library(env, "libpq.so.5", &why);
        loaded = library && library_symbols(library, symbols, ARRAY_LEN(symbols), &why) == 0;
        if (!loaded)
            error_set(err, -ENOSYS, "PostgreSQL needs libpq 14 or later (%s): %s", library_package("libpq.so.5", "Debian: libpq5"),
                      why.text);
    }
    int rc = loaded ? 0 : -ENOSYS;
    pthread_mutex_unlock(&pq_lock);
    return rc;
}

/* Type OIDs, which PostgreSQL never changes. */
enum { TYPE_INT8 = 20, TYPE_INT2 = 21, TYPE_INT4 = 23, TYPE_NUMERIC = 1700 };
enum { NUMERIC_HEAD = 4, NUMERIC_NEGATIVE = 0x4000, NUMERIC_BASE = 10000 };

static int64_t big_endian(struct str value)
{
    uint64_t wide;
    uint32_t narrow;
    if (value.len == sizeof wide) {
        memcpy(&wide, value.at, sizeof wide);
        return (int64_t)be64toh(wide);
    }
    if (value.len == sizeof narrow) {
        memcpy(&narrow, value.at, sizeof narrow);
        return (int32_t)be32toh(narrow);
    }
    return value.len == 2 ? (int16_t)((unsigned char)value.at[0] << 8 | (unsigned char)value.at[1]) : 0;
}

/* Sums of 64-bit columns: four words (digit count, weight of the first digit, sign, scale), then base-10,000 digits. */
static int64_t numeric(struct str value)
{
    int64_t words[NUMERIC_HEAD] = {0}, number = 0;
    for (size_t i = 0; i < NUMERIC_HEAD && 2 * i + 2 <= value.len; i++)
        words[i] = big_endian((struct str){value.at + 2 * i, 2});
    for (int64_t i = 0; i <= words[1]; i++) {
        size_t at = 2 * (NUMERIC_HEAD + (size_t)i);
        /* Trailing zeros are omitted. */
        int64_t digit = i < words[0] && at + 2 <= value.len ? big_endian((struct str){value.at + at, 2}) : 0;
        if (__builtin_mul_overflow(number, NUMERIC_BASE, &number) || __builtin_add_overflow(number, digit, &number))
            return 0;
    }
    return words[2] == NUMERIC_NEGATIVE ? -number : number;
}

int64_t libpq_number(unsigned type, struct str value)
{
    int64_t number = 0;
    switch (type) {
    case TYPE_INT8:
    case TYPE_INT4:
    case TYPE_INT2: return big_endian(value);
    case TYPE_NUMERIC: return numeric(value);
    default: return str_to_i64(value, &number) ? number : 0;
    }
}
