/* SPDX-License-Identifier: Apache-2.0 */
#include "host/identity.h"

#include "base/cleanup.h"
#include "test.h"

#define ID "4f2a9c1b3d7e00112233445566778899aabbccddeeff00112233445566778899"
#define UID_DASHES "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_SCORES "0a1b2c3d_1111_2222_3333_444455556666"

static const struct {
    const char *cgroup, *container;
} examples[] = {
    /* v2 */
    {"0::/system.slice/docker-" ID ".scope\n", "docker:4f2a9c1b3d7e"},
    {"0::/docker/" ID "\n", "docker:4f2a9c1b3d7e"},
    {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container\n", "podman:4f2a9c1b3d7e"},
    {"0::/machine.slice/libpod-" ID ".scope\n", "podman:4f2a9c1b3d7e"},
    {"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_SCORES ".slice/cri-containerd-" ID ".scope\n",
     "k8s:" UID_DASHES "/4f2a9c1b3d7e"},
    {"0::/kubepods.slice/kubepods-pod" UID_SCORES ".slice/crio-" ID ".scope\n", "k8s:" UID_DASHES "/4f2a9c1b3d7e"},
    {"0::/default/" ID "\n", "containerd:4f2a9c1b3d7e"},
    {"0::/system.slice/nerdctl-" ID ".scope\n", "containerd:4f2a9c1b3d7e"},
    {"0::/lxc.payload.web/system.slice/x.service\n", "lxc:web"},
    {"0::/lxc/101/ns/init.scope\n", "lxc:101"},
    {"0::/machine.slice/systemd-nspawn@deb12.service/payload\n", "nspawn:deb12"},
    {"0::/machine.slice/machine-my\\x2dvm.scope/payload\n", "machine:my-vm"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-com.valvesoftware.Steam-4711.scope\n",
     "flatpak:com.valvesoftware.Steam"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-1234.scope\n", "snap:firefox"},
    {"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n", "slurm:123"},
    {"0::/foo/" ID "\n", "container:4f2a9c1b3d7e"},
    /* v1 */
    {"12:pids:/docker/" ID "\n11:memory:/docker/" ID "\n", "docker:4f2a9c1b3d7e"},
    {"1:name=systemd:/kubepods/burstable/pod" UID_DASHES "/" ID "\n", "k8s:" UID_DASHES "/4f2a9c1b3d7e"},
    {"4:devices:/system.slice/containerd.service/kubepods-besteffort-pod" UID_SCORES ".slice:cri-containerd:" ID "\n",
     "k8s:" UID_DASHES "/4f2a9c1b3d7e"},
    {"9:cpuset:/\n8:devices:/slurm/uid_1000/job_77/step_batch\n", "slurm:77"},
    {"3:cpu:/lxc/web\n", "lxc:web"},
    {"5:cpu:/ecs/0123456789abcdef/" ID "\n", "container:4f2a9c1b3d7e"},
    {"13:devices:/\n12:pids:/user.slice\n0::/docker/" ID "\n", "docker:4f2a9c1b3d7e"},
    /* none */
    {"0::/\n", ""},
    {"0::/user.slice/user-1000.slice/session-2.scope\n", ""},
    {"0::/system.slice/ollama.service\n", ""},
    {"0::/../../"
     "x\n",
     ""},
    {"0::/system.slice/docker-1234.scope\n", ""},
    {"0::/machine.slice/libpod-conmon-" ID ".scope\n", ""},
    {"", ""},
    {"\n\n:\n::\n:::\n0\n", ""},
};

static void every_runtime_has_a_readable_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        char got[96];
        container_name(str_from(examples[i].cgroup), got, sizeof got);
        if (strcmp(got, examples[i].container) != 0)
            fail_msg("'%s' gives '%s', want '%s'", examples[i].cgroup, got, examples[i].container);
    }
}

static void deep_and_long_paths_stay_bounded(void **state)
{
    (void)state;
    char deep[4096] = "0::";
    while (strlen(deep) < sizeof deep - 8)
        strcat(deep, "/a");
    char got[96];
    container_name(str_from(deep), got, sizeof got);
    assert_string_equal(got, "");
    char named[512] = "0::/lxc/";
    memset(named + 8, 'n', sizeof named - 9);
    named[sizeof named - 1] = '\0';
    container_name(str_from(named), got, sizeof got);
    assert_int_equal(strlen(got), 4 + 64);
}

