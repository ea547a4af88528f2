import Foundation
import GStreamer
import MediaGraphSession

/// The messages that are sent for each buffer. Nearly all messages are of this kind, so they have a compact binary form
/// instead of JSON.
///
/// The form is one byte for the kind, then little-endian words of eight bytes, then, in a `buffer`, the user's name.
enum BufferMessage: Sendable, Hashable {
    /// A buffer, whose bytes are in shared memory. The first message with a memory carries the memory's file
    /// descriptor.
    case buffer(StreamKey, SharedBuffer)
    /// The sender no longer uses these memories of the receiver.
    case release(memories: [UInt64])

    /// The greatest number of memories in one `release`.
    static let mostReleases = 1000

    /// The first byte. No JSON text begins with one of these values.
    private enum Kind {
        static let buffer: UInt8 = 1
        static let release: UInt8 = 2
    }

    var bytes: Data {
        switch self {
        case .release(let memories): return Data(Self.bytes(Kind.release, [UInt64(memories.count)] + memories))
        case .buffer(let key, let buffer):
            let layout = buffer.layout?.words ?? []
            let kind = StreamKind.allCases.firstIndex(of: key.kind) ?? 0
            let given = [buffer.moment, buffer.duration, buffer.captureTime, buffer.decodingMoment].map { $0 != nil }
            let words =
                [
                    UInt64(kind), given.enumerated().reduce(0) { $0 | ($1.element ? 1 << UInt64($1.offset) : 0) },
                    buffer.memory, UInt64(buffer.capacity), UInt64(buffer.length), buffer.moment ?? 0,
                    buffer.duration ?? 0, buffer.captureTime ?? 0, UInt64(UInt32(bitPattern: buffer.rotation)),
                    UInt64(UInt32(bitPattern: buffer.flip)), buffer.decodingMoment ?? 0, UInt64(buffer.flags),
                    UInt64(layout.count),
                ] + layout
            return Data(Self.bytes(Kind.buffer, words) + key.user.utf8)
        }
    }

    private static func bytes(_ kind: UInt8, _ words: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = [kind]
        bytes.reserveCapacity(1 + words.count * 8)
        for word in words {
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    /// Decodes a message; `nil` if the data isn't one.
    init?(_ bytes: Data) {
        guard let kind = bytes.first, kind == Kind.buffer || kind == Kind.release else { return nil }
        var rest = Array(bytes.dropFirst())[...]
        func word() -> UInt64? {
            guard rest.count >= 8 else { return nil }
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        func words(_ count: Int) -> [UInt64]? {
            guard rest.count >= count * 8 else { return nil }
            return (0..<count).compactMap { _ in word() }
        }
        guard kind == Kind.buffer else {
            guard let count = word(), count <= UInt64(Self.mostReleases), let memories = words(Int(count)), rest.isEmpty
            else { return nil }
            self = .release(memories: memories)
            return
        }
        guard let head = words(13), head[0] < StreamKind.allCases.count, let capacity = Int(exactly: head[3]),
            let length = Int(exactly: head[4]), head[12] <= UInt64(VideoLayout.maximumWordCount),
            let layout = words(Int(head[12])), let user = String(validating: rest, as: UTF8.self)
        else { return nil }
        func given(_ bit: UInt64, _ value: UInt64) -> UInt64? { head[1] & 1 << bit == 0 ? nil : value }
        self = .buffer(
            StreamKey(user: user, kind: StreamKind.allCases[Int(head[0])]),
            SharedBuffer(
                memory: head[2], capacity: capacity, length: length, moment: given(0, head[5]),
                decodingMoment: given(3, head[10]), duration: given(1, head[6]), layout: VideoLayout(words: layout),
                rotation: Int32(truncatingIfNeeded: head[8]), flip: Int32(truncatingIfNeeded: head[9]),
                captureTime: given(2, head[7]), flags: UInt32(truncatingIfNeeded: head[11])))
    }
}
