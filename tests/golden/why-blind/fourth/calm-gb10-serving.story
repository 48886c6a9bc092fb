story calm-gb10-serving
title A GB10 serves a model from memory that it shares with its CPU
gpu 0 NVIDIA GB10 like gb10
  utilization_percent 96
  temperature_celsius 71
  power_watts 62
  performance_state 0
  clock_graphics_mhz 2405
  throttle_reasons none
  was 300s..0s every 5s utilization_percent 95~96
  process 600 VLLM::EngineCore compute
    user svc
    model gpt-oss-120b
    started 3h
    memory_mb 92000
    utilization_percent 96
expect
  calm yes
  first compute_load or memory_traffic
