/* SPDX-License-Identifier: Apache-2.0
 * Loads sd-bus and connects.
 */
#include "net/session_bus.h"

#include "base/cleanup.h"

bool session_bus_load(struct session_bus *b, const struct env *env)
{
    const struct library_symbol symbols[] = {{"sd_bus_open_user", &b->open_user},
                                             {"sd_bus_flush_close_unref", &b->flush_close_unref},
                                             {"sd_bus_set_method_call_timeout", &b->set_timeout},
                                             {"sd_bus_call_method", &b->call},
                                             {"sd_bus_get_property_trivial", &b->get_property},
                                             {"sd_bus_match_signal", &b->match_signal},
                                             {"sd_bus_process", &b->process},
                                             {"sd_bus_get_fd", &b->get_fd},
                                             {"sd_bus_message_read", &b->read},
                                             {"sd_bus_message_enter_container", &b->enter},
                                             {"sd_bus_message_unref", &b->unref},
                                             {"sd_bus_slot_unref", &b->slot_unref},
                                             {"sd_bus_error_free", &b->error_free}};
    void *library = env->load_library(env, "libsystemd.so.0", NULL);
    return library && library_symbols(library, symbols, ARRAY_LEN(symbols), NULL) == 0;
}

bool session_bus_connect(struct session_bus *b, uint64_t call_timeout_us)
{
    if (b->open_user(&b->connection) < 0) {
        b->connection = NULL;
        return false;
    }
    b->set_timeout(b->connection, call_timeout_us);
    return true;
}

void session_bus_disconnect(struct session_bus *b)
{
    if (b->connection)
        b->connection = b->flush_close_unref(b->connection);
}
