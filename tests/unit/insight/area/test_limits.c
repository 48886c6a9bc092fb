/* SPDX-License-Identifier: Apache-2.0
 * What limits a program: twenty-one programs whose limit is known, with the readings of an H200, and what other GPUs show of them.
 */
#include "insight/area/limit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/limit.h"
#include "test.h"

/* Percent, as the readings were noted; PCIe in GB/s, power in W. */
struct gpu_numbers {
    double util, engine, sm, occupancy, tensor, fp32, dram, rx, tx, watts;
};

/* Of the main thread in percent of the looks; CPU in percent of a core. */
struct host_numbers {
    double running, disk, pipe, poll, lock, sleep, cpu;
    int children;
    double child_cpu, child_busiest;
    const char *child, *compiler;
    double read_mb, write_mb;
};

struct known_program {
    const char *name;
    struct gpu_numbers gpu;
    struct host_numbers host;
    enum limit limit;
};

static const struct host_numbers spins = {.running = 100, .cpu = 100};

#define SPINS                      \
    {                              \
        .running = 100, .cpu = 100 \
    }

static const struct known_program programs[] = {
    {"bf16 matmul", {95, 84, 82, 12, 80, 0, 14, 0, 0, 691}, SPINS, LIMIT_POWER},
    {"fp32 matmul without TF32", {98, 99, 96, 12, 0, 76, 5, 0, 0, 662}, SPINS, LIMIT_NO_TENSOR},
    {"fp64 matmul", {99, 99, 98, 12, 96, 0, 10, 0, 0, 698}, SPINS, LIMIT_POWER},
    {"copies on the device", {99, 99, 99, 80, 0, 0, 88, 0, 0, 398}, SPINS, LIMIT_BANDWIDTH},
    {"weights of one token as a graph", {100, 100, 85, 12, 3, 0, 82, 0, 0, 535}, SPINS, LIMIT_BANDWIDTH},
    {"pinned copies to the GPU", {99, 0, 0, 0, 0, 0, 1, 59, 3.5, 129}, SPINS, LIMIT_PCIE_IN},
    {"copies from the GPU", {99, 0, 0, 0, 0, 0, 1, 0, 60, 132}, SPINS, LIMIT_PCIE_OUT},
    {"pageable copies to the GPU", {39, 0, 0, 0, 0, 0, 0.4, 20, 1.2, 124}, SPINS, LIMIT_PCIE_IN},
    {"Python between the steps", {19, 18, 18, 2, 0, 14, 0.5, 0, 0, 216}, SPINS, LIMIT_HOST_CPU},
    {"two loaders that compute",
     {1, 3, 3, 1, 0, 0.5, 0.4, 0, 0, 130},
     {.pipe = 90, .running = 10, .cpu = 8, .children = 2, .child_cpu = 185, .child_busiest = 97, .child = "pt_data_worker"},
     LIMIT_LOADERS},
    {"sixteen loaders",
     {20, 18, 16, 6, 0, 3, 2, 0.06, 0, 174},
     {.poll = 70, .running = 30, .cpu = 30, .children = 16, .child_cpu = 1280, .child_busiest = 82, .child = "pt_data_worker"},
     LIMIT_LOADERS},
    {"two loaders that wait",
     {0, 0.2, 0.2, 0, 0, 0, 0, 0, 0, 122},
     {.poll = 100, .cpu = 1, .children = 2, .child_cpu = 2, .child_busiest = 1, .child = "pt_data_worker"},
     LIMIT_LOADERS},
    {"reads from a disk",
     {14, 13, 13, 2, 0, 10, 0.4, 0, 0, 192},
     {.disk = 67, .running = 33, .cpu = 35, .read_mb = 1200},
     LIMIT_DISK},
    {"checkpoints every few steps",
     {14, 14, 14, 2, 0, 11, 0.4, 0, 0.5, 207},
     {.disk = 40, .running = 60, .cpu = 60, .write_mb = 400},
     LIMIT_DISK},
    {"tiny kernels", {28, 27, 0, 0, 0, 0, 0, 0.22, 0.03, 122}, SPINS, LIMIT_LAUNCH},
    {"a sync after each step", {28, 22, 0, 0, 0, 0, 0, 0.2, 0.02, 122}, SPINS, LIMIT_LAUNCH},
    {"a kernel that waits", {100, 100, 0.8, 0, 0, 0, 0, 0, 0, 122}, SPINS, LIMIT_KERNEL_WAIT},
    {"prefill of a language model", {98, 98, 94, 44, 43, 3, 31, 0.04, 0, 693}, SPINS, LIMIT_POWER},
    {"healthy training", {100, 100, 91, 43, 36, 2, 38, 0.07, 0, 688}, {.running = 33, .lock = 67, .cpu = 39}, LIMIT_POWER},
    {"decode that compiles its kernels",
     {6.5, 6, 0.8, 0.1, 0, 0, 0.7, 0.04, 0, 127},
     {.running = 100, .cpu = 100, .compiler = "ptxas"},
     LIMIT_COMPILE},
    {"Python alone, with a compiler for kernels in its memory",
     {0, 0, 0, 0, 0, 0, 0, 0, 0, 122},
     {.running = 100, .cpu = 100},
     LIMIT_HOST_CPU},
    {"holds memory and sleeps", {0, 0, 0, 0, 0, 0, 0, 0, 0, 122}, {.sleep = 100}, LIMIT_NONE},
    {"sixteen loaders of larger steps",
     {65, 62, 60, 12, 0, 51, 2, 0.01, 0.01, 342},
     {.running = 62, .poll = 38, .cpu = 46, .children = 16, .child_cpu = 1400, .child_busiest = 95, .child = "pt_data_worker"},
     LIMIT_LOADERS},
    {"a checkpoint that leaves the GPU, with the compiler mapped",
     {3, 0, 0, 0, 0, 0, 0, 0.004, 1.2, 120},
     {.running = 100, .cpu = 100},
     LIMIT_HOST_CPU},
    {"tiny kernels with the compiler mapped", {31, 12, 0, 0, 0, 0, 0, 0.27, 0.03, 123}, {.running = 100, .cpu = 100}, LIMIT_LAUNCH},
    {"a slow loader with the compiler mapped",
     {9, 14, 12, 3, 6, 0.3, 5, 0.01, 0, 160},
     {.running = 11, .poll = 89, .cpu = 12, .children = 1, .child_cpu = 99, .child_busiest = 99, .child = "pt_data_worker"},
     LIMIT_LOADERS},
};

