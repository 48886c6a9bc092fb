/* SPDX-License-Identifier: Apache-2.0
 * Dumps as torch's pickler writes them (protocol 2, texts memoized), and lines of NCCL's Inspector.
 */
#include "host/collective.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "test.h"

/* ---- a writer of dumps ---- */

struct dump {
    struct buf out;
    const char *memo[64];
    size_t memos;
};

static void byte(struct dump *d, unsigned char b)
{
    buf_add(&d->out, (const char *)&b, 1);
}

static void little(struct dump *d, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++)
        byte(d, (unsigned char)(n >> (8 * i)));
}

static void text(struct dump *d, const char *t)
{
    for (size_t i = 0; i < d->memos; i++)
        if (strcmp(d->memo[i], t) == 0) {
            byte(d, 'h');
            byte(d, (unsigned char)i);
            return;
        }
    byte(d, 'X');
    little(d, strlen(t), 4);
    buf_add(&d->out, t, strlen(t));
    byte(d, 'q');
    byte(d, (unsigned char)d->memos);
    d->memo[d->memos++] = t;
}

static void number(struct dump *d, int64_t n)
{
    if (n >= 0 && n < 256) {
        byte(d, 'K');
        little(d, (uint64_t)n, 1);
    } else if (n >= 0 && n < 65536) {
        byte(d, 'M');
        little(d, (uint64_t)n, 2);
    } else {
        byte(d, 0x8a);
        byte(d, 8);
        little(d, (uint64_t)n, 8);
    }
}

static void entry(struct dump *d, const char *group, const char *op, int64_t n, const char *state, bool p2p)
{
    byte(d, '}');
    byte(d, '(');
    text(d, "collective_seq_id");
    number(d, n);
    text(d, "process_group");
    text(d, group);
    text(d, "default_pg");
    byte(d, 0x86);
    text(d, "profiling_name");
    text(d, op);
    text(d, "time_created_ns");
    number(d, INT64_C(1790000000000000000));
    text(d, "input_sizes"); /* with a type tag, as older versions write it: a call that is not made */
    buf_add(&d->out, "ctorch.jit._pickle\nrestore_type_tag\n](K\x04\x65", 41);
    text(d, "List[int]");
    byte(d, 0x86);
    byte(d, 'R');
    text(d, "duration_ms");
    byte(d, 'G');
    little(d, 0, 8);
    text(d, "time_discovered_started_ns");
    byte(d, 'N');
    text(d, "state");
    text(d, state);
    text(d, "is_p2p");
    byte(d, p2p ? 0x88 : 0x89);
    byte(d, 'u');
}

static void dump_begin(struct dump *d, const char *group)
{
    *d = (struct dump){.out = BUF(1 << 16)};
    byte(d, 0x80);
    byte(d, 2);
    byte(d, '}');
    byte(d, '(');
    text(d, "version");
    text(d, "2.10");
    text(d, "pg_config");
    byte(d, '}');
    byte(d, '(');
    text(d, group);
    byte(d, '}');
    byte(d, '(');
    text(d, "name");
    text(d, group);
    text(d, "ranks");
    text(d, "[0, 1, 2, 3]");
    byte(d, 'u');
    byte(d, 'u');
    text(d, "entries");
    byte(d, ']');
    byte(d, '(');
}

static void dump_end(struct dump *d, int64_t rank, struct rank_trace *ret)
{
    buf_add(&d->out, "eu.", 3);
    ret->rank = rank;
    struct str whole = buf_view(&d->out);
    assert_int_equal(flight_parse(whole, ret), 0);
    /* Whatever is cut off is refused or read, and never beyond its end. */
    for (size_t len = 0; len < whole.len; len++) {
        struct rank_trace cut;
        AUTO_FREE char *copy = malloc(len + 1);
        memcpy(copy, whole.at, len);
        assert_int_equal(flight_parse((struct str){copy, len}, &cut), -EINVAL);
    }
    buf_done(&d->out);
}

/* A rank whose newest collectives are `done`, completed, and those up to `open`, in this state. */
static void rank(int64_t number_of, int64_t done, int64_t open, const char *op, const char *state, struct rank_trace *ret)
{
    struct dump d;
    dump_begin(&d, "0");
    if (done >= 0)
        entry(&d, "0", "nccl:all_gather", done, "completed", false);
    for (int64_t n = done + 1; n <= open; n++)
        entry(&d, "0", op, n, state, false);
    entry(&d, "0", "nccl:send", 9999, "scheduled", true);
    dump_end(&d, number_of, ret);
}

static void judge(const struct rank_trace *list, size_t count, int64_t world, int64_t late, const char *words)
{
    struct collective_told told;
    flight_judge(list, count, world, &told);
    assert_string_equal(told.text, words);
    assert_int_equal(told.late_rank, late);
}

static void the_rank_that_has_not_come_is_late(void **state)
{
    (void)state;
    struct rank_trace list[4];
    for (int i = 0; i < 4; i++) /* their hosts have enqueued more or less far ahead */
        rank(i, 4710, i == 3 ? 4710 : 4711 + i, "nccl:all_reduce", "scheduled", &list[i]);
    judge(list, 4, 4, 3, "rank 3 has not come to all_reduce 4711: its last is 4710");
    judge(list, 3, 4, 3, "rank 3 wrote no trace; the other 3 are in all_reduce 4711");
    judge(list, 3, 0, -1, "3 ranks are in all_reduce 4711, none is behind");
    rank(3, -1, -1, "", "", &list[3]);
    judge(list, 4, 4, 3, "rank 3 has not come to all_reduce 4711, or to any before");
    rank(2, 4700, 4700, "", "", &list[2]);
    judge(list, 4, 4, 3, "rank 3 and 1 more have not come to all_reduce 4711, or to any before");
}

