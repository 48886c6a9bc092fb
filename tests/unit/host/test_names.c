/* SPDX-License-Identifier: Apache-2.0
 * What people call processes and containers: real command lines, cgroups and the files of runtimes.
 */
#include "base/cleanup.h"
#include "host/identity.h"
#include "host/linux/process_files.h"

#include "sysroot.h"
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ARGS = 32 };

static const struct {
    const char *command; /* arguments separated by '|' */
    const char *directory;
    const char *title; /* "": the process's own name says it */
} commands[] = {
    /* Python */
    {"python3|train.py|--epochs|3", "", "train.py"},
    {"/usr/bin/python3.11|-u|/home/alice/llm/finetune.py", "", "finetune.py"},
    {"python|main.py|--listen|0.0.0.0", "/opt/ComfyUI", "ComfyUI"},
    {"/opt/ComfyUI/venv/bin/python|/opt/ComfyUI/main.py|--port|8188", "", "ComfyUI"},
    {"python|main.py", "/home/alice", "main.py"},
    {"python|main.py", "/app", "main.py"},
    {"python|main.py", "", "main.py"},
    {"python3|launch.py|--xformers", "/home/bob/stable-diffusion-webui", "stable-diffusion-webui"},
    {"python3|server.py|--api", "/srv/text-generation-webui", "text-generation-webui"},
    {"python|src/main.py", "/home/alice/proj", "main.py"}, /* the directory above is not looked at */
    {"python3|-m|vllm.entrypoints.openai.api_server|--model|m", "", "vllm"},
    {"/usr/bin/python3|/usr/local/bin/vllm|serve|Qwen/Qwen3-8B", "", "vllm"},
    {"VLLM::EngineCore", "", "vllm"},
    {"VLLM::Worker_TP0", "", "vllm"},
    {"sglang::scheduler_TP0", "", "sglang"},
    {"python3|-m|sglang.launch_server|--model-path|x", "", "sglang"},
    {"python|-m|ipykernel_launcher|-f|/home/d/kernel.json", "", "Jupyter kernel"},
    {"/opt/conda/bin/python|/opt/conda/bin/torchrun|--nproc_per_node=8|pretrain.py|--bf16", "", "pretrain.py"},
    {"torchrun|--nproc_per_node|4|-m|recipes.full_finetune", "", "recipes.full_finetune"},
    {"python|-m|torch.distributed.run|--nproc-per-node|2|/srv/run/train_gpt2.py", "", "train_gpt2.py"},
    {"python|/usr/bin/accelerate|launch|train_dreambooth.py|--lr|1", "", "train_dreambooth.py"},
    {"python3|-c|from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)|--multiprocessing-fork", "", ""},
    {"python3", "", ""},
    {"python3|-i", "", ""},
    {"/opt/venv/bin/python|/opt/venv/bin/jupyter-lab", "", "jupyter-lab"},
    {"env|CUDA_VISIBLE_DEVICES=0|python3|infer.py", "", "infer.py"},
    {"nice|-n|5|python3|batch.py", "", "batch.py"},
    {"uv|run|train.py", "", "train.py"},
    /* What is left of a path may name nothing. */
    {"bash|/dev/fd/3", "", ""},
    {"bash|/dev/fd/63|--gpus|2", "", ""},
    {"python3|/proc/self/fd/5", "", ""},
    {"python3|/dev/stdin", "", ""},
    {"sh|/tmp/4711/12", "", ""},
    {"bash|-c|cd /srv/run && ./serve 3", "", ""},
    {"bash|-lc|exec /opt/x/start --port 8000", "", ""},
    {"bash|/srv/1.sh", "", "1.sh"},
    {"python3|-m|7", "", ""},
    /* Node */
    {"node|/usr/lib/node_modules/n8n/bin/n8n|start", "", "n8n"},
    {"node|/srv/app/node_modules/@xenova/worker/dist/index.js", "", "@xenova/worker"},
    {"node|render.mjs", "", "render.mjs"},
    {"/usr/bin/node|/opt/whiteboard/server.js", "", "whiteboard"},
    {"bun|run|index.ts", "", "index.ts"},
    /* Wine and Proton */
    {"Z:\\home\\alice\\.steam\\steamapps\\common\\Cyberpunk 2077\\bin\\x64\\Cyberpunk2077.exe", "", "Cyberpunk2077"},
    {"/opt/wine/bin/wine64-preloader|/opt/wine/bin/wine64|/games/Elden Ring/eldenring.exe", "", "eldenring"},
    {"python3|/home/a/.steam/Proton 9.0/proton|waitforexitandrun|/g/Hades II/Hades2.exe", "", "Hades2"},
    {"S:\\common\\Satisfactory\\FactoryGame-Win64-Shipping.exe|-dx12", "", "FactoryGame"},
    {"wine64-preloader|c:\\windows\\system32\\steam.exe|Z:\\g\\Portal2\\portal2.EXE", "", "portal2"},
    {"C:\\windows\\system32\\explorer.exe|/desktop", "", "explorer"},
    /* Other languages */
    {"java|-Xmx4g|-jar|/opt/tool.jar|serve", "", "tool.jar"},
    {"/usr/bin/julia|--project=.|solve.jl", "", "solve.jl"},
    {"Rscript|--vanilla|fit.R", "", "fit.R"},
    {"bash|/dev/fd/3", "", ""},
    /* Electron */
    {"/usr/lib/electron28/electron|/usr/share/obsidian/app.asar", "", "obsidian"},
    {"/usr/lib/electron/electron|--type=gpu-process|--user-data-dir=/home/a/.config/Signal", "", "Signal"},
    {"/proc/self/exe|--type=gpu-process|--user-data-dir=/home/a/.config/Slack", "", "Slack"},
    {"/usr/share/code/code|--type=gpu-process", "", ""},
    /* Programs that are their own name */
    {"ollama|runner|--model|/x", "", ""},
    {"/usr/lib/xorg/Xorg|:0", "", ""},
    {"llama-server|-m|/m/x.gguf", "", ""},
    {"blender|-b|scene.blend", "", ""},
    {"", "", ""},
};

