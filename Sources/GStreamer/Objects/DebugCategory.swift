import CGStreamer
import CGStreamerShims

/// A category of GStreamer's debug log. For example, `GST_DEBUG=rawdatapipe:6` prints the messages of the category
/// `rawdatapipe` up to the level `log`.
package final class DebugCategory: @unchecked Sendable {
    // `@unchecked Sendable`: GStreamer's categories are thread-safe and never freed.
    private let raw: UnsafeMutablePointer<GstDebugCategory>?

    /// Registers the category, or looks it up if it is registered already.
    package init(_ name: String, _ description: String) {
        GStreamerRuntime.initialize()
        raw = cgst_debug_category_new(name, description)
    }

    /// The level of a message (`GstDebugLevel`).
    package enum Level: Sendable {
        case error, warning, fixme, info, debug, log, trace

        fileprivate var raw: GstDebugLevel {
            switch self {
            case .error: GST_LEVEL_ERROR
            case .warning: GST_LEVEL_WARNING
            case .fixme: GST_LEVEL_FIXME
            case .info: GST_LEVEL_INFO
            case .debug: GST_LEVEL_DEBUG
            case .log: GST_LEVEL_LOG
            case .trace: GST_LEVEL_TRACE
            }
        }
    }

    /// Logs `text` for an object. `text` is evaluated only if the category's threshold includes `level`.
    @inline(__always)
    package func log(
        _ level: Level, _ object: ObjectReference? = nil, _ text: @autoclosure () -> String,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        log(level, raw: object?.raw, text(), file: file, function: function, line: line)
    }

    /// Logs `text` for an object that is given as a pointer. `text` is evaluated only if the category's threshold
    /// includes `level`.
    @inline(__always)
    package func log(
        _ level: Level, raw object: UnsafeMutableRawPointer?, _ text: @autoclosure () -> String,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        guard cgst_debug_enabled(raw, level.raw) != 0 else { return }
        emit(level, object, text(), file: file, function: function, line: line)
    }

    @inline(never)
    private func emit(
        _ level: Level, _ object: UnsafeMutableRawPointer?, _ text: String, file: StaticString, function: StaticString,
        line: UInt
    ) {
        cgst_debug_log(
            raw, level.raw, "\(file)", "\(function)", Int32(line), object, text)
    }
}
