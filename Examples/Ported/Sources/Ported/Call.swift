import Foundation
import MediaGraph

/// A room of its own with two users: alice, who sends, and bob, who receives. Samples set their contexts before joining.
struct Call: Sendable {
    let alice: Session
    let bob: Session

    init(
        alice editAlice: (inout SessionContext) -> Void = { _ in },
        bob editBob: (inout SessionContext) -> Void = { _ in },
        delegateOfBob: (any SessionDelegate)? = nil
    ) async throws {
        let room = "sample \(UUID().uuidString)"
        var (alice, bob) = (SessionContext(user: "alice", room: room), SessionContext(user: "bob", room: room))
        editAlice(&alice)
        editBob(&bob)
        (self.alice, self.bob) = (try Session(alice), try Session(bob))
        self.bob.delegate = delegateOfBob
        // The receiver first. Afterwards each knows the other.
        try await self.bob.join()
        try await self.alice.join()
        while self.bob.remoteUsers.isEmpty || self.alice.remoteUsers.isEmpty {
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Alice, as bob's session knows her.
    var user: SessionUser { get throws { try bob.user("alice") } }

    func leave() async {
        await alice.leave()
        await bob.leave()
    }
}

/// Runs a source in a call until the other user has got `count` of its frames, and returns a line for each.
func receive(_ count: Int, from source: some VideoSource) async throws -> [String] {
    let call = try await Call(alice: { $0.externalVideoSource = source })
    var lines: [String] = []
    for try await frame in try call.user.videoPipe.frames(resolution: .p720).prefix(count) {
        lines.append("\(frame.width)×\(frame.height), first luma \(try frame.packedBytes()[0])")
    }
    await call.leave()
    return lines
}
