import CGStreamer
import CGStreamerRTP
import GStreamer

/// What an RTP packet says of its media (RFC 3550), read from a buffer.
package struct RTPPacket: Sendable {
    /// The time in units of the stream's clock rate, with an arbitrary start.
    package let timestamp: UInt32
    /// The marker. VP8 and H.264 set it on the last packet of a frame.
    package let hasMarker: Bool
    /// The end of the payload, if it ends a frame; `nil` if the payload is too short.
    package let payloadEnd: PayloadEnd?
    /// The picture's orientation; `nil` if the packet doesn't say.
    package let orientation: VideoOrientation?

    /// `nil` if the buffer isn't an RTP packet.
    ///
    /// - Parameters:
    ///   - isSound: If true, every packet ends a frame; otherwise only packets with the marker do.
    ///   - orientationID: The ID of the header extension with the orientation.
    package init?(_ buffer: BufferAccess, isSound: Bool, orientationID: UInt8? = nil) {
        var rtp = GstRTPBuffer()
        guard gst_rtp_buffer_map(buffer.raw, GST_MAP_READ, &rtp) != 0 else { return nil }
        defer { gst_rtp_buffer_unmap(&rtp) }
        timestamp = gst_rtp_buffer_get_timestamp(&rtp)
        hasMarker = gst_rtp_buffer_get_marker(&rtp) != 0
        // Read only where needed: mapping an outgoing packet's payload copies it.
        payloadEnd =
            isSound || hasMarker
            ? PayloadEnd(
                of: UnsafeRawBufferPointer(
                    start: gst_rtp_buffer_get_payload(&rtp), count: Int(gst_rtp_buffer_get_payload_len(&rtp))))
            : nil
        orientation = orientationID.flatMap { id in
            var data: gpointer?
            var size: guint = 0
            guard gst_rtp_buffer_get_extension_onebyte_header(&rtp, id, 0, &data, &size) != 0, size > 0 else {
                return nil
            }
            return data.map { VideoOrientation(extensionByte: $0.load(as: UInt8.self)) }
        }
    }
}

/// The last 16 bytes of a packet's payload. They distinguish packets of encoded media, except those of silence.
package struct PayloadEnd: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    static let size = 16

    fileprivate init?(of payload: UnsafeRawBufferPointer) {
        guard payload.count >= Self.size else { return nil }
        let start = payload.count - Self.size
        high = UInt64(bigEndian: payload.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        low = UInt64(bigEndian: payload.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self))
    }
}

extension PayloadEnd: Codable {
    /// Reads 32 hexadecimal digits.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard text.utf8.count == 2 * Self.size, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "32 hexadecimal digits expected")
        }
        (self.high, self.low) = (high, low)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(
            [high, low].map { word in
                let digits = String(word, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined())
    }
}

// MARK: The orientation

extension VideoOrientation {
    /// The URI of the header extension that carries the orientation (3GPP TS 26.114, 7.4.5; RFC 7742, 4).
    package static let extensionURI = "urn:3gpp:video-orientation"

    /// The extension's content: the flip, which comes before the turn, and the clockwise turns that the receiver makes.
    package var extensionByte: UInt8 { (isFlipped ? 4 : 0) | UInt8(quarterTurns) }

    package init(extensionByte byte: UInt8) { self.init(quarterTurns: Int32(byte & 3), isFlipped: byte & 4 != 0) }
}

extension BufferAccess {
    /// Adds a header extension with an orientation to the RTP packet in this buffer, which must be writable. False if the
    /// packet can't take it.
    @discardableResult
    package func addRTPExtension(_ orientation: VideoOrientation, id: UInt8) -> Bool {
        var rtp = GstRTPBuffer()
        guard gst_rtp_buffer_map(raw, GstMapFlags(GST_MAP_READ.rawValue | GST_MAP_WRITE.rawValue), &rtp) != 0 else {
            return false
        }
        defer { gst_rtp_buffer_unmap(&rtp) }
        var byte = orientation.extensionByte
        return gst_rtp_buffer_add_extension_onebyte_header(&rtp, id, &byte, 1) != 0
    }
}
