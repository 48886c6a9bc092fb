/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "test.h"

/* A share below 0 is one that is not known. */
static struct process *add(struct gpu *gpu, int pid, int sm_permille)
{
    struct process *p = gpu_add_process(gpu, pid);
    p->util_permille = sm_permille >= 0 ? reading_ok(sm_permille) : reading_absent(READING_UNSUPPORTED);
    return p;
}

static struct gpu gpu_at(int64_t power_mw, int64_t util_permille)
{
    return (struct gpu){
        .power_mw = reading_ok(power_mw), .util_permille = reading_ok(util_permille), .processes_state = READING_OK};
}

static int64_t sum_mw(const struct gpu *gpu)
{
    int64_t sum = reading_or(gpu->not_attributed_mw, 0);
    for (size_t i = 0; i < gpu->process_count; i++)
        sum += reading_or(gpu->processes[i].power_mw, 0);
    return sum;
}

static void shares_follow_the_load_and_add_up(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(280001, 999);
    struct reading idle = {0};
    for (int pid = 1; pid <= 3; pid++)
        add(&gpu, pid, 333);
    add(&gpu, 4, 0);
    attribute_power(&gpu, &idle);
    assert_int_equal(sum_mw(&gpu), 280001);
    assert_int_equal(gpu.processes[3].power_mw.value, 0);
    assert_int_equal(gpu.processes[0].power_basis, POWER_BASIS_UTILIZATION);
    assert_true(gpu.not_attributed_mw.value <= 1);
    gpu_done(&gpu);
}

/* Xorg with 2% of a 97% load beside hidden processes. */
static void a_small_share_of_a_big_load_gets_a_small_part(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(422000, 970);
    struct reading idle = reading_ok(22000);
    gpu.processes_hidden = 2;
    add(&gpu, 1, 20);
    attribute_power(&gpu, &idle);
    assert_in_range(gpu.processes[0].power_mw.value, 400000 * 2 / 97 - 1, 400000 * 2 / 97 + 1);
    assert_int_equal(sum_mw(&gpu), 422000);
    gpu_done(&gpu);
}

/* As seen on an H200 that answers batches: the load of this instant is that of a prompt, the share that of the seconds before. */
static void bursts_of_the_only_user_are_its_own(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(224000, 900);
    struct reading idle = reading_ok(80000);
    add(&gpu, 1, 400);
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.value, 144000);
    gpu.processes_hidden = 1;
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.value, 64000);
    gpu_done(&gpu);
}

/* ffmpeg with 58% of the encoder beside Xorg with a few percent of the SMs. */
static void the_encoder_counts(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(110000, 60);
    struct reading idle = {0};
    gpu.encoder_permille = reading_ok(580);
    struct process *xorg = add(&gpu, 1, 50), *ffmpeg = add(&gpu, 2, 10);
    xorg = &gpu.processes[0];
    xorg->encoder_permille = reading_ok(0);
    ffmpeg->encoder_permille = reading_ok(580);
    attribute_power(&gpu, &idle);
    assert_true(ffmpeg->power_mw.value > 2 * xorg->power_mw.value);
    assert_int_equal(sum_mw(&gpu), 110000);
    gpu_done(&gpu);
}

/* The encoder works for one process: where that is not known, its part is not given to those who compute. */
static void an_encoder_without_a_known_user_is_not_attributed(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(110000, 200);
    struct reading idle = {0};
    gpu.encoder_permille = reading_ok(800);
    add(&gpu, 1, 200);
    attribute_power(&gpu, &idle);
    assert_in_range(gpu.not_attributed_mw.value, 54000, 56000);
    gpu_done(&gpu);
}

static void idle_power_is_not_attributed(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(22000, 10);
    struct reading idle = {0};
    add(&gpu, 1, 10);
    attribute_power(&gpu, &idle);
    assert_int_equal(idle.value, 22000);
    assert_int_equal(gpu.processes[0].power_mw.value, 0);
    assert_int_equal(gpu.not_attributed_mw.value, 22000);
    gpu.power_mw = reading_ok(222000);
    gpu.util_permille = gpu.processes[0].util_permille = reading_ok(900);
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.value, 200000);
    assert_int_equal(gpu.not_attributed_mw.value, 22000);
    gpu_done(&gpu);
}

static void a_share_that_is_not_known_is_absent_and_never_0(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(90000, 500);
    struct reading idle = {0};
    add(&gpu, 1, -1);
    add(&gpu, 2, 250);
    gpu.processes[0].mem_bytes = reading_ok((int64_t)20 << 30); /* memory held is not power drawn */
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.processes[0].power_basis, POWER_BASIS_NONE);
    assert_int_equal(gpu.processes[1].power_mw.value, 45000);
    assert_int_equal(gpu.not_attributed_mw.value, 45000);
    gpu.processes[0].util_permille = gpu.processes[1].util_permille = reading_absent(READING_PENDING);
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[1].power_mw.state, READING_PENDING);
    assert_int_equal(gpu.not_attributed_mw.value, 90000);
    gpu_done(&gpu);
}

