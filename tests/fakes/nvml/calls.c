/* SPDX-License-Identifier: Apache-2.0
 * The exported functions of the fake NVML. Handles are numbers, never addresses: a program that looks inside one crashes.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

const unsigned fake_release = FAKE_DRIVER;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened;
static struct {
    const char *call;
    unsigned long count;
} counts[FAKE_CALLS];

/* Into the file of that name, a line for each time that processes are listed: who waits for a sample sees it come. */
static void note_sample(const char *call)
{
    const char *path = strncmp(call, "nvmlDeviceGetComputeRunningProcesses", 36) == 0 ? getenv("WHIRR_FAKE_NVML_SAMPLES") : NULL;
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%s\n", call);
        fclose(f);
    }
}

/* For a program that is run as a whole: it is killed before that call of all. */
static void kill_at(void)
{
    static unsigned long made;
    const char *at = getenv("WHIRR_FAKE_NVML_KILL");
    if (at && ++made == strtoul(at, NULL, 10))
        kill(getpid(), SIGKILL);
}

void fake_count(const char *call)
{
    note_sample(call);
    kill_at();
    for (int i = 0; i < FAKE_CALLS; i++) {
        if (!counts[i].call)
            counts[i].call = call;
        if (strcmp(counts[i].call, call) == 0) {
            counts[i].count++;
            return;
        }
    }
}

EXPORT unsigned long fake_nvml_calls(const char *call)
{
    unsigned long sum = 0;
    for (int i = 0; i < FAKE_CALLS && counts[i].call; i++)
        if (!call || strcmp(counts[i].call, call) == 0)
            sum += counts[i].count;
    return sum;
}

/* For a program that is run as a whole: what it asked for, into the file of that name. */
__attribute__((destructor)) static void write_calls(void)
{
    const char *path = getenv("WHIRR_FAKE_NVML_CALLS");
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int i = 0; f && i < FAKE_CALLS && counts[i].call; i++)
        fprintf(f, "%s %lu\n", counts[i].call, counts[i].count);
    if (f)
        fclose(f);
}

EXPORT void fake_nvml_reset_calls(void)
{
    memset(counts, 0, sizeof counts);
}

EXPORT int fake_nvml_open_count(void)
{
    return opened;
}

enum { HANDLE_GPU = 1, HANDLE_MIG = 0x10000 };

static nvml_device gpu_handle(unsigned gpu)
{
    return (nvml_device)(uintptr_t)(HANDLE_GPU + gpu);
}

static int gpu_of(nvml_device d)
{
    uintptr_t h = (uintptr_t)d;
    return h >= HANDLE_MIG ? (int)((h - HANDLE_MIG) / 64) : (int)h - HANDLE_GPU;
}

static struct fake_instance *instance_of(struct fake_state *s, nvml_device d)
{
    uintptr_t h = (uintptr_t)d;
    return h >= HANDLE_MIG ? &s->gpus[(h - HANDLE_MIG) / 64].instances[(h - HANDLE_MIG) % 64] : NULL;
}

static bool is_about(const struct fake_rule *r, const char *call, int gpu)
{
    if (r->call[0] >= '0' && r->call[0] <= '9') /* the n-th of all */
        return fake_nvml_calls(NULL) == strtoul(r->call, NULL, 10);
    bool whole_card = strcmp(r->call, "*") == 0 && gpu >= 0;
    return (r->gpu < 0 || r->gpu == gpu) && (strcmp(r->call, call) == 0 || whole_card);
}

static bool is_to_hang(const char *call, int gpu)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    const struct fake_state *s = fake_now();
    for (unsigned i = 0; i < s->rule_count; i++)
        found |= is_about(&s->rules[i], call, gpu) && s->rules[i].hang > 0;
    pthread_mutex_unlock(&lock);
    return found;
}

/* So long, or until the script says otherwise; meanwhile there is a file that says so. */
static void hang(double seconds, const char *call, int gpu)
{
    char path[512] = "";
    const char *script = getenv("WHIRR_FAKE_NVML");
    FILE *f = NULL;
    if (script && snprintf(path, sizeof path, "%s.hanging", script) < (int)sizeof path)
        f = fopen(path, "w");
    if (f)
        fclose(f);
    for (double slept = 0; slept < seconds && is_to_hang(call, gpu); slept += 0.02)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (f)
        unlink(path);
}

/* What the script says about the call; `gpu` -1 for those without one. Returns the state, or NULL with *code set. */
static struct fake_state *enter(const char *call, int gpu, int *code)
{
    pthread_mutex_lock(&lock);
    fake_count(call);
    struct fake_state *s = fake_now();
    double sleep = 0;
    *code = NVML_OK;
    for (unsigned i = 0; i < s->rule_count; i++) {
        const struct fake_rule *r = &s->rules[i];
        if (!is_about(r, call, gpu))
            continue;
        if (r->hang > 0)
            sleep = r->hang;
        else
            *code = r->code;
    }
    if (gpu >= 0 && (gpu >= (int)s->gpu_count || gpu >= FAKE_GPUS))
        *code = NVML_INVALID_ARGUMENT;
    else if (gpu >= 0 && s->gpus[gpu].value[FAKE_gone] && strncmp(call, "nvmlDeviceGetHandle", 19) != 0)
        *code = NVML_GPU_IS_LOST;
    bool starts = strncmp(call, "nvmlInit", 8) == 0;
    if (!starts && !opened)
        *code = NVML_UNINITIALIZED;
    pthread_mutex_unlock(&lock);
    if (sleep > 0)
        hang(sleep, call, gpu);
    return *code == NVML_OK ? s : NULL;
}

#define ENTER(gpu)                                         \
    int code_;                                             \
    struct fake_state *s = enter(__func__, (gpu), &code_); \
    if (!s)                                                \
    return code_
