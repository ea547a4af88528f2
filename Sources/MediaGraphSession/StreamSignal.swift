extension StreamReader {
    /// A change of the stream, in order with the buffers. If a reader is stuck, outdated signals are removed; no others
    /// are lost.
    package enum Signal: Sendable {
        /// A user's stream begins, for the first time or again.
        case begin
        case format(StreamFormat)
        case timing(StreamTiming)
        /// The stream is on or off.
        case status(Bool)
        /// The frames that follow have an alpha channel, or no longer do.
        case alpha(Bool)
        /// The stream's buffers can't be shown, for this reason.
        case refused(String)

        /// Whether the signals in `later`, which follow without a frame in between, make this one irrelevant. After
        /// `begin`, only the earlier status matters.
        func isOutdated(by later: [Signal]) -> Bool {
            switch self {
            case .begin: later.contains { if case .begin = $0 { true } else { false } }
            case .format:
                later.contains { if case .begin = $0 { true } else if case .format = $0 { true } else { false } }
            case .timing:
                later.contains { if case .begin = $0 { true } else if case .timing = $0 { true } else { false } }
            case .alpha:
                later.contains { if case .begin = $0 { true } else if case .alpha = $0 { true } else { false } }
            case .refused:
                later.contains { if case .begin = $0 { true } else if case .refused = $0 { true } else { false } }
            case .status:
                later.lazy.compactMap { signal -> Bool? in
                    switch signal {
                    case .status: true
                    case .begin: false
                    default: nil
                    }
                }.first ?? false
            }
        }
    }
}
