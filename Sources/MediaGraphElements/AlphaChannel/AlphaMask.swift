import GStreamer
import MediaGraphCore

/// What an `alphachannel` makes a frame's alpha plane with: stock elements between two converters.
///
/// They run in the streaming thread as one function from frame to frame, so a mask gives one frame for each at once.
package struct AlphaMask: Sendable, Equatable {
    /// `gst-launch-1.0` syntax; empty: the alpha that frames come with.
    let description: String

    package init(description: String) { self.description = description }

    /// Whether frames are expected to bring their alpha.
    var isUpstreams: Bool { description.allSatisfy(\.isWhitespace) }

    /// Formats with alpha, whichever a mask's element prefers.
    static let alphaCaps = Caps(
        "video/x-raw, format={ A420, AYUV, RGBA, BGRA, ARGB, ABGR, A422_10LE, A444_10LE, AYUV64, ARGB64 }")!.constant

    /// Makes frames of `output`, which is A420.
    func filter(output: Caps) throws(BufferFilterError) -> BufferFilter {
        guard !isUpstreams else { return try Self.converter(output: output) }
        return try BufferFilter(
            parsing: """
                videoconvert ! \(description) ! capsfilter caps="\(Self.alphaCaps)" ! videoconvert !
                capsfilter caps="\(output.onlyFormatAndColor)"
                """)
    }

    /// Makes frames of `output` without a mask.
    static func converter(output: Caps) throws(BufferFilterError) -> BufferFilter {
        try BufferFilter(parsing: "videoconvert ! capsfilter caps=\"\(output.onlyFormatAndColor)\"")
    }

    /// Whether its elements are on this machine and make an alpha plane: tried with a small frame.
    package func check() throws(MediaGraphError) {
        let (input, output) = (Self.trial(.i420), Self.trial(.a420))
        guard let frame = Buffer(filledWith: 128, count: input.size) else {
            throw .allocationFailed(.init("a frame to try the mask with"))
        }
        do throws(BufferFilterError) {
            _ = try filter(output: output.caps).apply(frame, caps: input.caps).access.size
        } catch {
            throw .unsupported(
                .init("mask \"\(description)\"", expected: "elements that give alpha", actual: error.reason))
        }
    }

    private static func trial(_ format: VideoFormat) -> VideoInfo {
        VideoInfo(format, width: 64, height: 64, framesPerSecond: Fraction(30, 1))!
    }
}

extension Caps {
    /// Without size, rate and the like, for a caps filter.
    fileprivate var onlyFormatAndColor: Caps {
        let fields = ["format", "colorimetry", "chroma-site"].compactMap { name in
            self[0][name, as: String.self].map { "\(name)=(string)\($0)" }
        }
        return Caps((["video/x-raw"] + fields).joined(separator: ", "))!
    }
}

extension BufferFilterError {
    /// Without the description of the whole filter, which the user hasn't written.
    fileprivate var reason: String {
        switch self {
        case .cannotStart(_, let reason): reason
        case .wrongPads: "not one sink and one src pad that are open"
        case .failed(_, let flow, let reason): reason.isEmpty ? "\(flow)" : reason
        case .refused(_, let caps, _): "\(caps) is refused"
        case .notOneBuffer(_, let count): "\(count) frames for one"
        case .noSuchElement: description
        }
    }
}
