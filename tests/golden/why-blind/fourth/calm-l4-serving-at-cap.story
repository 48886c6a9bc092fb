story calm-l4-serving-at-cap
title An L4 serves at its 72 W
gpu 0 NVIDIA L4 like l4-serve
  was 300s..0s every 5s power_watts 68~71
  process 10 VLLM::EngineCore compute
    user svc
    command vllm serve Qwen/Qwen2.5-7B-Instruct
    model Qwen2.5-7B-Instruct
    started 40h
    memory_mb 20300
    utilization_percent 86
    tokens_per_second 410
    requests_running 9
    requests_waiting 0
    kv_cache_percent 38
expect
  calm yes
  first compute_load or power_limit or memory_traffic
