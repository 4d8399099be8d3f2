package hyper

// OwnDropout as Client.Dropout keeps the model's own dropout rates.
const OwnDropout = -1

// Client holds the hyperparameters of one client's local training, c in Loc_c. The tags
// define their properties, see Table. Create it with DefaultClient, since zero values are
// not the defaults (a Dropout of 0 means no dropout); Check rejects other values.
type Client struct {
	LR float64 `toml:"lr" in:"(0, inf)" default:"0.1" doc:"learning rate of the local steps" also:"learning_rate step_size eta eta_l local_lr"`
	Schedule
	LROver         string  `toml:"lr_over" of:"rounds steps" off:"rounds" doc:"whether client.lr_schedule and client.lr_warmup count rounds, or the steps of each local training" also:"schedule_over"`
	Optimizer      string  `toml:"optimizer" of:"sgd adam adamw" off:"sgd" doc:"optimizer of the local steps, as in PyTorch" also:"local_optimizer optim"`
	OptimizerState string  `toml:"optimizer_state" of:"reset keep" off:"reset" tune:"no" doc:"whether each local training resets the optimizer's moments or momentum buffer, or each client keeps them across rounds" also:"keep_optimizer optimizer_memory"`
	Momentum       float64 `toml:"momentum" in:"[0, 1]" off:"0" doc:"heavy-ball momentum of local SGD" also:"beta"`
	Nesterov       bool    `toml:"nesterov" off:"0" doc:"use Nesterov momentum, with client.momentum" also:"nesterov_momentum"`
	ClipNorm       float64 `toml:"clip_norm" in:"[0, inf)" off:"0" doc:"maximum norm of each local step's gradient, without weight decay; 0: no clipping" also:"clip max_norm max_grad_norm grad_clip gradient_clipping"`
	Beta1          float64 `toml:"beta1" in:"[0, 1)" off:"0.9" doc:"decay rate of the first moment of local Adam and AdamW" also:"beta_1"`
	Beta2          float64 `toml:"beta2" in:"[0, 1)" off:"0.999" doc:"decay rate of the second moment of local Adam and AdamW" also:"beta_2"`
	Eps            float64 `toml:"eps" in:"[1e-30, inf)" off:"1e-8" doc:"constant that local Adam and AdamW add to the root of the second moment" also:"epsilon"`
	WeightDecay    float64 `toml:"weight_decay" in:"[0, inf)" off:"0" doc:"L2 coefficient on all parameters; decoupled weight decay with AdamW" also:"wd l2 decay"`
	BiasDecay      float64 `toml:"bias_decay" in:"[0, inf) or -1" off:"-1" doc:"L2 coefficient on biases and normalization layers; -1: client.weight_decay" also:"norm_decay bias_weight_decay"`
	Mu             float64 `toml:"mu" in:"[0, inf)" off:"0" doc:"weight of the proximal term mu/2 |w_k - w|^2 in the local objective, or of MOON's contrastive term" also:"proximal prox proximal_mu"`
	Epochs         float64 `toml:"epochs" in:"(0, 1e6]" default:"1" doc:"passes over a client's training samples per round, also fractions" also:"local_epochs num_epochs passes"`
	Steps          int     `toml:"steps" in:"[0, inf)" doc:"local steps per round; 0: given by client.epochs" also:"local_steps num_steps iterations"`
	Batch          int     `toml:"batch" in:"[1, inf)" default:"20" doc:"samples per local step" also:"batch_size batchsize bs"`
	Dropout        float64 `toml:"dropout" in:"[0, 1) or -1" default:"-1" doc:"rate of all dropout layers; -1: the model's own rates" also:"dropout_rate"`
	Wrap           bool    `toml:"wrap" tune:"no" doc:"fill the last batch of a pass from the next pass, so that all batches are full"`
	Floor          bool    `toml:"floor" tune:"no" doc:"with client.wrap, round the number of steps down instead of up, as in FATHOM's paper"`
	DropLast       bool    `toml:"drop_last" tune:"no" doc:"omit the last batch of a pass if it is smaller than client.batch, drop_last=True in PyTorch; unlike there, a client with fewer samples still trains"`

	Lambda         float64 `toml:"lambda" in:"[0, inf)" off:"0" doc:"weight of the regularizer that keeps a personalized model close to the client's or the broadcast model" also:"lam regularization"`
	PersonalLR     float64 `toml:"personal_lr" in:"[0, inf)" off:"0" doc:"learning rate with which evaluations train personalized models, and Ditto its personal models; 0: client.lr, in evaluations without schedule and warmup over rounds" also:"personal_learning_rate"`
	PersonalEpochs float64 `toml:"personal_epochs" in:"[0, 1e6]" off:"0" doc:"passes that train the personalized model; 0: client.epochs or client.steps"`
	HeadEpochs     float64 `toml:"head_epochs" in:"[0, 1e6]" off:"0" doc:"passes that train only the head"`
	InnerLR        float64 `toml:"inner_lr" in:"[0, inf)" off:"0" doc:"learning rate of the inner steps" also:"inner_learning_rate alpha"`
	InnerSteps     int     `toml:"inner_steps" in:"[0, inf)" off:"0" doc:"inner steps that personalize a model, or per local step"`
	FirstOrder     bool    `toml:"first_order" off:"0" doc:"omit the products with Hessians, two gradients each, from the meta-gradient" also:"fo"`
	Plain          bool    `toml:"plain" off:"0" doc:"train without the dynamic regularizer, whose state of the client stays as it is"`
	BurnIn         int     `toml:"burn_in" in:"[0, inf)" off:"0" doc:"local steps before the first sample of the posterior" also:"burnin"`
	Window         int     `toml:"window" in:"[0, inf)" off:"0" doc:"local steps that are averaged into a sample of the posterior"`
	Rho            float64 `toml:"rho" in:"[0, inf)" off:"0" doc:"shrinkage of the posterior's covariance; 0: FedAvg on the mean of the samples" also:"shrinkage"`
	Width          float64 `toml:"width" in:"[0, 1]" off:"0" doc:"share of the channels in a client's sub-network; 0: given by client.widths"`
	Alpha          float64 `toml:"alpha" in:"[0, 1]" off:"0" doc:"weight of a client's own model in its mixture with the shared one, in its first round"`
	AlphaAdapt     bool    `toml:"alpha_adapt" off:"0" doc:"learn that weight along with the models"`
	ALARate        float64 `toml:"ala_rate" in:"[0, inf)" off:"0" doc:"learning rate of the weights with which a client mixes its own head into the shared one" also:"ala_lr ala_eta"`
	ALAShare       float64 `toml:"ala_share" in:"[0, 1]" off:"0" doc:"share of the training samples on which a pass learns these weights" also:"rand_percent"`
	AlphaLR        float64 `toml:"alpha_lr" in:"[0, inf)" off:"0" doc:"learning rate of Adam for the weights of mixed operations, in steps on validation samples" also:"arch_lr arch_learning_rate"`
	AlphaBeta1     float64 `toml:"alpha_beta1" in:"[0, 1)" off:"0" doc:"decay rate of the first moment of that Adam"`
	AlphaBeta2     float64 `toml:"alpha_beta2" in:"[0, 1)" off:"0" doc:"decay rate of the second moment of that Adam"`
	AlphaDecay     float64 `toml:"alpha_decay" in:"[0, inf)" off:"0" doc:"L2 coefficient on the weights of mixed operations instead of client.weight_decay" also:"arch_weight_decay"`

	Temperature float64 `toml:"temperature" in:"[0, inf)" off:"0" doc:"temperature of FedLC's calibration of logits, of distillation, and of MOON's similarities" also:"tau"`
	Distill     float64 `toml:"distill" in:"[0, inf)" off:"0" doc:"weight of the distillation of the broadcast model in the local loss" also:"distillation kd_weight"`

	// Arch is the sub-network of a client of the method supernet, empty for the whole
	// network; see Pick. It has no key: dimensions below tuners.ArchPrefix set it.
	Arch string `toml:"-"`

	begun bool // created by DefaultClient
}

