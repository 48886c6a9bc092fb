story fault-radeon-fan-too-slow
title The fan of a 9070 XT turns at a third of what is asked of it
gpu 0 AMD Radeon RX 9070 XT like rx9070xt
  utilization_percent 98
  memory_utilization_percent 47
  memory_used_mb 10200
  temperature_celsius 84
  temperature_hotspot_celsius 103
  temperature_memory_celsius 96
  fan_percent 31
  fan_rpm 980
  fan_target_rpm 3000
  power_watts 287
  clock_graphics_mhz 2710
  clock_memory_mhz 1258
  was 300s..0s every 5s temperature_celsius 84~83 fan_rpm 980~960~990
  process 91 blender compute
    started 50min
    memory_mb 9700
    utilization_percent 98
expect
  severity warning or critical
  first fan_failing or fan_stopped
  gpu 0
  has fan_failing or fan_stopped
