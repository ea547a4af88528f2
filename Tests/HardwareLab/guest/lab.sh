# Functions for checks. A check fails if one of its commands fails. $DIR is the check's own empty folder.
# shellcheck shell=bash

begin_check() {
    DIR=$(mktemp -d)
    cd "$DIR" || exit
    export DIR
    trap end_check EXIT
    trap 'exit 124' TERM
}

# Ends all jobs that the check has started. The USB camera and drivers stay.
end_check() {
    local status=$? job
    for job in $(jobs -p); do kill -KILL "$job" 2>/dev/null || true; done
    wait 2>/dev/null
    if [ $status -ne 0 ]; then tail -n 20 "$DIR"/*.log 2>/dev/null || true; fi
    rm -rf "$DIR"
    exit $status
}

fail() {
    echo "$*" >&2
    exit 1
}

# eventually COMMAND: repeats the command until it succeeds; fails after half a minute.
eventually() {
    local _
    for _ in {1..100}; do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.3
    done
    fail "didn't succeed within half a minute: $*"
}

# refused STATUS TEXT COMMAND: fails unless the command ends with this status and its output matches this extended
# regular expression.
refused() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >refused.log 2>&1 || status=$?
    [ $status -eq "$wanted" ] || fail "expected status $wanted, got $status: $*"
    grep -Eq "$text" refused.log || fail "the output doesn't match \"$text\": $*"
}

# --- Devices

# load DRIVER [OPTION...]: loads a driver and waits for its devices. The driver stays loaded for later checks.
load() {
    modprobe "$@"
    udevadm settle
}

# Plugs in the USB camera with its microphone and waits until usb_camera_path and hw:Camera exist.
plug_in_usb_camera() {
    local process
    if process=$(cat /run/usb_camera.pid 2>/dev/null); then
        kill -USR2 "$process"
    else
        load vhci-hcd
        setsid /project/Tests/HardwareLab/guest/usb_camera.py /share/camera >/run/usb_camera.log 2>&1 &
        echo $! >/run/usb_camera.pid
        disown
    fi
    eventually usb_camera_is_there
    udevadm settle
}
unplug_usb_camera() {
    kill -USR1 "$(cat /run/usb_camera.pid)"
    eventually usb_camera_is_gone
}
usb_camera_is_there() { [ -e "$(usb_camera_path)" ] && [ -e /proc/asound/Camera/pcm0c ]; }
usb_camera_is_gone() { [ -z "$(usb_camera_path)" ] && [ ! -e /proc/asound/Camera ]; }
# Prints the device of the camera, whose number may change each time. Of a camera's devices, the one with index 0
# captures pictures.
usb_camera_path() {
    local folder
    for folder in /sys/class/video4linux/*; do
        if [[ $(<"$folder/name") == "Lab USB Camera"* && $(<"$folder/index") == 0 ]]; then echo "/dev/${folder##*/}"; fi
    done 2>/dev/null
}

# --- Content

look() { /project/Tests/HardwareLab/guest/look.py "$@"; }
listen() { /project/Tests/HardwareLab/guest/listen.py "$@"; }

# listed FILE PYTHON-EXPRESSION: fails unless the expression is true for a device `d` of the list, whose formats are
# `f`.
listed() {
    python3 -c '
import json, sys
devices = json.load(open(sys.argv[1]))["devices"]
if not any(eval("(" + sys.argv[2] + ")", {"d": d, "f": d["formats"]}) for d in devices):
    sys.exit(f"not in the list: {sys.argv[2]}\n" + "\n".join(str(d)[-600:] for d in devices))' "$1" "$2"
}