// Server holds the hyperparameters of the server, b in Agg_b.
type Server struct {
	LR float64 `toml:"lr" in:"(0, inf)" off:"1" doc:"server learning rate in the first round" also:"learning_rate step_size eta eta_g global_lr server_lr"`
	Schedule
	Momentum float64 `toml:"momentum" in:"[0, 1)" off:"0" doc:"heavy-ball momentum of the server's step" also:"server_momentum"`
	Decay    float64 `toml:"decay" in:"(0, 1]" off:"1" doc:"decay factor gamma of the server learning rate per round: lr gamma^t in round t" also:"lr_decay gamma"`

	Beta1    float64 `toml:"beta1" in:"[0, 1)" off:"0" doc:"decay rate of the server's first moment" also:"beta_1"`
	Beta2    float64 `toml:"beta2" in:"[0, 1)" off:"0" doc:"decay rate of the server's second moment" also:"beta_2"`
	Tau      float64 `toml:"tau" in:"[0, inf)" off:"0" doc:"degree of adaptivity, added to the root of the second moment" also:"epsilon eps"`
	Alpha    float64 `toml:"alpha" in:"[0, inf)" off:"0" doc:"weight of the dynamic regularizer"`
	Weighted bool    `toml:"weighted" off:"1" doc:"weight clients by their number of training samples; false: equally"`
	BurnIn   int     `toml:"burn_in" in:"[0, inf)" off:"0" doc:"number of initial rounds that are plain FedAvg" also:"burnin"`
	Holders  bool    `toml:"holders" off:"0" doc:"average the changes of each parameter only over the clients that hold it"`

	Q        float64 `toml:"q" in:"[0, 100]" off:"0" doc:"exponent of fairness: clients count by this power of their loss; 0: all alike"`
	LambdaLR float64 `toml:"lambda_lr" in:"[0, inf)" off:"0" doc:"learning rate of the clients' weights, which rise with their losses" also:"drfa_gamma gamma_lambda"`
	AMPAlpha float64 `toml:"amp_alpha" in:"[0, inf)" off:"0" doc:"step size alpha of attentive message passing between the clients' models" also:"alphaK alpha_k"`
	AMPSigma float64 `toml:"amp_sigma" in:"[0, inf)" off:"0" doc:"scale sigma of the squared distance at which two clients' models stop attracting each other" also:"sigma"`

	Clusters int `toml:"clusters" in:"[0, 100]" off:"0" tune:"no" doc:"number of models of which each client trains the one with its lowest loss" also:"num_clusters n_clusters"`
	Models   int `toml:"models" in:"[0, 1000]" off:"0" tune:"no" doc:"number of other clients' models that a client is sent" also:"num_models"`

	HyperLR    float64 `toml:"hyper_lr" in:"[0, inf)" off:"0" doc:"learning rate of the hypernetwork and of its client embeddings" also:"hypernetwork_lr hnet_lr"`
	HyperWidth int     `toml:"hyper_width" in:"[0, 65536]" off:"0" tune:"no" doc:"units per hidden layer of the hypernetwork" also:"hyper_hid hidden_dim hypernetwork_width"`
	HyperDepth int     `toml:"hyper_depth" in:"[0, 100]" off:"0" tune:"no" doc:"number of hidden layers of the hypernetwork" also:"n_hidden hypernetwork_depth"`
	Embedding  int     `toml:"embedding" in:"[0, 65536]" off:"0" tune:"no" doc:"dimension of a client's embedding" also:"embedding_size embed_dim client_embed_size"`
}

// Adaptive reports whether the local optimizer is Adam or AdamW.
func (c Client) Adaptive() bool { return c.Optimizer == "adam" || c.Optimizer == "adamw" }

// Keeps reports whether the state of the local optimizer is kept across rounds.
func (c Client) Keeps() bool { return c.OptimizerState == Keep }

// Keep is the value of client.optimizer_state with which the state is kept.
const Keep = "keep"

// DefaultClient returns the defaults: plain SGD, one epoch, batches of 20.
func DefaultClient() Client { return defaults().Client }

// DefaultServer returns the defaults: plain averaging.
func DefaultServer() Server { return defaults().Server }

// Cell is a row of a table that clients look up: the hyperparameters for a
// client whose samples have about this heterogeneity index and number.
type Cell struct {
	HI, Samples float64
	Params      Client
}
