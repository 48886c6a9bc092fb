/* SPDX-License-Identifier: Apache-2.0
 * Real processes that wait, compute or are held back, each in one way, and what is read of them. No GPU is needed.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/evidence/evidence.h"
#include "host/linux/evidence/texts.h"
#include "host/procfs.h"
#include "test.h"

enum { NEARLY_ALL = 900, NOBODY = 65534 };

/* ---- a process and the reader that looks at it ---- */

struct scene {
    struct env env;
    struct evidence_reader *reader;
    pid_t pid;
    struct host_evidence e;
};

static int64_t start_of(const struct env *env, pid_t pid)
{
    char path[64], text[1024];
    struct proc_stat stat;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    ssize_t n = file_read_head(env, path, text, sizeof text);
    assert_true(n > 0 && proc_stat_parse((struct str){text, (size_t)n}, &stat));
    return stat.start_ticks;
}

/* Returns 0 in the process itself, which never returns from its test. */
static pid_t scene_fork(struct scene *s)
{
    *s = (struct scene){0};
    env_init_system(&s->env);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return 0;
    }
    s->reader = evidence_new(&s->env);
    assert_non_null(s->reader);
    return s->pid;
}

static void scene_done(struct scene *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    evidence_free(s->reader);
}
#define AUTO_SCENE CLEANUP(scene_done)

/* A test that is skipped leaves its function without cleanup. */
#define SKIP_SCENE(scene, reason) (scene_done(scene), SKIP(reason))

static void scene_look(struct scene *s)
{
    const struct evidence_target target = {s->pid, start_of(&s->env, s->pid)};
    evidence_begin(s->reader, &(struct evidence_round){.all = &target, .count = 1, .looked_at = 1, .quick = true, .gap_ms = 1000});
    evidence_look(s->reader, &target, &s->e);
}

static bool most_of(const struct scene *s, struct reading share)
{
    return s->e.over_ms > 0 && reading_or(share, 0) >= NEARLY_ALL;
}

/* Looks until the reader says so. */
#define SEEN(scene, condition) assert_true(EVENTUALLY((scene_look(scene), (condition))))

static void spin(void)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

static void sleep_for_ever(void)
{
    for (;;)
        be_slow(1000 * 1000);
}

/* ---- what a main thread waits for ---- */

static void a_reader_of_a_fifo_waits_for_a_pipe(void **state)
{
    (void)state;
    char folder[64], path[128];
    make_folder_here(folder);
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        char byte;
        int fd = open(path, O_RDONLY); /* until it is opened for writing */
        (void)!read(fd, &byte, 1);
        _exit(0);
    }
    SEEN(&s, most_of(&s, s.e.main_pipe_permille));
    AUTO_CLOSE int writer = open(path, O_WRONLY);
    assert_true(writer >= 0);
    SEEN(&s, most_of(&s, s.e.main_pipe_permille));
    assert_int_equal(reading_or(s.e.main_lock_permille, -1), 0);
    remove_all(folder);
}

static void a_thread_at_a_futex_waits_for_a_lock(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        static int word;
        for (;;)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    SEEN(&s, most_of(&s, s.e.main_lock_permille));
}

static void a_sleeper_sleeps_on_purpose(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        sleep_for_ever();
    SEEN(&s, most_of(&s, s.e.main_sleep_permille) && reading_or(s.e.cpu_permille, 1000) < 50);
    assert_int_equal(reading_or(s.e.child_count, -1), 0);
}

static void a_thread_in_poll_waits_in_poll(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        int ends[2] = {-1, -1};
        while (pipe(ends) == 0)
            poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, -1);
    }
    SEEN(&s, most_of(&s, s.e.main_poll_permille));
}

/* As older Pythons wait for a time. */
static void a_poll_of_no_file_is_sleep(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        for (;;)
            poll(NULL, 0, -1);
    SEEN(&s, most_of(&s, s.e.main_sleep_permille));
}

static void a_parent_waits_for_its_child(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            sleep_for_ever();
        }
        waitpid(-1, NULL, 0);
        _exit(0);
    }
    SEEN(&s, most_of(&s, s.e.main_child_permille) && reading_or(s.e.child_sleep_count, 0) == 1);
    assert_int_equal(s.e.child_count.value, 1);
}

