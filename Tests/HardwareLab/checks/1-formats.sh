# DV-1: every format that a camera or a sound card lists, through a pre-processor or a virtual microphone and a session.
# shellcheck shell=bash

# formats KIND DEVICE: of a device that `mediagraph devices` lists, one a line, as "MEDIA-TYPE NAME".
formats() {
    mediagraph devices --json | python3 -c '
import json, sys
for device in json.load(sys.stdin)["devices"]:
    if device["kind"] == sys.argv[1] and device["path"] == sys.argv[2]:
        for format in device["formats"]:
            for name in format["names"] or ["-"]:
                print(format["mediaType"], name)' "$1" "$2" | sort -u
}

# vivid_formats NAMES: those that match, several cameras at once, each in a format of its own, as a graph takes seconds to start.
vivid_formats() {
    local together=8 first line
    # All have the same, and to look at one takes seconds too.
    if [ ! -s /run/vivid-formats ]; then
        load vivid n_devs=1 node_types=0x1
        formats camera /dev/video0 >/run/vivid-formats
        modprobe -r vivid
    fi
    load vivid n_devs=$together node_types="$(seq -s, $together | sed 's/[0-9][0-9]*/0x1/g')"
    mapfile -t lines < <(grep -Ex "$1" /run/vivid-formats)
    [ ${#lines[@]} -gt 8 ] || fail "only ${lines[*]}"
    for ((first = 0; first < ${#lines[@]}; first += together)); do
        local text="mediasession name=hers room=formats user=watcher " device=0
        for line in "${lines[@]:first:together}"; do
            local type=${line% *} name=${line#* } convert=videoconvert
            [ "$type" != video/x-bayer ] || convert="bayer2rgb ! videoconvert"
            # Without the text that it writes over its bars.
            text+="v4l2src device=/dev/video$device extra-controls=c,osd_text_mode=2 !
                $type,format=$name,width=320,height=180,framerate=10/1 ! $convert !
                preprocessor handler=invert ! user$device.camera
                mediasession name=user$device room=formats user=user$device
                hers.video_user$device ! rawdatapipe format=I420 max-frames=30 handler=y4m options=location=$name.y4m "
            device=$((device + 1))
        done
        mediagraph run --quiet "$text" --frames 3
    done
    [ "$(find . -name '*.y4m' | wc -l)" = "${#lines[@]}" ] || fail "not all of ${lines[*]}"
    look --inverted bars ./*.y4m
}
vivid_rgb() { vivid_formats '.* ([xA]?(RGB|BGR)[xA0-9]*|GRAY.*|[rgb]{4})'; }
vivid_yuv() {
    vivid_formats '.* (YUY2|UYVY|YVYU|VYUY|NV.*|I420|YV12|Y42B|Y41B|YUV9|YVU9)'
    ls YUY2.y4m NV12.y4m
    modprobe -r vivid
}
check "DV-1 each RGB, grey and Bayer format that vivid lists into a pre-processor, a session and a pipe" vivid_rgb
check "DV-1 each YUV format that vivid lists, YUYV and NV12 among them, into a pre-processor, a session and a pipe" vivid_yuv

# usb_camera_frames CAPS
usb_camera_frames() {
    plug_in_usb_camera
    mediagraph run --quiet "v4l2src device=$(usb_camera_path) ! $1 ! videoconvert ! preprocessor handler=invert !
        tee name=camera ! queue ! rawdatapipe format=I420 max-frames=100 handler=y4m options=location=own.y4m
        camera. ! queue ! his.camera
        mediasession name=his room=call user=him
        mediasession name=hers room=call user=her
        hers.video_him ! rawdatapipe format=I420 max-frames=100 handler=y4m options=location=hers.y4m" --frames 50
    look --inverted numbers 20 own.y4m hers.y4m
}
usb_camera_mjpeg() { usb_camera_frames "image/jpeg,width=640,height=360,framerate=15/1 ! jpegdec"; }
usb_camera_yuyv() { usb_camera_frames "video/x-raw,format=YUY2,width=640,height=360,framerate=15/1"; }
check "DV-1 MJPEG of a USB camera into a pre-processor, a pipe and a session" usb_camera_mjpeg
check "DV-1 YUYV of a USB camera into a pre-processor, a pipe and a session" usb_camera_yuyv

usb_camera_encoded() {
    plug_in_usb_camera
    mediagraph run --quiet "v4l2src device=$(usb_camera_path) ! image/jpeg,framerate=30/1 !
        rawdatapipe buffer-type=encoded handler=count" --frames 20
}
check "DV-1 MJPEG of a USB camera as it comes, in a pipe of encoded frames" usb_camera_encoded

usb_microphone() {
    plug_in_usb_camera
    mediagraph run --quiet "alsasrc device=hw:Camera buffer-time=1000000 ! audioconvert ! audioresample !
        virtualmic jitter=1000000000 ! tee name=mic ! queue ! fakesink name=own
        mic. ! queue ! his.mic
        mediasession name=his room=call user=him
        mediasession name=hers room=call user=her
        hers.audio_him ! ears.user_him
        virtualspeaker name=ears max-frames=1000 handler=wav options=location=%s.wav" --duration 8
    listen user_him.wav 440 -15.05
}
check "DV-1 a USB microphone into a virtual microphone, a session and a speaker" usb_microphone

# What is played on one side of the loopback is recorded on the other.
alsa_formats() {
    load snd-aloop id=Loopback pcm_substreams=8
    formats microphone "hw:$(readlink /proc/asound/Loopback | tr -dc 0-9),1" >listed
    grep -q 'audio/x-raw S16LE' listed
    local playing="" recording="" number=0 name
    while read -r _ name; do
        playing+="tone. ! queue ! audioconvert ! audio/x-raw,format=$name,rate=48000,channels=2 !
            alsasink device=hw:Loopback,0,$number sync=false provide-clock=false "
        recording+="alsasrc device=hw:Loopback,1,$number provide-clock=false ! audio/x-raw,format=$name,rate=48000,channels=2 !
            audioconvert ! virtualmic jitter=1000000000 ! user$number.mic
            mediasession name=user$number room=call user=$number
            hers.audio_$number ! ears.user_$name "
        number=$((number + 1))
    done <listed
    # shellcheck disable=SC2086  # words on purpose
    gst-launch-1.0 -q audiotestsrc is-live=true freq=440 volume=0.5 ! tee name=tone $playing >playing.log 2>&1 &
    eventually grep -q RUNNING /proc/asound/Loopback/pcm0p/sub0/status
    mediagraph run --quiet "$recording mediasession name=hers room=call user=her
        virtualspeaker name=ears max-frames=1000 handler=wav options=location=%s.wav" --duration 5
    while read -r _ name; do listen "user_$name.wav" 440 -9.03; done <listed
}
check "DV-1 each format that ALSA's loopback lists into a virtual microphone, a session and a speaker" alsa_formats
