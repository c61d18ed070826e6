// Drives redsync by lines: ID THREAD KIND NAME VERB [ARG...] in, ID ANSWER out. Started with where
// Redis is, on 127.0.0.1: PORT; PORT,PORT,… for masters that know nothing of each other; cluster:PORT,….
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// Between attempts of a waiter. redsync's own is 50 to 250 ms; tests have no time for that.
const retryDelay = 5 * time.Millisecond

var ctx = context.Background()

// What one logical thread holds.
type holder struct {
	client redis.UniversalClient // of the first master
	locks  *redsync.Redsync
	held   map[string]*redsync.Mutex
}

func millis(text string) (time.Duration, error) {
	number, err := strconv.Atoi(text)
	return time.Duration(number) * time.Millisecond, err
}

// Waits as long as it takes when wait is negative.
func (h *holder) acquire(name string, wait, lease time.Duration) (*redsync.Mutex, error) {
	tries := int(wait/retryDelay) + 1
	limit := ctx
	if wait < 0 {
		tries = int(^uint(0) >> 1)
	} else {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, wait+time.Second)
		defer cancel()
	}
	mutex := h.locks.NewMutex(name, redsync.WithExpiry(lease), redsync.WithRetryDelay(retryDelay), redsync.WithTries(tries))
	return mutex, mutex.LockContext(limit)
}

func (h *holder) tryLock(name string, args []string) (string, error) {
	wait, err := millis(args[0])
	if err != nil {
		return "", err
	}
	lease, err := millis(args[1])
	if err != nil {
		return "", err
	}
	mutex, err := h.acquire(name, wait, lease)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) || errors.Is(err, context.DeadlineExceeded) {
		return "false", nil
	}
	if err != nil {
		return "", err
	}
	h.held[name] = mutex
	return "true", nil
}

func (h *holder) unlock(name string) (string, error) {
	mutex := h.held[name]
	if mutex == nil {
		return "", errors.New("not locked by this thread")
	}
	delete(h.held, name)
	if ok, err := mutex.Unlock(); !ok {
		return "", fmt.Errorf("not released: %v", err)
	}
	return "ok", nil
}

func (h *holder) increment(name string, args []string) (string, error) {
	counter := args[0]
	times, err := strconv.Atoi(args[1])
	if err != nil {
		return "", err
	}
	lease, err := millis(args[2])
	if err != nil {
		return "", err
	}
	for ; times > 0; times-- {
		mutex, err := h.acquire(name, -1, lease)
		if err != nil {
			return "", err
		}
		before, err := h.client.Get(ctx, counter).Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return "", err
		}
		if err := h.client.Set(ctx, counter, before+1, 0).Err(); err != nil {
			return "", err
		}
		if ok, err := mutex.Unlock(); !ok {
			return "", fmt.Errorf("not released: %v", err)
		}
	}
	return "ok", nil
}

func (h *holder) answer(kind, name, verb string, args []string) (string, error) {
	if kind != "lock" {
		return "unsupported", nil
	}
	switch {
	case verb == "try-lock" && len(args) == 2:
		return h.tryLock(name, args)
	case verb == "unlock":
		return h.unlock(name)
	case verb == "increment" && len(args) == 3:
		return h.increment(name, args)
	}
	return "unsupported", nil
}

func addresses(ports string) []string {
	all := strings.Split(ports, ",")
	for i, port := range all {
		all[i] = "127.0.0.1:" + port
	}
	return all
}

// A client for the cluster, or one for each master.
func connect(where string) []redis.UniversalClient {
	if nodes := strings.TrimPrefix(where, "cluster:"); nodes != where {
		return []redis.UniversalClient{redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses(nodes)})}
	}
	var all []redis.UniversalClient
	for _, address := range addresses(where) {
		all = append(all, redis.NewClient(&redis.Options{Addr: address}))
	}
	return all
}

func main() {
	if os.Args[1] == "load" {
		serveLoad(os.Args[2])
		return
	}
	clients := connect(os.Args[1])
	var pools []pool.Pool
	for _, client := range clients {
		if err := client.Ping(ctx).Err(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		pools = append(pools, goredis.NewPool(client))
	}
	locks := redsync.New(pools...)
	var one sync.Mutex
	say := func(id, text string) {
		one.Lock()
		defer one.Unlock()
		fmt.Println(id, strings.Join(strings.Fields(text), " "))
	}
	say("0", "ready redsync")
	threads := map[string]chan []string{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		requests := threads[words[1]]
		if requests == nil {
			requests = make(chan []string, 1000)
			threads[words[1]] = requests
			go func() {
				h := &holder{clients[0], locks, map[string]*redsync.Mutex{}}
				for words := range requests {
					text, err := h.answer(words[2], words[3], words[4], words[5:])
					if err != nil {
						text = "error " + err.Error()
					}
					say(words[0], text)
				}
			}()
		}
		requests <- words
	}
}
