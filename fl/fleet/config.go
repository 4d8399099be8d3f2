package fleet

// Config describes a fleet. The zero Config is a fleet of equal phones, always available,
// whose jobs never fail.
type Config struct{}