static void the_gpu_that_has_not_started_is_late(void **state)
{
    (void)state;
    struct rank_trace list[4];
    for (int i = 0; i < 4; i++)
        rank(i, 4710, 4711, "nccl:all_reduce", i == 1 ? "scheduled" : "started", &list[i]);
    judge(list, 4, 4, 1, "the GPU of rank 1 has not started all_reduce 4711");
    rank(1, 4710, 4711, "nccl:broadcast", "started", &list[1]);
    judge(list, 4, 4, 1, "rank 1 called broadcast where others called all_reduce (4711)");
    for (int i = 0; i < 4; i++)
        rank(i, 4711, 4711, "", "", &list[i]);
    judge(list, 4, 4, -1, "");
}

static void a_pickle_that_is_no_dump_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "\x80\x02.",
                                      "\x80\x02}.",
                                      "\x80\x02(R.",
                                      "\x80\x02h\x01.",
                                      "\x80\x02N\x71\x05.",
                                      "{}",
                                      "\x80\x02X\xff\xff\xff\xff.",
                                      "\x80\x02(((ttt.",
                                      "\x80\x02uuu.",
                                      "\x80\x02\x8a\xff."};
    struct rank_trace t;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(flight_parse(str_from(bad[i]), &t), -EINVAL);
}

/* Each of these takes more off the stack than there is. */
static void a_dump_that_ends_in_nonsense_is_refused_as_a_whole(void **state)
{
    (void)state;
    static const char *const ends[] = {"eu.", "euaa.", "eu\x93\x93.", "euss."};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct dump d;
        struct rank_trace t;
        dump_begin(&d, "0");
        entry(&d, "0", "nccl:all_reduce", 1, "started", false);
        buf_text(&d.out, ends[i]);
        assert_int_equal(flight_parse(buf_view(&d.out), &t), i ? -EINVAL : 0);
        buf_done(&d.out);
    }
}

/* ---- the Inspector ---- */

static size_t inspect(struct inspected *list, int64_t rank, int64_t first, int64_t last, int64_t us, double rate)
{
    AUTO_BUF struct buf b = BUF(1 << 20);
    buf_printf(&b, "45}}\n");
    for (int64_t n = first; n <= last; n++)
        buf_printf(&b,
                   "{\"header\":{\"id\":\"0x7f8c496ae9f661\",\"rank\":%lld,\"n_ranks\":4,\"nnodes\":1},"
                   "\"metadata\":{\"dump_timestamp_us\":%lld,\"hostname\":\"h\",\"pid\":7},\"coll_perf\":{\"coll\":\"AllReduce\","
                   "\"coll_sn\":%lld,\"coll_msg_size_bytes\":1073741824,\"coll_exec_time_us\":%lld,\"coll_busbw_gbs\":%f}}\n",
                   (long long)rank, (long long)(1000 * n), (long long)n, (long long)us, rate);
    return inspector_parse(buf_view(&b), list);
}

static void who_is_in_a_collective_for_the_shortest_time_came_last(void **state)
{
    (void)state;
    static struct inspected list[4 * INSPECTED_MAX + 1];
    struct collective_told told;
    size_t count = 0;
    for (int i = 0; i < 4; i++)
        count += inspect(&list[count], i, 100, 1400, i == 2 ? 21000 : 310000, i == 2 ? 380.0 : 25.0);
    inspector_judge(list, count, &told);
    assert_int_equal(told.late_rank, 2);
    assert_string_equal(told.text,
                        "rank 2 came last to 8 of the last 8 collectives: 21.0 ms in AllReduce 1400, the others 310.0 ms");
    assert_int_equal(told.bytes_per_s, INT64_C(380000000000));
    list[count] = list[count - 1]; /* one that only a single rank has written yet */
    list[count].number++;
    list[count].at_us++;
    inspector_judge(list, count + 1, &told);
    assert_int_equal(told.late_rank, 2);
    count = 0;
    for (int i = 0; i < 4; i++)
        count += inspect(&list[count], i, 100, 101, i == 2 ? 21000 : 310000, 380.0); /* twice is no habit */
    inspector_judge(list, count, &told);
    assert_int_equal(told.late_rank, -1);
    assert_string_equal(told.text, "");
}

static void a_collective_that_has_become_slow_is_said(void **state)
{
    (void)state;
    static struct inspected list[4 * INSPECTED_MAX];
    struct collective_told told;
    size_t count = 0;
    for (int i = 0; i < 4; i++) {
        count += inspect(&list[count], i, 100, 110, 21000, 380.0);
        count += inspect(&list[count], i, 111, 120, 640000, 12.5);
    }
    inspector_judge(list, count, &told);
    assert_int_equal(told.late_rank, -1);
    assert_string_equal(told.text, "AllReduce 120 ran at 12.5 GB/s, one of as many bytes before at 380.0 GB/s");
    assert_int_equal(told.best_per_s, INT64_C(380000000000));
    inspector_judge(list, 0, &told);
    assert_string_equal(told.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_that_has_not_come_is_late),
        cmocka_unit_test(the_gpu_that_has_not_started_is_late),
        cmocka_unit_test(a_pickle_that_is_no_dump_is_refused),
        cmocka_unit_test(a_dump_that_ends_in_nonsense_is_refused_as_a_whole),
        cmocka_unit_test(who_is_in_a_collective_for_the_shortest_time_came_last),
        cmocka_unit_test(a_collective_that_has_become_slow_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
