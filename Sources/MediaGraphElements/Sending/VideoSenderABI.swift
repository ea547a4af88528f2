import CMediaGraphABI
import GStreamer
import MediaGraphCore

extension MGVideoSender {
    /// Makes the C sender of a node's gate. The receiver must `retain` the sender to keep it beyond the call.
    init(_ gate: VideoGate) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        control = MGSenderControl(gate)
        send = { context, frame, error in
            // The caller keeps the gate alive during the call, so no retain is needed.
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
                let callback = SendCallback(waiter: waiter, done: done!)
                guard let waiting = try VideoGate.of(context).sendLater(frame!, callback) else { return MG_ACCEPTED }
                ticket!.pointee = waiting
                return MG_WAITING
            } catch let refused {
                refused.store(in: error)
                return MG_REFUSED
            }
        }
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
    }
}

extension VideoGate {
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> VideoGate {
        Unmanaged<VideoGate>.fromOpaque(context!).takeUnretainedValue()
    }
}
