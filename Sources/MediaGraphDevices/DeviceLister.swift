import Dispatch
import GStreamer
import MediaGraphCore
import Synchronization

/// A source of device lists: one of GStreamer's device providers, or the X server.
///
/// Each lister is asked on its own queue, so that one that hangs doesn't block the others. A provider runs only while
/// it is asked or watched.
final class DeviceLister: Sendable {
    struct Answer: Sendable {
        var devices: [MediaDevice] = []
        /// The names of the providers that this lister hides, because it lists their devices too.
        var hiddenProviders: [String] = []
    }

    private struct Use: Sendable {
        var holders = 0
        /// The provider, while it is in use.
        var provider: DeviceProvider?
        var isStarted = false
    }

    static let all = DeviceProvider.Factory.all.map { DeviceLister($0) } + [DeviceLister(nil)]

    /// The provider's factory; `nil` for the X server.
    private let factory: DeviceProvider.Factory?
    /// The name of the provider's factory; empty for the X server.
    var factoryName: String { factory?.name ?? "" }
    private let queue: DispatchQueue
    /// Only used on the queue.
    private let use = Mutex(Use())
    /// The number of calls that haven't returned. A further call would wait behind them.
    private let unanswered = BlockingMonitor(0)

    private init(_ factory: DeviceProvider.Factory?) {
        self.factory = factory
        queue = DispatchQueue(label: "mediagraph.devices.\(factory?.name ?? "screens")")
    }

    /// The display name, such as `PulseAudio` for the provider that the registry calls "PulseAudio Device Provider".
    var name: String {
        factory?.longName.replacing(" Device Provider", with: "") ?? "the X server \(DeviceProbe.display ?? "")"
    }

    func knows(_ kind: MediaDevice.Kind) -> Bool {
        switch kind {
        case .camera, .videoOutput: factory?.knowsVideo ?? false
        case .microphone, .speaker: factory?.knowsAudio ?? false
        case .screen: factory == nil
        }
    }

    // MARK: Asking

    /// Asks all listers at the same time, except those that are hidden by others. Blocks for at most the given time;
    /// the answer of a lister that hasn't answered by then is `nil`.
    static func ask(_ listers: [DeviceLister], within time: Duration) -> [(lister: DeviceLister, answer: Answer?)] {
        let deadline = ContinuousClock.now + time
        let before = hiding.withLock { $0 }
        func isHidden(_ lister: DeviceLister, _ hiding: [String: [String]]) -> Bool {
            hiding.values.contains { $0.contains(lister.factoryName) }
        }
        var answers = ask(listers.filter { !isHidden($0, before) }, until: deadline)
        let now = hiding.withLock { hiding in
            for (lister, answer) in answers { if let answer { hiding[lister.factoryName] = answer.hiddenProviders } }
            return hiding
        }
        // Also ask listers that are no longer hidden.
        answers += ask(listers.filter { isHidden($0, before) && !isHidden($0, now) }, until: deadline)
        return answers.filter { !isHidden($0.lister, now) }
    }

    /// The names of the providers that each lister hides, by the name of its own provider.
    private static let hiding = Mutex<[String: [String]]>([:])

    private static func ask(
        _ listers: [DeviceLister], until deadline: ContinuousClock.Instant
    ) -> [(lister: DeviceLister, answer: Answer?)] {
        let calls = listers.map { lister in lister.unanswered.withLock { $0 <= 0 } ? lister.call() : nil }
        return zip(listers, calls).map { lister, call in
            guard let call else { return (lister, nil) }
            let answer = call.answer(within: deadline - .now)
            if answer == nil { lister.unanswered.withLock { $0 += 1 } }
            return (lister, answer ?? nil)
        }
    }

    private func call() -> DeviceCall<Answer?> {
        DeviceCall {
            // The X server is asked without the queue, which only providers need.
            self.factory == nil ? self.look() : self.queue.sync { self.look() }
        } late: { _ in
            self.unanswered.withLock { $0 -= 1 }
            Self.tell()
        }
    }

    /// Lists the devices; `nil` if the server refuses the connection.
    private func look() -> Answer? {
        guard factory != nil else {
            let screens = DeviceProbe.screens()
            return screens.isEmpty && ServerSockets.isXServerRunning ? nil : Answer(devices: screens)
        }
        begin()
        defer { end() }
        let (provider, isStarted) = use.withLock { ($0.provider, $0.isStarted) }
        guard let provider else { return Answer() }
        guard isStarted || !provider.watches else {
            // A provider can't be started without its server. A server that hangs refuses connections when too many are
            // waiting.
            return ServerSockets.isThere(for: factoryName) ? nil : Answer()
        }
        return Answer(devices: DeviceProbe.devices(provider.devices), hiddenProviders: provider.hiddenProviders)
    }

    // MARK: Running

    /// Keeps the provider running and notifies listeners of changes, until `release` is called. A provider has only one
    /// listener: changes are no longer reported after other code in this process listens to it.
    func hold() {
        later { [self] in
            begin()
            use.withLock { $0.provider }?.onChange { Self.tell() }
        }
    }

    func release() { later { self.end() } }

    /// Runs `body` on the queue. Counts as a device call, so that a program that ends meanwhile uses `_exit`.
    private func later(_ body: @escaping @Sendable () -> Void) {
        DeviceCalls.begin()
        queue.async {
            defer { DeviceCalls.end() }
            body()
        }
    }

    /// Restarts the provider. After its sound server has ended, a provider doesn't look for a new one by itself.
    func restart() {
        later { [self] in
            guard use.withLock({ $0.holders > 0 }) else { return }
            stop()
            start()
        }
    }

    private func begin() {
        use.withLock { use in
            use.holders += 1
            if use.provider == nil { use.provider = factory.flatMap { DeviceProvider(factory: $0.name) } }
        }
        start()
    }

    private func end() {
        let isUnused = use.withLock { use in
            use.holders -= 1
            return use.holders == 0
        }
        guard isUnused else { return }
        stop()
        use.withLock { $0.provider = nil }
    }

    /// Starts the provider if it watches its devices. ALSA's doesn't: once started, it would keep its first list.
    private func start() {
        let (provider, isStarted) = use.withLock { ($0.provider, $0.isStarted) }
        guard let provider, provider.watches, !isStarted else { return }
        let hasStarted =
            factoryName == PipeWireProvider.factoryName ? PipeWireProvider.start(provider) : provider.start()
        use.withLock { $0.isStarted = hasStarted }
    }

    private func stop() {
        let started = use.withLock { use in
            defer { use.isStarted = false }
            return use.isStarted ? use.provider : nil
        }
        started?.stop()
    }

    // MARK: Telling

    /// A structure, because a bare closure that is read through a lock is wrapped once more by each read.
    private struct Listener: Sendable {
        var changed: @Sendable () -> Void
    }
    private static let listeners = Mutex<[ObjectIdentifier: Listener]>([:])

    /// Adds a listener. `changed` is called on any thread when devices may have changed and the listers should be asked
    /// again.
    static func add(_ changed: @escaping @Sendable () -> Void, of owner: AnyObject) {
        listeners.withLock { $0[ObjectIdentifier(owner)] = Listener(changed: changed) }
    }

    static func removeListener(of owner: AnyObject) {
        listeners.withLock { $0[ObjectIdentifier(owner)] = nil }
    }

    private static func tell() { for listener in listeners.withLock({ Array($0.values) }) { listener.changed() } }
}
