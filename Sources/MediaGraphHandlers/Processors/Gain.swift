import Foundation
import GStreamer
import MediaGraphCore

/// Makes sound louder or softer: `alsasrc ! virtualmic handler=gain options="db=6" ! …`. Samples that exceed full scale
/// are limited to it.
struct Gain: AudioProcessor, NamedHandler {
    static let name = "gain"
    static let summary = "Makes sound louder or softer"
    static let options = [HandlerOption("db", default: "0", "decibels: 6 is twice as loud, -6 half")]

    private let factor: Double

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        factor = pow(10, try options.double("db", in: -120...60, default: 0) / 20)
    }

    func process(_ frame: inout AudioFrame) -> Verdict {
        guard factor != 1 else { return .pass }
        var samples = frame.mutableSamples
        for index in samples.indices {
            samples[index] = Int16(clamping: Int((Double(samples[index]) * factor).rounded()))
        }
        return .pass
    }
}