static size_t split(const char *command, struct str *args)
{
    size_t count = 0;
    struct str rest = str_from(command);
    while (count < ARGS && str_cut(&rest, '|', &args[count]))
        count++;
    return count;
}

static void a_process_has_the_name_that_people_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        struct str args[ARGS];
        char got[64];
        size_t count = split(commands[i].command, args);
        command_title(args, count, str_from(commands[i].directory), got, sizeof got);
        if (strcmp(got, commands[i].title) != 0)
            fail_msg("'%s' in '%s' is '%s', want '%s'", commands[i].command, commands[i].directory, got, commands[i].title);
    }
}

static void every_beginning_of_a_command_line_is_safe(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        for (size_t len = 0; len <= strlen(commands[i].command); len++) {
            AUTO_FREE char *cut = strndup(commands[i].command, len);
            struct str args[ARGS];
            char got[8]; /* also the cut of long names */
            command_title(args, split(cut, args), STR("/"), got, sizeof got);
            assert_true(strlen(got) < sizeof got);
        }
}

#define ID "4f2a9c1b3d7e00112233445566778899aabbccddeeff00112233445566778899"
#define UID_DASHES "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_SCORES "0a1b2c3d_1111_2222_3333_444455556666"
#define STORAGE "/storage/overlay-containers/containers.json"
#define STORED(name) "[{\"id\":\"ffff\",\"names\":[\"other\"]},{\"id\":\"" ID "\",\"names\":[\"" name "\"]}]"
#define POD_CGROUP "0::/kubepods.slice/kubepods-pod" UID_SCORES ".slice/cri-containerd-" ID ".scope\n"
#define TASK "/run/containerd/io.containerd.runtime.v2.task/"

