package repro

// nasElsewhere are the paper's numbers and methods that cannot be measured here, with
// what it would take.
func nasElsewhere() []Cell {
	var cells []Cell
	add := func(name, where, unit, why string, mean, sd float64) {
		cells = append(cells, Cell{
			Name: "perfedrlnas/" + name, Paper: nasPaper, Where: where, Unit: unit, Why: why,
			Published: &Published{Mean: mean, SD: sd, Seeds: 1},
		})
	}
	const overClients = " (+- over clients)"
	for _, row := range []struct {
		name     string
		mean, sd float64
	}{{"levit-128", 72.22, 6.70}, {"t2t-vit-14", 65.56, 7.78}} {
		add("table5/"+row.name, "Table 5"+overClients, "% test accuracy of FedAvg",
			"a vision transformer for 224 x 224 pixels, with attention biases or token-to-token layers which fedfast does not have, and 100 clients for 1,500 rounds of 5 epochs", row.mean, row.sd)
	}
	for _, row := range []struct {
		name     string
		mean, sd float64
	}{{"resnet50", 71.89, 6.77}, {"mobilenetv3-small", 70.31, 6.87}, {"mobilenetv3-large", 74.44, 6.11}} {
		add("table6/"+row.name, "Table 6"+overClients, "% test accuracy of FedAvg",
			"networks for 224 x 224 pixels: training steps on 22.5 million images, of 0.4 to 25 GFLOP each, are a day to six weeks of two cores", row.mean, row.sd)
	}
	for _, row := range []struct {
		name            string
		mean, sd, hours float64
	}{
		{"fedavg", 56.96, 4.90, 2.35}, {"fedrep", 57.12, 4.58, 2.40}, {"fedbabu", 57.00, 4.90, 2.15}, {"heterofl", 54.32, 4.84, 2.59}, {"perfedrlnas", 64.32, 3.76, 2.07},
	} {
		const why = "BERT-large and a supernet around it, 335 million parameters, on 113 of 1,129 clients a round"
		add("table8/"+row.name+"/accuracy", "Table 8"+overClients, "% test accuracy on Shakespeare", why, row.mean, row.sd)
		add("table8/"+row.name+"/hours", "Table 8", "hours", why, row.hours, 0)
	}
	for _, row := range []struct{ name, why string }{
		{"fednas", "the method fednas searches such cells, the model darts-cifar, at 5 times the work of mbv3-cifar's networks: this experiment has no arm of it yet"},
		{"direct-fednas", "the method directfednas searches such cells, as DSNAS does; the paper's own space is of shuffle blocks. This experiment has no arm of it yet"},
		{"spider", "beside a shared supernet of such cells, with uniform shares, each client trains one of its own, pulled towards it, and every few rounds decides an edge by how much accuracy on validation samples each of its operations costs when left out, then the inputs of each node: it takes a second network and its mask in each client's state, which mixtures read, and some 200 evaluations a client"},
		{"fedoras", "the tuner fedoras runs it, but one network for all clients of a tier, trained on from a shared supernet: it takes an arm of its own, whose trials are forks and whose rounds are counted otherwise"},
		{"fedtp", "it makes the projections of attention for each client, and mbv3-cifar has none; the preset cifar10-fedtp runs it on a transformer"},
	} {
		cells = append(cells, Cell{Name: nasTable + "/" + row.name, Paper: nasPaper, Where: nasWhere, Unit: "% personalized test error", Instead: notAtHand, Why: row.why})
	}
	return cells
}
