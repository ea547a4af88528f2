import GStreamer
import Glibc
import MediaGraphCore
import MediaGraphDescription

/// Writes each stream to a separate WAV file: `virtualspeaker handler=wav options="location=call-%s.wav"`.
///
/// `%s` stands for `mixed`, `shared`, or `user_` and the user's name as written in pad names (`user_anna`,
/// `user_anna_40x_2Ede`). All files begin with the graph and stay aligned: while a stream has no sound, silence is
/// written. GStreamer's `wavenc` writes the files. Their headers are completed when the streams end, and also on
/// Ctrl-C. If sound continues after the end of its stream, for example after a seek back, it is written to another file
/// (`call-mixed-2.wav`), because reopening the finished one would empty it. After a seek during the stream, sound is
/// appended to the same file. The header of a file of more than 4 GiB, the maximum of WAV, isn't completed.
///
/// Throws `processingFailed` at the beginning of a stream if its file can't be written.
struct WaveSpeaker: VirtualSpeaker, NamedHandler {
    static let name = "wav"
    static let summary = "Writes each stream to a separate WAV file"
    static let options = [
        HandlerOption(
            "location", example: "call-%s.wav", isOutput: true,
            "the files' name, with %s for mixed, shared or user_NAME")
    ]

    private let prefix: String
    private let suffix: String
    private var files: [SpeakerStream: WaveFile] = [:]
    /// What is added to running times, which start over at a seek. One value for all files keeps them aligned.
    private var shift = Duration.zero
    /// The paths of the files that have been finished.
    private var finished: Set<String> = []

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        let name = try options.string("location")
        let parts = name.split(separator: "%s", omittingEmptySubsequences: false)
        guard parts.count == 2, !name.replacing("%s", with: "").contains("%") else {
            throw MediaGraphError.invalidParameter(
                .init(
                    "option location of wav",
                    actual:
                        "\"\(name)\" must contain one %s, which is replaced by the stream's name: each stream has its own file"
                ))
        }
        (prefix, suffix) = (String(parts[0]), String(parts[1]))
    }

    mutating func mixedAudioReceived(_ frame: borrowing AudioFrame) throws { try write(frame, .mixed) }
    mutating func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws {
        try write(frame, .oneWay(user))
    }
    mutating func sharedAudioReceived(_ frame: borrowing AudioFrame) throws { try write(frame, .shared) }

    private mutating func write(_ frame: borrowing AudioFrame, _ stream: SpeakerStream) throws {
        let file = try files[stream] ?? open(stream, frame.info)
        let time = frame.runningTime.map { $0 + shift }
        // `audiorate` would drop what seems to be an hour late.
        if let time, let end = file.end, time + .seconds(1) < end, let last = files.values.compactMap(\.end).max() {
            shift += last - time
        }
        try file.write(frame, at: frame.runningTime.map { $0 + shift })
    }

    private mutating func open(_ stream: SpeakerStream, _ info: AudioInfo) throws -> WaveFile {
        let stem = prefix + (stream.user.map { "user_" + PadName.escape($0.name) } ?? stream.kind)
        var (path, part) = (stem + suffix, 1)
        while finished.contains(path) {
            part += 1
            path = "\(stem)-\(part)\(suffix)"
        }
        guard !files.values.contains(where: { $0.path == path }) else {
            throw MediaGraphError.alreadyInUse(
                .init("file \(path)", actual: "two users have the same name, but each stream needs a separate file"))
        }
        var status = stat()
        // The pipeline could wait for a FIFO's reader for ever.
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFIFO else {
            throw MediaGraphError.unsupported(
                .init("writing \(path)", actual: "a FIFO can't be a WAV file, whose header is completed at its end"))
        }
        let file = try WaveFile(path, info)
        files[stream] = file
        return file
    }

    mutating func finish() throws {
        defer {
            finished.formUnion(files.values.map(\.path))
            files = [:]
            shift = .zero
        }
        // Finish all files, even if one fails.
        let failures = files.values.compactMap { file in Result { try file.finish() }.failure }
        if let failure = failures.first { throw failure }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// A WAV file and the pipeline that writes it: `appsrc ! audiorate ! wavenc ! filesink`.
private final class WaveFile {
    private enum Outcome: Sendable {
        case ended
        case failed(String)
    }

    let path: String
    private let pipeline: Pipeline
    private let source: AppSource
    private let outcome = BlockingMonitor<Outcome?>(nil)
    /// The time for writing the queued data to the disk.
    private static let timeLimit = Duration.seconds(10)

    init(_ path: String, _ info: AudioInfo) throws(MediaGraphError) {
        self.path = path
        do {
            // appsrc blocks if the disk is too slow, so that the data waits in the speaker, subject to its policy.
            pipeline = try Pipeline(
                parsing:
                    "appsrc name=in format=time block=true max-bytes=1048576 ! audiorate ! wavenc ! filesink name=out async=false"
            )
            try pipeline.element(named: "out")!.setProperty("location", to: path)
            // Set the caps before the pipeline starts, because appsrc negotiates them on its own thread.
            try pipeline.element(named: "in")!.setProperty("caps", parsing: "\(info.caps)")
        } catch {
            throw .unsupported(
                .init(
                    "writing \(path)",
                    actual: "needs audiorate (package gstreamer1.0-plugins-base) and wavenc "
                        + "(package gstreamer1.0-plugins-good): \(error)"))
        }
        source = AppSource(wrapping: pipeline.element(named: "in")!)!
        pipeline.onMessage { [outcome, pipeline] message in
            switch message.kind {
            case .endOfStream: outcome.withLock { $0 = $0 ?? .ended }
            case .error(let report):
                outcome.withLock { $0 = $0 ?? .failed(report.error.message) }
                // After an error, nothing empties the queue. Stopping the pipeline releases a thread that waits for
                // room in it. This thread is the pipeline's own and can't stop it.
                NativeThread("wav-failed") { pipeline.setState(.null) }.detach()
            default: break
            }
        }
        guard pipeline.setState(.playing) != .failure else {
            let reason = reason
            pipeline.setState(.null)
            throw .processingFailed(.init("writing \(path)", actual: reason))
        }
    }

    deinit {
        pipeline.setState(.null)
        pipeline.removeMessageHandler()
    }

    private var failure: String? { if case .failed(let reason) = outcome.withLock({ $0 }) { reason } else { nil } }
    private var reason: String { failure ?? "no reason given" }

    /// The time at which the sound written so far ends.
    private(set) var end: ClockTime?

    func write(_ frame: borrowing AudioFrame, at time: ClockTime?) throws(MediaGraphError) {
        guard source.push(frame.placed(at: time)) == .ok, failure == nil else {
            throw .processingFailed(.init("writing \(path)", actual: reason))
        }
        if let time { end = time + frame.duration }
    }

    /// Writes the queued data and completes the header.
    func finish() throws(MediaGraphError) {
        source.endOfStream()
        switch outcome.wait(timeout: Self.timeLimit, { $0 }) {
        case .ended: return
        case .failed(let reason): throw .processingFailed(.init("writing \(path)", actual: reason))
        case nil:
            throw .timeOut(.init("writing \(path)", actual: "the file couldn't be finished within 10 s"))
        }
    }
}
