package main

import (
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

func init() {
	of := libraries["redsync"]
	of.make, of.module = newRedsync, "github.com/go-redsync/redsync/v4"
	libraries["redsync"] = of
}

type withRedsync struct{ locks *redsync.Redsync }

func newRedsync(address string) (library, error) {
	client, err := connect(address)
	return withRedsync{redsync.New(goredis.NewPool(client))}, err
}

func (w withRedsync) acquire(name string, ttl time.Duration) (held, error) {
	var options []redsync.Option
	if ttl != 0 {
		options = append(options, redsync.WithExpiry(ttl))
	}
	mutex := w.locks.NewMutex(name, options...)
	for {
		err := mutex.Lock()
		if err == nil {
			break
		}
		var taken *redsync.ErrTaken
		if !errors.As(err, &taken) && !errors.Is(err, redsync.ErrFailed) {
			return held{}, err
		}
		// It has tried 32 times.
	}
	return held{release: func() error {
		_, err := mutex.Unlock()
		return err
	}}, nil
}
