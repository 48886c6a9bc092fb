/* SPDX-License-Identifier: Apache-2.0
 * The kernels of a check, in the part of C that three languages share: OpenCL compiles this text on the GPU's driver, clang made
 * kernels.ptx of it (tools/kernels), and on the CPU it is C, so that known answers and tests come from the same lines.
 */
/* clang-format off */
#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_VERSION__)
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel
#define GLOBAL __global
#define FN static inline
#define BITS(x) as_uint(x)
#ifdef __NVPTX__ /* no library of built-in functions here */
#define LID ((uint)__nvvm_read_ptx_sreg_tid_x())
#define LSIZE ((uint)__nvvm_read_ptx_sreg_ntid_x())
#define GID ((uint)__nvvm_read_ptx_sreg_ctaid_x() * LSIZE + LID)
#define GSIZE ((uint)__nvvm_read_ptx_sreg_nctaid_x() * LSIZE)
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
FN uint ADD(GLOBAL uint *at, uint n) { uint was; __asm__ volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(was) : "l"(at), "r"(n) : "memory"); return was; }
FN uint OR(GLOBAL uint *at, uint n) { uint was; __asm__ volatile("atom.global.or.b32 %0, [%1], %2;" : "=r"(was) : "l"(at), "r"(n) : "memory"); return was; }
#else
#define GID ((uint)get_global_id(0))
#define LID ((uint)get_local_id(0))
#define GSIZE ((uint)get_global_size(0))
#define LSIZE ((uint)get_local_size(0))
#define FMA(a, b, c) fma(a, b, c)
#define ADD(at, n) atomic_add(at, n)
#define OR(at, n) atomic_or(at, n)
#endif
#else
#include <math.h>
#include <string.h>
#define KERNEL static
#define GLOBAL
#define FN static inline
typedef uint32_t uint;
typedef uint64_t ulong;
typedef struct { uint x, y, z, w; } uint4;
static _Thread_local uint kernel_gid, kernel_lid, kernel_gsize, kernel_lsize;
#define GID kernel_gid
#define LID kernel_lid
#define GSIZE kernel_gsize
#define LSIZE kernel_lsize
#define FMA(a, b, c) fmaf(a, b, c)
FN uint ADD(uint *at, uint n) { uint was = *at; *at += n; return was; }
FN uint OR(uint *at, uint n) { uint was = *at; *at |= n; return was; }
FN uint BITS(float x) { uint u; memcpy(&u, &x, 4); return u; }
#endif

/* Results of memory and answers: [0] how many are wrong, [1] bits lost, [2] bits set, [3] unused, then records of 4 words: place
 * (2 words), expected, got. A storm of errors stays cheap. */
#define RECORDS 64u
#define STORM 65536u

/* murmur3's finalizer: every bit of the input decides about every bit of the result. */
FN uint mix(uint h)
{
    h ^= h >> 16; h *= 0x85ebca6bu;
    h ^= h >> 13; h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}

enum { PATTERN_RANDOM, PATTERN_ADDRESS, PATTERN_WALKING_ONE, PATTERN_WALKING_ZERO, PATTERN_SOLID };

/* Word `i` (of 32 bits) of all that is tested. With own addresses two words hold the number of their pair. */
FN uint pattern_word(uint pattern, uint seed, ulong i)
{
    if (pattern == PATTERN_RANDOM)
        return mix((uint)i ^ mix((uint)(i >> 32) ^ seed));
    if (pattern == PATTERN_ADDRESS)
        return i & 1 ? (uint)(i >> 33) ^ seed : (uint)(i >> 1);
    if (pattern == PATTERN_WALKING_ONE)
        return 1u << (((uint)i + seed) & 31);
    if (pattern == PATTERN_WALKING_ZERO)
        return ~(1u << (((uint)i + seed) & 31));
    return seed;
}

FN void note(GLOBAL uint *found, ulong at, uint expected, uint got)
{
    uint n = ADD(&found[0], 1u);
    OR(&found[1], expected & ~got);
    OR(&found[2], got & ~expected);
    if (n < RECORDS) {
        GLOBAL uint *r = found + 4 + n * 4;
        r[0] = (uint)at; r[1] = (uint)(at >> 32); r[2] = expected; r[3] = got;
    }
}

#ifdef __NVPTX__
FN uint multiprocessor(void) { uint r; __asm__ volatile("mov.u32 %0, %%smid;" : "=r"(r)); return r; }
#else
#define multiprocessor() (GID / LSIZE)
#endif

