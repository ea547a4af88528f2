import Foundation
import GStreamer

/// The counts of callgrind for one run. They are exact; repeated runs differ only by scheduling.
struct CallgrindProfile: Sendable {
    var instructions = 0
    /// How often each function was called, by its symbol.
    var calls: [String: Int] = [:]

    /// Runs this program with `arguments` under callgrind.
    static func run(_ arguments: [String]) throws -> CallgrindProfile {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("callgrind.\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        // Makes GStreamer's registry here if it doesn't exist yet, so that the measured run doesn't make it.
        GStreamerRuntime.initialize()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.arguments =
            [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=\(file.path)", "--compress-strings=no",
                // A room of twenty users has more threads than valgrind's default limit of 500.
                "--compress-pos=no", "--max-threads=2000", program,
            ] + arguments
        var environment = ProcessInfo.processInfo.environment
        environment["GST_REGISTRY_UPDATE"] = "no"
        process.environment = environment
        let output = Pipe()
        process.standardError = output
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError("valgrind … \(arguments.joined(separator: " ")) failed:\n\(text)")
        }
        return try CallgrindProfile(contentsOf: file)
    }

    /// Reads a profile that was written without compressed names.
    init(contentsOf file: URL) throws {
        var callee = ""
        for line in try String(decoding: Data(contentsOf: file), as: UTF8.self).utf8.split(separator: 10) {
            if line.starts(with: "cfn=".utf8) {
                let name = Substring(line.dropFirst(4))
                // For a recursive call, callgrind appends the depth to the name.
                callee = String(name.split(separator: "'", maxSplits: 1).first ?? name)
            } else if line.starts(with: "calls=".utf8) {
                let count = Int(Substring(line.dropFirst(6)).split(separator: " ")[0]) ?? 0
                calls[callee, default: 0] += count
            } else if line.starts(with: "totals:".utf8) || line.starts(with: "summary:".utf8) {
                instructions = Int(Substring(line).split(separator: " ")[1]) ?? 0
            }
        }
        guard instructions > 0 else { throw BenchError("\(file.path) isn't a callgrind profile") }
    }
}

/// The cost of one frame: the difference between two runs of different length, which cancels the cost of starting up.
struct FrameCost: Sendable {
    let short: CallgrindProfile
    let long: CallgrindProfile
    let frames: Int

    init(_ work: Work, _ side: Side) throws {
        try self.init(frames: work.frames) { frames in
            [
                "work", "--case", work.kind.rawValue, "--side", side.rawValue, "--touch", work.touch.rawValue,
                "--frames", "\(frames)",
            ]
        }
    }

    /// Measures runs of `count` frames and of five times as many.
    ///
    /// - Parameters:
    ///   - count: the number of frames of the short run.
    ///   - attempts: the number of runs of which the lowest count is used. If many threads share a buffer, GStreamer
    ///     guards the list of its owners with a spin lock (`gst_mini_object_remove_parent`). Callgrind runs one thread
    ///     at a time: when it suspends the thread that holds the lock, the others spin until their turn is over, which
    ///     may double a run's count.
    ///   - arguments: returns this program's arguments for a number of frames.
    init(frames count: Int, attempts: Int = 1, arguments: (Int) -> [String]) throws {
        func lowest(_ arguments: [String]) throws -> CallgrindProfile {
            try (0..<attempts).map { _ in try .run(arguments) }.min { $0.instructions < $1.instructions }!
        }
        short = try lowest(arguments(count))
        long = try lowest(arguments(count * 5))
        frames = count * 4
    }

    var instructions: Double { Double(long.instructions - short.instructions) / Double(frames) }

    func calls(of function: String) -> Double {
        Double(long.calls[function, default: 0] - short.calls[function, default: 0]) / Double(frames)
    }
}
