/* SPDX-License-Identifier: Apache-2.0
 * A program that says what another one said to the same arguments: FAKE_TAPE is a folder with a file "index" of lines
 * "NUMBER<TAB>STATUS<TAB>ARGUMENTS", and a file for each number. FAKE_TAPE_SLEEPS: it never answers. FAKE_TAPE_HEARS: a
 * file for its arguments and all of its input, instead of an answer.
 */
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *folder, const char *name)
{
    char path[1024], piece[65536];
    size_t got;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    while (file && (got = fread(piece, 1, sizeof piece, file)) > 0)
        fwrite(piece, 1, got, stdout);
}

static int hear(const char *path, int argc, char **argv)
{
    char piece[65536];
    size_t got;
    FILE *file = fopen(path, "wb");
    _setmode(0, _O_BINARY);
    for (int i = 1; file && i < argc; i++)
        fprintf(file, "[%s]", argv[i]);
    while (file && (got = fread(piece, 1, sizeof piece, stdin)) > 0)
        fwrite(piece, 1, got, file);
    return file && fclose(file) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static char line[65536], asked[65536], path[1024];
    const char *folder = getenv("FAKE_TAPE");
    if (getenv("FAKE_TAPE_SLEEPS"))
        Sleep(INFINITE);
    if (getenv("FAKE_TAPE_HEARS"))
        return hear(getenv("FAKE_TAPE_HEARS"), argc, argv);
    _setmode(1, _O_BINARY);
    for (int i = 1; i < argc; i++)
        snprintf(asked + strlen(asked), sizeof asked - strlen(asked), "%s%s", i > 1 ? " " : "", argv[i]);
    snprintf(path, sizeof path, "%s/index", folder);
    FILE *index = fopen(path, "rb");
    while (index && fgets(line, sizeof line, index)) {
        char *status = strchr(line, '\t'), *words = status ? strchr(status + 1, '\t') : NULL;
        if (!words)
            continue;
        *status++ = *words++ = '\0';
        words[strcspn(words, "\r\n")] = '\0';
        if (strcmp(words, asked) == 0) {
            say(folder, line);
            return atoi(status);
        }
    }
    fprintf(stderr, "not on the tape: %s\n", asked);
    return 2;
}
