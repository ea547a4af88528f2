import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Tests the stream that leaves a `devicesource`: its segment, gaps, synchronization, format, latency and end.
@Suite struct DeviceStreamTests {
    init() throws { try Nodes.register() }

    @Test("DV-2 a device's return doesn't begin a new segment, so elements count on")
    func oneSegment() async throws {
        let run = try DeviceRun("reconnect=slate", then: "videorate name=rate ! fakesink sync=false")
        try await run.graph.start()
        for _ in 1...2 {
            #expect(run.deviceGives(10))
            run.device.state = .missing
            let before = run.slates
            #expect(waitUntil { run.slates >= before + 10 })
            #expect(try await run.deviceReturns(10))
        }
        let made = try run.graph.element("rate").property("out", as: UInt64.self)
        await run.graph.stop()
        // With a new segment for each device or stand-in, videorate would fill the time since zero again each time.
        #expect(made <= UInt64(run.seen.all.last!.end.seconds * 30) + 3, "\(made)")
    }

    @Test("DV-2 a camera's stand-in has the camera's colorimetry, because an encoded file can't change it")
    func sameCaps() async throws {
        let run = try DeviceRun(
            "reconnect=slate", behind: "! capssetter caps=video/x-raw,colorimetry=2:4:7:1",
            then: "vp8enc deadline=1 ! matroskamux ! fakesink sync=false")
        try await run.graph.start()
        #expect(run.deviceGives(5))
        let caps = try #require(try run.graph.element("d").staticPad("src")?.currentCaps)
        run.device.state = .missing
        #expect(waitUntil { run.slates >= 5 })
        #expect(try run.graph.element("d").staticPad("src")?.currentCaps == caps)
        #expect(try await run.deviceReturns(5))
        #expect(try run.graph.element("d").staticPad("src")?.currentCaps == caps)
        #expect(!run.events.all.contains { if case .ended = $0 { true } else { false } })
        await run.graph.stop()
    }

    // MARK: reconnect=gap