static void the_only_process_gets_what_is_above_idle(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(50000, 400);
    struct reading idle = reading_ok(10000);
    add(&gpu, 1, -1);
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.value, 40000);
    assert_int_equal(gpu.processes[0].power_basis, POWER_BASIS_ONLY_PROCESS);
    gpu.processes_hidden = 1; /* it is not the only one */
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.not_attributed_mw.value, 50000);
    gpu.power_mw = reading_absent(READING_DENIED);
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.processes[0].power_mw.state, READING_DENIED);
    assert_int_equal(gpu.not_attributed_mw.state, READING_DENIED);
    gpu_done(&gpu);
}

static void without_processes_all_of_it_is_not_attributed(void **state)
{
    (void)state;
    struct gpu gpu = gpu_at(300000, 980);
    struct reading idle = {0};
    gpu.processes_state = READING_DENIED;
    attribute_power(&gpu, &idle);
    assert_int_equal(gpu.not_attributed_mw.value, 300000);
}

static uint64_t seed = 0x9e3779b97f4a7c15u;
static int64_t roll(int64_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)sides);
}

static struct reading any_share(void)
{
    return roll(6) == 0 ? reading_absent((enum reading_state)(READING_UNSUPPORTED + roll(5))) : reading_ok(roll(1001));
}

/* Over any course: the parts are the whole, no process has less than nothing, and what is not known is not 0. */
static void over_any_course_the_parts_are_the_whole(void **state)
{
    (void)state;
    for (int course = 0; course < 300; course++) {
        struct reading idle = {0};
        int64_t energy = 0, booked = 0;
        for (int second = 0; second < 60; second++) {
            struct gpu gpu = {.processes_state = roll(8) ? READING_OK : READING_DENIED, .processes_hidden = (size_t)roll(2)};
            gpu.power_mw = reading_ok(5000 + roll(700000));
            gpu.util_permille = any_share();
            gpu.mem_util_permille = any_share();
            gpu.encoder_permille = any_share();
            gpu.decoder_permille = any_share();
            for (int64_t i = roll(6); i > 0; i--) {
                struct process *p = gpu_add_process(&gpu, (int32_t)i);
                p->util_permille = any_share();
                p->mem_util_permille = any_share();
                p->encoder_permille = any_share();
                p->decoder_permille = any_share();
            }
            attribute_power(&gpu, &idle);
            for (size_t i = 0; i < gpu.process_count; i++) {
                const struct process *p = &gpu.processes[i];
                assert_true(p->power_mw.state != READING_OK || p->power_mw.value >= 0);
                assert_true((p->power_mw.state == READING_OK) == (p->power_basis != POWER_BASIS_NONE));
            }
            assert_true(gpu.not_attributed_mw.value >= 0);
            energy += gpu.power_mw.value;
            booked += sum_mw(&gpu);
            gpu_done(&gpu);
        }
        assert_int_equal(energy, booked);
    }
}

static void effective_load_is_utilization_weighted_by_power(void **state)
{
    (void)state;
    struct gpu gpu = {.util_permille = reading_ok(1000), .power_mw = reading_ok(180000), .power_limit_mw = reading_ok(450000)};
    assert_int_equal(gpu_effective_load(&gpu).value, 400); /* always something running, and not much of it */
    gpu.power_mw = reading_ok(460000);
    assert_int_equal(gpu_effective_load(&gpu).value, 1000);
    gpu.power_limit_mw = reading_absent(READING_UNSUPPORTED);
    assert_int_equal(gpu_effective_load(&gpu).state, READING_UNSUPPORTED);
    gpu.power_limit_mw = reading_ok(450000);
    gpu.power_mw = reading_absent(READING_DENIED);
    assert_int_equal(gpu_effective_load(&gpu).state, READING_DENIED);
    /* A GPU that counts what its units do needs no estimate. */
    gpu.power_mw = reading_ok(180000);
    gpu.sm_active_permille = reading_ok(900);
    assert_int_equal(gpu_effective_load(&gpu).state, READING_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shares_follow_the_load_and_add_up),
        TEST(a_small_share_of_a_big_load_gets_a_small_part),
        TEST(bursts_of_the_only_user_are_its_own),
        TEST(the_encoder_counts),
        TEST(an_encoder_without_a_known_user_is_not_attributed),
        TEST(idle_power_is_not_attributed),
        TEST(a_share_that_is_not_known_is_absent_and_never_0),
        TEST(the_only_process_gets_what_is_above_idle),
        TEST(without_processes_all_of_it_is_not_attributed),
        TEST(over_any_course_the_parts_are_the_whole),
        TEST(effective_load_is_utilization_weighted_by_power),
    };
    return RUN_TESTS(tests);
}
