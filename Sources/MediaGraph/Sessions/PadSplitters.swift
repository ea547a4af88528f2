import GStreamer
import MediaGraphCore
import Synchronization

/// The elements between a session's source pads and their readers, where a pad has a decoder, an observer or two readers:
///
/// ```
/// session.video_bob ─▶ decoder ─▶ frameobserver ─▶ tee ─┬─▶ rawdatapipe, while somebody subscribes
///                                                       └─▶ canvas
/// ```
/// A pad without a splitter is linked to its only reader. Used on the graph's control queue.
final class PadSplitters: Sendable {
    private struct Splitter: Sendable {
        let tee: Element
        let decoder: PerStreamBin?
        var observer: Element?
        /// Whether the splitter stays without readers, because the observed user is in the room.
        var isKept = false
        /// The tee's source pads, by the names of the elements that they lead to.
        var outlets: [String: Pad] = [:]
        /// Whether the session's pad has been linked to the splitter.
        var isFed = false

        /// The element that the session's pad is linked to.
        var inlet: Element { decoder?.bin ?? observer ?? tee }

        mutating func set(observer: Element?) {
            self.observer = observer
            isKept = observer != nil
        }
    }

    /// The splitters by the names of the session's pads.
    private let splitters = Mutex<[String: Splitter]>([:])
    /// The decoders that are being removed: one may still fail.
    private let removedDecoders = Mutex<[PerStreamBin]>([])
    private let decoder: String?

    /// Makes the splitters of a session, which decode each pad's video with the elements of `decoder`.
    init(decoder: String? = nil) { self.decoder = decoder }

    private static func teeName(_ pad: String) -> String { "split_\(pad)" }

    // MARK: Observers

    /// Returns whether the session's pad has an observer.
    func hasObserver(_ pad: String) -> Bool { splitters.withLock { $0[pad]?.observer != nil } }

    /// Sets whether a pad's observer stays while nobody reads the pad. If it doesn't, removes it once there are no readers.
    func setObserverKept(_ isKept: Bool, behind pad: String, _ sessionGraph: SessionGraph) {
        splitters.withLock { $0[pad]?.isKept = isKept }
        removeIfUnused(pad, sessionGraph)
    }

    /// Adds an observer behind a pad that has none. If data may flow already, returns the change of links that the caller must
    /// still make.
    func add(
        observer: Element, behind pad: String, _ sessionGraph: SessionGraph
    ) throws(MediaGraphError) -> Relinking? {
        guard let inlet = observer.staticPad("sink"), let outlet = observer.staticPad("src") else {
            throw .internalError(.init(observer.name, actual: "has no pads"))
        }
        guard let splitter = splitters.withLock({ $0[pad] }) else {
            try addSplitter(behind: pad, observer, sessionGraph)
            return feed(pad, sessionGraph)
        }
        sessionGraph.add(observer)
        splitters.withLock { $0[pad]?.set(observer: observer) }
        guard let source = splitter.decoder?.bin.staticPad("src") ?? sessionGraph.element.staticPad(pad),
            let next = splitter.tee.staticPad("sink")
        else { return nil }
        return Relinking(source: source) {
            source.unlink(from: next)
            _ = source.link(to: inlet)
            _ = outlet.link(to: next)
        }
    }

    /// Adds a splitter, which the session's pad isn't linked to yet.
    private func addSplitter(
        behind pad: String, _ observer: Element?, _ sessionGraph: SessionGraph
    ) throws(MediaGraphError) {
        let tee = try SessionGraph.makeTee(Self.teeName(pad))
        let decoder = try decoder.map { description throws(MediaGraphError) in
            // Weak, because the decoder holds this function.
            try Self.makeDecoder(description, "decoder_\(pad)") { [weak self, weak graph = sessionGraph.graph] old in
                graph?.enqueue { [weak self] in self?.splitters.withLock { $0[pad]?.decoder }?.remove(old) }
            }
        }
        sessionGraph.add(tee)
        if let observer { sessionGraph.add(observer) }
        if let decoder { sessionGraph.add(decoder.bin) }
        let chain = [decoder?.bin, observer, tee].compactMap(\.self)
        for (element, next) in zip(chain, chain.dropFirst()) where !element.link(to: next) {
            throw .internalError(.init(element.name, actual: "can't be linked"))
        }
        splitters.withLock {
            $0[pad] = Splitter(tee: tee, decoder: decoder, observer: observer, isKept: observer != nil)
        }
    }

    /// Links the session's pad to its new splitter. If the pad has a reader, returns the change of links that the caller must
    /// still make.
    private func feed(_ pad: String, _ sessionGraph: SessionGraph) -> Relinking? {
        let splitter = splitters.withLock { splitters in
            defer { splitters[pad]?.isFed = true }
            return splitters[pad]
        }
        guard let splitter, !splitter.isFed else { return nil }
        guard let source = sessionGraph.element.staticPad(pad), let inlet = splitter.inlet.staticPad("sink") else {
            sessionGraph.linkDirectly(pad, to: splitter.inlet, "sink")
            return nil
        }
        let reader = source.peer.flatMap(\.parent)
        let outlet = reader.flatMap { self.outlet(pad, to: $0) }
        return Relinking(source: source) {
            let next = source.peer
            if let next { source.unlink(from: next) }
            _ = source.link(to: inlet)
            // The reader may have been removed in the meantime.
            if let next, let outlet, outlet.parent != nil { _ = outlet.link(to: next) }
            splitter.tee.staticPad("sink")?.sendUpstream(Resolution.demandChanged)
        }
    }