static struct reading permille(double percent)
{
    return reading_ok((int64_t)(percent * 10 + 0.5));
}

static struct process *fill_gpu(struct gpu *gpu, const struct gpu_numbers *n)
{
    *gpu = (struct gpu){.state = GPU_OK, .processes_state = READING_OK};
    gpu->util_permille = permille(n->util);
    gpu->graphics_active_permille = permille(n->engine);
    gpu->sm_active_permille = permille(n->sm);
    gpu->sm_occupancy_permille = permille(n->occupancy);
    gpu->tensor_active_permille = permille(n->tensor);
    gpu->fp32_active_permille = permille(n->fp32);
    gpu->dram_active_permille = permille(n->dram);
    gpu->pcie_rx_bytes_per_s = reading_ok((int64_t)(n->rx * 1e9));
    gpu->pcie_tx_bytes_per_s = reading_ok((int64_t)(n->tx * 1e9));
    gpu->power_mw = reading_ok((int64_t)(n->watts * 1000));
    gpu->power_limit_mw = reading_ok(700000);
    gpu->pcie_generation = gpu->pcie_generation_max = reading_ok(5);
    gpu->pcie_width = reading_ok(16);
    gpu->clock_graphics_khz = reading_ok(1980000);
    gpu->clock_graphics_max_khz = reading_ok(1980000);
    gpu->mem_used_bytes = reading_ok(20LL << 30);
    gpu->mem_total_bytes = reading_ok(140LL << 30);
    struct process *p = gpu_add_process(gpu, 42);
    p->type = PROCESS_COMPUTE;
    str_copy(p->name, sizeof p->name, STR("python3"));
    return p;
}

