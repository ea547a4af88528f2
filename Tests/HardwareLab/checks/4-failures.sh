# DV-2: a problem with a device ends `mediagraph run` with status 1 and a message that names the device.
# shellcheck shell=bash

# unplugged_while_running DEVICE TEXT: unplugs the USB camera while a graph runs, and checks how the run ends.
unplugged_while_running() {
    local device=$1 text=$2 status=0
    mediagraph run "$text" >run.log 2>&1 &
    local graph=$!
    eventually grep -Eq '[1-9][0-9]* (frames|buffers)' run.log
    unplug_usb_camera
    wait $graph || status=$?
    cat run.log
    [ $status -eq 1 ] || fail "expected status 1, got $status"
    grep -Fq "$device" run.log || fail "the output doesn't name $device"
}

camera_unplugged() {
    plug_in_usb_camera
    local camera
    camera=$(usb_camera_path)
    unplugged_while_running "$camera" \
        "v4l2src device=$camera ! image/jpeg ! jpegdec ! videoconvert ! rawdatapipe handler=count"
}
check "DV-2 a USB camera that is unplugged during a run is an error with its name" camera_unplugged

microphone_unplugged() {
    plug_in_usb_camera
    unplugged_while_running hw:Camera "alsasrc device=hw:Camera ! audioconvert ! fakesink"
}
check "DV-2 a USB microphone that is unplugged during a run is an error with its name" microphone_unplugged

camera_busy() {
    plug_in_usb_camera
    local camera
    camera=$(usb_camera_path)
    mediagraph run "v4l2src device=$camera ! image/jpeg ! fakesink" >first.log 2>&1 &
    eventually grep -Eq '[1-9][0-9]* (frames|buffers)' first.log
    refused 1 "$camera.*in use by another program" mediagraph run "v4l2src device=$camera ! video/x-raw,format=YUY2 ! fakesink"
    refused 1 "$camera.*in use by another program" mediagraph run "v4l2src device=$camera ! image/jpeg ! fakesink"
}
check "DV-2 a camera that another graph uses is an error with its name" camera_busy

microphone_busy() {
    plug_in_usb_camera
    mediagraph run "alsasrc device=hw:Camera ! fakesink" >first.log 2>&1 &
    eventually grep -q RUNNING /proc/asound/Camera/pcm0c/sub0/status
    refused 1 "hw:Camera.*in use by another program" mediagraph run "alsasrc device=hw:Camera ! fakesink"
}
check "DV-2 a microphone that another graph uses is an error with its name" microphone_busy

missing() {
    refused 1 /dev/video77 mediagraph run "v4l2src device=/dev/video77 ! fakesink"
    refused 1 /dev/video77 mediagraph run "videotestsrc ! v4l2sink device=/dev/video77"
    refused 1 hw:Nobody mediagraph run "alsasrc device=hw:Nobody ! fakesink"
    refused 1 hw:Nobody mediagraph run "audiotestsrc ! alsasink device=hw:Nobody"
}
check "DV-2 a missing camera, microphone or speaker is an error with its name" missing

forbidden() {
    plug_in_usb_camera
    local camera
    camera=$(usb_camera_path)
    local nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups
        env HOME=/tmp XDG_RUNTIME_DIR=/tmp GST_REGISTRY=/tmp/nobody/registry)
    install -d -o 65534 /tmp/nobody
    install -o 65534 "$GST_REGISTRY" /tmp/nobody/registry
    chmod 600 "$camera" /dev/snd/*
    refused 1 "$camera.*permission denied" "${nobody[@]}" mediagraph run "v4l2src device=$camera ! fakesink"
    refused 1 "hw:Camera.*permission denied" "${nobody[@]}" mediagraph run "alsasrc device=hw:Camera ! fakesink"
}
check "DV-2 a camera or a microphone without permission is an error with its name" forbidden

wrong_format() {
    plug_in_usb_camera
    local camera
    camera=$(usb_camera_path)
    refused 1 "$camera" mediagraph run "v4l2src device=$camera ! video/x-raw,format=NV12 ! fakesink"
    refused 1 hw:Camera mediagraph run "alsasrc device=hw:Camera ! audio/x-raw,rate=44100 ! fakesink"
}
check "DV-2 a format that the device lacks is an error with the device's name" wrong_format
