import Dispatch
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession
import Synchronization

/// Tells the delegate, and the readers of events, that cameras gain or lose their alpha channels.
extension Session {
    /// Handles a change at the session's own `alphachannel`, or in the frames of a pipe: announces it on this thread, in
    /// order with the frames.
    func alphaChanged(at node: String, _ isOn: Bool) {
        if node == "alpha" {
            let camera = UserCamera(user: context.user, stream: .video)
            if record(isOn, of: camera) { announce(isOn, of: camera) }
            return
        }
        guard let camera = pipe(named: node)?.identity.camera else { return }
        let pipes = pipes(of: camera)
        let isNew = alpha.withLock { alpha in
            pipes.first(where: \.isRead)?.identity.name == node && alpha.recordAnnouncement(isOn, of: camera)
        }
        if isNew { announce(isOn, of: camera) }
    }

    /// Announces what the room says of a camera, on the session's queue, unless a pipe reads the camera by then.
    func reportAlpha(_ isOn: Bool, of camera: UserCamera) {
        callbacks.async { [weak self] in
            // The user may have left.
            guard let self, has(camera.user), record(isOn, of: camera) else { return }
            announce(isOn, of: camera)
        }
    }

    /// Announces, on the session's queue, a change that the pipe's frames hadn't reached when its last subscriber left.
    func catchUpOnAlpha(afterRemoving pipe: PipeIdentity) {
        guard let camera = pipe.camera else { return }
        callbacks.async { [weak self] in
            guard let self else { return }
            let pipes = pipes(of: camera)
            let change = alpha.withLock { alpha in pipes.contains(where: \.isRead) ? nil : alpha.catchUp(on: camera) }
            if let change { announce(change, of: camera) }
        }
    }

    /// The pipes whose frames show when a camera's alpha channel changes. The first one that is read decides.
    private func pipes(of camera: UserCamera) -> [PipeReader] {
        let isAux = camera.stream == .videoAux
        let published = (isAux ? StreamKind.cameraAux : .camera).outputPrefix + PadName.escape(camera.user)
        var names = [published]
        if camera.user == context.user {
            let preview = (isAux ? PublishChannel.aux : .main).previewPad
            // The user's own video pipe gets no frames before the user has joined.
            names = isJoined ? [preview, published] : [preview]
        }
        return names.compactMap { pipe(named: $0) }
    }

    /// Records what the room, or the session's own `alphachannel`, says. Returns whether to announce it now.
    private func record(_ isOn: Bool, of camera: UserCamera) -> Bool {
        let pipes = pipes(of: camera)
        // Under the lock, so that a pipe that is removed at the same time doesn't take the change along.
        return alpha.withLock { $0.recordReport(isOn, of: camera, isRead: pipes.contains(where: \.isRead)) }
    }

    private func announce(_ isOn: Bool, of camera: UserCamera) {
        let user = SessionUser(name: camera.user, session: self)
        delegate?.session(self, alphaChannelIsOn: isOn, of: user, stream: camera.stream)
        readers.yield(.alphaChannel(user, camera.stream, isOn: isOn))
    }
}

extension PipeIdentity {
    /// The camera whose frames the pipe carries; `nil` for a share, and outside of a session.
    fileprivate var camera: UserCamera? {
        guard let user else { return nil }
        switch kind {
        case .camera(let channel), .preview(let channel):
            return UserCamera(user: user, stream: channel == .aux ? .videoAux : .video)
        case .stream, .share: return nil
        }
    }
}