    private struct Recorder: VideoConsumer {
        let log: Log<String>
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) { if log.all.last != "frames" { log.add("frames") } }
    }

    @Test("DV-2 with reconnect=gap a pipe's status goes off and on, with no frame in between")
    func gap() async throws {
        let run = try DeviceRun("reconnect=gap", then: "rawdatapipe name=p")
        let log = Log<String>()
        try run.graph.rawDataPipe("p").attach(Recorder(log: log))
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { log.all.last == "off" })
        run.device.state = .there
        #expect(try await run.clock.pass(DeviceRun.pause))
        #expect(waitUntil { log.all.count == 5 })
        await run.graph.stop()
        #expect(log.all.prefix(5) == ["on", "frames", "off", "on", "frames"])
        #expect(run.slates == 0)
    }

    @Test(
        "DV-2 when a session's camera is lost and comes back, another user's pipe goes off and on again"
    )
    func sessionCamera() async throws {
        let device = PluggableDevice(#function)
        let room = "\"\(#function)\""
        let alice = try Graph(
            """
            devicesource name=d reconnect=gap source="testcamera device=\\"\(#function)\\"" ! call.camera
            mediasession name=call room=\(room) user=alice
            """)
        let bob = try Graph("mediasession name=call room=\(room) user=bob  call.video_alice ! rawdatapipe name=p")
        let clock = VirtualClock()
        try alice.useClock(clock, ofDevices: "d")
        let log = Log<String>()
        try bob.rawDataPipe("p").attach(Recorder(log: log))
        try await bob.start()
        try await alice.start()
        #expect(waitUntil { log.all == ["on", "frames"] })
        device.state = .missing
        #expect(waitUntil { log.all.last == "off" })
        device.state = .there
        #expect(try await clock.pass(DeviceRun.pause))
        #expect(waitUntil { log.all.count == 5 })
        await alice.stop()
        await bob.stop()
        #expect(log.all.prefix(5) == ["on", "frames", "off", "on", "frames"])
    }

    // MARK: Synchronization

    @Test("DV-2 video and audio of a device that was unplugged are in sync within 20 ms again")
    func inStepAgain() async throws {
        let device = PluggableDevice(#function)
        let graph = try Graph(
            """
            devicesource name=v reconnect=slate source="testcamera device=\\"\(#function)\\"" ! fakesink sync=false
            devicesource name=a reconnect=slate source="testmicrophone device=\\"\(#function)\\"" ! fakesink sync=false
            """)
        let clocks = [VirtualClock(), VirtualClock()]
        for (clock, name) in zip(clocks, ["v", "a"]) { try graph.useClock(clock, ofDevices: name) }
        let seen = ["v": Log<DeviceRun.Seen>(), "a": Log<DeviceRun.Seen>()]
        for (name, log) in seen {
            try graph.element(name).staticPad("src")?.observeBuffers {
                log.add(
                    DeviceRun.Seen(
                        time: $0.presentationTimestamp ?? .zero, duration: $0.duration ?? .zero, made: $0.made))
            }
        }
        func count(_ name: String) -> Int { seen[name]!.all.count { $0.made != nil } }
        try await graph.start()
        #expect(waitUntil { count("v") > 3 && count("a") > 10 })
        device.state = .missing
        #expect(waitUntil { seen.values.allSatisfy { $0.all.last?.made == nil } })
        let before = (count("v"), count("a"))
        device.state = .there
        for clock in clocks { #expect(try await clock.pass(DeviceRun.pause)) }
        #expect(waitUntil { count("v") > before.0 + 10 && count("a") > before.1 + 30 })
        await graph.stop()
        // How long after its running time each buffer was produced. The least of many excludes the delays of a busy
        // machine.
        func lag(_ name: String, _ skipped: Int) -> Int64 {
            seen[name]!.all.filter { $0.made != nil }.dropFirst(skipped).map {
                Int64($0.made!) - Int64($0.end.nanoseconds)
            }
            .min()!
        }
        #expect(abs(lag("v", before.0) - lag("a", before.1)) < 20_000_000)
        // Silence fills the time without a missing sample.
        let sound = seen["a"]!.all
        for (a, b) in zip(sound, sound.dropFirst()) where b.made == nil { #expect(b.time == a.end) }
    }

    @Test("DV-2 silence also fills the time before a microphone's stall was noticed")
    func madeUpSilence() async throws {
        let device = PluggableDevice(#function)
        let graph = try Graph(
            """
            devicesource name=a reconnect=slate stall-timeout=1500000000 source="testmicrophone device=\\"\(#function)\\"" !
            fakesink sync=false
            """)
        #expect(graph.progress.first?.unit == .blocks)
        let clock = VirtualClock()
        try graph.useClock(clock, ofDevices: "a")
        let seen = Log<DeviceRun.Seen>()
        try graph.element("a").staticPad("src")?.observeBuffers {
            seen.add(
                DeviceRun.Seen(
                    time: $0.presentationTimestamp ?? .zero, duration: $0.duration ?? .zero, made: $0.made))
        }
        try await graph.start()
        #expect(waitUntil { seen.all.count > 10 })
        device.state = .silent
        // More than a second, after which a stand-in would otherwise skip what it has missed.
        #expect(device.isQuiet(for: 120))
        #expect(try await clock.pass(.milliseconds(1500)))
        #expect(waitUntil { seen.all.count { $0.made == nil } > 130 })
        await graph.stop()
        let sound = seen.all
        for (a, b) in zip(sound, sound.dropFirst()) where b.made == nil { #expect(b.time == a.end) }
    }

    @Test("DV-2 silence has as many samples as its time, even if 10 ms aren't a whole number of samples")
    func silenceLength() throws {
        let info = try #require(AudioInfo(.s16, rate: 22050, channels: 1))
        let (element, _) = try #require(
            DeviceStandIn.make(.silence(info), caps: info.caps, from: nil, latency: .zero))
        element.setStateLocked(false)
        let sink = try #require(Element(factory: "fakesink"))
        let pipeline = Pipeline()
        for element in [element, sink] { pipeline.add(element) }
        #expect(element.link(to: sink))
        let (begins, samples) = (Log<ClockTime>(), Log<Int>())
        element.staticPad("src")?.observeBuffers { buffer in
            begins.add(buffer.presentationTimestamp ?? .zero)
            samples.add(buffer.size / info.bytesPerFrame)
        }
        pipeline.setState(.playing)
        #expect(waitUntil { samples.all.count > 20 })
        pipeline.setState(.null)
        // The samples before the 21st buffer, and the time until it begins.
        let sent = info.duration(ofFrames: samples.all.prefix(20).reduce(0, +))
        let elapsed = begins.all[20] - begins.all[0]
        #expect(abs((sent - elapsed).seconds) < 1 / 22050, "\(sent) of silence in \(elapsed)")
    }

    // MARK: Formats, latency and end

    @Test("DV-1 the stream has the format that the graph wants, and the device's format is reported")
    func format() async throws {
        let run = try DeviceRun(
            "", then: "video/x-raw, format=NV12, width=32, height=24 ! fakesink name=end sync=false")
        try await run.graph.start()
        #expect(run.deviceGives(0) && waitUntil { !run.seen.all.isEmpty })
        let caps = try #require(try run.graph.element("end").staticPad("sink")?.currentCaps)
        #expect(VideoInfo(caps)?.width == 32)
        #expect(try run.graph.element("d").property("format", as: String.self) == "I420 64×48@30")
        #expect(
            run.events.all.contains {
                if case .deviceFormat("d", #function, "I420 64×48@30") = $0 { true } else { false }
            })
        await run.graph.stop()
    }

    @Test("EL-3 a device's latency is reported, and its stand-in has the same")
    func latency() async throws {
        let run = try DeviceRun("reconnect=slate", then: "fakesink name=end sync=false")
        try await run.graph.start()
        #expect(run.deviceGives())
        let frame = Duration.frames(1, at: Fraction(30, 1))
        let end = try #require(try run.graph.element("end").staticPad("sink"))
        #expect(try #require(end.upstreamLatency()).isLive && end.upstreamLatency()?.minimum == frame)
        run.device.state = .missing
        #expect(waitUntil { run.slates > 1 })
        #expect(try #require(end.upstreamLatency()).isLive && end.upstreamLatency()?.minimum == frame)
        await run.graph.stop()
    }

    @Test("DV-2 requesting the end of the stream while the device is lost ends the graph")
    func end() async throws {
        let run = try DeviceRun("reconnect=slate")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.slates > 1 })
        run.graph.requestEndOfStream()
        guard case .endOfStream = try await run.graph.waitUntilEnd() else {
            Issue.record("the graph ended differently")
            return
        }
        await run.graph.stop()
    }

    @Test("DV-2 a stream ends at once on request, even if a sink waits for each buffer's time")
    func endInTime() async throws {
        // With the offset, the sink's thread is always waiting.
        let run = try DeviceRun("", then: "fakesink sync=true ts-offset=100000000")
        try await run.graph.start()
        #expect(run.deviceGives(10))
        let before = run.frames
        run.graph.requestEndOfStream()
        guard case .endOfStream = try await run.graph.waitUntilEnd() else {
            Issue.record("the graph ended differently")
            return
        }
        await run.graph.stop()
        // It was 58 when the node waited until the sink held no buffer.
        #expect(run.frames < before + 45, "\(run.frames - before) more")
    }

    @Test("GR-2 `check` also checks the description in a devicesource's `source`")
    func check() throws {
        let text = Description("devicesource source=\"v4l2srk device=/dev/video0\" ! fakesink")
        let found = try Graph.diagnose(text)
        #expect(found.contains { $0.message.contains("in source: no element \"v4l2srk\"") })
        // An empty source is the default device.
        let byDefault = Description("devicesource kind=microphone source=\"\" ! fakesink").resolved().diagnose()
        #expect(byDefault.allSatisfy { $0.severity != .error }, "\(byDefault)")
        for source in ["identity", "fakesink", "v4l2src ! fakesink  identity"] {
            let found = try Graph.diagnose(Description("devicesource source=\"\(source)\" ! fakesink"))
            #expect(found.contains { $0.message.hasSuffix(" isn't a source") }, "\(source): \(found)")
        }
        let behind = try Graph.diagnose(Description("devicesource source=\"videotestsrc ! identity\" ! fakesink"))
        #expect(behind.isEmpty, "\(behind)")
    }
}
