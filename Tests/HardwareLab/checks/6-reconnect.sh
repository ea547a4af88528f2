# DV-2: a USB camera and its microphone are unplugged and plugged in again while a session runs, CYCLES times (2 by
# default).
# shellcheck shell=bash

replugged() {
    local cycles=${CYCLES:-2} camera session cycle objects=0 memory=0 files=0
    plug_in_usb_camera
    camera=$(usb_camera_path)
    # On SIGUSR1, the tracer logs all living objects.
    GST_TRACERS=leaks GST_DEBUG=GST_TRACER:7 GST_DEBUG_FILE=objects GST_DEBUG_NO_COLOR=1 GST_LEAKS_TRACER_SIG=1 \
        mediagraph run --json "
        devicesource name=camera reconnect=gap source=\"v4l2src device=$camera\" !
            video/x-raw,width=640,height=360,framerate=15/1 ! his.camera
        devicesource name=microphone reconnect=slate source=\"alsasrc device=hw:Camera buffer-time=1000000\" !
            audio/x-raw,rate=48000,channels=2 ! his.mic
        mediasession name=his room=call user=him
        mediasession name=hers room=call user=her
        hers.video_him ! rawdatapipe name=seen max-frames=1000 handler=count
        hers.audio_him ! ears.user_him
        virtualspeaker name=ears max-frames=1000 handler=wav options=location=%s.wav" >run.log 2>errors.log &
    session=$!
    # The report of a failed check shows events without progress, which would fill it.
    trap 'grep -v "\"progress\"" run.log; ls -l /dev/video*; end_check' EXIT
    for ((cycle = 0; cycle <= cycles; cycle++)); do
        if [ "$cycle" -gt 0 ]; then
            unplug_usb_camera
            eventually said "$cycle" '"event":"lost".*"node":"camera"'
            eventually said "$cycle" '"event":"lost".*"node":"microphone"'
            eventually said "$cycle" '"event":"status".*"node":"seen","on":false'
            sleep 1
            plug_in_usb_camera
            eventually said "$cycle" '"event":"back".*"node":"camera"'
            eventually said "$cycle" '"event":"back".*"node":"microphone"'
        fi
        eventually said $((cycle + 1)) '"event":"status".*"node":"seen","on":true'
        look_inside "$session"
    done
    kill -TERM $session
    wait $session || fail "expected status 0, got $?: $(cat errors.log)"
    # vhci and QEMU may delay the camera's pictures, but no picture may be lost.
    python3 - "$cycles" run.log <<'PYTHON'
import json, sys

cycles, events = int(sys.argv[1]), [json.loads(line) for line in open(sys.argv[2])]
for node in "camera", "microphone":
    gaps = [event for event in events if event["event"] in ("lost", "back") and event["node"] == node]
    assert [gap["event"] for gap in gaps] == ["lost", "back"] * cycles, gaps
    for lost, back in zip(gaps[::2], gaps[1::2]):
        print(f"{node}: away from {lost['lostAt']:.3f} to {back['backAt']:.3f} s")
        assert lost["lostAt"] == back["lostAt"] < back["backAt"], back
statuses = [event["on"] for event in events if event["event"] == "status" and event["node"] == "seen"]
# The pipe is off once more at the end.
assert statuses[: 2 * cycles + 1] == [True] + [False, True] * cycles, statuses
nodes = {node["name"]: node for node in events[-1]["nodes"]}
print(nodes)
assert nodes["seen"]["frames"] == nodes["camera"]["frames"] > 15 * (cycles + 1), nodes
assert all(node["dropped"] == 0 for node in nodes.values()), nodes
PYTHON
    listen user_him.wav 440 -15.05
}
# said COUNT PATTERN: succeeds if at least COUNT events match.
said() { [ "$(grep -c "$2" run.log)" -ge "$1" ]; }

# look_inside PROCESS: fails if the number of objects or open files grows, or if memory grows by more than a fifth.
look_inside() {
    local before now
    before=$(count_objects)
    kill -USR1 "$1"
    sleep 2
    now=$(($(count_objects) - before))
    echo "objects: $now, files: $(open_files "$1"), memory: $(memory_of "$1") kB"
    # Some drivers keep data of the first device in their caches, so later cycles are compared with the first cycle.
    if [ "$cycle" -eq 1 ]; then
        objects=$now files=$(open_files "$1") memory=$(memory_of "$1")
    elif [ "$cycle" -gt 1 ]; then
        [ "$now" -le $((objects + 5)) ] || fail "objects: $objects after one cycle, $now after $cycle"
        [ "$(open_files "$1")" -le "$files" ] || fail "files: $files after one cycle, $(open_files "$1") after $cycle"
        [ "$(memory_of "$1")" -le $((memory + memory / 5)) ] ||
            fail "memory in kB: $memory after one cycle, $(memory_of "$1") after $cycle"
    fi
}
# Buffers and events are left out, because their number varies.
count_objects() { grep 'object-alive,' objects | grep -cv 'GstBuffer,\|GstMemory,\|GstEvent,\|GstSample,' || true; }
open_files() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
memory_of() { awk '/^VmRSS/ {print $2}' "/proc/$1/status"; }

check "DV-2 a session continues while a USB camera and its microphone are away, and reports the gap" replugged $((60 + 30 * ${CYCLES:-2}))