#define V2 "0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0\n"
#define V1 "9:cpuset:/\n8:devices:/slurm/uid_1000/job_77/step_batch\n"
#define DOCKER "0::/system.slice/docker-" ID ".scope\n"
#define SET "PATH=/bin\0SLURM_JOB_ID=99\0SLURM_JOB_USER=bob\0"

static void a_job_is_known_by_its_cgroup_else_by_its_environment(void **state)
{
    (void)state;
    static const struct {
        const char *cgroup;
        struct str environment;
        const char *id, *user;
        int64_t uid;
    } jobs[] = {
        {V2, STR(""), "4711", "", -1},
        {V2, STR(SET), "4711", "bob", -1},
        {V1, STR(""), "77", "", 1000},
        {"8:devices:/slurm_node7/uid_5/job_8/step_0\n", STR(""), "8", "", 5},
        {"0::/system.slice/node7_slurmstepd.scope/job_9/step_0\n", STR(""), "9", "", -1},
        {DOCKER, STR(SET), "99", "bob", -1},
        {DOCKER, STR("SLURM_JOBID=12\0"), "12", "", -1},
        {DOCKER, STR("SLURM_JOB_USER=bob\0"), "", "", -1}, /* no job, no owner */
        {DOCKER, STR("SLURM_JOB_ID=12; rm -rf /\0"), "", "", -1},
        {DOCKER, STR("SLURM_JOB_ID=\0"), "", "", -1},
        {DOCKER, STR("XSLURM_JOB_ID=3\0"), "", "", -1},
        {"0::/home/job_5/x\n", STR(""), "", "", -1}, /* any user may call a directory so */
        {"", STR(""), "", "", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct process_job job;
        process_job(str_from(jobs[i].cgroup), jobs[i].environment, &job);
        assert_string_equal(job.id, jobs[i].id);
        assert_string_equal(job.user, jobs[i].user);
        assert_int_equal(job.uid, jobs[i].uid);
    }
}

/* Launchers say rank and size; the id is what the processes on all hosts have in common. */
static void a_launcher_says_rank_size_and_what_the_job_is_called(void **state)
{
    (void)state;
    static const struct {
        struct str environment;
        const char *id;
        int64_t rank, size; /* -1: not known */
    } jobs[] = {
        {STR("RANK=3\0WORLD_SIZE=8\0LOCAL_WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=none\0MASTER_ADDR=127.0.0.1\0MASTER_PORT=29500\0"), "",
         3, 8},
        {STR("RANK=9\0WORLD_SIZE=16\0LOCAL_WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=llama-ft\0"), "llama-ft", 9, 16},
        {STR("RANK=9\0WORLD_SIZE=16\0LOCAL_WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=none\0MASTER_ADDR=node1\0MASTER_PORT=29500\0"),
         "node1:29500", 9, 16},
        /* made up for one host */
        {STR("RANK=0\0WORLD_SIZE=8\0LOCAL_WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=12345678-1234-1234-1234-123456789abc\0"), "", 0, 8},
        {STR("RANK=0\0WORLD_SIZE=1\0TORCHELASTIC_RUN_ID=alone\0"), "", 0, 1},
        {STR("WORLD_SIZE=4\0"), "", -1, 4},
        {STR("RANK=4\0WORLD_SIZE=4\0"), "", -1, 4},
        {STR("RANK=1\0WORLD_SIZE=x\0"), "", -1, -1},
        {STR("OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_LOCAL_SIZE=2\0PMIX_NAMESPACE=prterun-n1-77@1\0"),
         "prterun-n1-77@1", 2, 4},
        {STR("PMI_RANK=1\0PMI_SIZE=2\0MPI_LOCALNRANKS=2\0"), "", 1, 2},
        {STR("SLURM_JOB_ID=12\0SLURM_PROCID=1\0SLURM_STEP_NUM_TASKS=2\0"), "12", 1, 2},
        {STR("SLURM_JOB_ID=12\0SLURM_PROCID=0\0SLURM_NTASKS=8\0"), "12", -1, -1}, /* the batch script */
        {STR("SLURM_JOB_ID=12\0SLURM_PROCID=1\0SLURM_STEP_NUM_TASKS=2\0RANK=9\0WORLD_SIZE=16\0"), "12", 9, 16},
        {STR("RANK=1\0WORLD_SIZE=2\0MASTER_ADDR=n\0MASTER_PORT=1"), "n:1", 1, 2}, /* cut off at its end */
    };
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct process_job job;
        process_job(STR("0::/user.slice/user-1000.slice/session-3.scope\n"), jobs[i].environment, &job);
        assert_string_equal(job.id, jobs[i].id);
        assert_int_equal(reading_or(job.rank, -1), jobs[i].rank);
        assert_int_equal(reading_or(job.world_size, -1), jobs[i].size);
    }
}

