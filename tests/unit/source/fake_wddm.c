/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_wddm.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "test.h"

struct fake_wddm fake_wddm;

enum { FAILS = -1073741823 }; /* STATUS_UNSUCCESSFUL */

void fake_wddm_clear(void)
{
    memset(&fake_wddm, 0, sizeof fake_wddm);
}

struct fake_adapter *fake_wddm_adapter(uint64_t luid, const uint16_t *name, uint32_t vendor, uint32_t bus)
{
    struct fake_adapter *a = &fake_wddm.adapters[fake_wddm.adapter_count++];
    *a = (struct fake_adapter){
        .luid = luid, .name = name, .type = KMT_RENDERS, .vendor = vendor, .device = 0x7480, .address.bus = bus};
    return a;
}

struct fake_value *fake_wddm_value(const char *path, const char *counter, const char *instance)
{
    struct fake_value *v = &fake_wddm.values[fake_wddm.value_count++];
    *v = (struct fake_value){0};
    snprintf(v->path, sizeof v->path, "%s", path);
    snprintf(v->counter, sizeof v->counter, "%s", counter);
    snprintf(v->instance, sizeof v->instance, "%s", instance);
    return v;
}

void fake_wddm_load(uint64_t luid, int pid, int engine, const char *type, double percent)
{
    char name[128];
    snprintf(name, sizeof name, "pid_%d_luid_0x%08X_0x%08X_phys_0_eng_%d_engtype_%s", pid, (unsigned)(luid >> 32), (unsigned)luid,
             engine, type);
    fake_wddm_value("GPU Engine", "Utilization Percentage", name)->real = percent;
}

void fake_wddm_memory(uint64_t luid, int pid, int64_t dedicated, int64_t shared)
{
    char name[128], of[24] = "";
    if (pid)
        snprintf(of, sizeof of, "pid_%d_", pid);
    snprintf(name, sizeof name, "%sluid_0x%08X_0x%08X_phys_0", of, (unsigned)(luid >> 32), (unsigned)luid);
    const char *path = pid ? "GPU Process Memory" : "GPU Adapter Memory";
    fake_wddm_value(path, "Dedicated Usage", name)->whole = dedicated;
    fake_wddm_value(path, "Shared Usage", name)->whole = shared;
}

/* ---- gdi32.dll ---- */

static int32_t enum_adapters(struct kmt_enum_adapters *all)
{
    if (fake_wddm.enum_fails)
        return FAILS;
    if (!all->adapters) {
        all->count = (uint32_t)fake_wddm.adapter_count;
        return 0;
    }
    if (all->count < fake_wddm.adapter_count)
        return FAILS;
    all->count = (uint32_t)fake_wddm.adapter_count;
    for (uint32_t i = 0; i < all->count; i++) {
        uint64_t luid = fake_wddm.adapters[i].luid;
        all->adapters[i] = (struct kmt_adapter){.handle = i + 1, .luid = {(uint32_t)luid, (int32_t)(luid >> 32)}};
        fake_wddm.handles++;
    }
    return 0;
}

/* As the kernel does: an answer only to a question of the right size. */
static int32_t answer(const struct kmt_query_adapter *q, const void *from, size_t size)
{
    if (q->size != size)
        return FAILS;
    memcpy(q->data, from, size);
    return 0;
}

static int32_t query_adapter(const struct kmt_query_adapter *q)
{
    assert_in_range(q->handle, 1, fake_wddm.adapter_count);
    const struct fake_adapter *a = &fake_wddm.adapters[q->handle - 1];
    if (a->mute && q->type != KMT_TYPE)
        return FAILS;
    switch (q->type) {
    case KMT_TYPE: return answer(q, &a->type, sizeof a->type);
    case KMT_DEVICE_IDS:
        return answer(q, &(struct kmt_device_ids){.vendor = a->vendor, .device = a->device}, sizeof(struct kmt_device_ids));
    case KMT_ADDRESS: return answer(q, &a->address, sizeof a->address);
    case KMT_SEGMENT_SIZE: return answer(q, &a->size, sizeof a->size);
    case KMT_PERFORMANCE: return answer(q, &a->now, sizeof a->now);
    case KMT_PERFORMANCE_CAPS: return answer(q, &a->caps, sizeof a->caps);
    case KMT_NODE_PERFORMANCE: return answer(q, &a->node, sizeof a->node);
    case KMT_DRIVER_VERSION: return answer(q, &(uint64_t){31ull << 48 | 15ull << 16 | 3623}, sizeof(uint64_t));
    case KMT_REGISTRY: {
        struct kmt_registry r;
        memset(&r, 0xff, sizeof r); /* bytes without a meaning */
        for (size_t i = 0; i < KMT_PATH && (i == 0 || a->name[i - 1]); i++)
            r.name[i] = a->name[i];
        return answer(q, &r, sizeof r);
    }
    default: return FAILS;
    }
}

