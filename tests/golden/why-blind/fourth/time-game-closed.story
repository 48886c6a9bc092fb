story time-game-closed
title A game was closed three minutes ago, and the desktop is back at rest
gpu 0 AMD Radeon RX 6800 XT like rx6800xt
  temperature_celsius 48
  temperature_hotspot_celsius 50
  temperature_memory_celsius 54
  was 600s..180s every 5s utilization_percent 98 power_watts 245 temperature_celsius 66 fan_percent 44 fan_rpm 1450
  was 179s..0s every 5s temperature_celsius 60>48
  ended 9 witcher3.exe graphics
    ago 180s
    ran 70min
    utilization_percent 97
expect
  severity info
  first recent_load or nothing_unusual