static void a_reader_of_a_network_socket_waits_for_it(void **state)
{
    (void)state;
    AUTO_CLOSE int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &len), 0);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        /* A loader that waits for the network, and the program that waits for its loader. */
        int pipes[2];
        char byte;
        if (pipe(pipes) < 0)
            _exit(1);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            int client = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(client, (struct sockaddr *)&address, sizeof address) == 0)
                (void)!read(client, &byte, 1);
            _exit(0);
        }
        (void)!read(pipes[0], &byte, 1);
        _exit(0);
    }
    SEEN(&s, most_of(&s, s.e.main_pipe_permille) && reading_or(s.e.child_network_count, 0) == 1);
}

static void a_stopped_process_is_stopped(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        spin();
    assert_int_equal(kill(s.pid, SIGSTOP), 0);
    SEEN(&s, s.e.stopped.state == READING_OK && s.e.stopped.value == 1);
    assert_int_equal(kill(s.pid, SIGCONT), 0);
    SEEN(&s, s.e.stopped.value == 0 && reading_or(s.e.main_running_permille, 0) >= NEARLY_ALL);
}

/* ---- what computes ---- */

static void *spin_named(void *name)
{
    prctl(PR_SET_NAME, name);
    spin();
    return NULL;
}

static void one_busy_thread_is_named(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        pthread_t busy, idle;
        static char name[] = "preparer";
        pthread_create(&idle, NULL, (void *(*)(void *))(void (*)(void))sleep_for_ever, NULL);
        pthread_create(&busy, NULL, spin_named, name);
        pthread_join(busy, NULL);
        _exit(0);
    }
    SEEN(&s, reading_or(s.e.busiest_thread_permille, 0) > 200 && strcmp(s.e.busiest_thread, "preparer") == 0 &&
                 most_of(&s, s.e.main_lock_permille));
    assert_true(reading_or(s.e.main_cpu_permille, 1000) < 100);
}

static void start_child(const char *name)
{
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    spin();
}

static void busy_loaders_are_counted_and_named(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        int pair[2];
        char byte;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
            _exit(1);
        start_child("pt_data_worker");
        start_child("pt_data_worker");
        (void)!read(pair[0], &byte, 1);
        _exit(0);
    }
    SEEN(&s, reading_or(s.e.child_count, 0) == 2 && reading_or(s.e.child_cpu_permille, 0) > 300 &&
                 strcmp(s.e.busiest_child, "pt_data_worker") == 0 && most_of(&s, s.e.main_pipe_permille));
    assert_string_equal(s.e.compiler, "");
    assert_true(s.e.child_busiest_permille.value <= s.e.child_cpu_permille.value);
}

static void a_compiler_below_it_is_named(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        start_child("ptxas");
        waitpid(-1, NULL, 0);
        _exit(0);
    }
    SEEN(&s, strcmp(s.e.compiler, "ptxas") == 0);
}

static void *start_child_there(void *name)
{
    start_child(name);
    sleep_for_ever();
    return NULL;
}

static void a_child_of_another_thread_is_found(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        pthread_t thread;
        static char name[] = "cicc";
        pthread_create(&thread, NULL, start_child_there, name);
        sleep_for_ever();
    }
    SEEN(&s, strcmp(s.e.compiler, "cicc") == 0);
}

static void workers_of_torch_compile_are_compilers(void **state)
{
    (void)state;
    if (access("/usr/bin/python3", X_OK) < 0)
        SKIP("no /usr/bin/python3");
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            execl("/usr/bin/python3", "python3", "-c", "while True: pass", "torch/_inductor/compile_worker/__main__.py", NULL);
            _exit(127);
        }
        waitpid(-1, NULL, 0);
        _exit(0);
    }
    SEEN(&s, strcmp(s.e.compiler, "inductor") == 0);
}

/* ---- whose code it runs ---- */

static bool is_sampled(struct scene *s)
{
    scene_look(s);
    return s->e.code_native_permille.state == READING_OK || s->e.code_native_permille.state == READING_DENIED;
}

static void a_loop_of_its_own_is_native_code(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        spin();
    assert_true(EVENTUALLY(is_sampled(&s)));
    if (s.e.code_native_permille.state == READING_DENIED)
        SKIP_SCENE(&s, "perf_event_open is not permitted here");
    SEEN(&s, reading_or(s.e.code_native_permille, 0) > 600);
    assert_true(reading_or(s.e.code_python_permille, 1000) < 100);
    assert_string_equal(s.e.code, "test_evidence_processes");
}

