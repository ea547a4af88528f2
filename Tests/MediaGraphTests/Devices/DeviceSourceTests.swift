import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Tests how `devicesource` loses its device and gets it back.
@Suite struct DeviceSourceTests {
    init() throws { try Nodes.register() }

    private func failure(_ graph: Graph) async -> MediaGraphError? {
        do {
            _ = try await graph.waitUntilEnd()
            return nil
        } catch GraphError.failed(let failure) { return failure.cause } catch { return nil }
    }

    // MARK: reconnect=never

    @Test("DV-2 an unplugged device ends the graph with an error of its own that names the device")
    func unplugged() async throws {
        let run = try DeviceRun("")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        let error = try #require(await failure(run.graph))
        #expect(error.code == .deviceGone)
        #expect(error.detail.subject == #function)
        // Downstream gets the end of the stream, so that files are completed.
        #expect(waitUntil { (try? run.hasEnded) == true })
        await run.graph.stop()
    }

    @Test(
        "DV-2 a missing, a busy and a forbidden device fail to start with different errors",
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

    @Test("DV-2 a device that delivers nothing for stall-timeout counts as gone", arguments: ["never", "slate"])
    func stalls(policy: String) async throws {
        let run = try DeviceRun("reconnect=\(policy) stall-timeout=300000000", name: "stall \(policy)")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .silent
        #expect(run.device.isQuiet())
        // Stall-timeout also counts right after the start, because other elements' queues are sized by it.
        #expect(try await run.clock.pass(.milliseconds(300)))
        if policy == "never" {
            let error = try #require(await failure(run.graph))
            #expect(error.code == .deviceGone)
            #expect(error.detail.actual.contains("300 ms") && error.detail.subject == "stall never")
            #expect(waitUntil { (try? run.hasEnded) == true })
        } else {
            #expect(waitUntil { run.lost.count == 1 && run.slates > 3 })
            #expect(try await run.deviceReturns())
        }
        await run.graph.stop()
    }

    @Test("DV-2 a device that waits for a slow reader doesn't count as stalled")
    func slowReader() async throws {
        let run = try DeviceRun("stall-timeout=200000000", then: "fakesink name=end sync=false")
        let isHolding = BlockingMonitor(true)
        let held = Atomic<Bool>(false)
        try run.graph.element("end").staticPad("sink")?.observeBuffers { _ in
            held.store(true, ordering: .relaxed)
            _ = isHolding.wait { $0 ? nil : true }
        }
        try await run.graph.start()
        #expect(waitUntil { held.load(ordering: .relaxed) })
        // Each time limit that ends is followed by another, so the device was checked in between.
        for _ in 0..<5 { #expect(try await run.clock.pass(.milliseconds(200))) }
        #expect(try await eventually { run.clock.deadlines == [.milliseconds(200)] })
        #expect(run.lost.isEmpty)
        isHolding.withLock { $0 = false }
        #expect(run.deviceGives())
        await run.graph.stop()
    }

    // MARK: reconnect=slate

    @Test(
        "DV-2 with reconnect=slate black frames replace a lost device, and each gap is reported and counted"
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
            #expect(try await run.deviceReturns())
            #expect(run.back.count == round)
        }
        await run.graph.stop()
        let stats = try run.stats
        #expect(run.lost.allSatisfy { $0.device == #function })

        let seen = run.seen.all
        // Buffers neither overlap nor go back in time.
        for (a, b) in zip(seen, seen.dropFirst()) { #expect(b.time.nanoseconds + 1 >= a.end.nanoseconds) }
        for (a, b) in zip(seen, seen.dropFirst()) where a.made == nil && b.made == nil {
            #expect(b.time.nanoseconds == a.end.nanoseconds)
        }
        // The reported gaps are the actual ones.
        let edges = zip(seen, seen.dropFirst()).filter { $0.made == nil && $1.made != nil }
        #expect(run.back.map(\.backAt) == edges.map { $0.1.time })
        let losses = zip(seen, seen.dropFirst()).filter { $0.made != nil && $1.made == nil }
        #expect(run.back.map(\.lostAt) == losses.map { $0.0.end })
        let missing = run.back.reduce(0) { $0 + $1.backAt.nanoseconds - $1.lostAt.nanoseconds }
        #expect(stats["gaps"] == UInt64(2) && stats["gap-time"] == missing)
        #expect(stats["frames"] == UInt64(run.frames))
    }

    @Test("DV-2 a graph waits for a device that is missing at the start", arguments: ["slate", "gap"])
    func missingAtStart(policy: String) async throws {
        // The first stand-in has the format that downstream wants.
        let run = try DeviceRun(
            "reconnect=\(policy)", .missing, name: "late \(policy)",
            then: "video/x-raw, width=64, height=48 ! fakesink sync=false")
        try await run.graph.start()
        if policy == "slate" { #expect(waitUntil { run.slates >= 3 }) }
        #expect(waitUntil { run.lost.count == 1 })
        #expect(try await run.deviceReturns())
        #expect(run.back.count == 1)
        await run.graph.stop()
        if policy == "gap" { #expect(run.slates == 0) }
    }

    @Test("DV-2 a device that reappears but delivers nothing doesn't count as back")
    func silentReturn() async throws {
        let run = try DeviceRun("reconnect=slate stall-timeout=300000000")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.slates >= 3 })
        run.device.state = .silent
        let openings = run.device.openings.load(ordering: .relaxed)
        for attempt in 1...2 {
            #expect(try await run.clock.pass(DeviceRun.pause))
            let state = try run.state
            #expect(try await eventually { state.withLock(wakes: false) { $0.isTrying && !$0.isMoving } })
            // The node gives up when the device has sent nothing for as long as it may take to open.
            #expect(try await run.clock.pass(.seconds(5)))
            #expect(run.device.openings.load(ordering: .relaxed) == openings + attempt)
        }
        #expect(run.back.isEmpty && run.lost.count == 1)
        #expect(try await run.deviceReturns() && run.back.count == 1)
        await run.graph.stop()
    }

    @Test("DV-2 a device that reappears but can't be opened causes one warning, and is retried")
    func refusedReturn() async throws {
        let run = try DeviceRun("reconnect=gap")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.lost.count == 1 })
        run.device.state = .busy
        // The first refusal isn't reported, because a device's permissions are set a moment after it is plugged in.
        for attempt in 1...4 {
            #expect(try await run.clock.pass(DeviceRun.pause))
            #expect(try await eventually { run.clock.deadlines == [DeviceRun.pause] })
            #expect(run.warnings.count == min(attempt - 1, 1), "\(attempt): \(run.warnings)")
        }
        #expect(try await run.deviceReturns() && run.back.count == 1)
        #expect(run.warnings.count == 1 && run.warnings[0].contains("busy"), "\(run.warnings)")
        await run.graph.stop()
    }

    @Test("DV-2 a graph can be stopped at any moment, also while its device is lost", arguments: 0..<6)
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

    @Test("DV-2 after a pause during which the device reappeared, the device is used again")
    func pauses() async throws {
        let run = try DeviceRun("reconnect=slate")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        #expect(waitUntil { run.slates >= 2 })
        run.graph.pipeline.setState(.paused)
        run.graph.pipeline.setState(.playing)
        #expect(try await run.deviceReturns())
        await run.graph.stop()
    }
}
