/* SPDX-License-Identifier: Apache-2.0
 * Both sides of the CUDA helper, with our own declarations of the driver; tested on driver 580 (x86-64).
 */
#include "guard/cuda.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/procfs.h"
#include "source/driver_places.h"

enum { LONELY_MS = 5000 };

/* Every args structure has 64 bytes; only lock uses one of its fields. */
struct checkpoint_args {
    unsigned timeout_ms;
    unsigned reserved;
    uint64_t more[7];
};
_Static_assert(sizeof(struct checkpoint_args) == 64, "as the driver expects");

static const struct {
    const char *name;
    const char *symbol;
} calls[] = {
    [CUDA_GET_STATE] = {"state", "cuCheckpointProcessGetState"},
    [CUDA_LOCK] = {"lock", "cuCheckpointProcessLock"},
    [CUDA_CHECKPOINT] = {"checkpoint", "cuCheckpointProcessCheckpoint"},
    [CUDA_RESTORE] = {"restore", "cuCheckpointProcessRestore"},
    [CUDA_UNLOCK] = {"unlock", "cuCheckpointProcessUnlock"},
};

/* Driver errors that people can do something about. */
static const struct {
    int code;
    int error;
    const char *words;
} driver_errors[] = {
    {1, -EINVAL, "the process is not in the right state for this (CUDA_ERROR_INVALID_VALUE)"},
    {2, -ENOMEM, "not enough memory (CUDA_ERROR_OUT_OF_MEMORY)"},
    {3, -ENODEV, "the CUDA driver is not initialized (CUDA_ERROR_NOT_INITIALIZED)"},
    {100, -ENODEV, "no CUDA device (CUDA_ERROR_NO_DEVICE)"},
    {304, -EPERM, "the operating system refused (CUDA_ERROR_OPERATING_SYSTEM): another user's process needs CAP_SYS_PTRACE"},
    {401, -EBUSY, "the process is in a state that cannot be checkpointed (CUDA_ERROR_ILLEGAL_STATE)"},
    {600, -EAGAIN, "not ready: work on the GPU did not end in time (CUDA_ERROR_NOT_READY)"},
    {801, -EOPNOTSUPP, "not supported for this process (CUDA_ERROR_NOT_SUPPORTED)"},
    {803, -ENODEV, "driver and library do not match (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)"},
};

const char *cuda_process_state_name(enum cuda_process_state state)
{
    static const char *const names[] = {"running", "locked", "checkpointed", "failed"};
    return (size_t)state < ARRAY_LEN(names) ? names[state] : "unknown";
}

/* ---- the caller's side ---- */

/* The helper's last line is "ok STATE", "driver CODE" or "missing WHAT". */
static int read_outcome(struct str line, const char *call, int32_t pid, enum cuda_process_state *state, struct error *err)
{
    struct str word;
    int64_t number = 0;
    if (!str_word(&line, &word))
        return error_set(err, -EIO, "the CUDA helper did not answer");
    if (str_is(word, "missing"))
        return error_set(err, -ENOSYS, "this host's CUDA driver cannot checkpoint (%.*s); it needs driver 570 or later",
                         STR_ARG(str_trim(line)));
    if (!str_to_i64(str_trim(line), &number))
        return error_set(err, -EIO, "the CUDA helper gave an unexpected answer");
    if (str_is(word, "ok")) {
        if (state)
            *state = number >= 0 && number <= CUDA_PROCESS_FAILED ? (enum cuda_process_state)number : CUDA_PROCESS_FAILED;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(driver_errors); i++)
        if (driver_errors[i].code == number)
            return error_set(err, driver_errors[i].error, "CUDA %s of pid %d: %s", call, pid, driver_errors[i].words);
    return error_set(err, -EIO, "CUDA %s of pid %d: driver error %lld", call, pid, (long long)number);
}

int cuda_call(const struct env *env, enum cuda_call call, int32_t pid, int64_t timeout_ms, const _Atomic bool *abandon,
              enum cuda_process_state *state, struct error *err)
{
    char pid_text[16], timeout_text[24];
    snprintf(pid_text, sizeof pid_text, "%d", pid);
    snprintf(timeout_text, sizeof timeout_text, "%lld", (long long)timeout_ms);
    const char *argv[] = {env->self_program, "cuda-helper", calls[call].name, pid_text, timeout_text, NULL};
    AUTO_BUF struct buf out = BUF(4096);
    /* The driver's own limit (for lock) applies first; the helper is killed if even that doesn't end it. */
    struct launch launch = {.argv = argv, .timeout_ms = timeout_ms + 1000, .out = &out, .cancel = abandon, .spared = true};
    int rc = env->launch(env, &launch, err);
    if (rc == -ETIMEDOUT)
        return error_set(err, rc, "CUDA %s of pid %d did not end within %lld ms", calls[call].name, pid, (long long)timeout_ms);
    if (rc < 0)
        return rc;
    return read_outcome(buf_view(&out), calls[call].name, pid, state, err);
}

bool cuda_is_under_way(const struct env *env, enum cuda_call call, int32_t pid)
{
    AUTO_DIR DIR *proc = dir_open(env, "/proc");
    int64_t number, of;
    if (!proc)
        return true;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[64], text[4096];
        struct str args[5];
        if (!str_to_i64(str_from(entry->d_name), &number))
            continue;
        snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)number);
        ssize_t len = file_read_head(env, path, text, sizeof text);
        if (len < 0 && !is_gone(len))
            return true; /* it may be that one: check again */
        if (len > 0 && proc_arguments((struct str){text, (size_t)len}, args, ARRAY_LEN(args)) == ARRAY_LEN(args) &&
            str_is(args[1], "cuda-helper") && str_is(args[2], calls[call].name) && str_to_i64(args[3], &of) && of == pid)
            return true;
    }
    return false;
}

/* ---- the helper's side ---- */

int cuda_helper_main(const struct env *env, int argc, char **argv)
{
    int64_t pid, timeout_ms;
    if (argc != 4 || !str_to_i64(str_from(argv[2]), &pid) || !str_to_i64(str_from(argv[3]), &timeout_ms))
        return 2;
    struct error err = {0};
    char place[PATH_SIZE];
    void *library = place_load_library(env, env->cuda_library, place, &err);
    if (!library) {
        printf("missing %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (strcmp(argv[1], calls[i].name) != 0)
            continue;
        void *symbol = NULL;
        if (library_symbols(library, &(struct library_symbol){calls[i].symbol, &symbol}, 1, NULL) < 0) {
            printf("missing %s\n", calls[i].symbol);
            return 1;
        }
        int state = 0;
        /* The guard that asked may be dead by then: finish a call in progress for its successor, but end one that hangs. */
        alarm((unsigned)((timeout_ms + LONELY_MS) / 1000 + 1));
        struct checkpoint_args args = {.timeout_ms = i == CUDA_LOCK ? (unsigned)timeout_ms : 0};
        int code =
            i == CUDA_GET_STATE ? ((int (*)(int, int *))symbol)((int)pid, &state) : ((int (*)(int, void *))symbol)((int)pid, &args);
        printf("%s %d\n", code == 0 ? "ok" : "driver", code == 0 ? state : code);
        return 0;
    }
    return 2;
}
