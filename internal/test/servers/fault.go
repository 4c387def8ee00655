package servers

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Fault is what a proxy does with connections.
type Fault struct {
	// Delay is how late each chunk of bytes arrives, in both directions.
	Delay time.Duration
	// BytesPerSecond bounds what a connection carries; 0 for no bound.
	BytesPerSecond int
	// Blackhole takes connections and bytes, and passes nothing on.
	Blackhole bool
	// Reset ends all connections, new ones too, by a TCP reset.
	Reset bool
	// Refuse ends all connections, and refuses new ones.
	Refuse bool
}

// Proxy passes connections on to a target, for tests of what happens when a
// store's network or engine fails. Toxiproxy would bring fifteen more modules,
// which importers of the root module would have to resolve.
type Proxy struct {
	// Address is its own host and port.
	Address string
	target  string

	mu       sync.Mutex
	changed  *sync.Cond // with each fault
	fault    Fault
	listener net.Listener // nil while it refuses
	open     map[*net.TCPConn]bool
	most     int
}

// NewProxy starts a proxy without a fault. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{Address: "127.0.0.1:0", target: target, open: map[*net.TCPConn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Set(Fault{Refuse: true}) })
	return p
}

// Set replaces the fault.
func (p *Proxy) Set(f Fault) error {
	p.mu.Lock()
	p.fault = f
	p.changed.Broadcast()
	listener := p.listener
	if f.Refuse || f.Reset {
		for c := range p.open {
			_ = c.SetLinger(0) // a reset
			c.Close()
		}
	}
	if f.Refuse && listener != nil {
		listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	if !f.Refuse && listener == nil {
		return p.listen()
	}
	return nil
}

// Most returns how many connections were open at once, those to the target
// included.
func (p *Proxy) Most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (p *Proxy) listen() error {
	l, err := net.Listen("tcp", p.Address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listener, p.Address = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client.(*net.TCPConn))
		}
	}()
	return nil
}

func (p *Proxy) serve(client *net.TCPConn) {
	p.add(client)
	defer p.remove(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	to := server.(*net.TCPConn)
	p.add(to)
	defer p.remove(to)
	var both sync.WaitGroup
	both.Go(func() { p.pass(to, client) })
	both.Go(func() { p.pass(client, to) })
	both.Wait()
}

// add tracks a connection; one that a fault forbids ends at once.
func (p *Proxy) add(c *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	p.most = max(p.most, len(p.open))
	if p.fault.Reset || p.fault.Refuse {
		_ = c.SetLinger(0)
		c.Close()
	}
}

func (p *Proxy) remove(c *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	c.Close()
}

// pass copies until one side ends, and then ends the other.
func (p *Proxy) pass(to, from *net.TCPConn) {
	defer to.Close()
	defer from.Close()
	chunk := make([]byte, 4096)
	for {
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.fault.Blackhole {
			p.changed.Wait()
		}
		wait := p.fault.Delay
		if p.fault.BytesPerSecond > 0 {
			wait += time.Duration(n) * time.Second / time.Duration(p.fault.BytesPerSecond)
		}
		p.mu.Unlock()
		time.Sleep(wait)
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}
