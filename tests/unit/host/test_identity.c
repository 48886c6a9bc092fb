/* SPDX-License-Identifier: Apache-2.0 */
#include "host/identity.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sysroot.h"

enum { PID = 4242 };

static struct identity *new_identity(struct sysroot *s)
{
    return identity_new(&s->env, false);
}

static void write_stat(struct sysroot *s, int pid, const char *comm, unsigned flags, int utime, int stime, int start)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(
        text, sizeof text,
        "%d (%s) S 1 1 1 0 -1 %u 100 0 0 0 %d %d 0 0 20 0 9 0 %d 1000000 2048 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 "
        "0 0 0 0\n",
        pid, comm, flags, utime, stime, start);
    sysroot_write(s, path, text);
}

static void write_file(struct sysroot *s, int pid, const char *file, const char *bytes, size_t len)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    sysroot_write_bytes(s, path, bytes, len);
}
#define WRITE(s, pid, file, literal) write_file(s, pid, file, literal, sizeof(literal) - 1)

static void set_up(struct sysroot *s)
{
    sysroot_init(s);
    sysroot_write(s, "/proc/stat", "cpu  1 2 3 4\nintr 1 2 3\nctxt 5\nbtime 1799990000\nprocesses 7\n");
    sysroot_write(s, "/etc/passwd",
                  "root:x:0:0:root:/root:/bin/bash\n# alice:x:1:1\nalice:x:1000:1000:Alice,,,:/home/alice:/bin/sh\n");
    write_stat(s, PID, "python3", 0x400000, 500, 100, 360000);
    WRITE(s, PID, "cmdline", "python3\0train.py\0--token=abc123def\0--model\0Qwen/Qwen3-8B\0");
    WRITE(s, PID, "status", "Name:\tpython3\nUid:\t1001\t1000\t1000\t1000\nVmRSS:\t  8192 kB\nNSpid:\t4242\n");
    WRITE(s, PID, "cgroup", "0::/system.slice/docker-4f2a9c1b3d7e00112233445566778899aabbccddeeff00112233445566778899.scope\n");
}

static struct process fill(struct identity *i, int pid)
{
    struct process p = {.pid = pid, .instance = -1, .visible = true};
    identity_fill(i, &p);
    return p;
}

static void a_process_is_known_by_name_user_command_start_and_container(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_true(p.visible);
    assert_string_equal(p.name, "python3");
    assert_string_equal(p.user, "alice"); /* the effective user */
    assert_string_equal(p.command, "python3 train.py --token=*** --model Qwen/Qwen3-8B");
    assert_string_equal(p.container, "docker:4f2a9c1b3d7e");
    assert_string_equal(p.model, "Qwen/Qwen3-8B");
    assert_string_equal(p.title, "train.py");
    assert_string_equal(p.container_name, "");
    assert_int_equal(p.container_name_state, READING_UNSUPPORTED);
    assert_int_equal(p.start_key, 360000);
    assert_int_equal(p.started_at.ms, 1799990000000 + 3600000);
    assert_int_equal(p.host_mem_bytes.value, 8192 * 1024);
    identity_free(i);
}

/* A process that sets Slurm's variables keeps its own user: only root, and users without a name, are the job's. */
static void the_owner_of_a_job_is_named_where_the_kernel_has_no_name(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    WRITE(&s, PID, "environ", "SLURM_JOB_ID=4711\0SLURM_JOB_USER=bob\0");
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_string_equal(p.job, "4711");
    assert_string_equal(p.user, "alice");
    identity_free(i);
    static const char *const uids[] = {"0", "4242"};
    for (size_t k = 0; k < ARRAY_LEN(uids); k++) {
        char status[64];
        snprintf(status, sizeof status, "Name:\tpython3\nUid:\t%s\t%s\t%s\t%s\n", uids[k], uids[k], uids[k], uids[k]);
        sysroot_write(&s, "/proc/4242/status", status);
        i = new_identity(&s);
        assert_string_equal(fill(i, PID).user, "bob");
        identity_free(i);
    }
    WRITE(&s, PID, "cgroup", "8:devices:/slurm/uid_1000/job_77/step_0\n");
    i = new_identity(&s);
    p = fill(i, PID);
    assert_string_equal(p.job, "77");
    assert_string_equal(p.user, "alice");
    identity_free(i);
}

static void write_child(struct sysroot *s, int pid, const char *comm, int parent)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (%s) S %d 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 9 0 77 1000000 2048 0\n", pid, comm, parent);
    sysroot_write(s, path, text);
}

