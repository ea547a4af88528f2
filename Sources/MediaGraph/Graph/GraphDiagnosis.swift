import Dispatch
import GStreamer
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements

extension Graph {
    /// Returns every error and warning that can be found in a description without running it, in the order of the text.
    /// Includes the nodes' own checks of their properties and handlers.
    ///
    /// - Parameters:
    ///   - description: The description to check.
    ///   - isMadeNext: Whether a graph is made from the description next. If so, missing files are left for the run to
    ///     report, and a description without problems isn't parsed here as well, so that its unnamed elements get the
    ///     names that GStreamer's users expect, such as `videosource0`.
    ///   - isComplete: Whether the program links nothing to the graph later. If so, elements left unlinked are
    ///     reported.
    public static func diagnose(
        _ description: ResolvedDescription, isMadeNext: Bool = false, isComplete: Bool = true
    ) throws(GraphError) -> [Diagnostic] {
        try diagnose(description, isMadeNext: isMadeNext, isComplete: isComplete, besides: [])
    }

    /// Returns every error and warning that can be found in a description with these values for its variables.
    public static func diagnose(
        _ description: Description, variables: [String: String] = [:], isMadeNext: Bool = false,
        isComplete: Bool = true
    ) throws(GraphError) -> [Diagnostic] {
        // The parser asks the nodes which pads are named after users.
        do { try Nodes.register() } catch { throw .registration(error) }
        return try diagnose(description.resolved(with: variables), isMadeNext: isMadeNext, isComplete: isComplete)
    }

    /// - Parameter files: The files that the program itself uses.
    package static func diagnose(
        _ description: ResolvedDescription, isMadeNext: Bool = false, isComplete: Bool = true, besides files: [FileUse]
    ) throws(GraphError) -> [Diagnostic] {
        do { try Nodes.register() } catch { throw .registration(error) }
        let checks = NodeChecks.all(isBeforeRun: isMadeNext, isComplete: isComplete, besides: files)
        if isMadeNext {
            let found = description.diagnose(additionalChecks: checks, parses: false, isComplete: isComplete)
            if found.allSatisfy({ $0.severity != .error }) { return found }
            // Pad templates can't show whether each reported problem is real. The full check below lets GStreamer's
            // parser decide.
        }
        let factories = description.factories
        return description.diagnose(additionalChecks: checks, isComplete: isComplete) { text in
            ScreenTurn.make(factories, within: ScreenTurn.graphTimeLimit) { DescriptionProbe.parse(text) }
        }
    }
}

extension Graph {
    /// Why negotiation failed: two linked elements that have no format in common, with the formats of both, or a device
    /// that accepts no format. `nil` if negotiation didn't fail or the cause isn't known.
    public var formatConflict: String? {
        get async {
            await withCheckedContinuation { continuation in
                control.async { [self] in continuation.resume(returning: conflict.withLock { $0 }) }
            }
        }
    }

    /// Two linked elements that currently have no format in common, with the formats of both, or a device that accepts
    /// no format; `nil` if there is neither.
    ///
    /// After a failed negotiation this shows the link where it failed. The error message doesn't, because the source
    /// posts it wherever the conflict is. Get this before the pipeline stops, while pads still have their caps.
    var currentFormatConflict: String? {
        let conflicts = pipeline.allElements.flatMap { element in
            element.pads.compactMap { pad -> String? in
                guard pad.direction == .source, let peer = pad.neighbor else { return nil }
                return formatConflict(from: pad, to: peer)
            }
        }
        return conflicts.last ?? absentSink
    }

    /// Describes the formats of both sides of a link that currently have none in common; `nil` if they have one.
    func formatConflict(from source: Pad, to sink: Pad) -> String? {
        guard let upstream = source.parent, let downstream = sink.parent else { return nil }
        // Links inside one element of the description, such as decodebin, only reflect a conflict elsewhere.
        guard owner(of: upstream) != owner(of: downstream) else { return nil }
        // Refused caps stay on the pad that sent them.
        let (given, taken) = (source.currentCaps ?? source.queryCaps(), sink.queryCaps())
        // Empty caps only mean that the conflict is further upstream or downstream.
        guard !given.isEmpty, !taken.isEmpty else { return nil }
        return FormatConflict(from: given, to: taken, filter: nil, labels: (label(upstream), label(downstream)))?.text
    }

    /// Returns an element's name as the description's author knows it: the name of the element that contains it, such
    /// as a decoder, or, for a caps filter, its caps.
    private func label(_ element: Element) -> String {
        let owner = owner(of: element)
        guard owner.factoryName == "capsfilter", let caps = try? owner.property("caps", as: Caps.self) else {
            return owner.name
        }
        return "the filter \(FormatConflict.short(caps.description))"
    }

    /// A message about a sink whose device probably doesn't exist. `pulsesink` posts no error for that; it accepts no
    /// format.
    private var absentSink: String? {
        for element in pipeline.allElements where element.isSink {
            guard let device = DeviceFailure.name(of: element),
                element.pads.contains(where: { $0.direction == .sink && $0.queryCaps().isEmpty })
            else { continue }
            return
                "\(element.name): \(device) accepts no format, so it may not exist; `mediagraph devices` lists the available "
                + "devices"
        }
        return nil
    }
}
