import Foundation
import GStreamer

/// What callgrind counted in one run: exact, and the same again next time but for scheduling.
struct CallgrindProfile: Sendable {
    var instructions = 0
    /// How often each function was called, by its symbol.
    var calls: [String: Int] = [:]

    /// Runs this very program with `arguments` under callgrind.
    static func run(_ arguments: [String]) throws -> CallgrindProfile {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("callgrind.\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        // Where GStreamer's registry is still to be made, it isn't by what is measured.
        GStreamerRuntime.initialize()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.arguments =
            [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=\(file.path)", "--compress-strings=no",
                // A room of twenty has more than the 500 that are the default.
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
                // A recursive call has its depth behind the name.
                callee = String(name.split(separator: "'", maxSplits: 1).first ?? name)
            } else if line.starts(with: "calls=".utf8) {
                let count = Int(Substring(line.dropFirst(6)).split(separator: " ")[0]) ?? 0
                calls[callee, default: 0] += count
            } else if line.starts(with: "totals:".utf8) || line.starts(with: "summary:".utf8) {
                instructions = Int(Substring(line).split(separator: " ")[1]) ?? 0
            }
        }
        guard instructions > 0 else { throw BenchError("\(file.path) is no callgrind profile") }
    }
}

/// What one more frame costs: the difference of two runs of different length, so that starting up cancels out.
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

    /// Of so many frames and five times as many; `arguments` are this program's for a number of them.
    ///
    /// - Parameter attempts: the lowest of so many runs counts. Where many threads share a buffer, GStreamer guards the list of
    ///   who holds it by a spin lock (`gst_mini_object_remove_parent`), and callgrind lets one thread run at a time: when that
    ///   with the lock is put aside, the others spin until their turn is over, and a run may count twice of what it does.
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
