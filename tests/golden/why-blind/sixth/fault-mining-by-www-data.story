story fault-mining-by-www-data
title A miner runs as www-data on a server that should be at rest
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080
  utilization_percent 100
  memory_used_mb 4900
  temperature_celsius 64
  fan_percent 70
  power_watts 229
  performance_state 2
  clock_graphics_mhz 1410
  clock_memory_mhz 9251
  throttle_reasons none
  pcie_generation 4
  was 300s..0s every 5s power_watts 229~226
  process 4242 xmrig compute
    user www-data
    command ./xmrig --cuda -o pool.example:3333
    started 9h
    memory_mb 4600
    utilization_percent 100
expect
  severity warning
  first mining
  pid 4242
