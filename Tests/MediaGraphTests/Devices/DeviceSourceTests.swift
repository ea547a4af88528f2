import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices

/// `devicesource`: devices that go, come back, say nothing, or were never there.
@Suite struct DeviceSourceTests {
    init() throws { try Nodes.register() }

    private func failure(_ graph: Graph) async -> MediaGraphError? {
        do {
            _ = try await graph.waitUntilEnd()
            return nil
        } catch GraphError.failed(let failure) { return failure.cause } catch { return nil }
    }

    // MARK: never

    @Test("DV-2 a device that is unplugged ends the graph with its own error, which names it")
    func unplugged() async throws {
        let run = try DeviceRun("")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        let error = try #require(await failure(run.graph))
        #expect(error.code == .deviceGone)
        #expect(error.detail.subject == #function)
        // So files are finished.
        #expect(waitUntil { (try? run.hasEnded) == true })
        await run.graph.stop()
    }

    @Test(
        "DV-2 a device that can't be opened has its own error, by what is wrong with it",
        arguments: [
            (PluggableDevice.State.missing, MediaGraphError.Code.noDevice), (.busy, .deviceBusy),
            (.forbidden, .notPermitted),
        ])
    func cannotBeOpened(state: PluggableDevice.State, code: MediaGraphError.Code) async throws {
        let run = try DeviceRun("", state, name: "closed \(code)")
        let error = try await #require(throws: GraphError.self) { try await run.graph.start() }
        guard case .failed(let failure) = error else { throw error }
        #expect(failure.cause?.code == code)
        #expect(failure.cause?.detail.subject == "closed \(code)")
        await run.graph.stop()
    }

    @Test("DV-2 a device that says nothing for stall-timeout is gone", arguments: ["never", "slate"])
    func stalls(policy: String) async throws {
        let run = try DeviceRun("reconnect=\(policy) stall-timeout=300", name: "stall \(policy)")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .silent
        if policy == "never" {
            let error = try #require(await failure(run.graph))
            #expect(error.code == .deviceGone)
            #expect(error.detail.actual.contains("300 ms") && error.detail.subject == "stall never")
            #expect(waitUntil { (try? run.hasEnded) == true })
        } else {
            #expect(waitUntil { run.lost.count == 1 && run.slates > 3 })
            run.device.state = .there
            #expect(run.deviceGives())
            // One that has just begun is no more patiently waited for: others' queues are as long as stall-timeout.
            let times = run.seen.all.filter { $0.made == nil }.map(\.time)
            let hole = try #require(times.first).nanoseconds - run.lost[0].at.nanoseconds
            #expect(hole < DeviceSettings.leastPatience * 1_000_000, "\(hole)")
        }
        await run.graph.stop()
    }

    @Test("DV-2 a device that waits for a slow reader hasn't stalled")
    func slowReader() async throws {
        let holds = Mutex(true)
        let run = try DeviceRun("stall-timeout=200", then: "fakesink name=end sync=false")
        let held = Atomic<Bool>(false)
        try run.graph.element("end").staticPad("sink")?.observeBuffers { _ in
            held.store(true, ordering: .relaxed)
            while holds.withLock({ $0 }) { sleepBriefly() }
        }
        try await run.graph.start()
        #expect(waitUntil { held.load(ordering: .relaxed) })
        let begin = monotonicNanoseconds()
        _ = waitUntil { monotonicNanoseconds() > begin + 800_000_000 }
        holds.withLock { $0 = false }
        #expect(run.deviceGives())
        await run.graph.stop()
    }

    // MARK: slate

