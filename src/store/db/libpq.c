/* SPDX-License-Identifier: Apache-2.0
 * Finds libpq and the functions in it.
 */
#include "store/db/libpq.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"

struct libpq pq;
static bool loaded;
static pthread_mutex_t pq_lock = PTHREAD_MUTEX_INITIALIZER;

static bool look_up(void *library, struct error *err)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
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
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) {
            error_set(err, -ENOSYS, "libpq has no %s: version 14 or later is needed", symbols[i].name);
            return false;
        }
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return true;
}

int libpq_load(const struct env *env, struct error *err)
{
    pthread_mutex_lock(&pq_lock);
    if (!loaded) {
        struct error why = {0};
        void *library = env->load_library(env, "libpq.so.5", &why);
        if (!library)
            error_set(err, -ENOSYS, "PostgreSQL needs libpq (Debian: libpq5): %s", why.text);
        loaded = library && look_up(library, err);
    }
    int rc = loaded ? 0 : -ENOSYS;
    pthread_mutex_unlock(&pq_lock);
    return rc;
}