#ifndef TENSOR
/* `count` pieces of 16 bytes from `from` on; `first` is the number of the buffer's first word among all. */
KERNEL void memory_write(GLOBAL uint4 *to, ulong from, ulong count, ulong first, uint pattern, uint seed, uint invert)
{
    for (ulong i = GID; i < count; i += GSIZE) {
        ulong w = first + (from + i) * 4;
        uint4 v;
        v.x = pattern_word(pattern, seed, w) ^ invert;
        v.y = pattern_word(pattern, seed, w + 1) ^ invert;
        v.z = pattern_word(pattern, seed, w + 2) ^ invert;
        v.w = pattern_word(pattern, seed, w + 3) ^ invert;
        to[from + i] = v;
    }
}

/* Compares, and where `again` is set writes the complement over it. Downwards where `down` is set. */
KERNEL void memory_verify(GLOBAL uint4 *at, ulong from, ulong count, ulong first, uint pattern, uint seed, uint invert, uint again,
                          uint down, GLOBAL uint *found)
{
    if (found[0] > STORM)
        return;
    for (ulong i = GID; i < count; i += GSIZE) {
        ulong p = from + (down ? count - 1 - i : i);
        ulong w = first + p * 4;
        uint4 e, v = at[p];
        e.x = pattern_word(pattern, seed, w) ^ invert;
        e.y = pattern_word(pattern, seed, w + 1) ^ invert;
        e.z = pattern_word(pattern, seed, w + 2) ^ invert;
        e.w = pattern_word(pattern, seed, w + 3) ^ invert;
        if (again) {
            uint4 c;
            c.x = ~e.x; c.y = ~e.y; c.z = ~e.z; c.w = ~e.w;
            at[p] = c;
        }
        if ((v.x ^ e.x) | (v.y ^ e.y) | (v.z ^ e.z) | (v.w ^ e.w)) {
            if (v.x != e.x) note(found, w, e.x, v.x);
            if (v.y != e.y) note(found, w + 1, e.y, v.y);
            if (v.z != e.z) note(found, w + 2, e.z, v.z);
            if (v.w != e.w) note(found, w + 3, e.w, v.w);
        }
    }
}

KERNEL void stream_read(GLOBAL const uint4 *at, ulong count, GLOBAL uint *never)
{
    uint sum = 0;
    for (ulong i = GID; i < count; i += GSIZE) {
        uint4 v = at[i];
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x5eed1e55u && count == 1)
        never[3] = sum;
}

KERNEL void stream_write(GLOBAL uint4 *to, ulong count, uint seed)
{
    for (ulong i = GID; i < count; i += GSIZE) {
        uint4 v;
        v.x = (uint)i ^ seed; v.y = v.x * 0x9e3779b9u; v.z = v.y ^ 0x5bd1e995u; v.w = ~v.x;
        to[i] = v;
    }
}

KERNEL void stream_copy(GLOBAL const uint4 *from, GLOBAL uint4 *to, ulong count)
{
    for (ulong i = GID; i < count; i += GSIZE)
        to[i] = from[i];
}

/* A chain through all `lines` (a power of two) of 128 bytes in an order that nothing can foresee; then the way along it. */
KERNEL void chain_write(GLOBAL uint *to, uint lines)
{
    for (uint i = GID; i < lines; i += GSIZE)
        to[(ulong)i * 32] = (i * 1664525u + 1013904223u) & (lines - 1);
}

KERNEL void chain_follow(GLOBAL const uint *at, uint steps, GLOBAL uint *end)
{
    uint i = 0;
    if (GID)
        return;
    for (uint k = 0; k < steps; k++)
        i = at[(ulong)i * 32];
    end[0] = i;
}

/* Henon's map: two fused multiply-adds and nothing else, chaotic and bounded, so that a wrong bit grows. With `fold` every step
 * goes into the answer: also a wrong lowest bit just before the end is found. */
#define STEPS 1024u
FN uint map_floats(uint start, uint fold)
{
    uint h = mix(start), folded = 0;
    float x = (float)(h & 0xffffu) * 0.0000152587890625f - 0.5f, z = 1.4f + 0.0000046f * (float)(h >> 16 & 0xffffu);
    if (fold) {
        for (uint i = 0; i < STEPS; i++) {
            float next = FMA(-x, x, z);
            z = FMA(0.3f, x, 1.4f);
            x = next;
            folded = (folded << 1 | folded >> 31) ^ BITS(x);
        }
    } else {
        for (uint i = 0; i < STEPS; i++) {
            float next = FMA(-x, x, z);
            z = FMA(0.3f, x, 1.4f);
            x = next;
        }
    }
    return folded ^ BITS(x) ^ (BITS(z) << 7 | BITS(z) >> 25);
}

/* Whole numbers: a multiply-add and a rotation, so that no bit gets lost. */
FN uint map_whole(uint start)
{
    uint x = mix(start), y = ~x;
    for (uint i = 0; i < STEPS; i++) {
        x = x * 1664525u + y;
        y = (x << 13 | x >> 19) ^ y;
    }
    return x ^ y;
}

