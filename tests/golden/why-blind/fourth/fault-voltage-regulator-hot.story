story fault-voltage-regulator-hot
title The voltage regulators of a 6800 XT without airflow slow the card while the chip is cool
gpu 0 AMD Radeon RX 6800 XT like rx6800xt-game
  temperature_celsius 62
  temperature_hotspot_celsius 74
  clock_graphics_mhz 1480
  power_watts 166
  throttle_reasons voltage regulator hot
  was 240s..0s every 5s clock_graphics_mhz 1480~1500
  process 21 HorizonZeroDawn.exe graphics
    started 40min
    memory_mb 8000
    utilization_percent 98
expect
  severity warning or critical
  first heat_limit or airflow
