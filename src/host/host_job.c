/* SPDX-License-Identifier: Apache-2.0
 * The job of a process. Slurm sets the cgroup; the user controls the environment, which counts only if Slurm runs without cgroups
 * or the job started a container with its own cgroup. Launchers of distributed programs put the rank of a process into the
 * environment, and most of them a value that all processes of the job share on all its hosts.
 *
 *   cgroup v1   /slurm/uid_1000/job_4711/step_0/task_0       /slurm_node7/uid_1000/job_4711
 *   cgroup v2   /system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "host/identity.h"

enum { UUID_LEN = 36, RANKS_MAX = 10 * 1000 * 1000 };

enum variable {
    JOB_ID,
    OLD_JOB_ID,
    JOB_USER,
    RUN_ID,
    MASTER_ADDR,
    MASTER_PORT,
    MPI_SPACE,
    RANK,
    WORLD_SIZE,
    LOCAL_WORLD_SIZE,
    OMPI_RANK,
    OMPI_SIZE,
    OMPI_LOCAL_SIZE,
    PMI_RANK,
    PMI_SIZE,
    PMI_LOCAL_SIZE,
    SLURM_RANK,
    SLURM_SIZE,
    NO_BOOST,
    QUEUES,
    CUDA_GPUS,
    HIP_GPUS,
    ROCR_GPUS,
    ALLOCATOR,
    CUDA_ALLOCATOR,
    VARIABLES
};

static const char *const variables[VARIABLES] = {
    [JOB_ID] = "SLURM_JOB_ID",
    [OLD_JOB_ID] = "SLURM_JOBID", /* old releases; both are set */
    [JOB_USER] = "SLURM_JOB_USER",
    [RUN_ID] = "TORCHELASTIC_RUN_ID",
    [MASTER_ADDR] = "MASTER_ADDR",
    [MASTER_PORT] = "MASTER_PORT",
    [MPI_SPACE] = "PMIX_NAMESPACE",
    [RANK] = "RANK",
    [WORLD_SIZE] = "WORLD_SIZE",
    [LOCAL_WORLD_SIZE] = "LOCAL_WORLD_SIZE",
    [OMPI_RANK] = "OMPI_COMM_WORLD_RANK",
    [OMPI_SIZE] = "OMPI_COMM_WORLD_SIZE",
    [OMPI_LOCAL_SIZE] = "OMPI_COMM_WORLD_LOCAL_SIZE",
    [PMI_RANK] = "PMI_RANK",
    [PMI_SIZE] = "PMI_SIZE",
    [PMI_LOCAL_SIZE] = "MPI_LOCALNRANKS",
    [SLURM_RANK] = "SLURM_PROCID",
    [SLURM_SIZE] = "SLURM_STEP_NUM_TASKS", /* SLURM_NTASKS is also set in batch scripts, which aren't tasks */
    [NO_BOOST] = "CUDA_DISABLE_PERF_BOOST",
    [QUEUES] = "GPU_MAX_HW_QUEUES",
    [CUDA_GPUS] = "CUDA_VISIBLE_DEVICES",
    [HIP_GPUS] = "HIP_VISIBLE_DEVICES",
    [ROCR_GPUS] = "ROCR_VISIBLE_DEVICES",
    [ALLOCATOR] = "PYTORCH_ALLOC_CONF",
    [CUDA_ALLOCATOR] = "PYTORCH_CUDA_ALLOC_CONF", /* the older name */
};

/* In this order: an MPI or Slurm task may contain a torchrun, whose ranks are finer. */
static const struct {
    enum variable rank, size, local;
} ranks[] = {{RANK, WORLD_SIZE, LOCAL_WORLD_SIZE},
             {OMPI_RANK, OMPI_SIZE, OMPI_LOCAL_SIZE},
             {PMI_RANK, PMI_SIZE, PMI_LOCAL_SIZE},
             {SLURM_RANK, SLURM_SIZE, VARIABLES}};

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return s.len > 0 && s.len <= 18;
}

static struct str behind(struct str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return (struct str){s.at + len, s.len - len};
}

static bool job_of_path(struct str path, struct process_job *ret)
{
    struct str part;
    bool slurm = false;
    while (str_cut(&path, '/', &part)) {
        slurm |= str_starts(part, "slurm") || str_ends(part, "_slurmstepd.scope");
        if (slurm && str_starts(part, "uid_") && is_number(behind(part, "uid_")))
            str_to_i64(behind(part, "uid_"), &ret->uid);
        if (slurm && str_starts(part, "job_") && is_number(behind(part, "job_"))) {
            str_copy(ret->id, sizeof ret->id, behind(part, "job_"));
            return true;
        }
    }
    return false;
}

static void find_variables(struct str environment, struct str found[VARIABLES])
{
    struct str one, name;
    while (str_cut(&environment, '\0', &one)) {
        struct str value = one;
        if (!str_cut(&value, '=', &name))
            continue;
        for (size_t i = 0; i < VARIABLES; i++)
            if (!found[i].len && str_is(name, variables[i]))
                found[i] = value;
    }
}

