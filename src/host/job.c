/* SPDX-License-Identifier: Apache-2.0
 * The Slurm job of a process. The cgroup is Slurm's own word; the environment is the user's, and counts only where Slurm runs
 * without cgroups or the job started a container, which has a cgroup of its own.
 *
 *   cgroup v1   /slurm/uid_1000/job_4711/step_0/task_0       /slurm_node7/uid_1000/job_4711
 *   cgroup v2   /system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0
 */
#include "host/identity.h"

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

static bool job_of_path(struct str path, struct slurm_job *ret)
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

static void job_of_environment(struct str environment, struct slurm_job *ret)
{
    /* The second name is the one of old releases; both are set. */
    static const char *const ids[] = {"SLURM_JOB_ID=", "SLURM_JOBID="};
    struct str one;
    while (str_cut(&environment, '\0', &one)) {
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            if (!ret->id[0] && str_starts(one, ids[i]) && is_number(behind(one, ids[i])))
                str_copy(ret->id, sizeof ret->id, behind(one, ids[i]));
        if (str_starts(one, "SLURM_JOB_USER="))
            str_copy_clean(ret->user, sizeof ret->user, behind(one, "SLURM_JOB_USER="));
    }
}

void slurm_job(struct str cgroup, struct str environment, struct slurm_job *ret)
{
    struct str line;
    *ret = (struct slurm_job){.uid = -1};
    job_of_environment(environment, ret);
    while (str_cut(&cgroup, '\n', &line))
        if (job_of_path(line, ret))
            break;
    if (!ret->id[0])
        *ret = (struct slurm_job){.uid = -1};
}
