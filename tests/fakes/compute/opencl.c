/* SPDX-License-Identifier: Apache-2.0
 * A library between whirr and a real OpenCL of CPUs (pocl): it calls the CPU a GPU at a PCI address, with little memory, and can
 * break what is computed. WHIRR_FAKE_OPENCL: flip (a bit of the memory while it is tested), answer, link, lost, memory (half of it
 * can't be had).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE = 0x1000, ALLOCATION = 0x1010, MEMORY = 0x101f, UNIFIED = 0x1035, PCI = 0x410f, LARGEST = 48 << 20, TOTAL = 1 << 30 };
enum { NO_MEMORY = -4, LOST = -9999 };

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static int is_fault(const char *name)
{
    const char *fault = getenv("WHIRR_FAKE_OPENCL");
    return fault && strcmp(fault, name) == 0;
}

int clGetDeviceIDs(void *platform, uint64_t type, uint32_t most, void **devices, uint32_t *count)
{
    (void)type;
    return REAL(clGetDeviceIDs)(platform, 0xffffffff, most, devices, count);
}

int clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value, size_t *length)
{
    const uint32_t address[4] = {0, 1, 0, 0};
    if (what == PCI && size >= sizeof address)
        return memcpy(value, address, sizeof address), 0;
    if (what == TYPE || what == MEMORY || what == ALLOCATION)
        return memcpy(value, &(uint64_t){what == TYPE ? 4 : what == MEMORY ? TOTAL : LARGEST}, sizeof(uint64_t)), 0;
    if (what == UNIFIED)
        return memcpy(value, &(uint32_t){0}, sizeof(uint32_t)), 0;
    return REAL(clGetDeviceInfo)(device, what, size, value, length);
}

void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, int *code)
{
    static size_t given;
    if (is_fault("memory") && size >= 1 << 16 && (given += size) > TOTAL / 4)
        return *code = NO_MEMORY, NULL;
    return REAL(clCreateBuffer)(context, flags, size, host, code);
}

static char names[64][32];
static void *kernels[64], *buffers[64];
static size_t kernel_count;

void *clCreateKernel(void *program, const char *name, int *code)
{
    void *kernel = REAL(clCreateKernel)(program, name, code);
    strncpy(names[kernel_count], name, 31);
    kernels[kernel_count++] = kernel;
    return kernel;
}

static size_t which(const void *kernel)
{
    size_t i = 0;
    while (i < kernel_count && kernels[i] != kernel)
        i++;
    return i;
}

int clSetKernelArg(void *kernel, uint32_t index, size_t size, const void *value)
{
    if (index == 0 && size == sizeof(void *))
        memcpy(&buffers[which(kernel)], value, size);
    return REAL(clSetKernelArg)(kernel, index, size, value);
}

int clEnqueueWriteBuffer(void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void *, void **);
int clEnqueueReadBuffer(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *, void **);

/* A cell of the first chunk changes before it is read back. */
static void flip(void *queue, void *buffer)
{
    uint32_t word = 0;
    REAL(clEnqueueReadBuffer)(queue, buffer, 1, 4096, sizeof word, &word, 0, NULL, NULL);
    word ^= 1u << 5;
    REAL(clEnqueueWriteBuffer)(queue, buffer, 1, 4096, sizeof word, &word, 0, NULL, NULL);
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *first, const size_t *all,
                           const size_t *group, uint32_t waits, void *list, void **event)
{
    static int verified, launched;
    const char *name = names[which(kernel)];
    if (is_fault("lost") && ++launched > 200)
        return LOST;
    if (is_fault("flip") && strcmp(name, "memory_verify") == 0 && verified++ == 0)
        flip(queue, buffers[which(kernel)]);
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, first, all, group, waits, list, event);
}

int clEnqueueReadBuffer(void *queue, void *buffer, uint32_t wait, size_t from, size_t size, void *to, uint32_t waits, void *list,
                        void **event)
{
    int code = REAL(clEnqueueReadBuffer)(queue, buffer, wait, from, size, to, waits, list, event);
    if (is_fault("link") && size > 1 << 20) {
        REAL(clEnqueueReadBuffer)(queue, buffer, 1, from, size, to, 0, NULL, NULL);
        ((uint8_t *)to)[size / 3] ^= 1;
    }
    return code;
}