static void fill_host(struct process *p, const struct host_numbers *n)
{
    struct host_evidence *h = process_evidence(p);
    h->state = READING_OK;
    h->looks = 6;
    h->over_ms = 5000;
    h->main_running_permille = permille(n->running);
    h->main_disk_permille = permille(n->disk);
    h->main_pipe_permille = permille(n->pipe);
    h->main_poll_permille = permille(n->poll);
    h->main_lock_permille = permille(n->lock);
    h->main_sleep_permille = permille(n->sleep);
    h->cpu_permille = h->main_cpu_permille = h->busiest_thread_permille = permille(n->cpu);
    h->child_count = reading_ok(n->children);
    h->child_cpu_permille = permille(n->child_cpu);
    h->child_busiest_permille = permille(n->child_busiest);
    h->read_bytes_per_s = reading_ok((int64_t)(n->read_mb * 1e6));
    h->write_bytes_per_s = reading_ok((int64_t)(n->write_mb * 1e6));
    str_copy(h->busiest_child, sizeof h->busiest_child, str_from(n->child ? n->child : ""));
    str_copy(h->compiler, sizeof h->compiler, str_from(n->compiler ? n->compiler : ""));
}

static void expect(const char *name, const struct gpu *gpu, const struct process *p, enum limit wanted)
{
    struct limit_look found = limit_detect(gpu, p, NULL);
    if (found.code != wanted)
        fail_msg("%s: limited by %s, not by %s", name, limit_name(found.code) ? limit_name(found.code) : "?", limit_name(wanted));
    assert_true(found.confidence > 0 && found.confidence <= 1);
}

static const struct known_program *program(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    fail_msg("no program '%s'", name);
    return NULL;
}

static void the_limit_of_every_known_program_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct gpu gpu;
        struct process *p = fill_gpu(&gpu, &programs[i].gpu);
        fill_host(p, &programs[i].host);
        expect(programs[i].name, &gpu, p, programs[i].limit);
        gpu_done(&gpu);
    }
}

static void a_program_that_its_gpu_limits_is_not_looked_at_on_its_host(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct gpu gpu;
        struct process *p = fill_gpu(&gpu, &programs[i].gpu);
        assert_int_equal(limit_wants_host(&gpu, p), limit_side(programs[i].limit) != LIMIT_SIDE_GPU);
        gpu_done(&gpu);
    }
}

/* Whatever its threads do: the GPU is full. */
static void healthy_work_is_never_limited_by_its_host(void **state)
{
    (void)state;
    static const char *const healthy[] = {"bf16 matmul", "prefill of a language model", "healthy training", "fp64 matmul",
                                          "copies on the device"};
    for (size_t i = 0; i < ARRAY_LEN(healthy); i++)
        for (size_t k = 0; k < ARRAY_LEN(programs); k++)
            for (int counted = 0; counted < 2; counted++) {
                struct gpu gpu;
                struct process *p = fill_gpu(&gpu, &program(healthy[i])->gpu);
                if (!counted)
                    gpu.sm_active_permille = gpu.graphics_active_permille = reading_absent(READING_UNSUPPORTED);
                fill_host(p, &programs[k].host);
                assert_int_equal(limit_side(limit_detect(&gpu, p, NULL).code), LIMIT_SIDE_GPU);
                gpu_done(&gpu);
            }
}