static void a_loop_in_python_is_python_code(void **state)
{
    (void)state;
    if (access("/usr/bin/python3", X_OK) < 0)
        SKIP("no /usr/bin/python3");
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        execl("/usr/bin/python3", "python3", "-c", "while True: pass", NULL);
        _exit(127);
    }
    assert_true(EVENTUALLY(is_sampled(&s)));
    if (s.e.code_native_permille.state == READING_DENIED)
        SKIP_SCENE(&s, "perf_event_open is not permitted here");
    SEEN(&s, reading_or(s.e.code_python_permille, 0) > 600);
    assert_string_equal(s.e.compiler, "");
}

static void calls_into_the_kernel_are_told_from_code(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        for (;;) { /* allocates and frees, again and again */
            char *memory = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            munmap(memory, 16 << 20);
        }
    assert_true(EVENTUALLY(is_sampled(&s)));
    if (s.e.code_native_permille.state == READING_DENIED)
        SKIP_SCENE(&s, "perf_event_open is not permitted here");
    SEEN(&s, reading_or(s.e.code_kernel_permille, 0) > 600);
}

static void a_model_that_is_mapped_has_a_size(void **state)
{
    (void)state;
    char folder[64], path[128];
    make_folder_here(folder);
    snprintf(path, sizeof path, "%s/llama.gguf", folder);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, 1LL << 30), 0);
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        if (mmap(NULL, 1 << 30, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED || write(ready[1], "", 1) != 1)
            _exit(1);
        spin();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    SEEN(&s, reading_or(s.e.model_bytes, 0) == 1 << 30);
    remove_all(folder);
}

/* ---- whom it waits for ---- */

static int listen_here(struct sockaddr_in *address)
{
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(server, (struct sockaddr *)address, sizeof *address), 0);
    assert_int_equal(listen(server, 4), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)address, &len), 0);
    return server;
}

static void a_service_that_is_waited_for_is_named(void **state)
{
    (void)state;
    for (int polls = 0; polls < 2; polls++) {
        struct sockaddr_in address;
        char expected[96];
        AUTO_CLOSE int server = listen_here(&address);
        AUTO_SCENE struct scene s;
        if (scene_fork(&s) == 0) {
            char byte;
            close(server);
            int client = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(client, (struct sockaddr *)&address, sizeof address) == 0 && polls)
                poll(&(struct pollfd){.fd = client, .events = POLLIN}, 1, -1);
            (void)!read(client, &byte, 1);
            _exit(0);
        }
        AUTO_CLOSE int client = accept(server, NULL, NULL);
        assert_true(client >= 0);
        snprintf(expected, sizeof expected, "127.0.0.1:%d (", ntohs(address.sin_port));
        SEEN(&s, s.e.peer[0]);
        assert_int_equal(strncmp(s.e.peer, expected, strlen(expected)), 0);
        assert_int_equal(reading_or(s.e.peer_pid, 0), getpid());
    }
}

static void of_several_connections_none_is_named(void **state)
{
    (void)state;
    struct sockaddr_in first, second;
    AUTO_CLOSE int server = listen_here(&first), other = listen_here(&second);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        int a = socket(AF_INET, SOCK_STREAM, 0), b = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(a, (struct sockaddr *)&first, sizeof first) == 0 && connect(b, (struct sockaddr *)&second, sizeof second) == 0)
            poll((struct pollfd[]){{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}}, 2, -1);
        _exit(0);
    }
    AUTO_CLOSE int one = accept(server, NULL, NULL), two = accept(other, NULL, NULL);
    assert_true(one >= 0 && two >= 0);
    SEEN(&s, most_of(&s, s.e.main_poll_permille) && s.e.looks >= 4);
    assert_string_equal(s.e.peer, "");
    close(other);
}

