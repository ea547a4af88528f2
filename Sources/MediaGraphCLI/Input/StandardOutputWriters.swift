import MediaGraph

/// The elements of a description that write to standard output.
struct StandardOutputWriters {
    /// Of what kind they are.
    let factories: Set<String>
    /// An error for each, for a command that needs standard output itself.
    let diagnostics: [Diagnostic]

    init(_ description: ResolvedDescription) {
        let writers = description.elements.compactMap { element in
            StandardStream.output.use(by: element).map { (element, $0) }
        }
        factories = Set(writers.map(\.0.factory))
        diagnostics = writers.map { element, use in
            element.diagnostic(
                at: use.property, "\(element.factory) writes to standard output, where --json has its lines",
                hint: "give it a file: \(use.instead)")
        }
    }
}
