import GStreamer

/// How a microphone's streaming thread holds the first blocks back.
extension VirtualMicElement {
    /// Whether where it belongs is better known when others have come too.
    func isHeldBack(_ block: QueuedBlock) -> Bool {
        !beginning.isEmpty || isLive && !block.isGiven && jitter > .zero && element.currentRunningTime != nil
    }

    /// Whether it is one more of the first blocks, of the same kind.
    func goesOn(_ step: AudioGate.Queue.Step?) -> Bool {
        switch step {
        case .frame(let block): !block.isGiven
        case .reconfigure, .flush: true
        default: false
        }
    }

    /// Places and takes in what was held back. A result ends the stream.
    func endBeginning() -> FlowReturn? {
        let time = beginning.time
        var blocks = beginning.take()[...]
        defer { for block in blocks { gate.lose(block) } }
        // Downstream may have asked for another format meanwhile.
        if let info = blocks.first?.format.info, assembler.needsFormat(info), !setFormat(info) { return .endOfStream }
        assembler.beginBehind(time)
        while let block = blocks.popFirst() {
            if let flow = push(block) { return flow }
        }
        return nil
    }
}
