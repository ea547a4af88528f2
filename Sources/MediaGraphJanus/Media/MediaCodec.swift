import GStreamer
import MediaGraphSession
import WebRTC

/// A codec in which streams cross the server. The raw value is its encoding name in SDP.
enum MediaCodec: String, Sendable {
    case vp8 = "VP8"
    case h264 = "H264"
    case opus = "OPUS"

    /// The codec of encoded media with these caps; `nil` if they are raw, or encoded in another one.
    init?(encoded caps: Caps) {
        switch Set(caps.mediaTypes) {
        case ["video/x-vp8"]: self = .vp8
        case ["video/x-h264"]: self = .h264
        case ["audio/x-opus"]: self = .opus
        default: return nil
        }
    }

    var isSound: Bool { self == .opus }

    // MARK: Sending

    /// The element in front of the payloader. For H.264, it gives each key frame its parameter sets, for receivers that begin
    /// later. The payloader would do that for each slice, and receivers would take the slices for frames.
    var parser: String? { self == .h264 ? "h264parse config-interval=-1" : nil }

    /// The element that makes RTP packets of encoded media.
    var payloader: String {
        switch self {
        case .vp8: "rtpvp8pay pt=96 picture-id-mode=15-bit"
        case .h264: "rtph264pay pt=97 aggregate-mode=zero-latency"
        case .opus: "rtpopuspay pt=111"
        }
    }

    /// The fields of an m-line's caps. Each codec has a payload type of its own, because m-lines share a transport.
    var fields: String {
        let video =
            "clock-rate=90000,extmap-\(OutgoingPackets.orientationID)=(string)\"\(VideoOrientation.extensionURI)\""
        return switch self {
        case .vp8: "media=video,encoding-name=VP8,payload=96,\(video)"
        case .h264: "media=video,encoding-name=H264,payload=97,packetization-mode=(string)1,\(video)"
        case .opus: "media=audio,encoding-name=OPUS,payload=111,clock-rate=48000,encoding-params=(string)2"
        }
    }

    // MARK: Receiving

    /// The elements that take encoded media out of RTP packets, one frame a buffer.
    var depayloader: String {
        switch self {
        case .vp8: "rtpvp8depay request-keyframe=true wait-for-keyframe=true"
        case .h264:
            """
            rtph264depay request-keyframe=true wait-for-keyframe=true ! h264parse \
            ! capsfilter caps="video/x-h264,stream-format=(string)byte-stream,alignment=(string)au"
            """
        case .opus: "rtpopusdepay"
        }
    }

    /// The elements that decode encoded media.
    var decoder: String {
        switch self {
        case .vp8: "vp8dec"
        case .h264: "avdec_h264 output-corrupt=false ! videoconvert"
        case .opus: "opusdec use-inband-fec=true plc=true"
        }
    }
}
