// Package sim runs the DynamoDB store in a simulated world: 20 to 200
// environments with wrong clocks, a network that loses and delays, operators
// that reset counters and change rules, and one strict model of a table. An
// exact log records every charge, and checks every window after every charge.
//
// A world is drawn from a seed and runs on one thread, in its own time: the
// same seed gives the same report, byte for byte. Stores run in goroutines
// between two calls of DynamoDB, and the world stands still until all of them
// wait again. Therefore a world runs in a bubble of testing/synctest.
package sim
