/* SPDX-License-Identifier: Apache-2.0
 * The clients of graphics devices: parses the kernel's fdinfo (Documentation/gpu/drm-usage-stats.rst; skips other keys), and keeps
 * a table of clients, an array with a hash over it.
 */
#include "source/drm/scan.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* ---- fdinfo ---- */

enum { REGIONS = 16 };
#define BYTES_MAX (UINT64_C(1) << 52) /* more can't be memory, and could overflow a sum */

/* Resident, its older name, and total: only the first one present counts. */
enum { HAS_TOTAL = 1, HAS_MEMORY = 2, HAS_RESIDENT = 4 };

struct region {
    struct str name; /* in the text */
    unsigned has;
    uint64_t total, memory, resident;
};

struct fdinfo_parser {
    struct fdinfo *info;
    bool has_own;
    uint64_t own_bytes; /* from driver-specific keys, which are more accurate than the common ones */
    size_t region_count;
    struct region regions[REGIONS];
};

/* Hundreds of these files are read each second: let the compiler inline comparisons with literals. */
static inline bool take_prefix_of(struct str *s, const char *prefix, size_t len)
{
    if (s->len < len || memcmp(s->at, prefix, len) != 0)
        return false;
    *s = (struct str){s->at + len, s->len - len};
    return true;
}
#define TAKE_PREFIX(s, literal) take_prefix_of(s, literal, sizeof(literal) - 1)
#define IS(s, literal) ((s).len == sizeof(literal) - 1 && memcmp((s).at, literal, sizeof(literal) - 1) == 0)

/* Removes a number from the front. Faster than str_to_u64, which copies. */
static bool take_number(struct str *s, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < s->len && s->at[i] >= '0' && s->at[i] <= '9'; i++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(s->at[i] - '0'), &value))
            return false;
    if (i == 0)
        return false;
    *s = str_trim((struct str){s->at + i, s->len - i});
    *ret = value;
    return true;
}

static bool take_bytes(struct str value, uint64_t *ret)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"kB", 10}};
    uint64_t number;
    if (!take_number(&value, &number))
        return false;
    if (value.len == 0) {
        *ret = number;
        return number <= BYTES_MAX;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_is(value, units[i].unit) && number <= BYTES_MAX >> units[i].shift) {
            *ret = number << units[i].shift;
            return true;
        }
    return false;
}

static enum engine_kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        enum engine_kind kind;
    } kinds[] = {
        {"gfx", ENGINE_GRAPHICS},
        {"compute", ENGINE_COMPUTE},
        {"dma", ENGINE_COPY},
        {"dec", ENGINE_DECODER},
        {"enc", ENGINE_ENCODER},
        {"enc_1", ENGINE_ENCODER},
        {"vpe", ENGINE_OTHER},
        {"render", ENGINE_GRAPHICS},
        {"copy", ENGINE_COPY},
        {"video", ENGINE_DECODER},
        {"rcs", ENGINE_GRAPHICS},
        {"ccs", ENGINE_COMPUTE},
        {"bcs", ENGINE_COPY},
        {"vcs", ENGINE_DECODER},
        {"gpu", ENGINE_GRAPHICS},
        {"fragment", ENGINE_GRAPHICS},
        {"vertex-tiler", ENGINE_GRAPHICS},
        {"bin", ENGINE_GRAPHICS},
        {"csd", ENGINE_COMPUTE},
        {"panthor", ENGINE_GRAPHICS},
        {"3d", ENGINE_GRAPHICS},
        {"3D", ENGINE_GRAPHICS},
        {"2D", ENGINE_COPY},
        {"amdxdna", ENGINE_COMPUTE},
    };
    size_t i = NAME_FIND(kinds, str_from(name));
    return i < ARRAY_LEN(kinds) ? kinds[i].kind : ENGINE_OTHER;
}

static struct fdinfo_engine *engine_named(struct fdinfo *info, struct str name)
{
    if (name.len == 0 || name.len >= ENGINE_NAME_SIZE)
        return NULL;
    for (size_t i = 0; i < info->engine_count; i++)
        if (str_is(name, info->engines[i].name))
            return &info->engines[i];
    if (info->engine_count == FDINFO_ENGINES)
        return NULL;
    struct fdinfo_engine *e = &info->engines[info->engine_count++];
    *e = (struct fdinfo_engine){.capacity = 1};
    str_copy_clean(e->name, sizeof e->name, name);
    e->kind = kind_of(e->name);
    return e;
}

