story fault-nvlink-all-down-on-one
title One of four A100s has no NVLink at all, its siblings have twelve
gpu 0 NVIDIA A100-SXM4-80GB like a100
gpu 1 NVIDIA A100-SXM4-80GB like a100
gpu 2 NVIDIA A100-SXM4-80GB like a100
  nvlink_links_active 0
gpu 3 NVIDIA A100-SXM4-80GB like a100
expect
  severity notice or warning
  first nvlink
  leads 2
