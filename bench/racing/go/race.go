// The Go libraries of bench/race: LIBRARY PORT; then the line protocol of bench/racing/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A lock that is held.
type held struct {
	release func() error
	lost    <-chan struct{} // nil: the library doesn't tell
}

// A library in the race. Without a ttl (0): its default, or ttlWithoutDefault.
type library interface {
	// Waits for it as long as it takes.
	acquire(name string, ttl time.Duration) (held, error)
}

const ttlWithoutDefault = 10 * time.Second

var ctx = context.Background()

// What each library is made by, and its module.
var libraries = map[string]struct {
	make   func(address string) (library, error)
	module string
}{}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func now() int64 { return time.Now().UnixMicro() }

// What the holders of all processes tell each other, in a file: who held last, from 1 on, and whether somebody does.
// Only holders touch it.
type tally []byte

func open(file string) (tally, error) {
	opened, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return syscall.Mmap(int(opened.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

type contention struct {
	name       string
	contenders int
	first      int // the number of this process's first contender
	start, end int64
	shared     tally
	lock       sync.Mutex // of what follows
	failed     error
	turns      []int64
	handoffs, processHandoffs,
	overlaps, longest int64
}

func (c *contention) takeTurns(from library, number int) {
	var turns, handoffs, processHandoffs, overlaps, longest int64
	me := c.first + number
	defer func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.turns[number] = turns
		c.handoffs += handoffs
		c.processHandoffs += processHandoffs
		c.overlaps += overlaps
		c.longest = max(c.longest, longest)
	}()
	time.Sleep(time.Duration(c.start-now()) * time.Microsecond)
	for asked := now(); asked < c.end; asked = now() {
		lock, err := from.acquire(c.name, 0)
		if err != nil {
			c.lock.Lock()
			c.failed = err
			c.lock.Unlock()
			return
		}
		at := now()
		longest = max(longest, min(at, c.end)-asked)
		if at < c.end {
			if binary.NativeEndian.Uint32(c.shared[4:]) != 0 {
				overlaps++
			}
			binary.NativeEndian.PutUint32(c.shared[4:], 1)
			before := int(binary.NativeEndian.Uint32(c.shared)) - 1
			binary.NativeEndian.PutUint32(c.shared, uint32(me+1))
			if before != me {
				handoffs++
			}
			if before >= 0 && (before < c.first || before >= c.first+c.contenders) {
				processHandoffs++
			}
			turns++
			binary.NativeEndian.PutUint32(c.shared[4:], 0)
		}
		_ = lock.release() // lost: somebody else has it
	}
}

type answer map[string]any

type conversation struct {
	from  library
	owned held
	kept  []held
}

func (c *conversation) cycles(count int) (answer, error) {
	took := make([]int64, 0, count)
	for range count {
		before := time.Now()
		lock, err := c.from.acquire("race:cycles", 0)
		if err == nil {
			err = lock.release()
		}
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(before).Nanoseconds())
	}
	slices.Sort(took)
	at := func(share float64) float64 { return float64(took[int(float64(count-1)*share)]) / 1e3 }
	return answer{"p50_us": at(0.5), "p99_us": at(0.99)}, nil
}

func (c *conversation) rate(inFlight int, seconds float64) (answer, error) {
	var all sync.WaitGroup
	var done atomic.Int64
	var failed atomic.Value
	before := time.Now()
	end := before.Add(time.Duration(seconds * 1e9))
	for number := range inFlight {
		all.Add(1)
		go func() {
			defer all.Done()
			name := fmt.Sprint("race:rate:", number)
			for time.Now().Before(end) {
				lock, err := c.from.acquire(name, 0)
				if err == nil {
					err = lock.release()
				}
				if err != nil {
					failed.Store(err)
					return
				}
				done.Add(1)
			}
		}()
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return nil, err.(error)
	}
	return answer{"cycles": done.Load(), "seconds": time.Since(before).Seconds()}, nil
}

func (c *conversation) contend(words []string) (answer, error) {
	contenders, _ := strconv.Atoi(words[1])
	first, _ := strconv.Atoi(words[2])
	start, _ := strconv.ParseInt(words[3], 10, 64)
	seconds, _ := strconv.ParseFloat(words[4], 64)
	shared, err := open(words[5])
	if err != nil {
		return nil, err
	}
	of := contention{name: words[0], contenders: contenders, first: first, start: start,
		end: start + int64(seconds*1e6), shared: shared, turns: make([]int64, contenders)}
	var all sync.WaitGroup
	for number := range contenders {
		all.Add(1)
		go func() {
			defer all.Done()
			of.takeTurns(c.from, number)
		}()
	}
	all.Wait()
	return answer{"turns": of.turns, "handoffs": of.handoffs, "process_handoffs": of.processHandoffs,
		"overlaps": of.overlaps, "longest_wait_us": of.longest}, of.failed
}

func (c *conversation) holdMany(count int) (answer, error) {
	const workers = 256
	c.kept = make([]held, count)
	var all sync.WaitGroup
	var failed atomic.Value
	before := time.Now()
	for worker := range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := worker; i < count && failed.Load() == nil; i += workers {
				lock, err := c.from.acquire(fmt.Sprint("race:held:", i), 30*time.Second)
				if err != nil {
					failed.Store(err)
				}
				c.kept[i] = lock
			}
		}()
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return nil, err.(error)
	}
	return answer{"held": count, "seconds": time.Since(before).Seconds()}, nil
}

func (c *conversation) watch(seconds float64) (answer, error) {
	if c.owned.lost == nil {
		return answer{"unsupported": true}, nil
	}
	select {
	case <-c.owned.lost:
		return answer{"lost_us": now()}, nil
	case <-time.After(time.Duration(seconds * 1e9)):
		return answer{"lost_us": nil}, nil
	}
}

func (c *conversation) answer(words []string) (answer, error) {
	arguments := map[string]int{"cycles": 1, "rate": 2, "contend": 6, "acquire": 2, "release": 0, "watch": 1, "hold_many": 1}
	if count, known := arguments[words[0]]; !known || len(words) != count+1 {
		return nil, errors.New("no such request: " + strings.Join(words, " "))
	}
	number := func(word int) (value float64) {
		value, _ = strconv.ParseFloat(words[word], 64)
		return
	}
	switch words[0] {
	case "cycles":
		return c.cycles(int(number(1)))
	case "rate":
		return c.rate(int(number(1)), number(2))
	case "contend":
		return c.contend(words[1:])
	case "watch":
		return c.watch(number(1))
	case "hold_many":
		return c.holdMany(int(number(1)))
	}
	asked := now()
	var err error
	if words[0] == "acquire" {
		c.owned, err = c.from.acquire(words[1], time.Duration(number(2))*time.Millisecond)
	} else if c.owned.release == nil {
		err = errors.New("nothing is held")
	} else {
		err = c.owned.release()
	}
	return answer{"asked_us": asked, "at_us": now()}, err
}

func main() {
	if len(os.Args) != 3 || libraries[os.Args[1]].make == nil {
		fmt.Fprintln(os.Stderr, "usage: race redsync|redislock|rueidislock|go-redis PORT")
		os.Exit(64)
	}
	of := libraries[os.Args[1]]
	from, err := of.make("127.0.0.1:" + os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready", version(of.module))
	with := conversation{from: from}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		said, err := with.answer(append(strings.Fields(in.Text()), "")[:max(1, len(strings.Fields(in.Text())))])
		if err != nil {
			said = answer{"error": err.Error()}
		}
		line, _ := json.Marshal(said)
		fmt.Println(string(line))
	}
}
