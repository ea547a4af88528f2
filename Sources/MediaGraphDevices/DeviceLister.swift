import Dispatch
import GStreamer
import MediaGraphCore
import Synchronization

/// Who knows of devices: one of GStreamer's device providers, or the X server.
///
/// Each is asked on a queue of its own: where one hangs, the others' devices are known all the same. A provider runs while
/// somebody looks at its devices.
final class DeviceLister: Sendable {
    struct Answer: Sendable {
        var devices: [MediaDevice] = []
        /// The providers whose devices these are, too.
        var hiddenProviders: [String] = []
    }

    private struct Use: Sendable {
        var holders = 0
        /// While somebody looks.
        var provider: DeviceProvider?
        var isStarted = false
    }

    static let all = DeviceProvider.Factory.all.map { DeviceLister($0) } + [DeviceLister(nil)]

    /// `nil` for the X server.
    private let factory: DeviceProvider.Factory?
    /// The provider's; empty for the X server.
    var factoryName: String { factory?.name ?? "" }
    private let queue: DispatchQueue
    /// Touched on the queue.
    private let use = Mutex(Use())
    /// How many that asked haven't been answered: whoever asks next would wait behind them.
    private let unanswered = BlockingMonitor(0)
    /// How many never will be.
    private let forsaken = Atomic<Int>(0)
    private static let mostForsaken = 10

    private init(_ factory: DeviceProvider.Factory?) {
        self.factory = factory
        queue = DispatchQueue(label: "mediagraph.devices.\(factory?.name ?? "screens")")
    }

    /// For people: `PulseAudio`, of what the registry calls "PulseAudio Device Provider".
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

    /// Each at the same time, but for those whose devices others are known to have too. It blocks, but no longer than so many
    /// milliseconds: `nil` for who hasn't answered by then.
    static func ask(_ listers: [DeviceLister], within milliseconds: UInt64) -> [(lister: DeviceLister, answer: Answer?)]
    {
        let deadline = monotonicNanoseconds() + milliseconds * 1_000_000
        let before = hiding.withLock { $0 }
        func isHidden(_ lister: DeviceLister, _ hiding: [String: [String]]) -> Bool {
            hiding.values.contains { $0.contains(lister.factoryName) }
        }
        var answers = ask(listers.filter { !isHidden($0, before) }, until: deadline)
        let now = hiding.withLock { hiding in
            for (lister, answer) in answers { if let answer { hiding[lister.factoryName] = answer.hiddenProviders } }
            return hiding
        }
        // Who had their devices has them no longer.
        answers += ask(listers.filter { isHidden($0, before) && !isHidden($0, now) }, until: deadline)
        return answers.filter { !isHidden($0.lister, now) }
    }

    /// The names of the providers that each has hidden.
    private static let hiding = Mutex<[String: [String]]>([:])

    private static func ask(
        _ listers: [DeviceLister], until deadline: UInt64
    ) -> [(lister: DeviceLister, answer: Answer?)] {
        let calls = listers.map { lister in lister.unanswered.withLock { $0 <= 0 } ? lister.call() : nil }
        return zip(listers, calls).map { lister, call in
            guard let call else { return (lister, nil) }
            let now = monotonicNanoseconds()
            let answer = call.answer(within: now < deadline ? (deadline - now) / 1_000_000 : 0)
            if answer == nil { lister.unanswered.withLock { $0 += 1 } }
            return (lister, answer ?? nil)
        }
    }

    private func call() -> DeviceCall<Answer?> {
        DeviceCall {
            // Screens are asked in their own turn; and who asks may be left behind for good.
            self.factory == nil ? self.look() : self.queue.sync { self.look() }
        } late: { answer in
            guard answer != nil else {
                // A server that never lets anybody through would cost a thread each time.
                let isLast = self.forsaken.wrappingAdd(1, ordering: .relaxed).newValue >= Self.mostForsaken
                if !isLast { self.unanswered.withLock { $0 -= 1 } }
                return
            }
            self.unanswered.withLock { $0 -= 1 }
            Self.tell()
        }
    }

    /// `nil` when its server refuses.
    private func look() -> Answer? {
        guard factory != nil else {
            let screens = DeviceProbe.screens()
            return screens.isEmpty && ServerSockets.isScreenThere ? nil : Answer(devices: screens)
        }
        begin()
        defer { end() }
        let (provider, isStarted) = use.withLock { ($0.provider, $0.isStarted) }
        guard let provider else { return Answer() }
        guard isStarted || !provider.watches else {
            // It can't be started without a server. One that hangs refuses who comes when too many wait already.
            return ServerSockets.isThere(for: factoryName) ? nil : Answer()
        }
        return Answer(devices: DeviceProbe.devices(provider.devices), hiddenProviders: provider.hiddenProviders)
    }

    // MARK: Running

    /// It tells listeners what comes and goes, until `release`, or until somebody else in this process listens to its provider:
    /// that has one listener.
    func hold() {
        later { [self] in
            begin()
            use.withLock { $0.provider }?.onChange { Self.tell() }
        }
    }

    func release() { later { self.end() } }

    /// Counted: a program that ends meanwhile leaves it behind.
    private func later(_ body: @escaping @Sendable () -> Void) {
        DeviceCalls.begin()
        queue.async {
            defer { DeviceCalls.end() }
            body()
        }
    }

    /// The provider of a sound server that has ended looks for no other by itself.
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

    /// Only one that watches is started: ALSA's would keep the list of that moment.
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

    /// A structure: a bare closure that is read from behind a lock comes back wrapped once more each time.
    private struct Listener: Sendable {
        var changed: @Sendable () -> Void
    }
    private static let listeners = Mutex<[ObjectIdentifier: Listener]>([:])

    /// `changed` is called on any thread when it is worth to ask again.
    static func add(_ changed: @escaping @Sendable () -> Void, of owner: AnyObject) {
        listeners.withLock { $0[ObjectIdentifier(owner)] = Listener(changed: changed) }
    }

    static func removeListener(of owner: AnyObject) {
        listeners.withLock { $0[ObjectIdentifier(owner)] = nil }
    }

    private static func tell() { for listener in listeners.withLock({ Array($0.values) }) { listener.changed() } }
}
