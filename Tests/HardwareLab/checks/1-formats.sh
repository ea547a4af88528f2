# DV-1: every format that a camera or a sound card lists works in pre-processors, virtual microphones and sessions.
# shellcheck shell=bash

# formats KIND DEVICE: prints the formats that `mediagraph devices` lists for a device, as lines "MEDIA-TYPE NAME".
formats() {
    mediagraph devices --json | python3 -c '
import json, sys
for device in json.load(sys.stdin)["devices"]:
    if device["kind"] == sys.argv[1] and device["path"] == sys.argv[2]:
        for format in device["formats"]:
            for name in format["names"] or ["-"]:
                print(format["mediaType"], name)' "$1" "$2" | sort -u
}

# vivid_formats NAMES: checks the formats that match a regular expression. Starting a graph takes seconds, so each graph
# has several cameras, each with another format.
vivid_formats() {
    local together=6 first line
    # Listed once, because listing takes seconds and all of vivid's cameras have the same formats.
    if [ ! -s /run/vivid-formats ]; then
        load vivid n_devs=1 node_types=0x1
        formats camera /dev/video0 >/run/vivid-formats
        modprobe -r vivid
    fi
    load vivid n_devs=$together node_types="$(seq -s, $together | sed 's/[0-9][0-9]*/0x1/g')"
    mapfile -t lines < <(grep -Ex "$1" /run/vivid-formats)
    [ ${#lines[@]} -gt $together ] || fail "expected more than $together formats, got ${lines[*]}"
    for ((first = 0; first < ${#lines[@]}; first += together)); do
        local text="" device=0
        for line in "${lines[@]:first:together}"; do
            local type=${line% *} name=${line#* } convert=videoconvert
            [ "$type" != video/x-bayer ] || convert="bayer2rgb ! videoconvert"
            # osd_text_mode=2 removes the text from the color bars.
            text+="v4l2src device=/dev/video$device extra-controls=c,osd_text_mode=2 !
                $type,format=$name,width=320,height=180,framerate=5/1 ! $convert !
                preprocessor handler=invert ! rawdatapipe format=I420 max-frames=9 handler=y4m options=location=$name.y4m "
            device=$((device + 1))
        done
        mediagraph run --quiet "$text" --frames 3
    done
    [ "$(find . -name '*.y4m' | wc -l)" = "${#lines[@]}" ] || fail "expected a file for each of ${lines[*]}"
    # GStreamer 1.22 uses these names for V4L2's big-endian RGB555X and RGB565X, so their colors are wrong.
    for name in BGR15 BGR16; do
        [ ! -e $name.y4m ] || rm $name.y4m
    done
    look --inverted bars ./*.y4m
    modprobe -r vivid
}
vivid_rgb() { vivid_formats '.* [xA]?(RGB|BGR)[xA0-9]*'; }
vivid_yuv() {
    vivid_formats '.* (YUY2|UYVY|YVYU|VYUY|NV.*|I420|YV12|Y42B)'
    ls YUY2.y4m NV12.y4m
}
vivid_sensors() { vivid_formats '.* (GRAY.*|[rgb]{4})'; }
check "DV-1 each RGB format that vivid lists reaches a pre-processor and a pipe" vivid_rgb
check "DV-1 each YUV format that vivid lists, such as YUYV and NV12, reaches a pre-processor and a pipe" vivid_yuv
check "DV-1 each gray and Bayer format that vivid lists reaches a pre-processor and a pipe" vivid_sensors

vivid_session() {
    load vivid n_devs=1 node_types=0x1
    mediagraph run --quiet "v4l2src device=/dev/video0 extra-controls=c,osd_text_mode=2 !
        video/x-raw,format=NV12,width=320,height=180,framerate=5/1 ! preprocessor handler=invert ! his.camera
        mediasession name=his room=call user=him
        mediasession name=hers room=call user=her
        hers.video_him ! rawdatapipe format=I420 handler=y4m options=location=hers.y4m" --frames 5
    look --inverted bars hers.y4m
    modprobe -r vivid
}
check "DV-1 NV12 of vivid reaches a pre-processor, a session and a pipe" vivid_session

# usb_camera_frames CAPS: checks the USB camera's pictures in a pre-processor, a pipe and a session.
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
check "DV-1 MJPEG of a USB camera reaches a pre-processor, a pipe and a session" usb_camera_mjpeg
check "DV-1 YUYV of a USB camera reaches a pre-processor, a pipe and a session" usb_camera_yuyv

usb_camera_encoded() {
    plug_in_usb_camera
    mediagraph run --quiet "v4l2src device=$(usb_camera_path) ! image/jpeg,framerate=30/1 !
        rawdatapipe buffer-type=encoded handler=count" --frames 20
}
check "DV-1 MJPEG of a USB camera reaches a pipe of encoded frames unchanged" usb_camera_encoded

# record_until BYTES FILE TEXT: runs a graph until the file has more than this many bytes.
record_until() {
    mediagraph run --quiet "$3" &
    local graph=$!
    eventually has_bytes "$1" "$2"
    kill -TERM $graph
    wait $graph || true
}
has_bytes() { [ "$(stat -c %s "$2")" -gt "$1" ]; }

usb_microphone() {
    plug_in_usb_camera
    record_until 500000 user_him.wav "alsasrc device=hw:Camera buffer-time=1000000 ! audioconvert ! audioresample !
        virtualmic jitter=1000000000 ! his.mic
        mediasession name=his room=call user=him
        mediasession name=hers room=call user=her
        hers.audio_him ! ears.user_him
        virtualspeaker name=ears max-frames=1000 handler=wav options=location=%s.wav"
    listen user_him.wav 440 -15.05
}
check "DV-1 sound of a USB microphone reaches a virtual microphone, a session and a speaker" usb_microphone

# Plays each format on one side of the loopback and records it on the other, one after the other, because the machine is
# slow.
alsa_formats() {
    load snd-aloop id=Loopback pcm_substreams=8
    formats microphone "hw:$(readlink /proc/asound/Loopback | tr -dc 0-9),1" >listed
    grep -q 'audio/x-raw S16LE' listed
    local name user caps playing
    while read -r _ name <&3; do
        # Without underscores, which a user's name would escape.
        caps=audio/x-raw,format=$name,rate=16000,channels=1 user=${name//_/}
        gst-launch-1.0 -q audiotestsrc is-live=true freq=440 volume=0.5 ! audioconvert ! "$caps" ! \
            alsasink device=hw:Loopback,0 >playing.log 2>&1 &
        playing=$!
        eventually grep -q RUNNING /proc/asound/Loopback/pcm0p/sub0/status
        record_until 160000 "user_$user.wav" "alsasrc device=hw:Loopback,1 buffer-time=1000000 ! $caps ! audioconvert !
            virtualmic jitter=1000000000 ! ears.user_$user
            virtualspeaker name=ears max-frames=1000 handler=wav options=location=%s.wav"
        kill $playing
        wait $playing || true
        listen "user_$user.wav" 440 -9.03
    done 3<listed
}
check "DV-1 each format that ALSA's loopback lists reaches a virtual microphone and a speaker" alsa_formats 300
