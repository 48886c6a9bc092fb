story calm-browser-video-igpu
title A film in the browser on integrated graphics
gpu 0 Intel UHD Graphics 770 like uhd
  utilization_percent 17
  clock_graphics_mhz 700
  decoder_percent 22
  process 900 firefox graphics
    started 3h
    utilization_percent 6
    decoder_percent 22
expect
  calm yes
