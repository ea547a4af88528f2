import MediaGraph

/// The elements of a description that read standard input, which only one can: each of several would get a part of it.
struct StandardInputReaders {
    /// An error for each that isn't the only one.
    let diagnostics: [Diagnostic]

    /// - Parameter other: what reads it too, such as `--control -`; `nil`: nothing.
    init(_ description: ResolvedDescription, beside other: String? = nil) {
        var reader = other
        diagnostics = description.elements.compactMap { element in
            guard let use = StandardStream.input.use(by: element) else { return nil }
            defer { reader = reader ?? "another \(element.factory)" }
            return reader.map {
                element.diagnostic(
                    at: use.property, "\(element.factory) reads standard input, which \($0) reads already",
                    hint: "give it a file or a FIFO: \(use.instead)")
            }
        }
    }
}
