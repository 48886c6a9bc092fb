story chain-kv-full-preempts
title A vLLM server with a KV cache that is too small interrupts requests
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  memory_used_mb 76500
  sm_active_percent 71
  dram_active_percent 62
  power_watts 540
  was 180s..0s every 5s utilization_percent 98~99
  process 900 VLLM::EngineCore compute
    user svc
    command vllm serve meta-llama/Llama-3.1-70B-Instruct-FP8
    model Llama-3.1-70B-Instruct-FP8
    started 12h
    memory_mb 75900
    utilization_percent 98
    tokens_per_second 820
    requests_running 42
    requests_waiting 61
    kv_cache_percent 99.6
    preemptions_per_second 1.4
expect
  severity notice or warning
  first preemptions or kv_cache_full
  pid 900
  gpu 0
  has preemptions
