import CGStreamer
import CGStreamerShims

/// A kind of pad that an element has, may get or gives.
public struct PadTemplateInfo: Sendable, Hashable {
    /// When the pad is there.
    public enum Presence: String, Sendable {
        case always
        /// The element adds it when it knows its input, as demultiplexers do.
        case sometimes
        /// A link that names it, or needs one, gets it.
        case request
    }

    /// The pad's name, or a pattern such as `src_%u`.
    public let name: String
    public let direction: Pad.Direction
    public let presence: Presence
    public let caps: Caps
    package let padType: GType

    package init(_ template: UnsafeMutablePointer<GstPadTemplate>) {
        name = String(cString: template.pointee.name_template)
        direction =
            switch template.pointee.direction {
            case GST_PAD_SRC: .source
            case GST_PAD_SINK: .sink
            default: .unknown
            }
        presence =
            switch template.pointee.presence {
            case GST_PAD_SOMETIMES: .sometimes
            case GST_PAD_REQUEST: .request
            default: .always
            }
        caps = Caps(taking: gst_pad_template_get_caps(template))
        padType = cgst_pad_template_type(template)
    }

    /// The property of this template's pads with this name; a compositor's pads have `xpos`, say.
    public func padProperty(_ name: String) -> PropertyInfo? { PropertyInfo.find(name, of: padType) }
    public var padProperties: [PropertyInfo] { PropertyInfo.all(of: padType) }

    /// Whether a pad of this template can have this name. The pattern itself (`src_%u`) asks for any such pad.
    public func matches(_ padName: String) -> Bool {
        padName == name || Self.matches(pattern: name.utf8[...], name: padName.utf8[...])
    }

    /// Patterns hold `%u`, `%d`, `%s` (request pads), and for sometimes pads whatever printf can write: `%01x_%05x`.
    private static func matches(pattern: Substring.UTF8View, name: Substring.UTF8View) -> Bool {
        guard let first = pattern.first else { return name.isEmpty }
        guard first == UInt8(ascii: "%") else {
            return name.first == first && matches(pattern: pattern.dropFirst(), name: name.dropFirst())
        }
        let specification = pattern.dropFirst().drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let rest = specification.dropFirst()
        let accepted: (UInt8) -> Bool =
            switch specification.first {
            case UInt8(ascii: "u"): { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            case UInt8(ascii: "d"): { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-") }
            case UInt8(ascii: "x"), UInt8(ascii: "X"): { Character(UnicodeScalar($0)).isHexDigit }
            case UInt8(ascii: "s"): { _ in true }
            default: { _ in false }
            }
        var length = name.prefix(while: accepted).count
        while length > 0 {
            if matches(pattern: rest, name: name.dropFirst(length)) { return true }
            length -= 1
        }
        return false
    }
}
