# DV-3: stock programs read the devices that a graph plays to.
# shellcheck shell=bash

virtual_camera=/dev/video60

# read_virtual_camera PICTURES FILE: reads with a stock program. The device becomes a camera when a program writes to
# it.
read_virtual_camera() {
    eventually gst-launch-1.0 v4l2src device=$virtual_camera num-buffers=1 ! fakesink
    gst-launch-1.0 -q v4l2src device=$virtual_camera num-buffers="$1" ! videoconvert ! video/x-raw,format=I420 ! \
        y4menc ! filesink location="$2"
}

virtual_camera_from_source() {
    load v4l2loopback video_nr=60 card_label=Virtual exclusive_caps=1
    mediagraph devices --json >list
    listed list "d['kind'] == 'video-output' and d['text'] == 'v4l2sink device=$virtual_camera' and d['name'] == 'Virtual'"
    mediagraph devices
    mediagraph run --quiet "videosource handler=counter options=\"width=640,height=360,fps=15\" ! videoconvert !
        video/x-raw,format=YUY2 ! v4l2sink device=$virtual_camera" >writer.log 2>&1 &
    read_virtual_camera 30 read.y4m
    look numbers 20 read.y4m
    mediagraph devices --json >list
    listed list "d['kind'] == 'camera' and d['text'] == 'v4l2src device=$virtual_camera'"
}
check "DV-3 stock gst-launch reads a virtual camera that videosource feeds" virtual_camera_from_source

virtual_camera_from_camera() {
    load v4l2loopback video_nr=60 card_label=Virtual exclusive_caps=1
    plug_in_usb_camera
    mediagraph run --quiet "v4l2src device=$(usb_camera_path) ! video/x-raw,format=YUY2,framerate=15/1 ! videoconvert !
        preprocessor handler=invert ! videoconvert ! video/x-raw,format=YUY2 ! v4l2sink device=$virtual_camera" >writer.log 2>&1 &
    read_virtual_camera 30 read.y4m
    look --inverted numbers 20 read.y4m
}
check "DV-3 stock gst-launch reads a virtual camera that a processed camera feeds" virtual_camera_from_camera

speaker() {
    load snd-aloop id=Loopback pcm_substreams=8
    mediagraph run --quiet "virtualmic handler=tone options=\"frequency=600,volume=0.25\" jitter=1000000000 ! audioconvert !
        audio/x-raw,format=S16LE,channels=2 ! alsasink device=hw:Loopback,0,0 buffer-time=1000000" >player.log 2>&1 &
    # The loopback delivers sound only while a program plays to it.
    eventually grep -q RUNNING /proc/asound/Loopback/pcm0p/sub0/status
    gst-launch-1.0 -q alsasrc device=hw:Loopback,1,0 num-buffers=800 ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! \
        wavenc ! filesink location=heard.wav
    listen heard.wav 600 -15
}
check "DV-3 alsasink plays a virtual microphone's tone, which stock gst-launch records" speaker
