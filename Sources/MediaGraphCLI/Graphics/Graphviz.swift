import Foundation
import Glibc

/// Graphviz's `dot`, which draws.
enum Graphviz {
    enum Problem: Error, CustomStringConvertible {
        case missing
        case failed(String)

        var description: String {
            switch self {
            case .missing:
                "drawing needs Graphviz: sudo apt install graphviz (or give -o a name that ends in .dot, which needs nothing)"
            case .failed(let reason): "Graphviz can't draw this: \(reason)"
            }
        }
    }

    /// The formats of files that it is asked for, by the file's extension.
    static let formats = ["svg", "png", "pdf"]

    static func draw(_ text: String, format: String, to path: String) throws(Problem) {
        guard let program = find() else { throw .missing }
        signal(SIGPIPE, SIG_IGN)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["-T\(format)", "-Gdpi=\(format == "png" ? 144 : 72)", "-o\(path)"]
        let (input, errors) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardError = errors
        do { try process.run() } catch { throw .failed(error.localizedDescription) }
        // Beside the reading below: Graphviz warns while it reads.
        DispatchQueue.global().async {
            try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try? input.fileHandleForWriting.close()
        }
        let said = (try? errors.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            let reason = String(decoding: said, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
            throw .failed(reason ?? "it ended with status \(process.terminationStatus)")
        }
    }

    private static func find() -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/dot" }.first { access($0, X_OK) == 0 }
    }
}
