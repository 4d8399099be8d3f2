package data

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/deal"
)

// Config describes which federation to open. Errors name its fields by the keys of a
// study file: data.name, data.path and so on. Its tags say what a study file's
// reader sees of each; the comments add what a caller must know besides.
type Config struct {
	// dataset, see fedfast data list
	Name string `toml:"name" also:"dataset set"`
	// Path is the file or folder that holds the set; see SetInfo.Path.
	//
	// file or folder of the dataset, see fedfast data list
	Path string `toml:"path" also:"dir folder file root"`
	// Split describes how a client's samples become training, validation and test
	// examples; "" is "80/10/10", but "files" for users' own data with test
	// samples. With "a/b/c" (integers) the files' train
	// and test samples are merged in this order, and m of them cut at the whole
	// parts of m a/(a+b+c) and m (a+b)/(a+b+c). "a/b/files" keeps the files'
	// test samples as test examples and cuts the others a to b; "files" is
	// "90/10/files".
	//
	// shares of a client's training, validation and test samples; files, or a/b/files, keeps the test
	// samples of the files; default: 80/10/10, or files for an npz file with x_test
	Split string `toml:"split"`
	// IID reports whether a client's samples are shuffled before the cut or keep the
	// order of the files. nil shuffles the pictures and vectors of clients that
	// come with the files, which may be stored class by class, as LEAF's are, so
	// that in stored order a client's validation examples have other classes than
	// it trains on. Text keeps its order, in which windows overlap or time passes,
	// and so do samples that are dealt or drawn, for theirs is random.
	//
	// shuffle a client's samples before they are split, else keep the order of the files; default: true
	// for images and vectors of clients given by the files
	IID *bool `toml:"iid" also:"shuffle"`
	// also evaluate clients that have only test samples; otherwise they are left out
	Unseen bool `toml:"unseen"`
	// UnseenClients, drawn by the seed among those with test examples, never train: a
	// number of clients, or below 1 their share. They are Federation.Unseen, with their
	// training examples, on which they adapt.
	//
	// number of clients, or below 1 their share, that are held out of training and evaluated as new
	// clients, before and after they adapt the model as in a first round, in curves before, or after with
	// eval.every_target = personalized; 0: none
	UnseenClients float64 `toml:"unseen_clients" in:"[0, inf)" also:"new_clients holdout_clients"`
	// MaxSamples caps a client's samples before the cut: the first ones, after the
	// shuffle if there is one. 0 is no cap.
	//
	// maximum number of samples per client; 0: no limit
	MaxSamples int `toml:"max_samples" in:"[0, inf)"`
	// minimum number of samples per client, others are left out; 0: 10
	MinSamples int `toml:"min_samples" in:"[0, inf)"`
	// Partition deals a set without clients of its own to Clients clients:
	// "iid" (or ""), "dirichlet" by Alpha, "shards" by Shards, or "classes" by
	// ClientClasses or HI; how many samples each gets is a matter of Samples,
	// Sizes, SizeSigma and SizeExponent. "dirichlet-capped" by Alpha and
	// "classes-blocked" by ClientClasses follow PFLlib, which deals all samples
	// in sizes of their own. A set that comes with clients keeps
	// them ("natural" or ""), or has their samples put together and dealt so.
	//
	// how samples are dealt to clients; the last two are PFLlib's dir and pat; default: a dataset's own
	// clients, else iid, unless fedfast list data says otherwise
	Partition string `toml:"partition" of:"natural iid dirichlet shards classes dirichlet-capped classes-blocked" also:"distribution"`
	// Alpha is the concentration of the Dirichlet partition: small is skewed. For
	// the dataset "synthetic" it is how far the clients' models are apart, and
	// Beta how far their points are, as standard deviations.
	//
	// concentration of the Dirichlet partitions, smaller is more skewed: for dirichlet that of all classes
	// together, see data.class_alpha; for the dataset synthetic, how much the clients' models differ
	Alpha float64 `toml:"alpha" in:"[0, inf)" also:"dirichlet_alpha concentration"`
	// ClassAlpha is the same for each class, as most papers give it: Alpha divided by the
	// number of classes.
	//
	// concentration of the partition dirichlet for each of C classes, as most papers give it: data.alpha /
	// C; 0: data.alpha
	ClassAlpha float64 `toml:"class_alpha" in:"[0, 1e6]" also:"alpha_per_class"`
	// for the dataset synthetic, how much the clients' inputs differ
	Beta float64 `toml:"beta" in:"[0, inf)"`
	// shards per client in the partition shards, of the samples sorted by class; 0: 2
	Shards int `toml:"shards" in:"[0, inf)" also:"num_shards"`
	// number of classes per client in the partitions classes and classes-blocked
	ClientClasses int `toml:"client_classes" in:"[0, inf)" also:"classes_per_client"`
	// HI says the same as a heterogeneity index in [0, 1]: of C classes a client
	// holds c with HI = 1 - (c-1)/(C-1), to the nearest integer. Of several,
	// client i gets number floor(i/S) modulo their number, S being the number
	// of Sizes (1 without).
	//
	// number of classes per client given as heterogeneity index 1 - (c-1)/(C-1) for c of C classes: one
	// value, or a list that the clients use in turn
	HI []float64 `toml:"hi" in:"[0, 1]" also:"heterogeneity"`
	// Clients is the number of clients to deal to or to draw (0 means the
	// set's default, 100 for a set that is dealt); of a set that comes with
	// clients the first Clients are kept, 0 keeps all.
	//
	// number of clients to deal samples to, or to generate; 0: 100 or the dataset's default; for a dataset
	// with clients, the number of first clients to keep, 0: all
	Clients int `toml:"clients" in:"[0, inf)" also:"num_clients"`
	// Samples is the number of samples dealt to each client, 0 being all that there
	// are (or, if the classes of clients allow less, as many as they do); with a
	// split that keeps the files' test samples, only the others count. For a set
	// that is drawn it is the mean of its clients.
	//
	// number of samples dealt to each client, or their mean; 0: all samples
	Samples int `toml:"samples" in:"[0, inf)" also:"samples_per_client"`
	// Sizes are the numbers of samples dealt to clients: client i gets Sizes[i
	// modulo their number].
	//
	// numbers of samples of the clients, used in turn
	Sizes []int `toml:"sizes" in:"[1, inf)"`
	// SizeSigma above 0 deals log-normal numbers of samples, the deviation of
	// their logarithms being SizeSigma; Samples is their mean, and none is
	// below MinSamples.
	//
	// standard deviation of the logarithm of log-normal client sizes with mean data.samples; 0: off
	SizeSigma float64 `toml:"size_sigma" in:"[0, inf)"`
	// SizeExponent above 0 deals numbers of samples in proportion to
	// r^-SizeExponent, r = 1, 2, ... being a client's rank; Samples is their
	// mean, and none is below MinSamples.
	//
	// exponent of client sizes that follow a power law of the client's rank, with mean data.samples; 0:
	// off
	SizeExponent float64 `toml:"size_exponent" in:"[0, inf)"`
	// character encoding of a text dataset; default: leaf
	Encoding string `toml:"encoding" of:"leaf fedex"`
	// vocabulary size of a dataset of words; 0: 10,000
	Vocab int `toml:"vocab" in:"[0, inf)" also:"vocabulary vocab_size"`
	// labels of CIFAR-100; default: fine
	Labels string `toml:"labels" of:"fine coarse"`
	// Augment changes images: "" does not, "fedex-cifar-train" flips, crops and jitters
	// those of training at random and normalises all, "fedex-cifar" does the same and
	// changes those of validation, too, as the code of FedEx's authors does, "crop24"
	// gives 24 x 24 pixels of training images at random, of others from the middle,
	// standardized. "flip" mirrors half of any training images, "crop" shifts them by up to an
	// eighth of their sides before they are normalized, "flip-crop" does both.
	//
	// augmentation of training images: flip mirrors half of them, crop shifts them by up to an eighth of
	// their sides, flip-crop does both; others are CIFAR's: fedex-cifar also changes validation images, as
	// FedEx's code does; default: none
	Augment string `toml:"augment" of:"flip crop flip-crop fedex-cifar fedex-cifar-train crop24" also:"augmentation"`
	// ImageMean and ImageStd normalize images when they are read: the byte k of a channel
	// becomes (k/255 - mean) / std, a float x of it (x - mean) / std, each of the three
	// operations rounded to float32, as are mean and std, which is what torchvision's
	// ToTensor and Normalize give. Each is one number for all channels or one for each;
	// the lists are both empty or neither is.
	//
	// channel means, one for all or one per channel: a byte k becomes (k/255 - mean) / std in float32,
	// with data.image_std; default: k/255
	ImageMean []float64 `toml:"image_mean" in:"[0, 1]" also:"mean pixel_mean normalize_mean"`
	// channel standard deviations, one for all or one per channel, on the same scale; see data.image_mean
	ImageStd []float64 `toml:"image_std" in:"[1e-6, 1]" also:"std pixel_std normalize_std"`
	// Normalize subtracts a mean from each channel of images, or each number of vectors, and
	// divides by a standard deviation: with "global" those of the clients' training samples,
	// as sums that each client sends once give them, with "client" each client by those of
	// its own. "auto" is "global" for tables and for images, unless Augment normalizes them or they are
	// Lazy, and "none" for all else. "" is "none", but "global" for tables. See Federation.Normalized.
	//
	// normalization of images and vectors to mean 0 and deviation 1 per channel: global by sums over
	// training samples that each client sends once, client by each client's own, auto: global for images
	// and tables; refused with image_mean, and global and auto with dp; default: none, for tables global
	Normalize string `toml:"normalize" of:"none auto global client" also:"normalization standardize"`
	TableConfig
	// Proxy samples, drawn from all clients' training samples before these are
	// cut or dealt, are set apart for proxy federations; see Federation.Side.
	//
	// number of samples set aside for the proxy federations of a client tuner that prepares
	Proxy int `toml:"proxy" in:"[0, inf)"`
	// Seed decides all draws. A study file's 0 stands for the study's seed.
	//
	// seed of the data's own draws (partition, splits, held-out clients, generated samples); 0: seed
	Seed uint64 `toml:"seed" in:"[0, inf)" also:"partition_seed data_seed split_seed"`
}

