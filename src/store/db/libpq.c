/* SPDX-License-Identifier: Apache-2.0
 * Finds libpq and the functions in it.
 */
#include "store/db/libpq.h"

#include <errno.h>
#include <pthread.h>

#include "base/cleanup.h"

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
    {"PQclear", &pq.clear},
    {"PQenterPipelineMode", &pq.enter_pipeline},
    {"PQexitPipelineMode", &pq.exit_pipeline},
    {"PQpipelineSync", &pq.pipeline_sync},
    {"PQtransactionStatus", &pq.transaction_status},
    {"PQbackendPID", &pq.backend_pid},
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
            error_set(err, -ENOSYS, "PostgreSQL needs libpq 14 or later (Debian: libpq5): %s", why.text);
    }
    int rc = loaded ? 0 : -ENOSYS;
    pthread_mutex_unlock(&pq_lock);
    return rc;
}
