import GStreamer

/// Finds elements that prevent a graph without live sources from playing: it plays only when each sink has its first
/// buffer. Checks only graphs whose sources are all known not to be live.
enum PrerollCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        guard let graph = DescribedBranches(context), isKnownNotToBeLive(graph),
            // This sink makes the whole graph live.
            !context.factories.values.contains(where: { $0.name == "webrtcbin" })
        else { return [] }
        return context.factories.sorted { $0.key < $1.key }.compactMap { index, factory in
            switch factory.name {
            case "valve": closedValve(index, graph)
            case "tee": lookAhead(behind: index, graph)
            default: nil
            }
        }
    }

    private static func isKnownNotToBeLive(_ graph: DescribedBranches) -> Bool {
        let fed = Set(graph.readers.values.joined())
        let sources = graph.context.parsed.elements.indices.filter { !fed.contains($0) && graph.readers[$0] != nil }
        return !sources.isEmpty
            && sources.allSatisfy { index in
                let factory = graph.context.factories[index]?.name ?? ""
                return ["filesrc", "multifilesrc", "videotestsrc", "audiotestsrc"].contains(factory)
                    && !graph.context.sets("is-live", to: true, on: index)
            }
    }

    private static func closedValve(_ index: Int, _ graph: DescribedBranches) -> Problem? {
        let context = graph.context
        guard context.sets("drop", to: true, on: index),
            !context.parsed.elements[index].properties.contains(where: { $0.name == "drop-mode" }),
            let sink = graph.prerollingEnd(behind: index)
        else { return nil }
        return Problem(
            place: .expanded(context.parsed.elements[index].range), severity: .warning,
            message:
                "\(context.label(index)) is closed, so \(context.label(sink)) gets no data and the graph never plays",
            hint: "set drop=false on the valve, or async=false on \(context.label(sink))")
    }

    /// Returns the problem of an encoder that looks ahead: another branch has to hold the frames that the encoder
    /// collects.
    private static func lookAhead(behind tee: Int, _ graph: DescribedBranches) -> Problem? {
        let context = graph.context
        let branches = graph.readers[tee] ?? []
        for branch in branches {
            guard
                let encoder = graph.elements(behind: branch).first(where: { looksAhead($0, context) }),
                graph.prerolls(encoder)
            else { continue }
            for other in branches where other != branch && isSmallQueue(other, context) && graph.waitsForPlaying(other)
            {
                return Problem(
                    place: .expanded(context.parsed.elements[encoder].range), severity: .warning,
                    message:
                        "\(context.label(encoder)) needs many frames before it outputs one; \(context.label(other)) in "
                        + "another branch of \(context.label(tee)) may fill up first, and then the graph never plays",
                    hint:
                        "set tune=zerolatency on the encoder, or max-size-time=0 max-size-buffers=0 max-size-bytes=0 on the queue"
                )
            }
        }
        return nil
    }

    private static func looksAhead(_ index: Int, _ context: CheckContext) -> Bool {
        guard ["x264enc", "x265enc"].contains(context.factories[index]?.name ?? "") else { return false }
        let settings = context.parsed.elements[index].properties
        return !settings.contains { setting in
            switch setting.name {
            case "tune": setting.value.contains("zerolatency")
            case "speed-preset": setting.value == "ultrafast"
            case "rc-lookahead": (Int(setting.value) ?? 40) < 20
            default: false
            }
        }
    }

    /// Returns whether the element is a queue with GStreamer's default limits: 1 s, 10 MB and 200 buffers.
    private static func isSmallQueue(_ index: Int, _ context: CheckContext) -> Bool {
        guard context.factories[index]?.name == "queue" else { return false }
        return !context.parsed.elements[index].properties.contains {
            $0.name.hasPrefix("max-size") || $0.name == "leaky"
        }
    }
}
