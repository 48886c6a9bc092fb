/* SPDX-License-Identifier: Apache-2.0
 * OpenCL, for GPUs without CUDA. Through the system's loader; where that is missing or knows no platform (containers often lack the
 * files it reads), through a driver's own library and its table of functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/os/library.h"
#include "check/compute.h"

extern const char kernels_h[];

enum { PLATFORMS_MAX = 8, DEVICES_MAX = 32, COMPLETE = 0 };
enum {
    TYPE_GPU = 4,
    DEVICE_TYPE = 0x1000,
    DEVICE_UNITS = 0x1002,
    DEVICE_CLOCK = 0x100c,
    DEVICE_ALLOCATION = 0x1010,
    DEVICE_MEMORY = 0x101f,
    DEVICE_NAME = 0x102b,
    DEVICE_DRIVER = 0x102d,
    DEVICE_UNIFIED = 0x1035,
    DEVICE_NV_BUS = 0x4008,
    DEVICE_NV_SLOT = 0x4009,
    DEVICE_NV_DOMAIN = 0x400a,
    DEVICE_AMD_TOPOLOGY = 0x4037,
    DEVICE_AMD_FREE = 0x4039,
    DEVICE_PCI = 0x410f,
    QUEUE_PROFILING = 2,
    MEMORY_READ_WRITE = 1,
    EVENT_STATUS = 0x11d3,
    PROFILING_START = 0x1282,
    PROFILING_END = 0x1283,
    OUT_OF_DEVICE_MEMORY = -4,
    OUT_OF_RESOURCES = -5,
};

/* The number is the place in a driver's table: fixed by cl_icd.h for all times. */
/* clang-format off */
#define OPENCL_CALLS(CALL) \
    CALL(device_ids, 2, "clGetDeviceIDs", int, (void *, uint64_t, uint32_t, void **, uint32_t *)) \
    CALL(device_info, 3, "clGetDeviceInfo", int, (void *, uint32_t, size_t, void *, size_t *)) \
    CALL(create_context, 4, "clCreateContext", void *, (const void *, uint32_t, void *const *, void *, void *, int *)) \
    CALL(release_context, 7, "clReleaseContext", int, (void *)) \
    CALL(create_queue, 9, "clCreateCommandQueue", void *, (void *, void *, uint64_t, int *)) \
    CALL(create_buffer, 14, "clCreateBuffer", void *, (void *, uint64_t, size_t, void *, int *)) \
    CALL(release_buffer, 18, "clReleaseMemObject", int, (void *)) \
    CALL(create_program, 26, "clCreateProgramWithSource", void *, (void *, uint32_t, const char **, const size_t *, int *)) \
    CALL(build, 30, "clBuildProgram", int, (void *, uint32_t, void *const *, const char *, void *, void *)) \
    CALL(create_kernel, 34, "clCreateKernel", void *, (void *, const char *, int *)) \
    CALL(set_argument, 38, "clSetKernelArg", int, (void *, uint32_t, size_t, const void *)) \
    CALL(event_info, 42, "clGetEventInfo", int, (void *, uint32_t, size_t, void *, size_t *)) \
    CALL(release_event, 44, "clReleaseEvent", int, (void *)) \
    CALL(profiling, 45, "clGetEventProfilingInfo", int, (void *, uint32_t, size_t, void *, size_t *)) \
    CALL(flush, 46, "clFlush", int, (void *)) \
    CALL(read, 48, "clEnqueueReadBuffer", int, (void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *, void **)) \
    CALL(write, 49, "clEnqueueWriteBuffer", int, (void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void *, void **)) \
    CALL(run, 59, "clEnqueueNDRangeKernel", int, (void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, void *, void **))
/* clang-format on */

struct opencl {
#define CALL(member, place, symbol, type, parameters) type(*member) parameters;
    OPENCL_CALLS(CALL)
#undef CALL
    void *device, *context, *queue, *kernels[KERNEL_COUNT], *first, *last, *host;
};

static int fail(int code, const char *what, struct error *err)
{
    bool memory = code == OUT_OF_DEVICE_MEMORY || code == OUT_OF_RESOURCES || code == -6 || code == -61;
    return error_set(err, memory ? -ENOMEM : -EIO, "%s: OpenCL error %d%s", what, code, memory ? " (out of memory)" : "");
}