/* Through a shell between them, and although the launcher has ended meanwhile; not whatever a session has started. */
static void a_rank_knows_its_launcher(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_child(&s, 50, "bash", 1);
    WRITE(&s, 50, "cmdline", "-bash\0");
    write_child(&s, 100, "torchrun", 50);
    WRITE(&s, 100, "cmdline", "/usr/bin/python3\0/usr/bin/torchrun\0--nproc-per-node=2\0train.py\0");
    write_child(&s, 101, "sh", 100);
    WRITE(&s, 101, "cmdline", "sh\0-c\0python3 train.py\0");
    write_child(&s, PID, "python3", 101);
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_string_equal(p.launcher, "torchrun:100");
    assert_string_equal(p.job, ""); /* one alone is not a job */
    WRITE(&s, PID, "environ", "RANK=1\0WORLD_SIZE=2\0LOCAL_WORLD_SIZE=2\0");
    identity_free(i);
    i = new_identity(&s);
    p = fill(i, PID);
    assert_string_equal(p.job, "torchrun:100");
    assert_int_equal(p.rank.value, 1);
    assert_int_equal(p.world_size.value, 2);
    write_child(&s, PID, "pt_main_thread", 1); /* its launcher has ended; the name that it gives itself makes it looked at again */
    identity_sweep(i);
    p = fill(i, PID);
    assert_int_equal(p.parent, 1);
    assert_string_equal(p.job, "torchrun:100");
    identity_free(i);
    sysroot_write(&s, "/proc/4242/environ", "");
    write_child(&s, PID, "python3", 50);
    i = new_identity(&s);
    assert_string_equal(fill(i, PID).launcher, "");
    identity_free(i);
    write_child(&s, 60, "python3.11", 1); /* a script that spawns its workers */
    WRITE(&s, 60, "cmdline", "python3.11\0train.py\0");
    write_child(&s, PID, "python3", 60);
    i = new_identity(&s);
    assert_string_equal(fill(i, PID).launcher, "python3:60");
    struct process draws = {.pid = PID, .instance = -1, .type = PROCESS_GRAPHICS}; /* as the processes of a browser do */
    identity_fill(i, &draws);
    assert_string_equal(draws.launcher, "");
    identity_free(i);
}

static void a_process_knows_who_started_it(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_stat(&s, 1, "systemd", 0, 0, 0, 1);
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_int_equal(p.parent, 1);
    assert_string_equal(p.parent_name, "systemd");
    identity_free(i);
}

static void details_are_whole_and_masked(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    AUTO_BUF struct buf out = BUF(1 << 20);
    set_up(&s);
    WRITE(&s, PID, "environ", "PATH=/bin\0HF_TOKEN=hf_abcdefghijklmnop\0DB_PASSWORD=swordfish\0TERM=a\033b\0");
    sysroot_link(&s, "/proc/4242/fd/3", "/dev/nvidia0");
    sysroot_link(&s, "/proc/4242/fd/4", "/dev/nvidiactl");
    sysroot_link(&s, "/proc/4242/fd/5", "/dev/nvidia0");
    sysroot_link(&s, "/proc/4242/fd/6", "/home/alice/secret");
    sysroot_link(&s, "/proc/4242/cwd", "/home/alice");
    assert_int_equal(process_details(&s.env, PID, 360000, false, &out), 0);
    assert_non_null(strstr(out.at, "Command\tpython3 train.py --token=*** --model Qwen/Qwen3-8B\n"));
    assert_non_null(strstr(out.at, "Directory\t/home/alice\n"));
    assert_non_null(strstr(out.at, "GPU files\t/dev/nvidia0 (2), /dev/nvidiactl\n"));
    assert_non_null(strstr(out.at, "Environment\tPATH=/bin\n\tHF_TOKEN=***\n\tDB_PASSWORD=***\n"));
    assert_null(strchr(out.at, '\033'));
    assert_null(strstr(out.at, "secret"));
    assert_int_equal(process_details(&s.env, PID, 360001, false, &out), -ESRCH); /* another one got its number */
    assert_int_equal(process_details(&s.env, 77, 0, false, &out), -ESRCH);
}

static void secrets_are_shown_on_request(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = identity_new(&s.env, true);
    assert_string_equal(fill(i, PID).command, "python3 train.py --token=abc123def --model Qwen/Qwen3-8B");
    identity_free(i);
}

