import MediaGraphCore

/// Counts blocks and does nothing else: `virtualspeaker handler=count`. The node's `stats` contain the number.
struct CountSpeaker: VirtualSpeaker, NamedHandler {
    static let name = "count"
    static let summary = "Counts blocks and does nothing else"

    init(options: HandlerOptions) throws {}
}
