import MediaGraphDescription

/// `mask=` must be a description whose elements are here.
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