static const struct {
    const char *cgroup, *path, *text; /* one file of the machine; NULL: none */
    const char *name;
    enum reading_state state;
} containers[] = {
    {"0::/system.slice/docker-" ID ".scope\n", "/var/lib/docker/containers/" ID "/config.v2.json",
     "{\"ID\":\"" ID "\",\"Config\":{\"Env\":[\"TOKEN=x\"]},\"Name\":\"/train-llama\"}", "train-llama", READING_OK},
    {"0::/docker/" ID "\n", NULL, NULL, "", READING_UNSUPPORTED},
    {"0::/docker/" ID "\n", "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":", "", READING_FAILED},
    {"0::/machine.slice/libpod-" ID ".scope\n", "/var/lib/containers" STORAGE, STORED("whisper"), "whisper", READING_OK},
    {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container\n",
     "/home/alice/.local/share/containers" STORAGE, STORED("comfy"), "comfy", READING_OK},
    {"0::/machine.slice/libpod-" ID ".scope\n", "/var/lib/containers" STORAGE, "[]", "", READING_UNSUPPORTED},
    {POD_CGROUP, "/var/log/containers/train-0_ml_trainer-" ID ".log", "", "ml/train-0/trainer", READING_OK},
    {POD_CGROUP, "/var/log/pods/ml_train-0_" UID_DASHES "/trainer/0.log", "", "ml/train-0", READING_OK},
    {POD_CGROUP, TASK "k8s.io/" ID "/config.json",
     "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"train-0\",\"io.kubernetes.cri.sandbox-namespace\":\"ml\","
     "\"io.kubernetes.cri.container-name\":\"trainer\"}}",
     "ml/train-0/trainer", READING_OK},
    {"0::/kubepods.slice/kubepods-pod" UID_SCORES ".slice/crio-" ID ".scope\n", "/var/lib/containers" STORAGE,
     STORED("k8s_trainer_train-0_ml_" UID_DASHES "_0"), "ml/train-0/trainer", READING_OK},
    {POD_CGROUP, NULL, NULL, "", READING_UNSUPPORTED},
    {"0::/default/" ID "\n", TASK "default/" ID "/config.json", "{\"annotations\":{\"nerdctl/name\":\"vllm-prod\"}}", "vllm-prod",
     READING_OK},
    {"0::/foo/" ID "\n", NULL, NULL, "", READING_UNSUPPORTED},
    /* the cgroup says it all */
    {"0::/lxc.payload.web/system.slice/x.service\n", NULL, NULL, "web", READING_OK},
    {"0::/lxc/101/ns/init.scope\n", NULL, NULL, "101", READING_OK},
    {"0::/machine.slice/systemd-nspawn@deb12.service/payload\n", NULL, NULL, "deb12", READING_OK},
    {"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n", NULL, NULL, "123", READING_OK},
    {"0::/user.slice/user-1000.slice/session-2.scope\n", NULL, NULL, "", READING_UNREAD},
};

static void a_container_has_the_name_that_its_runtime_gave_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(containers); i++) {
        AUTO_SYSROOT struct sysroot s;
        sysroot_init(&s);
        sysroot_write(&s, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000:Alice:/home/alice:/bin/sh\n");
        if (containers[i].path)
            sysroot_write(&s, containers[i].path, containers[i].text);
        struct str cgroup = str_from(containers[i].cgroup);
        char container[96], got[160];
        container_name(cgroup, container, sizeof container);
        enum reading_state why = container_label(&s.env, cgroup, container, got, sizeof got);
        if (strcmp(got, containers[i].name) != 0 || why != containers[i].state)
            fail_msg("row %zu, '%s': '%s' (%s), want '%s' (%s)", i, container, got, reading_state_name(why), containers[i].name,
                     reading_state_name(containers[i].state));
    }
}

static int no_access(int dir, const char *path, int flags)
{
    if (strstr(path, "/var/lib/docker")) {
        errno = EACCES;
        return -1;
    }
    return file_calls_system.openat(dir, path, flags);
}

