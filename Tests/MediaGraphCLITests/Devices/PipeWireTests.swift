import Foundation
import MediaGraph
import TestSupport
import Testing

/// Cameras and sound of the test's own PipeWire server, which needs no hardware.
@Suite struct PipeWireTests {
    private struct List: Decodable {
        var devices: [MediaDevice]
    }

    private static let project = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// Runs a shell line in which `provides` starts a program with a camera "drawn", and `vanishes` kills that program.
    private static func shell(_ line: String) throws -> ChildProcess {
        let prelude = """
            PATH=\(ChildProcess.buildFolder.path):$PATH
            trap 'kill -KILL $(jobs -p) 2>/dev/null || true' EXIT
            log=$PIPEWIRE_DIR/log
            cameras() { pw-cli ls Node | grep -c '"drawn"' || true; }
            waits() {
                for _ in $(seq 1200); do if [ "$("${@:2}")" = "$1" ]; then return; fi; sleep 0.05; done
                echo "waited for $1 of ${*:2}" >&2; cat "$log" >&2; exit 9
            }
            provides() { # [NAME COUNT-OF-NODES]
                mediagraph run --quiet Pipelines/virtual-camera.pipeline SINK='identity drop-allocation=true !
                    pipewiresink mode=provide stream-properties="props,media.class=Video/Source,node.name='"${1-drawn}"',node.description=Drawn"' & camera=$!
                waits 1 "${2-cameras}"
            }
            vanishes() { kill -KILL $camera; wait $camera || true; }
            says() { grep -c "$1" "$log" || true; }
            """
        // `timeout` also ends a hanging line's children.
        return try ChildProcess.run(
            "timeout",
            [
                "--kill-after=5", "150", "\(project)/scripts/with-pipewire", "bash", "-euo", "pipefail", "-c",
                "cd '\(project)'\n\(prelude)\n\(line)",
            ],
            environment: Program.environment, timeout: 180)
    }

