/* SPDX-License-Identifier: Apache-2.0
 * Lines of Python programs: line tables against the interpreters' own answers, memory that lies, and the answer in what was seen.
 */
#include "host/frames/looks.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "test.h"

/* ---- line tables ---- */

/* For every code object of some modules: minor version, first line, table, and start:end:line of all its parts. */
static const char script[] = "import sys, dis, types\n"
                             "import json.decoder, textwrap, ast, argparse, asyncio.base_events, dataclasses\n"
                             "v = sys.version_info[1]\n"
                             "def walk(c):\n"
                             "    t = c.co_linetable if v >= 10 else c.co_lnotab\n"
                             "    if v >= 10: parts = [(a, b, l or 0) for a, b, l in c.co_lines()]\n"
                             "    else:\n"
                             "        s = list(dis.findlinestarts(c)) + [(len(c.co_code), 0)]\n"
                             "        parts = [(s[i][0], s[i + 1][0], s[i][1]) for i in range(len(s) - 1)]\n"
                             "    print(v, c.co_firstlineno, t.hex() or '-', *('%d:%d:%d' % p for p in parts))\n"
                             "    for k in c.co_consts:\n"
                             "        if isinstance(k, types.CodeType): walk(k)\n"
                             "for m in (json.decoder, textwrap, ast, argparse, asyncio.base_events, dataclasses):\n"
                             "    walk(compile(open(m.__file__).read(), m.__file__, 'exec'))\n";

static size_t bytes_of(const char *hex, uint8_t *to, size_t max)
{
    unsigned byte;
    size_t count = 0;
    while (hex[0] != '-' && hex[0] && count < max && sscanf(hex + 2 * count, "%2x", &byte) == 1)
        to[count++] = (uint8_t)byte;
    return count;
}

/* Returns how many instructions were compared. */
static size_t compare_lines(char *text)
{
    static uint8_t table[1 << 16];
    char *rest = NULL, *word = strtok_r(text, " \n", &rest);
    int minor = word ? atoi(word) : 0, first = atoi(strtok_r(NULL, " \n", &rest));
    size_t size = bytes_of(strtok_r(NULL, " \n", &rest), table, sizeof table), compared = 0;
    while ((word = strtok_r(NULL, " \n", &rest))) {
        int from, to, line;
        assert_int_equal(sscanf(word, "%d:%d:%d", &from, &to, &line), 3);
        for (int at = from; at < to; at += 2, compared++)
            if (python_line(minor, table, size, first, at) != line)
                fail_msg("3.%d: line %d at %d, not %d", minor, python_line(minor, table, size, first, at), at, line);
    }
    return compared;
}

static size_t compare_python(const char *python)
{
    static char line[1 << 20];
    char file[] = "/tmp/whirr-frames-XXXXXX", command[256];
    size_t compared = 0;
    int fd = mkstemp(file);
    assert_true(fd >= 0 && write(fd, script, sizeof script - 1) == (ssize_t)sizeof script - 1);
    close(fd);
    snprintf(command, sizeof command, "%s %s", python, file);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    while (fgets(line, sizeof line, out))
        compared += compare_lines(line);
    assert_int_equal(pclose(out), 0);
    unlink(file);
    return compared;
}

static void lines_are_those_of_the_interpreter(void **state)
{
    (void)state;
    glob_t others = {0};
    if (access("/usr/bin/python3", X_OK) == 0)
        assert_true(compare_python("/usr/bin/python3") > 10000);
    if (glob("/root/.pyenv/versions/3.[89]*/bin/python3", 0, NULL, &others) == 0)
        glob("/root/.pyenv/versions/3.1[0-9]*/bin/python3", GLOB_APPEND, NULL, &others);
    for (size_t i = 0; i < others.gl_pathc; i++)
        assert_true(compare_python(others.gl_pathv[i]) > 10000);
    globfree(&others);
}

static void a_damaged_table_ends(void **state)
{
    (void)state;
    uint32_t seed = 7;
    uint8_t table[64];
    for (int n = 0; n < 20000; n++) {
        for (size_t i = 0; i < sizeof table; i++)
            table[i] = (uint8_t)next_random(&seed);
        assert_true(python_line(8 + n % 8, table, next_random(&seed) % sizeof table, 1 << 30, (int64_t)next_random(&seed)) >= 0);
    }
}

/* ---- memory that lies ---- */

struct liar {
    pid_t pid;
    uint32_t seed, one_in; /* so many reads are damaged; 0: none */
};

