story calm-a380-transcodes
title An A380 transcodes two films for a media server
gpu 0 Intel Arc A380 like a380
  utilization_percent 38
  encoder_percent 36
  decoder_percent 21
  memory_used_mb 610
  power_watts 31
  clock_graphics_mhz 2000
  fan_rpm 1100
  was 180s..0s every 5s utilization_percent 35~40
  process 61 ffmpeg graphics
    user jellyfin
    command ffmpeg -hwaccel vaapi -i film.mkv -c:v hevc_vaapi out.ts
    started 40min
    memory_mb 260
    encoder_percent 20
  process 62 ffmpeg graphics
    user jellyfin
    command ffmpeg -hwaccel vaapi -i film2.mkv -c:v hevc_vaapi out2.ts
    started 12min
    memory_mb 250
    encoder_percent 16
expect
  calm yes
  first video_load or shared_load