#define ENTER_GPU(device)                          \
    ENTER(gpu_of(device));                         \
    struct fake_gpu *g = &s->gpus[gpu_of(device)]; \
    (void)g
/* Instances of a divided card refuse what is measured for the whole card. */
#define WHOLE_ONLY(device)        \
    if (instance_of(s, (device))) \
    return NVML_NOT_SUPPORTED

static int give(int64_t value, unsigned *ret)
{
    if (value == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned)value;
    return NVML_OK;
}

static int give_text(const char *text, char *to, unsigned size)
{
    if (strlen(text) + 1 > size)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return NVML_OK;
}

#define SIMPLE(call, key)                              \
    EXPORT int call(nvml_device device, unsigned *ret) \
    {                                                  \
        ENTER_GPU(device);                             \
        WHOLE_ONLY(device);                            \
        return give(g->value[FAKE_##key], ret);        \
    }
#define WITH_PERIOD(call, key)                                           \
    EXPORT int call(nvml_device device, unsigned *ret, unsigned *period) \
    {                                                                    \
        ENTER_GPU(device);                                               \
        WHOLE_ONLY(device);                                              \
        *period = 100000;                                                \
        return give(g->value[FAKE_##key], ret);                          \
    }

/* The library */

EXPORT const char *nvmlErrorString(int code)
{
    switch (code) {
    case NVML_OK: return "Success";
    case NVML_UNINITIALIZED: return "Uninitialized";
    case NVML_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_NOT_SUPPORTED: return "Not Supported";
    case NVML_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_NOT_FOUND: return "Not Found";
    case NVML_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_TIMEOUT: return "Timeout";
    case NVML_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_GPU_IS_LOST: return "GPU is lost";
    case NVML_RESET_REQUIRED: return "GPU requires restart";
    case NVML_VERSION_MISMATCH: return "Driver/library version mismatch";
    case NVML_DEPRECATED: return "Requested functionality has been deprecated";
    default: return "Unknown Error";
    }
}

/* As large as the table that NVIDIA's library clears when it starts; this one is never touched. */
static char table[14 << 20];

/* For a program that is run as a whole: what the kernel was told about that memory, into the file of that name. */
static void write_memory(void)
{
    const char *path = getenv("WHIRR_FAKE_NVML_MEMORY");
    FILE *maps = path ? fopen("/proc/self/smaps", "r") : NULL, *f = maps ? fopen(path, "w") : NULL;
    uintptr_t middle = (uintptr_t)&table[sizeof table / 2], from, to;
    bool ours = false;
    for (char line[512]; f && fgets(line, sizeof line, maps);) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            ours = from <= middle && middle < to;
        else if (ours && strncmp(line, "VmFlags:", 8) == 0)
            fputs(line, f);
    }
    if (f)
        fclose(f);
    if (maps)
        fclose(maps);
}

EXPORT int nvmlInit_v2(void)
{
    ENTER(-1);
    opened++;
    write_memory();
    return NVML_OK;
}

EXPORT int nvmlShutdown(void)
{
    ENTER(-1);
    opened--;
    return NVML_OK;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    ENTER(-1);
    return give_text(s->driver, text, size);
}

EXPORT int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    ENTER(-1);
    return give_text(s->nvml, text, size);
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    ENTER(-1);
    *version = s->cuda;
    return NVML_OK;
}

/* Handles. A card that is gone is no longer counted, and the later ones move up. */

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    ENTER(-1);
    *count = 0;
    for (unsigned i = 0; i < s->gpu_count; i++)
        *count += !s->gpus[i].value[FAKE_gone];
    return NVML_OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    int code;
    struct fake_state *now = fake_now();
    unsigned gpu = 0;
    for (unsigned left = index; gpu < now->gpu_count; gpu++)
        if (!now->gpus[gpu].value[FAKE_gone] && left-- == 0)
            break;
    if (!enter(__func__, gpu < now->gpu_count ? (int)gpu : -1, &code))
        return code;
    if (gpu >= now->gpu_count)
        return NVML_INVALID_ARGUMENT;
    *device = gpu_handle(gpu);
    return NVML_OK;
}

static int handle_where(const char *call, const char *text, bool by_uuid, nvml_device *device)
{
    int code;
    struct fake_state *now = fake_now();
    for (unsigned i = 0; i < now->gpu_count; i++) {
        /* The driver writes addresses with eight digits of domain; it takes both. */
        const char *have = by_uuid ? now->gpus[i].uuid : now->gpus[i].pci;
        size_t h = strlen(have), t = strlen(text);
        if (strcasecmp(have, text) != 0 && !(!by_uuid && t > h && strcasecmp(text + t - h, have) == 0))
            continue;
        if (!enter(call, (int)i, &code))
            return code;
        if (now->gpus[i].value[FAKE_gone])
            return NVML_GPU_IS_LOST;
        *device = gpu_handle(i);
        return NVML_OK;
    }
    return enter(call, -1, &code) ? NVML_NOT_FOUND : code;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvml_device *device)
{
    return handle_where(__func__, pci, false, device);
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    return handle_where(__func__, uuid, true, device);
}

/* Who it is */

EXPORT int nvmlDeviceGetName(nvml_device device, char *text, unsigned size)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    return give_text(i ? i->name : g->name, text, size);
}

EXPORT int nvmlDeviceGetUUID(nvml_device device, char *text, unsigned size)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    return give_text(i ? i->uuid : g->uuid, text, size);
}

EXPORT int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci_info *pci)
{
    ENTER_GPU(device);
    unsigned function;
    memset(pci, 0, sizeof *pci);
    if (sscanf(g->pci, "%x:%x:%x.%x", &pci->domain, &pci->bus, &pci->device, &function) != 4)
        return NVML_UNKNOWN;
    snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
    pci->device_id = 0x233510de;
    pci->subsystem_id = 0x18bf10de;
    return NVML_OK;
}

