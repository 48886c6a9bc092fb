/* SPDX-License-Identifier: Apache-2.0 */
#include "http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "test.h"

static char folder[] = "/tmp/whirr-token-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/tokens", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, 0600);
}

static void a_token_is_known_by_its_hash_alone(void **state)
{
    (void)state;
    static struct token_file f, again;
    unlink(path);
    assert_int_equal(token_file_load(&f, path, NULL), 0);
    assert_int_equal(f.count, 0);
    char text[TOKEN_TEXT_SIZE], other[TOKEN_TEXT_SIZE];
    assert_int_equal(token_file_add(&f, "laptop", &(struct token_grant){.now = {1000}, .rights = RIGHTS_ALL}, text, NULL), 0);
    assert_int_equal(token_file_add(&f, "ci", &(struct token_grant){.now = {2000}, .rights = RIGHTS_ALL}, other, NULL), 0);
    assert_string_not_equal(text, other);
    assert_int_equal(strncmp(text, "whirr_", 6), 0);
    assert_int_equal(strlen(text), 6 + 64);

    assert_int_equal(token_file_load(&again, path, NULL), 0);
    assert_int_equal(again.count, 2);
    assert_string_equal(token_file_check(&again, str_from(text))->name, "laptop");
    assert_string_equal(token_file_check(&again, str_from(other))->name, "ci");
    assert_null(token_file_check(&again, STR("")));
    text[10] ^= 1;
    assert_null(token_file_check(&again, str_from(text)));

    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    char content[4096] = "";
    int fd = open(path, O_RDONLY);
    assert_true(read(fd, content, sizeof content - 1) > 0);
    close(fd);
    assert_null(strstr(content, other));
}

/* The user of the daemon must be able to read what root adds for it. */
static void what_root_adds_belongs_to_who_owns_the_folder(void **state)
{
    (void)state;
    enum { DAEMON = 12345 };
    static struct token_file f;
    struct stat st;
    char text[TOKEN_TEXT_SIZE];
    if (geteuid() != 0)
        SKIP("needs root");
    unlink(path);
    assert_int_equal(chown(folder, DAEMON, DAEMON), 0);
    for (int i = 0; i < 2; i++) { /* made, then replaced */
        assert_int_equal(token_file_load(&f, path, NULL), 0);
        assert_int_equal(
            token_file_add(&f, i ? "ci" : "laptop", &(struct token_grant){.now = {1000}, .rights = RIGHTS_ALL}, text, NULL), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, DAEMON);
        assert_int_equal(st.st_gid, DAEMON);
        assert_int_equal(chown(folder, 0, 0), 0);
    }
}

static void names_are_unique_and_plain(void **state)
{
    (void)state;
    static struct token_file f;
    unlink(path);
    token_file_load(&f, path, NULL);
    char text[TOKEN_TEXT_SIZE];
    assert_int_equal(token_file_add(&f, "a", &(struct token_grant){.now = {1}, .rights = RIGHTS_ALL}, text, NULL), 0);
    assert_int_equal(token_file_add(&f, "a", &(struct token_grant){.now = {1}, .rights = RIGHTS_ALL}, text, NULL), -EEXIST);
    assert_int_equal(token_file_add(&f, "a b", &(struct token_grant){.now = {1}, .rights = RIGHTS_ALL}, text, NULL), -EINVAL);
    assert_int_equal(token_file_add(&f, "", &(struct token_grant){.now = {1}, .rights = RIGHTS_ALL}, text, NULL), -EINVAL);
    assert_int_equal(token_file_remove(&f, "b", NULL), -ENOENT);
    assert_int_equal(token_file_remove(&f, "a", NULL), 0);
    assert_null(token_file_check(&f, str_from(text)));
}

static void a_changed_file_is_noticed_and_a_bad_one_is_not_used(void **state)
{
    (void)state;
    static struct token_file f, writer;
    unlink(path);
    token_file_load(&f, path, NULL);
    token_file_load(&writer, path, NULL);
    char text[TOKEN_TEXT_SIZE];
    assert_int_equal(token_file_add(&writer, "new", &(struct token_grant){.now = {1}, .rights = RIGHTS_ALL}, text, NULL), 0);
    assert_null(token_file_check(&f, str_from(text)));
    token_file_refresh(&f, NULL, NULL);
    assert_non_null(token_file_check(&f, str_from(text)));

    put("nonsense\n");
    token_file_refresh(&f, NULL, NULL);
    assert_non_null(token_file_check(&f, str_from(text)));
    struct error err = {0};
    assert_int_equal(token_file_load(&writer, path, &err), -EINVAL);
    assert_non_null(strstr(err.text, ":1:"));
    assert_int_equal(writer.count, 0);
    chmod(path, 0666);
    assert_int_equal(token_file_load(&writer, path, &err), -EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_token_is_known_by_its_hash_alone),
                                       TEST(what_root_adds_belongs_to_who_owns_the_folder), TEST(names_are_unique_and_plain),
                                       TEST(a_changed_file_is_noticed_and_a_bad_one_is_not_used)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