static uint64_t info(struct opencl *c, void *device, uint32_t what, size_t size)
{
    uint64_t value = 0;
    return c->device_info(device, what, size, &value, NULL) == 0 ? value : 0;
}

/* By PCI address, which the vendors tell in three ways; "" where none does. */
static void address_of(struct opencl *c, void *device, char out[GPU_PCI_SIZE])
{
    uint32_t khr[4] = {0};
    unsigned char amd[24] = {0};
    out[0] = '\0';
    if (c->device_info(device, DEVICE_PCI, sizeof khr, khr, NULL) == 0)
        snprintf(out, GPU_PCI_SIZE, "%04x:%02x:%02x.%x", khr[0] & 0xffff, khr[1] & 0xff, khr[2] & 0x1f, khr[3] & 7);
    else if (c->device_info(device, DEVICE_AMD_TOPOLOGY, sizeof amd, amd, NULL) == 0)
        snprintf(out, GPU_PCI_SIZE, "0000:%02x:%02x.%x", amd[21], amd[22] & 0x1f, amd[23] & 7);
    else if (c->device_info(device, DEVICE_NV_BUS, 4, &khr[1], NULL) == 0 &&
             c->device_info(device, DEVICE_NV_SLOT, 4, &khr[2], NULL) == 0)
        snprintf(out, GPU_PCI_SIZE, "%04x:%02x:%02x.%x", (unsigned)info(c, device, DEVICE_NV_DOMAIN, 4) & 0xffff, khr[1] & 0xff,
                 khr[2] >> 3 & 0x1f, khr[2] & 7);
}

static bool search_platform(struct opencl *c, void *platform, const char *pci, struct check_device *device, int *seen)
{
    void *devices[DEVICES_MAX];
    uint32_t count = 0;
    if (c->device_ids(platform, TYPE_GPU, DEVICES_MAX, devices, &count) != 0)
        return false;
    for (uint32_t i = 0; i < MIN_OF(count, (uint32_t)DEVICES_MAX); i++) {
        if (!(info(c, devices[i], DEVICE_TYPE, 8) & TYPE_GPU))
            continue;
        ++*seen;
        address_of(c, devices[i], device->pci);
        if (!device->pci[0] || strcasecmp(device->pci, pci) != 0)
            continue;
        c->device = devices[i];
        return true;
    }
    return false;
}

/* With a loader its functions serve all platforms; a driver's are found in the table that its platform begins with. */
static int search_library(const struct env *env, const char *name, struct opencl *c, const char *pci, struct check_device *device,
                          int *seen)
{
    struct error ignored;
    void *platforms[PLATFORMS_MAX], *library = env->load_library(env, name, &ignored);
    uint32_t count = 0;
    if (!library)
        return -ENOSYS;
    int (*platform_ids)(uint32_t, void **, uint32_t *) = NULL;
    void *(*extension)(const char *) = NULL;
    void *ids = library_symbol(library, "clGetPlatformIDs"), *find = library_symbol(library, "clGetExtensionFunctionAddress");
    memcpy(&extension, &find, sizeof find);
    bool loader = strncmp(name, "libOpenCL", 9) == 0 || strstr(name, "/libOpenCL") != NULL;
    void *icd = !loader && extension ? extension("clIcdGetPlatformIDsKHR") : NULL;
    if (icd)
        ids = icd;
    memcpy(&platform_ids, &ids, sizeof ids);
    if (!platform_ids || platform_ids(PLATFORMS_MAX, platforms, &count) != 0 || count == 0)
        return -ENOSYS;
    for (uint32_t i = 0; i < MIN_OF(count, (uint32_t)PLATFORMS_MAX); i++) {
        void *const *table = icd ? *(void *const **)platforms[i] : NULL;
#define CALL(member, place, symbol, type, parameters)                            \
    {                                                                            \
        void *function = table ? table[place] : library_symbol(library, symbol); \
        if (!function)                                                           \
            return -ENOSYS;                                                      \
        memcpy(&c->member, &function, sizeof function);                          \
    }
        OPENCL_CALLS(CALL)
#undef CALL
        if (search_platform(c, platforms[i], pci, device, seen))
            return 0;
    }
    return -ENODEV;
}