static void without_counters_the_same_shows_in_power_and_on_the_host(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum limit limit;
    } wanted[] = {
        {"bf16 matmul", LIMIT_POWER},
        {"Python between the steps", LIMIT_HOST_CPU},
        {"two loaders that compute", LIMIT_LOADERS},
        {"reads from a disk", LIMIT_DISK},
        {"a kernel that waits", LIMIT_KERNEL_WAIT},
        {"pinned copies to the GPU", LIMIT_PCIE_IN},
        {"holds memory and sleeps", LIMIT_NONE},
        {"healthy training", LIMIT_POWER},
    };
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const struct known_program *k = program(wanted[i].name);
        struct gpu gpu;
        struct process *p = fill_gpu(&gpu, &k->gpu);
        fill_host(p, &k->host);
        struct limit_look sure = limit_detect(&gpu, p, NULL);
        for (int m = METRIC_graphics_active_permille; m <= METRIC_fp16_active_permille; m++)
            gpu.metric[m] = reading_absent(READING_UNSUPPORTED);
        expect(wanted[i].name, &gpu, p, wanted[i].limit);
        assert_true(limit_detect(&gpu, p, NULL).confidence <= sure.confidence);
        gpu_done(&gpu);
    }
}

static void memory_activity_tells_of_bandwidth_where_nothing_is_counted(void **state)
{
    (void)state;
    struct gpu gpu = {.state = GPU_OK};
    struct process *p = gpu_add_process(&gpu, 42);
    gpu.util_permille = reading_ok(990);
    gpu.mem_util_permille = reading_ok(850);
    expect("bandwidth", &gpu, p, LIMIT_BANDWIDTH);
    gpu.mem_util_permille = reading_ok(300);
    expect("compute", &gpu, p, LIMIT_COMPUTE);
    gpu.throttle_bits = reading_ok(THROTTLE_SW_THERMAL | THROTTLE_POWER_CAP);
    expect("heat", &gpu, p, LIMIT_HEAT);
    gpu.throttle_bits = reading_ok(0);
    gpu.clock_graphics_khz = reading_ok(600000);
    gpu.clock_graphics_max_khz = reading_ok(2500000);
    expect("clocks", &gpu, p, LIMIT_CLOCKS);
    gpu_done(&gpu);
}

static void what_cannot_be_known_is_not_guessed(void **state)
{
    (void)state;
    struct gpu gpu = {.state = GPU_OK};
    struct process *p = gpu_add_process(&gpu, 42);
    expect("nothing is known", &gpu, p, LIMIT_CANNOT_TELL);
    assert_non_null(limit_missing(&gpu, p));
    gpu.util_permille = reading_ok(300);
    expect("a third, and no word of the host", &gpu, p, LIMIT_CANNOT_TELL);
    gpu.state = GPU_LOST;
    assert_int_equal(limit_detect(&gpu, p, NULL).code, LIMIT_UNJUDGED);
    assert_false(limit_wants_host(&gpu, p));
    gpu_done(&gpu);
}

static void a_host_under_pressure_counts_where_the_program_cannot_be_looked_at(void **state)
{
    (void)state;
    struct gpu gpu = {.state = GPU_OK};
    struct process *p = gpu_add_process(&gpu, 42);
    struct host host = {.mem_pressure_permille = reading_ok(720), .swap_in_pages_per_s = reading_ok(24000)};
    p->visible = true;
    p->cpu_permille = reading_ok(100);
    gpu.util_permille = reading_ok(150);
    assert_int_equal(limit_detect(&gpu, p, &host).code, LIMIT_MEMORY_PRESSURE);
    host.mem_pressure_permille = reading_absent(READING_DENIED); /* not known is not pressed */
    assert_int_equal(limit_detect(&gpu, p, &host).code, LIMIT_CANNOT_TELL);
    host = (struct host){.io_pressure_permille = reading_ok(700)};
    assert_int_equal(limit_detect(&gpu, p, &host).code, LIMIT_DISK);
    gpu.util_permille = p->util_permille = reading_ok(0); /* it asks for nothing, and so waits for nothing */
    assert_int_equal(limit_detect(&gpu, p, &host).code, LIMIT_NONE);
    gpu_done(&gpu);
}

