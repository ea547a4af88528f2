import Dispatch
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph

/// Tests dependent properties that are set from several threads.
@Suite struct PropertyRaceTests {
    init() throws { try Nodes.register() }

    @Test("AL-1 `enabled` never stays true without permission, whichever thread is first")
    func permission() throws {
        let element = try #require(Element(factory: "alphachannel"))
        for round in 0..<2000 {
            try element.setProperty("permitted", to: true)
            try element.setProperty("enabled", to: false)
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                // The call may fail, depending on the order.
                try? element.setProperty(index == 0 ? "enabled" : "permitted", to: index == 0)
            }
            let (isOn, isPermitted) = (
                try element.property("enabled", as: Bool.self), try element.property("permitted", as: Bool.self)
            )
            guard isOn && !isPermitted else { continue }
            Issue.record("enabled without permission in round \(round)")
            return
        }
    }
}
