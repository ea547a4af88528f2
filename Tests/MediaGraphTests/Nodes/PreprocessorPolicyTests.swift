import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphHandlers

/// Tests the policies for frames whose handler fails or is late.
@Suite struct PreprocessorPolicyTests {
    private struct Broken: Error, CustomStringConvertible { var description = "out of luck" }

    /// Sends twelve numbered frames through a preprocessor `p` into a pipe `pipe`.
    private static func graph(_ properties: String = "") throws -> Graph {
        try Graph(
            """
            videosource handler=counter pace=fast options="frames=12,width=64,height=48" ! preprocessor name=p \(properties) !
            rawdatapipe name=pipe
            """)
    }

    /// Returns the numbers of the frames that arrive, each with the byte that a handler wrote into the last row.
    private static func arrivals(of graph: Graph) throws -> Log<[Int]> {
        let log = Log<[Int]>()
        try graph.rawDataPipe("pipe").receive { frame in
            log.add([Int(try FrameNumber.read(frame)), Int(try frame.plane(.y).row(47)[0])])
        }
        return log
    }

    /// Edits half of the frame, and fails at each third frame.
    private static func halfEdit(_ frame: inout VideoFrame) throws -> Verdict {
        let number = try FrameNumber.read(frame)
        var luma = try frame.mutablePlane(.y)
        luma.fill(rows: 24..<48, with: 99)
        if number % 3 == 1 { throw Broken() }
        return .pass
    }

    @Test(
        "PP-4 with on-error=pass failed frames go on, unedited from the second failure on, with one warning"
    )
    func passes() async throws {
        let graph = try Self.graph("on-error=pass")
        let arrivals = try Self.arrivals(of: graph)
        try graph.preprocessor("p").process { try Self.halfEdit(&$0) }
        let events = graph.events
        try await graph.run()
        var warnings: [String] = []
        for await case .warning(let warning) in events { warnings.append("\(warning)") }
        var canvas = CounterCanvas(width: 64, height: 48)
        let expected = (0..<12).map { number in
            canvas.draw(UInt32(number))
            // The first failure is frame 1, which goes on as the handler left it.
            return [number, number % 3 == 1 && number > 1 ? Int(canvas.bytes[47 * 64]) : 99]
        }
        #expect(expected.count { $0[1] != 99 } == 3)
        #expect(arrivals.all == expected)
        let counts = try graph.preprocessor("p").statistics
        #expect(counts.frames == 12 && counts.failed == 4 && counts.dropped == 0)
        #expect(warnings.count == 1)
        let warning = try #require(warnings.first)
        #expect(warning.contains("handler ClosureProcessor failed") && warning.contains("out of luck"), "\(warning)")
        #expect(warning.contains("; the frame continues"), "\(warning)")
    }

    @Test("PP-4 with on-error=pass a frame isn't copied before the handler's first failure")
    func copiesNothing() async throws {
        let graph = try Self.graph("on-error=pass")
        let element = try graph.element("p")
        try graph.preprocessor("p").process { try Self.halfEdit(&$0) }
        let node = ElementClass.implementation(of: element.element, as: PreprocessorElement.self)
        let kept = Log<Bool>()
        try graph.rawDataPipe("pipe").receive { _ in kept.add(node.undoesEdits) }
        try await graph.run()
        // Frame 1 fails first.
        #expect(kept.all == (0..<12).map { $0 > 0 })
    }

    @Test("SE-4 with on-error=detach a handler that throws is taken away until the next run, and frames go on")
    func detaches() async throws {
        let graph = try Self.graph("on-error=detach")
        let arrivals = try Self.arrivals(of: graph)
        let calls = Log<Int>()
        try graph.preprocessor("p").process { frame in
            calls.add(Int(try FrameNumber.read(frame)))
            return try Self.halfEdit(&frame)
        }
        for run in 1...2 {
            let events = graph.events
            try await graph.run()
            var warnings: [String] = []
            for await case .warning(let warning) in events { warnings.append("\(warning)") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("the handler gets no more frames") == true, "\(warnings)")
            #expect(calls.all == (1...run).flatMap { _ in [0, 1] })
            #expect(arrivals.all.count == 12 * run)
            let counts = try graph.preprocessor("p").statistics
            #expect(counts.frames == 12 && counts.failed == 1 && counts.dropped == 0)
        }
        // Frame 0 is edited, frame 1 is half-edited, and the others aren't.
        #expect(arrivals.all.prefix(12).map { $0[1] == 99 } == (0..<12).map { $0 < 2 })
    }

    @Test("SE-4 a handler that is detached may be replaced while the graph runs")
    func replaced() async throws {
        let graph = try Self.graph("on-error=detach")
        let node = try graph.preprocessor("p")
        let arrivals = try Self.arrivals(of: graph)
        try node.process { frame in
            // The next handler is attached while this one still fails.
            try node.process { frame in
                var luma = try frame.mutablePlane(.y)
                luma.fill(rows: 24..<48, with: 77)
                return .pass
            }
            throw Broken()
        }
        try await graph.run()
        #expect(arrivals.all.map { $0[1] == 77 } == (0..<12).map { $0 > 0 })
    }

