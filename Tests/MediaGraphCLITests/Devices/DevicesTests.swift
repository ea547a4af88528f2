import Foundation
import GStreamer
import MediaGraph
import TestSupport
import Testing

@testable import MediaGraphCLI

/// `mediagraph devices`, with a sound server and screens that need no hardware.
@Suite struct DevicesTests {
    private struct List: Decodable {
        var devices: [MediaDevice]
    }

    private static let withSound = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("scripts/with-sound").path

    /// Runs a shell line with `mediagraph` and a separate sound server.
    static func shell(_ line: String, environment: [String: String] = [:]) throws -> ChildProcess {
        let path = ChildProcess.buildFolder.path
        return try ChildProcess.run(
            withSound, ["bash", "-euo", "pipefail", "-c", "PATH=\(path):$PATH; \(line)"],
            environment: Program.environment.merging(environment) { $1 })
    }

    @Test("GR-4 devices lists microphones, speakers and screens, the default ones first, with text that runs")
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

    @Test("DV-4 devices --watch reports devices that appear and disappear, and ends on SIGTERM")
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
            # SIGTERM, because Bash makes background jobs ignore SIGINT.
            kill -TERM $watch
            wait $watch
            cat "$log"
            """)
        #expect(run.status == 0, "\(run.errors)")
        let headset = run.output.split(separator: "\n").filter { $0.contains("\"path\":\"headset\"") }
        #expect(headset.count == 2, "\(headset)")
    }

    @Test("DV-4 devices --watch reports a sound server that starts later, ends and returns")
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
            # A killed server leaves its socket behind.
            for signal in TERM KILL TERM; do
                round=$((round + 1))
                starts
                waits '"path":"headset".*"added"' $round
                # Waits until the watch has checked the new server a second time.
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

    @Test("DV-1 the latency of a screen is sufficient next to another live source")
    func latency() throws {
        let run = try Self.shell(
            """
            xvfb-run -a -s '-screen 0 640x480x24 -noreset' mediagraph run --duration 4 \
                'devicesource source="v4l2src device=/dev/video77" reconnect=slate ! rawdatapipe handler=count
                    devicesource kind=screen ! rawdatapipe handler=count'
            """)
        #expect(run.status == 0 && !run.errors.contains("warning"), "\(run.errors)")
    }

    @Test("DV-4 devices --watch reports a screen that appears, disappears and returns, and one that hangs")
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

    @Test("GR-4 a hanging sound server is reported, and affects neither the list of screens nor a graph")
    func hangingSoundServer() throws {
        let run = try Self.shell(
            """
            set +e
            xvfb-run -a -s '-screen 0 640x480x24 -noreset' bash -uc '
                server=$(pgrep -f "pulseaudio.*$SOUND_DIR")
                log=$SOUND_DIR/log
                kill -STOP $server
                mediagraph devices --json; echo devices $?
                # A hanging server refuses new clients when a few clients are waiting.
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
        // Each list is one JSON object, and nothing else is printed.
        #expect(lines.prefix(4).map { $0.hasPrefix("{") } == [true, false, true, false], "\(run.output)")
        #expect(lists.count == 2)
        for list in lists {
            #expect(list.contains("ximagesrc") && !list.contains("pulse"), "\(list)")
            #expect(
                list.contains("\"unanswered\":[\"PulseAudio didn't answer"), "\(list)")
        }
        let events = lines.filter { $0.hasPrefix("{") && $0.contains("\"event\"") }
        #expect(events.contains { $0.contains("unanswered") && $0.contains("PulseAudio") }, "\(events)")
        #expect(events.contains { $0.contains("\"path\":\"speaker\"") && $0.contains("\"added\"") }, "\(run.output)")
    }

    @Test("GR-4 devices succeeds with an empty list if there are no servers and drivers")
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

    @Test("GR-4 devices --watch ends when its reader closes the pipe", arguments: ["", "--json"])
    func unread(_ format: String) throws {
        let run = try Self.shell(
            "set +e; timeout 60 mediagraph devices --watch \(format) | true; echo ended ${PIPESTATUS[0]}")
        #expect(run.output == "ended 0\n", "\(run.output)\(run.errors)")
    }

    @Test("DV-4 each format of a camera is listed in a line, with sizes and rates")
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
}
