// Package limittest helps to test code that uses slidegate, without sleeping
// and without servers.
//
//   - A [Clock] stands still until the test moves it.
//   - A [Store] answers as scripted: it allows, denies, fails or hangs.
//   - A [Recorder] keeps the events that an observer gets.
//
// All are safe for concurrent use. In a bubble of testing/synctest no Clock is
// needed: make the limiter in the bubble, and it uses the bubble's time, as
// [slidegate.Limiter.Wait] does.
package limittest
