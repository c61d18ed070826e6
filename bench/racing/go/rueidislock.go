package main

import (
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func init() {
	of := libraries["rueidislock"]
	of.make, of.module = newRueidislock, "github.com/redis/rueidis"
	libraries["rueidislock"] = of
}

// The ttl belongs to a locker, so there is one for each.
type withRueidislock struct {
	address string
	lock    sync.Mutex
	lockers map[time.Duration]rueidislock.Locker
}

func newRueidislock(address string) (library, error) {
	w := &withRueidislock{address: address, lockers: map[time.Duration]rueidislock.Locker{}}
	_, err := w.of(0)
	return w, err
}

func (w *withRueidislock) of(ttl time.Duration) (rueidislock.Locker, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if locker := w.lockers[ttl]; locker != nil {
		return locker, nil
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{w.address}},
		KeyMajority:    1, // as its README has it for one server
		NoLoopTracking: true,
		KeyValidity:    ttl,
	})
	if err == nil {
		w.lockers[ttl] = locker
	}
	return locker, err
}

func (w *withRueidislock) acquire(name string, ttl time.Duration) (held, error) {
	locker, err := w.of(ttl)
	if err != nil {
		return held{}, err
	}
	owned, release, err := locker.WithContext(ctx, name)
	if err != nil {
		return held{}, err
	}
	return held{lost: owned.Done(), release: func() error {
		release()
		return nil
	}}, nil
}
