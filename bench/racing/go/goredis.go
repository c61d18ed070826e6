package main

import (
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

func init() {
	of := libraries["go-redis"]
	of.make, of.module = newGoRedis, "github.com/redis/go-redis/v9"
	libraries["go-redis"] = of
}

// No library for locks: SET NX PX and the script that compares and deletes, asked for again at once while it is busy.
type bare struct{ client *redis.Client }

var compareAndDelete = redis.NewScript(
	`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`)

// A connection for each of the 256 at most that ask at once.
func connect(address string) (*redis.Client, error) {
	client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 256})
	return client, client.Ping(ctx).Err()
}

func newGoRedis(address string) (library, error) {
	client, err := connect(address)
	return bare{client}, err
}

func (b bare) acquire(name string, ttl time.Duration) (held, error) {
	if ttl == 0 {
		ttl = ttlWithoutDefault
	}
	owner := rand.Text()
	for {
		granted, err := b.client.SetNX(ctx, name, owner, ttl).Result()
		if err != nil {
			return held{}, err
		}
		if granted {
			break
		}
	}
	return held{release: func() error { return compareAndDelete.Run(ctx, b.client, []string{name}, owner).Err() }}, nil
}