static void each_of_several_is_judged_by_its_own_share(void **state)
{
    (void)state;
    struct gpu gpu;
    struct process *first = fill_gpu(&gpu, &program("healthy training")->gpu);
    assert_non_null(gpu_add_process(&gpu, 43));
    first = &gpu.processes[0];
    struct process *second = &gpu.processes[1];
    first->util_permille = reading_ok(520);
    second->util_permille = reading_ok(480);
    fill_host(first, &spins);
    fill_host(second, &spins);
    expect("the first of two", &gpu, first, LIMIT_OTHERS);
    expect("the second of two", &gpu, second, LIMIT_OTHERS);
    /* One that reads from a disk would not go faster alone. */
    second->util_permille = reading_ok(140);
    first->util_permille = reading_ok(860);
    fill_host(second, &program("reads from a disk")->host);
    expect("beside one that reads", &gpu, first, LIMIT_POWER);
    expect("one that reads", &gpu, second, LIMIT_DISK);
    /* One that sleeps beside a busy one does not compute. */
    second->util_permille = reading_ok(0);
    fill_host(second, &program("holds memory and sleeps")->host);
    expect("sleeps beside a busy one", &gpu, second, LIMIT_NONE);
    gpu_done(&gpu);
}

static struct limit_look limit_on_host(void (*change)(struct process *, struct host_evidence *))
{
    struct gpu gpu;
    struct process *p = fill_gpu(&gpu, &program("Python between the steps")->gpu);
    fill_host(p, &spins);
    change(p, p->host);
    struct limit_look found = limit_detect(&gpu, p, NULL);
    gpu_done(&gpu);
    return found;
}

static void quota(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->throttled_permille = reading_ok(600);
    h->quota_millicores = reading_ok(500);
}

static void swap(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->major_faults_per_s = reading_ok(900);
    h->swap_bytes = reading_ok(4LL << 30);
}

static void nfs(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->main_running_permille = reading_ok(100);
    h->main_network_fs_permille = reading_ok(900);
}

static void children_read(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->main_running_permille = reading_ok(50);
    h->main_cpu_permille = h->cpu_permille = h->busiest_thread_permille = reading_ok(40);
    h->main_pipe_permille = reading_ok(950);
    h->child_count = reading_ok(4);
    h->child_disk_count = reading_ok(3);
}

static void triton(struct process *p, struct host_evidence *h)
{
    (void)p;
    str_copy(h->compiler, sizeof h->compiler, STR("ptxas"));
    h->child_count = reading_ok(1);
    h->child_busiest_permille = reading_ok(950);
}

static void server(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->main_running_permille = reading_ok(0);
    h->main_poll_permille = reading_ok(1000);
    h->main_cpu_permille = h->cpu_permille = h->busiest_thread_permille = reading_ok(20);
    h->listens = reading_ok(1);
}

/* Its process looks the same, and its own page says that it has work. */
static void server_at_work(struct process *p, struct host_evidence *h)
{
    server(p, h);
    p->requests_running = reading_ok(8);
}

static void the_host_names_what_the_program_waits_for(void **state)
{
    (void)state;
    assert_int_equal(limit_on_host(quota).code, LIMIT_CPU_QUOTA);
    assert_int_equal(limit_on_host(swap).code, LIMIT_MEMORY_PRESSURE);
    assert_int_equal(limit_on_host(nfs).code, LIMIT_NETWORK_FS);
    assert_int_equal(limit_on_host(children_read).code, LIMIT_DISK);
    assert_int_equal(limit_on_host(triton).code, LIMIT_COMPILE);
    assert_int_equal(limit_on_host(server).code, LIMIT_NO_REQUESTS);
    assert_int_equal(limit_on_host(server_at_work).code, LIMIT_CANNOT_TELL);
}

