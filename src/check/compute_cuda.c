/* SPDX-License-Identifier: Apache-2.0
 * CUDA's driver API, loaded late and with our own declarations; the kernels are PTX text, which the driver compiles for its GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "check/compute.h"

extern const char kernels_ptx[], kernels_tensor_ptx[];

enum { CUDA_OK = 0, CUDA_OUT_OF_MEMORY = 2, CUDA_NO_DEVICE = 100, CUDA_DEVICE_UNAVAILABLE = 46, CUDA_NOT_READY = 600 };
enum {
    ATTRIBUTE_INTEGRATED = 18,
    ATTRIBUTE_CLOCK = 13,
    ATTRIBUTE_PROCESSORS = 16,
    ATTRIBUTE_MEMORY_CLOCK = 36,
    ATTRIBUTE_BUS = 37,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
};
enum { WAIT_BY_BLOCKING = 4, DEVICES_MAX = 64 };

struct cuda_uuid { /* passed by address only */
    unsigned char bytes[16];
};

/* clang-format off */
#define CUDA_CALLS(CALL) \
    CALL(init, "cuInit", (unsigned)) \
    CALL(driver_version, "cuDriverGetVersion", (int *)) \
    CALL(count, "cuDeviceGetCount", (int *)) \
    CALL(device, "cuDeviceGet", (int *, int)) \
    CALL(name, "cuDeviceGetName", (char *, int, int)) \
    CALL(uuid, "cuDeviceGetUuid_v2", (struct cuda_uuid *, int)) \
    CALL(old_uuid, "cuDeviceGetUuid", (struct cuda_uuid *, int)) \
    CALL(pci, "cuDeviceGetPCIBusId", (char *, int, int)) \
    CALL(attribute, "cuDeviceGetAttribute", (int *, int, int)) \
    CALL(total, "cuDeviceTotalMem_v2", (size_t *, int)) \
    CALL(create, "cuCtxCreate_v2", (void **, unsigned, int)) \
    CALL(destroy, "cuCtxDestroy_v2", (void *)) \
    CALL(memory, "cuMemGetInfo_v2", (size_t *, size_t *)) \
    CALL(allocate, "cuMemAlloc_v2", (uint64_t *, size_t)) \
    CALL(release, "cuMemFree_v2", (uint64_t)) \
    CALL(pin, "cuMemAllocHost_v2", (void **, size_t)) \
    CALL(unpin, "cuMemFreeHost", (void *)) \
    CALL(write, "cuMemcpyHtoD_v2", (uint64_t, const void *, size_t)) \
    CALL(read, "cuMemcpyDtoH_v2", (void *, uint64_t, size_t)) \
    CALL(write_later, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, void *)) \
    CALL(read_later, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *)) \
    CALL(load, "cuModuleLoadData", (void **, const void *)) \
    CALL(function, "cuModuleGetFunction", (void **, void *, const char *)) \
    CALL(launch, "cuLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    CALL(event, "cuEventCreate", (void **, unsigned)) \
    CALL(record, "cuEventRecord", (void *, void *)) \
    CALL(query, "cuEventQuery", (void *)) \
    CALL(elapsed, "cuEventElapsedTime", (float *, void *, void *)) \
    CALL(error_name, "cuGetErrorName", (int, const char **))
/* clang-format on */

struct cuda {
#define CALL(member, symbol, parameters) int(*member) parameters;
    CUDA_CALLS(CALL)
#undef CALL
    int at;
    void *context, *kernels[KERNEL_COUNT], *began, *ended, *host;
};

static int fail(struct cuda *c, int code, const char *what, struct error *err)
{
    const char *name = NULL;
    if (!c->error_name || c->error_name(code, &name) != CUDA_OK || !name)
        name = "unknown error";
    int rc = code == CUDA_OUT_OF_MEMORY        ? -ENOMEM
             : code == CUDA_DEVICE_UNAVAILABLE ? -EBUSY
             : code == CUDA_NO_DEVICE          ? -ENODEV
                                               : -EIO;
    return error_set(err, rc, "%s: %s (%d)", what, name, code);
}

static int load(const struct env *env, struct cuda *c, struct error *err)
{
    void *library = env->load_library(env, env->cuda_library, err);
    if (!library)
        return error_set(
            err, -ENOSYS,
            "no CUDA driver here: %s is missing (NVIDIA's driver brings it; Debian: libcuda1, Ubuntu: libnvidia-compute-VERSION; "
            "in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
            env->cuda_library);
    const struct library_symbol symbols[] = {
#define CALL(member, symbol, parameters) {symbol, &c->member, strcmp(symbol, "cuDeviceGetUuid_v2") == 0},
        CUDA_CALLS(CALL)
#undef CALL
    };
    return library_symbols(library, symbols, ARRAY_LEN(symbols), err) < 0 ? -ENOSYS : 0;
}

static void words_uuid(const struct cuda_uuid *u, const char *lead, char out[GPU_UUID_SIZE])
{
    size_t len = (size_t)snprintf(out, GPU_UUID_SIZE, "%s", lead);
    for (size_t i = 0; i < 16; i++)
        len += (size_t)snprintf(out + len, GPU_UUID_SIZE - len, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                u->bytes[i]);
}

/* By UUID; by PCI address where the source has none. With MIG the driver shows instances: the GPU's address finds the first one. */
static bool is_wanted(struct cuda *c, int at, const char *uuid, const char *pci, struct check_device *device)
{
    struct cuda_uuid own = {0}, whole = {0};
    char address[32] = "";
    if (c->old_uuid(&whole, at) != CUDA_OK || c->pci(address, sizeof address, at) != CUDA_OK)
        return false;
    device->instance = c->uuid && c->uuid(&own, at) == CUDA_OK && memcmp(&own, &whole, sizeof own) != 0;
    words_uuid(&whole, "GPU-", device->uuid);
    if (device->instance && strncmp(uuid, "MIG-", 4) == 0)
        words_uuid(&own, "MIG-", device->uuid);
    snprintf(device->pci, sizeof device->pci, "%.15s", address);
    return uuid[0] ? strcasecmp(device->uuid, uuid) == 0 : strcasecmp(device->pci, pci) == 0;
}

static int64_t attribute(struct cuda *c, int which)
{
    int value = 0;
    return c->attribute(&value, which, c->at) == CUDA_OK ? value : 0;
}

/* FP32 units of a multiprocessor: the architecture has them, not the product. */
static uint32_t lanes_of(int64_t major, int64_t minor)
{
    return (uint32_t)(major == 5 || (major == 6 && minor > 0)                  ? 128
                      : major == 6 || major == 7 || (major == 8 && minor == 0) ? 64
                                                                               : 128);
}

static void describe(struct cuda *c, struct check_device *device)
{
    size_t bytes = 0;
    int version = 0;
    c->name(device->name, sizeof device->name, c->at);
    c->driver_version(&version);
    snprintf(device->driver, sizeof device->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    device->total_bytes = c->total(&bytes, c->at) == CUDA_OK ? (int64_t)bytes : 0;
    device->memory_khz = attribute(c, ATTRIBUTE_MEMORY_CLOCK);
    device->bus_bits = attribute(c, ATTRIBUTE_BUS);
    device->clock_khz = attribute(c, ATTRIBUTE_CLOCK);
    device->processors = (uint32_t)attribute(c, ATTRIBUTE_PROCESSORS);
    device->integrated = attribute(c, ATTRIBUTE_INTEGRATED) != 0;
    int64_t major = attribute(c, ATTRIBUTE_MAJOR);
    device->fp32_lanes = lanes_of(major, attribute(c, ATTRIBUTE_MINOR));
    device->tensor = major >= 8;
}

static int cuda_find(struct cuda *c, const char *uuid, const char *pci, struct check_device *device, struct error *err)
{
    int count = 0, code = c->init(0);
    if (code != CUDA_OK)
        return fail(c, code, "cuInit", err);
    code = c->count(&count);
    for (int i = 0; code == CUDA_OK && i < MIN_OF(count, DEVICES_MAX); i++)
        if (c->device(&c->at, i) == CUDA_OK && is_wanted(c, c->at, uuid, pci, device))
            return 0;
    return error_set(err, -ENODEV, "the CUDA driver shows %d GPUs, and this one is not among them", count);
}

static int compile(struct cuda *c, struct check_device *device, struct error *err)
{
    void *module = NULL, *tensor = NULL;
    int code = c->load(&module, kernels_ptx);
    if (code == CUDA_OK && device->tensor && c->load(&tensor, kernels_tensor_ptx) != CUDA_OK)
        device->tensor = false;
    for (size_t i = 0; code == CUDA_OK && i < KERNEL_COUNT; i++)
        if (i != KERNEL_ANSWER_TENSOR || device->tensor)
            code = c->function(&c->kernels[i], i == KERNEL_ANSWER_TENSOR ? tensor : module, compute_kernel_names[i]);
    return code == CUDA_OK ? 0 : fail(c, code, "cuModuleLoadData", err);
}

static void cuda_close(struct compute *compute)
{
    struct cuda *c = (struct cuda *)compute;
    if (!c)
        return;
    if (c->host)
        c->unpin(c->host);
    if (c->context)
        c->destroy(c->context);
    free(c);
}

static int cuda_room(struct compute *compute, int64_t *free_bytes, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    size_t room = 0, total = 0;
    int code = c->memory(&room, &total);
    *free_bytes = (int64_t)room;
    return code == CUDA_OK ? 0 : fail(c, code, "cuMemGetInfo", err);
}

static int cuda_open(const struct env *env, const char *uuid, const char *pci, struct compute **ret, struct check_device *device,
                     struct error *err)
{
    struct cuda *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    /* Every GPU, in no surprising order, and nothing left in the user's home. */
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    device->shared = env_variable("CUDA_MPS_PIPE_DIRECTORY") != NULL;
    int rc = load(env, c, err);
    if (rc == 0)
        rc = cuda_find(c, uuid, pci, device, err);
    if (rc == 0) {
        describe(c, device);
        int code = c->create(&c->context, WAIT_BY_BLOCKING, c->at);
        rc = code == CUDA_OK ? compile(c, device, err) : fail(c, code, "cuCtxCreate", err);
    }
    if (rc == 0 && (c->event(&c->began, 0) != CUDA_OK || c->event(&c->ended, 0) != CUDA_OK))
        rc = error_set(err, -EIO, "cuEventCreate failed");
    if (rc == 0)
        rc = cuda_room((struct compute *)c, &device->free_bytes, err);
    if (rc < 0) {
        cuda_close((struct compute *)c);
        return rc;
    }
    *ret = (struct compute *)c;
    return 0;
}

static int cuda_allocate(struct compute *compute, int64_t bytes, uint64_t *ret, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    int code = c->allocate(ret, (size_t)bytes);
    return code == CUDA_OK ? 0 : fail(c, code, "cuMemAlloc", err);
}

static void cuda_release(struct compute *compute, uint64_t buffer)
{
    struct cuda *c = (struct cuda *)compute;
    c->release(buffer);
}

static int cuda_write(struct compute *compute, uint64_t to, const void *from, size_t bytes, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    int code = c->write(to, from, bytes);
    return code == CUDA_OK ? 0 : fail(c, code, "cuMemcpyHtoD", err);
}

static int cuda_read(struct compute *compute, void *to, uint64_t from, size_t bytes, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    int code = c->read(to, from, bytes);
    return code == CUDA_OK ? 0 : fail(c, code, "cuMemcpyDtoH", err);
}

static void *cuda_pinned(struct compute *compute, size_t bytes)
{
    struct cuda *c = (struct cuda *)compute;
    return c->pin(&c->host, bytes) == CUDA_OK ? c->host : NULL;
}

static int cuda_copy(struct compute *compute, uint64_t buffer, void *host, size_t bytes, bool to_gpu, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    int code = to_gpu ? c->write_later(buffer, host, bytes, NULL) : c->read_later(host, buffer, bytes, NULL);
    return code == CUDA_OK ? 0 : fail(c, code, "cuMemcpyAsync", err);
}

static int cuda_launch(struct compute *compute, const struct compute_work *w, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    uint32_t small[COMPUTE_ARGUMENTS_MAX];
    uint64_t large[COMPUTE_ARGUMENTS_MAX];
    void *arguments[COMPUTE_ARGUMENTS_MAX];
    for (size_t i = 0; i < w->count; i++) {
        small[i] = (uint32_t)w->arguments[i].value;
        large[i] = w->arguments[i].value;
        arguments[i] = w->arguments[i].kind == ARGUMENT_U32 ? (void *)&small[i] : (void *)&large[i];
    }
    int code = c->launch(c->kernels[w->kernel], w->groups, 1, 1, w->lanes, 1, 1, 0, NULL, arguments, NULL);
    return code == CUDA_OK ? 0 : fail(c, code, compute_kernel_names[w->kernel], err);
}

static int cuda_begin(struct compute *compute, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    int code = c->record(c->began, NULL);
    return code == CUDA_OK ? 0 : fail(c, code, "cuEventRecord", err);
}

static int cuda_end(struct compute *compute, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    int code = c->record(c->ended, NULL);
    return code == CUDA_OK ? 0 : fail(c, code, "cuEventRecord", err);
}

static int cuda_poll(struct compute *compute, double *ms, struct error *err)
{
    struct cuda *c = (struct cuda *)compute;
    float took = 0;
    int code = c->query(c->ended);
    if (code == CUDA_NOT_READY)
        return 0;
    if (code == CUDA_OK)
        code = c->elapsed(&took, c->began, c->ended);
    *ms = took;
    return code == CUDA_OK ? 1 : fail(c, code, "the GPU's work failed", err);
}

const struct compute_ops compute_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .room = cuda_room,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .pinned = cuda_pinned,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .begin = cuda_begin,
    .end = cuda_end,
    .poll = cuda_poll,
};