static void the_writer_of_a_pipe_is_named(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        char folder[64], path[128], expected[64];
        make_folder_here(folder);
        snprintf(path, sizeof path, "%s/fifo", folder);
        assert_int_equal(mkfifo(path, 0600), 0);
        int ends[2] = {-1, -1};
        assert_int_equal(pipe(ends), 0);
        AUTO_SCENE struct scene s;
        if (scene_fork(&s) == 0) {
            char byte;
            close(ends[1]);
            (void)!read(named ? open(path, O_RDONLY) : ends[0], &byte, 1);
            _exit(0);
        }
        close(ends[0]);
        AUTO_CLOSE int writer = named ? open(path, O_WRONLY | O_CLOEXEC) : -1;
        snprintf(expected, sizeof expected, "(PID %d)", (int)getpid());
        SEEN(&s, s.e.peer[0]);
        assert_non_null(strstr(s.e.peer, expected));
        close(ends[1]);
        remove_all(folder);
    }
}

/* ---- what holds it back ---- */

static void write_in(const char *folder, const char *file, bool *fine, const char *format, ...)
    __attribute__((format(gnu_printf, 4, 5)));
static void write_in(const char *folder, const char *file, bool *fine, const char *format, ...)
{
    char path[256], text[128];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    *fine = *fine && fd >= 0 && write(fd, text, (size_t)len) == len;
}

/* A group of our own below that mount, of either version; "" where none can be made. */
static void make_group(const char *const *mounts, const char *needed, char folder[128])
{
    char path[256];
    for (; *mounts; mounts++) {
        snprintf(folder, 128, "%s/whirr-test-%d", *mounts, (int)getpid());
        snprintf(path, sizeof path, "%s/%s", folder, needed);
        if (mkdir(folder, 0755) == 0 && access(path, W_OK) == 0)
            return;
        rmdir(folder);
    }
    folder[0] = '\0';
}

static void remove_group(struct scene *s, const char *folder)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
    assert_true(EVENTUALLY(rmdir(folder) == 0));
}

static void a_quota_of_the_cpu_is_seen_with_its_throttling(void **state)
{
    (void)state;
    static const char *const mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", NULL}, *const v2[] = {"/sys/fs/cgroup",
                                                                                                                   NULL};
    char folder[128];
    bool fine = true, first = true;
    make_group(mounts, "cpu.cfs_quota_us", folder);
    if (!folder[0]) {
        first = false;
        make_group(v2, "cpu.max", folder);
    }
    if (!folder[0])
        SKIP("no control group with a CPU quota can be made here");
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        spin();
    write_in(folder, first ? "cpu.cfs_quota_us" : "cpu.max", &fine, first ? "20000" : "20000 100000");
    write_in(folder, "cgroup.procs", &fine, "%d", (int)s.pid);
    bool seen = fine && EVENTUALLY((scene_look(&s), reading_or(s.e.throttled_permille, 0) > 300));
    remove_group(&s, folder);
    if (!fine)
        SKIP_SCENE(&s, "the control group takes no process");
    assert_true(seen);
    assert_int_equal(reading_or(s.e.quota_millicores, 0), 200);
}

/* A device for which a group has a limit makes each of its reads wait; where no limit can be set, reads past the cache must do. */
static void a_reader_of_a_disk_waits_for_it(void **state)
{
    (void)state;
    enum { SIZE = 8 << 20, BLOCK = 1 << 16 };
    static const char *const mounts[] = {"/sys/fs/cgroup/blkio", NULL};
    char path[] = "evidence-disk-XXXXXX", folder[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct stat info;
    bool written = ftruncate(fd, 0) == 0 && fstat(fd, &info) == 0, fine = true;
    AUTO_FREE char *zeros = calloc(1, SIZE);
    written = written && write(fd, zeros, SIZE) == SIZE && fsync(fd) == 0;
    close(fd);
    fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    unlink(path);
    if (!written || fd < 0)
        SKIP("this file system reads nothing past the cache");
    make_group(mounts, "blkio.throttle.read_bps_device", folder);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        char *to = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (off_t at = 0;; at = (at + BLOCK) % SIZE)
            if (pread(fd, to, BLOCK, at) != BLOCK)
                _exit(1);
    }
    close(fd);
    if (folder[0]) {
        write_in(folder, "blkio.throttle.read_bps_device", &fine, "%u:%u 262144", major(info.st_dev), minor(info.st_dev));
        write_in(folder, "cgroup.procs", &fine, "%d", (int)s.pid);
    }
    bool slowed = folder[0] && fine;
    int looks = 0, looks_max = slowed ? INT32_MAX : 300, share = slowed ? 700 : 100;
    bool seen =
        EVENTUALLY((scene_look(&s), (s.e.over_ms > 0 && reading_or(s.e.main_disk_permille, 0) > share) || ++looks > looks_max));
    seen = seen && looks <= looks_max;
    if (folder[0])
        remove_group(&s, folder);
    if (!slowed && !seen)
        SKIP_SCENE(&s, "no slow device can be made here, and the disk is too fast to be caught waiting");
    assert_true(seen);
    assert_true(reading_or(s.e.read_bytes_per_s, -1) >= 0);
}

