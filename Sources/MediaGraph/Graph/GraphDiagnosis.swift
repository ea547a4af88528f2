import GStreamer

extension Graph {
    /// Every problem of a description that can be found without running it, with what the nodes know of their own
    /// properties and handlers; errors and warnings, in the order of the text.
    ///
    /// - Parameter isMadeNext: whether a graph is made of it next. Then files that aren't there are left to the run, a
    ///   description without problems isn't parsed here too, and the elements that it doesn't name are called what
    ///   GStreamer's users expect: `videosource0`.
    /// - Parameter isComplete: whether nobody links anything to it later, as a program may; then elements that the text
    ///   leaves unlinked are told.
    public static func diagnose(
        _ description: Description, variables: [String: String] = [:], isMadeNext: Bool = false,
        isComplete: Bool = true
    ) throws(GraphError) -> [Diagnostic] {
        do { try Nodes.register() } catch { throw .registration(error) }
        let checks = isMadeNext ? NodeChecks.beforeRun : NodeChecks.all
        if isMadeNext {
            let found = description.diagnose(
                with: variables, additionalChecks: checks, parses: false, isComplete: isComplete)
            if found.allSatisfy({ $0.severity != .error }) { return found }
            // What templates can't tell, GStreamer's own parser has the last word on.
        }
        return description.diagnose(with: variables, additionalChecks: checks, isComplete: isComplete)
    }
}

extension Pipeline {
    /// Two linked elements that have no format in common as things stand, with what each side gives and takes, or a device
    /// that takes none; `nil` when every link has one. After a failed negotiation it says where it failed, which the error
    /// itself doesn't: that is posted by the source, wherever it was. To be asked before the pipeline is stopped, while pads
    /// have their caps.
    var formatConflict: String? {
        let conflicts = allElements.flatMap { element in
            element.pads.compactMap { pad -> String? in
                guard pad.direction == .source, let peer = pad.peer, let sink = peer.parent else { return nil }
                // Caps that were refused stay on the pad that sent them.
                let (given, taken) = (pad.currentCaps ?? pad.queryCaps(), peer.queryCaps())
                // Upstream of the conflict, and downstream, a link's caps are just empty.
                guard !given.isEmpty, !taken.isEmpty else { return nil }
                return FormatConflict(from: given, to: taken, filter: nil, labels: (element.name, sink.name))?.text
            }
        }
        return conflicts.last ?? absentSink
    }

    /// `pulsesink` has no error for a device that isn't there: it takes no format.
    private var absentSink: String? {
        for element in allElements where element.isSink {
            guard let device = DeviceFailure.name(of: element),
                element.pads.contains(where: { $0.direction == .sink && $0.queryCaps().isEmpty })
            else { continue }
            return
                "\(element.name): \(device) takes no format, as a device that isn't there does; `mediagraph devices` "
                + "lists those that are"
        }
        return nil
    }
}
