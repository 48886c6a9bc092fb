/* SPDX-License-Identifier: Apache-2.0
 * What the kernel shows of a program: recorded texts taken apart, and a made-up /proc over several looks.
 */
#include "host/evidence/evidence.h"
#include "host/linux/evidence/texts.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "sysroot.h"
#include "test.h"

/* ---- texts ---- */

static void each_kernel_name_says_what_a_thread_waits_for(void **state)
{
    (void)state;
    static const struct {
        char state;
        const char *wchan;
        enum wait_kind kind;
    } cases[] = {
        {'R', "0", WAIT_RUNNING},
        {'S', "futex_wait_queue_me", WAIT_LOCK},
        {'S', "futex_wait_queue", WAIT_LOCK},
        {'S', "futex_do_wait", WAIT_LOCK},
        {'S', "anon_pipe_read", WAIT_PIPE},
        {'S', "pipe_read", WAIT_PIPE},
        {'S', "pipe_wait_readable", WAIT_PIPE},
        {'S', "unix_stream_read_generic", WAIT_PIPE},
        {'S', "wait_for_partner", WAIT_PIPE},
        {'S', "wait_woken", WAIT_SOCKET},
        {'S', "sk_wait_data", WAIT_SOCKET},
        {'S', "inet_csk_accept", WAIT_SOCKET},
        {'S', "poll_schedule_timeout.constprop.0", WAIT_POLL},
        {'S', "ep_poll", WAIT_POLL},
        {'S', "do_wait", WAIT_CHILD},
        {'S', "hrtimer_nanosleep", WAIT_SLEEP},
        {'D', "folio_wait_bit_common", WAIT_DISK},
        {'D', "wait_on_page_bit_common", WAIT_DISK},
        {'D', "blk_io_schedule", WAIT_DISK},
        {'D', "submit_bio_wait", WAIT_DISK},
        {'D', "rpc_wait_bit_killable", WAIT_NETWORK_FS},
        {'D', "request_wait_answer", WAIT_FUSE},
        {'S', "request_wait_answer", WAIT_FUSE},
        {'D', "rwsem_down_read_slowpath", WAIT_OTHER},
        {'T', "do_signal_stop", WAIT_STOPPED},
        {'t', "ptrace_stop", WAIT_STOPPED},
        {'S', "do_freezer_trap", WAIT_STOPPED},
        {'S', "kfd_wait_on_events", WAIT_OTHER},
        {'S', "0", WAIT_UNKNOWN}, /* of another user's process */
        {'D', "0", WAIT_DISK},
        {'S', "", WAIT_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (wait_kind(cases[i].state, str_from(cases[i].wchan)) != cases[i].kind)
            fail_msg("%c %s: %d", cases[i].state, cases[i].wchan, wait_kind(cases[i].state, str_from(cases[i].wchan)));
}

static void compilers_are_known_by_name(void **state)
{
    (void)state;
    static const char *const yes[] = {"ptxas", "cicc", "nvcc", "cc1plus", "gcc", "gcc-12", "clang-17", "x86_64-linux-gnu-gcc",
                                      "ld"};
    static const char *const no[] = {"python3", "pt_data_worker", "", "ldconfig", "asd", "gccgo", "ninjatool", "nvcc_helper"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (!is_compiler(yes[i]))
            fail_msg("%s is a compiler", yes[i]);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        if (is_compiler(no[i]))
            fail_msg("%s is none", no[i]);
}

static const char v1_mounts[] = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                                "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
                                "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                                "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char v2_mounts[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
/* A container without a cgroup namespace sees its own part alone. */
static const char part_mounts[] = "700 23 0:26 /docker/4f2a /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";

static void control_groups_of_both_versions_are_found(void **state)
{
    (void)state;
    struct str path;
    char folder[256];
    const struct str hybrid = STR("9:name=systemd:/\n4:memory:/job/7\n2:cpu,cpuacct:/job/7\n0::/system.slice/x:y.service\n");
    assert_true(cgroup_path(hybrid, "cpu", &path));
    assert_true(cgroup_folder(str_from(v1_mounts), path, "cpu", folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup/cpu,cpuacct/job/7");
    assert_true(cgroup_path(hybrid, NULL, &path));
    assert_true(str_is(path, "/system.slice/x:y.service"));
    assert_true(cgroup_folder(str_from(v1_mounts), path, NULL, folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup/unified/system.slice/x:y.service");
    assert_false(cgroup_path(hybrid, "pids", &path));

    assert_true(cgroup_folder(str_from(v2_mounts), STR("/"), NULL, folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup");
    assert_false(cgroup_folder(str_from(v2_mounts), STR("/"), "cpu", folder, sizeof folder));

    assert_true(cgroup_folder(str_from(part_mounts), STR("/docker/4f2a/inner"), NULL, folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup/inner");
    assert_false(cgroup_folder(str_from(part_mounts), STR("/docker/4f2abc"), NULL, folder, sizeof folder));
    assert_false(cgroup_folder(str_from(v2_mounts), STR("/../other"), NULL, folder, sizeof folder));
    assert_false(cgroup_folder(str_from(v2_mounts), STR("/a-long-one"), NULL, folder, 12));
}

static void quotas_throttling_and_pressure_are_read(void **state)
{
    (void)state;
    assert_int_equal(cpu_max_millicores(STR("200000 100000\n")), 2000);
    assert_int_equal(cpu_max_millicores(STR("50000 100000")), 500);
    assert_int_equal(cpu_max_millicores(STR("max 100000\n")), 0);
    assert_int_equal(cpu_max_millicores(STR("")), 0);
    struct cpu_stat stat;
    assert_true(cpu_stat_parse(STR("usage_usec 10\nnr_periods 5\nnr_throttled 4\nthrottled_usec 123456\n"), &stat));
    assert_int_equal(stat.throttled_us, 123456);
    assert_true(cpu_stat_parse(STR("nr_periods 5\nnr_throttled 4\nthrottled_time 123456789\n"), &stat));
    assert_int_equal(stat.throttled_us, 123456);
    assert_false(cpu_stat_parse(STR("usage_usec 10\nuser_usec 7\nsystem_usec 3\n"), &stat)); /* the root has no quota */
    struct pressure p;
    assert_true(pressure_parse(STR("some avg10=12.34 avg60=1.00 avg300=0.10 total=987654\nfull avg10=0.00 total=1\n"), &p));
    assert_int_equal(p.avg10_permille, 123);
    assert_int_equal(p.total_us, 987654);
    assert_false(pressure_parse(STR("full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"), &p));
}

static void sum(int64_t number, void *user)
{
    *(int64_t *)user += number;
}

static void nodes_and_lists_of_cpus_are_read(void **state)
{
    (void)state;
    int64_t total = 0;
    assert_true(cpu_list_each(STR("0-3,8,10-11\n"), 4096, sum, &total));
    assert_int_equal(total, 0 + 1 + 2 + 3 + 8 + 10 + 11);
    total = 0;
    assert_true(cpu_list_each(STR("0-9999999999"), 4, sum, &total)); /* bounded */
    assert_int_equal(total, 6);
    assert_false(cpu_list_each(STR(""), 4, sum, &total));
    assert_false(cpu_list_each(STR("3-1"), 4, sum, &total));
    assert_false(cpu_list_each(STR("x"), 4, sum, &total));
    assert_int_equal(numa_stat_node(STR("anon N0=100 N1=900\nfile N0=5000 N1=0\n")), 1);
    assert_int_equal(numa_stat_node(STR("total=60 N0=50 N1=10\nfile=50 N0=50 N1=0\nanon=10 N0=2 N1=8\n")), 1);
    assert_int_equal(numa_stat_node(STR("file N0=5000 N1=0\n")), -1);
    assert_int_equal(numa_stat_node(STR("anon N0=0 N1=0\n")), -1);
}

static void the_mount_of_a_path_is_the_nearest(void **state)
{
    (void)state;
    struct mount_place place;
    const struct str mounts = STR("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                  "21 20 0:40 /export /data rw - nfs4 server:/export rw\n"
                                  "22 21 0:41 / /data/local rw - ext4 /dev/sdb1 rw\n");
    assert_true(mount_of_path(mounts, STR("/data/train/0001.tar"), &place));
    assert_true(str_is(place.point, "/data") && is_network_type(place.type));
    assert_true(mount_of_path(mounts, STR("/data/local/x"), &place));
    assert_true(str_is(place.point, "/data/local") && !is_network_type(place.type));
    assert_true(mount_of_path(mounts, STR("/database/x"), &place));
    assert_true(str_is(place.point, "/"));
}

/* ---- a machine ---- */

enum { PID = 4242, START = 777 };

static void put(struct sysroot *s, const char *text, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
static void put(struct sysroot *s, const char *text, const char *format, ...)
{
    char path[256];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    sysroot_write(s, path, text);
}

struct task {
    char state;
    const char *comm, *wchan;
    int parent;
    long long ticks, start, run_ns, queued_ns, major;
    int processor;
};

static void put_process(struct sysroot *s, int pid, struct task t)
{
    char text[512];
    snprintf(text, sizeof text,
             "%d (%s) %c %d 1 1 0 -1 4194304 100 0 %lld 0 %lld 0 0 0 20 0 1 0 %lld 9000000000 500 18446744073709551615 1 1 0 0 0 0 "
             "0 0 0 "
             "0 0 0 17 %d 0 0 0 0 0\n",
             pid, t.comm, t.state, t.parent, t.major, t.ticks, t.start, t.processor);
    put(s, text, "/proc/%d/stat", pid);
    put(s, t.wchan, "/proc/%d/wchan", pid);
    snprintf(text, sizeof text, "%lld %lld 10\n", t.run_ns, t.queued_ns);
    put(s, text, "/proc/%d/schedstat", pid);
    put(s, text, "/proc/%d/task/%d/schedstat", pid, pid);
    snprintf(text, sizeof text, "%s\n", t.comm);
    put(s, text, "/proc/%d/task/%d/comm", pid, pid);
    put(s, "", "/proc/%d/task/%d/children", pid, pid);
    put(s, "RssFile:\t      512 kB\nVmSwap:\t     2048 kB\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n", "/proc/%d/status",
        pid);
    put(s, "0::/pod/one\n", "/proc/%d/cgroup", pid);
}

static void put_io(struct sysroot *s, int pid, long long read, long long written)
{
    char text[128];
    snprintf(text, sizeof text, "rchar: 1\nwchar: 1\nread_bytes: %lld\nwrite_bytes: %lld\n", read, written);
    put(s, text, "/proc/%d/io", pid);
}

static void look_after(struct sysroot *s, struct evidence_reader *r, int64_t ms, struct host_evidence *ret)
{
    const struct evidence_target target = {PID, START};
    clock_manual_advance_ms(&s->clock, ms);
    evidence_begin(r, &(struct evidence_round){.all = &target, .count = 1, .looked_at = 1, .gap_ms = ms});
    evidence_look(r, &target, ret);
}

#define AUTO_READER __attribute__((cleanup(free_reader)))
static void free_reader(struct evidence_reader **r)
{
    evidence_free(*r);
}

#define IS(reading, expected)                          \
    do {                                               \
        assert_int_equal((reading).state, READING_OK); \
        assert_int_equal((reading).value, expected);   \
    } while (0)

static void a_program_that_a_server_started_is_no_server(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int64_t listens;
    } children[] = {
        {"python3 train.py", 0},
        {"python3 agent.py", 2}, /* forked */
        {"python3 -c from multiprocessing.spawn import spawn_main", 2},
        {"VLLM::EngineCore", 2},
    };
    enum { PARENT = 7 };
    for (size_t i = 0; i < ARRAY_LEN(children); i++) {
        AUTO_SYSROOT struct sysroot s;
        sysroot_init(&s);
        AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
        struct host_evidence e;
        put_process(&s, PID, (struct task){'S', "python", "do_poll", PARENT, 100, START, 1000000000, 0, 5, 0});
        put(&s, children[i].command, "/proc/%d/cmdline", PID);
        put(&s, "python3 agent.py", "/proc/%d/cmdline", PARENT);
        sysroot_link(&s, "/proc/7/ns/net", "net:[1]");
        sysroot_link(&s, "/proc/7/fd/3", "socket:[31337]");
        put(&s,
            "head\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 100 0 0 10 "
            "0\n",
            "/proc/%d/net/tcp", PARENT);
        look_after(&s, r, 1000, &e);
        IS(e.listens, children[i].listens);
    }
}

static void a_main_thread_is_shared_out_between_work_and_waits(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    put_process(&s, PID, (struct task){'D', "python", "folio_wait_bit_common", 1, 100, START, 1000000000, 0, 5, 0});
    put_io(&s, PID, 1000, 500);
    look_after(&s, r, 1000, &e);
    assert_int_equal(e.state, READING_OK);
    assert_int_equal(e.looks, 1);
    assert_int_equal(e.over_ms, 0);
    assert_int_equal(e.cpu_permille.state, READING_PENDING);
    assert_int_equal(e.busiest_thread_permille.state, READING_PENDING);

    /* Of a second it ran 250 ms and was ready for 50 ms; the rest it waited for the disk. */
    put_process(&s, PID, (struct task){'D', "python", "blk_io_schedule", 1, 130, START, 1250000000, 50000000, 15, 0});
    put_io(&s, PID, 5001000, 2000500);
    look_after(&s, r, 1000, &e);
    assert_int_equal(e.looks, 2);
    assert_int_equal(e.over_ms, 1000);
    IS(e.main_running_permille, 300);
    IS(e.main_disk_permille, 700);
    IS(e.main_lock_permille, 0);
    IS(e.main_cpu_permille, 250);
    IS(e.runqueue_permille, 50);
    IS(e.cpu_permille, 300);
    IS(e.busiest_thread_permille, 250);
    assert_string_equal(e.busiest_thread, "python");
    IS(e.read_bytes_per_s, 5000000);
    IS(e.write_bytes_per_s, 2000000);
    IS(e.major_faults_per_s, 10);
    IS(e.swap_bytes, 2048 * 1024);
    IS(e.file_rss_bytes, 512 * 1024);
    IS(e.stopped, 0);

    /* Then it waits for a lock: the share of the disk goes down as the looks at it grow old. */
    for (int i = 0; i < 8; i++) {
        put_process(&s, PID, (struct task){'S', "python", "futex_do_wait", 1, 130, START, 1250000000, 50000000, 15, 0});
        look_after(&s, r, 1000, &e);
    }
    IS(e.main_lock_permille, 1000);
    IS(e.main_disk_permille, 0);
    IS(e.read_bytes_per_s, 0);
}

static void what_another_user_hides_is_absent_with_its_reason(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    for (int i = 0; i < 2; i++) {
        put_process(&s, PID, (struct task){'S', "python", "0", 1, 100 + 50 * i, START, 500000000LL * i, 0, 0, 0});
        look_after(&s, r, 1000, &e);
    }
    assert_int_equal(e.state, READING_OK);
    IS(e.main_running_permille, 500);
    IS(e.cpu_permille, 500);
    assert_int_not_equal(e.main_lock_permille.state, READING_OK);
    assert_int_not_equal(e.main_sleep_permille.state, READING_OK);
    assert_int_not_equal(e.read_bytes_per_s.state, READING_OK);
}

static void nothing_is_read_of_a_process_with_another_start(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    put_process(&s, PID, (struct task){'R', "python", "0", 1, 100, START, 0, 0, 0, 0});
    look_after(&s, r, 1000, &e);
    assert_int_equal(e.state, READING_OK);
    put_process(&s, PID, (struct task){'R', "bash", "0", 1, 0, START + 9, 0, 0, 0, 0});
    look_after(&s, r, 1000, &e);
    assert_int_not_equal(e.state, READING_OK);
    assert_int_equal(e.looks, 0);
    put_process(&s, PID, (struct task){'R', "python", "0", 1, 100, START, 0, 0, 0, 0});
    look_after(&s, r, 1000, &e);
    assert_int_equal(e.looks, 1); /* what was seen before is forgotten */
    sysroot_remove(&s, "/proc/4242");
    look_after(&s, r, 1000, &e);
    assert_int_not_equal(e.state, READING_OK);
}

static void a_thread_that_computes_is_named(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    for (int i = 0; i < 2; i++) {
        put_process(&s, PID, (struct task){'S', "python", "futex_do_wait", 1, 100 + 150 * i, START, 0, 0, 0, 0});
        put(&s, i ? "610000000 0 5\n" : "10000000 0 5\n", "/proc/%d/task/5000/schedstat", PID);
        put(&s, "pt_autograd_0\n", "/proc/%d/task/5000/comm", PID);
        look_after(&s, r, 1000, &e);
    }
    IS(e.busiest_thread_permille, 600);
    assert_string_equal(e.busiest_thread, "pt_autograd_0");
    IS(e.main_lock_permille, 1000);
    IS(e.cpu_permille, 1500);

    /* So is one that has started since. */
    put_process(&s, PID, (struct task){'S', "python", "futex_do_wait", 1, 1150, START, 0, 0, 0, 0});
    put(&s, "3610000000 0 5\n", "/proc/%d/task/5000/schedstat", PID);
    put(&s, "5400000000 0 5\n", "/proc/%d/task/5001/schedstat", PID);
    put(&s, "pt_data_pin\n", "/proc/%d/task/5001/comm", PID);
    look_after(&s, r, 6000, &e);
    IS(e.busiest_thread_permille, 900);
    assert_string_equal(e.busiest_thread, "pt_data_pin");
}

static size_t thread_looks;

static int count_thread(int dir, const char *path, int flags)
{
    thread_looks += strcmp(path, "5000/schedstat") == 0;
    return file_calls_system.openat(dir, path, flags);
}

/* As long as the main thread used more than all others did together, none of them has to be looked at. */
static void threads_are_looked_at_once_one_of_them_may_be_the_busiest(void **state)
{
    (void)state;
    enum { BEFORE = 20, AFTER = 9, TICKS = 100 };
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e, before;
    size_t looks_before = 0;
    const struct file_calls counting = {count_thread, file_calls_system.read, file_calls_system.pread};
    thread_looks = 0;
    file_calls_replace(&counting);
    put(&s, "pt_autograd_0\n", "/proc/%d/task/5000/comm", PID);
    for (long long i = 0; i < BEFORE + AFTER; i++) {
        long long main_s = MIN_OF(i, (long long)BEFORE);
        char other[64];
        put_process(&s, PID, (struct task){'R', "python", "0", 1, i * TICKS, START, main_s * NS_PER_S, 0, 0, 0});
        snprintf(other, sizeof other, "%lld 0 5\n", (i - main_s) * NS_PER_S);
        put(&s, other, "/proc/%d/task/5000/schedstat", PID);
        look_after(&s, r, 1000, &e);
        if (i == BEFORE) {
            before = e;
            looks_before = thread_looks;
        }
    }
    file_calls_replace(NULL);
    IS(before.busiest_thread_permille, 1000);
    assert_string_equal(before.busiest_thread, "python");
    assert_int_equal(looks_before, 1);
    IS(e.busiest_thread_permille, 1000);
    assert_string_equal(e.busiest_thread, "pt_autograd_0");
}

/* What the recorder of a rank wrote: the newest collective, and how long ago by the sysroot's clock. */
static void put_dump(struct sysroot *s, const char *path, char number, const char *dump_state, int64_t age_s)
{
    char whole[512];
    struct buf b = BUF(1024);
    static const char begin[] = "\x80\x02](}(\x8c\x11"
                                "collective_seq_idK",
                      middle[] = "\x8c\x0dprocess_group\x8c\x01"
                                 "0\x8c\x0eprofiling_name"
                                 "\x8c\x0fnccl:all_reduce\x8c\x05state\x8c";
    buf_add(&b, begin, sizeof begin - 1);
    buf_add(&b, &number, 1);
    buf_add(&b, middle, sizeof middle - 1);
    buf_printf(&b, "%c%sue.", (char)strlen(dump_state), dump_state);
    sysroot_write_bytes(s, path, b.at, b.len);
    buf_done(&b);
    sysroot_place(s, path, whole);
    struct timespec at = {.tv_sec = 1800000000 - age_s};
    assert_int_equal(utimensat(AT_FDCWD, whole, (struct timespec[]){at, at}, 0), 0);
}

static void look_at_rank(struct sysroot *s, const char *environment, size_t len, struct host_evidence *ret)
{
    AUTO_READER struct evidence_reader *r = evidence_new(&s->env);
    char path[64];
    put_process(s, PID, (struct task){'R', "python", "0", 1, 100, START, 1000000000, 0, 5, 0});
    snprintf(path, sizeof path, "/proc/%d/environ", PID);
    sysroot_write_bytes(s, path, environment, len);
    look_after(s, r, 1000, ret);
}

static void the_traces_of_a_job_name_the_late_rank(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct host_evidence e;
    static const char set[] = "RANK=0\0WORLD_SIZE=2\0TORCH_FR_DUMP_TEMP_FILE=/logs/rank_",
                      usual[] = "RANK=0\0WORLD_SIZE=2\0HOME=/root", alone[] = "HOME=/root";
    look_at_rank(&s, set, sizeof set, &e);
    assert_string_equal(e.collective, ""); /* nothing was written */
    assert_int_equal(e.late_rank.state, READING_UNSUPPORTED);

    put_dump(&s, "/proc/4242/root/logs/rank_0", 5, "started", 40);
    put_dump(&s, "/proc/4242/root/logs/rank_1", 4, "completed", 40);
    look_at_rank(&s, set, sizeof set, &e);
    assert_string_equal(e.collective, "rank 1 has not come to all_reduce 5: its last is 4");
    IS(e.late_rank, 1);
    look_at_rank(&s, usual, sizeof usual, &e); /* elsewhere */
    assert_string_equal(e.collective, "");
    put_dump(&s, "/proc/4242/root/tmp/nccl_trace_rank_0", 5, "started", 40);
    put_dump(&s, "/proc/4242/root/tmp/nccl_trace_rank_1", 4, "completed", 40);
    look_at_rank(&s, usual, sizeof usual, &e);
    IS(e.late_rank, 1);
    look_at_rank(&s, alone, sizeof alone, &e); /* no rank */
    assert_string_equal(e.collective, "");
    put_dump(&s, "/proc/4242/root/logs/rank_0", 5, "started", 3600); /* of an hour ago */
    look_at_rank(&s, set, sizeof set, &e);
    assert_string_equal(e.collective, "");
}

/* Eight collectives, as NCCL's Inspector tells of them: all of this rank take so long. */
static void put_inspected(struct sysroot *s, int rank, int took_us)
{
    AUTO_BUF struct buf b = BUF(1 << 16);
    char path[96];
    for (int n = 1; n <= 9; n++)
        buf_printf(&b,
                   "{\"header\":{\"id\":\"0x7f\",\"rank\":%d,\"n_ranks\":2,\"nnodes\":1},\"metadata\":{\"dump_timestamp_us\":%d},"
                   "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%d,\"coll_msg_size_bytes\":4096,"
                   "\"coll_exec_time_us\":%d,\"coll_busbw_gbs\":1.5}}\n",
                   rank, 1000 * n, n, took_us);
    snprintf(path, sizeof path, "/proc/%d/root/inspector/host-pid%d.log", PID, 100 + rank);
    sysroot_write(s, path, b.at);
    char whole[512];
    sysroot_place(s, path, whole);
    struct timespec at = {.tv_sec = 1800000000 - 5};
    assert_int_equal(utimensat(AT_FDCWD, whole, (struct timespec[]){at, at}, 0), 0);
}

static void the_inspector_of_two_ranks_names_the_late_one(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct host_evidence e;
    static const char set[] = "RANK=0\0WORLD_SIZE=2\0NCCL_INSPECTOR_ENABLE=1\0NCCL_INSPECTOR_DUMP_DIR=/inspector";
    put_inspected(&s, 0, 310000);
    put_inspected(&s, 1, 21000);
    look_at_rank(&s, set, sizeof set, &e);
    assert_non_null(strstr(e.collective, "rank 1 came last"));
    IS(e.late_rank, 1);
}

static void children_are_counted_and_the_busiest_named(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    const struct evidence_target all[] = {{PID, START}, {4400, 1}};
    for (int i = 0; i < 2; i++) {
        put_process(&s, PID, (struct task){'S', "python", "unix_stream_read_generic", 1, 100, START, 0, 0, 0, 0});
        put(&s, "4300 4301 4400", "/proc/%d/task/%d/children", PID, PID);
        put_process(&s, 4300, (struct task){'R', "pt_data_worker", "0", PID, 10 + 97 * i, 800, 0, 0, 0, 0});
        put_process(&s, 4301, (struct task){'D', "pt_data_worker", "folio_wait_bit_common", PID, 10 + 20 * i, 801, 0, 0, 0, 0});
        put_process(&s, 4400, (struct task){'R', "rank1", "0", PID, 10 + 100 * i, 1, 0, 0, 0, 0}); /* has a GPU itself */
        put(&s, "4302", "/proc/4300/task/4300/children");
        put_process(&s, 4302, (struct task){'S', "helper", "hrtimer_nanosleep", 4300, 0, 802, 0, 0, 0, 0});
        put_io(&s, PID, 0, 0);
        put_io(&s, 4300, 3000000LL * i, 0);
        put_io(&s, 4301, 1000000LL * i, 7000000LL * i);
        clock_manual_advance_ms(&s.clock, 1000);
        evidence_begin(r, &(struct evidence_round){.all = all, .count = 2, .looked_at = 1, .gap_ms = 1000});
        evidence_look(r, &all[0], &e);
    }
    IS(e.child_count, 3);
    IS(e.child_cpu_permille, 1170);
    IS(e.child_busiest_permille, 970);
    assert_string_equal(e.busiest_child, "pt_data_worker");
    IS(e.child_disk_count, 1);
    IS(e.child_sleep_count, 1);
    IS(e.child_network_count, 0);
    IS(e.main_pipe_permille, 1000);
    IS(e.read_bytes_per_s, 4000000);
    IS(e.write_bytes_per_s, 7000000);
    assert_string_equal(e.compiler, "");

    /* A compiler below a loader is found, and forgotten as soon as it has ended. */
    put(&s, "4303", "/proc/4302/task/4302/children");
    put_process(&s, 4303, (struct task){'R', "ptxas", "0", 4302, 0, 803, 0, 0, 0, 0});
    look_after(&s, r, 1000, &e);
    assert_string_equal(e.compiler, "ptxas");
    put(&s, "", "/proc/4302/task/4302/children");
    sysroot_remove(&s, "/proc/4303");
    look_after(&s, r, 1000, &e);
    assert_string_equal(e.compiler, "");
}

static void a_quota_above_the_own_group_counts(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    sysroot_write(&s, "/proc/self/mountinfo", v2_mounts);
    sysroot_write(&s, "/sys/fs/cgroup/pod/one/cpu.max", "300000 100000\n");
    sysroot_write(&s, "/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    sysroot_write(&s, "/sys/fs/cgroup/pod/cpu.stat", "nr_throttled 1\nthrottled_usec 1000000\n");
    sysroot_write(&s, "/sys/fs/cgroup/pod/one/cpu.pressure", "some avg10=20.00 avg60=0 avg300=0 total=100000\n");
    sysroot_write(&s, "/sys/fs/cgroup/pod/one/memory.numa_stat", "anon N0=1 N1=900\n");
    sysroot_write(&s, "/proc/pressure/io", "some avg10=3.00 avg60=0 avg300=0 total=5\n");
    sysroot_write(&s, "/sys/devices/system/node/online", "0-1\n");
    sysroot_write(&s, "/sys/devices/system/node/node0/cpulist", "0-3\n");
    sysroot_write(&s, "/sys/devices/system/node/node1/cpulist", "4-7\n");
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    put_process(&s, PID, (struct task){'R', "python", "0", 1, 0, START, 0, 0, 0, 2});
    look_after(&s, r, 1000, &e);
    IS(e.quota_millicores, 1500);
    assert_int_equal(e.throttled_permille.state, READING_PENDING);
    IS(e.cpu_pressure_permille, 200);
    IS(e.io_pressure_permille, 30); /* the host's: the group has none */
    assert_int_equal(e.mem_pressure_permille.state, READING_UNSUPPORTED);
    IS(e.cpu_node, 0);
    IS(e.memory_node, 1);

    sysroot_write(&s, "/sys/fs/cgroup/pod/cpu.stat", "nr_throttled 9\nthrottled_usec 1400000\n");
    sysroot_write(&s, "/sys/fs/cgroup/pod/one/cpu.pressure", "some avg10=20.00 avg60=0 avg300=0 total=700000\n");
    look_after(&s, r, 1000, &e);
    IS(e.throttled_permille, 400);
    IS(e.cpu_pressure_permille, 600);

    /* Groups are learned again. The time that another group was throttled isn't subtracted from that of this one. */
    sysroot_write(&s, "/sys/fs/cgroup/pod/cpu.stat", "nr_throttled 50\nthrottled_usec 7400000\n");
    look_after(&s, r, 20 * 1000, &e);
    IS(e.throttled_permille, 300);
    sysroot_write(&s, "/sys/fs/cgroup/pod/one/cpu.max", "50000 100000\n");
    sysroot_write(&s, "/sys/fs/cgroup/pod/one/cpu.stat", "nr_throttled 90\nthrottled_usec 17400000\n");
    look_after(&s, r, 20 * 1000, &e);
    IS(e.quota_millicores, 500);
    assert_int_equal(e.throttled_permille.state, READING_PENDING);
}

static void a_quota_of_the_first_version_counts(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    sysroot_write(&s, "/proc/self/mountinfo", v1_mounts);
    sysroot_write(&s, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
    sysroot_write(&s, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    sysroot_write(&s, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 0\n");
    sysroot_write(&s, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    put_process(&s, PID, (struct task){'R', "python", "0", 1, 0, START, 0, 0, 0, 2});
    put(&s, "2:cpu,cpuacct:/job\n0::/\n", "/proc/%d/cgroup", PID);
    look_after(&s, r, 1000, &e);
    sysroot_write(&s, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_periods 9\nnr_throttled 9\nthrottled_time 500000000\n");
    look_after(&s, r, 1000, &e);
    IS(e.quota_millicores, 500);
    IS(e.throttled_permille, 500);
}

static void pages_of_a_network_file_are_told_from_those_of_a_disk(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    put_process(&s, PID, (struct task){'D', "python", "folio_wait_bit_common", 1, 0, START, 0, 0, 0, 2});
    put(&s, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 0:40 / /data rw - nfs4 server:/export rw\n", "/proc/%d/mountinfo", PID);
    sysroot_link(&s, "/proc/4242/fd/3", "/data/train.tar");
    look_after(&s, r, 1000, &e);
    IS(e.main_network_fs_permille, 1000);
    IS(e.main_disk_permille, 0);
    assert_string_equal(e.mount, "/data");
}

static void what_was_before_a_pause_is_forgotten(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    const struct evidence_target target = {PID, START};
    put_process(&s, PID, (struct task){'R', "python", "0", 1, 0, START, 0, 0, 0, 2});
    look_after(&s, r, 1000, &e);
    look_after(&s, r, 1000, &e);
    assert_int_equal(e.looks, 2);
    /* Its GPU kept it busy for ten rounds, in which it was not looked at. */
    clock_manual_advance_ms(&s.clock, 10000);
    evidence_begin(r, &(struct evidence_round){.all = &target, .count = 1, .looked_at = 1, .gap_ms = 1000});
    evidence_look(r, &target, &e);
    assert_int_equal(e.looks, 1);
    /* Rounds that are far apart have no pause between them. */
    look_after(&s, r, 30000, &e);
    assert_int_equal(e.looks, 2);
    assert_int_equal(e.over_ms, 30000);
}

static size_t opened;

static int count_open(int dir, const char *path, int flags)
{
    opened++;
    return file_calls_system.openat(dir, path, flags);
}

static void a_round_reads_no_more_than_its_files(void **state)
{
    (void)state;
    enum { THREADS = 300, CHILDREN = 120, ROUNDS = 6, FILES_MOST = 640 };
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct host_evidence e;
    put_process(&s, PID, (struct task){'S', "python", "futex_do_wait", 1, 0, START, 0, 0, 0, 2});
    AUTO_BUF struct buf children = BUF(1 << 16);
    for (int i = 0; i < THREADS; i++)
        put(&s, "5 0 1\n", "/proc/%d/task/%d/schedstat", PID, 10000 + i);
    for (int i = 0; i < CHILDREN; i++) {
        put_process(&s, 20000 + i, (struct task){'S', "worker", "futex_do_wait", PID, 0, 900 + i, 0, 0, 0, 0});
        buf_printf(&children, "%d ", 20000 + i);
    }
    put(&s, children.at, "/proc/%d/task/%d/children", PID, PID);
    const struct file_calls counting = {count_open, file_calls_system.read, file_calls_system.pread};
    file_calls_replace(&counting);
    for (int i = 0; i < ROUNDS; i++) {
        opened = 0;
        look_after(&s, r, 1000, &e);
        assert_in_range(opened, 1, FILES_MOST);
        assert_int_equal(e.state, READING_OK);
    }
    /* Many programs share what a round may read, and each is looked at. */
    enum { PROGRAMS = 60 };
    struct evidence_target all[PROGRAMS];
    for (int i = 0; i < PROGRAMS; i++)
        all[i] = (struct evidence_target){20000 + i, 900 + i};
    clock_manual_advance_ms(&s.clock, 1000);
    opened = 0;
    evidence_begin(r, &(struct evidence_round){.all = all, .count = PROGRAMS, .looked_at = PROGRAMS, .gap_ms = 1000});
    for (int i = 0; i < PROGRAMS; i++) {
        evidence_look(r, &all[i], &e);
        assert_int_equal(e.state, READING_OK);
    }
    assert_in_range(opened, PROGRAMS, FILES_MOST + 2 * PROGRAMS);
    file_calls_replace(NULL);
}

static void large_programs_that_hold_a_gpu_are_candidates(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    AUTO_READER struct evidence_reader *r = evidence_new(&s.env);
    struct evidence_target found[4];
    put_process(&s, PID, (struct task){'S', "python", "futex_do_wait", 1, 0, START, 0, 0, 0, 2});
    sysroot_write(&s, "/proc/7/stat", "7 (small) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 4096 1\n");
    assert_int_equal(evidence_candidates(r, found, 4), 0);
    sysroot_link(&s, "/proc/4242/fd/9", "/dev/nvidia0");
    sysroot_link(&s, "/proc/7/fd/9", "/dev/nvidia0");
    assert_int_equal(evidence_candidates(r, found, 4), 1);
    assert_int_equal(found[0].pid, PID);
    assert_int_equal(found[0].start_key, START);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_kernel_name_says_what_a_thread_waits_for),
        TEST(compilers_are_known_by_name),
        TEST(control_groups_of_both_versions_are_found),
        TEST(quotas_throttling_and_pressure_are_read),
        TEST(nodes_and_lists_of_cpus_are_read),
        TEST(the_mount_of_a_path_is_the_nearest),
        TEST(a_main_thread_is_shared_out_between_work_and_waits),
        TEST(what_another_user_hides_is_absent_with_its_reason),
        TEST(nothing_is_read_of_a_process_with_another_start),
        TEST(a_thread_that_computes_is_named),
        TEST(threads_are_looked_at_once_one_of_them_may_be_the_busiest),
        TEST(the_traces_of_a_job_name_the_late_rank),
        TEST(the_inspector_of_two_ranks_names_the_late_one),
        TEST(children_are_counted_and_the_busiest_named),
        TEST(a_quota_above_the_own_group_counts),
        TEST(a_quota_of_the_first_version_counts),
        TEST(pages_of_a_network_file_are_told_from_those_of_a_disk),
        TEST(what_was_before_a_pause_is_forgotten),
        TEST(a_round_reads_no_more_than_its_files),
        TEST(large_programs_that_hold_a_gpu_are_candidates),
        TEST(a_program_that_a_server_started_is_no_server),
    };
    return RUN_TESTS(tests);
}
