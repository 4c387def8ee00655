// Package sim runs the DynamoDB protocol of internal/dynamo in a small world of its own: 20 to 200 environments with wrong
// clocks, a network that loses and delays, operators that reset and change rules, and one strict model of a table. Beside it
// stands an exact log of everything that was ever charged, which is asked about every window after every charge.
//
// A world is drawn from a seed and runs on one thread, in a time of its own: the same seed gives the same report, byte for
// byte. Only what a store does between two calls of DynamoDB runs in goroutines of its own, and the world stands still until
// all of them wait again; therefore a world runs in a bubble of testing/synctest.
package sim
