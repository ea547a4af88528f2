import GStreamer
import MediaGraphCore
import MediaGraphSession
import WebRTC

/// How a stream is sent: the elements that make RTP packets of it, and the caps of its m-line.
struct MediaFormat: Sendable {
    let codec: MediaCodec
    /// The elements that encode the stream; `nil` if it arrives encoded.
    private let encoder: String?
    /// The stream's SSRC. The offer names it, because Janus drops packets with an SSRC that it doesn't know.
    let ssrc = UInt32.random(in: 1...UInt32.max)

    private init(_ codec: MediaCodec, encoder: String?) { (self.codec, self.encoder) = (codec, encoder) }

    /// A format for one stream. If it arrives encoded, it is sent as it is.
    ///
    /// - Parameters:
    ///   - caps: The stream's caps; `nil` if nothing has arrived yet.
    ///   - videoEncoder: The elements that encode raw video; if empty, the default ones.
    init(_ kind: StreamKind, _ caps: Caps?, videoEncoder: String) throws(MediaGraphError) {
        // Sessions accept only raw sound.
        if let codec = caps.flatMap(MediaCodec.init(encoded:)), !codec.isSound, !kind.isSound {
            self.init(codec, encoder: nil)
        } else if kind.isSound {
            self.init(
                .opus, encoder: "audioconvert ! audioresample ! opusenc inband-fec=true packet-loss-percentage=10")
        } else if videoEncoder.isEmpty {
            let bitsPerSecond = kind == .share ? 2_500_000 : 1_000_000
            self.init(
                .vp8,
                encoder: """
                    videoconvert ! vp8enc deadline=1 cpu-used=8 end-usage=cbr target-bitrate=\(bitsPerSecond) \
                    keyframe-max-dist=60 threads=2
                    """)
        } else {
            self.init(try Self.codec(ofEncoder: videoEncoder), encoder: Self.inlet + videoEncoder)
        }
    }

    /// Encoders may choose formats that few receivers can decode, such as 4:4:4, so they get only these.
    private static let inlet = "videoconvert ! video/x-raw,format=(string){I420,NV12} ! "

    /// Returns what elements encode video as. Throws `invalidParameter` if they don't, or as something that can't be sent.
    static func codec(ofEncoder elements: String) throws(MediaGraphError) -> MediaCodec {
        let expected = "elements that encode video as VP8 or H.264, such as \"x264enc tune=zerolatency bitrate=1000\""
        let encoder: Element
        do throws(GLibError) {
            encoder = try Element(parsing: inlet + elements)
        } catch {
            throw .invalidParameter(
                .init("video-encoder", expected: expected, actual: "\"\(elements)\" (\(error.message))"))
        }
        guard let caps = encoder.staticPad("src")?.queryCaps(), let codec = MediaCodec(encoded: caps), !codec.isSound
        else {
            throw .invalidParameter(.init("video-encoder", expected: expected, actual: "\"\(elements)\""))
        }
        return codec
    }

    /// From what arrives to RTP packets.
    var elements: String {
        [encoder, codec.parser, "\(codec.payloader) ssrc=\(ssrc)"].compactMap(\.self).joined(separator: " ! ")
    }

    /// The caps of the m-line.
    var caps: Caps? { Caps("application/x-rtp,\(codec.fields),ssrc=(uint)\(ssrc)") }

    /// Whether a stream that arrives with these caps is sent in this format.
    func takes(_ caps: Caps) -> Bool {
        switch MediaCodec(encoded: caps) {
        case let codec?: encoder == nil && codec == self.codec
        case nil: encoder != nil && caps.isRaw
        }
    }

    /// Whether a stream that arrives with these caps can be sent in some format.
    static func canSend(_ caps: Caps) -> Bool { caps.isRaw || MediaCodec(encoded: caps) != nil }
}

extension Caps {
    /// Whether these are caps of media that aren't encoded.
    fileprivate var isRaw: Bool { mediaTypes.allSatisfy { $0.hasSuffix("/x-raw") } }
}
