/* SPDX-License-Identifier: Apache-2.0
 * A stand-in for ssh.exe: listens where -L says, and passes what comes for 127.0.0.1:9447 there to the port FAKE_SSH_PORT of this
 * host; behind every other target there is nothing. FAKE_SSH_REFUSAL: it says that and ends. FAKE_SSH_LOG: a file for its
 * arguments.
 */
#include <winsock2.h>

#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct end {
    SOCKET listener;
    int open;
};

struct pair {
    SOCKET from, to;
};

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((u_short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return at;
}

static DWORD WINAPI pass(void *user)
{
    struct pair p = *(struct pair *)user;
    char piece[65536];
    int got;
    while ((got = recv(p.from, piece, sizeof piece, 0)) > 0)
        for (int sent = 0, n; sent < got && (n = send(p.to, piece + sent, got - sent, 0)) > 0;)
            sent += n;
    shutdown(p.to, SD_SEND);
    return 0;
}

static DWORD WINAPI take(void *user)
{
    struct end *e = user;
    struct sockaddr_in daemon = loopback(atoi(getenv("FAKE_SSH_PORT")));
    for (;;) {
        SOCKET here = accept(e->listener, NULL, NULL), there = socket(AF_INET, SOCK_STREAM, 0);
        if (!e->open || connect(there, (struct sockaddr *)&daemon, sizeof daemon) != 0) {
            closesocket(here);
            continue;
        }
        struct pair *both = malloc(2 * sizeof *both);
        both[0] = (struct pair){here, there};
        both[1] = (struct pair){there, here};
        CreateThread(NULL, 0, pass, &both[0], 0, NULL);
        CreateThread(NULL, 0, pass, &both[1], 0, NULL);
    }
}

static int forward(const char *how)
{
    int port = 0;
    char target[256] = "";
    struct end *e = malloc(sizeof *e);
    if (sscanf(how, "127.0.0.1:%d:%255s", &port, target) != 2)
        return 255;
    struct sockaddr_in at = loopback(port);
    *e = (struct end){socket(AF_INET, SOCK_STREAM, 0), strcmp(target, "127.0.0.1:9447") == 0};
    if (bind(e->listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(e->listener, 8) != 0)
        return 255;
    CreateThread(NULL, 0, take, e, 0, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    WSADATA about;
    const char *refusal = getenv("FAKE_SSH_REFUSAL"), *log = getenv("FAKE_SSH_LOG");
    FILE *file = log ? fopen(log, "ab") : NULL;
    for (int i = 1; file && i < argc; i++)
        fprintf(file, "%s%c", argv[i], i + 1 < argc ? ' ' : '\n');
    if (file)
        fclose(file);
    if (refusal) {
        fprintf(stderr, "%s\n", refusal);
        return 255;
    }
    WSAStartup(MAKEWORD(2, 2), &about);
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "-L") == 0 && forward(argv[i + 1]) != 0)
            return 255;
    Sleep(INFINITE);
    return 0;
}