static bool read_liar(void *user, uint64_t at, void *to, size_t size)
{
    struct liar *l = user;
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)at, size};
    if (process_vm_readv(l->pid, &here, 1, &there, 1, 0) != (ssize_t)size)
        return false;
    if (l->one_in && next_random(&l->seed) % l->one_in == 0)
        for (int i = 0; i < 40; i++)
            ((uint8_t *)to)[next_random(&l->seed) % size] = (uint8_t)next_random(&l->seed);
    return true;
}

static const char deep[] = "def f(n):\n    if n: f(n - 1)\n    else:\n        while True: sum(range(10))\nf(30)\n";

/* Letters of one, two and four bytes each, as the interpreter keeps them. */
static const char letters[] = "def größe(n):\n    while True: sum(range(10))\ndef длина(n): größe(n)\ndef 𠀀(n): длина(n)\n𠀀(1)\n";

static pid_t start_python(const char *program)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/usr/bin/python3", "python3", "-X", "utf8", "-c", program, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static bool has_function(const struct python_stack *stack, const struct name_table *names, const char *name)
{
    for (size_t f = 0; f < stack->count; f++)
        if (strcmp(names->list[stack->frames[f].function], name) == 0)
            return true;
    return false;
}

/* Reads as often as asked; returns the stacks that were read, or those that have all of these functions. */
static int read_stacks(struct liar *l, int openings, bool truthful, const char *const functions[])
{
    static struct python_memory memory;
    static struct python_stack stack;
    struct name_table names;
    struct python_thread threads[PYTHON_THREADS_MAX];
    int read = 0;
    char path[64];
    const struct env env = {.sysroot = "", .clock = &clock_system};
    snprintf(path, sizeof path, "/proc/%d/maps", (int)l->pid);
    for (int n = 0; n < openings; n++) {
        struct python *p = NULL;
        struct error err = {0};
        AUTO_BUF struct buf maps = BUF(1 << 20);
        assert_int_equal(names_init(&names), 0);
        file_read_all(&env, path, &maps);
        if (python_open(&(struct python_source){{read_liar, l}, buf_view(&maps), l->pid, &names, &memory}, &p, &err) == 0) {
            for (int look = 0; look < 10; look++) {
                int count = python_threads(p, threads);
                for (int i = 0; i < count; i++)
                    if (python_stack(p, &threads[i], &stack) == 0 && stack.count) {
                        bool all = true;
                        for (size_t f = 0; functions && functions[f]; f++)
                            all = all && has_function(&stack, &names, functions[f]);
                        read += all;
                        assert_true(stack.count <= PYTHON_FRAMES_MAX);
                        for (size_t f = 0; truthful && f < stack.count; f++)
                            if (strcmp(names.list[stack.frames[f].file], "<string>") == 0)
                                assert_in_range(stack.frames[f].line, 1, 5);
                    }
            }
            python_close(p);
        } else {
            assert_true(err.text[0]);
        }
        names_done(&names);
    }
    return read;
}

static void memory_that_lies_is_survived(void **state)
{
    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0)
        SKIP("no /usr/bin/python3");
    struct liar l = {.pid = start_python(deep), .seed = 11};
    int read = 0;
    bool seen =
        EVENTUALLY((read += read_stacks(&l, 1, true, NULL)) > 100); /* stacks that change while they are read are left out */
    for (uint32_t one_in = 2; one_in <= 40; one_in += 2) {
        l.one_in = one_in;
        read_stacks(&l, 30, false, NULL);
    }
    kill(l.pid, SIGKILL);
    waitpid(l.pid, NULL, 0);
    assert_true(seen);
}

static void names_may_have_any_letters(void **state)
{
    (void)state;
    static const char *const functions[] = {"größe", "длина", "𠀀", NULL};
    if (access("/usr/bin/python3", X_OK) != 0)
        SKIP("no /usr/bin/python3");
    struct liar l = {.pid = start_python(letters)};
    bool seen = EVENTUALLY(read_stacks(&l, 1, false, functions) > 0);
    kill(l.pid, SIGKILL);
    waitpid(l.pid, NULL, 0);
    assert_true(seen);
}

/* ---- the answer ---- */

struct seen {
    const char *frames[4][2]; /* file and function, innermost first */
    int lines[4];
};

static int add_thread(struct looks *l, size_t process, bool is_main, const char *name)
{
    struct looked_thread t = {
        .pid = (int32_t)(100 + process), .tid = (int32_t)l->thread_count, .process = process, .is_main = is_main};
    snprintf(t.name, sizeof t.name, "%s", name);
    return looks_thread(l, &t);
}

static void add_times(struct looks *l, int thread, enum doing doing, const struct seen *s, int times)
{
    struct python_stack stack = {0};
    for (size_t i = 0; i < ARRAY_LEN(s->frames) && s->frames[i][0]; i++)
        stack.frames[stack.count++] =
            (struct python_frame){names_add(&l->names, s->frames[i][0]), names_add(&l->names, s->frames[i][1]), s->lines[i]};
    for (int i = 0; i < times; i++)
        assert_true(looks_add(l, (size_t)thread, doing, &stack) >= 0);
    l->taken += times;
}

