story calm-apple-llm
title A language model on an Apple GPU
gpu 0 Apple M2 Max like m2max
  utilization_percent 97
  power_watts 38
  clock_graphics_mhz 1398
  memory_used_mb 41000
  process 12 ollama compute
    model llama3.3:70b
    started 20min
expect
  calm yes
