/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret/mask.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

enum { ARGS = 12 };

struct example {
    const char *args[ARGS];
    const char *shown; /* NULL: as it is */
};

static void show(const char *const *args, char *to, size_t size)
{
    struct str views[ARGS];
    size_t count = 0;
    while (count < ARGS && args[count]) {
        views[count] = str_from(args[count]);
        count++;
    }
    mask_arguments(views, count, to, size);
}

static void check(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char got[4096], plain[4096] = "";
        show(examples[i].args, got, sizeof got);
        for (size_t a = 0; a < ARGS && examples[i].args[a]; a++) {
            if (a)
                strcat(plain, " ");
            strcat(plain, examples[i].args[a]);
        }
        const char *want = examples[i].shown ? examples[i].shown : plain;
        if (strcmp(got, want) != 0)
            fail_msg("'%s'\n became '%s'\n   want '%s'", plain, got, want);
    }
}

static void secrets_behind_names_are_masked(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {{"vllm", "serve", "m", "--api-key", "token-abc123"}, "vllm serve m --api-key ***"},
        {{"x", "--token=abcdef"}, "x --token=***"},
        {{"x", "--token", "abcdef", "--port", "80"}, "x --token *** --port 80"},
        {{"x", "--hf-token", "abc"}, "x --hf-token ***"},
        {{"x", "--hf_token=abc"}, "x --hf_token=***"},
        {{"x", "--password", "hunter2"}, "x --password ***"},
        {{"x", "--password", "two words"}, "x --password ***"},
        {{"x", "-password", "hunter2"}, "x -password ***"},
        {{"x", "--db-pass=1234567"}, "x --db-pass=***"},
        {{"x", "--secret", "s"}, "x --secret ***"},
        {{"x", "--client_secret", "s"}, "x --client_secret ***"},
        {{"x", "--aws-secret-access-key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, "x --aws-secret-access-key ***"},
        {{"env", "PASSWORD=hunter2", "x"}, "env PASSWORD=*** x"},
        {{"env", "HF_TOKEN=abc", "OPENAI_API_KEY=def", "x"}, "env HF_TOKEN=*** OPENAI_API_KEY=*** x"},
        {{"java", "-Djavax.net.ssl.keyStorePassword=changeit", "-jar", "a.jar"},
         "java -Djavax.net.ssl.keyStorePassword=*** -jar a.jar"},
        {{"docker", "run", "-e", "MYSQL_ROOT_PASSWORD=abc", "mysql"}, "docker run -e MYSQL_ROOT_PASSWORD=*** mysql"},
        {{"docker", "run", "--env=API_TOKEN=abc", "x"}, "docker run --env=API_TOKEN=*** x"},
        {{"x", "{\"password\":\"hunter2\",\"user\":\"bob\"}"}, "x {\"password\":\"***\",\"user\":\"bob\"}"},
        {{"x", "{\"api_key\": \"abc\", \"n\": 5}"}, "x {\"api_key\": \"***\", \"n\": 5}"},
        {{"x", "{\"apiKey\":\"abc\"}"}, "x {\"apiKey\":\"***\"}"},
        {{"bash", "-c", "export TOKEN=abc; python x.py"}, "bash -c export TOKEN=***; python x.py"},
        {{"bash", "-c", "python x.py --api-key abc --port 1"}, "bash -c python x.py --api-key *** --port 1"},
        {{"webui.py", "--gradio-auth", "me:secret"}, "webui.py --gradio-auth ***"},
        {{"redis-server", "--requirepass", "abc"}, "redis-server --requirepass ***"},
        {{"x", "--wandb-api-key=0123"}, "x --wandb-api-key=***"},
        {{"x", "--connection-string", "Server=a;Pwd=b"}, "x --connection-string ***"},
        {{"x", "Server=db;Password=b;Database=d"}, "x Server=db;Password=***;Database=d"},
    };
    check(examples, ARRAY_LEN(examples));
}

static void secrets_in_their_places_are_masked(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {{"x", "https://bob:hunter2@host:8080/path"}, "x https://bob:***@host:8080/path"},
        {{"x", "--url=postgresql://u:p%40ss@db/x"}, "x --url=postgresql://u:***@db/x"},
        {{"x", "redis://:secret@127.0.0.1:6379/0"}, "x redis://:***@127.0.0.1:6379/0"},
        {{"x", "postgres://u:a/b@c@db/x"}, "x postgres://u:***@db/x"},
        {{"git", "clone", "https://ghp_abcdefghijklmnopqrst0123456789ABCDEF@github.com/a/b"},
         "git clone https://***@github.com/a/b"},
        {{"x", "https://host/api?token=abc&x=1"}, "x https://host/api?token=***&x=1"},
        {{"curl", "-u", "bob:hunter2", "http://x/"}, "curl -u bob:*** http://x/"},
        {{"curl", "--user", "bob:hunter2", "http://x/"}, "curl --user bob:*** http://x/"},
        {{"curl", "-H", "Authorization: Bearer abc.def", "http://x/"}, "curl -H Authorization: Bearer *** http://x/"},
        {{"curl", "-H", "Authorization: abcdef"}, "curl -H Authorization: ***"},
        {{"curl", "-H", "X-API-Key: abc", "http://x/"}, "curl -H X-API-Key: *** http://x/"},
        {{"curl", "-H", "Cookie: a=b; c=d", "http://x/"}, "curl -H Cookie: *** *** http://x/"},
        {{"mysql", "-pS3cret", "-u", "root"}, "mysql -p*** -u root"},
        {{"/usr/bin/mysqldump", "-psecret", "db"}, "/usr/bin/mysqldump -p*** db"},
        {{"sshpass", "-p", "secret", "ssh", "h"}, "sshpass -p *** ssh h"},
        {{"redis-cli", "-a", "secret", "ping"}, "redis-cli -a *** ping"},
        {{"tool", "-p", "hunter2", "-v"}, "tool -p *** -v"},
        {{"tool", "-pHunter2!"}, "tool -p***"},
    };
    check(examples, ARRAY_LEN(examples));
}

