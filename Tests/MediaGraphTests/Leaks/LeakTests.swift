import Foundation
import TestSupport
import Testing

/// Runs each scenario of Tests/LeakProbe in its own process under GStreamer's leaks tracer.
@Suite(.disabled(if: Sanitizer.isAny, "the leaks tracer doesn't work under a sanitizer"))
struct LeakTests {
    private func run(_ scenario: String) throws -> (child: ChildProcess, alive: [String]) {
        let child = try ChildProcess.run(
            ChildProcess.buildFolder.appendingPathComponent("LeakProbe").path, [scenario],
            environment: [
                "GST_TRACERS": "leaks", "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1",
                "G_DEBUG": "fatal_warnings",
            ])
        let alive = child.errors.split(separator: "\n").filter {
            $0.contains("object-alive, type-name=(string)") && !$0.contains("%s")
        }.map(String.init)
        return (child, alive)
    }

    @Test("the leaks tracer reports a deliberate leak")
    func deliberate() throws {
        let (child, alive) = try run("deliberate-leak")
        #expect(child.status == 0)
        #expect(alive.contains { $0.contains("leaked") || $0.contains("GstFakeSink") })
    }

    @Test(
        "EL-1 state changes in any order and from any thread cause no leak and no warning",
        arguments: ["states", "states-from-threads"])
    func states(scenario: String) throws {
        let (child, alive) = try run(scenario)
        #expect(child.status == 0, "\(child.errors.suffix(2000))")
        #expect(alive.isEmpty, "\(alive.joined(separator: "\n"))")
    }

    @Test(
        "graphs leak nothing, whichever way they end",
        arguments: [
            "graph", "live-graph", "frames", "delegates", "dropped-graph", "errors", "filter", "people", "stock",
            "microphone", "speaker", "share", "session",
        ])
    func graphs(scenario: String) throws {
        let (child, alive) = try run(scenario)
        #expect(child.status == 0, "\(child.errors.suffix(2000))")
        #expect(alive.isEmpty, "\(alive.joined(separator: "\n"))")
    }

    @Test("SE-1 a program may create a session before anything else")
    func sessionFirst() throws {
        let (child, alive) = try run("session-first")
        #expect(child.status == 0, "\(child.errors.suffix(2000))")
        #expect(alive.isEmpty, "\(alive.joined(separator: "\n"))")
    }

    @Test(
        "a program may make a buffer before anything else",
        arguments: ["buffer-first", "wrapped-buffer-first", "shared-memory-first"])
    func bufferFirst(scenario: String) throws {
        let (child, alive) = try run(scenario)
        #expect(child.status == 0, "\(child.errors.suffix(2000))")
        #expect(alive.isEmpty, "\(alive.joined(separator: "\n"))")
    }

    @Test("DV-2 a device that is unplugged and comes back ten times causes no leak")
    func devices() throws {
        let (child, alive) = try run("device")
        #expect(child.status == 0, "\(child.errors.suffix(2000))")
        #expect(alive.isEmpty, "\(alive.joined(separator: "\n"))")
    }

    @Test("a graph that its own handlers hold is released when they are detached")
    func cycles() throws {
        let (child, alive) = try run("cycles")
        #expect(child.status == 0, "\(child.errors.suffix(2000))")
        #expect(alive.isEmpty, "\(alive.joined(separator: "\n"))")
    }
}
