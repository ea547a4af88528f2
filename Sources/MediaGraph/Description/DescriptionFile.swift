import Foundation

extension Description {
    /// Why a description couldn't be read from a file.
    public enum FileError: Error, Sendable, Hashable, CustomStringConvertible {
        case notFound(path: String)
        case isDirectory(path: String)
        case notReadable(path: String, reason: String)
        case tooLong(path: String, limit: Int)
        case notUTF8(path: String, line: Int)

        public var description: String {
            switch self {
            case .notFound(let path): "there is no file \"\(path)\""
            case .isDirectory(let path): "\"\(path)\" is a directory, not a description"
            case .notReadable(let path, let reason): "\"\(path)\" can't be read: \(reason)"
            case .tooLong(let path, let limit): "\"\(path)\" is longer than \(limit >> 20) MiB, and no description"
            case .notUTF8(let path, let line):
                line == 1
                    ? "\"\(path)\" isn't a description (UTF-8 text); to play a media file, write "
                        + "'filesrc location=\"\(path)\" ! decodebin ! …'"
                    : "\"\(path)\" isn't UTF-8 text (line \(line))"
            }
        }
    }

    /// Longer files, and devices without an end, are something else; in bytes.
    package static let maximumLength = 16 << 20

    /// The text of a file, under its path as given. Pipes (`<(…)` in a shell) and standard input are read to their end,
    /// which may block.
    public init(contentsOfFile path: String) throws(FileError) {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw .notFound(path: path)
        }
        if isDirectory.boolValue { throw .isDirectory(path: path) }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw .notReadable(path: path, reason: "permission denied")
        }
        let (bytes, isOnDisk) = try Self.contents(path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let valid = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }
            throw .notUTF8(path: path, line: valid.count { $0.isNewline } + 1)
        }
        // Nothing lies beside a pipe.
        let folder = isOnDisk ? URL(fileURLWithPath: path).deletingLastPathComponent().path : nil
        self.init(text, name: path, folder: folder)
    }

    private static func contents(_ path: String) throws(FileError) -> (bytes: [UInt8], isOnDisk: Bool) {
        do throws(MediaGraphError) {
            var reader = try ByteReader(path: path, option: "the description", interruption: Interruption())
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 64 << 10)
            var outcome = ByteReader.Outcome.complete
            while outcome == .complete, bytes.count <= maximumLength {
                var filled = 0
                outcome = try reader.read(into: &part, filled: &filled)
                bytes += part[..<filled]
            }
            if bytes.count <= maximumLength { return (bytes, reader.isRegularFile) }
        } catch {
            throw .notReadable(path: path, reason: "\(error)")
        }
        throw .tooLong(path: path, limit: maximumLength)
    }
}
