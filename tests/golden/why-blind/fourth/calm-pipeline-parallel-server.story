story calm-pipeline-parallel-server
title A model over two GPUs layer by layer: each is busy half of the time
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  utilization_percent 51
  power_watts 214
  temperature_celsius 59
  fan_percent 48
  was 120s..0s every 5s utilization_percent 49~53
  process 700 llama-server compute
    command llama-server -m qwen2.5-72b-q4.gguf -ngl 99
    started 5h
    memory_mb 19900
    utilization_percent 51
gpu 1 NVIDIA GeForce RTX 3090 like rtx3090-train
  utilization_percent 49
  power_watts 209
  temperature_celsius 57
  fan_percent 46
  was 120s..0s every 5s utilization_percent 47~52
  process 700 llama-server compute
    command llama-server -m qwen2.5-72b-q4.gguf -ngl 99
    started 5h
    memory_mb 19700
    utilization_percent 49
expect
  calm yes
  first compute_load
  never straggler