    @Test("GR-4 devices lists PipeWire's cameras and sound devices once each, with text that runs")
    func lists() throws {
        let run = try Self.shell(
            """
            provides
            mediagraph devices --json >"$log"
            # PipeWire's own device provider would crash in half of these runs.
            for _ in $(seq 10); do mediagraph devices >"$PIPEWIRE_DIR/text"; done
            cat "$PIPEWIRE_DIR/text"
            mediagraph run --json 'pipewiresrc target-object=drawn num-buffers=10 !
                video/x-raw,format=YUY2,width=640,height=360 ! rawdatapipe name=pipe handler=count'
            cat "$log"
            """)
        #expect(run.status == 0, "\(run.errors)")
        let camera =
            "cameras\n  Drawn\n    pipewiresrc do-timestamp=true target-object=drawn\n    YUY2: 640×360 at 30 fps\n"
        #expect(run.output.contains(camera), "\(run.output)")
        #expect(run.output.contains("\"frames\":10"), "\(run.output)")
        let json = try #require(run.output.split(separator: "\n").last)
        let devices = try JSONDecoder().decode(List.self, from: Data(json.utf8)).devices
        #expect(
            devices.map(\.text) == [
                "pipewiresrc do-timestamp=true target-object=drawn", "pulsesrc device=speaker.monitor",
                "pulsesink device=speaker",
            ])
    }

    @Test("GR-4 the text of a PipeWire camera has its name, even if a program of that name reads it")
    func readersName() throws {
        let run = try Self.shell(
            """
            touch "$log"
            nodes() { pw-cli ls Node | grep -c 'node.name = "mediagraph"' || true; }
            provides mediagraph nodes
            # The reader's stream has its program's name.
            mediagraph run --quiet 'pipewiresrc target-object=mediagraph !
                video/x-raw,format=YUY2,width=640,height=360 ! fakesink' & reader=$!
            waits 2 nodes
            mediagraph devices
            kill -TERM $reader
            wait $reader || true
            """)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("pipewiresrc do-timestamp=true target-object=mediagraph\n"), "\(run.output)")
    }

    @Test("DV-4 devices --watch reports PipeWire cameras that appear, disappear and return")
    func watches() throws {
        let run = try Self.shell(
            """
            mediagraph devices --watch --json >"$log" & watch=$!
            waits 1 says '"path":"speaker".*"added"'
            for round in 1 2; do
                provides
                waits $round says '"path":"drawn".*"added"'
                vanishes
                waits $round says '"path":"drawn".*"removed"'
            done
            # A killed server leaves its socket behind.
            provides
            waits 3 says '"path":"drawn".*"added"'
            kill -KILL $(pgrep -x -P $PPID pipewire)
            waits 3 says '"path":"drawn".*"removed"'
            kill -TERM $watch
            wait $watch
            """)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("DV-2 a PipeWire camera is lost when its program is killed, and returns with the program")
    func reconnects() throws {
        let run = try Self.shell(
            """
            provides
            mediagraph run --json 'devicesource source="pipewiresrc target-object=drawn" reconnect=gap stall-timeout=3000000000 !
                video/x-raw,format=YUY2,width=640,height=360 ! rawdatapipe name=pipe handler=count' >"$log" & graph=$!
            waits 1 says '"event":"status".*"on":true'
            vanishes
            waits 1 says '"event":"lost"'
            waits 1 says '"event":"status".*"on":false'
            # Longer than the interval until devicesource first looks for the camera.
            sleep 4
            provides
            waits 1 says '"event":"back"'
            waits 2 says '"event":"status".*"on":true'
            kill -TERM $graph
            wait $graph
            cat "$log"
            """)
        #expect(run.status == 0, "\(run.errors)\(run.output)")
        // The loss begins at the last frame, not when it was noticed three seconds later.
        let lines = run.output.split(separator: "\n")
        let lost = try #require(lines.firstIndex { $0.contains(#""event":"lost""#) })
        let lostAt = try #require(lines[lost].firstMatch(of: /"lostAt":([0-9.]+)/).flatMap { Double($0.1) })
        let noticed = try #require(
            lines[..<lost].last { $0.contains(#""event":"progress""#) }?.firstMatch(of: /"time":([0-9.]+)/)
                .flatMap { Double($0.1) })
        #expect(lostAt > 0 && lostAt < noticed - 1, "\(lostAt) s, \(noticed) s")
    }

    @Test("DV-1 a PipeWire camera's size is scaled, and a format that it lacks is an error at once")
    func formats() throws {
        let run = try Self.shell(
            """
            provides
            mediagraph run --json 'devicesource source="pipewiresrc target-object=drawn" !
                video/x-raw,width=1280,height=720,framerate=30/1 ! rawdatapipe name=pipe handler=count max-frames=4' \
                --frames 5 >"$log"
            cat "$log"
            mediagraph run --quiet 'devicesource source="pipewiresrc target-object=drawn" ! image/jpeg ! fakesink' && exit 9
            # The camera's frames have no timestamps.
            mediagraph run --quiet 'devicesource source="pipewiresrc target-object=drawn" ! matroskamux !
                filesink location='"$log.mkv" --frames 40
            ffprobe -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 "$log.mkv"
            """)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("YUY2 640×360@30"), "\(run.output)")
        #expect(run.output.firstMatch(of: /"event":"status".*"on":true/) != nil, "\(run.output)")
        #expect(run.errors.contains("drawn can't be converted to image/jpeg"), "\(run.errors)")
        let recorded = run.output.split(separator: "\n").last.flatMap { Int($0) } ?? 0
        #expect(recorded > 30, "\(run.output)")
    }

    @Test("DV-2 run and doctor report a missing PipeWire camera at once, with its name")
    func missing() throws {
        let run = try Self.shell(
            """
            status=0
            mediagraph run --quiet 'devicesource source="pipewiresrc target-object=nothing" ! fakesink' || status=$?
            echo "status $status"
            mediagraph doctor 'pipewiresrc target-object=nothing ! fakesink' || true
            """)
        #expect(run.status == 0 && run.output.contains("status 1\n"), "\(run.output)\(run.errors)")
        #expect(run.errors.contains("nothing: PipeWire has no such node"), "\(run.errors)")
        #expect(run.output.contains("PipeWire has no node nothing"), "\(run.output)")
    }

    @Test("DV-2 run and doctor report a PipeWire server that doesn't answer, and end")
    func hangs() throws {
        let run = try Self.shell(
            """
            server=$(pgrep -x -P $PPID pipewire)
            kill -STOP $server
            status=0
            mediagraph run --quiet 'devicesource source="pipewiresrc target-object=nothing" ! fakesink' || status=$?
            echo "status $status"
            mediagraph doctor 'pipewiresrc target-object=nothing ! fakesink' || true
            kill -CONT $server
            """)
        #expect(run.status == 0 && run.output.contains("status 1\n"), "\(run.output)\(run.errors)")
        #expect(run.errors.contains("nothing: PipeWire didn't answer within 3 s"), "\(run.errors)")
        #expect(run.output.contains("PipeWire hangs: it doesn't answer"), "\(run.output)")
    }

    @Test("DV-1 a virtualmic gets sound through PipeWire's PulseAudio server at its original level")
    func sound() throws {
        let run = try Self.shell(
            """
            mediagraph run --quiet 'audiotestsrc is-live=true freq=440 volume=0.25 ! audio/x-raw,channels=2 !
                pulsesink device=speaker' &
            mediagraph run --json --duration 8 'pulsesrc device=speaker.monitor ! virtualmic stereo=true ! ears.user_device
                virtualspeaker name=ears handler=level' >"$log"
            cat "$log"
            """)
        #expect(run.status == 0, "\(run.errors)")
        // The level of a sine with an amplitude of 0.25. Without real-time priority, a server may lose some sound on a
        // busy machine.
        let loudest = run.output.split(separator: "\n").filter { $0.contains(#""user":"device""#) }.contains {
            $0.contains(/"peak":-1[12]\./) && $0.contains(/"rms":-1[45]\./)
        }
        #expect(loudest, "\(run.output)")
    }
}