static int compile(struct opencl *c, struct error *err)
{
    const char *source = kernels_h;
    int code = 0;
    void *program = c->create_program(c->context, 1, &source, NULL, &code);
    if (code == 0)
        code = c->build(program, 1, &c->device, "-cl-std=CL1.2", NULL, NULL);
    for (size_t i = 0; code == 0 && i < KERNEL_COUNT; i++)
        if (i != KERNEL_ANSWER_TENSOR)
            c->kernels[i] = c->create_kernel(program, compute_kernel_names[i], &code);
    return code == 0 ? 0 : fail(code, "the driver can't compile the kernels", err);
}

static void opencl_close(struct compute *compute)
{
    struct opencl *c = (struct opencl *)compute;
    if (!c)
        return;
    if (c->context)
        c->release_context(c->context);
    free(c->host);
    free(c);
}

static int opencl_room(struct compute *compute, int64_t *free_bytes, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    size_t kib[2] = {0};
    if (c->device_info(c->device, DEVICE_AMD_FREE, sizeof kib, kib, NULL) != 0)
        return error_set(err, -ENOTSUP, "OpenCL can't tell free memory");
    *free_bytes = (int64_t)kib[0] << 10;
    return 0;
}

static void describe(struct opencl *c, struct check_device *device)
{
    struct error ignored;
    c->device_info(c->device, DEVICE_NAME, sizeof device->name - 1, device->name, NULL);
    c->device_info(c->device, DEVICE_DRIVER, sizeof device->driver - 1, device->driver, NULL);
    device->total_bytes = (int64_t)info(c, c->device, DEVICE_MEMORY, 8);
    device->largest_bytes = (int64_t)info(c, c->device, DEVICE_ALLOCATION, 8);
    device->processors = (uint32_t)info(c, c->device, DEVICE_UNITS, 4);
    device->clock_khz = (int64_t)info(c, c->device, DEVICE_CLOCK, 4) * 1000;
    device->integrated = info(c, c->device, DEVICE_UNIFIED, 4) != 0;
    device->free_bytes = device->total_bytes;
    if (opencl_room((struct compute *)c, &device->free_bytes, &ignored) < 0)
        device->free_bytes = device->total_bytes;
}

static int opencl_open(const struct env *env, const char *uuid, const char *pci, struct compute **ret, struct check_device *device,
                       struct error *err)
{
    (void)uuid;
    const char *own = env_variable("WHIRR_OPENCL_LIBRARY");
    const char *const libraries[] = {own ? own : "libOpenCL.so.1",
                                     "libamdocl64.so",
                                     "/opt/rocm/lib/libamdocl64.so",
                                     "libigdrcl.so",
                                     "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so",
                                     "libnvidia-opencl.so.1",
                                     "libRusticlOpenCL.so.1"};
    struct opencl *c = calloc(1, sizeof *c);
    int seen = 0, code = 0, rc = -ENOSYS;
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; rc < 0 && i < (own ? 1 : ARRAY_LEN(libraries)); i++) {
        int found = search_library(env, libraries[i], c, pci, device, &seen);
        rc = found == 0 ? 0 : found == -ENODEV ? -ENODEV : rc;
    }
    if (rc < 0) {
        free(c);
        return error_set(err, rc,
                         rc == -ENOSYS ? "no OpenCL driver here (AMD: rocm-opencl-runtime; Intel: intel-opencl-icd; Mesa: "
                                         "mesa-opencl-icd and RUSTICL_ENABLE)"
                                       : "OpenCL shows %d GPUs, and this one is not among them",
                         seen);
    }
    describe(c, device);
    c->context = c->create_context(NULL, 1, &c->device, NULL, NULL, &code);
    if (code == 0)
        c->queue = c->create_queue(c->context, c->device, QUEUE_PROFILING, &code);
    rc = code == 0 ? compile(c, err) : fail(code, "no context", err);
    if (rc < 0) {
        opencl_close((struct compute *)c);
        return rc;
    }
    *ret = (struct compute *)c;
    return 0;
}

static int opencl_allocate(struct compute *compute, int64_t bytes, uint64_t *ret, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    int code = 0;
    void *buffer = c->create_buffer(c->context, MEMORY_READ_WRITE, (size_t)bytes, NULL, &code);
    *ret = (uint64_t)(uintptr_t)buffer;
    return code == 0 ? 0 : fail(code, "clCreateBuffer", err);
}

static void opencl_release(struct compute *compute, uint64_t buffer)
{
    struct opencl *c = (struct opencl *)compute;
    c->release_buffer((void *)(uintptr_t)buffer);
}

