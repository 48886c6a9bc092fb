story calm-t4-inference-light
title A T4 answers a few requests now and then
gpu 0 Tesla T4 like t4
  utilization_percent 11
  memory_used_mb 9200
  temperature_celsius 52
  power_watts 31
  performance_state 0
  clock_graphics_mhz 1590
  clock_memory_mhz 5000
  pcie_generation 3
  throttle_reasons none
  was 300s..0s every 5s utilization_percent 4~17 power_watts 29~33
  process 9 tritonserver compute
    user svc
    command tritonserver --model-repository=/models
    started 400h
    memory_mb 9000
    utilization_percent 11
expect
  calm yes
  pid 9 or none