    /// Removes the observers of pads without readers, and prepares the removal of the others. Returns the changes of links
    /// to make, and the elements to remove after these changes.
    func removeObservers(_ sessionGraph: SessionGraph) -> (relinkings: [Relinking], elements: [Element]) {
        var (relinkings, elements): ([Relinking], [Element]) = ([], [])
        for (pad, splitter) in splitters.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            guard let observer = splitter.observer else { continue }
            guard !splitter.outlets.isEmpty else {
                remove(pad, splitter, sessionGraph)
                continue
            }
            elements.append(observer)
            splitters.withLock { $0[pad]?.set(observer: nil) }
            if let relinking = Relinking(removing: observer) { relinkings.append(relinking) }
        }
        return (relinkings, elements)
    }

    // MARK: Readers

    /// Links one more reader to the splitter's tee with `link`. If the session's pad has a reader but no splitter, inserts a tee
    /// first. Returns false if the pad has neither, and needs no decoder; then the caller must link it directly.
    func add(
        reader: Element, behind pad: String, _ sessionGraph: SessionGraph, link: (_ outlet: Pad) -> Void
    ) throws(MediaGraphError) -> Bool {
        if splitters.withLock({ $0[pad] }) == nil {
            guard decoder != nil || sessionGraph.element.staticPad(pad) != nil else { return false }
            try addSplitter(behind: pad, nil, sessionGraph)
        }
        guard let outlet = outlet(pad, to: reader) else { return false }
        link(outlet)
        // Only now, so that the reader gets the first frame.
        feed(pad, sessionGraph)?.start()
        // Makes a share resend its last frame, which this reader may have missed.
        splitters.withLock { $0[pad]?.tee }?.staticPad("sink")?.sendUpstream(Resolution.demandChanged)
        return true
    }

    /// Returns a pad downstream of the session's pad for this reader; `nil` if the session's pad has no splitter.
    private func outlet(_ pad: String, to reader: Element) -> Pad? {
        guard let outlet = splitters.withLock({ $0[pad] })?.tee.requestTeeOutlet() else { return nil }
        splitters.withLock { $0[pad]?.outlets[reader.name] = outlet }
        return outlet
    }

    /// Releases the outlet of a reader. Returns false if the session's pad has no splitter.
    func release(_ pad: String, to reader: Element, _ sessionGraph: SessionGraph) -> Bool {
        let (splitter, outlet) = splitters.withLock { splitters in
            (splitters[pad], splitters[pad]?.outlets.removeValue(forKey: reader.name))
        }
        guard let splitter else { return false }
        if let outlet {
            splitter.tee.releasePad(outlet)
            // The others may need less than this reader.
            splitter.tee.staticPad("sink")?.sendUpstream(Resolution.demandChanged)
        }
        // So a change of links that still waits for the current frame finds no reader.
        if let source = sessionGraph.element.staticPad(pad), let next = source.peer, next.parent == reader {
            source.unlink(from: next)
        }
        removeIfUnused(pad, sessionGraph)
        return true
    }

    private func removeIfUnused(_ pad: String, _ sessionGraph: SessionGraph) {
        guard let splitter = splitters.withLock({ $0[pad] }), !splitter.isKept, splitter.outlets.isEmpty else { return }
        remove(pad, splitter, sessionGraph)
    }

    private func remove(_ pad: String, _ splitter: Splitter, _ sessionGraph: SessionGraph) {
        if let decoder = splitter.decoder { removedDecoders.withLock { $0.append(decoder) } }
        defer { removedDecoders.withLock { $0.removeAll { $0 === splitter.decoder } } }
        splitters.withLock { $0[pad] = nil }
        sessionGraph.releasePad(pad)
        for element in [splitter.decoder?.bin, splitter.observer, splitter.tee].compactMap(\.self) {
            sessionGraph.remove(element)
        }
    }

    // MARK: Decoders

    /// Throws `invalidParameter` if the description of a decoder is invalid.
    static func validate(decoder: String) throws(MediaGraphError) {
        _ = try makeDecoder(decoder, "decoder") { _ in }
    }

    private static func makeDecoder(
        _ description: String, _ name: String, _ retire: @escaping @Sendable (Element) -> Void
    ) throws(MediaGraphError) -> PerStreamBin {
        do throws(GLibError) { return try PerStreamBin(name, parsing: description, retire: retire) } catch {
            throw .invalidParameter(.init("the video decoder \"\(description)\"", actual: error.message))
        }
    }

    /// Takes a decoder out of its stream, until the stream begins anew, if `element`, which has failed, is part of it. Returns
    /// whether it is part of one.
    func forgetDecoder(ifItContains element: Element) -> Bool {
        let decoders = removedDecoders.withLock { $0 } + splitters.withLock { $0.values.compactMap(\.decoder) }
        return decoders.contains { $0.detach(ifContaining: element) }
    }

    /// Removes the elements of all decoders, which are made anew with the next stream.
    func resetDecoders() {
        for decoder in splitters.withLock({ $0.values.compactMap(\.decoder) }) { decoder.reset() }
    }

    // MARK: As a description

    /// Returns the splitters as descriptions, with `observation`'s text for each observer.
    func texts(_ observation: SessionObservation?) -> [String] {
        splitters.withLock { $0 }.sorted { $0.key < $1.key }.map { pad, splitter in
            let observer = splitter.observer.flatMap { observation?.text(.preRenderer, name: $0.name) }
            return
                ([
                    "session.\(pad)", splitter.decoder == nil ? nil : decoder, observer,
                    "tee name=\(Self.teeName(pad)) allow-not-linked=true",
                ] as [String?])
                .compactMap(\.self).joined(separator: " ! ")
        }
    }

    /// Returns, as text, the pad that readers of the session's pad are linked to.
    func sourceText(_ pad: String) -> String {
        splitters.withLock { $0[pad] } == nil ? "session.\(pad)" : "\(Self.teeName(pad))."
    }
}