    @Test(
        "DV-2 with reconnect=slate black pictures stand in at the stream's rate; when the device is back the graph goes on, the gap reported and counted"
    )
    func slate() async throws {
        let run = try DeviceRun("reconnect=slate")
        try await run.graph.start()
        for round in 1...2 {
            #expect(run.deviceGives())
            run.device.state = .missing
            let before = run.slates
            #expect(waitUntil { run.slates >= before + 5 })
            #expect(run.lost.count == round)
            run.device.state = .there
            #expect(run.deviceGives())
            #expect(run.back.count == round)
        }
        let stats = try run.stats
        await run.graph.stop()
        #expect(run.lost.allSatisfy { $0.device == #function })

        let seen = run.seen.all
        // No time is given twice, and none of it runs back.
        for (a, b) in zip(seen, seen.dropFirst()) { #expect(b.time.nanoseconds + 1 >= a.end.nanoseconds) }
        for (a, b) in zip(seen, seen.dropFirst()) where a.made == nil && b.made == nil {
            #expect(b.time.nanoseconds == a.end.nanoseconds)
        }
        // What is reported is what there was.
        let edges = zip(seen, seen.dropFirst()).filter { $0.made == nil && $1.made != nil }
        #expect(run.back.map(\.backAt) == edges.map { $0.1.time })
        let losses = zip(seen, seen.dropFirst()).filter { $0.made != nil && $1.made == nil }
        #expect(run.back.map(\.lostAt) == losses.map { $0.0.end })
        let missing = run.back.reduce(0) { $0 + $1.backAt.nanoseconds - $1.lostAt.nanoseconds }
        #expect(stats["gaps"] == UInt64(2) && stats["gap-time"] == missing)
        #expect(stats["frames"] == UInt64(run.frames))
    }

    @Test("DV-2 what counts from the beginning of a segment goes on counting: it is one segment")
    func oneSegment() async throws {
        let run = try DeviceRun("reconnect=slate", then: "videorate name=rate ! fakesink sync=false")
        try await run.graph.start()
        for _ in 1...2 {
            #expect(run.deviceGives(10))
            run.device.state = .missing
            let before = run.slates
            #expect(waitUntil { run.slates >= before + 10 })
            run.device.state = .there
            #expect(run.deviceGives(10))
        }
        let made = try run.graph.element("rate").property("out", as: UInt64.self)
        await run.graph.stop()
        // With a segment for each who takes over it would fill the time since zero again and again.
        #expect(made <= UInt64(run.seen.all.last!.end.seconds * 30) + 3, "\(made)")
    }

    @Test("DV-2 what stands in for a camera has its colours' caps too: an encoder's file can't change them")
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
        run.device.state = .there
        #expect(run.deviceGives(5))
        #expect(try run.graph.element("d").staticPad("src")?.currentCaps == caps)
        #expect(!run.events.all.contains { if case .ended = $0 { true } else { false } })
        await run.graph.stop()
    }

    @Test("DV-2 a device that isn't there at the start is waited for", arguments: ["slate", "gap"])
    func missingAtStart(policy: String) async throws {
        // What stands in at first has the format that downstream wants.
        let run = try DeviceRun(
            "reconnect=\(policy)", .missing, name: "late \(policy)",
            then: "video/x-raw, width=64, height=48 ! fakesink sync=false")
        try await run.graph.start()
        if policy == "slate" { #expect(waitUntil { run.slates >= 3 }) }
        #expect(waitUntil { run.lost.count == 1 })
        run.device.state = .there
        #expect(run.deviceGives())
        #expect(run.back.count == 1)
        await run.graph.stop()
        if policy == "gap" { #expect(run.slates == 0) }
    }

    @Test("DV-2 a device that comes back with data that it doesn't give isn't taken for one that is back")
    func silentReturn() async throws {
        let run = try DeviceRun("reconnect=slate stall-timeout=300")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.slates >= 3 })
        run.device.state = .silent
        let openings = run.device.openings.load(ordering: .relaxed)
        #expect(waitUntil { run.device.openings.load(ordering: .relaxed) >= openings + 2 })
        #expect(run.back.isEmpty)
        run.device.state = .there
        #expect(run.deviceGives() && run.back.count == 1)
        await run.graph.stop()
    }

