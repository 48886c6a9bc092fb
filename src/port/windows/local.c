/* SPDX-License-Identifier: Apache-2.0
 * The files of a local socket.
 */
#include "port/windows/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "port/windows/rights_windows.h"

enum { KEY_PATH = WIDE_PATH + 8, TEXT_SIZE = 128 };

struct local_files {
    HANDLE place, key;
};

static int make_file(const char *path, mode_t mode, const char *text, HANDLE *ret)
{
    wchar_t wide[WIDE_PATH];
    DWORD written = 0, len = (DWORD)strlen(text);
    if (!wide_path(path, wide))
        return -errno;
    SECURITY_ATTRIBUTES *rights = rights_exactly(mode, false);
    HANDLE file = CreateFileW(wide, GENERIC_WRITE | DELETE, FILE_SHARE_READ, rights, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_NORMAL | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    DWORD error = GetLastError();
    rights_free(rights);
    if (file == INVALID_HANDLE_VALUE) {
        fail_with(error);
        return error == ERROR_SHARING_VIOLATION ? -EADDRINUSE : -errno;
    }
    if (!WriteFile(file, text, len, &written, NULL) || written != len) {
        fail_with(GetLastError());
        CloseHandle(file);
        return -errno;
    }
    *ret = file;
    return 0;
}

static bool make_word(char word[LOCAL_WORD_SIZE])
{
    unsigned char random[(LOCAL_WORD_SIZE - 1) / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(word + 2 * i, 3, "%02x", random[i]);
    return true;
}

static bool key_path(const char *path, char text[KEY_PATH])
{
    return snprintf(text, KEY_PATH, "%s.key", path) < KEY_PATH;
}

int local_door_open(const char *path, uint16_t port, struct local_door *ret, struct local_files **files)
{
    char text[TEXT_SIZE], beside[KEY_PATH];
    struct local_files *f = malloc(sizeof *f);
    *ret = (struct local_door){.port = port};
    if (!f || !make_word(ret->answer) || !make_word(ret->key) || !key_path(path, beside)) {
        free(f);
        return -ENOMEM;
    }
    *f = (struct local_files){INVALID_HANDLE_VALUE, INVALID_HANDLE_VALUE};
    snprintf(text, sizeof text, "%u %s\n", port, ret->answer);
    int rc = make_file(beside, 0600, ret->key, &f->key); /* first: a client that sees the socket's file can read the key */
    rc = rc < 0 ? rc : make_file(path, 0644, text, &f->place);
    if (rc < 0)
        local_door_close(f);
    else
        *files = f;
    return rc;
}

void local_door_close(struct local_files *files)
{
    if (!files)
        return;
    if (files->place != INVALID_HANDLE_VALUE)
        CloseHandle(files->place);
    if (files->key != INVALID_HANDLE_VALUE)
        CloseHandle(files->key);
    free(files);
}

static int read_file(const char *path, char text[TEXT_SIZE])
{
    wchar_t wide[WIDE_PATH];
    DWORD got = 0;
    if (!wide_path(path, wide))
        return -errno;
    HANDLE file =
        CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        fail_with(GetLastError());
        return -errno;
    }
    bool good = ReadFile(file, text, TEXT_SIZE - 1, &got, NULL);
    CloseHandle(file);
    text[good ? got : 0] = '\0';
    return good ? 0 : -EIO;
}

int local_door_read(const char *path, struct local_door *ret)
{
    char text[TEXT_SIZE], beside[KEY_PATH];
    unsigned port = 0;
    int rc = read_file(path, text);
    *ret = (struct local_door){.key = "-"};
    if (rc < 0)
        return rc;
    if (sscanf(text, "%u %32s", &port, ret->answer) != 2 || port == 0 || port > UINT16_MAX)
        return -ECONNREFUSED; /* not a socket file, or one being written */
    ret->port = (uint16_t)port;
    if (key_path(path, beside) && read_file(beside, text) == 0 && strlen(text) == LOCAL_WORD_SIZE - 1)
        memcpy(ret->key, text, LOCAL_WORD_SIZE);
    return 0;
}
