/* SPDX-License-Identifier: Apache-2.0
 * libwhirr as a plugin has it: loaded late, and gone again, whatever threads have called meanwhile.
 */
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "whirr.h"

enum { ROUNDS = 8 };

static const char *path; /* of the library */

struct calls {
    void *library;
    int (*open)(const struct whirr_options *, struct whirr **);
    void (*close)(struct whirr *);
    const char *(*error)(const struct whirr *);
    int (*sample)(struct whirr *, struct whirr_sample **);
    void (*sample_free)(struct whirr_sample *);
    size_t (*gpu_count)(const struct whirr_sample *);
};

static void load(struct calls *c)
{
    c->library = dlopen(path, RTLD_NOW);
    if (!c->library)
        fail_msg("%s", dlerror());
    *(void **)&c->open = dlsym(c->library, "whirr_open");
    *(void **)&c->close = dlsym(c->library, "whirr_close");
    *(void **)&c->error = dlsym(c->library, "whirr_error");
    *(void **)&c->sample = dlsym(c->library, "whirr_sample");
    *(void **)&c->sample_free = dlsym(c->library, "whirr_sample_free");
    *(void **)&c->gpu_count = dlsym(c->library, "whirr_gpu_count");
    assert_true(c->open && c->close && c->error && c->sample && c->sample_free && c->gpu_count);
    assert_null(dlsym(c->library, "session_open"));
}

static size_t look(const struct calls *c, const char *source)
{
    struct whirr_options options = {.size = sizeof options, .source = source};
    struct whirr *w = NULL;
    struct whirr_sample *s = NULL;
    size_t count = 0;
    if (c->open(&options, &w) == 0 && c->sample(w, &s) == 0)
        count = c->gpu_count(s);
    if (s)
        c->sample_free(s);
    c->close(w);
    return count;
}

struct visitor {
    pthread_t thread;
    const struct calls *calls;
    size_t seen;
    int step; /* 1: it has called, 2: the library is gone */
};

static void *visit(void *given)
{
    struct visitor *v = given;
    v->seen = look(v->calls, "sim:gpus=2");
    look(v->calls, "nonsense"); /* leaves a sentence that is this thread's */
    __atomic_store_n(&v->step, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&v->step, __ATOMIC_SEQ_CST) != 2)
        be_slow(1);
    return NULL;
}

static void it_comes_and_goes(void **state)
{
    (void)state;
    char driver[1024];
    snprintf(driver, sizeof driver, "%s/libnvidia-ml-fake.so", getenv("WHIRR_FAKE_NVML_DIR"));
    setenv("WHIRR_NVML_LIBRARY", driver, 1);
    for (int i = 0; i < ROUNDS; i++) {
        struct calls c;
        load(&c);
        struct visitor v = {.calls = &c};
        assert_int_equal(pthread_create(&v.thread, NULL, visit, &v), 0);
        assert_int_equal(look(&c, "sim:gpus=3"), 3);
        assert_int_equal(look(&c, "nvml"), 2);
        assert_true(EVENTUALLY(__atomic_load_n(&v.step, __ATOMIC_SEQ_CST) == 1));
        assert_int_equal(dlclose(c.library), 0);
        assert_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
        __atomic_store_n(&v.step, 2, __ATOMIC_SEQ_CST);
        assert_int_equal(pthread_join(v.thread, NULL), 0);
        assert_int_equal(v.seen, 2);
    }
}

/* A thread that hangs in a driver returns into the library some day. */
static void it_stays_while_a_thread_of_it_hangs(void **state)
{
    (void)state;
    struct calls c;
    load(&c);
    assert_int_equal(look(&c, "sim:fault=hang"), 0);
    assert_int_equal(dlclose(c.library), 0);
    be_slow(100);
    assert_non_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    path = argv[1];
    const struct CMUnitTest tests[] = {TEST(it_comes_and_goes), TEST(it_stays_while_a_thread_of_it_hangs)};
    return RUN_TESTS(tests);
}
