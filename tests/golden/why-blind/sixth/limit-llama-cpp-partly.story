story limit-llama-cpp-partly
title llama.cpp keeps 30 of 80 layers of a model in the memory of the host
host cpu_percent 70
host cpu_count 16
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  utilization_percent 24
  memory_used_mb 23300
  performance_state 2
  clock_graphics_mhz 2640
  clock_memory_mhz 10251
  power_watts 118
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 49
  was 60s..0s every 2s utilization_percent 21~27
  process 800 llama-server compute
    user lena
    command llama-server -m /models/llama-3.3-70b-q4_k_m.gguf -ngl 50
    started 20min
    memory_mb 22700
    host_memory_mb 41000
    cpu_percent 800
    utilization_percent 24
    evidence main_running_percent 99
    evidence main_cpu_percent 97
    evidence busiest_thread_percent 99
    evidence busy_threads 8
    evidence cpu_percent 800
    evidence listens 1
    evidence model_file_bytes 42520395776
    evidence mapped_file_bytes 20000000000
expect
  severity info or notice or warning
  first partly_on_cpu
  pid 800
