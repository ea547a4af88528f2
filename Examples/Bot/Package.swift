// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Bot",
    dependencies: [.package(name: "MediaGraph", path: "../..")],
    targets: [
        .target(name: "Bot", dependencies: [.product(name: "MediaGraph", package: "MediaGraph")]),
        .executableTarget(name: "color-bot", dependencies: ["Bot"]),
        .testTarget(name: "BotTests", dependencies: ["Bot"]),
    ],
    swiftLanguageModes: [.v6]
)