static int32_t close_adapter(const uint32_t *handle)
{
    assert_true(*handle > 0);
    fake_wddm.handles--;
    return 0;
}

/* ---- pdh.dll ---- */

static char counters[8][96];
static size_t counter_count;

static uint32_t open_query(const uint16_t *log, uintptr_t user, void **ret)
{
    (void)user;
    assert_null(log);
    counter_count = 0;
    fake_wddm.collects = 0;
    *ret = &fake_wddm;
    return 0;
}

static uint32_t add_counter(void *query, const uint16_t *path, uintptr_t user, void **ret)
{
    (void)user;
    assert_ptr_equal(query, &fake_wddm);
    if (fake_wddm.no_counters)
        return fake_wddm.no_counters;
    char *to = counters[counter_count++];
    size_t i = 0;
    do
        to[i] = (char)path[i];
    while (path[i++]);
    *ret = to;
    return 0;
}

static uint32_t collect(void *query)
{
    assert_ptr_equal(query, &fake_wddm);
    if (!fake_wddm.collect_status)
        fake_wddm.collects++;
    return fake_wddm.collect_status;
}

static bool is_of(const struct fake_value *v, const char *counter)
{
    char path[112];
    snprintf(path, sizeof path, "\\%s(*)\\%s", v->path, v->counter);
    return strcmp(path, counter) == 0;
}

static size_t put_name(uint16_t *to, const char *name)
{
    size_t i = 0;
    do
        to[i] = (uint8_t)name[i];
    while (name[i++]);
    return i;
}

/* A name like any other, in memory that was not asked for. */
static const uint16_t elsewhere[] = u"pid_10_luid_0x00000000_0x0001C2E5_phys_0_eng_0_engtype_3D";

static uint32_t values(void *counter, uint32_t format, uint32_t *size, uint32_t *count, struct pdh_item *items)
{
    bool rate = strstr(counter, "Utilization") != NULL;
    assert_int_equal(format, rate ? PDH_FORMAT_DOUBLE | PDH_FORMAT_NO_CAP : PDH_FORMAT_LARGE);
    if (fake_wddm.values_status)
        return fake_wddm.values_status;
    if (rate && fake_wddm.collects < 2)
        return PDH_INVALID_DATA;
    size_t found = 0, bytes = 0;
    for (size_t i = 0; i < fake_wddm.value_count; i++)
        if (is_of(&fake_wddm.values[i], counter)) {
            found++;
            bytes += sizeof(struct pdh_item) + sizeof(uint16_t) * (strlen(fake_wddm.values[i].instance) + 1);
        }
    if (!found)
        return PDH_NO_DATA;
    if (*size < bytes || fake_wddm.grows) {
        *size = (uint32_t)MAX_OF(bytes, (size_t)*size + 1);
        return PDH_MORE_DATA;
    }
    uint16_t *text = (uint16_t *)(items + found);
    size_t at = 0;
    for (size_t i = 0; i < fake_wddm.value_count; i++) {
        const struct fake_value *v = &fake_wddm.values[i];
        if (!is_of(v, counter))
            continue;
        items[at] = (struct pdh_item){.name = fake_wddm.name_outside ? elsewhere : text, .status = v->status};
        if (rate)
            items[at++].real = v->real;
        else
            items[at++].whole = v->whole;
        text += put_name(text, v->instance);
    }
    if (fake_wddm.name_unended)
        for (; (char *)text < (char *)items + *size - 1; text++)
            *text = 'x';
    if (fake_wddm.name_unended)
        text[-1] = 'x', items[found - 1].name = text - 1;
    *count = (uint32_t)found + fake_wddm.count_lie;
    return 0;
}

static uint32_t close_query(void *query)
{
    assert_ptr_equal(query, &fake_wddm);
    return 0;
}

const struct wddm_calls fake_wddm_calls = {enum_adapters, query_adapter, close_adapter, open_query,
                                           add_counter,   collect,       values,        close_query};
