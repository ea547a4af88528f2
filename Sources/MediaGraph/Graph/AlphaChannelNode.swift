import GStreamer
import MediaGraphCore
import MediaGraphElements

/// An `alphachannel` of a graph. As in Zoom's Video SDK, first check ``canEnable`` and ``isSupported``, then call
/// ``enable(_:)``; ``isEnabled`` is the result.
///
/// ```swift
/// let alpha = try graph.alphaChannel("person")
/// if alpha.canEnable, alpha.isSupported { try alpha.enable(true) }
/// ```
/// Callable from any thread, also while the graph runs.
public struct AlphaChannelNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Whether the user is permitted to enable the alpha channel (canEnableAlphaChannelMode). In a session, this
    /// depends on the user's role and permission; elsewhere it is true.
    public var canEnable: Bool { (try? element.property("can-enable", as: Bool.self)) ?? false }

    /// Whether this machine supports the alpha channel (isDeviceSupportAlphaChannelMode): the mask's elements are
    /// installed and make an alpha plane for a small test frame or, without a mask, upstream provides alpha. Blocks
    /// while the mask's elements are loaded.
    public var isSupported: Bool { (try? element.property("supported", as: Bool.self)) ?? false }

    /// Whether the alpha channel is enabled (isAlphaChannelModeEnabled). A change applies from the next frame on, which
    /// `GraphEvent.alphaChannel(node:isEnabled:)` announces.
    public var isEnabled: Bool { (try? element.property("enabled", as: Bool.self)) ?? false }

    /// Turns the alpha channel on or off (enableAlphaChannelMode), from the next frame on.
    ///
    /// Turning it on throws `notPermitted` if ``canEnable`` is false, and `unsupported` if this machine or a downstream
    /// element doesn't support it. The alpha channel is off then.
    public func enable(_ on: Bool) throws(MediaGraphError) {
        guard !on || canEnable else {
            throw .notPermitted(
                .init(
                    "\(name)'s alpha channel",
                    actual: "isn't permitted; set role=host and raw-streaming=true on its session"))
        }
        do {
            // While the graph isn't running, the node accepts any value. Check here, so that the result is the same as
            // later.
            if on, !isSupported { try element.checkMask() }
            try element.setProperty("enabled", to: on)
        } catch let error as MediaGraphError {
            throw error
        } catch {
            throw .unsupported(.init("\(name)'s alpha channel", actual: "\(error)"))
        }
    }
}

extension Element {
    /// Throws if the alpha channel is certain to be refused once the graph runs.
    fileprivate func checkMask() throws {
        let mask = (try? property("mask", as: String.self)) ?? ""
        guard !mask.allSatisfy(\.isWhitespace) else {
            throw MediaGraphError.unsupported(
                .init(name, actual: "frames have no alpha, and no mask is set; set mask=…"))
        }
        try AlphaMask(description: mask).check()
    }
}

extension Graph {
    /// Returns the `alphachannel` of that name. Throws `noSuchNode` or `wrongKind`.
    public func alphaChannel(_ name: String) throws(GraphError) -> AlphaChannelNode {
        AlphaChannelNode(graph: self, element: try node(name, "alphachannel"))
    }
}
