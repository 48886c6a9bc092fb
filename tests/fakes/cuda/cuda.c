/* SPDX-License-Identifier: Apache-2.0
 * A fake libcuda.so.1 with the checkpoint calls: the state of each process is a file, refusals and hangs come from a script.
 * See README.md. Rejects what the real one rejects: a call in the wrong state is CUDA_ERROR_INVALID_VALUE.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { INVALID = 1, OPERATING_SYSTEM = 304 };
enum { RUNNING, LOCKED, CHECKPOINTED, FAILED };

int cuCheckpointProcessGetState(int pid, int *state);
int cuCheckpointProcessLock(int pid, void *args);
int cuCheckpointProcessCheckpoint(int pid, void *args);
int cuCheckpointProcessRestore(int pid, void *args);
int cuCheckpointProcessUnlock(int pid, void *args);

static const char *folder(void)
{
    const char *dir = getenv("WHIRR_FAKE_CUDA");
    return dir ? dir : "/nonexistent";
}

static int read_state(int pid)
{
    char path[512];
    int state = RUNNING;
    snprintf(path, sizeof path, "%s/%d.state", folder(), pid);
    FILE *f = fopen(path, "r");
    if (f) {
        if (fscanf(f, "%d", &state) != 1)
            state = RUNNING;
        fclose(f);
    }
    return state;
}

/* Renamed over the old one, so that no reader sees half of it. */
static FILE *begin_file(const char *path, char fresh[600])
{
    snprintf(fresh, 600, "%s.%d", path, (int)getpid());
    return fopen(fresh, "w");
}

/* The machine as NVML shows it: processes whose memory is away are not listed, and their memory is free. */
static void show_to_nvml(void)
{
    char base[512], fresh[600], line[512];
    const char *script = getenv("WHIRR_FAKE_NVML");
    snprintf(base, sizeof base, "%s/nvml.base", folder());
    FILE *from = fopen(base, "r"), *to = script && from ? begin_file(script, fresh) : NULL;
    long used = 0;
    int gpus = 0;
    while (to && fgets(line, sizeof line, from)) {
        if (strncmp(line, "gpu ", 4) == 0 && gpus++) {
            fprintf(to, "  used %ld\n", used); /* of the GPU before */
            used = 0;
        }
        int pid;
        long mib;
        char type[32];
        if (sscanf(line, " process %d %31s %ld", &pid, type, &mib) == 3) {
            if (read_state(pid) == CHECKPOINTED || kill(pid, 0) < 0)
                continue;
            used += mib;
        }
        fputs(line, to);
    }
    if (to) {
        fprintf(to, "  used %ld\n", used);
        fclose(to);
        rename(fresh, script);
    }
    if (from)
        fclose(from);
}

/* The program that shows the machine holds the file "lock": no other writes over it what it has read before. */
static int take_turn(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/lock", folder());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        flock(fd, LOCK_EX);
    return fd;
}

static void write_state(int pid, int state)
{
    char path[512], fresh[600];
    int turn = take_turn();
    snprintf(path, sizeof path, "%s/%d.state", folder(), pid);
    FILE *f = begin_file(path, fresh);
    if (f) {
        fprintf(f, "%d\n", state);
        fclose(f);
        rename(fresh, path);
        show_to_nvml();
    }
    close(turn);
}

/* So long, or without a time until the file "hold" is gone: for tests that must see it hanging, however slow they are. */
static void hang(double seconds)
{
    char path[512];
    snprintf(path, sizeof path, "%s/hold", folder());
    if (seconds > 0)
        nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(long)seconds) * 1e9)}, NULL);
    while (seconds <= 0 && access(path, F_OK) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* "fail CALL CODE", "hang CALL SECONDS" (before it acts), "late CALL SECONDS" (after it has acted), "quit CALL" (exits inside). */
static int obey(const char *call, int after)
{
    char path[512], line[256], what[16], name[32];
    double number;
    int code = 0;
    snprintf(path, sizeof path, "%s/script", folder());
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        number = 0;
        if (sscanf(line, "%15s %31s %lf", what, name, &number) < 2 || strcmp(name, call) != 0)
            continue;
        if (strcmp(what, "fail") == 0 && !after)
            code = (int)number;
        if (strcmp(what, after ? "late" : "hang") == 0)
            hang(number);
        if (strcmp(what, "quit") == 0 && !after)
            _exit(3);
    }
    if (f)
        fclose(f);
    return code;
}

static void note(const char *call, int pid)
{
    char path[512];
    snprintf(path, sizeof path, "%s/calls", folder());
    FILE *f = fopen(path, "a");
    if (!f)
        return;
    fprintf(f, "%s %d\n", call, pid);
    fclose(f);
}

static int change(const char *call, int pid, int from, int to)
{
    note(call, pid);
    int code = obey(call, 0);
    if (code)
        return code;
    if (kill(pid, 0) < 0 && errno == ESRCH)
        return INVALID;
    if (read_state(pid) != from)
        return INVALID;
    write_state(pid, to);
    obey(call, 1);
    return 0;
}

EXPORT int cuCheckpointProcessGetState(int pid, int *state)
{
    note("state", pid);
    int code = obey("state", 0);
    if (code)
        return code;
    *state = read_state(pid);
    return 0;
}

EXPORT int cuCheckpointProcessLock(int pid, void *args)
{
    (void)args;
    return change("lock", pid, RUNNING, LOCKED);
}

EXPORT int cuCheckpointProcessCheckpoint(int pid, void *args)
{
    (void)args;
    return change("checkpoint", pid, LOCKED, CHECKPOINTED);
}

EXPORT int cuCheckpointProcessRestore(int pid, void *args)
{
    (void)args;
    return change("restore", pid, CHECKPOINTED, LOCKED);
}

EXPORT int cuCheckpointProcessUnlock(int pid, void *args)
{
    (void)args;
    return change("unlock", pid, LOCKED, RUNNING);
}
