story calm-row-remapped-long-ago
title A row was remapped long ago, nothing is pending
gpu 0 NVIDIA A100-SXM4-80GB like a100
  remapped_rows_corrected 1
expect
  calm yes
  first nothing_unusual
