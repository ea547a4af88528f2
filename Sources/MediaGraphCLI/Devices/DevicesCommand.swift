import ArgumentParser
import Dispatch
import Foundation
import MediaGraph

/// `mediagraph devices`: lists the devices that a description can use.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List cameras, microphones, speakers, screens and video outputs, with the text for a description.",
        discussion: """
            Lists cameras from V4L2 and PipeWire, microphones and speakers from the sound server (or from ALSA if there \
            is none), and the screen of DISPLAY. A video output is an unused virtual camera (v4l2loopback) or a \
            connector of a card. Programs that use a device are listed if you may see them.

            With --json, prints one object: "devices", and "unanswered" with an error for each server or driver that \
            hangs. With --watch --json, prints one object per line for each present device and each change: event \
            ("added" or "removed") and device, or event "unanswered" and error. A device has kind, name, path, text, \
            isDefault, isMonitor, formats and users.

            EXAMPLES
              mediagraph devices
              mediagraph devices --json | jq -r '.devices[].text'
              mediagraph devices --watch

            EXIT STATUS
              0    the devices were listed, or --watch ended on Ctrl-C or because the reader
                   of its output went away
              1    a sound server, an X server or a driver doesn't answer, so the list is
                   incomplete
              64   the command line is wrong
            """)

    @Flag(help: "Keep running and report devices as they are added and removed.")
    var watch = false

    @Flag(help: "Print JSON.")
    var json = false

    private struct List: Encodable {
        var devices: [MediaDevice]
        var unanswered: [String]
    }

    private struct Change: Encodable {
        var event: String
        var device: MediaDevice?
        var error: String?

        init(_ change: DeviceChange) {
            switch change {
            case .added(let device): (event, self.device) = ("added", device)
            case .removed(let device): (event, self.device) = ("removed", device)
            case .unanswered(let error): (event, self.error) = ("unanswered", "\(error)")
            }
        }
    }

    func run() async throws {
        let width = Terminal.textWidth(.standardOutput)
        let text = DevicesText(style: Style(for: .standardOutput), width: width)
        guard watch else {
            let list = await MediaDevices.list()
            if json {
                JSONLine.print(List(devices: list.devices, unanswered: list.unanswered.map { "\($0)" }))
            } else {
                write(text.list(list.devices))
                for error in list.unanswered { DiagnosticReport().error("\(error)") }
            }
            if !list.unanswered.isEmpty { throw ExitStatus.failure.exitCode }
            return
        }
        // Without devices nothing is printed, and the program would seem to hang.
        if !json, isatty(STDERR_FILENO) == 1 { StandardStreams.printError("watching for devices (Ctrl-C to finish)") }
        let reading = Task {
            for await change in MediaDevices.changes {
                let isRead =
                    if json { JSONLine.print(Change(change)) } else { tell(change, text) }
                if !isRead { break }
            }
        }
        let signals = await SignalWatch([SIGINT, SIGTERM], on: .global()) { _ in reading.cancel() }
        // Writing would reveal a lost reader only at the next change, which may be hours away.
        let looking = Task {
            while !StandardStreams.hasLostReader {
                do { try await Task.sleep(for: .seconds(1)) } catch { return }
            }
            reading.cancel()
        }
        await reading.value
        looking.cancel()
        withExtendedLifetime(signals) {}
    }

    /// Prints a change. Returns `false` if the reader of standard output has gone away.
    private func tell(_ change: DeviceChange, _ text: DevicesText) -> Bool {
        switch change {
        case .added(let device): return write(text.added(device))
        case .removed(let device): return write(text.removed(device))
        case .unanswered(let error):
            DiagnosticReport().warning("\(error)")
            return true
        }
    }

    @discardableResult
    private func write(_ text: String) -> Bool { StandardStreams.write(text + "\n", to: .standardOutput) }
}
