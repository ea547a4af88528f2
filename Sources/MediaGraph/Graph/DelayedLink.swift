import GStreamer

extension Pipeline {
    /// What GStreamer's warning "Delayed linking failed" means: a link of the description waited for a stream that never
    /// came, since the input has none of that kind. `nil` for any other warning. `debug` is the warning's.
    func explanation(ofDelayedLink debug: String) -> String? {
        let pattern = /failed delayed linking .* of \S+ named (\S+) to .* of \S+ named (\S+)/
        guard let match = debug.firstMatch(of: pattern),
            let source = element(named: String(match.1)), let sink = element(named: String(match.2))
        else { return nil }
        let given = Self.mediaTypes(source.pads.filter { $0.direction == .source }.compactMap(\.currentCaps))
        let taken = Self.mediaTypes(sink.pads.filter { $0.direction == .sink }.map { $0.queryCaps() })
        let streams = given.isEmpty ? "no stream" : given.joined(separator: ", ")
        let missing = Self.kind(taken).map { "there is no \($0) stream" } ?? "no stream fits"
        return "\(missing): \(source.name) gives \(streams), \(sink.name) takes \(taken.joined(separator: ", "))"
    }

    private static func mediaTypes(_ caps: [Caps]) -> [String] {
        caps.flatMap(\.mediaTypes).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// "video" or "audio", where all types are of that kind.
    private static func kind(_ types: [String]) -> String? {
        ["video", "audio"].first { kind in !types.isEmpty && types.allSatisfy { $0.hasPrefix(kind + "/") } }
    }
}