/* A file system whose server does not answer: this process has its device. In namespaces of its own, nothing of it is left behind.
 */
static bool mount_fuse(const char *folder, int *ret_fd)
{
    char options[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, (int)getuid(), (int)getgid());
    if (fd < 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("whirr-test", folder, "fuse", 0, options) < 0)
        return false;
    *ret_fd = fd;
    return true;
}

static bool answer_init(int fd)
{
    static char request[1 << 16];
    if (read(fd, request, sizeof request) < (ssize_t)sizeof(struct fuse_in_header))
        return false;
    const struct fuse_in_header *in = (const struct fuse_in_header *)request;
    struct {
        struct fuse_out_header header;
        struct fuse_init_out init;
    } out = {.header = {.len = sizeof out, .unique = in->unique},
             .init = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096}};
    return write(fd, &out, sizeof out) == (ssize_t)sizeof out;
}

static void a_file_system_that_does_not_answer_is_waited_for(void **state)
{
    (void)state;
    char folder[64], path[128];
    int told[2];
    make_folder_here(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        int fd;
        bool fine = mount_fuse(folder, &fd) && answer_init(fd);
        (void)!write(told[1], fine ? "y" : "n", 1);
        if (fine)
            open(path, O_RDONLY);
        _exit(0);
    }
    char answer = 'n';
    assert_int_equal(read(told[0], &answer, 1), 1);
    close(told[0]);
    close(told[1]);
    bool seen = answer == 'y' && EVENTUALLY((scene_look(&s), most_of(&s, s.e.main_fuse_permille)));
    kill(s.pid, SIGKILL); /* with it ends the mount */
    waitpid(s.pid, NULL, 0);
    s.pid = 0;
    assert_true(EVENTUALLY((remove_all(folder), access(folder, F_OK) < 0)));
    if (answer != 'y')
        SKIP_SCENE(&s, "no FUSE file system can be mounted here");
    assert_true(seen);
}

/* A group that may keep little in memory, and a process that uses more: its pages go to swap and come back. */
static void memory_that_went_to_swap_is_counted(void **state)
{
    (void)state;
    enum { SIZE = 64 << 20, PAGE = 4096 };
    static const char *const mounts[] = {"/sys/fs/cgroup/memory", NULL}, *const v2[] = {"/sys/fs/cgroup", NULL};
    char text[512], folder[128];
    struct env env;
    env_init_system(&env);
    ssize_t n = file_read_head(&env, "/proc/swaps", text, sizeof text);
    if (n <= 0 || !strchr(strchr(text, '\n') ? strchr(text, '\n') : "", '/'))
        SKIP("this machine has no swap");
    bool fine = true, first = true;
    make_group(mounts, "memory.limit_in_bytes", folder);
    if (!folder[0]) {
        first = false;
        make_group(v2, "memory.max", folder);
    }
    if (!folder[0])
        SKIP("no control group with a limit of memory can be made here");
    write_in(folder, first ? "memory.limit_in_bytes" : "memory.max", &fine, "%d", SIZE / 4);
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        bool in = true;
        write_in(folder, "cgroup.procs", &in, "%d", (int)getpid());
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t at = 0; in; at = (at + PAGE) % SIZE)
            memory[at]++;
        _exit(1);
    }
    bool seen =
        fine && EVENTUALLY((scene_look(&s), reading_or(s.e.swap_bytes, 0) > SIZE / 8 && reading_or(s.e.major_faults_per_s, 0) > 0));
    remove_group(&s, folder);
    if (!fine)
        SKIP_SCENE(&s, "the control group takes no limit");
    assert_true(seen);
}

/* ---- what others may not see ---- */

