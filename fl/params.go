package fl

import "github.com/fedfast/fedfast/fl/hyper"

// ClientParams are the hyperparameters of one client's local training, c in
// Loc_c. They begin as Defaults or DefaultClientParams returns them; others are
// refused.
type ClientParams = hyper.Client

// ServerParams are the hyperparameters of the server, b in Agg_b.
type ServerParams = hyper.Server

// OwnDropout as ClientParams.Dropout keeps the rates that the model was built
// with.
const OwnDropout = hyper.OwnDropout

// DefaultClientParams are plain SGD, one epoch, batches of 20.
func DefaultClientParams() ClientParams { return hyper.DefaultClient() }

// DefaultServerParams make the server step plain averaging.
func DefaultServerParams() ServerParams { return hyper.DefaultServer() }
