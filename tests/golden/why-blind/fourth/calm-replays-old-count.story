story calm-replays-old-count
title A replay counter that has not moved for days
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  pcie_replays 37
  was 600s..0s every 10s pcie_replays 37
expect
  calm yes
  first nothing_unusual
