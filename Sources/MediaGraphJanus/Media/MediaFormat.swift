import GStreamer
import MediaGraphSession
import WebRTC

/// How a kind of stream is sent: the elements that encode it, and the caps of its m-line.
struct MediaFormat: Sendable {
    private let elements: String
    private let fields: String
    /// The stream's SSRC. The offer names it, because Janus drops packets with an SSRC that it doesn't know.
    let ssrc: UInt32

    private init(elements: String, fields: String) {
        (self.elements, self.fields) = (elements, fields)
        ssrc = .random(in: 1...UInt32.max)
    }

    /// A format for one stream.
    init(_ kind: StreamKind) {
        self = kind.isSound ? .opus : .vp8(bitsPerSecond: kind == .share ? 2_500_000 : 1_000_000)
    }

    /// From raw media to RTP packets, with elements named `inlet` and `outlet`.
    var encoder: String { "\(elements) ssrc=\(ssrc)" }

    /// The caps of the m-line.
    var caps: Caps? { Caps("application/x-rtp,\(fields),ssrc=(uint)\(ssrc)") }

    private static func vp8(bitsPerSecond: Int) -> MediaFormat {
        MediaFormat(
            elements: """
                videoconvert name=inlet ! vp8enc deadline=1 cpu-used=8 end-usage=cbr target-bitrate=\(bitsPerSecond) \
                keyframe-max-dist=60 threads=2 ! rtpvp8pay name=outlet pt=96 picture-id-mode=15-bit
                """,
            fields: """
                media=video,encoding-name=VP8,payload=96,clock-rate=90000,\
                extmap-\(OutgoingPackets.orientationID)=(string)"\(VideoOrientation.extensionURI)"
                """)
    }

    private static var opus: MediaFormat {
        MediaFormat(
            elements:
                """
                audioconvert name=inlet ! audioresample ! opusenc inband-fec=true packet-loss-percentage=10 \
                ! rtpopuspay name=outlet pt=111
                """,
            fields: "media=audio,encoding-name=OPUS,payload=111,clock-rate=48000,encoding-params=(string)2")
    }

    /// The elements that turn RTP packets of this encoding into raw media, with elements named `inlet` and `outlet`; `nil`
    /// for an unknown encoding.
    static func decoder(of encoding: String) -> String? {
        switch encoding.uppercased() {
        case "VP8":
            "rtpvp8depay name=inlet request-keyframe=true wait-for-keyframe=true ! vp8dec name=outlet"
        case "H264":
            """
            rtph264depay name=inlet request-keyframe=true wait-for-keyframe=true ! h264parse ! avdec_h264 \
            output-corrupt=false ! videoconvert name=outlet
            """
        case "OPUS": "rtpopusdepay name=inlet ! opusdec name=outlet use-inband-fec=true plc=true"
        default: nil
        }
    }
}