/* Only what matters for advice is kept: no text of a variable. */
static void an_environment_says_what_is_set_already(void **state)
{
    (void)state;
    static const struct {
        struct str environment;
        unsigned variables;
    } cases[] = {
        {STR(""), 0}, /* could not be read */
        {STR("HOME=/root\0"), VARIABLE_READ},
        {STR("CUDA_DISABLE_PERF_BOOST=1\0"), VARIABLE_READ | VARIABLE_NO_BOOST},
        {STR("CUDA_DISABLE_PERF_BOOST=0\0"), VARIABLE_READ},
        {STR("A=1\0GPU_MAX_HW_QUEUES=1\0"), VARIABLE_READ | VARIABLE_FEW_QUEUES},
        {STR("CUDA_VISIBLE_DEVICES=1\0"), VARIABLE_READ | VARIABLE_OWN_GPUS},
        {STR("HIP_VISIBLE_DEVICES=0,1\0"), VARIABLE_READ | VARIABLE_OWN_GPUS},
        {STR("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,expandable_segments:True\0"), VARIABLE_READ | VARIABLE_GROWING_MEMORY},
        {STR("PYTORCH_ALLOC_CONF=expandable_segments:False\0"), VARIABLE_READ},
        {STR("MY_GPU_MAX_HW_QUEUES=1\0X=CUDA_VISIBLE_DEVICES=1\0"), VARIABLE_READ},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct process_job job;
        process_job(STR(""), cases[i].environment, &job);
        assert_int_equal(job.variables, cases[i].variables);
    }
}

static void launchers_are_known_by_their_command_lines(void **state)
{
    (void)state;
    static const struct {
        const char *args[5], *name;
    } lines[] = {
        {{"/usr/bin/python3", "/usr/local/bin/torchrun", "--nproc-per-node=8", "train.py"}, "torchrun"},
        {{"python", "-m", "torch.distributed.run", "train.py"}, "torchrun"},
        {{"/opt/conda/bin/python3.11", "/opt/conda/bin/accelerate", "launch", "x.py"}, "accelerate"},
        {{"python3", "-u", "-m", "deepspeed.launcher.launch"}, "deepspeed"},
        {{"mpirun", "-np", "4", "./solver"}, "mpirun"},
        {{"/usr/bin/hydra_pmi_proxy", "--rmk"}, "mpiexec"},
        {{"python3", "train.py", "torchrun"}, NULL},
        {{"bash", "-c", "torchrun train.py"}, NULL},
        {{"/usr/lib/systemd/systemd", "--user"}, NULL},
        {{NULL}, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct str args[5];
        size_t count = 0;
        while (count < 5 && lines[i].args[count]) {
            args[count] = str_from(lines[i].args[count]);
            count++;
        }
        const char *name = job_launcher(args, count);
        assert_true(!name == !lines[i].name);
        if (name)
            assert_string_equal(name, lines[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_runtime_has_a_readable_form),
                                       TEST(deep_and_long_paths_stay_bounded),
                                       TEST(a_job_is_known_by_its_cgroup_else_by_its_environment),
                                       TEST(a_launcher_says_rank_size_and_what_the_job_is_called),
                                       TEST(an_environment_says_what_is_set_already),
                                       TEST(launchers_are_known_by_their_command_lines)};
    return RUN_TESTS(tests);
}
