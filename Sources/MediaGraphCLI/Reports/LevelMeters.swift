import Foundation
import GStreamer
import MediaGraph

/// Meters of the levels that `virtualspeaker handler=level` measures, one for each stream.
struct LevelMeters {
    private struct Name: Hashable {
        var node: String
        /// Part of the identity, because a user may have the same name as a stream.
        var stream: String
        var user: String?

        var text: String { TextWidth.printable("\(node) \(user ?? stream)") }
    }

    private struct Level {
        var rms: Double
        var peak: Double
    }

    private static let messageName = "mediagraph-level"
    private static let statusName = "mediagraph-audio-status"
    /// The level in dB at the left end of the bar. Quieter sound can't be heard beside speech.
    private static let floor = -60.0
    private static let barWidth = 24

    /// The streams in the order in which their levels first arrived.
    private var names: [Name] = []
    private var levels: [Name: Level] = [:]

    /// Processes a message of a node. Returns `false` if it isn't a level. Removes the meter of a stream that has
    /// ended.
    mutating func add(_ node: String, _ message: Structure) -> Bool {
        guard let stream = message["stream", as: String.self] else { return false }
        let name = Name(node: node, stream: stream, user: message["user", as: String.self])
        if message.name == Self.statusName, message["on"] == false {
            names.removeAll { $0 == name }
            levels[name] = nil
        }
        guard message.name == Self.messageName, let rms = message["rms", as: Double.self],
            let peak = message["peak", as: Double.self]
        else { return false }
        if levels[name] == nil { names.append(name) }
        levels[name] = Level(rms: rms, peak: peak)
        return true
    }

    /// Returns one line per stream, at most `width` columns wide, and at most `height` lines.
    func lines(style: Style, width: Int, height: Int) -> [ProgressTable.Line] {
        let shown = names.suffix(max(0, height))
        let longest = min(24, shown.map { TextWidth.columns($0.text) }.max() ?? 0)
        return shown.map { name in
            let level = levels[name]!
            let text = TextWidth.padded(TextWidth.truncated(name.text, to: longest), to: longest)
            let numbers = "\(Self.decibels(level.rms)) dB, peak \(Self.decibels(level.peak)) dB"
            let line = TextWidth.truncated("  \(text)  \(Self.bar(level.rms))  \(numbers)", to: width)
            // The sound is clipped, or close to it.
            return ProgressTable.Line(
                text: level.peak > -0.1 ? style.paint(line, .warning) : line, width: TextWidth.columns(line))
        }
    }

    private static func bar(_ decibels: Double) -> String {
        let filled = Int(((decibels - floor) / -floor * Double(barWidth)).rounded())
        let count = min(barWidth, max(0, filled))
        return String(repeating: "#", count: count) + String(repeating: "-", count: barWidth - count)
    }

    private static func decibels(_ value: Double) -> String {
        let text = value < -99.9 ? "-inf" : Numbers.fixed(value, 1)
        return String(repeating: " ", count: max(0, 5 - text.count)) + text
    }
}
