/* SPDX-License-Identifier: Apache-2.0
 * Random histories: what must hold whatever happens. A failure names its seed.
 */
#include "course.h"

enum { HISTORIES = 40, STEPS = 300, GPUS = 2 };

#define RULES                                                                                               \
    "[alerts]\nenabled = false\n"                                                                           \
    "[[alert]]\nname = 'at_once'\nwhen = 'utilization_percent > 50'\n"                                      \
    "[[alert]]\nname = 'held'\nwhen = 'utilization_percent > 50'\nfor = '20s'\nclear_for = '30s'\n"         \
    "[[alert]]\nname = 'apart'\nwhen = 'utilization_percent > 70'\nclear = 'utilization_percent < 30'\n"    \
    "[[alert]]\nname = 'two'\nwhen = 'utilization_percent > 50 or temperature_celsius > 80'\nfor = '10s'\n" \
    "[[alert]]\nname = 'process'\nwhen = 'process.memory_mb > 1GiB and utilization_percent > 20'\nfor = '5s'\n"

static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 8) % sides;
}

/* Sometimes steady, sometimes wild, sometimes absent. */
static void roll(struct course *c)
{
    for (size_t i = 0; i < GPUS; i++) {
        struct gpu *g = &c->machine->gpus[i];
        if (dice(3) == 0)
            gpu_set(g, "utilization_percent", dice(101));
        if (dice(12) == 0)
            gpu_unset(g, "utilization_percent");
        if (dice(4) == 0)
            gpu_set(g, "temperature_celsius", 60 + dice(40));
        g->process_count = 0;
        for (int32_t pid = 1; pid < 4; pid++)
            if (dice(10) > 1)
                gpu_add_process(g, pid)->mem_bytes = reading_ok((int64_t)dice(3) << 30);
        g->processes_state = dice(15) ? READING_OK : READING_FAILED;
    }
}

/* The same history twice gives the same news; with a restart after every `restarts` steps, too. */
static char *live(uint32_t seed, uint32_t restarts)
{
    struct course c;
    course_begin(&c, RULES, GPUS);
    dice_state = seed;
    int64_t at = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        roll(&c);
        at += dice(20) ? 5 : 90 + dice(100); /* now and then no sample is taken for a while */
        course_step(&c, at);
        if (restarts && i % restarts == restarts - 1)
            course_restart(&c);
    }
    char *told = strdup(course_told(&c));
    course_end(&c);
    return told;
}

static void a_restart_at_any_point_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= HISTORIES / 4; seed++) {
        AUTO_FREE char *straight = live(seed, 0);
        assert_true(strlen(straight) > 100);
        for (uint32_t every = 1; every < 20; every += 6) {
            AUTO_FREE char *interrupted = live(seed, every);
            if (strcmp(straight, interrupted) != 0)
                fail_msg("seed %u, restarts every %u:\n%s\n%s", seed, every, straight, interrupted);
        }
    }
}

struct track {
    char key[64];
    bool pending, firing;
    int64_t since; /* of the last beginning or end */
    int64_t fired[3];
};

static struct track *track_of(struct track *tracks, size_t *count, const char *rule, const char *who)
{
    char key[64];
    snprintf(key, sizeof key, "%s %s", rule, who);
    for (size_t i = 0; i < *count; i++)
        if (strcmp(tracks[i].key, key) == 0)
            return &tracks[i];
    tracks[*count] = (struct track){.since = -100000, .fired = {-100000, -100000, -100000}};
    memcpy(tracks[*count].key, key, sizeof key);
    return &tracks[(*count)++];
}

/* Every beginning has its end before the next; `for` and `clear_for` lie in between; who flaps is damped. */
static void check_news(uint32_t seed, const char *told, const char *rule, int64_t hold_s, int64_t clear_s)
{
    struct track tracks[64];
    size_t count = 0;
    struct str rest = str_from(told), one;
    while (str_cut(&rest, ';', &one)) {
        char text[128], what[16], which[32], who[16];
        long long at;
        str_copy(text, sizeof text, str_trim(one));
        if (sscanf(text, "%lld %15s %31s %15s", &at, what, which, who) != 4 || strcmp(which, rule) != 0)
            continue;
        struct track *t = track_of(tracks, &count, which, who);
        bool fine = true;
        if (strcmp(what, "pending") == 0) {
            fine = !t->pending && !t->firing && hold_s > 0;
            t->pending = true;
            t->since = at;
        } else if (strcmp(what, "calmed") == 0) {
            fine = t->pending && !t->firing;
            t->pending = false;
        } else if (strcmp(what, "fired") == 0) {
            fine = !t->firing && (hold_s == 0 || (t->pending && at - t->since >= hold_s));
            t->pending = false;
            t->firing = true;
            t->since = at;
            memmove(&t->fired[1], &t->fired[0], 2 * sizeof t->fired[0]);
            t->fired[0] = at;
        } else if (strcmp(what, "resolved") == 0) {
            bool flapping = t->fired[0] - t->fired[2] <= 600;
            fine = t->firing && at - t->since >= (flapping ? 300 : clear_s);
            t->firing = false;
            t->since = at;
        }
        if (!fine)
            fail_msg("seed %u, %s: %s\n%s", seed, rule, text, told);
    }
}

static void beginnings_and_ends_alternate_and_keep_their_distance(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= HISTORIES; seed++) {
        AUTO_FREE char *told = live(seed * 7919, 0);
        check_news(seed, told, "at_once", 0, 0);
        check_news(seed, told, "held", 20, 30);
        check_news(seed, told, "apart", 0, 0);
        check_news(seed, told, "two", 10, 0);
    }
}

static void nothing_but_a_true_condition_begins_an_alert(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct course c;
        course_begin(&c, RULES, GPUS);
        dice_state = seed;
        for (int64_t i = 0; i < STEPS; i++) {
            roll(&c);
            for (size_t k = 0; k < GPUS; k++) { /* never above any limit; often unknown */
                struct gpu *g = &c.machine->gpus[k];
                if (g->util_permille.state == READING_OK)
                    g->util_permille.value %= 200;
                gpu_set(g, "temperature_celsius", 40);
            }
            course_step(&c, i * 5);
        }
        assert_string_equal(course_told(&c), "");
        course_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_restart_at_any_point_changes_nothing),
        TEST(beginnings_and_ends_alternate_and_keep_their_distance),
        TEST(nothing_but_a_true_condition_begins_an_alert),
    };
    return RUN_TESTS(tests);
}
