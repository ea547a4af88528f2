import TestSupport

/// The `ffmpeg` program, whose output is compared with MediaGraph's. `make deps` installs it.
enum FFmpeg {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    @discardableResult
    static func run(_ arguments: String...) throws -> String { try run(arguments) }

    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let child = try ChildProcess.run("ffmpeg", ["-nostdin", "-y", "-v", "error"] + arguments)
        guard child.status != 127 else {
            throw Failure(description: "this test needs the program ffmpeg: `make deps` installs it")
        }
        guard child.status == 0 else {
            throw Failure(description: "ffmpeg \(arguments.joined(separator: " ")): \(child.errors)")
        }
        return child.output
    }
}
