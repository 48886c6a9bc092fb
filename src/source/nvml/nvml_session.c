/* SPDX-License-Identifier: Apache-2.0
 * Starts and stops NVML: while it runs, the driver can't be unloaded and cards may not sleep.
 */
#include "source/nvml/internal.h"

#include <errno.h>
#include <stdio.h>

#include "source/sysfs/bus.h"

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
    if (n->lib.driver_version && n->lib.driver_version(text, sizeof text) == NVML_OK)
        str_copy_clean(n->driver.driver_version, sizeof n->driver.driver_version, str_from(text));
    text[0] = '\0';
    if (n->lib.nvml_version && n->lib.nvml_version(text, sizeof text) == NVML_OK)
        str_copy_clean(n->driver.nvml_version, sizeof n->driver.nvml_version, str_from(text));
    if (n->lib.cuda_version && n->lib.cuda_version(&cuda) == NVML_OK && cuda > 0)
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
