story chain-memory-junction-throttles
title The pads of a 6800 XT are dry: its memory is at 106 degrees and slows it
gpu 0 AMD Radeon RX 6800 XT like rx6800xt-game
  temperature_celsius 70
  temperature_hotspot_celsius 86
  temperature_memory_celsius 106
  clock_graphics_mhz 1540
  power_watts 181
  throttle_reasons memory hot
  was 300s..0s every 5s temperature_memory_celsius 106~105~106
  process 7 RDR2.exe graphics
    user jo
    started 80min
    memory_mb 8600
    utilization_percent 97
expect
  severity warning or critical
  first memory_hot or heat_limit
  gpu 0
  has memory_hot
