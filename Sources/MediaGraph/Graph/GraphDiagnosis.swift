import GStreamer
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements

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
        _ description: ResolvedDescription, isMadeNext: Bool = false, isComplete: Bool = true
    ) throws(GraphError) -> [Diagnostic] {
        try diagnose(description, isMadeNext: isMadeNext, isComplete: isComplete, besides: [])
    }

    /// The same for a description with values for its variables.
    public static func diagnose(
        _ description: Description, variables: [String: String] = [:], isMadeNext: Bool = false,
        isComplete: Bool = true
    ) throws(GraphError) -> [Diagnostic] {
        try diagnose(description.resolved(with: variables), isMadeNext: isMadeNext, isComplete: isComplete)
    }

    /// - Parameter files: those that the program uses itself.
    package static func diagnose(
        _ description: ResolvedDescription, isMadeNext: Bool = false, isComplete: Bool = true, besides files: [FileUse]
    ) throws(GraphError) -> [Diagnostic] {
        do { try Nodes.register() } catch { throw .registration(error) }
        let checks = NodeChecks.all(isBeforeRun: isMadeNext, isComplete: isComplete, besides: files)
        if isMadeNext {
            let found = description.diagnose(additionalChecks: checks, parses: false, isComplete: isComplete)
            if found.allSatisfy({ $0.severity != .error }) { return found }
            // What templates can't tell, GStreamer's own parser has the last word on.
        }
        return description.diagnose(additionalChecks: checks, isComplete: isComplete)
    }
}

extension Graph {
    /// Two linked elements that have no format in common as things stand, with what each side gives and takes, or a device
    /// that takes none; `nil` when every link has one. After a failed negotiation it says where it failed, which the error
    /// itself doesn't: that is posted by the source, wherever it was. To be asked before the pipeline is stopped, while pads
    /// have their caps.
    var currentFormatConflict: String? {
        let conflicts = pipeline.allElements.flatMap { element in
            element.pads.compactMap { pad -> String? in
                guard pad.direction == .source, let peer = pad.neighbour else { return nil }
                return formatConflict(from: pad, to: peer)
            }
        }
        return conflicts.last ?? absentSink
    }

    /// What a link's sides give and take as things stand, where they have no format in common.
    func formatConflict(from source: Pad, to sink: Pad) -> String? {
        guard let giver = source.parent, let taker = sink.parent else { return nil }
        // Inside of a decoder that is one element in the description: what it takes follows from what it may give.
        guard owner(of: giver) != owner(of: taker) else { return nil }
        // Caps that were refused stay on the pad that sent them.
        let (given, taken) = (source.currentCaps ?? source.queryCaps(), sink.queryCaps())
        // Upstream of the conflict, and downstream, a link's caps are just empty.
        guard !given.isEmpty, !taken.isEmpty else { return nil }
        return FormatConflict(from: given, to: taken, filter: nil, labels: (label(giver), label(taker)))?.text
    }

    /// As the description knows it: decoders make elements of their own, and a filter is written as its caps.
    private func label(_ element: Element) -> String {
        let owner = owner(of: element)
        guard owner.factoryName == "capsfilter", let caps = try? owner.property("caps", as: Caps.self) else {
            return owner.name
        }
        return "the filter \(FormatConflict.short(caps.description))"
    }

    /// `pulsesink` has no error for a device that isn't there: it takes no format.
    private var absentSink: String? {
        for element in pipeline.allElements where element.isSink {
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
