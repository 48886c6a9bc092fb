/* SPDX-License-Identifier: Apache-2.0
 * Names of files and programs as a real Windows has them, which Wine is less strict about.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <wchar.h>

#include "base/file.h"
#include "port/windows/internal.h"
#include "test.h"

enum { LINE_WIDE = 32767 };

static char folder[512];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s\\whirr-XXXXXX", getenv("TEMP"));
    return mkdtemp(folder) ? 0 : -1;
}

static const char *in_folder(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s\\%s", folder, name);
    return path;
}

static void make_file(const char *name)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT, 0700);
    assert_true(fd >= 0);
    close(fd);
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"npm", "npm.cmd", "tool.exe", "tool.bat", "old.com", "loose.bat"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(in_folder(names[i]));
    return rmdir(folder);
}

/* ---- long names ---- */

static void long_names_become_plain(void **state)
{
    (void)state;
    static const struct {
        const char *given, *plain;
    } cases[] = {
        {"\\\\?\\C:\\data\\x", "C:\\data\\x"},
        {"\\\\?\\UNC\\server\\share\\x", "\\\\server\\share\\x"},
        {"\\\\server\\share", "\\\\server\\share"},
        {"C:\\data", "C:\\data"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s", cases[i].given);
        path_make_plain(path);
        assert_string_equal(path, cases[i].plain);
    }
}

static void assert_wide(const char *before, const wchar_t *expected)
{
    wchar_t wide[WIDE_PATH];
    char path[600];
    snprintf(path, sizeof path, "%s%0250d", before, 0);
    assert_true(wide_path(path, wide));
    assert_int_equal(wcsncmp(wide, expected, wcslen(expected)), 0);
}

static void what_is_long_gets_a_long_name(void **state)
{
    (void)state;
    wchar_t wide[WIDE_PATH];
    assert_wide("C:/data/", L"\\\\?\\C:\\data\\000");
    assert_wide("//server/share/", L"\\\\?\\UNC\\server\\share\\000");
    assert_wide("\\\\?\\C:\\data\\", L"\\\\?\\C:\\data\\000");
    assert_wide("", L"\\\\?\\"); /* below the folder that is worked in */
    assert_true(wide_path("C:/data/short", wide));
    assert_int_equal(wcscmp(wide, L"C:/data/short"), 0);
}

static void a_long_name_can_be_used(void **state)
{
    (void)state;
    char path[1024], file[1100], *whole;
    struct stat info;
    snprintf(path, sizeof path, "%s/%0150d", folder, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(file, sizeof file, "%s/%0150d", path, 2);
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(stat(file, &info), 0);
    whole = realpath(file, NULL);
    assert_non_null(whole);
    assert_true(whole[1] == ':' && whole[2] == '/'); /* and no "//?/" */
    free(whole);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0);
}

/* ---- programs ---- */

static void folders_of_path_are_whole(void **state)
{
    (void)state;
    struct str rest = STR("C:\\a;;.;bin;\"C:\\b c\";\\root;C:here;\\\\server\\bin;\"\";D:/x"), one;
    static const char *const expected[] = {"C:\\a", "C:\\b c", "\\\\server\\bin", "D:/x"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_true(path_next(&rest, &one));
        assert_true(str_is(one, expected[i]));
    }
    assert_false(path_next(&rest, &one));
}

/* How the line begins by which this file is started, as UTF-8. */
static const char *line_of(const char *program, const char *argument)
{
    static char text[4096];
    wchar_t found[WIDE_PATH], *line = malloc(LINE_WIDE * sizeof *line);
    const char *const argv[] = {program, argument, NULL};
    int rc = launch_line(argv, found, line, LINE_WIDE);
    if (rc < 0)
        snprintf(text, sizeof text, "%d", rc);
    else
        assert_true(utf8_from(line, text, sizeof text));
    free(line);
    return text;
}

static void programs_are_found_by_their_endings(void **state)
{
    (void)state;
    char path[2048], expected[1200];
    static const char *const names[] = {"npm", "npm.cmd", "tool.exe", "tool.bat", "old.com", "loose.bat"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        make_file(names[i]);
    snprintf(path, sizeof path, "\"%s\"", folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
    snprintf(expected, sizeof expected, "\"%s\\npm.cmd\" install", folder);
    assert_string_equal(line_of("npm", "install"), expected); /* cmd.exe gets it whole */
    assert_string_equal(line_of("tool", "x"), "tool x");
    assert_string_equal(line_of("old", "x"), "old x");
    assert_string_equal(line_of("tool.exe", "x"), "tool.exe x");
    assert_string_equal(line_of("none", "x"), "-2");
}

static void no_name_hides_a_script(void **state)
{
    (void)state;
    static const char *const names[] = {"loose", "loose.bat", "LOOSE.BAT", "loose.bat.", "loose.bat .", "loose.bat. "};
    make_file("loose.bat");
    assert_int_equal(setenv("PATH", folder, 1), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *line = line_of(names[i], "a&calc");
        assert_true(strcmp(line, "-22") == 0 || strcmp(line, "-2") == 0); /* Wine finds no file by some of them */
    }
    assert_string_equal(line_of("loose", "a&calc"), "-22");
}

static void without_a_job_the_process_is_ended(void **state)
{
    (void)state;
    STARTUPINFOW how = {.cb = sizeof how};
    PROCESS_INFORMATION made;
    wchar_t self[WIDE_PATH];
    DWORD code = 0;
    GetModuleFileNameW(NULL, self, WIDE_PATH);
    assert_true(CreateProcessW(self, NULL, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &how, &made));
    HANDLE no_job = CreateEventW(NULL, TRUE, FALSE, NULL);
    assert_null(join_job(no_job, made.hProcess)); /* refused, and closed */
    leave_job(NULL);
    bool ended = end_process(made.hProcess, NULL, 7);
    TerminateProcess(made.hProcess, 1); /* what a failure would leave behind */
    assert_true(ended);
    assert_int_equal(WaitForSingleObject(made.hProcess, 10000), WAIT_OBJECT_0);
    assert_true(GetExitCodeProcess(made.hProcess, &code) && code == 7);
    CloseHandle(made.hThread);
    CloseHandle(made.hProcess);
}

/* ---- what passes to no program, and limits ---- */

static void sockets_are_not_inherited(void **state)
{
    (void)state;
    WSADATA about;
    DWORD flags = HANDLE_FLAG_INHERIT;
    assert_int_equal(WSAStartup(MAKEWORD(2, 2), &about), 0);
    SOCKET made = make_socket(AF_INET, SOCK_STREAM);
    assert_true(made != INVALID_SOCKET && GetHandleInformation((HANDLE)made, &flags));
    assert_int_equal(flags & HANDLE_FLAG_INHERIT, 0);
    closesocket(made);
}

static void sockets_have_no_limit_of_the_c_library(void **state)
{
    (void)state;
    assert_int_equal(descriptors_raise(16640), 16640);
}

static void the_version_is_that_of_the_system(void **state)
{
    (void)state;
    struct utsname about;
    unsigned major = 0;
    assert_int_equal(uname(&about), 0);
    assert_int_equal(sscanf(about.release, "%u.", &major), 1);
    assert_true(major >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(long_names_become_plain),
        TEST(what_is_long_gets_a_long_name),
        cmocka_unit_test_setup_teardown(a_long_name_can_be_used, make_folder, remove_folder),
        TEST(folders_of_path_are_whole),
        cmocka_unit_test_setup_teardown(programs_are_found_by_their_endings, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_name_hides_a_script, make_folder, remove_folder),
        TEST(without_a_job_the_process_is_ended),
        TEST(sockets_are_not_inherited),
        TEST(sockets_have_no_limit_of_the_c_library),
        TEST(the_version_is_that_of_the_system),
    };
    return RUN_TESTS(tests);
}
