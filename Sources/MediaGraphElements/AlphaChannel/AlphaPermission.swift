import GStreamer

/// Whether a session allows the alpha channel: what an `alphachannel` asks of whatever it leads to, through the elements
/// between, and `mediasession` answers. Where nobody does, as outside of a session, there is nobody to forbid it.
package enum AlphaPermission {
    private static let question = "mediagraph-alpha-permission"

    /// At the session's pad: `nil` permits, and else it is why not.
    package static func answer(at pad: Pad, _ refusal: @escaping @Sendable () -> String?) {
        pad.answer(question) { [("refusal", refusal() ?? "")] }
    }

    /// At the `alphachannel`'s.
    static func refusal(_ ask: (String) -> Structure?) -> String? {
        guard let refusal: String = ask(question)?["refusal"], !refusal.isEmpty else { return nil }
        return refusal
    }
}
