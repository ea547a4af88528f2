import MediaGraphCore

/// The property `memory-mode` of a node. Unless it is set, each receiver has the mode that it needs.
struct MemoryModeSetting: Sendable {
    private var chosen: MemoryMode?

    /// The property's value.
    var value: MemoryMode {
        get { chosen ?? .stack }
        set { chosen = newValue }
    }

    /// Returns the mode for a receiver. One that queues its frames owns them.
    func mode(queues: Bool) -> MemoryMode { chosen ?? (queues ? .heap : .stack) }

    /// Throws `invalidParameter` if the receiver owns its frames, and the property is set to `stack`. `sequence` names
    /// what the receiver is.
    func check(queues: Bool, of node: String, sequence: String) throws(MediaGraphError) {
        guard queues, chosen == .stack else { return }
        throw .invalidParameter(
            .init("\(node)'s memory-mode", expected: "heap, for \(sequence)", actual: MemoryMode.stack.nick))
    }
}
