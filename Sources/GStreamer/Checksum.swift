import CGStreamer

/// A digest of bytes that come piece by piece (GLib's `GChecksum`).
public final class Checksum {
    public enum Algorithm: Sendable {
        case md5, sha256

        fileprivate var raw: GChecksumType { self == .md5 ? G_CHECKSUM_MD5 : G_CHECKSUM_SHA256 }
    }

    private let raw: OpaquePointer

    public init(_ algorithm: Algorithm) {
        guard let raw = g_checksum_new(algorithm.raw) else { preconditionFailure("GLib knows MD5 and SHA-256") }
        self.raw = raw
    }

    deinit { g_checksum_free(raw) }

    public func update(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { g_checksum_update(raw, $0.baseAddress, gssize($0.count)) }
    }

    /// The digest in hexadecimal of everything since the last call; then it starts anew.
    public func finish() -> String {
        defer { g_checksum_reset(raw) }
        return String(cString: g_checksum_get_string(raw))
    }
}
