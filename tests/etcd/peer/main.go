// Go's concurrency.Mutex and Election, as a program that speaks by lines: peer ENDPOINTS TTL_S VERB NAME [...]
//
//	hold NAME         writes "held REVISION" when it has the lock, gives it back when a line comes, writes "released"
//	lead NAME VALUE   campaigns with concurrency.Election, writes "leads REVISION"; a line "say VALUE" proclaims that,
//	                  any other line resigns; then "resigned"
//	observe NAME      writes "VALUE REVISION" for each response of Election.Observe
//	count NAME FILE N increments the number in the file N times, each time under the lock; then "done"
//	cycle NAME N      locks and unlocks N times, and writes the median in microseconds
//	contend NAME S    writes "ready"; from the next line on it locks and unlocks for S seconds, and writes "rounds N"
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func increment(file string) {
	text, err := os.ReadFile(file)
	check(err)
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	check(err)
	check(os.WriteFile(file, []byte(strconv.Itoa(number+1)), 0o600))
}

func main() {
	words := os.Args
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(words[1], ","), DialTimeout: 20 * time.Second})
	check(err)
	ttl, err := strconv.Atoi(words[2])
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	check(err)
	defer session.Close()
	ctx := context.Background()
	lock := concurrency.NewMutex(session, words[4])
	switch words[3] {
	case "hold":
		check(lock.Lock(ctx))
		fmt.Println("held", lock.Header().Revision)
		bufio.NewReader(os.Stdin).ReadString('\n')
		check(lock.Unlock(ctx))
		fmt.Println("released")
	case "lead":
		election := concurrency.NewElection(session, words[4])
		check(election.Campaign(ctx, words[5]))
		fmt.Println("leads", election.Rev())
		in := bufio.NewReader(os.Stdin)
		for {
			line, _ := in.ReadString('\n')
			value, says := strings.CutPrefix(strings.TrimSpace(line), "say ")
			if !says {
				break
			}
			check(election.Proclaim(ctx, value))
			fmt.Println("said", value)
		}
		check(election.Resign(ctx))
		fmt.Println("resigned")
	case "observe":
		for response := range concurrency.NewElection(session, words[4]).Observe(ctx) {
			fmt.Println(string(response.Kvs[0].Value), response.Kvs[0].CreateRevision)
		}
	case "count":
		times, err := strconv.Atoi(words[6])
		check(err)
		for i := 0; i < times; i++ {
			check(lock.Lock(ctx))
			increment(words[5])
			check(lock.Unlock(ctx))
		}
		fmt.Println("done")
	case "contend":
		seconds, err := strconv.Atoi(words[5])
		check(err)
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n')
		rounds := 0
		for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); rounds++ {
			check(lock.Lock(ctx))
			check(lock.Unlock(ctx))
		}
		fmt.Println("rounds", rounds)
	case "cycle":
		times, err := strconv.Atoi(words[5])
		check(err)
		took := make([]int, times)
		for i := range took {
			begun := time.Now()
			check(lock.Lock(ctx))
			check(lock.Unlock(ctx))
			took[i] = int(time.Since(begun).Microseconds())
		}
		sort.Ints(took)
		fmt.Println("median", took[times/2])
	}
}
