import GStreamer
import MediaGraphDescription
import MediaGraphSession
import Synchronization

/// The observers of the other users' video, one for each, in front of whoever reads it:
///
/// ```
/// session.video_bob ─▶ frameobserver ─▶ tee ─▶ rawdatapipe, while somebody subscribes
/// ```
/// Changed on the graph's queue; one goes when its user has gone and nobody subscribes any more.
final class RemoteObservers: Sendable {
    private struct Chain: Sendable {
        let observer: Element
        let tee: Element
        var isPresent = true

        var outlets: [Pad] { tee.pads.filter { $0.direction == .source } }
    }

    private let observation: SessionObservation
    /// By the session's pad.
    private let chains = Mutex<[String: Chain]>([:])
    let session = Mutex(WeakSession(nil))

    /// `nil` where nobody observes.
    init?(_ context: SessionContext) {
        guard let observation = SessionObservation(context), observation.positions.contains(.preRenderer) else {
            return nil
        }
        self.observation = observation
    }

    // MARK: Users, on the graph's queue

    func joined(_ user: String, _ place: SessionPlace) {
        let pad = StreamKind.camera.outputPrefix + PadName.escape(user)
        let isKnown = chains.withLock { chains in
            chains[pad]?.isPresent = true
            return chains[pad] != nil
        }
        guard !isKnown else { return }
        do {
            let observer = try observation.make("observer_\(pad)", user: user, session.withLock { $0 })
            let tee = try SessionPlace.make("tee", "observed_\(pad)", [("allow-not-linked", "true")])
            place.add(tee)
            place.add(observer)
            guard observer.link(to: tee) else { return place.warn(pad) }
            place.linkDirectly(pad, to: observer, "sink")
            chains.withLock { $0[pad] = Chain(observer: observer, tee: tee) }
        } catch { place.warn("\(pad)'s observer: \(error)") }
    }

    func left(_ user: String, _ place: SessionPlace) {
        let pad = StreamKind.camera.outputPrefix + PadName.escape(user)
        chains.withLock { $0[pad]?.isPresent = false }
        removeUnused(pad, place)
    }

    private func removeUnused(_ pad: String, _ place: SessionPlace) {
        guard let chain = chains.withLock({ $0[pad] }), !chain.isPresent, chain.outlets.isEmpty else { return }
        chains.withLock { $0[pad] = nil }
        place.releasePad(pad)
        place.remove(chain.observer)
        place.remove(chain.tee)
    }

    // MARK: Readers, on the graph's queue

    /// Where to read what the session's pad gives; `nil`: at the pad itself.
    func outlet(_ pad: String) -> Pad? { chains.withLock { $0[pad] }?.tee.requestTeeOutlet() }

    /// False for a pad that isn't observed.
    func release(_ pad: String, _ place: SessionPlace) -> Bool {
        guard let chain = chains.withLock({ $0[pad] }) else { return false }
        for outlet in chain.outlets { chain.tee.releasePad(outlet) }
        removeUnused(pad, place)
        return true
    }

    // MARK: As a description has it

    var texts: [String] {
        chains.withLock { $0.keys.sorted() }.compactMap { pad in
            observation.text(.preRenderer, name: "observer_\(pad)").map {
                "session.\(pad) ! \($0) ! tee name=observed_\(pad) allow-not-linked=true"
            }
        }
    }

    func outletText(_ pad: String) -> String? { chains.withLock { $0[pad] } == nil ? nil : "observed_\(pad)." }
}
