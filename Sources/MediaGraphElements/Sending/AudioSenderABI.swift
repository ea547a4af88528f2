import CMediaGraphABI
import GStreamer
import MediaGraphCore

extension MGAudioSender {
    /// The sender of a node's gate; whoever keeps it retains it.
    init(_ gate: AudioGate) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        control = MGSenderControl(gate)
        channels = gate.rules.allowsStereo ? 2 : 1
        send = { context, audio, error in
            // The caller holds the gate for the length of the call: no retain here.
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
