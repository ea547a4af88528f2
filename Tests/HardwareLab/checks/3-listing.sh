# DV-4 and GR-4: `mediagraph devices` and `doctor`.
# shellcheck shell=bash

lists() {
    modprobe -r vivid v4l2loopback snd-aloop
    plug_in_usb_camera
    mediagraph devices --json >list
    local camera size='x["widths"][0]["least"] == 640 and x["heights"][0]["least"] == 360'
    camera=$(usb_camera_path)
    for format in '"YUY2" in x["names"]' 'x["mediaType"] == "image/jpeg"'; do
        listed list "d['kind'] == 'camera' and d['path'] == '$camera' and d['text'] == 'v4l2src device=$camera'
            and d['name'].startswith('Lab USB Camera')
            and any($format and $size and {r['least'] for r in x['frameRates']} == {15, 30} for x in f)"
    done
    listed list "d['kind'] == 'microphone' and d['path'].startswith('hw:') and d['text'].startswith('alsasrc device=hw:')
        and 'Lab USB Camera' in d['name'] and any('S16LE' in x['names']
        and x['sampleRates'] == [{'least': 48000, 'greatest': 48000}]
        and x['channels'] == [{'least': 2, 'greatest': 2}] for x in f)"
    mediagraph devices >text
    cat text
    grep -q '640×360 at 30, 15 fps' text
    cp text /share/devices.txt
}
check "DV-4 devices lists a USB camera's and its microphone's formats, sizes and rates" lists

watches() {
    plug_in_usb_camera
    local camera
    camera=$(usb_camera_path)
    mediagraph devices --watch --json >watch.log &
    eventually seen 1 added camera
    eventually seen 1 added microphone
    unplug_usb_camera
    eventually seen 1 removed camera
    eventually seen 1 removed microphone
    plug_in_usb_camera
    eventually seen 2 added camera
    eventually seen 2 added microphone
}
# seen COUNT EVENT KIND
seen() { [ "$(grep "\"$2\"" watch.log | grep "\"kind\":\"$3\"" | grep -c 'Lab USB Camera')" = "$1" ]; }
check "DV-4 devices --watch reports a USB camera and its sound card being unplugged and plugged in" watches

watches_virtual_camera() {
    modprobe -r v4l2loopback
    load v4l2loopback video_nr=60 card_label=Virtual exclusive_caps=1
    mediagraph devices --watch --json >watch.log &
    eventually changed 1 added video-output
    mediagraph run --quiet "videosource handler=counter options=\"width=640,height=360,fps=15\" ! videoconvert !
        video/x-raw,format=YUY2 ! v4l2sink device=/dev/video60" >writer.log 2>&1 &
    local writer=$!
    eventually changed 1 added camera
    changed 1 removed video-output
    kill -INT "$writer"
    eventually changed 2 added video-output
    changed 1 removed camera
}
# changed COUNT EVENT KIND
changed() { [ "$(grep "\"$2\"" watch.log | grep "\"kind\":\"$3\"" | grep -c '"Virtual"')" = "$1" ]; }
check "DV-4 devices --watch reports a virtual camera that becomes a camera and ceases to be one" watches_virtual_camera

in_use() {
    plug_in_usb_camera
    mediagraph run --quiet "v4l2src device=$(usb_camera_path) ! image/jpeg ! fakesink
        alsasrc device=hw:Camera ! fakesink" >run.log 2>&1 &
    eventually grep -q RUNNING /proc/asound/Camera/pcm0c/sub0/status
    mediagraph devices --json >list
    listed list "d['kind'] == 'camera' and f and any(u.startswith('mediagraph (') for u in d['users'])"
    listed list "d['kind'] == 'microphone' and any(u.startswith('mediagraph (') for u in d['users'])"
}
check "DV-4 devices in use are listed with the programs that use them" in_use

doctor() {
    refused 1 "there is no camera /dev/video77" mediagraph doctor "v4l2src device=/dev/video77 ! fakesink"
    plug_in_usb_camera
    mediagraph doctor "v4l2src device=$(usb_camera_path) ! fakesink  alsasrc device=hw:Camera ! fakesink"
    mediagraph doctor "v4l2src device=$(usb_camera_path) ! image/jpeg ! fakesink" "devicesource kind=microphone ! fakesink"
    refused 1 "doesn't support video/x-h264" mediagraph doctor "v4l2src device=$(usb_camera_path) ! video/x-h264 ! fakesink"
}
check "GR-4 doctor reports no problem for an existing camera, and a problem for a missing one" doctor
