import MediaGraph

/// The human-readable output of `mediagraph devices`.
struct DevicesText {
    let style: Style
    /// The width in columns to which text is wrapped.
    let width: Int

    func list(_ devices: [MediaDevice]) -> String {
        MediaDevice.Kind.allCases.compactMap { kind in
            let lines = devices.filter { $0.kind == kind }.flatMap(lines)
            // Few machines have a video output, so a heading with "none" below it would only distract.
            if kind == .videoOutput, lines.isEmpty { return nil }
            let title = style.paint("\(kind.label)s", .bold)
            return ([title] + (lines.isEmpty ? ["  none"] : lines)).joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    /// Returns the line for a new device: `+ camera  USB Camera  v4l2src device=/dev/video0`.
    func added(_ device: MediaDevice) -> String { change(device, "+", .good) }

    /// Returns the line for a removed device, which begins with `-`.
    func removed(_ device: MediaDevice) -> String { change(device, "-", .warning) }

    private func change(_ device: MediaDevice, _ sign: String, _ face: Style.Face) -> String {
        let kind = TextWidth.padded(device.kind.label, to: 12)
        return "\(style.paint(sign, face)) \(kind)  \(TextWidth.printable(device.name))  "
            + style.paint(TextWidth.printable(device.text), .name)
    }

    private func lines(_ device: MediaDevice) -> [String] {
        var marks: [String] = []
        if device.isMonitor {
            marks.append("monitor of a speaker, not a microphone")
            if device.isDefault == true { marks.append("the server's default source") }
        } else if device.isDefault == true {
            marks.append("default")
        }
        if !device.users.isEmpty { marks.append("used by \(device.users.joined(separator: ", "))") }
        let mark = marks.isEmpty ? "" : style.paint("  (\(TextWidth.printable(marks.joined(separator: "; "))))", .dim)
        var lines = ["  \(TextWidth.printable(device.name))\(mark)"]
        lines.append("    " + style.paint(TextWidth.printable(device.text), .name))
        lines += Self.formats(device.formats).map { "    " + TextWidth.wrapped($0, to: width, indent: 6) }
        return lines
    }

    // MARK: Formats

    /// Returns one line per format with all of its sizes and rates: a camera has dozens of combinations.
    private static func formats(_ formats: [DeviceFormat]) -> [String] {
        var names: [String] = []
        var modes: [String: [String]] = [:]
        // A sound server also accepts encodings such as A-law, which are left out.
        let raw = formats.filter { $0.mediaType == "audio/x-raw" }
        for format in raw.isEmpty ? formats : raw {
            let name = name(format)
            if modes[name] == nil { names.append(name) }
            let mode = mode(format)
            if !mode.isEmpty, modes[name]?.contains(mode) != true { modes[name, default: []].append(mode) }
        }
        // Many drivers offer the same sizes and rates in all formats: such formats share a line.
        var lines: [(names: [String], modes: String)] = []
        for name in names {
            let text = modes[name]?.joined(separator: "; ") ?? ""
            if let index = lines.firstIndex(where: { $0.modes == text }), !text.isEmpty {
                lines[index].names.append(name)
            } else {
                lines.append(([name], text))
            }
        }
        return lines.map { line in
            let name = shortened(line.names)
            return TextWidth.printable(line.modes.isEmpty ? name : "\(name): \(line.modes)")
        }
    }

    private static func name(_ format: DeviceFormat) -> String {
        format.names.isEmpty ? format.mediaType : shortened(format.names)
    }

    private static func shortened(_ names: [String]) -> String {
        let hidden = names.count - 4
        let shown = names.prefix(hidden > 1 ? 4 : 5).joined(separator: ", ")
        return hidden > 1 ? "\(shown) and \(hidden) others" : shown
    }

    /// Returns `640×480 at 30, 15 fps` or `48000 Hz, 2 channels`.
    private static func mode(_ format: DeviceFormat) -> String {
        var parts: [String] = []
        if !format.widths.isEmpty { parts.append("\(text(format.widths))×\(text(format.heights))") }
        // A range up to an arbitrarily high rate, as a screen has, says nothing.
        if format.frameRates.contains(where: { $0.greatest < 1000 }) {
            parts.append("at \(text(format.frameRates, Self.rate)) fps")
        }
        var sound: [String] = []
        if !format.sampleRates.isEmpty { sound.append("\(text(format.sampleRates)) Hz") }
        if !format.channels.isEmpty {
            sound.append(
                "\(text(format.channels)) channel\(format.channels.allSatisfy { $0.greatest == 1 } ? "" : "s")")
        }
        return (parts + [sound.joined(separator: ", ")]).filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func rate(_ rate: Double) -> String { Numbers.fixed(rate, rate == rate.rounded() ? 0 : 2) }

    private static func text(_ spans: [DeviceFormat.Span<Int>]) -> String { text(spans) { "\($0)" } }

    private static func text<Number>(_ spans: [DeviceFormat.Span<Number>], _ number: (Number) -> String) -> String {
        spans.map { span in
            span.least == span.greatest ? number(span.least) : "\(number(span.least))–\(number(span.greatest))"
        }.joined(separator: ", ")
    }
}
