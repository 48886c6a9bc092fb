story fault-p40-without-a-fan
title A P40 for servers in a desktop without any air through it
gpu 0 Tesla P40 like p40
  utilization_percent 99
  memory_used_mb 20100
  temperature_celsius 92
  power_watts 121
  performance_state 0
  clock_graphics_mhz 683
  clock_memory_mhz 3615
  pcie_generation 3
  throttle_reasons software thermal slowdown, hardware thermal slowdown, hardware slowdown
  was 300s..0s every 5s temperature_celsius 91~92
  process 19 llama-server compute
    command llama-server -m mixtral.gguf -ngl 99
    started 20min
    memory_mb 19900
    utilization_percent 99
expect
  severity warning or critical
  first heat_limit or airflow
  gpu 0
  has airflow
  never slowdown