/* ---- what is claimed ---- */

static void of_one_thread(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->code_native_permille = reading_ok(30);
    h->code_python_permille = h->code_driver_permille = h->code_compiler_permille = h->code_kernel_permille = reading_ok(0);
}

static void python_code(struct process *p, struct host_evidence *h)
{
    of_one_thread(p, h);
    h->code_python_permille = reading_ok(810);
    h->code_driver_permille = reading_ok(170);
}

static void optimizer_on_cpu(struct process *p, struct host_evidence *h)
{
    of_one_thread(p, h);
    h->cpu_permille = reading_ok(7600);
    h->busy_threads = reading_ok(8);
    h->code_native_permille = reading_ok(920);
    str_copy(h->code, sizeof h->code, STR("libtorch_cpu"));
}

/* Where the kernel may not be asked, more than one core of Python is native code all the same. */
static void optimizer_unseen(struct process *p, struct host_evidence *h)
{
    (void)p;
    h->cpu_permille = reading_ok(7600);
    h->busy_threads = reading_ok(8);
}

static void one_native_thread(struct process *p, struct host_evidence *h)
{
    of_one_thread(p, h);
    h->code_native_permille = reading_ok(950);
    str_copy(h->code, sizeof h->code, STR("libz"));
}

static void allocates(struct process *p, struct host_evidence *h)
{
    of_one_thread(p, h);
    h->code_kernel_permille = reading_ok(580);
    h->code_driver_permille = reading_ok(270);
    h->code_native_permille = reading_ok(90);
}

/* The kernel clears pages of the host: no word of the GPU's memory. */
static void faults(struct process *p, struct host_evidence *h)
{
    allocates(p, h);
    h->minor_faults_per_s = reading_ok(300000);
}

static void launches(struct process *p, struct host_evidence *h)
{
    of_one_thread(p, h);
    h->code_driver_permille = reading_ok(390);
    h->code_native_permille = reading_ok(520);
    h->code_python_permille = reading_ok(80);
}

static void runtime_compiler(struct process *p, struct host_evidence *h)
{
    of_one_thread(p, h);
    h->code_compiler_permille = reading_ok(620);
    str_copy(h->code, sizeof h->code, STR("libnvrtc"));
}

static void main_waits(struct host_evidence *h, struct reading *at)
{
    h->main_running_permille = reading_ok(70);
    h->main_cpu_permille = h->cpu_permille = h->busiest_thread_permille = reading_ok(60);
    *at = reading_ok(930);
}

static void service(struct process *p, struct host_evidence *h)
{
    (void)p;
    main_waits(h, &h->main_pipe_permille);
    str_copy(h->peer, sizeof h->peer, STR("10.0.0.7:5432"));
}

static void service_by_poll(struct process *p, struct host_evidence *h)
{
    service(p, h);
    h->main_pipe_permille = reading_ok(0);
    h->main_poll_permille = reading_ok(930);
}

static void socket_unseen(struct process *p, struct host_evidence *h)
{
    service(p, h);
    h->peer[0] = '\0';
}

static void poll_unseen(struct process *p, struct host_evidence *h)
{
    service_by_poll(p, h);
    h->peer[0] = '\0';
}

static void late_rank(struct process *p, struct host_evidence *h)
{
    (void)p;
    main_waits(h, &h->main_lock_permille);
    h->listens = reading_ok(1); /* as the ranks of gloo do for each other */
    h->peer_pid = reading_ok(812);
    h->peer_cpu_permille = reading_ok(990);
    str_copy(h->peer, sizeof h->peer, STR("python3 (PID 812)"));
}

/* As one look sees it: how busy the other is takes two. */
static void rank_at_one_look(struct process *p, struct host_evidence *h)
{
    late_rank(p, h);
    h->peer_cpu_permille = reading_absent(READING_PENDING);
}

