// Package rulefile reads and writes files with rules documents, and describes
// them to editors.
package rulefile