static void secrets_inside_of_scripts_and_documents_are_masked(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {{"sh", "-c", "mysql -pS3cret -u root db"}, "sh -c mysql -p*** -u root db"},
        {{"bash", "-c", "cd /x && /usr/bin/mysqldump -psecret db"}, "bash -c cd /x && /usr/bin/mysqldump -p*** db"},
        {{"bash", "-c", "sleep 1; sshpass -p secret ssh h"}, "bash -c sleep 1; sshpass -p *** ssh h"},
        {{"sh", "-c", "MYSQL_PWD=abc mysql -u root"}, "sh -c MYSQL_PWD=*** mysql -u root"},
        {{"x", "https://hooks.slack.com/services/T0/B0/low"}, "x https://hooks.slack.com/services/***"},
        {{"x", "--url=https://hooks.slack.com/services/T0/B0/low"}, "x --url=https://hooks.slack.com/services/***"},
        {{"x", "{\"url\":\"https://discord.com/api/webhooks/1/abc\"}"}, "x {\"url\":\"https://discord.com/api/webhooks/***\"}"},
        {{"x", "--config={\"password\":\"hunter2\"}"}, "x --config={\"password\":\"***\"}"},
        {{"x", "--config={\"db\":{\"password\":\"hunter2\",\"port\":1}}"}, "x --config={\"db\":{\"password\":\"***\",\"port\":1}}"},
        {{"x", "{\"password\":\"a,b\",\"n\":1}"}, "x {\"password\":\"***\",\"n\":1}"},
        {{"x", "{\"password\": \"two words\", \"n\": 1}"}, "x {\"password\": \"***\", \"n\": 1}"},
        {{"curl", "--header=Authorization: Basic abc"}, "curl --header=Authorization: Basic ***"},
        {{"curl", "-HAuthorization: Basic abc"}, "curl -HAuthorization: Basic ***"},
        {{"curl", "-H", "Authorization:Bearer abc"}, "curl -H Authorization:Bearer ***"},
        {{"python3", "-c", "import os; os.environ['HF_TOKEN']='low'; run()"},
         "python3 -c import os; os.environ['HF_TOKEN']='***'; run()"},
        {{"python3", "-c", "os.environ[\"HF_TOKEN\"] = \"low\""}, "python3 -c os.environ[\"HF_TOKEN\"] = \"***\""},
        {{"python3", "-c", "os.environ['TOKEN']='low'"}, "python3 -c os.environ['TOKEN']='***'"},
        {{"python3", "-c", "os.putenv('HF_TOKEN','low')"}, "python3 -c os.putenv('HF_TOKEN','***')"},
        {{"python3", "-c", "login(token='low')"}, "python3 -c login(token='***')"},
        {{"sh", "-c", "ssh -p 22 h; mkdir -p abc1; llama-cli -p hello2"}, NULL},
        {{"llama-cli", "-p", "what is my password ?"}, NULL},
    };
    check(examples, ARRAY_LEN(examples));
}

