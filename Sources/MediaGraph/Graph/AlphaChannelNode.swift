import GStreamer
import MediaGraphCore
import MediaGraphElements

/// An `alphachannel` of a graph: ask, in Zoom's order, whether it can be enabled, whether the device supports it, enable it,
/// and see whether it is.
///
/// ```swift
/// let alpha = try graph.alphaChannel("person")
/// if alpha.canEnable, alpha.isSupported { try alpha.enable(true) }
/// ```
/// Any thread; all of it while the graph runs, too.
public struct AlphaChannelNode: GraphNode {
    /// The graph that the node belongs to.
    public let graph: Graph
    /// The node's element.
    public let element: Element

    /// Whether the user may (canEnableAlphaChannelMode); in a session, by role and permission.
    public var canEnable: Bool { (try? element.property("can-enable", as: Bool.self)) ?? false }

    /// Whether this machine can (isDeviceSupportAlphaChannelMode): the mask's elements are here and make an alpha plane of
    /// a small frame; without a mask, upstream gives alpha. Blocks for as long as the mask's elements take to load.
    public var isSupported: Bool { (try? element.property("supported", as: Bool.self)) ?? false }

    /// Whether it is on (isAlphaChannelModeEnabled). Frames follow with the next one, which
    /// `GraphEvent.alphaChannel(node:isEnabled:)` announces.
    public var isEnabled: Bool { (try? element.property("enabled", as: Bool.self)) ?? false }

    /// Turns it on or off (enableAlphaChannelMode), from the next frame on.
    ///
    /// On throws `notPermitted` when it can't be enabled, and `unsupported` when the machine or what is downstream can't
    /// take part; it is off then.
    public func enable(_ on: Bool) throws(MediaGraphError) {
        guard !on || canEnable else {
            throw .notPermitted(.init("\(name)'s alpha channel", expected: "permission", actual: "none"))
        }
        do {
            // While nothing runs the node takes any value; the answer is the same as later.
            if on, !isSupported { try element.postponedRefusal() }
            try element.setProperty("enabled", to: on)
        } catch let error as MediaGraphError {
            throw error
        } catch {
            throw .unsupported(.init("\(name)'s alpha channel", actual: "\(error)"))
        }
    }
}

extension Element {
    fileprivate func postponedRefusal() throws {
        let mask = (try? property("mask", as: String.self)) ?? ""
        guard !mask.allSatisfy(\.isWhitespace) else {
            throw MediaGraphError.unsupported(
                .init(name, expected: "frames with alpha, or a mask", actual: "frames without"))
        }
        try AlphaMask(description: mask).check()
    }
}

extension Graph {
    /// The `alphachannel` of that name. Throws `noSuchNode` or `wrongKind`.
    public func alphaChannel(_ name: String) throws(GraphError) -> AlphaChannelNode {
        AlphaChannelNode(graph: self, element: try node(name, "alphachannel"))
    }
}
