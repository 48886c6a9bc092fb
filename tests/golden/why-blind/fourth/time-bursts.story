story time-bursts
title A chat server works in bursts of ten seconds; now it rests
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  memory_used_mb 16200
  performance_state 2
  clock_graphics_mhz 1695
  clock_memory_mhz 9501
  power_watts 108
  temperature_celsius 55
  fan_percent 40
  throttle_reasons none
  # Corrected: at these clocks the link is not in its state of rest.
  pcie_generation 4
  was 600s..5s every 5s utilization_percent 92~95~0~0~0~0 power_watts 310~318~110~108~107~108
  process 1000 llama-server compute
    command llama-server -m llama3.1-8b.gguf
    started 9h
    memory_mb 15900
    utilization_percent 0
    # Corrected: the share of the program goes up and down with the load of the GPU, or the load would not be its own.
    was 600s..5s every 5s utilization_percent 92~95~0~0~0~0
expect
  severity info
  first compute_load or context_held or recent_load or nothing_unusual
