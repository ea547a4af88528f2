/// The message on the bus, and the event downstream, by which an `alphachannel` says that its frames begin or cease to carry
/// alpha.
package enum AlphaChannelMessage {
    package static let name = "mediagraph-alpha-channel"
}