#define JSON_FILE "/usr/lib/python3.11/json/decoder.py"
static const struct seen augment = {{{"/w/data.py", "augment"}, {"/w/train.py", "<module>"}}, {214, 88}};
static const struct seen load = {{{JSON_FILE, "raw_decode"}, {"/w/data.py", "load"}, {"/w/train.py", "<module>"}}, {353, 97, 89}};
static const struct seen waits = {{{"/usr/lib/python3.11/queue.py", "get"}, {"/w/train.py", "<module>"}}, {171, 90}};

static void judged(struct looks *l, struct program_lines *ret, enum blame blame, const char *words)
{
    char out[PLACE_WORDS];
    looks_judge(l, ret);
    assert_int_equal(ret->blame, blame);
    assert_true(ret->count > 0);
    assert_string_equal(place_words(&ret->places[0], true, out), words);
}

static void own_code_comes_before_libraries(void **state)
{
    (void)state;
    struct looks l;
    struct program_lines lines;
    char out[PLACE_WORDS];
    assert_int_equal(looks_init(&l), 0);
    int main = add_thread(&l, 0, true, "python3");
    add_times(&l, main, DOING_COMPUTES, &augment, 70);
    add_times(&l, main, DOING_COMPUTES, &load, 30);
    judged(&l, &lines, BLAME_MAIN, "augment() in data.py:214, 70% of that thread's time (called from train.py:88)");
    assert_string_equal(place_words(&lines.places[1], false, out),
                        "load() in data.py:97, 30%; mostly in raw_decode(), decoder.py:353");
    /* Time that it waits for the GPU is no time that the GPU waits for it. */
    add_times(&l, main, DOING_GPU, &waits, 300);
    judged(&l, &lines, BLAME_MAIN, "augment() in data.py:214, 70% of that thread's time (called from train.py:88)");
    add_times(&l, main, DOING_GPU, &waits, 3000);
    looks_judge(&l, &lines);
    assert_int_equal(lines.blame, BLAME_GPU);
    assert_int_equal(lines.count, 0);
    looks_done(&l);
}

static void a_thread_that_waits_blames_those_that_it_waits_for(void **state)
{
    (void)state;
    struct looks l;
    struct program_lines lines;
    assert_int_equal(looks_init(&l), 0);
    int main = add_thread(&l, 0, true, "python3");
    add_times(&l, main, DOING_EVENTS, &waits, 100);
    judged(&l, &lines, BLAME_WAIT,
           "waits for events in the top level of train.py:90, 100% of that thread's time; mostly in get(), queue.py:171");
    for (size_t i = 1; i <= 8; i++)
        add_times(&l, add_thread(&l, i, true, "pt_data_worker"), i < 8 ? DOING_COMPUTES : DOING_FILE, &augment, 100);
    judged(&l, &lines, BLAME_CHILDREN, "augment() in data.py:214, 88% of their time, in 7 of 8 loaders (called from train.py:88)");
    looks_done(&l);
    assert_int_equal(looks_init(&l), 0);
    main = add_thread(&l, 0, true, "python3");
    add_times(&l, main, DOING_LOCK, &waits, 100);
    add_times(&l, add_thread(&l, 0, false, "producer"), DOING_COMPUTES, &augment, 100);
    judged(&l, &lines, BLAME_THREADS, "augment() in data.py:214, 100% of that thread's time (called from train.py:88)");
    assert_string_equal(lines.places[0].thread, "producer");
    looks_done(&l);
}

static void a_comprehension_belongs_to_its_function(void **state)
{
    (void)state;
    struct looks l;
    struct program_lines lines;
    static const struct seen inner = {{{"/w/a.py", "f.<locals>.<listcomp>"}, {"/w/a.py", "f"}}, {7, 6}};
    assert_int_equal(looks_init(&l), 0);
    add_times(&l, add_thread(&l, 0, true, "python3"), DOING_COMPUTES, &inner, 10);
    judged(&l, &lines, BLAME_MAIN, "f() in a.py:7, 100% of that thread's time");
    looks_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_are_those_of_the_interpreter),
        TEST(a_damaged_table_ends),
        TEST(memory_that_lies_is_survived),
        TEST(names_may_have_any_letters),
        TEST(own_code_comes_before_libraries),
        TEST(a_thread_that_waits_blames_those_that_it_waits_for),
        TEST(a_comprehension_belongs_to_its_function),
    };
    return RUN_TESTS(tests);
}
