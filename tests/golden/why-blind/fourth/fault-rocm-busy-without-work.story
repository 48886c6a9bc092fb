story fault-rocm-busy-without-work
title After a ROCm program ended the card stays at 100%, 84 W, with nobody on it
gpu 0 AMD Radeon RX 6800 XT like rx6800xt
  utilization_percent 100
  power_watts 84
  clock_graphics_mhz 2450
  clock_memory_mhz 1000
  temperature_celsius 51
  temperature_hotspot_celsius 55
  fan_percent 20
  fan_rpm 700
  was 600s..0s every 10s utilization_percent 100 power_watts 84
expect
  severity notice or warning
  first no_work_done or power_unexplained or hidden_load or clocks_held
