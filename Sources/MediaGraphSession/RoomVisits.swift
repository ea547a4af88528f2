import MediaGraphCore

/// What a user of this process does in a room: visits, each from its `join` to its `leave`, in the order in which they
/// were requested. A visit begins when the one before it is over.
///
/// One thread at a time does the work of a user: calling the transport, and notifying members. It does this without
/// holding a lock. Another thread that requests something while that thread is busy leaves the work to it. So the
/// transport gets a user's calls in order, and no user waits for another one.
struct RoomVisits: Sendable {
    /// Called once, when a join has succeeded or failed.
    typealias Completion = @Sendable (Result<Void, MediaGraphError>) -> Void

    fileprivate enum Phase: Sendable {
        /// The transport hasn't been asked yet.
        case waiting
        /// The transport has been asked, and has answered if there is an outcome.
        case asked(JoinOutcome?)
        /// The user is in the room.
        case joined
    }

    fileprivate struct Visit: Sendable {
        let number: UInt64
        let member: any RoomMember
        /// The profile that the others know or will be told when the user arrives.
        var profile: UserProfile
        var phase = Phase.waiting
        /// `nil` after it has been called.
        var completion: Completion?
        /// The user's changes that nobody has been told yet.
        var changes: [MemberChange] = []
        var isLeaving = false
        /// Whether the member is told of changes in the room.
        var isWelcome = false
        /// What the member hasn't been told yet.
        var notices: [RoomNotice] = []
        /// Whether a thread is notifying the member.
        var isBeingNotified = false
    }

    /// A change that the room announces.
    enum MemberChange: Sendable {
        case stream(StreamKey, StreamChange)
        case profile(UserProfile)
    }

    /// The next step for a user.
    enum Step: Sendable {
        case ask(any RoomTransport, UserProfile, sending: SendSettings, visit: UInt64)
        case arrive(any RoomMember, hasMoved: Bool)
        case announce(MemberChange)
        case leave(wasJoined: Bool)
        /// Report the outcome to the caller of `join`. This step comes when no other step is pending; while it is being
        /// taken, other threads may already take the next ones.
        case complete(Completion, Result<Void, MediaGraphError>)
    }

    private var visits: [Visit] = []
    /// Whether a thread is taking a step.
    private var isBusy = false

    var isEmpty: Bool { visits.isEmpty }

    /// The user in the room; `nil` while the user is joining, and after `leave` has been called.
    var member: (any RoomMember)? {
        guard let visit = visits.first, case .joined = visit.phase, !visit.isLeaving else { return nil }
        return visit.member
    }

    /// Adds a visit; `number` is unique in the room. Returns false if the name is taken, that is, unless the user's last
    /// visit is over or ending.
    mutating func join(_ member: any RoomMember, number: UInt64, _ completion: @escaping Completion) -> Bool {
        guard visits.last?.isLeaving ?? true else { return false }
        visits.append(Visit(number: number, member: member, profile: member.profile, completion: completion))
        return true
    }

    /// Ends a member's visit. Returns what to call if the join is thereby cancelled; does nothing if there is no such
    /// visit.
    mutating func leave(_ member: any RoomMember) -> Completion? {
        guard let index = visits.lastIndex(where: { $0.member === member && !$0.isLeaving }) else { return nil }
        let completion = visits[index].completion.take()
        if case .waiting = visits[index].phase {
            visits.remove(at: index)
        } else {
            visits[index].isLeaving = true
        }
        return completion
    }

