import Testing

@testable import MediaGraph
@testable import MediaGraphCLI

@Suite struct ProgressTests {
    private static let sample = ProgressSample(
        time: 12,
        rows: [
            .init(
                name: "cam", element: "videosource", unit: "frames", frames: 360, framesPerSecond: 30, dropped: 0,
                refused: 0),
            .init(
                name: "blur", element: "preprocessor", unit: "frames", frames: 360, framesPerSecond: 29.97, dropped: 2,
                refused: 0, handlerMilliseconds: 0.8),
            .init(
                name: "rawdatapipe0", element: "rawdatapipe", unit: "frames", frames: 358, framesPerSecond: 30,
                dropped: 0,
                refused: 0, handlerMilliseconds: 12.34, latencyMilliseconds: 41.2),
        ])

    private static func lines(_ width: Int) -> [String] {
        ProgressTable(style: .plain).lines(sample, width: width, height: 20).map(\.text)
    }

    @Test("GR-3 at 120 columns, the table has all columns")
    func wide() {
        let lines: [String] = Self.lines(119)
        #expect(
            lines == [
                "  00:00:12  cam           videosource    30.0 fps    360 frames  0 dropped",
                "            blur          preprocessor   30.0 fps    360 frames  2 dropped  0.80 ms per frame",
                "            rawdatapipe0                 30.0 fps    358 frames  0 dropped  12.3 ms per frame  latency 41 ms",
            ])
    }

    @Test("GR-3 a frame that arrives early has a latency of 0, not a negative one")
    func early() {
        var counts = NodeCounts.none
        (counts.frames, counts.lateness) = (10, .milliseconds(-5))
        var meter = ProgressMeter()
        meter.add(
            [
                ElementProgress(
                    name: "ears", factory: "virtualspeaker", isNode: true, unit: .buffers, endsBranch: true,
                    counts: counts)
            ],
            at: 1)
        #expect(meter.sample(at: 1).rows[0].latencyMilliseconds == 0)
        #expect(meter.latencies.summary == .init(p50: 0, p99: 0))
    }

    @Test("GR-3 at 80 columns, the table omits the least important columns")
    func narrow() {
        let lines: [String] = Self.lines(79)
        #expect(
            lines == [
                "  00:00:12  cam            30.0 fps    360 frames  0 dropped",
                "            blur           30.0 fps    360 frames  2 dropped",
                "            rawdatapipe0   30.0 fps    358 frames  0 dropped  latency 41 ms",
            ])
    }

    @Test("SP-3 the table, the log and the summary show late and skipped sound")
    func lostSound() {
        var sample = Self.sample
        sample.rows[0].refused = 3
        sample.rows[2].lateSamples = 480
        sample.rows[2].skippedMilliseconds = 20
        let lines = ProgressTable(style: .plain).lines(sample, width: 200, height: 20).map(\.text)
        #expect(lines[0].contains("0 dropped  3 refused"))
        #expect(lines[2].contains("0 dropped  480 samples too late, 20 ms skipped"))
        #expect(ProgressTable.logLine(sample).contains("0 dropped 480 samples too late, 20 ms skipped"))
        let summary = RunSummary(reason: .endOfStream, status: .success, sample: sample, latency: nil)
        #expect(summary.text.hasSuffix("2 dropped · 480 samples too late for the mix"))
    }

    @Test("GR-3 no line is wider and no table is higher than the window", arguments: 1...130)
    func fits(_ width: Int) {
        let lines = ProgressTable(style: .plain).lines(Self.sample, width: width, height: 2)
        #expect(lines.count == 2)
        for line in lines {
            #expect(TextWidth.columns(line.text) == line.width)
            #expect(line.width <= width)
        }
        let title = LiveReporter.titleLine(
            "一二三 a title that is longer than most windows are wide", width: width, style: .plain)
        #expect(TextWidth.columns(title) <= width)
    }

    @Test("GR-3 colors don't count as columns")
    func colors() {
        let plain = ProgressTable(style: .plain).lines(Self.sample, width: 79, height: 9)
        let colored = ProgressTable(style: Style(isColored: true)).lines(Self.sample, width: 79, height: 9)
        #expect(plain.map(\.width) == colored.map(\.width))
        #expect(colored[1].text.contains("\u{1B}[1;35m"))
    }

    @Test("GR-3 a name can't send escape sequences to the terminal")
    func escapes() {
        var sample = Self.sample
        sample.rows[0].name = "a\u{1B}[2Jb"
        let lines = ProgressTable(style: .plain).lines(sample, width: 100, height: 9)
        #expect(!lines[0].text.unicodeScalars.contains("\u{1B}"))
    }

    @Test("GR-3 a live area that a narrower window has wrapped is overwritten completely")
    func movingUp() {
        #expect(LiveArea.movingUp([79, 79], columns: 80) == "\u{1B}[2A\r")
        #expect(LiveArea.movingUp([79, 79], columns: 40) == "\u{1B}[4A\r")
        #expect(LiveArea.movingUp([], columns: 80) == "")
        #expect(LiveArea.movingUp([0], columns: 80) == "\u{1B}[1A\r")
    }

    @Test("GR-3 the summary of latencies has their percentiles")
    func latencies() {
        var samples = LatencySamples()
        #expect(samples.summary == nil)
        for value in 1...100 { samples.add(Double(value)) }
        #expect(samples.summary == .init(p50: 50, p99: 99))
    }

    @Test(
        "GR-3 numbers are rounded, and clocks have hours, minutes and seconds",
        arguments: [(0, "0.0"), (0.05, "0.1"), (-0.04, "0.0"), (-1.25, "-1.3"), (12.34, "12.3")])
    func numbers(_ value: Double, _ text: String) {
        #expect(Numbers.fixed(value, 1) == text)
        #expect(DurationText.text(3_661) == "01:01:01")
        #expect(DurationText.text(360_000) == "100:00:00")
        #expect(DurationText.text(-1) == "00:00:00")
    }

    @Test("GR-3 the summary has the count of the first pipe")
    func summary() {
        let summary = RunSummary(
            reason: .endOfStream, status: .success, sample: Self.sample, latency: .init(p50: 39, p99: 47.4))
        #expect(summary.text == "358 frames in 12.0 s · 2 dropped · latency p50 39 ms, p99 47 ms")
    }

    @Test("GR-3 a log line has at most eight rows, pipes and sinks first, and the number of other rows")
    func longLogLine() {
        let row = Self.sample.rows[1]
        var sample = ProgressSample(time: 1, rows: Array(repeating: row, count: 299) + [Self.sample.rows[2]])
        let line = ProgressTable.logLine(sample)
        #expect(line.hasSuffix("  and 292 more"))
        #expect(line.contains("rawdatapipe0"))
        #expect(line.components(separatedBy: "blur").count == 8)
        sample.rows.removeFirst(292)
        #expect(!ProgressTable.logLine(sample).contains("more"))
    }

    @Test("GR-3 if not all rows fit, pipes and sinks are shown before sources and pre-processors")
    func crowded() {
        let lines: [String] = ProgressTable(style: .plain).lines(Self.sample, width: 79, height: 2).map(\.text)
        #expect(
            lines == ["  00:00:12  rawdatapipe0   30.0 fps    358 frames  0 dropped  latency 41 ms", "  and 2 more"])
    }
}
