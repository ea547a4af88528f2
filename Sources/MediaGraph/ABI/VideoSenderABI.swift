import CMediaGraphABI
import GStreamer

extension MGVideoSender {
    /// The sender of a node's gate; whoever keeps it retains it.
    init(_ gate: VideoGate) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passUnretained(gate).toOpaque()
        send = { context, frame, error in
            // The caller holds the gate for the length of the call: no retain here.
            Unmanaged<VideoGate>.fromOpaque(context!)._withUnsafeGuaranteedRef { gate in
                do throws(MediaGraphError) {
                    try gate.send(frame!)
                    return MG_ACCEPTED
                } catch let refused {
                    refused.store(in: error)
                    return MG_REFUSED
                }
            }
        }
        send_later = { context, frame, waiter, done, ticket, error in
            do throws(MediaGraphError) {
                let callback = WaitingSend.Callback(waiter: waiter, done: done!)
                guard let waiting = try VideoGate.of(context).sendLater(frame!, callback) else { return MG_ACCEPTED }
                ticket!.pointee = waiting
                return MG_WAITING
            } catch let refused {
                refused.store(in: error)
                return MG_REFUSED
            }
        }
        cancel = { VideoGate.of($0).cancel($1) }
        acquire = { context, description, buffer, caps, error in
            do throws(MediaGraphError) {
                let (made, layout) = try VideoGate.of(context).acquire(description!)
                buffer!.pointee = made.take().take()
                caps!.pointee = layout.retainedRaw
                return MG_ACCEPTED
            } catch let refused {
                refused.store(in: error)
                return MG_REFUSED
            }
        }
        end = { VideoGate.of($0).endOfStream() }
        fail = { VideoGate.of($0).fail(MediaGraphError(taking: $1!.pointee)) }
        wait = { VideoGate.of($0).wait(until: ClockTime(nanoseconds: $1)) ? 1 : 0 }
        running_time = { UInt64(VideoGate.of($0).runningTime.raw) }
        pace = { VideoGate.of($0).pace.rawValue }
        stop_timeout = { VideoGate.of($0).stopTimeout.nanoseconds }
        warn = { VideoGate.of($0).warn(String(cString: $1!)) }
        retain = { UnsafeMutableRawPointer(Unmanaged<VideoGate>.fromOpaque($0!).retain().toOpaque()) }
        release = { Unmanaged<VideoGate>.fromOpaque($0!).release() }
    }
}

extension VideoGate {
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> VideoGate {
        Unmanaged<VideoGate>.fromOpaque(context!).takeUnretainedValue()
    }
}