static void busy_child(struct process *p, struct host_evidence *h)
{
    (void)p;
    main_waits(h, &h->main_pipe_permille);
    h->child_count = reading_ok(1);
    h->child_cpu_permille = h->child_busiest_permille = reading_ok(970);
    str_copy(h->busiest_child, sizeof h->busiest_child, STR("python3"));
}

/* It waits, but not for its child. */
static void idle_child(struct process *p, struct host_evidence *h)
{
    poll_unseen(p, h);
    h->child_count = reading_ok(1);
    h->child_cpu_permille = h->child_busiest_permille = reading_ok(30);
    str_copy(h->busiest_child, sizeof h->busiest_child, STR("python3"));
}

/* A server waits for those that ask it, whatever its child does. */
static void server_with_busy_child(struct process *p, struct host_evidence *h)
{
    busy_child(p, h);
    h->listens = reading_ok(1);
}

/* Of another user: their names can't be read. */
static void busy_children_unseen(struct process *p, struct host_evidence *h)
{
    busy_child(p, h);
    h->child_count = reading_ok(4);
    h->busiest_child[0] = '\0';
}

static void compile_workers(struct process *p, struct host_evidence *h)
{
    busy_child(p, h);
    h->child_count = reading_ok(18);
    str_copy(h->compiler, sizeof h->compiler, STR("inductor"));
}

static void sleeps_between(struct process *p, struct host_evidence *h)
{
    (void)p;
    main_waits(h, &h->main_sleep_permille);
}

static void partly(struct process *p, struct host_evidence *h)
{
    optimizer_unseen(p, h);
    p->mem_bytes = reading_ok(5LL << 30);
    h->model_bytes = reading_ok(7LL << 30);
    h->file_rss_bytes = reading_ok(6LL << 30);
    str_copy(p->model, sizeof p->model, STR("llama3"));
}

static void sentences_claim_what_the_evidence_shows(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct process *, struct host_evidence *);
        enum limit limit;
        const char *says;
    } cases[] = {
        {of_one_thread, LIMIT_HOST_CPU, "keeps one thread busy 100% while the GPU waits"},
        {python_code, LIMIT_HOST_CPU, "computes in Python while the GPU waits (81% of its CPU time)"},
        {optimizer_on_cpu, LIMIT_CPU_WORK, "computes on the CPU in 8 threads (libtorch_cpu) while the GPU waits"},
        {optimizer_unseen, LIMIT_CPU_WORK, "computes on the CPU in 8 threads while the GPU waits"},
        {one_native_thread, LIMIT_CPU_WORK, "computes on the CPU in libz while the GPU waits"},
        {allocates, LIMIT_ALLOCATION,
         "spends 85% of its CPU time in the driver and the kernel, as allocating memory in every step does"},
        {faults, LIMIT_HOST_CPU, "keeps one thread busy 100% while the GPU waits"},
        {launches, LIMIT_LAUNCH, "spends its CPU time on launching kernels (39% in the driver)"},
        {runtime_compiler, LIMIT_COMPILE, "compiles kernels (libnvrtc)"},
        {compile_workers, LIMIT_COMPILE, "compiles kernels (inductor)"},
        {service, LIMIT_PEER, "waits for 10.0.0.7:5432"},
        {service_by_poll, LIMIT_PEER, "waits for 10.0.0.7:5432"},
        {socket_unseen, LIMIT_PEER, "waits for another program, over a pipe or socket"},
        {poll_unseen, LIMIT_CANNOT_TELL, "is not limited by the GPU; nothing shows what limits it"},
        {late_rank, LIMIT_PEER, "waits for python3 (PID 812), which is busy 99%"},
        {rank_at_one_look, LIMIT_CANNOT_TELL, "is not limited by the GPU; nothing shows what limits it"},
        {busy_child, LIMIT_PEER, "waits while its child process python3 is busy 97%"},
        {idle_child, LIMIT_CANNOT_TELL, "is not limited by the GPU; nothing shows what limits it"},
        {server_with_busy_child, LIMIT_NO_REQUESTS, "waits for requests"},
        {busy_children_unseen, LIMIT_LOADERS, "waits for its 4 loader processes, which can't keep up"},
        {sleeps_between, LIMIT_NONE, "sleeps between its steps, 93% of the time"},
        {partly, LIMIT_PARTLY_ON_CPU, "runs 29% of llama3 on the CPU, about 3x slower: 2.0 GiB are missing on GPU 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gpu gpu;
        char text[WHY_LINE_SIZE] = "";
        struct text s = TEXT(text);
        struct process *p = fill_gpu(&gpu, &program("Python between the steps")->gpu);
        fill_host(p, &spins);
        cases[i].change(p, p->host);
        struct limit_look found = limit_detect(&gpu, p, NULL);
        p->limit = (struct process_limit){.code = found.code, .confidence = found.confidence, .share_permille = 1000};
        limit_say(&s, &gpu, p);
        if (found.code != cases[i].limit || strcmp(text, cases[i].says) != 0)
            fail_msg("case %zu: %s: \"%s\", not \"%s\"", i, limit_name(found.code), text, cases[i].says);
        gpu_done(&gpu);
    }
}

