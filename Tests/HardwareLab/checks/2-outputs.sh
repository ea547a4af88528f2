# DV-3: devices that a graph plays to, read by stock programs.
# shellcheck shell=bash

virtual_camera=/dev/video60

# read_virtual_camera PICTURES FILE: as another program does. Until somebody writes it is no camera.
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
check "DV-3 a virtual camera fed by videosource, read by stock gst-launch" virtual_camera_from_source

virtual_camera_from_camera() {
    load v4l2loopback video_nr=60 card_label=Virtual exclusive_caps=1
    plug_in_usb_camera
    mediagraph run --quiet "v4l2src device=$(usb_camera_path) ! video/x-raw,format=YUY2,framerate=15/1 ! videoconvert !
        preprocessor handler=invert ! videoconvert ! video/x-raw,format=YUY2 ! v4l2sink device=$virtual_camera" >writer.log 2>&1 &
    read_virtual_camera 30 read.y4m
    look --inverted numbers 20 read.y4m
}
check "DV-3 a virtual camera fed by a processed camera, read by stock gst-launch" virtual_camera_from_camera

speaker() {
    load snd-aloop id=Loopback pcm_substreams=8
    mediagraph run --quiet "virtualmic handler=tone options=\"frequency=600,volume=0.25\" jitter=1000000000 ! audioconvert !
        audio/x-raw,format=S16LE,channels=2 ! alsasink device=hw:Loopback,0,0 buffer-time=1000000" >player.log 2>&1 &
    # A loopback that nobody plays to has nothing to give.
    eventually grep -q RUNNING /proc/asound/Loopback/pcm0p/sub0/status
    gst-launch-1.0 -q alsasrc device=hw:Loopback,1,0 num-buffers=800 ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! \
        wavenc ! filesink location=heard.wav
    listen heard.wav 600 -15
}
check "DV-3 alsasink plays a virtual microphone's tone, recorded by stock gst-launch" speaker
