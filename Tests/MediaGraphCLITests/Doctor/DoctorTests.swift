import Foundation
import TestSupport
import Testing

/// `mediagraph doctor`, on machines that lack devices, servers or packages.
@Suite struct DoctorTests {
    private struct Report: Decodable {
        struct Checkup: Decodable {
            struct Finding: Decodable {
                var problem: String
                var mend: String
            }
            var title: String
            var findings: [Finding]
        }
        var checkups: [Checkup]
    }

    /// An environment without a sound server and a screen.
    private static let bare = [
        "DISPLAY": "", "WAYLAND_DISPLAY": "", "PULSE_SERVER": "unix:/no/such/socket",
        "ALSA_CONFIG_PATH": "/no/such/file",
    ]

    private static func doctor(_ description: String) throws -> (status: Int32, findings: [Report.Checkup.Finding]) {
        let run = try Program.run("doctor", "--json", description, environment: bare)
        let report = try JSONDecoder().decode(Report.self, from: Data(run.output.utf8))
        #expect(report.checkups.map(\.title) == ["description"])
        return (run.status, report.checkups[0].findings)
    }

    @Test(
        "GR-4 doctor reports what the machine lacks for a description, and the remedy",
        arguments: [
            ("v4l2src device=/dev/video77 ! fakesink", "there is no camera /dev/video77", "v4l2loopback"),
            ("pulsesrc ! fakesink", "pulsesrc can't be opened: ", "PULSE_SERVER=unix:/no/such/socket"),
            ("pulsesrc devcie=x ! fakesink", "pulsesrc can't be opened: ", "PULSE_SERVER=unix:/no/such/socket"),
            ("pulsesrc buffer-time=bogus ! fakesink", "pulsesrc can't be opened: ", "PULSE_SERVER="),
            ("alsasrc device=nothing ! fakesink", "alsasrc can't be opened: ", ""),
            ("ximagesrc ! fakesink", "DISPLAY isn't set", "xvfb-run"),
            ("ximagesrc display-name=:411 ! fakesink", "the screen :411 can't be opened", "xvfb-run"),
            (
                "devicesource source=\"v4l2src device=/dev/video77\" ! fakesink", "there is no camera /dev/video77",
                "v4l2"
            ),
            ("devicesource kind=screen ! fakesink", "DISPLAY isn't set", "xvfb-run"),
            ("videotestsrc ! autovideosink", "DISPLAY isn't set", "xvfb-run"),
            ("autovideosrc ! fakesink", "there is no camera /dev/video0", "v4l2loopback"),
            ("audiotestsrc ! autoaudiosink", "autoaudiosink can't be opened: ", "pulseaudio --start"),
            ("devicesource kind=microphone ! fakesink", "there is no microphone", ""),
            ("nosuchelement ! fakesink", "there is no element nosuchelement", "no package known to apt"),
        ])
    func lacks(_ description: String, _ problem: String, _ mend: String) throws {
        let (status, findings) = try Self.doctor(description)
        #expect(status == 1)
        #expect(findings.count == 1 && findings[0].problem.hasPrefix(problem), "\(findings)")
        #expect(mend.isEmpty || findings.first?.mend.contains(mend) == true, "\(findings)")
    }

    @Test("GR-4 doctor reports each problem once, reports none without cause, and tolerates missing variables")
    func fine() throws {
        let (status, findings) = try Self.doctor("videotestsrc ! preprocessor ! filesink location=${OUT}")
        #expect(status == 0 && findings.isEmpty, "\(findings)")
        for unknown in ["${CAMERA}", "devicesource source=${SOURCE}", "devicesource kind=${KIND}"] {
            let (status, findings) = try Self.doctor("\(unknown) ! fakesink")
            #expect(status == 0 && findings.isEmpty, "\(unknown): \(findings)")
        }
        #expect(try Self.doctor("pulsesrc ! mux. pulsesrc ! mux. funnel name=mux ! fakesink").findings.count == 1)
    }