static void a_name_for_root_alone_is_denied(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct file_calls calls = file_calls_system;
    calls.openat = no_access;
    file_calls_replace(&calls);
    char got[160];
    enum reading_state why = container_label(&s.env, STR("0::/docker/" ID "\n"), "docker:4f2a9c1b3d7e", got, sizeof got);
    file_calls_replace(NULL);
    assert_int_equal(why, READING_DENIED);
    assert_string_equal(got, "");
}

#define BLOB "6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa"
#define MODELS "/usr/share/ollama/.ollama/models"
#define MANIFESTS MODELS "/manifests/"
#define MANIFEST(digest)                                                                                                           \
    "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"application/vnd.docker.container.image.v1+json\",\"digest\":\"sha256:00\"}," \
    "\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:" digest "\",\"size\":4661211424},"     \
    "{\"mediaType\":\"application/vnd.ollama.image.template\",\"digest\":\"sha256:11\"}]}"

static void model_of(struct sysroot *s, const char *command, char got[128])
{
    struct str args[ARGS];
    size_t count = split(command, args);
    ollama_model_name(&s->env, 77, args, count, got, 128);
}

static void a_runner_of_ollama_has_the_name_of_its_model(void **state)
{
    (void)state;
    static const char runner[] = "/usr/local/bin/ollama|runner|--model|" MODELS "/blobs/sha256-" BLOB "|--port|4";
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    char got[128];
    model_of(&s, runner, got);
    assert_string_equal(got, "");
    sysroot_write(&s, MANIFESTS "registry.ollama.ai/library/gemma/2b", MANIFEST("77"));
    model_of(&s, runner, got);
    assert_string_equal(got, "");
    sysroot_write(&s, MANIFESTS "hf.co/bartowski/Qwen3-8B-GGUF/Q4_K_M", MANIFEST(BLOB));
    model_of(&s, runner, got);
    assert_string_equal(got, "hf.co/bartowski/Qwen3-8B-GGUF:Q4_K_M");
    sysroot_remove(&s, MANIFESTS "hf.co");
    sysroot_write(&s, MANIFESTS "registry.ollama.ai/library/llama3.1/latest", MANIFEST(BLOB));
    model_of(&s, runner, got);
    assert_string_equal(got, "llama3.1");
    sysroot_write(&s, MANIFESTS "registry.ollama.ai/library/llama3.1/8b", MANIFEST(BLOB));
    model_of(&s, runner, got);
    assert_string_equal(got, "llama3.1:8b");
    model_of(&s, "ollama|runner|--model|blobs/sha256-" BLOB, got);
    assert_string_equal(got, "");
    model_of(&s, "ollama|serve", got);
    assert_string_equal(got, "");
}

static void a_runner_in_a_container_is_looked_up_below_its_own_root(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    sysroot_write(&s, "/proc/77/root/root/.ollama/models/manifests/registry.ollama.ai/alice/mario/latest", MANIFEST(BLOB));
    char got[128];
    model_of(&s, "ollama|runner|--model|/root/.ollama/models/blobs/sha256-" BLOB, got);
    assert_string_equal(got, "alice/mario");
}

/* ---- a runtime that answers on its socket ---- */

struct runtime {
    int fd;
    const char *answer; /* NULL: takes the question and says nothing */
    char asked[256];
    pthread_t thread;
};

static void *answer_once(void *user)
{
    struct runtime *r = user;
    int client = accept(r->fd, NULL, NULL);
    ssize_t n = client < 0 ? -1 : read(client, r->asked, sizeof r->asked - 1);
    r->asked[n > 0 ? n : 0] = '\0';
    if (r->answer && client >= 0 && write(client, r->answer, strlen(r->answer)) < 0)
        r->asked[0] = '\0';
    if (!r->answer && client >= 0) /* until the other side gives up */
        while (read(client, r->asked + 200, 1) > 0)
            continue;
    if (client >= 0)
        close(client);
    return NULL;
}