    @Test("DV-2 a device that is there again and can't be had says why, once, and is tried again")
    func refusedReturn() async throws {
        let run = try DeviceRun("reconnect=gap")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.lost.count == 1 })
        run.device.state = .busy
        #expect(waitUntil { run.warnings.count == 1 })
        let openings = run.device.openings.load(ordering: .relaxed)
        #expect(waitUntil { run.device.openings.load(ordering: .relaxed) >= openings + 2 })
        #expect(run.warnings.count == 1 && run.warnings[0].contains("busy"), "\(run.warnings)")
        run.device.state = .there
        #expect(run.deviceGives() && run.back.count == 1)
        await run.graph.stop()
    }

    @Test("DV-2 stopping works at any moment, also while the device is away", arguments: 0..<6)
    func stops(moment: Int) async throws {
        let run = try DeviceRun("reconnect=\(moment % 2 == 0 ? "slate" : "gap")", name: "stop \(moment)")
        try await run.graph.start()
        #expect(run.deviceGives(1))
        run.device.state = .missing
        if moment >= 2 { #expect(waitUntil { run.lost.count == 1 }) }
        if moment >= 4 { run.device.state = .there }
        await run.graph.stop()
        #expect(run.graph.pipeline.state == .null)
    }

    @Test("DV-2 a pause while the device is away goes on, and the device is found behind it")
    func pauses() async throws {
        let run = try DeviceRun("reconnect=slate")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.slates >= 2 })
        run.graph.pipeline.setState(.paused)
        run.device.state = .there
        run.graph.pipeline.setState(.playing)
        #expect(run.deviceGives())
        await run.graph.stop()
    }

    // MARK: gap

    private struct Recorder: VideoConsumer {
        let log: Log<String>
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) { if log.all.last != "frames" { log.add("frames") } }
    }

    @Test("DV-2 with reconnect=gap a pipe's status goes off and on, and nothing comes between")
    func gap() async throws {
        let run = try DeviceRun("reconnect=gap", then: "rawdatapipe name=p")
        let log = Log<String>()
        try run.graph.rawDataPipe("p").attach(Recorder(log: log))
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { log.all.last == "off" })
        run.device.state = .there
        #expect(waitUntil { log.all.count == 5 })
        await run.graph.stop()
        #expect(log.all.prefix(5) == ["on", "frames", "off", "on", "frames"])
        #expect(run.slates == 0)
    }

    @Test(
        "DV-2 a camera of a session that goes and comes back: another user's pipe of it goes off, on, and on with frames"
    )
    func session() async throws {
        let device = PluggableDevice(#function)
        let room = "\"\(#function)\""
        let alice = try Graph(
            """
            devicesource reconnect=gap source="testcamera device=\\"\(#function)\\"" ! call.camera
            mediasession name=call room=\(room) user=alice
            """)
        let bob = try Graph("mediasession name=call room=\(room) user=bob  call.video_alice ! rawdatapipe name=p")
        let log = Log<String>()
        try bob.rawDataPipe("p").attach(Recorder(log: log))
        try await bob.start()
        try await alice.start()
        #expect(waitUntil { log.all == ["on", "frames"] })
        device.state = .missing
        #expect(waitUntil { log.all.last == "off" })
        device.state = .there
        #expect(waitUntil { log.all.count == 5 })
        await alice.stop()
        await bob.stop()
        #expect(log.all.prefix(5) == ["on", "frames", "off", "on", "frames"])
    }

    // MARK: In step

    @Test("DV-2 picture and sound of a device that was unplugged meet again within 20 ms")
    func inStep() async throws {
        let device = PluggableDevice(#function)
        let graph = try Graph(
            """
            devicesource name=v reconnect=slate source="testcamera device=\\"\(#function)\\"" ! fakesink sync=false
            devicesource name=a reconnect=slate source="testmicrophone device=\\"\(#function)\\"" ! fakesink sync=false
            """)
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
        #expect(waitUntil { count("v") > before.0 + 10 && count("a") > before.1 + 30 })
        await graph.stop()
        // How long after its running time each was made: the least of many is free of what a busy machine adds.
        func lag(_ name: String, _ skipped: Int) -> Int64 {
            seen[name]!.all.filter { $0.made != nil }.dropFirst(skipped).map {
                Int64($0.made!) - Int64($0.end.nanoseconds)
            }
            .min()!
        }
        #expect(abs(lag("v", before.0) - lag("a", before.1)) < 20_000_000)
        // Silence has filled the time: no sample is missing.
        let sound = seen["a"]!.all
        for (a, b) in zip(sound, sound.dropFirst()) where b.made == nil { #expect(b.time == a.end) }
    }

    @Test("DV-2 silence stands for the time, too, in which a microphone said nothing before that was noticed")
    func madeUpSilence() async throws {
        let device = PluggableDevice(#function)
        let graph = try Graph(
            """
            devicesource name=a reconnect=slate stall-timeout=1500 source="testmicrophone device=\\"\(#function)\\"" !
            fakesink sync=false
            """)
        #expect(graph.progress.first?.unit == .blocks)
        let seen = Log<DeviceRun.Seen>()
        try graph.element("a").staticPad("src")?.observeBuffers {
            seen.add(
                DeviceRun.Seen(
                    time: $0.presentationTimestamp ?? .zero, duration: $0.duration ?? .zero, made: $0.made))
        }
        try await graph.start()
        #expect(waitUntil { seen.all.count > 10 })
        device.state = .silent
        #expect(waitUntil { seen.all.count { $0.made == nil } > 200 })
        await graph.stop()
        let sound = seen.all
        for (a, b) in zip(sound, sound.dropFirst()) where b.made == nil { #expect(b.time == a.end) }
    }

    // MARK: Formats, clock, latency

    @Test("DV-1 what the graph wants is what leaves, and what was picked is said")
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

    @Test("EL-3 a device's latency is told, and what stands in for it has the same")
    func latency() async throws {
        let run = try DeviceRun("reconnect=slate", then: "fakesink name=end sync=false")
        try await run.graph.start()
        #expect(run.deviceGives())
        let frame = ClockTime.frame(1, at: Fraction(30, 1))
        let end = try #require(try run.graph.element("end").staticPad("sink"))
        #expect(try #require(end.upstreamLatency()).isLive && end.upstreamLatency()?.minimum == frame)
        run.device.state = .missing
        #expect(waitUntil { run.slates > 1 })
        #expect(try #require(end.upstreamLatency()).isLive && end.upstreamLatency()?.minimum == frame)
        await run.graph.stop()
    }

    @Test("DV-2 end-of-stream that is asked for while the device is away ends the graph")
    func end() async throws {
        let run = try DeviceRun("reconnect=slate")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.slates > 1 })
        run.graph.requestEndOfStream()
        guard case .endOfStream = try await run.graph.waitUntilEnd() else {
            Issue.record("it ended otherwise")
            return
        }
        await run.graph.stop()
    }

    @Test("DV-2 a stream that is asked to end does so at once, also where a sink waits for each buffer's time")
    func endInTime() async throws {
        // Late enough that its thread is always there.
        let run = try DeviceRun("", then: "fakesink sync=true ts-offset=100000000")
        try await run.graph.start()
        #expect(run.deviceGives(10))
        let before = run.frames
        run.graph.requestEndOfStream()
        guard case .endOfStream = try await run.graph.waitUntilEnd() else {
            Issue.record("it ended otherwise")
            return
        }
        await run.graph.stop()
        // It was 58 while the node waited for a moment in which the sink has none.
        #expect(run.frames < before + 30, "\(run.frames - before) more")
    }

    @Test("GR-2 check looks into a devicesource's source")
    func check() throws {
        let text = Description("devicesource source=\"v4l2srk device=/dev/video0\" ! fakesink")
        let found = try Graph.diagnose(text)
        #expect(found.contains { $0.message.contains("in source: no element \"v4l2srk\"") })
        // The default device.
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
