story calm-loading-70b
title vLLM loads a 70B model over two H100s for its second minute: memory grows fast
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 2
  memory_used_mb 52000
  power_watts 121
  clock_graphics_mhz 1980
  throttle_reasons none
  pcie_rx_bytes_per_second 1900000000
  was 70s..0s every 2s memory_used_mb 1500>52000
  process 301 VLLM::Worker_TP0 compute
    user svc
    command vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 2
    started 80s
    memory_mb 51500
    was 70s..0s every 2s memory_mb 1000>51500
gpu 1 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 2
  memory_used_mb 51800
  power_watts 120
  clock_graphics_mhz 1980
  throttle_reasons none
  was 70s..0s every 2s memory_used_mb 1500>51800
  process 302 VLLM::Worker_TP1 compute
    user svc
    command vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 2
    started 80s
    memory_mb 51300
    was 70s..0s every 2s memory_mb 1000>51300
expect
  calm yes
  first loading
  gpu 0
  never vram_full_soon