    /// Records a change of one of the user's streams. It is announced once the user is in the room.
    mutating func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        guard !visits.isEmpty else { return }
        visits[visits.count - 1].changes.append(.stream(key, change))
    }

    /// Records that a member may have another profile now. It is announced once the user is in the room.
    mutating func profileChanged(of member: any RoomMember) {
        guard let last = visits.indices.last, visits[last].member === member else { return }
        let profile = member.profile
        if case .waiting = visits[last].phase {
            visits[last].profile = profile
        } else if profile != visits[last].latestProfile {
            visits[last].changes.append(.profile(profile))
        }
    }

    /// The profile that the others know, and a newcomer is told; `nil` if there is no user.
    var profile: UserProfile? { visits.first?.profile }

    /// Sets the profile that a newcomer is told.
    mutating func setProfile(_ profile: UserProfile) { if !visits.isEmpty { visits[0].profile = profile } }

    /// Records the transport's answer. Ignored if it comes too late.
    mutating func answered(_ outcome: JoinOutcome, visit number: UInt64) {
        guard let visit = visits.first, visit.number == number, case .asked(nil) = visit.phase else { return }
        visits[0].phase = .asked(outcome)
    }

    /// Returns the next step for the user, and makes the caller's thread the one that takes it; `nil` if there is
    /// nothing to do, or if another thread is taking a step. `done` is the step that this thread has taken.
    mutating func next(after done: Step?, in reach: RoomReach?) -> Step? {
        switch done {
        case nil, .complete: break
        case .ask, .arrive, .announce: isBusy = false
        case .leave:
            isBusy = false
            visits.removeFirst()
        }
        guard !isBusy, !visits.isEmpty, let step = nextStep(in: reach) else { return nil }
        if case .complete = step {} else { isBusy = true }
        return step
    }

    private mutating func nextStep(in reach: RoomReach?) -> Step? {
        let visit = visits[0]
        switch visit.phase {
        case .waiting:
            switch reach {
            case .everybody(let transport):
                visits[0].phase = .asked(nil)
                return .ask(transport, visit.profile, sending: visit.member.sending, visit: visit.number)
            case .thisProcess:
                visits[0].phase = .joined
                return .arrive(visit.member, hasMoved: false)
            case .starting, nil: return nil
            }
        case .asked where visit.isLeaving: return .leave(wasJoined: false)
        case .asked(nil): return nil
        case .asked(.joined(let hasMoved)?):
            visits[0].phase = .joined
            return .arrive(visit.member, hasMoved: hasMoved)
        case .asked(.refused(let error)?):
            visits.removeFirst()
            return visit.completion.map { .complete($0, .failure(error)) }
        case .joined:
            if !visit.changes.isEmpty { return .announce(visits[0].changes.removeFirst()) }
            if visit.isLeaving { return .leave(wasJoined: true) }
            return visits[0].completion.take().map { .complete($0, .success(())) }
        }
    }
}

extension RoomVisits.Visit {
    /// The profile that the others know when all changes have been announced.
    fileprivate var latestProfile: UserProfile {
        for case .profile(let profile) in changes.reversed() { return profile }
        return profile
    }
}

// What a member is notified of. A change and the notices of it are recorded under one lock, and one thread at a time
// notifies a member. So a member hears of changes in the order in which they were recorded.
extension RoomVisits {
    /// Whether the user is in the room and has been welcomed there.
    var isWelcome: Bool { member != nil && visits[0].isWelcome }

    /// Whether remote users may know that the user is here. They can send the user commands before the user is welcome.
    var isAwaited: Bool {
        guard let visit = visits.first, !visit.isLeaving else { return false }
        if case .waiting = visit.phase { return false }
        return true
    }

    /// Queues a member's first notices, ahead of commands that have already come, and makes the caller's thread the one that notifies the member. Returns the
    /// visit's number.
    mutating func welcome(_ notices: [RoomNotice]) -> UInt64? {
        guard !visits.isEmpty else { return nil }
        visits[0].notices.insert(contentsOf: notices, at: 0)
        (visits[0].isWelcome, visits[0].isBeingNotified) = (true, true)
        return visits[0].number
    }

    /// Queues a notice for the member.
    mutating func queue(_ notice: RoomNotice) { visits[0].notices.append(notice) }

    /// Returns the member's next notice, and makes the caller's thread the one that notifies the member; `nil` if there
    /// is none, if the user is leaving, or if another thread notifies the member. `number` is the visit for which the
    /// caller's thread has done it so far.
    mutating func nextNotice(
        after number: UInt64?
    ) -> (member: any RoomMember, notice: RoomNotice, visit: UInt64)? {
        guard let member, visits[0].isWelcome, !visits[0].isBeingNotified || visits[0].number == number else {
            return nil
        }
        visits[0].isBeingNotified = !visits[0].notices.isEmpty
        guard visits[0].isBeingNotified else { return nil }
        return (member, visits[0].notices.removeFirst(), visits[0].number)
    }
}

/// Whether remote users can be reached. Decided when the first user joins, and kept until the last one leaves.
enum RoomReach: Sendable {
    /// Users who join wait for the transport.
    case starting(any RoomTransport)
    case everybody(any RoomTransport)
    case thisProcess(because: MediaGraphError)
}
