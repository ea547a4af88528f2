import Foundation
import GStreamer
import MediaGraphCore

/// What a stock element's error says of the device behind it.
package enum DeviceFailure {
    /// `nil` for an error that isn't the device's.
    ///
    /// - Parameters:
    ///   - device: what people call it: `HD Webcam (/dev/video0)`.
    ///   - path: its file, where it has one; the element's own words don't always tell why that can't be opened: `alsasrc` says
    ///     "No such file or directory" of one that isn't there and of one that it may not read.
    ///   - isSink: it is written to.
    ///   - wasRunning: it had given data before.
    static func error(
        _ error: GLibError, debug: String = "", device: String, path: String? = nil, isSink: Bool = false,
        wasRunning: Bool
    ) -> MediaGraphError? {
        func detail(_ problem: String) -> MediaGraphError.Detail {
            MediaGraphError.Detail(device, actual: "\(problem) (\(error.message))")
        }
        // By what isn't translated. PulseAudio is asked for the device when data is to flow: the element counts as running by then.
        if error.message.hasPrefix("Failed to connect stream:") {
            return .noDevice(detail("the sound server has no such device; `mediagraph devices` lists its devices"))
        }
        if ElementProblem(error) == .notFound, debug.contains("Capabilities: 0x") {
            return .noDevice(
                detail(
                    isSink
                        ? "not a video output, or another program is writing to it"
                        : "not a camera; a v4l2loopback device is a camera only while a program writes to it"))
        }
        switch ElementProblem(error) {
        case .busy:
            return .deviceBusy(detail("in use by another program; `mediagraph devices` shows which"))
        case .notAuthorized: return .notPermitted(detail(permissionHint(path)))
        case .read, .write:
            // pulsesrc opens without a device and asks for it with the first read.
            return wasRunning
                ? .deviceGone(detail("was disconnected"))
                : .noDevice(detail("not found, or not working; `mediagraph devices` lists the devices that are there"))
        case .notFound, .openRead, .openWrite, .openReadWrite:
            if wasRunning { return .deviceGone(detail("was disconnected")) }
            if let path, access(path, F_OK) == 0, access(path, R_OK | W_OK) != 0 {
                return .notPermitted(detail(permissionHint(path)))
            }
            return .noDevice(detail("can't be opened; `mediagraph devices` lists the devices that are there"))
        // A server that went: pulsesrc says "Disconnected" with a code that says nothing.
        default:
            guard error.domain == "gst-resource-error-quark" else { return nil }
            return wasRunning
                ? .deviceGone(detail("was disconnected"))
                : .noDevice(detail("not working; `mediagraph doctor` shows what is missing"))
        }
    }

    private static func permissionHint(_ path: String?) -> String {
        let group = path.map { $0.hasPrefix("/dev/snd") ? "audio" : "video" } ?? "video or audio"
        return "permission denied: join the group \(group) (`sudo usermod -aG \(group) $USER`) and log in again"
    }
}

extension DeviceFailure {
    /// The file behind a V4L2 or ALSA element's device; `nil` where there is none, or none that is known.
    static func path(of element: Element) -> String? {
        guard let device = try? element.propertyText("device"), !device.isEmpty else { return nil }
        if device.hasPrefix("/dev/") { return device }
        let isSink = element.isSink
        guard let match = device.wholeMatch(of: /(?:plug)?hw:(?:CARD=)?([A-Za-z0-9_]+)(?:,(?:DEV=)?([0-9]+))?/) else {
            return nil
        }
        let name = String(match.1)
        // By a card's name its folder in /proc links to that of its number: `card0`.
        guard
            let card = Int(name)
                ?? (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/asound/\(name)"))
                .flatMap({ Int($0.dropFirst(4)) })
        else { return nil }
        return "/dev/snd/pcmC\(card)D\(match.2 ?? "0")\(isSink ? "p" : "c")"
    }
}

extension DeviceFailure {
    /// The stock elements that open a device, each with the device that it opens by default.
    private static let defaultDevices = [
        "v4l2src": "/dev/video0", "v4l2sink": "/dev/video1", "alsasrc": "default", "alsasink": "default",
        "pulsesrc": "PulseAudio's source", "pulsesink": "PulseAudio's sink", "pipewiresrc": "PipeWire's camera",
        "pipewiresink": "PipeWire's sink",
    ]

    /// Of an error that an element has posted, on the thread that posts; `nil` for one that is no device's.
    package static func error(_ report: Message.Report, of element: Element) -> MediaGraphError? {
        let wasRunning = element.isPlaying
        guard let device = name(of: element),
            ElementProblem(report.error) != nil || element.factoryName?.hasPrefix("pulse") ?? false,
            // Of other troubles with windows the element has the words: one that was closed, a screen without Xv.
            !ScreenCaptures.windowSinks.contains(element.factoryName ?? "")
                || !wasRunning && report.debug.contains("Could not open display")
        else { return nil }
        return error(
            report.error, debug: report.debug, device: device, path: path(of: element), isSink: element.isSink,
            wasRunning: wasRunning)
    }

    /// What people call a stock element's device; `nil` for an element that has none.
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
