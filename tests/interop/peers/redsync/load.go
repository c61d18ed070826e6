package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// Locks and unlocks one name as fast as redsync can, with its defaults, for benchmarks: "idle|work THREADS SECONDS" in,
// a line of JSON out, what was measured after the threads had come under way. With work, each holds it for a
// millisecond.
type load struct {
	work     time.Duration
	cycles   atomic.Int64
	handoffs atomic.Int64
	inside   atomic.Int32
	last     atomic.Int32
	overlaps atomic.Int32
}

type moment struct {
	at               time.Time
	cycles, handoffs int64
	cpu              time.Duration
}

func (l *load) now() moment {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return moment{time.Now(), l.cycles.Load(), l.handoffs.Load(),
		time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
}

func (l *load) visit(me int32) {
	if l.inside.Add(1) != 1 {
		l.overlaps.Add(1)
	}
	if l.last.Swap(me) != me {
		l.handoffs.Add(1)
	}
	time.Sleep(l.work)
	l.inside.Add(-1)
}

func (l *load) contend(until context.Context, mutex *redsync.Mutex, me int32) {
	for until.Err() == nil {
		if mutex.LockContext(until) != nil {
			continue // it has tried 32 times
		}
		l.visit(me)
		l.cycles.Add(1)
		_, _ = mutex.Unlock()
	}
}

func (l *load) run(where string, threads int, seconds time.Duration) string {
	l.last.Store(-1)
	until, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for me := 0; me < threads; me++ {
		var pools []pool.Pool // of its own, as those of different processes are
		for _, client := range connect(where) {
			defer client.Close()
			pools = append(pools, goredis.NewPool(client))
		}
		mutex := redsync.New(pools...).NewMutex("bench:contended")
		all.Add(1)
		go func(me int32) {
			defer all.Done()
			l.contend(until, mutex, me)
		}(int32(me))
	}
	time.Sleep(500 * time.Millisecond)
	before := l.now()
	time.Sleep(seconds)
	after := l.now()
	stop()
	all.Wait()
	if l.overlaps.Load() != 0 {
		fmt.Fprintln(os.Stderr, "two held the lock at once")
		os.Exit(1)
	}
	return fmt.Sprintf(`{"seconds": %f, "cycles": %d, "handoffs": %d, "cpu_seconds": %f}`,
		after.at.Sub(before.at).Seconds(), after.cycles-before.cycles, after.handoffs-before.handoffs,
		(after.cpu - before.cpu).Seconds())
}

func serveLoad(where string) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		threads, _ := strconv.Atoi(words[1])
		seconds, _ := strconv.ParseFloat(words[2], 64)
		l := &load{}
		if words[0] == "work" {
			l.work = time.Millisecond
		}
		fmt.Println(l.run(where, threads, time.Duration(seconds*float64(time.Second))))
	}
}
