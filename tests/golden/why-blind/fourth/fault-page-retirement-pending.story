story fault-page-retirement-pending
title A V100 retires a page at the next reboot
gpu 0 Tesla V100-SXM2-32GB like v100
  retired_pages_double_bit 2
  retired_pages_pending 1
  was 120s..0s every 5s power_watts 42
expect
  severity notice or warning or critical
  first retired_pages or row_remap
