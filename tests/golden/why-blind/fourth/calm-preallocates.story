story calm-preallocates
title vLLM takes its KV cache in one go: 90% of the memory is in use, as it was told
gpu 0 NVIDIA L4 like l4
  memory_used_mb 20700
  power_watts 28
  performance_state 0
  clock_graphics_mhz 2040
  clock_memory_mhz 6250
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 44
  was 400s..0s every 5s memory_used_mb 20700
  process 13 VLLM::EngineCore compute
    user svc
    command vllm serve Qwen/Qwen3-8B
    model Qwen3-8B
    started 3h
    memory_mb 20400
    utilization_percent 0
    requests_running 0
    requests_waiting 0
    kv_cache_percent 0
expect
  severity info
