import Foundation

extension Description {
    /// Why a description couldn't be read from a file.
    public enum FileError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The file doesn't exist.
        case notFound(path: String)
        /// The path is a folder's.
        case isDirectory(path: String)
        /// The file can't be opened or read; `reason` is the system's message.
        case notReadable(path: String, reason: String)
        /// The file is longer than `limit` bytes.
        case tooLong(path: String, limit: Int)
        /// The file is text in another encoding, such as Latin-1. `line` is the first line that isn't UTF-8.
        case notUTF8(path: String, line: Int)
        /// The file is UTF-16 text, as its byte order mark shows.
        case isUTF16(path: String)
        /// The file isn't text.
        case notText(path: String)

        /// The error as a sentence with the file's path.
        public var description: String {
            switch self {
            case .notFound(let path): "there is no file \"\(path)\""
            case .isDirectory(let path): "\"\(path)\" is a folder, not a description"
            case .notReadable(let path, let reason): "\"\(path)\" can't be read: \(reason)"
            case .tooLong(let path, let limit):
                "\"\(path)\" is larger than \(limit >> 20) MiB, the limit for a description"
            case .notUTF8(let path, let line):
                "\"\(path)\" isn't UTF-8 text (line \(line)): save it as UTF-8 in your editor"
            case .isUTF16(let path): "\"\(path)\" is UTF-16 text: save it as UTF-8 in your editor"
            case .notText(let path):
                "\"\(path)\" isn't a description (UTF-8 text); to play a media file, write "
                    + "'filesrc location=\"\(path)\" ! decodebin ! …'"
            }
        }
    }

    /// The longest file that is read as a description, in bytes. Longer files and endless devices aren't descriptions.
    package static let maximumLength = 16 << 20

    /// Reads a description from a file. Its `name` is `path`. Blocks while reading a pipe (`<(…)` in a shell) or
    /// standard input to its end.
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
            throw Self.encodingError(of: bytes, path: path)
        }
        // A pipe has no folder for ${HERE}.
        let folder = isOnDisk ? URL(fileURLWithPath: path).deletingLastPathComponent().path : nil
        self.init(text, name: path, folder: folder)
    }

    /// Returns the error for bytes that aren't valid UTF-8: UTF-16, another encoding, or no text.
    package static func encodingError(of bytes: [UInt8], path: String) -> FileError {
        let start = bytes.prefix(4096)
        let hasMark = start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF])
        // In UTF-16, every other byte of ASCII text is 0.
        if hasMark, start.count(where: { $0 == 0 }) * 4 > start.count { return .isUTF16(path: path) }
        if start.contains(where: { $0 < 0x20 && !$0.isSpace && $0 != 0x1B }) { return .notText(path: path) }
        let valid = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }
        return .notUTF8(path: path, line: valid.count { $0.isNewline } + 1)
    }

    private static func contents(_ path: String) throws(FileError) -> (bytes: [UInt8], isOnDisk: Bool) {
        let bytes: [UInt8]
        let isOnDisk: Bool
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            var status = stat()
            isOnDisk = fstat(file.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            bytes = Array(try file.read(upToCount: maximumLength + 1) ?? Data())
        } catch {
            throw .notReadable(path: path, reason: Self.reason(error))
        }
        guard bytes.count <= maximumLength else { throw .tooLong(path: path, limit: maximumLength) }
        return (bytes, isOnDisk)
    }

    /// Returns the system's message; Foundation says only that "the operation could not be completed".
    private static func reason(_ error: any Error) -> String {
        guard let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError,
            cause.domain == NSPOSIXErrorDomain
        else { return error.localizedDescription }
        return String(cString: strerror(Int32(cause.code)))
    }
}
