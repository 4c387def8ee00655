// Package outage has limiters meet what fails: in its tests real servers that
// are cut off, slowed down and killed, and floods of made-up keys.
//
// The package itself runs the DynamoDB store in a simulated world. It has 20 to
// 200 environments with wrong clocks that die and freeze, a network that loses
// and delays calls, operators that reset counters, and one strict model of a
// table that expires items. Every key has a sliding window. An exact log records
// every charge, and checks every window after every charge. What is not about
// clocks, freezing and expiry is explored exhaustively instead, in
// internal/store/dynamo/protocol.
//
// A world is drawn from a seed and runs on one thread, in its own time. The
// same seed gives the same report, byte for byte. Stores run in goroutines
// between two calls of DynamoDB, and the world waits until all of them block.
// Therefore a world runs in a bubble of testing/synctest.
package outage
