import Foundation
import TestSupport
import Testing

/// Microphones and speakers of a sound server: missing devices, lost devices, and timestamps.
@Suite struct SoundDeviceTests {
    @Test("DV-2 a missing speaker is reported with its name, although pulsesink only refuses formats")
    func absentSpeaker() throws {
        let run = try DevicesTests.shell(
            """
            for sound in 'virtualmic handler=tone' 'audiotestsrc is-live=true'; do
                G_DEBUG=fatal_warnings mediagraph run "$sound ! audioconvert ! pulsesink name=out device=headset" && exit 9
            done || true
            """)
        let line = "\n  out: headset accepts no format, so it may not exist; `mediagraph devices` lists"
        #expect(run.errors.components(separatedBy: line).count == 3, "\(run.errors)")
    }

    @Test("DV-2 a microphone that the sound server lacks is reported with its name and the nearest name")
    func absentMicrophone() throws {
        let run = try DevicesTests.shell(
            """
            for source in 'pulsesrc device=microphon' 'devicesource source="pulsesrc device=microphon"'; do
                mediagraph run --quiet "$source ! fakesink" && exit 9
            done || true
            """)
        let text = "microphon isn't a device of the sound server (Failed to connect stream: No such entity); "
        #expect(run.errors.components(separatedBy: text).count == 3, "\(run.errors)")
        #expect(run.errors.components(separatedBy: "did you mean \"microphone\"?").count == 3, "\(run.errors)")
    }

    @Test("DV-2 a silent microphone doesn't block other branches: the graph doesn't use its clock")
    func ownClock() throws {
        // If no program plays into the feed, the microphone delivers silence every two seconds.
        let run = try DevicesTests.shell(
            """
            mediagraph run --json 'devicesource source="pulsesrc device=microphone" ! fakesink \
                videotestsrc is-live=true ! video/x-raw,framerate=30/1,width=32,height=24 ! rawdatapipe name=picture' \
                --duration 1.5
            """)
        #expect(run.status == 0, "\(run.errors)")
        let end = try #require(run.output.firstMatch(of: /"event":"end".*?"frames":([0-9]+)/))
        #expect(try #require(Int(end.1)) >= 30, "\(run.output)")
    }

    @Test("DV-2 a microphone returns with its sound server, even with a short stall-timeout")
    func serverIsBack() throws {
        // A server that has just started delivers the first block at once, and the next one up to two seconds later.
        let run = try DevicesTests.shell(
            """
            log=$SOUND_DIR/log
            mapfile -d '' -t server </proc/$(pgrep -f "pulseaudio.*$SOUND_DIR")/cmdline
            mediagraph run --json 'devicesource reconnect=slate stall-timeout=1000000000 source="pulsesrc device=microphone" !
                fakesink' >"$log" & graph=$!
            trap 'kill -KILL $graph $(jobs -p) 2>/dev/null || true' EXIT
            waits() {
                for _ in $(seq 1200); do if grep -Eq "$1" "$log"; then return; fi; sleep 0.05; done
                echo "waited for $1" >&2; cat "$log" >&2; exit 9
            }
            waits '"frames":[1-9]'
            pkill -KILL -f "pulseaudio.*$SOUND_DIR"
            waits '"lost"'
            HOME=$SOUND_DIR XDG_RUNTIME_DIR=$SOUND_DIR "${server[@]}" &
            waits '"back"'
            # The microphone must not be lost again before its next blocks.
            frames() { grep -o '"frames":[0-9]*' "$log" | tail -n 1 | cut -d : -f 2; }
            for _ in 1 2 3; do
                before=$(frames)
                for _ in $(seq 1200); do if [ "$(frames)" -gt "$before" ]; then break; fi; sleep 0.05; done
                [ "$(frames)" -gt "$before" ]
            done
            kill -TERM $graph
            wait $graph
            cat "$log"
            """)
        #expect(run.status == 0, "\(run.errors)")
        let events = run.output.split(separator: "\n")
        #expect(
            events.count { $0.contains("\"lost\"") } == 1 && events.count { $0.contains("\"back\"") } == 1,
            "\(run.output)")
    }

    @Test("DV-1 a synchronizing sink plays sound of ALSA's PulseAudio plugin, which stamps by the wall clock")
    func stampsOfAnotherClock() throws {
        let run = try DevicesTests.shell(
            """
            mediagraph run --quiet 'devicesource source="alsasrc device=microphone" ! identity eos-after=20 ! fakesink sync=true' --duration 30
            """)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("DV-2 a microphone that PulseAudio moves to a speaker's monitor is lost, and sends none of its sound")
    func pulseTrap() throws {
        let run = try DevicesTests.shell(
            """
            log=$SOUND_DIR/log
            # The speaker's sound, which other users of a room would hear as an echo.
            gst-launch-1.0 -q audiotestsrc ! pulsesink device=speaker & tone=$!
            G_DEBUG=fatal_warnings mediagraph run --json 'devicesource name=mic reconnect=slate
                source="pulsesrc device=microphone buffer-time=40000 latency-time=10000" !
                audioconvert ! audio/x-raw,channels=1,rate=48000,format=S16LE ! filesink location="'$SOUND_DIR/heard'"' >"$log" & run=$!
            trap 'kill $run $tone 2>/dev/null || true' EXIT
            waits() { for _ in $(seq 1200); do if grep -q "$1" "$log"; then return; fi; sleep 0.05; done; cat "$log" >&2; exit 9; }
            frames() { waits '"name":"mic"'; for _ in $(seq 1200); do if [ "$(stat -c %s "$SOUND_DIR/heard")" -gt "$1" ]; then return; fi; sleep 0.05; done; exit 8; }
            frames 10000
            pactl unload-module module-remap-source
            waits '"event":"lost"'
            frames $(($(stat -c %s "$SOUND_DIR/heard") + 100000))
            pactl load-module module-remap-source source_name=microphone master=microphone-feed.monitor >/dev/null
            waits '"event":"back"'
            frames $(($(stat -c %s "$SOUND_DIR/heard") + 50000))
            kill -INT $run
            wait $run
            grep -E '"(lost|back)"' "$log"
            echo "heard $(tr -d '\\0' <"$SOUND_DIR/heard" | wc -c)"
            """)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("\"device\":\"microphone\""))
        #expect(run.output.contains("speaker.monitor"))
        // All bytes are silence.
        #expect(run.output.contains("heard 0\n"), "\(run.output)")
    }

    @Test("DV-2 a source that is chosen by number, or that is a speaker's monitor from the start, isn't lost")
    func pulseSources() throws {
        let run = try DevicesTests.shell(
            """
            export G_DEBUG=fatal_warnings
            number=$(pactl list short sources | awk '$2 == "microphone" {print $1}')
            mediagraph run --quiet 'devicesource source="pulsesrc device='$number' num-buffers=5" ! fakesink'
            pactl set-default-source speaker.monitor
            mediagraph run --quiet 'devicesource source="pulsesrc num-buffers=5" ! fakesink'
            """)
        #expect(run.status == 0, "\(run.errors)")
    }
}
