import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphDevices

/// Tests the time limits and pauses of `devicesource` to the nanosecond, on a clock that stands still in between.
@Suite struct DeviceTimeTests {
    init() throws { try Nodes.register() }

    private func openings(_ run: DeviceRun) -> Int { run.device.openings.load(ordering: .acquiring) }

    @Test("DV-2 a device counts as lost exactly when stall-timeout is over, even after an hour")
    func anHour() async throws {
        let hour = Duration.seconds(3600)
        let run = try DeviceRun("reconnect=gap stall-timeout=3600000000000")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .silent
        #expect(run.device.isQuiet())
        #expect(try await eventually { run.clock.deadlines == [hour] })
        run.clock.advance(by: hour - .nanoseconds(1))
        // The node waits for the last nanosecond, so it has done nothing else since.
        #expect(run.clock.deadlines == [.nanoseconds(1)] && run.lost.isEmpty)
        run.clock.advance(by: .nanoseconds(1))
        #expect(waitUntil { run.lost.count == 1 })
        #expect(run.lost[0].reason.contains("sent no data for 3600000 ms (stall-timeout)"), "\(run.lost[0].reason)")
        await run.graph.stop()
    }

    @Test("DV-2 a device that gives data again within stall-timeout isn't lost, and the limit starts anew")
    func startsAnew() async throws {
        let run = try DeviceRun("reconnect=gap stall-timeout=60000000000")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .silent
        #expect(run.device.isQuiet())
        #expect(try await eventually { run.clock.deadlines == [.seconds(60)] })
        run.clock.advance(by: .seconds(59))
        run.device.state = .there
        #expect(run.deviceGives())
        run.device.state = .silent
        #expect(run.device.isQuiet())
        // The node notices at the end of the first limit that there is a later one.
        #expect(try await run.clock.pass(.seconds(1)))
        #expect(try await eventually { run.clock.deadlines == [.seconds(59)] })
        #expect(run.lost.isEmpty)
        #expect(try await run.clock.pass(.seconds(59)))
        #expect(waitUntil { run.lost.count == 1 })
        await run.graph.stop()
    }

    @Test("DV-2 a missing device is looked for every second, and never between two attempts")
    func everySecond() async throws {
        let run = try DeviceRun("reconnect=gap")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .missing
        for attempt in 1...20 {
            #expect(try await eventually { run.clock.deadlines == [.seconds(1)] })
            #expect(openings(run) == attempt)
            run.clock.advance(by: .milliseconds(999))
            #expect(run.clock.deadlines == [.milliseconds(1)] && openings(run) == attempt)
            run.clock.advance(by: .milliseconds(1))
        }
        #expect(try await run.deviceReturns())
        await run.graph.stop()
    }

    @Test("DV-2 the pauses grow while calls to the device hang, and after ten of them no more are made")
    func pausesGrow() async throws {
        let run = try DeviceRun("reconnect=gap")
        try await run.graph.start()
        #expect(run.deviceGives())
        run.device.state = .stuck
        for (attempt, pause) in [1.0, 4, 8, 16, 32, 32, 32, 32, 32, 32].enumerated() {
            #expect(try await eventually { run.clock.deadlines == [.seconds(pause)] }, "\(attempt)")
            #expect(openings(run) == attempt + 1)
            run.clock.advance(by: .seconds(pause))
            #expect(try await run.hangs(for: .seconds(5), calls: attempt + 1), "\(attempt)")
        }
        // The node waits for an answer, without a time limit.
        let state = try run.state
        #expect(try await eventually { state.withLock(wakes: false) { $0.unanswered == 10 && !$0.isMoving } })
        #expect(try await eventually { run.clock.deadlines.isEmpty })
        run.clock.advance(by: .seconds(3600))
        #expect(run.clock.deadlines.isEmpty && openings(run) == 11)
        // Each call that returns has the device tried again at once.
        run.device.state = .there
        #expect(run.deviceGives() && run.back.count == 1)
        await run.graph.stop()
        #expect(
            waitUntil { run.device.closings.load(ordering: .relaxed) == run.device.openings.load(ordering: .relaxed) })
    }
}