static struct region *region_named(struct fdinfo_parser *p, struct str name)
{
    if (name.len == 0)
        return NULL;
    for (size_t i = p->region_count; i-- > 0;) /* keys of a region are adjacent */
        if (name.len == p->regions[i].name.len && memcmp(name.at, p->regions[i].name.at, name.len) == 0)
            return &p->regions[i];
    if (p->region_count == REGIONS)
        return NULL;
    struct region *r = &p->regions[p->region_count++];
    *r = (struct region){.name = name};
    return r;
}

static void take_region(struct fdinfo_parser *p, struct str name, struct str value, unsigned what)
{
    uint64_t bytes;
    struct region *r = take_bytes(value, &bytes) ? region_named(p, name) : NULL;
    if (!r)
        return;
    r->has |= what;
    *(what == HAS_TOTAL ? &r->total : what == HAS_MEMORY ? &r->memory : &r->resident) = bytes;
}

static void take_engine(struct fdinfo *info, struct str name, struct str value)
{
    uint64_t number;
    if (TAKE_PREFIX(&name, "amdxdna"))
        name = STR("amdxdna"); /* the driver's name is longer in some kernels */
    if (!take_number(&value, &number))
        return;
    if (TAKE_PREFIX(&name, "capacity-")) {
        struct fdinfo_engine *e = engine_named(info, name);
        if (e && number > 0 && number <= 1024)
            e->capacity = (uint32_t)number;
        return;
    }
    struct fdinfo_engine *e = str_is(value, "ns") ? engine_named(info, name) : NULL;
    if (e) {
        e->has_ns = true;
        e->ns = number;
    }
}

static void take_cycles(struct fdinfo *info, struct str name, struct str value, bool total)
{
    uint64_t number;
    struct fdinfo_engine *e = take_number(&value, &number) ? engine_named(info, name) : NULL;
    if (!e)
        return;
    if (total) {
        e->has_cycles = true;
        e->total = number;
    } else {
        e->cycles = number;
    }
}