/* Every group computes the same answers, `rounds` of them from `round` on, in each of its threads; `answers` has ROUNDS times
 * `lanes`. */
#define ROUNDS 16u
KERNEL void answer_floats(GLOBAL const uint *answers, uint lanes, uint round, uint rounds, uint seed, uint fold, GLOBAL uint *found)
{
    for (uint r = round; r < round + rounds; r++) {
        uint at = (r % ROUNDS) * lanes + LID;
        uint got = map_floats(seed + at, fold);
        if (got != answers[at] && found[0] <= STORM)
            note(found, (ulong)multiprocessor() << 32 | at, answers[at], got);
    }
}

KERNEL void answer_whole(GLOBAL const uint *answers, uint lanes, uint round, uint rounds, uint seed, uint fold, GLOBAL uint *found)
{
    for (uint r = round; r < round + rounds; r++) {
        uint at = (r % ROUNDS) * lanes + LID;
        uint got = map_whole(seed + at + fold);
        if (got != answers[at] && found[0] <= STORM)
            note(found, (ulong)multiprocessor() << 32 | at, answers[at], got);
    }
}

#endif

/* Tensor cores multiply matrices of +-0.5 and +-1, 16x16 by 16x8: every sum is exact in any order. Eight products a turn are added
 * up over `turns`; each lane of a warp has four numbers of each result. */
#define PRODUCTS 8u
FN float matrix_a(uint seed, uint product, uint row, uint column)
{
    uint h = mix(seed ^ product << 16 ^ row << 8 ^ column);
    return (h & 1 ? 1.0f : 0.5f) * (h & 2 ? -1.0f : 1.0f);
}
FN float matrix_b(uint seed, uint row, uint column)
{
    return matrix_a(seed, 99u, row, column);
}
/* Row and column of number `n` (0 to 3) of a lane's results */
FN float matrix_answer(uint seed, uint product, uint lane, uint n)
{
    uint row = lane / 4 + (n & 2 ? 8 : 0), column = lane % 4 * 2 + (n & 1);
    float sum = 0;
    for (uint k = 0; k < 16; k++)
        sum += matrix_a(seed, product, row, k) * matrix_b(seed, k, column);
    return sum;
}

#ifdef __NVPTX__
#define UNROLL _Pragma("unroll")
FN uint half_of(float x) { return (x < 0 ? 0x8000u : 0u) | ((x < 0 ? -x : x) == 1.0f ? 0x3c00u : 0x3800u); }
FN uint halves(float low, float high) { return half_of(low) | half_of(high) << 16; }
#else
#define UNROLL
#endif

/* A part of its own on NVIDIA: it needs tensor cores of the second generation. */
#if !defined(__NVPTX__) || defined(TENSOR)
KERNEL void answer_tensor(GLOBAL const float *answers, uint turns, uint seed, GLOBAL uint *found)
{
    uint lane = LID % 32;
    float sum[PRODUCTS][4];
#ifdef __NVPTX__
    uint a[PRODUCTS][4], b[2], row = lane / 4, k = lane % 4 * 2;
    UNROLL
    for (uint p = 0; p < PRODUCTS; p++)
    UNROLL
        for (uint n = 0; n < 4; n++) {
            uint r = row + (n & 1 ? 8 : 0), c = k + (n & 2 ? 8 : 0);
            a[p][n] = halves(matrix_a(seed, p, r, c), matrix_a(seed, p, r, c + 1));
            sum[p][n] = 0;
        }
    for (uint n = 0; n < 2; n++)
        b[n] = halves(matrix_b(seed, k + n * 8, row), matrix_b(seed, k + n * 8 + 1, row));
    for (uint t = 0; t < turns; t++) {
    UNROLL
        for (uint p = 0; p < PRODUCTS; p++)
            __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(sum[p][0]), "+f"(sum[p][1]), "+f"(sum[p][2]), "+f"(sum[p][3])
                             : "r"(a[p][0]), "r"(a[p][1]), "r"(a[p][2]), "r"(a[p][3]), "r"(b[0]), "r"(b[1]));
    }
#else
    for (uint p = 0; p < PRODUCTS; p++)
        for (uint n = 0; n < 4; n++)
            sum[p][n] = matrix_answer(seed, p, lane, n) * (float)turns;
#endif
    UNROLL
    for (uint p = 0; p < PRODUCTS; p++)
    UNROLL
        for (uint n = 0; n < 4; n++) {
            uint at = (p * 32 + lane) * 4 + n;
            float expected = answers[at] * (float)turns;
            if (sum[p][n] != expected && found[0] <= STORM)
                note(found, (ulong)multiprocessor() << 32 | at, BITS(expected), BITS(sum[p][n]));
        }
}
#endif
/* clang-format on */
