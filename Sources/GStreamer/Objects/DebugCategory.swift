import CGStreamer
import CGStreamerShims

/// A `GST_DEBUG` category: `GST_DEBUG=rawdatapipe:6` shows what it says.
public final class DebugCategory: @unchecked Sendable {
    // `@unchecked Sendable`: GStreamer's categories are never freed and safe from any thread.
    private let raw: UnsafeMutablePointer<GstDebugCategory>?

    public init(_ name: String, _ description: String) {
        GStreamerRuntime.initialize()
        raw = cgst_debug_category_new(name, description)
    }

    public enum Level: Sendable {
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

    /// Says `text`, which is not even built when nobody listens.
    @inline(__always)
    public func log(
        _ level: Level, _ object: ObjectReference? = nil, _ text: @autoclosure () -> String,
        file: StaticString = #fileID, function: StaticString = #function, line: UInt = #line
    ) {
        log(level, raw: object?.raw, text(), file: file, function: function, line: line)
    }

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