static void cpu_is_pending_first_and_then_the_rate_between_samples(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    assert_int_equal(fill(i, PID).cpu_permille.state, READING_PENDING);
    identity_sweep(i);
    clock_manual_advance_ms(&s.clock, 2000);
    write_stat(&s, PID, "python3", 0x400000, 700, 200, 360000); /* 3 s of CPU in 2 s */
    struct process p = fill(i, PID);
    assert_int_equal(p.cpu_permille.state, READING_OK);
    assert_int_equal(p.cpu_permille.value, 1500);
    /* The same process on a second GPU of the sample, and a sample right after: the rate stays. */
    assert_int_equal(fill(i, PID).cpu_permille.value, 1500);
    identity_sweep(i);
    clock_manual_advance_ms(&s.clock, 50);
    assert_int_equal(fill(i, PID).cpu_permille.value, 1500);
    identity_free(i);
}

static void a_known_process_costs_one_read(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    fill(i, PID);
    identity_sweep(i);
    sysroot_remove(&s, "/proc/4242/cmdline");
    sysroot_remove(&s, "/proc/4242/cgroup");
    clock_manual_advance_ms(&s.clock, 1000);
    struct process p = fill(i, PID);
    assert_string_equal(p.command, "python3 train.py --token=*** --model Qwen/Qwen3-8B");
    assert_string_equal(p.container, "docker:4f2a9c1b3d7e");
    identity_free(i);
}

static void a_reused_pid_is_another_process(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    fill(i, PID);
    identity_sweep(i);
    clock_manual_advance_ms(&s.clock, 1000);
    write_stat(&s, PID, "blender", 0, 5, 5, 777777);
    WRITE(&s, PID, "cmdline", "blender\0-b\0");
    WRITE(&s, PID, "cgroup", "0::/\n");
    struct process p = fill(i, PID);
    assert_string_equal(p.name, "blender");
    assert_string_equal(p.command, "blender -b");
    assert_string_equal(p.container, "");
    assert_int_equal(p.start_key, 777777);
    assert_int_equal(p.cpu_permille.state, READING_PENDING);
    identity_free(i);
}

static void exec_shows_the_new_program(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    fill(i, PID);
    identity_sweep(i);
    write_stat(&s, PID, "VLLM::EngineCor", 0, 500, 100, 360000);
    WRITE(&s, PID, "cmdline", "VLLM::EngineCore\0");
    struct process p = fill(i, PID);
    assert_string_equal(p.name, "VLLM::EngineCore"); /* the kernel cut it, the command line has the rest */
    identity_sweep(i);
    write_stat(&s, PID, "3", 0, 500, 100, 360000);
    WRITE(&s, PID, "cmdline", "/opt/x/renderer\0--gpu\0");
    p = fill(i, PID);
    assert_string_equal(p.name, "renderer"); /* started by its descriptor: the kernel has only that */
    identity_free(i);
}

static void a_rewritten_command_line_is_noticed_after_a_while(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    fill(i, PID);
    identity_sweep(i);
    WRITE(&s, PID, "cmdline", "worker: step 2");
    clock_manual_advance_ms(&s.clock, 31000);
    assert_string_equal(fill(i, PID).command, "worker: step 2");
    identity_free(i);
}

static void names_cannot_break_out(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_stat(&s, PID, "a) R (\n\xff b", 0, 1, 1, 5);
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_string_equal(p.name, "a) R (?? b");
    assert_int_equal(p.start_key, 5);
    identity_free(i);
}

static void a_pid_that_is_not_there_is_not_visible(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    struct process p = fill(i, 99999);
    assert_false(p.visible);
    assert_string_equal(p.name, "");
    assert_int_equal(p.start_key, 0);
    assert_int_equal(p.cpu_permille.state, READING_UNREAD);
    identity_free(i);
}

/* In a container the driver may report host PIDs. The same number in our /proc is then another process. */
static void in_a_container_a_number_alone_proves_nothing(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_link(&s, "/proc/self/ns/pid", "pid:[4026532561]");
    sysroot_link(&s, "/proc/4242/fd/0", "/dev/null");
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_false(p.visible);
    assert_string_equal(p.name, "");
    assert_string_equal(p.command, "");
    identity_free(i);
}

static void in_a_container_an_open_gpu_proves_the_process(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/.dockerenv", "");
    sysroot_link(&s, "/proc/4242/fd/7", "/dev/nvidia0");
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_true(p.visible);
    assert_string_equal(p.name, "python3");
    identity_free(i);
}

static void container_markers_hide_strangers_too(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/run/.containerenv", "");
    struct identity *i = new_identity(&s);
    assert_false(fill(i, PID).visible);
    identity_free(i);
}

static void the_hosts_own_proc_inside_a_container_is_trusted(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/.dockerenv", "");
    sysroot_link(&s, "/proc/self/ns/pid", "pid:[4026532561]");
    write_stat(&s, 2, "kthreadd", 0x208040, 0, 0, 1);
    struct identity *i = new_identity(&s);
    assert_true(fill(i, PID).visible);
    identity_free(i);
}