    @Test("GR-4 doctor checks the sound devices and the windows that a description names")
    func named() throws {
        let run = try DevicesTests.shell(
            """
            mediagraph doctor 'pulsesrc device=microphone ! pulsesink device=speaker' 'devicesource kind=microphone ! fakesink'
            mediagraph doctor 'pulsesrc device=@DEFAULT_SOURCE@ ! audio/x-raw,rate=48000 ! fakesink'
            mediagraph doctor 'pulsesrc device=${MIC} ! audio/x-raw,rate=${RATE} ! fakesink'
            mediagraph doctor 'pulsesrc device=headset ! pulsesink device=microphone' && exit 1
            mediagraph doctor 'pulsesrc device=microfone ! fakesink' && exit 1
            mediagraph doctor 'alsasrc device=nonsense ! fakesink' && exit 1
            xvfb-run -a -s '-screen 0 640x480x24 -noreset' bash -euc '
                mediagraph doctor "ximagesrc ! fakesink"
                mediagraph doctor "ximagesrc xname=nothing ! fakesink  ximagesrc xid=0x4711 ! fakesink" && exit 1
                mediagraph run --quiet "videotestsrc is-live=true ! ximagesink" & shown=$!
                for _ in $(seq 200); do mediagraph doctor "ximagesrc xname=mediagraph ! fakesink" && break; sleep 0.05; done
                kill $shown'
            """)
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        for line in [
            "no device headset for pulsesrc", "no device microphone for pulsesink", "has no window \"nothing\"",
            "has no window 0x4711", "(nonsense)", "lists its devices, such as microphone\n",
            "alsasrc without device works; arecord -L",
        ] { #expect(run.output.contains(line), "\(run.output)") }
        #expect(run.output.hasSuffix("ok    description\n"), "\(run.output)")
    }

    @Test("GR-13 doctor doesn't take a monitor for a microphone, and run reports a recording of silence")
    func monitors() throws {
        let run = try DevicesTests.shell(
            """
            pactl set-default-source speaker.monitor
            mediagraph doctor 'pulsesrc ! fakesink' && exit 1
            pactl unload-module module-remap-source
            mediagraph doctor 'pulsesrc ! fakesink' && exit 1
            mediagraph doctor 'pulsesrc device=speaker.monitor ! fakesink'
            mediagraph devices
            mediagraph run --quiet 'pulsesrc device=speaker.monitor num-buffers=20 ! fakesink'
            """)
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        for line in [
            "the sound server's default source is speaker.monitor, which records what a speaker plays",
            "pactl set-default-source microphone, or write pulsesrc device=microphone\n",
            "the sound server has no microphone: its default source is a monitor",
            "(monitor of a speaker, not a microphone; the server's default source)",
        ] { #expect(run.output.contains(line), "\(run.output)") }
        #expect(run.errors.contains("pulsesrc0 was silent throughout"), "\(run.errors)")
    }

    @Test("GR-4 a hanging X server blocks neither doctor, nor devices, nor a graph that can run without it")
    func hangingServer() throws {
        let run = try DevicesTests.shell(
            """
            set +e
            export SLATE='devicesource source="ximagesrc ! capsfilter caps=video/x-raw" reconnect=slate ! fakesink'
            xvfb-run -a -s '-screen 0 640x480x24 -noreset' bash -uc '
                server=$(pgrep --newest -f "Xvfb $DISPLAY ")
                kill -STOP $server
                # All at once, because each waits for the server as long as it may.
                job() { local name=$1; shift; "$@" >"$SOUND_DIR/$name"; echo "$name $?" >>"$SOUND_DIR/$name"; }
                job doctor mediagraph doctor "ximagesrc ! ximagesink" &
                job devices mediagraph devices &
                job slate mediagraph run --duration 1 "$SLATE" &
                job never mediagraph run --duration 1 "devicesource kind=screen ! fakesink" &
                job check mediagraph check "ximagesrc ! fakesink" &
                job graph mediagraph graph "ximagesrc ! fakesink" &
                job run mediagraph run "ximagesrc ! fakesink" &
                wait
                kill -CONT $server
                cd "$SOUND_DIR"
                cat doctor devices slate never run'
            """)
        for line in [
            "the X server hangs: it doesn't answer within five seconds", "doctor 1", "devices 1", "slate 0", "never 1",
            "run 1", "\n    pulsesrc device=microphone\n",
        ] { #expect(run.output.contains(line), "\(run.output)\n\(run.errors)") }
        for line in [
            "error: the X server :", "didn't answer; its server", "didn't answer within 2000 ms",
        ] { #expect(run.errors.contains(line), "\(run.errors)") }
        let told = run.errors.components(separatedBy: "couldn't be created and linked within 10 s")
        #expect(told.count == 4, "\(run.errors)")
    }

    @Test("GR-4 doctor without a description checks the usual devices and services")
    func general() throws {
        let run = try Program.run("doctor", environment: Self.bare)
        #expect(run.status == 1)
        for line in ["ok    MediaGraph's nodes\n", "fail  microphones and speakers of the sound server\n", "→ "] {
            #expect(run.output.contains(line), "\(run.output)")
        }
        let file = try Program.run("doctor", "/no/such.pipeline")
        #expect(file.status == 2 && file.errors.contains("/no/such.pipeline"))
    }
}