static void secrets_are_known_by_their_looks(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {{"x", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"}, "x ***"},
        {{"x", "--login", "sk-proj-abcdEFGH1234ijklMNOP5678"}, "x --login ***"},
        {{"x", "sk-ant-api03-aaaaaaaaaaaaaaaaaaaa-11"}, "x ***"},
        {{"x", "ghp_abcdefghijklmnopqrst0123456789ABCDEF"}, "x ***"},
        {{"x", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrs"}, "x ***"},
        {{"x", "glpat-abcdefghij0123456789"}, "x ***"},
        {{"x", "xoxb-123456789012-abcdefghijkl"}, "x ***"},
        {{"x", "AKIAIOSFODNN7EXAMPLE"}, "x ***"},
        {{"x", "--k", "AIzaSyA1234567890abcdefghijklmnopqrstuv"}, "x --k ***"},
        {{"x", "nvapi-abcdefghij0123456789KLMNOPQRST"}, "x ***"},
        {{"x", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"}, "x ***"},
        {{"x", "--opt=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"}, "x --opt=***"},
        {{"x", "9f86d081884c7d659a2feaa0c55ad015"}, "x ***"}, /* 32 hexadecimal digits with no name */
        {{"x", "--thing", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"}, "x --thing ***"},
        {{"x", "dGhpc0lzQVNlY3JldDEyMzQ1Njc4OTA="}, "x ***"},
        {{"x", "wJalrXUtnFEMI/K7MDENG/bPxRf1CYz8Qk3LmT0vNw7a"}, "x ***"},
        {{"x", "kX9vQ2mZr7TpL4sWb8NcY1dF"}, "x ***"},
        {{"x", "-----BEGIN OPENSSH PRIVATE KEY----- abc"}, "x ***"},
    };
    check(examples, ARRAY_LEN(examples));
}

static void what_is_no_secret_stays(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {{"python3", "train.py", "--epochs", "10"}, NULL},
        {{"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "meta-llama/Llama-3.1-70B-Instruct"}, NULL},
        {{"x", "--model", "Qwen/Qwen2.5-Coder-32B-Instruct-GPTQ-Int4"}, NULL},
        {{"x", "--model", "neuralmagic/Meta-Llama-3.1-405B-Instruct-quantized.w4a16"}, NULL},
        {{"x", "-m", "DeepSeek-R1-Distill-Qwen-14B-Q4_K_M.gguf"}, NULL},
        {{"llama-server", "-m", "/models/qwen3-8b-q4_k_m.gguf", "-p", "hello"}, NULL},
        {{"x", "--max-tokens", "4096", "--max-num-batched-tokens=8192"}, NULL},
        {{"x", "--pad-token", "eos", "--eos-token", "x"}, NULL},
        {{"x", "--tokenizer", "gpt2", "--tokenizer-mode=auto"}, NULL},
        {{"x", "--token-count", "12", "--stop-token-ids", "1"}, NULL},
        {{"x", "--token", "1024"}, NULL},
        {{"x", "--use-auth-token", "True"}, NULL},
        {{"ffmpeg", "-pass", "1"}, NULL},
        {{"x", "--password-file", "/run/secrets/pw"}, NULL},
        {{"x", "--ssl-private-key", "/etc/ssl/key.pem"}, NULL},
        {{"x", "--sort-key", "name", "--key=id"}, NULL},
        {{"x", "CUDA_VISIBLE_DEVICES=GPU-b1c2d3e4-f5a6-7b8c-9d0e-1f2a3b4c5d6e"}, NULL},
        {{"x", "--gpu", "MIG-b1c2d3e4-f5a6-7b8c-9d0e-1f2a3b4c5d6e"}, NULL},
        {{"x", "--run-id", "0af7651916cd43dd8448eb211c80319c"}, NULL},
        {{"x", "--revision", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"}, NULL},
        {{"x", "--commit=a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"}, NULL},
        {{"x", "/root/.ollama/models/blobs/sha256-6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa"}, NULL},
        {{"x", "nginx@sha256:6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa"}, NULL},
        {{"x", "/hf/hub/models--a--b/snapshots/a94a8fe5ccb19ba61c4c0873d391e987982fbbd3/x"}, NULL},
        {{"x", "--host", "0.0.0.0", "--port", "8000", "-p", "8080"}, NULL},
        {{"docker", "run", "-p", "8080:80", "--user", "1000:1000", "x"}, NULL},
        {{"mkdir", "-p", "abc1"}, NULL},
        {{"x", "-parallel", "-print"}, NULL},
        {{"x", "https://example.org:8443/a/b?x=1&y=2"}, NULL},
        {{"x", "--tensor-parallel-size=8", "--gpu-memory-utilization=0.95"}, NULL},
        {{"/usr/lib/firefox/firefox", "-contentproc", "-childID", "17", "-isForBrowser"}, NULL},
        {{"/opt/google/chrome", "--type=gpu-process", "--gpu-preferences=UAAAAAAAAAAgAAAEAAAAAAAAAAAAAAAAAABgAAEAAAA4"}, NULL},
        {{"ray::IDLE", "MyVeryLongTrainingFunctionName2"}, NULL},
        {{"x", "task-0123456789-abcdefghij", "disk-1234567890123456789"}, NULL},
        {{"x", "sk-learn-pipeline-something"}, NULL},
        {{"x", "--author", "bob", "--authors=a:b"}, NULL},
        {{"x", "--passthrough", "yes", "--bypass=1", "--compass", "n"}, NULL},
        {{"", "x"}, NULL},
        {{NULL}, NULL},
    };
    check(examples, ARRAY_LEN(examples));
}

static void long_command_lines_are_cut_without_leaking(void **state)
{
    (void)state;
    char got[24];
    const char *args[ARGS] = {"program", "--password=hunter2", "rest"};
    show(args, got, sizeof got);
    assert_string_equal(got, "program --password=*** ");
}

static void bytes_that_are_no_text_do_no_harm(void **state)
{
    (void)state;
    char got[64];
    const char *args[ARGS] = {"x\xff\n", "--token=\x01\x02", "=", ":", "--", "-", "-p", "://@", "a://b:c@"};
    show(args, got, sizeof got);
    assert_string_equal(got, "x?  --token=*** = : -- - -p ://@ a://b:***@");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(secrets_behind_names_are_masked),
        TEST(secrets_in_their_places_are_masked),
        TEST(secrets_inside_of_scripts_and_documents_are_masked),
        TEST(secrets_are_known_by_their_looks),
        TEST(what_is_no_secret_stays),
        TEST(long_command_lines_are_cut_without_leaking),
        TEST(bytes_that_are_no_text_do_no_harm),
    };
    return RUN_TESTS(tests);
}
