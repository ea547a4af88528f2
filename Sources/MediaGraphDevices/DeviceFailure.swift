import Foundation
import GStreamer
import MediaGraphCore

/// Translates errors of stock elements to errors about their devices.
package enum DeviceFailure {
    /// Returns the device's error; `nil` if the element's error isn't about the device.
    ///
    /// - Parameters:
    ///   - device: The device's display name, such as `HD Webcam (/dev/video0)`.
    /// - path: The device's file, if it has one. The element's message doesn't always say why the file can't be opened:
    ///     `alsasrc` reports "No such file or directory" for a missing file and for one that it may not read.
    ///   - isSink: Whether the element writes to the device.
    ///   - wasRunning: Whether the device had delivered or accepted data before.
    static func error(
        _ error: GLibError, debug: String = "", device: String, path: String? = nil, isSink: Bool = false,
        wasRunning: Bool
    ) -> MediaGraphError? {
        let cause = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        func detail(_ problem: String, _ advice: String = "") -> MediaGraphError.Detail {
            MediaGraphError.Detail(device, actual: "\(problem) (\(cause))" + (advice.isEmpty ? "" : "; \(advice)"))
        }
        // Messages are translated, but this prefix isn't. The element asks PulseAudio for the device when data starts
        // to flow, so `wasRunning` is true by then.
        if error.message.hasPrefix("Failed to connect stream:") {
            return .noDevice(detail("isn't a device of the sound server", "`mediagraph devices` lists its devices"))
        }
        if ElementProblem(error) == .notFound, debug.contains("Capabilities: 0x") {
            return .noDevice(
                isSink
                    ? detail("isn't a video output, or another program is writing to it")
                    : detail(
                        "isn't a camera", "a v4l2loopback device becomes a camera when a program writes to it"))
        }
        switch ElementProblem(error) {
        case .busy:
            return .deviceBusy(detail("is in use by another program", "`mediagraph devices` shows which"))
        case .notAuthorized: return .notPermitted(detail("can't be opened: permission denied", permissionHint(path)))
        case .read, .write:
            // pulsesrc opens without the device, and asks for it on the first read.
            return wasRunning
                ? .deviceGone(detail("was disconnected"))
                : .noDevice(
                    detail("wasn't found, or doesn't work", "`mediagraph devices` lists the available devices"))
        case .notFound, .openRead, .openWrite, .openReadWrite:
            if wasRunning { return .deviceGone(detail("was disconnected")) }
            if let path, access(path, F_OK) == 0, access(path, R_OK | W_OK) != 0 {
                return .notPermitted(detail("can't be opened: permission denied", permissionHint(path)))
            }
            return .noDevice(detail("can't be opened", "`mediagraph devices` lists the available devices"))
        // When its server ends, pulsesrc posts "Disconnected" with a generic code.
        default:
            guard error.domain == "gst-resource-error-quark" else { return nil }
            return wasRunning
                ? .deviceGone(detail("was disconnected"))
                : .noDevice(detail("doesn't work", "`mediagraph doctor` shows what is missing"))
        }
    }

    private static func permissionHint(_ path: String?) -> String {
        let groups = path.map { [$0.hasPrefix("/dev/snd") ? "audio" : "video"] } ?? ["video", "audio"]
        let names = (groups.count == 1 ? "group " : "groups ") + groups.joined(separator: " and ")
        let command = "sudo usermod -aG \(groups.joined(separator: ",")) $USER"
        return "join the \(names) (`\(command)`) and log in again"
    }
}

extension DeviceFailure {
    /// Returns the device file of a V4L2 or ALSA element; `nil` if it has none or it isn't known.
    static func path(of element: Element) -> String? {
        guard let device = try? element.propertyText("device"), !device.isEmpty else { return nil }
        if device.hasPrefix("/dev/") { return device }
        let isSink = element.isSink
        guard let match = device.wholeMatch(of: /(?:plug)?hw:(?:CARD=)?([A-Za-z0-9_]+)(?:,(?:DEV=)?([0-9]+))?/) else {
            return nil
        }
        let name = String(match.1)
        // /proc/asound/NAME is a link to the folder of the card's number, such as `card0`.
        guard
            let card = Int(name)
                ?? (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/asound/\(name)"))
                .flatMap({ Int($0.dropFirst(4)) })
        else { return nil }
        return "/dev/snd/pcmC\(card)D\(match.2 ?? "0")\(isSink ? "p" : "c")"
    }
}

extension DeviceFailure {
    /// The stock elements that open a device, with the names of their default devices.
    private static let defaultDevices = [
        "v4l2src": "/dev/video0", "v4l2sink": "/dev/video1", "alsasrc": "default", "alsasink": "default",
        "pulsesrc": "PulseAudio's source", "pulsesink": "PulseAudio's sink", "pipewiresrc": "PipeWire's camera",
        "pipewiresink": "PipeWire's sink",
    ]

    /// Returns the device error for an error that an element has posted; `nil` if the error isn't about a device. Call
    /// it on the thread that posts the error.
    package static func error(_ report: Message.Report, of element: Element) -> MediaGraphError? {
        let wasRunning = element.isPlaying
        guard let device = name(of: element),
            ElementProblem(report.error) != nil || element.factoryName?.hasPrefix("pulse") ?? false,
            // For other window errors, such as a closed window or a screen without Xv, the element's own message is
            // best.
            !ScreenCaptures.windowSinks.contains(element.factoryName ?? "")
                || !wasRunning && report.debug.contains("Could not open display")
        else { return nil }
        return error(
            report.error, debug: report.debug, device: device, path: path(of: element), isSink: element.isSink,
            wasRunning: wasRunning)
    }

    /// Returns the display name of a stock element's device; `nil` for an element without one.
    package static func name(of element: Element) -> String? {
        guard let factory = element.factoryName else { return nil }
        if let capture = ScreenCapture(element) { return capture.label }
        if ScreenCaptures.windowSinks.contains(factory) {
            return ScreenCapture.screen((try? element.property("display", as: String.self)) ?? "")
        }
        guard let ownDefault = defaultDevices[factory] else { return nil }
        let named = ["device", "target-object"].lazy.compactMap { try? element.propertyText($0) }
        return named.first { !$0.isEmpty } ?? ownDefault
    }
}
