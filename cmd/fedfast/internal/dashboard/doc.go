// Package dashboard serves the pages of `fedfast ui`: the studies of a folder, and
// each study as it goes on. It reads their records from outside, as any other
// process may, and keeps nothing of them. The process that trains a study may serve
// it with buttons that stop trials, or the study.
//
// All that the pages load is embedded in the program. Only hosts of the loopback are
// answered, only who has the token, and only pages of this server may ask.
package dashboard
