import Foundation

/// One direction, playback or capture, of a kernel ALSA device `hw:CARD,DEVICE`.
struct ALSAStream: Hashable {
    var card: Int
    var device: Int
    var kind: MediaDevice.Kind
    /// The card's display name.
    var name: String

    var path: String { "hw:\(card),\(device)" }
    var text: String { "\(kind == .microphone ? "alsasrc" : "alsasink") device=\(path)" }

    /// The device file that programs open to use the stream.
    var file: String { "/dev/snd/pcmC\(card)D\(device)\(kind == .microphone ? "c" : "p")" }

    /// Returns all streams that the kernel lists, including those in use. GStreamer's provider opens each device, and
    /// omits those that it can't open.
    static func all() -> [ALSAStream] {
        func text(_ name: String) -> String {
            (try? String(contentsOfFile: "/proc/asound/\(name)", encoding: .utf8)) ?? ""
        }
        return list(streams: text("pcm"), cards: text("cards"))
    }

    /// Parses the contents of `/proc/asound/pcm` (`00-01: ID : name : playback 1 : capture 1`) and `/proc/asound/cards`
    /// (` 0 [ID      ]: driver - name`).
    static func list(streams: String, cards: String) -> [ALSAStream] {
        var names: [Int: String] = [:]
        for line in cards.split(separator: "\n") {
            let parts = line.split(separator: "[", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[0].trimmingCharacters(in: .whitespaces)),
                let name = parts[1].range(of: " - ")
            else { continue }
            names[number] = String(parts[1][name.upperBound...])
        }
        return streams.split(separator: "\n").flatMap { line -> [ALSAStream] in
            let fields = line.split(separator: ":").map { $0.trimmingCharacters(in: .whitespaces) }
            let numbers = fields.first?.split(separator: "-").compactMap { Int($0) } ?? []
            guard numbers.count == 2 else { return [] }
            let directions: [(String, MediaDevice.Kind)] = [("capture", .microphone), ("playback", .speaker)]
            return directions.filter { word, _ in fields.dropFirst().contains { $0.hasPrefix("\(word) ") } }.map {
                _, kind in
                ALSAStream(
                    card: numbers[0], device: numbers[1], kind: kind, name: names[numbers[0]] ?? "card \(numbers[0])")
            }
        }
    }
}