EXPORT int nvmlDeviceGetSerial(nvml_device device, char *text, unsigned size)
{
    ENTER_GPU(device);
    return give_text(g->serial, text, size);
}

EXPORT int nvmlDeviceGetVbiosVersion(nvml_device device, char *text, unsigned size)
{
    ENTER_GPU(device);
    return give_text("96.00.A5.00.1A", text, size);
}

EXPORT int nvmlDeviceGetBoardPartNumber(nvml_device device, char *text, unsigned size)
{
    ENTER_GPU(device);
    return give_text("692-2G520-0282-000", text, size);
}

EXPORT int nvmlDeviceGetInforomImageVersion(nvml_device device, char *text, unsigned size)
{
    ENTER_GPU(device);
    return give_text("G520.0282.02.02", text, size);
}

EXPORT int nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor)
{
    ENTER_GPU(device);
    *major = (int)g->value[FAKE_cc_major];
    *minor = (int)g->value[FAKE_cc_minor];
    return NVML_OK;
}

EXPORT int nvmlDeviceGetMinorNumber(nvml_device device, unsigned *ret)
{
    ENTER_GPU(device);
    *ret = (unsigned)gpu_of(device);
    return NVML_OK;
}

SIMPLE(nvmlDeviceGetBrand, brand)
SIMPLE(nvmlDeviceGetArchitecture, architecture)
SIMPLE(nvmlDeviceGetVirtualizationMode, virtualization)

/* Load and memory */

EXPORT int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *u)
{
    ENTER_GPU(device);
    WHOLE_ONLY(device);
    if (g->value[FAKE_gpu_util] == FAKE_NA || g->value[FAKE_mig] == 1)
        return NVML_NOT_SUPPORTED;
    u->gpu = (unsigned)g->value[FAKE_gpu_util];
    u->memory = g->value[FAKE_mem_util] == FAKE_NA ? 0 : (unsigned)g->value[FAKE_mem_util];
    return NVML_OK;
}

WITH_PERIOD(nvmlDeviceGetEncoderUtilization, encoder)
WITH_PERIOD(nvmlDeviceGetDecoderUtilization, decoder)

#define MIB_BYTES(mib) ((unsigned long long)(mib) << 20)

