/// A token of gst-launch's syntax, with its place in the expanded text.
struct Token {
    enum Kind {
        /// `name=value`; the value still has its quotes and backslashes.
        case assignment(name: Range<Int>, value: Range<Int>)
        /// `@preset=value`
        case preset(value: Range<Int>)
        /// `.pad`, after or before the element whose pad it is
        case padReference(Range<Int>)
        /// `element.` or `element.pad`
        case reference(element: Range<Int>, pad: Range<Int>?)
        /// `bin.(`, with the factory's name
        case binOpening(factory: Range<Int>)
        case identifier
        /// `!`, or `:` which links all pads, with the caps filter if there is one
        case link(all: Bool, caps: Range<Int>?)
        case uri
        /// An operator by itself, or a byte that begins nothing
        case character(UInt8)
    }

    let kind: Kind
    let range: Range<Int>

    func isCharacter(_ character: Unicode.Scalar) -> Bool {
        if case .character(let byte) = kind { byte == UInt8(ascii: character) } else { false }
    }

    var isLink: Bool { if case .link = kind { true } else { false } }
}
