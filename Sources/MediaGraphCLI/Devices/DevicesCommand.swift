import ArgumentParser
import Dispatch
import Foundation
import MediaGraph

/// `mediagraph devices`: what of hardware there is to put into a description.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List cameras, microphones, speakers and screens, with the text to paste.",
        discussion: """
            Cameras are V4L2's and PipeWire's; microphones and speakers the sound server's, or ALSA's where there is no server; a \
            screen is the X server's that DISPLAY names. Programs that use a device are named where they can be seen.

            With --json one object with "devices"; with --watch too a line for each that is there and for each change: event \
            ("added" or "removed") and device. A device has kind, name, path, text, isDefault, isMonitor, formats and users.

            EXAMPLES
              mediagraph devices
              mediagraph devices --json | jq -r '.devices[] | select(.kind == "camera").text'
              mediagraph devices --watch

            EXIT STATUS
              0    they were listed, or watched until Ctrl-C
              1    a sound server, an X server or a driver doesn't answer
              64   the command line is wrong
            """)

    @Flag(help: "Go on, and tell what comes and goes.")
    var watch = false

    @Flag(help: "Print JSON.")
    var json = false

    private struct List: Encodable {
        var devices: [MediaDevice]
    }

    private struct Change: Encodable {
        var event: String
        var device: MediaDevice

        init(_ change: DeviceChange) {
            switch change {
            case .added(let device): (event, self.device) = ("added", device)
            case .removed(let device): (event, self.device) = ("removed", device)
            }
        }
    }

    func run() async throws {
        let width = Terminal.textWidth(.standardOutput)
        let text = DevicesText(style: Style(for: .standardOutput), width: width)
        guard watch else {
            let devices = try await list()
            if json { JSONLine.print(List(devices: devices)) } else { write(text.list(devices)) }
            return
        }
        // What hangs is to be told; the changes would only never come.
        _ = try await list()
        let changes = MediaDevices.changes
        // Where there is nothing yet it would look as if it hung.
        if !json, isatty(STDERR_FILENO) == 1 { StandardStreams.printError("watching for devices, Ctrl-C ends it") }
        let reading = Task {
            for await change in changes {
                let isRead = json ? JSONLine.print(Change(change)) : write(text.change(change))
                if !isRead { break }
            }
        }
        let signals = await SignalWatch([SIGINT, SIGTERM], on: .global()) { _ in reading.cancel() }
        await reading.value
        withExtendedLifetime(signals) {}
    }

    private func list() async throws -> [MediaDevice] {
        do { return try await MediaDevices.list() } catch {
            DiagnosticReport(printsJSON: json).error("\(error)")
            throw ExitStatus.failure.exitCode
        }
    }

    @discardableResult
    private func write(_ text: String) -> Bool { StandardStreams.write(text + "\n", to: .standardOutput) }
}