static void start_runtime(struct sysroot *s, struct runtime *r, const char *path, const char *answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char whole[512];
    sysroot_write(s, path, "");
    sysroot_place(s, path, whole);
    unlink(whole);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", whole);
    *r = (struct runtime){.fd = socket(AF_UNIX, SOCK_STREAM, 0), .answer = answer};
    assert_int_equal(bind(r->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(r->fd, 1), 0);
    assert_int_equal(pthread_create(&r->thread, NULL, answer_once, r), 0);
}

static void stop_runtime(struct runtime *r)
{
    pthread_join(r->thread, NULL);
    close(r->fd);
}

#define DOCKER_SAYS(name)                                                                                             \
    "HTTP/1.0 200 OK\r\nApi-Version: 1.43\r\nContent-Type: application/json\r\nServer: Docker/24.0.7 (linux)\r\n\r\n" \
    "{\"Id\":\"" ID "\",\"Name\":\"" name "\",\"Config\":{\"Env\":[\"TOKEN=secret\"]}}\n"

static void where_files_may_not_be_read_the_socket_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *cgroup, *socket, *answer, *name;
        enum reading_state state;
    } rows[] = {
        {"0::/system.slice/docker-" ID ".scope\n", "/run/docker.sock", DOCKER_SAYS("/train-llama"), "train-llama", READING_OK},
        {"0::/system.slice/docker-" ID ".scope\n", "/run/docker.sock", DOCKER_SAYS("/k8s_trainer_train-0_ml_u_0"),
         "ml/train-0/trainer", READING_OK},
        {"0::/machine.slice/libpod-" ID ".scope\n", "/run/podman/podman.sock", DOCKER_SAYS("whisper"), "whisper", READING_OK},
        {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container\n",
         "/run/user/1000/podman/podman.sock", DOCKER_SAYS("comfy"), "comfy", READING_OK},
        {"0::/docker/" ID "\n", "/run/docker.sock", "HTTP/1.0 404 Not Found\r\n\r\n{\"message\":\"No such container\"}", "",
         READING_DENIED},
        {"0::/docker/" ID "\n", "/run/docker.sock", "HTTP/1.0 200 OK\r\n\r\nnonsense", "", READING_FAILED},
        {"0::/docker/" ID "\n", "/run/docker.sock", NULL, "", READING_FAILED}, /* it hangs: given up soon */
    };
    const struct file_calls denying = {.openat = no_access, .read = file_calls_system.read};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_SYSROOT struct sysroot s;
        struct runtime r;
        sysroot_init(&s);
        start_runtime(&s, &r, rows[i].socket, rows[i].answer);
        struct str cgroup = str_from(rows[i].cgroup);
        char container[96], got[160];
        container_name(cgroup, container, sizeof container);
        file_calls_replace(&denying);
        enum reading_state why = container_label(&s.env, cgroup, container, got, sizeof got);
        file_calls_replace(NULL);
        stop_runtime(&r);
        if (strcmp(got, rows[i].name) != 0 || why != rows[i].state)
            fail_msg("row %zu: '%s' (%s), want '%s' (%s)", i, got, reading_state_name(why), rows[i].name,
                     reading_state_name(rows[i].state));
        assert_non_null(strstr(r.asked, "GET /containers/" ID "/json HTTP/1.0\r\n"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_has_the_name_that_people_use),
        TEST(every_beginning_of_a_command_line_is_safe),
        TEST(a_container_has_the_name_that_its_runtime_gave_it),
        TEST(a_name_for_root_alone_is_denied),
        TEST(a_runner_of_ollama_has_the_name_of_its_model),
        TEST(a_runner_in_a_container_is_looked_up_below_its_own_root),
        TEST(where_files_may_not_be_read_the_socket_is_asked),
    };
    return RUN_TESTS(tests);
}
