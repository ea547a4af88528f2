import CMediaGraphABI
import GStreamer
import MediaGraphCore

extension MGSenderControl {
    /// Of a node's gate; whoever keeps it retains it.
    init(_ gate: SenderControl) {
        self.init()
        context = Unmanaged.passUnretained(gate).toOpaque()
        end = { SenderControl.of($0).endOfStream() }
        fail = { SenderControl.of($0).fail(MediaGraphError(taking: $1!.pointee)) }
        wait = { SenderControl.of($0).wait(until: ClockTime(nanoseconds: $1)) ? 1 : 0 }
        running_time = { UInt64(SenderControl.of($0).runningTime.raw) }
        pace = { SenderControl.of($0).pace.rawValue }
        level = { Int64(SenderControl.of($0).level) }
        cancel = { SenderControl.of($0).cancel($1) }
        stop_timeout = { SenderControl.of($0).stopTimeout.nanoseconds }
        warn = { SenderControl.of($0).warn(String(cString: $1!)) }
        retain = { UnsafeMutableRawPointer(Unmanaged<SenderControl>.fromOpaque($0!).retain().toOpaque()) }
        release = { Unmanaged<SenderControl>.fromOpaque($0!).release() }
    }
}

extension SenderControl {
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> SenderControl {
        Unmanaged<SenderControl>.fromOpaque(context!).takeUnretainedValue()
    }
}