static void take_pdev(struct fdinfo *info, struct str value)
{
    str_copy_clean(info->pdev, sizeof info->pdev, value);
    for (char *c = info->pdev; *c; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = (char)(*c - 'A' + 'a');
}

static void take_identity(struct fdinfo *info, struct str key, struct str value)
{
    if (IS(key, "driver"))
        str_copy_clean(info->driver, sizeof info->driver, value);
    else if (IS(key, "pdev"))
        take_pdev(info, value);
    else if (IS(key, "client-id"))
        info->has_client_id = take_number(&value, &info->client_id);
}

/* `key` follows "drm-". Try "total-cycles-" before "total-", its prefix. */
static void take_key(struct fdinfo_parser *p, struct str key, struct str value)
{
    switch (key.len ? key.at[0] : '\0') {
    case 'e':
        if (TAKE_PREFIX(&key, "engine-"))
            take_engine(p->info, key, value);
        break;
    case 't':
        if (TAKE_PREFIX(&key, "total-cycles-"))
            take_cycles(p->info, key, value, true);
        else if (TAKE_PREFIX(&key, "total-"))
            take_region(p, key, value, HAS_TOTAL);
        break;
    case 'r':
        if (TAKE_PREFIX(&key, "resident-"))
            take_region(p, key, value, HAS_RESIDENT);
        break;
    case 'm':
        if (TAKE_PREFIX(&key, "memory-"))
            take_region(p, key, value, HAS_MEMORY);
        break;
    case 'c':
        if (TAKE_PREFIX(&key, "cycles-"))
            take_cycles(p->info, key, value, false);
        else
            take_identity(p->info, key, value);
        break;
    case 'd':
    case 'p': take_identity(p->info, key, value); break;
    default: break; /* shared, active and keys of later kernels */
    }
}

/* amdxdna counts its heap twice in the total: use the sum of these two. `line` follows "amdxdna". */
static void take_own_line(struct fdinfo_parser *p, struct str line)
{
    struct str key;
    uint64_t bytes;
    if (!str_cut(&line, ':', &key) || !(str_ends(key, "-internal-alloc") || str_ends(key, "-external-alloc")) ||
        !take_bytes(str_trim(line), &bytes))
        return;
    p->has_own = true;
    p->own_bytes = MIN_OF(p->own_bytes + bytes, BYTES_MAX);
}

/* Device memory is called vram, vram0, local0, stolen-local0; regions like "cpu" and "doorbell" are neither. */
static void sum_regions(struct fdinfo_parser *p)
{
    struct fdinfo *info = p->info;
    for (size_t i = 0; i < p->region_count; i++) {
        const struct region *r = &p->regions[i];
        struct str name = r->name;
        uint64_t bytes = r->has & HAS_RESIDENT ? r->resident : r->has & HAS_MEMORY ? r->memory : r->total;
        if (str_starts(name, "vram") || str_contains(name, "local")) {
            info->has_vram = true;
            info->vram_bytes += bytes;
        } else if (str_starts(name, "gtt") || str_starts(name, "system") || str_starts(name, "stolen") || str_is(name, "memory")) {
            info->has_system = true;
            info->system_bytes += bytes;
        }
    }
}

/* Drops engines with a capacity but no time. */
static void drop_silent_engines(struct fdinfo *info)
{
    size_t kept = 0;
    for (size_t i = 0; i < info->engine_count; i++)
        if (info->engines[i].has_ns || info->engines[i].has_cycles)
            info->engines[kept++] = info->engines[i];
    info->engine_count = kept;
}

bool fdinfo_parse(struct str text, struct fdinfo *ret)
{
    *ret = (struct fdinfo){0};
    struct fdinfo_parser p;
    p.info = ret;
    p.region_count = 0;
    p.has_own = false;
    p.own_bytes = 0;
    struct str line, key;
    while (str_cut(&text, '\n', &line)) {
        if (TAKE_PREFIX(&line, "amdxdna"))
            take_own_line(&p, line);
        if (!TAKE_PREFIX(&line, "drm-") || !str_cut(&line, ':', &key))
            continue;
        take_key(&p, key, str_trim(line));
    }
    if (!ret->driver[0] || !ret->has_client_id)
        return false;
    sum_regions(&p);
    if (p.has_own) {
        ret->has_system = true;
        ret->system_bytes = p.own_bytes;
    }
    drop_silent_engines(ret);
    return true;
}

/* ---- The table ---- */

static size_t bucket_of(const struct clients *c, const char *device, uint64_t id)
{
    uint64_t h = id * 0x9e3779b97f4a7c15u;
    for (; *device; device++)
        h = (h ^ (unsigned char)*device) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32) & (c->bucket_count - 1);
}

static void put_in_bucket(struct clients *c, size_t index)
{
    size_t b = bucket_of(c, c->list[index].device, c->list[index].id);
    while (c->buckets[b])
        b = (b + 1) & (c->bucket_count - 1);
    c->buckets[b] = (uint32_t)index + 1;
}

static bool rehash(struct clients *c, size_t bucket_count)
{
    uint32_t *buckets = calloc(bucket_count, sizeof *buckets);
    if (!buckets)
        return false;
    free(c->buckets);
    c->buckets = buckets;
    c->bucket_count = bucket_count;
    for (size_t i = 0; i < c->count; i++)
        put_in_bucket(c, i);
    return true;
}

static bool make_room(struct clients *c)
{
    if (c->count == CLIENTS_MAX)
        return false;
    if (!ROOM_FOR_ONE(c->list, c->count, c->capacity, 16))
        return false;
    return c->bucket_count > 2 * c->count || rehash(c, MAX_OF((size_t)64, c->bucket_count * 2));
}

int clients_place(struct clients *c, const char *device, uint64_t id)
{
    for (size_t b = c->bucket_count ? bucket_of(c, device, id) : 0; c->bucket_count && c->buckets[b];
         b = (b + 1) & (c->bucket_count - 1)) {
        const struct drm_client *found = &c->list[c->buckets[b] - 1];
        if (found->id == id && strcmp(found->device, device) == 0)
            return (int)c->buckets[b] - 1;
    }
    if (!make_room(c)) {
        c->left_out++;
        return -1;
    }
    struct drm_client *new = &c->list[c->count++];
    *new = (struct drm_client){.id = id, .owner = -1};
    str_copy(new->device, sizeof new->device, str_from(device));
    put_in_bucket(c, c->count - 1);
    return (int)c->count - 1;
}

