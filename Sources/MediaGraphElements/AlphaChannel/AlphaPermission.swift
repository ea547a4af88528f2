import GStreamer

/// The query with which an `alphachannel` asks downstream whether the session allows alpha. `mediasession` answers it.
/// Without an answer, as outside a session, alpha is allowed.
package enum AlphaPermission {
    private static let queryName = "mediagraph-alpha-permission"

    /// Answers the query at the session's pad. `refusal` returns why alpha isn't allowed, or `nil` if it is.
    package static func answer(at pad: Pad, _ refusal: @escaping @Sendable () -> String?) {
        pad.answer(queryName) { [("refusal", refusal() ?? "")] }
    }

    /// Sends the query with `ask`, from an `alphachannel`. Returns why alpha isn't allowed; `nil` if it is.
    static func refusal(_ ask: (String) -> Structure?) -> String? {
        guard let refusal: String = ask(queryName)?["refusal"], !refusal.isEmpty else { return nil }
        return refusal
    }
}
