// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Ported",
    dependencies: [.package(name: "MediaGraph", path: "../..")],
    targets: [
        .executableTarget(name: "Ported", dependencies: [.product(name: "MediaGraph", package: "MediaGraph")]),
        .testTarget(name: "PortedTests", dependencies: ["Ported"]),
    ],
    swiftLanguageModes: [.v6]
)
