import Foundation
import GStreamer
import MediaGraph
import TestSupport
import Testing

@testable import MediaGraphCLI

/// `mediagraph devices`, with a sound server and a screen that need no hardware.
@Suite struct DevicesTests {
    private struct List: Decodable {
        var devices: [MediaDevice]
    }

    private static let withSound = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("scripts/with-sound").path

    /// A line of a shell, with `mediagraph` and a sound system of its own.
    static func shell(_ line: String, environment: [String: String] = [:]) throws -> ChildProcess {
        let path = ChildProcess.buildFolder.path
        return try ChildProcess.run(
            withSound, ["bash", "-euo", "pipefail", "-c", "PATH=\(path):$PATH; \(line)"],
            environment: Program.environment.merging(environment) { $1 })
    }

    @Test("GR-4 devices lists microphones, speakers and screens, the default first, with text that runs")
    func lists() throws {
        let screen = "xvfb-run -a -s '-screen 0 640x480x24 -noreset'"
        let run = try Self.shell(
            """
            export G_DEBUG=fatal_warnings
            \(screen) bash -euc '
                mediagraph devices --json >"$SOUND_DIR/list"
                mediagraph devices
                mediagraph run --quiet "ximagesrc use-damage=false display-name=$DISPLAY num-buffers=2 ! fakesink"'
            mediagraph run --quiet 'pulsesrc device=microphone num-buffers=3 ! fakesink'
            cat "$SOUND_DIR/list"
            """)
        #expect(run.status == 0, "\(run.errors)")
        let json = try #require(run.output.split(separator: "\n").last { $0.hasPrefix("{") })
        let devices = try JSONDecoder().decode(List.self, from: Data(json.utf8)).devices
        let sound = devices.filter { $0.kind == .microphone || $0.kind == .speaker }
        #expect(
            sound.map(\.text) == [
                "pulsesrc device=microphone", "pulsesrc device=microphone-feed.monitor",
                "pulsesrc device=speaker.monitor", "pulsesink device=speaker", "pulsesink device=microphone-feed",
            ])
        #expect(sound.map(\.isDefault) == [true, false, false, true, false])
        #expect(sound.map(\.isMonitor) == [false, true, true, false, false])
        #expect(sound.map(\.name).prefix(1) == ["Microphone"])
        #expect(sound[0].formats[0].names.contains("S16LE"))
        let shown = try #require(devices.first { $0.kind == .screen })
        #expect(shown.text == "ximagesrc use-damage=false display-name=\(shown.path)" && shown.path.hasPrefix(":"))
        #expect(shown.formats.first?.widths == [.init(least: 640, greatest: 640)])
        #expect(shown.formats.first?.frameRates.map(\.least) == [0])
        #expect(run.output.contains("\n  Microphone  (default)\n    pulsesrc device=microphone\n"))
        #expect(run.output.contains("BGRx: 640×480\n"))
    }

    @Test("DV-2 a speaker that isn't there is reported by its name, though pulsesink only takes no format")
    func absentSpeaker() throws {
        let run = try Self.shell(
            """
            for sound in 'virtualmic handler=tone' 'audiotestsrc is-live=true'; do
                G_DEBUG=fatal_warnings mediagraph run "$sound ! audioconvert ! pulsesink name=out device=headset" && exit 9
            done || true
            """)
        let line = "\n  out: headset takes no format, as a device that isn't there does; `mediagraph devices` lists"
        #expect(run.errors.components(separatedBy: line).count == 3, "\(run.errors)")
    }

    @Test("DV-2 a microphone that the sound server hasn't got is reported by its name, with the one that is meant")
    func absentMicrophone() throws {
        let run = try Self.shell(
            """
            for source in 'pulsesrc device=microphon' 'devicesource source="pulsesrc device=microphon"'; do
                mediagraph run --quiet "$source ! fakesink" && exit 9
            done || true
            """)
        let text = "microphon: the sound server has no such device; `mediagraph devices` lists its devices (Failed to"
        #expect(run.errors.components(separatedBy: text).count == 3, "\(run.errors)")
        #expect(run.errors.components(separatedBy: "did you mean \"microphone\"?").count == 3, "\(run.errors)")
    }

    @Test("DV-2 a microphone that says nothing holds no other branch: the graph doesn't go by its clock")
    func ownClock() throws {
        // What nobody plays into the feed comes to the microphone every two seconds.
        let run = try Self.shell(
            """
            mediagraph run --json 'devicesource source="pulsesrc device=microphone" ! fakesink \
                videotestsrc is-live=true ! video/x-raw,framerate=30/1,width=32,height=24 ! rawdatapipe name=picture' \
                --duration 1.5
            """)
        #expect(run.status == 0, "\(run.errors)")
        let end = try #require(run.output.firstMatch(of: /"event":"end".*?"frames":([0-9]+)/))
        #expect(try #require(Int(end.1)) >= 30, "\(run.output)")
    }

    @Test("DV-2 a microphone is back with its sound server, however short its stall-timeout")
    func serverIsBack() throws {
        // A server that has begun gives a first block at once, and the next up to two seconds later.
        let run = try Self.shell(
            """
            log=$SOUND_DIR/log
            mapfile -d '' -t server </proc/$(pgrep -f "pulseaudio.*$SOUND_DIR")/cmdline
            mediagraph run --json 'devicesource reconnect=slate stall-timeout=1000 source="pulsesrc device=microphone" !
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
            # It stays.
            sleep 4
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

    @Test("DV-4 devices --watch tells what comes and goes, and ends when it is asked to")
    func watches() throws {
        let run = try Self.shell(
            """
            log=$SOUND_DIR/log
            mediagraph devices --watch --json >"$log" & watch=$!
            trap 'kill $watch 2>/dev/null || true' EXIT
            waits() { for _ in $(seq 1200); do if grep -q "$1" "$log"; then return; fi; sleep 0.05; done; cat "$log" >&2; exit 9; }
            waits '"path":"speaker".*"added"'
            module=$(pactl load-module module-null-sink sink_name=headset sink_properties=device.description=Headset)
            waits '"path":"headset".*"added"'
            pactl unload-module "$module"
            waits '"path":"headset".*"removed"'
            # Bash has what it puts in the background ignore Ctrl-C.
            kill -TERM $watch
            wait $watch
            cat "$log"
            """)
        #expect(run.status == 0, "\(run.errors)")
        let headset = run.output.split(separator: "\n").filter { $0.contains("\"path\":\"headset\"") }
        #expect(headset.count == 2, "\(headset)")
    }

    @Test("DV-4 devices --watch sees a sound server that comes later, ends, and comes back")
    func watchesServers() throws {
        let run = try Self.shell(
            """
            log=$SOUND_DIR/log
            export PULSE_SERVER=unix:$SOUND_DIR/later
            mediagraph devices --watch --json >"$log" & watch=$!
            trap 'kill $watch $(jobs -p) 2>/dev/null || true' EXIT
            waits() {
                for _ in $(seq 1200); do if [ "$(grep -c "$1" "$log")" = "$2" ]; then return; fi; sleep 0.05; done
                echo "waited for $1 $2 times" >&2; cat "$log" >&2; exit 9
            }
            starts() {
                HOME=$SOUND_DIR XDG_RUNTIME_DIR=$SOUND_DIR pulseaudio -n --daemonize=no --exit-idle-time=-1 \
                    --use-pid-file=no --disallow-exit --log-target=null \
                    -L "module-native-protocol-unix auth-anonymous=1 socket=$SOUND_DIR/later" \
                    -L "module-null-sink sink_name=headset" & server=$!
            }
            sleep 1
            round=0
            # One that is killed leaves its socket behind.
            for signal in TERM KILL TERM; do
                round=$((round + 1))
                starts
                waits '"path":"headset".*"added"' $round
                # Behind the second look at a server that has come.
                sleep 2
                kill -$signal $server
                wait $server || true
                waits '"path":"headset".*"removed"' $round
            done
            kill -TERM $watch
            wait $watch
            """)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("DV-1 a screen beside another live source has a latency that does for both")
    func latency() throws {
        let run = try Self.shell(
            """
            xvfb-run -a -s '-screen 0 640x480x24 -noreset' mediagraph run --duration 1 \
                'devicesource source="v4l2src device=/dev/video77" reconnect=slate ! rawdatapipe handler=count
                    devicesource kind=screen ! rawdatapipe handler=count'
            """)
        #expect(run.status == 0 && !run.errors.contains("warning"), "\(run.errors)")
    }

    @Test("DV-4 devices --watch sees a screen that comes, goes and comes back, and leaves one alone that hangs")
    func watchesScreens() throws {
        let run = try Self.shell(
            """
            log=$SOUND_DIR/log
            number=$((200 + RANDOM % 20000))
            export DISPLAY=:$number
            mediagraph devices --watch --json >"$log" & watch=$!
            trap 'kill $watch $(jobs -p) 2>/dev/null || true' EXIT
            waits() {
                for _ in $(seq 1200); do if [ "$(grep -c "$1" "$log")" = "$2" ]; then return; fi; sleep 0.05; done
                echo "waited for $1 $2 times" >&2; cat "$log" >&2; exit 9
            }
            waits '"path":"speaker".*"added"' 1
            for round in 1 2; do
                Xvfb "$DISPLAY" -noreset -screen 0 640x480x24 >/dev/null 2>&1 & server=$!
                waits '"path":"'$DISPLAY'".*"added"' $round
                if [ $round = 1 ]; then
                    kill -STOP $server
                    pactl load-module module-null-sink sink_name=headset >/dev/null
                    waits '"unanswered"' 1
                    waits '"path":"headset".*"added"' 1
                    kill -CONT $server
                fi
                waits '"path":"'$DISPLAY'".*"removed"' $((round - 1))
                kill -KILL $server
                wait $server || true
                waits '"path":"'$DISPLAY'".*"removed"' $round
            done
            kill -TERM $watch
            wait $watch
            rm -f "/tmp/.X$number-lock" "/tmp/.X11-unix/X$number"
            """)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test(
        "DV-1 ALSA's plugin for a sound server stamps by the wall clock: a sink that waits for a buffer's time plays all the same"
    )
    func stampsOfAnotherClock() throws {
        let run = try Self.shell(
            """
            mediagraph run --quiet 'devicesource source="alsasrc device=microphone" ! identity eos-after=20 ! fakesink sync=true' --duration 30
            """)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("GR-4 a sound server that hangs takes neither the screen nor its graph with it, and is reported of")
    func hangingSoundServer() throws {
        let run = try Self.shell(
            """
            set +e
            xvfb-run -a -s '-screen 0 640x480x24 -noreset' bash -uc '
                server=$(pgrep -f "pulseaudio.*$SOUND_DIR")
                log=$SOUND_DIR/log
                kill -STOP $server
                mediagraph devices --json; echo devices $?
                # A server that hangs refuses who comes when a few wait already.
                for _ in $(seq 8); do timeout 40 pactl info >/dev/null 2>&1 & done
                mediagraph devices --json; echo refused $?
                mediagraph devices --watch --json >"$log" & watch=$!
                mediagraph run --quiet "devicesource kind=screen ! video/x-raw,framerate=5/1 ! identity eos-after=3 ! fakesink"
                echo screen $?
                for _ in $(seq 1200); do if grep -q unanswered "$log"; then break; fi; sleep 0.05; done
                kill -CONT $server
                for _ in $(seq 1200); do if grep -q "speaker.*added" "$log"; then break; fi; sleep 0.05; done
                kill -TERM $watch
                wait $watch; echo watch $?
                cat "$log"'
            """)
        for line in ["devices 1", "refused 1", "screen 0", "watch 0"] {
            #expect(run.output.contains(line), "\(run.output)\n\(run.errors)")
        }
        let lines = run.output.split(separator: "\n")
        let lists = lines.filter { $0.contains("\"devices\":[") }
        // One object each, and nothing else.
        #expect(lines.prefix(4).map { $0.hasPrefix("{") } == [true, false, true, false], "\(run.output)")
        #expect(lists.count == 2)
        for list in lists {
            #expect(list.contains("ximagesrc") && !list.contains("pulse"), "\(list)")
            #expect(
                list.contains("\"unanswered\":[\"PulseAudio: didn't answer"), "\(list)")
        }
        let events = lines.filter { $0.hasPrefix("{") && $0.contains("\"event\"") }
        #expect(events.contains { $0.contains("unanswered") && $0.contains("PulseAudio") }, "\(events)")
        #expect(events.contains { $0.contains("\"path\":\"speaker\"") && $0.contains("\"added\"") }, "\(run.output)")
    }

    @Test("GR-4 without servers and drivers there are no devices, and that is no error")
    func none() throws {
        let run = try Program.run(
            "devices",
            environment: [
                "DISPLAY": ":411", "PULSE_SERVER": "unix:/no/such/socket", "ALSA_CONFIG_PATH": "/no/such/file",
                "XDG_RUNTIME_DIR": "/no/such/folder",
            ])
        #expect(run.status == 0)
        #expect(run.output.contains("screens\n  none\n"), "\(run.output)")
    }

    @Test("GR-4 devices --watch ends when nobody reads it any more", arguments: ["", "--json"])
    func unread(_ format: String) throws {
        let run = try Self.shell(
            "set +e; timeout 60 mediagraph devices --watch \(format) | true; echo ended ${PIPESTATUS[0]}")
        #expect(run.output == "ended 0\n", "\(run.output)\(run.errors)")
    }

    @Test("DV-4 a camera's formats are a line for each, with sizes and rates")
    func formats() throws {
        let caps = try #require(
            Caps(
                """
                video/x-raw, format=YUY2, width=640, height=480, framerate={ 30/1, 15/1 }; \
                video/x-raw, format=YUY2, width=1280, height=720, framerate=15/2; \
                image/jpeg, width=[ 32, 1920 ], height=[ 32, 1080 ], framerate=[ 1/1, 60/1 ]
                """))
        let camera = MediaDevice(
            kind: .camera, name: "Tiny\u{1B}Cam", path: "/dev/video0", text: "v4l2src device=/dev/video0",
            isDefault: true, isMonitor: false, formats: (0..<caps.count).map { DeviceFormat(caps[$0]) },
            users: ["firefox (77)"])
        let text = DevicesText(style: .plain, width: 100)
        #expect(
            text.list([camera]).hasPrefix(
                """
                cameras
                  Tiny␛Cam  (default; used by firefox (77))
                    v4l2src device=/dev/video0
                    YUY2: 640×480 at 30, 15 fps; 1280×720 at 7.50 fps
                    image/jpeg: 32–1920×32–1080 at 1–60 fps

                microphones
                  none
                """))
        #expect(text.added(camera) == "+ camera        Tiny␛Cam  v4l2src device=/dev/video0")
        #expect(text.removed(camera).hasPrefix("- camera"))
        #expect(!text.list([camera]).contains("video outputs"))
        var output = camera
        (output.kind, output.text) = (.videoOutput, "v4l2sink device=/dev/video0")
        #expect(text.list([output]).contains("\n\nvideo outputs\n  Tiny␛Cam"))
    }

    @Test("DV-4 formats of a camera with the same sizes and rates share a line")
    func sharedModes() throws {
        let names = ["YUY2", "UYVY", "NV12", "I420", "GRAY8", "RGB"]
        let modes = ["width=320, height=180, framerate=30/1", "width=640, height=360, framerate=15/1"]
        let caps = try #require(
            Caps(names.flatMap { name in modes.map { "video/x-raw, format=\(name), \($0)" } }.joined(separator: "; ")))
        let camera = MediaDevice(
            kind: .camera, name: "Cam", path: "/dev/video0", text: "v4l2src", isDefault: nil, isMonitor: false,
            formats: (0..<caps.count).map { DeviceFormat(caps[$0]) }, users: [])
        #expect(
            DevicesText(style: .plain, width: 100).list([camera]).contains(
                "    YUY2, UYVY, NV12, I420 and 2 others: 320×180 at 30 fps; 640×360 at 15 fps\n\n"))
    }

    @Test(
        "DV-2 a microphone that PulseAudio moves to the speaker's monitor is gone: none of that is sent, and it is found again"
    )
    func pulseTrap() throws {
        let run = try Self.shell(
            """
            log=$SOUND_DIR/log
            # What a room's others would hear of themselves.
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
        // Not a byte that isn't silence.
        #expect(run.output.contains("heard 0\n"), "\(run.output)")
    }

    @Test(
        "DV-2 a sound server's source that is given by its number, or is a speaker's sound from the beginning, hasn't gone"
    )
    func pulseSources() throws {
        let run = try Self.shell(
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
