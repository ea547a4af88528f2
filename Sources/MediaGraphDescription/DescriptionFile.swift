import Foundation

extension Description {
    /// Why a description couldn't be read from a file.
    public enum FileError: Error, Sendable, Hashable, CustomStringConvertible {
        case notFound(path: String)
        case isDirectory(path: String)
        case notReadable(path: String, reason: String)
        case tooLong(path: String, limit: Int)
        /// Text in another encoding, such as Latin-1.
        case notUTF8(path: String, line: Int)
        /// Text in UTF-16, by its byte order mark.
        case isUTF16(path: String)
        /// No text at all.
        case notText(path: String)

        /// What went wrong with which file.
        public var description: String {
            switch self {
            case .notFound(let path): "there is no file \"\(path)\""
            case .isDirectory(let path): "\"\(path)\" is a directory, not a description"
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
            throw Self.encodingError(of: bytes, path: path)
        }
        // Nothing lies beside a pipe.
        let folder = isOnDisk ? URL(fileURLWithPath: path).deletingLastPathComponent().path : nil
        self.init(text, name: path, folder: folder)
    }

    /// The error for bytes that aren't valid UTF-8: UTF-16, another encoding, or no text.
    package static func encodingError(of bytes: [UInt8], path: String) -> FileError {
        let start = bytes.prefix(4096)
        let hasMark = start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF])
        // Every other byte of ASCII is 0 in it.
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

    /// The system's own text; Foundation says only that "the operation could not be completed".
    private static func reason(_ error: any Error) -> String {
        guard let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError,
            cause.domain == NSPOSIXErrorDomain
        else { return error.localizedDescription }
        return String(cString: strerror(Int32(cause.code)))
    }
}