static int opencl_write(struct compute *compute, uint64_t to, const void *from, size_t bytes, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    int code = c->write(c->queue, (void *)(uintptr_t)to, 1, 0, bytes, from, 0, NULL, NULL);
    return code == 0 ? 0 : fail(code, "clEnqueueWriteBuffer", err);
}

static int opencl_read(struct compute *compute, void *to, uint64_t from, size_t bytes, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    int code = c->read(c->queue, (void *)(uintptr_t)from, 1, 0, bytes, to, 0, NULL, NULL);
    return code == 0 ? 0 : fail(code, "clEnqueueReadBuffer", err);
}

/* Ordinary memory: OpenCL has no portable way to pin it, and link speed through it is not judged. */
static void *opencl_pinned(struct compute *compute, size_t bytes)
{
    struct opencl *c = (struct opencl *)compute;
    c->host = malloc(bytes);
    return c->host;
}

static void keep_event(struct opencl *c, void *event)
{
    if (!c->first) {
        c->first = event;
    } else {
        if (c->last)
            c->release_event(c->last);
        c->last = event;
    }
}

static int opencl_copy(struct compute *compute, uint64_t buffer, void *host, size_t bytes, bool to_gpu, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    void *event = NULL, *at = (void *)(uintptr_t)buffer;
    int code = to_gpu ? c->write(c->queue, at, 0, 0, bytes, host, 0, NULL, &event)
                      : c->read(c->queue, at, 0, 0, bytes, host, 0, NULL, &event);
    if (code == 0)
        keep_event(c, event);
    return code == 0 ? 0 : fail(code, "copying over the link", err);
}

static int opencl_launch(struct compute *compute, const struct compute_work *w, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    size_t lanes = w->lanes, all = lanes * w->groups;
    void *event = NULL, *kernel = c->kernels[w->kernel];
    int code = 0;
    for (size_t i = 0; code == 0 && i < w->count; i++) {
        const struct compute_argument *a = &w->arguments[i];
        uint32_t small = (uint32_t)a->value;
        void *buffer = (void *)(uintptr_t)a->value;
        code = a->kind == ARGUMENT_U32   ? c->set_argument(kernel, (uint32_t)i, sizeof small, &small)
               : a->kind == ARGUMENT_U64 ? c->set_argument(kernel, (uint32_t)i, sizeof a->value, &a->value)
                                         : c->set_argument(kernel, (uint32_t)i, sizeof buffer, &buffer);
    }
    if (code == 0)
        code = c->run(c->queue, kernel, 1, NULL, &all, &lanes, 0, NULL, &event);
    if (code == 0)
        keep_event(c, event);
    return code == 0 ? 0 : fail(code, compute_kernel_names[w->kernel], err);
}

static void forget_events(struct opencl *c)
{
    if (c->first)
        c->release_event(c->first);
    if (c->last)
        c->release_event(c->last);
    c->first = c->last = NULL;
}

static int opencl_begin(struct compute *compute, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    (void)err;
    forget_events(c);
    return 0;
}

static int opencl_end(struct compute *compute, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    int code = c->flush(c->queue);
    return code == 0 ? 0 : fail(code, "clFlush", err);
}

static int opencl_poll(struct compute *compute, double *ms, struct error *err)
{
    struct opencl *c = (struct opencl *)compute;
    void *last = c->last ? c->last : c->first;
    int status = COMPLETE;
    uint64_t from = 0, to = 0;
    int code = last ? c->event_info(last, EVENT_STATUS, sizeof status, &status, NULL) : 0;
    if (code == 0 && status < 0)
        code = status;
    if (code != 0)
        return fail(code, "the GPU's work failed", err);
    if (status != COMPLETE)
        return 0;
    if (last && (c->profiling(c->first, PROFILING_START, sizeof from, &from, NULL) != 0 ||
                 c->profiling(last, PROFILING_END, sizeof to, &to, NULL) != 0))
        from = to;
    *ms = (double)(to - from) / 1e6;
    return 1;
}

const struct compute_ops compute_opencl = {
    .name = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .room = opencl_room,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .write = opencl_write,
    .read = opencl_read,
    .pinned = opencl_pinned,
    .copy = opencl_copy,
    .launch = opencl_launch,
    .begin = opencl_begin,
    .end = opencl_end,
    .poll = opencl_poll,
};
