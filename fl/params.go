package fl

import "github.com/fedfast/fedfast/fl/hyper"

// ClientParams are the hyperparameters of one client's local training, c in
// Loc_c. They begin as Method.Defaults returns them; others are refused.
type ClientParams = hyper.Client

// ServerParams are the hyperparameters of the server, b in Agg_b.
type ServerParams = hyper.Server
