import Foundation
import GStreamer
import MediaGraph

/// The levels that `virtualspeaker handler=level` measures, as a meter for each stream.
struct LevelMeters {
    private struct Name: Hashable {
        var node: String
        /// A user may be called what a stream is.
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
    /// The bar's left end; less can't be heard beside speech.
    private static let floor = -60.0
    private static let barWidth = 24

    /// By node and stream, in the order in which they were first heard.
    private var names: [Name] = []
    private var levels: [Name: Level] = [:]

    /// Takes a node's message; false when it is no level. A stream that has ended has none any more.
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

    /// A line for each stream, no wider than `width`, and no more than `height` of them.
    func lines(style: Style, width: Int, height: Int) -> [ProgressTable.Line] {
        let shown = names.suffix(max(0, height))
        let longest = min(24, shown.map { TextWidth.columns($0.text) }.max() ?? 0)
        return shown.map { name in
            let level = levels[name]!
            let text = TextWidth.padded(TextWidth.truncated(name.text, to: longest), to: longest)
            let numbers = "\(Self.decibels(level.rms)) dB, peak \(Self.decibels(level.peak)) dB"
            let line = TextWidth.truncated("  \(text)  \(Self.bar(level.rms))  \(numbers)", to: width)
            // Clipped, or as good as.
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
