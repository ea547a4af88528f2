/// What a transport needs to know besides the room's name. Secrets are references such as `env:NAME`.
package struct RoomTransportSettings: Sendable, Hashable {
    package var server = ""
    package var roomPIN = ""
    package var token = ""
    package var adminKey = ""
    package var apiSecret = ""
    package var stunServer = ""
    package var turnServer = ""

    package init() {}
}
