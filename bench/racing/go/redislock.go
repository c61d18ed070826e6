package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

func init() {
	of := libraries["redislock"]
	of.make, of.module = newRedislock, "github.com/bsm/redislock"
	libraries["redislock"] = of
}

type withRedislock struct{ locks *redislock.Client }

func newRedislock(address string) (library, error) {
	client, err := connect(address)
	return withRedislock{redislock.New(client)}, err
}

// By default it doesn't wait. This is the strategy of its documentation, without its limit of three tries.
func (w withRedislock) acquire(name string, ttl time.Duration) (held, error) {
	if ttl == 0 {
		ttl = ttlWithoutDefault
	}
	patient, enough := context.WithTimeout(ctx, time.Hour) // without a deadline it gives up after the ttl
	defer enough()
	lock, err := w.locks.Obtain(patient, name, ttl,
		&redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	if err != nil {
		return held{}, err
	}
	return held{release: func() error { return lock.Release(ctx) }}, nil
}
