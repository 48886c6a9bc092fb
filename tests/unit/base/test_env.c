/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "test.h"

static void *mathematics(void)
{
    struct error err = {0};
    void *library = library_load("libm.so.6", &err);
    assert_non_null(library);
    return library;
}

static void functions_are_found_by_their_names(void **state)
{
    (void)state;
    double (*floor_of)(double) = NULL, (*ceiling_of)(double) = NULL;
    const struct library_symbol symbols[] = {{"floor", &floor_of}, {"ceil", &ceiling_of}};
    struct error err = {0};
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), &err), 0);
    assert_true(floor_of(2.5) == 2.0);
    assert_true(ceiling_of(2.5) == 3.0);
    assert_string_equal(err.text, "");
}

static void a_missing_one_is_named(void **state)
{
    (void)state;
    double (*floor_of)(double) = NULL, (*other)(double) = NULL;
    const struct library_symbol symbols[] = {{"floor", &floor_of}, {"no_such_function", &other}};
    struct error err = {0};
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), &err), -ENOSYS);
    assert_string_equal(err.text, "the one found has no no_such_function");
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), NULL), -ENOSYS);
}

static double some_function(double x)
{
    return x;
}

static void an_optional_one_may_be_missing_and_is_null_then(void **state)
{
    (void)state;
    double (*floor_of)(double) = NULL, (*other)(double) = some_function;
    const struct library_symbol symbols[] = {{"no_such_function", &other, .optional = true}, {"floor", &floor_of}};
    struct error err = {0};
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), &err), 0);
    assert_null(other);
    assert_non_null(floor_of);
}

static void a_library_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(library_load("libno-such-library.so.9", &err));
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.text, "libno-such-library.so.9"));
}

/* ---- a program with more privileges than its caller ---- */

enum { NOBODY = 65534 };

/* What a copy of this program prints of what it believes. */
static int print_beliefs(void)
{
    struct env env;
    struct error err = {0};
    env_init_system(&env);
    const char *state = env_variable("XDG_DATA_HOME"), *gained = env_gained();
    int started = launch_program(&env, &(struct launch){.argv = (const char *const[]){"planted", NULL}, .timeout_ms = 60000}, &err);
    printf("%s %s %s %s %s %d\n", env.nvml_library, env.nvidia_smi, state ? state : "-", env_variables()[0] ? "some" : "none",
           gained ? gained : "-", started);
    fflush(stdout);
    rmdir(getenv("HOME"));
    _exit(0); /* a process that others may not look into can't be searched for leaks */
}

static void copy_self(const char *path, mode_t mode)
{
    struct stat info;
    AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(from >= 0 && to >= 0 && fstat(from, &info) == 0);
    for (off_t left = info.st_size; left > 0;) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        assert_true(sent > 0);
        left -= sent;
    }
    assert_int_equal(fchmod(to, mode), 0);
}

static void plant_program(const char *folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/planted", folder);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0 && dprintf(fd, "#!/bin/sh\nexit 7\n") > 0 && fchmod(fd, 0755) == 0);
}

/* Run by a user without privileges, whose environment names things of his own. */
static void ask_copy(const char *folder, const char *path, char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char places[128];
        snprintf(places, sizeof places, "PATH=%s:/usr/bin:/bin", folder);
        const char *const environment[] = {"WHIRR_NVML_LIBRARY=/planted/nvml", "WHIRR_NVIDIA_SMI=/planted/smi",
                                           "XDG_DATA_HOME=/planted/state", places, NULL};
        dup2(ends[1], 1);
        if (setgid(NOBODY) || setuid(NOBODY))
            _exit(1);
        execve(path, (char *const[]){(char *)path, (char *)"beliefs", NULL}, (char *const *)environment);
        _exit(1);
    }
    close(ends[1]);
    size_t len = 0;
    ssize_t got;
    while (len + 1 < size && (got = read(ends[0], text + len, size - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

/* What a copy believes to which `mode` and `caps` give privileges. */
static void believed(mode_t mode, uint32_t caps, char *text, size_t size)
{
    char folder[64], path[128];
    struct statvfs system;
    if (geteuid() != 0)
        SKIP("only root can give a program privileges");
    make_folder_here(folder);
    if (statvfs(folder, &system) == 0 && (system.f_flag & ST_NOSUID))
        SKIP("the file system is mounted nosuid");
    assert_true(chmod(getenv("HOME"), 0711) == 0 && chmod(folder, 0755) == 0);
    snprintf(path, sizeof path, "%s/copy", folder);
    copy_self(path, mode);
    plant_program(folder);
    struct vfs_cap_data data = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, .data[0].permitted = caps};
    bool given = !caps || setxattr(path, "security.capability", &data, XATTR_CAPS_SZ_2, 0) == 0;
    if (given)
        ask_copy(folder, path, text, size);
    remove_all(folder);
    if (!given)
        SKIP("this file system has no file capabilities");
    if (!text[0])
        SKIP("other users can't run programs from here");
}

static void the_environment_of_an_ordinary_program_is_believed(void **state)
{
    (void)state;
    char text[256] = "";
    believed(0755, 0, text, sizeof text);
    assert_string_equal(text, "/planted/nvml /planted/smi /planted/state some - 7\n");
}

static void under_file_capabilities_nothing_of_the_environment_is_believed(void **state)
{
    (void)state;
    char text[256] = "";
    believed(0755, 1U << CAP_SYS_PTRACE, text, sizeof text);
    assert_string_equal(text, "libnvidia-ml.so.1 nvidia-smi - none file capabilities -2\n");
}

static void under_setuid_nothing_of_the_environment_is_believed(void **state)
{
    (void)state;
    char text[256] = "";
    believed(04755, 0, text, sizeof text);
    assert_string_equal(text, "libnvidia-ml.so.1 nvidia-smi - none setuid -2\n");
    believed(02755, 0, text, sizeof text);
    assert_string_equal(text, "libnvidia-ml.so.1 nvidia-smi - none setgid -2\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "beliefs") == 0)
        return print_beliefs();
    const struct CMUnitTest tests[] = {
        TEST(functions_are_found_by_their_names),
        TEST(a_missing_one_is_named),
        TEST(an_optional_one_may_be_missing_and_is_null_then),
        TEST(a_library_that_is_not_there_is_named),
        TEST(the_environment_of_an_ordinary_program_is_believed),
        TEST(under_file_capabilities_nothing_of_the_environment_is_believed),
        TEST(under_setuid_nothing_of_the_environment_is_believed),
    };
    return RUN_TESTS(tests);
}
