import CMediaGraphABI
import GStreamer
import MediaGraphCore

extension MGAudioSender {
    /// Makes the C sender of a node's gate. The receiver must `retain` the sender to keep it beyond the call.
    init(_ gate: AudioGate) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        control = MGSenderControl(gate)
        channels = gate.rules.allowsStereo ? 2 : 1
        send = { context, audio, error in
            // The caller keeps the gate alive during the call, so no retain is needed.
            Unmanaged<AudioGate>.fromOpaque(context!)._withUnsafeGuaranteedRef { gate in
                do throws(MediaGraphError) {
                    try gate.send(audio!)
                    return MG_ACCEPTED
                } catch let refused {
                    refused.store(in: error)
                    return MG_REFUSED
                }
            }
        }
        send_later = { context, audio, waiter, done, ticket, error in
            do throws(MediaGraphError) {
                let gate = Unmanaged<AudioGate>.fromOpaque(context!).takeUnretainedValue()
                guard let waiting = try gate.sendLater(audio!, SendCallback(waiter: waiter, done: done!)) else {
                    return MG_ACCEPTED
                }
                ticket!.pointee = waiting
                return MG_WAITING
            } catch let refused {
                refused.store(in: error)
                return MG_REFUSED
            }
        }
    }
}