static void job_of_slurm(struct str cgroup, const struct str found[VARIABLES], struct process_job *ret)
{
    struct str line;
    for (enum variable i = JOB_ID; i <= OLD_JOB_ID && !ret->id[0]; i++)
        if (is_number(found[i]))
            str_copy(ret->id, sizeof ret->id, found[i]);
    str_copy_clean(ret->user, sizeof ret->user, found[JOB_USER]);
    while (str_cut(&cgroup, '\n', &line))
        if (job_of_path(line, ret))
            break;
    ret->of_slurm = ret->id[0];
    if (!ret->of_slurm) {
        ret->uid = -1;
        ret->user[0] = '\0';
    }
}

/* Returns how many of the processes run on this host; 0: unknown. */
static int64_t find_rank(const struct str found[VARIABLES], struct process_job *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
        int64_t rank, size, local = 0;
        if (!str_to_i64(found[ranks[i].size], &size) || size < 1 || size > RANKS_MAX)
            continue;
        ret->world_size = reading_ok(size);
        if (str_to_i64(found[ranks[i].rank], &rank) && rank >= 0 && rank < size)
            ret->rank = reading_ok(rank);
        if (ranks[i].local != VARIABLES && str_to_i64(found[ranks[i].local], &local) && local > 0)
            return local;
        return 0;
    }
    return 0;
}

/* torchrun invents one for a job on a single host. */
static bool is_uuid(struct str id)
{
    for (size_t i = 0; i < id.len; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? id.at[i] != '-' : !strchr("0123456789abcdefABCDEF", id.at[i]))
            return false;
    return id.len == UUID_LEN;
}

/* A name that the processes of a job share on all its hosts. */
static void job_of_launcher(const struct str found[VARIABLES], int64_t local, struct process_job *ret)
{
    int64_t size = reading_or(ret->world_size, 1);
    bool here = local >= size;
    if (size < 2)
        return;
    if (found[RUN_ID].len && !str_is(found[RUN_ID], "none") && !(here && is_uuid(found[RUN_ID])))
        str_copy_clean(ret->id, sizeof ret->id, found[RUN_ID]);
    else if (!here && found[MPI_SPACE].len)
        str_copy_clean(ret->id, sizeof ret->id, found[MPI_SPACE]);
    else if (!here && found[MASTER_ADDR].len && is_number(found[MASTER_PORT]) && !str_is_loopback(found[MASTER_ADDR])) {
        char host[PROCESS_JOB_SIZE - 8];
        str_copy_clean(host, sizeof host, found[MASTER_ADDR]);
        snprintf(ret->id, sizeof ret->id, "%s:%.*s", host, (int)MIN_OF(found[MASTER_PORT].len, (size_t)5), found[MASTER_PORT].at);
    }
}

static bool grows(struct str allocator)
{
    return str_contains(allocator, "expandable_segments:True") || str_contains(allocator, "expandable_segments:true");
}

static unsigned char variables_of(struct str environment, const struct str found[VARIABLES])
{
    if (!environment.len)
        return 0;
    return (unsigned char)(VARIABLE_READ | (str_is(found[NO_BOOST], "1") ? VARIABLE_NO_BOOST : 0) |
                           (found[QUEUES].len ? VARIABLE_FEW_QUEUES : 0) |
                           (found[CUDA_GPUS].len || found[HIP_GPUS].len || found[ROCR_GPUS].len ? VARIABLE_OWN_GPUS : 0) |
                           (grows(found[ALLOCATOR]) || grows(found[CUDA_ALLOCATOR]) ? VARIABLE_GROWING_MEMORY : 0));
}

void process_job(struct str cgroup, struct str environment, struct process_job *ret)
{
    struct str found[VARIABLES] = {0};
    *ret = (struct process_job){.uid = -1};
    find_variables(environment, found);
    ret->variables = variables_of(environment, found);
    job_of_slurm(cgroup, found, ret);
    int64_t local = find_rank(found, ret);
    if (!ret->id[0])
        job_of_launcher(found, local, ret);
}

const char *job_launcher(const struct str *args, size_t count)
{
    static const struct {
        const char *program, *name;
    } launchers[] = {
        {"torchrun", "torchrun"},
        {"torch.distributed.run", "torchrun"},
        {"torch.distributed.launch", "torchrun"},
        {"accelerate", "accelerate"},
        {"accelerate.commands.launch", "accelerate"},
        {"deepspeed", "deepspeed"},
        {"deepspeed.launcher.launch", "deepspeed"},
        {"horovodrun", "horovodrun"},
        {"mpirun", "mpirun"},
        {"mpiexec", "mpiexec"},
        {"mpiexec.hydra", "mpiexec"},
        {"hydra_pmi_proxy", "mpiexec"},
        {"orterun", "mpirun"},
        {"orted", "mpirun"},
        {"prterun", "mpirun"},
        {"prted", "mpirun"},
    };
    size_t at = command_program_at(args, count);
    if (at >= count)
        return NULL;
    const char *slash = memrchr(args[at].at, '/', args[at].len);
    struct str program = slash ? (struct str){slash + 1, args[at].len - (size_t)(slash + 1 - args[at].at)} : args[at];
    size_t i = NAME_FIND(launchers, program);
    return i < ARRAY_LEN(launchers) ? launchers[i].name : NULL;
}
