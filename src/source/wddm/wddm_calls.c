/* SPDX-License-Identifier: Apache-2.0
 * Fills the function table from gdi32.dll and pdh.dll, loaded lazily: a program that reads no GPU here needs neither.
 */
#include "source/wddm/wddm.h"

#include <errno.h>

#include "base/cleanup.h"

static int load(const struct env *env, const char *name, const struct library_symbol *symbols, size_t count, struct error *err)
{
    void *library = env->load_library(env, name, err);
    int rc = library ? library_symbols(library, symbols, count, err) : -ENODEV;
    if (rc == 0)
        return 0;
    error_prefix(err, "%s", name);
    return err ? (err->code = -ENODEV) : -ENODEV;
}

int wddm_calls_load(const struct env *env, struct wddm_calls *ret, struct error *err)
{
    *ret = (struct wddm_calls){0};
    const struct library_symbol adapters[] = {
        {"D3DKMTEnumAdapters2", &ret->enum_adapters, false},
        {"D3DKMTQueryAdapterInfo", &ret->query_adapter, false},
        {"D3DKMTCloseAdapter", &ret->close_adapter, false},
    };
    const struct library_symbol counters[] = {
        {"PdhOpenQueryW", &ret->open_query, false},    {"PdhAddEnglishCounterW", &ret->add_counter, false},
        {"PdhCollectQueryData", &ret->collect, false}, {"PdhGetFormattedCounterArrayW", &ret->values, false},
        {"PdhCloseQuery", &ret->close_query, false},
    };
    int rc = load(env, "gdi32.dll", adapters, ARRAY_LEN(adapters), err);
    return rc < 0 ? rc : load(env, "pdh.dll", counters, ARRAY_LEN(counters), err);
}