static struct client_engine *engine_of(struct drm_client *c, const struct fdinfo_engine *now, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < c->engine_count; i++)
        if (strcmp(c->engines[i].name, now->name) == 0)
            return &c->engines[i];
    if (c->engine_count == FDINFO_ENGINES)
        return NULL;
    *is_new = true;
    struct client_engine *e = &c->engines[c->engine_count++];
    *e = (struct client_engine){.kind = now->kind, .permille = -1};
    memcpy(e->name, now->name, sizeof e->name);
    return e;
}

static int32_t share(uint64_t part, uint64_t whole, uint32_t capacity)
{
    double permille = whole ? (double)part * 1000.0 / ((double)whole * capacity) : 0;
    return permille > 1000 ? 1000 : (int32_t)(permille + 0.5);
}

/* A counter that falls (some drivers lose the time of ended contexts) keeps its previous maximum. */
static bool update_engine(struct client_engine *e, const struct fdinfo_engine *now, uint64_t elapsed_ns, bool first)
{
    uint64_t busy = now->has_ns ? now->ns : now->cycles;
    uint64_t total = now->has_ns ? 0 : now->total;
    uint64_t more = busy > e->busy ? busy - e->busy : 0;
    uint64_t whole = now->has_ns ? elapsed_ns : total > e->total ? total - e->total : 0;
    if (!first)
        e->permille = share(more, whole, now->capacity);
    e->busy = MAX_OF(busy, e->busy);
    e->total = MAX_OF(total, e->total);
    return more > 0;
}

bool client_update(struct drm_client *c, const struct fdinfo *info, struct mono now, uint32_t scan)
{
    bool first = c->read_in == 0, moved = false, is_new;
    uint64_t elapsed = first || now.ns <= c->read_at.ns ? 0 : (uint64_t)(now.ns - c->read_at.ns);
    for (size_t i = 0; i < info->engine_count; i++) {
        struct client_engine *e = engine_of(c, &info->engines[i], &is_new);
        if (!e)
            continue;
        /* amdgpu omits engines until they have worked: one that appears later started at 0. */
        moved |= update_engine(e, &info->engines[i], elapsed, first || (is_new && !info->engines[i].has_ns));
    }
    bool worked = moved && !first;
    moved |= c->vram_bytes != info->vram_bytes || c->system_bytes != info->system_bytes;
    c->has_vram = info->has_vram;
    c->has_system = info->has_system;
    c->vram_bytes = info->vram_bytes;
    c->system_bytes = info->system_bytes;
    c->quiet = moved || first ? 0 : (uint16_t)MIN_OF(c->quiet + 1, 1000);
    c->read_at = now;
    c->read_in = scan;
    return worked;
}

void client_unchanged(struct drm_client *c, struct mono now, uint32_t scan)
{
    for (size_t i = 0; i < c->engine_count; i++)
        c->engines[i].permille = 0;
    c->quiet = (uint16_t)MIN_OF(c->quiet + 1, 1000);
    c->read_at = now;
    c->read_in = scan;
}

bool client_due(const struct drm_client *c, struct mono now)
{
    /* Spread over scans. Every client is read within 5 s: checks for new load rely on it. */
    int64_t pause = CLIENT_IDLE_MS + (int64_t)(c->id % 9) * 250;
    return c->read_in == 0 || c->quiet < 2 || mono_since_ms(now, c->read_at) >= pause;
}

bool clients_sweep(struct clients *c, uint32_t scan, int32_t *moved)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        moved[i] = c->list[i].seen_in == scan ? (int32_t)kept : -1;
        if (moved[i] >= 0 && kept++ != i)
            c->list[kept - 1] = c->list[i];
    }
    if (kept == c->count)
        return false;
    c->count = kept;
    memset(c->buckets, 0, c->bucket_count * sizeof *c->buckets);
    for (size_t i = 0; i < c->count; i++)
        put_in_bucket(c, i);
    return true;
}

void clients_done(struct clients *c)
{
    free(c->list);
    free(c->buckets);
    *c = (struct clients){0};
}