/* A second after its start: 99% and 630 W are new, the counters are from before. */
static void counters_that_lag_behind_are_not_believed(void **state)
{
    (void)state;
    static const struct gpu_numbers start = {99, 0, 0, 0, 0, 0, 0, 0, 0, 630};
    struct gpu gpu;
    struct process *p = fill_gpu(&gpu, &start);
    fill_host(p, &spins);
    expect("a second after its start", &gpu, p, LIMIT_COMPUTE);
    gpu.power_mw = reading_ok(125000);
    gpu.pcie_rx_bytes_per_s = reading_ok(30000000000);
    expect("copies", &gpu, p, LIMIT_PCIE_IN);
    gpu_done(&gpu);
}

static void links_and_video_engines_are_limits_of_their_own(void **state)
{
    (void)state;
    struct gpu gpu;
    struct process *p = fill_gpu(&gpu, &program("healthy training")->gpu);
    gpu.sm_active_permille = reading_ok(200);
    gpu.power_mw = reading_ok(300000);
    gpu.nvlink_links_active = reading_ok(18);
    gpu.nvlink_rx_bytes_per_s = reading_ok(330000000000);
    expect("NVLink", &gpu, p, LIMIT_NVLINK);
    gpu.nvlink_rx_bytes_per_s = reading_ok(0);
    gpu.mem_used_bytes = reading_ok(139LL << 30);
    gpu.pcie_rx_bytes_per_s = reading_ok(30000000000);
    expect("spilled", &gpu, p, LIMIT_SPILL);
    gpu.util_permille = gpu.graphics_active_permille = reading_ok(20);
    p->decoder_permille = reading_ok(950);
    expect("video", &gpu, p, LIMIT_VIDEO);
    gpu_done(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_limit_of_every_known_program_is_named),
        TEST(a_program_that_its_gpu_limits_is_not_looked_at_on_its_host),
        TEST(healthy_work_is_never_limited_by_its_host),
        TEST(without_counters_the_same_shows_in_power_and_on_the_host),
        TEST(memory_activity_tells_of_bandwidth_where_nothing_is_counted),
        TEST(what_cannot_be_known_is_not_guessed),
        TEST(a_host_under_pressure_counts_where_the_program_cannot_be_looked_at),
        TEST(each_of_several_is_judged_by_its_own_share),
        TEST(the_host_names_what_the_program_waits_for),
        TEST(sentences_claim_what_the_evidence_shows),
        TEST(counters_that_lag_behind_are_not_believed),
        TEST(links_and_video_engines_are_limits_of_their_own),
    };
    return RUN_TESTS(tests);
}
