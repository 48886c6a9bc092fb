/* SPDX-License-Identifier: Apache-2.0 */
#include "host/identity.h"

#include "base/cleanup.h"
#include "host/procfs.h"
#include "test.h"

static const struct {
    const char *command; /* split at blanks */
    const char *model;
} examples[] = {
    {"llama-server -m /x/qwen3-8b-q4_k_m.gguf -ngl 99", "qwen3-8b-q4_k_m"},
    {"/opt/llama.cpp/llama-cli --model models/Meta-Llama-3-8B.Q5_K_M.gguf", "Meta-Llama-3-8B.Q5_K_M"},
    {"llama-server -hf ggml-org/gemma-3-1b-it-GGUF:Q8_0", "ggml-org/gemma-3-1b-it-GGUF:Q8_0"},
    {"llama-server --model /m/DeepSeek-R1-Q4-00001-of-00009.gguf", "DeepSeek-R1-Q4"},
    {"llama-bench -m /m/x.gguf -p 512", "x"},
    {"/usr/bin/python3 /usr/local/bin/vllm serve meta-llama/Llama-3.1-8B --port 80", "meta-llama/Llama-3.1-8B"},
    {"vllm serve --model meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"},
    {"vllm serve /models/Llama-3.1-8B/", "Llama-3.1-8B"},
    {"python3 -m vllm.entrypoints.openai.api_server --model mistralai/Mistral-7B-v0.1 --served-model-name x",
     "mistralai/Mistral-7B-v0.1"},
    {"python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"},
    {"python -u -X dev -m sglang.launch_server --model-path=/data/Qwen2.5-7B", "Qwen2.5-7B"},
    {"text-generation-launcher --model-id bigscience/bloom-560m --num-shard 2", "bigscience/bloom-560m"},
    {"/opt/conda/bin/python /opt/conda/bin/text-generation-server serve bigscience/bloom-560m --num-shard 2",
     "bigscience/bloom-560m"},
    {"text-embeddings-router --model-id BAAI/bge-large-en-v1.5", "BAAI/bge-large-en-v1.5"},
    {"lmdeploy serve api_server internlm/internlm2_5-7b-chat --server-port 1", "internlm/internlm2_5-7b-chat"},
    {"aphrodite run mistralai/Mistral-7B", "mistralai/Mistral-7B"},
    {"trtllm-serve TinyLlama/TinyLlama-1.1B", "TinyLlama/TinyLlama-1.1B"},
    {"litgpt serve microsoft/phi-2", "microsoft/phi-2"},
    {"ollama runner --model /root/.ollama/models/blobs/sha256-6a0746a1ec1aef3e7ec53868f220ff6e389f6f8ef87a01d77c96807de94ca2aa "
     "--port 4",
     ""},
    {"ollama serve", ""},
    {"ollama run llama3.2:3b", "llama3.2:3b"},
    {"torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf"},
    {"python train_dreambooth.py --pretrained_model_name_or_path=runwayml/stable-diffusion-v1-5", "runwayml/stable-diffusion-v1-5"},
    {"accelerate launch x.py --model /hub/models--google--gemma-2b/snapshots/9cf48e52b224239de00d483ec8eb84fb8d0f3a3a",
     "google/gemma-2b"},
    {"whisper audio.mp3 --model small", "small"},
    {"whisper-cli -m models/ggml-base.en.bin -f a.wav", "ggml-base.en"},
    {"whisperx a.wav --model large-v2", "large-v2"},
    {"python3 koboldcpp.py --model /m/x-7b.Q4.gguf", "x-7b.Q4"},
    {"koboldcpp /m/y-7b.Q4.gguf 5001", "y-7b.Q4"},
    {"sd -m /m/sd_xl_base_1.0.safetensors -p cat", "sd_xl_base_1.0"},
    {"python infer.py --ckpt_path /runs/exp7/last.ckpt", "exp7"},
    {"python infer.py --model-path /data/llava-13b/pytorch_model.bin", "llava-13b"},
    {"python main.py --model resnet50", "resnet50"},
    {"env CUDA_VISIBLE_DEVICES=0 python3 -m fastchat.serve.model_worker --model-path lmsys/vicuna-7b-v1.5", "lmsys/vicuna-7b-v1.5"},
    {"uv run vllm serve Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"},
    {"trainer --model s3://bucket/team/my-model", "my-model"},
    {"server --model hf://org/name", "org/name"},
    /* none */
    {"python main.py --listen 0.0.0.0", ""}, /* ComfyUI */
    {"python -m http.server", ""},
    {"python -c import_torch --model x", ""},
    {"git commit -m message", ""},
    {"python train.py --model true --model-path 5", ""},
    {"x --model --verbose", ""},
    {"x --model", ""},
    {"x --model=", ""},
    {"x --model ../", ""},
    {"x --model-parallel-size 8 --models-dir /m", ""},
    {"/usr/bin/gnome-shell", ""},
    {"python", ""},
    {"", ""},
};

static void models_are_named_where_command_lines_name_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        struct str args[ARGUMENTS_MAX];
        size_t count = 0;
        struct str rest = str_from(examples[i].command);
        while (str_word(&rest, &args[count]))
            count++;
        char got[128];
        model_name(args, count, got, sizeof got);
        if (strcmp(got, examples[i].model) != 0)
            fail_msg("'%s'\n names '%s'\n  want '%s'", examples[i].command, got, examples[i].model);
    }
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    struct str args[] = {STR("vllm"), STR("serve"), STR("organisation/a-very-long-name")};
    char got[16];
    model_name(args, 3, got, sizeof got);
    assert_string_equal(got, "organisation/a-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(models_are_named_where_command_lines_name_them), TEST(a_long_name_is_cut)};
    return RUN_TESTS(tests);
}