static void what_may_not_be_read_is_denied_and_the_rest_is_told(void **state)
{
    (void)state;
    if (getuid() != 0)
        SKIP("only root can be two other users");
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0) {
        if (setuid(NOBODY) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
            _exit(1);
        sleep_for_ever();
    }
    pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        if (setuid(NOBODY - 1) < 0)
            _exit(9);
        (void)EVENTUALLY((scene_look(&s), s.e.over_ms > 0 && s.e.main_sleep_permille.state == READING_DENIED));
        int wrong = (s.e.state != READING_OK) + 2 * (s.e.main_running_permille.state != READING_OK) +
                    4 * (s.e.main_sleep_permille.state != READING_DENIED) + 8 * (s.e.read_bytes_per_s.state != READING_DENIED);
        _exit(wrong);
    }
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int opened;

static int count_open(int dir, const char *path, int flags)
{
    opened++;
    return file_calls_system.openat(dir, path, flags);
}

/* A child that has just been made still runs. */
static void wait_until_asleep(pid_t pid)
{
    char path[64], text[512];
    const char *end = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    do {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        end = strrchr(text, ')');
    } while (!end || end[2] != 'S');
}

static void files_of_every_round_stay_open(void **state)
{
    (void)state;
    enum { FULL_LOOKS = 2, FURTHER = 3 };
    const struct file_calls counting = {count_open, file_calls_system.read, file_calls_system.pread};
    struct clock_manual clock;
    enum reading_state last = READING_UNREAD;
    AUTO_SCENE struct scene s;
    if (scene_fork(&s) == 0)
        sleep_for_ever();
    wait_until_asleep(s.pid);
    clock_manual_init(&clock, (struct wall){1800000000000});
    s.env.clock = &clock.clock;
    const struct evidence_target target = {s.pid, start_of(&s.env, s.pid)};
    file_calls_replace(&counting);
    for (int i = 0; i < FULL_LOOKS + FURTHER; i++) {
        clock_manual_advance_ms(&clock, 1000);
        evidence_begin(s.reader, &(struct evidence_round){.all = &target, .count = 1, .looked_at = 1, .gap_ms = 1000});
        evidence_look(s.reader, &target, &s.e);
        if (i == FULL_LOOKS - 1)
            opened = 0;
        last = s.e.state;
    }
    /* What is open is of the process that was, not of one that gets its number. */
    kill(s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
    clock_manual_advance_ms(&clock, 1000);
    evidence_look(s.reader, &target, &s.e);
    file_calls_replace(NULL);
    s.pid = 0;
    assert_int_equal(last, READING_OK);
    assert_int_not_equal(s.e.state, READING_OK);
    assert_int_equal(opened, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_every_round_stay_open),
        TEST(a_reader_of_a_fifo_waits_for_a_pipe),
        TEST(a_thread_at_a_futex_waits_for_a_lock),
        TEST(a_sleeper_sleeps_on_purpose),
        TEST(a_thread_in_poll_waits_in_poll),
        TEST(a_poll_of_no_file_is_sleep),
        TEST(a_parent_waits_for_its_child),
        TEST(a_reader_of_a_network_socket_waits_for_it),
        TEST(a_stopped_process_is_stopped),
        TEST(one_busy_thread_is_named),
        TEST(busy_loaders_are_counted_and_named),
        TEST(a_compiler_below_it_is_named),
        TEST(a_child_of_another_thread_is_found),
        TEST(workers_of_torch_compile_are_compilers),
        TEST(a_loop_of_its_own_is_native_code),
        TEST(a_loop_in_python_is_python_code),
        TEST(calls_into_the_kernel_are_told_from_code),
        TEST(a_model_that_is_mapped_has_a_size),
        TEST(a_service_that_is_waited_for_is_named),
        TEST(of_several_connections_none_is_named),
        TEST(the_writer_of_a_pipe_is_named),
        TEST(a_quota_of_the_cpu_is_seen_with_its_throttling),
        TEST(a_reader_of_a_disk_waits_for_it),
        TEST(a_file_system_that_does_not_answer_is_waited_for),
        TEST(memory_that_went_to_swap_is_counted),
        TEST(what_may_not_be_read_is_denied_and_the_rest_is_told),
    };
    return RUN_TESTS(tests);
}
