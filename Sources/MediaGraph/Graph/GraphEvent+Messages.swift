import GStreamer
import MediaGraphDevices
import MediaGraphElements
import MediaGraphSession

extension GraphEvent {
    /// Makes the event that an element message stands for. Messages of other elements become ``element(name:_:)``.
    init(_ structure: Structure, of element: String) {
        self =
            switch structure.name {
            case StreamStatus.eventName: .streamStatus(node: element, isOn: structure["on"] ?? false)
            case AlphaChannelMessage.name: .alphaChannel(node: element, isEnabled: structure["enabled"] ?? false)
            default:
                SessionMessage.event(structure, node: element) ?? DeviceMessage.event(structure, node: element)
                    ?? .element(name: element, structure)
            }
    }
}

extension SessionMessage {
    /// Returns the event that the message stands for; `nil` for any other message.
    fileprivate static func event(_ structure: Structure, node: String) -> GraphEvent? {
        guard let user: String = structure["user"] else { return nil }
        switch structure.name {
        case joinedName: return .userJoined(node: node, user: user, profile: profile(structure))
        case profileName: return .userProfile(node: node, user: user, profile: profile(structure))
        case commandName:
            let command = structure["bytes"].map(SessionCommand.bytes) ?? .text(structure["text"] ?? "")
            return .userCommand(node: node, user: user, command: command, isForAll: structure["for-all"] ?? false)
        case leftName: return .userLeft(node: node, user: user)
        case streamName:
            return .userStream(node: node, user: user, kind: structure["kind"] ?? "", isOn: structure["on"] ?? false)
        case mutedName:
            return .userMuted(
                node: node, user: user, kind: structure["kind"] ?? "", isMuted: structure["muted"] ?? false)
        case speakingName: return .userSpeaking(node: node, user: user, isSpeaking: structure["speaking"] ?? false)
        case alphaName:
            return .userAlpha(node: node, user: user, kind: structure["kind"] ?? "", isOn: structure["on"] ?? false)
        case stalledName:
            return .userStalled(
                node: node, user: user, kind: structure["kind"] ?? "", isStalled: structure["stalled"] ?? false)
        case shareRefusedName:
            return .shareRefused(
                node: node, user: user, kind: structure["kind"] ?? "", reason: structure["reason"] ?? "")
        default: return nil
        }
    }

    private static func profile(_ structure: Structure) -> UserProfile {
        UserProfile(displayName: structure["display-name"] ?? "", customData: structure["custom-data"] ?? "")
    }
}

extension DeviceMessage {
    /// Returns the event that the message stands for; `nil` for any other message.
    fileprivate static func event(_ structure: Structure, node: String) -> GraphEvent? {
        guard let device: String = structure["device"] else { return nil }
        func time(_ field: String) -> ClockTime { ClockTime(nanoseconds: structure[field] ?? 0) }
        switch structure.name {
        case formatName: return .deviceFormat(node: node, device: device, format: structure["format"] ?? "")
        case lostName:
            return .deviceLost(node: node, device: device, at: time("lost-at"), reason: structure["reason"] ?? "")
        case backName:
            return .deviceBack(node: node, device: device, lostAt: time("lost-at"), backAt: time("back-at"))
        default: return nil
        }
    }
}
