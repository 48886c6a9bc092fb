story calm-t4-at-its-cap
title A T4 serves at its 70 W with two thirds of its clock, as T4s do
gpu 0 Tesla T4 like t4
  utilization_percent 91
  memory_utilization_percent 62
  memory_used_mb 12800
  temperature_celsius 74
  power_watts 69
  performance_state 0
  clock_graphics_mhz 1065
  clock_memory_mhz 5000
  throttle_reasons power cap
  pcie_generation 3
  was 600s..0s every 5s clock_graphics_mhz 1065~1080~1035 power_watts 69~70~68
  process 31 tritonserver compute
    user svc
    command tritonserver --model-repository=/models
    started 200h
    memory_mb 12500
    utilization_percent 91
expect
  calm yes
  first compute_load or power_limit
