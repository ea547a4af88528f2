import Foundation
import MediaGraph

/// Lines about the devices of a run.
enum DeviceEventText {
    /// Returns a line about an event of a device; `nil` for other events.
    static func line(_ event: GraphEvent) -> String? {
        switch event {
        case .deviceFormat(let node, let device, let format):
            TextWidth.printable("\(node): \(device) delivers \(format)")
        case .deviceLost(let node, let device, let time, let reason):
            TextWidth.printable(
                time == .zero
                    ? "\(node): waiting for \(device): \(reason)"
                    : "\(node): \(device) was lost at \(text(time)): \(reason)")
        case .deviceBack(let node, let device, let lostAt, let backAt):
            TextWidth.printable(
                "\(node): \(device) is back at \(text(backAt)), "
                    + String(format: "after a gap of %.2f s", (backAt - lostAt).seconds))
        default: nil
        }
    }

    private static func text(_ time: ClockTime) -> String { String(format: "%.2f s", time.seconds) }
}
