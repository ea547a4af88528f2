/// What an `alphachannel` says on the bus when its frames begin or cease to carry alpha.
package enum AlphaChannelMessage {
    package static let name = "mediagraph-alpha-channel"
}
