// Our own tests are written with what users' tests have, and a little more.
@_exported import MediaGraphTesting
