story calm-strix-halo-llm
title A language model on a Strix Halo, in 60 GiB of the host's memory as intended
host memory_total_mb 128000
host memory_available_mb 52000
gpu 0 AMD Radeon 8060S like strixhalo
  utilization_percent 96
  gtt_used_mb 61000
  temperature_celsius 71
  power_watts 88
  clock_graphics_mhz 2780
  was 300s..0s every 5s utilization_percent 94~97
  process 9 llama-server compute
    user jo
    command llama-server -m gpt-oss-120b.gguf -ngl 99
    started 3h
    memory_mb 160
    utilization_percent 96
expect
  calm yes
  first compute_load
