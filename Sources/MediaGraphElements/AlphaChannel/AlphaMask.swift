import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// The stock elements, between two converters, that make the alpha plane of an `alphachannel`'s frames.
///
/// They run on the streaming thread as one function from frame to frame. A mask must therefore output one frame per
/// input frame, at once.
package struct AlphaMask: Sendable, Equatable {
    /// The elements in `gst-launch-1.0` syntax; empty to keep the alpha of the incoming frames.
    let description: String

    package init(description: String) { self.description = description }

    /// Whether upstream provides the alpha.
    var usesUpstreamAlpha: Bool { description.allSatisfy(\.isWhitespace) }

    /// The formats with alpha that a mask may output.
    static let alphaCaps = Caps(
        "video/x-raw, format={ A420, AYUV, RGBA, BGRA, ARGB, ABGR, A422_10LE, A444_10LE, AYUV64, ARGB64 }")!.constant

    /// Returns a filter whose frames have the caps `output`, which must be A420.
    func filter(output: Caps) throws(BufferFilterError) -> BufferFilter {
        guard !usesUpstreamAlpha else { return try Self.converter(output: output) }
        return try BufferFilter(
            parsing: """
                videoconvert ! \(description) ! capsfilter caps="\(Self.alphaCaps)" ! videoconvert !
                capsfilter caps="\(output.onlyFormatAndColor)"
                """)
    }

    /// Returns a filter without a mask whose frames have the caps `output`.
    static func converter(output: Caps) throws(BufferFilterError) -> BufferFilter {
        try BufferFilter(parsing: "videoconvert ! capsfilter caps=\"\(output.onlyFormatAndColor)\"")
    }

    /// Checks with a small frame that the mask's elements are installed and make an alpha plane.
    package func check() throws(MediaGraphError) {
        let (input, output) = (Self.testFormat(.i420), Self.testFormat(.a420))
        guard let frame = Buffer(filledWith: 128, count: input.size) else {
            throw .allocationFailed(.init("mask \"\(description)\"", actual: "no memory for a test frame"))
        }
        do throws(BufferFilterError) {
            _ = try filter(output: output.caps).apply(frame, caps: input.caps).access.size
        } catch {
            throw .unsupported(
                .init("mask \"\(description)\"", actual: "doesn't make an alpha plane: \(error.reason)"))
        }
    }

    private static func testFormat(_ format: VideoFormat) -> VideoInfo {
        VideoInfo(format, width: 64, height: 64, framesPerSecond: Fraction(30, 1))!
    }
}

extension Caps {
    /// The caps with the format and color fields only, without size and rate, for a capsfilter.
    fileprivate var onlyFormatAndColor: Caps {
        let fields = ["format", "colorimetry", "chroma-site"].compactMap { name in
            self[0][name, as: String.self].map { "\(name)=(string)\($0)" }
        }
        return Caps((["video/x-raw"] + fields).joined(separator: ", "))!
    }
}

extension BufferFilterError {
    /// The error's reason without the description of the whole filter, which includes elements that the user didn't
    /// write.
    fileprivate var reason: String {
        switch self {
        case .cannotStart(_, let reason): reason
        case .wrongPads: "it needs exactly one unlinked sink pad and one unlinked src pad"
        case .failed(_, let flow, let reason): reason.isEmpty ? "\(flow)" : reason
        case .refused(_, let caps, _): "it doesn't accept \(caps)"
        case .notOneBuffer(_, let count): "it outputs \(count) frames for one input frame"
        case .noSuchElement: description
        }
    }
}

/// Checks that the elements in `mask=` exist and are written correctly.
struct MaskCheck: DescriptionCheck {
    func problems(in element: DescribedElement) -> [Diagnostic] {
        guard element.factory == "alphachannel", let mask = element.property("mask"), let text = mask.value,
            !text.allSatisfy(\.isWhitespace), !text.utf8.contains(0)
        else { return [] }
        let error = NestedDescriptionCheck.firstError(in: text)
        return error.map { [mask.diagnostic("in mask: \($0.message)", hint: $0.hint)] } ?? []
    }
}

extension AlphaChannelElement {
    static var checks: [any DescriptionCheck] { [MaskCheck()] }
}