// The augmentations of ColourView, values of data.augment.
const (
	AugmentFedEx      = "fedex-cifar"
	AugmentFedExTrain = "fedex-cifar-train"
	AugmentCrop       = "crop24"
)

// What Config's fields are when they are not set.
const (
	defaultSplit      = "80/10/10"
	defaultMinSamples = 10
	defaultClients    = 100
)

// NoPathError says that a dataset is read from files and nothing says where they
// are.
type NoPathError struct{ Set *SetInfo }

// Error describes what the path must be.
func (e *NoPathError) Error() string {
	return fmt.Sprintf("data.path is not set; %s needs %s", e.Set.Name, e.Set.Path)
}

// resolved returns c with its defaults filled in, or the errors of all fields
// that cannot be used with set s.
func (c Config) resolved(s *SetInfo) (Config, error) {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.Split == "" && !s.OwnTest { // else chooseSplit decides
		c.Split = defaultSplit
	}
	if _, err := parseSplit(cmp.Or(c.Split, defaultSplit)); err != nil {
		problems = append(problems, err)
	}
	for _, n := range []struct {
		key   string
		value int
	}{{"max_samples", c.MaxSamples}, {"min_samples", c.MinSamples}, {"clients", c.Clients}, {"samples", c.Samples}, {"proxy", c.Proxy}, {"vocab", c.Vocab}} {
		if n.value < 0 {
			bad("data.%s = %d: must be 0 or more", n.key, n.value)
		}
	}
	c.MinSamples = cmp.Or(c.MinSamples, defaultMinSamples)
	if c.Path == "" && s.DefaultPath == "" && s.Path != "" {
		problems = append(problems, &NoPathError{s})
	}
	if c.Path != "" && s.Path == "" {
		where := "in memory"
		if s.Synthetic {
			where = "drawn"
		}
		bad("data.path = %q: %s is %s, not read; leave data.path out", c.Path, s.Name, where)
	}
	switch {
	case c.Vocab > 0 && s.Vocab == 0:
		bad("data.vocab = %d: %s has no words to choose; leave data.vocab out", c.Vocab, s.Name)
	case c.Vocab > s.MaxVocab:
		bad("data.vocab = %d: must be at most %d", c.Vocab, s.MaxVocab)
	case c.Vocab == 0:
		c.Vocab = s.Vocab
	}
	c.checkPartition(s, bad)
	c.Encoding = choice("encoding", c.Encoding, s, s.Encodings, first(s.Encodings), bad)
	c.Labels = choice("labels", c.Labels, s, s.Labels, first(s.Labels), bad)
	augments := s.Augments
	if s.Kind == Image {
		augments = slices.Concat(moves, augments)
	}
	c.Augment = choice("augment", c.Augment, s, augments, "", bad)
	c.checkTable(s, bad)
	c.checkNormalize(s, bad)
	if c.Samples > 0 && !s.Dealt && !s.Synthetic && !c.dealt() {
		bad("data.samples = %d: %s has its own clients; use data.max_samples to limit theirs", c.Samples, s.Name)
	}
	if s.Dealt && c.Partition == "" {
		c.Partition = deal.WayIID
	}
	if c.dealt() {
		c.Clients = cmp.Or(c.Clients, defaultClients)
	}
	if c.IID == nil {
		c.IID = new(!c.dealt() && !s.Synthetic && s.Kind != Tokens && s.Vocab == 0)
	}
	c.Path = cmp.Or(c.Path, s.DefaultPath)
	return c, errors.Join(problems...)
}

// first returns the first of the values, "" of none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// choice returns value, or fallback for "" if the set has such a choice, and
// reports a value that the set does not have.
func choice(key, value string, s *SetInfo, valid []string, fallback string, bad func(string, ...any)) string {
	switch {
	case value == "" && len(valid) > 0:
		return fallback
	case value == "" || slices.Contains(valid, value):
		return value
	case len(valid) == 0:
		bad("data.%s = %q: %s does not support it; leave data.%s out", key, value, s.Name, key)
	default:
		bad("data.%s = %q: must be one of %s for %s", key, value, strings.Join(valid, ", "), s.Name)
	}
	return value
}