EXPORT int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *m)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    int64_t total = i ? i->total_mib : g->value[FAKE_total], used = i ? i->used_mib : g->value[FAKE_used] + g->value[FAKE_reserved];
    if (total == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *m = (struct nvml_memory){MIB_BYTES(total), MIB_BYTES(total - used), MIB_BYTES(used)};
    return NVML_OK;
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo(nvml_device device, struct nvml_bar1_memory *m)
{
    ENTER_GPU(device);
    int64_t total = g->value[FAKE_bar1_total], used = g->value[FAKE_bar1_used];
    if (total == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *m = (struct nvml_bar1_memory){MIB_BYTES(total), MIB_BYTES(total - used), MIB_BYTES(used)};
    return NVML_OK;
}

/* Heat, power, clocks */

EXPORT int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *ret)
{
    ENTER_GPU(device);
    WHOLE_ONLY(device);
    return sensor ? NVML_INVALID_ARGUMENT : give(g->value[FAKE_temperature], ret);
}

EXPORT int nvmlDeviceGetTemperatureThreshold(nvml_device device, int kind, unsigned *ret)
{
    ENTER_GPU(device);
    static const enum fake_key keys[] = {FAKE_shutdown, FAKE_slowdown, FAKE_mem_max, FAKE_gpu_max};
    if (kind >= 0 && kind < 4)
        return give(g->value[keys[kind]], ret);
    if (g->value[FAKE_target] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    return kind == NVML_THRESHOLD_ACOUSTIC_CURRENT ? give(fake_setting(gpu_of(device), "target", g->value[FAKE_target]), ret)
           : kind == NVML_THRESHOLD_ACOUSTIC_MIN   ? give(g->value[FAKE_target_min], ret)
           : kind == NVML_THRESHOLD_ACOUSTIC_MAX   ? give(g->value[FAKE_target_max], ret)
                                                   : NVML_NOT_SUPPORTED;
}

SIMPLE(nvmlDeviceGetFanSpeed, fan)
SIMPLE(nvmlDeviceGetPowerUsage, power)

EXPORT int nvmlDeviceGetPowerManagementLimit(nvml_device device, unsigned *ret)
{
    ENTER_GPU(device);
    WHOLE_ONLY(device);
    return give(fake_setting(gpu_of(device), "power_limit", g->value[FAKE_power_limit]), ret);
}

/* power_held: what something else keeps it at. */
EXPORT int nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *ret)
{
    ENTER_GPU(device);
    WHOLE_ONLY(device);
    int64_t asked = fake_setting(gpu_of(device), "power_limit", g->value[FAKE_power_limit]), held = g->value[FAKE_power_held];
    return give(held != FAKE_NA && held < asked ? held : asked, ret);
}

SIMPLE(nvmlDeviceGetPowerManagementDefaultLimit, power_default)
SIMPLE(nvmlDeviceGetPerformanceState, pstate)
SIMPLE(nvmlDeviceGetCurrPcieLinkGeneration, pcie_gen)
SIMPLE(nvmlDeviceGetCurrPcieLinkWidth, pcie_width)
SIMPLE(nvmlDeviceGetMaxPcieLinkGeneration, pcie_gen_max)
SIMPLE(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max)
SIMPLE(nvmlDeviceGetPcieReplayCounter, replays)
SIMPLE(nvmlDeviceGetPersistenceMode, persistence)
SIMPLE(nvmlDeviceGetComputeMode, compute_mode)
SIMPLE(nvmlDeviceGetDisplayActive, display_active)
SIMPLE(nvmlDeviceGetBoardId, board)
SIMPLE(nvmlDeviceGetMultiGpuBoard, multi)
SIMPLE(nvmlDeviceGetAccountingMode, accounting)

EXPORT int nvmlDeviceGetEncoderStats(nvml_device device, unsigned *sessions, unsigned *fps, unsigned *latency)
{
    ENTER_GPU(device);
    *fps = (unsigned)g->value[FAKE_fps];
    *latency = (unsigned)g->value[FAKE_latency];
    return give(g->value[FAKE_sessions], sessions);
}

EXPORT int nvmlDeviceGetPcieThroughput(nvml_device device, int counter, unsigned *ret)
{
    ENTER_GPU(device);
    (void)counter;
    *ret = 1000; /* the real one blocks for 20 ms: this must not be called */
    return NVML_OK;
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(nvml_device device, unsigned *min, unsigned *max)
{
    ENTER_GPU(device);
    int code = give(g->value[FAKE_power_min], min);
    return code ? code : give(g->value[FAKE_power_max], max);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *ret)
{
    ENTER_GPU(device);
    if (g->value[FAKE_energy] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned long long)g->value[FAKE_energy];
    return NVML_OK;
}

static int clock_of(const struct fake_gpu *g, int kind, bool max, unsigned *ret)
{
    static const enum fake_key now[] = {FAKE_graphics, FAKE_sm, FAKE_memory, FAKE_video};
    static const enum fake_key most[] = {FAKE_graphics_max, FAKE_sm_max, FAKE_memory_max, FAKE_video_max};
    return kind < 0 || kind > 3 ? NVML_INVALID_ARGUMENT : give(g->value[max ? most[kind] : now[kind]], ret);
}

EXPORT int nvmlDeviceGetClockInfo(nvml_device device, int kind, unsigned *ret)
{
    ENTER_GPU(device);
    WHOLE_ONLY(device);
    return clock_of(g, kind, false, ret);
}

EXPORT int nvmlDeviceGetMaxClockInfo(nvml_device device, int kind, unsigned *ret)
{
    ENTER_GPU(device);
    return clock_of(g, kind, true, ret);
}

static int app_clock(const struct fake_gpu *g, int kind, unsigned *ret)
{
    return kind == NVML_CLOCK_GRAPHICS ? give(g->value[FAKE_app_graphics], ret)
           : kind == NVML_CLOCK_MEM    ? give(g->value[FAKE_app_memory], ret)
                                       : NVML_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetApplicationsClock(nvml_device device, int kind, unsigned *ret)
{
    ENTER_GPU(device);
    return app_clock(g, kind, ret);
}

EXPORT int nvmlDeviceGetDefaultApplicationsClock(nvml_device device, int kind, unsigned *ret)
{
    ENTER_GPU(device);
    return app_clock(g, kind, ret);
}

EXPORT int nvmlDeviceGetMaxCustomerBoostClock(nvml_device device, int kind, unsigned *ret)
{
    ENTER_GPU(device);
    return kind == NVML_CLOCK_GRAPHICS ? give(g->value[FAKE_boost_max], ret) : NVML_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *ret)
{
    ENTER_GPU(device);
    if (g->value[FAKE_throttle] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned long long)g->value[FAKE_throttle];
    return NVML_OK;
}

EXPORT int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field_value *values)
{
    ENTER_GPU(device);
    for (int i = 0; i < count; i++) {
        struct nvml_field_value *v = &values[i];
        v->result = NVML_NOT_SUPPORTED;
        v->type = NVML_VALUE_ULONGLONG;
        for (unsigned f = 0; f < s->field_count; f++) {
            const struct fake_field *have = &s->fields[f];
            if (have->gpu != gpu_of(device) || have->field != v->field || (have->scope >= 0 && have->scope != (int64_t)v->scope))
                continue;
            v->result = have->result;
            if (have->value < 0) {
                v->type = NVML_VALUE_INT;
                v->value.si = (int)have->value;
            } else if (have->narrow) {
                v->type = NVML_VALUE_UINT;
                v->value.ui = (unsigned)have->value;
            } else if (have->value == (double)(unsigned long long)have->value) {
                v->value.ull = (unsigned long long)have->value;
            } else {
                v->type = NVML_VALUE_DOUBLE;
                v->value.d = have->value;
            }
        }
    }
    return NVML_OK;
}

/* Faults */

EXPORT int nvmlDeviceGetEccMode(nvml_device device, unsigned *now, unsigned *pending)
{
    ENTER_GPU(device);
    *pending = 1;
    return give(g->value[FAKE_ecc], now);
}

static int ecc_count(const struct fake_gpu *g, int type, int span, unsigned long long *ret)
{
    static const enum fake_key keys[2][2] = {{FAKE_ecc_corrected, FAKE_ecc_uncorrected},
                                             {FAKE_ecc_corrected_life, FAKE_ecc_uncorrected_life}};
    int64_t value = g->value[keys[span][type]];
    *ret = (unsigned long long)value;
    return value == FAKE_NA ? NVML_NOT_SUPPORTED : NVML_OK;
}

EXPORT int nvmlDeviceGetTotalEccErrors(nvml_device device, int type, int span, unsigned long long *ret)
{
    ENTER_GPU(device);
    return ecc_count(g, type & 1, span & 1, ret);
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(nvml_device device, int type, int span, int location, unsigned long long *ret)
{
    ENTER_GPU(device);
    return location == NVML_LOCATION_DRAM ? ecc_count(g, type & 1, span & 1, ret) : NVML_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetRemappedRows(nvml_device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                     unsigned *failed)
{
    ENTER_GPU(device);
    *uncorrected = 0;
    *pending = (unsigned)g->value[FAKE_remap_pending];
    *failed = (unsigned)g->value[FAKE_remap_failed];
    return give(g->value[FAKE_remapped], corrected);
}

EXPORT int nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, unsigned *on)
{
    ENTER_GPU(device);
    *on = link < (unsigned)g->value[FAKE_nvlinks_active];
    return NVML_OK;
}

/* Every link has 1, 2, 3 and 4 errors of the kinds; link 3 has those of the script besides. */
EXPORT int nvmlDeviceGetNvLinkErrorCounter(nvml_device device, unsigned link, unsigned counter, unsigned long long *errors)
{
    ENTER_GPU(device);
    if (g->value[FAKE_nvlink_errors] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *errors = 1 + counter + (link == 3 && counter == 0 ? (unsigned long long)g->value[FAKE_nvlink_errors] : 0);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetGridLicensableFeatures_v4(nvml_device device, struct nvml_licenses *ret)
{
    ENTER_GPU(device);
    *ret = (struct nvml_licenses){.supported = g->value[FAKE_license] != FAKE_NA, .count = 2};
    ret->features[1].licensed = g->value[FAKE_license] == 1;
    return NVML_OK;
}

/* Processes */

static int list(struct fake_state *s, nvml_device device, unsigned which, size_t size, unsigned *count, void *entries)
{
    unsigned have = 0, room = *count;
    const struct fake_instance *instance = instance_of(s, device);
    if (!instance && s->gpus[gpu_of(device)].value[FAKE_mig_private] == 1)
        return NVML_NO_PERMISSION;
    for (unsigned i = 0; i < s->process_count; i++) {
        const struct fake_process *p = &s->processes[i];
        if (p->gpu != gpu_of(device) || !(p->lists & which) || (instance && p->gpu_instance != instance->gpu_instance))
            continue;
        if (have < room && entries) {
            struct nvml_process_v3_odd entry;
            memset(&entry, 0xa5, sizeof entry); /* what lies between the fields is anything */
            entry.process.pid = p->pid;
            entry.process.used_memory = p->bytes;
            entry.process.gpu_instance = p->gpu_instance;
            entry.process.compute_instance = p->compute_instance;
            entry.protected_memory = 0;
            memcpy((char *)entries + have * size, &entry, size);
        }
        have++;
    }
    *count = have;
    return have > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

#define LIST(call, which, type)                                             \
    EXPORT int call(nvml_device device, unsigned *count, void *entries)     \
    {                                                                       \
        ENTER_GPU(device);                                                  \
        return list(s, device, which, sizeof(struct type), count, entries); \
    }
LIST(nvmlDeviceGetComputeRunningProcesses, FAKE_COMPUTE, nvml_process_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses, FAKE_GRAPHICS, nvml_process_v1)
#if FAKE_DRIVER >= 450000
LIST(nvmlDeviceGetComputeRunningProcesses_v2, FAKE_COMPUTE, nvml_process_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, FAKE_GRAPHICS, nvml_process_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, FAKE_MPS, nvml_process_v2)
#endif
#if FAKE_DRIVER == 535043
LIST(nvmlDeviceGetComputeRunningProcesses_v3, FAKE_COMPUTE, nvml_process_v3_odd)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, FAKE_GRAPHICS, nvml_process_v3_odd)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, FAKE_MPS, nvml_process_v3_odd)
#elif FAKE_DRIVER >= 510000 && FAKE_DRIVER != 535098
LIST(nvmlDeviceGetComputeRunningProcesses_v3, FAKE_COMPUTE, nvml_process_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, FAKE_GRAPHICS, nvml_process_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, FAKE_MPS, nvml_process_v2)
#endif
#if FAKE_DRIVER >= 535000
EXPORT int nvmlDeviceGetConfComputeMemSizeInfo(nvml_device device, void *info)
{
    ENTER_GPU(device);
    (void)info;
    return NVML_NOT_SUPPORTED;
}
#endif
#if FAKE_DRIVER >= 535104
EXPORT int nvmlDeviceGetRunningProcessDetailList(nvml_device device, void *details)
{
    ENTER_GPU(device);
    (void)details;
    return NVML_NOT_SUPPORTED;
}
#endif

static void add_load(struct nvml_process_utilization row, unsigned long long after, unsigned room, unsigned *have,
                     struct nvml_process_utilization *rows)
{
    if (row.timestamp <= after)
        return;
    if (*have < room)
        rows[*have] = row;
    ++*have;
}

/* Ten readings of the last second, as it is now. */
EXPORT int nvmlDeviceGetSamples(nvml_device device, int what, unsigned long long after, int *type, unsigned *count,
                                struct nvml_sample *samples)
{
    ENTER_GPU(device);
    enum { KEPT = 10, EVERY_US = 100000 };
    int64_t value = what == NVML_POWER_SAMPLES ? g->value[FAKE_power] : g->value[FAKE_gpu_util];
    if (value == FAKE_NA || g->value[FAKE_mig] == 1 || (what != NVML_POWER_SAMPLES && what != NVML_UTILIZATION_SAMPLES))
        return NVML_NOT_SUPPORTED;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    unsigned long long now = (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
    unsigned have = 0;
    for (unsigned i = KEPT; i-- > 0;)
        if (now - i * EVERY_US > after && have < *count)
            samples[have++] = (struct nvml_sample){now - i * EVERY_US, {.ui = (unsigned)value}};
    *type = NVML_VALUE_UINT;
    *count = have;
    return have ? NVML_OK : NVML_NOT_FOUND;
}

EXPORT int nvmlDeviceGetProcessUtilization(nvml_device device, struct nvml_process_utilization *rows, unsigned *count,
                                           unsigned long long after)
{
    ENTER_GPU(device);
    if (g->value[FAKE_process_utilization] == FAKE_NA || g->value[FAKE_mig] == 1)
        return NVML_NOT_SUPPORTED;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    unsigned long long now = (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
    unsigned have = 0, room = rows ? *count : 0;
    for (unsigned i = 0; i < s->row_count; i++) {
        const struct fake_row *r = &s->rows[i];
        /* These come whatever was asked: drivers have given old rows too. */
        if (r->gpu == gpu_of(device))
            add_load((struct nvml_process_utilization){r->pid, now - (unsigned long long)(r->age_ms * 1000), r->sm, r->mem, r->enc,
                                                       r->dec},
                     0, room, &have, rows);
    }
    for (unsigned i = 0; i < s->process_count; i++) {
        const struct fake_process *p = &s->processes[i];
        if (p->gpu == gpu_of(device) && p->has_load)
            add_load((struct nvml_process_utilization){p->pid, now, p->sm, p->mem, p->enc, p->dec}, after, room, &have, rows);
    }
    *count = have;
    return have == 0 ? NVML_NOT_FOUND : have > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

/* Instances */

EXPORT int nvmlDeviceGetMigMode(nvml_device device, unsigned *now, unsigned *pending)
{
    ENTER_GPU(device);
    *pending = g->value[FAKE_mig] == 1;
    return give(g->value[FAKE_mig], now);
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
    ENTER_GPU(device);
    *count = g->value[FAKE_mig] == FAKE_NA ? 0 : FAKE_INSTANCES;
    return NVML_OK;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index, nvml_device *mig)
{
    ENTER_GPU(device);
    if (index >= g->instance_count)
        return NVML_NOT_FOUND;
    *mig = (nvml_device)(uintptr_t)(HANDLE_MIG + gpu_of(device) * 64 + (int)index);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetGpuInstanceId(nvml_device device, unsigned *id)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    return i ? (*id = i->gpu_instance, NVML_OK) : NVML_NOT_FOUND;
}

EXPORT int nvmlDeviceGetComputeInstanceId(nvml_device device, unsigned *id)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    return i ? (*id = i->compute_instance, NVML_OK) : NVML_NOT_FOUND;
}

/* Events */

static unsigned long long registered[FAKE_GPUS];

EXPORT int nvmlEventSetCreate(nvml_event_set *set)
{
    ENTER(-1);
    memset(registered, 0, sizeof registered);
    *set = (nvml_event_set)(uintptr_t)77;
    return NVML_OK;
}

EXPORT int nvmlEventSetFree(nvml_event_set set)
{
    ENTER(-1);
    (void)set;
    return NVML_OK;
}

EXPORT int nvmlDeviceGetSupportedEventTypes(nvml_device device, unsigned long long *types)
{
    ENTER_GPU(device);
    *types = 0xff9f;
    return NVML_OK;
}

EXPORT int nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types, nvml_event_set set)
{
    ENTER_GPU(device);
    (void)set;
    registered[gpu_of(device)] = types;
    return NVML_OK;
}

EXPORT int nvmlEventSetWait_v2(nvml_event_set set, struct nvml_event *event, unsigned timeout_ms)
{
    ENTER(-1);
    (void)set;
    (void)timeout_ms;
    while (s->events_taken < s->event_count) {
        const struct fake_event *e = &s->events[s->events_taken++];
        if (!(registered[e->gpu] & e->type))
            continue;
        *event = (struct nvml_event){gpu_handle((unsigned)e->gpu), e->type, e->data, NVML_NO_INSTANCE, NVML_NO_INSTANCE};
        return NVML_OK;
    }
    return NVML_TIMEOUT;
}

#if FAKE_DRIVER >= 450000
SIMPLE(nvmlDeviceGetNumFans, fans)

EXPORT int nvmlDeviceGetFanSpeed_v2(nvml_device device, unsigned fan, unsigned *ret)
{
    ENTER_GPU(device);
    if (fan >= (unsigned)g->value[FAKE_fans])
        return NVML_INVALID_ARGUMENT;
    /* The last turns as the script says, those before it 1 % slower each. */
    int64_t slower = g->value[FAKE_fans] - 1 - (int64_t)fan;
    return give(g->value[FAKE_fan] == FAKE_NA ? FAKE_NA : g->value[FAKE_fan] - slower, ret);
}

EXPORT int nvmlDeviceGetTargetFanSpeed(nvml_device device, unsigned fan, unsigned *ret)
{
    ENTER_GPU(device);
    char key[16];
    snprintf(key, sizeof key, "fan%u", fan);
    return give(fake_setting(gpu_of(device), key, g->value[FAKE_fan]), ret);
}
#endif

#if FAKE_DRIVER >= 510000
EXPORT int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *m)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    if (m->version != NVML_VERSION(struct nvml_memory_v2, 2))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    int64_t total = i ? i->total_mib : g->value[FAKE_total], used = i ? i->used_mib : g->value[FAKE_used];
    int64_t reserved = i ? 0 : g->value[FAKE_reserved];
    if (total == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    m->total = MIB_BYTES(total);
    m->reserved = MIB_BYTES(reserved);
    m->used = MIB_BYTES(used);
    m->free = MIB_BYTES(total - used - reserved);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetGspFirmwareVersion(nvml_device device, char *text)
{
    ENTER_GPU(device);
    strcpy(text, s->driver);
    return NVML_OK;
}
#endif

#if FAKE_DRIVER >= 470000
SIMPLE(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_gen_card)

EXPORT int nvmlDeviceGetFBCStats(nvml_device device, struct nvml_fbc_stats *stats)
{
    ENTER_GPU(device);
    stats->fps = (unsigned)g->value[FAKE_fps];
    stats->latency = (unsigned)g->value[FAKE_latency];
    return give(g->value[FAKE_captures], &stats->sessions);
}

EXPORT int nvmlDeviceGetRowRemapperHistogram(nvml_device device, struct nvml_remap_histogram *h)
{
    ENTER_GPU(device);
    *h = (struct nvml_remap_histogram){.high = 1, .partial = 2, .low = 3, .none = 4};
    if (g->value[FAKE_banks] == 3072)
        *h = (struct nvml_remap_histogram){0};
    return give(g->value[FAKE_banks], &h->max);
}

EXPORT int nvmlDeviceGetAttributes_v2(nvml_device device, struct nvml_attributes *a)
{
    ENTER_GPU(device);
    struct fake_instance *i = instance_of(s, device);
    return give(i ? 14 : g->value[FAKE_sms], &a->multiprocessors);
}
#endif

#if FAKE_DRIVER >= 535000
SIMPLE(nvmlDeviceGetModuleId, module)
SIMPLE(nvmlDeviceGetC2cModeInfoV, c2c)

EXPORT int nvmlDeviceGetConfComputeProtectedMemoryUsage(nvml_device device, struct nvml_memory *m)
{
    ENTER_GPU(device);
    if (g->value[FAKE_protected_total] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    *m = (struct nvml_memory){.total = MIB_BYTES(g->value[FAKE_protected_total]), .used = MIB_BYTES(g->value[FAKE_protected_used])};
    return NVML_OK;
}

EXPORT int nvmlDeviceGetGpuFabricInfoV(nvml_device device, struct nvml_fabric_v2 *fabric)
{
    ENTER_GPU(device);
    if (fabric->version != NVML_VERSION(struct nvml_fabric_v2, 2))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    fabric->state = (unsigned char)g->value[FAKE_fabric];
    fabric->clique = (unsigned)g->value[FAKE_clique];
    fabric->status = NVML_OK;
    return NVML_OK;
}

/* `sram N`: N parity errors, N + 1 double-bit, N + 2 corrected ones, and so on through the structure; 0: none of any. */
EXPORT int nvmlDeviceGetSramEccErrorStatus(nvml_device device, struct nvml_sram_errors *e)
{
    ENTER_GPU(device);
    if (e->version != NVML_VERSION(struct nvml_sram_errors, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (g->value[FAKE_sram] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    unsigned long long n = (unsigned long long)g->value[FAKE_sram], step = n ? 1 : 0;
    *e = (struct nvml_sram_errors){e->version,   n,
                                   n + step,     n + 2 * step,
                                   n + 3 * step, n + 4 * step,
                                   n + 5 * step, n + 6 * step,
                                   n + 7 * step, n + 8 * step,
                                   n + 9 * step, n + 10 * step,
                                   n != 0};
    return NVML_OK;
}

WITH_PERIOD(nvmlDeviceGetJpgUtilization, jpeg)
WITH_PERIOD(nvmlDeviceGetOfaUtilization, ofa)

/* GPM: a sample is an allocation, so that leaks and double frees are found. */

EXPORT int nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *support)
{
    ENTER_GPU(device);
    if (support->version != 1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    support->supported = g->value[FAKE_gpm] == 1;
    return NVML_OK;
}

EXPORT int nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    ENTER(-1);
    int *gpu = malloc(sizeof *gpu);
    if (!gpu)
        return NVML_UNKNOWN;
    *gpu = -1;
    *sample = (nvml_gpm_sample)gpu;
    return NVML_OK;
}

EXPORT int nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    ENTER(-1);
    free(sample);
    return NVML_OK;
}

EXPORT int nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample)
{
    ENTER_GPU(device);
    *(int *)sample = gpu_of(device);
    return NVML_OK;
}

EXPORT int nvmlGpmMigSampleGet(nvml_device device, unsigned instance, nvml_gpm_sample sample)
{
    ENTER_GPU(device);
    (void)instance;
    *(int *)sample = gpu_of(device);
    return NVML_OK;
}

EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_request *request)
{
    ENTER(-1);
    int gpu = *(int *)request->before;
    if (request->version != 1 || gpu < 0 || gpu != *(int *)request->after)
        return NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; i < request->count; i++) {
        struct nvml_gpm_metric *m = &request->metrics[i];
        m->result = NVML_NOT_SUPPORTED;
        for (unsigned f = 0; f < s->field_count; f++)
            if (s->fields[f].gpu == gpu && s->fields[f].field == 1000 + m->id) {
                m->result = s->fields[f].result;
                m->value = s->fields[f].value;
            }
    }
    return NVML_OK;
}
#endif

#if FAKE_DRIVER >= 580000
EXPORT int nvmlDeviceGetTemperatureV(nvml_device device, struct nvml_temperature *t)
{
    ENTER_GPU(device);
    WHOLE_ONLY(device);
    if (t->version != NVML_VERSION(struct nvml_temperature, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (t->sensor > NVML_SENSOR_HOTTEST || (t->sensor == NVML_SENSOR_HOTTEST && g->value[FAKE_hottest] == FAKE_NA))
        return NVML_INVALID_ARGUMENT;
    t->celsius = (int)g->value[t->sensor ? FAKE_hottest : FAKE_temperature];
    return NVML_OK;
}

EXPORT int nvmlDeviceGetPowerMizerMode_v1(nvml_device device, struct nvml_power_mizer *m)
{
    ENTER_GPU(device);
    m->supported = 7;
    return give(g->value[FAKE_mizer], &m->now);
}

EXPORT int nvmlDeviceGetBankRemapperStatus_v1(nvml_device device, struct nvml_bank_remapper *b)
{
    ENTER_GPU(device);
    *b = (struct nvml_bank_remapper){
        .inactive = 1, .pending = (unsigned)g->value[FAKE_bank_pending], .groups_max = 62, .groups_none = 2};
    return give(g->value[FAKE_bank_remaps], &b->active);
}

EXPORT int nvmlDeviceGetMarginTemperature(nvml_device device, struct nvml_margin *margin)
{
    ENTER_GPU(device);
    if (margin->version != NVML_VERSION(struct nvml_margin, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (g->value[FAKE_margin] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    margin->margin = (int)g->value[FAKE_margin];
    return NVML_OK;
}

EXPORT int nvmlDeviceGetFanSpeedRPM(nvml_device device, struct nvml_fan_rpm *fan)
{
    ENTER_GPU(device);
    if (fan->version != NVML_VERSION(struct nvml_fan_rpm, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    return give(g->value[FAKE_rpm], &fan->rpm);
}

EXPORT int nvmlDeviceGetAddressingMode(nvml_device device, struct nvml_flag *mode)
{
    ENTER_GPU(device);
    return give(g->value[FAKE_addressing], &mode->value);
}

EXPORT int nvmlDeviceGetRepairStatus(nvml_device device, struct nvml_repair_status *status)
{
    ENTER_GPU(device);
    if (status->version != NVML_VERSION(struct nvml_repair_status, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    status->tpc_pending = 0;
    return give(g->value[FAKE_repair], &status->channel_pending);
}

EXPORT int nvmlDeviceGetUnrepairableMemoryFlag(nvml_device device, struct nvml_flag *flag)
{
    ENTER_GPU(device);
    if (flag->version != NVML_VERSION(struct nvml_flag, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    return give(g->value[FAKE_unrepairable], &flag->value);
}

EXPORT int nvmlDeviceGetDramEncryptionMode(nvml_device device, struct nvml_flag *now, struct nvml_flag *pending)
{
    ENTER_GPU(device);
    pending->value = 0;
    return give(g->value[FAKE_encryption], &now->value);
}

EXPORT int nvmlDeviceGetPlatformInfo(nvml_device device, struct nvml_platform_v1 *platform)
{
    ENTER_GPU(device);
    if (platform->version != NVML_VERSION(struct nvml_platform_v1, 1))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (g->value[FAKE_slot] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    platform->rack_guid[0] = g->value[FAKE_slot] > 0; /* slot 0: a machine that is in no rack */
    platform->slot = (unsigned char)g->value[FAKE_slot];
    platform->tray = (unsigned char)(g->value[FAKE_slot] + 1);
    platform->host = (unsigned char)(g->value[FAKE_slot] + 2);
    return NVML_OK;
}
#endif

/* Settings. settable 0: the right to change anything is missing. */

#define MAY_SET(device)               \
    if (g->value[FAKE_settable] == 0) \
        return NVML_NO_PERMISSION;    \
    if (instance_of(s, (device)))     \
    return NVML_NOT_SUPPORTED

EXPORT int nvmlDeviceSetPowerManagementLimit(nvml_device device, unsigned mw)
{
    ENTER_GPU(device);
    MAY_SET(device);
    if (g->value[FAKE_power_limit] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    if (mw < g->value[FAKE_power_min] || mw > g->value[FAKE_power_max])
        return NVML_INVALID_ARGUMENT;
    fake_setting_put(gpu_of(device), "power_limit", mw);
    return NVML_OK;
}

EXPORT int nvmlDeviceSetGpuLockedClocks(nvml_device device, unsigned low, unsigned high)
{
    ENTER_GPU(device);
    MAY_SET(device);
    if (low > high)
        return NVML_INVALID_ARGUMENT;
    fake_setting_put(gpu_of(device), "clock_low", low);
    fake_setting_put(gpu_of(device), "clock_high", high);
    return NVML_OK;
}

EXPORT int nvmlDeviceResetGpuLockedClocks(nvml_device device)
{
    ENTER_GPU(device);
    MAY_SET(device);
    fake_setting_put(gpu_of(device), "clock_low", 0);
    fake_setting_put(gpu_of(device), "clock_high", 0);
    return NVML_OK;
}

EXPORT int nvmlDeviceSetTemperatureThreshold(nvml_device device, int kind, int *degrees)
{
    ENTER_GPU(device);
    MAY_SET(device);
    if (kind != NVML_THRESHOLD_ACOUSTIC_CURRENT || g->value[FAKE_target] == FAKE_NA)
        return NVML_NOT_SUPPORTED;
    if (*degrees < g->value[FAKE_target_min] || *degrees > g->value[FAKE_target_max])
        return NVML_INVALID_ARGUMENT;
    fake_setting_put(gpu_of(device), "target", *degrees);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetMinMaxClockOfPState(nvml_device device, int kind, int pstate, unsigned *min, unsigned *max)
{
    ENTER_GPU(device);
    (void)kind, (void)pstate;
    int code = give(g->value[FAKE_clock_min], min);
    return code ? code : give(g->value[FAKE_graphics_max], max);
}

#if FAKE_DRIVER >= 535000
static void fan_put(nvml_device device, unsigned fan, const char *what, int64_t value)
{
    char key[32];
    snprintf(key, sizeof key, "%s%u", what, fan);
    fake_setting_put(gpu_of(device), key, value);
}

EXPORT int nvmlDeviceSetFanSpeed_v2(nvml_device device, unsigned fan, unsigned percent)
{
    ENTER_GPU(device);
    MAY_SET(device);
    if (fan >= (unsigned)g->value[FAKE_fans] || percent < g->value[FAKE_fan_min] || percent > 100)
        return NVML_INVALID_ARGUMENT;
    fan_put(device, fan, "fan", percent);
    fan_put(device, fan, "fan_manual", NVML_FAN_MANUAL);
    return NVML_OK;
}

EXPORT int nvmlDeviceSetDefaultFanSpeed_v2(nvml_device device, unsigned fan)
{
    ENTER_GPU(device);
    MAY_SET(device);
    fan_put(device, fan, "fan_manual", NVML_FAN_AUTOMATIC);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetFanControlPolicy_v2(nvml_device device, unsigned fan, unsigned *policy)
{
    ENTER_GPU(device);
    char key[32];
    snprintf(key, sizeof key, "fan_manual%u", fan);
    return give(fake_setting(gpu_of(device), key, NVML_FAN_AUTOMATIC), policy);
}

EXPORT int nvmlDeviceGetMinMaxFanSpeed(nvml_device device, unsigned *min, unsigned *max)
{
    ENTER_GPU(device);
    *max = 100;
    return give(g->value[FAKE_fan_min], min);
}
#endif
