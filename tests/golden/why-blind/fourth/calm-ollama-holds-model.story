story calm-ollama-holds-model
title Ollama keeps a model loaded for its five minutes and waits
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  memory_used_mb 9100
  power_watts 27
  was 120s..0s every 5s utilization_percent 0
  was 240s..121s every 5s utilization_percent 91 power_watts 310
  process 55 ollama compute
    command /usr/local/bin/ollama runner --model sha256-abc
    model llama3.1:8b
    started 20min
    memory_mb 8800
    utilization_percent 0
expect
  severity info
