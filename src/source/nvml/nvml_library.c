/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA's library: fills the function table, and starts and stops NVML. While it runs, the driver can't be unloaded and cards may
 * not sleep.
 */
#include "source/nvml/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/library.h"
#include "source/driver_places.h"
#include "source/sysfs/bus.h"

enum { NAMES_MAX = 2 };

static const struct {
    size_t slot;
    const char *names[NAMES_MAX];
} calls[] = {
#define CALL(slot, parameters, ...) {offsetof(struct nvml_library, slot), {__VA_ARGS__}},
#include "source/nvml/calls.def"
#undef CALL
};

static void *slot_of(const struct nvml_library *lib, size_t offset)
{
    void *function;
    memcpy(&function, (const char *)lib + offset, sizeof function);
    return function;
}

static void look_up(const struct nvml_library *lib, const char *name, void *to)
{
    (void)library_symbols(lib->handle, &(struct library_symbol){name, to, .optional = true}, 1, NULL);
}

/* nvmlInit clears a 14 MB table in 3,400 page faults: a sixth of the time of one look. Huge pages take some hundred. */
static void start_faster(const struct nvml_library *lib)
{
    library_fill_faster(lib->handle);
}

int nvml_library_open(struct nvml_library *lib, const struct env *env, struct error *err)
{
    *lib = (struct nvml_library){0};
    lib->handle = place_load_library(env, env->nvml_library, lib->place, err);
    if (!lib->handle) {
        error_prefix(err, "NVIDIA's library '%s' cannot be loaded", env->nvml_library);
        return err ? (err->code = -ENODEV) : -ENODEV;
    }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        void *function = NULL;
        for (size_t n = 0; n < NAMES_MAX && calls[i].names[n] && !function; n++)
            look_up(lib, calls[i].names[n], &function);
        memcpy((char *)lib + calls[i].slot, &function, sizeof function);
    }
    look_up(lib, "nvmlErrorString", &lib->error_string);
    if (!lib->init || !lib->shutdown || !lib->count || !lib->by_index)
        return error_set(err, -ENODEV, "'%s' is not NVIDIA's management library: it has no nvmlInit or no way to list devices",
                         env->nvml_library);
    if (env->one_look)
        start_faster(lib);
    return 0;
}

const char *nvml_words(const struct nvml_library *lib, int code)
{
    const char *words = lib->error_string ? lib->error_string(code) : NULL;
    if (words && words[0])
        return words;
    switch (code) {
    case NVML_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_GPU_IS_LOST: return "GPU is lost";
    case NVML_RESET_REQUIRED: return "GPU requires reset";
    case NVML_VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

void nvml_library_missing(const struct nvml_library *lib, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (slot_of(lib, calls[i].slot))
            continue;
        buf_printf(out, "%s%s", first ? "" : ", ", calls[i].names[0]);
        first = false;
    }
}

/* ---- NVML runs ---- */

static int init_error(struct nvml *n, int code, struct error *err)
{
    const char *words = nvml_words(&n->lib, code);
    const char *hint =
        (code == NVML_UNKNOWN || code == NVML_NO_PERMISSION) && bus_is_cut_off(n->env, "/dev/nvidiactl")
            ? "this container lost its GPUs (its device cgroup refuses /dev/nvidiactl); restart it, and see whirr doctor"
        : code == NVML_DRIVER_NOT_LOADED ? "the NVIDIA kernel driver is not loaded"
        : code == NVML_VERSION_MISMATCH
            ? "the library and the loaded kernel driver are of different versions; reboot the host or reload the driver"
        : code == NVML_NO_PERMISSION     ? "no access to /dev/nvidiactl; see its owner and mode"
        : code == NVML_LIBRARY_NOT_FOUND ? "a library of the driver is missing"
                                         : "NVML does not start";
    return error_set(err, -ENODEV, "%s: %s", words, hint);
}

static void learn_versions(struct nvml *n)
{
    char text[NVML_TEXT_SIZE] = "";
    int cuda = 0;
    if (NVML(n, driver_version, text, sizeof text) == NVML_OK)
        str_copy_clean(n->driver.driver_version, sizeof n->driver.driver_version, str_from(text));
    text[0] = '\0';
    if (NVML(n, nvml_version, text, sizeof text) == NVML_OK)
        str_copy_clean(n->driver.nvml_version, sizeof n->driver.nvml_version, str_from(text));
    if (NVML(n, cuda_version, &cuda) == NVML_OK && cuda > 0)
        snprintf(n->driver.cuda_version, sizeof n->driver.cuda_version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
}

int session_start(struct nvml *n, struct error *err)
{
    if (n->running)
        return 0;
    int code = n->lib.init();
    if (code != NVML_OK && code != NVML_ALREADY_INITIALIZED)
        return init_error(n, code, err);
    n->running = true;
    n->restart = false;
    if (!n->driver.nvml_version[0])
        learn_versions(n);
    return 0;
}

void session_stop(struct nvml *n)
{
    if (!n->running)
        return;
    events_done(n);
    nvapi_close(n);
    for (size_t i = 0; i < n->card_count; i++)
        card_detach(n, &n->cards[i]);
    if (!n->restart)
        n->lib.shutdown();
    n->running = false;
}
