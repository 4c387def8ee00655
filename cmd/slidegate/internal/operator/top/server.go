package top

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
)

const (
	// readTime bounds a look at a source.
	readTime = 5 * time.Second
	// maxStatus bounds the answer of a server.
	maxStatus = 8 << 20
)

// Server reads slidegate serve by its admin address.
type Server struct {
	url    string // without a slash at its end
	before admin.Status
}

// NewServer returns a reader of a server, by a URL such as
// http://127.0.0.1:9090.
func NewServer(url string) *Server { return &Server{url: strings.TrimSuffix(url, "/")} }

// Read returns what the server has done since the last Read; the first time,
// since its start.
func (s *Server) Read(ctx context.Context, _ time.Time) (*View, error) {
	now, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	before := s.before
	if !before.StartedAt.Equal(now.StartedAt) || !before.At.Before(now.At) {
		before = admin.Status{At: now.StartedAt}
	}
	s.before = *now
	return newView(s.url, &before, now), nil
}

func (s *Server) status(ctx context.Context) (*admin.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/status", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; start the server with slidegate serve --admin HOST:PORT", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxStatus))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", request.URL, err)
	}
	if answer.StatusCode != http.StatusOK {
		first, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return nil, fmt.Errorf("%s answers %s: %s", request.URL, answer.Status, first)
	}
	var status admin.Status
	if err := json.Unmarshal(body, &status); err != nil || status.At.IsZero() {
		return nil, fmt.Errorf("%s is no status of slidegate serve: give the address of its --admin", request.URL)
	}
	return &status, nil
}
