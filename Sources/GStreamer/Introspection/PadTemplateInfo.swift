import CGStreamer
import CGStreamerShims

/// A pad template of an element (`GstPadTemplate`).
package struct PadTemplateInfo: Sendable, Hashable {
    /// When a pad of the template exists.
    package enum Presence: String, Sendable {
        /// The element always has the pad.
        case always
        /// The element adds the pad when it knows its input, as demuxers do.
        case sometimes
        /// The element adds the pad when a link asks for it.
        case request
    }

    /// The pad's name, or a pattern such as `src_%u`.
    package let name: String
    /// Whether data enters or leaves by the pad.
    package let direction: Pad.Direction
    /// When the pad exists.
    package let presence: Presence
    /// The formats that the pad can carry.
    package let caps: Caps
    /// The type of the pad.
    package let padType: GType

    /// Reads a template.
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

    /// Returns the property with this name of the template's pads, such as `xpos` of a compositor's pads; `nil` if
    /// there is none.
    package func padProperty(_ name: String) -> PropertyInfo? { PropertyInfo.find(name, of: padType) }

    /// All properties of the template's pads, sorted by name.
    package var padProperties: [PropertyInfo] { PropertyInfo.all(of: padType) }

    /// Whether a pad of this template can have this name. The pattern itself, such as `src_%u`, stands for any of its
    /// pads.
    package func matches(_ padName: String) -> Bool {
        padName == name || Self.matches(pattern: name.utf8[...], name: padName.utf8[...])
    }

    /// Compares a name with a pattern. Request pads use `%u`, `%d` and `%s`; sometimes pads any printf format, such as
    /// `%01x_%05x`.
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
