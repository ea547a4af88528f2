import CGStreamer

/// A digest of bytes that are added piece by piece (GLib's `GChecksum`). Not safe for several threads at once.
package final class Checksum {
    package enum Algorithm: Sendable {
        case md5, sha256

        fileprivate var raw: GChecksumType { self == .md5 ? G_CHECKSUM_MD5 : G_CHECKSUM_SHA256 }
    }

    private let raw: OpaquePointer

    package init(_ algorithm: Algorithm) {
        guard let raw = g_checksum_new(algorithm.raw) else { preconditionFailure("GLib lacks this checksum") }
        self.raw = raw
    }

    deinit { g_checksum_free(raw) }

    package func update(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { g_checksum_update(raw, $0.baseAddress, gssize($0.count)) }
    }

    /// Returns the digest of the bytes added since the last call, in hexadecimal, and starts a new digest.
    package func finish() -> String {
        defer { g_checksum_reset(raw) }
        return String(cString: g_checksum_get_string(raw))
    }
}