static void what_a_source_filled_stays(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    struct process simulated = {.pid = PID, .visible = true, .name = "game", .started_at = {1700000000000}};
    identity_fill(i, &simulated);
    assert_true(simulated.visible);
    assert_string_equal(simulated.name, "game");
    assert_string_equal(simulated.user, "");
    struct process named = {.pid = PID, .visible = true, .name = "given"};
    identity_fill(i, &named);
    assert_string_equal(named.name, "given");
    assert_string_equal(named.user, "alice");
    identity_free(i);
}

static void a_user_without_a_name_is_a_number(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    WRITE(&s, PID, "status", "Uid:\t65534\t4711\t4711\t4711\n");
    struct identity *i = new_identity(&s);
    struct process p = fill(i, PID);
    assert_string_equal(p.user, "4711");
    assert_int_equal(p.host_mem_bytes.value, 2048 * sysconf(_SC_PAGESIZE)); /* no VmRSS: pages of stat */
    identity_free(i);
}

static void forgotten_pids_do_not_pile_up(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    fill(i, PID);
    sysroot_remove(&s, "/proc/4242");
    for (int round = 0; round < 20; round++)
        identity_sweep(i);
    assert_false(fill(i, PID).visible);
    identity_free(i);
}

static void we_find_ourselves_on_the_real_machine(void **state)
{
    (void)state;
    struct env env;
    env_init_system(&env);
    if (access("/proc/self/stat", R_OK) != 0)
        SKIP("no /proc");
    /* The tests may run in a container, where only a process that holds a GPU is recognised: then nothing wrong is shown. */
    struct identity *i = identity_new(&env, false);
    struct process p = fill(i, getpid());
    if (p.visible) {
        assert_true(p.name[0]);
        assert_true(p.user[0]);
        assert_true(p.host_mem_bytes.value > 0);
        int64_t age_ms = clock_wall(&clock_system).ms - p.started_at.ms;
        assert_true(age_ms > -5000 && age_ms < 600 * 1000);
    }
    identity_free(i);
}

static int no_descriptor(int dir, const char *path, int flags)
{
    (void)dir;
    (void)path;
    (void)flags;
    errno = EMFILE;
    return -1;
}

static void a_known_process_stays_who_it_is_while_nothing_can_be_read(void **state)
{
    (void)state;
    static const struct file_calls out = {.openat = no_descriptor, .read = read, .write = write};
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct identity *i = new_identity(&s);
    struct process before = fill(i, PID);
    identity_sweep(i);
    file_calls_replace(&out);
    struct process meanwhile = fill(i, PID);
    AUTO_BUF struct buf text = BUF(1 << 20);
    assert_int_equal(process_details(&s.env, PID, before.start_key, false, &text), -EMFILE);
    file_calls_replace(NULL);
    assert_true(meanwhile.visible);
    assert_int_equal(meanwhile.start_key, before.start_key);
    assert_string_equal(meanwhile.user, before.user);
    identity_sweep(i);
    sysroot_remove(&s, "/proc/4242");
    assert_false(fill(i, PID).visible);
    identity_free(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_is_known_by_name_user_command_start_and_container),
        TEST(the_owner_of_a_job_is_named_where_the_kernel_has_no_name),
        TEST(a_process_knows_who_started_it),
        TEST(a_rank_knows_its_launcher),
        TEST(details_are_whole_and_masked),
        TEST(a_known_process_stays_who_it_is_while_nothing_can_be_read),
        TEST(secrets_are_shown_on_request),
        TEST(cpu_is_pending_first_and_then_the_rate_between_samples),
        TEST(a_known_process_costs_one_read),
        TEST(a_reused_pid_is_another_process),
        TEST(exec_shows_the_new_program),
        TEST(a_rewritten_command_line_is_noticed_after_a_while),
        TEST(names_cannot_break_out),
        TEST(a_pid_that_is_not_there_is_not_visible),
        TEST(in_a_container_a_number_alone_proves_nothing),
        TEST(in_a_container_an_open_gpu_proves_the_process),
        TEST(container_markers_hide_strangers_too),
        TEST(the_hosts_own_proc_inside_a_container_is_trusted),
        TEST(what_a_source_filled_stays),
        TEST(a_user_without_a_name_is_a_number),
        TEST(forgotten_pids_do_not_pile_up),
        TEST(we_find_ourselves_on_the_real_machine),
    };
    return RUN_TESTS(tests);
}