    @Test("SE-4 errors that differ with each frame are reported four times at most, and all are counted")
    func limitsWarnings() async throws {
        let graph = try Self.graph("on-error=drop")
        try graph.preprocessor("p").process { frame in
            throw Broken(description: "frame \(try FrameNumber.read(frame))")
        }
        let events = graph.events
        try await graph.run()
        var warnings: [String] = []
        for await case .warning(let warning) in events { warnings.append("\(warning)") }
        let own = warnings.filter { $0.contains("ClosureProcessor") }
        #expect(own.count == 4, "\(own)")
        #expect(own.last?.contains("more errors of this handler aren't reported") == true, "\(own)")
        #expect(try graph.preprocessor("p").statistics.failed == 12)
    }

    @Test("PP-4 with on-error=drop a frame whose handler fails is dropped and counted as both")
    func drops() async throws {
        let graph = try Self.graph("on-error=drop")
        let arrivals = try Self.arrivals(of: graph)
        try graph.preprocessor("p").process { try Self.halfEdit(&$0) }
        try await graph.run()
        #expect(arrivals.all == (0..<12).filter { $0 % 3 != 1 }.map { [$0, 99] })
        let counts = try graph.preprocessor("p").statistics
        #expect(counts.frames == 8 && counts.failed == 4 && counts.dropped == 4)
    }

    @Test("PP-4 with on-error=stop, the default, a handler's error ends the graph")
    func stops() async throws {
        let graph = try Self.graph()
        let arrivals = try Self.arrivals(of: graph)
        try graph.preprocessor("p").process { try Self.halfEdit(&$0) }
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("ClosureProcessor failed") && "\(error!)".contains("out of luck"), "\(error!)")
        #expect(arrivals.all.map { $0[0] } == [0])
    }

    @Test("PP-4 the verdict `fail` ends the graph with the handler's name and reason, whatever on-error is")
    func failVerdict() async throws {
        for policy in ["stop", "pass", "drop"] {
            let graph = try Self.graph("on-error=\(policy)")
            let arrivals = try Self.arrivals(of: graph)
            try graph.preprocessor("p").process { frame in
                try FrameNumber.read(frame) < 5 ? .pass : .fail("the license has run out")
            }
            let error = await #expect(throws: GraphError.self) { try await graph.run() }
            #expect("\(error!)".contains("ClosureProcessor ended the stream: the license has run out"), "\(error!)")
            #expect(arrivals.all.map { $0[0] } == Array(0..<5))
        }
    }

    /// Makes each third frame late: its handler may take a nanosecond, and an hour for the others.
    private static func makeLate(_ graph: Graph) throws {
        let node = try graph.preprocessor("p")
        try node.process { [element = node.element] frame in
            let next = try FrameNumber.read(frame) + 1
            try element.setProperty("max-time", to: next % 3 == 1 ? UInt64(1) : 3_600_000_000_000)
            return .pass
        }
    }

    @Test(
        "PP-5 a late frame is counted, reported in a QoS message, and passed or dropped by policy",
        arguments: ["pass", "drop"])
    func late(policy: String) async throws {
        let graph = try Self.graph("on-late=\(policy)")
        let arrivals = try Self.arrivals(of: graph)
        try Self.makeLate(graph)
        let events = graph.events
        try await graph.run()
        var reports: [(processed: UInt64, dropped: UInt64)] = []
        for await case .qualityOfService("p", let jitter, let processed, let dropped) in events {
            #expect(jitter > .zero)
            reports.append((processed, dropped))
        }
        let counts = try graph.preprocessor("p").statistics
        #expect(counts.late == 4)
        if policy == "pass" {
            #expect(arrivals.all.map { $0[0] } == Array(0..<12))
            #expect(counts.frames == 12 && counts.dropped == 0)
            #expect(reports.map(\.processed) == [2, 5, 8, 11] && reports.map(\.dropped) == [0, 0, 0, 0])
        } else {
            #expect(arrivals.all.map { $0[0] } == (0..<12).filter { $0 % 3 != 1 })
            #expect(counts.frames == 8 && counts.dropped == 4)
            #expect(reports.map(\.processed) == [1, 3, 5, 7] && reports.map(\.dropped) == [1, 2, 3, 4])
        }
    }

    @Test("PP-5 without max-time no frame is late")
    func noDeadline() async throws {
        let graph = try Self.graph("on-late=drop")
        let arrivals = try Self.arrivals(of: graph)
        try graph.preprocessor("p").process { _ in
            sleepBriefly()
            return .pass
        }
        try await graph.run()
        #expect(arrivals.all.count == 12)
        #expect(try graph.preprocessor("p").statistics.late == 0)
    }

    @Test("PP-2 frames that pass through are counted too")
    func countsPassThrough() async throws {
        let graph = try Self.graph()
        try await graph.run()
        #expect(try graph.preprocessor("p").statistics.frames == 12)
    }
}
