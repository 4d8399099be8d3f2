// Package fl runs federated training: it samples cohorts of clients, trains
// each client locally on a pool of workers, aggregates what they return and
// evaluates the result.
//
// Start here: [New] makes an [Engine] of a federation, a model and a method, [Engine.NewTrial]
// begins a training, and [Engine.Evaluate] measures what came of it. README.md has the rest:
// https://github.com/fedfast/fedfast/blob/main/fl/README.md.
//
// A federated method is a pair (Loc_c, Agg_b): Loc_c trains one client from
// the broadcast weights with the client hyperparameters c, Agg_b makes the
// next weights from the clients' results with the server hyperparameters b.
// Every client of a round may have its own c.
//
// A method may keep a state for each client (SCAFFOLD, FedDyn, Ditto, FedRep): in
// memory up to a limit, then in a temporary file. A [Snapshot] holds all of a
// trial, weights, server, clients and probes, in a binary form of its own; a
// [State] is what an evaluation of personalized models needs besides weights.
//
// The worker pool is the only parallelism in fedfast, and it never shows in a
// result: a run gives the same bits for any number of workers. Every random
// draw is keyed by (seed, trial, round, slot, client, purpose), and sums over
// clients are taken in an order that is fixed before the round starts.
package fl
